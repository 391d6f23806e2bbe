"""Rows that repeat: one point with a mass, in every implicit method over a neighbour graph."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import scipy.linalg as la
import scipy.sparse as sp
from scipy.sparse.csgraph import shortest_path
from sklearn.datasets import make_swiss_roll
from sklearn.neighbors import KNeighborsTransformer

import eigenspan as es
from cases import Case, estimators, over
from eigenspan import KNN, Heat, Radius
from eigenspan.errors import DuplicateWarning, EigenspanWarning, GraphError, InputError, LocalisationWarning
from eigenspan.graphs import reconstruction_weights
from eigenspan.methods.base.graph_embedding import Distinct, GraphEmbedding
from eigenspan.methods.unfolding import Unfolding
from eigenspan.problem.forms import (
    hessian_alignment,
    modified_alignment,
    tangent_alignment,
)
from eigenspan.problem.forms import (
    local_alignment as alignment,
)
from eigenspan.problem.spectrum import participation, warn_if_localised
from helpers import assert_allclose_up_to_sign, relative

NAMES = {
    "LaplacianEigenmaps", "DiffusionMap", "CommuteTimeEmbedding", "LLE", "ModifiedLLE", "HessianLLE", "LTSA", "Isomap",
    "LandmarkIsomap", "KernelIsomap", "OrdinalIsomap", "GeodesicNullspaceAnalysis", "SpectralClustering",
}  # fmt: skip
GRAPH_METHODS = [case for case in estimators() if type(case.template).__name__ in NAMES]
ROLL = make_swiss_roll(120, noise=0.05, random_state=0)[0]


def repeated(X: Any, seed: int = 0) -> Any:
    """Every row once to four times, in any order."""
    rng = np.random.default_rng(seed)
    return X[rng.permutation(np.repeat(np.arange(len(X)), rng.integers(1, 5, len(X))))]


DATA = {
    "multiplicities": repeated(ROLL[:70]),
    "0/1": np.random.default_rng(0).integers(0, 2, (120, 6)).astype(float),
    "one row 20 times": np.vstack([ROLL[:60], np.repeat(ROLL[:1], 19, axis=0)]),
}


def fitted(estimator: Any, X: Any) -> Any:
    """Fit with this library's warnings off, except that of copies."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EigenspanWarning)
        warnings.simplefilter("error", DuplicateWarning)
        return estimator.fit(X)


def groups(X: Any) -> tuple[Any, Any]:
    """First occurrences in the order of X, and of every row which of them it equals."""
    _, first, labels = np.unique(X, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(first)
    return first[order], np.argsort(order)[labels.ravel()]


def assert_copies_together(found: Any, X: Any) -> None:
    first, labels = groups(X)
    Y = found.embedding_
    assert np.isfinite(Y).all()
    np.testing.assert_array_equal(Y, Y[first][labels])
    np.testing.assert_array_equal(found.transform(X), Y)


# ---------------------------------------------------------------------- one place
def test_all_implicit_methods_but_unfolding_count_copies() -> None:
    """Unfolding contracts copies itself, with a certificate for all rows."""
    implicit = [case.template for case in estimators() if isinstance(case.template, GraphEmbedding)]
    counting = {type(e).__name__ for e in implicit if any(isinstance(each, Distinct) for each in e._reductions())}
    others = {"ManifoldKDR", "ConformalEigenmaps", "EigenmapClassifier"}  # combine embeddings that count them
    assert counting == NAMES - {"SpectralClustering"} | others
    assert all(isinstance(e, Unfolding) for e in implicit if type(e).__name__ not in counting)


@over(GRAPH_METHODS)
@pytest.mark.parametrize("data", DATA)
@pytest.mark.every(3)
def test_copies_share_one_place_and_the_map_knows_it(case: Case, data: str) -> None:
    X = DATA[data]
    found = fitted(case.make(), X)
    assert_copies_together(found, X)
    np.testing.assert_array_equal(found.graph_.rows, groups(X)[0])
    assert found.graph_.n == len(np.unique(X, axis=0)) == found.diagnostics_["distinct_rows"]
    assert np.isfinite(found.transform(X + 0.01)).all()
    if hasattr(found, "labels_"):
        np.testing.assert_array_equal(found.predict(X), found.labels_)


@over(GRAPH_METHODS)
def test_distinct_rows_are_as_before(case: Case) -> None:
    found = fitted(case.make(), ROLL)
    assert found.graph_.rows is None
    assert "distinct_rows" not in found.diagnostics_


@over([case for case in GRAPH_METHODS if case.template._input.sparse])
@pytest.mark.every(2)
def test_sparse_rows_and_single_precision(case: Case) -> None:
    X = DATA["0/1"]
    Y = fitted(case.make(), X).embedding_
    for other in (sp.csr_array(X), X.astype(np.float32)):
        found = fitted(case.make(), other)
        np.testing.assert_array_equal(found.transform(other), found.embedding_)
        assert found.embedding_.shape == Y.shape
        first, labels = groups(X)
        np.testing.assert_array_equal(found.embedding_, found.embedding_[first][labels])


# ---------------------------------------------------------------------- every row twice
HALVES = {"LaplacianEigenmaps": 0.5, "SpectralClustering": 0.5}


@over([case for case in GRAPH_METHODS if case.id == type(case.template).__name__])
def test_every_row_twice_is_every_row_once(case: Case) -> None:
    new = ROLL[::4] + 0.1
    once, twice = fitted(case.make(), ROLL), fitted(case.make(), np.vstack([ROLL, ROLL[::-1]]))
    scale = HALVES.get(case.id, 1.0)  # units in degrees, which are four times as large
    assert_allclose_up_to_sign(
        twice.embedding_[:120], scale * once.embedding_, 1e-6, 1e-7 * np.abs(once.embedding_).max()
    )
    sign = np.sign(np.sum(twice.embedding_[:120] * once.embedding_, axis=0))
    assert relative(twice.transform(new) * sign, scale * once.transform(new)) < 1e-6


def test_scales_of_every_row_twice() -> None:
    twice = np.vstack([ROLL, ROLL])
    for estimator, scale in [
        (es.LaplacianEigenmaps(scale="unit-variance"), 1.0),
        (es.SpectralClustering(3, cut="ratio"), 0.5**0.5),
        (es.DiffusionMap(alpha=0.5, t=3), 1.0),
        (es.LaplacianEigenmaps(extension="barycentric"), 0.5),
    ]:
        once = fitted(estimator, ROLL).embedding_.copy()
        assert_allclose_up_to_sign(
            fitted(estimator, twice).embedding_[:120], scale * once, 1e-6, 1e-7 * np.abs(once).max()
        )


# ---------------------------------------------------------------------- all rows, written out
class AllRows:
    """The problem over all rows as dense matrices; S takes places of the distinct rows to those of all."""

    def __init__(self, X: Any, graph: Any = None) -> None:
        self.X = X
        self.first, self.labels = groups(X)
        self.S = np.eye(self.first.size)[self.labels]
        self.U = X[self.first]
        self.graph = (graph or KNN(10)).build(self.U)

    @property
    def lists(self) -> sp.csr_array:
        """Every row has the neighbours of its distinct row, each by its first occurrence."""
        D = sp.csr_array(sp.csr_array(self.S) @ (self.graph.distances + 0.0)).tocoo()
        return sp.csr_array((D.data, (D.row, self.first[D.col])), shape=(len(self.X), len(self.X)))

    def weights(self, sigma: float) -> Any:
        """Heat weights between all rows that are neighbours; copies of one row are none of each other."""
        D = self.graph.undirected().toarray()
        return self.S @ np.where(D > 0, np.exp(-((D / sigma) ** 2)), 0.0) @ self.S.T

    def smallest(self, A: Any, B: Any, d: int = 2) -> tuple[Any, Any]:
        """The best axes of all rows among those that have copies in one place, the constant left out."""
        values, V = la.eigh(self.S.T @ A @ self.S, self.S.T @ B @ self.S)
        return values[1 : d + 1], self.S @ V[:, 1 : d + 1]


def agree(found: Any, expected: Any) -> None:
    assert_allclose_up_to_sign(found.embedding_, expected, 1e-5, 1e-7 * np.abs(expected).max())


@pytest.fixture(scope="module")
def rows() -> AllRows:
    return AllRows(repeated(ROLL, 3))


def test_lle(rows: AllRows) -> None:
    n = len(rows.X)
    F = np.eye(n) - reconstruction_weights(rows.X, rows.lists).toarray()
    values, Y = rows.smallest(F.T @ F, np.eye(n))
    found = fitted(es.LLE(n_neighbors=10), rows.X)
    np.testing.assert_allclose(found.eigenvalues_, values, rtol=1e-6)
    agree(found, np.sqrt(n) * Y)


@pytest.mark.parametrize("method, form", [(es.LTSA, tangent_alignment), (es.HessianLLE, hessian_alignment)])
def test_alignment(rows: AllRows, method: Any, form: Any) -> None:
    n = len(rows.X)
    values, Y = rows.smallest(form(rows.X, rows.lists, 2).to_dense(), np.eye(n))
    found = fitted(method(n_neighbors=10), rows.X)
    np.testing.assert_allclose(found.eigenvalues_, values, rtol=1e-5, atol=1e-12)
    agree(found, np.sqrt(n) * Y)


def test_modified_lle() -> None:
    """Three copies of every row: its threshold, a median, is then that of the distinct rows."""
    rows = AllRows(np.repeat(ROLL, 3, axis=0))
    n = len(rows.X)
    values, Y = rows.smallest(modified_alignment(rows.X, rows.lists, 2).to_dense(), np.eye(n))
    found = fitted(es.ModifiedLLE(n_neighbors=10), rows.X)
    np.testing.assert_allclose(found.eigenvalues_, values, rtol=1e-5)
    agree(found, np.sqrt(n) * Y)


@pytest.mark.parametrize("form", [tangent_alignment, hessian_alignment, modified_alignment])
@pytest.mark.every(3)
def test_alignment_forms_are_sums_over_masses(form: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    D = KNN(9).build(ROLL).distances
    masses = np.random.default_rng(0).integers(1, 20, len(ROLL)).astype(float)
    one_by_one = [form(ROLL, D, 2, masses=unit).to_dense() for unit in np.eye(len(ROLL))]
    np.testing.assert_allclose(np.sum(one_by_one, axis=0), form(ROLL, D, 2).to_dense(), atol=1e-12)
    whole = form(ROLL, D, 2, masses=masses).to_dense()
    np.testing.assert_allclose(whole, np.tensordot(masses, one_by_one, 1), atol=1e-11)
    monkeypatch.setattr(alignment, "_SMALL", 0.0)
    np.testing.assert_allclose(form(ROLL, D, 2, masses=masses).to_dense(), whole, atol=1e-8)


def test_laplacian_eigenmaps(rows: AllRows) -> None:
    W = rows.weights(3.0)
    D = np.diag(W.sum(axis=1))
    values, Y = rows.smallest(D - W, D)
    found = fitted(es.LaplacianEigenmaps(n_neighbors=10, weights=Heat(3.0)), rows.X)
    np.testing.assert_allclose(found.eigenvalues_, values, rtol=1e-7)
    agree(found, Y)
    new = rows.U[::5] + 0.3
    P = found.map_.rows.walk(new).toarray()  # steps to distinct rows are steps to any of their copies
    rule, near = found.affinity_, found.graph_.joining().relate(new)
    K = rule.relate(near, new).toarray() @ rows.S.T
    np.testing.assert_allclose(P, (K / K.sum(axis=1, keepdims=True)) @ rows.S, atol=1e-12)


@pytest.mark.parametrize("alpha", [0.0, 0.5, 1.0])
def test_diffusion_map(rows: AllRows, alpha: float) -> None:
    K = rows.weights(3.0) + rows.S @ rows.S.T  # a kernel is one between copies, and of a row with itself
    q = K.sum(axis=1) ** alpha
    W = K / np.outer(q, q)
    D = np.diag(W.sum(axis=1))
    values, Y = rows.smallest(D - W, D)
    found = fitted(es.DiffusionMap(n_neighbors=10, weights=Heat(3.0), alpha=alpha, t=2), rows.X)
    agree(found, np.sqrt(W.sum()) * (1 - values) ** 2 * Y)


def test_commute_times(rows: AllRows) -> None:
    W = rows.weights(3.0)
    L, d = np.diag(W.sum(axis=1)) - W, rows.first.size - 1
    values, Y = rows.smallest(L, np.eye(len(L)), d)
    found = fitted(es.CommuteTimeEmbedding(d, n_neighbors=10, weights=Heat(3.0)), rows.X)
    Z = found.embedding_[rows.first]
    contracted = np.linalg.pinv(rows.S.T @ L @ rows.S)
    own = np.diag(contracted)
    times = W.sum() * (own[:, None] + own - 2 * contracted)
    np.testing.assert_allclose(np.sum((Z[:, None] - Z) ** 2, axis=2), times, rtol=1e-6, atol=1e-6 * times.max())
    agree(
        fitted(es.CommuteTimeEmbedding(n_neighbors=10, weights=Heat(3.0)), rows.X),
        np.sqrt(W.sum() / values[:2]) * Y[:, :2],
    )


def mds(rows: AllRows, lengths: Any) -> tuple[Any, Any, Any]:
    """Classical MDS of the geodesics between all rows."""
    D = rows.S @ shortest_path(lengths, directed=False) @ rows.S.T
    H = np.eye(len(D)) - 1 / len(D)
    G = -0.5 * H @ D**2 @ H
    values, V = la.eigh(G)
    return G, V[:, :-3:-1] * np.sqrt(values[:-3:-1]), D


def test_isomap(rows: AllRows) -> None:
    G, Y, D = mds(rows, rows.graph.undirected())
    found = fitted(es.Isomap(n_neighbors=10), rows.X)
    agree(found, Y)
    np.testing.assert_allclose(found.dist_matrix_, D[rows.first][:, rows.first], atol=1e-6)
    error = np.linalg.norm(G - Y @ Y.T) / len(G)
    np.testing.assert_allclose(found.reconstruction_error(), error, rtol=1e-8)
    wide = fitted(es.Isomap(n_neighbors=10, landmarks=rows.first.size), rows.X)  # exact where all axes serve
    assert np.abs(wide.embedding_.mean(axis=0)).max() < 1e-9 * np.abs(Y).max()
    scatter = wide.embedding_.T @ wide.embedding_
    np.testing.assert_allclose(scatter, np.diag(wide.eigenvalues_), atol=1e-9 * scatter.max())


@pytest.mark.parametrize("method", [es.Isomap, es.LandmarkIsomap])
def test_geodesics_of_all_rows_and_of_distinct_ones_are_the_same(method: Any) -> None:
    """A graph of balls over all rows, copies as nodes at distance zero, has the geodesics of the graph over distinct rows."""
    X = repeated(ROLL[:80], 1)
    first, _ = groups(X)
    new = ROLL[80:] + 0.05
    some = {} if method is es.Isomap else {"landmarks": first[::2]}
    contracted = fitted(method(graph=Radius(9.0), **some), X)
    whole = fitted(method(graph=Radius(9.0).build(X), **some), X)
    assert contracted.graph_.n < whole.graph_.n == len(X)
    assert_allclose_up_to_sign(contracted.embedding_, whole.embedding_, 1e-7, 1e-8 * np.abs(whole.embedding_).max())
    np.testing.assert_allclose(contracted.eigenvalues_, whole.eigenvalues_, rtol=1e-9)
    assert relative(np.abs(contracted.transform(new)), np.abs(whole.transform(new))) < 1e-7


@over([case for case in GRAPH_METHODS if case.id in ("LLE", "ModifiedLLE", "HessianLLE", "LTSA")])
def test_unit_covariance_is_that_of_all_rows(case: Case) -> None:
    Y = fitted(case.make(), DATA["multiplicities"]).embedding_
    np.testing.assert_allclose(Y.T @ Y / len(Y), np.eye(Y.shape[1]), atol=1e-8)
    assert np.abs(Y.mean(axis=0)).max() < 1e-7


def test_unit_variance_is_that_of_all_rows() -> None:
    Y = fitted(es.LaplacianEigenmaps(scale="unit-variance"), DATA["one row 20 times"]).embedding_
    np.testing.assert_allclose(Y.var(axis=0), 1.0, rtol=1e-9)


@pytest.mark.parametrize("cut", ["normalized", "ratio"])
def test_clusters_of_copies(cut: str) -> None:
    rng = np.random.default_rng(0)
    X = repeated(np.vstack([rng.standard_normal((40, 2)), rng.standard_normal((40, 2)) + 3.5]))
    rows = AllRows(X)
    found = fitted(es.SpectralClustering(2, cut=cut, n_neighbors=10, weights=Heat(2.0)), X)
    W = rows.weights(2.0)
    D = np.diag(W.sum(axis=1))
    _, Y = rows.smallest(D - W, D if cut == "normalized" else np.eye(len(W)), 1)
    assert_allclose_up_to_sign(found.embedding_[:, 1:], Y, 1e-6, 1e-8)
    np.testing.assert_array_equal(found.labels_, found.labels_[rows.first][rows.labels])


# ---------------------------------------------------------------------- graphs that are given
def given(X: Any, kind: str) -> Any:
    graph = KNN(8).build(X)
    if kind == "graph":
        return graph
    if kind == "sparse":
        return graph.distances
    if kind == "pair":
        return graph.distances.indices.reshape(len(X), 8), graph.distances.data.reshape(len(X), 8)
    return KNeighborsTransformer(n_neighbors=8)


@pytest.mark.parametrize("kind", ["graph", "sparse", "pair", "transformer"])
@pytest.mark.parametrize("method", [es.LaplacianEigenmaps, es.HessianLLE, es.LTSA, es.SpectralClustering])
def test_a_given_graph_joins_every_row_for_itself(method: Any, kind: str) -> None:
    X = DATA["0/1"]
    estimator = method(graph=given(X, kind), **({"n_clusters": 3} if method is es.SpectralClustering else {}))
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", EigenspanWarning)
        found = estimator.fit(X)
    words = [str(w.message) for w in told if issubclass(w.category, DuplicateWarning)]
    assert any(f"{len(X) - len(groups(X)[0])} of {len(X)} rows repeat others" in word for word in words)
    assert found.graph_.n == len(X)
    assert_copies_together(found, X)


def test_a_given_graph_that_keeps_copies_together_is_no_matter() -> None:
    X = DATA["multiplicities"]
    assert_copies_together(fitted(es.Isomap(graph=Radius(15.0).build(X)), X), X)


@over([case for case in GRAPH_METHODS if case.id in ("LaplacianEigenmaps", "LTSA", "SpectralClustering")])
def test_the_graph_of_the_distinct_rows_is_accepted_again(case: Case) -> None:
    X = DATA["multiplicities"]
    first = fitted(case.make(), X)
    again = fitted(case.make(graph=first.graph_), X)
    np.testing.assert_array_equal(again.embedding_, first.embedding_)
    np.testing.assert_array_equal(again.graph_.rows, first.graph_.rows)


# ---------------------------------------------------------------------- beside other choices of rows
@over(  # kernel and ordinal Isomap place rows beside their landmarks by dense products, equal to rounding: their own tests look at that
    [
        case
        for case in GRAPH_METHODS
        if "landmarks" in case.template.get_params()
        and not isinstance(case.template, (es.KernelIsomap, es.OrdinalIsomap))
    ]
)
@pytest.mark.every(2)
def test_landmarks_may_be_copies(case: Case) -> None:
    X = np.vstack([ROLL, ROLL[:50]])
    chosen = np.r_[0:40, 60:110, 120:150]  # rows 120 … 149 are copies of the first 30
    found = fitted(case.make(landmarks=chosen), X)
    assert_copies_together(found, X)
    assert len(np.unique(X[found.graph_.rows], axis=0)) == found.graph_.n
    if not isinstance(found, es.Isomap):  # whose graph is that of all points
        np.testing.assert_array_equal(found.landmarks_, chosen)
        np.testing.assert_array_equal(found.graph_.rows, np.r_[0:40, 60:110])
    else:
        np.testing.assert_array_equal(found.landmarks_, np.r_[0:40, 60:110])
    assert_copies_together(fitted(case.make(landmarks=90), X), X)


def test_as_many_landmarks_as_there_are_distinct_rows() -> None:
    X = np.vstack([ROLL[:60], ROLL[:50]])
    found = fitted(es.LandmarkIsomap(landmarks=100), X)
    np.testing.assert_array_equal(found.landmarks_, np.arange(60))
    for wanted in (111, [0, 200], [0, 0]):
        with pytest.raises(InputError, match="landmarks"):
            es.LandmarkIsomap(landmarks=wanted).fit(X)


@over([case for case in GRAPH_METHODS if "disconnected" in case.template.get_params() and "tree" not in case.id])
@pytest.mark.every(2)
def test_the_largest_component(case: Case) -> None:
    X = repeated(np.vstack([ROLL[:60], ROLL[60:80] + 1000.0]), 5)
    found = fitted(case.make(disconnected="largest"), X)
    first, labels = groups(X)
    np.testing.assert_array_equal(found.graph_.rows, first[X[first, 0] < 500])
    near = X[:, 0] < 500
    if isinstance(found, (es.LLE, es.LTSA, es.HessianLLE)):  # units count the copies that are left
        Y = found.embedding_[near]
        np.testing.assert_allclose(Y.T @ Y / len(Y), np.eye(Y.shape[1]), atol=1e-8)
    np.testing.assert_array_equal(found.embedding_, found.embedding_[first][labels])
    np.testing.assert_array_equal(found.transform(X)[near], found.embedding_[near])


# ---------------------------------------------------------------------- messages
@pytest.mark.parametrize("settings", [{"n_neighbors": 12}, {"graph": KNN(12)}])
def test_more_neighbours_than_distinct_rows(settings: dict[str, Any]) -> None:
    X = np.repeat(ROLL[:8], 4, axis=0)
    with pytest.raises(
        GraphError, match=r"n_neighbors=12 must lie between 1 and 7: only 8 of the 32 rows are distinct"
    ):
        es.LLE(**settings).fit(X)
    assert fitted(es.LLE(), X).graph_.distances.nnz == 8 * 7  # the default takes what there is


def test_an_axis_on_few_points_counts_copies() -> None:
    Y = np.zeros((60, 1))
    Y[7], Y[8] = 1.0, 0.1
    masses = np.where(np.arange(60) == 7, 2.0, 3.0)
    with pytest.warns(
        LocalisationWarning,
        match=r"about 2\.1 of the 179 points \(heaviest: row 7 of the distinct ones, graph_\.rows\)",
    ):
        spread = warn_if_localised(Y, masses)
    np.testing.assert_allclose(spread, participation(np.repeat(Y, masses.astype(int), axis=0)))
    assert warn_if_localised(Y, 10 * masses) > 20
