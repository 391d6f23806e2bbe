"""Convex minimisation over positive semidefinite matrices of trace one, with a bound on the remaining decrease."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.linalg as la

from ..._types import Array, Index
from ..eigen import dense

#: ``Ω -> (f(Ω), ∂f/∂Ω)``, f convex.
Objective = Callable[[Array], tuple[float, Array]]
#: Number of steps without a better bound after which only rounding remains, length of a step that is too short, and the gap, in units
#: of the trace of a quadratic objective, that is rounding.
_PATIENCE, _MIN_STEP, _ROUNDING = 5, 1e-8, 1e-13
#: A step is accepted if it achieves this share of the decrease predicted by the slope (Armijo's rule). If the values are equal up to
#: `_FLAT` of the first value, their difference is rounding, and the slope at the end of the step decides (Hager and Zhang's rule).
_ARMIJO, _FLAT = 1e-4, 1e-12


@dataclass(frozen=True, eq=False)
class Minimum:
    """Result of a minimisation.

    Attributes
    ----------
    matrix : ndarray
    values : ndarray
        The objective at the start and after each step; it never increases.
    gap : float
        Upper bound on the difference between the value and the minimum.
    converged : bool
        True if the gap is below the tolerance, or no step lowers the objective by more than rounding.
    """

    matrix: Array
    values: Array
    gap: float
    converged: bool


def minimise_on_spectrahedron(objective: Objective, start: Array, *, tol: float = 1e-6, max_iter: int = 500) -> Minimum:
    """Solve ``min f(Ω) s.t. Ω ⪰ 0, Tr Ω = 1`` by monotone projected gradients with spectral (Barzilai–Borwein) step lengths.

    A convex f is above its tangents, so ``Tr(ΩG) − λ_min(G)``, with the gradient G, bounds the remaining decrease. The iteration ends
    once this bound is at most `tol`, which may be as small as 1e-14 of the objective: slopes take the place of values that rounding hides.
    """
    matrix, (value, G) = start, objective(start)
    values, gap, length = [value], _gap(matrix, G), 1.0 / max(float(np.linalg.norm(G)), np.finfo(float).tiny)
    while gap > tol and len(values) <= max_iter:
        step = project(matrix - length * G) - matrix
        slope, share = float(np.sum(step * G)), 1.0
        for _ in range(40):
            there, new = objective(matrix + share * step)
            falls = there <= value + _ARMIJO * share * slope
            flat = there <= value + _FLAT * abs(values[0]) and float(np.sum(step * new)) <= (2 * _ARMIJO - 1) * slope
            if falls or flat:
                break
            share /= 2
        else:
            return Minimum(matrix, np.array(values), gap, True)
        moved, turned = share * step, new - G
        bend = float(np.sum(moved * turned))
        length = float(np.sum(moved * moved)) / bend if bend > 0 else 10 * length
        matrix, value, G = matrix + moved, there, new
        values.append(min(value, values[-1]))
        gap = _gap(matrix, G)
    return Minimum(matrix, np.array(values), gap, gap <= tol)


def project(M: Array) -> Array:
    """Return the nearest positive semidefinite matrix of trace one, by projecting the eigenvalues to the simplex."""
    values, Q = dense.eigenpairs(dense.symmetric(M), None, "max")
    values = (
        values - values[0]
    )  # the projection is the same for a shifted spectrum, and one is not lost beside large eigenvalues
    excess = (np.cumsum(values) - 1.0) / np.arange(1, values.size + 1)
    kept = np.maximum(values - excess[np.flatnonzero(values > excess)[-1]], 0.0)
    return np.asarray((Q * kept) @ Q.T)


def _gap(M: Array, G: Array) -> float:
    return float(np.sum(M * G) - dense.eigenpairs(dense.symmetric(G), 1)[0][0])


# ---------------------------------------------------------------------- quadratic objectives
def to_half(M: Array) -> Array:
    """Return symmetric matrices (…, m, m) as vectors (…, m(m+1)/2) with the same inner products."""
    i, j, size = _half(M.shape[-1])
    return np.asarray(M[..., i, j] * size)


def squares_as_halves(Z: Array) -> Array:
    """Return `to_half` of the products zzᵀ for vectors z (…, m)."""
    m = Z.shape[-1]
    out = np.empty((*Z.shape[:-1], m * (m + 1) // 2))
    for i in range(m):  # one row of the lower triangle at a time is many times faster than indexing all entries
        row = out[..., i * (i + 1) // 2 : (i + 1) * (i + 2) // 2]
        np.multiply(Z[..., i : i + 1], Z[..., : i + 1], out=row)
        row[..., :i] *= np.sqrt(2.0)
    return out


def from_half(v: Array) -> Array:
    """Return the symmetric matrices of such vectors, the inverse of `to_half`."""
    m = int(np.sqrt(2 * v.shape[-1]))
    i, j, size = _half(m)
    M = np.zeros((*v.shape[:-1], m, m))
    M[..., i, j] = M[..., j, i] = v / size
    return M


def minimise_quadratic(Q: Array, *, tol: float = 1e-6, max_iter: int = 100) -> Minimum:
    """Solve ``min ½ p'Qp s.t. P ⪰ 0, Tr P = 1``, p = `to_half` of P and Q ⪰ 0, by an interior point: O(m⁶) per step, some 20 steps.

    With ``S = 𝒬P − yI`` the multiplier of P ⪰ 0, a step solves ``(𝒬 + V) dP = σμP⁻¹ − 𝒬P + yI``, Tr dP = 0, where
    ``V(D) = sym(S D P⁻¹)`` (Helmberg, Kojima and Monteiro, with Mehrotra's correction). Unlike in `minimise_on_spectrahedron`, bad
    conditioning of Q costs few steps; the bound is the same. The iteration ends once the bound is at most `tol` times the objective.
    """
    size = float(np.trace(Q)) or 1.0
    path = _Quadratic(Q / size)
    values: list[float] = []
    gaps: list[float] = []
    best = path.P
    for _ in range(max_iter + 1):
        value, gap = path.value, path.gap
        if not gaps or gap < min(gaps):
            best = path.P
        values.append(size * value)
        gaps.append(gap)
        stuck = len(gaps) - int(np.argmin(gaps)) > _PATIENCE
        if gap <= tol * value or stuck or not path.advance():
            break
    least = size * min(gaps)
    value = size * path.objective(best)
    converged = least <= tol * value or min(gaps) <= _ROUNDING
    return Minimum(best, np.array([*values[: int(np.argmin(gaps))], value]), least, converged)


class _Quadratic:
    """P with its multiplier S ⪰ 0; the iteration drives PS to 0."""

    def __init__(self, Q: Array) -> None:
        m = int(np.sqrt(2 * len(Q)))
        self.Q, self.units, self.identity = Q, from_half(np.eye(len(Q))), np.eye(m)
        self.P = self.identity / m
        G = self.gradient(self.P)
        self.S = G + (float(np.linalg.norm(G)) or 1.0) * 2.0 * self.identity

    def gradient(self, P: Array) -> Array:
        return from_half(self.Q @ to_half(P))

    def objective(self, P: Array) -> float:
        p = to_half(P)
        return 0.5 * float(p @ self.Q @ p)

    @property
    def value(self) -> float:
        return self.objective(self.P)

    @property
    def gap(self) -> float:
        return _gap(self.P, self.gradient(self.P))

    def advance(self) -> bool:
        """Make one predictor–corrector step; return False if it makes no progress."""
        try:
            # scipy's inverse would warn about iterates near the boundary, where the optimum usually is
            inverse = dense.symmetric(np.asarray(np.linalg.inv(self.P), dtype=np.float64))
            self._factorise(inverse)
            mu = float(np.sum(self.P * self.S)) / len(self.P)
            dP, dS = self._step(0.0 * inverse)
            roots = [la.cholesky(M, lower=True) for M in (self.P, self.S)]
            a, b = map(dense.to_boundary, roots, (dP, dS))
            near = float(np.sum((self.P + a * dP) * (self.S + b * dS)))
            centring = min(1.0, max(near / len(self.P) / mu, 0.0)) ** 3
            dP, dS = self._step(centring * mu * inverse - dense.symmetric(dS @ dP @ inverse))
            share = 0.95 * min(map(dense.to_boundary, roots, (dP, dS)))
        except la.LinAlgError:
            return False
        self.P, self.S = dense.symmetric(self.P + share * dP), dense.symmetric(self.S + share * dS)
        self.P /= np.trace(self.P)
        return share > _MIN_STEP

    def _factorise(self, inverse: Array) -> None:
        N = len(self.Q)
        left, right = (self.units @ self.S).reshape(N, -1), (self.units @ inverse).transpose(0, 2, 1).reshape(N, -1)
        factor = la.cho_factor(self.Q + dense.symmetric(left @ right.T))
        self.solve = lambda b: la.cho_solve(factor, b)
        self.along = self.solve(to_half(self.identity))

    def _step(self, target: Array) -> tuple[Array, Array]:
        p, ones = to_half(self.P), to_half(self.identity)
        change = self.solve(to_half(target) - self.Q @ p)
        y = -float(ones @ change) / float(ones @ self.along)
        change = change + y * self.along
        return from_half(change), from_half(self.Q @ (p + change)) - y * self.identity - self.S


def _half(m: int) -> tuple[Index, Index, Array]:
    i, j = np.tril_indices(m)
    return i, j, np.where(i == j, 1.0, np.sqrt(2.0))
