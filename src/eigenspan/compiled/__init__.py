"""Hot loops compiled by numba: imported on first use only, cached on disk, the same on one thread or two.

Each function has a plain numpy twin in the tests. The first call on a machine compiles for a few seconds. The loops are compiled
as plain serial code that lets go of the interpreter; `in_pieces` runs it over pieces of the work on a few Python threads. So
numba's own thread pool, which survives neither a fork nor, on some systems, a second caller, is never started.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

_limit: ContextVar[int | None] = ContextVar("eigenspan_threads", default=None)


@contextmanager
def threads(n_jobs: int | None) -> Iterator[None]:
    """Let the compiled loops use at most `n_jobs` threads inside the block; results do not depend on it.

    Negative numbers count back from all processors (-1: all of them, -2: all but one); None leaves the present limit, at first
    that of numba (``NUMBA_NUM_THREADS``, or every processor). numba is not loaded here.
    """
    if n_jobs is not None and n_jobs < 0:
        n_jobs = (os.cpu_count() or 1) + 1 + n_jobs
    token = _limit.set(_limit.get() if n_jobs is None else max(1, n_jobs))
    try:
        yield
    finally:
        _limit.reset(token)


def in_pieces(kernel: Callable[..., None], n: int, step: int, *arguments: Any) -> None:
    """Call ``kernel(start, stop, *arguments)`` over consecutive pieces of ``range(n)``, on the threads allowed.

    Compiled code cannot be interrupted: Ctrl-C waits for the pieces that run, so they should be well below a second. A kernel
    writes to its own piece only, and the cut does not depend on the threads: neither does the result.
    """
    from numba import config

    starts = range(0, n, step)
    workers = min(_limit.get() or getattr(config, "NUMBA_NUM_THREADS"), len(starts))  # noqa: B009, set on loading
    pieces = iter(starts)

    def work() -> None:
        for start in pieces:
            kernel(start, min(start + step, n), *arguments)

    if workers <= 1:
        return work()
    pool = ThreadPoolExecutor(workers)
    try:
        for done in as_completed([pool.submit(work) for _ in range(workers)]):
            done.result()
    finally:
        for _ in pieces:  # what has not begun when one fails
            pass
        pool.shutdown()
