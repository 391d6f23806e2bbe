"""Embed matplotlib figures in the page."""

from __future__ import annotations

import base64
import io
from typing import Any

from ..errors import InputError

#: Maximum bytes of SVG; larger figures are embedded as PNG.
MOST_SVG = 150_000


def data_uri(figure: Any) -> str:
    """Return the figure as SVG, or as PNG if that is too large. Browsers run no scripts in images and load nothing for them."""
    if not hasattr(figure, "savefig"):
        raise InputError(f"figure must be a matplotlib Figure; got {type(figure).__name__}.")
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
