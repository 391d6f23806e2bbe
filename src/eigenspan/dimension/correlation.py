"""Dimension from the correlation integral.

``C(ε)``, the share of all pairs of points nearer than ε, grows as ``ε^d`` if the data are d-dimensional at the scale ε
[Grassberger & Procaccia 1983; S3, §2].
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from .._diagnostics import stage
from ..errors import DimensionError, InputError
from ._data import Data
from .result import Curve, Dimension

Array = NDArray[np.float64]
FitRange = Literal["auto", "all"] | int | tuple[float, float]

#: Up to this cost (pairs times features), numpy is faster than loading the compiled loop.
_SMALL = 2e8
#: Default fit range: scales ε at which a point has between these numbers of neighbours on average.
_FEW, _MANY = 0.1, 10.0
#: Smallest number of pairs for a slope of C(ε).
_PAIRS = 10
#: Smallest number of points of the curve for a slope.
_POINTS = 4
#: Sample of points for the standard error: largest and smallest number, and the limit on distances.
_SAMPLE, _AT_LEAST, _CELLS = 1000, 200, 2 * 10**7
#: Relative to the largest distance, distances below this are inaccurate in single precision.
_ROUGH = 1e-5


@dataclass(frozen=True, eq=False)
class PairCounts:
    """C(ε) at the upper edges of the nonempty bins."""

    scales: Array
    #: Cumulative number of pairs, and number of pairs per bin.
    pairs: Array
    new: Array
    n: int

    @classmethod
    def of(cls, edges: Array, counts: NDArray[np.int64], n: int) -> PairCounts:
        some = counts > 0
        some[0] = False  # distances below the resolution
        pairs = np.cumsum(counts).astype(np.float64)
        return cls(edges[1:][some], pairs[some], counts[some].astype(np.float64), n)

    @property
    def values(self) -> Array:
        """C(ε)."""
        return self.pairs / (self.n * (self.n - 1) / 2)

    def slope(self, some: NDArray[np.bool_], weights: Array) -> tuple[float, Array, float]:
        """Return the least-squares slope of log C over log ε, its weights on log C, and the root mean square residual."""
        x, y, w = np.log(self.scales[some]), np.log(self.values[some]), weights[some]
        w = w / w.sum()
        centred = x - w @ x
        towards = w * centred / (w @ centred**2)
        slope = float(towards @ y)
        return slope, towards, float(np.sqrt(w @ (y - w @ y - slope * centred) ** 2))


def correlation(data: Data, fit_range: Any, window: float, rng: np.random.Generator) -> Dimension:
    """Return the slope of log C(ε) over a range of scales, with equal weight per pair; the error is that of sampling the points."""
    data.warn_of_ties("C(ε) then has steps, and its slope reflects the rounding")
    with stage("pairs"):
        integral = integral_of(data)
    used, low, high = _chosen(integral, fit_range)
    slope, towards, residual = integral.slope(used, integral.new)
    drawn, slopes = smoothed(integral, window)
    curve = Curve(
        integral.scales[drawn],
        slopes,
        used[drawn],
        "distance ε",
        "slope of log C(ε) over log ε",
        x_log=True,
    )
    facts = {
        "fit_range": (low, high),
        "pairs": int(integral.pairs[used][-1]),
        "residual": residual,
        "window": window,
        "scales": integral.scales,
        "integral": integral.values,
        **data.facts,
    }
    error = _error(data, integral, used, towards, rng)
    return Dimension(slope, error, "correlation", data.n, curve, None, facts)


def integral_of(data: Data) -> PairCounts:
    """Count all pairs in sixteen bins per octave. Cost: O(n²D) time, O(n) memory."""
    from ..numerics.nearest.pair_counts import pair_histogram

    if data.plain and float(data.n) ** 2 * (data.X.shape[1] + 20) > _SMALL:
        edges, counts = pair_histogram(data.X)
        near = edges[1:] < _ROUGH * edges[-1]
        if np.sum(counts[near]) <= _FEW * data.n / 2:
            return PairCounts.of(edges, counts, data.n)
    return PairCounts.of(*_by_blocks(data), data.n)  # small distant groups need double precision


def _by_blocks(data: Data) -> tuple[Array, NDArray[np.int64]]:
    """Return the result of `pair_histogram` from distances in double precision."""
    from ..numerics.nearest.pair_counts import N_BINS, bin_numbers, bins_of

    found, scale = np.zeros(N_BINS, np.int64), 0.0
    for rows, block in data.blocks():
        scale = scale or 2.0 ** np.floor(np.log2(max(float(block.max()), np.finfo(float).tiny)))
        others = np.arange(data.n) > np.arange(rows.start, rows.stop)[:, None]
        found += np.bincount(bin_numbers((block[others] / scale) ** 2), minlength=N_BINS)
    return bins_of(found, scale)


def smoothed(integral: PairCounts, window: float) -> tuple[NDArray[np.bool_], Array]:
    """Return a mask of the scales with enough pairs, and their slopes from lines through `window` octaves around each scale."""
    x = np.log2(integral.scales)
    enough = integral.pairs >= _PAIRS
    drawn, slopes = np.zeros(x.size, dtype=bool), []
    for b in np.flatnonzero(enough):
        some = enough & (np.abs(x - x[b]) <= window / 2 + 1e-9)
        if some.sum() >= 3:
            drawn[b] = True
            slopes.append(integral.slope(some, np.ones(x.size))[0])
    return drawn, np.array(slopes)


def _chosen(integral: PairCounts, fit_range: Any) -> tuple[NDArray[np.bool_], float, float]:
    """Return a mask of the scales to fit, and the first and last of them."""
    scales, pairs, n = integral.scales, integral.pairs, integral.n
    if not scales.size or (isinstance(fit_range, str) and fit_range == "all"):
        used = np.ones(scales.size, dtype=bool)
    elif isinstance(fit_range, str) and fit_range == "auto":
        least = max(_FEW * n / 2, min(_PAIRS, pairs[-1] / 8))
        used = (pairs >= least) & (pairs <= max(_MANY * n / 2, 10 * least))
        first = int(np.argmax(pairs >= least))
        used[first : first + _POINTS] = True  # in many dimensions a few bins hold all pairs
    elif isinstance(fit_range, Integral) and not isinstance(fit_range, bool):
        wanted = min(int(fit_range), int(pairs[-1]))
        used = np.arange(scales.size) <= (np.argmax(pairs >= wanted) if wanted > 0 else -1)
    else:
        low, high = _pair_of_distances(fit_range)
        used = (scales >= low) & (scales <= high)
    if used.sum() < 3:
        raise DimensionError(
            f"fit_range={fit_range!r} contains {int(used.sum())} of the {scales.size} scales at which pairs were counted, from "
            f"{scales[0] if scales.size else np.nan:.3g} to {scales[-1] if scales.size else np.nan:.3g}, but a slope needs three. "
            + (
                "Use a wider range, or more points."
                if scales.size >= 3
                else "The points have too few different distances."
            )
        )
    return used, float(scales[used][0]), float(scales[used][-1])


def _pair_of_distances(fit_range: Any) -> tuple[float, float]:
    try:
        low, high = fit_range
        fine = all(isinstance(end, Real) and not isinstance(end, bool) for end in (low, high)) and 0 <= low < high
    except (TypeError, ValueError):
        fine = False
    if not fine:
        raise InputError(
            f'fit_range={fit_range!r:.80} must be "auto", "all", a number of pairs, or two distances (low, high) with 0 <= low < high.'
        )
    return float(low), float(high)


def _error(
    data: Data, integral: PairCounts, used: NDArray[np.bool_], towards: Array, rng: np.random.Generator
) -> float:
    """Return the standard error of the slope, from the influence of each point of a sample.

    The slope is linear in log C, and the influence of a point i on log C is proportional to ``2 (C_i/C − 1)``, with C_i the share of the
    other points near i. The random variation of single pairs is counted at both ends of each pair, so half of it is subtracted.
    """
    m = min(data.n, _SAMPLE, max(_AT_LEAST, _CELLS // data.n))
    rows = np.sort(rng.choice(data.n, size=m, replace=False))
    scales, changes, chance = integral.scales[used], np.empty(m), np.empty(m)
    # effect of one more pair in a bin on the slope
    each = np.cumsum((2 * towards / (integral.values[used] * (data.n - 1)))[::-1])[::-1]
    step = max(1, 2**21 // data.n)
    for i in range(0, m, step):
        block = data.distances(rows[i : i + step])
        block[np.arange(len(block)), rows[i : i + step]] = np.inf  # exclude the point itself
        which, _ = np.nonzero(inside := block <= scales[-1])
        near = np.zeros((len(block), scales.size))
        np.add.at(near, (which, np.searchsorted(scales, block[inside])), 1.0)
        changes[i : i + step], chance[i : i + step] = near @ each, near @ each**2
    return float(np.sqrt(max(np.var(changes, ddof=1) - chance.mean() / 2, chance.mean() / 2) / data.n))
