"""Executors for dependent tasks: Dask workers, or this process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar, cast

from .cluster import Client, Delayed, Future, client_of_dask, explained, gathered, large_graph

Result = TypeVar("Result")


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
