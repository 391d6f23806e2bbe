"""What every measure asks of its input."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._resources import refuse_lazy
from ..errors import InputError


def as_points(A: Any, name: str) -> Any:
    """A finite matrix of rows in double precision, dense or CSR."""
    refuse_lazy(A, name)
    if sp.issparse(A):
        A = sp.csr_array(A, dtype=np.float64)
        values = A.data
    else:
        try:
            A = np.asarray(A, dtype=np.float64)
        except (TypeError, ValueError) as failure:
            raise InputError(f"{name} must be a matrix of numbers: {failure}.") from None
        values = A
    if A.ndim != 2:
        raise InputError(f"{name} must have two dimensions, one row for each point; got shape {A.shape}.")
    bad = int(values.size - np.count_nonzero(np.isfinite(values)))
    if bad:
        raise InputError(f"{name} holds {bad} missing or infinite values: distances to those rows are undefined.")
    return A


def check_neighbours(n_neighbors: Any, limit: int, why: str) -> int:
    """A whole number between 1 and `limit`."""
    if not isinstance(n_neighbors, Integral) or isinstance(n_neighbors, bool):
        raise InputError(f"n_neighbors must be a whole number; got {n_neighbors!r}.")
    if not 1 <= int(n_neighbors) <= limit:
        raise InputError(f"n_neighbors={n_neighbors} must lie between 1 and {limit}, {why}.")
    return int(n_neighbors)


def check_count(value: Any, name: str, limit: int | None, why: str = "") -> int:
    """A whole number of at least one, and at most `limit` where there is one."""
    if not isinstance(value, Integral) or isinstance(value, bool) or int(value) < 1:
        raise InputError(f"{name} must be a whole number of at least 1; got {value!r:.80}.")
    if limit is not None and int(value) > limit:
        raise InputError(f"{name}={value} must be at most {limit}, {why}.")
    return int(value)
