"""Completion of kernel matrices with missing entries, and low-rank kernels learned from bounds on distances."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._checks import MAX_SIZE, check_parameter, real_numbers
from .._parameters import Count, Tolerance
from .._types import Array, Index, Mask, TableLike, VectorLike
from ..errors import ConvergenceWarning, InputError, KernelError, warn
from ..numerics.eigen import dense
from ..numerics.memory import refuse_lazy, require
from ..numerics.nearest.pair_matrices import PairTolerance
from ..numerics.sdp.completion import nearest_completion
from ..numerics.threads import threads_for

#: Eigenvalues below this share of the largest count as rounding.
_RANK = 1e-10
#: Ratio of two numbers above which the smaller one is lost in rounding.
_APART = 1e14


# ---------------------------------------------------------------------- missing entries
def complete_kernel(K: TableLike, *, near: TableLike | None = None, tol: float = 1e-8, max_iter: int = 200) -> Array:
    """Fill in the missing entries of a kernel matrix; known entries are kept.

    .. math:: \\min_{\\hat K \\succeq 0} \\lVert \\hat K - M \\rVert_F \\quad\\text{s.t.}\\quad
              \\hat K_{ij} = K_{ij} \\ \\text{ where known}

    The result is the positive semidefinite completion nearest to M, which is `near` or zero [S4, §8.4]; it is unique. If some rows are
    known and nothing else, :math:`K = [A\\ B;\\ B^T\\ ?]`, the missing block is :math:`B^T A^{-1} B`: the completion of least rank and
    trace, Nyström's formula [S3, §4.1]. It is then computed by this formula. A low-rank kernel can be recovered from part of its entries.
    If `near` is another kernel of the same points, missing entries are taken from it as far as the known ones allow.

    Cost: O(n³) per step and 10 to 50 steps, for up to some thousand points; O(nl² + l³) if l whole rows are known.

    Parameters
    ----------
    K : array-like of shape (n, n)
        Symmetric, NaN where an entry is missing.
    near : array-like of shape (n, n) or None, default=None
        M.
    tol : float, default=1e-8
        Largest error of a known entry, relative to the largest entry.
    max_iter : int, default=200

    Returns
    -------
    ndarray of shape (n, n)
        Positive semidefinite up to rounding, in the precision of K.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenspan import complete_kernel
    >>> K = np.array([[1.0, 0.9, np.nan], [0.9, 1.0, 0.9], [np.nan, 0.9, 1.0]])
    >>> complete_kernel(K).round(3)
    array([[1.  , 0.9 , 0.62],
           [0.9 , 1.  , 0.9 ],
           [0.62, 0.9 , 1.  ]])

    References
    ----------
    Graepel (2002), Kernel matrix completion by semidefinite programming; Qi & Sun (2006) for the method.
    """
    refuse_lazy(K, "K")
    _check_stops(tol, max_iter)
    single = getattr(K, "dtype", None) == np.float32
    A = _symmetric(K, "K", missing=True)
    known, n = ~np.isnan(A), len(A)
    _check_entries(A, known)
    require(
        8.0 * 12 * n**2,
        f"The completion of a matrix of {n}×{n}",
        "Complete the rows of some points only, and use Nyström's formula.",
    )
    with threads_for(n):
        whole = np.asarray(known.all(axis=1))
        if near is None and whole.any() and not known[np.ix_(~whole, ~whole)].any():
            found = _from_rows(A, whole)
        else:
            M = np.zeros_like(A) if near is None else _symmetric(near, "near")
            if M.shape != A.shape:
                raise InputError(
                    f"near has shape {M.shape}, but K has shape {A.shape}. Both must hold the same points."
                )
            most, size = float(np.abs(M).max()), float(np.abs(A[known]).max())
            if size and most / _APART > size:
                raise InputError(
                    f"The largest entry of near is {most:.3g}, but the largest known entry of K is {size:.3g}. Scale both to the same size."
                )
            found = _nearest(A, known, M, tol, max_iter)
    return found.astype(np.float32 if single else np.float64, copy=False)


def _nearest(A: Array, known: Mask, M: Array, tol: float, max_iter: int) -> Array:
    size = float(np.abs(A[known]).max(initial=0.0)) or 1.0
    found = nearest_completion(A / size, known, M / size, tol=tol, max_iter=max_iter)
    if found.impossible:
        raise _no_completion(
            f"the dual problem proves it after {found.n_iter} steps, with known entries off by {size * found.violation:.3g}"
        )
    if found.violation > tol:
        warn(
            f"The completion has known entries off by up to {size * found.violation:.2g} after {found.n_iter} steps (wanted "
            f"{tol * size:.2g}), so there may be no exact completion. Raise max_iter or tol, or set doubtful entries to NaN.",
            ConvergenceWarning,
        )
    return size * found.matrix


def _from_rows(A: Array, whole: Mask) -> Array:
    """Complete a matrix of which some rows are known and nothing else, by ``BᵀA⁺B``."""
    block, B = A[np.ix_(whole, whole)], A[np.ix_(whole, ~whole)]
    values, Q = dense.eigenpairs(block, None, "max")
    top = max(float(values[0]), 0.0)
    live = values > _RANK * top
    Z = Q.T @ B
    if values[-1] < -1e-8 * top or np.abs(Z[~live]).max(initial=0.0) > 1e-6 * float(np.abs(A[whole]).max()):
        raise _no_completion(f"the block of the known rows has eigenvalues from {values[-1]:.3g} to {values[0]:.3g}")
    out = A.copy()
    Z = Z[live] / np.sqrt(values[live])[:, None]
    out[np.ix_(~whole, ~whole)] = Z.T @ Z
    return out


def _no_completion(why: str) -> KernelError:
    return KernelError(
        f"No positive semidefinite matrix has these entries: {why}. Set doubtful entries to NaN, or fill in the missing entries by hand "
        "and use nearest_psd."
    )


def _check_stops(tol: float, max_iter: int) -> None:
    check_parameter("tol", tol, Tolerance, InputError)
    check_parameter("max_iter", max_iter, Count, InputError)


def _symmetric(K: TableLike, name: str, missing: bool = False) -> Array:
    frame: Any = K
    if missing and hasattr(K, "notna"):
        frame = frame.astype(object).where(frame.notna(), np.nan)
    A = real_numbers(frame, f"The entries of {name}", InputError)
    if A.ndim != 2 or A.shape[0] != A.shape[1] or not A.size:
        raise InputError(f"{name} must be a square matrix, n rows and n columns; got shape {A.shape}.")
    bad = int(np.sum(np.isinf(A) if missing else ~np.isfinite(A)))
    if bad:
        raise InputError(f"{name} holds {bad} values that are {'' if missing else 'NaN or '}infinite.")
    apart = np.abs(np.where(np.isnan(A), 0.0, A) - np.where(np.isnan(A.T), 0.0, A.T))
    if np.any(np.isnan(A) != np.isnan(A.T)) or apart.max() > PairTolerance.of(A).difference:
        raise InputError(
            f"{name} is not symmetric: entries differ by up to {apart.max():.3g} (NaN counts as zero). Pass (K + K.T) / 2, or set both "
            "entries of a pair to NaN."
        )
    return (A + A.T) / 2


def _check_entries(A: Array, known: Mask) -> None:
    """Raise an error for entries that no positive semidefinite matrix has, by 2×2 minors, and for rows without a known entry."""
    empty = np.flatnonzero(~known.any(axis=1))
    if empty.size:
        raise InputError(
            f"{empty.size} of {len(A)} rows have no known entry (rows {', '.join(map(str, empty[:5]))}). Leave these points out."
        )
    d = np.diagonal(A)
    lengths = np.sqrt(np.maximum(d, 0.0))
    limit = np.multiply.outer(lengths, lengths)
    size = float(np.abs(A[known]).max())
    negative = np.flatnonzero(d < 0)
    if negative.size:
        raise _no_completion(f"K[{negative[0]}, {negative[0]}] = {d[negative[0]]:.3g} is negative")
    i, j = np.nonzero(np.abs(A) > limit + 1e-8 * size)
    if i.size:
        raise _no_completion(
            f"K[{i[0]}, {j[0]}] = {A[i[0], j[0]]:.3g} exceeds the product of the lengths {lengths[i[0]]:.3g} and {lengths[j[0]]:.3g}"
        )


# ---------------------------------------------------------------------- distances of pairs
@dataclass(frozen=True, eq=False)
class LowRankKernel:
    """A low-rank kernel whose distances of some pairs satisfy bounds.

    Attributes
    ----------
    factor : ndarray of shape (n, r)
        ``K = factor @ factor.T``, with the same range as the given kernel.
    divergence, bound : float
        LogDet divergence from the given kernel, and a lower bound on the divergence of every kernel that satisfies the bounds.
    violation : float
        Largest relative violation of a bound.
    weights : ndarray of shape (m,)
        Dual weights of the pairs: positive if the upper bound is active, negative if the lower one is.
    n_iter : int
        Number of sweeps over all pairs.
    """

    factor: Array
    divergence: float
    bound: float
    violation: float
    weights: Array
    n_iter: int

    @property
    def kernel(self) -> Array:
        """The n×n matrix K."""
        return self.factor @ self.factor.T


def low_rank_kernel(
    K: TableLike, pairs: TableLike, *, upper: float | VectorLike = np.inf, lower: float | VectorLike = 0.0,
    rank: int | None = None, tol: float = 1e-6, max_iter: int = 1000,
) -> LowRankKernel:  # fmt: skip
    """Return the kernel nearest to a low-rank kernel whose squared distances of some pairs lie within bounds.

    .. math:: \\min_{K} \\operatorname{tr}(K K_0^\\dagger) - \\log\\det(K K_0^\\dagger) - r \\quad\\text{s.t.}\\quad
              l_{ij} \\le K_{ii} - 2K_{ij} + K_{jj} \\le u_{ij}

    The objective is the LogDet divergence from K₀. It is finite only for kernels with the range of K₀, so the rank is preserved without a
    constraint and the problem is convex [S4, §8.4]. Use it to adapt a kernel to known pairs: similar (small u) or dissimilar (large l).
    The solver is Bregman's method of cyclic projections onto the bounds, each in closed form. The weights of the pairs are dual variables
    and give a bound on the distance from the optimum.

    Cost: O(n³) for the factor of K₀ (O(nr²) if it is given), then O(r²) per pair in every sweep.

    Parameters
    ----------
    K : array-like of shape (n, n), or (n, r) with r < n
        The positive semidefinite K₀, or a factor F with K₀ = FFᵀ.
    pairs : array-like of int, shape (m, 2)
    upper, lower : float or array-like of shape (m,)
        Bounds u and l on squared distances; equal bounds fix the distance.
    rank : int or None, default=None
        First reduce K₀ to this many leading axes; None keeps all.
    tol : float, default=1e-6
        Largest relative violation of a bound, and gap between divergence and its lower bound, relative to the divergence if that
        exceeds one.
    max_iter : int, default=1000
        Maximum number of sweeps.

    Returns
    -------
    LowRankKernel

    Examples
    --------
    >>> import numpy as np
    >>> from eigenspan import low_rank_kernel
    >>> F = np.random.default_rng(0).standard_normal((20, 3))
    >>> found = low_rank_kernel(F @ F.T, [[0, 1], [2, 3]], upper=[0.1, 0.2])
    >>> Y = found.factor
    >>> Y.shape, bool(np.sum((Y[0] - Y[1]) ** 2) <= 0.1 * (1 + 1e-6))
    ((20, 3), True)

    References
    ----------
    Kulis, Sustik & Dhillon (2006), Learning low-rank kernel matrices.
    """
    _check_stops(tol, max_iter)
    check_parameter("rank", rank, Count | None, InputError)
    F = _factor(K, rank)
    pairs, low, up = _bounds(pairs, lower, upper, len(F))
    G = F[pairs[:, 0]] - F[pairs[:, 1]]
    now = np.sum(G * G, axis=1)
    still = np.flatnonzero((now <= _RANK * float(np.sum(F * F)) / len(F)) & (low > 0))
    if still.size:
        i, j = pairs[still[0]]
        raise InputError(
            f"Rows {i} and {j} coincide in the kernel but have a positive lower bound, as have {still.size} pair(s) in all. No "
            "kernel of the same "
            "range separates them: drop these bounds."
        )
    lost = np.flatnonzero((now / _APART > up) | (low / _APART > now))
    if lost.size:
        e = lost[0]
        raise InputError(
            f"{lost.size} of {len(pairs)} pairs would have to change by a factor of more than {_APART:.0e}, such as rows {pairs[e, 0]} and "
            f"{pairs[e, 1]} from a squared distance of {now[e]:.3g} to one between {low[e]:.3g} and {up[e]:.3g}. Give bounds "
            "in the unit of K."
        )
    return _project(F, G, low, up, tol, max_iter)


def _project(F: Array, G: Array, low: Array, up: Array, tol: float, max_iter: int) -> LowRankKernel:
    """Solve by Bregman projections for ``K = F M Fᵀ``, ``M = (I + Σ w gg')⁻¹``: each step computes the best weight of one pair."""
    w, tightest = np.zeros(len(G)), 1.0 / np.where(low > 0, low, np.finfo(float).tiny)
    for sweep in range(1, max_iter + 1):
        M = np.linalg.inv(np.eye(F.shape[1]) + G.T @ (w[:, None] * G))
        for e, g in enumerate(G):
            h = M @ g
            v = float(g @ h)
            if v <= 0:
                continue
            free = 1.0 / v - w[e]  # inverse of the squared distance without the bounds of this pair
            change = min(max(0.0, 1.0 / up[e] - free), tightest[e] - free) - w[e]
            if change:
                w[e] += change
                M -= change / (1 + change * v) * np.outer(h, h)
        found = _judged(F, G, low, up, w, sweep)
        if found.violation <= tol and abs(found.divergence - found.bound) <= tol * max(1.0, found.divergence):
            return found
    warn(
        f"After {max_iter} sweeps the bounds are violated by up to {found.violation:.2g} (relative), and the divergence is "
        f"{found.divergence:.4g} with a lower bound of {found.bound:.4g}. The bounds may contradict each other, or be far from "
        "the distances "
        "of K. Raise max_iter or tol, or leave pairs out.",
        ConvergenceWarning,
    )
    return found


def _judged(F: Array, G: Array, low: Array, up: Array, w: Array, sweep: int) -> LowRankKernel:
    """Return the kernel of these weights, with its violation and both bounds on the divergence."""
    values, Q = dense.eigenpairs(dense.symmetric(np.eye(F.shape[1]) + G.T @ (w[:, None] * G)))
    root = Q / np.sqrt(values)
    v = np.sum((G @ root) ** 2, axis=1)
    excess = np.maximum(v / up - 1, np.where(low > 0, 1 - v / np.where(low > 0, low, 1.0), 0.0))
    logs = float(np.sum(np.log(values)))
    bounds = np.where(w > 0, np.where(np.isfinite(up), up, 0.0), low)
    divergence = float(np.sum(1 / values)) + logs - values.size
    return LowRankKernel(
        F @ root, divergence, logs - float(w @ bounds), max(float(excess.max(initial=0.0)), 0.0), w.copy(), sweep
    )


def _factor(K: TableLike, rank: int | None) -> Array:
    """Return F with ``FFᵀ = K``, on its principal axes."""
    refuse_lazy(K, "K")
    A = real_numbers(K, "The entries of K", InputError)
    if A.ndim == 2 and A.shape[1] < A.shape[0]:
        if not np.all(np.isfinite(A)):
            raise InputError(f"The factor holds {int(np.sum(~np.isfinite(A)))} values that are NaN or infinite.")
        if np.abs(A).max(initial=0.0) > MAX_SIZE:
            raise InputError(
                f"The largest entry of the factor is {np.abs(A).max():.3g}, whose square overflows. Divide the factor by a constant first."
            )
        values, Q = dense.eigenpairs(dense.symmetric(A.T @ A), None, "max")
        F = A @ Q
    else:
        values, Q = dense.eigenpairs(_symmetric(K, "K"), None, "max")
        if values[-1] < -1e-8 * max(float(values[0]), np.finfo(float).tiny):
            raise KernelError(
                f"K is not positive semidefinite: its smallest eigenvalue is {values[-1]:.3g}, the largest {values[0]:.3g}. Use "
                "nearest_psd."
            )
        F = Q * np.sqrt(np.maximum(values, 0.0))
    live = int(np.sum(values > _RANK * max(float(values[0]), 0.0)))
    if not live:
        raise InputError(
            "K is zero, so all points coincide and no kernel of the same range separates them. Use another K."
        )
    if rank is not None and rank > live:
        raise InputError(f"rank={rank} must lie between 1 and {live}, the rank of K.")
    return np.ascontiguousarray(F[:, : live if rank is None else rank])


def _bounds(
    pairs: TableLike, lower: float | VectorLike, upper: float | VectorLike, n: int
) -> tuple[Index, Array, Array]:
    """Return the checked pairs and bounds, one of each per pair."""
    try:
        ends = np.asarray(pairs)
    except ValueError:
        raise InputError("pairs must be whole numbers of shape (m, 2); got rows of different lengths.") from None
    if ends.ndim != 2 or ends.shape[1] != 2 or not len(ends) or ends.dtype.kind not in "iu":
        raise InputError(
            f"pairs must be whole numbers of shape (m, 2), two row numbers each; got shape {ends.shape} of {ends.dtype}."
        )
    if ends.min() < 0 or ends.max() >= n or np.any(ends[:, 0] == ends[:, 1]):
        raise InputError(
            f"pairs must join different rows between 0 and {n - 1}; they are {ends.min()} to {ends.max()}."
        )
    low, up = (_one_per_pair(bound, name, len(ends)) for bound, name in ((lower, "lower"), (upper, "upper")))
    wrong = np.flatnonzero(~((low >= 0) & (up > 0) & (low <= up) & np.isfinite(low)))
    if wrong.size:
        e = wrong[0]
        raise InputError(
            f"{wrong.size} of {len(ends)} pairs have bounds that no squared distance satisfies, such as {low[e]:.3g} to {up[e]:.3g} for "
            f"rows {ends[e, 0]} and {ends[e, 1]}. Use 0 <= lower <= upper and upper > 0."
        )
    return ends.astype(np.intp), low, up


def _one_per_pair(bound: float | VectorLike, name: str, m: int) -> Array:
    """Return a bound for each of m pairs."""
    values = real_numbers(bound, f"The bounds {name}=", InputError)
    if values.shape not in ((), (m,)):
        raise InputError(f"{name} has shape {values.shape}, but there are {m} pairs. Pass one number, or one per pair.")
    return np.broadcast_to(values, (m,))
