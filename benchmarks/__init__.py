"""Time, memory and quality of eigenspan beside other libraries; ``python -m benchmarks --help``."""

from __future__ import annotations

from collections.abc import MutableMapping
from pathlib import Path

ROOT = Path(__file__).parent.parent
OURS = "eigenspan"
THREADS = 2
#: Runs of every contender unless told otherwise.
REPEATS = 3


def limit_threads(environ: MutableMapping[str, str]) -> None:
    """Give every contender the same number of threads; BLAS and numba read this when they are loaded."""
    for library in ("OMP", "OPENBLAS", "MKL", "NUMBA"):
        environ[f"{library}_NUM_THREADS"] = str(THREADS)
