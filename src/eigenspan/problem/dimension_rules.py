"""Rules that estimate the number of axes from eigenvalues.

For a spectrum of variances with noise in all directions (PCA, distances of points) the rules compare likelihoods: `likeliest_number`,
`minka_dimension`. For a spectrum that vanishes beyond some axis (unfoldings, geodesics) they search for the largest drop:
`suggested_dimension`, `gram_dimension`. Older rules for scree plots are included for comparison.
"""

from __future__ import annotations

import numpy as np
from scipy.special import gammaln

from .._types import Array, Index
from ..numerics.eigen import dense

#: Largest share of all variance beyond a suggested dimension.
_REST = 0.005
#: Smaller shares of all variance are replaced by this one, so that a drop from a small share to zero does not count.
_LITTLE = 1e-3
#: Eigenvalues up to this multiple of the most negative one may be errors.
_SAFE = 2.0
#: Share of the largest eigenvalue below which an eigenvalue is a rounding error.
_ROUNDING = 1e-10
#: Share of the total variance below which the residual variance is a rounding error.
NOTHING = 1e-14


# ---------------------------------------------------------------------- drops of a spectrum
def suggested_dimension(variances: Array, noise: float = 0.0) -> int:
    """Return the number of axes before the largest drop of a spectrum of variances, measured by the ratio of one variance to the next.

    `noise` is the share of all variance up to which an axis may be an error, such as the duality gap of an optimum. Shares below `noise`
    and below 1/1000 are replaced by that value, so that a drop from a small share to a numerical zero does not count. The axes beyond
    the result have at most 1/200 of all variance.
    """
    shares = np.sort(np.maximum(variances, 0.0))[::-1]
    shares = shares / max(float(shares.sum()), np.finfo(float).tiny)
    least = 1 + int(np.sum(np.cumsum(shares) < 1.0 - _REST)) if shares.any() else 1
    heights = np.maximum(np.append(shares, 0.0), max(min(abs(noise), 1.0), _LITTLE))
    drops = heights[:-1] / heights[1:]
    return least + int(np.argmax(drops[least - 1 :]))


def gram_dimension(values: Array, n: int, error: float, scatter: float, features: int | None = None) -> int:
    """Return the number of axes for the Gram matrix of n points, given its largest eigenvalues, largest first, and its trace.

    `error` is the magnitude of its most negative eigenvalue. If there is none, the points have coordinates (`features` of them or, if not
    known, as many as there are positive eigenvalues), and `likeliest_number` is used as for PCA. Otherwise the distances are not
    Euclidean, because of measurement errors or because they are graph distances. Such errors cause positive and negative eigenvalues
    alike, so eigenvalues up to twice the negative ones count as noise, and `suggested_dimension` of the others is used.
    """
    top = float(values[0]) if values.size else 0.0
    if top <= 0:
        return 1  # no positive eigenvalue: the solver raises later
    if features is not None:
        return likeliest_number(values[values > _ROUNDING * top], n, features, scatter)
    if error <= np.sqrt(_ROUNDING) * top:
        rank = int(np.sum(values > _ROUNDING * top))
        rank = rank if rank < values.size or scatter - values.sum() <= _ROUNDING * n * top else n - 1
        return span_dimension(values[:rank], n, rank, scatter)
    real = values[values > _SAFE * error]
    return suggested_dimension(real, _SAFE * error / float(real.sum())) if real.size else 1


def span_dimension(values: Array, n: int, D: int, scatter: float) -> int:
    """Return `likeliest_number`, but all D axes if equal variances are likelier, or if it is D − 1 or more: then no axis is noise."""
    alike = (D + 1) * np.log(n) + n * D * (np.log(2 * np.pi * scatter / (n * D)) + 1)
    found = likeliest_number(values, n, D, scatter)
    best = bic(maximum_likelihood(values[:found], n, D, scatter)[-1], found, n, D)
    return values.size if alike <= best or found >= D - 1 else found


def eigengap(values: Array) -> int:
    """Return the number of axes before the largest ratio of one eigenvalue to the next; smaller ones are replaced by the rounding level."""
    heights = np.maximum(values, _ROUNDING * max(float(values.max(initial=0.0)), np.finfo(float).tiny))
    return int(np.argmax(heights[:-1] / heights[1:])) + 1 if heights.size > 1 else 1


def elbow(values: Array) -> int:
    """Return the bend of a scree plot: the most likely cut into two groups of eigenvalues [Zhu & Ghodsi 2006].

    The groups have different means and one variance, so that the cut minimises the sum of squares within the groups. Cost O(m).
    """
    m = values.size
    if m < 2:
        return 1
    k = np.arange(1, m)
    sums, squares = np.cumsum(values), np.cumsum(values**2)
    first = squares[:-1] - sums[:-1] ** 2 / k
    second = (squares[-1] - squares[:-1]) - (sums[-1] - sums[:-1]) ** 2 / (m - k)
    return int(np.argmin(first + second)) + 1


# ---------------------------------------------------------------------- comparison with random spectra
def broken_stick(m: int) -> Array:
    """Return the expected lengths, largest first, of a stick broken at random into m pieces: ``(1/m) Σ_{j≥k} 1/j``."""
    return np.cumsum(1.0 / np.arange(m, 0, -1))[::-1] / m


def above(values: Array, levels: Array) -> int:
    """Return the number of values before the first one that does not exceed its level; at least one."""
    below = np.flatnonzero(values <= levels)
    return max(1, int(below[0]) if below.size else values.size)


def parallel_levels(
    spread: Array, n: int, rng: np.random.Generator, *, repeats: int = 50, level: float = 0.95
) -> Array:
    """Return quantiles of the covariance eigenvalues of n random rows with independent columns of these standard deviations.

    They are the quantiles at `level` for normal data [Horn 1965; Buja & Eyuboglu 1992]. With more rows than columns the Cholesky factor of
    the scatter is drawn (Bartlett): O(D³) per draw for any n.
    """
    D, found = spread.size, []
    for _ in range(repeats):
        if n - 1 >= D:
            T = np.tril(rng.standard_normal((D, D)), -1)
            T[np.diag_indices(D)] = np.sqrt(rng.chisquare(n - 1 - np.arange(D)))
            T *= spread[:, None]
        else:
            T = (rng.standard_normal((n - 1, D)) * spread).astype(np.float64)
        found.append(dense.eigenvalues(T @ T.T)[::-1] / (n - 1))
    return np.quantile(found, level, axis=0)


# ---------------------------------------------------------------------- likelihood of a Gaussian model with equal noise
def maximum_likelihood(values: Array, n: int, D: int, scatter: float) -> Array:
    """Return the maximum log-likelihood of n rows of D features for d = 1, …, len(values) axes and equal noise; inf without noise.

    `values` are the eigenvalues of their scatter, largest first, and `scatter` is its trace.
    """
    d = np.arange(1, values.size + 1)
    rest = scatter - np.cumsum(values)
    noisy = (rest > NOTHING * scatter) & (d < D)
    noise = np.where(noisy, rest, 1.0) / (n * np.maximum(D - d, 1))
    logs = np.cumsum(np.log(np.maximum(values, np.finfo(float).tiny) / n)) + (D - d) * np.log(noise)
    return np.where(noisy | (d == D), -n / 2 * (D * (np.log(2 * np.pi) + 1) + logs), np.inf)


def bic(log_likelihood: float | Array, d: int | Index, n: int, D: int) -> float | Array:
    """Return ``−2 log-likelihood + (number of parameters) · log n`` for a mean, noise, and d axes with their variances."""
    return (D + 1 + D * d - d * (d - 1) / 2) * np.log(n) - 2 * log_likelihood


def likeliest_number(values: Array, n: int, D: int, scatter: float) -> int:
    """Return the number of axes with the least Bayesian information criterion, for n rows of D features: see `maximum_likelihood`."""
    some = values[: max(1, min(D - 1, n - 2))]  # n rows always lie on n − 1 axes
    if not some.size:
        return 1  # all rows coincide: the solver raises later
    return int(np.argmin(bic(maximum_likelihood(some, n, D, scatter), np.arange(1, some.size + 1), n, D))) + 1


def minka_dimension(spectrum: Array, n: int) -> int:
    """Return the number of axes with the largest evidence [Minka, 2000], given all D covariance eigenvalues of n rows. Cost O(D³).

    Laplace's approximation of the evidence of k axes and isotropic noise:
    ``p(U) Π λ_i^{−n/2} v^{−n(D−k)/2} (2π)^{(m+k)/2} |A|^{−½} n^{−k/2}`` with v the mean of the other eigenvalues and
    m = Dk − k(k + 1)/2. It does not change with the unit of length.
    """
    D, tiny = spectrum.size, np.finfo(float).eps
    if D < 2:
        return 1
    values = np.maximum(spectrum / max(spectrum[0], np.finfo(float).tiny), 0.0)
    live = np.maximum(values, tiny)
    evidence = np.full(D - 1, -np.inf)
    for k in range(1, D):
        if values[k - 1] <= 4 * tiny:
            break  # an axis without variance
        noise = max(float(values[k:].mean()), tiny)
        i = np.arange(1, k + 1)
        volume = np.sum(gammaln((D - i + 1) / 2) - np.log(np.pi) * (D - i + 1) / 2) - k * np.log(2)
        inverse = 1.0 / np.where(np.arange(D) < k, live, noise)
        products = (values[:k, None] - values) * (inverse - inverse[:k, None])
        pairs = np.arange(D) > np.arange(k)[:, None]
        curvature = np.sum(np.log(np.maximum(products[pairs], tiny**2)) + np.log(n))
        m = D * k - k * (k + 1) / 2
        fit = -n / 2 * (np.sum(np.log(live[:k])) + (D - k) * np.log(noise))
        evidence[k - 1] = volume + fit + (m + k) / 2 * np.log(2 * np.pi) - curvature / 2 - k / 2 * np.log(n)
    return int(evidence.argmax()) + 1
