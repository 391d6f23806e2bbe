"""Small line charts as SVG, coloured by the style sheet of the page, light or dark."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

COLOURS = 8  # classes s0 to s7 of the style sheet; further lines reuse them with dashes
LEFT, RIGHT, TOP, BOTTOM = 52, 12, 10, 40


@dataclass(frozen=True)
class Scale:
    """Linear or logarithmic map from values to pixels along one axis."""

    lo: float
    hi: float
    start: float
    end: float
    log: bool = False

    def __call__(self, value: float) -> float:
        turn: Callable[[float], float] = math.log10 if self.log else float
        lo, hi = turn(self.lo), turn(self.hi)
        return self.start + (self.end - self.start) * ((turn(value) - lo) / (hi - lo) if hi > lo else 0.5)

    def rounded(self) -> Scale:
        """Return the scale with ends at round values: outward, or inward if that is less than a tenth of a step."""
        step = self._step()
        return replace(self, lo=math.floor(self.lo / step + 0.1) * step, hi=math.ceil(self.hi / step - 0.1) * step)

    def _step(self, count: int = 5) -> float:
        step = 10.0 ** math.floor(math.log10((self.hi - self.lo) / count))
        return step * next(factor for factor in (1, 2, 5, 10) if (self.hi - self.lo) / (factor * step) <= count)

    def ticks(self) -> list[float]:
        """Return round values between the ends."""
        if self.log:
            powers = range(math.floor(math.log10(self.lo)), math.ceil(math.log10(self.hi)) + 1)
            steps = (1, 2, 5) if self.hi / self.lo < 1e3 else (1,)
            return [
                step * 10.0**power for power in powers for step in steps if self.lo <= step * 10.0**power <= self.hi
            ]
        step = self._step()
        first, last = math.ceil(self.lo / step - 1e-9), math.floor(self.hi / step + 1e-9)
        return [round(k * step, 12) for k in range(first, last + 1)]


def series_key(names: list[str]) -> str:
    """Return the legend of the lines."""
    marks = []
    for k, name in enumerate(names):
        line = f'<svg viewBox="0 0 22 8" aria-hidden="true"><path class="line {_kind(k)}" d="M0,4h22"{_dash(k)}/></svg>'
        marks.append(f'<span class="key">{line}{escape(name)}</span>')
    return f'<div class="keys">{"".join(marks)}</div>'


def line_chart(
    lines: Mapping[str, tuple[Any, Any]], x: str, y: str, title: str, *, log: bool, width: int, height: int
) -> str:
    """Draw lines with axes; lines break at values that are not finite."""
    series = {name: (np.asarray(a, dtype=float), np.asarray(b, dtype=float)) for name, (a, b) in lines.items()}
    across, up = _ends([a for a, _ in series.values()], positive=log), _ends([b for _, b in series.values()])
    h, v = Scale(*across, LEFT, width - RIGHT, log), Scale(*up, height - BOTTOM, TOP).rounded()
    drawn = []
    for k, (name, (a, b)) in enumerate(series.items()):
        drawn.append(
            f'<path class="line {_kind(k)}" d="{_path(a, b, h, v, log)}"{_dash(k)}><title>{escape(name)}</title></path>'
        )
    description = f"{title}: {', '.join(series)}; {y} against {x}"
    return _svg(width, height, description, _frame(h, v, x, y), *drawn)


def spectrum_chart(
    values: NDArray[np.float64], kept: int | None, name: str, width: int = 200, height: int = 150
) -> str:
    """Draw eigenvalues by number: those kept in full colour, the others pale, with a line between them."""
    finite = np.flatnonzero(np.isfinite(values))
    ends = _ends([np.append(values[finite], 0.0)])
    h, v = Scale(0.5, values.size + 0.5, LEFT, width - RIGHT), Scale(*ends, height - BOTTOM, TOP).rounded()
    radius = 4 if values.size <= 40 else 2.5
    dots = []
    for i in finite.tolist():
        rest = " rest" if kept is not None and i >= kept else ""
        place = f'cx="{h(i + 1):.1f}" cy="{v(values[i]):.1f}"'
        dots.append(f'<path class="stem s0{rest}" d="M{h(i + 1):.1f},{v(0.0):.1f}V{v(values[i]):.1f}"/>')
        dots.append(f'<circle class="s0{rest}" {place} r="{radius}"><title>{i + 1}: {values[i]:.6g}</title></circle>')
    if kept is not None and 0 < kept < values.size:
        at = h(kept + 0.5)
        dots.insert(0, f'<path class="cut" d="M{at:.1f},{TOP}V{height - BOTTOM}"/>')
    description = f"Eigenvalues of {name}: {', '.join(f'{value:.3g}' for value in values[finite][:8])}"
    return _svg(width, height, description, _frame(h, v, "eigenvalue number", "", whole=True), *dots)


def _ends(columns: list[NDArray[np.float64]], positive: bool = False) -> tuple[float, float]:
    """Return the smallest and the largest finite value, made distinct."""
    values = np.concatenate([np.zeros(0), *columns])
    values = values[np.isfinite(values) & ((values > 0) | (not positive))]
    lo, hi = (float(values.min()), float(values.max())) if values.size else (0.0, 1.0) if not positive else (1.0, 10.0)
    if hi > lo:
        return lo, hi
    return (lo / 2, hi * 2) if positive else (lo - (abs(lo) or 1.0) / 2, hi + (abs(hi) or 1.0) / 2)


def _path(a: NDArray[np.float64], b: NDArray[np.float64], h: Scale, v: Scale, log: bool) -> str:
    steps, pen = [], "M"
    for value, height in zip(a.tolist(), b.tolist(), strict=True):
        if not (math.isfinite(value) and math.isfinite(height)) or (log and value <= 0):
            pen = "M"
            continue
        steps.append(f"{pen}{h(value):.1f},{v(height):.1f}")
        pen = "L"
    return "".join(steps)


def _frame(h: Scale, v: Scale, x: str, y: str, whole: bool = False) -> str:
    """Draw ticks, grid lines and the labels of the axes."""
    parts = []
    for tick in h.ticks():
        if not (whole and tick != round(tick)):
            parts.append(f'<text x="{h(tick):.1f}" y="{v.start + 16:.1f}" text-anchor="middle">{_short(tick)}</text>')
    for tick in v.ticks():
        at = v(tick)
        parts.append(f'<path class="grid" d="M{h.start},{at:.1f}H{h.end}"/>')
        parts.append(f'<text x="{h.start - 6}" y="{at + 4:.1f}" text-anchor="end">{_short(tick)}</text>')
    middle = (v.start + v.end) / 2
    parts.append(
        f'<text x="{(h.start + h.end) / 2:.1f}" y="{v.start + 34:.1f}" text-anchor="middle">{escape(x)}</text>'
    )
    turned = f'transform="rotate(-90 11 {middle:.1f})"'
    parts.append(f'<text x="11" y="{middle:.1f}" text-anchor="middle" {turned}>{escape(y)}</text>')
    return "".join(parts)


def _short(value: float) -> str:
    """Format the number of a tick."""
    text = f"{value:g}" if value == 0 or 1e-3 <= abs(value) < 1e4 else f"{value:.3g}"
    text = re.sub(r"e([+-])0*(\d+)", lambda found: "e" + found.group(1).strip("+") + found.group(2), text)
    return text.replace("-", "−")


def _svg(width: int, height: int, description: str, *parts: str) -> str:
    label = escape(description, quote=True)
    return f'<svg class="chart" viewBox="0 0 {width} {height}" role="img" aria-label="{label}">{"".join(parts)}</svg>'


def _kind(k: int) -> str:
    return f"s{k % COLOURS}"


def _dash(k: int) -> str:
    return "" if k < COLOURS else ' stroke-dasharray="6 3"' if k < 2 * COLOURS else ' stroke-dasharray="2 3"'
