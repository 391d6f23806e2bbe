"""matplotlib, imported when first needed, and the look that all pictures share."""

from __future__ import annotations

from typing import Any

INK, QUIET = "#333333", "#b8bcc2"


def new_figure(width: float, height: float) -> Any:
    """A figure that belongs to no window and no backend: ``figure.savefig`` works everywhere."""
    try:
        from matplotlib.figure import Figure
    except ImportError as failure:
        raise ImportError(
            f'Plotting needs matplotlib, which cannot be imported ({failure}). Install it with: pip install "eigenspan[plot]"'
        ) from failure
    return Figure(figsize=(width, height), layout="constrained")


def new_axes() -> Any:
    """One empty panel."""
    return new_figure(4.2, 3.8).add_subplot()


def frame(ax: Any, title: str | None) -> None:
    """A thin frame, no ticks: the axes of an embedding have no units."""
    ax.set_xticks([])
    ax.set_yticks([])
    for spine in ax.spines.values():
        spine.set_color(QUIET)
        spine.set_linewidth(0.6)
    ax.margins(0.04)
    if title:
        ax.set_title(title, fontsize=11, color=INK)


def finish(ax: Any, x: str, y: str, title: str) -> Any:
    """Name the axes and the picture, and leave out the frame on the far sides."""
    ax.set_xlabel(x, color=INK)
    ax.set_ylabel(y, color=INK)
    ax.set_title(title, fontsize=11, color=INK)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    return ax
