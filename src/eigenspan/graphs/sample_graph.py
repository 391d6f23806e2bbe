"""Neighbour graphs and landmarks of X, which holds points, distances, affinities or kernel values."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from .._types import Index, MetricLike, RandomState
from ..data.x import Affinities, Distances, Pairs, Points
from ..errors import InputError
from .distributed.landmark_pool import lazy_landmarks
from .landmarks import Landmarks, LandmarksLike, choose_landmarks
from .neighbours.graph import NeighbourGraph, affinity_graph, as_graph, distance_graph


def neighbour_graph(
    x: Points | Pairs,
    graph: object,
    *,
    n_neighbors: int | None = None,
    n_jobs: int | None = None,
    metric: MetricLike | None = None,
    metric_params: dict[str, object] | None = None,
) -> NeighbourGraph:
    """Return the neighbour graph of X: the one that ``graph=`` specifies or, if X is a table of pairs, the one that X holds."""
    if isinstance(x, Points):
        return as_graph(
            graph, x.values, n_neighbors=n_neighbors, n_jobs=n_jobs, metric=metric, metric_params=metric_params
        )
    if isinstance(x, Distances):
        built = distance_graph(x.values, n_neighbors, accepted=True)
    elif isinstance(x, Affinities):
        built = affinity_graph(x.values)
    else:
        raise InputError(f"A graph cannot be built from {x.noun}: pass points, distances or affinities.")
    finder: Any = built.finder
    return built if x.rows is None else replace(built, finder=replace(finder, columns=x.rows))


def landmark_rows(
    x: Points | Pairs, wanted: LandmarksLike, *, how: str = "random", random_state: RandomState = 0
) -> Index:
    """Return the rows of the landmarks, which are given as a number, a specification or row numbers."""
    if isinstance(x, Points) and x.lazy:
        return lazy_landmarks(x.values, wanted, how=how, random_state=random_state)
    if isinstance(x, Affinities) and isinstance(wanted, Landmarks) and wanted.choice != "random":
        raise InputError(
            f'Landmarks(choice="{wanted.choice}") needs coordinates or distances, and X holds affinities. Use choice="random", or pass the '
            "row numbers of the landmarks."
        )
    return choose_landmarks(x.values, wanted, how=how, random_state=random_state, precomputed=isinstance(x, Pairs))
