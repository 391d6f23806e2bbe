"""Unfolding of many points through a few."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
import scipy.sparse as sp

from ..._diagnostics import note, stage
from ..._parameters import Count, NotNegative, attribute, parameter
from ..._types import Array, Index, Matrix
from ...data import Sample
from ...errors import ConvergenceError, DimensionError, InputError, RidgeWarning, warn
from ...graphs import Landmarks, NeighbourGraph, choose_landmarks, reconstruction_weights
from ...graphs.landmarks import check_landmarks
from ...numerics.eigen import dense
from ...numerics.eigen.linear_systems import solve_positive
from ...numerics.sdp import Certificate, Program, Solution
from ...numerics.sdp.certificate import largest_ratio
from ...problem import Form
from ...problem.forms import laplacian, reconstruction, tangent_alignment
from ..base.contract import Components
from ..base.graph_embedding import Reduction, Sampled
from ..base.table import known_as, method
from .solver_settings import SDP
from .task import Held, Task
from .unfolding_base import Unfolding, string_graph, tied

#: Landmarks unless told.
_LANDMARKS = 40
#: Points whose distance is less than this share of that to all others are one for the interpolation: their neighbours tell them nothing
#: about their own difference, and what they are given is held back by the string between them.
_NEAR = 1e-2
#: Pairs to begin with, and pairs that may join in a round, for each landmark.
_FIRST, _JOINING = 8, 4
#: Steps of the solver in a round.
_STEPS = 100
#: Pairs looked at at a time.
_BLOCK = 2**16
#: Share of the graph's Laplacian that is added to a singular M.
_STIFFNESS = 1e-7
#: Axes with less of the variance than this share are left out.
_ROUNDING = 1e-9


@method(
    "unfolding",
    "max tr QLQᵀ",
    "distances of neighbours",
    "a sparse factorisation + q³ per step",
    "S4 eq. 89",
    "lmvu",
    "landmarksde",
)
@known_as("Landmark maximum variance unfolding", "landmark MVU; landmark semidefinite embedding; landmark SDE")
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
    n_components
        Number of dimensions d of the embedding.
    sample
        Fit to this many random rows as if they were all rows, and place the others by the map for new points. Use it to fit
        a Dask array or data frame, whose rows stay on their cluster. None fits to all rows.
    form
        M: that of LLE, or that of LTSA with tangent spaces of dimension `n_components`.
    reg
        Ridge on the local Gram matrices of W, relative to their trace. It has no effect with ``form="tangent"``.
    landmarks
        Number of landmarks, how to choose them, or their rows. None means 40, or all points if there are fewer. If only a
        number is given, landmarks are far apart (``"maxmin"``), so that few points lie outside their reach.
    rank
        Has no effect here; accepted so that unfoldings can be exchanged.
    method
        The small program is always solved densely: the choice has no effect.
    max_iter
        Maximum number of rounds.
    callback
        Called after every round with a dict (iteration, lower, upper, gap, violation, constraints, rank, seconds, factor).
        None calls nothing.

    Attributes
    ----------
    sample_ : ndarray of int
        The rows drawn, if `sample` is given.
    landmarks_ : ndarray of int
        The rows chosen as landmarks.
    interpolation_ : ndarray of shape (n_samples, q)
        Q. The certificate's upper bound is ``weights · squared_distances`` times the largest xᵀQᵀQx / xᵀQᵀL(weights)Qx over
        x ⟂ Qᵀ1.

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

    n_components: Components = parameter(default=2, kw_only=False)
    method: Literal["auto", "dense"] = "auto"
    sample: Count | None = None
    form: Literal["reconstruction", "tangent"] = "tangent"
    reg: NotNegative = 1e-3

    interpolation_: Array = attribute()
    sample_: Index = attribute()

    _untold: ClassVar[str] = "points are first rebuilt from landmarks in tangent spaces of that many dimensions"

    def _reductions(self) -> tuple[Reduction, ...]:
        sampled = Sampled(self.sample, self.graph, self.random_state, "sample")
        return (sampled, *tied(self, self._strings))

    def _strings(self, sample: Sample) -> NeighbourGraph:
        """Return the graph of all points, from which landmarks are chosen later."""
        sample.x.coordinates(
            "LandmarkMVU rebuilds points from the coordinates of their neighbours",
            "use MVU(landmarks=...), which unfolds some rows and places the others by their distances",
        )
        if self.landmarks is not None:
            check_landmarks(self.landmarks, sample.n)
        return string_graph(self, sample)

    def _task(self, graph: NeighbourGraph, sample: Sample) -> Task:
        held = Held.of(graph.undirected(), near=_NEAR)
        groups = held.groups
        chosen = self._choose(held, sample)
        with stage("interpolation"):
            M = sp.csr_array(groups.sum(self._form(graph, sample.x.values).assembled().sparse))
            Q = interpolation(Form(held.n, sparse=M, psd=True, kills_constant=True), chosen, held.graph())
        attributes = {"interpolation_": Q[groups.labels], "landmarks_": sample.places[groups.first[chosen]]}
        return Interpolated(held=held, Q=Q, attributes=attributes)

    def _choose(self, held: Held, sample: Sample) -> Index:
        """Return the landmarks as numbers of groups."""
        groups, d = held.groups, self.n_components
        points, wanted = sample.x.values[groups.first], _LANDMARKS if self.landmarks is None else self.landmarks
        if isinstance(wanted, Landmarks):  # equal rows count as one landmark
            wanted = Landmarks(min(wanted.n, held.n), choice=wanted.choice)
        elif isinstance(wanted, Integral):
            wanted = min(int(wanted), held.n)
        else:
            return _enough(np.unique(groups.labels[np.isin(sample.places, wanted)]), points, d)
        return _enough(choose_landmarks(points, wanted, how="maxmin", random_state=self.random_state), points, d)

    def _form(self, graph: NeighbourGraph, points: Matrix) -> Form:
        """Return M."""
        if self.form == "tangent":
            return tangent_alignment(points, graph.lists(), min(self.n_components, points.shape[1]))
        return reconstruction(reconstruction_weights(points, graph.lists(), reg=self.reg))


def _enough(chosen: Index, points: Matrix, d: int) -> Index:
    """Return the landmarks. Raise if they do not determine points in d dimensions."""
    if chosen.size <= d:
        raise DimensionError(
            f"{chosen.size} landmarks span at most {chosen.size - 1} dimensions, fewer than n_components={d}: use at least {d + 1}, and "
            f"better {min(_LANDMARKS, len(points))}."
        )
    places, d = points[chosen], min(d, points.shape[1])
    rank = dense.principal_axes(places - places.mean(axis=0), rtol=1e-6)[1].size
    if rank < d:
        raise InputError(
            f"The {chosen.size} landmarks lie in {rank} dimension{'s' * (rank != 1)}, and do not determine points in {d}: use more of "
            "them, spread over all of the data."
        )
    return chosen


# ---------------------------------------------------------------------- the program of some pairs
class _Round(NamedTuple):
    """Solution of the program of some pairs, the numbers of these pairs, and the squared distances of all pairs over their bounds."""

    inner: Solution
    rows: Index
    stretch: Array

    def lower(self) -> float:
        """Return the objective of the points after shrinking them until all pairs keep their bounds: a lower bound."""
        return self.inner.program.variance(self.inner.factor) / max(float(self.stretch.max()), np.finfo(float).tiny)

    def upper(self) -> float:
        """Return the upper bound of this program, which holds for all pairs: without constraints the optimum can only be larger."""
        return self.inner.upper

    @property
    def violation(self) -> float:
        return max(float(self.stretch.max()) - 1.0, 0.0)


@dataclass(frozen=True, eq=False, kw_only=True)
class Interpolated(Task):
    """Points ``Y = Q F``. Each program has some of the pairs, scaled to one bound; the most violated pairs are added to the next one."""

    Q: Array

    @cached_property
    def cost(self) -> Array:
        return dense.symmetric(self.Q.T @ (self.held.groups.masses[:, None] * self.Q))

    @cached_property
    def centre(self) -> Array:
        return np.asarray(self.Q.T @ self.held.groups.masses)

    def solve(self, sdp: SDP) -> tuple[Solution, Array]:
        """Solve programs of more and more pairs until the bounds from all pairs and from the chosen ones agree within `tol`."""
        began, tell = time.monotonic(), sdp.teller(self.objective)
        rows, accuracy, most, least = self.first(np.random.default_rng(sdp.seed)), 1e-2, None, None
        status, history, iteration = "iterations", [], 0
        try:
            for iteration in range(sdp.max_iter):
                inner = sdp.solve(self.program(rows), tol=accuracy, max_iter=_STEPS, time_limit=sdp.time_left(began))
                Y = self.Q @ inner.factor
                this = _Round(inner, rows, self.stretch(Y))
                most, least = max(most or this, this, key=_Round.lower), min(least or this, this, key=_Round.upper)
                bounds = Certificate(most.lower(), most.lower(), least.upper(), 0.0)
                record = {"iteration": iteration, "lower": bounds.lower, "upper": bounds.upper, "gap": bounds.gap,
                          "violation": this.violation, "constraints": rows.size, "rank": inner.rank,
                          "seconds": time.monotonic() - began}  # fmt: skip
                history.append(record)
                if tell is not None:
                    tell(record | {"factor": Y})
                if bounds.gap <= sdp.tol or inner.status in ("time", "interrupted"):
                    status = "certified" if bounds.gap <= sdp.tol else inner.status
                    break
                finer = max(0.25 * sdp.tol, min(accuracy, 0.05 * this.violation))
                rows = self.next_rows(this)
                if finer == accuracy and np.isin(rows, this.rows).all():
                    status = "stalled"
                    break
                accuracy = finer
        except KeyboardInterrupt:
            if most is None:
                raise
            status = "interrupted"
        note(rounds=iteration + 1, constraints=rows.size)
        assert most is not None
        assert least is not None
        return self._joined(most, least, iterations=iteration + 1, status=status, history=history)

    def _joined(self, most: _Round, least: _Round, **how: Any) -> tuple[Solution, Array]:
        """Return the best points, on principal axes and shrunk until all pairs keep their bounds, with the best weights.

        The program has the pairs of the weights and the pair of largest stretch, so that its lower bound is that of all pairs.
        """
        F, rows, weights = most.inner.factor, least.rows, least.inner.weights
        values, V = dense.eigenpairs(dense.symmetric(F.T @ self.cost @ F), None, "max")
        F = F @ V[:, values > _ROUNDING * values.sum()]
        F = F / np.sqrt(self.stretch(self.Q @ F).max())
        worst = int(self.stretch(self.Q @ F).argmax())
        if worst not in rows:  # the pair that F was shrunk for
            rows, weights = np.append(rows, worst), np.append(weights, 0.0)
        program = self.program(rows)
        value, every = program.variance(F), np.zeros(len(self.held.pairs))
        every[rows] = weights * (self.held.unit / self.held.bounds[rows])
        return Solution(program, F, weights, Certificate(value, value, least.upper(), 0.0), **how), every

    def factor(self, solution: Solution) -> Array:
        return np.asarray(self.Q[self.held.groups.labels] @ solution.factor)

    # ------------------------------------------------------------------ the active set
    def program(self, rows: Index) -> Program:
        (i, j), unit = self.held.pairs[rows].T, self.held.unit
        directions = (self.Q[i] - self.Q[j]) * np.sqrt(unit / self.held.bounds[rows])[:, None]
        return Program(directions, np.full(rows.size, unit), self.cost, self.centre)

    def stretch(self, Y: Array) -> Array:
        """Return the squared distances of all pairs relative to their bounds."""
        out = np.empty(len(self.held.pairs))
        for a in range(0, out.size, _BLOCK):
            i, j = self.held.pairs[a : a + _BLOCK].T
            out[a : a + _BLOCK] = np.sum((Y[i] - Y[j]) ** 2, axis=1)
        return out / self.held.bounds

    def first(self, rng: np.random.Generator) -> Index:
        """Return random pairs, enough to bound every direction."""
        order, count = rng.permutation(len(self.held.pairs)), _FIRST * self.Q.shape[1]
        while count < order.size:
            ratio, _, _ = largest_ratio(self.program(order[:count]), np.ones(count))
            if np.isfinite(ratio) and ratio < 1e12:
                break
            count *= 2
        return order[:count]

    def next_rows(self, last: _Round) -> Index:
        """Return pairs with weight or near their bound, and the most violated pairs near every landmark."""
        rows, stretch, weights = last.rows, last.stretch, last.inner.weights
        kept = rows[(weights > 1e-3 * weights.max()) | (stretch[rows] > 0.9)]
        broken = np.setdiff1d(np.flatnonzero(stretch > 1.0 + 1e-6), kept)
        cell = np.abs(self.Q[self.held.pairs[broken, 0]]).argmax(axis=1)
        order = np.lexsort((-stretch[broken], cell))
        place = np.arange(order.size) - np.searchsorted(cell[order], cell[order])
        return np.concatenate([kept, broken[order[place < _JOINING]]])


def interpolation(M: Form, landmarks: Index, W: sp.csr_array) -> Array:
    """Return Q, (n, q), which extends values at the landmarks by minimising M: ``Q_u = −M_uu⁻¹ M_ul``. Rows sum to one if M1 = 0.

    If points with too few edges make M_uu singular, add a small multiple of the Laplacian of the graph W and warn.
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
            f"The {landmarks.size} landmarks do not determine some of the other {free.size} points ({found}), which have too few "
            "neighbours. A small multiple of the graph Laplacian was added, which pulls them together. Use more neighbours, or landmarks "
            "near these points.",
            RidgeWarning,
        )
        stiffness = _STIFFNESS * float(S.diagonal().sum()) / W.sum()
        Q[free] = _solved(sp.csr_array(S + stiffness * laplacian(W).sparse), free, landmarks)
    return Q


def _solved(S: sp.csr_array, free: Index, landmarks: Index) -> Array:
    rows = S[free]
    inner = Form(free.size, sparse=sp.csr_array(rows[:, free]), psd=True)
    return solve_positive(inner, -rows[:, landmarks].toarray(), float(abs(S).sum(axis=0).max()))
