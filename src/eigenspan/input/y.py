"""Reading y: classes, numbers, actions or known coordinates; missing ones are told apart, never guessed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_array, column_or_1d

from ..errors import InputError, LabelError, LabelWarning, warn
from .values import Actions, Classes, Coordinates, Numbers

Array = NDArray[np.float64]
Index = NDArray[np.intp]


class Reader(Protocol):
    """Says what a method reads from y, and of which kind that is. `needed` tells scikit-learn whether y must be there at all."""

    kind: ClassVar[str]

    @property
    def needed(self) -> bool: ...

    def read(self, y: Any, n: int, *, name: str, unlabeled: Any) -> Any:
        """The value for n points, for the method of this name, whose mark of missing class labels is `unlabeled`."""


@dataclass(frozen=True)
class ClassLabels:
    """Class labels of at least so many classes. Where they are not needed, none at all are no classes."""

    kind: ClassVar[str] = "labels"
    at_least: int = 2
    needed: bool = True

    def read(self, y: Any, n: int, *, name: str, unlabeled: Any) -> Classes:
        if not self.needed and (y is None or all_missing(y, n, unlabeled)):
            return Classes(np.full(n, -1), np.empty(0), np.full(n, None))
        return read_classes(y, n, unlabeled=unlabeled, name=name, at_least=self.at_least)


@dataclass(frozen=True)
class Targets:
    """Numbers to be predicted."""

    kind: ClassVar[str] = "numbers"
    needed: bool = True

    def read(self, y: Any, n: int, *, name: str, unlabeled: Any) -> Numbers:
        return Numbers(read_numbers(y, n, name))


@dataclass(frozen=True)
class Responses:
    """What is to be explained: classes where it is text, a pandas category or true and false, numbers otherwise.

    In a part of the rows all may be the same, if `part` says so.
    """

    kind: ClassVar[str] = "response"
    needed: bool = True
    part: bool = False

    def read(self, y: Any, n: int, *, name: str, unlabeled: Any) -> Classes | Numbers:
        if names_classes(y):
            return read_classes(y, n, name=name, unlabeled=None, at_least=1 if self.part else 2)
        return Numbers(read_numbers(y, n, name, differ=not self.part))


@dataclass(frozen=True)
class ActionLabels:
    """Actions between rows."""

    kind: ClassVar[str] = "actions"
    needed: bool = True

    def read(self, y: Any, n: int, *, name: str, unlabeled: Any) -> Actions:
        return read_actions(y, n, name)


@dataclass(frozen=True)
class KnownPlaces:
    """Known coordinates in d dimensions."""

    kind: ClassVar[str] = "coordinates"
    d: int
    needed: bool = True

    def read(self, y: Any, n: int, *, name: str, unlabeled: Any) -> Coordinates:
        return Coordinates(read_coordinates(y, n, self.d, name))


# ---------------------------------------------------------------------- classes
def read_classes(y: Any, n: int, *, unlabeled: Any = -1, name: str = "This method", at_least: int = 2) -> Classes:
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
    if y.size != n:
        raise LabelError(f"There are {y.size} labels for {n} samples: {name} needs one label a sample.")
    missing, known = split_missing(y, unlabeled)
    if known.size == 0:
        marks = "NaN or None" if unlabeled is None else f"{unlabeled!r}, NaN or None"
        raise LabelError(
            f"{name} needs labels, but all {y.size} of them are missing ({marks}). Use an unsupervised method."
        )
    classes, codes = np.unique(known, return_inverse=True)
    _refuse_continuous(classes, y.size, name)
    _warn_of_written_marks(classes, unlabeled)
    if classes.size < at_least:
        raise LabelError(
            f"{name} needs at least {at_least} classes, but the labels contain only one class "
            f"({classes[0]}): nothing can be told apart."
        )
    if y.size > 20 and 2 * classes.size > y.size and at_least > 1:
        warn(
            f"The labels name {classes.size} classes of {y.size} samples: are they identifiers, or numbers to be predicted? "
            f"{name} takes them for classes.",
            LabelWarning,
        )
    out = np.full(y.size, -1, dtype=np.intp)
    out[~missing] = codes
    return Classes(out, classes, y)


def label_array(y: Any, *, warn: bool = False) -> NDArray[Any]:
    """Labels as a vector, each of the kind it has: NaN beside text stays NaN, and numbers beside pandas' NA stay whole."""
    _refuse_masks(y)
    if isinstance(y, list | tuple):
        mixed = np.asarray(y).dtype.kind in "US" and not all(isinstance(label, str | bytes) for label in y)
        y = np.array(y, dtype=object if mixed else None)
    elif hasattr(y, "isna") and getattr(y, "ndim", 0) == 1:
        holes = not isinstance(y.dtype, np.dtype) and y.isna().any()
        y = np.asarray(y, dtype=object if holes else getattr(y.dtype, "numpy_dtype", None))
    return column_or_1d(y, warn=warn)


def _refuse_masks(y: Any) -> None:
    if np.ma.isMaskedArray(y):
        raise LabelError(
            f"y is a masked array, with {int(np.ma.count_masked(y))} of {y.size} values masked, and what lies under a mask would be taken "
            "for a label: mark those unknown by None or NaN instead."
        )


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
        missing = np.array([is_missing(label) for label in y.tolist()], dtype=bool)
    marked = np.zeros(y.size, dtype=bool)
    if not is_missing(unlabeled) and not (dates and isinstance(unlabeled, int)):
        marked[~missing] = [label == unlabeled for label in y[~missing].tolist()]
    known = y[~(missing | marked)]
    known = _plain(known) if known.dtype.kind == "O" else known
    if marked.any() and unlabeled == -1 and known.dtype.kind in "iuf" and known.size and np.all(known == 1):
        raise LabelError(
            "The labels are exactly {-1, +1}, which can mean two classes or one class with unlabelled points. If -1 is a class, pass "
            "unlabeled=None; if it marks unlabelled points, there is only one class: pass labels 0..c-1 and -1."
        )
    return missing | marked, known


def is_missing(label: Any) -> bool:
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


# ---------------------------------------------------------------------- numbers, actions, coordinates
def read_numbers(y: Any, n: int, name: str, *, differ: bool = True) -> Array:
    """Numbers to be predicted as an (n, q) array; a row with a NaN or None has none."""
    if y is None:
        raise LabelError(f"{name} requires y to be passed, but the target y is None.")
    _refuse_masks(y)
    try:
        T = _as_numbers(y)
    except (TypeError, ValueError) as refusal:
        raise LabelError(
            f'y cannot be read as numbers ({refusal}): pass numbers, or labels="delta" for classes.'
        ) from None
    T = T[:, None] if T.ndim == 1 else T
    if T.ndim != 2 or T.shape[0] != n:
        raise LabelError(f"y has shape {np.shape(y)} for {n} samples: {name} needs one row a sample.")
    if np.any(np.isinf(T)):
        raise LabelError(
            f"{int(np.sum(np.isinf(T)))} targets are infinite: {name} needs numbers, or NaN for those unknown."
        )
    known = T[~np.isnan(T).any(axis=1)]
    if len(known) == 0:
        raise LabelError(
            f"{name} needs labels, but all {len(T)} of them are missing (NaN or None). Use an unsupervised method."
        )
    if differ and np.all(known == known[0]):
        raise LabelError(f"{name} needs targets that differ, but all {len(known)} of them are {known[0].tolist()}.")
    return T


def names_classes(y: Any) -> bool:
    """One column of words, of categories or of yes and no: what has no order of its own."""
    if str(getattr(y, "dtype", "")).lower().startswith(("categor", "enum")):
        return True
    given = np.asarray(y)
    words = given.dtype.kind == "O" and any(isinstance(value, str) for value in given.ravel())
    return given.dtype.kind in "bUS" or words


def _as_numbers(y: Any) -> Array:
    """Floats, NaN where a date is missing: it would become a number."""
    given = np.asarray(y)
    if given.dtype.kind in "mM":
        return np.where(np.isnat(given), np.nan, given.astype(np.float64))
    T = np.asarray(y, dtype=np.float64)
    return np.where(y.isna(), np.nan, T) if hasattr(y, "isna") else T


def read_actions(y: Any, n: int, name: str) -> Actions:
    """Codes of the n − 1 actions, −1 where none is known, and the actions."""
    if y is None:
        raise LabelError(f"{name} requires y to be passed, but the target y is None: the actions between rows.")
    y = label_array(y, warn=True)
    if y.size not in (n - 1, n):
        raise LabelError(
            f"There are {y.size} actions for {n} rows: an action leads from one row to the next, so give {n - 1}, or {n} of which the "
            "last is ignored."
        )
    y = y[: n - 1]
    missing, known = split_missing(y, None)
    codes = np.full(n - 1, -1, dtype=np.intp)
    classes, codes[~missing] = np.unique(known, return_inverse=True)
    return Actions(codes, classes)


def read_coordinates(y: Any, n: int, d: int, name: str) -> Array:
    """The given coordinates, (n, d), with rows of NaN for unknown points."""
    if y is None:
        raise InputError(
            f"{name} requires y to be passed, but the target y is None. Pass an array of shape ({n}, {d}): the known coordinates, and "
            "rows of NaN for the other points."
        )
    _refuse_masks(y)
    G = np.array(
        check_array(y, dtype=np.float64, ensure_2d=False, ensure_all_finite=False, ensure_min_samples=0, input_name="y")
    )
    shape, G = G.shape, G[:, None] if G.ndim == 1 and d == 1 else G
    if G.shape != (n, d):
        raise InputError(
            f"The known coordinates have shape {shape}, but there are {n} points with n_components={d} coordinates each: pass shape "
            f"({n}, {d}), rows of NaN for the points that are not known."
        )
    if np.isinf(G).any():
        raise InputError(
            f"{np.isinf(G).any(axis=1).sum()} rows of known coordinates hold infinity. Unknown points are NaN."
        )
    missing = np.isnan(G)
    partly = np.flatnonzero(missing.any(axis=1) & ~missing.all(axis=1))
    if partly.size:
        raise InputError(
            f"{partly.size} rows of coordinates (first: {partly[0]}) are NaN in part: a point is known in all its {d} coordinates or in "
            "none. Fill them in, or make them NaN altogether."
        )
    if missing.all():
        raise InputError(
            f"None of the {n} points has known coordinates: all rows of y are NaN. Fit the wrapped method itself, without y."
        )
    return G
