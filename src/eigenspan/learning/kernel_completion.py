"""Kernel matrices with missing entries, and kernels of low rank learned from distances."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._checks import MAX_SIZE, check_parameter, real_numbers
from .._parameters import Count, Tolerance
from .._types import Array, Index
from ..errors import ConvergenceWarning, InputError, KernelError, warn
from ..numerics.eigen import dense
from ..numerics.memory import refuse_lazy, require
from ..numerics.nearest.pair_matrices import PairTolerance
from ..numerics.sdp.completion import nearest_completion
from ..numerics.threads import threads_for

#: Share of the largest eigenvalue below which one is rounding.
_RANK = 1e-10
#: How many times larger one of two numbers may be before rounding leaves nothing of the other.
_APART = 1e14


# ---------------------------------------------------------------------- missing entries
def complete_kernel(K: Any, *, near: Any = None, tol: float = 1e-8, max_iter: int = 200) -> Array:
    """The kernel matrix with the entries that are known, and those that are missing filled in.

    .. math:: \\min_{\\hat K \\succeq 0} \\lVert \\hat K - M \\rVert_F \\quad\\text{s.t.}\\quad
              \\hat K_{ij} = K_{ij} \\ \\text{ where known}

    Of all positive semidefinite completions the one nearest to `near`, M = 0 unless given [S4, §8.4]; it is unique. Where some rows are
    known and nothing else, :math:`K = [A\\ B;\\ B^T\\ ?]`, it is :math:`B^T A^{-1} B`, the completion of least rank and trace and Nyström's
    formula [S3, §4.1], and is computed so. A kernel of low rank comes back whole from a part of its entries. With `near` another
    kernel of the same points, missing entries are taken from there as far as the known ones allow.

    Cost: O(n³) a step and some 10 to 50 steps; of known rows O(nl² + l³) for l of them. A thousand points.

    Parameters
    ----------
    K : array-like of shape (n, n)
        Symmetric, NaN where an entry is missing.
    near : array-like of shape (n, n) or None, default=None
        M.
    tol : float, default=1e-8
        By how much a known entry may be off, as a share of the largest.
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
        "Complete the rows of some points, and use Nyström's formula.",
    )
    with threads_for(n):
        whole = known.all(axis=1)
        if near is None and whole.any() and not known[np.ix_(~whole, ~whole)].any():
            found = _from_rows(A, whole)
        else:
            M = np.zeros_like(A) if near is None else _symmetric(near, "near")
            if M.shape != A.shape:
                raise InputError(f"near has shape {M.shape}, and K {A.shape}: both are over the same points.")
            most, size = float(np.abs(M).max()), float(np.abs(A[known]).max())
            if size and most / _APART > size:
                raise InputError(
                    f"near reaches {most:.3g}, and the known entries of K {size:.3g}: bring them to one scale."
                )
            found = _nearest(A, known, M, tol, max_iter)
    return found.astype(np.float32 if single else np.float64, copy=False)


def _nearest(A: Array, known: Any, M: Array, tol: float, max_iter: int) -> Array:
    size = float(np.abs(A[known]).max(initial=0.0)) or 1.0
    found = nearest_completion(A / size, known, M / size, tol=tol, max_iter=max_iter)
    if found.impossible:
        raise _no_completion(
            f"the dual proves it after {found.n_iter} steps, with entries off by {size * found.violation:.3g}"
        )
    if found.violation > tol:
        warn(
            f"The completion has known entries off by up to {size * found.violation:.2g} after {found.n_iter} steps (wanted "
            f"{tol * size:.2g}): either there is none, or hardly any. Raise max_iter or tol, or leave doubtful entries out.",
            ConvergenceWarning,
        )
    return size * found.matrix


def _from_rows(A: Array, whole: Any) -> Array:
    """BᵀA⁺B of the rows that are known."""
    block, B = A[np.ix_(whole, whole)], A[np.ix_(whole, ~whole)]
    values, Q = dense.eigenpairs(block, None, "max")
    top = max(float(values[0]), 0.0)
    live = values > _RANK * top
    Z = Q.T @ B
    if values[-1] < -1e-8 * top or np.abs(Z[~live]).max(initial=0.0) > 1e-6 * float(np.abs(A[whole]).max()):
        raise _no_completion(
            f"the rows that are known have eigenvalues from {values[-1]:.3g} to {values[0]:.3g} among themselves"
        )
    out = A.copy()
    Z = Z[live] / np.sqrt(values[live])[:, None]
    out[np.ix_(~whole, ~whole)] = Z.T @ Z
    return out


def _no_completion(why: str) -> KernelError:
    return KernelError(
        f"No positive semidefinite matrix has these entries: {why}. No points have these inner products. Make doubtful entries NaN, or "
        "fill the table in by hand and use nearest_psd."
    )


def _check_stops(tol: Any, max_iter: Any) -> None:
    check_parameter("tol", tol, Tolerance, InputError)
    check_parameter("max_iter", max_iter, Count, InputError)


def _symmetric(K: Any, name: str, missing: bool = False) -> Array:
    if missing and hasattr(K, "notna"):
        K = K.astype(object).where(K.notna(), np.nan)
    A = real_numbers(K, f"The entries of {name}", InputError)
    if A.ndim != 2 or A.shape[0] != A.shape[1] or not A.size:
        raise InputError(f"{name} must be a square matrix, n rows and n columns; got shape {A.shape}.")
    bad = int(np.sum(np.isinf(A) if missing else ~np.isfinite(A)))
    if bad:
        raise InputError(f"{name} holds {bad} values that are {'' if missing else 'NaN or '}infinite.")
    apart = np.abs(np.where(np.isnan(A), 0.0, A) - np.where(np.isnan(A.T), 0.0, A.T))
    if np.any(np.isnan(A) != np.isnan(A.T)) or apart.max() > PairTolerance.of(A).difference:
        raise InputError(
            f"{name} is not symmetric: entries differ by up to {apart.max():.3g} (NaN counting as zero). Pass (K + K.T) / 2, or make "
            "both entries of a pair NaN."
        )
    return (A + A.T) / 2


def _check_entries(A: Array, known: Any) -> None:
    """Refuse what one or two points alone show to be impossible, and points of which nothing is known."""
    empty = np.flatnonzero(~known.any(axis=1))
    if empty.size:
        raise InputError(
            f"Nothing is known of {empty.size} of {len(A)} points (rows {', '.join(map(str, empty[:5]))}): leave them out."
        )
    d = np.diagonal(A)
    lengths = np.sqrt(np.maximum(d, 0.0))
    limit = np.multiply.outer(lengths, lengths)
    size = float(np.abs(A[known]).max())
    negative = np.flatnonzero(d < 0)
    if negative.size:
        raise _no_completion(f"K[{negative[0]}, {negative[0]}] = {d[negative[0]]:.3g} is a squared length")
    i, j = np.nonzero(np.abs(A) > limit + 1e-8 * size)
    if i.size:
        raise _no_completion(
            f"K[{i[0]}, {j[0]}] = {A[i[0], j[0]]:.3g} is more than the lengths {lengths[i[0]]:.3g} and {lengths[j[0]]:.3g} allow"
        )


# ---------------------------------------------------------------------- distances of pairs
@dataclass(frozen=True, eq=False)
class LowRankKernel:
    """A kernel of low rank that keeps distances of pairs.

    Attributes
    ----------
    factor : ndarray of shape (n, r)
        ``K = factor @ factor.T``, which spans what the kernel spanned that it was made of.
    divergence, bound : float
        LogDet divergence from that kernel; and what the weights prove that no kernel which keeps the distances goes below.
    violation : float
        Largest excess over a bound, as a share of it.
    weights : ndarray of shape (m,)
        Of the pairs: positive where the upper bound holds them, negative where the lower does.
    n_iter : int
        Sweeps over all pairs.
    """

    factor: Array
    divergence: float
    bound: float
    violation: float
    weights: Array
    n_iter: int

    @property
    def kernel(self) -> Array:
        """K, n×n."""
        return self.factor @ self.factor.T


def low_rank_kernel(
    K: Any,
    pairs: Any,
    *,
    upper: Any = np.inf,
    lower: Any = 0.0,
    rank: int | None = None,
    tol: float = 1e-6,
    max_iter: int = 1000,
) -> LowRankKernel:
    """The kernel nearest to another of low rank that puts pairs of points as near, and as far apart, as they should be.

    .. math:: \\min_{K} \\operatorname{tr}(K K_0^\\dagger) - \\log\\det(K K_0^\\dagger) - r \\quad\\text{s.t.}\\quad
              l_{ij} \\le K_{ii} - 2K_{ij} + K_{jj} \\le u_{ij}

    the LogDet divergence from K₀, which is finite only for kernels of the same range: the rank stays what it is without being
    constrained, and the problem is convex [S4, §8.4]. Use it to bend a kernel to what is known of some pairs: that they are alike (u
    small), or not (l large). Solved by Bregman's projections onto one bound after another, each in closed form; the weights of the pairs
    are dual variables, and prove how near the optimum is.

    Cost: O(n³) for the factor of K₀ (O(nr²) where it is given), then O(r²) a pair in every sweep.

    Parameters
    ----------
    K : array-like of shape (n, n), or (n, r) with r < n
        K₀, positive semidefinite; or a factor F of it, K₀ = FFᵀ.
    pairs : array-like of int, shape (m, 2)
    upper, lower : float or array-like of shape (m,)
        Bounds u and l on squared distances; equal ones fix them.
    rank : int or None, default=None
        Keep this many leading axes of K₀ first; None for all.
    tol : float, default=1e-6
        Largest excess over a bound, as a share of it, and gap between divergence and bound, relative where it is above one.
    max_iter : int, default=1000
        Sweeps at most.

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
            f"Rows {i} and {j} coincide in the kernel, and {still.size} such pair(s) are to be apart: no kernel of its range can do that."
        )
    lost = np.flatnonzero((now / _APART > up) | (low / _APART > now))
    if lost.size:
        e = lost[0]
        raise InputError(
            f"{lost.size} of {len(pairs)} pairs are to change beyond rounding, such as rows {pairs[e, 0]} and {pairs[e, 1]} from a squared "
            f"distance of {now[e]:.3g} to one between {low[e]:.3g} and {up[e]:.3g}: bounds are in the unit of K."
        )
    return _project(F, G, low, up, tol, max_iter)


def _project(F: Array, G: Array, low: Array, up: Array, tol: float, max_iter: int) -> LowRankKernel:
    """Bregman's projections on M of ``K = F M Fᵀ``, ``M = (I + Σ w gg')⁻¹``: each is the best weight of one pair."""
    w, tightest = np.zeros(len(G)), 1.0 / np.where(low > 0, low, np.finfo(float).tiny)
    for sweep in range(1, max_iter + 1):
        M = np.linalg.inv(np.eye(F.shape[1]) + G.T @ (w[:, None] * G))
        for e, g in enumerate(G):
            h = M @ g
            v = float(g @ h)
            if v <= 0:
                continue
            free = 1.0 / v - w[e]  # one over the squared distance, were the pair not held
            change = min(max(0.0, 1.0 / up[e] - free), tightest[e] - free) - w[e]
            if change:
                w[e] += change
                M -= change / (1 + change * v) * np.outer(h, h)
        found = _judged(F, G, low, up, w, sweep)
        if found.violation <= tol and abs(found.divergence - found.bound) <= tol * max(1.0, found.divergence):
            return found
    warn(
        f"After {max_iter} sweeps squared distances break their bounds by up to {found.violation:.2g} of them, and the divergence is "
        f"{found.divergence:.4g}, no less than {found.bound:.4g} at best: bounds that contradict each other, or lie far from "
        "what K has. Raise max_iter or tol, or leave pairs out.",
        ConvergenceWarning,
    )
    return found


def _judged(F: Array, G: Array, low: Array, up: Array, w: Array, sweep: int) -> LowRankKernel:
    """The kernel of these weights, and what they prove."""
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


def _factor(K: Any, rank: int | None) -> Array:
    """F with ``FFᵀ = K``, on its principal axes."""
    refuse_lazy(K, "K")
    A = real_numbers(K, "The entries of K", InputError)
    if A.ndim == 2 and A.shape[1] < A.shape[0]:
        if not np.all(np.isfinite(A)):
            raise InputError(f"The factor holds {int(np.sum(~np.isfinite(A)))} values that are NaN or infinite.")
        if np.abs(A).max(initial=0.0) > MAX_SIZE:
            raise InputError(
                f"The factor reaches {np.abs(A).max():.3g}, whose square overflows: divide it by a constant first."
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
        raise InputError("K is zero: all points coincide, and no kernel of its range tells them apart.")
    if rank is not None and rank > live:
        raise InputError(f"rank={rank} must lie between 1 and {live}, the rank of K.")
    return np.ascontiguousarray(F[:, : live if rank is None else rank])


def _bounds(pairs: Any, lower: Any, upper: Any, n: int) -> tuple[Index, Array, Array]:
    try:
        ends = np.asarray(pairs)
    except ValueError:
        raise InputError("pairs must be whole numbers of shape (m, 2); got rows of different lengths.") from None
    if ends.ndim != 2 or ends.shape[1] != 2 or not len(ends) or ends.dtype.kind not in "iu":
        raise InputError(
            f"pairs must be whole numbers of shape (m, 2), a pair of rows each; got shape {ends.shape} of {ends.dtype}."
        )
    if ends.min() < 0 or ends.max() >= n or np.any(ends[:, 0] == ends[:, 1]):
        raise InputError(
            f"pairs must join different rows between 0 and {n - 1}; they are {ends.min()} to {ends.max()}."
        )
    low, up = (_one_a_pair(bound, name, len(ends)) for bound, name in ((lower, "lower"), (upper, "upper")))
    wrong = np.flatnonzero(~((low >= 0) & (up > 0) & (low <= up) & np.isfinite(low)))
    if wrong.size:
        e = wrong[0]
        raise InputError(
            f"{wrong.size} of {len(ends)} pairs have bounds that no squared distance meets, such as {low[e]:.3g} to {up[e]:.3g} of "
            f"rows {ends[e, 0]} and {ends[e, 1]}: bounds are 0 <= lower <= upper, and upper is positive."
        )
    return ends.astype(np.intp), low, up


def _one_a_pair(bound: Any, name: str, m: int) -> Array:
    values = real_numbers(bound, f"The bounds {name}=", InputError)
    if values.shape not in ((), (m,)):
        raise InputError(f"{name} has shape {values.shape}, and there are {m} pairs: pass one number, or one a pair.")
    return np.broadcast_to(values, (m,))
