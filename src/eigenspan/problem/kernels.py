"""Kernels: named, callable or precomputed, checked once, picklable."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

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

#: Kernels of the difference of two points: the same about any origin, and most exact near one.
_INVARIANT = ("rbf", "laplacian")
#: Relative error of centred kernel values that goes unmentioned.
_UNNOTICED = 1e-6
#: Kernel values of two points, relative to the largest, that do not show in their distance in the feature space.
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
    """A kernel that all training points decide together: ``bind(X)`` returns its rows, with the methods of `KernelRows`."""

    _refusal = KernelError

    def bind(self, X: Matrix) -> Any:
        """The kernel of these training points.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)

        Returns
        -------
        callable
            ``K = rows(X)``, and ``rows(X_new)`` of shape (n_new, n_samples).
        """
        raise NotImplementedError


#: Kernels whose compiled loops in scikit-learn take writable arrays only.
_WRITING = ("chi2", "additive_chi2")


def _writable(X: Matrix) -> Matrix:
    return X if sp.issparse(X) else np.require(X, requirements="W")


@dataclass(frozen=True, eq=False)
class KernelRows:
    """``x -> (k(x, x_1), …, k(x, x_r))`` for the fitted points: the rows of every kernel map. No kernel: the values are given."""

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
            with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is refused below, in words
                K = gaussian_kernel(X, Z, self.parameters["gamma"], self.centre)
            return kernel_values(K, X.shape[0], Z.shape[0])
        if self.centre is not None:  # far from the origin products would lose the digits that tell points apart
            near = moved(X, self.centre)
            X, Z = near, near if Z is X else moved(Z, self.centre)  # one array is at distance zero from itself
        if self.kernel == "cosine":
            X, Z = visible_rows(X), visible_rows(Z)
        if self.kernel in _WRITING:
            same, X = Z is X, _writable(X)
            Z = X if same else _writable(Z)
        try:
            with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is refused below, in words
                K = pairwise_kernels(X, Z, metric=self.kernel, **self.parameters)
        except (TypeError, ValueError) as refusal:  # sparse points, or negative ones where the kernel compares counts
            raise KernelError(f"kernel={self.kernel!r} cannot be used here: {refusal}") from None
        return kernel_values(K, X.shape[0], self.points.shape[0])

    def among(self, subset: Index) -> KernelRows:
        """The same kernel against some of the fitted points; of a precomputed one, these columns."""
        return replace(self, points=None if self.points is None else self.points[subset], columns=subset)

    def block(self, X: Matrix, i: Index | slice, j: Index | slice) -> Array:
        """Return ``k(x_i, x_j)`` for two sets of rows of the training points X; X is the kernel matrix if the kernel is precomputed."""
        if self.kernel is None:
            return np.asarray(X[i].toarray() if is_sparse(X) else X[i], dtype=np.float64)[:, j]
        return replace(self, points=X[j], columns=None)(X[i])


def schur_share(rows: KernelRows, X: Matrix, explained: float) -> float:
    """The share of ``Σ k(x_i, x_i)`` that landmarks leave out, `explained` being ``Σ ‖φ(x_i)‖²`` of the Nyström features.

    It is the trace of the Schur complement ``C − BᵀA⁻¹B`` over that of K [S3, §4.1.3]: zero where the landmarks span all points.
    """
    n, step = X.shape[0], 64
    if rows.kernel in ("rbf", "laplacian"):
        total = float(n)
    else:
        parts = (slice(i, min(i + step, n)) for i in range(0, n, step))
        total = sum((float(np.trace(rows.block(X, part, part))) for part in parts), 0.0)
    return max(0.0, 1.0 - explained / total) if total > 0 else 0.0


def kernel_values(K: Matrix, rows: int, columns: int) -> Array:
    """What a user or a user's function gave for the kernel of so many points, dense and in double precision, if it can be one."""
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
    """Bind a kernel specification to its training points, defaults made explicit.

    Points are taken about their mean where the kernel does not mind: of differences, and the linear one if its matrix will
    be `centred` (HKH), which takes the origin out.
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
        values["gamma"] = 1.0 / X.shape[1]  # scikit-learn's default, except for chi2 where it is 1 there
    free = spec.name in _INVARIANT or (centred and spec.name == "linear")
    # scikit-learn takes sparse rows by differences for the Laplacian kernel, so these can stay where they are
    centre = origin_of(X) if free and not (sp.issparse(X) and spec.name == "laplacian") else None
    return KernelRows(spec.name, {p: values[p] for p in _PARAMETERS.get(spec.name, ())}, X, centre=centre)


def warn_of_lost_digits(rows: KernelRows, K: Array) -> bool:
    """Warn, and return True, if centring takes away so much of a kernel matrix K that rounding in its values shows in what is left."""
    low, high, means = float(K.min()), float(K.max()), K.mean(axis=0)
    left = float(np.mean(np.abs(np.diagonal(K) - 2 * means + means.mean())))  # the diagonal of HKH
    rounding = np.finfo(float).eps * max(-low, high)
    if high == low or rounding <= _UNNOTICED * left:  # points that all coincide are refused later
        return False
    invariant = isinstance(rows.kernel, str) and rows.kernel in _INVARIANT
    advice = (
        "Use a larger gamma="
        if invariant
        else "Move the points to the origin first (X − X.mean(axis=0), StandardScaler)"
    )
    warn(
        f"The kernel hardly tells the points apart: its values lie between {low:.6g} and {high:.6g}, centring leaves {left:.1e} "
        f"of them, and they are known to {rounding:.0e}, so that about {np.log10(max(left / rounding, 1.0)):.0f} digits of the "
        f"features are right. {advice}, or another kernel.",
        PrecisionWarning,
    )
    return True


def warn_of_rounded_axes(K: Array, coef: Array, Y: Array) -> None:
    """Warn about axes ``Y = K coef`` in which the rounding of the kernel values K shows.

    An axis of small variance has large coefficients of both signs. Rounding errors of K are multiplied by them, and do not cancel: their
    norm is at most that of K times that of the coefficients, times the precision of the numbers.
    """
    rounding = np.finfo(float).eps * float(np.linalg.norm(K)) / np.sqrt(len(K))
    errors = rounding * np.linalg.norm(coef, axis=0) / np.maximum(np.std(Y, axis=0), np.finfo(float).tiny)
    if (worst := float(errors.max(initial=0.0))) > _UNNOTICED:
        warn(
            f"Axis {int(errors.argmax()) + 1} is known to {worst:.0e} of its extent only: it combines features along which points "
            f"hardly differ, and kernel values are rounded to {rounding:.0e}. Use a larger ridge=, or ask for fewer components.",
            PrecisionWarning,
        )


def warn_of_strangers(K: Array, k: int, codes: Index | None = None, rivals: int = 0) -> None:
    """Say so where a point has kernel values above rounding with fewer than k others: beyond these, all points are equally far.

    K is the kernel matrix of the points, or their values with landmarks, of which a point should see one. With `codes` the k others are
    of the same class, and as many `rivals` of other classes. Kernels with negative values have no such distance.
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
            near = seen.sum(axis=1)  # the other landmarks are equally far, and points that are none are nearer
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
            f"{few.sum()} of the {n} points (first: row {np.argmax(few)}) {what} in the feature space, and rounding decides which are "
            'neighbours. Take a kernel that reaches farther (a smaller gamma=, Kernel("rbf", gamma="median")), or leave out points far '
            "from all others.",
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
    """Pairs among which so many neighbours of each point are sought."""
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
    """A function of two rows, scikit-learn's convention, as one of two arrays of rows. Cost one call a pair."""

    function: Any

    def __call__(self, X: Matrix, Z: Matrix) -> Array:
        K = np.empty((X.shape[0], Z.shape[0]))
        for i, x in enumerate(_each_row(X)):
            K[i] = kernel_values([[self.function(x, z) for z in _each_row(Z)]], 1, Z.shape[0])
        return K


def _each_row(X: Matrix) -> Iterable[Matrix]:
    return (X[i : i + 1] for i in range(X.shape[0])) if sp.issparse(X) else X


def as_block_kernel(function: Any, X: Matrix) -> Any:
    """The function itself if it takes two arrays of rows, a `RowKernel` if it takes two rows; decided on a few of the rows of X.

    A function of arrays returns their p×q matrix, and the same numbers for one row as for several; of one that does neither, two rows
    must have a single number.
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
        return RowKernel(function)
    name = getattr(function, "__name__", repr(function))
    raise KernelError(
        f"The kernel {name} must be a function of two arrays of rows that returns the matrix of k(x_i, z_j), or of two rows that returns "
        f"their value. Of {p} and {q} rows it {_told(block, refusal)}; of two rows it {_told(value, row_refusal)}."
    ) from (refusal or row_refusal)


def _attempt(function: Any, X: Matrix, Z: Matrix) -> tuple[Array | None, Exception | None]:
    """The numbers that a function returns, or why there are none."""
    try:
        with np.errstate(all="ignore"):
            found = function(X, Z)
    except Exception as failure:
        return None, failure
    try:
        return real_numbers(found.toarray() if sp.issparse(found) else found, "its values", KernelError), None
    except KernelError as refusal:
        return None, refusal


def _told(found: Array | None, refusal: Exception | None) -> str:
    if found is not None:
        return f"returned shape {found.shape}"
    if isinstance(refusal, KernelError):
        return f"returned none ({str(refusal).rstrip('.')})"
    return f"raised {type(refusal).__name__} ({refusal})"


def gram_matrix(rows: KernelRows, X: Matrix) -> Array:
    """``K = k(X, X)``, checked to be square, finite and symmetric; a fresh array, and no second one on the way."""
    n = X.shape[0]
    if isinstance(rows.kernel, str):  # symmetric by definition, and already fresh
        return replace(rows, points=X, columns=None)(X)
    given = kernel_values(rows(X), n, n)
    found = Asymmetry.of(given)
    if found.skew > PairTolerance.of(given).difference:
        raise KernelError(
            f"The kernel matrix is not symmetric: |K_ij − K_ji| reaches {found.skew:.3g} where |K_ij| reaches {found.size:.3g}. Pass a "
            "symmetric kernel, or (K + K.T) / 2 if that is what you mean."
        )
    return averaged(given)


def feature_axes(rows: Any, K: Array, size: float, rtol: float = 1e-10) -> Array:
    """Coefficients of orthonormal axes of the feature space spanned by the points with Gram matrix K, rounded at `size`.

    `rows` is the kernel: directions of the linear one do not fade out, and a warning says how many of them K does not hold.
    """
    values, U = dense.eigenpairs(dense.symmetric(K), None, "max")
    top = max(values[0], np.finfo(float).tiny)
    rounding = 1e-14 * K.shape[0] * size
    if values[-1] < -max(1e-6 * top, rounding):
        warn(
            f"The kernel matrix is not positive semidefinite: its eigenvalues run from {values[-1]:.3g} to {values[0]:.3g}. The negative "
            "part has no feature space and is left out; use a positive definite kernel if it matters.",
            IndefiniteWarning,
        )
    keep = values > max(rtol * top, rounding)
    linear, noise = getattr(rows, "kernel", None) == "linear", 8 * np.finfo(float).eps * np.sqrt(K.shape[0]) * size
    left = values[~keep & (values > (rounding if linear else max(noise, rtol * top)))]
    if left.size:
        kernel = "linear kernel, which holds squares," if linear else "kernel, which is rounded at its largest value,"
        warn(
            f"{left.size} of {left.size + int(keep.sum())} directions were left out: the points vary along them by "
            f"{np.sqrt(left[0] / top):.0e} of the largest, and the {kernel} counts directions from "
            f"{np.sqrt(max(rtol, rounding / top)):.0e} on. Standardise the columns first (StandardScaler), or drop outliers.",
            PrecisionWarning,
        )
    return U[:, keep] / np.sqrt(values[keep])
