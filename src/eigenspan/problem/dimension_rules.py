"""Rules on spectra: how many axes there are to show, told from eigenvalues alone.

A spectrum of variances with noise in all directions (PCA, distances of points) is weighed as a model: `likeliest_number`,
`minka_dimension`. One whose axes beyond a number vanish (unfoldings, geodesics) is read where it drops: `suggested_dimension`,
`gram_dimension`. The older rules of scree plots are here too, for comparison.
"""

from __future__ import annotations

import numpy as np
from scipy.special import gammaln

from .._types import Array, Index
from ..numerics.eigen import dense

#: Share of all variance that the axes beyond a suggested dimension may hold together.
_REST = 0.005
#: Share of all variance below which an axis counts as this much: less is no structure, and a drop from little to nothing is none.
_LITTLE = 1e-3
#: Eigenvalues, in units of the most negative one, up to which errors may have made them.
_SAFE = 2.0
#: Share of the largest eigenvalue below which one is rounding.
_ROUNDING = 1e-10
#: Share of the total variance below which what the axes leave is rounding.
NOTHING = 1e-14


# ---------------------------------------------------------------------- where a spectrum drops
def suggested_dimension(variances: Array, noise: float = 0.0) -> int:
    """How many axes a spectrum of variances has to show: those before its largest drop, as a ratio of one variance to the next.

    `noise` is the share of all variance up to which an axis may be an accident, such as the gap to which an optimum is proved: smaller
    shares, and in any case those below a thousandth, count as that much, so that a drop from little to a numerical zero is none. Axes are
    not given up while those beyond them hold more than a two-hundredth of all variance.
    """
    shares = np.sort(np.maximum(variances, 0.0))[::-1]
    shares = shares / max(float(shares.sum()), np.finfo(float).tiny)
    least = 1 + int(np.sum(np.cumsum(shares) < 1.0 - _REST)) if shares.any() else 1
    heights = np.maximum(np.append(shares, 0.0), max(min(abs(noise), 1.0), _LITTLE))
    drops = heights[:-1] / heights[1:]
    return least + int(np.argmax(drops[least - 1 :]))


def gram_dimension(values: Array, n: int, error: float, scatter: float, features: int | None = None) -> int:
    """How many axes the Gram matrix of n points has to show, given its largest eigenvalues, largest first, and its trace.

    `error` is the size of its most negative eigenvalue. Where there is none the points have coordinates, as many as `features` or, where
    that is not known, as there are positive eigenvalues, and `likeliest_number` decides as it does for PCA. Otherwise the distances are
    no Euclidean ones, by measurement or by the graph they run through: errors make eigenvalues of either sign alike, so that axes up to
    twice the size of the negative ones are noise, and `suggested_dimension` of the others decides.
    """
    top = float(values[0]) if values.size else 0.0
    if top <= 0:
        return 1  # there are no axes, and whoever wants one is told
    if features is not None:
        return likeliest_number(values[values > _ROUNDING * top], n, features, scatter)
    if error <= np.sqrt(_ROUNDING) * top:
        rank = int(np.sum(values > _ROUNDING * top))
        rank = rank if rank < values.size or scatter - values.sum() <= _ROUNDING * n * top else n - 1
        return span_dimension(values[:rank], n, rank, scatter)
    real = values[values > _SAFE * error]
    return suggested_dimension(real, _SAFE * error / float(real.sum())) if real.size else 1


def span_dimension(values: Array, n: int, D: int, scatter: float) -> int:
    """`likeliest_number`, but all D axes where none is told from the others, or all but one: then nothing says that any is noise."""
    alike = (D + 1) * np.log(n) + n * D * (np.log(2 * np.pi * scatter / (n * D)) + 1)
    found = likeliest_number(values, n, D, scatter)
    best = bic(maximum_likelihood(values[:found], n, D, scatter)[-1], found, n, D)
    return values.size if alike <= best or found >= D - 1 else found


def eigengap(values: Array) -> int:
    """The axes before the largest ratio of one eigenvalue to the next, those that are rounding counting as rounding."""
    heights = np.maximum(values, _ROUNDING * max(float(values.max(initial=0.0)), np.finfo(float).tiny))
    return int(np.argmax(heights[:-1] / heights[1:])) + 1 if heights.size > 1 else 1


def elbow(values: Array) -> int:
    """Where a scree plot bends: the cut into two groups of eigenvalues, each about its mean, that is likeliest [Zhu & Ghodsi 2006].

    Both groups share one variance, so that it is the cut with the least sum of squares within the groups. Cost O(m).
    """
    m = values.size
    if m < 2:
        return 1
    k = np.arange(1, m)
    sums, squares = np.cumsum(values), np.cumsum(values**2)
    first = squares[:-1] - sums[:-1] ** 2 / k
    second = (squares[-1] - squares[:-1]) - (sums[-1] - sums[:-1]) ** 2 / (m - k)
    return int(np.argmin(first + second)) + 1


# ---------------------------------------------------------------------- against what chance would give
def broken_stick(m: int) -> Array:
    """Expected shares, largest first, of a stick that breaks at random into m pieces: ``(1/m) Σ_{j≥k} 1/j``."""
    return np.cumsum(1.0 / np.arange(m, 0, -1))[::-1] / m


def above(values: Array, levels: Array) -> int:
    """How many of the first values exceed their levels, up to the first that does not; one at least."""
    below = np.flatnonzero(values <= levels)
    return max(1, int(below[0]) if below.size else values.size)


def parallel_levels(
    spread: Array, n: int, rng: np.random.Generator, *, repeats: int = 50, level: float = 0.95
) -> Array:
    """Eigenvalues that the covariance of n rows has by chance, where columns of this standard deviation do not depend on each other.

    The quantiles at `level` of normal data [Horn 1965; Buja & Eyuboglu 1992]. With more rows than columns the scatter is drawn by its
    Cholesky factor (Bartlett): O(D³) a draw, whatever n.
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


# ---------------------------------------------------------------------- by the likelihood of a Gaussian model with equal noise
def maximum_likelihood(values: Array, n: int, D: int, scatter: float) -> Array:
    """The largest log-likelihood that d = 1, …, len(values) axes and noise can give to n rows of D features, inf where nothing is left
    as noise; from the eigenvalues of their scatter, largest first, and its trace."""
    d = np.arange(1, values.size + 1)
    rest = scatter - np.cumsum(values)
    noisy = (rest > NOTHING * scatter) & (d < D)
    noise = np.where(noisy, rest, 1.0) / (n * np.maximum(D - d, 1))
    logs = np.cumsum(np.log(np.maximum(values, np.finfo(float).tiny) / n)) + (D - d) * np.log(noise)
    return np.where(noisy | (d == D), -n / 2 * (D * (np.log(2 * np.pi) + 1) + logs), np.inf)


def bic(log_likelihood: float | Array, d: int | Index, n: int, D: int) -> float | Array:
    """−2 log-likelihood + (number of parameters) · log n: a mean, noise, and d axes with their variances."""
    return (D + 1 + D * d - d * (d - 1) / 2) * np.log(n) - 2 * log_likelihood


def likeliest_number(values: Array, n: int, D: int, scatter: float) -> int:
    """The number of axes that the Bayesian information criterion likes best, of n rows of D features: see `maximum_likelihood`."""
    some = values[: max(1, min(D - 1, n - 2))]  # fewer rows than features always lie on n - 1 axes
    if not some.size:
        return 1  # all rows coincide: one axis is already too many, and the solver says so
    return int(np.argmin(bic(maximum_likelihood(some, n, D, scatter), np.arange(1, some.size + 1), n, D))) + 1


def minka_dimension(spectrum: Array, n: int) -> int:
    """The number of axes of largest evidence [Minka, 2000], given all D eigenvalues of the covariance of n rows. Cost O(D³).

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
