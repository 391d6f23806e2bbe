"""Conversion of the values of ``graph=`` to a `NeighbourGraph`, with validation."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone

from ..._checks import real_numbers, refuse_unless_sizes
from ..._diagnostics import note, stage
from ..._types import Array, Index, Matrix, MetricLike, Sparse
from ...data.pair_tables import accept_distances, lengths, symmetric_lengths
from ...data.read import refuse_two_metrics
from ...data.rows.storage import Elsewhere
from ...errors import GraphError
from ...numerics.nearest.finders import AffinityRows, DistanceRows, Finder, NearestRows, TransformerRows
from ...numerics.nearest.metric import median_width
from ...numerics.nearest.neighbour_lists import canonical, without_self
from ...numerics.nearest.pair_matrices import PairTolerance
from .graph import KNN, NeighbourGraph, check_n_neighbors

#: A graph itself, which needs no search.
GraphData: TypeAlias = NeighbourGraph | Matrix | tuple[ArrayLike, ArrayLike]


def as_graph(
    graph: object,
    X: Matrix,
    *,
    n_neighbors: int | None = None,
    codes: Index | None = None,
    n_jobs: int | None = None,
    metric: MetricLike | None = None,
    metric_params: dict[str, object] | None = None,
    names: tuple[str, ...] = ("precomputed",),
) -> NeighbourGraph:
    """Turn what a user passed as ``graph=`` into a `NeighbourGraph` over the rows of X.

    None means k-NN with `n_neighbors` (None: ten, or all others where there are fewer); a spec, a graph built before, a
    fitted or unfitted scikit-learn neighbours transformer, a sparse matrix of distances, or a pair ``(indices, distances)``. A metric
    belongs to None, or must be that of the spec. `names` are the words that a message may propose. Where X holds distances or
    affinities, `distance_graph` and `affinity_graph` make the graph.
    """
    n = X.shape[0]
    refuse_two_metrics(graph, metric, metric_params)
    built: NeighbourGraph
    with stage("neighbours"):
        if graph is None:
            k = _wanted(n_neighbors, X)
            built = KNN(k, metric=metric or "euclidean", metric_params=metric_params, n_jobs=n_jobs).build(X)
        elif is_given(graph):
            built = _given(graph, n, None if isinstance(X, Elsewhere) else X, names)
        elif isinstance(graph, type):
            raise GraphError(f"graph={graph.__name__} is a class: pass an object of it, {graph.__name__}(...).")
        elif hasattr(graph, "build"):
            built = graph.build(X, codes)
        elif hasattr(graph, "transform") and hasattr(graph, "fit"):
            built = _from_transformer(graph, X)
        else:
            raise GraphError(_not_understood(graph, names))
        _check_built(built, graph, n)
    note(edges=int(built.distances.nnz))
    return built


def is_given(graph: object) -> bool:
    """Return whether the value is a graph itself, not a specification to build one."""
    return isinstance(graph, (NeighbourGraph, tuple)) or sp.issparse(graph)


def given_graph(graph: GraphData, n: int) -> NeighbourGraph:
    """Return a given graph over n points that are not in memory. It has no finder for neighbours of new points."""
    with stage("neighbours"):
        built = _given(graph, n, None, ())
        _check_built(built, graph, n)
    note(edges=int(built.distances.nnz))
    return built


def _given(graph: GraphData, n: int, X: Matrix | None, names: tuple[str, ...]) -> NeighbourGraph:
    if isinstance(graph, NeighbourGraph):
        finder = graph.finder if X is None else graph.finder.over(X)
        if graph.rows is None and finder is graph.finder:
            return graph
        return replace(graph, rows=None, finder=finder)  # its nodes are the rows of this X
    if isinstance(graph, tuple):
        if len(graph) != 2:
            raise GraphError(_not_understood(graph, names))
        graph = _listed(graph[0], graph[1], n)
    whole = symmetric_lengths(sp.csr_array(graph))
    D = without_self(whole)
    degree = int(np.diff(D.indptr).max(initial=1))
    finder = Finder() if X is None else NearestRows.build(X, n_neighbors=min(max(degree, 1), X.shape[0] - 1))
    return NeighbourGraph(D, finder, loops=_loops(whole))


def _loops(W: Sparse) -> Array | None:
    """Return the diagonal of a given matrix, or None if it is zero."""
    diagonal = W.diagonal()
    return diagonal if diagonal.any() else None


def _not_understood(graph: object, names: tuple[str, ...]) -> str:
    given = repr(graph) if isinstance(graph, str) else type(graph).__name__
    hint = ""
    if isinstance(graph, str) and graph == "class":
        hint = " Labels join points in projections such as LPP."
    elif isinstance(graph, np.ndarray):
        hint = " Of a dense matrix of distances pass scipy.sparse.csr_array(graph), whose zeros are no edges."
    others = " or ".join(f'"{name}"' for name in names)
    return (
        f"graph={given} is not understood here. Pass KNN(...), Radius(...), a graph from before, a scikit-learn neighbours transformer, a "
        f"sparse matrix of distances, a pair (indices, distances), or {others}.{hint}"
    )


def _check_built(built: object, graph: object, n: int) -> None:
    """Raise GraphError unless the value is a graph over all n points with at least one edge."""
    if not isinstance(built, NeighbourGraph):
        raise GraphError(f"{graph!r:.80}.build must return a NeighbourGraph; it returned a {type(built).__name__}.")
    if built.n != n:
        raise GraphError(f"The graph has {built.n} nodes but X has {n} rows: build it from the same points.")
    if built.distances.nnz == 0:
        raise GraphError(
            f"The graph of the {n} points has no edge, so that nothing is known of any of them: a sparse matrix needs an entry for every "
            "pair of neighbours, a pair of arrays a column for every neighbour, and a point is no neighbour of itself."
        )


def _wanted(n_neighbors: int | None, X: Matrix) -> int:
    """Return the number of neighbours; None means ten, or all other rows if there are fewer."""
    k = max(1, min(10, X.shape[0] - 1)) if n_neighbors is None else n_neighbors
    check_n_neighbors(k, X)
    return k


def _from_transformer(transformer: BaseEstimator, X: Matrix) -> NeighbourGraph:
    fitted = getattr(transformer, "n_samples_fit_", None) == X.shape[0]
    if sp.issparse(getattr(transformer, "_fit_X", X)) != sp.issparse(X):
        fitted = False  # its trees hold dense points only
    transformer = transformer if fitted else clone(transformer).fit(X)
    found, n = transformer.transform(X), X.shape[0]
    if found.shape != (n, n):
        raise GraphError(
            f"{type(transformer).__name__} is no neighbours transformer: of {n} rows it made shape {found.shape}, not the {n}×{n} "
            "distances to neighbours."
        )
    whole = lengths(sp.csr_array(found))
    return NeighbourGraph(without_self(whole), TransformerRows.of(transformer, X), loops=_loops(whole))


def _listed(indices: ArrayLike, distances: ArrayLike, n: int) -> sp.csr_array:
    """Return lists of neighbours as a sparse matrix of distances."""
    places = real_numbers(indices, "Neighbour indices", GraphError)
    indices, distances = np.asarray(indices), real_numbers(distances, "Distances to neighbours", GraphError)
    if indices.shape != distances.shape or indices.ndim != 2 or indices.shape[0] != n:
        raise GraphError(
            f"graph=(indices, distances) needs two arrays of shape ({n}, k); got {indices.shape} and {distances.shape}."
        )
    if indices.dtype.kind not in "iu":
        fractions = int(np.sum(places != np.floor(places)))
        raise GraphError(
            f"Neighbour indices must be whole numbers; these are {indices.dtype}, {fractions} of {indices.size} with a fraction. Pass "
            "indices.astype(int) if they count rows from zero."
        )
    padded = (indices == -1) | (distances == np.inf)  # how searches fill the list of a point with too few neighbours
    kept, lengths = indices[~padded], distances[~padded]
    if kept.size and (kept.min() < 0 or kept.max() >= n):
        raise GraphError(
            f"Neighbour indices must lie in 0..{n - 1}; got {kept.min()}..{kept.max()}. Only -1, or an infinite distance, marks a place "
            "with no neighbour."
        )
    rows = np.repeat(np.arange(n), indices.shape[1])[~padded.ravel()]
    return canonical(lengths, rows, kept, n)


def distance_graph(X: Matrix, n_neighbors: int | None = None, *, accepted: bool = False) -> NeighbourGraph:
    """Return the graph of the nearest neighbours in a square matrix of distances, or of all stored entries of a sparse one.

    `accepted` says that X is the result of `accept_distances` already.
    """
    with stage("neighbours"):
        built = _of_distances(X if accepted else accept_distances(X), n_neighbors)
    note(edges=int(built.distances.nnz))
    return built


def _of_distances(X: Matrix, n_neighbors: int | None) -> NeighbourGraph:
    n = X.shape[0]
    if sp.issparse(X):
        D = without_self(X)
        return NeighbourGraph(D, DistanceRows(n, int(np.diff(D.indptr).max(initial=1))))
    k = _wanted(n_neighbors, X)
    blocked = np.array(X, dtype=np.float64)
    np.fill_diagonal(blocked, np.inf)
    finder = DistanceRows(n, k, width=median_width(X, precomputed=True))
    return NeighbourGraph(finder.relate(blocked), finder)


def affinity_graph(X: Matrix) -> NeighbourGraph:
    """Return the graph whose edges are the positive entries of X; entries on the diagonal are self-loops."""
    if X.shape[0] != X.shape[1]:
        raise GraphError(f"Precomputed affinities must be a square matrix; X has shape {X.shape}.")
    W = sp.csr_array(X).astype(np.float64)
    tolerance = PairTolerance.of(W)
    W.data[(W.data < 0) & (W.data >= -tolerance.difference)] = 0.0
    W.eliminate_zeros()
    advice = "Pass exp(-D**2 / s**2) of distances D, (1 + R) / 2 of correlations R, or W.clip(min=0)."
    refuse_unless_sizes(W.data, "Affinities", advice, GraphError)
    skew = abs(W - W.T).max() if W.nnz else 0.0
    if skew > tolerance.difference:
        raise GraphError(
            f"The affinities are not symmetric: |w_ij − w_ji| reaches {skew:.3g} where w_ij reaches {W.data.max():.3g}. Pass "
            "(W + W.T) / 2."
        )
    W = sp.csr_array((W + W.T) / 2) if skew else W
    return NeighbourGraph(without_self(W), AffinityRows(W.shape[0]), loops=_loops(W))
