"""Words beside places in a picture, moved a little where they would lie on each other."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._canvas import halo
from ._cloud import size_in_points
from ._read import Array

#: Width of a letter and height of a line, in units of the font's size.
_LETTER, _LINE = 0.58, 1.25


def place_labels(
    ax: Any, at: Array, words: list[str], *, centre: Any = None, fontsize: float = 8, **style: Any
) -> list[Any]:
    """Write each word near its place: on the side away from `centre`, or around it, at the first spot that is free.

    Sizes of words are estimated: a word may still touch another where it is crowded. All words are written, the first ones nearest to
    their places.
    """
    low, high = np.transpose([ax.get_xlim(), ax.get_ylim()])
    panel = np.array(size_in_points(ax))
    places = (np.asarray(at) - low) / (high - low) * panel
    origin = places.mean(axis=0) if centre is None else (np.asarray(centre) - low) / (high - low) * panel
    taken: list[Array] = []
    written = []
    for point, place, word in zip(at, places, words, strict=True):
        size = fontsize * np.array([_LETTER * len(word), _LINE])
        spot = _free(place, np.arctan2(*(place - origin)[::-1]), size, panel, taken)
        taken.append(np.concatenate([spot, size]))
        moved = {"xytext": spot - place, "textcoords": "offset points", "ha": "center", "va": "center"}
        written.append(ax.annotate(word, point, fontsize=fontsize, path_effects=halo(ax), **moved, **style))
    return written


def _free(place: Array, angle: float, size: Array, panel: Array, taken: list[Array]) -> Array:
    """The centre of a box of this size, within the panel, that overlaps none of those taken; or the least bad one."""
    best, least = place, np.inf
    for distance in (4.0, 9.0, 15.0, 22.0):
        for turn in np.radians([0, 25, -25, 50, -50, 80, -80, 120, -120, 180]):
            way = np.array([np.cos(angle + turn), np.sin(angle + turn)])
            spot = np.clip(place + way * (distance + np.abs(way) * size / 2), size / 2, panel - size / 2)
            on_itself = np.array([*place, 4.0, 4.0])
            overlap = sum(_shared(spot, size, box) for box in [*taken, on_itself])
            if overlap < least:
                best, least = spot, overlap
            if not overlap:
                return spot
    return best


def _shared(centre: Array, size: Array, box: Array) -> float:
    """The area that two boxes have in common."""
    sides = (size + box[2:]) / 2 - np.abs(centre - box[:2])
    return float(np.prod(np.minimum(sides, np.minimum(size, box[2:])))) if (sides > 0).all() else 0.0
