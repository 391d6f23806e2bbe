"""Kernel weights that maximise the margin of a support vector machine: S4 eq. 31 as a saddle point.

For labels y = ±1 and ``G_i = diag(y) K_i diag(y)`` on the labelled points, all kernels scaled to the same trace, the problem is

    min_w ω(w),   ω(w) = max { 2·1'α − α'(Σ w_i G_i + τI)α : 0 ≤ α ≤ box, y'α = 0 },   1'w = 1,

over ``w ≥ 0``, or over w of any sign for which ``K(w) = Σ w_i K_i`` is positive semidefinite on all points. For several machines with
one kernel, ω is the sum of their values. The matrix inequality of eq. 31 is ``t ≥ ω(w)``, written with the dual of the inner maximum:
its ν and δ are the multipliers of α ≥ 0 and α ≤ box, its λ that of y'α = 0. Here the saddle point is computed directly, by a
primal–dual interior-point method (Mehrotra's predictor and corrector). Its Newton step eliminates α by one Cholesky factor of the
labelled block, which leaves a linear system in the m weights. In the semidefinite case the slack K(w) and its multiplier Z move in
the HKM direction, in coordinates in which the average kernel is the identity.

Bounds are recomputed from the point alone. Above: the primal objective of the machine that α defines with K(w). Below:
``2·1'α − τα'α − θ`` with ``θ = max_i α'G_iα`` for w ≥ 0, and with ``θ = α'G_iα + ⟨Z, K_i⟩`` equal for all i and Z ⪰ 0 otherwise.

A step costs O(ml² + l³) per machine for l labelled points, plus O(mn³) if signs are free. In that case combinations of kernels that
nearly cancel are dropped, and the bounds hold for the remaining combinations.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
import scipy.linalg as la

from ..._types import Array, Index
from ..eigen import dense

#: Share of the distance to the boundary that a step takes.
_DAMPING = 0.97
#: Directions in which the average kernel is below this share of its largest eigenvalue count as its null space.
_RANGE = 1e-10
#: Combinations of kernels that cancel to less than this share of their size count as zero.
_DISTINCT = 1e-5
#: Combinations of kernels smaller than this share of the kernels are zero up to rounding.
_ROUNDING = 1e-12
#: Points count as inseparable if the bound proves the kernels' mean square length to be this many times the squared margin.
_INSEPARABLE = 1e10
_PATIENCE = 15  #: Number of steps without a better gap before giving up.


@dataclass(frozen=True, eq=False)
class MarginSolution:
    """Weights (they sum to one) with their certificate: ``lower ≤ optimum ≤ upper``, from `weights`, `alpha` and `multiplier`."""

    weights: Array
    #: Dual variables of the labelled points; one row per machine if there are several.
    alpha: Array
    #: Z ⪰ 0 of the constraint K(w) ⪰ 0, as an n×n matrix; None for weights ≥ 0.
    multiplier: Array | None
    upper: float
    lower: float
    #: Dimension of the span of kernels that was searched, smaller than their number if they are linearly dependent. The bounds then hold
    #: for the combinations that were searched.
    rank: int
    n_iter: int
    status: str = (
        "iterations"  #: or "optimal", "stalled", "inseparable" (a hard margin whose lower bound grows without limit)
    )
    #: Size of the largest dropped combination, relative to the kernels; zero if only rounding was dropped.
    left_out: float = 0.0

    @property
    def gap(self) -> float:
        """(upper − lower) / upper."""
        return (self.upper - self.lower) / self.upper if np.isfinite(self.upper) else float("inf")


def margin_cost(G: Array, y: Array, alpha: Array, box: float) -> float:
    """Return an upper bound on ω of the matrix G: the cost of the machine with normal vector α and the best bias; infinite if it separates
    nothing.

    τ, if any, is part of the diagonal of G: the 2-norm soft margin is a hard margin with a separate feature for each point.
    """
    f = G @ alpha
    square = float(alpha @ f)
    if not np.isfinite(box):
        margin = (f[y > 0].min() + f[y < 0].min()) / 2
        return square / margin**2 if margin > 0 else float("inf")
    k = int(np.sum(y > 0)) - 1  # index at which the slope of the hinge losses in the bias changes sign
    bias = np.partition(y * (1 - f), k)[k]
    return square + 2 * box * float(np.maximum(1 - f - y * bias, 0).sum())


class _Orthant:
    """The cone w ≥ 0 with multipliers z ≥ 0."""

    def __init__(self, m: int) -> None:
        self.degree, self.span, self.left_out = m, np.eye(m), 0.0

    def start(self, level: float) -> Array:
        return np.full(self.degree, level * self.degree)

    def at(self, w: Array, Z: Array) -> None:
        self.w, self.Z, self.hessian = w, Z, np.diag(Z / w)

    def pair(self, Z: Array) -> Array:
        return Z

    def target(self, sigma: float, dw: Array | None = None, dZ: Array | None = None) -> Array:
        return (sigma if dw is None or dZ is None else sigma - dw * dZ) / self.w

    def change(self, target: Array, dw: Array) -> Array:
        return target - self.Z - self.Z / self.w * dw

    def longest(self, dw: Array, dZ: Array) -> float:
        return min(_longest(self.w, dw), _longest(self.Z, dZ))

    def certify(self, quadratics: Array) -> tuple[float, None, Array]:
        """Return θ, None (no multiplier to keep), and the weights; a weight smaller than the deficit of its kernel is set to zero."""
        theta = float(quadratics.max())
        w = np.where(self.w * abs(theta) < theta - quadratics, 0.0, self.w)
        return theta, None, w / w.sum()

    def restore(self, Z: Array | None) -> None:
        return None


class _Semidefinite:
    """The cone K(w) ⪰ 0 with multiplier Z ⪰ 0, in coordinates T in which the average kernel is the identity on its range.

    The kernels are replaced by an orthonormal basis of their span, ``Σ_i span_ij K_i``, so w represents the weights span·w.
    """

    def __init__(self, kernels: Array) -> None:
        values, Q = dense.eigenpairs(dense.symmetric(kernels.mean(axis=0)))
        keep = values > _RANGE * values[-1]
        self.T = Q[:, keep] / np.sqrt(values[keep])
        self.identity = np.sqrt(np.outer(values[keep], values[keep]))
        self.degree = r = int(keep.sum())
        K = np.array([dense.symmetric(self.T.T @ kernel @ self.T) for kernel in kernels]).reshape(-1, r * r)
        values, Q = dense.eigenpairs(dense.symmetric(K @ K.T))
        keep = values > _DISTINCT**2 * values[-1]
        self.left_out = _largest(kernels, Q[:, ~keep])
        self.span = Q[:, keep] / np.sqrt(values[keep])
        self.K = (self.span.T @ K).reshape(-1, r, r)
        gram = np.array([self.pair(self.identity * K) for K in self.K])
        self.gram = np.linalg.pinv(dense.symmetric(gram), rcond=1e-12, hermitian=True)

    def start(self, level: float) -> Array:
        return np.eye(self.degree) * level

    def at(self, w: Array, Z: Array) -> None:
        m, r = len(self.K), self.degree
        self.w, self.Z, self.roots = w, Z, [la.cholesky(M, lower=True) for M in (self._sum(w), Z)]
        self.inverse = dense.symmetric(la.cho_solve((self.roots[0], True), np.eye(r)))
        right = (self.K.reshape(m * r, r) @ self.inverse).reshape(m, -1)
        self.hessian = dense.symmetric(np.column_stack([right @ (K @ Z).T.ravel() for K in self.K]))

    def _sum(self, w: Array) -> Array:
        return np.tensordot(w, self.K, axes=1)

    def pair(self, Z: Array) -> Array:
        """Return ⟨Z, K_i⟩ for all i."""
        return self.K.reshape(len(self.K), -1) @ Z.ravel()

    def target(self, sigma: float, dw: Array | None = None, dZ: Array | None = None) -> Array:
        second = 0.0 if dw is None or dZ is None else dense.symmetric(dZ @ self._sum(dw) @ self.inverse)
        return sigma * self.inverse - second

    def change(self, target: Array, dw: Array) -> Array:
        return target - self.Z - dense.symmetric(self.Z @ self._sum(dw) @ self.inverse)

    def longest(self, dw: Array, dZ: Array) -> float:
        return min(dense.to_boundary(*pair) for pair in zip(self.roots, (self._sum(dw), dZ), strict=True))

    def certify(self, quadratics: Array) -> tuple[float, Array, Array]:
        """Return θ, a matrix Z ⪰ 0 corrected so that α'G_iα + ⟨Z, K_i⟩ is θ for all kernels, and the unchanged weights.

        The identity on all points has equal products with kernels of equal trace. Z is corrected in its metric and made PSD by adding a
        multiple of it.
        """
        ones, short = self.span.sum(axis=0), quadratics + self.pair(self.Z)
        theta = (ones @ self.gram @ short) / (ones @ self.gram @ ones)
        change = -self._sum(self.gram @ (short - theta * ones))
        change[np.diag_indices_from(change)] += max(-dense.eigenpairs(change, 1)[0][0], 0.0)
        Z = self.Z + self.identity * change
        return float(ones @ (quadratics + self.pair(Z)) / (ones @ ones)), Z, self.w

    def restore(self, Z: Array | None) -> Array:
        assert Z is not None  # `certify` computes it
        return dense.symmetric(self.T @ Z @ self.T.T)


_Cone: TypeAlias = _Orthant | _Semidefinite


def _largest(kernels: Array, combinations: Array) -> float:
    """Return the size of the largest combination (one per column), relative to the largest kernel; zero if that is rounding."""
    largest = max(float(la.norm(K)) for K in kernels)
    sizes = [float(la.norm(np.tensordot(c, kernels, axes=1))) / largest for c in combinations.T]
    return max((size for size in sizes if size > _ROUNDING), default=0.0)


def _longest(x: Array, dx: Array) -> float:
    """Return the largest step up to 1 for which x + step·dx ≥ 0."""
    down = dx < 0
    return float(min(1.0, np.min(-x[down] / dx[down], initial=np.inf)))


def _scaled_solver(A: Array) -> Callable[[Array], Array]:
    """Return a solver with a positive definite matrix whose diagonal entries differ by orders of magnitude."""
    d = 1 / np.sqrt(np.maximum(np.diag(A), np.finfo(float).tiny))
    factor = la.cho_factor(A * np.outer(d, d) + 1e-13 * np.eye(len(A)))
    return lambda b: d * la.cho_solve(factor, d * b)


@dataclass(frozen=True, eq=False)
class _Point:
    """An iterate: α and its multipliers, and the weights and their multipliers."""

    alpha: Array
    nu: Array
    delta: Array
    lam: Array
    w: Array
    Z: Array
    theta: float

    def moved(self, d: _Point, step: float) -> _Point:
        return _Point(*(getattr(self, f) + step * getattr(d, f) for f in self.__dataclass_fields__))


class _Problem:
    """One saddle-point problem: kernels of the labelled points, labels of each machine, box, τ and the cone of the weights."""

    def __init__(self, K: Array, Y: Array, box: float, tau: float, cone: _Cone) -> None:
        self.K, self.Y, self.box, self.tau, self.cone = np.tensordot(cone.span.T, K, axes=1), Y, box, tau, cone
        self.ones = cone.span.sum(axis=0)
        self.bounded = bool(np.isfinite(box))
        self.degree = cone.degree + Y.size * (2 if self.bounded else 1)

    def mixed(self, w: Array) -> list[Array]:
        """Return ``Σ w_i G_i + τI`` for each machine."""
        K = np.tensordot(w, self.K, axes=1)
        return [K * np.outer(y, y) + self.tau * np.eye(y.size) for y in self.Y]

    def start(self) -> _Point:
        """Return a start with equal weights, and with α constant within each class, at its optimal length."""
        m, alpha = len(self.cone.span), np.empty_like(self.Y)
        w = np.linalg.lstsq(self.cone.span, np.full(m, 1.0 / m), rcond=None)[0]
        w /= self.ones @ w
        for c, (y, Q) in enumerate(zip(self.Y, self.mixed(w), strict=True)):
            a = 1.0 / np.where(y > 0, np.sum(y > 0), np.sum(y < 0))
            length = 2.0 / max(float(a @ Q @ a), 1e-8 * float(np.trace(Q)) / y.size)
            alpha[c] = a * min(length, 0.5 * self.box / a.max())
        level = 2 * alpha.sum() / self.degree
        Z = self.cone.start(level)
        theta = float(self.ones @ (self.quadratics(alpha)[1] + self.cone.pair(Z)) / (self.ones @ self.ones))
        return _Point(alpha, level / alpha, level / (self.box - alpha), np.zeros(len(alpha)), w, Z, theta)

    def quadratics(self, alpha: Array) -> tuple[Array, Array]:
        """Return G_iα, of shape (m, machines, points), and α'G_iα."""
        products = ((alpha * self.Y) @ self.K) * self.Y
        return products, np.tensordot(products, alpha, axes=2)

    def complementarity(self, p: _Point) -> float:
        """Return the mean product of a slack and its multiplier."""
        above = np.vdot(p.delta, self.box - p.alpha) if self.bounded else 0.0
        return float(np.vdot(p.alpha, p.nu) + above + p.w @ self.cone.pair(p.Z)) / self.degree

    def residuals(self, p: _Point) -> tuple[Array, Array]:
        products, q = self.quadratics(p.alpha)
        mixed = np.tensordot(p.w, products, axes=1) + self.tau * p.alpha
        in_alpha = 2 - 2 * mixed - p.lam[:, None] * self.Y + p.nu - p.delta
        return in_alpha, p.theta * self.ones - q - self.cone.pair(p.Z)

    def certified(self, p: _Point, n_iter: int) -> MarginSolution:
        """Return the point with both bounds."""
        theta, Z, w = self.cone.certify(self.quadratics(p.alpha)[1])
        lower = float(2 * p.alpha.sum() - self.tau * np.vdot(p.alpha, p.alpha) - theta)
        machines = zip(self.mixed(w), self.Y, p.alpha, strict=True)
        upper = sum(margin_cost(Q, y, alpha, self.box) for Q, y, alpha in machines)
        return MarginSolution(w, p.alpha, Z, upper, lower, len(w), n_iter)


class _Newton:
    """The linearised conditions at the current point of the cone, factorised once for predictor and corrector."""

    def __init__(self, problem: _Problem, p: _Point) -> None:
        self.problem, self.p = problem, p
        self.residuals = problem.residuals(p)
        self.room = problem.box - p.alpha
        steep = p.nu / p.alpha + p.delta / self.room
        self.factors = [la.cho_factor(2 * Q + np.diag(d)) for Q, d in zip(problem.mixed(p.w), steep, strict=True)]
        self.My = [la.cho_solve(factor, y) for factor, y in zip(self.factors, problem.Y, strict=True)]
        self.B = 2 * problem.quadratics(p.alpha)[0].transpose(1, 2, 0)
        self.MB = self._solve(self.B)[0]
        self.schur = _scaled_solver(
            problem.cone.hessian + dense.symmetric(np.tensordot(self.B, self.MB, ((0, 1),) * 2))
        )
        self.ones = self.schur(problem.ones)

    def _solve(self, v: Array) -> tuple[Array, Array]:
        """Return M⁻¹v of each machine within y'α = 0, and the multipliers of that constraint."""
        found = []
        for factor, y, My, right in zip(self.factors, self.problem.Y, self.My, v, strict=True):
            x = la.cho_solve(factor, right)
            lam = (y @ x) / (y @ My)
            found.append((x - np.multiply.outer(My, lam), lam))
        return np.array([x for x, _ in found]), np.array([lam for _, lam in found])

    def direction(self, sigma: float, affine: _Point | None = None) -> _Point:
        """Return the step towards complementarity `sigma`, corrected for the second-order terms of the predictor `affine`."""
        p, cone, ones = self.p, self.problem.cone, self.problem.ones
        below = above = np.full(p.alpha.shape, sigma)
        target, (in_alpha, in_w) = cone.target(sigma), self.residuals
        if affine is not None:
            below = below - affine.alpha * affine.nu
            above = above + affine.alpha * affine.delta
            target = cone.target(sigma, affine.w, affine.Z)
            products, q = self.problem.quadratics(affine.alpha)
            in_alpha, in_w = in_alpha - 2 * np.tensordot(affine.w, products, axes=1), in_w - q
        g = in_alpha + (below / p.alpha - p.nu) - (above / self.room - p.delta)
        dw = self.schur(cone.pair(target) - cone.pair(p.Z) - in_w + np.tensordot(self.MB, g, ((0, 1),) * 2))
        theta = float((ones @ dw) / (ones @ self.ones))
        dw = dw - theta * self.ones
        alpha, lam = self._solve(g - self.B @ dw)
        nu = below / p.alpha - p.nu - p.nu / p.alpha * alpha
        delta = above / self.room - p.delta + p.delta / self.room * alpha
        return _Point(alpha, nu, delta, lam, dw, cone.change(target, dw), theta)

    def longest(self, d: _Point) -> float:
        pairs = ((self.p.alpha, d.alpha), (self.room, -d.alpha), (self.p.nu, d.nu), (self.p.delta, d.delta))
        return min(*(_longest(x, dx) for x, dx in pairs), self.problem.cone.longest(d.w, d.Z))

    def step(self) -> _Point:
        p, now = self.p, self.problem.complementarity(self.p)
        affine = self.direction(0.0)
        ahead = self.problem.complementarity(p.moved(affine, self.longest(affine)))
        d = self.direction(now * min(1.0, max(ahead / now, 0.0)) ** 3, affine)
        return p.moved(d, _DAMPING * self.longest(d))


def learn_weights(
    kernels: Array, labelled: Index, y: Array, *, box: float, tau: float, signs: str, tol: float, max_iter: int
) -> MarginSolution:
    """Compute the weights of `kernels` (m, n, n), all PSD and of equal trace, given labels ±1 of the points `labelled`.

    If y is a table, its rows are several machines with one kernel, and ω is the sum of their values.
    """
    Y, K = np.atleast_2d(y), kernels[:, labelled[:, None], labelled]
    scale = float(np.trace(K, axis1=1, axis2=2).max()) / Y.shape[1] if np.isinf(box) and tau == 0 else 0.0
    cone: _Cone = _Orthant(len(kernels)) if signs == "nonnegative" else _Semidefinite(kernels)
    problem = _Problem(K, Y, box, tau, cone)
    point, best, status, n_iter = problem.start(), None, "iterations", 0
    while status == "iterations":
        try:
            cone.at(point.w, point.Z)
            here = problem.certified(point, n_iter)
            if best is None or here.gap < best.gap or np.isinf(best.gap):
                best = here
            if best.gap <= tol:
                status = "optimal"
            elif here.lower * scale > _INSEPARABLE:
                status = "inseparable"
            elif n_iter - best.n_iter > _PATIENCE:
                status = "stalled"
            elif n_iter == max_iter:
                break
            else:
                point, n_iter = _Newton(problem, point).step(), n_iter + 1
        except la.LinAlgError:
            status = "stalled"
    assert best is not None
    weights, multiplier = cone.span @ best.weights, cone.restore(best.multiplier)
    found = replace(best, weights=weights, multiplier=multiplier, alpha=best.alpha.reshape(np.shape(y)))
    return replace(found, status=status, n_iter=n_iter, left_out=cone.left_out)
