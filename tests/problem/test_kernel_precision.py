"""Kernels of points that are much nearer to each other than to the origin: eigenvalues, new points, containers, warnings."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import cdist

import eigenspan as es
from eigenspan.errors import KernelError, PrecisionWarning
from eigenspan.problem.pairwise import Pairwise
from kernel_routes import KERNELS, LANDMARKS, few_rows
from routes import problem

FORMS = {"dense": np.asarray, "csr": sp.csr_array}
forms = pytest.mark.parametrize("form", FORMS.values(), ids=FORMS.keys())


def clusters(apart: float = 1e8) -> Any:
    rng = np.random.default_rng(0)
    return np.vstack([rng.standard_normal((40, 4)), rng.standard_normal((40, 4)) + apart])


@forms
@pytest.mark.parametrize("landmarks", [None, 60])
def test_two_clusters_1e8_apart(form: Any, landmarks: Any) -> None:
    X = clusters()
    fitted = es.KernelPCA(4, gamma=0.25, landmarks=landmarks).fit(form(X))
    if landmarks is None:
        K = np.exp(-0.25 * cdist(X, X, "sqeuclidean"))
        K -= K.mean(axis=0)
        K -= K.mean(axis=1, keepdims=True)
        np.testing.assert_allclose(fitted.eigenvalues_, np.linalg.eigvalsh(K)[::-1][:4], rtol=1e-9)
    np.testing.assert_allclose(fitted.transform(form(X)), fitted.embedding_, atol=1e-9)


@forms
@pytest.mark.parametrize(
    "kernel",
    [es.Kernel("rbf", gamma="median"), es.Kernel("laplacian", gamma=0.1), es.Kernel("linear")],
    ids=lambda k: k.name,
)
def test_kernels_do_not_depend_on_an_offset_of_1e7(kernel: Any, form: Any) -> None:
    X = np.round(clusters(2.0) * 2**16) / 2**16
    near, away = (es.KernelPCA(3, kernel=kernel).fit(points) for points in (X, form(X + 2.0**23)))
    np.testing.assert_allclose(away.embedding_, near.embedding_, atol=1e-6 * np.abs(near.embedding_).max())
    np.testing.assert_allclose(
        away.transform(form(X + 2.0**23)), away.embedding_, atol=1e-6 * np.abs(near.embedding_).max()
    )


@forms
def test_polynomials_far_from_the_origin_warn(form: Any) -> None:
    with pytest.warns(PrecisionWarning, match="digits"):
        es.KernelPCA(2, kernel="poly", degree=2, gamma=1e-2).fit(form(clusters(2.0) + 1e6))


def test_products_with_affinities_of_all_pairs() -> None:
    X = clusters()
    X -= X.mean(axis=0)
    W = Pairwise(X, np.full(80, 1.5), np.ones(80), (np.arange(80),))
    expected = np.exp(-cdist(X, X, "sqeuclidean") / 2.25)
    np.testing.assert_allclose(W.to_dense(), expected, atol=1e-9)
    np.testing.assert_allclose(W @ X[:, :1], expected @ X[:, :1], rtol=1e-9)


def routed(condition: float, offset: float) -> Any:
    return few_rows(problem(condition, offset))


@pytest.mark.filterwarnings("ignore:1 of 6 directions:eigenspan.errors.PrecisionWarning")
def test_axes_of_small_features_are_reported_as_rounded() -> None:
    p = routed(1e4, 1e3)
    with pytest.warns(PrecisionWarning, match="Axis . has an error of .* of its extent"):
        es.ONPP(2, kernel=KERNELS["cosine"]).fit(p.X)
    es.ONPP(2, kernel=KERNELS["cosine"]).fit(routed(1.0, 0.0).X)


@pytest.mark.filterwarnings("ignore:Axis")
def test_axes_that_only_the_ridge_measures_are_reported() -> None:
    p = routed(1e6, 0.0)
    with pytest.warns(PrecisionWarning, match="the ridge makes up the rest of the unit"):
        es.LAD(2, kernel=KERNELS["rbf"]).fit(p.X, p.response)


@pytest.mark.filterwarnings("ignore:Axis")
def test_features_that_may_be_rounding_are_reported() -> None:
    p = routed(1e4, 1e3)
    with pytest.warns(PrecisionWarning, match="rounded at its largest value"):
        es.LDA(2, kernel=KERNELS["poly"]).fit(p.X, p.codes)


def test_kernel_values_that_differ_in_the_last_digit_only_are_reported() -> None:
    with pytest.warns(PrecisionWarning, match="kernel values hardly differ"):
        es.KernelPCA(2, kernel="cosine").fit(routed(1e2, 1e9).X)


def test_distributed_landmarks_with_a_constant_kernel_are_reported() -> None:
    da = pytest.importorskip("dask.array")
    p = routed(1e2, 1e9)
    lda = es.LDA(2, kernel="cosine", landmarks=LANDMARKS)
    with pytest.warns(PrecisionWarning), pytest.raises(KernelError, match="equal values for all 90 points"):
        lda.fit(da.from_array(p.X, chunks=(30, 5)), p.codes)


@pytest.mark.parametrize("method", ["LFDA", "DNE", "MFA", "LDE"])
def test_equal_distances_of_points_in_single_precision_are_reported(method: str) -> None:
    """Far from the origin float32 is a lattice. The distances of the same points about their mean differ."""
    p = routed(1e4, 1e6)
    model = es.make(method, kernel="linear", n_components=2)
    with pytest.warns(PrecisionWarning, match="float32 rounds points to a lattice"):
        model.fit(p.X.astype(np.float32), p.codes)
    model.fit(routed(1.0, 0.0).X.astype(np.float32), p.codes)


def test_equal_distances_in_a_graph_of_kernel_features_are_reported() -> None:
    grid = np.stack(np.meshgrid(*[np.arange(5.0)] * 2), axis=-1).reshape(-1, 2).astype(np.float32)
    for model in (es.LPP(2, kernel="linear"), es.TraceReducer(basis="kernel", kernel="linear")):
        with pytest.warns(PrecisionWarning, match="float32 rounds points to a lattice"):
            model.fit(grid)


@pytest.mark.filterwarnings("ignore:[34] directions were found")
@pytest.mark.parametrize("kernel", ["cosine", "poly"])
def test_principal_axes_and_variates_in_rounded_kernels_are_reported(kernel: str) -> None:
    p, plain = routed(1e12, 1e3), routed(1.0, 0.0)
    for model in (es.KernelPCA(2, kernel=KERNELS[kernel]), es.KernelCCA(2, kernel=KERNELS[kernel], kernel_y="rbf")):
        with pytest.warns(PrecisionWarning, match="Axis 2 has an error of"):
            model.fit(p.X, p.view)
        model.fit(plain.X, plain.view)


@pytest.mark.filterwarnings("ignore:Axis")
def test_directions_that_the_rounding_of_cosines_hides_are_reported() -> None:
    p = routed(1e6, 1e3)
    with pytest.warns(PrecisionWarning, match="4 directions were found among points of 5 columns"):
        es.LDA(2, kernel="cosine").fit(p.X.astype(np.float32), p.codes)
    es.LDA(2, kernel="cosine").fit(routed(1.0, 0.0).X, p.codes)
