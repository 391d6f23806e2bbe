"""Kinds of neighbour searches, neighbour graphs and edge weights.

Searches are stored as their points; search trees and navigable graphs are built on first use.
"""

from __future__ import annotations

from .field_types import (
    Array,
    Either,
    Flag,
    Floats,
    Index,
    LengthOf,
    Maybe,
    Number,
    Object,
    Plain,
    Points,
    SchemaError,
    Sizes,
    Sparse,
    Text,
    Whole,
    Word,
)
from .kind import Kind, Parts

#: Number of threads that a model may request; never more are started than there are processors.
_JOBS = Maybe(Whole(-(2**15), 2**15))
METRIC = Either(Text(), Object("metric"))


def _nearest(parts: Parts, sizes: Sizes) -> None:
    """Check that either n_neighbors or radius is given, and that n_neighbors is at most the number of points."""
    k = parts.get("n_neighbors")
    if (k is None) == (parts.get("radius") is None):
        raise SchemaError("either n_neighbors or radius must be given")
    if k is not None and k > sizes["n"]:
        raise SchemaError(f"n_neighbors={k} is more than the {sizes['n']} points")


SEARCHES = [
    Kind("metric", "numerics.nearest.metric:Metric", {"name": Text(), "parameters": Plain()}),
    Kind("search.tree", "numerics.nearest.engines:TreeSearch", {"points": Floats("n", "D"), "n_jobs": _JOBS}),
    Kind(
        "search.blocks",
        "numerics.nearest.exact:BlockSearch",
        {"points": Floats("n", "D"), "n_jobs": _JOBS, "work": Number(0)},
    ),
    Kind(
        "search.hnsw",
        "numerics.nearest.engines:HnswSearch",
        {
            "points": Floats("n", "D"),
            "n_jobs": _JOBS,
            "links": Whole(2, 1024),
            "effort": Whole(1, 2**20),
            "centre": Floats("D"),
        },
    ),
    Kind(
        "search.sklearn",
        "numerics.nearest.engines:LibrarySearch",
        {
            "model": Object("sklearn.NearestNeighbors"),
            "points": Points("n", "D"),
            "centre": Maybe(Floats("D")),
            "n_jobs": _JOBS,
        },
    ),
    Kind("finder.none", "numerics.nearest.finders:Finder"),
    Kind(
        "finder.nearest",
        "numerics.nearest.finders:NearestRows",
        {
            "engine": Object("search.", n="n", D="D"),
            "n_neighbors": Maybe(Whole(1, 2**31)),
            "radius": Maybe(Number(0)),
            "metric": METRIC,
            "search": Text(),
            "n_jobs": _JOBS,
        },
        _nearest,
    ),
    Kind(
        "finder.distances",
        "numerics.nearest.finders:DistanceRows",
        {"n": LengthOf("n"), "n_neighbors": Whole(1, 2**31), "columns": Maybe(Index("n")), "width": Maybe(Number(0))},
    ),
    Kind(
        "finder.affinities", "numerics.nearest.finders:AffinityRows", {"n": LengthOf("n"), "columns": Maybe(Index("n"))}
    ),
    Kind(
        "finder.transformer",
        "numerics.nearest.finders:TransformerRows",
        {
            "transformer": Object("sklearn.KNeighborsTransformer", "sklearn.RadiusNeighborsTransformer"),
            "points": Points("n", "D"),
            "fitted_to": Maybe(Points("n", "D")),
        },
    ),
    Kind(
        "finder.joining",
        "graphs.neighbours.joining:Joining",
        {
            "finder": Object("finder.nearest", "finder.distances", n="n", D="D"),
            "reach": Floats("n"),
            "symmetry": Word("union", "mutual"),
        },
    ),
    Kind(
        "known.rows",
        "numerics.nearest.row_lookup:RowIndex",
        {"points": Maybe(Points("n", "D")), "hashes": Array(("n",), "u"), "order": Index("n", below="n")},
    ),
    Kind("known.distances", "numerics.nearest.row_lookup:ZeroDistance", {"columns": Maybe(Index("n"))}),
]

GRAPHS = [
    Kind(
        "graph",
        "graphs.neighbours.graph:NeighbourGraph",
        {
            "distances": Sparse("n", "n"),
            "finder": Object("finder.", D="D"),
            "symmetry": Word("union", "mutual"),
            "rows": Maybe(Index("n")),
            "reaches": Maybe(Floats("n")),
            "loops": Maybe(Floats("n")),
        },
    ),
    Kind(
        "affinity",
        "graphs.weights.rules:Affinity",
        {"W": Sparse("n", "n"), "rule": Object("weights.", "spec.", n="n", D="D"), "given": Flag()},
    ),
    Kind(
        "weights.local-scaling",
        "graphs.weights.rules:_BoundLocalScaling",
        {"k": Whole(1, 2**31), "floor": Number(0), "sigma": Floats("n")},
    ),
    Kind("weights.cosine", "graphs.weights.rules:_BoundCosine", {"points": Points("n", "D")}),
    Kind("weights.given", "graphs.weights.rules:_BoundGiven", {"coordinates": Flag()}),
    Kind(
        "weights.power",
        "graphs.weights.rules:_BoundPower",
        {"rule": Object("weights.", "spec.", n="n", D="D"), "alpha": Number(), "factor": Number()},
    ),
    Kind("weights.paths", "graphs.weights.path_similarity:_BoundPaths", {"tree": Object("merges", n="n")}),
    Kind(
        "merges",
        "graphs.weights.path_similarity:MergeTree",
        {
            "order": Index("n", below="n"),
            "joins": Floats(None),
            "starts": Index("m", below="n"),
            "ends": Index("m"),
            "drops": Floats("m"),
            "mass": Floats("n"),
        },
    ),
]

KINDS = [*SEARCHES, *GRAPHS]
