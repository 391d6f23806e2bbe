"""Work on the blocks of a Dask collection: on the workers of a cluster where there is a client, else on threads of this process.

Dask is imported by the user who hands over a collection, and here only inside functions.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .._diagnostics import note
from .._resources import human_bytes, one_blas_thread
from ..errors import ClusterError, ClusterWarning, EigenspanError, MemoryLimitError, warn

#: Values that workers are sent: up to the first they travel with the graph, above the second they are refused.
_SMALL, _LARGE = 2**20, 200 * 2**20


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


def compute(lazy: Any) -> Any:
    """The value of something delayed. A worker that is lost on the way is told of once, and changes nothing; a lost cluster is an error."""
    client = client_of_dask()
    if client is None:
        with one_blas_thread():  # tasks run side by side on Dask's threads
            return lazy.compute()
    with _explained(client):
        before = _lost(client)
        found = client.compute(lazy).result()
        lost = [worker for event, worker in _lost(client).items() if event not in before]
    if lost:
        warn(
            f"{len(lost)} of the cluster's workers ended while they worked ({', '.join(lost)}): what they had done was done again by "
            "others, and the result is the same. If it was for want of memory, use smaller blocks (rechunk) or larger workers.",
            ClusterWarning,
        )
    return found


def _lost(client: Any) -> dict[str, str]:
    """Workers that have ended without being told to, by the event."""
    events = [event for _, event in client.get_events("all") if isinstance(event, dict)]
    gone = [event for event in events if event.get("action") == "remove-worker" and not event.get("expected")]
    return {str(event.get("stimulus_id")): str(event.get("worker")) for event in gone}


@contextmanager
def _explained(client: Any) -> Iterator[None]:
    """What ends the work of a cluster, in words; errors that tasks raise are passed on."""
    from concurrent.futures import CancelledError

    from distributed.comm import CommClosedError

    from distributed import KilledWorker

    try:
        yield
    except EigenspanError:
        raise
    except KilledWorker as failure:
        raise MemoryLimitError(
            f"A block of rows ended every worker that took it up ({failure.last_worker!s:.60} was the last), most often for want of "
            "memory: use smaller blocks (X.rechunk, X.repartition), fewer threads for each worker, or a larger memory_limit. The logs of "
            "the workers say more."
        ) from failure
    except (CancelledError, CommClosedError, OSError, TimeoutError) as failure:
        address = getattr(getattr(client, "scheduler", None), "address", "its address")
        raise ClusterError(
            f"The scheduler at {address} was lost while the cluster worked ({type(failure).__name__}: {failure!s:.200}). What "
            "workers had summed up went with it, and the estimator is as it was before: connect to a scheduler again (a new Client) "
            "and call fit anew. Collections made by persist() on the old one are lost too, and must be made again."
        ) from failure
