"""matplotlib, imported when first needed, and the look that all pictures share."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import InputError

QUIET, MID = "#b8bcc2", "#7d838c"


def new_figure(width: float, height: float) -> Any:
    """A figure that belongs to no window and no backend: ``figure.savefig`` works everywhere."""
    try:
        from matplotlib.figure import Figure
    except ImportError as failure:
        raise ImportError(
            f'Plotting needs matplotlib, which cannot be imported ({failure}). Install it with: pip install "eigenspan[plot]"'
        ) from failure
    return Figure(figsize=(width, height), layout="constrained")


def new_axes(width: float = 4.2, height: float = 3.8, **subplot: Any) -> Any:
    """One empty panel."""
    return new_figure(width, height).add_subplot(**subplot)


def axes_of(ax: Any, width: float = 4.2, height: float = 3.8) -> Any:
    """The axes that were given, or new ones."""
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
    """Panels of equal size, so many for each embedding: those of one in rows of their own, unless all have but one.

    A figure that is not given is made, with room to spare for a legend (`wide`), a title (`high`) and words over the panels (`each`).
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
    """A remark under all panels."""
    figure.supxlabel(text, fontsize=8, color=ink())


def frame(ax: Any, title: str | None) -> None:
    """A thin frame, no ticks: the axes of an embedding have no units."""
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
    """Small names beside the axes of an embedding, in a picture with depth without what stands in brackets."""
    for axis, name in zip("xyz", names, strict=False):
        deep = {"labelpad": -12} if hasattr(ax, "set_zlim") else {}
        getattr(ax, f"set_{axis}label")(name.split(" (")[0] if deep else name, fontsize=9, color=ink(), **deep)


def equal(ax: Any, own: bool) -> None:
    """One unit as long on all axes: the panel takes the shape of the points, unless that would be very flat, and so does a figure of
    its own."""
    wide, high = np.ptp(ax.get_xlim()), np.ptp(ax.get_ylim())
    deep = hasattr(ax, "set_zlim")
    flat = max(wide, high) > 4 * min(wide, high) and not deep
    ax.set_aspect("equal", adjustable="datalim" if flat else "box")
    if own and not flat and not deep:
        ax.figure.set_figheight(float(np.clip(0.8 + 3.4 * high / wide, 2.4, 3.8)))


def note(ax: Any, text: str) -> None:
    """A remark in the lower right corner, above those made before."""
    made = sum(remark.get_gid() == "note" for remark in ax.texts)
    place = {"transform": ax.transAxes, "ha": "right", "va": "bottom", "fontsize": 7, "color": ink(), "gid": "note"}
    add = ax.text2D if hasattr(ax, "text2D") else ax.text
    add(0.985, 0.015 + 0.045 * made, text, path_effects=halo(ax), **place)


def ink() -> Any:
    """The colour of words: a soft black, or what matplotlib writes with where its style is another, as on a dark ground."""
    from matplotlib import rcParams

    return "#333333" if rcParams["text.color"] == "black" else rcParams["text.color"]


def halo(ax: Any) -> list[Any]:
    """A rim of the panel's own colour around words, which keeps them readable over points."""
    from matplotlib.patheffects import withStroke

    return [withStroke(linewidth=3, foreground=ax.get_facecolor())]


def finish(ax: Any, x: str, y: str, title: str) -> Any:
    """Name the axes and the picture, and leave out the frame on the far sides."""
    ax.set_xlabel(x, color=ink())
    ax.set_ylabel(y, color=ink())
    ax.set_title(title, fontsize=11, color=ink())
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    return ax


def logarithmic(ax: Any, side: str) -> None:
    """A logarithmic scale along the "x" or the "y" axis as it stands, with plain numbers; 1, 2 and 5 where it spans few powers of ten."""
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    getattr(ax, f"set_{side}scale")("log")
    low, high = getattr(ax, f"get_{side}lim")()
    axis = getattr(ax, f"{side}axis")
    axis.set_major_locator(LogLocator(subs=(1, 2, 5) if high < 1000 * low else (1,)))
    axis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axis.set_minor_formatter(NullFormatter())


def quiet_legend(ax: Any, **given: Any) -> Any:
    """A legend without a box."""
    return ax.legend(**{"frameon": False, "fontsize": 9, "handletextpad": 0.5} | given)
