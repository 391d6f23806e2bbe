"""Sums over strips of rows: the same whichever strip is read first, in memory for a few of them."""

import time
from typing import Any

import numpy as np
import pytest

from eigenspan.data.rows import block_passes as strips
from eigenspan.data.rows.block_passes import CentredRows
from eigenspan.data.rows.moments import Moments
from eigenspan.numerics.threads import threads


def rows(dtype: Any) -> np.ndarray:
    return np.random.default_rng(0).standard_normal((60_000, 30)).astype(dtype)


@pytest.mark.parametrize("single", [False, True])
@pytest.mark.parametrize("late", [0, 3, 7])
def test_a_late_strip_changes_no_bit(single: bool, late: int, monkeypatch: pytest.MonkeyPatch) -> None:
    X = rows(np.float32 if single else np.float64)
    with threads(1):
        alone = Moments.of(X, single=single)
    number, of_strip = iter(range(100)), strips._sums_of_blocks

    def delayed(*given: Any) -> Any:
        if next(number) == late:
            time.sleep(0.05)
        return of_strip(*given)

    monkeypatch.setattr(strips, "_sums_of_blocks", delayed)
    monkeypatch.setattr(strips, "workers", lambda: 2)
    found = Moments.of(X, single=single)
    assert next(number) == 8  # all strips were read, and by this function
    np.testing.assert_array_equal(found.scatter, alone.scatter)
    np.testing.assert_array_equal(found.means, alone.means)
    C = X.astype(np.float64) - X.astype(np.float64).mean(axis=0)
    np.testing.assert_allclose(found.scatter, C.T @ C, rtol=0, atol=(1e-2 if single else 1e-9) * len(X) ** 0.5)


def test_matrices_are_added_in_the_order_of_their_numbers_and_their_memory_used_again() -> None:
    turns, given = strips._OrderedSum(), (1e16, 1.0, -1e16, 3.0)
    for number in (2, 0, 3, 1):
        matrix = turns.room(2)
        matrix[:] = given[number]
        turns.add(number, matrix)
    np.testing.assert_array_equal(turns.sum, 3.0)  # the 1 is lost in this order, and in others not
    spare = turns.room(2)
    assert spare is not turns.sum
    assert not np.shares_memory(spare, turns.sum)


def test_one_thread_holds_the_sum_and_one_matrix(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[np.ndarray] = []
    room = strips._OrderedSum.room

    def counted(self: Any, D: int) -> Any:
        matrix = room(self, D)
        if not any(matrix is each for each in made):
            made.append(matrix)
        return matrix

    monkeypatch.setattr(strips._OrderedSum, "room", counted)
    with threads(1):
        Moments.of(rows(np.float64))
    assert len(made) == 2


@pytest.mark.parametrize("n", [0, 1, 600, 5000])
def test_images_are_those_of_one_product(n: int) -> None:
    X, V = rows(np.float64)[:n], np.random.default_rng(1).standard_normal((30, 4))
    found = CentredRows(X, np.full(30, 3.0)).project(V)
    np.testing.assert_allclose(found, (X - 3.0) @ V, atol=1e-12)
