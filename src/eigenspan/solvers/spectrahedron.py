"""Convex minimisation over positive semidefinite matrices of trace one, with a bound on how much is left to gain."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from . import dense

Array = NDArray[np.float64]
#: ``Ω -> (f(Ω), ∂f/∂Ω)``, f convex.
Objective = Callable[[Array], tuple[float, Array]]


@dataclass(frozen=True, eq=False)
class Minimum:
    """Where a minimisation has come to.

    Attributes
    ----------
    matrix : ndarray
    values : ndarray
        The objective at the start and after every step; it never rises.
    gap : float
        What any other matrix could still gain, at most.
    settled : bool
        The gap is below the tolerance, or no step lowers the objective beyond its rounding.
    """

    matrix: Array
    values: Array
    gap: float
    settled: bool


def minimise(objective: Objective, start: Array, *, tol: float = 1e-6, max_iter: int = 500) -> Minimum:
    """``min f(Ω) s.t. Ω ⪰ 0, Tr Ω = 1`` by projected gradients of spectral (Barzilai–Borwein) length that never climb.

    A convex f lies above its tangents: ``Tr(ΩG) − λ_min(G)``, G its gradient, bounds what any other matrix could gain, and ends the
    search once it is below `tol`.
    """
    matrix, (value, G) = start, objective(start)
    values, gap, length = [value], _gap(matrix, G), 1.0 / max(float(np.linalg.norm(G)), np.finfo(float).tiny)
    while gap > tol and len(values) <= max_iter:
        step = project(matrix - length * G) - matrix
        slope, share = float(np.sum(step * G)), 1.0
        for _ in range(40):
            there, new = objective(matrix + share * step)
            if there <= value + 1e-4 * share * slope:
                break
            share /= 2
        else:
            return Minimum(matrix, np.array(values), gap, True)
        moved, turned = share * step, new - G
        bend = float(np.sum(moved * turned))
        length = float(np.sum(moved * moved)) / bend if bend > 0 else 10 * length
        matrix, value, G = matrix + moved, there, new
        values.append(value)
        gap = _gap(matrix, G)
    return Minimum(matrix, np.array(values), gap, gap <= tol)


def project(M: Array) -> Array:
    """The nearest positive semidefinite matrix of trace one: eigenvalues to the nearest point of the simplex."""
    values, Q = dense.eigenpairs(dense.symmetric(M), None, "max")
    excess = (np.cumsum(values) - 1.0) / np.arange(1, values.size + 1)
    kept = np.maximum(values - excess[np.flatnonzero(values > excess)[-1]], 0.0)
    return np.asarray((Q * kept) @ Q.T)


def _gap(M: Array, G: Array) -> float:
    return float(np.sum(M * G) - dense.eigenpairs(dense.symmetric(G), 1)[0][0])
