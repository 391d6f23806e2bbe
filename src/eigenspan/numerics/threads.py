"""Number of threads to use, thread limits of libraries, and loops over threads."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from contextvars import Context, ContextVar
from functools import lru_cache
from threading import Event, Lock, current_thread, main_thread
from types import FrameType
from typing import TypedDict, TypeVar

from threadpoolctl import ThreadpoolController

#: Largest order of a dense factorisation that runs on one thread.
_MAX_SERIAL_ORDER = 800


Item = TypeVar("Item")
Result = TypeVar("Result")


class BlasPool(TypedDict):
    """The field of threadpoolctl's information on a library that is used here."""

    num_threads: int


_limit: ContextVar[int | None] = ContextVar("eigenspan_threads", default=None)


@contextmanager
def threads(n_jobs: int | None) -> Iterator[None]:
    """Use at most `n_jobs` threads inside the block; results do not depend on it.

    Negative numbers count back from the number of processors (-1: all, -2: all but one); None keeps the current limit.
    """
    token = _limit.set(workers(n_jobs))
    try:
        yield
    finally:
        _limit.reset(token)


def blas_pools() -> list[BlasPool]:
    """Return threadpoolctl's information on each loaded linear algebra library."""
    return _controller(len(sys.modules)).select(user_api="blas").info()


def one_blas_thread() -> AbstractContextManager[object]:
    """Return a context manager that limits linear algebra libraries to the calling thread."""
    return _controller(len(sys.modules)).limit(limits=1, user_api="blas")


def threads_for(order: int) -> AbstractContextManager[object]:
    """Return a context manager for dense factorisations of this order: one thread up to `_MAX_SERIAL_ORDER`, no limit above.

    Several threads gain little at small orders. If other processes use the cores, the threads wait for each other much longer than
    they compute (order 400: 2.5 s on two threads, 0.04 s on one).
    """
    return one_blas_thread() if order <= _MAX_SERIAL_ORDER else nullcontext()


def one_thread() -> AbstractContextManager[object]:
    """Return a context manager in which no library starts threads (linear algebra or OpenMP): a forked process could not use them."""
    return _controller(len(sys.modules)).limit(limits=1)


@lru_cache(maxsize=1)
def _controller(modules: int) -> ThreadpoolController:
    """Return the controller, cached: finding the libraries takes milliseconds, and only an import can load a new one."""
    return ThreadpoolController()


def workers(n_jobs: int | None = None) -> int:
    """Return the number of threads to use.

    This is `n_jobs`, limited by the number of processors, by `threads`, and by the limits that `threadpoolctl` or the environment
    set for linear algebra.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    limits = [cores, *(pool["num_threads"] for pool in blas_pools())]
    if n_jobs is not None:
        limits.append(n_jobs if n_jobs > 0 else cores + 1 + n_jobs)
    if (allowed := _limit.get()) is not None:
        limits.append(allowed)
    return max(1, min(limits))


def in_threads(work: Callable[[Item], Result], items: Iterable[Item], n_threads: int, openmp: int = 1) -> list[Result]:
    """Return ``[work(item) for item in items]``, computed on several threads.

    Each thread runs linear algebra on one thread and OpenMP on `openmp` threads. Items are drawn one at a time, when a thread is
    free, so a generator is never read ahead. After an error or an interrupt no further item starts, and running items are
    completed: no thread outlives the call.

    If `openmp` is 1, the calling thread is one of the workers: it already runs on a processor, whereas the system may queue a new
    thread behind other work for some milliseconds. Otherwise all workers are new threads: an OpenMP team belongs to the thread that
    started it and ends with it, so a process forked later does not wait for the team.
    """
    pieces, results = enumerate(items), dict[int, Result]()
    drawing, stopped = Lock(), Event()

    def run() -> None:
        # this limit applies to the current thread only
        with _controller(len(sys.modules)).limit(limits=openmp, user_api="openmp"):
            try:
                while not stopped.is_set():
                    with drawing:
                        piece = next(pieces, None)
                    if piece is None:
                        return
                    results[piece[0]] = work(piece[1])
            except BaseException:
                stopped.set()
                raise

    with one_blas_thread():
        if n_threads <= 1 and openmp == 1:
            run()
        else:
            _on_threads(run, n_threads, stopped, here=openmp == 1)
    return [results[place] for place in range(len(results))]


def in_slices(work: Callable[[slice], Result], n: int, rows: int, n_threads: int) -> list[Result]:
    """Call `in_threads` on consecutive slices of ``range(n)`` of `rows` rows each.

    The slices do not depend on the number of threads, so neither does the result. If n is zero there is one empty slice.
    """
    starts = range(0, max(n, 1), rows)
    return in_threads(work, (slice(i, min(i + rows, n)) for i in starts), min(n_threads, len(starts)))


def _on_threads(run: Callable[[], None], n_threads: int, stopped: Event, here: bool) -> None:
    """Call `run` on `n_threads` threads, including the calling thread if `here`.

    In every case `stopped` is set and all other threads have ended before this function returns.
    """
    pool, begun = ThreadPoolExecutor(n_threads), []
    try:
        # RuntimeError: the limit on threads, or on addresses for their stacks, is reached. Fewer threads also work.
        with _delayed_interrupts(), suppress(RuntimeError):
            for _ in range(n_threads - here):
                begun.append(pool.submit(run))
        if here or not begun:
            Context().run(run)  # without the caller's context variables, as on the other threads
        for done in as_completed(begun):
            done.result()
    finally:
        with _delayed_interrupts():
            stopped.set()
            pool.shutdown()


@contextmanager
def _delayed_interrupts() -> Iterator[None]:
    """Delay Ctrl-C until the end of the block, so that it cannot interrupt the bookkeeping of started and ended threads."""
    handler = signal.getsignal(signal.SIGINT)
    if current_thread() is not main_thread() or not callable(handler):
        yield
        return
    pressed: list[tuple[int, FrameType | None]] = []
    signal.signal(signal.SIGINT, lambda *arguments: pressed.append(arguments))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        if pressed:
            handler(*pressed[0])
