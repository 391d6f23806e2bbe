"""Unfolding in the span of the smoothest functions on a graph."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
import scipy.sparse as sp

from ..._diagnostics import stage
from ..._parameters import Count, Positive, attribute, parameter
from ..._types import Array, Index
from ...data import Sample
from ...errors import DimensionError
from ...graphs import NeighbourGraph
from ...numerics.sdp import Program, Slack, Solution
from ...problem import Samples, diagonal, pose, solve
from ...problem.forms import laplacian
from ..base.contract import Components
from ..base.table import known_as, method
from .solver_settings import SDP
from .task import Held, Task
from .unfolding_base import Unfolding

#: Eigenvectors of the Laplacian unless told.
_EIGENVECTORS = 20
#: Numbers in a block of rows of the least-squares problem.
_BLOCK = 2**20
#: A stretch of this share of an edge costs as much, by default, as an edge gains.
_STRETCH = 0.2


@method(
    "unfolding",
    "max tr Y − ν Σ (v − d)²",
    "smooth embeddings",
    "sparse eigenproblem + m⁶ per step",
    "Weinberger et al. 2007",
)
@known_as(
    "Maximum variance unfolding by Laplacian regularisation",
    "Laplacian MVU; graph Laplacian regularisation of MVU; fast MVU; large-scale MVU; "
    "Laplacian regularised maximum variance unfolding",
)
class LaplacianMVU(Unfolding):
    """Maximum variance unfolding in the span of the smoothest functions on the graph.

    .. math:: \\max_{L \\succeq 0} \\operatorname{tr} L - \\nu \\sum_{ij} (v_{ij} - \\lVert x_i - x_j \\rVert^2)^2,
              \\qquad v_{ij} = (e_i - e_j)^T Q L Q^T (e_i - e_j)

    with the m bottom eigenvectors of the neighbour graph's Laplacian but the constant in Q, QᵀQ = I, so that tr L is the variance of
    K = QLQᵀ. A sum of squares in m(m+1)/2 unknowns is that of a triangular system with two more rows, whatever the number of edges:
    v = A y for the entries y of L, and with [1 A d] = U [ρ R r] it is ‖R y − r‖². In the terms of `Program`, in the basis of
    eigenvectors divided by √λ: C = diag(1/λ), T = R, b = r, equations with quadratic slack.

    A quick look at very many points, and a start for other methods: large features are unfolded, but what m smooth functions cannot
    show is not, and single edges are stretched by large factors (``certificate_.violation``). The optimum is below that of
    the same penalised problem over all K, and grows with m.

    Cost: m sparse eigenvectors, O(m⁴) for every edge in blocks, and O(m⁶) for the program: m = 30 is much.

    Parameters
    ----------
    n_components
        Number of dimensions d of the embedding.
    n_eigenvectors
        m. None means 20, or all if there are fewer.
    price
        ν. "auto" makes a stretch of 20 per cent cost what an edge gains if all weights are equal. A higher price follows
        distances that m functions cannot reproduce into more dimensions; a lower one shows only the longest.

    Attributes
    ----------
    eigenvectors_ : ndarray of shape (n_samples, m)
        Q.
    price_ : float
        ν.

    Examples
    --------
    >>> from sklearn.datasets import make_swiss_roll
    >>> from eigenspan import LaplacianMVU
    >>> X, t = make_swiss_roll(2000, random_state=0)
    >>> mvu = LaplacianMVU(2).fit(X)
    >>> mvu.certificate_.gap < 1e-3
    True

    References
    ----------
    Weinberger, Sha, Zhu & Saul (2007), Graph Laplacian regularization for large-scale semidefinite programming.
    """

    n_components: Components = parameter(default=2, kw_only=False)
    n_eigenvectors: Count | None = None
    price: Positive | Literal["auto"] = "auto"

    eigenvectors_: Array = attribute()
    price_: float = attribute()

    _untold: ClassVar[str] = (
        "among few smooth functions the spectrum of the unfolding keeps a tail of further axes; that of MVU has none"
    )

    def _task(self, graph: NeighbourGraph, sample: Sample) -> Task:
        held = Held.of(graph.undirected())
        Q, values = self._smoothest(held)
        # "auto": a stretch by that share costs what an edge gains; equal weights would be 1/λ₂ each
        auto = 1.0 / (2.0 * _STRETCH * float(values[0]) * float(held.bounds.mean()))
        price = auto if self.price == "auto" else float(self.price)
        attributes = {"price_": price, "eigenvectors_": Q[held.groups.labels]}
        Q = Q / np.sqrt(values)  # of energy one: columns of like size
        with stage("least squares"):
            R = triangle(Q, held.pairs, held.bounds)
        return Smooth(held=held, Q=Q, R=R, cost=1.0 / values, price=price, attributes=attributes)

    def _smoothest(self, held: Held) -> tuple[Array, Array]:
        """Q of the groups, and its eigenvalues."""
        n = held.n
        m = min(_EIGENVECTORS, n - 1) if self.n_eigenvectors is None else self.n_eigenvectors
        if not self.n_components <= m <= n - 1:
            raise DimensionError(
                f"n_eigenvectors={m} must lie between n_components={self.n_components} and {n - 1}, the number of distinct points less "
                "the constant."
            )
        problem = pose(Samples(n), minimise=laplacian(held.graph()), unit=diagonal(held.groups.masses)).problem
        spectrum = solve(problem, m, solver=self.solver, random_state=self.random_state)
        return spectrum.vectors, spectrum.values


@dataclass(frozen=True, eq=False, kw_only=True)
class Smooth(Task):
    """Points ``Y = Q F``, at a price for all that is not their distance: ``‖R [y; −1]‖²`` in the entries y of ``F Fᵀ``."""

    Q: Array
    R: Array
    cost: Array
    price: float
    objective: str = "variance less the price of slack"
    constraint: str = "slack"

    def solve(self, sdp: SDP) -> tuple[Solution, Array]:
        found = self._solved(sdp)
        close = self.gap(found) <= sdp.tol
        status = "certified" if close else "stalled" if found.status == "certified" else found.status
        # the weights and the violation of the edges themselves, behind those of the triangular system
        R, bounds = self.R, self.held.bounds
        z = np.linalg.lstsq(R[:, :-1], found.weights + 2.0 * self.price * R[:, -1], rcond=None)[0]
        F = found.factor[1:]
        L = F @ F.T
        y = np.concatenate([np.diag(L), 2.0 * L[np.triu_indices(len(L), 1)]])
        v, w = np.vstack([A @ np.column_stack([y, z]) for A in _products(self.Q, self.held.pairs)]).T
        certificate = replace(found.certificate, violation=float(np.max(np.abs(v - bounds) / bounds)))
        return replace(found, certificate=certificate, status=status), w - 2.0 * self.price * bounds

    def _solved(self, sdp: SDP) -> Solution:
        """The solver's gap is relative to an objective that can be all price: where it is, once more to a finer one."""
        began, tell = time.monotonic(), sdp.teller(self.objective)
        program = small_program(self.R, self.cost, self.price)
        solution = sdp.solve(program, tol=1e-2 * sdp.tol, callback=tell)
        if solution.status != "certified" or self.gap(solution) <= sdp.tol:
            return solution
        tol = 0.5 * sdp.tol * program.variance(solution.factor) / abs(solution.upper)
        finer = sdp.solve(program, tol=max(tol, 1e-12), time_limit=sdp.time_left(began), callback=tell)
        return min(finer, solution, key=self.gap)

    def gap(self, solution: Solution) -> float:
        """Relative to the variance: what m functions cannot follow may cost many times as much."""
        variance = solution.program.variance(solution.factor)
        return (solution.upper - solution.lower) / variance if variance > 0 else np.inf

    def factor(self, solution: Solution) -> Array:
        return np.asarray((self.Q @ solution.factor[1:])[self.held.groups.labels])


def _products(Q: Array, pairs: Index) -> Iterator[Array]:
    """Blocks of A, (p, m(m+1)/2), with ``v = A [L_aa, 2L_ab]``: β_a² and β_aβ_b (a < b) of β = Q_i − Q_j."""
    a, b = np.triu_indices(Q.shape[1], 1)
    step = max(1, _BLOCK // max(a.size, 1))
    for k in range(0, len(pairs), step):
        i, j = pairs[k : k + step].T
        beta = Q[i] - Q[j]
        yield np.hstack([beta**2, beta[:, a] * beta[:, b]])


def triangle(Q: Array, pairs: Index, bounds: Array) -> Array:
    """R without its first column, of ``[1 A d] = U R``: ``‖A y − d‖ = ‖R [y; −1]‖`` for every y. A block of pairs at a time.

    Its first row is the sum of all equations, in which no weight is negative.
    """
    R: Any = np.zeros((0, Q.shape[1] * (Q.shape[1] + 1) // 2 + 2))
    done = 0
    for A in _products(Q, pairs):
        part = np.column_stack([np.ones(len(A)), A, bounds[done : done + len(A)]])
        R, done = np.linalg.qr(np.vstack([R, part]), mode="r"), done + len(A)
    R[0] *= np.sign(R[0, 0])
    return R[:, 1:]


def small_program(R: Array, cost: Array, price: float) -> Program:
    """max Σ cost_a L_aa − ν ‖R [y; −1]‖², y = [L_aa, 2L_ab], for an m×m Gram matrix L: that of m points about one more, the origin."""
    m = cost.size
    a, b = np.triu_indices(m, 1)
    eye = np.eye(m + 1)[1:]
    directions = np.vstack([eye, eye[a] + eye[b], eye[a] - eye[b]])
    directions[:, 0] = -directions.sum(axis=1)
    T = np.hstack([R[:, :m], 0.5 * R[:, m:-1], -0.5 * R[:, m:-1]])
    T[0, m:] = 0.0  # eigenvectors have no energy in common but rounding
    origin, equal = np.eye(1, m + 1)[0], np.ones(len(R), dtype=bool)
    return Program(directions, R[:, -1], np.append(0.0, cost), origin, sp.csr_array(T), equal, Slack(2, price))
