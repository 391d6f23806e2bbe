"""Parallel work in threads: items are taken in turn, no item is read ahead, and no thread is left running."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from eigenspan import PCA, TraceReducer
from eigenspan._diagnostics import collect, note
from eigenspan.numerics import threads as thread_limits
from eigenspan.numerics.threads import in_slices, in_threads
from eigenspan.problem.forms import centring


def slowly(n: int, seen: list[int]) -> Iterator[int]:
    """Yield slowly, so that another thread requests an item while the generator is running."""
    for i in range(n):
        time.sleep(0.001)
        seen.append(i)
        yield i


@pytest.mark.parametrize("n_threads", [1, 2, 4])
def test_threads_share_a_generator(n_threads: int) -> None:
    assert in_threads(lambda i: i * i, slowly(40, []), n_threads) == [i * i for i in range(40)]


def test_generator_is_not_read_ahead() -> None:
    drawn: list[int] = []
    done: list[int] = []

    def work(item: int) -> int:
        ahead = len(drawn) - len(done)
        time.sleep(0.002)
        done.append(item)
        return ahead

    assert max(in_threads(work, slowly(30, drawn), 2)) <= 2


@pytest.mark.parametrize("failure", [ValueError, KeyboardInterrupt])
def test_a_failure_leaves_the_rest_of_a_generator_unread(failure: type[BaseException]) -> None:
    drawn: list[int] = []
    before = threading.active_count()

    def work(item: int) -> None:
        if item == 3:
            raise failure("here")

    with pytest.raises(failure, match="here"):
        in_threads(work, slowly(60_000, drawn), 2)  # would take a minute if it were not stopped
    assert threading.active_count() == before
    assert len(drawn) < 60_000


def test_calling_thread_works_too_with_isolated_context() -> None:
    """Each of two threads waits in its first item until the other has one; notes from either are not recorded by the caller."""
    both = threading.Barrier(2, timeout=600)

    def work(item: int) -> int:
        both.wait()
        note(item=item)
        return threading.get_ident()

    with collect() as record:
        seen = in_threads(work, range(2), 2)
    assert len(set(seen)) == 2
    assert threading.get_ident() in seen
    assert "item" not in record


def test_error_raised_by_the_generator_propagates() -> None:
    def broken() -> Iterator[int]:
        yield 0
        raise OSError("the file ends here")

    with pytest.raises(OSError, match="ends here"):
        in_threads(lambda i: i, broken(), 2)


def test_fewer_threads_than_requested_suffice(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: Any, *work: Any) -> Any:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(ThreadPoolExecutor, "submit", refuse)
    assert in_threads(lambda i: i + 1, range(5), 2) == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("when", ["submit", "shutdown"])
def test_an_interrupt_while_threads_start_or_end_waits_for_them(when: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Regression: Ctrl-C between the start of a thread and its registration left the thread running."""
    plain = getattr(ThreadPoolExecutor, when)

    def pressed(self: Any, *work: Any) -> Any:
        signal.raise_signal(signal.SIGINT)
        return plain(self, *work)

    monkeypatch.setattr(ThreadPoolExecutor, when, pressed)
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    before = threading.active_count()
    try:
        with pytest.raises(KeyboardInterrupt):
            in_threads(lambda i: time.sleep(0.01), range(20), 2)
        assert threading.active_count() == before
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, handler)


def test_in_threads_can_be_nested() -> None:
    """Only the main thread may change signal handlers."""
    assert in_threads(lambda i: in_threads(lambda j: i * j, range(3), 2), range(3), 2) == [
        [0, 0, 0],
        [0, 1, 2],
        [0, 2, 4],
    ]


@pytest.mark.parametrize("n_threads", [1, 2])
def test_libraries_use_one_thread_inside_worker_threads(n_threads: int) -> None:
    with threadpool_limits(2):
        before = threadpool_info()
        for pools in in_threads(lambda i: threadpool_info(), range(3), n_threads):
            assert {pool["num_threads"] for pool in pools} == {1}
        assert threadpool_info() == before


def test_slices_cover_the_range() -> None:
    assert in_slices(lambda rows: (rows.start, rows.stop), 7, 3, 2) == [(0, 3), (3, 6), (6, 7)]
    assert in_slices(lambda rows: (rows.start, rows.stop), 0, 3, 2) == [(0, 0)]


def test_moments_of_many_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """PCA passes a generator of blocks to several threads."""
    monkeypatch.setattr(thread_limits, "blas_pools", list)
    X = np.random.default_rng(0).standard_normal((400_000, 20), dtype=np.float32)
    for _ in range(3):
        np.testing.assert_allclose(PCA(1).fit(X).mean_, X.mean(axis=0, dtype=np.float64), atol=1e-6)


def test_small_fits_use_one_blas_thread() -> None:
    """Threads that wait for each other make a small fit 60 times slower if other processes use the cores."""

    def pools() -> set[int]:
        return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}

    def form(X: Any, y: Any) -> Any:
        seen[len(X)] = pools()
        return centring(len(X))

    seen: dict[int, set[int]] = {}
    with threadpool_limits(2, user_api="blas"):
        for n in (100, 900):
            X = np.random.default_rng(0).standard_normal((n, 3)) * [3.0, 2.0, 1.0]
            TraceReducer(2, maximise=form, unit="projection").fit(X)
        assert pools() == seen[900]
    assert seen[100] == {1}
