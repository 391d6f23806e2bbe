"""Eigenvalues that count as positive: beyond rounding of the largest, of the matrix, and of zero."""

from __future__ import annotations

import numpy as np
import pytest

from eigenspan.problem.scale import positive, roots


@pytest.mark.parametrize(
    ("values", "norm", "expected"),
    [
        ([2.0, 1.0, 0.5], 2.0, 3),
        ([1.0, 1e-12, 1e-13], 1.0, 1),  # the limit itself is rounding
        ([1.0, 1.1e-12, 0.9e-12, -1.0], 1.0, 2),
        ([1e-3, 1e-8, -1.0], 1e7, 1),  # 1e-14 of the norm
        ([0.0, 0.0], 0.0, 0),
        ([-1.0, -2.0], 2.0, 0),
        ([np.finfo(float).tiny, 0.0], 0.0, 0),
    ],
)
def test_positive_beyond_rounding(values: list[float], norm: float, expected: int) -> None:
    assert positive(np.array(values), norm) == expected


def test_roots_of_negative_values_are_zero() -> None:
    np.testing.assert_array_equal(roots(np.array([4.0, 0.0, -1e-17, -3.0])), [2.0, 0.0, 0.0, 0.0])
