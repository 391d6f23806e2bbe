"""LOBPCG with an algebraic multigrid preconditioner: the library's only call of pyamg."""

from __future__ import annotations

import warnings

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import lobpcg

from ..._types import Array
from ...errors import InputError
from ..operators import SymmetricMatrix

#: Number of vectors in the block beyond those wanted.
_GUARD = 4


def smallest_by_multigrid(
    A: SymmetricMatrix, k: int, rng: np.random.Generator, *, exclude: Array | None, tol: float, iterations: int
) -> tuple[Array, Array]:
    """Return the `k` smallest eigenpairs of an assembled sparse PSD matrix."""
    try:
        from pyamg import smoothed_aggregation_solver
    except ImportError:
        raise InputError(
            'solver="amg" needs pyamg, which is not installed: pip install "eigenspan[amg]", or use solver="auto".'
        ) from None
    norm = A.norm()
    shifted = sp.csr_matrix(A.sparse + 1e-10 * norm * sp.eye_array(A.n))
    # the vectors that the coarse levels must represent
    smooth = np.ones((A.n, 1)) if exclude is None else exclude[:, :1]
    state = np.random.get_state()  # noqa: NPY002, pyamg estimates spectral radii from the global generator
    np.random.seed(int(rng.integers(2**31)))  # noqa: NPY002
    try:
        preconditioner = smoothed_aggregation_solver(shifted, B=smooth).aspreconditioner()
    finally:
        np.random.set_state(state)  # noqa: NPY002
    start = rng.standard_normal((A.n, k + _GUARD))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the caller checks the residuals itself
        values, vectors = lobpcg(
            A.__matmul__, start, M=preconditioner, Y=exclude, tol=tol * norm, maxiter=iterations, largest=False
        )
    return values[:k], vectors[:, :k]
