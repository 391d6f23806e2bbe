"""Work on the blocks of a Dask collection: on the workers of a cluster where there is a client, else on threads of this process.

Dask is imported by the user who hands over a collection, and here only inside functions.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from time import monotonic
from typing import Any

from ..._diagnostics import note
from ...errors import ClusterError, ClusterWarning, EigenspanError, MemoryLimitError, warn
from ...numerics.memory import human_bytes
from ...numerics.threads import one_blas_thread

#: Seconds to wait for workers where all have gone, and between looks at them.
_PATIENCE, _TICK = 60.0, 2.0
_HUNGRY = (
    "A block of rows ended every worker that took it up, most often for want of memory: use smaller blocks (X.rechunk, X.repartition), "
    "fewer threads for each worker, or a larger memory_limit"
)
#: Values that workers are sent: up to the first they travel with the graph, above the second they are refused.
_SMALL, _LARGE = 2**20, 200 * 2**20
#: Partial results that are added up in one task.
_FAN = 8


def client_of_dask() -> Any:
    """The client that Dask would compute with now; None where it would use threads or processes of its own."""
    if "distributed" not in sys.modules:
        return None
    from dask.base import get_scheduler

    owner = getattr(get_scheduler(), "__self__", None)
    return owner if "Client" in type(owner).__name__ else None


def shared(value: Any, what: str = "What the workers need") -> Any:
    """A value that every task may use, sent once: in the graph where it is small, else to all workers beforehand."""
    import cloudpickle
    import dask

    size = len(cloudpickle.dumps(value))
    if size > _LARGE:
        raise MemoryLimitError(
            f"{what} takes {human_bytes(size)}, and every worker would hold a copy: more than {human_bytes(_LARGE)} are not sent. Compute "
            "the rows and embed them here, or fit with fewer points or features (landmarks=, reduce=, where the method has them)."
        )
    note(sent_to_workers=human_bytes(size))
    client = client_of_dask()
    if client is None or size <= _SMALL:
        return dask.delayed(value, pure=False, traverse=False)
    with _explained(client):
        return client.scatter(value, broadcast=True, hash=False)


def large_graph() -> Any:
    """While graphs of tasks carry data on purpose, so that what a lost worker held can be made again: Dask does not warn of their size."""
    import dask

    return dask.config.set({"distributed.admin.large-graph-warning-threshold": "1TB"})


def compute(lazy: Any) -> Any:
    """The value of something delayed. A worker that is lost on the way is told of once, and changes nothing; a lost cluster is an error."""
    client = client_of_dask()
    if client is None:
        with one_blas_thread():  # tasks run side by side on Dask's threads
            return lazy.compute()
    with _explained(client):
        seen = set(client.ncores())
        future = client.compute(lazy)
    return gathered(client, [future], seen)[0]


def gathered(client: Any, futures: list[Any], seen: set[str]) -> list[Any]:
    """What the tasks come to. Workers that are lost of those `seen` so far are told of once: what they held is made again."""
    with _explained(client):
        lost = [worker for worker in _await(client, futures, seen) if _ended(client, worker)]
    found = _results(client, futures)
    if lost:
        warn(
            f"{len(lost)} of the cluster's workers ended while they worked ({', '.join(lost)}): what they had done was done again by "
            "others, and the result is the same. If it was for want of memory, use smaller blocks (rechunk) or larger workers.",
            ClusterWarning,
        )
    return found


def folded(level: list[Any], add: Callable[[Any, Any], Any] = operator.add) -> Any:
    """Delayed pairs of rows and a value, added up by a tree, always in the same order."""
    import dask

    fold = dask.delayed(_fold, pure=False)
    while len(level) > 1:
        level = [fold(add, level[i : i + _FAN]) for i in range(0, len(level), _FAN)]
    return level[0]


def _fold(add: Callable[[Any, Any], Any], some: list[tuple[int, Any]]) -> tuple[int, Any]:
    """Some partial results as one."""
    rows, total = some[0]
    for more, value in some[1:]:
        rows, total = rows + more, add(total, value)
    return rows, total


def _await(client: Any, futures: list[Any], seen: set[str]) -> list[str]:
    """Wait for the end, whatever it is, and return the workers that have gone; those `seen` are then the ones that are there.

    Where all that there were have gone, others are waited for `_PATIENCE` seconds.
    """
    from distributed import wait

    alone_since = None
    while True:
        with suppress(TimeoutError):
            wait(futures, timeout=_TICK)
        there = set(client.ncores())
        seen |= there
        if all(future.done() for future in futures):
            gone = sorted(seen - there)
            seen &= there
            return gone
        alone_since = None if there else alone_since or monotonic()
        if seen and alone_since is not None and monotonic() - alone_since > _PATIENCE:
            client.cancel(futures)
            raise ClusterError(
                f"All workers of the cluster have ended, and none has come back for {_PATIENCE:g} s. {_HUNGRY}, start workers again "
                "and call fit anew. The logs of the workers say more."
            )


def _ended(client: Any, worker: str) -> bool:
    """A worker that has gone was not told to."""
    events = [event for _, event in client.get_events(worker) if isinstance(event, dict)]
    return not any(event.get("action") == "remove-worker" and event.get("expected") for event in events)


def _results(client: Any, futures: list[Any]) -> list[Any]:
    """What the tasks have made, or what one of them has raised."""
    from distributed import KilledWorker

    try:
        for future in futures:
            if future.status == "error":
                future.result()
    except KilledWorker as failure:
        raise MemoryLimitError(f"{_HUNGRY}. The logs of the workers say more.") from failure
    with _explained(client):
        return list(client.gather(futures))


@contextmanager
def _explained(client: Any) -> Iterator[None]:
    """What ends the work of a cluster, in words; errors that tasks raise are passed on."""
    from asyncio import CancelledError as Stopped
    from concurrent.futures import CancelledError

    from distributed.comm import CommClosedError

    try:
        yield
    except EigenspanError:
        raise
    except (CancelledError, Stopped, CommClosedError, OSError) as failure:
        address = getattr(getattr(client, "scheduler", None), "address", "its address")
        raise ClusterError(
            f"The scheduler at {address} was lost while the cluster worked ({type(failure).__name__}). What workers had summed up went "
            "with it, and the estimator is as it was before: connect to a scheduler again (a new Client) and call fit anew. What persist() "
            "held on the old one is lost too, and must be made again."
        ) from failure
