"""Dense factorisations: the library's only calls of LAPACK's symmetric eigenvalue and singular value drivers."""

from __future__ import annotations

import numpy as np
import scipy.linalg as la
from scipy.linalg.blas import dsymv

from ..._types import Array
from ..threads import threads_for

#: Smallest reciprocal condition number at which a Cholesky factor is accurate enough.
_WELL_CONDITIONED = 1e-8
#: Error of eigenvectors, relative to the matrix, that no rounding explains.
_WRONG = 1e-6
#: Orders below this use numpy's loop over a stack of matrices.
_STACKED = 20


def symmetric(A: Array) -> Array:
    """Return the symmetric part (rounding in Z'MZ leaves an asymmetry of a few ulp)."""
    return (A + A.T) / 2


def symmetric_product(M: Array, Z: Array) -> Array:
    """Return ``M Z`` for a dense symmetric M; with a single vector only half of M is read, which takes most of the time."""
    if Z.ndim == 1 and M.dtype == np.float64 and M.flags.c_contiguous and M.size:
        return dsymv(1.0, M.T, Z)
    return np.asarray(M @ Z)


def eigenpairs(A: Array, k: int | None = None, sense: str = "min", unit: Array | None = None) -> tuple[Array, Array]:
    """Return the `k` extreme eigenpairs of a symmetric matrix, best first; all of them if `k` is None. Cost O(n³).

    With `unit`, solve ``Av = λ unit v``; a unit that is not positive definite raises `scipy.linalg.LinAlgError`.
    """
    n = A.shape[0]
    wanted = n if k is None else min(k, n)
    first = 0 if sense == "min" else n - wanted
    if unit is None and is_diagonal(A):
        # LAPACK's eigenvalues are accurate to rounding of the largest, so the order of much smaller ones would be arbitrary
        order = np.argsort(np.diagonal(A), kind="stable")[:: 1 if sense == "min" else -1][:wanted]
        return np.diagonal(A)[order], np.eye(n)[:, order]
    with threads_for(n):
        try:
            values, vectors = la.eigh(A, unit, subset_by_index=None if wanted == n else (first, first + wanted - 1))
        except la.LinAlgError:  # either the unit is not definite (the other driver raises too), or LAPACK failed
            values = np.empty(0)
        # LAPACK's subset driver loses eigenvalues of high multiplicity, or returns wrong vectors for them, sometimes without an error
        if values.size < wanted or (wanted < n and not are_eigenpairs(A, values, vectors, unit)):
            every = la.eigh(A, unit, driver="evd" if unit is None else "gvd")
            values, vectors = (part[..., first : first + wanted] for part in every)
    return (values, vectors) if sense == "min" else (values[::-1], vectors[:, ::-1])


def are_eigenpairs(A: Array, values: Array, vectors: Array, unit: Array | None = None) -> bool:
    """Return True if these solve ``Av = λ unit v`` and are orthonormal in the unit, to more digits than a failure of LAPACK leaves."""
    images, others = A @ vectors, vectors if unit is None else unit @ vectors
    residual = np.abs(images - others * values).max(initial=0.0)
    size = (
        np.abs(A).max() * np.abs(vectors).sum(axis=0).max() + np.abs(others * values).max()
    )  # sums of squares would overflow
    turned = np.abs(vectors.T @ others - np.eye(len(values))).max(initial=0.0)
    return bool(residual <= _WRONG * size and turned <= _WRONG)


def is_diagonal(A: Array) -> bool:
    """Return True if every off-diagonal entry is exactly zero."""
    n = len(A)
    return n > 1 and not A[0, 1:].any() and np.count_nonzero(A) == np.count_nonzero(np.diagonal(A))


def tridiagonal_pairs(T: Array, k: int) -> tuple[Array, Array]:
    """Return the `k` largest eigenpairs of a symmetric tridiagonal matrix, largest first. Cost O(nk)."""
    n, unit = len(T), float(np.abs(np.diagonal(T)).max()) or 1.0  # the driver fails if squares overflow
    d, e = np.diagonal(T) / unit, np.diagonal(T, 1) / unit
    try:
        values, vectors = la.eigh_tridiagonal(d, e, select="i", select_range=(n - k, n - 1))
    except la.LinAlgError:
        return eigenpairs(T, k, "max")
    return unit * values[::-1], vectors[:, ::-1]


def eigenvalues(A: Array) -> Array:
    """Return all eigenvalues of a symmetric matrix, smallest first. Cost O(n³)."""
    with threads_for(len(A)):
        return la.eigvalsh(A)


def whitener(B: Array, rtol: float = 1e-10) -> tuple[Array, Array, Array]:
    """Factor the matrix B of a constraint ``V'BV = I``; return ``(T, null, values)``.

    T satisfies ``T'BT = I`` and spans the range of B, ``null`` spans the rest, and `values` are the eigenvalues.

    Directions with eigenvalue at or below ``rtol`` times the largest count as null. Negative values are returned; the caller must
    check them. A well-conditioned matrix is factorised by Cholesky, which is ten times as fast; `values` then holds only estimates of the
    extreme eigenvalues.
    """
    L, failed = la.lapack.dpotrf(B, lower=1)
    if B.size and not failed:
        norm = float(np.abs(B).sum(axis=0).max())
        reciprocal = la.lapack.dpocon(L, norm, uplo="L")[0]
        if reciprocal > _WELL_CONDITIONED:
            return la.lapack.dtrtri(L, lower=1)[0].T, np.empty((len(B), 0)), norm * np.array([reciprocal, 1.0])
    with threads_for(len(B)):
        values, Q = la.eigh(B)
    keep = values > rtol * max(values[-1], 0.0)
    return Q[:, keep] / np.sqrt(values[keep]), Q[:, ~keep], values


def square_root(A: Array, noise: float = 0.0) -> Array:
    """Return F with ``F'F`` = A for a symmetric PSD matrix; eigenvalues up to `noise` count as rounding and are dropped. Cost O(n³)."""
    values, Q = eigenpairs(symmetric(A))
    keep = values > noise
    return np.sqrt(values[keep])[:, None] * Q.T[keep]


def scaled_whitener(B: Array) -> Array:
    """Return T with ``T'BT = I`` on the range of B. The rank is determined after scaling to unit diagonal, so units do not matter."""
    d = np.sqrt(np.maximum(np.diagonal(B), 0.0))
    s = 1.0 / np.where(d > 1e-150, d, 1.0)
    return s[:, None] * whitener(symmetric(B * np.outer(s, s)))[0]


def is_singular(B: Array, rtol: float = 1e-10) -> bool:
    """Return True if a PSD matrix has an eigenvalue at or below about ``rtol`` times its largest."""
    return la.lapack.dpotrf(B - rtol * np.abs(B).sum(axis=0).max(initial=0.0) * np.eye(len(B)))[1] != 0


def principal_axes(X: Array, rtol: float = 1e-10) -> tuple[Array, Array, Array]:
    """Return the thin SVD ``X = U diag(s) V'`` without singular values at or below ``rtol`` times the largest."""
    with threads_for(min(X.shape)):
        U, s, Vt = la.svd(X, full_matrices=False)
    keep = s > rtol * max(s[0], np.finfo(float).tiny) if s.size else np.zeros(0, dtype=bool)
    return U[:, keep], s[keep], Vt[keep].T


def singular_vectors(C: Array, *, complete: bool = False) -> tuple[Array, Array, Array]:
    """Return ``C = U diag(s) V'`` with all min(p, q) singular values, including zeros; `complete` makes U and V square."""
    with threads_for(min(C.shape)):
        U, s, Vt = la.svd(C, full_matrices=complete)
    return U, s, Vt.T


def leading_singular_vectors(C: Array, k: int) -> tuple[Array, Array, Array]:
    """Return the `k` largest singular values and their vectors, from the smaller Gram matrix of C if that is accurate enough.

    Several times as fast as computing all of them; the values have an error of about 1e-15/σ.
    """
    if 4 * k > min(C.shape):
        U, s, V = singular_vectors(C)
        return U[:, :k], s[:k], V[:, :k]
    wide = C.shape[0] <= C.shape[1]
    squares, A = eigenpairs(symmetric(C @ C.T if wide else C.T @ C), k, "max")
    if squares[-1] <= _WELL_CONDITIONED * squares[0]:
        U, s, V = singular_vectors(C)
        return U[:, :k], s[:k], V[:, :k]
    s = np.sqrt(squares)
    B = (C.T @ A if wide else C @ A) / s
    return (A, s, B) if wide else (B, s, A)


def local_eigenpairs(G: Array) -> tuple[Array, Array]:
    """Return eigenpairs of a stack of small symmetric matrices ``(..., k, k)``, smallest first."""
    values, vectors = np.linalg.eigh(G)
    return values, vectors


def local_axes(X: Array) -> tuple[Array, Array]:
    """Return left singular vectors and singular values of a stack of small matrices ``(..., k, D)``, largest first."""
    U, s, _ = np.linalg.svd(X, full_matrices=False)
    return U, s


def to_boundary(L: Array, change: Array) -> float:
    """Return the largest step up to 1 for which ``LLᵀ + step·change`` is positive semidefinite."""
    half = la.solve_triangular(L, change, lower=True)
    lowest = eigenpairs(symmetric(la.solve_triangular(L, half.T, lower=True)), 1)[0][0]
    return float(min(1.0, -1.0 / lowest)) if lowest < 0 else 1.0


def inverses(A: Array) -> tuple[Array, Array]:
    """Return the inverses of a stack of positive definite matrices ``(m, k, k)`` and the logarithms of their determinants."""
    if A.shape[-1] < _STACKED:
        L = np.linalg.cholesky(A)
        return np.asarray(np.linalg.inv(A), dtype=np.float64), 2 * np.sum(
            np.log(np.diagonal(L, axis1=1, axis2=2)), axis=1
        )
    out, logs = np.empty_like(A), np.empty(len(A))
    for i, M in enumerate(A):  # numpy's loop over the stack does not use symmetry and takes three times as long
        L, failed = la.lapack.dpotrf(M, lower=1, clean=0)
        if failed:
            raise la.LinAlgError(f"Matrix {i} of {len(A)} is not positive definite.")
        logs[i] = 2 * np.sum(np.log(np.diagonal(L)))
        out[i] = la.lapack.dpotri(L, lower=1, overwrite_c=1)[0].T
    row, column = np.tril_indices(A.shape[-1], -1)
    out[:, row, column] = out[:, column, row]
    return out, logs


def pseudo_inverse(M: Array, whole: Array, rtol: float = 1e-10) -> Array:
    """Return the pseudo-inverse of a symmetric block M of `whole`; eigenvalues up to ``rtol`` times its largest entry are zero."""
    values, Q = la.eigh(symmetric(M))
    keep = values > rtol * max(float(np.abs(whole).max(initial=0.0)), np.finfo(float).tiny)
    return (Q[:, keep] / values[keep]) @ Q[:, keep].T


def nearest_rotation(M: Array) -> Array:
    """Return the nearest matrix to `M` with orthonormal columns (polar factor); `M` has no more columns than rows."""
    U, _, Vt = la.svd(M, full_matrices=False)
    return U @ Vt


def nearest_rotations(M: Array) -> Array:
    """Return the orthogonal matrices nearest to each of a stack ``(..., d, d)`` of small matrices."""
    U, _, Vt = np.linalg.svd(M)
    return U @ Vt


def orthonormal(N: Array, rtol: float = 1e-12) -> Array:
    """Return an orthonormal basis of the span of the columns of `N`; dependent columns are dropped."""
    U, s, _ = la.svd(N, full_matrices=False)
    return U[:, s > rtol * max(s[0], np.finfo(float).tiny)] if s.size else U
