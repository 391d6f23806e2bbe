"""Certificates: bounds on the optimum, computed from the embedding and the weights alone, whichever solver found them.

The lower bound is the value of the embedding, shrunk until it is feasible (or minus the price of its violations). The upper bound
is weak duality, with the weights scaled until ``L(Tᵀw) − C`` is positive semidefinite. Both hold for any embedding and any weights.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TypeAlias, TypedDict

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

from ..._types import Array, Matrix, is_sparse
from ...errors import InputError
from ..eigen.dense import eigenpairs
from ..eigen.iterative import restarts
from ..factor import analyse
from ..threads import one_blas_thread
from .program import Program

#: Up to this order, eigenvalues are computed densely.
_SMALL = 200
#: Price of squared slack, times the mean bound, at which a violation by rounding costs as much as the bound itself.
_MAX_PRICE = 1.0 / np.finfo(float).eps ** 2
#: First margin tried in the proof by inertia.
_MARGIN = 1e-6


@dataclass(frozen=True)
class Certificate:
    """Bounds on the optimum of a program, and how they were obtained.

    Attributes
    ----------
    value : float
        ⟨C, K⟩, minus the cost of violated constraints.
    lower, upper : float
        The optimum lies between them. `lower` is proved if the point can be made feasible by shrinking, or if its violations are
        paid for by slack. Otherwise it is `value` less the violations times the dual weights, and `violation` measures how reliable it is.
    violation : float
        Largest excess over a bound, relative to the bound (to the mean bound if it is zero).
    proved : bool
        True if `upper` follows from the signs of a factorisation and its residual, not from an iterative eigenvalue.
    """

    value: float
    lower: float
    upper: float
    violation: float
    proved: bool = False

    @property
    def gap(self) -> float:
        """``(upper − lower) / |upper|``."""
        if self.upper == self.lower:
            return 0.0
        return (self.upper - self.lower) / abs(self.upper) if np.isfinite(self.upper) and self.upper != 0 else np.inf


class Record(TypedDict, total=False):
    """Progress of an iteration: each solver fills in the fields that it computes. Callbacks also get the embedding, as `factor`."""

    iteration: int
    value: float
    violation: float
    lower: float
    upper: float
    gap: float
    seconds: float
    rank: int
    constraints: int
    #: True if the iteration left a saddle.
    escaped: bool
    factor: Array


Callback: TypeAlias = Callable[[Record], None]


@dataclass(frozen=True, eq=False)
class Solution:
    """A primal and a dual point of a `Program`, with the bounds that they prove.

    Attributes
    ----------
    factor : ndarray of shape (N, r)
        ``K = F Fᵀ``.
    weights : ndarray of shape (m,)
        Dual weights, scaled so that ``L(Tᵀ w) ⪰ C``.
    certificate : Certificate
    iterations : int
    status : {"certified", "iterations", "time", "interrupted", "stalled"}
    history : list of Record
        One record for each certificate computed during the iteration.
    """

    program: Program
    factor: Array
    weights: Array
    certificate: Certificate
    iterations: int
    status: str
    history: list[Record] = field(default_factory=list)

    @property
    def value(self) -> float:
        return self.certificate.value

    @property
    def lower(self) -> float:
        return self.certificate.lower

    @property
    def upper(self) -> float:
        return self.certificate.upper

    @property
    def gap(self) -> float:
        return self.certificate.gap

    @property
    def rank(self) -> int:
        return int(self.factor.shape[1])

    @property
    def is_contradiction(self) -> bool:
        """True if the weights prove infeasibility: `upper` is negative, but ⟨C, K⟩ ≥ 0 for every K because C ⪰ 0."""
        if self.upper >= 0 or self.program.slack is not None:
            return False
        values = self.program.cost if np.ndim(self.program.cost) == 1 else la.eigvalsh(dense_cost(self.program))
        return bool(np.min(values) >= -1e-9 * np.max(np.abs(values)))

    def verify(self) -> Certificate:
        """Recompute the certificate from `factor` and `weights`, with `upper` proved by the signs of a factorisation."""
        F = self.program.centred(self.factor)
        lower, violation = charged_bound(self.program, F, self.weights)
        return Certificate(net_value(self.program, F), lower, proved_upper(self.program, self.weights), violation, True)


# ---------------------------------------------------------------------- lower bounds
def net_value(program: Program, F: Array) -> float:
    """Return ⟨C, K⟩ minus the cost of violated constraints."""
    paid = 0.0 if program.slack is None else program.slack.cost(program.excess(F))
    return program.variance(F) - paid


def shrink(program: Program, F: Array) -> float:
    """Return the factor α by which to multiply K: the largest that keeps it feasible, or the best one if violations have a price."""
    left = program.rows(program.squares(F))
    if program.is_monotone:
        if program.variance(F) < 0:  # the cost is indefinite, and K = 0 is better than K
            return 0.0
        bound = program.bounds > 0
        worst = float(np.max(left[bound] / program.bounds[bound], initial=0.0))
        return 1.0 / worst if worst > 0 else 1.0
    if program.slack is None:
        return 1.0
    return _best_scale(program, left, program.variance(F))


def _best_scale(program: Program, left: Array, variance: float) -> float:
    """Maximise the concave ``α·variance − ν Σ (α·left − b)₊^p`` over α, by bisection of its slope."""
    assert program.slack is not None
    size = float(np.abs(program.bounds).mean()) or 1.0  # squares of squared distances may overflow
    scaled, left, variance = program.scaled(size), left / size, variance / size
    slack, equations = scaled.slack, program.equations
    assert slack is not None

    def slope(a: float) -> float:
        over = a * left - scaled.bounds
        active = over if slack.power == 2 else np.sign(over)
        active = np.where(equations, active, np.maximum(active, 0.0))
        return variance - slack.power * float((slack.price * active) @ left)

    low, high = 0.0, 2.0
    while slope(high) > 0 and high < 1e6:
        high *= 2.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if slope(middle) > 0 else (low, middle)
    return low


def lower_bound(program: Program, F: Array) -> tuple[float, float]:
    """Return a value that is attained, and the largest relative violation of the centred point F itself."""
    over = np.abs(program.excess(F))
    size = np.where(np.abs(program.bounds) > 0, np.abs(program.bounds), np.mean(np.abs(program.bounds)) or 1.0)
    violation = float(np.max(over / size, initial=0.0))
    scale = shrink(program, F)
    return net_value(program, np.sqrt(scale) * F), violation


def charged_bound(program: Program, F: Array, w: Array) -> tuple[float, float]:
    """Return `lower_bound`; where none is proved, the value less its violations times dual weights w, which is at most the upper bound.

    ``⟨C, K⟩ = wᵀA(K) − ⟨S, K⟩ ≤ wᵀb + wᵀ(A(K) − b)`` for K ⪰ 0 and weights that are feasible for the dual, S ⪰ 0.
    """
    lower, violation = lower_bound(program, F)
    if program.is_monotone or program.slack is not None:
        return lower, violation
    return lower - float(w @ program.excess(F)), violation


# ---------------------------------------------------------------------- upper bounds
def upper_bound(program: Program, w: Array, ratio: float) -> float:
    """Return the bound by weak duality for the weights ``θ w``, θ = `ratio` = max xᵀCx / xᵀLx; infinite if they are not dual feasible."""
    slack, equations = program.slack, program.equations
    if not np.isfinite(ratio) or np.any(w[~equations] < 0):
        return np.inf
    ratio = max(ratio, 0.0)
    paid = 0.0
    if slack is not None and slack.power == 1 and np.max(np.abs(ratio * w), initial=0.0) > slack.price * (1 + 1e-12):
        return np.inf
    if slack is not None and slack.power == 2:
        paid = float(ratio**2 * (w @ w)) / (4.0 * slack.price)
    return float(ratio * (program.bounds @ w)) + paid


def largest_ratio(program: Program, w: Array, k: int = 1, tol: float = 1e-9) -> tuple[float, Array, Array]:
    """Return θ = max xᵀCx / xᵀL(Tᵀw)x over centred x, and the k largest ratios with their vectors.

    If L is not positive definite there, θ is 1 if ``L ⪰ C`` and infinite otherwise.
    """
    if _is_variance(program) and program.n > _SMALL:
        return _sparse_ratio(program, w, k, tol)
    Z = centred_basis(program.centre)
    L = as_dense(program.laplacian(program.pull(w)))
    L, C = Z.T @ L @ Z, Z.T @ dense_cost(program) @ Z
    try:
        values, V = eigenpairs(C, k, "max", unit=L)
    except la.LinAlgError:
        ratio = 1.0 if la.eigvalsh(L - C)[0] >= 0 else np.inf
        return ratio, np.full(k, ratio), np.zeros((program.n, 0))
    return max(float(values[0]), _shown_ratio(program, w, Z @ V[:, 0])), values, Z @ V


def _shown_ratio(program: Program, w: Array, x: Array) -> float:
    """Return the ratio of a vector, a lower bound of the largest ratio; zero if its tension is lost in rounding."""
    tension = float(program.pull(w) @ (program.directions @ x) ** 2)
    return program.variance(x[:, None]) / tension if tension > 0 else 0.0


def _sparse_ratio(program: Program, w: Array, k: int, tol: float) -> tuple[float, Array, Array]:
    """Compute `largest_ratio` for a diagonal C by shift-invert Lanczos on ``M^{-½} L M^{-½}``, with a shift below its spectrum."""
    n, root = program.n, np.sqrt(program.cost)
    L = program.laplacian(program.pull(w))
    S = sp.csr_array(sp.diags_array(1 / root) @ L @ sp.diags_array(1 / root))
    shift, eye = 0.05, sp.eye_array(n, format="csr")
    analysis = analyse(sp.csr_array(S + shift * eye))
    for _ in range(30):
        with suppress(RuntimeError):  # a zero pivot: the shift is too small
            factor = analysis.factorise(sp.csr_array(S + shift * eye))
            if factor.negative == 0:
                break
        shift *= 4.0
    else:
        return np.inf, np.full(k, np.inf), np.zeros((n, 0))
    flat = root / np.linalg.norm(root)

    def inverse(x: Array) -> Array:
        y = factor.solve(x - flat * (flat @ x))
        return y - flat * (flat @ y)

    rng = np.random.default_rng(0)
    start = rng.standard_normal(n)
    start -= flat * (flat @ start)
    try:
        with one_blas_thread():
            operator = LinearOperator((n, n), matvec=inverse, dtype=float)
            values, V = eigsh(operator, k=k, which="LA", v0=start, tol=tol, **restarts(rng))
    except ArpackNoConvergence:
        return np.inf, np.full(k, np.inf), np.zeros((n, 0))
    order = np.argsort(values)[::-1]
    smallest = 1.0 / values[order] - shift
    ratios = np.where(smallest > 0, 1.0 / np.where(smallest > 0, smallest, 1.0), np.inf)
    V = V[:, order] / root[:, None]
    # if weights differ by more than 1/eps, rounding cancels the shift and the ratio is wrong; the ratio of a vector is a lower bound
    x, tension = V[:, 0], float(program.pull(w) @ (program.directions @ V[:, 0]) ** 2)
    shown = float(program.cost @ x**2) / tension if tension > 0 else np.inf
    return max(float(ratios[0]), shown), ratios, V


def proved_upper(program: Program, w: Array) -> float:
    """Return an upper bound proved by a factorisation: L(Tᵀw) − C, for slightly larger weights, is PSD on the centred vectors.

    If C is a variance, the factorisation is sparse and has exactly one negative pivot, for the constant vector; ``L D Lᵀ`` is
    multiplied out, and its error must be below the margin. Otherwise the proof is a Cholesky factorisation with a bound on its rounding.
    """
    proof = _sparse_proof if _is_variance(program) else _dense_proof
    for margin in (_MARGIN, 1e-5, 1e-4, 1e-3, 1e-2):
        raised = _raised(program, w, margin)
        if proof(program, raised, 0.1 * margin):
            return upper_bound(program, raised, 1.0)
    return np.inf


def _raised(program: Program, w: Array, margin: float) -> Array:
    """Return weights with a larger L; weights at a bound set by the price stay there."""
    if program.slack is None or program.slack.power == 2:
        return (1.0 + margin) * w
    price = program.slack.price
    return np.clip(w + margin * program.signs * np.abs(w), -price, price)


def _sparse_proof(program: Program, w: Array, margin: float) -> bool:
    A = sp.csr_array(program.laplacian(program.pull(w)) - (1.0 + margin) * sp.diags_array(program.cost))
    try:
        factor = analyse(A).factorise(A)
    except RuntimeError:  # a pivot is exactly zero
        return False
    if factor.negative != 1:
        return False
    L = factor.lower()
    missed = A[factor.order][:, factor.order] - L @ sp.diags_array(factor.signs) @ L.T
    return float(abs(missed).sum(axis=1).max()) <= margin * float(program.cost.min())


def _dense_proof(program: Program, w: Array, margin: float) -> bool:
    Z = centred_basis(program.centre)
    L = Z.T @ as_dense(program.laplacian(program.pull(w))) @ Z
    C = Z.T @ dense_cost(program) @ Z
    rounding = 4.0 * len(L) * np.finfo(float).eps * float(np.abs(L.diagonal()).sum() + np.abs(C.diagonal()).sum())
    try:
        la.cholesky(L - C - rounding * np.eye(len(L)))
    except la.LinAlgError:
        return False
    return True


def check_price(program: Program) -> None:
    """Raise InputError for a price of slack that is too high or too low.

    Too high: violations by rounding cost more than can be gained. Too low (linear price): violating all bounds increases the objective.
    """
    slack = program.slack
    if slack is None:
        return
    size = float(np.abs(program.bounds).mean()) or 1.0
    if slack.power == 2 and slack.price > (most := _MAX_PRICE / size):
        raise InputError(
            f"The price {slack.price:.4g} of squared slack is too high for squared distances of {size:.3g} in the mean: violations by "
            f'rounding alone would cost more than the variance. Use price <= {most:.3g} (its unit is 1/length²), or price="auto".'
        )
    # combinations with entries of both signs have no largest weights
    if slack.power == 2 or np.any(program.signs == 0):
        return
    ratio = largest_ratio(program, np.where(program.signs > 0, slack.price, 0.0))[0]
    if ratio >= 1.0:
        raise InputError(
            f"The price {slack.price:.4g} of slack is too low: stretching every pair gains more than it costs, so the variance has no "
            f"maximum. Use price > {ratio * slack.price:.4g}."
        )


# ---------------------------------------------------------------------- linear algebra
def mirror(c: Array) -> Array:
    """Return the vector u of the Householder reflection ``I − u uᵀ`` whose columns except the first are orthogonal to c."""
    u = c / np.linalg.norm(c)
    u = u + np.where(u[0] >= 0, 1.0, -1.0) * np.eye(1, c.size)[0]
    return np.asarray(u * np.sqrt(2.0 / (u @ u)))


def centred_basis(c: Array) -> Array:
    """Return an orthonormal basis (N, N−1) of the complement of c: the last columns of a Householder reflection."""
    u = mirror(c)
    return np.asarray((np.eye(c.size) - np.outer(u, u))[:, 1:])


def as_dense(A: Matrix) -> Array:
    """Return a matrix in dense storage."""
    return np.asarray(A.toarray() if is_sparse(A) else A)


def _is_variance(program: Program) -> bool:
    """Return True if C = diag(c) > 0 and directions are sparse: the constant vector is then L- and C-orthogonal to centred vectors."""
    if np.ndim(program.cost) != 1 or not is_sparse(program.directions):
        return False
    return bool(np.all(program.cost > 0) and np.allclose(program.cost, program.centre, rtol=1e-12, atol=0.0))


def dense_cost(program: Program) -> Array:
    """Return C as a dense matrix."""
    return np.diag(program.cost) if np.ndim(program.cost) == 1 else as_dense(program.cost)
