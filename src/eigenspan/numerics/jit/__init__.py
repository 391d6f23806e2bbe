"""Hot loops compiled by numba: imported on first use only, cached on disk, the same on one thread or two.

Each function has a plain numpy twin in the tests. The first call on a machine compiles for a second or a few; every other combination
of types would be compiled anew, so callers give a loop one only. The loops are compiled
as plain serial code that lets go of the interpreter; `in_pieces` runs it over pieces of the work on a few Python threads. So
numba's own thread pool, which survives neither a fork nor, on some systems, a second caller, is never started.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..threads import in_threads, workers


def in_pieces(kernel: Callable[..., None], n: int, step: int, *arguments: Any) -> None:
    """Call ``kernel(start, stop, *arguments)`` over consecutive pieces of ``range(n)``, on the threads allowed.

    Compiled code cannot be interrupted: Ctrl-C waits for the pieces that run, so they should be well below a second. A kernel
    writes to its own piece only, and the cut does not depend on the threads: neither does the result.
    """
    starts = range(0, n, step)
    in_threads(lambda start: kernel(start, min(start + step, n), *arguments), starts, min(workers(), len(starts)))


def row_lists(A: Any) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """`indptr` and `indices` of a CSR matrix in the types that loops are compiled for, whatever scipy has chosen."""
    return A.indptr.astype(np.int64, copy=False), A.indices.astype(np.int32, copy=False)
