"""Figures of matplotlib as images within the page."""

from __future__ import annotations

import base64
import io
from typing import Any

from ..errors import InputError

#: Bytes of SVG beyond which a figure is kept as pixels.
MOST_SVG = 150_000


def data_uri(figure: Any) -> str:
    """The figure as SVG, or as PNG if that is too large. A browser runs no script of an image and loads nothing for it."""
    if not hasattr(figure, "savefig"):
        raise InputError(f"A picture must be a figure of matplotlib; got {type(figure).__name__}.")
    drawn = _saved(figure, "svg", metadata={"Date": None})
    if len(drawn) <= MOST_SVG:
        return "data:image/svg+xml;base64," + base64.b64encode(drawn).decode("ascii")
    return "data:image/png;base64," + base64.b64encode(_saved(figure, "png", dpi=130)).decode("ascii")


def _saved(figure: Any, kind: str, **settings: Any) -> bytes:
    from matplotlib import rc_context

    stream = io.BytesIO()
    with rc_context({"svg.hashsalt": "eigenspan", "svg.fonttype": "path"}):
        figure.savefig(stream, format=kind, **settings)
    return stream.getvalue()
