"""How many threads there are to use, and loops over them."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager, nullcontext, suppress
from contextvars import Context, ContextVar
from functools import lru_cache
from threading import Event, Lock, current_thread, main_thread
from typing import Any

from threadpoolctl import ThreadpoolController

#: Order of dense factorisations up to which one thread does them.
_ALONE = 800


_limit: ContextVar[int | None] = ContextVar("eigenspan_threads", default=None)


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


def threads_for(order: int) -> Any:
    """A context for dense factorisations of this order. Up to `_ALONE` they keep to one thread: several gain little, and where other
    processes use the cores they wait for each other much longer than they work (order 400: 2.5 s on two, 0.04 s on one)."""
    return one_blas_thread() if order <= _ALONE else nullcontext()


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


def in_threads(work: Callable[[Any], Any], items: Iterable[Any], n_threads: int, openmp: int = 1) -> list[Any]:
    """``[work(item) for item in items]`` on several threads, the linear algebra inside on one each, OpenMP on `openmp`.

    Items are drawn one at a time, when a thread is free for the next: a generator is never read ahead. An error or an interrupt
    leaves what has not begun and waits for what has: no thread outlives the call. The calling thread is one of them, as it is on a
    processor already: a new one may be put behind another's work there for some milliseconds. Not so with OpenMP, whose teams belong to
    the threads that start them and go with these, so that a process forked later does not wait for them.
    """
    pieces, results = enumerate(items), {}
    drawing, stopped = Lock(), Event()

    def run() -> None:
        with _controller(len(sys.modules)).limit(limits=openmp, user_api="openmp"):  # a limit of this thread alone
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


def in_slices(work: Callable[[slice], Any], n: int, rows: int, n_threads: int) -> list[Any]:
    """`in_threads` over consecutive slices of ``range(n)``; the cut does not depend on the threads, and neither does the result.

    There is at least one slice, which is empty where n is zero.
    """
    starts = range(0, max(n, 1), rows)
    return in_threads(work, (slice(i, min(i + rows, n)) for i in starts), min(n_threads, len(starts)))


def _on_threads(run: Callable[[], None], n_threads: int, stopped: Event, here: bool) -> None:
    """`run` on each of so many threads, this one among them or not; whatever happens, `stopped` is set and all others have ended before
    this returns."""
    pool, begun = ThreadPoolExecutor(n_threads), []
    try:
        # suppressed: a limit on threads, or on addresses for their stacks: fewer do as well
        with _interrupts_later(), suppress(RuntimeError):
            for _ in range(n_threads - here):
                begun.append(pool.submit(run))
        if here or not begun:
            Context().run(run)  # without the caller's context variables, as on the other threads
        for done in as_completed(begun):
            done.result()
    finally:
        with _interrupts_later():
            stopped.set()
            pool.shutdown()


@contextmanager
def _interrupts_later() -> Iterator[None]:
    """Ctrl-C takes effect at the end of the block: it must not come between a thread and the note that it was started, or has ended."""
    handler = signal.getsignal(signal.SIGINT)
    if current_thread() is not main_thread() or not callable(handler):
        yield
        return
    pressed: list[Any] = []
    signal.signal(signal.SIGINT, lambda *arguments: pressed.append(arguments))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        if pressed:
            handler(*pressed[0])
