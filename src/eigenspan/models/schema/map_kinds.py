"""Kinds of maps for new points: the map, and the rows that it multiplies; and models of the command line.

Lengths: ``D`` features of a new point, ``n`` training points, ``r`` columns of the rows, ``d`` dimensions of the embedding.
"""

from __future__ import annotations

import numpy as np

from ...problem.map import Raw
from .field_types import (
    Either,
    Flag,
    Floats,
    Index,
    LengthOf,
    Many,
    Maybe,
    Number,
    Object,
    Plain,
    Points,
    SchemaError,
    Sizes,
    Text,
    Whole,
    agree,
)
from .kind import Kind, Parts
from .search_kinds import METRIC


# ---------------------------------------------------------------------- relations
def _columns_of_map(parts: Parts, sizes: Sizes) -> None:
    """Check that raw features have one column per feature, and that `known` and `embedding` are given together."""
    if isinstance(parts["rows"], Raw):
        agree(sizes, "D", sizes["r"])
    if (parts.get("known") is None) != (parts.get("embedding") is None):
        raise SchemaError("known and embedding must be given together")


def _twice(parts: Parts, sizes: Sizes) -> None:
    sizes["r"] = 2 * sizes["n"]


def _once(parts: Parts, sizes: Sizes) -> None:
    sizes["r"] = sizes["n"]


def _smooth(parts: Parts, sizes: Sizes) -> None:
    sizes["r"] = sizes["n"] * (1 if parts.get("weights") is None else 2)


def _chosen(parts: Parts, sizes: Sizes) -> None:
    """Check that the rows have one column per selected column, if columns are selected."""
    columns = parts.get("columns")
    if columns is not None:
        agree(sizes, "r", len(columns))


def _kernel_values(parts: Parts, sizes: Sizes) -> None:
    if parts.get("kernel") is not None and parts.get("points") is None:
        raise SchemaError("a kernel needs points")
    _chosen(parts, sizes)


def _nodes(parts: Parts, sizes: Sizes) -> None:
    if parts.get("columns") is None:
        agree(sizes, "r", sizes["n"])


def _ordinal(parts: Parts, sizes: Sizes) -> None:
    if not len(parts["given"]):
        raise SchemaError("its table of distances is empty")


def _layer(parts: Parts, sizes: Sizes) -> None:
    if sizes.get("r", 0) % parts["frames"]:
        raise SchemaError(f"{sizes.get('r')} rows of the map cannot be divided equally among {parts['frames']} frames")


def _layers(parts: Parts, sizes: Sizes) -> None:
    if not parts["layers"]:
        raise SchemaError("it has no layer")


def _curve(parts: Parts, sizes: Sizes) -> None:
    """Check that a polyline has a segment, and that consecutive nodes differ; its rows have one column."""
    steps = np.diff(parts["nodes"], axis=0)
    if not len(steps) or not np.all(np.any(steps != 0, axis=1)):
        raise SchemaError("the nodes of a curve must be two or more, and consecutive ones must differ")
    sizes["r"] = 1


def _spline(parts: Parts, sizes: Sizes) -> None:
    """Check that the knots of a cubic spline ascend over an interval, and fit the number of coefficients."""
    knots = parts["knots"]
    if sizes["p"] != sizes["q"] + 4 or sizes["q"] < 4:
        raise SchemaError(f"{sizes['p']} knots do not fit {sizes['q']} coefficients of a cubic spline")
    if np.any(np.diff(knots) < 0) or not knots[3] < knots[-4]:
        raise SchemaError("the knots of a spline must ascend")


# ---------------------------------------------------------------------- kinds
_MAP = {
    "rows": Object("rows.", r="r", D="D"),
    "coef": Floats("r", "d"),
    "offset": Maybe(Either(Floats("r"), Number())),
    "known": Maybe(Object("known.", n="n")),
    "embedding": Maybe(Floats("n", "d")),
    "shift": Maybe(Floats("d")),
    "dense": Flag(),
}

MAPS = [
    Kind("map.rows", "problem.map:Map", _MAP, _columns_of_map),
    Kind(
        "map.posterior",
        "methods.variance.ppca:PosteriorMap",
        {**_MAP, "latent": Object("latent", D="D", d="d")},
        _columns_of_map,
    ),
    Kind(
        "map.layers",
        "methods.variance.distortion_discriminant:Layers",
        {"layers": Many(Object("layer", d="d"), container=tuple), "length": Maybe(Whole(1))},
        _layers,
    ),
    Kind(
        "layer",
        "methods.variance.distortion_discriminant:Layer",
        {"map": Object("map.rows", r="r"), "frames": Whole(1, 2**31), "step": Whole(1, 2**31)},
        _layer,
    ),
    Kind(
        "map.external",
        "methods.external.wrappers:_Transform",
        {"estimator": Object("sklearn."), "width": LengthOf("d")},
    ),
    Kind(
        "spline",
        "numerics.penalised_spline:Spline",
        {"knots": Floats("p"), "coef": Floats("q", "m"), "periodic": Flag()},
        _spline,
    ),
    Kind(
        "latent",
        "methods.variance.missing_entries:Latent",
        {"W": Floats("D", "d"), "mean": Floats("D"), "noise": Number(0)},
    ),
]

ROWS = [
    Kind("rows.features", "problem.map:Raw"),
    Kind(
        "rows.kernel",
        "problem.kernels:KernelRows",
        {
            "kernel": Maybe(Text()),
            "parameters": Plain(),
            "points": Maybe(Points("r", "D")),
            "columns": Maybe(Index(None)),
            "centre": Maybe(Floats("D")),
        },
        _kernel_values,
    ),
    Kind(
        "rows.nystrom",
        "problem.nystrom:NystromRows",
        {"rows": Object("rows.kernel", "rows.graph", q="r", D="D"), "axes": Floats("q", "r")},
    ),
    Kind(
        "rows.graph",
        "problem.extensions.graph_kernels:GraphRows",
        {
            "kernel": Object("spec."),
            "factor": Floats("g", None),
            "known": Object("known.", g="n", D="D"),
            "joining": Object("rows.", g="n", D="D"),
            "labels": Index("n", below="g"),
            "columns": Maybe(Index("r", below="n")),
        },
        _nodes,
    ),
    Kind(
        "rows.joined",
        "problem.extensions.graph_kernels:ProductRows",
        {"rows": Object("rows.walk", "rows.approach", n="n", D="D"), "degrees": Maybe(Floats("n"))},
        _once,
    ),
    Kind(
        "rows.distances",
        "problem.extensions.gram:DistanceGram",
        {
            "points": Maybe(Points("r", "D")),
            "metric": METRIC,
            "columns": Maybe(Index(None)),
            "added": Number(),
            "added_to_squares": Number(),
        },
        _chosen,
    ),
    Kind(
        "rows.geodesics",
        "problem.extensions.gram:GeodesicGram",
        {
            "joining": Object("finder.", n="n", D="D"),
            "geodesics": Either(Object("geodesics", n="n", r="n"), Floats("n", "r")),
            "conformal": Maybe(Floats("n")),
            "added": Number(),
        },
    ),
    Kind(
        "geodesics",
        "methods.distances.isomap:KeptGeodesics",
        {"centred": Floats("n", "n"), "means": Floats("n"), "masses": Maybe(Floats("n")), "added": Number()},
    ),
    Kind(
        "rows.ordinal",
        "methods.distances.ordinal_isomap:OrdinalPlaces",
        {
            "gram": Object("rows.geodesics", n="r", D="D"),
            "Y": Floats("n", "r"),
            "masses": Floats("n"),
            "given": Floats("q"),
            "wanted": Floats("q"),
        },
        _ordinal,
    ),
    Kind(
        "rows.walk",
        "problem.extensions.walk:WalkRows",
        {
            "joining": Object("finder.", n="n", D="D"),
            "affinity": Object("affinity", n="n", D="D"),
            "density": Maybe(Floats("n")),
            "masses": Maybe(Floats("n")),
        },
        _once,
    ),
    Kind(
        "rows.approach",
        "problem.extensions.walk:Approach",
        {"walk": Object("rows.walk", n="n", D="D"), "spacing": Floats("n")},
        _twice,
    ),
    Kind(
        "rows.barycentric",
        "problem.extensions.barycentric:BarycentricRows",
        {"finder": Object("finder.", n="n", D="D"), "points": Points("n", "D"), "reg": Number(0)},
        _once,
    ),
    Kind(
        "rows.bumps",
        "problem.extensions.smoother:BumpRows",
        {"finder": Object("finder.", n="n", D="D"), "widths": Floats("n")},
        _twice,
    ),
    Kind(
        "rows.smooth",
        "problem.extensions.smoother:SmoothRows",
        {
            "finder": Object("finder.", n="n", D="D"),
            "kernel": Text(),
            "width": Number(0),
            "weights": Maybe(Floats("n")),
        },
        _smooth,
    ),
    Kind(
        "rows.curve",
        "methods.pursuit.principal_curve:CurveRows",
        {"nodes": Floats("m", "D")},
        _curve,
    ),
    Kind(
        "rows.counts",
        "methods.sufficient.contingency:FeatureRows",
        {"b": Floats("D"), "psi": Floats("D", "r"), "q": Floats("D"), "smoothing": Number(0, 1)},
    ),
    Kind(
        "rows.mixture",
        "methods.variance.mixture_em:Mixture",
        {
            "weights": Floats("k"),
            "means": Floats("k", "D"),
            "axes": Floats("k", "q", "D"),
            "variances": Floats("k", "q"),
            "noises": Floats("k"),
        },
    ),
]

TABLES = [
    Kind(
        "table",
        "models.table_model:TableModel",
        {
            "method": Text(),
            "estimator": Object("method.", "sklearn.", D="D"),
            "columns": Many(Text(), "D", list),
            "center": Floats("D"),
            "scale": Floats("D"),
            "medians": Floats("D"),
            "label": Maybe(Text()),
            "identifier": Maybe(Text()),
        },
    )
]
KINDS = [*MAPS, *ROWS, *TABLES]
