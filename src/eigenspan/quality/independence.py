"""HSIC: a kernel measure of the dependence of two variables, and tests of independence by it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy import stats
from sklearn.utils import check_random_state

from .._checks import whole_number
from .._types import Array, is_sparse
from ..data.read import is_precomputed
from ..errors import InputError
from ..numerics.memory import require
from ..problem.kernels import Kernel, KernelRows, gram_matrix, kernel_rows
from ._check import as_points

#: Fewest rows: the unbiased estimator and the variance of the gamma approximation divide by n − 3, and by n − 5.
_FEWEST = 6


@dataclass(frozen=True)
class Independence:
    """Result of `hsic`.

    Attributes
    ----------
    hsic : float
        The estimate of HSIC.
    pvalue : float
        Probability of a value at least as large if the variables are independent; NaN without a test.
    estimator : {"biased", "unbiased"}
        Kind of estimate.
    test : {"gamma", "permutation"} or None
        How the p-value was computed.
    """

    hsic: float
    pvalue: float
    estimator: str
    test: str | None


def hsic(
    X: Any,
    Y: Any,
    *,
    kernel: Any = None,
    y_kernel: Any = None,
    estimator: Literal["biased", "unbiased"] = "biased",
    test: Literal["gamma", "permutation"] | None = "gamma",
    n_permutations: int = 999,
    random_state: Any = 0,
) -> Independence:
    """Measure and test the dependence of two variables by kernels.

    .. math:: \\mathrm{HSIC} = \\frac{1}{(n - 1)^2} \\operatorname{Tr}(K H L H)

    with the kernel matrices K of X and L of Y and the centring matrix H [S4, eq. 60]. With Gaussian kernels its expectation in large
    samples is zero only if X and Y are independent: unlike a correlation, it sees every kind of dependence. Use it to test
    whether sources are independent (`KernelICA`), or whether an embedding depends on a variable that it was not given.

    Cost: O(n²) time and memory, and O(n²) for every permutation.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features) or (n_samples,)
    Y : array-like of shape (n_samples, n_targets) or (n_samples,)
    kernel : str, Kernel or callable, default=None
        Kernel of X. None means ``Kernel("rbf", gamma="median")``. ``"precomputed"`` if X is a kernel matrix, of objects for example.
    y_kernel : str, Kernel or callable, default=None
        Kernel of Y. None means that of X.
    estimator : {"biased", "unbiased"}, default="biased"
        The formula above, which is positive also for independent variables; or the estimator of Song et al., whose expectation is then
        zero. Both have the same p-value by permutations up to chance.
    test : {"gamma", "permutation"} or None, default="gamma"
        Distribution of the biased estimate under independence: a gamma distribution with its mean and variance, for samples of about
        100 or more; or permutations of the rows of Y, which are exact for any n. None computes no p-value.
    n_permutations : int, default=999
        Number of permutations. Has no effect with another test.
    random_state : int, RandomState or None, default=0
        Seed of the permutations. Has no effect with another test.

    Returns
    -------
    Independence

    Examples
    --------
    A parabola has no correlation, and depends on X:

    >>> import numpy as np
    >>> from eigenspan.quality import hsic
    >>> x = np.linspace(-1, 1, 100)
    >>> bool(hsic(x, x**2).pvalue < 0.001)
    True
    >>> noise = np.random.default_rng(0).standard_normal(100)
    >>> bool(hsic(x, noise, test="permutation").pvalue > 0.05)
    True

    References
    ----------
    Gretton, Bousquet, Smola & Schölkopf (2005), Measuring statistical dependence with Hilbert–Schmidt norms; Gretton et al. (2007), A
    kernel statistical test of independence; Song et al. (2012), Feature selection via dependence maximization; [S4] §6.4.
    """
    _check_choices(estimator, test)
    X, Y = _rows(X, "X"), _rows(Y, "Y")
    n = X.shape[0]
    if Y.shape[0] != n or n < _FEWEST:
        raise InputError(
            f"X has {n} rows and Y has {Y.shape[0]}: both must have the same rows, and at least {_FEWEST} of them."
        )
    require(56.0 * n**2, f"The kernel matrices of {n} rows", "Pass some of the rows.")
    first = Kernel("rbf", gamma="median") if kernel is None else kernel
    K, L = _kernel_matrix(first, X, "X"), _kernel_matrix(first if y_kernel is None else y_kernel, Y, "Y")
    value = unbiased_hsic(K, L) if estimator == "unbiased" else float(np.sum(_centred(K) * L)) / (n - 1) ** 2
    if test is None:
        return Independence(value, np.nan, estimator, None)
    if test == "gamma":
        return Independence(value, _gamma_p_value(_centred(K), _centred(L)), estimator, test)
    count = whole_number(n_permutations, "n_permutations")
    p = _permutation_p_value(K, L, estimator, count, random_state)
    return Independence(value, p, estimator, test)


def unbiased_hsic(K: Array, L: Array) -> float:
    """Return the unbiased estimate of HSIC from two kernel matrices."""
    n = len(K)
    K, L = K - np.diag(np.diagonal(K)), L - np.diag(np.diagonal(L))
    rows, columns = K.sum(axis=0), L.sum(axis=0)
    both = np.sum(K * L) + rows.sum() * columns.sum() / ((n - 1) * (n - 2)) - 2 / (n - 2) * (rows @ columns)
    return float(both) / (n * (n - 3))


def _gamma_p_value(K: Array, L: Array) -> float:
    """Return the p-value of ``Tr(KL)`` of two centred kernel matrices, by the gamma distribution of this mean and variance.

    The mean is that over all permutations; the variance is that of Gretton et al. (2007), theorem 3.
    """
    n = len(K)
    mean = float(np.trace(K) * np.trace(L)) / (n - 1)
    squares = (K * L) ** 2
    share = 2.0 * (n - 4) * (n - 5) / (n * (n - 1) * (n - 2) * (n - 3))
    variance = n**4 * share * float(squares.sum() - np.trace(squares)) / (n * (n - 1))
    if mean <= 0 or variance <= 0:
        return 1.0
    return float(stats.gamma.sf(np.sum(K * L), mean**2 / variance, scale=variance / mean))


def _permutation_p_value(K: Array, L: Array, estimator: str, count: int, random_state: Any) -> float:
    """Return the share of permutations of the rows of L with at least the same estimate, the identity included."""
    rng, n = check_random_state(random_state), len(K)

    def measured(M: Array) -> float:
        return unbiased_hsic(K, M) if estimator == "unbiased" else float(np.vdot(K, M))

    K = K if estimator == "unbiased" else _centred(K)
    value, size, above = measured(L), float(np.abs(K).sum() * np.abs(L).max()), 0
    for _ in range(count):
        order = rng.permutation(n)
        above += measured(L[np.ix_(order, order)]) >= value - 1e-14 * size
    return (1 + above) / (1 + count)


def _centred(K: Array) -> Array:
    """Return ``HKH``."""
    means = K.mean(axis=0)
    return np.asarray(K - means - (means - means.mean())[:, None])


def _kernel_matrix(kernel: Any, X: Any, name: str) -> Array:
    if is_precomputed(kernel):
        if X.shape[0] != X.shape[1]:
            raise InputError(
                f'kernel="precomputed" reads {name} as a kernel matrix, which is square; got shape {X.shape}.'
            )
        return gram_matrix(KernelRows(None, {}, None), X.toarray() if is_sparse(X) else X)
    return gram_matrix(kernel_rows(kernel, X), X)


def _rows(A: Any, name: str) -> Any:
    """Return A as a table of numbers; a vector is one column."""
    return as_points(np.asarray(A)[:, None] if np.ndim(A) == 1 and not hasattr(A, "tocsr") else A, name)


def _check_choices(estimator: object, test: object) -> None:
    if estimator not in ("biased", "unbiased"):
        raise InputError(f'estimator={estimator!r} must be "biased" or "unbiased".')
    if test not in ("gamma", "permutation", None):
        raise InputError(f'test={test!r} must be "gamma", "permutation" or None.')
