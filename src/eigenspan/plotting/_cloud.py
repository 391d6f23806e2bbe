"""Draw points: colours, shapes, legend, outliers, one-dimensional embeddings, and images in place of points."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import InputError
from ._canvas import frame, ink, note
from ._colours import MARKERS, MISSING, SEQUENTIAL, Colours
from ._read import Array

#: With fewer points than this, outliers are never cropped.
_MIN_CROPPED = 200
#: Share of the points at each end that may be cropped, and the share of the range below which the cropped view is used.
_TAIL, _MAX_CROPPED_RANGE = 0.003, 0.85
#: Maximum number of legend entries in a column.
_MAX_COLUMN_ENTRIES = 14


def as_plane(Y: Array) -> Array:
    """Return the first two columns; a single column gets a second one of fixed random values."""
    if Y.shape[1] == 1:
        return np.column_stack([Y[:, 0], np.random.default_rng(0).uniform(-1, 1, Y.shape[0])])
    return Y[:, :2]


def draw(ax: Any, Y: Array, colours: Colours, title: str | None, **style: Any) -> list[Any]:
    """Draw points in a fixed random order, so that no class covers all others; return one collection per shape."""
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
        note(ax, f"{colours.repeated} classes: colours and shapes are reused")
    return drawn


def _paint(colours: Colours, rows: Any) -> dict[str, Any]:
    if not colours.continuous:
        return {"c": list(colours.values[rows])}
    from matplotlib import colormaps

    return {"c": colours.values[rows], "cmap": colormaps[SEQUENTIAL].with_extremes(bad=MISSING), "plotnonfinite": True}


def _crop(ax: Any, Y: Array) -> None:
    """Crop far outliers, and write their number, if they would compress all other points into a small part of the panel."""
    if Y.shape[0] < _MIN_CROPPED:
        return
    low, high = np.quantile(Y, [_TAIL, 1 - _TAIL], axis=0)
    margin = 0.2 * (high - low)
    low, high = low - margin, high + margin
    full, shown = np.ptp(Y, axis=0), high - low
    cut = (shown > 0) & (shown < _MAX_CROPPED_RANGE * full)
    if not cut.any():
        return
    for axis, set_limits in enumerate((ax.set_xlim, ax.set_ylim)):
        if cut[axis]:
            set_limits(low[axis], high[axis])
    outside = int(np.any(((low > Y) | (high < Y)) & cut, axis=1).sum())
    note(ax, f"outliers not shown: {outside}")


# ---------------------------------------------------------------------- what the colours mean
def key(ax: Any, drawn: list[Any], colours: Colours, title: str | None, wanted: bool = True) -> tuple[Any, Any]:
    """Draw the legend or the colour bar of one panel, and return both, None if not drawn."""
    if not wanted or not (colours.continuous or len(colours.classes) > 1):
        return None, None
    if colours.continuous:
        return None, colour_bar(ax.figure, drawn[0], ax, title, fraction=0.05)
    place = {"loc": "center left", "bbox_to_anchor": (1.04 if hasattr(ax, "set_zlim") else 1, 0.5), "fontsize": 9}
    return ax.legend(**legend_style(colours, title), **place), None


def shared_key(figure: Any, axes: list[Any], drawn: Any, colours: Colours, title: str | None) -> tuple[Any, Any]:
    """Draw one legend or colour bar for several panels, to the right of them, and return both, None if not drawn."""
    if colours.continuous:
        return None, colour_bar(figure, drawn, axes, title, fraction=0.03)
    if len(colours.classes) < 2:
        return None, None
    return figure.legend(**legend_style(colours, title), loc="outside center right", fontsize=10), None


def colour_bar(figure: Any, drawn: Any, axes: Any, title: str | None, **place: Any) -> Any:
    """Draw a colour bar without a frame."""
    bar = figure.colorbar(drawn, ax=axes, **{"pad": 0.02, "label": title or ""} | place)
    bar.outline.set_visible(False)
    return bar


def legend_style(colours: Colours, title: str | None) -> dict[str, Any]:
    """Return the legend options shared by displays of one panel and of many; long legends get several columns."""
    columns = -(-len(colours.classes) // _MAX_COLUMN_ENTRIES)
    packed = {"ncols": columns, "columnspacing": 0.8} if columns > 1 else {}
    return {"handles": legend_handles(colours), "frameon": False, "title": title or None, "handletextpad": 0.2} | packed


def legend_handles(colours: Colours) -> list[Any]:
    """Return one legend handle for each class."""
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
    """Return the images as (n, height, width) or (n, height, width, channels), scaled to values between 0 and 1."""
    found = np.asarray(images, dtype=np.float64)
    if shape is not None:
        shape = tuple(int(side) for side in shape)
        if found.ndim != 2 or found.shape[1] != int(np.prod(shape)):
            raise InputError(
                f"image_shape={shape} needs rows of {int(np.prod(shape))} pixels, but images have shape {found.shape}."
            )
        found = found.reshape(found.shape[0], *shape)
    if found.ndim not in (3, 4) or (found.ndim == 4 and found.shape[3] not in (3, 4)):
        raise InputError(
            f"images must have shape (n, height, width), or (n, height, width, 3) with colours, but have shape {found.shape}. "
            "Pass image_shape=(height, width) if each row holds the pixels of one image."
        )
    if found.shape[0] != n:
        raise InputError(f"There are {found.shape[0]} images for {n} points: pass one image per point.")
    if not np.isfinite(found).all():
        raise InputError(f"images hold {int((~np.isfinite(found)).sum())} missing or infinite pixels.")
    low, high = found.min(), found.max()
    return (found - low) / (high - low if high > low else 1.0)


def draw_images(ax: Any, Y: Array, images: Any, colours: Colours, size: float, drawn: Any) -> list[Any]:
    """Draw images on as many points as fit, framed in the colours of the points.

    `size` is the longer side of an image as a share of the panel width. Points are tried in a fixed random order.
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
    """Return width and height of a panel in points, after the current layout of its figure."""
    ax.figure.figure.draw_without_rendering()  # `ax.figure` may be a SubFigure; its `.figure` is the whole
    box = ax.get_window_extent()
    return 72.0 * box.width / ax.figure.dpi, 72.0 * box.height / ax.figure.dpi


def _apart(places: Array, least: Array) -> list[int]:
    """Return points within the panel, in a fixed random order, so that any two differ by at least `least` in one direction."""
    kept: list[int] = []
    for i in np.random.default_rng(0).permutation(np.flatnonzero(((places >= 0) & (places <= 1)).all(axis=1))):
        if not kept or (np.abs(places[kept] - places[i]) / least).max(axis=1).min() >= 1:
            kept.append(int(i))
    return kept
