"""Posing and solving the one problem.

::

    min or max  Tr(V'AV)   s.t.  V'BV = I            TraceProblem
    max         Tr(V'AV) / Tr(V'BV)  s.t.  V'CV = I  TraceRatio

`pose` states a method as a form, a unit and a basis. `solve` takes the problem to standard form, calls a solver, and refines, orders and
checks the eigenpairs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

import numpy as np

from .._diagnostics import note, stage
from .._types import Array, RandomState
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
from ..graphs.neighbours.connect import Needs
from ..numerics.eigen import Solver, as_solver, dense
from ..numerics.eigen.trace_ratio import trace_ratio
from ..numerics.memory import require
from ..numerics.threads import threads_for
from .basis import Features, Samples
from .direct_sum import DirectSum
from .form import Form, Scatter, diagonal, identity, strongest
from .scale import AxisWeights, RatioWeights, Unit
from .spectrum import Facts, Spectrum, relative_gap, report_resolution, seed_of

Sense: TypeAlias = Literal["min", "max"]
Basis: TypeAlias = Samples | Features | DirectSum
Scale: TypeAlias = Callable[[Spectrum], Array]

#: Residual, relative to ‖A‖, above which a solver has failed.
RESIDUAL = 1e-9


@dataclass(frozen=True, eq=False)
class TraceProblem:
    """``min or max Tr(V'AV)  s.t.  V'BV = I`` and ``V'BN = 0`` for the declared directions N.

    Parameters
    ----------
    A : Form
    B : Form or None
        The unit form, positive semidefinite; None means I.
    sense : {"min", "max"}
    exclude : ndarray of shape (m, q), optional
        Directions excluded from the solution, such as the constant vector.
    """

    A: Form
    B: Form | None
    sense: Sense
    exclude: Array | None = None


@dataclass(frozen=True, eq=False)
class TraceRatio:
    """``max (or min) Tr(V'AV) / Tr(V'BV)  s.t.  V'CV = I`` and ``V'CN = 0`` for the declared directions N [S0, eq. 5].

    C and N correspond to B and `exclude` of `TraceProblem`.
    """

    A: Form
    B: Form
    sense: Sense = "max"
    C: Form | None = None
    exclude: Array | None = None


@dataclass(frozen=True, eq=False)
class Posed:
    """A problem together with the basis it was restricted to and the scale of its axes.

    Attributes
    ----------
    problem : TraceProblem or TraceRatio
    basis : Samples, Features or DirectSum
    scale : callable
        ``spectrum -> factors``, the length of each axis.
    skip : int
        Number of leading axes to leave out.
    axes : int or None
        Number of axes if the data determine it.
    turn : callable or None
        Maps coefficients V to a matrix T; the axes are V T, with the signs of T.
    witness : callable or None
        Maps coefficients to coordinates that do not depend on the machine, for `Spectrum.oriented`. None means those of the basis.
    size : float
        Reference for rounding errors of eigenvalues besides ‖A‖; see `Spectrum`.
    attributes : dict
        Other attributes of the fitted estimator, by name.
    after : callable or None
        Last step of the method, from `Fitted` to `Fitted`, such as a linear map of the embedding.
    """

    problem: TraceProblem | TraceRatio
    basis: Basis
    scale: Scale = field(default_factory=Unit)
    skip: int = 0
    axes: int | None = None
    turn: Callable[[Array], Array] | None = None
    witness: Callable[[Array], Array] | None = None
    size: float = 0.0
    attributes: dict[str, object] = field(default_factory=dict)
    after: Callable[[Any], Any] | None = None

    def having(self, **attributes: object) -> Posed:
        """Return a copy with more attributes."""
        return replace(self, attributes={**self.attributes, **attributes})

    def as_ratio(self) -> Posed:
        """Return the ratio of the traces of objective and unit over orthonormal axes, ``Tr(V'AV) / Tr(V'BV)`` [S0, eq. 5]."""
        problem = self.problem
        if isinstance(problem, TraceRatio) or problem.B is None:
            return self
        ratio = TraceRatio(problem.A, problem.B, problem.sense, exclude=problem.exclude)
        own = self.scale
        scale = RatioWeights(ratio.A, ratio.B, own) if isinstance(own, AxisWeights) else own
        return replace(self, problem=ratio, scale=scale, size=self.size * problem.B.norm())

    @property
    def needs(self) -> Needs:
        """Property that the neighbour graph of these forms must have."""
        forms = vars(self.problem).values()
        return strongest("connected", *(form.needs for form in forms if isinstance(form, Form)))


def pose(
    basis: Basis,
    *,
    minimise: Form | None = None,
    maximise: Form | None = None,
    over: Form | None = None,
    unit: Form | Literal["embedding", "projection"] = "embedding",
    ridge: float | None = None,
    relative_ridge: float | None = None,
    scale: Scale | None = None,
    center: bool = True,
    skip: int = 0,
) -> Posed:
    """State a method as a trace problem over the coordinates of a basis.

    Parameters
    ----------
    basis : Samples, Features or DirectSum
    minimise, maximise : Form
        Exactly one of them: the objective over the samples.
    over : Form, optional
        Denominator of a `TraceRatio`, positive semidefinite. The ridge is added to it.
    unit : Form, "embedding" or "projection"
        The constraint: ``Y'MY = I`` for a form M; ``Y'Y = I``, weighted by the masses of the samples; or ``V'V = I`` in feature space
        (orthogonal methods).
    ridge : float, optional
        Regularisation ε that bounds the length of the axes in feature space: ``B + εI``, or ``A + εI`` if a PSD form is minimised. (A
        ridge on B would then favour directions in which the data hardly vary: they cost nothing, and ε alone satisfies the unit.)
    relative_ridge : float, optional
        ε relative to the mean eigenvalue of the matrix it is added to. If neither is given, the default of the basis is used.
    scale : callable, optional
        ``spectrum -> factors``, one for each axis.
    center : bool, default=True
        Centre the features with weights B1 (uniform weights if B1 vanishes).
    skip : int, default=0
        Number of leading axes to leave out: the "ignore the smallest eigenvalue" option of ONPP [S0, §4.4].

    Returns
    -------
    Posed

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from eigenspan.forms import Features, between, pose, solve, total
    >>> X, codes = load_wine(return_X_y=True)
    >>> posed = pose(Features.linear(X), maximise=between(codes), unit=total(codes))  # LDA
    >>> V = solve(posed.problem, 2).vectors
    >>> posed.basis.embed(V).shape
    (178, 2)
    """
    sense: Sense = "max" if minimise is None else "min"
    form = maximise if minimise is None else minimise
    if form is None or (minimise is not None and maximise is not None):
        raise InputError("Give exactly one of minimise= and maximise=.")
    if isinstance(unit, str) and unit not in ("embedding", "projection"):
        raise InputError(f'unit={unit!r} must be a Form, "embedding" (Y\'Y = I) or "projection" (V\'V = I).')
    M = _every_point(basis, form.n) if isinstance(unit, str) else unit
    basis = basis.about(M) if center else basis.centred(None)
    A = basis.restrict(form)
    trivial = isinstance(unit, str) and (unit == "projection" or (isinstance(basis, Samples) and basis.masses is None))
    B = None if trivial else basis.restrict(M)
    relative = getattr(basis, "relative_ridge", 0.0) if relative_ridge is None else relative_ridge
    exclude = basis.constant() if form.kills_constant or (over is not None and over.kills_constant) else None
    if over is not None:
        below = basis.restrict(over)
        below = below if isinstance(basis, Samples) else with_ridge(below, ridge, relative)
        return Posed(TraceRatio(A, below, sense, B, exclude), basis, scale or Unit(), skip)
    size = _size(form, M, basis, B)
    if B is not None and not isinstance(basis, Samples):
        if sense == "min" and form.psd:
            A = with_ridge(A, ridge, relative)
        else:
            plain, B = B, with_ridge(B, ridge, relative)
            size *= share_of(plain, B)
    return Posed(TraceProblem(A, B, sense, exclude), basis, scale or Unit(), skip, size=size)


def _every_point(basis: Basis, n: int) -> Form:
    """Return the unit form Y'Y of all points; for centred features from sums it is the scatter of all rows."""
    if isinstance(basis, Features) and basis.sums is not None:
        return Form(n, pairs=((1.0, Scatter("everyone", None, lambda codes: identity(n))),), psd=True)
    return diagonal(basis.masses) if isinstance(basis, Samples) and basis.masses is not None else identity(n)


def _size(form: Form, M: Form, basis: Basis, B: Form | None) -> float:
    """Return the mean eigenvalue of the form under the unit M over all functions of the samples; zero where these are the basis.

    The eigenvalues over the few functions that a basis spans may all be zero; computed values are then rounding errors of this size.
    """
    if isinstance(basis, Samples):
        return 0.0
    scatters = basis.scatters if isinstance(basis, Features) and basis.sums is not None else None
    own, unit = (each.extent() if scatters is None else scatters.extent(each) for each in (form, M))
    mean = own / unit if unit > np.finfo(float).tiny else 0.0
    return mean * (basis.size() if B is None else 1.0)


def share_of(plain: Form, ridged: Form) -> float:
    """Return the ratio of the traces of a unit without and with a ridge, by which eigenvalues shrink on average."""
    whole = float(ridged.diagonal().sum())
    return max(float(plain.diagonal().sum()), 0.0) / whole if whole > np.finfo(float).tiny else 1.0


def with_ridge(M: Form, ridge: float | None, relative: float = 0.0) -> Form:
    """Return ``M + εI``, with ε given or relative to the mean eigenvalue, and record ε in the diagnostics."""
    # rounding errors can make the trace of a zero form negative
    epsilon = ridge if ridge is not None else relative * max(float(M.diagonal().sum()), 0.0) / max(M.n, 1)
    if epsilon < 0:
        raise InputError(f"ridge={epsilon:g} must not be negative.")
    if epsilon == 0:
        return M
    note(ridge=epsilon)
    return ridged(M, epsilon)


# ---------------------------------------------------------------------- standard form
# Coordinates in which the unit is I. Singular units are handled here only.
@dataclass(frozen=True, eq=False)
class Standard:
    """The problem ``A u = λ u`` with solution ``V = back(u)`` and orthonormal excluded directions.

    `facts` holds what the transformation found: the rank of the unit, and the ridge added to it.
    """

    A: Form
    back: Callable[[Array], Array]
    exclude: Array | None
    facts: Facts


def ridged(M: Form, epsilon: float) -> Form:
    """Return ``M + εI`` as a dense form."""
    return Form(M.n, dense=M.to_dense() + epsilon * np.eye(M.n), psd=M.psd)


def standardise(A: Form, B: Form | None, N: Array | None, sense: Sense) -> Standard:
    """Transform the constraint ``V'BV = I`` into ``U'U = I``, together with the excluded directions N."""
    if B is None or B.n == 0:
        return Standard(A, lambda u: u, None if N is None else dense.orthonormal(N), {})
    if B.is_diagonal():
        d = B.diagonal()
        if d.min() < -1e-8 * d.max():
            raise UnitError(not_psd(d.min(), d.max()))
        if d.min() > 1e-14 * d.max():
            s = 1.0 / np.sqrt(d)
            exclude = None if N is None else dense.orthonormal(np.sqrt(d)[:, None] * N)
            return Standard(A.scaled(s), lambda u: s[:, None] * u, exclude, {})
    return _whiten(A, B, N, sense)


def not_psd(low: float, high: float) -> str:
    return (
        f"The unit form B is not positive semidefinite: its eigenvalues run from {low:.6g} to {high:.6g}, so V'BV = I has no "
        "bounded solution. Constrain with a positive semidefinite form, or add a ridge larger than the negative part."
    )


def _whiten(A: Form, B: Form, N: Array | None, sense: Sense) -> Standard:
    """Transform the constraint for a general, possibly singular B.

    If null(B) ⊆ null(A), the problem is restricted to range(B). If a PSD form is minimised, the component of an axis in null(B) is free and
    takes the value of least cost. Otherwise the criterion is unbounded on null(B), and restricting it would discard the best directions:
    a ridge is added, with a warning.
    """
    require(
        40.0 * B.n**2,
        f"A dense unit form of order {B.n}",
        "Use a diagonal unit form, features with reduce=, or landmarks.",
    )
    Bd, Ad = (dense.symmetric(M) for M in (B.to_dense(), A.to_dense()))
    d = np.sqrt(
        np.maximum(np.diagonal(Bd), 0.0)
    )  # unit diagonal first, so that the rank does not depend on units of features
    s = 1.0 / np.where(d > 1e-150, d, 1.0)
    Bs, As = Bd * np.outer(s, s), Ad * np.outer(s, s)
    T, null, values = dense.whitener(Bs)
    facts: Facts = {}
    if values[0] < -1e-8 * max(values[-1], np.finfo(float).tiny):
        low, high = dense.eigenpairs(Bd, None)[0][[0, -1]]
        raise UnitError(not_psd(low, high))
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
            standard = _whiten(A, ridged(B, epsilon), N, sense)
            return replace(standard, facts={**standard.facts, "ridge": standard.facts.get("ridge", 0.0) + epsilon})
    T = s[:, None] * T
    exclude = None if N is None else _in_unit_coordinates(T, Bd, N)
    return Standard(Form(T.shape[1], dense=dense.symmetric(T.T @ Ad @ T), psd=A.psd), lambda u: T @ u, exclude, facts)


def _in_unit_coordinates(T: Array, B: Array, N: Array) -> Array:
    """Return orthonormal directions that span ``T'BN``, without those for which BN is a rounding error."""
    C = T.T @ (B @ N)
    rounding = np.linalg.norm(np.abs(T.T) @ (np.abs(B) @ np.abs(N)), axis=0)
    return dense.orthonormal(C[:, np.linalg.norm(C, axis=0) > 1e-10 * rounding])


# ---------------------------------------------------------------------- solving
def solve(
    problem: TraceProblem | TraceRatio,
    n_components: int,
    *,
    solver: str | Solver = "auto",
    random_state: RandomState = 0,
    advice: str = "",
    size: float = 0.0,
) -> Spectrum:
    """Return the best `n_components` axes of a trace problem, B-orthonormal, refined by Rayleigh–Ritz, with residuals and gap.

    `Spectrum.oriented` determines signs, and rotations within equal eigenvalues, in the coordinates of the problem. Eigenvalues are
    equal if their difference is a rounding error at ‖A‖ or at `size`, whichever is larger. A warning about axes that are not unique
    ends with `advice`.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from eigenspan.forms import Features, between, pose, solve, total
    >>> X, codes = load_wine(return_X_y=True)
    >>> posed = pose(Features.linear(X), maximise=between(codes), unit=total(codes))  # LDA
    >>> V = solve(posed.problem, 2).vectors
    >>> posed.basis.lifted(V).shape
    (13, 2)
    """
    if isinstance(problem, TraceRatio):
        return _solve_ratio(problem, n_components, solver, advice, size)
    with stage("standard form"):
        standard = standardise(problem.A, problem.B, problem.exclude, problem.sense)
    excluded = 0 if standard.exclude is None else standard.exclude.shape[1]
    dim = standard.A.n - excluded
    if n_components > dim:
        what, empty = "the rank of the centred features", ". All rows coincide."
        if problem.exclude is not None:
            what, empty = "the number of samples minus one, for the constant", ": one point has no extent."
        raise DimensionError(
            f"n_components={n_components} exceeds {dim}, the dimension of the problem ({what})"
            + (f". Use n_components <= {dim}." if dim else empty)
        )
    rng = np.random.default_rng(seed_of(random_state))
    wanted = min(n_components + 1, dim)
    with stage("eigenproblem"), threads_for(standard.A.n):
        spectrum = _run(standard, problem.sense, n_components, wanted, solver, rng, size)
    report_resolution(spectrum, advice)
    return spectrum.oriented()


def as_solved(problem: TraceProblem | TraceRatio, spectrum: Spectrum) -> TraceProblem | TraceRatio:
    """Return the problem that `spectrum` solves: the unit includes the ridge that the solver added to a singular one."""
    epsilon = spectrum.facts.get("ridge")
    unit = problem.C if isinstance(problem, TraceRatio) else problem.B
    if epsilon is None or unit is None:
        return problem
    B = ridged(unit, epsilon)
    return replace(problem, C=B) if isinstance(problem, TraceRatio) else replace(problem, B=B)


def _run(
    standard: Standard, sense: Sense, k: int, wanted: int, solver: str | Solver, rng: np.random.Generator, size: float
) -> Spectrum:
    A, norm, trouble = standard.A, max(standard.A.norm(), np.finfo(float).tiny), ""
    chain = as_solver(solver).chain(A, wanted, sense)
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
        raise ConvergenceError(f"{trouble} Its eigenvectors are not accurate: use another solver, or fewer components.")
    beyond = float(values[k]) if values.size > k else np.nan
    known = A.dense is not None and dense.is_diagonal(
        A.dense
    )  # each eigenvalue is then known to its own relative accuracy
    level = 0.0 if known else max(norm, size)
    V = standard.back(U[:, :k])
    gap = relative_gap(values[k - 1], beyond, level) if values.size > k else np.inf
    note(solver=name, **standard.facts)
    return Spectrum(values[:k], V, residuals[:k], gap, beyond, name, norm, standard.facts, level)


def _refine(A: Form, U: Array, sense: Sense, N: Array | None, norm: float) -> tuple[Array, Array, Array]:
    """Return eigenvalues, vectors and relative residuals by Rayleigh–Ritz on the span of U in the complement of N, in order."""
    q = 0 if N is None else N.shape[1]
    U = np.linalg.qr(U if N is None else np.hstack([N, U]))[0][:, q:]  # orthogonal to N even if U is not
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
    report_resolution(spectrum, advice, residual=False)
    return spectrum.oriented()


def _metric(problem: TraceRatio) -> tuple[Array | None, Facts]:
    """Return T with ``T'CT = I`` and ``T'CN = 0``, which gives a trace ratio orthonormal axes (None: I), and facts about C."""
    if problem.C is None and problem.exclude is None:
        return None, {}
    n = problem.A.n
    require(48.0 * n**2, f"A trace ratio of order {n}", "Use the features as basis, with reduce=, or landmarks.")
    sizes = [max(M.norm(), np.finfo(float).tiny) for M in (problem.A, problem.B)]
    both = replace((1 / sizes[0]) * problem.A + (1 / sizes[1]) * problem.B, psd=False)  # must vanish on null(C)
    standard = standardise(both, problem.C, problem.exclude, "max")
    N = standard.exclude
    inside = np.eye(standard.A.n) if N is None else dense.singular_vectors(N, complete=True)[0][:, N.shape[1] :]
    return standard.back(inside), standard.facts
