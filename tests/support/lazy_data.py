"""Test data as Dask collections and in memory."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

import numpy as np


def table(n: int = 4000, D: int = 8, seed: int = 0) -> tuple[Any, Any, Any]:
    """Return rows far from the origin, four classes, and a response that depends on the rows."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 4, n)
    X = rng.standard_normal((n, D)) @ rng.standard_normal((D, D)) + 50 + codes[:, None] * rng.standard_normal(D)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    return X, codes, np.exp(0.5 * Z[:, 0]) + Z[:, 1] ** 2 + 0.1 * rng.standard_normal(n)


def block(number: int, rows: int = 1000, D: int = 8) -> Any:
    """Return the rows of one block slowly, so that faults can occur meanwhile."""
    time.sleep(0.05)
    return np.random.default_rng(number).standard_normal((rows, D)) * np.arange(1, D + 1)


def telling_block(number: int, flag: str) -> Any:
    """Return the rows of one block; block 3 also creates a file."""
    if number == 3:
        Path(flag).touch()
    return block(number)


def fatal_block(number: int, flag: str, memory: int = 0) -> Any:
    """Return the rows of one block; if the file exists, block 5 removes it and ends the worker by a signal or by using its memory."""
    if number == 5 and Path(flag).exists():
        Path(flag).unlink()
        if not memory:
            os.kill(os.getpid(), signal.SIGKILL)
        taken = [np.ones(2**22) for _ in range(memory // 2**25)]
        time.sleep(60 * bool(taken))
    return block(number)


def lazily(make: Any, count: int, *arguments: Any, rows: int = 1000, D: int = 8) -> Any:
    """Return a Dask array whose blocks are computed by a function."""
    import dask
    import dask.array as da

    made = [dask.delayed(make, pure=True)(i, *arguments) for i in range(count)]
    return da.concatenate([da.from_delayed(x, (rows, D), float) for x in made])
