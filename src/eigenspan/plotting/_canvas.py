"""Helpers to make figures and panels with a common style; matplotlib is imported when first needed."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import InputError

QUIET, MID = "#b8bcc2", "#7d838c"


def new_figure(width: float, height: float) -> Any:
    """Return a figure without window or backend; ``figure.savefig`` works everywhere."""
    try:
        from matplotlib.figure import Figure
    except ImportError as failure:
        raise ImportError(
            f'Plotting needs matplotlib, which cannot be imported ({failure}). Install it with: pip install "eigenspan[plot]"'
        ) from failure
    return Figure(figsize=(width, height), layout="constrained")


def new_axes(width: float = 4.2, height: float = 3.8, **subplot: Any) -> Any:
    """Return one empty panel on a new figure."""
    return new_figure(width, height).add_subplot(**subplot)


def axes_of(ax: Any, width: float = 4.2, height: float = 3.8) -> Any:
    """Return the given axes, or new ones."""
    if ax is None:
        return new_axes(width, height)
    if not hasattr(ax, "transAxes"):
        raise InputError(f"ax must be one matplotlib Axes, such as ax of figure.subplots(); got {type(ax).__name__}.")
    return ax


def tiles(
    figure: Any,
    counts: list[int],
    columns: int,
    panel: float = 2.7,
    *,
    wide: float = 0,
    high: float = 0,
    each: float = 0,
) -> tuple[Any, list[list[Any]]]:
    """Return a figure and, for each embedding, its panels; all panels have equal size.

    Each embedding starts a new row of panels, unless every embedding has only one panel. A new figure is made if `figure` is None, with
    extra space for a legend (`wide`), a title (`high`) and text above the panels (`each`).
    """
    alone = max(counts) == 1
    columns = max(1, min(columns, len(counts) if alone else max(counts)))
    cells: list[list[tuple[int, int]]] = []
    for i, count in enumerate(counts):
        first = i if alone else columns * (1 + cells[-1][-1][0] if cells else 0)
        cells.append([divmod(first + j, columns) for j in range(count)])
    rows = 1 + cells[-1][-1][0]
    figure = new_figure(panel * columns + wide, (panel + each) * rows + high) if figure is None else figure
    panels = figure.subplots(rows, columns, squeeze=False)
    for cell in set(np.ndindex(rows, columns)) - {cell for part in cells for cell in part}:
        panels[cell].remove()
    return figure, [[panels[cell] for cell in part] for part in cells]


def beneath(figure: Any, text: str) -> None:
    """Write a remark below all panels."""
    figure.supxlabel(text, fontsize=8, color=ink())


def frame(ax: Any, title: str | None) -> None:
    """Draw a thin frame without ticks: the axes of an embedding have no units."""
    for axis in ("x", "y", "z"):
        if hasattr(ax, f"set_{axis}ticks"):
            getattr(ax, f"set_{axis}ticks")([])
    for spine in ax.spines.values():
        spine.set_color(QUIET)
        spine.set_linewidth(0.6)
    ax.margins(0.04)
    if title:
        ax.set_title(title, fontsize=11, color=ink())


def name_axes(ax: Any, names: Any) -> None:
    """Write small names at the axes of an embedding; in three dimensions, without the part in brackets."""
    for axis, name in zip("xyz", names, strict=False):
        deep = {"labelpad": -12} if hasattr(ax, "set_zlim") else {}
        getattr(ax, f"set_{axis}label")(name.split(" (")[0] if deep else name, fontsize=9, color=ink(), **deep)


def equal(ax: Any, own: bool) -> None:
    """Give all axes the same scale. The panel takes the shape of the points, unless that would be very flat; so does a figure that was
    made for the display (`own`)."""
    wide, high = np.ptp(ax.get_xlim()), np.ptp(ax.get_ylim())
    deep = hasattr(ax, "set_zlim")
    flat = max(wide, high) > 4 * min(wide, high) and not deep
    ax.set_aspect("equal", adjustable="datalim" if flat else "box")
    if own and not flat and not deep:
        ax.figure.set_figheight(float(np.clip(0.8 + 3.4 * high / wide, 2.4, 3.8)))


def note(ax: Any, text: str) -> None:
    """Write a remark in the lower right corner, above earlier remarks."""
    made = sum(remark.get_gid() == "note" for remark in ax.texts)
    place = {"transform": ax.transAxes, "ha": "right", "va": "bottom", "fontsize": 7, "color": ink(), "gid": "note"}
    add = ax.text2D if hasattr(ax, "text2D") else ax.text
    add(0.985, 0.015 + 0.045 * made, text, path_effects=halo(ax), **place)


def ink() -> Any:
    """Return the text colour: a soft black, or matplotlib's text colour if another style, such as a dark one, is set."""
    from matplotlib import rcParams

    return "#333333" if rcParams["text.color"] == "black" else rcParams["text.color"]


def halo(ax: Any) -> list[Any]:
    """Return a path effect that outlines text in the background colour, so that it stays readable over points."""
    from matplotlib.patheffects import withStroke

    return [withStroke(linewidth=3, foreground=ax.get_facecolor())]


def finish(ax: Any, x: str, y: str, title: str) -> Any:
    """Label the axes and the panel, and remove the top and right spines."""
    ax.set_xlabel(x, color=ink())
    ax.set_ylabel(y, color=ink())
    ax.set_title(title, fontsize=11, color=ink())
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    return ax


def logarithmic(ax: Any, side: str) -> None:
    """Set a logarithmic scale with plain numbers on the "x" or "y" axis; ticks at 1, 2 and 5 if it covers less than three powers of ten."""
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    getattr(ax, f"set_{side}scale")("log")
    low, high = getattr(ax, f"get_{side}lim")()
    axis = getattr(ax, f"{side}axis")
    axis.set_major_locator(LogLocator(subs=(1, 2, 5) if high < 1000 * low else (1,)))
    axis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axis.set_minor_formatter(NullFormatter())


def quiet_legend(ax: Any, **given: Any) -> Any:
    """Draw a legend without a frame."""
    return ax.legend(**{"frameon": False, "fontsize": 9, "handletextpad": 0.5} | given)
