"""What comes out: the table, the picture and a line about the fit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .console import Refusal, out, working


def frame_of(name: str, ids: Any, Y: Any, label: Any, clusters: Any = None) -> Any:
    """Identifier, one column for each axis, clusters where there are some, and the label."""
    import pandas as pd

    parts = {str(ids.name): ids.to_numpy()}
    parts |= {f"{name.lower()}{i + 1}": Y[:, i] for i in range(Y.shape[1])}
    if clusters is not None:
        parts["cluster"] = clusters
    if label is not None:
        parts[str(label.name)] = label.to_numpy()
    return pd.DataFrame(parts)


def announce(name: str, estimator: Any, scale: str) -> None:
    """One line: shape, time, solver."""
    n, d = estimator.embedding_.shape
    facts = estimator.diagnostics_
    scaled = "columns scaled to unit variance" if scale == "standard" else "columns not scaled"
    solver = facts.get("solver", "—")
    out().print(f"{name}: {n} × {d} in {facts['seconds']['total']:.2f} s, solver {solver}, {scaled}.", soft_wrap=True)


def check_plot(path: Path | None) -> None:
    """Refuse an impossible picture before the work, not after it."""
    if path is None:
        return
    try:
        from matplotlib.backend_bases import FigureCanvasBase
    except ImportError as failure:
        raise Refusal('--plot needs matplotlib: pip install "eigenspan[plot]"') from failure
    known = FigureCanvasBase.get_supported_filetypes()
    if path.suffix.lstrip(".").lower() not in known:
        raise Refusal(f"{path.name!r} is no kind of picture that can be written; use one of .png, .pdf or .svg.")


def draw(name: str, Y: Any, label: Any, path: Path) -> None:
    """The picture of an embedding."""
    import numpy as np
    import pandas as pd

    from ..plotting import scatter

    labels = None
    if label is not None:
        numeric = pd.api.types.is_numeric_dtype(label) and not pd.api.types.is_bool_dtype(label)
        labels = (
            label.to_numpy() if numeric else np.array([None if pd.isna(v) else str(v) for v in label], dtype=object)
        )
    with working("Drawing"):
        try:
            scatter(Y, labels, title=name).figure.savefig(path, dpi=150)
        except OSError as failure:
            raise Refusal(f"{str(path)!r} cannot be written: {failure}") from failure
