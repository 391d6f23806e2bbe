"""The kinds of y in memory: classes, numbers, actions and known coordinates; conversion of labels to codes, with missing ones marked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol, cast

import numpy as np
from sklearn.utils.validation import column_or_1d

from .._checks import kinds_of, refuse_complex
from .._types import Array, Index, Labels, Mask, VectorLike
from ..errors import LabelError, LabelWarning, warn
from ..numerics.nearest.row_lookup import Contraction
from .rows.storage import Rows, Statistic


class YKind(Protocol):
    """Values of y, one per point or for all points together."""

    def take(self, rows: Index) -> YKind:
        """Return the values for some of the points."""


@dataclass(frozen=True, eq=False)
class Classes:
    """Classes of the points.

    Attributes
    ----------
    codes : ndarray of int, shape (n,)
        0..c−1, and −1 for points without a label.
    names : ndarray of shape (c,)
        The labels themselves.
    given : ndarray of shape (n,)
        The labels as the user passed them, including those that mark unlabelled points.
    """

    codes: Index
    names: Labels
    given: Labels

    @property
    def count(self) -> int:
        return int(self.names.size)

    @property
    def known(self) -> Mask:
        return np.asarray(self.codes >= 0)

    @property
    def n(self) -> int:
        return int(self.codes.size)

    def reduce(self, rows: Rows, statistic: Callable[..., Statistic]) -> Statistic:
        """``statistic(rows, codes, classes)`` of rows that have these classes."""
        return rows.reduce(lambda X: statistic(X, self.codes, self.count))

    def take(self, rows: Index) -> Classes:
        return replace(self, codes=self.codes[rows], given=self.given[rows])


@dataclass(frozen=True, eq=False)
class PastClasses:
    """Classes of rows that arrived in parts: their names, and how many rows there are."""

    names: Labels
    n: int

    @property
    def count(self) -> int:
        return int(self.names.size)


@dataclass(frozen=True, eq=False)
class Numbers:
    """Numbers to be predicted, of shape (n, q). A row with a NaN is unknown."""

    values: Array

    @property
    def known(self) -> Mask:
        return np.asarray(~np.isnan(self.values).any(axis=1))

    def take(self, rows: Index) -> Numbers:
        return Numbers(self.values[rows])


@dataclass(frozen=True, eq=False)
class Actions:
    """Actions between consecutive rows: n − 1 codes, −1 for unknown ones. A subset of the rows keeps all of them."""

    codes: Index
    names: Labels

    def take(self, rows: Index) -> Actions:
        return self


@dataclass(frozen=True, eq=False)
class Coordinates:
    """Coordinates of the points whose position is known, of shape (n, d).

    Attributes
    ----------
    values : ndarray of shape (n, d)
        Rows of NaN for points that are not known.
    counts : ndarray of shape (n,) or None
        Number of known rows that each point represents; None means one for each known point.
    """

    values: Array
    counts: Array | None = None

    @property
    def known(self) -> Mask:
        return ~np.isnan(self.values[:, 0])

    @property
    def weights(self) -> Array:
        """Number of known rows that each point represents, zero for unknown points."""
        return self.known.astype(np.float64) if self.counts is None else self.counts

    def take(self, rows: Index) -> Coordinates:
        return Coordinates(self.values[rows], None if self.counts is None else self.counts[rows])

    def distinct(self, groups: Contraction) -> Coordinates:
        """Return the mean of the known coordinates in each group of equal points. It is exact if they agree."""
        given, labels = self.values[self.known], groups.labels[self.known]
        places = np.full((groups.first.size, given.shape[1]), np.nan)
        places[labels[::-1]] = given[::-1]
        counts, more = np.bincount(labels, minlength=len(places)), np.zeros_like(places)
        np.add.at(more, labels, given - places[labels])
        return Coordinates(places + more / np.maximum(counts, 1)[:, None], counts.astype(np.float64))


# ---------------------------------------------------------------------- labels
def read_classes(
    y: VectorLike | None, n: int, *, unlabeled: object = -1, name: str = "This method", at_least: int = 2
) -> Classes:
    """Return class codes 0..c−1 with −1 for unlabelled points, and the class labels.

    NaN, None and `unlabeled` mark unlabelled points. In semi-supervised methods `unlabeled` is −1 as in scikit-learn; in supervised
    ones it is None, which marks nothing further. ``at_least=0`` accepts rows that are all unlabelled, for fits in parts.
    """
    refuse_none(y, name)
    try:
        labels = label_array(y, warn=True)
    except ValueError as refusal:
        raise LabelError(f"{name} needs one label a sample. {refusal}") from None
    if labels.size != n:
        raise LabelError(f"There are {labels.size} labels for {n} samples: {name} needs one label a sample.")
    codes, classes, marked = code_classes(labels, unlabeled)
    check_classes(classes, n, marked=marked, unlabeled=unlabeled, name=name, at_least=at_least)
    return Classes(codes, classes, labels)


def code_classes(y: Labels, unlabeled: object) -> tuple[Index, Labels, bool]:
    """Return the codes of labels (−1 for missing ones), the classes, and whether any label equals `unlabeled`."""
    missing, marked, known = _missing_and_known(y, unlabeled)
    classes, codes = np.unique(known, return_inverse=True)
    out = np.full(y.size, -1, dtype=np.intp)
    out[~missing] = codes
    return out, classes, bool(marked.any())


def check_classes(classes: Labels, n: int, *, marked: bool, unlabeled: object, name: str, at_least: int) -> None:
    """Raise if the labels of n samples contain too few classes; warn if they look like identifiers or numbers."""
    if marked:
        _refuse_plus_and_minus(classes, unlabeled, part=at_least == 0)
    if classes.size == 0:
        if at_least == 0:
            return
        marks = "NaN or None" if unlabeled is None else f"{unlabeled!r}, NaN or None"
        raise LabelError(f"{name} needs labels, but all {n} of them are missing ({marks}). Use an unsupervised method.")
    refuse_continuous(classes, n, name)
    _warn_of_written_marks(classes, unlabeled)
    if classes.size < at_least:
        raise LabelError(
            f"{name} needs at least {at_least} classes, but the labels contain only one class "
            f"({classes[0]}): nothing can be told apart."
        )
    if n > 20 and 2 * classes.size > n and at_least > 1:
        warn(
            f"The labels name {classes.size} classes of {n} samples: are they identifiers, or numbers to be predicted? "
            f"{name} takes them for classes.",
            LabelWarning,
        )


def label_array(y: Any, *, warn: bool = False) -> Labels:
    """Return labels as a vector without changing their types: NaN beside text stays NaN, and integers beside pandas' NA stay integers."""
    refuse_masks(y)
    if isinstance(y, list | tuple):
        mixed = np.asarray(y).dtype.kind in "US" and not all(isinstance(label, str | bytes) for label in y)
        y = np.array(y, dtype=object if mixed else None)
    elif hasattr(y, "isna") and getattr(y, "ndim", 0) == 1:
        holes = not isinstance(y.dtype, np.dtype) and y.isna().any()
        y = np.asarray(y, dtype=object if holes else getattr(y.dtype, "numpy_dtype", None))
    return cast(Labels, column_or_1d(y, warn=warn))


def refuse_none(y: object, name: str, more: str = ".", error: type[Exception] = LabelError) -> None:
    """Raise if y is missing; `more` ends the message."""
    if y is None:
        raise error(f"{name} requires y to be passed, but the target y is None{more}")


def refuse_masks(y: object) -> None:
    """Raise for masked arrays and complex numbers."""
    if np.ma.isMaskedArray(y):
        raise LabelError(
            f"y is a masked array, with {int(np.ma.count_masked(y))} of {y.size} values masked, and what lies under a mask would be taken "
            "for a label: mark those unknown by None or NaN instead."
        )
    refuse_complex(kinds_of(y), "y", LabelError)


def all_missing(y: VectorLike | None, n: int, unlabeled: object = -1) -> bool:
    """Return True if y has n labels that all mark unlabelled points."""
    try:
        labels = label_array(y)
        return labels.size == n and bool(_missing_and_known(labels, unlabeled)[0].all())
    except ValueError:
        return False


def _warn_of_written_marks(classes: Labels, unlabeled: object) -> None:
    """Warn if a class is named like a missing value, as in ``np.array(["a", np.nan])`` or in a file."""
    marks = ["nan", "NaN", "<NA>", "None", ""] + (["-1"] if unlabeled is not None else [])
    found = [str(label) for label in classes if label in marks] if classes.dtype.kind == "U" else []
    if found:
        warn(
            f"The labels are text, and {', '.join(map(repr, found))} among them counts as a class: text marks no unlabelled points. If it "
            f"stands for missing labels, write None in a list or an array of objects, or pass unlabeled={found[0]!r}.",
            LabelWarning,
        )


def refuse_continuous(classes: Labels, n: int, name: str) -> None:
    """Raise if classes are numbers that are not integers."""
    if classes.dtype.kind != "f":
        return
    parts = classes[~np.isfinite(classes) | (classes != np.floor(classes))]
    if parts.size:
        raise LabelError(
            f"{name} needs class labels, but y is continuous: it has {classes.size} distinct values in {n} samples, such as "
            f'{parts[0]:.6g}. Bin them into classes; SupervisedPCA(labels="rbf") and EigenmapRegressor take numbers as they are.'
        )


def split_missing(y: Labels, unlabeled: object) -> tuple[Mask, Labels]:
    """Return a mask of the missing labels, and the other labels, which have one type."""
    missing, marked, known = _missing_and_known(y, unlabeled)
    if marked.any():
        _refuse_plus_and_minus(known, unlabeled)
    return missing, known


def _missing_and_known(y: Labels, unlabeled: object) -> tuple[Mask, Mask, Labels]:
    """Return masks of the missing labels and of those that equal `unlabeled`, and the other labels, which have one type."""
    if getattr(unlabeled, "ndim", 0) or isinstance(unlabeled, list | tuple | dict | set):
        raise LabelError(
            f"unlabeled={unlabeled!r:.80} must be the one label that marks unlabelled points, or None for no such mark."
        )
    dates = y.dtype.kind in "mM"
    missing = np.isnat(y) if dates else np.zeros(y.size, dtype=bool)
    if y.dtype.kind in "Of":
        missing = np.array([is_missing(label) for label in y.tolist()], dtype=bool)
    marked = np.zeros(y.size, dtype=bool)
    if not is_missing(unlabeled) and not (dates and isinstance(unlabeled, int)):
        marked[~missing] = [label == unlabeled for label in y[~missing].tolist()]
    known = y[~(missing | marked)]
    return missing | marked, marked, _plain(known) if known.dtype.kind == "O" else known


def _refuse_plus_and_minus(known: Labels, unlabeled: object, part: bool = False) -> None:
    """Raise if −1 may be a class or a missing label. In a part of the rows only warn: other classes may follow."""
    if unlabeled != -1 or known.dtype.kind not in "iuf" or not known.size or not np.all(known == 1):
        return
    if part:
        warn(
            "The labels so far are exactly {-1, +1}, and -1 marks unlabelled points: there is only one class, and no model until another "
            "one follows. If -1 is a class, begin again with unlabeled=None.",
            LabelWarning,
        )
        return
    raise LabelError(
        "The labels are exactly {-1, +1}, which can mean two classes or one class with unlabelled points. If -1 is a class, pass "
        "unlabeled=None; if it marks unlabelled points, there is only one class: pass labels 0..c-1 and -1."
    )


def is_missing(label: object) -> bool:
    """Return True for None, NaN, NaT and pandas' NA."""
    return label is None or type(label).__name__ in ("NAType", "NaTType") or bool(label != label)


def _plain(labels: Labels) -> Labels:
    """Return an array of objects as an array of text or numbers; raise if it has both."""
    text = [isinstance(label, str) for label in labels]
    if any(text) and not all(text):
        word, other = labels[text.index(True)], labels[text.index(False)]
        raise LabelError(
            f"{sum(text)} of {len(text)} labels are text, such as {word!r}, and the others are not, such as {other!r}: write all of them "
            "the same way, or NaN or None for those unknown."
        )
    return np.array(labels.tolist())


def as_numbers(y: Any) -> Array:
    """Return numbers or dates as floats, NaN where one is missing: numpy converts a missing date to a number."""
    given = np.asarray(y)
    if given.dtype.kind in "mM":
        return np.where(np.isnat(given), np.nan, given.astype(np.float64))
    T = np.asarray(y, dtype=np.float64)
    return np.where(y.isna(), np.nan, T) if hasattr(y, "isna") else T
