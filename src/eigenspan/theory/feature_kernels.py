"""Kernels of rank at most that of their features: of the points, of landmarks, or of a projection."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..data import Sample
from ..errors import InputError
from ..numerics.eigen import dense
from ..problem import Form, Map, NystromFeatures, Raw, TraceProblem, gram
from ..problem.extensions import half_squares
from ..problem.matrix_functions import Same
from .data_dependent_kernels import Factor
from .equivalent import EquivalentKernel
from .standard_problems import Words, places, points_of

Array = NDArray[np.float64]


def linear(estimator: Any, X: Any) -> EquivalentKernel:
    """Return ``XXᵀ``, the kernel of PCA."""
    values, mean = _training(estimator, X).x.values, estimator.mean_
    if not sp.issparse(values) and np.isnan(values).any():
        raise InputError(
            "X has missing entries, so its inner products are unknown: the kernel XXᵀ of PPCA needs complete rows."
        )
    R = sp.csr_array(values) if sp.issparse(values) else np.asarray(values, dtype=np.float64) - mean
    words = Words("X Xᵀ", f"{type(estimator).__name__} is kernel PCA of the linear kernel, centred.", "always")
    return _of_factor(estimator, words, R, Factor(None, Raw(), R, mean), "centred")


def nystrom(estimator: Any, X: Any) -> EquivalentKernel:
    """Return ``K_nm K_mm† K_mn``, the kernel of kernel PCA on landmarks."""
    sample = _training(estimator, X)
    features = NystromFeatures.build(estimator._spec(), sample.x.under_kernel, estimator.landmarks_)
    map_ = features.map(np.eye(features.lift.shape[1]))
    words = Words(
        "K_nm K_mm† K_mn",
        "Kernel PCA on landmarks is kernel PCA of the Nyström approximation: inner products of projections to the span of the landmarks.",
        "always; it equals the full kernel only if both have the same rank",
    )
    Z = map_(sample.x.values)
    return _of_factor(estimator, words, Z, Factor(None, map_, Z), "centred")


def by_landmarks(estimator: Any, X: Any) -> EquivalentKernel:
    """Return ``K_nm K_mm† K_mn`` from distances or geodesics to landmarks."""
    rows, m = estimator.map_.rows, estimator.problem_.A.n
    masses = None
    if hasattr(rows, "geodesics"):
        G = half_squares(np.asarray(rows.geodesics, dtype=np.float64))
        points = points_of(estimator, G.shape[0])
        H = G[_positions(points, estimator)]
        masses = _masses(estimator, points)
    else:
        G = rows(_training(estimator, X).x.values)
        points, H = np.arange(G.shape[0]), G[estimator.landmarks_]
    offset = H.mean(axis=0)
    values, U = dense.eigenpairs(gram(H.copy(), psd=False).dense, m, "max")
    coef = (U - U.mean(axis=0)) / np.sqrt(values)
    Z = (G - offset) @ coef
    mean = np.average(Z, axis=0, weights=masses)
    map_, Z = Map(rows, coef, offset=offset, shift=-mean), Z - mean
    words = Words(
        "K_nm K_mm† K_mn, K = −½ H_m Δ² H_m",
        "Triangulation on the axes of the landmarks is the Nyström approximation of the kernel of the distances, centred on the landmarks; "
        "the embedding is kernel PCA of it over all points.",
        f"the {m} axes of the landmarks above the noise level",
    )
    return _of_factor(estimator, words, Z, Factor(estimator.map_.known, map_, Z), "centred", points, masses)


def learned(estimator: Any, X: Any) -> EquivalentKernel:
    """Return ``YYᵀ``, the kernel of a map that is linear in features."""
    held = "embedding_" in vars(estimator)
    Y = np.asarray(estimator.embedding_ if held else estimator.transform(_given(estimator, X)), dtype=np.float64)
    own = getattr(estimator, "kernel", None) is None
    words = Words(
        "X V Vᵀ Xᵀ" if own else "K A Aᵀ K",
        "The linear kernel in the metric VVᵀ that the method has learned."
        if own
        else "The kernel in the metric that the method has learned in its feature space.",
        "always, by construction: the kernel is defined by the axes and has their rank; a kernel method with it uses the points as "
        "projected",
    )
    return _of_factor(estimator, words, Y, Factor(None, estimator.map_, Y), "none", embedding=Y)


def _of_factor(
    estimator: Any, words: Words, Z: Any, rule: Factor, centring: str, points: Any = None, masses: Any = None,
    embedding: Any = None,
) -> EquivalentKernel:  # fmt: skip
    """Return the kernel ``ZZᵀ`` of centred features, with points weighted by their masses."""
    n = Z.shape[0]
    points = np.arange(n) if points is None else points
    weights = np.ones(n) if masses is None else masses
    if masses is not None:
        Z = np.sqrt(weights)[:, None] * Z
        rule = replace(rule, factor=Z)
    form = Form(n, low_rank=(Z, np.ones(Z.shape[1])), psd=True)
    removed = None if centring == "none" else np.sqrt(weights / weights.sum())[:, None]
    embedding = places(estimator, points) if embedding is None else embedding
    return EquivalentKernel(
        words.name, "gram", words.statement, words.condition, centring, form, removed,
        None if masses is None else 1.0 / np.sqrt(weights), points, embedding, estimator,
        TraceProblem(form, None, "max", removed), Same(), rule,
    )  # fmt: skip


def _given(estimator: Any, X: Any) -> Any:
    if X is None:
        raise InputError(
            f"{type(estimator).__name__} does not keep its training data, from which the kernel is computed: pass X."
        )
    return X


def _training(estimator: Any, X: Any) -> Sample:
    """Return the training data, validated as in the fit."""
    sample, _ = estimator._read_sample(_given(estimator, X))
    fitted = vars(estimator).get("embedding_")
    if fitted is not None and fitted.shape[0] != sample.n:
        raise InputError(
            f"X has {sample.n} rows, but {type(estimator).__name__} was fitted to {fitted.shape[0]}: pass the training data."
        )
    return sample


def _positions(points: Any, estimator: Any) -> Any:
    """Return the positions of the landmarks, which are row numbers of X, in `points`."""
    order = np.argsort(points, kind="stable")
    return order[np.searchsorted(points[order], estimator.landmarks_)]


def _masses(estimator: Any, points: Any) -> Array | None:
    """Return the number of duplicate rows that each point of a graph over distinct rows represents, or None."""
    n = estimator.embedding_.shape[0]
    if points.size == n:
        return None
    _, first, counts = np.unique(np.asarray(estimator.embedding_), axis=0, return_index=True, return_counts=True)
    return counts[np.argsort(first)].astype(np.float64) if first.size == points.size else None
