"""Promises of the library: for each relation, the cases for which it is not promised, and why.

A relation is promised for every method, graph, kernel, metric, label and geometry that no line of its table excludes. A promised relation
may be violated in two cases only: the fit raises a deliberate error, or it gives a warning of EXCUSES, which says that the result has few
correct digits.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from eigenspan.methods.registry import TABLE

from .case import Case
from .data import TIED

Which = Callable[[Case], bool]

#: Warnings that say that embeddings may differ, and why.
EXCUSES: dict[str, str] = {
    "PrecisionWarning": "rounding shows in the result",
    "DegenerateWarning": "eigenvalues coincide at the cut: the subspace is not unique",
    "FlatWarning": "an axis shows the precision of the features and nothing else",
    "ConvergenceWarning": "an iteration stopped short of its tolerance",
    "FitWarning": "some of several fits failed",
    "SearchWarning": "neighbours are approximate",
}


@dataclass(frozen=True)
class Unless:
    """Cases for which a relation is not promised."""

    reason: str
    which: Which


def method(*names: str) -> Which:
    return lambda case: case.method in names


def says(pattern: str) -> Which:
    """Return a condition: the pattern occurs in a parameter or in the argument of fit."""
    found = re.compile(pattern)
    return lambda case: found.search(case.text) is not None


def either(*some: Which) -> Which:
    return lambda case: any(which(case) for which in some)


#: Searches from random combinations of the rows, of functions with several optima.
PURSUITS = ("ProjectionPursuit", "ProjectionPursuitRegression", "KernelICA")
#: Iterations that end within a tolerance of an optimum: another order of summation gives another result within it.
ITERATED = either(
    lambda case: case.family == "unfolding",
    method(
        "OrdinalIsomap", "KDR", "ManifoldKDR", "GradientKDR", "LAD", "ContingencySDR", "SDACCCP", "ConformalEigenmaps"
    ),
    method("MixturePPCA", "KernelLearner", "AffinityLearner", *PURSUITS),
    lambda case: case.geometry == "missing",
    says(r"sumcor|'randomised'|'test'"),
)
#: Rows, or pairs of rows, are drawn at random by number.
DRAWN = either(
    says(r"landmarks=(\d|es\.)|sample=|'test'|n_permutations"),
    lambda case: case.method in ("LandmarkMDS", "LandmarkIsomap", "LandmarkMVU") and "spaced_rows" not in case.text,
    method("ContourRegression", "MixturePPCA", "KDR", *PURSUITS),
)
_PATHS = Unless(
    "path-based weights are known among the training rows only: transform refuses",
    lambda case: ("PathSimilarity" in case.text or "'path'" in case.text) and case.basis == "samples",
)

#: Methods whose default kernel is Gaussian with an automatic width.
_GAUSSIAN = ("KernelPCA", "KernelCCA", "SupervisedNonlinearLocalEmbedding", "KernelLearner")


def _has_ties(case: Case) -> bool:
    """Return True if distances in the space of the neighbour search are equal up to rounding."""
    if not (case.by_neighbours or case.method == "ContourRegression" or "spaced_rows" in case.text):
        return False
    lattice = case.geometry in TIED or (case.columns == 1 and "cosine" in case.text)
    by_kernel = bool(case.get("kernel")) or case.method in _GAUSSIAN
    far = by_kernel and case.geometry in ("clusters", "outlier", "heavy_tails", "huge", "wide")
    far |= case.get("kernel") in (
        "'rbf'",
        "'laplacian'",
    )  # with a width that does not depend on the extent of the points
    return lattice or far


TIES = Unless(
    "equal distances: a rule decides which neighbours count, not the points (far apart, they are equally far in the space of a kernel)",
    _has_ties,
)
#: Rows are a sequence, and frames of several rows are mapped at once.
_SEQUENCE = Unless(
    "its rows are a sequence", either(method("ActionRespectingEmbedding"), says(r"frames=|lengths=|alignment="))
)
#: Missing entries of a sparse matrix of distances are not edges.
_SPARSE_PAIRS = Unless(
    "a sparse matrix of distances is a graph, whose edges are its entries",
    lambda case: case.given != "X" and case.container in ("csr", "csc"),
)
_SUMS = Unless("an iteration ends within its tolerance, elsewhere for another order of the sums", ITERATED)
_ORIGIN = r"'cosine'|'poly'|'polynomial'|'sigmoid'|'chi2'|'additive_chi2'|center=False|es\.Cosine|Kernel\('poly'"
_FIXED_WIDTH = r"'rbf'(?!, gamma)|'laplacian'|'poly'|'polynomial'|'sigmoid'|'chi2'|gamma=\d"
_RIDGE = Unless("a ridge is added as it is, in the unit of the objective", says(r"ridge=(?!0\.0)"))

UNLESS: dict[str, tuple[Unless, ...]] = {
    "finite": (_PATHS,),
    "input unchanged": (),
    "pickle": (),
    "save and load": (),
    "parameters": (),
    "fit twice": (Unless("random_state=None may draw anew", says(r"random_state=None")),),
    "refit": (Unless("random_state=None may draw anew", says(r"random_state=None")),),
    "fit_transform": (
        Unless("random_state=None may draw anew", says(r"random_state=None")),
        Unless("it has no fit_transform of its own", method("KernelLearner")),
    ),
    "transform of training rows": (
        _PATHS,
        Unless(
            "rows at distance zero are several points in a matrix of pairs, and one to transform",
            lambda case: case.given != "X" and case.geometry in TIED,
        ),
        Unless(
            "an unfolding keeps rows that repeat apart, and transform finds the first of them",
            lambda case: case.family == "unfolding" and case.geometry in ("duplicates", "counts"),
        ),
    ),
    "subset transform": (_SEQUENCE,),
    "new points in an array": (
        _SPARSE_PAIRS,
        Unless("names of columns belong to frames", lambda case: case.container in ("array", "frame", "polars")),
    ),
    "n_jobs": (Unless("it has no n_jobs", lambda case: "n_jobs" not in case.has),),
    "labels renamed": (
        Unless("its labels are not names of classes", lambda case: "classes(X" not in case.labels),
        Unless("a response is a number", lambda case: case.supervision not in ("labels", "some labels", "optional")),
        Unless("unlabeled= is one of the labels", says("unlabeled=0")),
        Unless("priors follow the order of the classes", says("priors")),
        Unless("a kernel of labels compares their values", says(r"labels='(rbf|linear)'|label_kernel")),
        _SUMS,
    ),
    "containers": (
        Unless("the case is an array", lambda case: case.container == "array"),
        _SPARSE_PAIRS,
        Unless(
            "pairs of points at equal distances", lambda case: case.method == "ContourRegression" and _has_ties(case)
        ),
        Unless("rows of a Dask array are drawn block by block", lambda case: case.container == "dask" and DRAWN(case)),
    ),
    "last digits": (TIES, _SUMS),
    "row order": (
        TIES,
        _SUMS,
        Unless("rows are drawn by their number", DRAWN),
        Unless(
            "its rows are a sequence", either(method("ActionRespectingEmbedding"), says(r"frames=|lengths=|alignment="))
        ),
    ),
    "column order": (TIES, _SUMS),
    "scale by two": (
        Unless("the kernel has a width of its own", says(_FIXED_WIDTH)),
        Unless(
            "its default kernel has a width of its own",
            lambda case: (case.method in _GAUSSIAN or "basis='kernel'" in case.text) and not case.get("kernel"),
        ),
        Unless(
            "lengths in the space of a kernel do not scale with X",
            lambda case: bool(case.get("kernel")) and "spread(X))" in case.text,
        ),
        Unless("the second view has the kernel of the first", lambda case: case.method == "KernelCCA"),
        Unless(
            "a metric without a unit does not scale with X",
            lambda case: "cosine" in case.text and "spread(X)" in case.text,
        ),
        Unless("the unit matrix is added to a scatter matrix", method("SELFDA", "RoweisDA")),
        Unless("the penalty is not relative", says(r"gamma_scale='raw'")),
        Unless("counts have no unit", method("ContingencySDR")),
        Unless(
            "equal distances in the space of a kernel, whose axes are rounded otherwise in another unit",
            lambda case: bool(case.get("kernel")) and _has_ties(case),
        ),
        _RIDGE,
        _SUMS,
    ),
    "rotation": (
        TIES,
        _SUMS,
        Unless("the metric compares columns", says(r"'cityblock'|'chebyshev'|'minkowski'|largest_difference")),
        Unless("the kernel compares columns", says(r"'laplacian'|'chi2'|'additive_chi2'")),
        Unless("columns of counts are categories", method("ContingencySDR")),
        Unless(
            "the ridge of a view is relative to the mean variance of the columns that vary",
            lambda case: case.family == "two views" and bool(case.get("ridge")) and case.has_constant_columns,
        ),
    ),
    "translation": (
        TIES,
        _SUMS,
        Unless("the kernel, the metric or the weights depend on the origin", says(_ORIGIN)),
        Unless(
            "the features of a linear kernel on landmarks are those of a plane through the origin",
            lambda case: "landmarks" in dict(case.params) and "linear" in case.get("kernel"),
        ),
        Unless("counts have an origin", method("ContingencySDR")),
        Unless("signals are measured from the origin", says("extractor='difference'")),
    ),
    "rows doubled": (
        Unless("the rows are not read as masses", lambda case: case.method not in DOUBLED),
        Unless("a matrix of pairs has no rows to bring together", lambda case: case.given != "X"),
        Unless("a graph that is given names rows", says(r"build\(|neighbour_")),
        Unless("landmarks are rows", says("landmarks=")),
        Unless("neighbours of unlabelled points are not read as masses", says("gamma=")),
        Unless("the width and the ridge of a kernel depend on pairs of rows", lambda case: bool(case.get("kernel"))),
        Unless("a constant is added to distances other than zero", says("correction=")),
        Unless("shrinkage depends on the number of rows", says("shrinkage=")),
        _RIDGE,
        TIES,
        _SUMS,
        Unless("rows are drawn by their number", DRAWN),
    ),
    "parts": (
        Unless("it has no partial_fit", lambda case: case.method not in IN_PARTS),
        _SUMS,
        Unless("a distortion sees the rows of a part only", says("dimmed")),
        Unless("slices of the response are those of the first part", method("SIR")),
    ),
    "inverse": (
        Unless(
            "its map is not linear",
            lambda case: case.basis not in ("linear", "linear or kernel") or "kernel" in case.text,
        ),
    ),
}
UNLESS["scale"] = (TIES, *UNLESS["scale by two"])

#: Methods that are functions of sums over rows, or of distinct rows with masses.
DOUBLED = frozenset({
    "PCA", "LDA", "MMC", "CCA", "ClassicalMDS",
    "LaplacianEigenmaps", "DiffusionMap", "LLE", "LTSA", "HessianLLE", "ModifiedLLE", "Isomap",
})  # fmt: skip
IN_PARTS = frozenset(row.name for row in TABLE if row.own and hasattr(row.build(), "partial_fit"))


def why_not(relation: str, case: Case) -> str:
    """Return the reason why a relation is not promised for a case, or ""."""
    return next((unless.reason for unless in UNLESS[relation] if unless.which(case)), "")


#: Known violations: relations, cases and reasons. They count as excused and should be fixed soon.
KNOWN: tuple[tuple[str, Which, str], ...] = ()


def known(relation: str, case: Case) -> str:
    """Return the reason why a failure is expected, or ""."""
    return next((reason for name, which, reason in KNOWN if name == relation and which(case)), "")
