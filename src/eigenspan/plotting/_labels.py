"""Words beside places in a picture, moved a little where they would lie on each other."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._canvas import halo
from ._cloud import size_in_points
from ._read import Array

#: Width of a letter and height of a line, in units of the font's size.
_LETTER, _LINE = 0.58, 1.25
#: What a place takes, in points, and where along a line that leads to it words would cover the line.
_SPOT, _ALONG = 3.0, np.linspace(0.1, 1.0, 12)
#: What it counts, as an area in points, that a word is nearer to another place than to its own.
_STRANGE = 40.0


def place_labels(
    ax: Any, at: Array, words: list[str], *, centre: Any = None, fontsize: float = 8, **style: Any
) -> list[Any]:
    """Write each word near its place, at the first spot that is free of places and of words before it.

    With a `centre` the words stand on the side away from it, and off the lines that lead there from it. Sizes of words are estimated, and
    all words are written: where it is crowded they may still touch.
    """
    low, high = np.transpose([ax.get_xlim(), ax.get_ylim()])
    panel = np.array(size_in_points(ax))
    places = (np.asarray(at) - low) / (high - low) * panel
    origin, busy = places.mean(axis=0), places
    if centre is not None:
        origin = (np.asarray(centre) - low) / (high - low) * panel
        busy = np.concatenate([origin + share * (places - origin) for share in _ALONG])
    taken = np.hstack([busy, np.full(busy.shape, _SPOT)])
    written = []
    for i, word in enumerate(words):
        size = fontsize * np.array([_LETTER * len(word), _LINE])
        spots = np.clip(_around(places[i], places[i] - origin, size), size / 2, panel - size / 2)
        faults = [_overlap(spot, size, taken) + _STRANGE * _strange(spot, size, places, i) for spot in spots]
        spot = spots[int(np.argmin(faults))]
        taken = np.vstack([taken, np.concatenate([spot, size])])
        moved = {"xytext": spot - places[i], "textcoords": "offset points", "ha": "center", "va": "center"}
        written.append(ax.annotate(word, at[i], fontsize=fontsize, path_effects=halo(ax), **moved, **style))
    return written


def _around(place: Array, away: Array, size: Array) -> Array:
    """Centres for a box of this size around a place, those near by and in the direction `away` first."""
    distances, turns = np.meshgrid(
        [4.0, 9.0, 15.0, 22.0], [0, 25, -25, 50, -50, 80, -80, 120, -120, 180], indexing="ij"
    )
    angles = np.arctan2(away[1], away[0]) + np.radians(turns.ravel())
    ways = np.column_stack([np.cos(angles), np.sin(angles)])
    return place + ways * (distances.reshape(-1, 1) + np.abs(ways) * size / 2)


def _overlap(spot: Array, size: Array, taken: Array) -> float:
    """The area that a box has in common with those taken."""
    sides = (size + taken[:, 2:]) / 2 - np.abs(spot - taken[:, :2])
    return float(np.minimum(np.maximum(sides, 0.0), np.minimum(size, taken[:, 2:])).prod(axis=1).sum())


def _strange(spot: Array, size: Array, places: Array, own: int) -> bool:
    """Whether a box is nearer to the place of another word than to that of its own."""
    far = np.linalg.norm(np.maximum(np.abs(places - spot) - size / 2, 0.0), axis=1)
    return bool((np.delete(far, own) < far[own]).any())
