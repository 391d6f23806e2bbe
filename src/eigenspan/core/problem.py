"""Posing and solving the one problem.

::

    min or max  Tr(V'AV)   s.t.  V'BV = I            TraceProblem
    max         Tr(V'AV) / Tr(V'BV)  s.t.  V'CV = I  TraceRatio

`pose` states a method as a form, a unit and a basis; `solve` takes the problem to standard form, calls a solver and
refines, orders and checks what comes back. The rule for a singular B lives here and nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from .._diagnostics import note, stage
from .._resources import require, threads_for
from ..errors import (
    ConvergenceError,
    ConvergenceWarning,
    DimensionError,
    InputError,
    MemoryLimitError,
    RidgeWarning,
    UnitError,
    warn,
)
from ..solvers import Solver, as_solver, dense
from ..solvers.ratio import trace_ratio
from .basis import DirectSum, Features, Samples
from .form import Form, diagonal, identity
from .scale import Unit
from .spectrum import Spectrum, relative_gap, report_resolution, seed_of

Array = NDArray[np.float64]
Sense = Literal["min", "max"]
Basis = Samples | Features | DirectSum

#: Residual, relative to ‖A‖, above which a solver has failed.
RESIDUAL = 1e-9


@dataclass(frozen=True, eq=False)
class TraceProblem:
    """``min or max Tr(V'AV)  s.t.  V'BV = I`` and ``V'BN = 0`` for the declared directions N.

    Parameters
    ----------
    A : Form
    B : Form or None
        None stands for I. Must be positive semidefinite.
    sense : {"min", "max"}
    exclude : ndarray of shape (m, q), optional
        Directions that are no answer, such as the constant.
    """

    A: Form
    B: Form | None
    sense: Sense
    exclude: Array | None = None


@dataclass(frozen=True, eq=False)
class TraceRatio:
    """``max (or min) Tr(V'AV) / Tr(V'BV)  s.t.  V'CV = I`` and ``V'CN = 0`` for the declared directions N [S0, eq. 5].

    C and N are as B and `exclude` in `TraceProblem`.
    """

    A: Form
    B: Form
    sense: Sense = "max"
    C: Form | None = None
    exclude: Array | None = None


@dataclass(frozen=True, eq=False)
class Posed:
    """A problem together with the basis it was restricted to and the scale of its axes."""

    problem: TraceProblem | TraceRatio
    basis: Basis
    scale: Callable[[Spectrum], Array] = field(default_factory=Unit)
    skip: int = 0
    #: How many axes, where the data decide.
    axes: int | None = None
    #: Other axes in the span of those found, with signs of their own: from coefficients V, the T of V T.
    turn: Callable[[Array], Array] | None = None
    #: What else was found on the way, by the names under which the estimator will have it.
    attributes: dict[str, Any] = field(default_factory=dict)

    def having(self, **attributes: Any) -> Posed:
        """The same, with more to be remembered."""
        return replace(self, attributes={**self.attributes, **attributes})


def pose(
    basis: Basis,
    *,
    minimise: Form | None = None,
    maximise: Form | None = None,
    over: Form | None = None,
    unit: Form | Literal["embedding", "projection"] = "embedding",
    ridge: float | None = None,
    relative_ridge: float | None = None,
    scale: Callable[[Spectrum], Array] | None = None,
    center: bool = True,
    skip: int = 0,
) -> Posed:
    """State a method.

    Parameters
    ----------
    basis : Samples, Features or DirectSum
    minimise, maximise : Form
        Exactly one of them: the objective over the samples.
    over : Form, optional
        Positive semidefinite: the traces of the two are then divided, and the problem is a `TraceRatio`. It takes the ridge.
    unit : Form, "embedding" or "projection"
        The constraint: ``Y'MY = I`` for a form M, ``Y'Y = I`` (samples with masses count as often), or ``V'V = I`` in feature space
        (orthogonal methods).
    ridge : float, optional
        ε that keeps the axes from growing long in feature space: ``B + εI``, or ``A + εI`` where a PSD form is minimised. (There a
        ridge on B would make directions in which the data hardly vary the best of all: no cost, and the unit met by ε alone.)
    relative_ridge : float, optional
        The same, relative to the mean eigenvalue of the matrix it is added to. With neither given, the basis has its default.
    scale : callable, optional
        ``spectrum -> factor`` for each axis.
    center : bool, default=True
        Centre the features with weights B1 (uniform when that vanishes).
    skip : int, default=0
        Leave out this many of the best axes: the "ignore the smallest eigenvalue" option of ONPP [S0, §4.4].

    Returns
    -------
    Posed
    """
    form, sense = _objective(minimise, maximise)
    if isinstance(unit, str) and unit not in ("embedding", "projection"):
        raise InputError(f'unit={unit!r} must be a Form, "embedding" (Y\'Y = I) or "projection" (V\'V = I).')
    masses = basis.masses if isinstance(basis, Samples) else None
    M = (identity(form.n) if masses is None else diagonal(masses)) if isinstance(unit, str) else unit
    basis = basis.centred(_masses(M) if center else None)
    A = basis.restrict(form)
    trivial = isinstance(unit, str) and (unit == "projection" or (isinstance(basis, Samples) and masses is None))
    B = None if trivial else basis.restrict(M)
    relative = getattr(basis, "relative_ridge", 0.0) if relative_ridge is None else relative_ridge
    if over is not None:
        below = basis.restrict(over)
        below = below if isinstance(basis, Samples) else with_ridge(below, ridge, relative)
        exclude = basis.constant() if form.kills_constant or over.kills_constant else None
        return Posed(TraceRatio(A, below, sense, B, exclude), basis, scale or Unit(), skip)
    if B is not None and not isinstance(basis, Samples):
        if sense == "min" and form.psd:
            A = with_ridge(A, ridge, relative)
        else:
            B = with_ridge(B, ridge, relative)
    exclude = basis.constant() if form.kills_constant else None
    return Posed(TraceProblem(A, B, sense, exclude), basis, scale or Unit(), skip)


def _masses(M: Form) -> Array:
    """``M 1``, exactly zero where it is no more than rounding in the entries of M: a mean of rounding errors is no centre."""
    masses = M.ones()
    return np.where(np.abs(masses) <= 1e-12 * np.abs(M.diagonal()).max(initial=0.0), 0.0, masses)


def _objective(minimise: Form | None, maximise: Form | None) -> tuple[Form, Sense]:
    if minimise is not None and maximise is None:
        return minimise, "min"
    if maximise is not None and minimise is None:
        return maximise, "max"
    raise InputError("Give exactly one of minimise= and maximise=.")


def with_ridge(M: Form, ridge: float | None, relative: float = 0.0) -> Form:
    """``M + εI``, ε given or relative to the mean eigenvalue, and noted."""
    # a form that is zero but for rounding may have a negative trace
    epsilon = ridge if ridge is not None else relative * max(float(M.diagonal().sum()), 0.0) / max(M.n, 1)
    if epsilon < 0:
        raise InputError(f"ridge={epsilon:g} must not be negative.")
    if epsilon == 0:
        return M
    note(ridge=epsilon)
    return _ridged(M, epsilon)


def _ridged(M: Form, epsilon: float) -> Form:
    return Form(M.n, dense=M.to_dense() + epsilon * np.eye(M.n), psd=M.psd)


# ---------------------------------------------------------------------- solving
@dataclass(frozen=True, eq=False)
class _Standard:
    """``A' u = λ u`` with ``V = back(u)`` and orthonormal excluded directions."""

    A: Form
    back: Callable[[Array], Array]
    exclude: Array | None
    facts: dict


def solve(
    problem: TraceProblem | TraceRatio,
    n_components: int,
    *,
    solver: str | Solver = "auto",
    random_state: Any = 0,
    advice: str = "",  # where the axes are not unique
) -> Spectrum:
    """The best `n_components` axes of a trace problem, B-orthonormal, refined by Rayleigh–Ritz, with residuals and gap."""
    if isinstance(problem, TraceRatio):
        return _solve_ratio(problem, n_components, solver, advice)
    with stage("standard form"):
        standard = _standardise(problem)
    excluded = 0 if standard.exclude is None else standard.exclude.shape[1]
    dim = standard.A.n - excluded
    if n_components > dim:
        what, empty = ("the rank of the centred features", ". All rows coincide.")
        if problem.exclude is not None:
            what, empty = ("samples less the constant", ": one point has no extent.")
        raise DimensionError(
            f"n_components={n_components} exceeds {dim}, the dimension of the problem ({what})"
            + (f". Use n_components <= {dim}." if dim else empty)
        )
    rng = np.random.default_rng(seed_of(random_state))
    wanted = min(n_components + 1, dim)
    with stage("eigenproblem"), threads_for(standard.A.n):
        spectrum = _run(standard, problem.sense, n_components, wanted, as_solver(solver), rng)
    report_resolution(spectrum, advice)
    return spectrum


def as_solved(problem: TraceProblem | TraceRatio, spectrum: Spectrum) -> TraceProblem | TraceRatio:
    """The problem that `spectrum` solves: with the ridge that a singular unit form was given on the way."""
    epsilon = spectrum.facts.get("ridge")
    if epsilon is not None and isinstance(problem, TraceRatio):
        return problem if problem.C is None else replace(problem, C=_ridged(problem.C, epsilon))
    if epsilon is None or problem.B is None:
        return problem
    return replace(problem, B=_ridged(problem.B, epsilon))


def _run(standard: _Standard, sense: Sense, k: int, wanted: int, solver: Solver, rng: np.random.Generator) -> Spectrum:
    A, chain = standard.A, solver.chain(standard.A, wanted, sense)
    norm, trouble = max(A.norm(), np.finfo(float).tiny), ""
    for position, attempt in enumerate(chain):
        name = type(attempt).__name__
        if trouble:
            warn(f"{trouble} {name} takes over.", ConvergenceWarning)
        try:
            _, U = attempt.pairs(A, wanted, sense, standard.exclude, rng)
            if not np.all(np.isfinite(U)):
                raise ConvergenceError("its eigenvectors are not finite")
        except (RuntimeError, MemoryLimitError) as failure:
            if position == len(chain) - 1:
                if isinstance(failure, MemoryLimitError):
                    raise
                raise ConvergenceError(f"{name} failed: {failure}.") from failure
            trouble = f"{name} failed ({failure})."
            continue
        values, U, residuals = _refine(A, U, sense, standard.exclude, norm)
        if np.all(residuals[:k] <= RESIDUAL):
            break
        trouble = f"{name} reached a relative residual of {residuals[:k].max():.1e} only (wanted {RESIDUAL:.0e})."
    else:
        raise ConvergenceError(
            f"{trouble} Its eigenvectors cannot be trusted: use another solver, or fewer components."
        )
    beyond = float(values[k]) if values.size > k else np.nan
    known = A.dense is not None and dense.is_diagonal(A.dense)  # to all digits, not to rounding of the largest
    gap = relative_gap(values[k - 1], beyond, 0.0 if known else norm) if values.size > k else np.inf
    note(solver=name, **standard.facts)
    return Spectrum(values[:k], standard.back(U[:, :k]), residuals[:k], gap, beyond, name, norm, standard.facts)


def _refine(A: Form, U: Array, sense: Sense, N: Array | None, norm: float) -> tuple[Array, Array, Array]:
    """Rayleigh–Ritz on the span of U in the complement of N: order, values and relative residuals."""
    q = 0 if N is None else N.shape[1]
    U = np.linalg.qr(U if N is None else np.hstack([N, U]))[0][:, q:]  # orthogonal to N even where U leans on it
    AU = A @ U
    values, S = dense.eigenpairs(dense.symmetric(U.T @ AU), None, sense)
    U = U @ S
    R = AU @ S - U * values
    if N is not None:
        R -= N @ (N.T @ R)
    return values, U, np.linalg.norm(R / norm, axis=0)


def _standardise(problem: TraceProblem) -> _Standard:
    A, B, N = problem.A, problem.B, problem.exclude
    if B is None or B.n == 0:
        return _Standard(A, lambda u: u, None if N is None else dense.orthonormal(N), {})
    if B.is_diagonal():
        d = B.diagonal()
        if d.min() < -1e-8 * d.max():
            raise UnitError(_not_psd(d.min(), d.max()))
        if d.min() > 1e-14 * d.max():
            s = 1.0 / np.sqrt(d)
            exclude = None if N is None else dense.orthonormal(np.sqrt(d)[:, None] * N)
            return _Standard(A.scaled(s), lambda u: s[:, None] * u, exclude, {})
    return _whiten(A, B, N, problem.sense)


def _not_psd(low: float, high: float) -> str:
    return (
        f"The unit form B is not positive semidefinite: its eigenvalues run from {low:.6g} to {high:.6g}, so V'BV = I has no "
        "bounded solution. Constrain with a positive semidefinite form, or add a ridge larger than the negative part."
    )


def _whiten(A: Form, B: Form, N: Array | None, sense: Sense) -> _Standard:
    """The rule for a general, possibly singular B.

    With null(B) ⊆ null(A) the problem lives on range(B): restrict to it. A PSD form that is minimised is bounded there too: what
    an axis holds of null(B) is free, and takes the value that costs least. Otherwise the criterion is unbounded in null(B), and
    cutting that off would throw away the best directions: add a ridge and say so.
    """
    require(
        40.0 * B.n**2,
        f"A dense unit form of order {B.n}",
        "Use a diagonal unit form, features with reduce=, or landmarks.",
    )
    Bd, Ad = dense.symmetric(B.to_dense()), dense.symmetric(A.to_dense())
    d = np.sqrt(np.maximum(np.diagonal(Bd), 0.0))  # unit diagonal first: a feature's units must not decide its fate
    s = 1.0 / np.where(d > 1e-150, d, 1.0)
    Bs, As = Bd * np.outer(s, s), Ad * np.outer(s, s)
    T, null, values = dense.whitener(Bs)
    facts: dict[str, Any] = {}
    if values[0] < -1e-8 * max(values[-1], np.finfo(float).tiny):
        low, high = dense.eigenpairs(Bd, None)[0][[0, -1]]
        raise UnitError(_not_psd(low, high))
    if null.shape[1]:
        leak = np.linalg.norm(As @ null) / max(np.linalg.norm(As), np.finfo(float).tiny)
        if sense == "min" and A.psd and T.shape[1]:
            T = T - null @ (dense.pseudo_inverse(null.T @ As @ null, As) @ (null.T @ As @ T))
            facts["rank_of_unit"] = T.shape[1]
        elif leak <= 1e-7:
            facts["rank_of_unit"] = T.shape[1]
        else:
            epsilon = 1e-6 * float(np.mean(np.diagonal(Bd)))
            warn(
                f"The unit form B has rank {T.shape[1]} of {B.n}, and the objective does not vanish on its null space: a ridge of "
                f"{epsilon:.3g} was added to B. Choose it yourself with ridge=, or reduce the features first.",
                RidgeWarning,
            )
            if not epsilon > 0:
                raise UnitError(f"The unit form B of order {B.n} is zero: no embedding has unit length in it.")
            standard = _whiten(A, _ridged(B, epsilon), N, sense)
            return replace(standard, facts={**standard.facts, "ridge": standard.facts.get("ridge", 0.0) + epsilon})
    T = s[:, None] * T
    exclude = None if N is None else _in_unit_coordinates(T, Bd, N)
    return _Standard(Form(T.shape[1], dense=dense.symmetric(T.T @ Ad @ T), psd=A.psd), lambda u: T @ u, exclude, facts)


def _in_unit_coordinates(T: Array, B: Array, N: Array) -> Array:
    """Orthonormal directions ``T'BN``; those that B sends to zero are no directions there, only their rounding is left."""
    C = T.T @ (B @ N)
    rounding = np.linalg.norm(np.abs(T.T) @ (np.abs(B) @ np.abs(N)), axis=0)
    return dense.orthonormal(C[:, np.linalg.norm(C, axis=0) > 1e-10 * rounding])


def _solve_ratio(problem: TraceRatio, k: int, solver: str | Solver = "auto", advice: str = "") -> Spectrum:
    T, facts = _metric(problem)
    A, B = (dense.symmetric(M.to_dense() if T is None else T.T @ (M @ T)) for M in (problem.A, problem.B))
    if k > A.shape[0]:
        what = "number of features" if T is None else "dimension of the problem"
        advice = f"Use n_components <= {A.shape[0]}." if len(A) else "All rows coincide."
        raise DimensionError(f"n_components={k} exceeds {A.shape[0]}, the {what}. {advice}")
    with stage("eigenproblem"):
        rho, V, values = trace_ratio(A, B, k, problem.sense, solver)
    norm = max(problem.A.norm() if T is None else float(np.linalg.norm(A)), np.finfo(float).tiny)
    residuals = np.linalg.norm((A / norm - rho * (B / norm)) @ V - V * (values[:k] / norm), axis=0)
    gap = relative_gap(values[k - 1], values[k], norm) if values.size > k else np.inf
    facts = {**facts, "trace_ratio": rho}
    note(solver="TraceRatio", **facts)
    beyond = float(values[k]) if values.size > k else np.nan
    V = V if T is None else T @ V
    spectrum = Spectrum(values[:k], V, residuals, gap, beyond, "TraceRatio", norm, facts)
    spectrum.warn_if_degenerate(advice)
    return spectrum


def _metric(problem: TraceRatio) -> tuple[Array | None, dict]:
    """The T with ``T'CT = I`` and ``T'CN = 0`` that makes a trace ratio one with orthonormal axes; None for I."""
    if problem.C is None and problem.exclude is None:
        return None, {}
    n = problem.A.n
    require(48.0 * n**2, f"A trace ratio of order {n}", "Use the features as basis, with reduce=, or landmarks.")
    sizes = [max(M.norm(), np.finfo(float).tiny) for M in (problem.A, problem.B)]
    both = replace((1 / sizes[0]) * problem.A + (1 / sizes[1]) * problem.B, psd=False)  # what null(C) must not touch
    standard = _standardise(TraceProblem(both, problem.C, "max", problem.exclude))
    N = standard.exclude
    inside = np.eye(standard.A.n) if N is None else dense.singular_vectors(N, complete=True)[0][:, N.shape[1] :]
    return standard.back(inside), standard.facts
