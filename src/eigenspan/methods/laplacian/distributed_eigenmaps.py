"""Laplacian eigenmaps of a Dask collection: the graph is built, and products with its Laplacian are computed, on the workers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..._diagnostics import note, stage
from ..._types import Array
from ...data import Sample
from ...errors import DisconnectedError, InputError
from ...graphs import KNN, NeighbourGraph
from ...graphs.distributed.laplacian_products import spread_laplacian
from ...graphs.distributed.neighbour_graph import spread_neighbours
from ...graphs.weights.rules import Bindable, as_weights, dependency_of, rule_names
from ...numerics.memory import require
from ...numerics.nearest.finders import Finder, NearestRows
from ...numerics.nearest.metric import drawn_rows
from ...numerics.nearest.row_lookup import RowIndex
from ...problem import Fitted, Form, Map, Samples, diagonal, pose, sign_of, spectral_attributes
from ...problem.extensions import Barycentric, BarycentricRows
from ...problem.scale import UnitCovariance
from ...problem.spectrum import warn_if_localised
from ..base.contract import axes

if TYPE_CHECKING:
    from .eigenmaps import LaplacianEigenmaps

#: Maximum number of values in the rows that the map holds, and number of rows on which its error is measured.
_HELD, _TESTED = 4_000_000, 1000
#: Bytes per point that the eigensolver holds in this process.
_SOLVER = 1600.0


def fit_distributed(estimator: LaplacianEigenmaps, sample: Sample) -> Fitted:
    """Fit Laplacian eigenmaps to all rows. Neighbours, weights and products stay on the workers; this process holds n×d numbers."""
    k, spec = _neighbours(estimator), _weights(estimator)
    if estimator.alpha:
        raise InputError(
            f"alpha={estimator.alpha:g} divides weights by degrees, which is not done on a cluster. Use alpha=0, or landmarks=m, which "
            "fits m rows in this process."
        )
    require(_SOLVER * sample.n, f"The eigenvectors of {sample.n} points", "Use landmarks=m to fit m of them.")
    graph = spread_neighbours(sample.x.values, k)
    with stage("weights"):
        few = graph.first[drawn_rows(graph.n)]  # of the distinct rows, as in memory
        rule = spec.bind(NeighbourGraph(None, Finder()), sample.x.values[few].astype(np.float64))
        L, degrees, pieces = spread_laplacian(graph, rule)
    note(components=pieces)
    if pieces > 1:
        raise DisconnectedError(
            f"The graph of the {sample.n} points has {pieces} components, and on a cluster no edges are added between them. Use more than "
            f'{k} neighbours, weights="binary" if weights vanish, or landmarks=m, which fits m rows in this process.'
        )
    form = Form(graph.n, pairs=((1.0, L),), psd=True, kills_constant=True)
    basis = Samples(graph.n, masses=graph.masses)
    if estimator.unit == "degree":
        posed = pose(basis, minimise=form, unit=diagonal(degrees))
    else:
        posed = pose(basis, minimise=form, scale=UnitCovariance(sample.n))
    V, spectrum = axes(estimator).of(posed)
    note(participation=warn_if_localised(V, graph.masses))
    Y = graph.back(V * sign_of(V))
    found = spectral_attributes(None, spectrum)
    del found["problem_"]  # its matrix is on the workers
    return Fitted(Y, _map(estimator, sample, Y, k), found)


def _neighbours(estimator: LaplacianEigenmaps) -> int:
    """Return the number of neighbours. Raise `InputError` for graphs that only one process can build."""
    spec = KNN(estimator.n_neighbors or 10) if estimator.graph is None else estimator.graph
    flat = estimator.metric in (None, "euclidean") and not estimator.metric_params
    if (
        not (flat and isinstance(spec, KNN) and spec.metric == "euclidean" and spec.symmetry == "union")
        or spec.within_class
        or spec.metric_params
    ):
        raise InputError(
            f"On a cluster {type(estimator).__name__} finds the nearest neighbours by Euclidean distance, and joins "
            "two points if one is a neighbour of the other: use n_neighbors=k or graph=KNN(k). For another graph, landmarks=m fits m rows "
            "in this process."
        )
    return int(spec.n_neighbors)


def _weights(estimator: LaplacianEigenmaps) -> Bindable:
    """Return the weight rule. Raise `InputError` for rules that need more than the lengths of edges."""
    if dependency_of(estimator.weights) != "length":
        *most, last = (f'"{name}"' for name in rule_names("lengths", "coordinates", "given", "paths"))
        raise InputError(
            f"weights={estimator.weights!r:.60} need more than the length of each edge: on a cluster use {', '.join(most)} or {last}, or "
            "use landmarks=m to fit m rows in this process."
        )
    return as_weights(estimator.weights)


def _map(estimator: LaplacianEigenmaps, sample: Sample, Y: Array, k: int) -> Map:
    """Return a map that reconstructs new points from the nearest of some rows, and record its error on other rows."""
    rows = sample.x.values
    drawn = rows.sample(min(sample.n, max(10 * k, _HELD // rows.width) + _TESTED), estimator.random_state)
    tested = np.linspace(0, drawn.size - 1, min(_TESTED, drawn.size // 10)).astype(np.intp)
    held = np.delete(np.arange(drawn.size), tested) if drawn.size < sample.n else np.arange(drawn.size)
    X, Y = rows[drawn].astype(np.float64), Y[drawn]
    points = X[held]
    weights = BarycentricRows(NearestRows.build(points, n_neighbors=k), points, 1e-3)
    found = Barycentric(weights, RowIndex.build(points))(Y[held], None)  # type: ignore[arg-type]
    away = float(np.linalg.norm(found(X[tested]) - Y[tested])) if held.size < drawn.size else 0.0
    note(
        map_rows=held.size,
        map_error=away / max(float(np.linalg.norm(Y[tested] - Y.mean(axis=0))), np.finfo(float).tiny),
    )
    return found
