"""Who works on pieces of data that depend on one another: the workers of a cluster, or this process where there is none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .cluster import _explained, client_of_dask, gathered, large_graph


class Here:
    """Everything is done at once, in this process."""

    many = 2

    def submit(self, work: Callable[..., Any], *arguments: Any) -> Any:
        """A piece of work; its arguments may be what others were submitted for, also in lists."""
        return work(*arguments)

    def begin(self, work: Callable[..., Any], part: Any, *arguments: Any) -> Any:
        """The same on a delayed block."""
        return work(part.compute(), *arguments)

    def scatter(self, values: Sequence[Any]) -> list[Any]:
        """Values to submit work on."""
        return list(values)

    def gather(self, parts: Sequence[Any]) -> list[Any]:
        """What the work has come to."""
        return list(parts)


class Workers(Here):
    """The workers of a Dask client. What was begun there goes on while more is submitted, and what a lost worker held is made again."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._seen: set[str] = set(client.ncores())

    @property
    def many(self) -> int:  # type: ignore[override]
        """Shards that keep all workers busy."""
        return 2 * max(1, len(self._client.nthreads()))

    def submit(self, work: Callable[..., Any], *arguments: Any) -> Any:
        return self._client.submit(work, *arguments, pure=False)

    def begin(self, work: Callable[..., Any], part: Any, *arguments: Any) -> Any:
        import dask

        return self._client.compute(dask.delayed(work, pure=False)(part, *arguments))

    def scatter(self, values: Sequence[Any]) -> list[Any]:
        """In tasks of their own, which can be run again where a worker is lost: data that were only sent would be lost with it."""
        with _explained(self._client), large_graph():
            return [self.submit(_same, value) for value in values]

    def gather(self, parts: Sequence[Any]) -> list[Any]:
        return gathered(self._client, list(parts), self._seen)


def _same(value: Any) -> Any:
    return value


def hands() -> Here:
    """The workers that Dask would compute with now."""
    client = client_of_dask()
    return Here() if client is None else Workers(client)
