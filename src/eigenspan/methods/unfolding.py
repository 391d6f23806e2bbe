"""Maximum variance unfolding: the Gram matrix of largest trace that respects distances between neighbours, with a certificate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .._compat import Interval, StrOptions
from .._diagnostics import note, stage
from ..core import Map, Samples, SqrtEigenvalue, factor_gram, pose
from ..core.spectrum import seed_of
from ..errors import ConvergenceWarning, DegenerateWarning, DimensionError, InputError, warn
from ..extend import eigenfunctions, kernel_map
from ..graphs import NeighbourGraph, geodesic_table
from ..graphs.contract import Contraction, common_neighbours, contract
from ..solvers import dense
from ..solvers.sdp import METHODS, Program, Slack, Solution, solve_program
from .docs import documented
from .neighbourhood import GraphEmbedding, _distances_on, barycentric
from .parameters import parameters

Array = NDArray[np.float64]
Index = NDArray[np.intp]

#: Share of the largest variance below which an axis is rounding.
_NOTHING = 1e-11
#: Share of all variance that counts as none where the spectrum drops.
_NO_SHARE = 1e-9
#: Geodesic sources of the start, and neighbours unless told.
_SOURCES, _NEIGHBOURS = 300, 8
#: Columns of data that a band can begin with.
_FEW = 15
#: Slack at its own price: the squared stretch at which an edge of average weight comes to rest, as a share of an average squared length,
#: and the linear price in average weights. Weights are very unequal, so both must be strict for the heaviest edges to hold.
_STRETCH, _TIMES = 0.002, 30.0


@dataclass(frozen=True, eq=False)
class UnfoldingCertificate:
    """What proves an unfolding, in the units of the data: anyone can recompute both bounds.

    For the inequality form, with V the squared distances on `edges` in ``embedding_full_`` (centred, R):
    ``lower = ‖R‖² / max(V / squared_distances)`` and ``upper = weights · squared_distances / λ₂(L(weights))``.

    Attributes
    ----------
    lower, upper, gap : float
        The largest possible variance Σ‖y_i‖² lies between the bounds; ``gap = (upper − lower) / upper``. Where `constraint` is
        "band", `lower` is the variance attained and `violation` says how far the bounds are broken.
    violation : float
        Largest excess over a squared distance, relative to it.
    edges : ndarray of shape (m, 2)
        The pairs of rows that are constrained. Copies of a row are tied to it by edges of length zero.
    squared_distances : ndarray of shape (m,)
    weights : ndarray of shape (m,)
        Dual weights (tensions) of the upper bounds; an edge that is not stretched to its length has weight zero.
    weights_below : ndarray of shape (m,) or None
        Those of the lower bounds of a band.
    status : {"certified", "iterations", "time", "interrupted", "stalled"}
        Why the solver stopped.
    constraint : {"inequality", "slack", "band"}
    """

    lower: float
    upper: float
    gap: float
    violation: float
    edges: Index
    squared_distances: Array
    weights: Array
    weights_below: Array | None
    status: str
    constraint: str


@parameters(
    tol=1e-3, rank=None, method="auto", extension="barycentric", max_iter=300, time_limit=None, callback=None, verbose=0
)
class Unfolding(GraphEmbedding):
    """What all unfoldings share: a program over the pairs of a connected graph, its solution and its map.

    A subclass says what ``_program(pairs, bounds, contraction, rows)`` is; `rows` are the rows of X that the nodes stand for, by
    which it finds its labels.
    """

    tol: float
    rank: int | None
    method: str
    extension: str
    max_iter: int
    time_limit: float | None
    callback: Callable[[dict[str, Any]], None] | None
    verbose: int

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **GraphEmbedding._parameter_constraints,
        "tol": [Interval(Real, 0, 1, closed="neither")],
        "rank": [Interval(Integral, 1, None, closed="left"), None],
        "method": [StrOptions(set(METHODS))],
        "extension": [StrOptions({"barycentric", "eigenfunctions", "kernel-map"})],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "time_limit": [Interval(Real, 0, None, closed="neither"), None],
        "callback": [callable, None],
        "verbose": ["verbose"],
    }

    def _n_near(self, X: Any) -> int | None:
        return min(_NEIGHBOURS, X.shape[0] - 1) if self.n_neighbors is None else self.n_neighbors

    def _embed_graph(self, graph: NeighbourGraph, points: Array | None) -> tuple[Array, Map]:
        if self.n_components >= graph.n:
            raise DimensionError(
                f"n_components={self.n_components} exceeds {graph.n - 1}, the number of samples less the constant: use n_components <= "
                f"{graph.n - 1}."
            )
        F = self._unfold(graph, points)
        self.embedding_full_ = F
        self.spectrum_ = np.sum(F**2, axis=0)
        self.suggested_dimension_ = suggested_dimension(self.spectrum_)
        extension = self._extension(graph, points, F)
        Y, map_ = self._solve(pose(Samples(graph.n, extension), maximise=factor_gram(F), scale=SqrtEigenvalue()))
        missing = self.n_components - Y.shape[1]
        if not missing:
            return Y, map_
        warn(
            f"The unfolding has {Y.shape[1]} dimension{'s' * (Y.shape[1] > 1)}: all variance lies there, and the other {missing} of the "
            f"{self.n_components} axes asked for are zero. Where a graph hangs on single edges, such as bridges between components, its "
            "points are pulled into a line.",
            DegenerateWarning,
        )
        empty = ((0, 0), (0, missing))
        Y = np.pad(Y, empty)
        return Y, replace(map_, coef=np.pad(map_.coef, empty), embedding=None if map_.embedding is None else Y)

    def _n_axes(self) -> int:
        return max(1, min(self.n_components, int(np.sum(self.spectrum_ > _NOTHING * self.spectrum_.max()))))

    # ------------------------------------------------------------------ the program
    def _edges(self, graph: NeighbourGraph, points: Array | None) -> sp.csr_array:
        """Undirected graph of the lengths to be respected."""
        return graph.undirected()

    def _program(self, pairs: Index, bounds: Array, groups: Contraction, rows: Index) -> Program:
        raise NotImplementedError

    def _unfold(self, graph: NeighbourGraph, points: Array | None) -> Array:
        """The n×r factor of the Gram matrix; sets ``solution_`` and ``certificate_``."""
        lengths = self._edges(graph, points)
        groups, pairs, d = contract(lengths)
        program = self._program(pairs, d**2, groups, self._rows_of(graph))
        start = None
        if program.is_graph and self.method != "dense":
            start = geodesic_start(program.n, pairs, d, self._first_rank(), seed_of(self.random_state))
        with stage("unfolding"):
            self.solution_ = solve_program(
                program, method=self.method, tol=self.tol, rank=self._first_rank(), start=start,
                interior=self._interior(points, groups), max_iter=self.max_iter,
                time_limit=self.time_limit, callback=self._tell(), random_state=seed_of(self.random_state),
            )  # fmt: skip
        self.n_iter_ = max(1, self.solution_.iterations)
        self._report(self.solution_)
        self.certificate_ = self._certificate(self.solution_, pairs, d**2, groups)
        F = self.solution_.factor[groups.labels]
        return np.asarray(F - F.mean(axis=0))

    def _interior(self, points: Array | None, groups: Contraction) -> Array | None:
        """An embedding that keeps all bounds: the data, where they have few enough columns to begin with."""
        return None

    def _first_rank(self) -> int:
        return max(3, self.n_components + 1) if self.rank is None else max(self.rank, self.n_components)

    def _rows_of(self, graph: NeighbourGraph) -> Index:
        """Rows of X behind the nodes of the graph."""
        rows = np.arange(graph.n) if graph.rows is None else graph.rows
        return self.landmarks_[rows] if "landmarks_" in vars(self) else rows

    # ------------------------------------------------------------------ progress and outcome
    def _tell(self) -> Callable[[dict[str, Any]], None] | None:
        callback = self.callback
        if not self.verbose:
            return callback

        def say(record: dict[str, Any]) -> None:
            print(
                f"[{type(self).__name__}] step {record['iteration']}: variance {record['lower']:.6g} to {record['upper']:.6g}, "
                f"gap {record['gap']:.1e}, {record['seconds']:.1f} s"
            )
            if callback is not None:
                callback(record)

        return say

    def _report(self, solution: Solution) -> None:
        note(status=solution.status, certified_gap=solution.gap, violation=solution.certificate.violation)
        if solution.status == "certified":
            return
        reasons = {
            "time": f"The time limit of {self.time_limit:g} s was reached" if self.time_limit is not None else "",
            "interrupted": "Interrupted",
            "iterations": f"max_iter={self.max_iter} steps were taken",
            "stalled": "The steps became too short to go on",
        }
        warn(
            f"{reasons[solution.status]} after {solution.iterations} steps: the unfolding is feasible to "
            f"{solution.certificate.violation:.1e} and its variance "
            f"proved within {100 * solution.gap:.2g} % of the optimum, not the {100 * self.tol:.2g} % asked for. "
            "Give it more time, or accept the gap with tol=.",
            ConvergenceWarning,
        )

    def _certificate(
        self, solution: Solution, pairs: Index, bounds: Array, groups: Contraction
    ) -> UnfoldingCertificate:
        m, c, w = len(pairs), solution.certificate, solution.weights
        copies = np.flatnonzero(groups.first[groups.labels] != np.arange(groups.labels.size))
        edges = np.vstack([groups.first[pairs], np.column_stack([groups.first[groups.labels[copies]], copies])])
        stiff = np.full(copies.size, 1e8 * max(float(np.max(np.abs(w), initial=0.0)), 1.0))
        banded = getattr(self, "constraint", "") == "band"
        above, below = w[:m], np.concatenate([w[m : 2 * m], 0 * stiff]) if banded else None
        return UnfoldingCertificate(
            c.lower, c.upper, c.gap, c.violation, edges, np.concatenate([bounds, np.zeros(copies.size)]),
            np.concatenate([above, stiff]), below, solution.status, getattr(self, "constraint", "inequality"),
        )  # fmt: skip

    # ------------------------------------------------------------------ new points
    def _extension(self, graph: NeighbourGraph, points: Array | None, F: Array) -> Any:
        if self.extension == "barycentric":
            return barycentric(graph, points)
        if points is None:
            raise InputError(f'extension="{self.extension}" needs coordinates, and graph="precomputed" has none.')
        return eigenfunctions(graph, points, F) if self.extension == "eigenfunctions" else kernel_map(graph, points)


@parameters(constraint="inequality", band=0.05, price="auto", power=2)
class BoundedUnfolding(Unfolding):
    """Unfoldings that bound the squared distances of pairs, in the form that `constraint` names, and maximise ⟨C, K⟩."""

    constraint: str
    band: float
    price: Any
    power: int

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **Unfolding._parameter_constraints,
        "constraint": [StrOptions({"inequality", "slack", "band"})],
        "band": [Interval(Real, 0, 1, closed="neither")],
        "price": [Interval(Real, 0, None, closed="neither"), StrOptions({"auto"})],
        "power": [Interval(Integral, 1, 2, closed="both")],
    }

    def _program(self, pairs: Index, bounds: Array, groups: Contraction, rows: Index) -> Program:
        return self._bounded(pairs, bounds, groups)

    def _bounded(
        self, pairs: Index, bounds: Array, groups: Contraction, cost: Any = None, equal: NDArray[np.bool_] | None = None
    ) -> Program:
        """The program of these pairs in the form asked for; C over all points, None for the variance; `equal` pairs are equations."""
        cost = None if cost is None else groups.sum(cost)
        settings: dict[str, Any] = {"masses": groups.masses, "cost": cost, "equal": equal}
        if self.constraint == "band":
            settings["lower"] = (1.0 - self.band) * bounds
            settings["equal"] = None if equal is None else np.concatenate([equal, np.zeros_like(equal)])
        elif self.constraint == "slack":
            settings["slack"] = Slack(int(self.power), self._price(pairs, bounds, groups, cost))
        return Program.of_pairs(groups.first.size, pairs, bounds, **settings)

    def _interior(self, points: Array | None, groups: Contraction) -> Array | None:
        if points is None or points.shape[1] > _FEW or self.constraint != "band":
            return None
        return points[groups.first]

    def _price(self, pairs: Index, bounds: Array, groups: Contraction, cost: Any) -> float:
        """ν as given, or such that a small stretch costs what an average edge gains: its weight, were geodesics the distances."""
        if self.price != "auto":
            return float(self.price)
        Y = geodesic_start(groups.first.size, pairs, np.sqrt(bounds), 2, seed_of(self.random_state))
        CY = groups.masses[:, None] * Y if cost is None else cost @ Y
        weight = abs(float(np.vdot(Y, CY))) / float(bounds.sum())
        return _TIMES * weight if self.power == 1 else weight / (2.0 * _STRETCH * float(bounds.mean()))


@documented
@parameters(common_neighbors=False)
class MVU(BoundedUnfolding):
    """Maximum variance unfolding (semidefinite embedding), solved exactly, with a certificate.

    .. math:: \\max_{K \\succeq 0,\\ K1 = 0} \\operatorname{tr} K \\quad\\text{s.t.}\\quad
              K_{ii} - 2K_{ij} + K_{jj} \\le \\lVert x_i - x_j \\rVert^2 \\ \\text{ for neighbours } i, j

    Points are pulled apart as far as the strings between neighbours allow; a sheet that was rolled up becomes flat [S4, §5]. It shows
    its dimension by itself: the eigenvalues of K beyond it vanish (``spectrum_``, ``suggested_dimension_``).

    The original form has equations in place of ≤. On data without noise these have no interior: d + 2 points of a d-dimensional
    neighbourhood with all distances fixed leave K no freedom there, the dual is unbounded, and no solver can certify it. The
    inequality is a relaxation with an interior, whose strings are taut wherever they carry weight. ``constraint="band"`` keeps
    distances from shrinking as well (and takes several times as many steps), ``"slack"`` lets them stretch at a price, for noisy
    distances. Too few neighbours leave strings slack, and the sheet is stretched along and narrowed across: a Swiss roll of
    1,000 points keeps 0.67 of its width with k = 8 and 0.91 with k = 15; `common_neighbors` braces it.

    ``certificate_`` brackets the optimum by weak duality, whatever the solver did.

    Cost: 40 or so sparse factorisations of order n·rank with the fill of the neighbour graph.

    Parameters
    ----------
    $n_components
    n_neighbors : int or None, default=None
        Neighbours of every point. None means 8, or all other points where there are fewer.
    $graph
    constraint : {"inequality", "slack", "band"}, default="inequality"
        ``v ≤ d``; ``v ≤ d + t`` at a price for t; ``(1 − band) d ≤ v ≤ d``, for the squared distances v of neighbours.
    $unfolding_form
    common_neighbors : bool, default=False
        Constrain pairs that share a neighbour as well [S1, §1.3.2]: angles are kept too, at the cost of a much denser graph.
    $unfolding_parameters

    Attributes
    ----------
    $unfolding_attributes
    $graph_attribute
    $spectral_attributes

    Examples
    --------
    >>> from sklearn.datasets import make_swiss_roll
    >>> from eigenspan import MVU
    >>> X, t = make_swiss_roll(300, random_state=0)
    >>> mvu = MVU(2, n_neighbors=8).fit(X)
    >>> mvu.certificate_.gap < 1e-3
    True
    >>> mvu.transform(X[:5]).shape
    (5, 2)

    References
    ----------
    Weinberger & Saul (2006), Unsupervised learning of image manifolds by semidefinite programming; Weinberger, Sha & Saul (2004),
    Learning a kernel matrix for nonlinear dimensionality reduction; Sun, Boyd, Xiao & Diaconis (2006) for the dual.
    """

    common_neighbors: bool

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **BoundedUnfolding._parameter_constraints,
        "common_neighbors": ["boolean"],
    }

    def _edges(self, graph: NeighbourGraph, points: Array | None) -> sp.csr_array:
        lengths = graph.undirected()
        if not self.common_neighbors:
            return lengths
        if points is None:
            raise InputError(
                'common_neighbors=True needs distances between neighbours of a point, and graph="precomputed" was given without '
                "coordinates: put these pairs into the graph itself."
            )
        return with_pairs(lengths, common_neighbours(graph.distances), points)


def suggested_dimension(spectrum: Array) -> int:
    """Axes before the largest drop of the spectrum, of which nothing is left below a billionth of the variance."""
    shares = np.sort(spectrum)[::-1] / max(float(spectrum.sum()), np.finfo(float).tiny)
    padded = np.maximum(np.append(shares, 0.0), _NO_SHARE)
    return int(np.argmax(padded[:-1] / padded[1:])) + 1


def with_pairs(lengths: sp.csr_array, pairs: Index, points: Array) -> sp.csr_array:
    """An undirected graph with further pairs, at their distance in space."""
    n = lengths.shape[0]
    ones = np.ones(len(pairs), dtype=np.int8)
    pattern = sp.csr_array((ones, (pairs[:, 0], pairs[:, 1])), shape=(n, n))
    edges = sp.csr_array((np.ones(lengths.nnz, dtype=np.int8), lengths.indices, lengths.indptr), shape=(n, n))
    return _distances_on(sp.csr_array(pattern + pattern.T + edges), points)


def geodesic_start(n: int, pairs: Index, lengths: Array, p: int, seed: Any) -> Array:
    """Landmark Isomap of the pairs: classical MDS of shortest paths from some points, the others by triangulation."""
    i, j = pairs.T
    graph = sp.csr_array((np.tile(lengths, 2), (np.concatenate([i, j]), np.concatenate([j, i]))), shape=(n, n))
    sources = np.random.default_rng(seed).choice(n, min(_SOURCES, n), replace=False)
    squares = geodesic_table(graph, sources).astype(np.float64) ** 2
    among = squares[sources]
    means = among.mean(axis=0)
    values, V = dense.eigenpairs(-0.5 * (among - means - means[:, None] + means.mean()), min(p, sources.size), "max")
    return -0.5 * (squares - means) @ V / np.sqrt(np.maximum(values, 1e-6 * values.max()))
