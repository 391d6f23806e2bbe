"""Computations on the blocks of a Dask collection: on the workers of a cluster if there is a client, else on threads of this process.

Dask is imported inside functions only: its users have imported it before.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from time import monotonic
from typing import Protocol, TypeVar, cast

from ..._diagnostics import note
from ...errors import ClusterError, ClusterWarning, EigenspanError, MemoryLimitError, warn
from ...numerics.memory import human_bytes
from ...numerics.threads import one_blas_thread

#: Seconds to wait for new workers if all have ended, and between checks.
_PATIENCE, _TICK = 60.0, 2.0
_WORKERS_KILLED = (
    "A block of rows ended every worker that processed it, usually because memory ran out: use smaller blocks (X.rechunk, X.repartition), "
    "fewer threads for each worker, or a larger memory_limit"
)
#: Sizes of values for the workers: up to the first they are part of the task graph, above the second they are refused.
_SMALL, _LARGE = 2**20, 200 * 2**20
#: Partial results that are added up in one task.
_FAN_IN = 8

Result_co = TypeVar("Result_co", covariant=True)
Result = TypeVar("Result")


class Delayed(Protocol[Result_co]):
    """A lazy value of Dask."""

    def compute(self) -> Result_co: ...


class Future(Protocol[Result_co]):
    """A result on a cluster, present or to come."""

    status: str

    def done(self) -> bool: ...

    def result(self) -> Result_co: ...


class Client(Protocol):
    """The connection to a cluster, as far as it is used here."""

    def ncores(self) -> Mapping[str, int]: ...

    def nthreads(self) -> Mapping[str, int]: ...

    def submit(self, work: Callable[..., Result], *arguments: object, pure: bool) -> Future[Result]: ...

    def compute(self, lazy: Delayed[Result]) -> Future[Result]: ...

    def gather(self, futures: Sequence[Future[Result]]) -> list[Result]: ...

    def scatter(self, value: Result, *, broadcast: bool, hash: bool) -> Future[Result]: ...

    def cancel(self, futures: Sequence[Future[object]]) -> None: ...

    def get_events(self, topic: str) -> Sequence[tuple[float, object]]: ...


def client_of_dask() -> Client | None:
    """Return the client that Dask would use now; None if it would use threads or processes of its own."""
    if "distributed" not in sys.modules:
        return None
    from dask.base import get_scheduler

    owner = getattr(get_scheduler(), "__self__", None)
    return owner if "Client" in type(owner).__name__ else None


def shared(value: Result, what: str = "The shared value") -> Delayed[Result] | Future[Result]:
    """Return a value that all tasks may use, sent once: with the task graph if it is small, else to all workers beforehand."""
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
    with explained(client):
        return client.scatter(value, broadcast=True, hash=False)


def large_graph() -> AbstractContextManager[object]:
    """Return a context in which Dask does not warn of large task graphs: data in the graph can be restored if a worker is lost."""
    import dask

    return dask.config.set({"distributed.admin.large-graph-warning-threshold": "1TB"})


def compute(lazy: Delayed[Result]) -> Result:
    """Return the value of a delayed object. A lost worker raises one warning and its tasks are repeated; a lost cluster is an error."""
    client = client_of_dask()
    if client is None:
        with one_blas_thread():  # Dask runs one task per thread
            return lazy.compute()
    with explained(client):
        seen = set(client.ncores())
        future = client.compute(lazy)
    return gathered(client, [future], seen)[0]


def gathered(client: Client, futures: list[Future[Result]], seen: set[str]) -> list[Result]:
    """Return the results of the tasks, with one warning if any of the workers `seen` so far are lost; their tasks are repeated."""
    with explained(client):
        lost = [worker for worker in _await(client, futures, seen) if _ended(client, worker)]
    found = _results(client, futures)
    if lost:
        warn(
            f"{len(lost)} of the cluster's workers ended while they worked ({', '.join(lost)}): other workers repeated their tasks, "
            "and the result is the same. If they ran out of memory, use smaller blocks (rechunk) or larger workers.",
            ClusterWarning,
        )
    return found


def folded(
    level: list[Delayed[tuple[int, Result]]], add: Callable[[Result, Result], Result] = operator.add
) -> Delayed[tuple[int, Result]]:
    """Return the sum of delayed pairs (number of rows, value), added up by a tree in a fixed order."""
    import dask

    fold = dask.delayed(_fold, pure=False)
    while len(level) > 1:
        level = [fold(add, level[i : i + _FAN_IN]) for i in range(0, len(level), _FAN_IN)]
    return level[0]


def _fold(add: Callable[[Result, Result], Result], some: list[tuple[int, Result]]) -> tuple[int, Result]:
    """Return the sum of partial results."""
    rows, total = some[0]
    for more, value in some[1:]:
        rows, total = rows + more, add(total, value)
    return rows, total


def _await(client: Client, futures: Sequence[Future[object]], seen: set[str]) -> list[str]:
    """Wait until all tasks have ended or failed, return the lost workers and remove them from `seen`.

    If all workers are lost, wait `_PATIENCE` seconds for new ones.
    """
    from distributed import wait

    empty_since = None
    while True:
        with suppress(TimeoutError):
            wait(futures, timeout=_TICK)
        there = set(client.ncores())
        seen |= there
        if all(future.done() for future in futures):
            gone = sorted(seen - there)
            seen &= there
            return gone
        empty_since = None if there else empty_since or monotonic()
        if seen and empty_since is not None and monotonic() - empty_since > _PATIENCE:
            client.cancel(futures)
            raise ClusterError(
                f"All workers of the cluster have ended, and none has come back for {_PATIENCE:g} s. {_WORKERS_KILLED}, start workers "
                "again and call fit anew. The logs of the workers say more."
            )


def _ended(client: Client, worker: str) -> bool:
    """Return True if the worker died unexpectedly."""
    events = [event for _, event in client.get_events(worker) if isinstance(event, dict)]
    return not any(event.get("action") == "remove-worker" and event.get("expected") for event in events)


def _results(client: Client, futures: list[Future[Result]]) -> list[Result]:
    """Return the results of the tasks, or raise the error of one of them."""
    from distributed import KilledWorker

    try:
        for future in futures:
            if future.status == "error":
                future.result()
    except KilledWorker as failure:
        raise MemoryLimitError(f"{_WORKERS_KILLED}. The logs of the workers say more.") from failure
    with explained(client):
        return list(client.gather(futures))


@contextmanager
def explained(client: Client) -> Iterator[None]:
    """Raise `ClusterError` with the reason if the scheduler is lost; pass on errors that tasks raise."""
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
            f"The scheduler at {address} was lost while the cluster worked ({type(failure).__name__}). Partial results are lost "
            "with it, and the estimator is unchanged: connect to a scheduler again (a new Client) and call fit anew. Data that persist() "
            "held on the old one are lost too: persist them again."
        ) from failure


# ---------------------------------------------------------------------- tasks that depend on each other
class Here:
    """Executor that runs every task at once, in this process.

    The result of a task is returned as a handle, which is an argument of other tasks or of `gather`; its declared type is that of the
    result.
    """

    many = 2

    def submit(self, work: Callable[..., Result], *arguments: object) -> Result:
        """Submit a task and return its handle. Arguments may be handles, also in lists."""
        return work(*arguments)

    def begin(self, work: Callable[..., Result], part: Delayed[object], *arguments: object) -> Result:
        """Submit a task on a delayed block."""
        return work(part.compute(), *arguments)

    def scatter(self, values: Sequence[Result]) -> list[Result]:
        """Return handles of values, as arguments of tasks."""
        return list(values)

    def gather(self, parts: Sequence[Result]) -> list[Result]:
        """Return the results of tasks, in this process."""
        return list(parts)


class Workers(Here):
    """Executor on the workers of a Dask client. Tasks run while others are submitted; those of a lost worker are repeated."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._seen: set[str] = set(client.ncores())

    @property
    def many(self) -> int:  # type: ignore[override]
        """Number of shards that keeps all workers busy."""
        return 2 * max(1, len(self._client.nthreads()))

    def submit(self, work: Callable[..., Result], *arguments: object) -> Result:
        return cast(Result, self._client.submit(work, *arguments, pure=False))

    def begin(self, work: Callable[..., Result], part: Delayed[object], *arguments: object) -> Result:
        import dask

        return cast(Result, self._client.compute(dask.delayed(work, pure=False)(part, *arguments)))

    def scatter(self, values: Sequence[Result]) -> list[Result]:
        """Return handles of one task per value: unlike scattered data, these can be restored if a worker is lost."""
        with explained(self._client), large_graph():
            return [self.submit(_same, value) for value in values]

    def gather(self, parts: Sequence[Result]) -> list[Result]:
        return gathered(self._client, cast(list[Future[Result]], list(parts)), self._seen)


def _same(value: Result) -> Result:
    """Return the value."""
    return value


def hands() -> Here:
    """Return the executor for what Dask would use now: the workers of its client, or this process."""
    client = client_of_dask()
    return Here() if client is None else Workers(client)
