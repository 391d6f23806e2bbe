"""Colours for labels: for a few classes, many classes, or a continuous quantity."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..data.y_values import is_missing, label_array
from ..errors import LabelError

#: Okabe and Ito's colours, distinguishable with any colour vision; their black comes last.
FEW = ("#0072b2", "#e69f00", "#009e73", "#d55e00", "#cc79a7", "#56b4e9", "#f0e442", "#000000")
#: Petroff's ten colours, designed for deficient colour vision too (matplotlib's "petroff10"); then black and a pink, not tested for it.
TWELVE = (
    *("#3f90da", "#ffa90e", "#bd1f01", "#94a4a2", "#832db6", "#a96b59", "#e76300", "#b9ac70", "#717581", "#92dadd"),
    *("#000000", "#f7b6d2"),
)
#: Shapes that are combined with the colours if there are more classes than colours.
MARKERS = ("o", "^", "s", "D", "v", "P", "X")
SEQUENTIAL = "viridis"
MISSING = "#d0d3d8"
MOST_CLASSES = 12


@dataclass(frozen=True, eq=False)
class Colours:
    """Colours and shapes of n points.

    Parameters
    ----------
    values : ndarray
        The argument ``c`` of ``Axes.scatter``: n colours, or n numbers if `continuous`.
    classes : dict
        Legend entries, from label to colour; empty if there would be too many.
    continuous : bool
    markers : ndarray of shape (n,) or None
        The shape of each point; None if all are circles.
    shapes : dict
        From label to shape, for the legend, if not all points are circles.
    repeated : int
        Number of classes if there are more than combinations of colour and shape; otherwise 0.
    """

    values: Any
    classes: dict[str, str] = field(default_factory=dict)
    continuous: bool = False
    markers: Any = None
    shapes: dict[str, str] = field(default_factory=dict)
    repeated: int = 0


def colours_of(labels: Any, n: int) -> Colours:
    """Return the colours for the labels of n points; points without a label are grey."""
    if labels is None:
        return Colours(np.full(n, FEW[0]))
    order = _categories(labels)
    labels = _vector(labels, n)
    missing = _missing(labels)
    known = labels[~missing]
    known = known.astype(str) if known.dtype.kind == "O" else known
    distinct = np.unique(known)
    if labels.dtype.kind in "fiu" and distinct.size > MOST_CLASSES and _is_quantity(labels.dtype, distinct):
        return Colours(np.where(missing, np.nan, labels.astype(np.float64)), continuous=True)
    codes = np.searchsorted(distinct, known)
    if order:  # keep the order of pandas categories
        turn = np.argsort([order.get(str(label), 0) for label in distinct], kind="stable")
        distinct, codes = distinct[turn], np.argsort(turn)[codes]
    return _classes(codes, missing, distinct)


def _vector(labels: Any, n: int) -> NDArray[Any]:
    must = f"labels must be one value per point ({n} points)"
    try:
        found = label_array(labels)
    except LabelError:
        raise
    except ValueError as refusal:
        raise LabelError(f"{must}: {refusal}") from None
    if found.shape != (n,):
        raise LabelError(f"{must}, but have shape {found.shape}.")
    return found


def _categories(labels: Any) -> dict[str, int]:
    found: Any = getattr(getattr(labels, "cat", labels), "categories", None)
    return {} if found is None else {str(label): i for i, label in enumerate(found)}


def _is_quantity(dtype: Any, distinct: NDArray[Any]) -> bool:
    """Whether values are a quantity: more than 12 distinct floats, or more than 50 distinct whole numbers."""
    return bool(dtype.kind == "f" or distinct.size > 50)


def _missing(labels: NDArray[Any]) -> NDArray[np.bool_]:
    if labels.dtype.kind == "f":
        return ~np.isfinite(labels)
    if labels.dtype.kind in "mM":
        return np.isnat(labels)
    if labels.dtype.kind == "O":
        return np.array([is_missing(value) for value in labels.tolist()], dtype=bool)
    return np.zeros(labels.size, dtype=bool)


def _classes(codes: NDArray[np.intp], missing: NDArray[np.bool_], distinct: NDArray[Any]) -> Colours:
    """Return class colours; with more than twelve classes, combinations of colour and shape, each used once before any is reused."""
    palette = visible(FEW if distinct.size <= len(FEW) else TWELVE)
    values, shapes = np.full(missing.size, MISSING, dtype=object), np.full(missing.size, MARKERS[0], dtype=object)
    values[~missing] = np.array(palette, dtype=object)[codes % len(palette)]
    shapes[~missing] = np.array(MARKERS, dtype=object)[codes // len(palette) % len(MARKERS)]
    if distinct.size > len(palette) * len(MARKERS):
        return Colours(values, markers=shapes, repeated=distinct.size)
    legend = {_text(label): palette[i % len(palette)] for i, label in enumerate(distinct)}
    marks = {_text(label): MARKERS[i // len(palette)] for i, label in enumerate(distinct)}
    if missing.any():
        legend["unlabelled"] = MISSING
    if distinct.size <= MOST_CLASSES:
        return Colours(values, legend)
    return Colours(values, legend, markers=shapes, shapes=marks)


def visible(palette: tuple[str, ...]) -> tuple[str, ...]:
    """Return the palette, with white instead of black on a dark background."""
    from matplotlib import rcParams
    from matplotlib.colors import to_rgb

    dark = rcParams["axes.facecolor"] != "none" and max(to_rgb(rcParams["axes.facecolor"])) < 0.5
    return tuple("#ffffff" if dark and colour == "#000000" else colour for colour in palette)


def _text(label: Any) -> str:
    return f"{label:g}" if isinstance(label, float | np.floating) else str(label)
