"""Defects that the fuzzer has found, each in the smallest form that shows it."""

from __future__ import annotations

import warnings
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.cluster import kmeans_plusplus

import eigenspan as es
from eigenspan.errors import DegenerateWarning, DimensionError, GraphError, InputError, LabelError, PrecisionWarning
from eigenspan.graphs import Landmarks, affinity, reconstruction_weights
from eigenspan.graphs.landmarks import choose_landmarks
from eigenspan.numerics.eigen.iterative import top_pairs
from eigenspan.numerics.factor.pivoted import pivoted_cholesky
from eigenspan.problem import Kernel, kernel_rows
from eigenspan.problem.forms import local_alignment as alignment
from helpers import angle, cloud, pairwise, quietly, reports, says
from metamorphic.data import clusters, dimmed, duplicates, grid, heavy_tails, outlier


@pytest.mark.parametrize(
    "estimator",
    [
        es.LLE(2),
        es.LTSA(2),
        es.ModifiedLLE(2),
        es.HessianLLE(2),
        es.GeodesicNullspaceAnalysis(2),
        es.ConformalEigenmaps(2),
        es.DiffusionMap(2, weights="cosine"),
        es.LPP(2, kernel=es.ReconstructionKernel()),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
@pytest.mark.parametrize("D", [4, 60], ids=["few columns", "many columns"])
def test_dense_new_points_of_a_fit_to_sparse_rows(estimator: Any, D: int) -> None:
    X = np.abs(cloud(40, D)) + 0.1
    new = 0.5 * (X[:6] + X[1:7])
    fitted = quietly(lambda: estimator.fit(sp.csr_array(X)))
    np.testing.assert_allclose(
        fitted.transform(new), fitted.transform(sp.csr_array(new)), atol=1e-9 * np.abs(fitted.embedding_).max()
    )


@pytest.mark.parametrize("D", [3, 12], ids=["more neighbours than columns", "fewer"])
@pytest.mark.parametrize("small", [np.inf, -1.0], ids=["numpy", "compiled"])
def test_modified_lle_without_a_ridge_does_not_depend_on_the_unit(
    D: int, small: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``reg=0`` is the limit of small ridges, not a ridge of one in the unit of X."""
    monkeypatch.setattr(alignment, "_SMALL", small)
    X = cloud(40, D)
    one = es.ModifiedLLE(2, n_neighbors=8, reg=0.0).fit(X).embedding_
    for factor in (2.0**-20, 2.0**20):
        np.testing.assert_allclose(
            pairwise(es.ModifiedLLE(2, n_neighbors=8, reg=0.0).fit(factor * X).embedding_), pairwise(one), atol=1e-9
        )
    limit = es.ModifiedLLE(2, n_neighbors=8, reg=1e-9).fit(X).embedding_
    assert angle(one, limit) <= 1e-3


@pytest.mark.parametrize(
    "params",
    [{"axes": "norm"}, {"axes": "eigenvalue-norm"}, {"scale": "unit-variance", "criterion": "trace-ratio"}],
    ids=str,
)
def test_lengths_of_axes_with_equal_eigenvalues_do_not_depend_on_their_rotation(params: dict[str, Any]) -> None:
    """Fewer rows than columns: all three eigenvalues are 1, and any rotation of the axes solves the problem."""
    X, y = cloud(20, 30), np.arange(20) % 4
    turn = np.linalg.qr(cloud(30, 30, 1))[0]
    one, other = (quietly(lambda A=A: es.LDA(3, **params).fit(A, y)).embedding_ for A in (X, X @ turn))
    np.testing.assert_allclose(pairwise(other), pairwise(one), rtol=1e-9, atol=1e-9 * pairwise(one).max())


@pytest.mark.parametrize("shift", [0.0, 3e4])
@pytest.mark.parametrize("columns", [4, 60], ids=["few columns", "many columns"])
def test_small_noise_beside_large_noise_keeps_its_digits(shift: float, columns: int) -> None:
    """Along one direction the noise is 10⁷ times as large as along others: products of the noise lose these, and those of signals none."""
    rng = np.random.default_rng(0)
    turn = np.linalg.qr(rng.standard_normal((columns, columns)))[0]
    X = rng.standard_normal((40, columns)) * np.where(np.arange(columns) == 0, 1e3, 1.0)
    noise = rng.standard_normal((3, 40, columns)) * np.where(
        np.arange(columns) == 0, 1e4, np.linspace(1e-3, 2e-3, columns)
    )
    one = es.OrientedPCA(2).fit(X, X + noise)
    X, noise = X @ turn + shift, noise @ turn
    other = es.OrientedPCA(2).fit(X, X + noise)
    np.testing.assert_allclose(other.eigenvalues_, one.eigenvalues_, rtol=1e-4)
    parts = es.OrientedPCA(2)
    for rows in np.array_split(np.arange(40), 3):
        quietly(lambda rows=rows: parts.partial_fit(X[rows], X[rows] + noise[:, rows]))  # the first have too few copies
    np.testing.assert_allclose(parts.eigenvalues_, one.eigenvalues_, rtol=1e-4)


def test_functions_that_distort_see_rows_in_double_precision() -> None:
    def stretched(A: Any) -> Any:
        return A + (A - A.mean(axis=0)) * [0.1, 0.2, 0.3, 0.4]

    X = (cloud(30, 4) + 1e6).astype(np.float32)
    one, other = (es.OrientedPCA(1, distortions=stretched).fit(rows) for rows in (X, X.astype(float)))
    np.testing.assert_allclose(one.eigenvalues_, other.eigenvalues_, rtol=1e-6)


@pytest.mark.parametrize("factor", [1e-4, 1e4])
@pytest.mark.parametrize("kernel", [None, es.Kernel(gamma="median")], ids=["features", "kernel"])
def test_the_width_of_weights_is_in_the_unit_of_a_given_graph(factor: float, kernel: Any) -> None:
    """Lengths that are not distances of the points, among kernel features or in another unit, have a width of their own."""
    X = cloud(40, 3)
    graph = es.KNN(6).build(X).distances
    one, other = (es.LPP(2, graph=f * graph, kernel=kernel).fit(X).embedding_ for f in (2.0, factor))
    np.testing.assert_allclose(pairwise(other), pairwise(one), atol=1e-9 * np.abs(one).max())
    if kernel is None:
        plain, given = (es.LPP(2, graph=each).fit(X).embedding_ for each in (es.KNN(6), graph))
        np.testing.assert_allclose(given, plain, atol=1e-9)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, np.float32], ids=["dense", "sparse", "single"])
@pytest.mark.parametrize("k", [5, 29], ids=["near", "all"])
def test_cosines_far_from_the_origin_keep_their_digits(form: Any, k: int) -> None:
    """Angles of a millionth are a trillionth away from one as cosines, which are rounded at the size of one."""
    X = np.asarray((cloud(30, 3) + 1e6).astype(np.float32), dtype=float)
    exact = np.array([[Fraction(value) for value in row] for row in X.tolist()])
    products = exact @ exact.T
    squares = products**2 / np.outer(np.diagonal(products), np.diagonal(products))
    wanted = np.array([[float((1 - s) / 2) for s in row] for row in squares])  # (1 − cos²)/2, for cosines near one
    np.fill_diagonal(wanted, np.inf)
    order = np.random.default_rng(0).permutation(30)
    for rows in (np.arange(30), order):
        graph = es.KNN(k, metric="cosine").build(form(X[rows])).distances
        near = np.sort(graph.data.reshape(30, k), axis=1)
        np.testing.assert_allclose(near, np.sort(wanted[np.ix_(rows, rows)], axis=1)[:, :k], rtol=1e-6)
        assert not graph.diagonal().any()
    radius = float(np.median(wanted))
    found = es.Radius(radius, metric="cosine").build(form(X)).distances
    assert found.nnz == np.sum(wanted <= radius)


def test_a_view_whose_strings_have_no_length_is_refused() -> None:
    estimator, X = es.MaximumCovarianceUnfolding(1, metric="cosine"), np.arange(1.0, 13)[:, None]
    with pytest.raises(DimensionError, match="every edge has length zero"):
        quietly(lambda: estimator.fit(X, cloud(12, 2)))


def test_feature_weights_in_single_precision_far_from_zero_warn() -> None:
    X, y = (cloud(30, 3) + 1e6).astype(np.float32), np.arange(30) % 2
    with reports(PrecisionWarning, "single precision", "Subtract the column means"):
        es.AffinityLearner().fit(X, y)
    es.AffinityLearner().fit(X - X.mean(axis=0), y)


def test_signals_measured_from_the_origin_in_single_precision_warn() -> None:
    """The embedding lies as far from zero as the points."""
    X, noise = (cloud(30, 3) + 1e6).astype(np.float32), cloud(30, 3, 1).astype(np.float32)
    estimator = es.OrientedPCA(1, extractor="difference")
    with reports(PrecisionWarning, "single precision", "embedding_", "Pass X in double precision"):
        estimator.fit(X, X + noise)
    estimator.fit(X.astype(float), X + noise)
    estimator.fit(X - np.float32(1e6), X - np.float32(1e6) + noise)


def test_residuals_that_cancel_within_rows_that_repeat_are_refused() -> None:
    """A kernel separates all other rows, so that the residuals of equal rows sum to zero, and so do all products with coordinates."""
    X = duplicates(31, 6, seed=679)
    y = X[:, 0] ** 2 + cloud(31, 1)[:, 0]
    with pytest.raises(LabelError, match="residuals that cancel"):
        es.PHD(3, kernel="rbf", response="residual").fit(X, y)
    assert quietly(lambda: es.PHD(3, kernel="rbf").fit(X, y)).eigenvalues_.min() > 1e-3


def test_vanishing_weights_on_a_cluster_are_refused_as_in_memory() -> None:
    da = pytest.importorskip("dask.array")
    X = np.vstack([cloud(32, 4), np.full((1, 4), 12.0)])
    estimator = es.LaplacianEigenmaps(2, weights=es.Heat(2.0), n_neighbors=5)
    with pytest.raises(GraphError, match="vanish"):
        estimator.fit(X)
    with pytest.raises(GraphError, match="vanish"):
        estimator.fit(da.from_array(X, chunks=(10, -1)))


@pytest.mark.parametrize("chosen", [np.arange(12), np.arange(6, 18)], ids=["beside", "itself a landmark"])
def test_landmarks_that_are_equally_far_in_the_space_of_a_kernel_warn(chosen: Any) -> None:
    """One point is many widths away from all others: of the landmarks rounding chooses its neighbours."""
    X = outlier(18, 5, seed=742)
    estimator = es.LPP(1, landmarks=chosen, kernel=es.Kernel(gamma="median"))
    with reports(PrecisionWarning, "too few landmarks", "10 neighbours", "equally far"):
        estimator.fit(X)
    estimator.set_params(n_neighbors=5).fit(X)


def test_minkowski_distances_of_sparse_rows_are_euclidean_without_an_exponent() -> None:
    X = sp.csc_array(np.maximum(cloud(30, 8), 0.0))
    one, other = (es.Isomap(2, n_neighbors=8, metric=metric).fit(X) for metric in ("minkowski", "euclidean"))
    np.testing.assert_allclose(pairwise(one.embedding_), pairwise(other.embedding_), atol=1e-9)
    np.testing.assert_allclose(pairwise(one.transform(X[:5])), pairwise(other.embedding_[:5]), atol=1e-9)
    assert es.LaplacianEigenmaps(2, metric="minkowski").fit(X).embedding_.shape == (30, 2)


def test_a_unit_without_masses_has_its_centre_in_the_mean() -> None:
    """A Hessian form sends the constant to zero but for rounding, which is large beside an outlier and is no mass."""
    X = outlier(27, 5, seed=487)
    one, other = (es.TraceReducer(unit="hessian", over="identity").fit(A) for A in (X, X[:, ::-1]))
    np.testing.assert_allclose(one.mean_, X.mean(axis=0))
    np.testing.assert_allclose(
        pairwise(other.embedding_), pairwise(one.embedding_), atol=1e-5 * np.abs(one.embedding_).max()
    )


@pytest.mark.parametrize(
    ("estimator", "said"),
    [
        (es.LPP(2, kernel="rbf"), "fewer than 10 others"),
        (es.LLTSA(2, kernel="rbf", n_neighbors=5), "fewer than 5 others"),
        (es.LFDA(2, kernel="rbf"), "fewer than 3 others"),
        (es.MFA(2, kernel="rbf", n_rivals=8), "fewer than 3 others"),
        (es.TraceReducer(2, basis="kernel"), "fewer than 10 others"),
        (es.LPP(2, kernel="rbf", landmarks=np.arange(6)), "no landmark"),
    ],
    ids=str,
)
def test_neighbours_that_a_narrow_kernel_leaves_to_rounding(estimator: Any, said: str) -> None:
    X, y = 30 * cloud(40, 3), np.arange(40) % 2
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        estimator.fit(X, y)
    assert any(issubclass(w.category, PrecisionWarning) and said in str(w.message) for w in caught)
    with warnings.catch_warnings():
        warnings.simplefilter("error", PrecisionWarning)
        quietly(lambda: clone(estimator).set_params(kernel=es.Kernel(gamma="median")).fit(X, y), DegenerateWarning)


@pytest.mark.parametrize(
    "estimator",
    [es.SupervisedPCA(2), es.SDA(2, mu=0.0), es.SDA(np.int64(2), mu=0.0), es.LDA(2), es.SIR(2), es.SIR("test")],
    ids=str,
)
def test_parts_with_few_of_the_classes_are_waited_for(estimator: Any) -> None:
    X, y = cloud(60, 3), np.array(list("abc"))[np.arange(60) % 3]
    y[:20] = np.where(y[:20] == "c", "a", y[:20])
    X[y == "b", 0] += 3
    X[y == "c", 1] += 3
    whole, parts = (quietly(lambda: estimator.fit(X, y).transform(X)), clone(estimator))
    for rows in np.array_split(np.arange(60), 3):
        quietly(lambda rows=rows: parts.partial_fit(X[rows], y[rows]))
    np.testing.assert_allclose(pairwise(parts.transform(X)), pairwise(whole), atol=1e-9)


@pytest.mark.parametrize("name", ["MVU", "SMVU1"])
def test_a_price_of_slack_that_rounding_exceeds_is_refused(name: str) -> None:
    X, y = cloud(20, 3), np.arange(20) % 2
    with pytest.raises(InputError, match=says("The price 500 of squared slack is too high", 'price="auto"')):
        es.make(name, n_components=2, constraint="slack", price=500.0).fit(1e100 * X, y)


@pytest.mark.parametrize("name", ["KDR", "GradientKDR"])
@pytest.mark.parametrize("scale", [1e-100, 1e100])
def test_gradients_of_kernel_dimension_reduction_beyond_the_fourth_root_of_the_range(name: str, scale: float) -> None:
    X = cloud(30, 3)
    y = X[:, 0] + 0.1 * X[:, 1] ** 2
    params: dict[str, Any] = {"whiten": False}
    one = es.make(name, n_components=1, **params).fit(X, y).components_
    other = es.make(name, n_components=1, **params).fit(scale * X, y).components_
    assert angle(one.T, other.T) <= 1.0  # descent ends within its tolerance


def test_conformal_maps_near_the_boundary_raise_no_warning_of_scipy() -> None:
    """The best combination may have fewer dimensions than eigenvectors: iterates are singular up to rounding, as they should be."""
    X = outlier(26, 1, seed=655)[::2]
    assert quietly(lambda: es.ConformalEigenmaps(2, tol=0.05, reg=0.0).fit(X)).embedding_.shape == (13, 2)


def test_conformal_eigenmaps_measure_triangles_in_their_own_unit() -> None:
    """The graph may hold lengths of another metric than those of the triangles, 1e100 times as small."""
    X = np.abs(cloud(40, 4))
    maps = [
        quietly(lambda f=f: es.ConformalEigenmaps(2, graph=es.KNN(8, metric="cosine")).fit(f * X)) for f in (1.0, 1e100)
    ]
    shapes = [pairwise(fitted.embedding_) for fitted in maps]
    np.testing.assert_allclose(shapes[1] / shapes[1].max(), shapes[0] / shapes[0].max(), atol=1e-3)


@pytest.mark.parametrize("scale", [1e-100, 1e100])
def test_randomised_solvers_at_the_ends_of_the_range(scale: float) -> None:
    """Squares of residuals neither overflow nor vanish, which would end the iteration at once."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 60)) * np.linspace(1.0, 0.9, 60)  # hardly any gap: many iterations
    one, other = (es.PCA(3, solver="randomised").fit(f * X) for f in (1.0, scale))
    np.testing.assert_allclose(other.eigenvalues_ / scale**2, one.eigenvalues_, rtol=1e-6)
    assert angle(one.components_.T, other.components_.T) <= 1e-3


def test_pivots_that_tie_are_not_chosen_by_rounding() -> None:
    K = np.exp(-(pairwise(cloud(20, 2)) ** 2))
    ones = np.ones(20)
    pivots = pivoted_cholesky(lambda j: K[:, j], ones, most=6)[1]
    for seed in range(5):
        rounding = 1e-14 * np.random.default_rng(seed).standard_normal(20)
        np.testing.assert_array_equal(pivoted_cholesky(lambda j: K[:, j], ones + rounding, most=6)[1], pivots)


@pytest.mark.parametrize("seed", range(3))
def test_landmarks_by_pivots_do_not_depend_on_the_order_of_columns(seed: int) -> None:
    X = cloud(40, 5, seed)
    turned = X[:, np.random.default_rng(seed).permutation(5)]
    rows = [choose_landmarks(A, Landmarks(12, choice="cholesky"), random_state=0) for A in (X, turned)]
    np.testing.assert_array_equal(*rows)


@pytest.mark.parametrize("name", ["NPP", "ONPP"])
@pytest.mark.parametrize("container", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_weights_that_rebuild_all_points_exactly_are_warned_of(name: str, container: Any) -> None:
    """Without a ridge and with more neighbours than features every axis costs nothing, and rounding would choose in silence."""
    X = cloud(40, 4)
    with reports(DegenerateWarning, "reg=0 lets 8 neighbours", "rounding decides"):
        es.make(name, n_components=2, n_neighbors=8, reg=0.0).fit(container(X))
    es.make(name, n_components=2, n_neighbors=3, reg=0.0, disconnected="connect").fit(container(X))
    es.make(name, n_components=2, n_neighbors=8).fit(container(X))


@pytest.mark.parametrize("how", ["maxmin", "cholesky", "leverage"])
def test_landmarks_that_compare_distances_refuse_a_sparse_matrix_of_them(how: str) -> None:
    S = es.KNN(6).build(cloud(30)).distances
    with pytest.raises(InputError, match=says(f'Landmarks by "{how}" compare all distances', "180 of 900", "random")):
        es.LaplacianEigenmaps(landmarks=Landmarks(12, choice=how), graph="precomputed").fit(S)


@pytest.mark.parametrize("scale", [1e-100, 1e100])
def test_singular_units_at_the_ends_of_the_range(scale: float) -> None:
    """Whether the objective asks for a ridge is judged by sizes whose squares neither overflow nor vanish."""
    X, y = cloud(4, 2), np.array([2, 0, 1, 0])
    one, other = (quietly(lambda f=f: es.LDE(2).fit(f * X, y)).embedding_ for f in (1.0, scale))
    np.testing.assert_allclose(pairwise(other), pairwise(one), atol=1e-9 * np.abs(one).max())


@pytest.mark.parametrize("scale", [1e-100, 1e100])
def test_errors_and_ranks_at_the_ends_of_the_range(scale: float) -> None:
    X = cloud(30, 3)
    one, other = (es.Isomap(2).fit(f * X).reconstruction_error() for f in (1.0, scale))
    assert other / scale**2 == pytest.approx(one, rel=1e-9)
    assert es.KernelPCA(None, kernel="linear").fit(scale * X).embedding_.shape == (30, 3)


@pytest.mark.parametrize("metric", ["euclidean", "cityblock", "chebyshev", "minkowski"])
@pytest.mark.parametrize("scale", [1e-100, 1e100])
def test_neighbours_do_not_depend_on_the_unit(metric: str, scale: float) -> None:
    X = cloud(30, 4)
    one, other = (es.KNN(5, metric=metric).build(f * X).distances for f in (1.0, scale))
    np.testing.assert_array_equal(other.indices, one.indices)


@pytest.mark.parametrize("name", ["NPP", "LPP", "OLPP", "LLTSA", "LDA"])
def test_rows_that_coincide_have_no_axes_to_keep_first(name: str) -> None:
    with pytest.raises(DimensionError, match="All 20 rows coincide"):
        es.make(name, reduce=3).fit(np.zeros((20, 4)), np.arange(20) % 3)


@pytest.mark.parametrize("odd", [np.nan, np.inf])
@pytest.mark.parametrize("spec", [es.KNN(6), es.KNN(6, metric="cityblock"), es.Radius(1.0)], ids=repr)
def test_a_graph_of_points_with_gaps_is_refused_in_words(spec: Any, odd: float) -> None:
    X = np.random.default_rng(0).normal(size=(20, 3))
    X[3, 1] = odd
    with pytest.raises(GraphError, match="1 values that are NaN or infinite"):
        spec.build(X)


@pytest.mark.parametrize("size", [1e-100, 1e-16, 1e120])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_cosines_do_not_depend_on_lengths(form: Any, size: float) -> None:
    X = np.abs(np.random.default_rng(0).normal(size=(40, 3)))
    X[::3] = np.where(X[::3] > 0.5, X[::3], 0)
    X[:, 0] += 0.1
    lengths = np.where(np.arange(40) % 2, 1.0, size)[:, None]
    plain, scaled = form(X), form(lengths * X)
    for points in (es.KNN(5, metric="cosine"), es.Radius(0.05, metric="cosine")):
        a, b = points.build(plain).distances, points.build(scaled).distances
        np.testing.assert_array_equal(a.indices, b.indices)
        np.testing.assert_allclose(a.data, b.data, atol=1e-12)
    K, L = (kernel_rows(Kernel("cosine"), rows)(rows) for rows in (plain, scaled))
    np.testing.assert_allclose(K, L, atol=1e-12)
    weighed = [affinity(es.KNN(5, metric="cosine").build(rows), "cosine", rows).W for rows in (plain, scaled)]
    np.testing.assert_allclose(weighed[0].toarray(), weighed[1].toarray(), atol=1e-12)


@pytest.mark.parametrize("choice", ["kmeans++", "leverage"])
def test_rounding_does_not_choose_among_landmarks_that_tie(choice: Any) -> None:
    """On a lattice candidates are equally good, and points equally near to several landmarks."""
    X = grid(36, 2, seed=0)
    turned = X @ np.linalg.qr(np.random.default_rng(0).standard_normal((2, 2)))[0]
    for state in range(20):
        rows = [choose_landmarks(A, Landmarks(10, choice=choice), random_state=state) for A in (X, turned, 3.7e-3 * X)]
        np.testing.assert_array_equal(rows[1], rows[0])
        np.testing.assert_array_equal(rows[2], rows[0])


def test_kmeans_seeds_are_those_of_scikit_learn_where_none_tie() -> None:
    X = cloud(60, 3)
    for state in range(5):
        rows = choose_landmarks(X, Landmarks(12, choice="kmeans++"), random_state=state)
        np.testing.assert_array_equal(rows, np.sort(kmeans_plusplus(X, 12, random_state=state)[1]))


@pytest.mark.parametrize("k", [6, 8], ids=["as many as columns", "more"])
def test_weights_without_a_ridge_keep_their_digits_beside_an_outlier(k: int) -> None:
    """Gram matrices of its neighbourhood, 10,000 times as long as wide, would hold half of them."""
    X = outlier(25, 6, seed=361)
    turned = X @ np.linalg.qr(np.random.default_rng(0).standard_normal((6, 6)))[0]
    one, other = (reconstruction_weights(A, es.KNN(k).build(A).lists(), reg=0.0).toarray() for A in (X, turned))
    np.testing.assert_allclose(other, one, atol=1e-6 * np.abs(one).max())


def test_compiled_weights_without_a_ridge_are_those_of_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    X, maps = outlier(25, 3, seed=361), []
    for small in (np.inf, -1.0):
        monkeypatch.setattr(alignment, "_SMALL", small)
        maps.append(quietly(lambda: es.ModifiedLLE(2, n_neighbors=8, reg=0.0).fit(X)).embedding_)
    np.testing.assert_allclose(pairwise(maps[1]), pairwise(maps[0]), atol=1e-6 * np.abs(maps[0]).max())


@pytest.mark.parametrize("landmarks", [None, 12])
def test_directions_that_a_linear_kernel_leaves_out_are_reported(landmarks: Any) -> None:
    """Its matrix holds squares: what is 1e-6 of the largest is lost there, and not without the kernel."""
    X, y = cloud(30, 3) * [1.0, 1.0, 1e-6], np.arange(30) % 3
    with reports(PrecisionWarning, "1 of 3 directions were left out", "linear kernel"):
        es.LDA(1, kernel="linear", landmarks=landmarks).fit(X, y)
    es.LDA(1).fit(X, y)
    es.LDA(1, kernel="linear", landmarks=landmarks).fit(X * [1.0, 1.0, 0.0], y)


@pytest.mark.parametrize("name", ["LaplacianEigenmaps", "LLE"])
def test_the_order_of_rows_does_not_choose_among_components_that_are_equally_large(name: str) -> None:
    X, order = clusters(36, 3, seed=1), np.random.default_rng(0).permutation(36)
    one, other = (
        quietly(lambda A=A: es.make(name, n_components=2, n_neighbors=5, disconnected="largest").fit(A)).graph_.rows
        for A in (X, X[order])
    )
    np.testing.assert_array_equal(np.sort(order[other]), one)


def test_the_heat_width_on_a_cluster_is_that_of_the_distinct_rows() -> None:
    da = pytest.importorskip("dask.array")
    X = duplicates(40, 4, seed=261)
    one, other = (es.LaplacianEigenmaps(3).fit(A) for A in (X, da.from_array(X, chunks=(13, 4))))
    assert other.diagnostics_["sigma"] == pytest.approx(one.diagnostics_["sigma"], rel=1e-12)
    np.testing.assert_allclose(
        pairwise(other.embedding_), pairwise(one.embedding_), atol=1e-9 * np.abs(one.embedding_).max()
    )


def test_points_whose_edge_weights_vanish_have_no_digits_in_a_normalised_cut() -> None:
    """The weights of outliers are 1e-40 of the largest; eigenvectors, divided by the roots of their sums, hold rounding there."""
    X = heavy_tails(22, 3, seed=903)
    with reports(PrecisionWarning, "edge weights of", "vanish", "drop the outliers"):
        es.SpectralClustering(3, cut="normalized").fit(X)
    es.SpectralClustering(3, cut="normalized", weights="binary").fit(X)
    es.SpectralClustering(3, cut="normalized").fit(cloud(30, 3))


@pytest.mark.parametrize("seed", range(6))
def test_restarts_of_lanczos_are_seeded(seed: int) -> None:
    """If the Krylov space is invariant, ARPACK restarts from a random vector: it must come from a seeded generator."""
    pairs = [
        top_pairs(lambda x: x, 80, 3, np.random.default_rng(seed), exclude=None, magnitude=1.0)[1] for _ in range(3)
    ]
    for other in pairs[1:]:
        np.testing.assert_array_equal(other, pairs[0])


@pytest.mark.parametrize("method", [es.DNE, es.LDA])
def test_kernel_values_whose_squares_overflow(method: Any) -> None:
    X = np.random.default_rng(0).standard_normal((30, 4)) * 1e77
    fitted = method(1, kernel="linear").fit(X, np.arange(30) % 3)
    same = method(1, kernel="linear").fit(X / 1e77, np.arange(30) % 3)
    assert angle(fitted.embedding_, same.embedding_) < 1e-6


def test_layers_of_distortions_keep_the_digits_of_an_outlier() -> None:
    X = outlier(4, 3, seed=583)
    fitted = es.DistortionDiscriminantAnalysis(2, distortions=dimmed).fit(X)
    np.testing.assert_allclose(fitted.eigenvalues_, [100.052404, 99.947577], rtol=1e-6)
    moved = es.DistortionDiscriminantAnalysis(2, distortions=dimmed).fit(X + np.array([1e4, 3e4, -2e4]))
    np.testing.assert_allclose(np.abs(moved.embedding_), np.abs(fitted.embedding_), atol=1e-5)
