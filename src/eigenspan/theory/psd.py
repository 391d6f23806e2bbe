"""The nearest positive semidefinite matrix."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .._checks import real_numbers
from ..errors import InputError
from ..numerics.eigen import dense
from ..numerics.memory import refuse_lazy, require

Array = NDArray[np.float64]


def nearest_psd(A: Any, *, return_distance: bool = False) -> Any:
    """Return the positive semidefinite matrix nearest to a square matrix.

    .. math:: \\min_{P \\succeq 0} \\lVert A - P \\rVert_F, \\qquad P = U \\max(\\Lambda, 0)\\, U^T, \\quad
       U \\Lambda U^T = \\tfrac12 (A + A^T)

    It is the symmetric part of A with negative eigenvalues set to zero [S3, theorem A.1]. Use it for a similarity that is not a kernel (a
    sigmoid, an alignment score, human ratings) before passing it to a method with ``kernel="precomputed"``. The distance measures the
    part of A that no Gram matrix can represent; it contains the whole antisymmetric part, which is orthogonal to all symmetric matrices.

    Cost: O(n³) time and three n×n arrays.

    Parameters
    ----------
    A : array-like or sparse matrix of shape (n, n)
        Any real square matrix, symmetric or not.
    return_distance : bool, default=False
        Also return ``‖A − P‖_F``.

    Returns
    -------
    P : ndarray of shape (n, n)
        Symmetric and positive semidefinite up to rounding, in the precision of A. It is always a new array.
    distance : float
        Only with ``return_distance=True``.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenspan import nearest_psd
    >>> P, distance = nearest_psd([[1.0, 2.0], [2.0, 1.0]], return_distance=True)
    >>> P.round(6)
    array([[1.5, 1.5],
           [1.5, 1.5]])
    >>> round(distance, 6)
    1.0

    References
    ----------
    [S3] appendix; Higham (1988), Computing a nearest symmetric positive semidefinite matrix.
    """
    refuse_lazy(A, "A")
    values = A.toarray() if sp.issparse(A) else A
    single = getattr(values, "dtype", None) == np.float32
    M = real_numbers(values, "The entries of A", InputError)
    _check_square(M)
    n = M.shape[0]
    require(32.0 * n**2, f"The eigenvectors of the {n}×{n} matrix", "Use a smaller matrix, or landmarks.")
    size = float(np.abs(M).max(initial=0.0)) or 1.0  # squares of the scaled entries neither overflow nor underflow
    M = M / size
    S = dense.symmetric(M)
    values, U = dense.eigenpairs(S, None, "max")
    negative = values < 0
    lost = float(np.linalg.norm(values[negative]))
    # a PSD matrix is returned unchanged, without the rounding errors of a reconstruction
    P = (
        S
        if lost <= n * np.finfo(float).eps * max(float(values[0]), 0.0)
        else _rebuilt(values[~negative], U[:, ~negative])
    )
    P = (P * size).astype(np.float32 if single else np.float64, copy=False)
    if not return_distance:
        return P
    return P, size * float(np.hypot(lost, np.linalg.norm(M - S)))


def _rebuilt(values: Array, U: Array) -> Array:
    """Return ``U diag(values) U'`` as ``F F'``, which is exactly symmetric."""
    F = U * np.sqrt(values)
    return dense.symmetric(F @ F.T)


def _check_square(A: Array) -> None:
    if A.ndim != 2 or A.shape[0] != A.shape[1]:
        raise InputError(f"A must be a square matrix; got shape {A.shape}.")
    if not A.size:
        raise InputError("A has no entries.")
    bad = int(A.size - np.count_nonzero(np.isfinite(A)))
    if bad:
        raise InputError(f"A holds {bad} values that are NaN or infinite. Fill them in, or leave those rows out.")
