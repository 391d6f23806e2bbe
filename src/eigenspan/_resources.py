"""How much memory and how many threads there are, and the refusal to ask for more.

A dense n×n array is allocated only where a method's structure forces one, and only after `require` has agreed.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import lru_cache
from pathlib import Path
from typing import Any

from threadpoolctl import ThreadpoolController

from .errors import InputError, MemoryLimitError

#: Set to a number of bytes, or a string such as ``"2G"``, to lower the limit (it never raises it).
LIMIT_VARIABLE = "EIGENSPAN_MEMORY"

_limit: ContextVar[int | None] = ContextVar("eigenspan_threads", default=None)

_UNITS = {"K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}


def parse_bytes(text: str) -> int:
    """``"1.5G"`` -> 1610612736."""
    text = text.strip().upper().removesuffix("B").removesuffix("I")
    if text and text[-1] in _UNITS:
        return int(float(text[:-1]) * _UNITS[text[-1]])
    return int(float(text))


def human_bytes(number: float) -> str:
    """1610612736 -> ``"1.5 GB"``."""
    for unit in ("B", "kB", "MB", "GB"):
        if number < 1024:
            return f"{number:.3g} {unit}"
        number /= 1024
    return f"{number:.3g} TB"


def available_memory() -> int:
    """Bytes that can be allocated now: free memory, the control group's limit, or the user's own limit."""
    limits = []
    try:
        fields = dict(line.split(":", 1) for line in Path("/proc/meminfo").read_text().splitlines() if ":" in line)
        limits.append(int(fields["MemAvailable"].split()[0]) * 1024)
    except (OSError, KeyError, ValueError):
        with suppress(ValueError, OSError, AttributeError):  # where nothing tells, allocate and let the system answer
            limits.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    with suppress(OSError, ValueError):  # no control group, or no limit in it
        root = Path("/sys/fs/cgroup")
        limits.append(int((root / "memory.max").read_text()) - int((root / "memory.current").read_text()))
    if LIMIT_VARIABLE in os.environ:
        try:
            limits.append(parse_bytes(os.environ[LIMIT_VARIABLE]))
        except ValueError:
            raise InputError(
                f"The environment variable {LIMIT_VARIABLE}={os.environ[LIMIT_VARIABLE]!r} is no amount of memory: use a "
                'number of bytes, or a number with K, M, G or T, such as "2G".'
            ) from None
    return max(0, min(limits, default=2**63))


def require(n_bytes: float, what: str, instead: str) -> None:
    """Refuse, before allocating, what would not fit.

    Parameters
    ----------
    n_bytes : float
        Predicted peak of the allocation.
    what : str
        What is about to be allocated, with its shape.
    instead : str
        What the user can call instead.
    """
    there = available_memory()
    if n_bytes > 0.9 * there:
        raise MemoryLimitError(
            f"{what} would need {human_bytes(n_bytes)}, but only {human_bytes(there)} of memory is available. {instead}"
        )


@contextmanager
def threads(n_jobs: int | None) -> Iterator[None]:
    """Use at most `n_jobs` threads inside the block; results do not depend on it.

    Negative numbers count back from all processors (-1: all of them, -2: all but one); None leaves the present limit.
    """
    token = _limit.set(workers(n_jobs))
    try:
        yield
    finally:
        _limit.reset(token)


def blas_pools() -> list[Any]:
    """What threadpoolctl tells of every linear algebra library that is loaded."""
    return _controller(len(sys.modules)).select(user_api="blas").info()


def one_blas_thread() -> Any:
    """A context in which linear algebra keeps to the thread that asks for it."""
    return _controller(len(sys.modules)).limit(limits=1, user_api="blas")


def one_thread() -> Any:
    """A context in which no library starts threads, of linear algebra or of OpenMP, which a forked process could not use again."""
    return _controller(len(sys.modules)).limit(limits=1)


@lru_cache(maxsize=1)
def _controller(modules: int) -> ThreadpoolController:
    """Looking for the libraries takes milliseconds, and only an import can bring a new one."""
    return ThreadpoolController()


def workers(n_jobs: int | None = None) -> int:
    """Threads to use: `n_jobs`, and never more than the processors, than `threads` allows, or than the limit that `threadpoolctl`
    or the environment has put on the linear algebra."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    limits = [cores, *(pool["num_threads"] for pool in blas_pools())]
    if n_jobs is not None:
        limits.append(n_jobs if n_jobs > 0 else cores + 1 + n_jobs)
    if (allowed := _limit.get()) is not None:
        limits.append(allowed)
    return max(1, min(limits))


def in_threads(work: Callable[[Any], Any], items: Iterable[Any], n_threads: int) -> list[Any]:
    """``[work(item) for item in items]`` on several threads, the linear algebra inside on one each.

    An error or an interrupt drops what has not begun and waits for what has: no thread outlives the call.
    """
    pieces, results = iter(enumerate(items)), {}

    def run() -> None:
        for place, item in pieces:
            results[place] = work(item)

    with one_blas_thread():
        if n_threads <= 1:
            run()
        else:
            pool = ThreadPoolExecutor(n_threads)
            try:
                for done in as_completed([pool.submit(run) for _ in range(n_threads)]):
                    done.result()
            finally:
                for _ in pieces:  # what has not begun when one fails
                    pass
                pool.shutdown()
    return [results[place] for place in range(len(results))]
