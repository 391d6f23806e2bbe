"""Arrays on their way between processes: one folder for a dictionary, one file for an array."""

from __future__ import annotations

import os
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


def evict(folder: Path) -> None:
    """Ask the system to drop the files of a folder from its cache, so that the next reader meets the disk; where it can."""
    for path in folder.glob("*.npy"):
        with path.open("rb") as file:
            os.fsync(file.fileno())
            if hasattr(os, "posix_fadvise"):
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
