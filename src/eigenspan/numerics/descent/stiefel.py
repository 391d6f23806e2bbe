"""Minimisation over orthonormal matrices: ``min f(V) s.t. V'V = I``, for objectives that no eigenproblem minimises."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..._types import Array

#: ``V -> (f(V), ∂f/∂V)``.
Objective = Callable[[Array], tuple[float, Array]]

#: A step is accepted if it achieves this share of the decrease predicted by the slope (Armijo's rule).
_ARMIJO = 1e-4
#: Length of the first step, roughly in radians, before the curvature has been estimated.
_FIRST_STEP = 0.25
#: Largest number of step lengths tried along one direction.
_MAX_TRIALS = 25


@dataclass(frozen=True, eq=False)
class Descent:
    """Result of `minimise_on_stiefel`.

    Attributes
    ----------
    V : ndarray of shape (D, d)
        With orthonormal columns.
    values : ndarray
        The objective at the start and after each step; strictly decreasing.
    slope : float
        Norm of the gradient along the manifold at V.
    converged : bool
        True if the slope is below the tolerance, or no step lowers the objective by more than rounding.
    """

    V: Array
    values: Array
    slope: float
    converged: bool


def minimise_on_stiefel(
    objective: Objective, V: Array, *, tol: float = 1e-6, max_iter: int = 200, memory: int = 10
) -> Descent:
    """Find a local minimum near V by L-BFGS steps that keep V orthonormal and decrease f.

    Gradients are projected to the tangent space of the Stiefel manifold, ``G − V sym(V'G)``. After each step a QR factorisation
    restores orthonormal columns, and earlier steps are transported by projection. The line search is Armijo's, so the values decrease
    at each step.

    Parameters
    ----------
    objective : callable
        Value and plain (Euclidean) gradient.
    V : ndarray of shape (D, d)
        The start, with orthonormal columns.
    tol : float
        Norm of the projected gradient at which to stop.
    max_iter : int
        Maximum number of steps.
    memory : int
        Number of steps from which the curvature is estimated.
    """
    value, G = objective(V)
    g, values, pairs = project_to_tangent(V, G), [value], list[tuple[Array, Array]]()
    while (slope := float(np.linalg.norm(g))) > tol and len(values) <= max_iter:
        step = _direction(g, pairs)
        found = _search(objective, V, value, step, float(np.sum(g * step)))
        if found is None:
            if not pairs:
                return Descent(V, np.array(values), slope, True)
            pairs = []  # the curvature estimate is misleading here: restart with steepest descent
            continue
        W, value, G, length = found
        new = project_to_tangent(W, G)
        pairs = [(project_to_tangent(W, s), project_to_tangent(W, y)) for s, y in pairs]
        moved, turned = project_to_tangent(W, length * step), new - project_to_tangent(W, g)
        if np.sum(moved * turned) > 1e-10 * np.linalg.norm(moved) * np.linalg.norm(turned):
            pairs = [*pairs, (moved, turned)][-memory:]
        V, g = W, new
        values.append(value)
    return Descent(V, np.array(values), slope, slope <= tol)


def project_to_tangent(V: Array, G: Array) -> Array:
    """Project G to the tangent space of the manifold at V."""
    S = V.T @ G
    return G - V @ (S + S.T) / 2


def retract(V: Array) -> Array:
    """Return orthonormal columns with the same span; V itself if its columns are orthonormal."""
    Q, R = np.linalg.qr(V)
    return Q * np.where(np.diagonal(R) < 0, -1.0, 1.0)


def _direction(g: Array, pairs: list[tuple[Array, Array]]) -> Array:
    """Return ``−Hg`` by the two-loop recursion of L-BFGS; steepest descent if there is no curvature yet or ``−Hg`` does not descend."""
    down = -g * (_FIRST_STEP / np.linalg.norm(g))
    if not pairs:
        return down
    q, shares = g.copy(), []
    for s, y in reversed(pairs):
        share = np.sum(s * q) / np.sum(s * y)
        q -= share * y
        shares.append(share)
    s, y = pairs[-1]
    q *= np.sum(s * y) / np.sum(y * y)
    for (s, y), share in zip(pairs, reversed(shares), strict=True):
        q += s * (share - np.sum(y * q) / np.sum(s * y))
    steep = np.sum(q * g) > 1e-8 * np.linalg.norm(q) * np.linalg.norm(g)
    return -q if steep else down


def _search(
    objective: Objective, V: Array, value: float, step: Array, slope: float
) -> tuple[Array, float, Array, float] | None:
    """Return the first acceptable point along the step, with its value, gradient and step length, or None."""
    length = 1.0
    for _ in range(_MAX_TRIALS):
        W = retract(V + length * step)
        there, G = objective(W)
        if there < value and there <= value + _ARMIJO * length * slope:
            return W, there, G, length
        curvature = there - value - slope * length
        best = -slope * length / (2 * curvature) if curvature > 0 else 0.5  # minimiser of the interpolating parabola
        length *= float(np.clip(best, 0.1, 0.5))
    return None
