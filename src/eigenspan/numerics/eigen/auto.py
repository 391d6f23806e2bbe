"""Solver specifications: objects that select an eigensolver. The docstring of `Auto` is its decision table."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg as la

from ..._compat import BaseEstimator
from ..._diagnostics import note
from ..._types import Array, is_sparse
from ...errors import InputError
from .. import factor as cholesky
from ..factor.fill import Fill, predict_fill
from ..memory import fits, human_bytes, require
from ..operators import SymmetricMatrix
from ..threads import one_blas_thread
from . import chebyshev, dense, iterative, lanczos, multigrid

Pairs = tuple[Array, Array]

#: Residual, relative to the norm, that is due to rounding of the matrix entries.
_ROUNDING = 1e-16


class Solver(BaseEstimator):
    """Base class of the solver specifications.

    `pairs` returns raw eigenpairs of one symmetric matrix. The last pair may be inaccurate, as it only serves to measure the gap.
    """

    def pairs(self, A: SymmetricMatrix, k: int, sense: str, exclude: Array | None, rng: np.random.Generator) -> Pairs:
        raise NotImplementedError

    def chain(self, A: SymmetricMatrix, k: int, sense: str) -> list[Solver]:
        """Return the solvers to try in turn: only this one for an explicit choice; `Auto` returns alternatives."""
        return [self]


class Dense(Solver):
    """LAPACK on the assembled matrix: O(n³) time, 8n² bytes. Exact for any spectrum, including repeated eigenvalues."""

    def pairs(self, A: SymmetricMatrix, k: int, sense: str, exclude: Array | None, rng: np.random.Generator) -> Pairs:
        require(
            24.0 * A.n**2,
            f"A dense eigenproblem of order {A.n}",
            'Use solver="shift-invert" or "lanczos", or landmarks.',
        )
        M = dense.symmetric(A.to_dense())
        if exclude is not None and exclude.shape[1]:
            away = (2.0 if sense == "min" else -2.0) * max(A.norm(), np.finfo(float).tiny)
            PM = M - exclude @ (exclude.T @ M)
            M = dense.symmetric(PM - (PM @ exclude) @ exclude.T + away * (exclude @ exclude.T))
        return dense.eigenpairs(M, k, sense)


class ShiftInvert(Solver):
    """Lanczos on ``(A + sI)⁻¹`` by one sparse factorisation: the smallest eigenpairs of a sparse PSD matrix.

    Time and memory follow the fill of the factor, which is small if the data have a low intrinsic dimension. Eigenvectors whose
    eigenvalues differ only by rounding of the matrix cannot be distinguished: any vectors of their common eigenspace are returned.

    Parameters
    ----------
    shift : float, default=1e-12
        s relative to the matrix norm.
    by_fronts : bool or None, default=None
        Factorise with the compiled multifrontal code (True) or with SuperLU (False); None chooses by the predicted fill.
    """

    def __init__(self, shift: float = 1e-12, by_fronts: bool | None = None) -> None:
        self.shift = shift
        self.by_fronts = by_fronts

    def pairs(self, A: SymmetricMatrix, k: int, sense: str, exclude: Array | None, rng: np.random.Generator) -> Pairs:
        _check_sparse_smallest("shift-invert", A, sense)
        A, near = cholesky.assembled_nearby(A)
        S: Any = A.sparse
        U: Any
        size = A.norm() or 1.0
        U, c = A.low_rank or (None, None)
        U, shift = U.toarray() if is_sparse(U) else U, self.shift * size
        factor = iterative.factorised(S, shift, by_fronts=self.by_fronts)
        inverse_of_whole, solves, floor = iterative.updated_inverse(factor.solve, U, c), 0, _ROUNDING * size

        def whole(b: Array) -> Array:
            nonlocal solves
            solves += 1  # one solve for all right-hand sides: the factor is read once
            return inverse_of_whole(b)

        def shifted(x: Array) -> Array:
            y = S @ x + shift * x
            return y if U is None else y + U @ (c * (U.T @ x).T).T

        hidden, vectors = np.zeros((A.n, 0)) if exclude is None else exclude[near], np.zeros((A.n, 0))
        # thin matrices gain nothing from a second thread, which would occupy a processor that others could use
        with one_blas_thread():
            while vectors.shape[1] < k:
                # rounding of the huge inverse on a null space hides eigenvalues far above it: deflate the pairs found and iterate again
                inverse = iterative.constrained_inverse(whole, shifted, hidden, rng, size)
                _, new = lanczos.largest_of_inverse(
                    inverse, A.n, k - vectors.shape[1], rng, exclude=hidden, floor=floor, together=factor.together
                )
                hidden, vectors = np.hstack([hidden, new]), np.hstack([vectors, new])
        note(solves=solves)
        values = np.einsum("ij,ij->j", vectors, A @ vectors)
        vectors[near] = vectors.copy()
        return values, vectors


class Chebyshev(Solver):
    """Chebyshev-filtered block Krylov iteration: the smallest eigenpairs of a PSD matrix from products only.

    Suitable if the intrinsic dimension is high, so that a factor would fill: the wanted eigenvalues are then not too small. A form
    stored as FᵀF stays factored. Memory O(n d); the threads share the columns of the block. Weights of all pairs are multiplied in
    blocks, or written out if their n×n array fits into memory.

    Parameters
    ----------
    degree : int, default=400
        Largest degree of the filter; the degree that is used depends on the spectrum.
    cycles : int, default=60
        Maximum number of restarts.
    tol : float, default=3e-10
        Residual relative to the matrix norm. The iteration continues until the angle to the wanted subspace is small too.
    """

    def __init__(self, degree: int = 400, cycles: int = 60, tol: float = 3e-10) -> None:
        self.degree = degree
        self.cycles = cycles
        self.tol = tol

    def pairs(self, A: SymmetricMatrix, k: int, sense: str, exclude: Array | None, rng: np.random.Generator) -> Pairs:
        _check_sparse_smallest("chebyshev", A, sense, by_products=True)
        if _is_small(A, k):
            return Dense().pairs(A, k, sense, exclude, rng)
        return chebyshev.smallest_by_filter(
            _written_out_if_it_fits(A), k, rng, exclude=exclude, tol=self.tol, cycles=self.cycles, degree=self.degree
        )


class Multigrid(Solver):
    """LOBPCG preconditioned by algebraic multigrid: the smallest eigenpairs of a sparse graph Laplacian. Needs ``eigenspan[amg]``.

    Time and memory are O(n d) per iteration whatever the intrinsic dimension. Suitable for Laplacians whose factor fills and whose
    gaps are tiny. Forms of second derivatives (LLE, LTSA) are poorly conditioned for it.

    Parameters
    ----------
    iterations : int, default=200
        Maximum number of LOBPCG steps.
    tol : float, default=3e-10
        Residual relative to the matrix norm.
    """

    def __init__(self, iterations: int = 200, tol: float = 3e-10) -> None:
        self.iterations = iterations
        self.tol = tol

    def pairs(self, A: SymmetricMatrix, k: int, sense: str, exclude: Array | None, rng: np.random.Generator) -> Pairs:
        _check_sparse_smallest("amg", A, sense)
        if _is_small(A, k):
            return Dense().pairs(A, k, sense, exclude, rng)
        return multigrid.smallest_by_multigrid(
            A.assembled(), k, rng, exclude=exclude, tol=self.tol, iterations=self.iterations
        )


class Lanczos(Solver):
    """Lanczos on A (largest) or on ``‖A‖I − A`` (smallest): products only, no factorisation, any symmetric matrix.

    Suitable for Gram matrices and for sparse matrices whose factor would fill; slow if the wanted eigenvalues are tiny and close
    together.
    """

    def pairs(self, A: SymmetricMatrix, k: int, sense: str, exclude: Array | None, rng: np.random.Generator) -> Pairs:
        size, given = max(A.norm(), np.finfo(float).tiny), A.dense is not None
        A = _written_out_if_it_fits(A)
        sign = 1.0 if sense == "max" else -1.0
        lift = 0.0 if sense == "max" or not A.psd else size
        # the wanted eigenvalues of ‖A‖I − A lie close below ‖A‖: use a wider space; a residual relative to ‖A‖ is enough
        crowded: dict[str, Any] = {"width": 60, "tol": 1e-11} if lift and not given else {}
        values, vectors = iterative.top_pairs(
            lambda x: sign * (A @ x) + lift * x,
            A.n,
            k,
            rng,
            exclude=exclude,
            magnitude=2 * size,
            threaded=A.dense is not None,
            **crowded,
        )
        return sign * (values - lift), vectors


class Factor(Solver):
    """Compute the largest eigenpairs of a pure low-rank form ``U diag(c) U'``, c > 0, from its r×r Gram: O(nr²), never n×n."""

    def pairs(self, A: SymmetricMatrix, k: int, sense: str, exclude: Array | None, rng: np.random.Generator) -> Pairs:
        other = A.sparse is not None or A.dense is not None or A.pairs
        if A.low_rank is None or other or sense != "max" or np.any(A.low_rank[1] < 0):
            raise InputError(
                'solver="factor" needs a form that is only a low-rank Gram matrix, to be maximised. Use solver="auto".'
            )
        U, c = A.low_rank
        R = (U.toarray() if is_sparse(U) else U) * np.sqrt(c)
        if exclude is not None:
            R = R - exclude @ (exclude.T @ R)
        if R.shape[1] >= R.shape[0] or k > R.shape[1]:
            return Dense().pairs(A, k, sense, exclude, rng)
        values, S = dense.eigenpairs(dense.symmetric(R.T @ R), k, "max")
        floor = 1e-14 * max(values[0], np.finfo(float).tiny)
        vectors = R @ (S / np.sqrt(np.maximum(values, floor)))
        # the Gram squares the condition number, so small axes need orthonormalising
        if values[-1] <= 1e-10 * values[0]:
            vectors = la.qr(vectors, mode="economic")[0]
        return values, vectors


class Randomised(Solver):
    """Randomised block power iteration: the largest eigenpairs of a PSD Gram matrix with a decaying spectrum.

    Parameters
    ----------
    oversample : int, default=10
        Number of extra columns in the block.
    iterations : int, default=200
        Maximum number of block products.
    tol : float, default=1e-9
        Residual relative to the largest eigenvalue at which to stop.
    """

    def __init__(self, oversample: int = 10, iterations: int = 200, tol: float = 1e-9) -> None:
        self.oversample = oversample
        self.iterations = iterations
        self.tol = tol

    def pairs(self, A: SymmetricMatrix, k: int, sense: str, exclude: Array | None, rng: np.random.Generator) -> Pairs:
        if sense != "max" or not A.psd:
            raise InputError(
                f'solver="randomised" finds the largest eigenpairs of a positive semidefinite form only; this problem asks for '
                f'sense={sense!r}, psd={A.psd}. Use solver="auto" or "lanczos".'
            )
        return iterative.subspace_iteration(
            A.__matmul__,
            A.n,
            k,
            rng,
            exclude=exclude,
            oversample=self.oversample,
            iterations=self.iterations,
            tol=self.tol,
        )


class BlockKrylov(Solver):
    """Block Krylov iteration from a random start: the largest eigenpairs of a PSD matrix with expensive products."""

    def pairs(self, A: SymmetricMatrix, k: int, sense: str, exclude: Array | None, rng: np.random.Generator) -> Pairs:
        if sense != "max" or not A.psd or exclude is not None:
            raise InputError(
                "BlockKrylov finds the largest eigenpairs of a positive semidefinite form without excluded directions only."
            )
        return iterative.block_krylov(A.__matmul__, A.n, k, rng, passes=40, tol=1e-9)


class Auto(Solver):
    """Choose the solver by the structure of the matrix.

    ==========================================  ==========================================
    matrix, and wanted eigenvalues              solvers, in the order they are tried
    ==========================================  ==========================================
    only a low-rank Gram, largest               Factor
    n ≤ 500, or more than a quarter of the      Dense
    spectrum of n ≤ 5000
    dense, smallest, n ≤ 5000                   Dense
    dense, largest, n ≤ 2000, a twentieth       Dense
    of the spectrum or more
    rows on a cluster, PSD                      Chebyshev (smallest), BlockKrylov (largest)
    weights of all pairs, PSD, smallest         Chebyshev, Lanczos, Dense
    sparse (+ low rank), PSD, smallest:
    its factor fits and is quick                ShiftInvert, Chebyshev, Dense
    its factor would fill                       Lanczos, Chebyshev, Dense
    its factor would fill, stored as FᵀF        Chebyshev, Lanczos, Dense
    anything else                               Lanczos, Dense
    ==========================================  ==========================================

    The fill is predicted from the separators of the matrix's graph (`numerics.factor.fill`), which are small if the intrinsic
    dimension is low; the prediction is in the diagnostics. The next solver in a row runs only if the previous one misses its residual,
    with a `ConvergenceWarning`.
    """

    dense_below: int = 500
    quick: float = 2.0

    def chain(self, A: SymmetricMatrix, k: int, sense: str) -> list[Solver]:
        sparse = A.sparse is not None or bool(A.roots)
        if _is_distributed(A):
            return [Chebyshev() if sense == "min" else BlockKrylov()]
        low_rank = A.low_rank is not None and not (sparse or A.pairs) and A.dense is None
        if low_rank and sense == "max" and A.low_rank is not None and np.all(A.low_rank[1] >= 0):
            return [Factor()]
        if self.dense_below >= A.n or (4 * k > A.n and A.n <= 5000) or k >= A.n - 1:
            return [Dense()]
        if A.dense is not None and A.n <= (5000 if sense == "min" else min(20 * k, 2000)):
            return [Dense()]
        if A.pairs and A.dense is None and A.psd and sense == "min":
            return [Chebyshev(), Lanczos(), Dense()]
        if A.dense is None and sparse and A.psd and sense == "min":
            fill = self._fill(A)
            patience = 0.0 if fill.by_fronts else self.quick
            if fits(fill.bytes, 0.5) and fill.seconds <= max(patience, fill.seconds_without):
                return [ShiftInvert(by_fronts=fill.by_fronts), Chebyshev(), Dense()]
            return [Chebyshev(), Lanczos(), Dense()] if A.roots else [Lanczos(), Chebyshev(), Dense()]
        return [Lanczos(), Dense()]

    def _fill(self, A: SymmetricMatrix) -> Fill:
        """Return the predicted cost of the summand whose factor takes longest."""
        parts = [] if A.sparse is None else [predict_fill(A.sparse)]
        parts += [predict_fill(F, squared=True) for _, F in A.roots]
        worst = max(parts, key=lambda part: part.seconds)
        note(
            predicted_factor={
                "separator": worst.separator,
                "seconds": worst.seconds,
                "memory": human_bytes(worst.bytes),
            }
        )
        return worst

    def pairs(self, A: SymmetricMatrix, k: int, sense: str, exclude: Array | None, rng: np.random.Generator) -> Pairs:
        return self.chain(A, k, sense)[0].pairs(A, k, sense, exclude, rng)


def _is_small(A: SymmetricMatrix, k: int) -> bool:
    """Return True if the block would be a large share of the space: LAPACK is then faster, and reliable."""
    return 10 * (k + 16) >= A.n


def _written_out_if_it_fits(A: SymmetricMatrix) -> SymmetricMatrix:
    """Return A, with its weights of all pairs written out if the n×n array fits: a product then costs O(n²) instead of O(n²D)."""
    return A.written_out() if A.pairs and not _is_distributed(A) and fits(16.0 * A.n**2, 0.5) else A


def _is_distributed(A: SymmetricMatrix) -> bool:
    """Return True if the entries are stored on a cluster."""
    return any(getattr(P, "distributed", False) for _, P in A.pairs)


def _check_sparse_smallest(name: str, A: SymmetricMatrix, sense: str, by_products: bool = False) -> None:
    """Raise InputError unless the smallest eigenpairs of a sparse PSD matrix are wanted.

    Weights of all pairs count as sparse only if `by_products`: they have no entries to factorise.
    """
    parts = [A.sparse is not None, bool(A.roots), bool(A.pairs) and by_products]
    sparse = any(parts) and A.dense is None and (by_products or not A.pairs)
    if sense != "min" or not A.psd or not sparse:
        raise InputError(
            f'solver="{name}" finds the smallest eigenpairs of a sparse positive semidefinite matrix; this problem asks for '
            f'sense={sense!r}, psd={A.psd}, sparse={sparse}. Use solver="auto" or "lanczos".'
        )


NAMES: dict[str, type[Solver]] = {
    "auto": Auto,
    "dense": Dense,
    "shift-invert": ShiftInvert,
    "chebyshev": Chebyshev,
    "amg": Multigrid,
    "lanczos": Lanczos,
    "randomised": Randomised,
    "factor": Factor,
}


def as_solver(solver: str | Solver) -> Solver:
    """Return the solver object for a name; return a Solver unchanged."""
    if isinstance(solver, Solver):
        return solver
    if solver in NAMES:
        return NAMES[solver]()
    raise InputError(f"solver={solver!r} is unknown. Use one of {', '.join(map(repr, NAMES))}, or a Solver object.")
