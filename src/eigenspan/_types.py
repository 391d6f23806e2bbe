"""Types for annotations: arrays, and what users may pass for a table or a vector."""

from __future__ import annotations

from typing import Protocol, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

Array: TypeAlias = NDArray[np.float64]
#: Row numbers, class codes and other integers that index arrays.
Index: TypeAlias = NDArray[np.intp]
Mask: TypeAlias = NDArray[np.bool_]
Sparse: TypeAlias = sp.csr_array
#: Dense or sparse.
Matrix: TypeAlias = Array | Sparse


class HasShape(Protocol):
    """A data frame, a sparse matrix or a Dask collection."""

    @property
    def shape(self) -> tuple: ...


#: What users may pass for a table: an array or a list of lists, a data frame, a sparse matrix, or a Dask collection.
TableLike: TypeAlias = ArrayLike | HasShape
#: What users may pass for a vector, such as labels: an array, a list, or a column of a data frame.
VectorLike: TypeAlias = ArrayLike | HasShape
