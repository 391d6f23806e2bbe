"""Kinds of fit results: the solved problem, certificates, and the sums that `partial_fit` updates.

Lengths: ``n`` order of a matrix, ``g`` groups, ``D`` features.
"""

from __future__ import annotations

from .field_types import (
    Array,
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
    Sparse,
    Text,
    Tuple,
    Whole,
    Word,
)
from .kind import Kind, Parts

_ANY = Number(finite=False)
_SENSE = Word("min", "max")


def _joint(parts: Parts, sizes: Sizes) -> None:
    """Check that the columns of all views add up to those of the sums."""
    if sum(parts["widths"]) != sizes["D"]:
        raise SchemaError(f"the views have {sum(parts['widths'])} columns, but the sums have {sizes['D']}")


PROBLEMS = [
    Kind(
        "form",
        "problem.form:Form",
        {
            "n": LengthOf("n"),
            "sparse": Maybe(Sparse("n", "n")),
            "low_rank": Maybe(Tuple(Points("n", "r"), Floats("r"))),
            "roots": Many(Tuple(Number(), Sparse(None, "n")), container=tuple),
            "pairs": Many(Tuple(Number(), Object("pairs.", "merges", n="n")), container=tuple),
            "dense": Maybe(Floats("n", "n")),
            "psd": Flag(),
            "kills_constant": Flag(),
            "needs": Word("connected", "one closed class"),
        },
        version=2,
        migrations={1: lambda parts: {**parts, "needs": "connected"}},
    ),
    Kind(
        "pairs.gaussian",
        "problem.pairwise:Pairwise",
        {
            "points": Floats("n", None),
            "sigma": Floats("n"),
            "mass": Floats("n"),
            "groups": Many(Index(None, below="n"), container=tuple),
            "hollow": Flag(),
        },
    ),
    Kind(
        "problem.trace",
        "problem.pose:TraceProblem",
        {
            "A": Object("form", n="n"),
            "B": Maybe(Object("form", n="n")),
            "sense": _SENSE,
            "exclude": Maybe(Floats("n", None)),
        },
    ),
    Kind(
        "problem.ratio",
        "problem.pose:TraceRatio",
        {
            "A": Object("form", n="n"),
            "B": Object("form", n="n"),
            "sense": _SENSE,
            "C": Maybe(Object("form", n="n")),
            "exclude": Maybe(Floats("n", None)),
        },
    ),
]

SEMIDEFINITE = [
    Kind("sdp.slack", "numerics.sdp.program:Slack", {"power": Whole(1, 2), "price": Number(0)}),
    Kind(
        "sdp.program",
        "numerics.sdp.program:Program",
        {
            "directions": Points("p", "N"),
            "bounds": Floats("m"),
            "cost": Either(Floats("N"), Points("N", "N")),
            "centre": Floats("N"),
            "combine": Maybe(Sparse("m", "p")),
            "equal": Maybe(Array(("m",), "b")),
            "slack": Maybe(Object("sdp.slack")),
            "pairs": Maybe(Index("p", 2, below="N")),
        },
    ),
    Kind(
        "sdp.certificate",
        "numerics.sdp.certificate:Certificate",
        {"value": _ANY, "lower": _ANY, "upper": _ANY, "violation": _ANY, "proved": Flag()},
    ),
    Kind(
        "sdp.solution",
        "numerics.sdp.certificate:Solution",
        {
            "program": Object("sdp.program", N="N", m="m"),
            "factor": Floats("N", None),
            "weights": Floats("m"),
            "certificate": Object("sdp.certificate"),
            "iterations": Whole(),
            "status": Text(),
            "history": Plain(),
        },
    ),
    Kind(
        "certificate.unfolding",
        "methods.unfolding.unfolding_certificate:UnfoldingCertificate",
        {
            "lower": _ANY,
            "upper": _ANY,
            "gap": _ANY,
            "violation": _ANY,
            "edges": Index("e", 2),
            "squared_distances": Floats("e"),
            "weights": Floats("e"),
            "weights_below": Maybe(Floats("e")),
            "status": Text(),
            "constraint": Text(),
            "equal_edges": Maybe(Index("q", 2, 2)),
            "weights_equal": Maybe(Floats("q")),
        },
    ),
]

SUMS = [
    Kind(
        "moments",
        "data.rows.moments:Moments",
        {
            "counts": Floats("g", least=0),
            "means": Floats("g", "D"),
            "scatter": Floats("D", "D"),
            "single": Flag(),
            "root": Maybe(Floats(None, "D")),
            "lost": Maybe(Floats("D")),
            "low": Maybe(Floats("g", "D")),
        },
    ),
    Kind(
        "moments.labelled",
        "data.rows.moments:Sums",
        {"labelled": Object("moments", g="g", D="D"), "rest": Object("moments", D="D")},
    ),
    Kind(
        "moments.views",
        "data.rows.joint_moments:JointMoments",
        {"moments": Object("moments", D="D"), "widths": Many(Whole(1), container=tuple), "flat": Flag()},
        _joint,
    ),
    Kind(
        "moments.noise",
        "methods.variance.oriented_pca:Signals",
        {"signal": Object("moments", D="D"), "noise": Object("moments", D="D")},
    ),
    Kind(
        "moments.slices",
        "methods.sufficient.response_slices:SliceSums",
        {"slices": Many(Object("moments", D="D"), container=tuple), "rest": Object("moments", D="D")},
    ),
]

CLUSTERS = [
    Kind("assign.rotation", "methods.laplacian.cluster_assignment:Rotation", {"R": Floats("d", "k")}),
    Kind(
        "assign.threshold",
        "methods.laplacian.cluster_assignment:Threshold",
        {"axis": Whole(0, 2**31), "value": Number()},
    ),
    Kind("assign.unit", "methods.laplacian.cluster_assignment:UnitRows", {"rule": Object("assign.", "sklearn.KMeans")}),
]
KINDS = [*PROBLEMS, *SEMIDEFINITE, *SUMS, *CLUSTERS]
