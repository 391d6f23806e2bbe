"""X and y, read once: what they become, and how new kinds of method sit on them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import decomposition
from sklearn.datasets import load_iris

import eigenspan as es
from eigenspan.data import Affinities, Distances, Input, KernelValues, Points, Sample
from eigenspan.data.other_views import OtherView
from eigenspan.data.rows.moments import Sums
from eigenspan.data.y import ClassLabels, Targets
from eigenspan.data.y_values import read_classes
from eigenspan.errors import GraphError, InputError, LabelError
from eigenspan.graphs.class_graphs import slice_edges, slices
from eigenspan.graphs.sample_graph import neighbour_graph
from eigenspan.methods.base.contract import FeatureReducer, SpectralReducer, features_of
from eigenspan.problem import Axes, DirectSum, Features, Fitted, Posed, cross_form, pose
from eigenspan.problem.forms import between, centring
from helpers import angle

X, Y = load_iris(return_X_y=True)
D = np.linalg.norm(X[:, None] - X, axis=2)


# ---------------------------------------------------------------------- what X holds
@pytest.mark.parametrize(
    "estimator, given, kind",
    [
        (es.PCA(), X, Points),
        (es.LPP(kernel="rbf"), X, Points),
        (es.LPP(kernel="precomputed"), X @ X.T, KernelValues),
        (es.ClassicalMDS(metric="precomputed"), D, Distances),
        (es.Isomap(graph="precomputed"), D, Distances),
        (es.LaplacianEigenmaps(metric="precomputed"), D, Distances),
        (es.LaplacianEigenmaps(graph="precomputed", weights="precomputed"), np.exp(-(D**2)), Affinities),
        (es.SpectralClustering(graph="precomputed", weights="precomputed"), sp.csr_array(np.exp(-(D**2))), Affinities),
        (es.Anchored(es.LTSA(graph="precomputed")), D, Distances),
    ],
    ids=lambda value: getattr(value, "__name__", type(value).__name__),
)
def test_kinds(estimator: Any, given: Any, kind: Any) -> None:
    y = np.where(np.arange(150)[:, None] < 9, X[:, :2], np.nan)
    sample, seen = estimator._read_sample(given, y)
    assert type(sample.x) is kind
    assert sample.n == 150
    assert seen["n_features_in_"] == given.shape[1]
    assert not [name for name in vars(estimator) if name.endswith("_")]  # reading leaves no trace


def test_a_subset_of_pairs_keeps_its_place_among_all() -> None:
    whole, rows = Distances(D), np.array([3, 60, 61, 100])
    part = whole.take(rows).take(np.array([0, 2, 3]))
    kept = rows[[0, 2, 3]]
    np.testing.assert_array_equal(part.values, D[np.ix_(kept, kept)])
    np.testing.assert_array_equal(part.arriving, D[kept])
    np.testing.assert_array_equal(part.known()(D[kept]), [0, 1, 2])
    near = neighbour_graph(part, None, n_neighbors=1).finder.relate(D[:5])
    np.testing.assert_array_equal(near.indices, D[:5][:, kept].argmin(axis=1))


def test_a_subset_of_a_sample() -> None:
    sample = es.LDA()._read_sample(X, Y)[0]
    part = sample.take(np.arange(40, 60)).take(np.array([0, 15]))
    np.testing.assert_array_equal(part.rows, [40, 55])
    np.testing.assert_array_equal(part.y.codes, [0, 1])
    np.testing.assert_array_equal(part.x.values, X[[40, 55]])


def test_what_is_no_table_of_numbers() -> None:
    with pytest.raises(InputError, match="masked array, with 146 of 600"):
        es.PCA().fit(np.ma.masked_less(X, np.sort(X.ravel())[150]))
    with pytest.raises(InputError, match="dates or times"):
        es.PCA().fit(np.full((9, 3), np.datetime64("2020-01-01")))
    with pytest.raises(LabelError, match="masked"):
        es.LDA().fit(X, np.ma.masked_equal(Y, 2))


@pytest.mark.parametrize("method", ["Isomap", "LaplacianEigenmaps", "ClassicalMDS"])
def test_new_distances_are_checked_as_the_first_were(method: str) -> None:
    mds = method == "ClassicalMDS"
    near = D[50:][:, 50:]
    fitted = es.make(method, **({"metric": "precomputed"} if mds else {"graph": "precomputed"})).fit(near)
    with pytest.raises(GraphError, match="must not be negative"):
        fitted.transform(near[:3] - 1.0)


def test_the_callers_rows_are_the_callers() -> None:
    for method in (
        es.Isomap(),
        es.LLE(),
        es.MVU(n_neighbors=5),
        es.KernelPCA(),
        es.LPP(kernel="rbf"),
        es.LandmarkMDS(),
    ):
        mine = X[50::2] + 1e-3 * np.arange(50)[:, None]
        fitted, new = method.fit(mine), X[51:59]
        before = fitted.transform(new)
        mine[:] = 0.0
        fitted.embedding_[:] = 0.0
        np.testing.assert_array_equal(fitted.transform(new), before)


# ---------------------------------------------------------------------- methods to come
class SlicedInverseRegression(FeatureReducer):
    """``max Tr V'S_B V  s.t.  V'S_T V = I`` over slices of a numeric response."""

    _input: ClassVar[Input] = replace(FeatureReducer._input, y=Targets())

    def _pose(self, sample: Sample) -> Posed:
        y = sample.y.values[:, 0]
        codes = slices(y, slice_edges(y, 10))
        return pose(features_of(self, sample), maximise=between(codes), unit=centring(sample.n))


def test_a_response_in_numbers() -> None:
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((2000, 6)) @ rng.standard_normal((6, 6))
    b = rng.standard_normal(6)
    sir = SlicedInverseRegression(1).fit(Z, np.exp((Z - Z.mean(axis=0)) @ b / 3) + 0.01 * rng.standard_normal(2000))
    assert angle(sir.components_.T, b[:, None]) < 3.0


class TwoViews(SpectralReducer):
    """Canonical correlations: one problem over the direct sum of two bases."""

    _input: ClassVar[Input] = Input(y=OtherView(), linear=True)

    def __init__(self, n_components: int = 1) -> None:
        self.n_components = n_components

    def _fit(self, sample: Sample) -> Fitted:
        views = DirectSum([Features.linear(view.values) for view in (sample.x, sample.y)])
        posed = pose(views, maximise=cross_form(sample.n))
        V, spectrum = Axes(self.n_components).of(posed)
        Y, first = np.split(posed.basis.embed(V), 2)[0], posed.basis.map(V, spectrum)[0]
        return Fitted(Y, first, {"correlations_": spectrum.values})


def test_two_views() -> None:
    rng = np.random.default_rng(1)
    t = rng.standard_normal((500, 1))
    one, two = (np.hstack([t, rng.standard_normal((500, 3))]) @ rng.standard_normal((4, 4)) for _ in range(2))
    cca = TwoViews(2).fit(one, two)
    Qs = [np.linalg.qr(view - view.mean(axis=0))[0] for view in (one, two)]
    np.testing.assert_allclose(cca.correlations_, np.linalg.svd(Qs[0].T @ Qs[1])[1][:2], atol=1e-10)
    np.testing.assert_allclose(cca.transform(one), cca.embedding_, atol=1e-9)


class TolerantPCA(FeatureReducer):
    """PCA of rows with gaps, filled with column means: what EM would begin with."""

    _input: ClassVar[Input] = replace(FeatureReducer._input, missing="allow")

    def _pose(self, sample: Sample) -> Posed:
        filled = np.where(np.isnan(sample.x.values), np.nanmean(sample.x.values, axis=0), sample.x.values)
        return pose(Features.linear(filled), maximise=centring(sample.n), unit="projection")


def test_missing_values_can_be_allowed() -> None:
    gaps = X.copy()
    gaps[::7, 2] = np.nan
    pca = TolerantPCA(2).fit(gaps)
    assert pca.__sklearn_tags__().input_tags.allow_nan
    filled = np.where(np.isnan(gaps), np.nanmean(gaps, axis=0), gaps)
    assert angle(pca.components_.T, decomposition.PCA(2).fit(filled).components_.T) < 1e-6
    with pytest.raises(ValueError, match="NaN"):
        es.PCA(2).fit(gaps[:, :3][: len(gaps)][:2])


def test_sums_of_classes_add_up() -> None:
    parts = [Sums.of(X[rows], Y[rows], 3) for rows in (slice(0, 70), slice(70, 150))]
    classes = read_classes(Y, 150)
    one, all_ = (
        Features.of_sums(sums, X, classes).scatters for sums in (parts[0] + parts[1], Sums.by_class(X, classes))
    )
    np.testing.assert_allclose(one.between.dense, all_.between.dense, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(one.means + one.basis.offset, [X[c == Y].mean(axis=0) for c in range(3)])


def test_classes_that_are_not_needed_may_be_missing() -> None:
    none = ClassLabels(needed=False).read(None, 5, name="x", unlabeled=-1)
    assert none.count == 0
    assert np.all(none.codes == -1)
