"""Types for annotations: arrays, and what users may pass for a table or a vector."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeAlias, TypeGuard

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

Array: TypeAlias = NDArray[np.float64]
#: Single precision, for bounds that need few digits.
Single: TypeAlias = NDArray[np.float32]
#: Numbers in single or double precision.
Floats: TypeAlias = NDArray[np.floating]
#: Row numbers, class codes and other integers that index arrays.
Index: TypeAlias = NDArray[np.intp]
#: Integers of any width, such as the index arrays of sparse matrices.
Integers: TypeAlias = NDArray[np.integer]
Mask: TypeAlias = NDArray[np.bool_]
#: Labels of any type: text, integers, dates, or objects.
Labels: TypeAlias = NDArray[np.generic]
Sparse: TypeAlias = sp.csr_array
#: Dense or sparse.
Matrix: TypeAlias = Array | Sparse
#: Seed of random choices.
RandomState: TypeAlias = int | np.random.RandomState | None


class MetricWithParameters(Protocol):
    """A metric by name, with parameters."""

    @property
    def name(self) -> Any: ...
    @property
    def parameters(self) -> dict[str, Any]: ...


#: A metric of scikit-learn by name, with parameters, or as a function of two rows.
MetricLike: TypeAlias = str | MetricWithParameters | Callable[[Array, Array], float]


class HasShape(Protocol):
    """A data frame, a sparse matrix or a Dask collection."""

    @property
    def shape(self) -> tuple: ...


#: What users may pass for a table: an array or a list of lists, a data frame, a sparse matrix, or a Dask collection.
TableLike: TypeAlias = ArrayLike | HasShape
#: What users may pass for a vector, such as labels: an array, a list, or a column of a data frame.
VectorLike: TypeAlias = ArrayLike | HasShape
#: What users may pass for y: a vector, a table, several tables, or nothing.
TargetLike: TypeAlias = ArrayLike | HasShape | Sequence[TableLike] | None


def is_sparse(X: object) -> TypeGuard[Sparse]:
    """Return True for scipy's sparse matrices and arrays; type checkers then know it too."""
    return bool(sp.issparse(X))
