"""Nearest points on a polyline."""

from __future__ import annotations

import numpy as np

from .._types import Array, Index

#: Number of distances in a block.
_BLOCK = 2**21


def nearest_on_polyline(X: Array, nodes: Array) -> tuple[Index, Array, Array]:
    """Return, for each row of X, the nearest segment between consecutive nodes, the position on it, and the nearest point.

    Positions lie between 0 (the first node of the segment) and 1. Of segments that are equally near the first counts. Blocks of rows:
    O(n m D) time for m segments.

    Parameters
    ----------
    X : ndarray of shape (n, D)
    nodes : ndarray of shape (m + 1, D)
        Consecutive nodes differ.
    """
    centre = nodes.mean(axis=0)
    starts, along = nodes[:-1] - centre, np.diff(nodes, axis=0)
    squares = np.einsum("ij,ij->i", along, along)
    segment, step = np.empty(len(X), dtype=np.intp), max(1, _BLOCK // len(starts))
    for i in range(0, len(X), step):
        near = X[i : i + step] - centre
        # ‖x − a‖² − ‖x‖² and (x − a)'u, by products; the final position is computed from differences below
        inner = near @ along.T - np.einsum("ij,ij->i", starts, along)
        position = np.clip(inner / squares, 0.0, 1.0)
        distance = np.einsum("ij,ij->i", starts, starts) - 2 * near @ starts.T
        distance += position * (position * squares - 2 * inner)
        segment[i : i + step] = distance.argmin(axis=1)
    away = X - nodes[segment]
    position = np.clip(np.einsum("ij,ij->i", away, along[segment]) / squares[segment], 0.0, 1.0)
    return segment, position, nodes[segment] + position[:, None] * along[segment]
