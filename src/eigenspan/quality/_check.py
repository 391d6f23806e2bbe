"""Validation of the input of measures."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from .._checks import kinds_of, refuse_complex
from ..errors import InputError
from ..numerics.memory import refuse_lazy

#: Up to this many points, measures with a standard error use every row; beyond, a sample with the same total work.
EXACT = 20_000
#: Smallest sample of rows, for a reliable standard error.
_FEWEST = 200


def as_points(A: Any, name: str) -> Any:
    """Return A as a finite matrix in double precision, dense or CSR."""
    refuse_lazy(A, name)
    if np.ma.is_masked(A):
        raise InputError(
            f"{name} is a masked array, with {int(np.ma.count_masked(A))} of {A.size} values masked, and masked values would be treated as "
            "data: fill the values in first, or leave those rows out."
        )
    refuse_complex(kinds_of(A), name, InputError)
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
        raise InputError(f"{name} must have two dimensions, with one row per point; got shape {A.shape}.")
    bad = int(values.size - np.count_nonzero(np.isfinite(values)))
    if bad:
        raise InputError(f"{name} holds {bad} missing or infinite values: distances to those rows are undefined.")
    return A


def check_neighbours(n_neighbors: Any, limit: int, why: str, name: str = "n_neighbors") -> int:
    """Return `n_neighbors` as int; raise InputError unless it is a whole number between 1 and `limit`, for the reason `why`."""
    if not isinstance(n_neighbors, Integral) or isinstance(n_neighbors, bool):
        raise InputError(f"{name} must be a whole number; got {n_neighbors!r}.")
    if not 1 <= int(n_neighbors) <= limit:
        raise InputError(f"{name}={n_neighbors} must lie between 1 and {limit}, {why}.")
    return int(n_neighbors)


def compared(X: Any, Y: Any, n_least: int = 3) -> tuple[Any, Any]:
    """Return X and Y validated: the same number of rows, at least `n_least`."""
    X, Y = as_points(X, "X"), as_points(Y, "Y")
    n = X.shape[0]
    if Y.shape[0] != n:
        raise InputError(f"X has {n} rows and Y has {Y.shape[0]}: both must have the same rows.")
    if n < n_least:
        raise InputError(f"X has {n} rows; at least {n_least} are needed to compare distances.")
    return X, Y.toarray() if sp.issparse(Y) else Y


def chosen_rows(n: int, sample: Any, random_state: Any) -> NDArray[np.intp]:
    """Return `sample` of n row numbers, drawn without replacement, ascending; all if `sample` is None."""
    if sample is None:
        return np.arange(n)
    if not isinstance(sample, Integral) or isinstance(sample, bool) or not 2 <= int(sample) <= n:
        raise InputError(f"sample={sample!r} must be a whole number of rows between 2 and {n}, or None.")
    return np.sort(check_random_state(random_state).permutation(n)[: int(sample)])


def affordable(n: int, sample: Any) -> Any:
    """Return `sample`; if it is None and n exceeds `EXACT`, the number of rows that costs as much as `EXACT` points."""
    return max(_FEWEST, EXACT**2 // n) if sample is None and n > EXACT else sample


def standard_error(values: NDArray[np.float64], n: int) -> Any:
    """Return the standard error of the mean of values (m, ...) drawn without replacement from n; 0 if all were drawn."""
    m = values.shape[0]
    return np.zeros(values.shape[1:]) if m == n else values.std(axis=0, ddof=1) * np.sqrt((1 - m / n) / m)
