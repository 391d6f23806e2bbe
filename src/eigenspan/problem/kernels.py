"""Kernels: named, callable or precomputed, checked once, picklable."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal, cast

import numpy as np
import scipy.sparse as sp
from sklearn.metrics.pairwise import PAIRWISE_KERNEL_FUNCTIONS, pairwise_kernels

from .._checks import Spec, real_numbers
from .._documented import documented
from .._parameters import Finite, NotNegative, Positive, parameter
from .._types import Array, Index, Mask, Matrix, is_sparse
from ..data.x import KernelValues
from ..errors import IndefiniteWarning, KernelError, PrecisionWarning, warn
from ..numerics.eigen import dense
from ..numerics.nearest.angles import visible_rows
from ..numerics.nearest.metric import median_width
from ..numerics.nearest.pair_matrices import Asymmetry, PairTolerance, averaged
from ..numerics.nearest.squares import gaussian_kernel, moved, origin_of

_PARAMETERS = {
    "rbf": ("gamma",),
    "laplacian": ("gamma",),
    "chi2": ("gamma",),
    "sigmoid": ("gamma", "coef0"),
    "poly": ("gamma", "coef0", "degree"),
    "polynomial": ("gamma", "coef0", "degree"),
}

#: Kernels of the difference of two points: they do not depend on the origin, and are most accurate near it.
_INVARIANT = ("rbf", "laplacian")
#: Relative error of centred kernel values below which no warning is issued.
_UNNOTICED = 1e-6
#: Estimated relative error of an axis below which no warning is issued.
_UNNOTICED_IN_AXES = 1e-7
#: Kernel value, relative to the largest, below which two points are orthogonal in the feature space up to rounding.
_STRANGE = 1e-13
#: Differences of squared distances in the feature space, relative to the largest kernel value, that are rounding.
_TIED = 1e-12


@documented
class Kernel(Spec):
    """A kernel by name with its parameters.

    Parameters
    ----------
    name
        Any of scikit-learn's pairwise kernels: ``"rbf"``, ``"poly"``, ``"sigmoid"``, ``"laplacian"``, ``"cosine"``,
        ``"linear"``, ``"chi2"``, …
    gamma
        Inverse squared width. None means 1/D; ``"median"`` means 1/σ², where σ is half the median distance of at most 1000
        training points.
    degree
        Degree of the polynomial kernel ``(γ⟨x,z⟩ + coef0)^degree``.
    coef0
        Constant of the polynomial and sigmoid kernels.

    Examples
    --------
    >>> from eigenspan import Kernel, LPP
    >>> LPP(2, kernel=Kernel("poly", degree=2, gamma=1.0)).kernel.name
    'poly'
    """

    name: str = parameter(default="rbf", kw_only=False)
    gamma: Positive | Literal["median"] | None = None
    degree: NotNegative = 3
    coef0: Finite = 1

    _refusal = KernelError


class DataKernel(Spec):
    """A kernel that depends on all training points: ``bind(X)`` returns its rows, an object with the methods of `KernelRows`."""

    _refusal = KernelError

    def bind(self, X: Matrix) -> Any:
        """Return the kernel of these training points.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)

        Returns
        -------
        callable
            ``K = rows(X)``, and ``rows(X_new)`` of shape (n_new, n_samples).
        """
        raise NotImplementedError


#: Kernels whose compiled loops in scikit-learn accept writable arrays only.
_WRITING = ("chi2", "additive_chi2")


def _writable(X: Matrix) -> Matrix:
    return X if sp.issparse(X) else np.require(X, requirements="W")


@dataclass(frozen=True, eq=False)
class KernelRows:
    """Rows of kernel maps, ``x -> (k(x, x_1), …, k(x, x_r))`` for the fitted points. ``kernel=None`` means given kernel values."""

    kernel: Any
    parameters: dict
    points: Matrix
    columns: Index | None = None
    centre: Array | None = None

    def __call__(self, X: Matrix) -> Array:
        if self.kernel is None:
            K = kernel_values(X, *X.shape)
            return K if self.columns is None else K[:, self.columns]
        if callable(self.kernel):
            return kernel_values(self.kernel(X, self.points), X.shape[0], self.points.shape[0])
        Z = self.points
        if self.kernel == "rbf":
            with np.errstate(over="ignore", invalid="ignore"):  # `kernel_values` rejects values that are not finite
                K = gaussian_kernel(X, Z, self.parameters["gamma"], self.centre)
            return kernel_values(K, X.shape[0], Z.shape[0])
        if self.centre is not None:  # far from the origin, products lose the digits in which points differ
            near = moved(X, self.centre)
            X, Z = (
                near,
                near if Z is X else moved(Z, self.centre),
            )  # the same array again, so that distances to itself are zero
        if self.kernel == "cosine":
            X, Z = visible_rows(X), visible_rows(Z)
        if self.kernel in _WRITING:
            same, X = Z is X, _writable(X)
            Z = X if same else _writable(Z)
        try:
            with np.errstate(over="ignore", invalid="ignore"):  # `kernel_values` rejects values that are not finite
                K = pairwise_kernels(X, Z, metric=self.kernel, **self.parameters)
        except (TypeError, ValueError) as refusal:  # sparse points, or negative values for a kernel of counts
            raise KernelError(f"kernel={self.kernel!r} cannot be used here: {refusal}") from None
        return kernel_values(K, X.shape[0], self.points.shape[0])

    def among(self, subset: Index) -> KernelRows:
        """Return the kernel against some of the fitted points; for precomputed values, these columns."""
        return replace(self, points=None if self.points is None else self.points[subset], columns=subset)

    def block(self, X: Matrix, i: Index | slice, j: Index | slice) -> Array:
        """Return ``k(x_i, x_j)`` for two sets of rows of the training points X; X is the kernel matrix if the kernel is precomputed."""
        if self.kernel is None:
            return np.asarray(X[i].toarray() if is_sparse(X) else X[i], dtype=np.float64)[:, j]
        return replace(self, points=X[j], columns=None)(X[i])


def schur_share(rows: KernelRows, X: Matrix, explained: float) -> float:
    """Return the share of ``Σ k(x_i, x_i)`` not represented by the landmarks; `explained` is ``Σ ‖φ(x_i)‖²`` of the Nyström features.

    It is the trace of the Schur complement ``C − BᵀA⁻¹B`` over that of K [S3, §4.1.3]: zero if the landmarks span all points.
    """
    n, step = X.shape[0], 64
    if rows.kernel in ("rbf", "laplacian"):
        total = float(n)
    else:
        parts = (slice(i, min(i + step, n)) for i in range(0, n, step))
        total = sum((float(np.trace(rows.block(X, part, part))) for part in parts), 0.0)
    return max(0.0, 1.0 - explained / total) if total > 0 else 0.0


def kernel_values(K: Matrix, rows: int, columns: int) -> Array:
    """Return kernel values as a dense array in double precision. Raises KernelError for a wrong shape or values that are not finite."""
    K = real_numbers(K.toarray() if is_sparse(K) else K, "The values of a kernel", KernelError)
    if K.shape != (rows, columns):
        raise KernelError(
            f"The kernel returned shape {K.shape} for {rows} and {columns} points; it must return the {rows}×{columns} matrix of "
            "k(x_i, z_j) when called with two arrays of rows."
        )
    step = max(1, 2**20 // max(columns, 1))
    if not all(np.isfinite(K[i : i + step]).all() for i in range(0, rows, step)):
        raise KernelError(f"The kernel returned {int(np.sum(~np.isfinite(K)))} values that are NaN or infinite.")
    return K


def kernel_rows(kernel: Any, X: Matrix, *, centred: bool = False) -> Any:
    """Bind a kernel specification to its training points, with explicit parameters.

    Points are centred if this does not change the result: for kernels of differences, and for the linear kernel if its matrix will be
    `centred` (HKH).
    """
    if isinstance(X, KernelValues):
        shape = X.values.shape
        if shape[0] != shape[1]:
            raise KernelError(
                f'kernel="precomputed" takes the square kernel matrix of the training points; X has shape {shape}.'
            )
        return KernelRows(None, {}, None)
    spec = Kernel(kernel) if isinstance(kernel, str) else kernel
    if isinstance(spec, DataKernel):
        spec.check()
        return spec.bind(X)
    if not isinstance(spec, Kernel):
        if not callable(spec):
            raise KernelError(
                f"kernel={kernel!r} is neither a name, a Kernel, nor a function of two arrays of rows or of two rows."
            )
        return KernelRows(as_block_kernel(spec, X), {}, X)
    spec.check()
    if spec.name not in PAIRWISE_KERNEL_FUNCTIONS:
        raise KernelError(
            f"kernel={spec.name!r} is unknown. Use one of {', '.join(sorted(PAIRWISE_KERNEL_FUNCTIONS))}, 'precomputed', a Kernel, "
            "or a function of two arrays of rows."
        )
    values = {"gamma": spec.gamma, "degree": spec.degree, "coef0": spec.coef0}
    if spec.gamma == "median":
        values["gamma"] = 1.0 / median_width(X) ** 2
    elif spec.gamma is None:
        values["gamma"] = 1.0 / X.shape[1]  # scikit-learn's default, except for chi2, for which it uses 1
    free = spec.name in _INVARIANT or (centred and spec.name == "linear")
    # scikit-learn computes the Laplacian kernel of sparse rows by differences, which are accurate without centring
    centre = origin_of(X) if free and not (sp.issparse(X) and spec.name == "laplacian") else None
    return KernelRows(spec.name, {p: values[p] for p in _PARAMETERS.get(spec.name, ())}, X, centre=centre)


def warn_of_lost_digits(rows: KernelRows, K: Array, center: bool = True) -> bool:
    """Warn, and return True, if centring cancels so much of a kernel matrix K that rounding errors of its values are visible."""
    if not center:
        return False
    low, high, means = float(K.min()), float(K.max()), K.mean(axis=0)
    left = float(np.mean(np.abs(np.diagonal(K) - 2 * means + means.mean())))  # the diagonal of HKH
    rounding = np.finfo(float).eps * max(-low, high)
    if high == low or rounding <= _UNNOTICED * left:  # the case of coincident points is rejected later
        return False
    invariant = isinstance(rows.kernel, str) and rows.kernel in _INVARIANT
    advice = (
        "Use a larger gamma="
        if invariant
        else "Move the points to the origin first (X − X.mean(axis=0), StandardScaler)"
    )
    warn(
        f"The kernel values hardly differ: they lie between {low:.6g} and {high:.6g}, {left:.1e} remains after centring, and rounding "
        f"errors are {rounding:.0e}, so that about {np.log10(max(left / rounding, 1.0)):.0f} digits of the features are correct. "
        f"{advice}, or another kernel.",
        PrecisionWarning,
    )
    return True


def warn_of_rounded_axes(K: Array, coef: Array, Y: Array) -> None:
    """Warn about axes ``Y = K coef`` with visible rounding errors of the kernel values K.

    An axis of small variance has large coefficients of both signs. Rounding errors of K are multiplied by them, and do not cancel: their
    norm is at most that of K times that of the coefficients, times the precision of the numbers.
    """
    largest = float(np.abs(K).max(initial=0.0)) or 1.0  # squares of large values would overflow
    warn_of_known_axes(largest * float(np.linalg.norm(K / largest)) / np.sqrt(len(K)), coef, Y)


def warn_of_known_axes(size: float, coef: Array, Y: Array) -> None:
    """Warn about axes as `warn_of_rounded_axes` does, for a kernel matrix of this root mean squared norm of its columns."""
    rounding = np.finfo(float).eps * size
    errors = rounding * np.linalg.norm(coef, axis=0) / np.maximum(np.std(Y, axis=0), np.finfo(float).tiny)
    if (worst := float(errors.max(initial=0.0))) > _UNNOTICED_IN_AXES:
        warn(
            f"Axis {int(errors.argmax()) + 1} has an error of {worst:.0e} of its extent: it combines features along which points "
            f"hardly differ, and kernel values are rounded to {rounding:.0e}. Use a larger ridge=, or ask for fewer components.",
            PrecisionWarning,
        )


def warn_of_strangers(K: Array, k: int, codes: Index | None = None, rivals: int = 0) -> None:
    """Warn if a point has kernel values above rounding with fewer than k others: all further points are then equally far.

    K is the kernel matrix of the points, or their values with landmarks, of which one at least must be above rounding. With `codes`, k
    others of the same class and `rivals` points of other classes are needed. Kernels with negative values are not checked.
    """
    if K.min(initial=0.0) < 0:
        return
    n = len(K)
    seen = np.greater(K, _STRANGE * K.max(initial=0.0))
    if (m := K.shape[1]) != n:
        few = ~seen.any(axis=1)
        few &= few.sum() > 1
        what = "have no landmark at a kernel value above rounding: all of them are in one place"
        if codes is None and not few.any():
            near = seen.sum(axis=1)  # the other landmarks are equally far, and nearer than points that are no landmarks
            few = (n - m + near - 1 < min(k, n - 1)) & (m - near > 1)
            what = f"have too few landmarks at a kernel value above rounding for {k} neighbours: the other landmarks are equally far"
    else:
        np.fill_diagonal(seen, False)
        few = np.zeros(n, dtype=bool)
        for pairs, wanted in _sought(n, k, codes, rivals):
            few |= np.sum(seen & pairs, axis=1) < np.minimum(wanted, np.sum(pairs, axis=1))
        what = f"have fewer than {k} others at a kernel value above rounding: all points beyond are equally far"
    if few.any():
        warn(
            f"{few.sum()} of the {n} points (first: row {np.argmax(few)}) {what} in the feature space, so that their neighbours depend on "
            'rounding. Use a wider kernel (a smaller gamma=, or Kernel("rbf", gamma="median")), or leave out points far from all others.',
            PrecisionWarning,
        )


def warn_of_ties(K: Array, k: int, codes: Index | None = None, rivals: int = 0) -> None:
    """Warn if the k-th nearest point and the next one are equally far in the feature space, up to the rounding of the kernel matrix K.

    Points in single precision lie on a lattice, which has many equal distances far from the origin.
    """
    squares = np.diagonal(K)[:, None] + np.diagonal(K) - 2 * K
    rounding, tied = _TIED * float(np.abs(K).max(initial=0.0)), np.zeros(len(K), dtype=bool)
    for pairs, wanted in _sought(len(K), k, codes, rivals):
        if 0 < wanted < len(K):
            last, beyond = np.partition(np.where(pairs, squares, np.inf), (wanted - 1, wanted), axis=1)[
                :, wanted - 1 : wanted + 1
            ].T
            with np.errstate(invalid="ignore"):
                tied |= (beyond - last <= rounding) & (beyond > rounding)
    if tied.any():
        warn(
            f"{tied.sum()} of the {len(K)} points (first: row {np.argmax(tied)}) have a next neighbour as far as the last one counted: "
            "float32 rounds points to a lattice, and rounding decides between neighbours at equal distances in the feature space. "
            "Subtract the mean in double precision before you convert to float32, or pass float64.",
            PrecisionWarning,
        )


def _sought(n: int, k: int, codes: Index | None, rivals: int) -> Iterator[tuple[Mask, int]]:
    """Yield masks of pairs and the number of neighbours that each point needs among them."""
    others = ~np.eye(n, dtype=bool)
    if codes is None:
        yield others, k
        return
    labelled = np.outer(codes >= 0, codes >= 0)
    same = codes[:, None] == codes
    yield others & labelled & same, k
    yield labelled & ~same, rivals


@dataclass(frozen=True, eq=False)
class RowKernel:
    """A function of two rows (scikit-learn's convention) as a function of two arrays of rows. Makes one call per pair."""

    function: Callable[[Matrix, Matrix], float]

    def __call__(self, X: Matrix, Z: Matrix) -> Array:
        K = np.empty((X.shape[0], Z.shape[0]))
        for i, x in enumerate(_each_row(X)):
            K[i] = kernel_values([[self.function(x, z) for z in _each_row(Z)]], 1, Z.shape[0])
        return K


def _each_row(X: Matrix) -> Iterable[Matrix]:
    return (X[i : i + 1] for i in range(X.shape[0])) if sp.issparse(X) else X


def as_block_kernel(function: Callable[..., Matrix], X: Matrix) -> Callable[..., Matrix]:
    """Return the function if it takes two arrays of rows, or a `RowKernel` if it takes two rows; decided by calls with rows of X.

    A function of arrays returns the p×q matrix, with the same values for one row as for several. Any other function must return a single
    number for two rows.
    """
    p, q = (3, 2) if X.shape[0] > 2 else (2, 1)
    block, refusal = _attempt(function, X[:p], X[-q:])
    if block is not None and block.shape == (p, q):
        alone, _ = _attempt(function, X[:1], X[-q:])
        if alone is not None and alone.shape == (1, q) and np.allclose(alone, block[:1], equal_nan=True):
            return function
    first, last = (X[:1], X[-1:]) if sp.issparse(X) else (X[0], X[-1])
    value, row_refusal = _attempt(function, first, last)
    if value is not None and value.ndim == 0:
        return RowKernel(cast(Callable[[Matrix, Matrix], float], function))
    name = getattr(function, "__name__", repr(function))
    raise KernelError(
        f"The kernel {name} must be a function of two arrays of rows that returns the matrix of k(x_i, z_j), or of two rows that returns "
        f"their value. For {p} and {q} rows it {_outcome(block, refusal)}; for two rows it {_outcome(value, row_refusal)}."
    ) from (refusal or row_refusal)


def _attempt(function: Callable[..., Matrix], X: Matrix, Z: Matrix) -> tuple[Array | None, Exception | None]:
    """Return the values of a function, or the exception that it raised or that its values caused."""
    try:
        with np.errstate(all="ignore"):
            found = function(X, Z)
    except Exception as failure:
        return None, failure
    try:
        return real_numbers(found.toarray() if is_sparse(found) else found, "its values", KernelError), None
    except KernelError as refusal:
        return None, refusal


def _outcome(found: Array | None, refusal: Exception | None) -> str:
    if found is not None:
        return f"returned shape {found.shape}"
    if isinstance(refusal, KernelError):
        return f"returned no numbers ({str(refusal).rstrip('.')})"
    return f"raised {type(refusal).__name__} ({refusal})"


def gram_matrix(rows: KernelRows, X: Matrix) -> Array:
    """Return ``K = k(X, X)`` as a new array, checked to be square, finite and symmetric, without a second n×n array."""
    n = X.shape[0]
    if isinstance(rows.kernel, str):  # symmetric by definition, and a new array already
        return replace(rows, points=X, columns=None)(X)
    given = kernel_values(rows(X), n, n)
    found = Asymmetry.of(given)
    if found.skew > PairTolerance.of(given).difference:
        raise KernelError(
            f"The kernel matrix is not symmetric: |K_ij − K_ji| reaches {found.skew:.3g} where |K_ij| reaches {found.size:.3g}. Pass a "
            "symmetric kernel, or (K + K.T) / 2 if that is what you mean."
        )
    return averaged(given)


def feature_axes(rows: object, K: Array, size: float, rtol: float = 1e-10) -> Array:
    """Return coefficients of orthonormal axes of the feature space spanned by the points with Gram matrix K.

    `size` is the magnitude of the kernel values before centring, which determines rounding errors. `rows` is the kernel. A warning gives
    the number of directions of a linear kernel that are lost in rounding errors.
    """
    values, U = dense.eigenpairs(dense.symmetric(K), None, "max")
    top = max(values[0], np.finfo(float).tiny)
    rounding = 1e-14 * K.shape[0] * size
    if values[-1] < -max(1e-6 * top, rounding):
        warn(
            f"The kernel matrix is not positive semidefinite: its eigenvalues run from {values[-1]:.3g} to {values[0]:.3g}. The negative "
            "part has no feature space and is left out. Use a positive definite kernel if this part is not negligible.",
            IndefiniteWarning,
        )
    keep = values > max(rtol * top, rounding)
    linear, noise = getattr(rows, "kernel", None) == "linear", 8 * np.finfo(float).eps * np.sqrt(K.shape[0]) * size
    left = values[~keep & (values > (rounding if linear else max(noise, rtol * top)))]
    if left.size:
        kernel = (
            "linear kernel, whose values are squares," if linear else "kernel, which is rounded at its largest value,"
        )
        warn(
            f"{left.size} of {left.size + int(keep.sum())} directions were left out: the points vary along them by "
            f"{np.sqrt(left[0] / top):.0e} of the largest, and the {kernel} resolves directions above "
            f"{np.sqrt(max(rtol, rounding / top)):.0e} only. Standardise the columns first (StandardScaler), or drop outliers.",
            PrecisionWarning,
        )
    return U[:, keep] / np.sqrt(values[keep])


def warn_of_hidden_directions(centred: Array, found: int, columns: int, rtol: float = 1e-10) -> None:
    """Warn if cosines show fewer directions than the points have columns, and rounding hides more than `rtol` of the variance.

    `centred` is the matrix HKH of the cosines, which have the size 1.
    """
    share = 8 * np.finfo(float).eps * np.sqrt(len(centred)) / max(float(np.linalg.norm(centred)), np.finfo(float).tiny)
    if share > rtol and found < min(len(centred) - 1, columns):
        warn(
            f"{found} directions were found among points of {columns} columns: the cosines are so close to 1 that rounding hides "
            f"directions along which the points vary by less than {np.sqrt(share):.0e} of the largest. Move the points to the origin "
            "first (X − X.mean(axis=0), StandardScaler), or use another kernel.",
            PrecisionWarning,
        )
