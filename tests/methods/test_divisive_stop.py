"""Where divisive partitioning stops by itself: not a split before the centroids scatter more than the largest cluster, nor one after."""

from __future__ import annotations

import numpy as np
import pytest

import eigenspan as es


def scatters(fitted: es.PDDP) -> tuple[float, float]:
    """Of the centroids about their mean, and of the rows of the largest cluster about theirs."""
    centres = fitted.cluster_centers_
    return float(np.sum((centres - centres.mean(axis=0)) ** 2)), float(fitted.scatters_.max())


@pytest.mark.parametrize("seed", range(4))
def test_the_first_time_that_centroids_scatter_more(seed: int) -> None:
    X = np.random.default_rng(seed).standard_normal((90, 3)) * [3, 2, 1]
    stopped = es.PDDP("auto").fit(X)
    count = len(stopped.scatters_)
    between, largest = scatters(stopped)
    assert between > largest
    for fewer in range(2, count):
        between, largest = scatters(es.PDDP(fewer).fit(X))
        assert between <= largest
    assert count > 3
