"""What a fit leaves behind is what it solved: ridges are in `problem_` and in `diagnostics_`, and flat axes are spoken of."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import scipy.linalg as la
import scipy.sparse as sp
from sklearn.datasets import load_digits, load_wine, make_swiss_roll

import eigenspan as es
from cases import own
from eigenspan.errors import EigenspanWarning, FlatWarning, RidgeWarning
from eigenspan.problem import Features, Form, TraceProblem, TraceRatio, as_solved, solve
from eigenspan.problem.forms import within

DIGITS, NUMBERS = load_digits(return_X_y=True)
WIDE, WIDE_Y = DIGITS[:45] + 0.01 * np.random.default_rng(0).standard_normal((45, 64)), NUMBERS[:45] % 3
WINE, CULTIVAR = load_wine(return_X_y=True)
WINE = (WINE - WINE.mean(axis=0)) / WINE.std(axis=0)
ROLL, T = make_swiss_roll(240, noise=0.05, random_state=0)
THIRDS = np.digitize(T, np.quantile(T, [1 / 3, 2 / 3]))
SMOOTH = es.Kernel("rbf", gamma="median")


def reproduced(fitted: Any) -> Any:
    """The eigenvalues of the recorded problem, the best first, as LAPACK has them."""
    A, B = (M.to_dense() for M in (fitted.problem_.A, fitted.problem_.B))
    values = la.eigh(A, B, eigvals_only=True)
    return (values if fitted.problem_.sense == "min" else values[::-1])[: len(fitted.eigenvalues_)]


def regularised() -> list[Any]:
    """Every method of the registry that has a ridge, as it stands, with a kernel and with a ridge of one's own."""
    features = [case.template for case in own() if case.spectral and "ridge" in case.template.get_params()]
    return [
        pytest.param(template, params, id=f"{type(template).__name__}-{name}")
        for template in features
        for name, params in {"default": {}, "kernel": {"kernel": SMOOTH}, "ridge": {"ridge": 0.1}}.items()
        if template.get_params().keys() >= params.keys()
    ]


@pytest.mark.filterwarnings("ignore::eigenspan.errors.EigenspanWarning")
@pytest.mark.parametrize("template, params", regularised())
@pytest.mark.every(4)
def test_the_recorded_problem_has_the_eigenvalues(template: Any, params: dict[str, Any]) -> None:
    """More features than samples: units that count neighbours or classes are singular, and get a ridge."""
    for X, y in ((WIDE, WIDE_Y), (WINE[::3], CULTIVAR[::3])):
        fitted = es.make(type(template).__name__, n_components=2, **params).fit(X, y)
        problem = fitted.problem_
        if not isinstance(problem, TraceProblem) or problem.B is None:
            continue
        if problem.B.is_singular:  # bounded without a ridge, and solved exactly
            assert problem.sense == "min"
            assert problem.A.psd
            continue
        scale = np.abs(fitted.eigenvalues_).max()
        np.testing.assert_allclose(fitted.eigenvalues_, reproduced(fitted), rtol=1e-6, atol=1e-8 * scale)


@pytest.mark.parametrize("basis", ["linear", "kernel"])
def test_an_automatic_ridge_is_in_the_problem_and_in_the_diagnostics(basis: str) -> None:
    kernel = {"kernel": SMOOTH} if basis == "kernel" else {}
    ours = es.TraceReducer(2, maximise="between", unit="within", basis=basis, **kernel, ridge=0.0)
    with pytest.warns(RidgeWarning, match="was added to B") as caught:
        ours.fit(WIDE, WIDE_Y)
    epsilon = ours.diagnostics_["ridge"]
    assert f"{epsilon:.3g}" in str(caught[0].message)
    assert not ours.problem_.B.is_singular
    np.testing.assert_allclose(ours.eigenvalues_, reproduced(ours), rtol=1e-7)
    bare = Features.linear(WIDE) if basis == "linear" else Features.kernel(SMOOTH, WIDE)
    inside = bare.centred(np.ones(45)).restrict(within(WIDE_Y)).to_dense()
    np.testing.assert_allclose(
        ours.problem_.B.to_dense() - inside, epsilon * np.eye(bare.dim), atol=1e-8 * np.abs(inside).max()
    )


def test_problems_without_a_ridge_stay_what_they_are() -> None:
    A, B = Form(2, dense=np.diag([1.0, 2.0]), psd=True), Form(2, dense=np.eye(2), psd=True)
    for problem in (TraceProblem(A, B, "min"), TraceProblem(A, None, "min"), TraceRatio(A, B)):
        assert as_solved(problem, solve(problem, 1)) is problem


# ---------------------------------------------------------------------- axes along which nothing varies
def shares(fitted: Any) -> Any:
    """Of the variance, along every axis of a fit with a kernel."""
    return fitted.embedding_.var(axis=0) / Features.kernel(fitted.kernel, ROLL).Z.var(axis=0).sum()


def test_orthonormal_axes_of_a_smooth_kernel_say_that_they_are_flat() -> None:
    with pytest.warns(FlatWarning, match=r"along axis 1, 2: .*LPP for OLPP"):
        fitted = es.OLPP(2, kernel=SMOOTH).fit(ROLL)
    assert np.all(shares(fitted) < 1e-8)
    for method in (es.ONPP(2, kernel=SMOOTH), es.DNE(2, kernel=SMOOTH), es.LPP(2, kernel=SMOOTH)):
        assert np.all(shares(method.fit(ROLL, THIRDS)) > 1e-8)  # and nothing is said


@pytest.mark.parametrize("name", ["DNE", "MMC"])
def test_axes_beyond_those_that_gain_are_flat(name: str) -> None:
    """Once the criterion is used up, the best that is left is nothing at all."""
    with pytest.warns(FlatWarning):
        fitted = es.make(name, n_components=60, kernel=es.Kernel("rbf", gamma=0.001)).fit(ROLL, THIRDS)
    assert shares(fitted).min() < 1e-8


@pytest.mark.parametrize("kind", ["tall", "wide", "sparse", "reduced"])
def test_features_in_tiny_units_are_flat(kind: str) -> None:
    X = WINE[:60].copy()
    X[:, 3] *= 1e-5
    if kind == "wide":
        X = np.hstack([X, X[:, :3] @ np.random.default_rng(0).standard_normal((3, 60))])
    given = sp.csr_array(X) if kind == "sparse" else X
    for name in ("OLPP", "ONPP"):
        with pytest.warns(FlatWarning, match="standardise"):
            fitted = es.make(name, n_components=1, reduce=13 if kind == "reduced" else None).fit(given)
        assert abs(fitted.components_[0, 3]) > 0.99


def test_clusters_are_not_flat() -> None:
    """An axis that costs nothing because it tells components of the graph apart has all the variance it needs."""
    rng = np.random.default_rng(0)
    X = np.repeat([[0.0, 0, 0], [9, 0, 0]], 40, axis=0) + rng.standard_normal((80, 3)) * [1e-4, 1, 1]
    with warnings.catch_warnings():
        warnings.simplefilter("error", EigenspanWarning)
        fitted = es.OLPP(1, n_neighbors=5).fit(X)
        es.PCA(3).fit(X * [1e-7, 1, 1])  # the last of the axes asked for: no news
    assert abs(fitted.components_[0, 0]) > 0.99
