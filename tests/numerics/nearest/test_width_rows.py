"""Sample of rows for the default width of a heat kernel."""

import numpy as np
import pytest
from scipy.spatial.distance import pdist

from eigenspan.numerics.nearest.metric import median_width


@pytest.mark.parametrize("period", [2, 3, 4])
def test_sample_of_rows_in_periodic_order(period: int) -> None:
    """With groups in periodic order, a regular step would sample one group only."""
    rng = np.random.default_rng(0)
    n = 1000 * period
    X = rng.standard_normal((n, 2)) + 20.0 * (np.arange(n) % period)[:, None]
    assert median_width(X) == pytest.approx(np.median(pdist(X)) / 2, rel=0.1)
    assert median_width(X) == median_width(X.copy())
