"""Scaling by stress separates coincident points in directions that do not depend on rounding."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import pdist

from eigenspan.numerics.descent.smacof import ordinal_scaling


@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("heavy", [False, True])
def test_coincident_points_separate_independently_of_rounding(d: int, heavy: bool) -> None:
    rng = np.random.default_rng(0)
    given = pdist(rng.standard_normal((20, 4)))
    masses = rng.integers(1, 4, 20).astype(float) if heavy else None
    start = np.repeat(rng.standard_normal((10, d)), 2, axis=0)
    results = []
    for seed in range(3):
        noise = 1e-15 * np.random.default_rng(seed).standard_normal(start.shape)
        results.append(ordinal_scaling(given, start + noise, masses, tol=1e-6, steps=50))
    for other in results[1:]:
        np.testing.assert_allclose(other.Y, results[0].Y, atol=1e-6)
    stress = np.array(results[0].stress)
    assert np.all(np.diff(stress) <= 1e-12)
    assert pdist(results[0].Y).min() > 1e-6
