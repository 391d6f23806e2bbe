"""The Nyström approximation of a kernel matrix from the columns of some points, with its eigenpairs and its error."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, Literal

import numpy as np
from sklearn.utils import check_array

from .._checks import check_parameter, real_numbers
from .._parameters import Count
from .._types import Array, Index, Matrix, RandomState, TableLike, VectorLike, is_sparse
from ..data.objects import ObjectPairs, PairFunction, are_objects, as_objects
from ..data.read import is_precomputed, refuse_disguised
from ..data.rows.storage import refuse_out_of_range
from ..data.x import KernelValues, as_rows
from ..errors import IndefiniteWarning, InputError, KernelError, warn
from ..graphs.landmarks import Landmarks, LandmarksLike, check_landmarks, choose_landmarks
from ..numerics.eigen import dense
from ..numerics.memory import refuse_lazy, require
from ..numerics.threads import threads_for
from ..problem import Form, TraceProblem, factor_gram, gram_matrix, solve
from ..problem.kernels import KernelRows, feature_axes
from ..problem.nystrom import landmark_kernel
from ..problem.spectrum import sign_of

#: Norms of the difference between a kernel matrix and its approximation.
Norm = Literal["trace", "frobenius", "spectral"]

#: Number of kernel values in a block of rows.
_ENTRIES = 2**21
#: Diagonal entries may fall below those of the approximation by this share of the largest: rounding.
_ROUNDING = 1e-8


@dataclass(frozen=True, eq=False)
class Known:
    """What is known of a kernel matrix.

    Attributes
    ----------
    columns : ndarray of shape (n, m)
        Kernel values of all points with the landmarks.
    among : ndarray of shape (m, m)
        Those of the landmarks.
    landmarks : ndarray of int
        Row numbers of the landmarks.
    diagonal : ndarray of shape (n,) or None
        Kernel values of the points with themselves, if they are known.
    rows : callable or None
        Returns a block of rows of the matrix, if the whole matrix is known.
    near : callable
        Returns the kernel values of new points with the landmarks.
    """

    columns: Array
    among: Array
    landmarks: Index
    diagonal: Array | None
    rows: Callable[[slice], Array] | None
    near: Callable[[Any], Array]


@dataclass(frozen=True, eq=False, repr=False)
class NystromKernel:
    """A kernel matrix approximated from the columns of m landmarks: ``K ≈ V Λ Vᵀ``.

    Attributes
    ----------
    eigenvalues : ndarray of shape (r,)
        Largest first.
    eigenvectors : ndarray of shape (n, r)
        Orthonormal columns V, or the extended eigenvectors of the landmarks with ``orthogonal=False``.
    landmarks : ndarray of int of shape (m,)
        Row numbers of the landmarks.
    orthogonal : bool
        Whether the eigenvectors are orthonormal.
    known : Known
        What is known of the kernel matrix.
    """

    eigenvalues: Array
    eigenvectors: Array
    landmarks: Index
    orthogonal: bool
    known: Known = field(repr=False)
    _lift: Array = field(repr=False)

    @property
    def n(self) -> int:
        """Number of points."""
        return len(self.eigenvectors)

    @property
    def factor(self) -> Array:
        """F of shape (n, r) with ``F Fᵀ`` the approximation: Nyström features of the points."""
        return self.eigenvectors * np.sqrt(self.eigenvalues)

    @cached_property
    def operator(self) -> Form:
        """The approximation as an operator: ``operator @ Z`` without an n×n matrix."""
        return factor_gram(self.factor, centre=False)

    @property
    def matrix(self) -> Array:
        """The approximation, or completed kernel, as an n×n array; a new one at every call."""
        require(8.0 * self.n**2, f"The {self.n}×{self.n} kernel matrix", "Use `operator` or `factor`.")
        F = self.factor
        return dense.symmetric(F @ F.T)

    def transform(self, X: Any) -> Array:
        """Return the values of the eigenvectors at new points: ``Λ⁻¹Uᵀk(x)`` in the extended form [S3, eq. 4.2].

        Parameters
        ----------
        X : array-like or list
            New points if a kernel was given, or else their kernel values with the m landmarks, of shape (n_new, m).

        Returns
        -------
        ndarray of shape (n_new, r)
        """
        return np.asarray(self.known.near(X) @ self._lift)

    def error(self, norm: Norm = "trace") -> float:
        """Return a norm of ``K − K̂``. Raises InputError if too little of K is known: `bounds` then limits it.

        For a positive semidefinite K the trace of the difference is its trace (nuclear) norm. It needs the diagonal of K; the other
        norms need all of K.

        Parameters
        ----------
        norm : {"trace", "frobenius", "spectral"}, default="trace"

        Returns
        -------
        float
        """
        check_parameter("norm", norm, Norm, InputError)
        if norm == "trace":
            return abs(float(self._left.sum()))
        if self.known.rows is None:
            raise InputError(
                f"The {norm} error needs the whole kernel matrix, and its columns of {self.landmarks.size} landmarks are known only. "
                "Call bounds(), or pass the square matrix, or the points with kernel=."
            )
        return self._frobenius if norm == "frobenius" else self._spectral

    def bounds(self, norm: Norm = "trace") -> tuple[float, float]:
        """Return the least and the largest value that a norm of ``K − K̂`` can have for a positive semidefinite K with this diagonal.

        The difference is positive semidefinite and has a known diagonal s. Thus ``max s ≤ ‖·‖₂ ≤ Σ s`` and
        ``‖s‖ ≤ ‖·‖_F ≤ Σ s``. Both bounds are the error itself if it is known.

        Parameters
        ----------
        norm : {"trace", "frobenius", "spectral"}, default="trace"

        Returns
        -------
        tuple of two floats
        """
        check_parameter("norm", norm, Norm, InputError)
        if norm == "trace" or self.known.rows is not None:
            return self.error(norm), self.error(norm)
        left = np.maximum(self._left, 0.0)
        return float(np.linalg.norm(left) if norm == "frobenius" else left.max()), float(left.sum())

    @cached_property
    def _left(self) -> Array:
        """Diagonal of ``K − K̂``."""
        if self.known.diagonal is None:
            raise InputError(
                "The error depends on the diagonal of K, which is not known: its columns of the landmarks allow any error. Pass diagonal=, "
                "such as 1.0 for a kernel with k(x, x) = 1."
            )
        return self.known.diagonal - np.einsum("ij,ij,j->i", self.eigenvectors, self.eigenvectors, self.eigenvalues)

    def _differences(self) -> Iterator[tuple[slice, Array]]:
        """Yield blocks of rows of ``K − K̂``."""
        F, rows = self.factor, self.known.rows
        assert rows is not None  # callers have checked it
        for i in range(0, self.n, step := max(1, _ENTRIES // self.n)):
            part = slice(i, min(i + step, self.n))
            yield part, rows(part) - F[part] @ F.T

    @cached_property
    def _frobenius(self) -> float:
        return float(np.linalg.norm([np.linalg.norm(block) for _, block in self._differences()]))

    @cached_property
    def _spectral(self) -> float:
        n = self.n
        require(
            16.0 * n**2, f"The {n}×{n} difference of two kernel matrices", 'Use the "frobenius" error, which is larger.'
        )
        S = np.empty((n, n))
        for part, block in self._differences():
            S[part] = block
        form = Form(n, dense=dense.symmetric(S))
        return max(abs(float(_extreme(form, sense))) for sense in ("max", "min"))

    def __repr__(self) -> str:
        form = "orthonormal" if self.orthogonal else "extended"
        values = f", eigenvalues {self.eigenvalues[0]:.4g} to {self.eigenvalues[-1]:.4g}"
        if self.known.diagonal is None:
            error = "error unknown without diagonal="
        else:
            error = f"trace error {self.error():.3g} of {self.known.diagonal.sum():.4g}"
        return (
            f"NystromKernel({self.n} points from {self.landmarks.size} landmarks, rank {self.eigenvalues.size}, {form} eigenvectors"
            f"{values}, {error})"
        )


def nystrom(
    X: Any, landmarks: LandmarksLike, *, kernel: Any = "precomputed", diagonal: float | VectorLike | None = None,
    orthogonal: bool = True, n_components: int | None = None, random_state: RandomState = 0,
) -> NystromKernel:  # fmt: skip
    """Approximate a kernel matrix, its eigenvalues and its eigenvectors from the columns of some points, the landmarks.

    .. math:: K = \\begin{bmatrix} A & B \\\\ B^T & C \\end{bmatrix} \\approx
              \\begin{bmatrix} A \\\\ B^T \\end{bmatrix} A^{-1} \\begin{bmatrix} A & B \\end{bmatrix} = D \\Lambda D^T,
              \\qquad D = \\begin{bmatrix} U \\\\ B^T U \\Lambda^{-1} \\end{bmatrix}, \\quad A = U \\Lambda U^T

    [S3, eqs. 4.5, 4.6]. It is exact if A has the rank of K. The columns of D are the eigenvectors of the landmarks, extended to all points
    [S3, eq. 4.8]; they are not orthogonal. The approximation has orthonormal eigenvectors too, :math:`V = [A; B^T] A^{-1/2} U_Q
    \\Lambda_Q^{-1/2}` with the eigenpairs of :math:`Q = A + A^{-1/2} B B^T A^{-1/2}` [S3, eq. 4.7]. Use it to complete a kernel of which
    some columns are known, for the eigenvectors of a kernel matrix that is too large, and to see how many landmarks suffice. `KernelPCA`
    with ``landmarks=`` does the same about the mean. Numerically zero directions of A are left out.

    Cost: O(nm² + m³) time and O(nm) memory, and kernel values of n×m pairs. A Frobenius error needs all n² values, a block at a time; a
    spectral one O(n²) memory.

    Parameters
    ----------
    X : array-like of shape (n, n), (n, m) or (n, n_features), or list
        The kernel matrix K, its m columns of the landmarks (in the order of `landmarks`), or points if `kernel` is given. With a
        function of two objects X may be a list of objects.
    landmarks : int, Landmarks or array-like of int
        Number of landmarks (drawn at random), how to choose them, or their row numbers.
    kernel : str, Kernel or callable, default="precomputed"
        The kernel of the points, as in `KernelPCA`; ``"precomputed"`` if X holds kernel values.
    diagonal : float or array-like of shape (n,), optional
        The diagonal of K, from which errors follow; for columns only. None means that it is unknown.
    orthogonal : bool, default=True
        Return orthonormal eigenvectors [S3, eq. 4.7] instead of extended ones [S3, eq. 4.6].
    n_components : int, optional
        Number of eigenpairs to keep, the largest; None keeps all. The completed kernel consists of those kept.
    random_state : int, RandomState or None, default=0
        Seed of the choice of landmarks. It has no effect if they are given by row numbers.

    Returns
    -------
    NystromKernel

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from eigenspan import Kernel, nystrom
    >>> X, _ = load_iris(return_X_y=True)
    >>> found = nystrom(X, 20, kernel=Kernel("rbf", gamma=0.1))
    >>> found.eigenvectors.shape, bool(found.error("frobenius") < 0.01 * found.eigenvalues[0])
    ((150, 20), True)

    Two columns of a kernel of rank two are enough:

    >>> import numpy as np
    >>> K = X[:, :2] @ X[:, :2].T
    >>> bool(np.allclose(nystrom(K[:, [0, 1]], [0, 1]).matrix, K))
    True

    References
    ----------
    [S3] §4.1; Williams & Seeger (2001), Using the Nyström method to speed up kernel machines; Fowlkes et al. (2004) for eq. 4.7.
    """
    check_parameter("n_components", n_components, Count | None, InputError)
    check_parameter("orthogonal", orthogonal, bool, InputError)
    refuse_lazy(X)
    known = _known(X, kernel, landmarks, diagonal, random_state)
    size = float(np.abs(known.among).max(initial=0.0))
    with threads_for(known.landmarks.size):
        axes = feature_axes(None, known.among, size)
        if not axes.shape[1]:
            raise KernelError(
                f"The kernel matrix of the {known.landmarks.size} landmarks has no positive eigenvalue; its entries reach {size:.3g}. Use "
                "other landmarks, or another kernel."
            )
        values, lift = _orthogonal(known, axes) if orthogonal else _extended(axes)
    kept = slice(n_components)
    if n_components is not None and n_components > values.size:
        raise InputError(
            f"n_components={n_components} exceeds {values.size}, the rank of the kernel matrix of the landmarks."
        )
    values, lift = values[kept], lift[:, kept]
    found = NystromKernel(values, known.columns @ lift, known.landmarks, orthogonal, known, lift)
    _check_diagonal(found)
    return found


def _extended(axes: Array) -> tuple[Array, Array]:
    """Return the eigenvalues Λ of A, and ``U Λ⁻¹``, from ``U Λ^{−½}`` [S3, eq. 4.6]."""
    values = 1.0 / np.einsum("ij,ij->j", axes, axes)
    return values, axes / np.sqrt(values) * sign_of(axes)


def _orthogonal(known: Known, axes: Array) -> tuple[Array, Array]:
    """Return the eigenvalues of the approximation, and the matrix that takes columns of K to its eigenvectors [S3, eq. 4.7]."""
    F = known.columns @ axes
    V, sizes, Q = dense.singular_vectors(F)
    return sizes**2, axes @ (Q / sizes) * sign_of(V)


def _extreme(form: Form, sense: Literal["max", "min"]) -> float:
    """Return the largest or the smallest eigenvalue of a symmetric matrix."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it does not matter if several are equal
        return float(solve(TraceProblem(form, None, sense), 1, random_state=0).values[0])


def _check_diagonal(found: NystromKernel) -> None:
    """Raise if a given diagonal is less than that of the approximation, and warn if that of a given matrix is."""
    diagonal = found.known.diagonal
    if diagonal is None:
        return
    i = int(np.argmin(found._left))
    if found._left[i] >= -_ROUNDING * float(np.abs(diagonal).max()):
        return
    least = f"is less than {diagonal[i] - found._left[i]:.6g}, which the columns of the landmarks imply for a positive semidefinite kernel"
    if found.known.rows is None:
        raise KernelError(f"diagonal[{i}] = {diagonal[i]:.6g} {least}. Pass the diagonal of the same kernel.")
    warn(
        f"The kernel matrix is not positive semidefinite: K[{i}, {i}] = {diagonal[i]:.6g} {least}. The errors of its approximation can be "
        "as large as the matrix. Use nearest_psd first, or another kernel.",
        IndefiniteWarning,
    )


# ---------------------------------------------------------------------- what is known
def _known(X: Any, kernel: Any, landmarks: LandmarksLike, diagonal: Any, random_state: RandomState) -> Known:
    if is_precomputed(kernel):
        K = _values(X, "The entries of the kernel matrix")
        if K.shape[0] != K.shape[1]:
            return _of_columns(K, landmarks, diagonal)
        given: Any = KernelValues(gram_matrix(KernelRows(None, {}, None), K))
    else:
        if callable(kernel) and not hasattr(kernel, "get_params") and are_objects(X, compared=True):
            _refuse_diagonal(diagonal)
            return _of_objects(ObjectPairs(PairFunction("kernel", kernel), as_objects(X)), landmarks, random_state)
        given = _points(X)
    _refuse_diagonal(diagonal)
    return _of_all(given, kernel, landmarks, random_state)


def _refuse_diagonal(diagonal: object) -> None:
    if diagonal is not None:
        raise InputError("diagonal= is for columns of a kernel matrix: here X and kernel= determine it. Leave it out.")


def _of_all(given: Any, kernel: Any, landmarks: LandmarksLike, random_state: RandomState) -> Known:
    """Return what a whole kernel matrix, or points and a kernel, determine."""
    whole = isinstance(given, KernelValues)
    values = given.values if whole else given
    near, among = landmark_kernel(kernel, given, landmarks, random_state=random_state)
    n, m = values.shape[0], len(among)
    require(24.0 * n * m, f"The kernel values of {n} points with {m} landmarks", "Use fewer landmarks.")
    rows = partial(_rows, near, values)
    diagonal = np.diagonal(values) if whole else _diagonal(near, values)
    extend = partial(_given_rows, m) if whole else partial(_rows_of_points, near, values.shape[1])
    assert near.columns is not None  # `landmark_kernel` sets them
    return Known(near(values), among, near.columns, diagonal, rows, extend)


def _rows(near: Any, X: Matrix, part: slice) -> Array:
    return np.asarray(near.block(X, part, slice(None)))


def _rows_of_points(near: Any, width: int, X: TableLike) -> Array:
    return np.asarray(near(_points(X, width)))


def _rows_of_objects(pairs: ObjectPairs, part: slice) -> Array:
    every = np.arange(pairs.n)
    return pairs.block(every[part], every)


def _diagonal(near: Any, X: Matrix, step: int = 64) -> Array:
    n = X.shape[0]
    parts = (slice(i, min(i + step, n)) for i in range(0, n, step))
    return np.concatenate([np.diagonal(near.block(X, part, part)) for part in parts])


def _of_columns(columns: Array, landmarks: LandmarksLike, diagonal: Any) -> Known:
    """Return what the columns of the landmarks determine, and the diagonal if it is given."""
    n, m = columns.shape
    chosen = _landmarks_of(columns, landmarks)
    try:
        among = gram_matrix(KernelRows(None, {}, None), columns[chosen])
    except KernelError as refusal:
        raise KernelError(
            f"Rows landmarks= of X and its columns do not belong to the same points, in the same order. {refusal}"
        ) from None
    if diagonal is not None:
        diagonal = real_numbers(diagonal, "diagonal=", InputError)
        if diagonal.shape not in ((), (n,)) or not np.all(np.isfinite(diagonal)):
            raise InputError(f"diagonal= must be one finite number, or {n} of them; got shape {diagonal.shape}.")
        diagonal = np.broadcast_to(diagonal, (n,))
    return Known(columns, among, chosen, diagonal, None, partial(_given_rows, m))


def _landmarks_of(columns: Array, landmarks: Any) -> Index:
    """Return the row numbers of the landmarks, one for every column."""
    n, m = columns.shape
    chosen = check_landmarks(landmarks, n) if np.ndim(landmarks) == 1 else None
    if chosen is None or isinstance(chosen, Landmarks) or chosen.size != m:
        raise InputError(
            f"X has shape {columns.shape}: {m} columns of a kernel matrix of {n} points, but landmarks={landmarks!r:.60} does not say "
            f"which. Pass the {m} row numbers of their points, in the order of the columns."
        )
    return chosen


def _of_objects(pairs: ObjectPairs, landmarks: LandmarksLike, random_state: RandomState) -> Known:
    """Return what a kernel of objects determines; n×m of its values are computed, and others when an error is asked for."""
    if isinstance(landmarks, Landmarks) and landmarks.choice in ("maxmin", "kmeans++"):
        raise InputError(
            f'Landmarks by "{landmarks.choice}" need coordinates; for objects use "random", "cholesky" or "leverage".'
        )
    chosen = choose_landmarks(pairs.objects[:, None], landmarks, random_state=random_state, kernel=pairs.block)
    columns = pairs.columns(chosen)
    among = gram_matrix(KernelRows(None, {}, None), columns[chosen])
    some = ObjectPairs(pairs.function, pairs.objects[chosen])
    return Known(columns, among, chosen, pairs.diagonal(), partial(_rows_of_objects, pairs), some.rows)


def _given_rows(m: int, X: TableLike) -> Array:
    K = _values(X, "The kernel values of new points")
    if K.shape[1] != m:
        raise InputError(f"X must hold the kernel values of new points with the {m} landmarks; got shape {K.shape}.")
    return K


def _values(X: Any, what: str) -> Array:
    """Return a table of finite numbers as a dense array in double precision."""
    refuse_disguised(X)
    K = real_numbers(X.toarray() if is_sparse(X) else X, what, InputError)
    if K.ndim != 2 or not K.size:
        raise InputError(f"{what} must be a table; got shape {K.shape}.")
    if bad := int(K.size - np.count_nonzero(np.isfinite(K))):
        raise InputError(f"{what} include {bad} values that are NaN or infinite. Pass the known columns only.")
    return K


def _points(X: TableLike, width: int | None = None) -> Matrix:
    """Return points as rows in double precision, with `width` columns if it is given."""
    refuse_disguised(X)
    try:
        values = check_array(X, accept_sparse="csr", dtype=np.float64)
    except (TypeError, ValueError) as failure:
        raise InputError(f"X must be a table of numbers with one row per point: {failure}") from None
    if width is not None and values.shape[1] != width:
        raise InputError(f"X has {values.shape[1]} columns, but the points of the kernel have {width}.")
    refuse_out_of_range(values)
    return as_rows(values)
