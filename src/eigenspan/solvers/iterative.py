"""Krylov and subspace iterations for large symmetric matrices: the library's only calls of ARPACK and SuperLU.

Every function takes a matrix that offers ``@``, an orthonormal block `exclude` of directions that may not be found, and a
seeded generator, and returns raw ``(values, vectors)``. Ordering, Rayleigh–Ritz refinement, residuals and signs belong to
`eigenspan.core`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh, splu
from sklearn.utils.extmath import randomized_svd

from ..errors import ConvergenceError

Array = NDArray[np.float64]
Apply = Callable[[Array], Array]


def _without(apply: Apply, N: Array | None) -> Apply:
    """`apply` compressed to the complement of the columns of `N`."""
    if N is None or N.shape[1] == 0:
        return apply

    def compressed(x: Array) -> Array:
        y = apply(x - N @ (N.T @ x))
        return y - N @ (N.T @ y)

    return compressed


def top_pairs(
    apply: Apply, n: int, k: int, rng: np.random.Generator, *, exclude: Array | None, magnitude: float
) -> Any:
    """The `k` algebraically largest eigenpairs of a symmetric operator, copies of multiple eigenvalues included.

    Lanczos from one start vector can miss copies of a repeated eigenvalue. After each solve the found vectors are deflated
    and one more pair is sought; while it beats the worst found one, it joins them.

    `magnitude` bounds the operator's norm; the excluded directions are moved to ``-magnitude``.
    """
    N = np.zeros((n, 0)) if exclude is None else exclude

    def solve(count: int, hidden: Array, tol: float) -> tuple[Array, Array]:
        compressed = _without(apply, hidden)

        def shifted(x: Array) -> Array:
            return compressed(x) - magnitude * (hidden @ (hidden.T @ x))

        operator = LinearOperator((n, n), matvec=shifted, dtype=np.float64)
        width = min(n, max(2 * count + 10, 30))
        try:
            return eigsh(
                operator,
                count,
                which="LA",
                v0=rng.standard_normal(n),
                tol=tol,
                ncv=width,
                maxiter=max(300, 30000 // width),
            )
        except ArpackNoConvergence as failure:
            raise ConvergenceError(
                f"Lanczos found {len(failure.eigenvalues)} of {count} eigenpairs of a {n}×{n} matrix before its iteration "
                'limit: the wanted eigenvalues lie too close together. Use solver="dense" if n allows, or fewer components.'
            ) from failure

    values, vectors = solve(k, N, 0.0)
    for _ in range(k):
        if N.shape[1] + k >= n - 1:
            break
        new, direction = solve(1, np.hstack([N, vectors]), 1e-6)
        if new[0] <= values.min() + 1e-9 * magnitude:
            break
        worst = np.argmin(values)  # a missed copy: it displaces the worst pair found so far
        values[worst], vectors[:, worst] = new[0], direction[:, 0]
        vectors, _ = la.qr(vectors, mode="economic")
    return values, vectors


def factorised_inverse(S: sp.csr_array, shift: float, U: Array | None = None, c: Array | None = None) -> Apply:
    """``b -> (S + U diag(c) U' + shift I)⁻¹ b`` by one sparse LU in symmetric mode and the Woodbury identity."""
    n = S.shape[0]
    lu = splu(
        (S + shift * sp.eye_array(n)).tocsc(),
        permc_spec="MMD_AT_PLUS_A",
        diag_pivot_thresh=0.0,
        options={"SymmetricMode": True},
    )
    if U is None or c is None or U.shape[1] == 0:
        return lu.solve
    U = U[:, c != 0]
    SU = lu.solve(np.ascontiguousarray(U))
    core = la.lu_factor(np.diag(1 / c[c != 0]) + U.T @ SU)

    def solve(b: Array) -> Array:
        x = lu.solve(b)
        return x - SU @ la.lu_solve(core, U.T @ x)

    return solve


def constrained_inverse(solve: Apply, N: Array | None) -> Apply:
    """The inverse of a matrix compressed to the complement of `N`, from the inverse of the whole matrix."""
    if N is None or N.shape[1] == 0:
        return solve
    SN = solve(np.ascontiguousarray(N))
    core = la.lu_factor(N.T @ SN)

    def constrained(b: Array) -> Array:
        x = solve(b - N @ (N.T @ b))
        x = x - SN @ la.lu_solve(core, N.T @ x)
        return x - N @ (N.T @ x)

    return constrained


def subspace_iteration(
    apply: Apply,
    n: int,
    k: int,
    rng: np.random.Generator,
    *,
    exclude: Array | None,
    oversample: int,
    iterations: int,
    tol: float,
) -> Any:
    """The `k` largest eigenpairs of a PSD operator by randomised block power iteration (Halko, Martinsson, Tropp)."""
    compressed = _without(apply, exclude)
    width = min(n, k + oversample)
    Q = rng.standard_normal((n, width))
    values, vectors = np.zeros(k), Q[:, :k]
    for _ in range(iterations):
        Q, _ = la.qr(compressed(Q), mode="economic")
        AQ = compressed(Q)
        ritz, S = la.eigh(Q.T @ AQ)
        values, vectors = ritz[::-1][:k], (Q @ S)[:, ::-1][:, :k]
        residual = la.norm(AQ @ S[:, ::-1][:, :k] - vectors * values, axis=0)
        if np.all(residual <= tol * max(abs(values[0]), np.finfo(float).tiny)):
            break
        Q = AQ
    return values, vectors


def leading_axes(X: Any, mean: Array, r: int) -> tuple[Array, Array]:
    """The `r` largest singular values of ``X − 1·mean'`` and their right singular vectors; sparse X is centred implicitly."""
    if sp.issparse(X):
        ones = np.ones(X.shape[0])
        centred: Any = LinearOperator(
            X.shape,
            matvec=lambda v: X @ v - ones * (mean @ v),
            rmatvec=lambda u: X.T @ u - mean * u.sum(),
            matmat=lambda V: X @ V - np.outer(ones, mean @ V),
            rmatmat=lambda U: X.T @ U - np.outer(mean, U.sum(axis=0)),
            dtype=np.float64,
        )
    else:
        centred = np.asarray(X, dtype=np.float64) - mean
    _, s, Vt = randomized_svd(centred, r, n_iter=7, random_state=0)
    return s, Vt.T
