"""Rows that repeat in problems put together by hand: one place for all of them, and the problem that says so."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import scipy.linalg as la
import scipy.sparse as sp
from sklearn.datasets import make_swiss_roll

import eigenspan as es
from eigenspan.errors import DuplicateWarning, EigenspanWarning
from eigenspan.problem import Form, identity
from eigenspan.problem.forms import between, centring, laplacian, within
from helpers import assert_allclose_up_to_sign, relative

RNG = np.random.default_rng(0)
ROWS = RNG.permutation(np.repeat(np.arange(60), RNG.integers(1, 5, 60)))
X = make_swiss_roll(60, noise=0.05, random_state=0)[0][ROWS]
Y = np.arange(len(X)) % 3
FIRST = np.array([np.flatnonzero(row == ROWS)[0] for row in ROWS])


def fitted(**settings: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EigenspanWarning)
        warnings.simplefilter("error", DuplicateWarning)
        return es.TraceReducer(2, basis="samples", n_neighbors=8, **settings).fit(X, Y)


@pytest.mark.parametrize(
    "settings, method",
    [
        ({"minimise": "reconstruction", "scale": "covariance"}, es.LLE),
        ({"minimise": "tangent", "scale": "covariance"}, es.LTSA),
        ({"minimise": "modified", "scale": "covariance"}, es.ModifiedLLE),
        ({"minimise": "laplacian", "unit": "degree"}, es.LaplacianEigenmaps),
    ],
    ids=["LLE", "LTSA", "ModifiedLLE", "LaplacianEigenmaps"],
)
def test_the_methods_that_have_a_name(settings: dict[str, Any], method: Any) -> None:
    found = fitted(**settings)
    assert_allclose_up_to_sign(found.embedding_, method(2, n_neighbors=8).fit(X).embedding_, atol=1e-9)
    np.testing.assert_array_equal(found.embedding_, found.embedding_[FIRST])
    np.testing.assert_array_equal(found.transform(X), found.embedding_)
    assert found.graph_.n == 60


def line(points: Any, y: Any) -> Form:
    """Every row follows the one before it, in the order of the rows as they were given."""
    W = np.eye(len(points), k=1)
    return laplacian(sp.csr_array(W + W.T))


@pytest.mark.parametrize(
    "settings, A, B",
    [
        ({"maximise": "between", "unit": "variance"}, between(Y), centring(len(X))),
        ({"maximise": "between", "unit": "within"}, between(Y), within(Y)),
        ({"maximise": line}, line(X, Y), identity(len(X))),
        ({"maximise": line(X, Y), "unit": lambda points, y: identity(len(points))}, line(X, Y), identity(len(X))),
    ],
    ids=["classes", "classes within", "a function", "a form"],
)
def test_forms_over_rows_are_restricted_to_equal_places(settings: dict[str, Any], A: Form, B: Form) -> None:
    """Against the dense problem: Tr(V'P'APV) under V'P'BPV = I, P from groups to rows, the constant taken out."""
    found = fitted(**settings)
    np.testing.assert_array_equal(found.embedding_, found.embedding_[FIRST])
    P = (ROWS[:, None] == np.arange(60)).astype(float)
    Z = P @ la.null_space(P.sum(axis=0)[None])  # centred over all rows
    best = la.eigh(Z.T @ A.to_dense() @ Z, Z.T @ B.to_dense() @ Z + 1e-12 * np.eye(59), eigvals_only=True)[::-1][:2]
    assert relative(found.eigenvalues_, best) < 1e-6


def test_rows_of_a_given_graph_are_brought_together() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EigenspanWarning)  # eight neighbours that are copies in part
        graph = es.KNN(8).build(X)
    with pytest.warns(EigenspanWarning) as told:
        found = es.TraceReducer(2, basis="samples", minimise="laplacian", graph=graph).fit(X)
    assert "moved to their mean" in str([str(warning.message) for warning in told])
    np.testing.assert_array_equal(found.embedding_, found.embedding_[FIRST])
    np.testing.assert_array_equal(found.transform(X), found.embedding_)
