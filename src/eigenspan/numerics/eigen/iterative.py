"""Krylov and subspace iterations for large symmetric matrices, and the sparse inverse used by shift-invert.

The eigenvalue functions take a matrix that supports ``@`` (or its product), an orthonormal block `exclude` of directions that are not
part of the solution, and a seeded generator, and return raw ``(values, vectors)``. Ordering, Rayleigh–Ritz refinement, residuals and
signs are handled in `eigenspan.problem`.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from inspect import signature
from typing import Any

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

from ..._diagnostics import note
from ..._types import Array
from ...errors import ConvergenceError
from ..factor import FrontalFactor, SuperLUFactor, analyse
from ..memory import human_bytes
from ..operators import SymmetricMatrix
from ..threads import one_blas_thread
from .dense import eigenpairs, symmetric

Apply = Callable[[Array], Array]

#: Tolerance of the search for missed repeated eigenvalues; their relative error is about its square.
_SEARCH_TOLERANCE = 1e-4


def restarts(rng: np.random.Generator) -> dict[str, np.random.Generator]:
    """Return the argument of `eigsh` that seeds its restarts, empty if scipy has none.

    From scipy 1.17 on, ARPACK draws a new start vector from a generator of its own once its Krylov space is invariant; the system seeds
    that generator unless it is given. Older versions draw from one generator for all calls.
    """
    return {"rng": rng} if "rng" in signature(eigsh).parameters else {}


def without(apply: Apply, N: Array | None) -> Apply:
    """Return `apply` compressed to the complement of the columns of `N`."""
    if N is None or N.shape[1] == 0:
        return apply

    def compressed(x: Array) -> Array:
        y = apply(x - N @ (N.T @ x))
        return y - N @ (N.T @ y)

    return compressed


def top_pairs(
    apply: Apply, n: int, k: int, rng: np.random.Generator, *, exclude: Array | None, magnitude: float,
    width: int = 30, tol: float = 0.0, threaded: bool = False,
) -> tuple[Array, Array]:  # fmt: skip
    """Return the `k` algebraically largest eigenpairs of a symmetric operator, including repeated eigenvalues.

    Lanczos from one start vector can miss some of a repeated eigenvalue's vectors. After each solve the vectors found are deflated, and
    one more pair is computed to a loose tolerance. While it exceeds the smallest value found, it is computed in full and replaces that
    pair. If the Krylov space would be the whole space, the operator is written out and solved densely.

    `magnitude` bounds the operator's norm; the excluded directions are moved to ``-magnitude``. `width` is the minimum dimension of
    the Krylov space. `tol` is the residual to reach, relative to the eigenvalue; 0 means machine precision. Linear algebra between the
    products runs on one thread, which is twice as fast as two for such thin matrices, unless `threaded` states that the products
    themselves need all threads.
    """
    N = np.zeros((n, 0)) if exclude is None else exclude
    width = max(2 * k + 10, width)
    products = _Deflated(apply, n, magnitude, threaded)
    if n <= width + N.shape[1]:
        return eigenpairs(symmetric(products.without(N)(np.eye(n))), k, "max")
    values, vectors = products.largest(k, N, tol, width, rng)
    for _ in range(k):
        hidden = np.hstack([N, vectors])
        new, direction = products.largest(1, hidden, _SEARCH_TOLERANCE, 6, rng)
        if new[0] <= values.min() + 1e-10 * abs(values.min()) + 1e-14 * magnitude:
            break
        new, direction = products.largest(1, hidden, tol, width, rng, direction[:, 0])
        worst = np.argmin(values)  # a missed repeated eigenvalue replaces the smallest pair found so far
        values[worst], vectors[:, worst] = new[0], direction[:, 0]
        vectors, _ = la.qr(vectors, mode="economic")
    return values, vectors


@dataclass(frozen=True)
class _Deflated:
    """A symmetric operator of order n whose norm is at most `magnitude`, with directions that can be moved to ``-magnitude``."""

    apply: Apply
    n: int
    magnitude: float
    threaded: bool

    def without(self, hidden: Array) -> Apply:
        """Return the operator with the columns of `hidden` moved."""
        compressed = without(self.apply, hidden)
        return lambda x: compressed(x) - self.magnitude * (hidden @ (hidden.T @ x))

    def largest(
        self, count: int, hidden: Array, tol: float, width: int, rng: np.random.Generator, start: Array | None = None
    ) -> tuple[Array, Array]:
        """Return the largest eigenpairs by Lanczos, from a random vector if there is no `start`."""
        n = self.n
        operator = LinearOperator((n, n), matvec=self.without(hidden), dtype=np.float64)
        start = rng.standard_normal(n) if start is None else start
        settings: dict[str, Any] = {"tol": tol, "ncv": width, "maxiter": max(300, 30000 // width), **restarts(rng)}
        try:
            with nullcontext() if self.threaded else one_blas_thread():
                return eigsh(operator, count, which="LA", v0=start, **settings)
        except ArpackNoConvergence as failure:
            raise ConvergenceError(
                f"Lanczos found {len(failure.eigenvalues)} of {count} eigenpairs of a {n}×{n} matrix before its iteration "
                'limit: the wanted eigenvalues lie too close together. Use solver="dense" if n allows, or fewer components.'
            ) from failure


def _shifted(S: sp.csr_array, shift: float) -> sp.csr_array:
    """Return ``S + shift I``; a full stored diagonal is updated without changing the pattern."""
    at = np.flatnonzero(S.indices == np.repeat(np.arange(S.shape[0], dtype=S.indices.dtype), np.diff(S.indptr)))
    if at.size != S.shape[0]:
        return sp.csr_array(S + shift * sp.eye_array(S.shape[0]))
    data = S.data.copy()
    data[at] += shift
    return sp.csr_array((data, S.indices, S.indptr), shape=S.shape)


def factorised(S: sp.csr_array, shift: float, *, by_fronts: bool | None = None) -> FrontalFactor | SuperLUFactor:
    """Factorise ``S + shift I``, which is positive definite: by the multifrontal code, or by SuperLU if it is small."""
    shifted = _shifted(S, shift)
    factor = analyse(shifted, by_fronts=by_fronts).factorise(shifted)
    note(
        factorised_by="SuperLU" if isinstance(factor, SuperLUFactor) else "fronts",
        factor_memory=human_bytes(factor.size),
    )
    return factor


def updated_inverse(direct: Apply, U: Array | None, c: Array | None) -> Apply:
    """Return ``b -> (A + U diag(c) U')⁻¹ b``, computed from solves with A by the Woodbury identity."""
    if U is None or c is None or U.shape[1] == 0:
        return direct
    # columns that cancel must be combined first: 1/shift would amplify a null vector of S among them
    Q, R = la.qr(U, mode="economic")
    c, V = eigenpairs(symmetric((R * c) @ R.T))
    kept = np.abs(c) > 1e-14 * np.abs(c).max(initial=0.0)
    U, c = Q @ V[:, kept], c[kept]
    SU = direct(np.ascontiguousarray(U))
    core = la.lu_factor(np.diag(1 / c) + U.T @ SU)

    def solve(b: Array) -> Array:
        x = direct(b)
        return x - SU @ la.lu_solve(core, U.T @ x)

    return solve


def constrained_inverse(solve: Apply, apply: Apply, N: Array, rng: np.random.Generator, size: float) -> Apply:
    """Return the inverse of a matrix compressed to the complement of `N`, from the inverse and the products of the whole matrix.

    If the matrix is nearly singular but its compression is not (N holds the null vector), digits cancel. A trial solve detects this,
    and two steps of iterative refinement restore them. `size` bounds the norm of the matrix.
    """
    if N.shape[1] == 0:
        return solve
    trial = rng.standard_normal((N.shape[0], 1))
    trial = trial - N @ (N.T @ trial)
    # one solve for all columns: the factor is read once
    SN, x = np.split(solve(np.hstack([N, trial])), [N.shape[1]], axis=1)
    oblique = np.ascontiguousarray(la.lu_solve(la.lu_factor(N.T @ SN), SN.T, trans=1).T)

    def inside(x: Array) -> Array:
        x = x - oblique @ (N.T @ x)
        return x - N @ (N.T @ x)

    def constrained(b: Array) -> Array:
        return inside(solve(b - N @ (N.T @ b)))

    compressed = without(apply, N)

    def refined(b: Array) -> Array:
        b = b - N @ (N.T @ b)
        x = constrained(b)
        for _ in range(2):
            x = x + constrained(b - compressed(x))
        return x

    x = inside(x)
    exact = la.norm(trial - compressed(x)) <= 1e-12 * max(la.norm(trial), size * la.norm(x))
    return constrained if exact else refined


def spectral_bound(A: SymmetricMatrix, rng: np.random.Generator) -> float:
    """Return an upper bound on the largest eigenvalue: a rough Lanczos value plus 3 %, at most the bound from the norm."""
    operator = LinearOperator((A.n, A.n), matvec=A.__matmul__, dtype=np.float64)
    with one_blas_thread():
        start = rng.standard_normal(A.n)
        largest = eigsh(operator, 1, which="LA", v0=start, tol=1e-2, return_eigenvectors=False, **restarts(rng))[0]
    return min(A.norm(), 1.03 * float(largest))


def new_directions(V: Array, basis: Array) -> Array:
    """Return an orthonormal basis of the part of V's span orthogonal to `basis`; dependent directions are dropped."""
    V = V / np.maximum(la.norm(V, axis=0), np.finfo(float).tiny)
    for rounding in (1e-28, 0.5):  # two passes suffice: the second one removes rounding only
        V = V - basis @ (basis.T @ V)
        values, turn = eigenpairs(symmetric(V.T @ V))
        kept = values > max(rounding, 1e-16 * values.max(initial=0.0))
        V = V @ (turn[:, kept] / np.sqrt(values[kept]))
    return np.ascontiguousarray(V)


def block_krylov(
    apply: Apply, n: int, k: int, rng: np.random.Generator, *, passes: int, tol: float
) -> tuple[Array, Array]:
    """Return the `k` largest eigenpairs of a PSD operator whose products are expensive: all blocks and their products are kept.

    Stops when the residuals are at most `tol` times the largest eigenvalue, or after `passes` block products (Musco & Musco 2015).
    """
    block = new_directions(rng.standard_normal((n, min(n, k + max(10, k)))), np.zeros((n, 0)))
    basis, images = np.zeros((n, 0)), np.zeros((n, 0))
    for used in range(1, passes + 1):
        image = apply(block)
        basis, images = np.hstack([basis, block]), np.hstack([images, image])
        values, S = eigenpairs(symmetric(basis.T @ images), k, "max")
        size = max(values[0], np.finfo(float).tiny)  # divide before summing squares, which may overflow
        residual = la.norm((images @ S - (basis @ S) * values) / size, axis=0).max()
        note(passes=used, axes_residual=float(residual))
        block = new_directions(image, basis)
        if residual <= tol or block.shape[1] == 0:
            break
    return values, basis @ S


def subspace_iteration(
    apply: Apply, n: int, k: int, rng: np.random.Generator, *, exclude: Array | None, oversample: int,
    iterations: int, tol: float,
) -> tuple[Array, Array]:  # fmt: skip
    """Return the `k` largest eigenpairs of a PSD operator by randomised block power iteration (Halko, Martinsson, Tropp)."""
    compressed = without(apply, exclude)
    width = min(n, k + oversample)
    Q = rng.standard_normal((n, width))
    values, vectors = np.zeros(k), Q[:, :k]
    for _ in range(iterations):
        Q, _ = la.qr(compressed(Q), mode="economic")
        AQ = compressed(Q)
        ritz, S = la.eigh(Q.T @ AQ)
        values, vectors = ritz[::-1][:k], (Q @ S)[:, ::-1][:, :k]
        size = max(abs(values[0]), np.finfo(float).tiny)  # divide before summing squares, which may overflow
        residual = la.norm((AQ @ S[:, ::-1][:, :k] - vectors * values) / size, axis=0)
        if np.all(residual <= tol):
            break
        Q = AQ / size
    return values, vectors
