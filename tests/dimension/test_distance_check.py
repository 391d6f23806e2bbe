"""`check_distances` against Schoenberg's theorem, brute force over triples, and tables with known faults."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import cdist
from sklearn.datasets import load_iris

from eigenspan import ClassicalMDS, check_distances
from eigenspan.errors import GraphError, InputError


@pytest.mark.parametrize("dimension", [0, 1, 2, 5, 9])
@pytest.mark.parametrize("scale", [1e-100, 1.0, 1e100])
def test_the_dimension_of_points(dimension: int, scale: float) -> None:
    """Theorem 4.1: the least dimension is the rank of the centred table, whatever space the points are given in."""
    rng = np.random.default_rng(dimension)
    X = rng.standard_normal((25, dimension)) @ rng.standard_normal((dimension, 12)) + 3.0
    D = scale * cdist(X, X)
    found = check_distances(D)
    assert found
    assert found.is_metric
    assert found.dimension == dimension
    assert found.negative_share == 0
    H = np.eye(25) - 1 / 25
    reference = np.linalg.eigvalsh(-0.5 * H @ (D / scale) ** 2 @ H)[::-1]
    np.testing.assert_allclose(found.eigenvalues / scale**2, reference, atol=1e-9)
    if scale == 1.0:
        for same in (
            check_distances(D**2, squared=True),
            check_distances(sp.csr_array(D)),
            check_distances(D.tolist()),
        ):
            assert same.dimension == dimension
            np.testing.assert_allclose(same.eigenvalues, found.eigenvalues, atol=1e-9)
            assert same.tolerance == pytest.approx(found.tolerance, rel=1e-9)


def test_the_dimension_is_enough_for_classical_mds_and_one_less_is_not() -> None:
    D = cdist(load_iris().data, load_iris().data)
    found = check_distances(D)
    assert found.dimension == 4
    assert "Euclidean distances of 150 points in 4 dimensions" in repr(found)
    errors = [
        np.abs(cdist(Y, Y) - D).max() for Y in (ClassicalMDS(d, metric="precomputed").fit_transform(D) for d in (3, 4))
    ]
    assert errors[1] < 1e-7 < errors[0]


def test_distances_of_no_points() -> None:
    """The path metric of a star with three leaves is the smallest metric that no points have."""
    star = np.array([[0, 1, 1, 1], [1, 0, 2, 2], [1, 2, 0, 2], [1, 2, 2, 0]], dtype=float)
    found = check_distances(star)
    assert not found
    assert found.is_metric
    assert found.dimension is None
    assert found.smallest_eigenvalue == pytest.approx(-0.25)
    assert found.largest_eigenvalue == pytest.approx(2.0)
    assert found.negative_share == pytest.approx(0.25 / 4.25)
    assert "of a metric that is not Euclidean" in repr(found)
    assert "5.88% of the sum" in repr(found)


@pytest.mark.parametrize("seed", range(4))
def test_the_triangle_inequality_against_brute_force(seed: int) -> None:
    rng = np.random.default_rng(seed)
    D = rng.uniform(0.5 + 0.2 * seed, 2.0, (9, 9))
    D = np.triu(D, 1) + np.triu(D, 1).T
    excess = {(i, k, j): D[i, j] - D[i, k] - D[k, j] for i, k, j in permutations(range(9), 3) if i < j}
    wrong = sorted((triple for triple in excess if excess[triple] > 1e-9), key=lambda triple: -excess[triple])
    found = check_distances(D)
    assert found.triangle.count == len(wrong)
    assert found.is_metric == (not wrong)
    assert [tuple(row) for row in found.triangle.worst] == wrong[:5]
    np.testing.assert_allclose(found.triangle.excess, [excess[triple] for triple in wrong[:5]])


def test_faults_of_single_entries_are_named() -> None:
    D = cdist(*2 * [np.random.default_rng(0).standard_normal((20, 3))])
    D[2, 7] += 0.5
    D[4, 4], D[5, 5] = 0.1, -0.2
    D[8, 9] = D[9, 8] = -1.0
    found = check_distances(D)
    assert not found
    assert not found.is_metric
    assert found.dimension is None
    assert found.asymmetric.count == 1
    assert found.asymmetric.worst.tolist() == [[2, 7]]
    np.testing.assert_allclose(found.asymmetric.excess, [0.5])
    assert found.negative.count == 3
    assert found.negative.worst.tolist() == [[8, 9], [9, 8], [5, 5]]
    assert found.diagonal.worst.ravel().tolist() == [5, 4]
    np.testing.assert_allclose(found.diagonal.excess, [0.2, 0.1])
    for words in (
        "Pairs that differ from their transpose: 1; worst: (2, 7) by 0.5",
        "Negative entries: 3",
        "(4) by 0.1",
    ):
        assert words in repr(found)


@pytest.mark.parametrize("decimals", [1, 3])
def test_the_tolerance_covers_rounded_distances(decimals: int) -> None:
    """Weyl: errors e of squared distances move eigenvalues by at most n e / 2, so the stated dimension never exceeds the true one."""
    rng = np.random.default_rng(decimals)
    for _ in range(5):
        D = cdist(*2 * [rng.standard_normal((30, 3))])
        rounded = np.round(D, decimals)
        h = 0.5 * 10.0**-decimals
        found = check_distances(rounded, tol=2.1 * h / rounded.max())
        assert not check_distances(rounded)
        assert found
        assert found.dimension is not None
        assert found.dimension <= 3
        moved = np.abs(found.eigenvalues - check_distances(D).eigenvalues).max()
        assert moved <= found.tolerance
    assert decimals == 1 or found.dimension == 3


def test_single_precision_is_recognised() -> None:
    D = cdist(*2 * [np.random.default_rng(0).standard_normal((40, 3))]).astype(np.float32)
    assert check_distances(D).dimension == 3
    assert check_distances(D.astype(np.float64)).dimension == 3


def test_what_is_refused() -> None:
    with pytest.raises(InputError, match=r"must be a square matrix of distances; got shape \(2, 3\)"):
        check_distances(np.ones((2, 3)))
    with pytest.raises(InputError, match="2 values that are NaN or infinite"):
        check_distances([[0, np.nan], [np.inf, 0]])
    with pytest.raises(GraphError, match="squares overflow"):
        check_distances([[0, 1e200], [1e200, 0]])
    with pytest.raises(InputError, match="tol=-1 cannot be used"):
        check_distances([[0.0]], tol=-1)
