"""Linear systems with sparse positive definite matrices: by the factorisation that shift-invert uses, or from products only."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..._diagnostics import note
from ..._types import Array
from ...errors import ConvergenceError
from ..factor.fill import predict_fill
from ..memory import require
from ..operators import SymmetricMatrix
from .iterative import factorised, updated_inverse

#: Smallest eigenvalue, relative to the size of the matrix, at which the solution has correct digits.
_SINGULAR = 1e-14
#: Largest accepted residual, relative to the diagonal.
_RESIDUAL = 1e-9
#: Up to this order a factor is small even if it is dense.
_SMALL = 5000


def solve_positive(M: SymmetricMatrix, right: Array, size: float) -> Array:
    """Return ``M⁻¹ right`` for a sparse (+ low rank) positive definite M.

    Raises `numpy.linalg.LinAlgError` if the smallest eigenvalue is only rounding relative to `size`, and MemoryLimitError, before
    factorising, if the factor would not fit into memory.
    """
    A: Any = M.assembled()
    if A.n > _SMALL:
        require(
            predict_fill(A.sparse).bytes,
            f"The factor of a linear system of {A.n} points",
            "Use fewer neighbours, or project the data to fewer dimensions first.",
        )
    try:
        inverse = updated_inverse(factorised(A.sparse, 0.0).solve, *(A.low_rank or (None, None)))
        smallest = _smallest(inverse, A.n)
    except RuntimeError:  # a zero pivot
        smallest = 0.0
    if not smallest > _SINGULAR * size:
        raise np.linalg.LinAlgError(f"smallest eigenvalue {smallest:.1e}, largest about {size:.1e}")
    Y = inverse(right)
    # relative to each row's diagonal, so that rows with a large diagonal do not hide residuals of the others
    left = np.linalg.norm((right - A @ Y) / A.diagonal()[:, None])
    residual = float(left / max(np.linalg.norm(Y), np.finfo(float).tiny))
    note(residual=residual)
    if not residual <= _RESIDUAL:
        raise ConvergenceError(
            f"The linear system of {A.n} points was solved to a relative residual of {residual:.1e} only (wanted {_RESIDUAL:.0e}): "
            "its entries differ too much in size. Use other neighbours or weights."
        )
    return Y


def solve_by_products(apply: Callable[[Array], Array], diagonal: Array, right: Array) -> Array:
    """Return ``A⁻¹ right`` for a well-conditioned positive definite A, given by its products and its diagonal.

    Conjugate gradients with diagonal preconditioning, for all columns at once: each step needs one product.
    """
    X, R = np.zeros_like(right), right.copy()
    goal = 1e-12 * np.linalg.norm(right, axis=0)
    steps, before, P = 10 * len(right), np.ones(right.shape[1]), np.zeros_like(right)
    for _ in range(steps):
        open_ = np.linalg.norm(R, axis=0) > goal
        if not open_.any():
            return X
        S = R / diagonal[:, None]
        size = np.einsum("ij,ij->j", R, S)
        P = S + P * (size / before)
        AP = apply(P)
        length = np.where(open_, size / np.where(open_, np.einsum("ij,ij->j", P, AP), 1.0), 0.0)
        X, R, before = X + P * length, R - AP * length, np.where(size > 0, size, 1.0)
    raise ConvergenceError(
        f"A linear system of {len(right)} points did not converge in {steps} steps of conjugate gradients: it is too nearly singular. "
        "For propagated labels increase novelty=, or trust= if it is small."
    )


def _smallest(inverse: Callable[[Array], Array], n: int) -> float:
    """Return an upper estimate of the smallest eigenvalue of a positive matrix, by inverse iteration."""
    x = np.random.default_rng(0).standard_normal(n)
    growth = np.inf
    for _ in range(3):
        x = inverse(x / np.linalg.norm(x))
        growth = float(np.linalg.norm(x))
    return 1.0 / growth if np.isfinite(growth) and growth > 0 else 0.0
