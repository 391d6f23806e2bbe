"""Unfolding of many points through a few: the Gram matrix is ``K = Q L Qᵀ``, Q interpolates and L is that of the landmarks."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .._compat import Interval, StrOptions
from .._diagnostics import note, stage
from ..core import Form
from ..core.spectrum import seed_of
from ..errors import ConvergenceError, DimensionError, InputError, RidgeWarning, warn
from ..forms import laplacian, reconstruction, tangent_alignment
from ..graphs import Landmarks, NeighbourGraph, choose_landmarks, reconstruction_weights
from ..graphs.contract import Contraction
from ..graphs.landmarks import check_landmarks
from ..input import Sample
from ..solvers import dense
from ..solvers.linear import solve_positive
from ..solvers.sdp import Certificate, Program, Solution, solve_program
from ..solvers.sdp.certificate import largest_ratio
from .docs import documented
from .parameters import parameters
from .unfolding import Unfolding
from .unfolding_edges import Held

Array = NDArray[np.float64]
Index = NDArray[np.intp]

#: Landmarks unless told.
_LANDMARKS = 40
#: Pairs to begin with, and pairs that may join in a round, for each landmark.
_FIRST, _JOINING = 8, 4
#: Pairs looked at at a time.
_BLOCK = 2**16
#: Share of the graph's Laplacian that is added to a singular M.
_STIFFNESS = 1e-7
#: Points whose distance is less than this share of that to all others are one for the interpolation: their neighbours tell them nothing
#: about their own difference, and what they are given is held back by the string between them.
_NEAR = 1e-2
#: Axes with less of the variance than this are left out.
_NOTHING = 1e-9


@documented
@parameters(form="tangent", reg=1e-3)
class LandmarkMVU(Unfolding):
    """Maximum variance unfolding of many points through a few landmarks.

    .. math:: \\max_{L \\succeq 0} \\operatorname{tr}(Q L Q^T) \\quad\\text{s.t.}\\quad
              (e_i - e_j)^T Q L Q^T (e_i - e_j) \\le \\lVert x_i - x_j \\rVert^2 \\ \\text{ for neighbours}, \\quad 1^T Q L Q^T 1 = 0

    [S4, eq. 89] with :math:`Q = [I;\\ -M_{uu}^{-1} M_{ul}]`: the values that minimise a form M over all points where those of the
    landmarks l are given (S4's eq. 88 prints Q without the sign). In the terms of `Program`: directions Q_i − Q_j, C = QᵀQ, T = I, b the
    squared distances.

    The published M is LLE's, (I−W)ᵀ(I−W). With few neighbours its Q is steep along single edges, which hold all the rest back: on a Swiss
    roll of 20,000 points, k = 6, the unfolding reaches 23 per cent of the sheet's variance (97 per cent with k = 12). That of LTSA, which
    is told the dimension of the sheet (`n_components`), reaches 99.9 per cent. Where the data have more dimensions than are asked for LLE's
    is the better one, on digits by a factor of 1.2 to 2.3. Both restrict MVU, so the larger ``certificate_.lower`` is the one to keep.

    Points a hundred times nearer to one another than to all others share a row of Q: what their neighbours say about them differs by more
    than the string between them is long, and would hold all the rest back.

    There are as many constraints as edges, and few of them matter. The program is solved for some pairs, those it breaks most
    join them, and so on until what all pairs allow is within `tol` of what the chosen ones do.

    ``certificate_`` is that of the landmark problem with all its pairs. The upper bound is the one of the last few pairs (those of
    ``solution_``): leaving constraints out can only raise the optimum, so it holds for all of them. For the lower one the embedding is
    shrunk until no pair is broken; the pair that is stretched most is in ``solution_`` too, and ``solution_.verify()`` proves both bounds.
    Another factor put there would be judged by these few pairs only. Both are about K = QLQᵀ: MVU over all K can reach more.

    Cost: one sparse factorisation of M and q solves; 8nq bytes; some ten rounds of a pass over the edges and a dense program of about
    25q pairs.

    Parameters
    ----------
    $n_components
    form : {"tangent", "reconstruction"}, default="tangent"
        M: that of LTSA with tangent spaces of dimension `n_components`, or that of LLE.
    reg : float, default=1e-3
        With "reconstruction", ridge on the local Gram matrices of W, relative to their trace.
    $unfolding_neighbors
    $graph
    landmarks : int, Landmarks, array of indices or None, default=None
        How many, how, or which. None means 40, or all points where there are fewer. A number alone spreads them (``"maxmin"``), so that
        few points lie outside their reach.
    $unfolding_tol
    rank : int or None, default=None
        Has no effect here; accepted so that unfoldings can be exchanged.
    method : {"auto", "dense"}, default="auto"
        The small program is solved densely.
    $unfolding_extension
    max_iter : int, default=300
        Rounds.
    $unfolding_time_limit
    callback : callable or None, default=None
        Called after every round with a dict (iteration, lower, upper, gap, violation, constraints, rank, seconds, factor).
    $unfolding_verbose
    $disconnected
    $solver
    $random_state
    $n_jobs

    Attributes
    ----------
    landmarks_ : ndarray of int
        The rows chosen.
    interpolation_ : ndarray of shape (n_samples, q)
        Q. The certificate's upper bound is ``weights · squared_distances`` times the largest xᵀQᵀQx / xᵀQᵀL(weights)Qx over x ⟂ Qᵀ1.
    $unfolding_attributes
    $graph_attribute
    $spectral_attributes

    Examples
    --------
    >>> from sklearn.datasets import make_swiss_roll
    >>> from eigenspan import LandmarkMVU
    >>> X, t = make_swiss_roll(2000, random_state=0)
    >>> mvu = LandmarkMVU(2, landmarks=40).fit(X)
    >>> mvu.certificate_.gap < 1e-3
    True

    References
    ----------
    Weinberger, Packer & Saul (2005), Nonlinear dimensionality reduction by semidefinite programming and kernel matrix factorization.
    """

    form: str
    reg: float

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **Unfolding._parameter_constraints,
        "method": [StrOptions({"auto", "dense"})],
        "form": [StrOptions({"reconstruction", "tangent"})],
        "reg": [Interval(Real, 0, None, closed="left")],
    }

    def _landmark_rows(self, sample: Sample) -> None:
        """None: landmarks are chosen from the graph of all points. What cannot work is refused before anything is computed."""
        sample.x.coordinates(
            "LandmarkMVU rebuilds points from the coordinates of their neighbours",
            "use MVU(landmarks=...), which unfolds some rows and places the others by their distances",
        )
        if self.landmarks is not None:
            check_landmarks(self.landmarks, sample.n)

    def _unfold(self, graph: NeighbourGraph, sample: Sample) -> tuple[Array, dict[str, Any]]:
        held = Held.of(graph, sample, self._edges(graph, sample), near=_NEAR)
        groups, pairs = held.groups, held.pairs
        chosen = self._choose(held)
        with stage("interpolation"):
            Q = interpolation(self._form(graph, sample.x.values, groups), chosen, pairs)
        problem = Interpolated(Q, groups.masses, pairs, held.bounds)
        with stage("unfolding"):
            solution, rows = self._rounds(problem)
        self._report(solution)
        weights = np.zeros(len(pairs))
        weights[rows] = solution.weights / problem.bounds[rows]
        return Q[groups.labels] @ solution.factor, {
            "solution_": solution,
            "n_iter_": solution.iterations,
            "certificate_": self._certificate(replace(solution, weights=weights), held),
            "interpolation_": Q[groups.labels],
            "landmarks_": sample.places[groups.first[chosen]],
        }

    def _choose(self, held: Held) -> Index:
        """Landmarks as numbers of groups."""
        groups, points, rows = held.groups, held.sample.x.values, held.sample.places
        wanted, most = _LANDMARKS if self.landmarks is None else self.landmarks, held.n
        if isinstance(wanted, (Integral, Landmarks)):
            # copies of a point are no more landmarks than it is
            wanted = (
                Landmarks(min(wanted.n, most), choice=wanted.choice)
                if isinstance(wanted, Landmarks)
                else min(wanted, most)
            )
            chosen = choose_landmarks(points[groups.first], wanted, how="maxmin", random_state=self.random_state)
        else:
            chosen = np.unique(groups.labels[np.isin(rows, wanted)])
        if chosen.size <= self.n_components:
            raise DimensionError(
                f"{chosen.size} landmarks span at most {chosen.size - 1} dimensions, fewer than n_components={self.n_components}: use "
                f"at least {self.n_components + 1}, and better {min(_LANDMARKS, groups.first.size)}."
            )
        places = points[groups.first[chosen]]
        rank, d = (
            dense.principal_axes(places - places.mean(axis=0), rtol=1e-6)[1].size,
            min(self.n_components, points.shape[1]),
        )
        if rank < d:
            raise InputError(
                f"The {chosen.size} landmarks lie in {rank} dimension{'s' * (rank != 1)}, and do not determine points in {d}: use more of "
                "them, spread over all of the data."
            )
        return chosen

    def _form(self, graph: NeighbourGraph, points: Array, groups: Contraction) -> Form:
        """M over groups of coincident points."""
        if self.form == "tangent":
            M = tangent_alignment(points, graph.distances, min(self.n_components, points.shape[1]))
        else:
            M = reconstruction(reconstruction_weights(points, graph.distances, reg=self.reg))
        return Form(
            groups.first.size, sparse=sp.csr_array(groups.sum(M.assembled().sparse)), psd=True, kills_constant=True
        )

    # ------------------------------------------------------------------ the active set
    def _rounds(self, problem: Interpolated) -> tuple[Solution, Index]:
        """Solve for some pairs, let the worst broken ones join; returns the solution and the pairs that its weights belong to."""
        began, tell = time.monotonic(), self._tell()
        rows, best, accuracy = problem.first(np.random.default_rng(seed_of(self.random_state))), _Best(), 1e-2
        status, history, iteration = "iterations", [], 0
        try:
            for iteration in range(self.max_iter):
                left = None if self.time_limit is None else max(self.time_limit - (time.monotonic() - began), 1e-3)
                inner = solve_program(
                    problem.program(rows), method=self.method, tol=accuracy, max_iter=100, time_limit=left
                )
                Y = problem.Q @ inner.factor
                stretch = problem.stretch(Y)
                best.offer(inner, rows, float(stretch.max()))
                record = {"iteration": iteration, **best.facts, "violation": max(float(stretch.max()) - 1.0, 0.0), "constraints": rows.size,
                          "rank": inner.rank, "seconds": time.monotonic() - began}  # fmt: skip
                history.append(record)
                if tell is not None:
                    tell(record | {"factor": Y})
                if best.gap <= self.tol or inner.status in ("time", "interrupted"):
                    status = "certified" if best.gap <= self.tol else inner.status
                    break
                finer = max(0.25 * self.tol, min(accuracy, 0.05 * record["violation"]))
                before, rows = rows, problem.next_rows(rows, stretch, inner.weights)
                if finer == accuracy and np.isin(rows, before).all():
                    status = "stalled"
                    break
                accuracy = finer
        except KeyboardInterrupt:
            if best.dual is None:
                raise
            status = "interrupted"
        note(rounds=iteration + 1, constraints=rows.size)
        return best.solution(problem, iteration + 1, status, history)


class _Best:
    """The best bounds met so far, and where."""

    def __init__(self) -> None:
        self.lower, self.upper = -np.inf, np.inf
        self.factor: Any = None
        self.dual: Any = None

    def offer(self, inner: Solution, rows: Index, worst: float) -> None:
        lower = inner.program.variance(inner.factor) / max(worst, np.finfo(float).tiny)
        if lower > self.lower:
            self.lower, self.factor = lower, inner.factor
        if self.dual is None or inner.upper < self.upper:
            self.upper, self.dual = inner.upper, (inner.program, inner.weights, rows)

    @property
    def gap(self) -> float:
        return Certificate(self.lower, self.lower, self.upper, 0.0).gap

    @property
    def facts(self) -> dict[str, float]:
        return {"lower": self.lower, "upper": self.upper, "gap": self.gap}

    def solution(
        self, problem: Interpolated, rounds: int, status: str, history: list[dict[str, Any]]
    ) -> tuple[Solution, Index]:
        """On principal axes, those without variance left out, and shrunk until no pair at all is broken.

        The program has the pairs of the weights and the one that is stretched most, so that its own bound from below is that of all.
        """
        program, weights, rows = self.dual
        values, V = dense.eigenpairs(dense.symmetric(self.factor.T @ problem.cost @ self.factor), None, "max")
        F = self.factor @ V[:, values > _NOTHING * values.sum()]
        F = F / np.sqrt(problem.stretch(problem.Q @ F).max())
        value = program.variance(F)
        worst = int(problem.stretch(problem.Q @ F).argmax())
        if worst not in rows:  # the pair that F was shrunk for
            rows, weights = np.append(rows, worst), np.append(weights, 0.0)
            program = problem.program(rows)
        return Solution(program, F, weights, Certificate(value, value, self.upper, 0.0), rounds, status, history), rows


@dataclass(frozen=True, eq=False)
class Interpolated:
    """The unfolding of points ``Y = Q F``: all its pairs, of which a program takes some, in units of their bounds."""

    Q: Array
    masses: Array
    pairs: Index
    bounds: Array

    def __post_init__(self) -> None:
        object.__setattr__(self, "cost", dense.symmetric(self.Q.T @ (self.masses[:, None] * self.Q)))
        object.__setattr__(self, "centre", self.Q.T @ self.masses)

    cost: Array = None  # type: ignore[assignment]
    centre: Array = None  # type: ignore[assignment]

    def program(self, rows: Index) -> Program:
        i, j = self.pairs[rows].T
        directions = (self.Q[i] - self.Q[j]) / np.sqrt(self.bounds[rows])[:, None]
        return Program(directions, np.ones(rows.size), self.cost, self.centre)

    def stretch(self, Y: Array) -> Array:
        """Squared distances relative to their bounds, of all pairs."""
        out = np.empty(len(self.pairs))
        for a in range(0, out.size, _BLOCK):
            i, j = self.pairs[a : a + _BLOCK].T
            out[a : a + _BLOCK] = np.sum((Y[i] - Y[j]) ** 2, axis=1)
        return out / self.bounds

    def first(self, rng: np.random.Generator) -> Index:
        """Random pairs, enough to hold every direction."""
        order, count = rng.permutation(len(self.pairs)), _FIRST * self.Q.shape[1]
        while count < order.size:
            ratio, _, _ = largest_ratio(self.program(order[:count]), np.ones(count))
            if np.isfinite(ratio) and ratio < 1e12:
                break
            count *= 2
        return order[:count]

    def next_rows(self, rows: Index, stretch: Array, weights: Array) -> Index:
        """Pairs that carry weight or are nearly taut, and of those broken the worst near every landmark."""
        kept = rows[(weights > 1e-3 * weights.max()) | (stretch[rows] > 0.9)]
        broken = np.setdiff1d(np.flatnonzero(stretch > 1.0 + 1e-6), kept)
        cell = np.abs(self.Q[self.pairs[broken, 0]]).argmax(axis=1)
        order = np.lexsort((-stretch[broken], cell))
        place = np.arange(order.size) - np.searchsorted(cell[order], cell[order])
        return np.concatenate([kept, broken[order[place < _JOINING]]])


def interpolation(M: Form, landmarks: Index, pairs: Index) -> Array:
    """Q, (n, q): values at the landmarks and what minimises M elsewhere, ``Q_u = −M_uu⁻¹ M_ul``. Its rows sum to one where M1 = 0.

    Points that hang on the rest by single edges have freedom left that M does not see: there, with a warning, a little of the
    Laplacian of the pairs is added.
    """
    Q = np.zeros((M.n, landmarks.size))
    Q[landmarks, np.arange(landmarks.size)] = 1.0
    free = np.setdiff1d(np.arange(M.n), landmarks)
    if free.size == 0:
        return Q
    S: Any = sp.csr_array(M.assembled().sparse)
    try:
        Q[free] = _solved(S, free, landmarks)
    except (np.linalg.LinAlgError, ConvergenceError) as found:
        warn(
            f"The {landmarks.size} landmarks leave some of the other {free.size} points free ({found}): they hang on the rest by too few "
            "neighbours. A little stiffness was added, which pulls them together. Use more neighbours, or landmarks there too.",
            RidgeWarning,
        )
        i, j = pairs.T
        W = sp.csr_array((np.ones(2 * i.size), (np.concatenate([i, j]), np.concatenate([j, i]))), shape=S.shape)
        stiffness = _STIFFNESS * float(S.diagonal().sum()) / W.sum()
        Q[free] = _solved(sp.csr_array(S + stiffness * laplacian(W).sparse), free, landmarks)
    return Q


def _solved(S: sp.csr_array, free: Index, landmarks: Index) -> Array:
    rows = S[free]
    inner = Form(free.size, sparse=sp.csr_array(rows[:, free]), psd=True)
    return solve_positive(inner, -rows[:, landmarks].toarray(), float(abs(S).sum(axis=0).max()))
