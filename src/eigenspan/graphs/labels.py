"""Labels: classes, unlabelled points, and the graphs they define."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from .._diagnostics import stage
from ..errors import LabelError, LabelWarning, warn
from .lists import canonical
from .neighbours import KNN, Finder, NeighbourGraph

Array = NDArray[np.float64]
Index = NDArray[np.intp]


def encode_labels(
    y: Any, X: Any, *, unlabeled: Any = -1, name: str = "This method", min_classes: int = 2
) -> tuple[Index, NDArray[Any]]:
    """Class codes 0..c−1 with −1 for unlabelled points, and the class labels.

    NaN and None mark unlabelled points, and so does `unlabeled` (−1 as in scikit-learn; None for no such mark).
    """
    if y is None:
        raise LabelError(f"{name} requires y to be passed, but the target y is None.")
    y = column_or_1d(y, warn=True)
    if y.size != X.shape[0]:
        raise LabelError(f"There are {y.size} labels for {X.shape[0]} samples: {name} needs one label a sample.")
    missing = (
        np.array([_is_missing(v) for v in y.tolist()], dtype=bool) if y.dtype.kind in "Of" else np.zeros(y.size, bool)
    )
    known = y[~missing]
    if known.dtype.kind == "O" and known.size:
        known = np.array(known.tolist())
    marks = np.unique(known) if known.size else known
    numeric = known.dtype.kind in "iuf"
    if unlabeled is not None and numeric and marks.size == 2 and set(marks.tolist()) == {-1, 1} and unlabeled == -1:
        raise LabelError(
            "The labels are exactly {-1, +1}, which can mean two classes or one class with unlabelled points. If -1 is a class, pass "
            "unlabeled=None; if it marks unlabelled points, there is only one class: pass labels 0..c-1 and -1."
        )
    if unlabeled is not None:
        marked = np.array([v == unlabeled for v in known.tolist()], dtype=bool)
        missing[np.flatnonzero(~missing)[marked]] = True
        known = known[~marked]
    if known.size == 0:
        raise LabelError(
            f"{name} needs labels, but all {y.size} of them are missing (−1, NaN or None). Use an unsupervised method."
        )
    try:
        check_classification_targets(known)
    except ValueError as refusal:
        raise LabelError(f"{name} needs class labels. {refusal}") from refusal
    classes, codes = np.unique(known, return_inverse=True)
    if classes.size < min_classes:
        raise LabelError(
            f"{name} needs at least {min_classes} classes, but the labels contain only one class "
            f"({classes[0]}): nothing can be told apart."
        )
    out = np.full(y.size, -1, dtype=np.intp)
    out[~missing] = codes
    return out, classes


def _is_missing(label: Any) -> bool:
    """None, NaN, NaT and pandas' NA."""
    return label is None or type(label).__name__ in ("NAType", "NaTType") or bool(label != label)


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


def allies(points: Any, codes: Index, k: int, n_jobs: int | None = None) -> NeighbourGraph:
    """Every labelled point and its k nearest of the same class (all of a class with no more), found class by class.

    A class with one point has no pairs: it is named in a warning.
    """
    counts = np.bincount(codes[codes >= 0])
    if np.any(counts == 1):
        warn(
            f"{np.sum(counts == 1)} of {counts.size} classes have one labelled sample only, and so no pair of neighbours within the "
            "class: nothing holds them together. Label more of them if they matter.",
            LabelWarning,
        )
    if counts.max() < 2:
        return NeighbourGraph(sp.csr_array((codes.size, codes.size)), None)
    with stage("neighbours"):
        return KNN(min(k, codes.size - 1), within_class=True, n_jobs=n_jobs).build(points, codes)


def rivals(points: Any, codes: Index, k: int, n_jobs: int | None = None) -> NeighbourGraph:
    """Every labelled point and its k nearest among the points of other classes, searched class by class. Cost O(n²D) at most."""
    rows, columns, values = [], [], []
    for c in range(codes.max() + 1):
        members, others = np.flatnonzero(codes == c), np.flatnonzero((codes >= 0) & (codes != c))
        if not (members.size and others.size):
            continue
        with stage("rivals"):
            finder = Finder.build(points[others], n_neighbors=min(k, others.size), n_jobs=n_jobs)
            near = finder.relate(points[members]).tocoo()
        rows.append(members[near.row])
        columns.append(others[near.col])
        values.append(near.data)
    if not values:
        return NeighbourGraph(sp.csr_array((codes.size, codes.size)), None)
    D = canonical(np.concatenate(values), np.concatenate(rows), np.concatenate(columns), codes.size)
    return NeighbourGraph(D, None)
