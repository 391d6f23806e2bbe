"""Number of coordinates used by a search with bounds, chosen by a trial on a few points."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..._types import Array, Matrix
from ..threads import one_blas_thread
from .frame import _BLOCK, Frame

#: Numbers of coordinates that are tried.
_TRIED = (16, 24, 32, 48, 64, 96)
#: Number of points and of queries in the trial.
_POINTS, _QUERIES = 20_000, 40
#: Nanoseconds on one thread: per pair at the first bound, per coordinate of it, per pair at the later bounds, per feature of a
#: distance, and per feature and axis when points are rotated.
_PAIR, _AXIS, _LATER, _FEATURE, _TURN = 0.4, 0.022, 40.0, 0.5, 0.05
#: Factor by which more pairs pass while the lists are still incomplete.
_EARLY = 1.6
#: Searches up to this expected time (seconds), or up to this number of features, use all coordinates without a trial.
_QUICK, _FEW = 0.9, 24


def seconds(m: int, n: int, p: int) -> float:
    """Return the time of the first bound between m queries and n points."""
    return 1e-9 * m * n * (_PAIR + _AXIS * p)


@dataclass(frozen=True, eq=False)
class Plan:
    """The frame, the number p of coordinates of the first bound, and the expected seconds of the search on one thread."""

    frame: Frame
    p: int
    seconds: float

    @classmethod
    def of(cls, points: Matrix, m: int, k: int) -> Plan:
        """Choose the plan for the k nearest of m queries."""
        n, D = points.shape
        plain = seconds(m, n, D) + 1e-9 * m * 5 * k * _FEATURE * D
        if D <= _FEW or plain <= _QUICK:
            return cls(Frame.of(points), D, plain)
        frame = Frame.of(points, turned=True)
        with one_blas_thread(), np.errstate(invalid="ignore"):
            found = _trial(frame, points, k)
        best = D, plain
        for p, left, last in found:
            more = m * (left * _LATER + last * _FEATURE * D) + (m + n) * D * frame.width * _TURN
            best = min(best, (p, seconds(m, n, p + 1) + 1e-9 * more), key=lambda pair: pair[1])
        return cls(frame if best[0] < D else Frame(frame.centre, frame.scale), *best)


def _trial(frame: Frame, points: Matrix, k: int) -> list[tuple[int, float, float]]:
    """Return for each p the number of pairs per query that pass the first bound, and that pass the last.

    The k-th neighbour distance among all points is estimated by the (k × share)-th among a sample of the points.
    """
    n, q = points.shape[0], frame.width
    rows = np.sort(np.random.default_rng(1).choice(n, size=min(n, _POINTS), replace=False))
    mine = np.linspace(0, rows.size - 1, min(_QUERIES, rows.size)).astype(int)
    Q, asked = frame.coordinates(points[rows[mine]])[:2], frame._place(points[rows[mine]])[0]
    among = max(1, round(k * rows.size / n))
    squares, left = np.empty((mine.size, rows.size)), [np.empty((mine.size, rows.size)) for _ in range(len(_TRIED) + 1)]
    tried = [p for p in _TRIED if 4 * p <= 3 * q]
    for i in range(0, rows.size, _BLOCK):
        some = slice(i, min(i + _BLOCK, rows.size))
        X = points[rows[some]]
        squares[:, some] = _squares(asked, frame._place(X)[0])
        Y, rest = frame.coordinates(X)[:2]
        for bound, p in zip(left, [*tried, q], strict=False):
            bound[:, some] = _squares(_short(*Q, p), _short(Y, rest, p))
    squares[np.arange(mine.size), mine] = np.inf
    kth = np.partition(squares, among - 1, axis=1)[:, among - 1 : among]
    counts = [_EARLY * float(np.mean(np.sum(bound <= kth, axis=1))) * n / rows.size + 5 * k for bound in left]
    return [(p, counts[i], counts[len(tried)]) for i, p in enumerate(tried)]


def _squares(A: Array, B: Array) -> Array:
    out = np.einsum("ij,ij->i", A, A)[:, None] - 2 * (A @ B.T)
    out += np.einsum("ij,ij->i", B, B)
    return out


def _short(Y: Array, rest: Array, p: int) -> Array:
    """Return p coordinates and the length of the remainder."""
    return np.column_stack([Y[:, :p], np.sqrt(np.einsum("ij,ij->i", Y[:, p:], Y[:, p:]) + rest**2)])
