"""Solvers are values: a spec object says which eigensolver to use, `Auto` is one whose docstring is its decision table."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from ..._diagnostics import note
from ...errors import InputError
from .. import factor as cholesky
from ..factor.fill import Fill, predict_fill
from ..memory import fits, human_bytes, require
from ..threads import one_blas_thread
from . import chebyshev, dense, iterative, lanczos, multigrid

Array = NDArray[np.float64]
Pairs = tuple[Array, Array]

#: Residual relative to the norm that is rounding in the matrix.
_ROUNDING = 1e-16


class Matrix(Protocol):
    """What a solver needs to know of a symmetric matrix (`eigenspan.problem.Form` provides it)."""

    @property
    def n(self) -> int: ...
    @property
    def psd(self) -> bool: ...
    @property
    def sparse(self) -> sp.csr_array | None: ...
    @property
    def dense(self) -> Any: ...
    @property
    def low_rank(self) -> tuple[Any, Array] | None: ...
    @property
    def roots(self) -> tuple[tuple[float, sp.csr_array], ...]: ...
    @property
    def pairs(self) -> tuple[tuple[float, Any], ...]: ...
    def __matmul__(self, Z: Array) -> Array: ...
    def assembled(self) -> Any: ...
    def permuted(self, order: Any) -> Any: ...
    def written_out(self) -> Any: ...
    def to_dense(self) -> Array: ...
    def norm(self) -> float: ...


class Solver(BaseEstimator):
    """Base of the solver specs. `pairs` returns raw eigenpairs of one symmetric matrix; the last may be rough, as it tells the gap."""

    def pairs(self, A: Matrix, k: int, sense: str, exclude: Array | None, rng: np.random.Generator) -> Pairs:
        raise NotImplementedError

    def chain(self, A: Matrix, k: int, sense: str) -> list[Solver]:
        """The solvers to try in turn. An explicit choice stands alone; only `Auto` has alternatives."""
        return [self]


class Dense(Solver):
    """LAPACK on the assembled matrix: O(n³) time, 8n² bytes. Exact for any spectrum, repeated eigenvalues included."""

    def pairs(self, A: Matrix, k: int, sense: str, exclude: Array | None, rng: np.random.Generator) -> Pairs:
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

    Time and memory follow the fill of the factor, small where the data's intrinsic dimension is low. Eigenvectors whose
    eigenvalues differ by no more than rounding in the matrix are not told apart: of a cluster of these, any are returned.

    Parameters
    ----------
    shift : float, default=1e-12
        s relative to the matrix norm.
    by_fronts : bool or None, default=None
        Factorise by compiled fronts, or by SuperLU; None leaves it to the predicted fill.
    """

    def __init__(self, shift: float = 1e-12, by_fronts: bool | None = None) -> None:
        self.shift = shift
        self.by_fronts = by_fronts

    def pairs(self, A: Matrix, k: int, sense: str, exclude: Array | None, rng: np.random.Generator) -> Pairs:
        _check_sparse_smallest("shift-invert", A, sense)
        A, near = cholesky.assembled_nearby(A)
        S: Any = A.sparse
        U: Any
        size = A.norm() or 1.0
        U, c = A.low_rank or (None, None)
        U, shift = U.toarray() if sp.issparse(U) else U, self.shift * size
        factor = iterative.factorised(S, shift, by_fronts=self.by_fronts)
        inverse_of_whole, solves, floor = iterative.updated_inverse(factor.solve, U, c), 0, _ROUNDING * size

        def whole(b: Array) -> Array:
            nonlocal solves
            solves += 1  # with as many right-hand sides as there are: the factor is read once
            return inverse_of_whole(b)

        def shifted(x: Array) -> Array:
            y = S @ x + shift * x
            return y if U is None else y + U @ (c * (U.T @ x).T).T

        hidden, vectors = np.zeros((A.n, 0)) if exclude is None else exclude[near], np.zeros((A.n, 0))
        # thin matrices, for which a second thread would wake up and then keep a processor from others
        with one_blas_thread():
            while vectors.shape[1] < k:
                # eigenvalues far above a null space drown in the rounding of its huge inverse: hide what was found, look again
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
    """Chebyshev-filtered block Krylov iteration: the smallest eigenpairs of a PSD matrix, by products alone.

    Right where the intrinsic dimension is high and a factor would fill: the wanted eigenvalues are then not too small. A form kept
    as FᵀF stays in factors. Memory O(n d); threads share the columns of the block. Weights of all pairs are multiplied with in
    blocks, or written out where their n×n array fits.

    Parameters
    ----------
    degree : int, default=400
        Largest degree of the filter; the spectrum decides how much of it is used.
    cycles : int, default=60
        At most this many restarts.
    tol : float, default=3e-10
        Residual relative to the matrix norm. The iteration goes on until the angle to the wanted subspace is small too.
    """

    def __init__(self, degree: int = 400, cycles: int = 60, tol: float = 3e-10) -> None:
        self.degree = degree
        self.cycles = cycles
        self.tol = tol

    def pairs(self, A: Matrix, k: int, sense: str, exclude: Array | None, rng: np.random.Generator) -> Pairs:
        _check_sparse_smallest("chebyshev", A, sense, by_products=True)
        if _few(A, k):
            return Dense().pairs(A, k, sense, exclude, rng)
        return chebyshev.smallest_by_filter(
            _at_hand(A), k, rng, exclude=exclude, tol=self.tol, cycles=self.cycles, degree=self.degree
        )


class Multigrid(Solver):
    """LOBPCG preconditioned by algebraic multigrid: the smallest eigenpairs of a sparse graph Laplacian. Needs ``eigenspan[amg]``.

    Time and memory O(n d) an iteration whatever the intrinsic dimension; for Laplacians whose factor fills and whose gaps are
    tiny. Forms of second derivatives (LLE, LTSA) are poorly conditioned for it.

    Parameters
    ----------
    iterations : int, default=200
        At most this many LOBPCG steps.
    tol : float, default=3e-10
        Residual relative to the matrix norm.
    """

    def __init__(self, iterations: int = 200, tol: float = 3e-10) -> None:
        self.iterations = iterations
        self.tol = tol

    def pairs(self, A: Matrix, k: int, sense: str, exclude: Array | None, rng: np.random.Generator) -> Pairs:
        _check_sparse_smallest("amg", A, sense)
        if _few(A, k):
            return Dense().pairs(A, k, sense, exclude, rng)
        return multigrid.smallest_by_multigrid(
            A.assembled(), k, rng, exclude=exclude, tol=self.tol, iterations=self.iterations
        )


class Lanczos(Solver):
    """Lanczos on A (largest) or on ``‖A‖I − A`` (smallest): products only, no factorisation, any symmetric matrix.

    Right for Gram matrices and for sparse matrices whose factor would fill; slow where the wanted eigenvalues are tiny
    and crowded.
    """

    def pairs(self, A: Matrix, k: int, sense: str, exclude: Array | None, rng: np.random.Generator) -> Pairs:
        size, given = max(A.norm(), np.finfo(float).tiny), A.dense is not None
        A = _at_hand(A)
        sign = 1.0 if sense == "max" else -1.0
        lift = 0.0 if sense == "max" or not A.psd else size
        # flipped, the wanted eigenvalues crowd below ‖A‖: a wider space, and a residual that is small against ‖A‖ is enough
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
    """The largest eigenpairs of a pure low-rank form ``U diag(c) U'``, c > 0, from its r×r Gram: O(nr²), never n×n."""

    def pairs(self, A: Matrix, k: int, sense: str, exclude: Array | None, rng: np.random.Generator) -> Pairs:
        if (
            A.low_rank is None
            or A.sparse is not None
            or A.dense is not None
            or A.pairs
            or sense != "max"
            or np.any(A.low_rank[1] < 0)
        ):
            raise InputError('solver="factor" needs a form that is only a low-rank Gram, to be maximised.')
        U, c = A.low_rank
        R = (U.toarray() if sp.issparse(U) else U) * np.sqrt(c)
        if exclude is not None:
            R = R - exclude @ (exclude.T @ R)
        if R.shape[1] >= R.shape[0] or k > R.shape[1]:
            return Dense().pairs(A, k, sense, exclude, rng)
        values, S = dense.eigenpairs(dense.symmetric(R.T @ R), k, "max")
        floor = 1e-14 * max(values[0], np.finfo(float).tiny)
        vectors = R @ (S / np.sqrt(np.maximum(values, floor)))
        if values[-1] <= 1e-10 * values[0]:  # the Gram squares the condition number: small axes need orthonormalising
            vectors = la.qr(vectors, mode="economic")[0]
        return values, vectors


class Randomised(Solver):
    """Randomised block power iteration: the largest eigenpairs of a PSD Gram with a decaying spectrum.

    Parameters
    ----------
    oversample : int, default=10
        Extra columns in the block.
    iterations : int, default=200
        At most this many block products.
    tol : float, default=1e-9
        Residual relative to the largest eigenvalue at which to stop.
    """

    def __init__(self, oversample: int = 10, iterations: int = 200, tol: float = 1e-9) -> None:
        self.oversample = oversample
        self.iterations = iterations
        self.tol = tol

    def pairs(self, A: Matrix, k: int, sense: str, exclude: Array | None, rng: np.random.Generator) -> Pairs:
        if sense != "max" or not A.psd:
            raise InputError('solver="randomised" finds the largest eigenpairs of a positive semidefinite form only.')
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
    """Block Krylov iteration from a random start: the largest eigenpairs of a PSD matrix whose products are dear, in few of them."""

    def pairs(self, A: Matrix, k: int, sense: str, exclude: Array | None, rng: np.random.Generator) -> Pairs:
        if sense != "max" or not A.psd or exclude is not None:
            raise InputError("BlockKrylov finds the largest eigenpairs of a positive semidefinite form only.")
        return iterative.block_krylov(A.__matmul__, A.n, k, rng, passes=40, tol=1e-9)


class Auto(Solver):
    """Choose by the structure of the matrix.

    ==========================================  ==========================================
    the matrix, and what is wanted              solvers, in the order they are tried
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
    the same, kept as FᵀF                       Chebyshev, Lanczos, Dense
    anything else                               Lanczos, Dense
    ==========================================  ==========================================

    Fill is predicted from the separators of the matrix's graph (`solvers.fill`), which tell low intrinsic dimension from high;
    the prediction is in the diagnostics. The next solver in a row runs only when the one before it misses its residual, and a
    `ConvergenceWarning` says so.
    """

    dense_below: int = 500
    quick: float = 2.0

    def chain(self, A: Matrix, k: int, sense: str) -> list[Solver]:
        sparse = A.sparse is not None or bool(A.roots)
        if _is_spread(A):
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

    def _fill(self, A: Matrix) -> Fill:
        """The cost of the part whose factor takes longest."""
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

    def pairs(self, A: Matrix, k: int, sense: str, exclude: Array | None, rng: np.random.Generator) -> Pairs:
        return self.chain(A, k, sense)[0].pairs(A, k, sense, exclude, rng)


def _few(A: Matrix, k: int) -> bool:
    """A block of vectors would be a good part of the space: LAPACK is quicker, and sure."""
    return 10 * (k + 16) >= A.n


def _at_hand(A: Matrix) -> Any:
    """A with its weights of all pairs written out where the n×n array fits: a product then costs O(n²), not O(n²D) and the weights."""
    return A.written_out() if A.pairs and not _is_spread(A) and fits(16.0 * A.n**2, 0.5) else A


def _is_spread(A: Matrix) -> bool:
    """Entries lie on a cluster, and stay there."""
    return any(getattr(P, "spread", False) for _, P in A.pairs)


def _check_sparse_smallest(name: str, A: Matrix, sense: str, by_products: bool = False) -> None:
    """A form of all pairs has no entries to factorise, but products."""
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
    """A spec object from its shorthand."""
    if isinstance(solver, Solver):
        return solver
    if solver in NAMES:
        return NAMES[solver]()
    raise InputError(f"solver={solver!r} is unknown. Use one of {', '.join(map(repr, NAMES))}, or a Solver object.")
