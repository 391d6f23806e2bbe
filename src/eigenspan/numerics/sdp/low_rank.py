"""Low-rank primal–dual interior-point method for unfolding: a factored Gram matrix, sparse Newton steps, certified bounds.

``K = R Rᵀ`` with R of r columns makes the problem smooth but not convex, so a stationary point need not be the optimum. The dual
weights show whether it is: at the optimum ``L(w) ⪰ M`` on centred vectors. Otherwise an eigenvector with a negative eigenvalue is a
direction of ascent in one more dimension. It is added to the last column of R if that is unused, or to a new column. The returned
solution is therefore certified, whatever the path of the iteration.

Cost: each step factorises a sparse matrix of order nr with the fill of the neighbour graph; memory grows with that fill.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp

from ..._diagnostics import note, stage
from ..._types import Array
from ..eigen.dense import eigenpairs
from ..factor import analyse
from ..paths.csgraph import dijkstra
from .barrier_path import BarrierPath, InteriorPath
from .best_bounds import BestBounds
from .certificate import Callback, Certificate, Record, Solution, charged_bound, largest_ratio, net_value, shrink
from .program import Program

#: Relative gap to which a band problem is first solved without lower bounds.
_BAND_START_GAP = 1e-2
#: Ratio of the largest to the smallest squared distance from which on the iteration stays inside all bounds.
_WIDE = 1e7
#: Number of sources of the geodesic distances of the start.
_SOURCES = 300
#: Relative gap of the central path at which a known solution is continued, as a share of the requested gap.
_CONTINUATION_GAP = 0.3


def low_rank_interior_point(
    program: Program, *, start: Array | None = None, interior: Array | None = None, first: Solution | None = None,
    tol: float = 1e-3, rank: int = 3, max_iter: int = 300, time_limit: float | None = None,
    callback: Callback | None = None, random_state: int | np.random.Generator | None = 0,
) -> Solution:  # fmt: skip
    """Solve a program on a graph (``program.is_graph``) to a certified relative gap `tol`.

    `start` is an embedding (n, p) of any scale; by default the lowest eigenvectors of the graph. `interior` is an embedding that satisfies
    all bounds, such as the data themselves; a band requires it. `first`, a solution to be improved, replaces both. `rank` is the initial
    number of columns. `callback` gets a dict with iteration, lower, upper, gap, rank, seconds and factor whenever bounds are computed. A
    band is first solved without its lower bounds, and `lower` is −∞ in that phase.
    """
    size = float(np.mean(np.abs(program.bounds)))
    scaled = program.scaled(size)
    limits = _Limits(max_iter, time_limit, callback, size)
    if first is None:
        inside = None if interior is None else interior / np.sqrt(size)
        state, first = _begin(scaled, start, inside, tol, rank, np.random.default_rng(random_state), limits)
    else:
        R = np.sqrt((1.0 - _CONTINUATION_GAP * tol) / size) * first.factor
        state = _path(scaled)(scaled, R, tol, warm=_CONTINUATION_GAP * tol)
    best, history = BestBounds(scaled, state.R, state.w, tol), list[Record]()
    if first is not None:
        best.offer_weights(first.weights, 1.0)
    stopped = first is not None and first.status == "interrupted"
    status, iteration = ("interrupted", 0) if stopped else _iterate(state, best, limits, history)
    return _finish(program, state, best, size, iteration, status, history)


@dataclass(frozen=True)
class _Limits:
    """Limits of the iteration, and the callback for its records. Squared distances are `size` times those of the iteration."""

    max_iter: int
    time_limit: float | None
    callback: Callback | None
    size: float
    began: float = field(default_factory=time.monotonic)

    def report(self, record: Record, R: Array) -> None:
        """Call the callback with the record and the embedding R."""
        if self.callback is not None:
            self.callback({**record, "factor": np.sqrt(self.size) * R})

    def report_band(self, record: Record) -> None:
        """Call the callback with a record of the problem without lower bounds, which gives no lower bound on the band's optimum."""
        if self.callback is not None:
            factor = np.sqrt(self.size) * record["factor"]
            upper = self.size * record["upper"]
            self.callback({**record, "lower": -np.inf, "upper": upper, "gap": np.inf, "factor": factor})


def _iterate(state: BarrierPath, best: BestBounds, limits: _Limits, history: list[Record]) -> tuple[str, int]:
    """Take Newton steps until the bounds meet or a limit is reached; return the status and the number of steps."""
    iteration, quiet = 0, 0
    try:
        for iteration in range(limits.max_iter):
            best.offer_factor(state.R)
            if iteration >= state.wait and (state.is_settled() or quiet >= 40):
                record, quiet = _certify(state, best), 0
                record["iteration"], record["rank"] = iteration, state.R.shape[1]
                record["seconds"] = time.monotonic() - limits.began
                record["lower"], record["upper"] = record["lower"] * limits.size, record["upper"] * limits.size
                history.append(record)
                limits.report(record, state.R)
                if best.is_certified(state.tol):
                    return "certified", iteration
                state.wait = iteration + (9 if record["escaped"] else 1)
            if limits.time_limit is not None and time.monotonic() - limits.began > limits.time_limit:
                return "time", iteration
            quiet += 1
            state.advance()
    except KeyboardInterrupt:
        return "interrupted", iteration
    except la.LinAlgError:  # rounding prevents further steps
        return "stalled", iteration
    return "iterations", iteration


def _begin(
    program: Program, start: Array | None, interior: Array | None, tol: float, rank: int, rng: np.random.Generator,
    limits: _Limits,
) -> tuple[BarrierPath, Solution | None]:  # fmt: skip
    """Return the first point, and for a band the solution without its lower bounds.

    A band starts at an embedding inside it, with a small share of the solution without lower bounds added in separate columns. Squared
    distances then mix linearly, so the path from one to the other stays inside the band.
    """
    if program.combine is None:
        with stage("start"):
            R = _geodesic_columns(program, rank, rng) if _is_wide(program) else _columns(program, start, rank, rng)
            return _path(program)(program, R, tol), None
    assert interior is not None
    upper, lower = np.split(program.bounds, 2)
    plain = replace(program, bounds=upper, combine=None)
    with stage("start"):
        first = low_rank_interior_point(
            plain, start=start, tol=_BAND_START_GAP, rank=rank, time_limit=limits.time_limit,
            callback=None if limits.callback is None else limits.report_band,
        )  # fmt: skip
    share = 0.5 * float(np.min(1.0 + lower / upper))
    R = np.hstack([np.sqrt(1.0 - share) * program.centred(interior), np.sqrt(share) * first.factor])
    # the optimum without lower bounds is an upper bound
    first = replace(first, weights=np.concatenate([first.weights, np.zeros_like(first.weights)]))
    return BarrierPath(program, np.sqrt(1.0 - 0.5 * share) * R, tol, warm=_BAND_START_GAP), first


def _is_wide(program: Program) -> bool:
    """Return True if the bounds of a program without slack and lower bounds differ by orders of magnitude."""
    plain = program.slack is None and program.combine is None
    return plain and float(program.bounds.min()) * _WIDE < float(program.bounds.max())


def _path(program: Program) -> type[BarrierPath]:
    return InteriorPath if _is_wide(program) else BarrierPath


def _certify(state: BarrierPath, best: BestBounds) -> Record:
    """Compute bounds at the current point; then either leave a saddle or lower the barrier."""
    with stage("bounds"):
        k = max(1, min(state.R.shape[1] + 2, 6, state.program.n - 2))
        ratio, _, V = largest_ratio(state.program, state.w, k=k, tol=1e-7)
    best.offer_weights(state.w, ratio)
    record: Record = {"lower": best.lower, "upper": best.upper, "gap": best.gap, "escaped": False}
    if best.is_certified(state.tol):
        return record
    state.trim()
    smallest = 1.0 / ratio if np.isfinite(ratio) else 0.0
    variance = state.program.variance(state.R)
    saddle = smallest < 1.0 - max(0.5 * state.tol, 20.0 * state.dual)
    if saddle and variance > (1.0 + 0.1 * state.tol) * state.left_at:
        state.left_at = variance
        state.escape(V[:, 0])
        record["escaped"] = True
    else:  # no saddle, or the last escape gained nothing because the weights have not converged
        state.left_at = 0.0
        state.lower_barrier()
    return record


def _columns(program: Program, start: Array | None, rank: int, rng: np.random.Generator) -> Array:
    """Return the start with `rank` columns; all columns get a little noise, smoothed over the graph."""
    n, rank = program.n, max(1, min(rank, program.n - 1))
    upper = program.bounds[: len(program.pairs)]  # type: ignore[arg-type]
    if start is None:
        size = np.maximum(upper, 1e-3 * upper.mean())
        plain = replace(program, bounds=upper, combine=None, slack=None)
        _, ratios, V = largest_ratio(plain, 1.0 / size, k=min(rank, n - 1))
        start = V * np.sqrt(ratios)
    R = np.zeros((n, rank))
    R[:, : start.shape[1]] = start[:, :rank]
    scale = np.sqrt(np.mean(R[:, 0] ** 2))
    R += 1e-2 * scale * rng.standard_normal((n, rank))
    smooth = sp.csr_array(sp.eye_array(n) + 2.0 * program.laplacian(np.ones(upper.size)))
    return analyse(smooth).factorise(smooth).solve(R)


def _geodesic_columns(program: Program, rank: int, rng: np.random.Generator) -> Array:
    """Return points within all bounds: geodesic distances from some points, on their axes of most variance.

    A geodesic distance from a fixed point changes along an edge by at most its length, so the root mean square of several does as well, and
    a projection to some of the axes shortens all distances. Noise in proportion to the shortest edge of each point fills all columns.
    """
    assert program.pairs is not None
    n, pairs, lengths = program.n, program.pairs, np.sqrt(program.bounds)
    rank = max(1, min(rank, n - 1))
    sources = rng.choice(n, min(_SOURCES, n), replace=False)
    G = sp.csr_array((lengths, pairs.T), shape=(n, n))
    T = program.centred(np.atleast_2d(dijkstra(G, directed=False, indices=sources)).T) / np.sqrt(sources.size)
    V = eigenpairs(T.T @ (program.cost[:, None] * T), min(rank, sources.size), "max")[1]
    R, nearest = np.zeros((n, rank)), np.full(n, np.inf)
    R[:, : V.shape[1]] = T @ V
    np.minimum.at(nearest, pairs.ravel(), np.repeat(lengths, 2))
    return R + 1e-2 * nearest[:, None] * rng.standard_normal((n, rank))


def _finish(
    program: Program, state: BarrierPath, best: BestBounds, size: float, iteration: int, status: str,
    history: list[Record],
) -> Solution:  # fmt: skip
    """Return the best point, shrunk into the feasible set, on its principal axes and in the program's own units."""
    if not np.isfinite(best.upper):  # stopped before any bound was computed
        best.offer_weights(state.w, largest_ratio(state.program, state.w)[0])
    F = best.program.centred(best.factor)
    F = F * np.sqrt(shrink(best.program, F) * size)
    masses = np.sqrt(program.cost)[:, None]
    U, s, _ = la.svd(masses * F, full_matrices=False)
    F = U * s / masses
    lower, violation = charged_bound(program, F, best.weights)
    certificate = Certificate(net_value(program, F), lower, best.upper * size, violation)
    if status == "certified" and certificate.gap > state.tol:  # the violations are worth more than the gap
        status = "stalled"
    note(unfolding=status, iterations=iteration, rank=int(F.shape[1]), gap=certificate.gap)
    return Solution(program, F, best.weights, certificate, iteration, status, history)
