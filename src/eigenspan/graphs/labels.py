"""Labels: classes, unlabelled points, and the graphs they define."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.validation import column_or_1d

from .._checks import COUNT, check_parameter
from .._diagnostics import note, stage
from ..errors import GraphError, LabelError, LabelWarning, warn
from .lists import canonical
from .neighbours import NeighbourGraph
from .search import choose, cost

Array = NDArray[np.float64]
Index = NDArray[np.intp]


def encode_labels(
    y: Any, X: Any, *, unlabeled: Any = -1, name: str = "This method", min_classes: int = 2
) -> tuple[Index, NDArray[Any]]:
    """Class codes 0..c−1 with −1 for unlabelled points, and the class labels.

    NaN and None mark unlabelled points, and so does `unlabeled`: −1 in semi-supervised methods, as in scikit-learn; None, no such
    mark, in supervised ones.
    """
    if y is None:
        raise LabelError(f"{name} requires y to be passed, but the target y is None.")
    try:
        y = label_array(y, warn=True)
    except ValueError as refusal:
        raise LabelError(f"{name} needs one label a sample. {refusal}") from None
    if y.size != X.shape[0]:
        raise LabelError(f"There are {y.size} labels for {X.shape[0]} samples: {name} needs one label a sample.")
    missing, known = split_missing(y, unlabeled)
    if known.size == 0:
        marks = "NaN or None" if unlabeled is None else f"{unlabeled!r}, NaN or None"
        raise LabelError(
            f"{name} needs labels, but all {y.size} of them are missing ({marks}). Use an unsupervised method."
        )
    classes, codes = np.unique(known, return_inverse=True)
    _refuse_continuous(classes, y.size, name)
    _warn_of_written_marks(classes, unlabeled)
    if classes.size < min_classes:
        raise LabelError(
            f"{name} needs at least {min_classes} classes, but the labels contain only one class "
            f"({classes[0]}): nothing can be told apart."
        )
    if y.size > 20 and 2 * classes.size > y.size and min_classes > 1:
        warn(
            f"The labels name {classes.size} classes of {y.size} samples: are they identifiers, or numbers to be predicted? "
            f"{name} takes them for classes.",
            LabelWarning,
        )
    out = np.full(y.size, -1, dtype=np.intp)
    out[~missing] = codes
    return out, classes


def label_array(y: Any, *, warn: bool = False) -> NDArray[Any]:
    """Labels as a vector, each of the kind it has: NaN beside text stays NaN, and numbers beside pandas' NA stay whole."""
    if isinstance(y, list | tuple):
        mixed = np.asarray(y).dtype.kind in "US" and not all(isinstance(label, str | bytes) for label in y)
        y = np.array(y, dtype=object if mixed else None)
    elif hasattr(y, "isna") and getattr(y, "ndim", 0) == 1:
        holes = not isinstance(y.dtype, np.dtype) and y.isna().any()
        y = np.asarray(y, dtype=object if holes else getattr(y.dtype, "numpy_dtype", None))
    return column_or_1d(y, warn=warn)


def all_missing(y: Any, n: int, unlabeled: Any = -1) -> bool:
    """There are n labels, and all of them are marks of unlabelled points."""
    try:
        y = label_array(y)
    except ValueError:
        return False
    return y.size == n and bool(split_missing(y, unlabeled)[0].all())


def _warn_of_written_marks(classes: NDArray[Any], unlabeled: Any) -> None:
    """Marks that became text, in ``np.array(["a", np.nan])`` or in a file, are classes like any other."""
    marks = ["nan", "NaN", "<NA>", "None", ""] + (["-1"] if unlabeled is not None else [])
    found = [str(label) for label in classes if label in marks] if classes.dtype.kind == "U" else []
    if found:
        warn(
            f"The labels are text, and {', '.join(map(repr, found))} among them counts as a class: text marks no unlabelled points. If it "
            f"stands for missing labels, write None in a list or an array of objects, or pass unlabeled={found[0]!r}.",
            LabelWarning,
        )


def _refuse_continuous(classes: NDArray[Any], n: int, name: str) -> None:
    """Numbers to be predicted are no classes."""
    if classes.dtype.kind != "f":
        return
    parts = classes[~np.isfinite(classes) | (classes != np.floor(classes))]
    if parts.size:
        raise LabelError(
            f"{name} needs class labels, but y is continuous: it has {classes.size} distinct values in {n} samples, such as "
            f'{parts[0]:.6g}. Bin them into classes; SupervisedPCA(labels="rbf") takes numbers as they are.'
        )


def split_missing(y: NDArray[Any], unlabeled: Any) -> tuple[NDArray[np.bool_], NDArray[Any]]:
    """Where labels are missing, and the others, all of one kind."""
    if np.ndim(unlabeled) or isinstance(unlabeled, dict | set):
        raise LabelError(
            f"unlabeled={unlabeled!r:.80} must be the one label that marks unlabelled points, or None for no such mark."
        )
    dates = y.dtype.kind in "mM"
    missing = np.isnat(y) if dates else np.zeros(y.size, dtype=bool)
    if y.dtype.kind in "Of":
        missing = np.array([_is_missing(label) for label in y.tolist()], dtype=bool)
    marked = np.zeros(y.size, dtype=bool)
    if not _is_missing(unlabeled) and not (dates and isinstance(unlabeled, int)):
        marked[~missing] = [label == unlabeled for label in y[~missing].tolist()]
    known = y[~(missing | marked)]
    known = _plain(known) if known.dtype.kind == "O" else known
    if marked.any() and unlabeled == -1 and known.dtype.kind in "iuf" and known.size and np.all(known == 1):
        raise LabelError(
            "The labels are exactly {-1, +1}, which can mean two classes or one class with unlabelled points. If -1 is a class, pass "
            "unlabeled=None; if it marks unlabelled points, there is only one class: pass labels 0..c-1 and -1."
        )
    return missing | marked, known


def _is_missing(label: Any) -> bool:
    """None, NaN, NaT and pandas' NA."""
    return label is None or type(label).__name__ in ("NAType", "NaTType") or bool(label != label)


def _plain(labels: NDArray[Any]) -> NDArray[Any]:
    """Labels of one kind out of an array of objects."""
    text = [isinstance(label, str) for label in labels]
    if any(text) and not all(text):
        word, other = labels[text.index(True)], labels[text.index(False)]
        raise LabelError(
            f"{sum(text)} of {len(text)} labels are text, such as {word!r}, and the others are not, such as {other!r}: write all of them "
            "the same way, or NaN or None for those unknown."
        )
    return np.array(labels.tolist())


def class_indicator(codes: Index) -> sp.csr_array:
    """The n×c matrix G with ``G Gᵀ = H_class = ⊕ 11ᵀ/n_k`` [S0, eq. 37]; rows of unlabelled points are empty."""
    counts = np.bincount(codes[codes >= 0])
    rows = np.flatnonzero(codes >= 0)
    return sp.csr_array((1.0 / np.sqrt(counts[codes[rows]]), (rows, codes[rows])), shape=(codes.size, counts.size))


def slices(y: Array, n_slices: int) -> Index:
    """Slice codes 0..h−1 of a continuous response: nearly equal counts, ties never split."""
    edges = np.quantile(y, np.linspace(0, 1, n_slices + 1)[1:-1])
    codes = np.searchsorted(edges, y, side="right")
    return np.unique(codes, return_inverse=True)[1].astype(np.intp)


def class_pairs(codes: Index) -> sp.csr_array:
    """All ordered pairs of different points in the same class, as a sparse pattern of ones."""
    G = class_indicator(codes)
    P = sp.csr_array((G @ G.T) > 0).astype(np.float64)
    P.setdiag(0)
    P.eliminate_zeros()
    return P


def warn_of_single_labels(codes: Index) -> None:
    """Classes without a pair of their own, where pairs of a class are what a method measures by."""
    counts = np.bincount(codes[codes >= 0])
    if np.any(counts == 1):
        warn(
            f"{np.sum(counts == 1)} of {counts.size} classes have one labelled sample only, and so no pair of neighbours within the "
            "class: nothing holds them together, and their spread is taken from the other classes. Label at least two samples of each, or "
            "use MMC or SDA, which pool the scatter of all classes.",
            LabelWarning,
        )


def allies(points: Any, codes: Index, k: int, n_jobs: int | None = None) -> NeighbourGraph:
    """Every labelled point and its k nearest of the same class (all of a class with no more), found class by class.

    A class with one point has no pairs: it is named in a warning.
    """
    check_parameter("n_neighbors", k, COUNT, GraphError)
    warn_of_single_labels(codes)
    members = [np.flatnonzero(codes == c) for c in range(codes.max() + 1)]
    with stage("neighbours"):
        return _nearest(points, [(rows, rows) for rows in members], k, n_jobs)


def rivals(points: Any, codes: Index, k: int, n_jobs: int | None = None) -> NeighbourGraph:
    """Every labelled point and its k nearest among the points of other classes, searched class by class. Cost O(n²D) at most."""
    check_parameter("n_rivals", k, COUNT, GraphError)
    sides = [(np.flatnonzero(codes == c), np.flatnonzero((codes >= 0) & (codes != c))) for c in range(codes.max() + 1)]
    with stage("rivals"):
        return _nearest(points, sides, k, n_jobs)


def _nearest(points: Any, searches: list[tuple[Index, Index]], k: int, n_jobs: int | None) -> NeighbourGraph:
    """The points of each first set and their k nearest in the second (all of a smaller one); of one and the same set, the others."""
    work = sum(cost(rows.size, among.size, points.shape[1]) for rows, among in searches)
    found: list[tuple[Array, Index, Index]] = []
    for rows, among in searches:
        wanted = min(k, among.size - (among is rows))
        if wanted < 1 or not rows.size:
            continue
        engine = choose(points[among], "euclidean", "auto", n_jobs, work)
        note(search=engine.name)
        distances, indices = engine.near(None if among is rows else points[rows], wanted)
        found.append((distances.ravel(), np.repeat(rows, wanted), among[indices.ravel()]))
    n = points.shape[0]
    if not found:
        return NeighbourGraph(sp.csr_array((n, n)), None)
    values, ends, others = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return NeighbourGraph(canonical(values, ends, others, n), None)
