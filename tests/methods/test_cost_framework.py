"""The framework of pair costs: against dense problems written from the equations of the paper, and against its named cases."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.linalg as la
import scipy.sparse as sp
from scipy.spatial.distance import cdist
from sklearn.datasets import load_wine
from sklearn.preprocessing import StandardScaler

import eigenspan as es
from eigenspan.errors import GraphError, InputError, UnitError
from eigenspan.forms import Form, diagonal, laplacian, same_class
from eigenspan.graphs import NeighbourGraph
from helpers import angle, relative

X, Y = load_wine(return_X_y=True)
X, Y = StandardScaler().fit_transform(X)[::2], Y[::2]
N = len(Y)
SOME = np.where(np.arange(N) % 3 == 0, Y, -1)
DISTANCES = cdist(X, X)
HEAT = np.exp(-(DISTANCES**2) / 9.0)


def cost_matrix(name: str, y: Any, k: int = 3) -> Any:
    """The costs of [S2, §2.1.1 and §3.2], entry by entry."""
    sizes, n = {c: np.sum(y == c) for c in set(y) - {-1}}, np.sum(y >= 0)
    near = {"allies": np.zeros((N, N)), "rivals": np.zeros((N, N))}
    for i in np.flatnonzero(y >= 0):
        for kind, same in (("allies", True), ("rivals", False)):
            pool = [j for j in np.flatnonzero(y >= 0) if j != i and (y[j] == y[i]) == same]
            for j in sorted(pool, key=lambda j: DISTANCES[i, j])[:k]:
                near[kind][i, j] = near[kind][j, i] = 1.0
    if name in near:
        return near[name]
    C = np.zeros((N, N))
    for i in np.flatnonzero(y >= 0):
        for j in np.flatnonzero(y >= 0):
            same, c, size = y[i] == y[j], near["allies"][i, j], sizes[y[i]]
            C[i, j] = {
                "local_between": c * (1 / size - 1 / n) if same else -1 / n,
                "local_within": c / size if same else 0.0,
                "between": 1 / size - 1 / n if same else -1 / n,
                "within": 1 / size if same else 0.0,
                "total": 1 / n,
                "same_class": float(same),
                "other_class": float(not same),
            }[name]
    return C


def local_scaling(k: int, alpha: float) -> Any:
    """[S2, eqs. 7 and 9], with the minus sign that is missing there."""
    sigma = np.sort(DISTANCES, axis=1)[:, k]
    W = np.exp(-(DISTANCES**2) / np.outer(sigma, sigma))
    return W**alpha * la.norm(W) / la.norm(W**alpha)


def scatter(C: Any) -> Any:
    """``X'(D − C)X``."""
    return X.T @ (np.diag(C.sum(axis=1)) - C) @ X


def bottom(A: Any, B: Any) -> Any:
    return la.eigh(A, B)[1][:, :2]


NAMES = ("allies", "rivals", "local_between", "local_within", "between", "within", "total", "same_class", "other_class")


@pytest.mark.parametrize("name", NAMES)
def test_named_costs_are_those_of_the_paper(name: str) -> None:
    """A = X'(D − C)X + γ X'(D_u − C_u)X under V'V = I, and the same costs as a matrix and as a function."""
    C, settings = cost_matrix(name, SOME), {"unit": "projection", "gamma": 0.02, "gamma_scale": "raw", "alpha": 2.0}
    fitted = es.PairCosts(2, labelled=f"-2 {name}", **settings).fit(X, SOME)
    V = bottom(scatter(-2 * C) + 0.02 * scatter(local_scaling(3, 2.0)), np.eye(X.shape[1]))
    assert angle(fitted.components_.T, V) < 1e-6
    for given in (-2 * C, sp.csr_array(-2 * C), lambda points, y: -2 * cost_matrix(name, y)):
        again = es.PairCosts(2, labelled=given, **settings).fit(X, SOME)
        assert angle(again.components_.T, V) < 1e-6


@pytest.mark.parametrize("settings", [{}, {"kernel": "rbf", "graph": es.KNN(8)}, {"gamma": 3.0, "gamma_scale": "raw"}])
def test_named_methods_are_cases(settings: Any) -> None:
    for method, labelled, unit in (
        (es.SSLFDA, "local_between", "local_within"),
        (es.SSMFA, "-rivals", "allies"),
        (es.SSDNE, "allies - rivals", "projection"),
        (es.SSMMC, "within + between", "projection"),
        (es.SSFDA, "between", "within"),
    ):
        one, two = (
            method(2, **settings).fit(X, SOME),
            es.PairCosts(2, labelled=labelled, unit=unit, **settings).fit(X, SOME),
        )
        assert angle(one.embedding_, two.embedding_) < 1e-6  # degrees: 2e-8 radians
        assert relative(one.eigenvalues_, two.eigenvalues_) < 1e-8
        np.testing.assert_allclose(one.transform(X[:5]), two.transform(X[:5]), atol=1e-8 * np.abs(one.embedding_).max())


def test_costs_without_labels_are_lpp_and_pca() -> None:
    graph = es.KNN(8)
    lpp = es.PairCosts(2, labelled=None, unlabelled="heat", unit="degree", graph=graph).fit(X)
    assert angle(lpp.embedding_, es.LPP(2, graph=graph).fit(X).embedding_) < 1e-6
    pca = es.PairCosts(2, labelled=None, unlabelled="-0.5 variance", unit="projection").fit(X)
    assert angle(pca.embedding_, es.PCA(2).fit(X).embedding_) < 1e-6


def test_any_unit() -> None:
    """A unit over the samples, one over the features, and the embedding's own, each as the dense problem."""
    rng, D = np.random.default_rng(0), X.shape[1]
    A, R = scatter(HEAT), rng.standard_normal((D, D))
    mass = rng.uniform(1, 2, N)
    model = {"labelled": HEAT, "unlabelled": None}
    over_features = es.PairCosts(2, unit=R @ R.T, **model).fit(X)
    assert angle(over_features.components_.T, bottom(A, R @ R.T)) < 1e-6
    Z = X - mass @ X / mass.sum()
    for unit in (np.diag(mass), sp.diags_array(mass), diagonal(mass), lambda points, y: np.diag(mass)):
        over_samples = es.PairCosts(2, unit=unit, **model).fit(X)
        assert angle(over_samples.components_.T, bottom(A, Z.T @ (mass[:, None] * Z))) < 1e-6
    centred = X - X.mean(axis=0)
    embedding = es.PairCosts(2, unit="embedding", **model).fit(X)
    assert angle(embedding.components_.T, bottom(A, centred.T @ centred)) < 1e-6
    with pytest.raises(UnitError, match="not positive semidefinite"):
        es.PairCosts(2, unit=-np.eye(N), **model).fit(X)
    with pytest.raises(InputError, match="unit= is zero over the features"):
        es.PairCosts(2, unit=np.zeros((N, N)), gamma=0, labelled=HEAT).fit(X)


def test_costs_of_all_points_as_matrices() -> None:
    """A given matrix counts as it is; a power keeps its norm [S2, eq. 9]; a sum of names adds up."""
    A, B = scatter(cost_matrix("allies", SOME) - cost_matrix("rivals", SOME)), np.eye(X.shape[1])
    model = {"labelled": "allies - rivals", "unit": "projection", "gamma": 0.5, "gamma_scale": "raw"}
    for given in (HEAT, sp.csr_array(HEAT), Form(N, dense=HEAT), es.Heat(3.0)):
        fitted = es.PairCosts(2, unlabelled=given, **model).fit(X, SOME)
        assert angle(fitted.components_.T, bottom(A + 0.5 * scatter(HEAT), B)) < 1e-6
    power = HEAT**3 * la.norm(HEAT) / la.norm(HEAT**3)
    for given in (HEAT, sp.csr_array(HEAT)):
        fitted = es.PairCosts(2, unlabelled=given, alpha=3, **model).fit(X, SOME)
        assert angle(fitted.components_.T, bottom(A + 0.5 * scatter(power), B)) < 1e-6
    both = es.PairCosts(2, unlabelled="local - 3 variance", alpha=1, **model).fit(X, SOME)
    added = local_scaling(3, 1.0) - 3 / N
    assert angle(both.components_.T, bottom(A + 0.5 * scatter(added), B)) < 1e-6
    with pytest.raises(InputError, match="without negative entries"):
        es.PairCosts(2, unlabelled=HEAT - 0.5, alpha=2, **model).fit(X, SOME)


@pytest.mark.parametrize(
    "given, message",
    [
        ({"labelled": "alies"}, "The names are allies, rivals"),
        ({"labelled": "allies rivals"}, "names with signs and factors"),
        ({"labelled": ""}, "must be a name"),
        ({"unlabelled": "heats"}, "The names are .*heat"),
        ({"labelled": np.ones((3, 3))}, f"labelled= must be {N}×{N}"),
        ({"labelled": np.triu(HEAT)}, "labelled= must be symmetric"),
        ({"labelled": np.full((N, N), np.nan)}, "must hold finite numbers"),
        ({"labelled": lambda points, y: 3}, "symmetric matrix over the"),
        ({"labelled": lambda points, y: {}["cost"]}, "raised KeyError"),
        ({"labelled": None, "unlabelled": None}, "no cost to minimise"),
        ({"labelled": None, "gamma": 0}, "no cost to minimise"),
        ({"unlabelled": None, "unit": "degree"}, "give unlabelled="),
    ],
)
def test_costs_that_cannot_be_used(given: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        es.PairCosts(2, **given).fit(X, SOME)


def test_labels_are_needed_where_they_are_named() -> None:
    assert es.PairCosts(2, labelled=HEAT, unlabelled=None, unit="embedding").fit(X).embedding_.shape == (N, 2)
    with pytest.raises(ValueError, match="y"):
        es.PairCosts(2).fit(X)


# ---------------------------------------------------------------------- weights of the semi-supervised methods
METHODS = (es.SSLFDA, es.SSDNE, es.SSMFA, es.SSMMC, es.SSFDA)


@pytest.mark.parametrize("method", METHODS, ids=lambda cls: cls.__name__)
def test_weights_of_unlabelled_points(method: Any) -> None:
    """The cost of all points is the Laplacian of the given weights, over all pairs or over the edges of a graph."""
    near = es.KNN(8).build(X)
    E = near.undirected().toarray()
    edges = np.where(E > 0, np.exp(-(E**2) / 4.0), 0.0)
    plain = method(2, gamma=0, unlabeled=-1).fit(X, SOME).problem_.A.to_dense()
    for settings, W in (
        ({"weights": es.Heat(3.0)}, HEAT),
        ({"weights": es.Heat(2.0), "graph": near}, edges),
        ({"weights": es.Heat(2.0), "graph": near, "alpha": 3}, edges**3 * la.norm(edges) / la.norm(edges**3)),
        ({"weights": "precomputed", "graph": sp.csr_array(edges)}, edges),
        (
            {"weights": "precomputed", "graph": sp.csr_array(edges), "alpha": 4},
            edges**4 * la.norm(edges) / la.norm(edges**4),
        ),
        ({}, local_scaling(3, 4.0)),
    ):
        fitted = method(2, gamma=0.3, gamma_scale="raw", ridge=0.1, **settings).fit(X, SOME)
        assert relative(fitted.problem_.A.to_dense(), plain + 0.3 * scatter(W)) < 1e-9


def test_affinities_are_never_read_as_lengths() -> None:
    W = sp.csr_array(np.where(DISTANCES < 3.5, HEAT, 0.0) - np.eye(N))
    with pytest.raises(GraphError, match=r'are affinities.*weights="precomputed"'):
        es.SSLFDA(2, graph=W).fit(X, SOME)
    for graph in ("all", es.KNN(5)):
        with pytest.raises(GraphError, match="pass graph=W, a sparse matrix of weights"):
            es.SSLFDA(2, graph=graph, weights="precomputed").fit(X, SOME)
    lengths = sp.csr_array(np.where(DISTANCES < 3.5, DISTANCES, 0.0))
    assert es.SSLFDA(2, graph=lengths).fit(X, SOME).embedding_.shape == (N, 2)
    unrelated = np.triu(np.random.default_rng(0).uniform(1, 2, (N, N)), 1)  # lengths of another table
    assert es.SSLFDA(2, graph=sp.csr_array(unrelated + unrelated.T)).fit(X, SOME).embedding_.shape == (N, 2)
    own = NeighbourGraph(sp.csr_array(W))  # its numbers are lengths, as its author says
    assert es.SSLFDA(2, graph=own).fit(X, SOME).embedding_.shape == (N, 2)


def test_a_method_in_a_search() -> None:
    """γ of the framework is found as that of the named method."""
    grid = {"gamma": [0.01, 1.0], "alpha": [1, 4]}
    one = es.RegularizedSearch(es.SSDNE(2), grid, cv=3).fit(X, SOME)
    two = es.RegularizedSearch(es.PairCosts(2, labelled="allies - rivals", unit="projection"), grid, cv=3).fit(X, SOME)
    assert one.best_params_ == two.best_params_
    assert one.best_score_ == pytest.approx(two.best_score_)


def test_a_class_form_and_its_laplacian() -> None:
    codes = np.where(SOME < 0, -1, SOME)
    by_form = es.PairCosts(2, labelled=same_class(codes), unlabelled=None, unit="embedding").fit(X)
    by_name = es.PairCosts(2, labelled="same_class", unlabelled=None, unit="embedding").fit(X, SOME)
    by_trace = es.TraceReducer(2, minimise=laplacian(same_class(codes)), unit="variance", ridge=0).fit(X)
    assert angle(by_form.embedding_, by_name.embedding_) < 1e-6
    assert angle(by_form.embedding_, by_trace.embedding_) < 1e-6


@pytest.mark.parametrize(
    "unit", ["-within", "between", -np.eye(N), -np.eye(X.shape[1])], ids=["-within", "between", "n", "D"]
)
def test_a_unit_that_is_not_positive_is_refused(unit: Any) -> None:
    with pytest.raises(UnitError, match="not positive semidefinite"):
        es.PairCosts(2, unit=unit).fit(X, SOME)
