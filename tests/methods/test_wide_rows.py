"""Far more features than rows, sparse: the axes of the dense rows, without their memory; and a word where the rows are too few."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from eigenspan import CCA, LDA, LPP, NPP, PPCA, SIR
from eigenspan.errors import DegenerateWarning, RidgeWarning
from helpers import angle, reports

METHODS = (LDA, LPP, NPP, PPCA, SIR, CCA)


def wide(n: int, D: int, density: float) -> tuple[sp.csr_array, np.ndarray]:
    rng = np.random.default_rng(0)
    labels, held = np.arange(n) % 4, int(n * D * density)
    rows, columns = rng.integers(n, size=held), rng.integers(D, size=held)
    marks = sp.csr_array((np.full(n, 2.0), (np.arange(n), labels)), shape=(n, D))
    return sp.csr_array(sp.csr_array((rng.random(held), (rows, columns)), shape=(n, D)) + marks), labels


def fitted(Method: Any, X: Any, labels: np.ndarray, **given: Any) -> np.ndarray:
    if Method is CCA:
        half = X.shape[1] // 2
        return Method(2, **given).fit(X[:, :half], X[:, half:]).transform(X[:, :half])
    return (Method(2, **given).fit(X, labels) if Method in (LDA, SIR) else Method(2, **given).fit(X)).transform(X)


@pytest.mark.parametrize("Method", METHODS)
def test_sparse_rows_have_the_axes_of_dense_ones(Method: Any) -> None:
    X, labels = wide(80, 400, 0.05)
    sparse, dense = (fitted(Method, rows, labels, reduce=10) for rows in (X, X.toarray()))
    assert np.isfinite(sparse).all()
    assert angle(sparse, dense) < 1e-5


@pytest.mark.parametrize("Method", METHODS)
@pytest.mark.every(2)
def test_sparse_rows_stay_sparse(Method: Any) -> None:
    """Neither the dense rows, 192 MB, nor anything of features by features, 29 GB."""
    X, labels = wide(400, 60_000, 0.0016)
    tracemalloc.start()
    try:
        fitted(Method, X, labels, reduce=10)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 8.0 * X.shape[0] * X.shape[1] / 2


@pytest.mark.parametrize(
    ("Method", "warning", "advice"),
    [
        (LDA, DegenerateWarning, ("not unique", "80 rows of 400 features span 79 ", "reduce=", "ridge=")),
        (LPP, DegenerateWarning, ("not unique", "80 rows of 400 features span 79 ", "reduce=", "ridge=")),
        (NPP, DegenerateWarning, ("not unique", "80 rows of 400 features span 79 ", "reduce=", "ridge=")),
        (SIR, RidgeWarning, ("reduce=",)),
        (CCA, DegenerateWarning, ("reduce=",)),
    ],
)
def test_fewer_rows_than_features_are_told(Method: Any, warning: type, advice: tuple[str, ...]) -> None:
    with reports(warning, *advice):
        placed = fitted(Method, *wide(80, 400, 0.05))
    assert np.isfinite(placed).all()
