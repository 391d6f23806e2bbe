"""Data far from the origin, and in units so large or small that squares overflow or vanish: the same result, or a message about it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import eigenspan as es
from eigenspan.errors import InputError, PrecisionWarning
from eigenspan.graphs import KNN, Radius, choose_landmarks
from eigenspan.numerics.eigen.trace_ratio import trace_ratio
from eigenspan.problem import Form, TraceRatio, solve, with_ridge
from eigenspan.problem.kernels import kernel_rows
from helpers import angle, disparity, relative, same_subspace

Y = np.repeat([0, 1, 2], 20)


def cloud(wide: bool = False, far: float = 0.0) -> Any:
    """Three classes, in multiples of 2⁻¹⁶: shifts by large powers of two are then exact."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((60, 5)) * [3, 2, 1.5, 1, 0.7] + 2 * np.eye(3, 5)[Y]
    if wide:
        X = np.hstack([X, 0.5 * rng.standard_normal((60, 75))])
    return np.round(X * 2**16) / 2**16 + far


# ---------------------------------------------------------------------- kernels
KERNELS = {"rbf": es.Kernel("rbf", gamma=0.1), "laplacian": es.Kernel("laplacian", gamma=0.1), "linear": "linear"}


@pytest.mark.parametrize("far", [2.0**14, 2.0**21, 2.0**30])
@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS.keys())
def test_kernels_of_differences_keep_their_digits(kernel: Any, far: float) -> None:
    near, away = (es.LDA(2, kernel=kernel).fit(cloud(far=shift), Y) for shift in (0.0, far))
    assert relative(away.embedding_, near.embedding_) < 1e-5
    new = cloud()[:7] + 0.5
    assert relative(away.transform(new + far), near.transform(new)) < 1e-5


@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "linear"])
@pytest.mark.parametrize("landmarks", [None, 30])
def test_kernel_principal_components_keep_their_digits(kernel: str, landmarks: Any) -> None:
    if kernel == "linear" and landmarks:
        pytest.skip("features of landmarks are about the origin, and the linear kernel depends on it")
    make = lambda: es.KernelPCA(2, kernel=kernel, gamma=0.1, landmarks=landmarks)  # noqa: E731
    near, away = (make().fit(cloud(far=shift)) for shift in (0.0, 2.0**24))
    assert relative(away.embedding_, near.embedding_) < 1e-5
    assert relative(away.transform(cloud(far=2.0**24) + 0.5), near.transform(cloud() + 0.5)) < 1e-5


def test_preimages_far_away() -> None:
    near, away = (es.KernelPCA(2, gamma=0.1, preimage="fixed-point").fit(cloud(far=shift)) for shift in (0.0, 2.0**24))
    found = away.inverse_transform(away.embedding_[:9]) - 2.0**24
    assert relative(found, near.inverse_transform(near.embedding_[:9])) < 1e-4


@pytest.mark.parametrize("kernel", ["poly", "sigmoid", "cosine", lambda A, B: (1 + A @ B.T) ** 2])
def test_kernels_that_depend_on_the_origin_warn_about_lost_digits(kernel: Any) -> None:
    spec = es.Kernel("sigmoid", gamma=1e-15, coef0=0) if kernel == "sigmoid" else kernel
    with pytest.warns(PrecisionWarning, match=r"digits of the features .* Move the points to the origin"):
        es.LDA(2, kernel=spec).fit(cloud(far=2.0**21), Y)
    with pytest.warns(PrecisionWarning, match="digits"):
        es.KernelPCA(2, kernel=kernel, gamma=1e-15 if kernel == "sigmoid" else None).fit(cloud(far=2.0**21))


def test_no_warning_near_the_origin() -> None:
    for kernel in ("poly", "cosine", "rbf", "linear"):
        es.LDA(2, kernel=kernel).fit(cloud(), Y)


def test_a_kernel_too_wide_for_the_data_warns() -> None:
    with pytest.warns(PrecisionWarning, match="larger gamma"):
        es.LDA(2, kernel=es.Kernel("rbf", gamma=1e-12)).fit(cloud(), Y)


def test_sparse_points_are_not_shifted() -> None:
    X = sp.csr_array(np.where(cloud(wide=True) > 1, cloud(wide=True), 0.0))
    assert kernel_rows("rbf", X).centre is None
    sparse, full = (es.LDA(2, kernel="rbf").fit(Z, Y).embedding_ for Z in (X, X.toarray()))
    assert relative(sparse, full) < 1e-8


def test_landmarks_do_not_depend_on_the_origin() -> None:
    near, away = (choose_landmarks(cloud(far=shift), 9, how="kmeans++") for shift in (0.0, 2.0**30))
    np.testing.assert_array_equal(near, away)


# ---------------------------------------------------------------------- offsets
PROJECTIONS = {
    "PCA": es.PCA(2),
    "LDA": es.LDA(2),
    "LDA ratio": es.LDA(2, criterion="trace-ratio", ridge=1.0),
    "LPP": es.LPP(2),
    "OLPP": es.OLPP(2),
    "NPP": es.NPP(2),
    "ONPP": es.ONPP(2),
    "LLTSA": es.LLTSA(2),
    "LFDA": es.LFDA(2),
    "LDE": es.LDE(2),
    "MMC": es.MMC(2),
    "SDA": es.SDA(2),
}


@pytest.mark.parametrize("wide", [False, True], ids=["tall", "wide"])
@pytest.mark.parametrize("method", PROJECTIONS.values(), ids=PROJECTIONS.keys())
@pytest.mark.filterwarnings("ignore::eigenspan.errors.DegenerateWarning", "ignore::eigenspan.errors.RidgeWarning")
@pytest.mark.every(2)
def test_projections_do_not_depend_on_the_origin(method: Any, wide: bool) -> None:
    near, away = (method.fit(cloud(wide, shift), Y).embedding_ for shift in (0.0, 2.0**27))
    assert disparity(away, near) < 1e-6


@pytest.mark.parametrize("D", [5, 20])
@pytest.mark.parametrize("search", ["auto", "sklearn", "radius"])
def test_neighbours_do_not_depend_on_the_origin(search: str, D: int) -> None:
    X = cloud(wide=True)[:, :D]
    graph = Radius(3.0) if search == "radius" else KNN(6, search=search)
    near, away = (graph.build(X + shift) for shift in (0.0, 2.0**27))
    np.testing.assert_array_equal(away.distances.toarray() > 0, near.distances.toarray() > 0)
    np.testing.assert_allclose(away.distances.toarray(), near.distances.toarray(), atol=1e-7)
    new, old = away.finder.relate(X[:5] + 0.125 + 2.0**27), near.finder.relate(X[:5] + 0.125)
    np.testing.assert_allclose(new.toarray(), old.toarray(), atol=1e-7)


def test_points_at_exactly_the_radius_are_neighbours() -> None:
    X = np.random.default_rng(0).integers(0, 2, (60, 20)).astype(float)
    exact = np.sum((X[:, None] - X[None]) ** 2, axis=2) <= 9
    assert Radius(3.0).build(X).distances.nnz == exact.sum() - 60


# ---------------------------------------------------------------------- range
RANGE = {
    **PROJECTIONS,
    "KernelPCA": es.KernelPCA(2),
    "ClassicalMDS": es.ClassicalMDS(2),
    "LandmarkMDS": es.LandmarkMDS(2, landmarks=20),
    "Isomap": es.Isomap(2),
    "LaplacianEigenmaps": es.LaplacianEigenmaps(2),
    "LLE": es.LLE(2),
    "LTSA": es.LTSA(2),
    "MVU": es.MVU(2, n_neighbors=4),
}


@pytest.mark.parametrize("wide", [False, True], ids=["tall", "wide"])
@pytest.mark.parametrize("method", RANGE.values(), ids=RANGE.keys())
@pytest.mark.parametrize("size", [1e-300, 1e-200, 1e200, 1e300])
def test_squares_out_of_range_are_rejected(method: Any, size: float, wide: bool) -> None:
    what = "large that their squares overflow: divide" if size > 1 else "small that their squares vanish: multiply"
    with pytest.raises(InputError, match=what):
        method.fit(cloud(wide) * size, Y)
    if isinstance(method, (es.PCA, es.MMC)):
        with pytest.raises(InputError, match=what):
            method.fit(sp.csr_array(cloud(wide) * size), Y)


@pytest.mark.parametrize("wide", [False, True], ids=["tall", "wide"])
@pytest.mark.parametrize("size", [1e-130, 1e-90, 1e90, 1e130])
@pytest.mark.parametrize("name", ["PCA", "LDA", "LDA ratio", "LPP", "NPP", "MMC", "ClassicalMDS", "Isomap", "LLE"])
@pytest.mark.every(4)
def test_other_units_change_nothing(name: str, size: float, wide: bool) -> None:
    method = es.LDA(2, criterion="trace-ratio", reduce=20 if wide else None) if name == "LDA ratio" else RANGE[name]
    X = cloud(wide)
    here, there = method.fit(X, Y).embedding_, method.fit(X * size, Y).embedding_
    assert disparity(here, there / np.abs(there).max()) < 1e-8
    assert np.all(np.isfinite(method.eigenvalues_))
    if name == "ClassicalMDS":
        assert method.goodness_of_fit_ == pytest.approx(es.ClassicalMDS(2).fit(X).goodness_of_fit_)


def test_one_column_in_range_is_enough() -> None:
    X = cloud()
    X[:, 4] *= 1e-200
    assert same_subspace(es.LPP(2).fit(X).components_[:, :4].T, es.LPP(2).fit(X[:, :4]).components_.T, degrees=1e-3)


# ---------------------------------------------------------------------- ratio and ridge
@pytest.mark.parametrize("above", [1e-250, 1e-180, 1.0, 1e180, 1e250])
@pytest.mark.parametrize("below", [1e-180, 1.0, 1e180])
def test_the_trace_ratio_of_any_units(above: float, below: float) -> None:
    rng = np.random.default_rng(0)
    R, S = rng.standard_normal((2, 9, 6))
    A, B = R.T @ R, S.T @ S
    rho, V, values = trace_ratio(A, B, 2, "max")
    expected = rho * above / below
    if not 1e-300 < expected < 1e300:
        pytest.skip("the ratio itself is out of range")
    other, W, scaled = trace_ratio(A * above, B * below, 2, "max")
    assert other == pytest.approx(expected, rel=1e-10)
    assert angle(V, W) < 1e-6
    np.testing.assert_allclose(scaled / above, values, atol=1e-10 * np.abs(values).max())
    spectrum = solve(TraceRatio(Form(6, dense=A * above, psd=True), Form(6, dense=B * below, psd=True)), 2)
    assert spectrum.residuals.max() < 1e-10


def test_a_form_that_is_zero_but_for_rounding_gets_no_negative_ridge() -> None:
    M = Form(3, dense=np.diag([1e-17, -2e-17, -3e-17]), psd=True)
    assert with_ridge(M, None, 1e-3) is M
    with pytest.raises(InputError, match="must not be negative"):
        with_ridge(M, -1.0)
