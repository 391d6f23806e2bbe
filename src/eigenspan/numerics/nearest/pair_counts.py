"""Histogram of the distances between all pairs of points: the correlation integral."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..._types import Array
from ..jit import in_pieces
from ..jit.compiler import compiled

#: Bins are the exponent of a single-precision number and this many bits of its mantissa: eight bins per octave of d².
_BITS = 3
_SHIFT = 23 - _BITS
N_BINS = 1 << (8 + _BITS)
#: Number of points whose distances to one point are computed together.
_WIDTH = 1024
#: Maximum number of slices of the points; each has its own histogram.
_PIECES = 256


def pair_histogram(X: NDArray[np.floating]) -> tuple[Array, NDArray[np.int64]]:
    """Count the n(n−1)/2 distances between the rows of X in sixteen bins per octave.

    Distances are computed in single precision, relative to the extent of the data; those below 10⁻⁶ of it are inaccurate.
    Cost O(n²D) time and O(nD) memory; 50,000 points in 10 dimensions take about a second.

    Parameters
    ----------
    X : array of shape (n, D)
        Finite.

    Returns
    -------
    edges : array of shape (bins + 1,)
        Ascending, from 0: a distance d is in bin b if ``edges[b] <= d < edges[b + 1]``. The first bin ends at the smallest
        nonzero distance, so it counts the coincident pairs.
    counts : array of int64 of shape (bins,)

    Examples
    --------
    >>> import numpy as np
    >>> from eigenspan.numerics.nearest.pair_counts import pair_histogram
    >>> edges, counts = pair_histogram(np.array([[0.0], [1.0], [1.0], [3.0]]))
    >>> int(counts[0]), int(counts[edges[1:] <= 2.0].sum()), int(counts.sum())
    (1, 3, 6)
    """
    n = X.shape[0]
    centred = np.asarray(X, dtype=np.float64)
    centred = centred - centred.mean(axis=0) if n else centred
    extent = float(np.abs(centred).max(initial=0.0))
    scale = 2.0 ** np.floor(np.log2(extent)) if extent > 0 else 1.0  # a power of two: the division is exact
    columns = np.ascontiguousarray((centred / scale).T, dtype=np.float32)
    step = max(1, -(-n // _PIECES))
    found = np.zeros((-(-n // step), N_BINS), np.int64)
    in_pieces(_count_pairs, n, step, columns, step, found)
    return bins_of(found.sum(axis=0), scale)


def bin_numbers(squares: NDArray[np.floating]) -> NDArray[np.uint32]:
    """Return the bin of each squared distance (in units of the squared scale passed to `bins_of`), as in `pair_histogram`."""
    return np.ascontiguousarray(squares, dtype=np.float32).view(np.uint32) >> np.uint32(_SHIFT)


def bins_of(counts: NDArray[np.int64], scale: float) -> tuple[Array, NDArray[np.int64]]:
    """Return edges in the unit of the distances, and counts, of the bins between the smallest and the largest distance."""
    lowest, highest = 1, 1
    if counts[1:].any():
        lowest, highest = (int(b) for b in 1 + np.flatnonzero(counts[1:])[[0, -1]])
    marks = (np.arange(lowest, highest + 2, dtype=np.int32) << _SHIFT).view(np.float32)
    edges = np.concatenate([[0.0], scale * np.sqrt(marks.astype(np.float64))])
    return edges, np.concatenate([[counts[0]], counts[lowest : highest + 1]])


@compiled
def _count_pairs(first, last, columns, step, found):  # type: ignore[no-untyped-def]
    """Count the pairs (i, j > i) with i in a slice; consecutive distances use separate counters so that additions do not wait."""
    n = columns.shape[1]
    counts = np.zeros((4, found.shape[1]), np.uint32)
    squares = np.empty(_WIDTH, np.float32)
    bits = squares.view(np.uint32)
    for begin in range(first, n, _WIDTH):
        end = min(begin + _WIDTH, n)
        for i in range(first, min(last, end)):
            a = max(begin, i + 1)
            _squares(columns, i, a, end, squares)
            for j in range(end - a):
                counts[j & 3, bits[j] >> _SHIFT] += np.uint32(1)
        for b in range(found.shape[1]):
            for c in range(4):
                found[first // step, b] += counts[c, b]
                counts[c, b] = 0


@compiled
def _squares(columns, i, first, last, out):  # type: ignore[no-untyped-def]
    """Compute squared distances from point i to points `first` to `last`."""
    for j in range(last - first):
        out[j] = 0.0
    for c in range(columns.shape[0]):
        row, x = columns[c, first:last], columns[c, i]
        for j in range(row.size):
            e = row[j] - x
            out[j] += e * e
