"""Inner loops compiled by numba: imported on first use, cached on disk, with results that do not depend on the number of threads.

Each function has a numpy counterpart in the tests. The first call on a machine compiles for one to a few seconds. Each further
combination of argument types would be compiled again, so callers use one combination only. The loops are compiled as serial code
that releases the GIL, and `in_pieces` runs them over slices of the work on Python threads. So numba's own thread pool is never
started: it does not survive a fork, nor on some systems a second calling thread.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVarTuple, Unpack

import numpy as np
from numpy.typing import NDArray

from ..._types import Sparse
from ..threads import in_threads, workers

Arguments = TypeVarTuple("Arguments")


def in_pieces(kernel: Callable[[int, int, Unpack[Arguments]], None], n: int, step: int, *arguments: *Arguments) -> None:
    """Call ``kernel(start, stop, *arguments)`` on consecutive slices of ``range(n)``, on the threads allowed.

    Compiled code cannot be interrupted: Ctrl-C waits for the running slices, so each should take well below a second. A kernel
    writes only to its own slice, and the slices do not depend on the number of threads, so neither does the result.
    """
    starts = range(0, n, step)
    in_threads(lambda start: kernel(start, min(start + step, n), *arguments), starts, min(workers(), len(starts)))


def csr_index_arrays(A: Sparse) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return `indptr` and `indices` of a CSR matrix in the types that the loops are compiled for."""
    return A.indptr.astype(np.int64, copy=False), A.indices.astype(np.int32, copy=False)
