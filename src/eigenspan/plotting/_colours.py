"""From labels to colours: a few classes, many classes, or a continuous quantity."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import LabelError

#: Okabe & Ito's colours, told apart with any colour vision; their black goes last.
FEW = ("#0072b2", "#e69f00", "#009e73", "#d55e00", "#cc79a7", "#56b4e9", "#f0e442", "#000000")
#: Petroff's ten, made for deficient colour vision too (matplotlib's "petroff10"); then black and a pink of our own, untested for it.
TWELVE = (
    *("#3f90da", "#ffa90e", "#bd1f01", "#94a4a2", "#832db6", "#a96b59", "#e76300", "#b9ac70", "#717581", "#92dadd"),
    *("#000000", "#f7b6d2"),
)
SEQUENTIAL = "viridis"
MISSING = "#d0d3d8"
MOST_CLASSES = 12


@dataclass(frozen=True, eq=False)
class Colours:
    """How to colour n points.

    Parameters
    ----------
    values : ndarray
        What ``Axes.scatter`` takes as ``c``: n colours, or n numbers when `continuous`.
    classes : dict
        Legend entries, label to colour; empty when there would be too many.
    continuous : bool
    """

    values: Any
    classes: dict[str, str] = field(default_factory=dict)
    continuous: bool = False


def colours_of(labels: Any, n: int) -> Colours:
    """Colours for the labels of n points; None, NaN and empty labels are grey."""
    if labels is None:
        return Colours(np.full(n, FEW[0]))
    labels = np.asarray(labels)
    if labels.shape != (n,):
        raise LabelError(f"labels must be one value for each of the {n} points; got shape {labels.shape}.")
    missing = _missing(labels)
    known = labels[~missing]
    distinct = np.unique(known if known.dtype.kind != "O" else known.astype(str))
    if labels.dtype.kind in "fiu" and distinct.size > MOST_CLASSES and _is_quantity(labels.dtype, distinct):
        return Colours(np.where(missing, np.nan, labels.astype(np.float64)), continuous=True)
    return _classes(known.astype(distinct.dtype), missing, distinct)


def _is_quantity(dtype: Any, distinct: NDArray[Any]) -> bool:
    """More than 12 different floats, or so many whole numbers that they can only be an amount."""
    return bool(dtype.kind == "f" or distinct.size > 50)


def _missing(labels: NDArray[Any]) -> NDArray[np.bool_]:
    if labels.dtype.kind == "f":
        return ~np.isfinite(labels)
    if labels.dtype.kind == "O":
        return np.array([value is None or value != value for value in labels.tolist()], dtype=bool)
    return np.zeros(labels.size, dtype=bool)


def _classes(known: NDArray[Any], missing: NDArray[np.bool_], distinct: NDArray[Any]) -> Colours:
    palette = FEW if distinct.size <= len(FEW) else TWELVE
    values = np.full(missing.size, MISSING, dtype=object)
    codes = np.searchsorted(distinct, known)
    values[~missing] = np.array(palette, dtype=object)[codes % len(palette)]
    legend: dict[str, str] = {}
    if distinct.size <= MOST_CLASSES:
        legend = {_text(label): palette[i] for i, label in enumerate(distinct)}
        if missing.any():
            legend["unlabelled"] = MISSING
    return Colours(values, legend)


def _text(label: Any) -> str:
    return f"{label:g}" if isinstance(label, float | np.floating) else str(label)
