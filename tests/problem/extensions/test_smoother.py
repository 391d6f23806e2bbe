"""Smooth extensions of an embedding from a Gram matrix: the printed formulas, held-out points, and awkward ones."""

from __future__ import annotations

import pickle
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import cdist
from sklearn.datasets import make_swiss_roll
from sklearn.neighbors import KNeighborsTransformer

from eigenspan.errors import InputError
from eigenspan.graphs import KNN, Radius, affinity_graph, as_graph, distance_graph
from eigenspan.numerics.nearest.row_lookup import RowIndex
from eigenspan.problem import Map, Spectrum
from eigenspan.problem.extensions import Barycentric, BarycentricRows
from eigenspan.problem.extensions import smoother as module
from eigenspan.problem.extensions.smoother import eigenfunctions, kernel_map
from helpers import cloud

HEIGHT = 21.0


def principal(F: np.ndarray, d: int = 2) -> tuple[np.ndarray, Spectrum]:
    """The embedding Y = VΔ^½ of K = FF' and its spectrum, densely."""
    values, V = np.linalg.eigh(F @ F.T)
    values, V = values[::-1][:d], V[:, ::-1][:, :d]
    return V * np.sqrt(values), Spectrum(values, V, np.zeros(d))


def centred_cloud(n: int = 80, D: int = 4, seed: int = 5) -> np.ndarray:
    F = cloud(n, D, seed) * np.array([4.0, 2.0, 1.0, 0.5])[:D]
    return F - F.mean(axis=0)


def raw(m: Map) -> Map:
    """Without the look-up of training points."""
    return replace(m, known=None)


def swiss(n: int, m: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Points, their flat coordinates with a tiny third, and the same for held-out points."""
    X, t = make_swiss_roll(n + m, random_state=seed)
    arc = (t * np.sqrt(1 + t**2) + np.arcsinh(t)) / 2
    F = np.column_stack([arc, X[:, 1], 1e-3 * cloud(n + m, 1, seed + 1)])
    F = F - F[:n].mean(axis=0)
    return X[:n], F[:n], X[n:], F[n:]


def both(X: Any, F: np.ndarray, graph: Any = None, **settings: Any) -> list[Any]:
    graph = KNN(min(6, len(X) - 1)).build(X) if graph is None else graph
    return [eigenfunctions(graph, X, F, **settings), kernel_map(graph, X)]


@pytest.fixture(params=["dense", "sparse"])
def solver(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(module, "_SMALL", 10**9 if request.param == "dense" else 0)
    monkeypatch.setattr(module, "predict_fill", lambda S: SimpleNamespace(seconds=0.0))
    return request.param


# ---------------------------------------------------------------------- the formulas
def printed_kernel(kernel: str, D: np.ndarray, width: float) -> np.ndarray:
    if kernel == "gaussian":
        return np.exp(-(D**2) / (2 * width**2))
    t = D / width
    return np.where(t < 1, (1 - t) ** 4 * (4 * t + 1), 0.0)


@pytest.mark.parametrize("kernel", ["wendland", "gaussian"])
@pytest.mark.parametrize("eta", [1e-3, 0.5])
def test_eigenfunctions_against_the_printed_formula(kernel: str, eta: float, solver: str) -> None:
    """Eqs. 63–67 with n×n matrices; the third and fourth axis of K are felt through R(R + ηI)⁻¹."""
    X, new, F = cloud(80), cloud(30, seed=1), centred_cloud(80)
    Y, spectrum = principal(F)
    width = 1.5 if kernel == "wendland" else 0.7
    R, r = (printed_kernel(kernel, cdist(A, X), width) for A in (X, new))
    S = np.linalg.inv(R + eta * np.eye(80))
    P = (spectrum.vectors / np.sqrt(spectrum.values)).T @ R @ S @ F @ F.T @ S
    extension = eigenfunctions(KNN(6).build(X), X, F + 3.0, kernel=kernel, width=width, eta=eta, rescale=False)
    m = raw(extension(Y, spectrum))
    np.testing.assert_allclose(m(new), r @ P.T, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(m(X), R @ P.T, rtol=1e-8, atol=1e-8)


def test_rescaling_divides_the_kernel_by_the_smoothed_constant(solver: str) -> None:
    X, new, F = cloud(80), cloud(30, seed=1) * 0.7, centred_cloud(80)
    Y, spectrum = principal(F)
    R, r = (printed_kernel("wendland", cdist(A, X), 1.5) for A in (X, new))
    S = np.linalg.inv(R + 0.1 * np.eye(80))
    assert (r @ S).sum(axis=1).min() > 0.01
    R, r = (M / (M @ S).sum(axis=1, keepdims=True) for M in (R, r))
    axes = (Y / spectrum.values).T @ R @ S @ F
    m = eigenfunctions(KNN(6).build(X), X, F, width=1.5, eta=0.1)(Y, spectrum)
    np.testing.assert_allclose(raw(m)(new), r @ S @ F @ axes.T, rtol=1e-8, atol=1e-8)
    weights = np.concatenate([m.rows.weights, np.zeros(80)])
    np.testing.assert_allclose(m.rows(new) @ weights, 1.0)


@pytest.mark.parametrize(("order", "gamma"), [(1, 0.6), (3, 0.5)])
def test_kernel_map_against_the_printed_formula(order: int, gamma: float, solver: str) -> None:
    """Eqs. 68–77 with all points as neighbours; the minimum of eq. 70 leaves out i = j."""
    X, new, Y = cloud(60), cloud(20, seed=1), cloud(60, 2, seed=2)
    D = cdist(X, X)
    sigma = gamma * np.sort(D + np.diag(np.full(60, np.inf)), axis=1)[:, order - 1]
    K, k = (np.exp(-(cdist(A, X) ** 2) / (2 * sigma**2)) for A in (X, new))
    K, k = K / K.sum(axis=1, keepdims=True), k / k.sum(axis=1, keepdims=True)
    spectrum = Spectrum(np.ones(2), np.zeros((60, 2)), np.zeros(2))
    graph = KNN(6).build(X)
    m = raw(kernel_map(graph, X, gamma=gamma, order=order, neighbours=60, ridge=1e-12)(Y, spectrum))
    np.testing.assert_allclose(m(new), k @ (np.linalg.pinv(K) @ Y), rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(m(X), Y, atol=1e-8)
    m = raw(kernel_map(graph, X, gamma=gamma, order=order, neighbours=60, ridge=0.01)(Y, spectrum))
    A = np.linalg.lstsq(np.vstack([K, 0.1 * np.eye(60)]), np.vstack([Y, np.zeros((60, 2))]), rcond=None)[0]
    np.testing.assert_allclose(m(new), k @ A, rtol=1e-8, atol=1e-8)


def test_only_the_nearest_points_have_weights_in_the_kernel_map() -> None:
    X, new = cloud(80), cloud(20, seed=1)
    K = kernel_map(KNN(6).build(X), X, order=2, gamma=2.0, neighbours=7).rows(new).toarray()[:, :80]
    np.testing.assert_allclose(K.sum(axis=1), 1.0)
    near = np.argsort(cdist(new, X), axis=1)[:, :7]
    np.testing.assert_array_equal(np.sort(near, axis=1), [np.flatnonzero(row) for row in K])


# ---------------------------------------------------------------------- how good it is
@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.every(2)
def test_held_out_points_of_a_swiss_roll(seed: int) -> None:
    """Median error relative to the height of the sheet, of the three extensions side by side; 2 % is what any must reach."""
    X, F, new, truth = swiss(2000, 500, seed)
    Y, spectrum = principal_by_factor(F)
    turn = F.T @ (Y / spectrum.values)
    graph = KNN(10).build(X)
    extensions = {
        "barycentric": (Barycentric(BarycentricRows(graph.finder, X, 1e-3), RowIndex.build(X)), 0.02, 0.1),
        "eigenfunctions": (eigenfunctions(graph, X, F), 0.002, 0.1),
        "printed": (eigenfunctions(graph, X, F, rescale=False), 0.02, 1.0),
        "gaussian": (eigenfunctions(graph, X, F, kernel="gaussian"), 0.002, 0.1),
        "kernel map": (kernel_map(graph, X), 0.01, 0.2),
    }
    for name, (extension, typical, worst) in extensions.items():
        m = extension(Y, spectrum)
        error = np.linalg.norm(m(new) - truth @ turn, axis=1) / HEIGHT
        assert np.median(error) < typical, name
        assert error.max() < worst, name
        np.testing.assert_array_equal(m(X), Y)
        nearby = np.linalg.norm(raw(m)(X + 1e-9) - Y, axis=1) / HEIGHT
        assert np.median(nearby) < 0.01, name


def principal_by_factor(F: np.ndarray, d: int = 2) -> tuple[np.ndarray, Spectrum]:
    values, turn = np.linalg.eigh(F.T @ F)
    values, turn = values[::-1][:d], turn[:, ::-1][:, :d]
    return F @ turn, Spectrum(values, F @ turn / np.sqrt(values), np.zeros(d))


def test_rescaling_matters_beside_the_data() -> None:
    """Off the sheet by a tenth of its layers' distance the printed formula shrinks towards the origin."""
    X, F, new, truth = swiss(1000, 300)
    Y, spectrum = principal_by_factor(F)
    new = new + 0.6 * cloud(300, 3, seed=9)
    graph = KNN(10).build(X)
    error = []
    for rescale in (True, False):
        m = eigenfunctions(graph, X, F, rescale=rescale)(Y, spectrum)
        error.append(np.median(np.linalg.norm(m(new) - truth @ (F.T @ (Y / spectrum.values)), axis=1)))
    assert error[0] < 0.75 * error[1]


# ---------------------------------------------------------------------- awkward points
@pytest.mark.parametrize("distance", [5.0, 20.0, 1e3, 1e150])
def test_points_far_away_get_finite_values(distance: float) -> None:
    X, F = cloud(80) / 10, centred_cloud(80)
    Y, spectrum = principal(F)
    away = np.array([[distance, 0.0, 0.0]])
    nearest = cdist(away, X).argmin()
    for extension in both(X, F):
        m = extension(Y, spectrum)
        if distance < 1e150:  # there all training points are equally far
            np.testing.assert_array_equal(m(away)[0], Y[nearest])
        assert np.any(np.all(m(away) == Y, axis=1))
    np.testing.assert_array_equal(eigenfunctions(KNN(6).build(X), X, F, rescale=False)(Y, spectrum)(away), 0.0)


@pytest.mark.parametrize("distance", list(np.geomspace(0.3, 30, 25)))
@pytest.mark.every(5)
def test_values_stay_bounded_away_from_the_data(distance: float) -> None:
    """Where the kernels fade nothing is divided by nothing."""
    X, F, _, _ = swiss(300, 1)
    Y, spectrum = principal_by_factor(F)
    out = X[::10] + distance * cloud(30, 3, seed=2)
    for extension in both(X, F):
        assert np.abs(extension(Y, spectrum)(out)).max() < 3 * np.abs(Y).max()


@pytest.mark.parametrize("copies", ["pairs", "heap"])
@pytest.mark.every(3)
def test_coincident_rows(copies: str, solver: str) -> None:
    """Every row twice, or one row fifty times: more than any list of neighbours holds."""
    X, F, new, truth = swiss(400, 100)
    again = np.arange(400) if copies == "pairs" else np.zeros(50, dtype=int)
    X, F = np.vstack([X, X[again]]), np.vstack([F, F[again]])
    F, truth = F - F.mean(axis=0), truth - F.mean(axis=0)
    Y, spectrum = principal_by_factor(F)
    for extension in [*both(X, F), kernel_map(KNN(6).build(X), X, order=1, gamma=1.0)]:
        m = extension(Y, spectrum)
        assert np.all(np.isfinite(getattr(m.rows, "widths", 1.0)))
        error = np.linalg.norm(m(new) - truth @ (F.T @ (Y / spectrum.values)), axis=1)
        assert np.median(error) < 0.05 * HEIGHT
        assert np.median(np.linalg.norm(raw(m)(X) - Y, axis=1)) < 0.02 * HEIGHT


@pytest.mark.parametrize("n", [3, 4, 12])
def test_fewer_points_than_neighbours(n: int) -> None:
    X = cloud(n, 2)
    F = (X - X.mean(axis=0)) * [2.0, 1.0]
    Y, spectrum = principal(F, 1)
    for extension in both(X, F):
        m = extension(Y, spectrum)
        assert np.all(np.isfinite(m(cloud(10, 2, seed=1))))
        np.testing.assert_allclose(raw(m)(X), Y, atol=0.05 * np.abs(Y).max())
        np.testing.assert_array_equal(m(X), Y)


def test_single_precision_is_enough() -> None:
    X, F, new = cloud(80).astype(np.float32), centred_cloud(80), cloud(20, seed=1).astype(np.float32)
    Y, spectrum = principal(F)
    for single, double in zip(
        both(X, F.astype(np.float32)), both(X.astype(np.float64), F.astype(np.float32).astype(np.float64)), strict=True
    ):
        m = single(Y, spectrum)
        np.testing.assert_allclose(m(new), double(Y, spectrum)(new.astype(np.float64)), rtol=1e-5, atol=1e-5)
        np.testing.assert_array_equal(m(X), Y)


def test_extensions_and_maps_survive_pickling_and_work_row_by_row() -> None:
    X, F = cloud(80), centred_cloud(80)
    new = np.vstack([cloud(20, seed=1), np.full((1, 3), 50.0)])
    Y, spectrum = principal(F)
    for extension in both(X, F):
        m = extension(Y, spectrum)
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(m))(new), m(new))
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(extension))(Y, spectrum)(new), m(new))
        np.testing.assert_allclose(np.vstack([m(x[None]) for x in new]), m(new), rtol=1e-12)


# ---------------------------------------------------------------------- other graphs, and refusals
@pytest.mark.parametrize(
    "graph",
    [Radius(1.0), KNeighborsTransformer(n_neighbors=6), KNN(6, metric="manhattan")],
    ids=["radius", "own", "l1"],
)
def test_every_kind_of_graph_is_accepted(graph: Any) -> None:
    """The graph gives the metric; how many neighbours it has does not matter."""
    X, F, new = cloud(80), centred_cloud(80), cloud(20, seed=1)
    Y, spectrum = principal(F)
    metric = getattr(graph, "metric", "euclidean") if isinstance(graph, KNN) else "euclidean"
    for one, other in zip(both(X, F, as_graph(graph, X)), both(X, F, as_graph(KNN(9, metric=metric), X)), strict=True):
        np.testing.assert_allclose(one(Y, spectrum)(new), other(Y, spectrum)(new), rtol=1e-10)


def test_distances_are_those_of_the_graph() -> None:
    X, new, F = cloud(80), cloud(20, seed=1), centred_cloud(80)
    graph = KNN(6, metric="cityblock").build(X)
    D = cdist(new, X, "cityblock")
    smooth = eigenfunctions(graph, X, F, width=3.0).rows(new).toarray()
    np.testing.assert_allclose(smooth, printed_kernel("wendland", D, 3.0), atol=1e-12)
    bumps = kernel_map(graph, X, neighbours=80).rows
    K = np.exp(-(D**2) / (2 * bumps.widths**2))
    np.testing.assert_allclose(bumps(new).toarray()[:, :80], K / K.sum(axis=1, keepdims=True), atol=1e-12)


@pytest.mark.parametrize("subset", [False, True])
def test_rows_of_distances(subset: bool) -> None:
    X, new = cloud(80), cloud(20, seed=1)
    kept = np.arange(5, 75) if subset else np.arange(80)
    F = centred_cloud(80)[kept]
    Y, spectrum = principal(F - F.mean(axis=0))
    graph = distance_graph(cdist(X, X), n_neighbors=6)
    graph = graph.subset(kept) if subset else graph
    for given, points in zip(both(cdist(X[kept], X), F, graph), both(X[kept], F), strict=True):
        m = given(Y, spectrum)
        np.testing.assert_allclose(m(cdist(new, X)), points(Y, spectrum)(new), rtol=1e-8, atol=1e-10)
        np.testing.assert_array_equal(m(cdist(X[kept], X)), Y)


def test_invalid_arguments_are_rejected() -> None:
    X, F = cloud(80), centred_cloud(80)
    graph, D = KNN(6).build(X), cdist(X, X)
    with pytest.raises(InputError, match="dense coordinates"):
        eigenfunctions(graph, None, F)
    with pytest.raises(InputError, match="dense coordinates"):
        kernel_map(distance_graph(sp.csr_array(D)), sp.csr_array(D))
    with pytest.raises(InputError, match="dense coordinates"):
        kernel_map(affinity_graph(np.exp(-D)), D)
    with pytest.raises(InputError, match="'cubic' must be one of 'wendland', 'gaussian'"):
        eigenfunctions(graph, X, F, kernel="cubic")
    for name in ("eta", "width"):
        with pytest.raises(InputError, match=f"{name}=0.0 must be positive"):
            eigenfunctions(graph, X, F, **{name: 0.0})
    for name in ("gamma", "order", "neighbours", "ridge"):
        with pytest.raises(InputError, match=f"{name}=-1 must be positive"):
            kernel_map(graph, X, **{name: -1})
    with pytest.raises(InputError, match="order=30 must be smaller than neighbours=30"):
        kernel_map(graph, X, order=30)
    with pytest.raises(InputError, match=r"shape \(79, 4\); it must have 80 rows"):
        eigenfunctions(graph, X, F[1:])
    with pytest.raises(InputError, match="The graph has 80 nodes, but there are 79 points"):
        kernel_map(graph, X[1:])
    for build in (lambda g, Z: eigenfunctions(g, Z, F), kernel_map):
        with pytest.raises(InputError, match="no kernel width can be derived"):
            build(KNN(6).build(np.ones((80, 3))), np.ones((80, 3)))


def test_a_ridge_too_small_for_coincident_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_SMALL", 0)
    monkeypatch.setattr(module, "predict_fill", lambda S: SimpleNamespace(seconds=0.0))
    X, F = np.vstack([cloud(80), cloud(80)]), np.vstack([centred_cloud(80), centred_cloud(80)])
    Y, spectrum = principal(F)
    with pytest.raises(InputError, match="Use a larger value than eta=1e-18"):
        eigenfunctions(KNN(6).build(X), X, F, eta=1e-18)(Y, spectrum)
