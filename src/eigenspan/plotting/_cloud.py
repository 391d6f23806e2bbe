"""Points, drawn: their colours, shapes and legend, outliers, strips and pictures in place of dots."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import InputError
from ._canvas import frame, ink, note
from ._colours import MARKERS, MISSING, SEQUENTIAL, Colours
from ._read import Array

#: Fewer points than this are always all shown.
_ENOUGH = 200
#: The share of points at each end that may leave the view, and how much of the range the rest must fill to keep them.
_TAIL, _SQUEEZED = 0.003, 0.85
#: Legend entries in a column.
_LONG = 14


def as_plane(Y: Array) -> Array:
    """The first two columns; one column becomes a strip with a fixed, meaningless jitter."""
    if Y.shape[1] == 1:
        return np.column_stack([Y[:, 0], np.random.default_rng(0).uniform(-1, 1, Y.shape[0])])
    return Y[:, :2]


def draw(ax: Any, Y: Array, colours: Colours, title: str | None, **style: Any) -> list[Any]:
    """Points on given axes, in a shuffled but fixed order so that no class lies on top of all others; a collection for each shape."""
    n = Y.shape[0]
    order = np.random.default_rng(0).permutation(n)
    size = float(np.clip(9000 / n, 1.5, 26))
    given = {"s": size, "alpha": 0.85, "linewidths": 0, "rasterized": n > 2000} | style
    shapes = np.full(n, MARKERS[0], dtype=object) if colours.markers is None else colours.markers
    drawn = []
    for marker in [marker for marker in MARKERS if (shapes == marker).any()]:
        rows = order[shapes[order] == marker]
        drawn.append(ax.scatter(*Y[rows].T, marker=marker, **_paint(colours, rows), **given))
    frame(ax, title)
    if Y.shape[1] == 2:
        _crop(ax, Y)
    if colours.repeated:
        note(ax, f"{colours.repeated} classes: colours and shapes come again")
    return drawn


def _paint(colours: Colours, rows: Any) -> dict[str, Any]:
    if not colours.continuous:
        return {"c": list(colours.values[rows])}
    from matplotlib import colormaps

    return {"c": colours.values[rows], "cmap": colormaps[SEQUENTIAL].with_extremes(bad=MISSING), "plotnonfinite": True}


def _crop(ax: Any, Y: Array) -> None:
    """Leave a few far outliers out of view, and say how many, where they would squeeze all other points together."""
    if Y.shape[0] < _ENOUGH:
        return
    low, high = np.quantile(Y, [_TAIL, 1 - _TAIL], axis=0)
    margin = 0.2 * (high - low)
    low, high = low - margin, high + margin
    full, shown = np.ptp(Y, axis=0), high - low
    cut = (shown > 0) & (shown < _SQUEEZED * full)
    if not cut.any():
        return
    for axis, set_limits in enumerate((ax.set_xlim, ax.set_ylim)):
        if cut[axis]:
            set_limits(low[axis], high[axis])
    outside = int(np.any(((low > Y) | (high < Y)) & cut, axis=1).sum())
    note(ax, f"{outside} outside the view")


# ---------------------------------------------------------------------- what the colours mean
def key(ax: Any, drawn: list[Any], colours: Colours, title: str | None, wanted: bool = True) -> tuple[Any, Any]:
    """The legend or the colour bar of one panel, and None for the other; two times None where there is nothing to tell."""
    if not wanted or not (colours.continuous or len(colours.classes) > 1):
        return None, None
    if colours.continuous:
        return None, colour_bar(ax.figure, drawn[0], ax, title, fraction=0.05)
    place = {"loc": "center left", "bbox_to_anchor": (1.04 if hasattr(ax, "set_zlim") else 1, 0.5), "fontsize": 9}
    return ax.legend(**legend_style(colours, title), **place), None


def shared_key(figure: Any, axes: list[Any], drawn: Any, colours: Colours, title: str | None) -> tuple[Any, Any]:
    """The same of several panels, once, to the right."""
    if colours.continuous:
        return None, colour_bar(figure, drawn, axes, title, fraction=0.03)
    if len(colours.classes) < 2:
        return None, None
    return figure.legend(**legend_style(colours, title), loc="outside center right", fontsize=10), None


def colour_bar(figure: Any, drawn: Any, axes: Any, title: str | None, **place: Any) -> Any:
    """A colour bar without a frame."""
    bar = figure.colorbar(drawn, ax=axes, **{"pad": 0.02, "label": title or ""} | place)
    bar.outline.set_visible(False)
    return bar


def legend_style(colours: Colours, title: str | None) -> dict[str, Any]:
    """What the legends of one panel and of many have in common; long ones get several columns."""
    columns = -(-len(colours.classes) // _LONG)
    packed = {"ncols": columns, "columnspacing": 0.8} if columns > 1 else {}
    return {"handles": legend_handles(colours), "frameon": False, "title": title or None, "handletextpad": 0.2} | packed


def legend_handles(colours: Colours) -> list[Any]:
    """One mark for each class."""
    from matplotlib.lines import Line2D

    return [
        Line2D(
            [],
            [],
            marker=colours.shapes.get(label, MARKERS[0]),
            linestyle="",
            markersize=6,
            color=colour,
            label=label,
            markeredgecolor=ink(),
            markeredgewidth=0,
        )
        for label, colour in colours.classes.items()
    ]


# ---------------------------------------------------------------------- pictures in place of dots
def read_images(images: Any, shape: Any, n: int) -> Any:
    """One picture a point, (n, height, width) or with colours behind, between 0 and 1."""
    found = np.asarray(images, dtype=np.float64)
    if shape is not None:
        shape = tuple(int(side) for side in shape)
        if found.ndim != 2 or found.shape[1] != int(np.prod(shape)):
            raise InputError(
                f"image_shape={shape} asks for rows of {int(np.prod(shape))} pixels; images have shape {found.shape}."
            )
        found = found.reshape(found.shape[0], *shape)
    if found.ndim not in (3, 4) or (found.ndim == 4 and found.shape[3] not in (3, 4)):
        raise InputError(
            f"images must have shape (n, height, width), or (n, height, width, 3) with colours; got {found.shape}. "
            "Give image_shape=(height, width) where each row holds the pixels of one picture."
        )
    if found.shape[0] != n:
        raise InputError(f"There are {found.shape[0]} images for {n} points: one for each is needed.")
    if not np.isfinite(found).all():
        raise InputError(f"images hold {int((~np.isfinite(found)).sum())} missing or infinite pixels.")
    low, high = found.min(), found.max()
    return (found - low) / (high - low if high > low else 1.0)


def draw_images(ax: Any, Y: Array, images: Any, colours: Colours, size: float, drawn: Any) -> list[Any]:
    """Pictures on as many points as there is room for, framed in the colours of the dots that were drawn.

    `size` is their longer side as a share of the panel's width; which points get one follows a fixed shuffled order.
    """
    from matplotlib.offsetbox import AnnotationBbox, OffsetImage

    width, height = size_in_points(ax)
    zoom = size * width / max(images.shape[1:3])
    low, high = np.transpose([ax.get_xlim(), ax.get_ylim()])
    pictures = []
    for i in _apart((Y - low) / (high - low), size * 1.1 * np.array([1.0, width / height])):
        picture = OffsetImage(images[i], zoom=zoom, cmap="gray_r", clim=(0, 1))
        colour = drawn.to_rgba(colours.values[i]) if colours.continuous else colours.values[i]
        edge = {"edgecolor": colour, "linewidth": 1.0}
        pictures.append(ax.add_artist(AnnotationBbox(picture, Y[i], pad=0.05, bboxprops=edge)))
    return pictures


def size_in_points(ax: Any) -> tuple[float, float]:
    """Width and height of a panel in points, as its figure is laid out so far."""
    ax.figure.figure.draw_without_rendering()  # of a part of a figure, `.figure` is the whole
    box = ax.get_window_extent()
    return 72.0 * box.width / ax.figure.dpi, 72.0 * box.height / ax.figure.dpi


def _apart(places: Array, least: Array) -> list[int]:
    """Points within the panel, in a fixed shuffled order, of which no two are nearer than `least` in both directions."""
    kept: list[int] = []
    for i in np.random.default_rng(0).permutation(np.flatnonzero(((places >= 0) & (places <= 1)).all(axis=1))):
        if not kept or (np.abs(places[kept] - places[i]) / least).max(axis=1).min() >= 1:
            kept.append(int(i))
    return kept
