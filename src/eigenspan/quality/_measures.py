"""Measures of several embeddings, grouped by the pass over the data in which they are computed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._diagnostics import stage
from ._blocks import BlockDistances, Distances, in_blocks
from ._check import standard_error
from ._pairs import PairSums, guessing_rows, jackknife
from ._pooled import Pooled
from ._ranks import RankTally, area_of_chance, ordered, ranked
from ._targets import Target
from .coranks import worst
from .distance_measures import refuse_coincident
from .label_measures import explained, hits, is_majority, near_others

Array = NDArray[np.float64]
Index = NDArray[np.intp]
Spaces = dict[str, BlockDistances]

RANKS = ("trustworthiness", "continuity", "q_nx", "r_nx", "lcmc", "auc_r_nx")
PAIRS = ("stress", "residual_variance")
ORDERS = ("nonmetric_stress",)
GRAPHS = ("geodesic_correlation", "geodesic_residual_variance")
CLASSES = ("knn_accuracy", "neighbourhood_hit")
NUMBERS = ("knn_r2",)
ALL = (*RANKS, *PAIRS, *ORDERS, *GRAPHS, *CLASSES, *NUMBERS)
LOWER = {"stress", "residual_variance", "nonmetric_stress", "geodesic_residual_variance"}
WITHOUT_NEIGHBOURS = {"auc_r_nx", "stress", "residual_variance", "nonmetric_stress"}


@dataclass(frozen=True)
class Found:
    """Value of a measure for an embedding, with its standard error and the number of rows averaged over."""

    embedding: str
    measure: str
    value: float
    error: float
    n_rows: int
    exact: bool


def over_rows(X: BlockDistances, spaces: Spaces, rows: Index, k: int, wanted: set[str]) -> Iterator[Found]:
    """Yield the measures from ranks and distances. X is ranked once for all embeddings."""
    n, m = X.n, rows.size
    ranks, pairs = bool(wanted & {*RANKS}), bool(wanted & {*PAIRS})
    if not ranks and not pairs:
        return
    some = guessing_rows(rows, n)
    x = X(some)
    refuse_coincident(x)
    tallies = {name: RankTally(n, m, k, n - 2) for name in spaces if ranks}
    sums = {name: PairSums(x, Y(some), m) for name, Y in spaces.items() if pairs}

    def work(where: slice) -> None:
        own = rows[where]
        x = X(own)
        first = ranked(x, own) if ranks else None
        for name, Y in spaces.items():
            y = Y(own)
            if first is not None:
                tallies[name].add(where, first, ordered(y, own))
            if pairs:
                sums[name].add(where, x, y, own)

    with stage("ranks and distances"):
        in_blocks(work, m, n)
    for name in spaces:
        values = _of_ranks(tallies[name]) if ranks else {}
        for measure, each in values.items():
            yield Found(name, measure, float(each.mean()), float(standard_error(each, n)), m, m == n)
        if pairs:
            total = sums[name]
            for measure, value in (("stress", total.stress), ("residual_variance", total.unexplained)):
                yield Found(
                    name, measure, float(value(total.rows.sum(axis=0))), jackknife(total.rows, value, n), m, m == n
                )


def _of_ranks(tally: RankTally) -> dict[str, Array]:
    """Return the neighbourhood measures of every row."""
    n, k = tally.n, tally.k
    both, intruding, extruding, area = tally.rows.T
    q = both / k
    return {
        "trustworthiness": 1.0 - intruding / worst(n, k),
        "continuity": 1.0 - extruding / worst(n, k),
        "q_nx": q,
        "r_nx": ((n - 1) * q - k) / (n - 1 - k),
        "lcmc": q - k / (n - 1),
        "auc_r_nx": area - area_of_chance(n, tally.top),
    }


def over_sorted(X: Distances, spaces: Spaces, rows: Index, columns: Index, wanted: set[str]) -> Iterator[Found]:
    """Yield the measures that sort distances, over the pairs of these rows and columns."""
    pooled = Pooled.of(X, rows, columns)
    refuse_coincident(pooled.x)
    values = {
        "nonmetric_stress": pooled.nonmetric_stress,
        "geodesic_correlation": pooled.rank_correlation,
        "geodesic_residual_variance": pooled.residual_variance,
    }
    for name, Y in spaces.items():
        y = pooled.distances(Y)
        for measure in values.keys() & wanted:
            yield Found(name, measure, *values[measure](y), rows.size, rows.size == X.n)


def over_labels(target: Target, spaces: Spaces, k: int, wanted: set[str]) -> Iterator[Found]:
    """Yield the measures that predict y from the nearest points. All labelled points are used, so there is no sampling error."""
    m = target.rows.size
    values: dict[str, Callable[[Index], Any]] = {
        "knn_accuracy": lambda near: is_majority(near, target.codes).mean(),
        "neighbourhood_hit": lambda near: hits(near, target.codes).mean(),
        "knn_r2": lambda near: explained(near, target.numbers),
    }
    for name, Y in spaces.items() if wanted else ():
        near = near_others(Y.points[target.rows], min(k, m - 1))
        for measure in values.keys() & wanted:
            yield Found(name, measure, float(values[measure](near)), 0.0, m, True)
