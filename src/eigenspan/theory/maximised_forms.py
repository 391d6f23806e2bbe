"""Kernels of methods that maximise a Gram matrix over the points: the Gram matrix itself."""

from __future__ import annotations

from typing import Any

from ..errors import InputError
from ..methods.distances.classical_mds import lowest
from .equivalent import EquivalentKernel
from .feature_kernels import by_landmarks, linear, nystrom
from .standard_problems import Standard, Words, check_form


def principal_axes(estimator: Any, X: Any, form: str) -> EquivalentKernel:
    check_form(estimator, form)
    if not estimator.center:
        raise InputError(
            "PCA with center=False uses eigenvectors of the uncentred XXᵀ, but kernel PCA centres its kernel: there is no equivalent "
            "kernel. Use center=True."
        )
    return linear(estimator, X)


def kernel_pca(estimator: Any, X: Any, form: str) -> EquivalentKernel:
    check_form(estimator, form)
    if not estimator.center:
        raise InputError(
            "KernelPCA with center=False uses eigenvectors of K itself, but an equivalent kernel is centred: there is none. "
            "Use center=True."
        )
    if estimator.landmarks is not None:
        return nystrom(estimator, X)
    words = Words("H K H", "The kernel of kernel PCA is its kernel matrix, doubly centred.", "always")
    return Standard.of(estimator).gram(words)


def landmark_mds(estimator: Any, X: Any, form: str) -> EquivalentKernel:
    check_form(estimator, form)
    return by_landmarks(estimator, X)


def classical_mds(estimator: Any, X: Any, form: str) -> EquivalentKernel:
    check_form(estimator, form)
    words = Words(
        "−½ H Δ² H",
        "Classical MDS is kernel PCA of the doubly centred squared distances; for Euclidean distances it equals PCA.",
        "always; the embedding omits the negative eigenvalues of distances that are not Euclidean",
    )
    return _with_negative_part(estimator, words)


def isomap(estimator: Any, X: Any, form: str) -> EquivalentKernel:
    check_form(estimator, form)
    if vars(estimator).get("landmarks_") is not None:
        return by_landmarks(estimator, X)
    words = Words(
        "−½ H Δ̂² H",
        "Isomap is kernel PCA of the doubly centred squared geodesic distances.",
        "always; geodesics are rarely Euclidean, and the embedding omits their negative eigenvalues (see KernelIsomap)",
    )
    return _with_negative_part(estimator, words)


def kernel_isomap(estimator: Any, X: Any, form: str) -> EquivalentKernel:
    check_form(estimator, form)
    if estimator.psd == "project":
        words = Words(
            "−½ H Δ̂² H, its positive part",
            "Kernel Isomap is kernel PCA of the nearest positive semidefinite matrix, whose leading axes are those of Isomap.",
            "always; this matrix is that of Isomap, and `kernel_` is its positive part",
        )
        return _with_negative_part(estimator, words)
    words = Words(
        "−½ H (Δ̂ + c)² H",
        "Kernel Isomap is kernel PCA of the geodesic distances plus the smallest constant that makes them Euclidean.",
        "always; the matrix is positive semidefinite",
    )
    return Standard.of(estimator).gram(words, constant=estimator.constant_)


def _with_negative_part(estimator: Any, words: Words) -> EquivalentKernel:
    standard = Standard.of(estimator)
    low = 0.0 if standard.A.psd else min(0.0, lowest(standard.A))
    return standard.gram(words, smallest_eigenvalue=low)


def unfolding(estimator: Any, X: Any, form: str) -> EquivalentKernel:
    check_form(estimator, form)
    words = Words(
        "F Fᵀ",
        "The kernel is the Gram matrix found by the semidefinite program.",
        "always; the kernel is learned from these points, and defined for new points by interpolation only",
    )
    return Standard.of(estimator).gram(words)
