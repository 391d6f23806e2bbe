"""Excluded directions are permuted together with the samples when the factor reorders them."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from eigenspan.numerics.eigen.auto import ShiftInvert
from eigenspan.problem import Form
from helpers import angle


@pytest.mark.parametrize("by_fronts", [False, True])
def test_an_excluded_vector_that_is_not_constant(by_fronts: bool) -> None:
    """A chain in a random order, D^-1/2 L D^-1/2 of unequal weights: its null vector √d differs between samples."""
    rng = np.random.default_rng(0)
    n, weights = 400, rng.uniform(0.5, 2.0, 399)
    W = sp.diags_array([weights, weights], offsets=[1, -1]).toarray()
    shuffled = rng.permutation(n)
    W = W[np.ix_(shuffled, shuffled)]
    d = W.sum(axis=1)
    A = np.eye(n) - W / np.sqrt(np.outer(d, d))
    null = np.sqrt(d / d.sum())[:, None]
    values, vectors = ShiftInvert(by_fronts=by_fronts).pairs(
        Form(n, sparse=sp.csr_array(A), psd=True), 3, "min", null, np.random.default_rng(0)
    )
    true, Q = np.linalg.eigh(A)
    np.testing.assert_allclose(np.sort(values), true[1:4], rtol=1e-6)
    assert angle(vectors, Q[:, 1:4]) < 1e-5
