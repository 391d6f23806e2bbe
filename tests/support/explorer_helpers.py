"""Reports for browser tests, and functions to operate them."""

from __future__ import annotations

import io
import math
from typing import Any

import numpy as np
import pandas as pd

from eigenspan.report import Report


def small_report(n: int = 300, panels: int = 3, seed: int = 0, **more: Any) -> Report:
    """Return a report of three classes in the plane, rotated and scaled in each panel, with a column of each kind."""
    rng = np.random.default_rng(seed)
    kind = rng.integers(0, 3, n)
    place = np.array([[0.0, 0.0], [6.0, 0.0], [0.0, 6.0]])[kind] + rng.standard_normal((n, 2))
    turns = [np.array([[math.cos(a), -math.sin(a)], [math.sin(a), math.cos(a)]]) * (a + 1) for a in range(panels)]
    table = pd.DataFrame(
        {
            "kind": np.array(["oak", "elm", "ash"])[kind],
            "height": np.where(rng.random(n) < 0.1, np.nan, place[:, 0] * 1.1),
            "count": rng.integers(-1000, 1000, n),
            "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 500, n), unit="D"),
            "name": [f'tree "{i}", row {i}\nsecond line' for i in range(n)],
        }
    )
    embeddings = {f"view {k + 1}": place @ turn for k, turn in enumerate(turns)}
    return Report("Trees", embeddings, more.pop("table", table), colour=more.pop("colour", "kind"), **more)


def around(page: Any, panel: int, rows: list[int], margin: float = 9) -> list[tuple[float, float]]:
    """Return the corners of a lasso around rows of a panel: their bounding box in pixels, with a margin."""
    box = page.box(".plot", panel)
    places = np.array(page.run(f"{rows}.map((row) => explorer.panels[{panel}].pixel(row))"))
    low, high = places.min(axis=0) - margin, places.max(axis=0) + margin
    corners = [(low[0], low[1]), (high[0], low[1]), (high[0], high[1]), (low[0], high[1]), (low[0], low[1] + 1)]
    return [(box["x"] + x, box["y"] + y) for x, y in corners]


def chosen(page: Any) -> list[int]:
    """Return the selected rows."""
    return list(page.run("[...explorer.selection.rows.keys()].filter((row) => explorer.selection.rows[row])"))


def pixels(page: Any, panel: int) -> np.ndarray:
    """Return the pixels of a panel: height, width, and three colours from 0 to 255."""
    from PIL import Image

    picture = Image.open(io.BytesIO(page.picture(page.box(".plot", panel))))
    return np.asarray(picture.convert("RGB")).astype(int)[8:-8, 8:-8]  # without the frame of an active panel


def near_colour(seen: np.ndarray, colour: str, tolerance: int = 40) -> int:
    """Return the number of pixels of about this colour."""
    wanted = np.array([int(colour[at : at + 2], 16) for at in (1, 3, 5)])
    return int((np.abs(seen - wanted).max(axis=-1) <= tolerance).sum())
