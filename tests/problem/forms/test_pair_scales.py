"""Local scales of weights on all pairs: the distance to the k-th neighbour in the group, against sorted distances."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.spatial.distance import cdist, pdist

import eigenspan as es
from eigenspan.errors import GraphError
from eigenspan.problem.forms.all_pairs import pair_affinity

Array = NDArray[np.float64]
POINTS = np.random.default_rng(4).standard_normal((24, 3))
#: Groups of 11, 6, 3 and 2 points, a single one, and one without a label.
CODES = np.repeat([0, 1, 2, 3, 4, -1], [11, 6, 3, 2, 1, 1])


def weights(sigma: Array, points: Array, codes: NDArray[np.intp] | None = None) -> Array:
    W = np.exp(-(cdist(points, points) ** 2) / np.outer(sigma, sigma))
    return W if codes is None else np.where((codes[:, None] == codes) & (codes >= 0), W, 0.0)


def scales(points: Array, codes: NDArray[np.intp], k: int) -> Array:
    """The distance to the k-th neighbour of the same class, or to the last; zero where there is none."""
    sigma = np.zeros(len(points))
    for i, x in enumerate(points):
        others = np.flatnonzero((codes == codes[i]) & (np.arange(len(points)) != i))
        if codes[i] >= 0 and others.size:
            sigma[i] = np.sort(np.linalg.norm(points[others] - x, axis=1))[min(k, others.size) - 1]
    return sigma


@pytest.mark.parametrize("k", [1, 2, 4, 7])
def test_scales_are_those_of_the_group(k: int) -> None:
    sigma = scales(POINTS, CODES, k)
    assert np.sum(sigma == 0) == 2  # the single point of a class, and the one without a label
    sigma = np.maximum(sigma, sigma[sigma > 0].min())
    found = pair_affinity(POINTS, es.LocalScaling(k), codes=CODES).to_dense()
    np.testing.assert_allclose(found, weights(sigma, POINTS, CODES), atol=1e-12)


@pytest.mark.parametrize("k", [1, 3])
def test_points_that_coincide_take_the_least_scale_of_the_others(k: int) -> None:
    points = np.vstack(
        [POINTS[:10], np.tile(POINTS[0], (k, 1))]
    )  # k + 1 equal ones: their k-th neighbour is no distance away
    one = np.zeros(len(points), dtype=np.intp)
    sigma = scales(points, one, k)
    assert np.sum(sigma == 0) == k + 1
    sigma = np.where(sigma > 0, sigma, sigma[sigma > 0].min())
    np.testing.assert_allclose(pair_affinity(points, es.LocalScaling(k)).to_dense(), weights(sigma, points), atol=1e-12)


def test_groups_of_coinciding_points_are_refused_only_if_all_are() -> None:
    points = np.vstack([np.tile(POINTS[0], (4, 1)), POINTS[:4]])
    with pytest.raises(GraphError, match="All neighbouring points coincide"):
        pair_affinity(points[:4], es.LocalScaling(2))
    with pytest.raises(GraphError, match="All neighbouring points coincide"):
        pair_affinity(points[2:5], es.LocalScaling(2), codes=np.array([0, 0, 1]))
    codes = np.repeat([0, 1], 4)
    sigma = scales(points, codes, 2)
    sigma = np.maximum(sigma, sigma[4:].min())
    found = pair_affinity(points, es.LocalScaling(2), codes=codes).to_dense()
    np.testing.assert_allclose(found, weights(sigma, points, codes), atol=1e-12)


def test_classes_of_one_point_have_no_pairs_and_no_scale() -> None:
    found = pair_affinity(POINTS[:5], es.LocalScaling(2), codes=np.arange(5)).to_dense()
    np.testing.assert_array_equal(found, np.eye(5))


def test_one_width_for_all() -> None:
    n = len(POINTS)
    np.testing.assert_allclose(
        pair_affinity(POINTS, es.Heat(0.7)).to_dense(), weights(np.full(n, 0.7), POINTS), atol=1e-12
    )
    sigma = np.full(n, np.median(pdist(POINTS)) / 2)
    np.testing.assert_allclose(pair_affinity(POINTS, es.Heat()).to_dense(), weights(sigma, POINTS), atol=1e-12)
    with pytest.raises(GraphError, match="Heat, LocalScaling or Powered"):
        pair_affinity(POINTS, es.Binary())
