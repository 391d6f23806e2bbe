"""Tests of canonical correlations, by the distribution of Wilks' lambda and by permutations."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from scipy import stats
from sklearn.utils import check_random_state

from ..._types import Array, RandomState
from ...errors import InputError
from ...numerics.eigen import dense
from ...problem.white_views import Views


def wilks_table(correlations: Array, n: int, p: int, q: int) -> Any:
    """Return `wilks` as a data frame; raise for too few rows."""
    import pandas as pd

    if n - 1 < p + q:
        raise InputError(
            f"The tests need more rows than both views have dimensions: there are {n} rows for {p} and {q} dimensions. Use "
            "permutation_test(X, y) with ridge=, or keep fewer principal axes of each view (reduce=)."
        )
    return pd.DataFrame(wilks(correlations, n, p, q), index=pd.RangeIndex(1, correlations.size + 1, name="pair"))


def wilks(correlations: Array, n: int, p: int, q: int) -> dict[str, Array]:
    """Return Wilks' lambda of each canonical correlation and those after it, of n rows of p and q dimensions, with its two approximations.

    Rao's F as in SAS and statsmodels; Bartlett's χ² with n − 1 − (p + q + 1)/2.
    """
    k = np.arange(correlations.size)
    left, right = p - k, q - k
    m = n - 1 - (p + q + 1) / 2
    with np.errstate(divide="ignore"):
        logs = np.log1p(-(np.minimum(correlations, 1.0) ** 2))[::-1].cumsum()[::-1]
    lambdas, number = np.exp(logs), (left * right).astype(np.float64)
    squares = left**2 + right**2 - 5.0
    t = np.sqrt(np.where(squares > 0, (number**2 - 4) / np.where(squares > 0, squares, 1.0), 1.0))
    rest = m * t - (number - 2) / 2
    with np.errstate(divide="ignore"):
        F = np.expm1(-logs / t) * rest / number
    chi2 = -m * logs
    return {
        "correlation": correlations,
        "wilks_lambda": lambdas,
        "chi2": chi2,
        "chi2_df": number.astype(int),
        "p_chi2": stats.chi2.sf(chi2, number),
        "F": F,
        "df_num": number.astype(int),
        "df_den": rest,
        "p_F": stats.f.sf(F, number, rest),
    }


def pair_p_values(views: Views, d: int, n_permutations: int, random_state: RandomState) -> Array:
    """Return p-values of the first d pairs: the share of random orders of the rows of the second view with as large a statistic.

    In the coordinates of the canonical variates the pairs before the k-th are the first k rows and columns of the product, which are
    left out; a permutation costs one product of n×r tables and d determinants.
    """
    if not isinstance(n_permutations, Integral) or n_permutations < 1:
        raise InputError(f"n_permutations={n_permutations!r:.40} must be a whole number of at least 1.")
    one, two = (view.embed(np.eye(view.rank)) for view in views.views)
    if one is None or two is None:
        raise InputError("A permutation test needs the rows in memory: pass a sample of them that fits there.")
    U, _, V = dense.singular_vectors(views.cross(0, 1), complete=True)
    A, B = one @ U, two @ V / (views.n - 1)
    rng = check_random_state(random_state)
    observed = _log_statistics(A.T @ B, d)
    as_good = np.ones(d)
    for _ in range(n_permutations):
        found = _log_statistics(A.T @ B[rng.permutation(views.n)], d)
        as_good += found >= observed * (1 - 1e-10)
    return np.maximum.accumulate(as_good / (n_permutations + 1))


def _log_statistics(M: Array, d: int) -> Array:
    """Return ``−log Π (1 − σ²)`` over the singular values of M without its first k rows and columns, for k < d."""
    out = np.empty(d)
    for k in range(d):
        part = M[k:, k:]
        part = part if part.shape[0] >= part.shape[1] else part.T
        sign, size = np.linalg.slogdet(np.eye(part.shape[1]) - part.T @ part)
        out[k] = -size if sign > 0 else np.inf
    return out
