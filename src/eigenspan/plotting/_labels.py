"""Placement of text labels at points, moved slightly to avoid overlaps."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._canvas import halo
from ._cloud import size_in_points
from ._read import Array

#: Estimated width of a letter and height of a line, relative to the font size.
_LETTER, _LINE = 0.58, 1.25
#: Size of a point, in points, and positions along a line to it, all of which labels should not cover.
_POINT_SIZE, _LINE_POSITIONS = 3.0, np.linspace(0.1, 1.0, 12)
#: Penalty, as an area in square points, for a label that is nearer to another point than to its own.
_WRONG_POINT_PENALTY = 40.0


def place_labels(
    ax: Any, at: Array, words: list[str], *, centre: Any = None, fontsize: float = 8, **style: Any
) -> list[Any]:
    """Write each word near its point, at the candidate position with the least overlap with points and earlier words.

    With a `centre`, words are placed on the far side of their point from it, and off the lines from it to the points. Sizes of words are
    estimated, and all words are written, so in crowded places they may still overlap.
    all words are written: where it is crowded they may still touch.
    """
    low, high = np.transpose([ax.get_xlim(), ax.get_ylim()])
    panel = np.array(size_in_points(ax))
    places = (np.asarray(at) - low) / (high - low) * panel
    origin, busy = places.mean(axis=0), places
    if centre is not None:
        origin = (np.asarray(centre) - low) / (high - low) * panel
        busy = np.concatenate([origin + share * (places - origin) for share in _LINE_POSITIONS])
    taken = np.hstack([busy, np.full(busy.shape, _POINT_SIZE)])
    written = []
    for i, word in enumerate(words):
        size = fontsize * np.array([_LETTER * len(word), _LINE])
        spots = np.clip(_around(places[i], places[i] - origin, size), size / 2, panel - size / 2)
        faults = [
            _overlap(spot, size, taken) + _WRONG_POINT_PENALTY * _nearer_to_another(spot, size, places, i)
            for spot in spots
        ]
        spot = spots[int(np.argmin(faults))]
        taken = np.vstack([taken, np.concatenate([spot, size])])
        moved = {"xytext": spot - places[i], "textcoords": "offset points", "ha": "center", "va": "center"}
        written.append(ax.annotate(word, at[i], fontsize=fontsize, path_effects=halo(ax), **moved, **style))
    return written


def _around(place: Array, away: Array, size: Array) -> Array:
    """Return candidate centres for a box of this size around a point; near ones, and those in the direction `away`, come first."""
    distances, turns = np.meshgrid(
        [4.0, 9.0, 15.0, 22.0], [0, 25, -25, 50, -50, 80, -80, 120, -120, 180], indexing="ij"
    )
    angles = np.arctan2(away[1], away[0]) + np.radians(turns.ravel())
    ways = np.column_stack([np.cos(angles), np.sin(angles)])
    return place + ways * (distances.reshape(-1, 1) + np.abs(ways) * size / 2)


def _overlap(spot: Array, size: Array, taken: Array) -> float:
    """Return the area that a box shares with the occupied boxes."""
    sides = (size + taken[:, 2:]) / 2 - np.abs(spot - taken[:, :2])
    return float(np.minimum(np.maximum(sides, 0.0), np.minimum(size, taken[:, 2:])).prod(axis=1).sum())


def _nearer_to_another(spot: Array, size: Array, places: Array, own: int) -> bool:
    """Whether a box is nearer to another point than to its own."""
    far = np.linalg.norm(np.maximum(np.abs(places - spot) - size / 2, 0.0), axis=1)
    return bool((np.delete(far, own) < far[own]).any())
