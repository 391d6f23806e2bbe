"""Types of arrays for annotations."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.float64]
#: Row numbers, class codes and other integers that index arrays.
Index: TypeAlias = NDArray[np.intp]
Mask: TypeAlias = NDArray[np.bool_]
Sparse: TypeAlias = sp.csr_array
#: Dense or sparse.
Matrix: TypeAlias = Array | Sparse
