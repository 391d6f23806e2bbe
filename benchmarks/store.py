"""Arrays on their way between processes: one folder for a dictionary, one file for an array."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp


def save(folder: Path, arrays: dict[str, Any]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, value in arrays.items():
        if sp.issparse(value):
            sp.save_npz(folder / f"{name}.npz", value, compressed=False)
        else:
            np.save(folder / f"{name}.npy", value)


def load(folder: Path, mapped: bool = False) -> dict[str, Any]:
    """What `save` wrote; `mapped` leaves dense arrays on disk until they are read."""
    dense = {path.stem: np.load(path, mmap_mode="r" if mapped else None) for path in folder.glob("*.npy")}
    return dense | {path.stem: sp.load_npz(path) for path in folder.glob("*.npz")}
