"""Posing and solving the one problem.

::

    min or max  Tr(V'AV)   s.t.  V'BV = I            TraceProblem
    max         Tr(V'AV) / Tr(V'BV)  s.t.  V'CV = I  TraceRatio

`pose` states a method as a form, a unit and a basis; `solve` takes the problem to standard form, calls a solver and
refines, orders and checks what comes back.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from .._diagnostics import note, stage
from .._types import Array
from ..errors import ConvergenceError, ConvergenceWarning, DimensionError, InputError, MemoryLimitError, warn
from ..numerics.eigen import Solver, as_solver, dense
from ..numerics.eigen.trace_ratio import trace_ratio
from ..numerics.memory import require
from ..numerics.threads import threads_for
from .basis import Features, Samples
from .direct_sum import DirectSum
from .form import Form, diagonal, identity
from .orientation import relative_gap
from .scale import Unit
from .spectrum import Spectrum, report_resolution, seed_of
from .standard_form import Standard, ridged, standardise

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
    #: Coefficients to the axes in coordinates that all machines have in common, where the basis does not know: see `Spectrum.oriented`.
    witness: Callable[[Array], Array] | None = None
    #: What eigenvalues are measured against besides ‖A‖, which is rounding itself where the objective vanishes; see `Spectrum`.
    size: float = 0.0
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
    size = 0.0 if isinstance(basis, Samples) else _size(form, M) * (basis.size() if B is None else 1.0)
    if B is not None and not isinstance(basis, Samples):
        if sense == "min" and form.psd:
            A = with_ridge(A, ridge, relative)
        else:
            plain, B = B, with_ridge(B, ridge, relative)
            size *= share_of(plain, B)
    exclude = basis.constant() if form.kills_constant else None
    return Posed(TraceProblem(A, B, sense, exclude), basis, scale or Unit(), skip, size=size)


def _size(form: Form, M: Form) -> float:
    """What the eigenvalues of the form under the unit M are in the mean over all functions of the samples.

    Those of the few functions that a basis spans may all be zero, and are then rounding of this.
    """
    unit = float(np.abs(M.diagonal()).sum())
    return float(np.abs(form.diagonal()).sum()) / unit if unit > np.finfo(float).tiny else 0.0


def share_of(plain: Form, ridged: Form) -> float:
    """What a unit measures of itself with a ridge, in the mean: eigenvalues are smaller by this factor."""
    whole = float(ridged.diagonal().sum())
    return max(float(plain.diagonal().sum()), 0.0) / whole if whole > np.finfo(float).tiny else 1.0


def _masses(M: Form) -> Array:
    """``M 1``, exactly zero where it is no more than rounding in the entries of M: a mean of rounding errors is no centre."""
    if M.kills_constant:
        return np.zeros(M.n)
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
    return ridged(M, epsilon)


# ---------------------------------------------------------------------- solving
def solve(
    problem: TraceProblem | TraceRatio,
    n_components: int,
    *,
    solver: str | Solver = "auto",
    random_state: Any = 0,
    advice: str = "",  # where the axes are not unique
    size: float = 0.0,
) -> Spectrum:
    """The best `n_components` axes of a trace problem, B-orthonormal, refined by Rayleigh–Ritz, with residuals and gap.

    Signs, and rotations within equal eigenvalues, are those of `Spectrum.oriented` in the coordinates of the problem. Eigenvalues are
    equal if they differ by less than rounding at ‖A‖ or at `size`, whichever is larger.
    """
    if isinstance(problem, TraceRatio):
        return _solve_ratio(problem, n_components, solver, advice, size)
    with stage("standard form"):
        standard = standardise(problem.A, problem.B, problem.exclude, problem.sense)
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
        spectrum = _run(standard, problem.sense, n_components, wanted, as_solver(solver), rng, size)
    report_resolution(spectrum, advice)
    return spectrum.oriented()


def as_solved(problem: TraceProblem | TraceRatio, spectrum: Spectrum) -> TraceProblem | TraceRatio:
    """The problem that `spectrum` solves: with the ridge that a singular unit form was given on the way."""
    epsilon = spectrum.facts.get("ridge")
    if epsilon is not None and isinstance(problem, TraceRatio):
        return problem if problem.C is None else replace(problem, C=ridged(problem.C, epsilon))
    if epsilon is None or problem.B is None:
        return problem
    return replace(problem, B=ridged(problem.B, epsilon))


def _run(
    standard: Standard, sense: Sense, k: int, wanted: int, solver: Solver, rng: np.random.Generator, size: float
) -> Spectrum:
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
    level = 0.0 if known else max(norm, size)
    gap = relative_gap(values[k - 1], beyond, level) if values.size > k else np.inf
    note(solver=name, **standard.facts)
    return Spectrum(values[:k], standard.back(U[:, :k]), residuals[:k], gap, beyond, name, norm, standard.facts, level)


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


def _solve_ratio(
    problem: TraceRatio, k: int, solver: str | Solver = "auto", advice: str = "", size: float = 0.0
) -> Spectrum:
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
    gap = relative_gap(values[k - 1], values[k], max(norm, size)) if values.size > k else np.inf
    facts = {**facts, "trace_ratio": rho}
    note(solver="TraceRatio", **facts)
    beyond = float(values[k]) if values.size > k else np.nan
    V = V if T is None else T @ V
    spectrum = Spectrum(values[:k], V, residuals, gap, beyond, "TraceRatio", norm, facts, max(norm, size))
    spectrum.warn_if_degenerate(advice)
    return spectrum.oriented()


def _metric(problem: TraceRatio) -> tuple[Array | None, dict]:
    """The T with ``T'CT = I`` and ``T'CN = 0`` that makes a trace ratio one with orthonormal axes; None for I."""
    if problem.C is None and problem.exclude is None:
        return None, {}
    n = problem.A.n
    require(48.0 * n**2, f"A trace ratio of order {n}", "Use the features as basis, with reduce=, or landmarks.")
    sizes = [max(M.norm(), np.finfo(float).tiny) for M in (problem.A, problem.B)]
    both = replace((1 / sizes[0]) * problem.A + (1 / sizes[1]) * problem.B, psd=False)  # what null(C) must not touch
    standard = standardise(both, problem.C, problem.exclude, "max")
    N = standard.exclude
    inside = np.eye(standard.A.n) if N is None else dense.singular_vectors(N, complete=True)[0][:, N.shape[1] :]
    return standard.back(inside), standard.facts
