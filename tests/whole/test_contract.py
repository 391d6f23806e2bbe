"""What every estimator promises, checked over the registry and its variants."""

from __future__ import annotations

import inspect
import pickle
import subprocess
import sys
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.base import clone, is_classifier
from sklearn.datasets import make_swiss_roll
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import estimator_checks as checks
from threadpoolctl import threadpool_limits

import eigenspan as es
import known_by_name
from cases import Case, estimators, over, own
from eigenspan._docstrings import attributes
from eigenspan.errors import EigenspanWarning
from helpers import angle, assert_healthy, assert_scikit_learn_agrees, disparity, pairwise, quietly, same_subspace

ALL = estimators()
SPECTRAL = [case for case in ALL if case.spectral]
DEFAULT = [*own(), *(case for case in ALL if case.id in ("TraceReducer", "External"))]
EUCLIDEAN = [case for case in ALL if case.id not in ("ClassicalMDS-cityblock", "ClassicalMDS-lingoes", "External")]
#: Their landmarks, or first centres, are drawn by row number: another order of the rows draws others.
DRAWN = {
    "LandmarkMDS",
    "LandmarkIsomap",
    "Isomap-landmarks",
    "KernelPCA-landmarks",
    "NPP-kernel-landmarks",
    "LandmarkMVU",
    "ContourRegression",
    "MixturePPCA",
}
#: A polynomial kernel sees where the origin is.
ORIGIN = {"ONPP-kernel", "LLTSA-kernel"}

EXTRA = [
    checks.check_dataframe_column_names_consistency,
    checks.check_get_feature_names_out_error,
    checks.check_global_output_transform_pandas,
    checks.check_global_set_output_transform_polars,
    checks.check_inplace_ensure_writeable,
    checks.check_param_validation,
    checks.check_set_output_transform,
    checks.check_set_output_transform_pandas,
    checks.check_set_output_transform_polars,
    checks.check_transformer_get_feature_names_out,
    checks.check_transformer_get_feature_names_out_pandas,
]

pytestmark = pytest.mark.filterwarnings("ignore::eigenspan.errors.EigenspanWarning")


# ---------------------------------------------------------------------- scikit-learn's own contract
@over([*DEFAULT, *(case for case in ALL if case.id.startswith(("LPP-", "LDA-", "NPP-class", "TraceReducer-")))])
@pytest.mark.every(8, start=2)
def test_check_estimator(case: Case) -> None:
    estimator = known_by_name.CCA() if case.id == "KernelCCA" else case.make()
    if is_classifier(estimator):
        estimator.set_params(unlabeled=None)  # to scikit-learn's checks -1 and +1 are two classes
    # one component is one cluster, whatever k-means was asked for
    quietly(lambda: assert_scikit_learn_agrees(estimator), EigenspanWarning, ConvergenceWarning)


@over(DEFAULT)
@pytest.mark.filterwarnings(
    "ignore:X (does not have valid|has) feature names:UserWarning"
)  # scikit-learn's checks provoke it
@pytest.mark.parametrize("check", EXTRA, ids=lambda check: check.__name__.removeprefix("check_"))
@pytest.mark.every(16, start=11)
def test_checks_that_check_estimator_does_not_run(case: Case, check: Any) -> None:
    estimator = known_by_name.CCA() if case.id == "KernelCCA" else case.make()
    check("CCA" if case.pair else case.id, estimator)


@over(ALL)
def test_constructor_stores_and_does_nothing_else(case: Case) -> None:
    estimator = case.make()
    for name, value in estimator.get_params(deep=False).items():
        assert getattr(estimator, name) is value or getattr(estimator, name) == value
    kinds = [p.kind for p in inspect.signature(type(estimator)).parameters.values()]
    assert kinds[1:] == [inspect.Parameter.KEYWORD_ONLY] * (len(kinds) - 1)


@over(ALL)
@pytest.mark.every(6)
def test_pickle_and_clone(case: Case, roll: Any) -> None:
    estimator = case.fitted(roll)
    new = roll.X[::7] + 0.01
    again = pickle.loads(pickle.dumps(estimator))
    np.testing.assert_array_equal(again.transform(new), estimator.transform(new))
    np.testing.assert_array_equal(again.embedding_, estimator.embedding_)
    np.testing.assert_array_equal(clone(estimator).fit(roll.X, roll.y).embedding_, estimator.embedding_)


@over(ALL)
def test_fitted_attributes_are_documented(case: Case, roll: Any) -> None:
    names = {name for name in vars(case.fitted(roll)) if name.endswith("_") and not name.startswith("_")}
    assert names <= {name for entry in attributes(type(case.template)) for name in entry.names}


# ---------------------------------------------------------------------- containers and dtypes
@over(ALL)
@pytest.mark.every(6, start=1)
def test_float32_stays_float32_and_near_float64(case: Case, roll: Any) -> None:
    X = roll.X.astype(np.float32)
    single, double = case.make(), case.make().fit(X.astype(np.float64), roll.y)
    new = X[::5] + np.float32(0.25)
    assert case.embed(single, X, roll.y).dtype == single.embedding_.dtype == single.transform(new).dtype == np.float32
    assert double.transform(new.astype(np.float64)).dtype == np.float64
    size = np.abs(double.embedding_).max()
    np.testing.assert_allclose(single.embedding_, double.embedding_, atol=1e-6 * size)
    np.testing.assert_allclose(single.transform(new), double.transform(new.astype(np.float64)), atol=1e-5 * size)


#: A frame stores columns: sums run in another order, and full-rank kernel bases amplify the last digit.
FRAMES = {"LPP-kernel": 1e-3, "OLPP-kernel": 1e-3, "LDA-kernel": 1e-5, "TraceReducer-kernel": 1e-9}


@over(ALL)
@pytest.mark.every(6, start=2)
def test_dataframes_in_and_out(case: Case, roll: Any) -> None:
    names = ["x", "y", "z"]
    frame = pd.DataFrame(roll.X, columns=names, index=np.arange(1000, 1000 + len(roll.X)))
    plain = case.fitted(roll)
    estimator = case.make().set_output(transform="pandas")
    assert isinstance(case.embed(estimator, frame, roll.y), pd.DataFrame)
    assert list(estimator.feature_names_in_) == names
    out = estimator.transform(frame)
    assert isinstance(out, pd.DataFrame)
    assert list(out.columns) == list(estimator.get_feature_names_out())
    assert list(out.index) == list(frame.index)
    np.testing.assert_allclose(
        out.to_numpy(), plain.transform(roll.X), atol=FRAMES.get(case.id, 1e-12) * np.abs(plain.embedding_).max()
    )

    table = pl.DataFrame(dict(zip(names, roll.X.T, strict=True)))
    out = case.make().set_output(transform="polars").fit(table, roll.y).transform(table)
    assert isinstance(out, pl.DataFrame)
    assert out.columns == list(estimator.get_feature_names_out())
    np.testing.assert_allclose(
        out.to_numpy(), plain.transform(roll.X), atol=FRAMES.get(case.id, 1e-12) * np.abs(plain.embedding_).max()
    )


RBF = es.Kernel("rbf", gamma=0.002)
SPARSE = {
    "PCA": es.PCA(3),
    "PCA-reduce": es.PCA(3, reduce=10),
    "CCA": es.CCA(),
    "CCA-reduce": es.CCA(reduce=10),
    "MultiviewCCA": es.MultiviewCCA(),
    "LPP": es.LPP(3),
    "OLPP": es.OLPP(3),
    "NPP": es.NPP(3),
    "ONPP": es.ONPP(3),
    "LLTSA": es.LLTSA(3),
    "LDA": es.LDA(3),
    "LPP-class": es.LPP(3, graph="class"),
    "LPP-binary-class": es.LPP(3, graph="class", weights="binary"),
    "LPP-cosine": es.LPP(3, weights="cosine"),
    "LPP-reduce": es.LPP(3, reduce=12),
    "LDA-shrinkage": es.LDA(3, shrinkage="auto"),
    "LPP-kernel": es.LPP(3, kernel=RBF),
    "OLPP-kernel": es.OLPP(3, kernel=RBF),
    "NPP-kernel": es.NPP(3, kernel=RBF),
    "ONPP-kernel": es.ONPP(3, kernel=RBF),
    "LLTSA-kernel": es.LLTSA(3, kernel=RBF),
    "LDA-kernel": es.LDA(3, kernel=RBF),
    "KernelPCA": es.KernelPCA(3, gamma=0.002),
    "KernelPCA-landmarks": es.KernelPCA(3, gamma=0.002, landmarks=50),
    "KernelCCA": es.KernelCCA(3, kernel=RBF),
}


@pytest.mark.parametrize("kind", [sp.csr_array, sp.csc_matrix])
@pytest.mark.parametrize("name", SPARSE)
@pytest.mark.every(2)
def test_sparse_equals_dense(name: str, kind: Any, digits: Any) -> None:
    X = digits.X * (
        1 + 1e-3 * np.random.default_rng(0).random(digits.X.shape)
    )  # integer data have ties among their neighbours
    dense, sparse = clone(SPARSE[name]).fit(X, digits.y), clone(SPARSE[name]).fit(kind(X), digits.y)
    np.testing.assert_allclose(
        sparse.eigenvalues_, dense.eigenvalues_, rtol=1e-6, atol=1e-9 * np.abs(dense.eigenvalues_).max()
    )
    new = X[::9] + (X[::9] > 0)
    stacked = [np.vstack([e.embedding_, e.transform(Z)]) for e, Z in ((dense, new), (sparse, kind(new)))]
    assert same_subspace(*stacked, degrees=1e-3)
    np.testing.assert_allclose(pairwise(stacked[1]), pairwise(stacked[0]), atol=1e-5 * pairwise(stacked[0]).max())
    np.testing.assert_allclose(sparse.transform(new), sparse.transform(kind(new)), atol=1e-9 * np.abs(stacked[1]).max())


# ---------------------------------------------------------------------- the map
@over(ALL)
@pytest.mark.every(2)
def test_transform_is_row_wise(case: Case, roll: Any) -> None:
    estimator = case.fitted(roll)
    new = np.vstack([roll.X[:4], roll.X[10:30] + 0.1, 3 * roll.X[40:44]])
    together = estimator.transform(new)
    alone = np.vstack([estimator.transform(new[i : i + 1]) for i in range(len(new))])
    assert_healthy(together, len(new))
    np.testing.assert_allclose(alone, together, atol=1e-7 * np.abs(together).max())
    np.testing.assert_allclose(estimator.transform(new[::-1])[::-1], together, atol=1e-7 * np.abs(together).max())


@pytest.mark.parametrize("name", ["PCA", "KernelPCA", "LandmarkMDS", "Isomap", "LaplacianEigenmaps", "LLE"])
@pytest.mark.every(2)
def test_many_rows_are_transformed_in_blocks(name: str, roll: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    fitted = es.make(name).fit(roll.X)
    new = np.vstack([roll.X, roll.X[:100] + 0.1])
    whole = fitted.transform(new)
    monkeypatch.setattr(
        "eigenspan.problem.map._BLOCK_BYTES", 8 * 240 * 7
    )  # seven rows against the training set at once
    np.testing.assert_allclose(fitted.transform(new), whole, atol=1e-9 * np.abs(whole).max())


@over(ALL)
@pytest.mark.every(6, start=3)
def test_fit_transform_equals_transform(case: Case, roll: Any) -> None:
    estimator = case.make()
    Y = case.embed(estimator, roll.X, roll.y)
    size = np.abs(Y).max()
    np.testing.assert_array_equal(Y, estimator.embedding_)
    again = estimator.transform(roll.X.copy())
    if case.lookup:
        np.testing.assert_array_equal(again, Y)
        np.testing.assert_array_equal(estimator.transform(roll.X[::-3]), Y[::-3])
    else:
        np.testing.assert_allclose(again, Y, atol=1e-6 * size)
    Y[:] = 0.0  # the map has places of its own
    np.testing.assert_array_equal(estimator.transform(roll.X.copy()), again)


@over(ALL)
@pytest.mark.every(6)
def test_callers_may_write_on_the_results(case: Case, roll: Any) -> None:
    estimator = case.make()
    Y = case.embed(estimator, roll.X, roll.y)
    before = estimator.transform(roll.X)
    Y *= 0
    out = estimator.transform(roll.X)
    np.testing.assert_array_equal(out, before)
    out *= 0
    np.testing.assert_array_equal(estimator.transform(roll.X), before)


#: Largest and median change of the embedding, relative to its size, when training rows move by 1e-9 and are no longer recognised.
#: Exact maps are continuous. The walk averages a point with its neighbours; reconstruction is regularised; Lingoes' constant is
#: added to every distance but zero. At the rim of HessianLLE's embedding single points stretch far.
EXTENSION = {
    "walk": (0.2, 0.02),
    "barycentric": (0.2, 0.01),
    "HessianLLE": (1.0, 0.01),
    "lingoes": (0.3, 0.1),
    "exact": (1e-5, 1e-6),
}


def _extension(case: Case) -> str:
    if case.id == "HessianLLE":
        return case.id
    if case.id.endswith(("lingoes", "constant")):
        return "lingoes"
    if not case.lookup or case.id.startswith(("Isomap", "KernelIsomap")):
        return "exact"
    return (
        "walk" if case.id.startswith(("Laplacian", "Diffusion", "Commute", "Spectral", "Manifold")) else "barycentric"
    )


@over(ALL)
def test_extension_without_the_lookup(case: Case, roll: Any) -> None:
    estimator = case.fitted(roll)
    moved = roll.X + 1e-9 * np.random.default_rng(0).standard_normal(roll.X.shape)
    change = np.abs(estimator.transform(moved) - estimator.embedding_) / np.abs(estimator.embedding_).max()
    largest, median = EXTENSION[_extension(case)]
    assert change.max() <= largest
    assert np.median(change) <= median
    if _extension(case) != "exact":
        assert np.any(change > 0)  # the look-up really was out of the way


def test_walks_extend_by_the_eigenfunction_formula(blobs: Any) -> None:
    """``y(x) = p(x) Y / (1 − λ)``, and for the harmonic extension ``p(x) Y``: p(x) the walk's first step from x."""
    new = blobs.X[:10] + 0.8  # beside the training points, none of which it is taken for
    for extension, power in (("nystrom", 1.0), ("harmonic", 0.0)):
        fitted = es.LaplacianEigenmaps(4, extension=extension, weights="binary", n_neighbors=7).fit(blobs.X)
        assert fitted.eigenvalues_[-1] > 0.2  # large enough for the division to show
        distances, among = (np.linalg.norm(A[:, None] - blobs.X[None], axis=2) for A in (new, blobs.X))
        joined = (
            distances <= np.sort(distances, axis=1)[:, 6:7]
        )  # its own neighbours, and those that would take it for one
        joined |= distances <= np.sort(among, axis=1)[:, 7]
        expected = joined @ fitted.embedding_ / joined.sum(axis=1, keepdims=True) / (1 - fitted.eigenvalues_) ** power
        np.testing.assert_allclose(fitted.transform(new), expected, atol=1e-12)


def _spread(Y: Any) -> float:
    return float(np.sqrt(np.mean(np.sum(np.square(Y), axis=1))))


@pytest.mark.parametrize("name", [case.id for case in own() if case.id not in ("SpectralClustering", "MixturePPCA")])
@pytest.mark.every(3)
def test_held_out_points_land_where_a_refit_puts_them(name: str) -> None:
    """The map may miss held-out points by little more than the refit moves the points that both fits have seen."""
    X, t = make_swiss_roll(800, random_state=3)
    y = np.digitize(t, np.quantile(t, [1 / 3, 2 / 3]))
    held = np.zeros(len(X), dtype=bool)
    held[::20] = True
    params: dict[str, Any] = {"n_neighbors": 8} if "n_neighbors" in es.make(name).get_params() else {}
    if name == "KernelPCA":
        params = {"gamma": "median"}
    if name in ("KernelCCA", "SupervisedNonlinearLocalEmbedding"):
        params = {"kernel": es.Kernel("rbf", gamma="median")}
    part, whole = es.make(name, **params).fit(X[~held], y[~held]), es.make(name, **params).fit(X, y)
    middle = part.embedding_.mean(axis=0)
    P, W = part.embedding_ - middle, whole.embedding_ - whole.embedding_[~held].mean(axis=0)
    W = W @ np.linalg.lstsq(W[~held], P, rcond=None)[0]  # the embedding is defined up to this
    moved = _spread(W[~held] - P) / _spread(P)
    missed = _spread(part.transform(X[held]) - middle - W[held]) / _spread(P)
    assert moved <= 0.15
    assert missed <= 1.3 * moved + 0.02


# ---------------------------------------------------------------------- invariances
def _assert_same_distances(Y: Any, Z: Any, tolerance: float = 1e-3) -> None:
    d = pairwise(Y)
    np.testing.assert_allclose(pairwise(Z), d, atol=tolerance * d.max())


@over([case for case in ALL if case.id not in ORIGIN])
@pytest.mark.every(6, start=1)
def test_shift_of_the_data_changes_nothing(case: Case, roll: Any) -> None:
    far = roll.X + np.array([10.0, -300.0, 7.0])
    before, after = case.fitted(roll), case.make().fit(far, roll.y)
    _assert_same_distances(before.embedding_, after.embedding_)
    assert angle(before.embedding_, after.embedding_) <= 0.1


@over(EUCLIDEAN)
@pytest.mark.every(6, start=2)
def test_rotation_of_the_data_changes_nothing(case: Case, roll: Any) -> None:
    Q = np.linalg.qr(np.random.default_rng(5).standard_normal((3, 3)))[0]
    before, after = case.fitted(roll), case.make().fit(roll.X @ Q, roll.y)
    _assert_same_distances(before.embedding_, after.embedding_)
    assert angle(before.embedding_, after.embedding_) <= 0.1


@over([case for case in ALL if case.id not in DRAWN])
@pytest.mark.every(6, start=3)
def test_row_order_only_permutes(case: Case, roll: Any) -> None:
    order = np.random.default_rng(2).permutation(len(roll.X))
    before, after = case.fitted(roll), case.make().fit(roll.X[order], roll.y[order])
    _assert_same_distances(before.embedding_[order], after.embedding_)
    assert angle(before.embedding_[order], after.embedding_) <= 0.1


def test_row_order_with_given_landmarks_only_permutes(roll: Any) -> None:
    order = np.random.default_rng(2).permutation(len(roll.X))
    chosen = np.arange(0, len(roll.X), 6)
    place = np.argsort(order)[chosen]
    for make in (es.LandmarkMDS, es.LandmarkIsomap, es.KernelPCA):
        before = make(landmarks=chosen).fit(roll.X).embedding_
        _assert_same_distances(before[order], make(landmarks=place).fit(roll.X[order]).embedding_)


@over(ALL)
@pytest.mark.every(6, start=4)
def test_same_seed_same_bits(case: Case, roll: Any) -> None:
    first, second = case.fitted(roll), case.make().fit(roll.X, roll.y)
    np.testing.assert_array_equal(first.embedding_, second.embedding_)
    np.testing.assert_array_equal(first.transform(roll.X + 0.1), second.transform(roll.X + 0.1))


#: Kernel bases keep directions down to 1e-10 of the largest: their last digits are rounding.
LOOSE = {"LPP-kernel": 1e-3, "OLPP-kernel": 1e-3, "LDA-kernel": 1e-5}


@over(ALL)
@pytest.mark.every(6, start=5)
def test_threads_do_not_matter(case: Case, roll: Any) -> None:
    one = case.fitted(roll).embedding_  # on one thread, as all fits of the tests
    with threadpool_limits(2):
        two = case.make().fit(roll.X, roll.y).embedding_
    np.testing.assert_allclose(two, one, atol=LOOSE.get(case.id, 1e-8) * np.abs(one).max())


@pytest.mark.parametrize("name", ["LaplacianEigenmaps", "LLE", "LTSA", "Isomap", "KernelPCA"])
@pytest.mark.every(2)
def test_iterative_solvers_are_deterministic(name: str) -> None:
    X, _ = make_swiss_roll(700, random_state=0)  # beyond the size below which everything is dense
    results = []
    for threads in (1, 2):
        with threadpool_limits(threads):
            fitted = es.make(name, n_components=2).fit(X)
        assert fitted.diagnostics_["solver"] in ("ShiftInvert", "Lanczos")
        assert fitted.residuals_.max() <= 1e-7
        results.append(fitted.embedding_)
    with threadpool_limits(2):
        np.testing.assert_array_equal(es.make(name, n_components=2).fit(X).embedding_, results[1])
    np.testing.assert_allclose(results[1], results[0], atol=1e-8 * np.abs(results[0]).max())
    other = es.make(name, n_components=2, random_state=1).fit(X).embedding_
    assert angle(results[0], other) <= 1e-3  # the start vector is no part of the answer


# ---------------------------------------------------------------------- what is fitted
@over(ALL)
@pytest.mark.every(6, start=2)
def test_embedding_is_whole_and_the_input_untouched(case: Case, roll: Any) -> None:
    X, y = roll.X.copy(), roll.y.copy()
    estimator = case.make().fit(X, y)
    assert_healthy(estimator.embedding_, len(X))
    np.testing.assert_array_equal(X, roll.X)
    np.testing.assert_array_equal(y, roll.y)
    assert np.linalg.matrix_rank(estimator.embedding_) == estimator.embedding_.shape[1]
    assert estimator.get_feature_names_out().shape == (estimator.embedding_.shape[1],)


@over(SPECTRAL)
def test_spectral_attributes(case: Case, roll: Any) -> None:
    estimator = case.fitted(roll)
    d = estimator.embedding_.shape[1]
    assert estimator.eigenvalues_.shape == estimator.residuals_.shape == (d,)
    assert np.all(np.isfinite(estimator.eigenvalues_))
    assert np.all(estimator.residuals_ <= 1e-7)
    assert estimator.gap_ > 1e-8
    assert type(estimator.problem_).__name__ in ("TraceProblem", "TraceRatio")
    sense = estimator.problem_.sense
    assert np.all(np.diff(estimator.eigenvalues_) * (1 if sense == "min" else -1) >= -1e-12)
    assert estimator.diagnostics_["seconds"]["total"] > 0
    assert isinstance(estimator.diagnostics_["solver"], str)


@over([case for case in ALL if case.linear])
@pytest.mark.every(2)
def test_linear_maps_are_what_they_say(case: Case, digits: Any, blobs: Any) -> None:
    data = blobs if case.id == "KernelICA" else digits  # which turns every pair of axes
    estimator = case.make().fit(data.X, data.y)
    V, mean = estimator.components_, estimator.mean_
    np.testing.assert_allclose(estimator.transform(data.X), (data.X - mean) @ V.T, atol=1e-9)
    Y = estimator.transform(data.X[:5])
    back = estimator.inverse_transform(Y)
    assert back.shape == data.X[:5].shape
    np.testing.assert_allclose(estimator.transform(back), Y, atol=1e-7 * np.abs(Y).max())


LLE_FAMILY = ("LLE", "ModifiedLLE", "HessianLLE", "LTSA", "TraceReducer-samples")


@over([case for case in ALL if case.id in LLE_FAMILY])
def test_lle_family_has_unit_covariance(case: Case, roll: Any) -> None:
    Y = case.make().fit(roll.X).embedding_
    np.testing.assert_allclose(Y.T @ Y / len(Y), np.eye(2), atol=1e-9)
    np.testing.assert_allclose(Y.mean(axis=0), 0, atol=1e-9)


def test_eigenmaps_are_degree_orthonormal(roll: Any) -> None:
    fitted = es.LaplacianEigenmaps(3).fit(roll.X)
    Y, D = fitted.embedding_, np.asarray(fitted.affinity_.W.sum(axis=1)).ravel()
    np.testing.assert_allclose(Y.T @ (D[:, None] * Y), np.eye(3), atol=1e-9)
    np.testing.assert_allclose(D @ Y, 0, atol=1e-9)


@over(
    [
        case
        for case in ALL
        if case.id in ("KernelPCA", "ClassicalMDS", "ClassicalMDS-cityblock", "ClassicalMDS-lingoes", "Isomap")
    ]
)
def test_mds_family_is_scaled_by_root_lambda(case: Case, roll: Any) -> None:
    fitted = case.make().fit(roll.X)
    Y = fitted.embedding_
    np.testing.assert_allclose(Y.T @ Y, np.diag(fitted.eigenvalues_), atol=1e-9 * fitted.eigenvalues_[0])
    np.testing.assert_allclose(Y.mean(axis=0), 0, atol=1e-9 * np.abs(Y).max())


@pytest.mark.parametrize(
    "case", [es.LandmarkMDS(landmarks=50), es.LandmarkIsomap(landmarks=50), es.KernelPCA(landmarks=50)]
)
def test_landmark_methods_turn_to_the_principal_axes_of_all_points(case: Any, roll: Any) -> None:
    Y = case.fit(roll.X).embedding_
    C = Y.T @ Y
    np.testing.assert_allclose(Y.mean(axis=0), 0, atol=1e-9 * np.abs(Y).max())
    assert abs(C[0, 1]) <= 1e-9 * C[0, 0]
    assert C[0, 0] > C[1, 1]


@pytest.mark.parametrize("name", ["OLPP", "ONPP", "PCA"])
def test_orthogonal_projections(name: str, digits: Any) -> None:
    V = es.make(name, n_components=4).fit(digits.X).components_
    np.testing.assert_allclose(V @ V.T, np.eye(4), atol=1e-10)


@pytest.mark.parametrize("name", ["NPP", "LLTSA"])
def test_unit_embeddings(name: str, digits: Any) -> None:
    Y = es.make(name, n_components=4).fit(digits.X).embedding_
    np.testing.assert_allclose(Y.T @ Y, np.eye(4), atol=1e-9)


# ---------------------------------------------------------------------- in company
@over(
    [
        case
        for case in ALL
        if "n_components" in case.template.get_params()
        and not case.id.startswith("SpectralClustering")
        and not case.pair
    ]
)
@pytest.mark.every(8, start=3)
def test_pipeline_and_grid_search(case: Case, blobs: Any) -> None:
    pipeline = make_pipeline(StandardScaler(), case.make(), KNeighborsClassifier(3))
    step = pipeline.steps[1][0]
    numbers = [1] if case.id == "MultiviewCCA" else [1, 2]  # y is a view of one column
    search = GridSearchCV(pipeline, {f"{step}__n_components": numbers}, cv=2, error_score="raise").fit(blobs.X, blobs.y)
    assert search.predict(blobs.X).shape == (90,)
    assert search.best_score_ > 0.4


def test_registry_finds_every_name_and_alias() -> None:
    for method in es.methods().itertuples():
        for name in (method.Index, method.Index.lower(), *filter(None, method.aliases.split(", "))):
            around = (es.LTSA(),) if method.Index in ("Anchored", "External") else ()
            assert es.make(name, *around) is not es.make(name, *around)
    assert {case.id for case in own()} <= set(es.__all__)
    with pytest.raises(ValueError, match=r"no method 'lapp'.*Did you mean 'LPP'"):
        es.make("lapp")


def _printed(code: str) -> str:
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=600, check=False)
    assert out.returncode == 0, out.stderr
    return out.stdout.strip()


def test_import_is_light() -> None:
    # scikit-learn itself looks for pandas and rich, and does without them: blocked here, only this library's imports would fail
    code = """
import sys
for name in ("pandas", "polars", "rich"):
    sys.modules[name] = None
import eigenspan
eigenspan.make("lpp")
print([name for name in ("numba", "faiss", "matplotlib", "click", "dask", "pyamg", "anndata") if name in sys.modules])
"""
    assert _printed(code) == "[]"


def test_import_adds_little_to_that_of_scikit_learn() -> None:
    """No other library, and of this one no more than the methods need."""
    code = """
import sys
import sklearn.manifold, sklearn.pipeline
before = set(sys.modules)
import eigenspan
added = set(sys.modules) - before
ours = {name for name in added if name.split(".")[0] == "eigenspan"}
print(sorted({name.split(".")[0] for name in added - ours} - set(sys.stdlib_module_names) - {"sklearn"}))
print(sorted(name for name in added - ours if name.startswith("sklearn.") and not name.startswith("sklearn.utils.")))
assert "eigenspan._docstrings" not in sys.modules and "Attributes" in eigenspan.LPP.__doc__  # completed when read
print(sorted(home for home in ("cli", "dimension", "interop", "models", "plotting", "quality", "report", "selection", "theory")
      if "eigenspan." + home in ours))
"""
    assert _printed(code).splitlines() == ["[]", "[]", "[]"]


def test_what_is_imported_late_is_there() -> None:
    code = """
import eigenspan.methods.variance.pca as module, eigenspan
assert module.PCA is eigenspan.PCA and len(eigenspan.methods()) > 60
assert set(eigenspan.__all__) <= set(dir(eigenspan))
names = {name: getattr(eigenspan, name) for name in eigenspan.__all__}
assert eigenspan.quality.compare is names["compare"] and eigenspan.theory.Theorem is names["Theorem"]
exec("from eigenspan import *")
try:
    eigenspan.nothing
except AttributeError as failure:
    print(failure)
"""
    assert _printed(code) == "module 'eigenspan' has no attribute 'nothing'"


def test_procrustes_vocabulary(roll: Any) -> None:
    Q = np.linalg.qr(np.random.default_rng(0).standard_normal((3, 3)))[0]
    assert disparity(roll.X, 2 * roll.X @ Q + 1) < 1e-12
    assert angle(roll.X, roll.X @ Q) < 1e-5
    assert not same_subspace(roll.X[:, :2], roll.X[:, 1:])
