"""Maximum likelihood for rows with gaps by parameter-expanded EM (Liu, Rubin & Wu, 1998); the likelihood never falls.

The maximisation step also estimates a mean and a covariance of the latent variables, which are then absorbed into W and the mean: far
fewer steps are needed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ..._diagnostics import note, stage
from ...errors import ConvergenceWarning, DegenerateWarning, warn
from ...numerics.eigen import dense
from ...numerics.eigen.centred import Centred, leading_axes
from ...numerics.memory import require
from ...numerics.threads import one_blas_thread
from ...problem.dimension_rules import bic
from .missing_entries import Gapped, Latent, Triangle

#: Least noise, relative to the mean variance of an entry.
_FLOOR = 1e-10
#: Largest number of steps and tolerance, relative to that of the fit, when numbers of axes are compared.
_STEPS, _LOOSE = 12, 5.0
#: Widest bracket in which all numbers are tried, and number of parabola steps before.
_NEAR, _PARABOLAS = 8, 2


@dataclass(frozen=True, eq=False)
class LatentCourse:
    """Result of an iteration: the model, the log-likelihood at every step, and whether it has converged."""

    model: Latent
    log_likelihoods: list[float]
    converged: bool


def improved(model: Latent, rows: Gapped) -> tuple[Latent, float]:
    """Return the model after one step of EM, and the log-likelihood before it. Cost O(nDd² + nd³), half of it if rows share patterns."""
    (D, d), n = model.W.shape, len(rows.order)
    require(24.0 * D * (d + 1) ** 2, f"Sums over {d} axes for {D} columns", "Ask for fewer components.")
    small, large = Triangle(d), Triangle(d + 1)
    squares, total = small.squares(model.W), 0.0
    G, H, moments = np.zeros((D, large.rows.size)), np.zeros((D, d + 1)), np.zeros(large.rows.size)
    for piece in rows.pieces(d):
        found = model.expected(rows, piece, small, squares)
        total += float(found.log_likelihood.sum())
        Z = np.hstack([found.means, np.ones((len(found.means), 1))])
        S = piece.sums(Z)
        S[:, :d, :d] += np.bincount(piece.which)[:, None, None] * found.covariances
        packed = large.pack(S)
        G += piece.patterns.T @ packed
        moments += packed.sum(axis=0)
        H += rows.values[piece.rows].T @ Z
    # Regress every column on the latent variables and a constant, over the rows where it is observed.
    coef = np.linalg.solve(large.unpack(G), H[:, :, None])[:, :, 0]
    left = float(np.sum(rows.values**2) - np.sum(coef * H)) / float(rows.there.sum())
    M = large.unpack(moments[None])[0] / n
    centre, spread = M[:d, d], M[:d, :d] - np.outer(M[:d, d], M[:d, d])
    W = np.asarray(coef[:, :d] @ np.linalg.cholesky(spread), dtype=np.float64)
    return Latent(W, coef[:, d] + coef[:, :d] @ centre, max(left, _FLOOR)), total


def maximise(model: Latent, rows: Gapped, tol: float, max_iter: int) -> LatentCourse:
    """Run EM steps until one gains less than `tol` per entry."""
    reached: list[float] = []
    entries = float(rows.there.sum())
    for _ in range(max_iter):
        better, value = improved(model, rows)
        reached.append(value)
        if len(reached) > 1 and value - reached[-2] <= tol * entries:
            return LatentCourse(model, reached, True)
        model = better
    return LatentCourse(model, [*reached, improved(model, rows)[1]], False)


def first_guess(rows: Gapped, d: int, rng: np.random.Generator) -> Latent:
    """Return a model from the principal axes of the rows with gaps filled by column means."""
    n, D = rows.values.shape
    share = float(rows.there.mean())
    s, axes = leading_axes(Centred(rows.values, np.zeros(D)), d, rng)[:2]
    # Filled entries have no variance, so variances are divided by the share of observed entries.
    variances = s**2 / (n * share)
    left = (float(np.sum(rows.values**2)) - float(np.sum(s**2))) / (n * share * (D - d))
    # If the noise starts far above the variance of an axis, EM loses the axis.
    noise = max(left, 0.05 * float(variances.min(initial=1.0)))
    W = 0.01 * np.sqrt(noise / D) * rng.standard_normal((D, d))  # EM never leaves an axis of length zero
    W[:, : s.size] += axes * np.sqrt(np.maximum(variances - noise, 0.01 * variances))
    return Latent(W, np.zeros(D), noise)


def fit_gaps(
    rows: Gapped, n_components: int | Literal["auto"], tol: float, max_iter: int, rng: np.random.Generator
) -> LatentCourse:
    """Return the model of largest likelihood, for rows about their column means and scaled to mean variance one."""
    n = len(rows.order)
    with stage("start"), one_blas_thread():  # for many small products, also below
        start = best_start(rows, tol, rng) if n_components == "auto" else first_guess(rows, int(n_components), rng)
    with stage("expectation and maximisation"), one_blas_thread():
        course = maximise(start, rows, tol, max_iter)
    trace, entries, d = course.log_likelihoods, int(rows.there.sum()), start.W.shape[1]
    note(iterations=len(trace), patterns=rows.patterns)
    if not course.converged:
        warn(
            f"After max_iter={max_iter} steps the log-likelihood still gains {(trace[-1] - trace[-2]) / entries:.1e} for each observed "
            f"entry and step (wanted tol={tol:g}): the axes may still turn. Use a larger max_iter= or tol=, or fewer components.",
            ConvergenceWarning,
        )
    if course.model.noise <= _FLOOR:
        warn(
            f"{d} axes leave nothing of the {entries} observed entries of {n} rows as noise: other axes would do as well, and what is "
            "imputed is arbitrary. Use fewer components.",
            DegenerateWarning,
        )
    return course


# ---------------------------------------------------------------------- number of axes
def best_start(rows: Gapped, tol: float, rng: np.random.Generator) -> Latent:
    """Return a model with the number of axes that minimises the Bayesian information criterion of the observed entries.

    Numbers grow by 50 % until the criterion rises; models of fewer axes start from truncated larger ones.
    """
    n, D = rows.values.shape
    found: dict[int, Latent] = {}

    def cost(k: int) -> float:
        larger = min((size for size in found if size > k), default=None)
        guess = first_guess(rows, k, rng) if larger is None else truncated(found[larger], k)
        course = maximise(guess, rows, _LOOSE * tol, _STEPS)
        found[k] = course.model
        return float(bic(course.log_likelihoods[-1], k, n, D))

    return found[least(cost, min(n - 2, D - 1))]


def truncated(model: Latent, k: int) -> Latent:
    """Return the model with its k longest axes; the variance along the others is added to the noise."""
    U, lengths, _ = dense.principal_axes(model.W, rtol=0.0)
    return Latent(U[:, :k] * lengths[:k], model.mean, model.noise + float(np.sum(lengths[k:] ** 2)) / (len(U) - k))


def least(cost: Callable[[int], float], most: int) -> int:
    """Return the number from 1 to `most` of least cost, assuming that the cost first falls and then rises.

    Small numbers are exact. Others are found to a few per cent, by parabolas through the best number tried and its neighbours.
    """
    costs = {1: cost(1)}
    last = 1
    while last < most:
        before, last = last, min(most, last + max(1, last // 2))
        costs[last] = cost(last)
        if costs[last] > costs[before]:
            break
    for _ in range(_PARABOLAS):
        low, best, high = _bracket(costs)
        k = _bottom([low, best, high], costs) if low < best < high and high - low > _NEAR else best
        if k in costs:
            break
        costs[k] = cost(k)
    low, best, high = _bracket(costs)
    if high - low <= _NEAR:
        costs |= {k: cost(k) for k in range(high, low, -1) if k not in costs}
    return min(costs, key=lambda k: costs[k])


def _bracket(costs: dict[int, float]) -> tuple[int, int, int]:
    """Return the best number tried with its neighbours, or with itself in place of a missing neighbour."""
    tried = sorted(costs)
    place = min(range(len(tried)), key=lambda i: costs[tried[i]])
    return tried[max(place - 1, 0)], tried[place], tried[min(place + 1, len(tried) - 1)]


def _bottom(at: list[int], costs: dict[int, float]) -> int:
    """Return the minimum of the parabola through the costs of three numbers, of which the middle one is least."""
    a, b, c = at
    left, right = (costs[b] - costs[a]) / (b - a), (costs[c] - costs[b]) / (c - b)
    return round((a + b) / 2 - left * (c - a) / (2 * (right - left))) if right > left else b
