"""Maximum variance unfolding: the Gram matrix of largest trace that respects distances between neighbours, with a certificate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .._compat import Interval, StrOptions
from .._diagnostics import note, stage
from ..core import Fitted, Samples, SqrtEigenvalue, factor_gram, pose
from ..core.spectrum import seed_of, suggested_dimension
from ..errors import ConvergenceWarning, DegenerateWarning, DimensionError, InputError, warn
from ..extend import eigenfunctions, kernel_map
from ..graphs import NeighbourGraph
from ..input import Sample
from ..solvers import dense
from ..solvers.sdp import METHODS, Program, Slack, Solution, solve_program
from .base import axes
from .docs import documented
from .neighbourhood import GraphEmbedding, barycentric, neighbours
from .parameters import parameters
from .unfolding_certificate import UnfoldingCertificate, certificate_of
from .unfolding_edges import Held, geodesic_start, with_common_neighbours

Array = NDArray[np.float64]
Index = NDArray[np.intp]

#: Share of the largest variance below which an axis is rounding.
_NOTHING = 1e-11
#: Neighbours unless told.
_NEIGHBOURS = 8
#: Columns of data that a band can begin with.
_FEW = 15
#: Share of a bound by which rounding may break it.
_ROUNDING = 1e-9
#: Slack at its own price: the squared stretch at which an edge of average weight comes to rest, as a share of an average squared length,
#: and the linear price in average weights. Weights are very unequal, so both must be strict for the heaviest edges to hold.
_STRETCH, _TIMES = 0.002, 30.0


@parameters(
    tol=1e-3, rank=None, method="auto", extension="auto", max_iter=300, time_limit=None, callback=None, verbose=0
)
class Unfolding(GraphEmbedding):
    """What all unfoldings share: a program over the pairs of a connected graph, its solution and its map.

    A subclass says what ``_program(held)`` is, over the pairs and bounds that are `Held`.
    """

    tol: float
    rank: int | None
    method: str
    extension: str
    max_iter: int
    time_limit: float | None
    callback: Callable[[dict[str, Any]], None] | None
    verbose: int
    _objective: ClassVar[str] = "variance"

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **GraphEmbedding._parameter_constraints,
        "tol": [Interval(Real, 0, 1, closed="neither")],
        "rank": [Interval(Integral, 1, None, closed="left"), None],
        "method": [StrOptions(set(METHODS))],
        "extension": [StrOptions({"auto", "barycentric", "eigenfunctions", "kernel-map"})],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "time_limit": [Interval(Real, 0, None, closed="neither"), None],
        "callback": [callable, None],
        "verbose": ["verbose"],
    }

    def _graph(self, sample: Sample) -> NeighbourGraph:
        if self.extension == "barycentric":
            sample.x.coordinates(
                'extension="barycentric" rebuilds points from the coordinates of their neighbours',
                'use "eigenfunctions" (which "auto" takes there) or "kernel-map"',
            )
        return neighbours(
            self, sample, min(_NEIGHBOURS, sample.n - 1) if self.n_neighbors is None else self.n_neighbors
        )

    def _embed(self, graph: NeighbourGraph, sample: Sample) -> Fitted:
        if self.n_components >= graph.n:
            raise DimensionError(
                f"n_components={self.n_components} exceeds {graph.n - 1}, the number of samples less the constant: use n_components <= "
                f"{graph.n - 1}."
            )
        F, found = self._unfold(graph, sample)
        F = F @ dense.eigenpairs(dense.symmetric(F.T @ F), None, "max")[1]
        variances = np.sum(F**2, axis=0)
        posed = pose(
            Samples(graph.n, self._extension(graph, sample.x, F)), maximise=factor_gram(F), scale=SqrtEigenvalue()
        )
        d = max(1, min(self.n_components, int(np.sum(variances > _NOTHING * variances.max()))))
        fitted = (
            axes(self)
            .fit(replace(posed, axes=d))
            .having(
                embedding_full_=F,
                spectrum_=variances,
                suggested_dimension_=suggested_dimension(variances, found["certificate_"].gap),
                **found,
            )
        )
        missing = self.n_components - d
        if not missing:
            return fitted
        warn(
            f"The unfolding has {d} dimension{'s' * (d > 1)}: all variance lies there, and the other {missing} of the "
            f"{self.n_components} axes asked for are zero. Where a graph hangs on single edges, such as bridges between components, its "
            "points are pulled into a line.",
            DegenerateWarning,
        )
        padding = np.eye(d, self.n_components)
        return replace(fitted, embedding=np.asarray(fitted.embedding) @ padding, map=fitted.map.then(padding))

    # ------------------------------------------------------------------ the program
    def _edges(self, graph: NeighbourGraph, sample: Sample) -> sp.csr_array:
        """Undirected graph of the lengths to be respected."""
        return graph.undirected()

    def _program(self, held: Held) -> Program:
        raise NotImplementedError

    def _unfold(self, graph: NeighbourGraph, sample: Sample) -> tuple[Array, dict[str, Any]]:
        """The n×r factor of the Gram matrix, and what the estimator will have of it: ``solution_``, ``certificate_`` and the like."""
        held = Held.of(graph, sample, self._edges(graph, sample))
        program = self._program(held)
        start = None
        if program.is_graph and self.method != "dense":
            lengths = np.sqrt(held.bounds)
            start = geodesic_start(program.n, held.pairs, lengths, self._first_rank(), seed_of(self.random_state))
        with stage("unfolding"):
            solution = solve_program(
                program, method=self.method, tol=self.tol, rank=self._first_rank(), start=start,
                interior=self._interior(held, program), max_iter=self.max_iter,
                time_limit=self.time_limit, callback=self._tell(), random_state=seed_of(self.random_state),
            )  # fmt: skip
        self._report(solution)
        F = solution.factor[held.groups.labels]
        return np.asarray(F - F.mean(axis=0)), {
            "solution_": solution,
            "n_iter_": max(1, solution.iterations),
            "certificate_": self._certificate(solution, held),
        }

    def _interior(self, held: Held, program: Program) -> Array | None:
        """An embedding that keeps all bounds: the data, where they have few enough columns to begin with."""
        return None

    def _first_rank(self) -> int:
        return max(3, self.n_components + 1) if self.rank is None else max(self.rank, self.n_components)

    # ------------------------------------------------------------------ progress and outcome
    def _tell(self) -> Callable[[dict[str, Any]], None] | None:
        callback, name = self.callback, self._objective
        if not self.verbose:
            return callback

        def say(record: dict[str, Any]) -> None:
            print(
                f"[{type(self).__name__}] step {record['iteration']}: {name} {record['lower']:.6g} to {record['upper']:.6g}, "
                f"gap {record['gap']:.1e}, {record['seconds']:.1f} s"
            )
            if callback is not None:
                callback(record)

        return say

    def _report(self, solution: Solution) -> None:
        gap = self._gap(solution)
        note(status=solution.status, certified_gap=gap, violation=solution.certificate.violation)
        if solution.status == "certified":
            return
        reasons = {
            "time": f"The time limit of {self.time_limit:g} s was reached" if self.time_limit is not None else "",
            "interrupted": "Interrupted",
            "iterations": f"max_iter={self.max_iter} steps were taken",
            "stalled": "The steps became too short to go on",
        }
        name = self._objective + " less the price of slack" * (getattr(self, "constraint", "") == "slack")
        advice = (
            "More time will not help: bounds of very different size, or hardly any room between them, stop the steps. Use fewer or other "
            'neighbours, or constraint="slack"'
            if solution.status == "stalled"
            else "Give it more time"
        )
        found = (
            f"its {name} proved within {100 * gap:.2g} % of the optimum, not the {100 * self.tol:.2g} % asked for. {advice}, or accept "
            "the gap with tol=."
            if np.isfinite(gap)
            else f"no bound was proved on how far its {name} is from the optimum. {advice}."
        )
        warn(
            f"{reasons[solution.status]} after {solution.iterations} steps: the unfolding is feasible to "
            f"{solution.certificate.violation:.1e} and {found}",
            ConvergenceWarning,
        )

    def _gap(self, solution: Solution) -> float:
        """What `tol` is about."""
        return solution.gap

    def _certificate(self, solution: Solution, held: Held) -> UnfoldingCertificate:
        form = getattr(self, "constraint", "inequality")
        return certificate_of(solution, self._gap(solution), held.pairs, held.bounds, held.groups, form)

    # ------------------------------------------------------------------ new points
    def _extension(self, graph: NeighbourGraph, x: Any, F: Array) -> Any:
        if self.extension == "kernel-map":
            return kernel_map(graph, x.arriving)
        if self.extension == "eigenfunctions" or x.pairs:
            return eigenfunctions(graph, x.arriving, F)
        return barycentric(graph, x)


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

    def _program(self, held: Held) -> Program:
        return self._bounded(held)

    def _bounded(
        self,
        held: Held,
        cost: Any = None,
        equal: NDArray[np.bool_] | None = None,
        strings: tuple[Index, Array] | None = None,
    ) -> Program:
        """The program of these pairs in the form asked for; C over all points, None for the variance; `equal` pairs are equations.

        `strings` are bounds from above on some of the pairs besides, which only slack can keep where they contradict an equation.
        """
        pairs, bounds, groups = held.pairs, held.bounds, held.groups
        cost = None if cost is None else groups.sum(cost)
        settings: dict[str, Any] = {"masses": groups.masses, "cost": cost, "equal": equal}
        if self.constraint == "band":
            settings["lower"] = (1.0 - self.band) * bounds
            settings["equal"] = None if equal is None else np.concatenate([equal, np.zeros_like(equal)])
        elif self.constraint == "slack":
            settings["slack"] = Slack(int(self.power), self._price(held, cost))
            if equal is not None and strings is not None and strings[0].size:
                rows = np.concatenate([np.arange(len(pairs)), strings[0]])
                settings["combine"] = sp.eye_array(len(pairs), format="csr")[rows]
                settings["equal"] = np.append(equal, np.zeros(strings[0].size, dtype=bool))
                bounds = np.concatenate([bounds, strings[1]])
        return Program.of_pairs(held.n, pairs, bounds, **settings)

    def _interior(self, held: Held, program: Program) -> Array | None:
        points = held.sample.x.points
        if points is None or points.shape[1] > _FEW or self.constraint != "band":
            return None
        inside = points[held.groups.first]
        return inside if np.all(program.excess(inside) <= _ROUNDING * np.abs(program.bounds)) else None

    def _report(self, solution: Solution) -> None:
        if solution.is_contradiction:
            raise InputError(
                f"No points have these distances: the weights prove that band={self.band:g} is too narrow for this metric (upper bound "
                f'{solution.upper:.3g} on a sum of squares). Use a wider band, or constraint="slack".'
            )
        super()._report(solution)

    def _price(self, held: Held, cost: Any) -> float:
        """ν as given, or such that a small stretch costs what an average edge gains: its weight, were geodesics the distances."""
        if self.price != "auto":
            return float(self.price)
        bounds = held.bounds
        Y = geodesic_start(held.n, held.pairs, np.sqrt(bounds), 2, seed_of(self.random_state))
        CY = held.groups.masses[:, None] * Y if cost is None else cost @ Y
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

    ``certificate_`` brackets the optimum by weak duality, whatever the solver did. Points a hundred times nearer to one another than to all
    others are solved for as one, and the bounds then proved for all of them.

    Cost: 40 or so sparse factorisations of order n·rank with the fill of the neighbour graph.

    Parameters
    ----------
    $n_components
    $unfolding_neighbors
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

    def _edges(self, graph: NeighbourGraph, sample: Sample) -> sp.csr_array:
        if self.common_neighbors:
            graph = with_common_neighbours(graph, sample.x)
        return graph.undirected()
