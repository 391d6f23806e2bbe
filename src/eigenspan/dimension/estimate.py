"""`intrinsic_dimension`: estimates of the intrinsic dimension by a dozen methods."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._diagnostics import collect
from ..errors import InputError
from ..numerics.threads import threads
from ..problem.spectrum import seed_of
from . import spectral_estimators as spectra
from ._data import Data, read_data
from .correlation import correlation
from .neighbour_estimators import likelihood, local_planes, two_nearest
from .result import Dimension, Dimensions

#: Points up to which "all" includes the semidefinite program of MVU.
_UNFOLDED = 500


@dataclass(frozen=True, eq=False)
class _Settings:
    n_neighbors: Any
    fit_range: Any
    window: float
    seed: Any

    @property
    def rng(self) -> np.random.Generator:
        """Generator with the same seed for every method, so that results do not depend on the other methods."""
        return np.random.default_rng(self.seed)


#: Estimators by name.
METHODS: dict[str, Callable[[Data, _Settings], Dimension]] = {
    "correlation": lambda data, s: correlation(data, s.fit_range, s.window, s.rng),
    "mle": lambda data, s: likelihood(data, s.n_neighbors),
    "twonn": lambda data, s: two_nearest(data, _one(s.n_neighbors)),
    "local-pca": lambda data, s: local_planes(data, _one(s.n_neighbors)),
    "eigengap": lambda data, s: spectra.largest_gap(data),
    "scree": lambda data, s: spectra.scree(data),
    "broken-stick": lambda data, s: spectra.broken_stick(data),
    "parallel": lambda data, s: spectra.parallel(data, s.rng),
    "bic": lambda data, s: spectra.information(data),
    "minka": lambda data, s: spectra.evidence(data),
    "isomap": lambda data, s: spectra.geodesics(data, _one(s.n_neighbors), s.seed),
    "mvu": lambda data, s: spectra.unfolding(data, _one(s.n_neighbors), s.seed),
}
_NEED_COORDINATES = ("local-pca", "eigengap", "scree", "broken-stick", "parallel", "bic", "minka")


def intrinsic_dimension(
    X: Any,
    method: Any = "correlation",
    *,
    metric: Any = "euclidean",
    n_neighbors: Any = None,
    fit_range: Any = "auto",
    window: float = 0.5,
    random_state: Any = 0,
    n_jobs: int | None = None,
) -> Any:
    """Estimate the intrinsic dimension of the data.

    .. math:: C(\\varepsilon) = \\frac{2}{n(n-1)} \\, \\#\\{i < j : \\lVert x_i - x_j \\rVert < \\varepsilon\\}
       \\;\\sim\\; \\varepsilon^d

    The share of pairs nearer than ε grows with the power d of ε [S3, eq. 2.1]: ``"correlation"`` counts all pairs and fits d. Other
    methods use the distances to neighbours, or eigenvalues:

    ==================  =====================================================================================================
    ``"correlation"``   slope of log C(ε) over a range of scales; ``curve`` has the slope at every scale
    ``"mle"``           maximum likelihood from the distances to k neighbours; inverses averaged over points, the result over k
    ``"twonn"``         ratio of the distances to the second and the first neighbour: the smallest scale in the data
    ``"local-pca"``     number of principal axes of each neighbourhood with more than 5 % of the variance of the first
    ``"eigengap"``      largest ratio of two successive variances of PCA
    ``"scree"``         split of these variances into two groups with the least variance within the groups
    ``"broken-stick"``  number of variances above the expected lengths of the pieces of a randomly broken stick
    ``"parallel"``      number of variances above the 95th percentile of those of independent columns
    ``"bic"``           Bayesian information criterion of probabilistic PCA, as ``PCA("auto")``; all axes if none stands out
    ``"minka"``         Minka's evidence of probabilistic PCA
    ``"isomap"``        eigenvalues of geodesic distances above the size of the negative ones, up to the largest drop
    ``"mvu"``           eigenvalues of maximum variance unfolding up to the largest drop
    ==================  =====================================================================================================

    The methods from ``"eigengap"`` to ``"minka"`` count linear axes with large variance and overestimate the dimension of curved data.
    Compare several methods, and look at the curve: the dimension of real data depends on the scale.

    Duplicate rows count once. A warning is given if many distances are equal, as for integers and rounded data.

    Cost: ``"correlation"`` O(n²D) time and O(nD) memory (50,000 points of 10 features take about two seconds on two cores); neighbours
    as in any graph; spectra as PCA, Isomap (200 landmarks above 2,000 points) and MVU.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        The data, or the distances between all points with ``metric="precomputed"``.
    method : str or sequence of str, default="correlation"
        One or several of the above, or ``"all"`` for those that apply to the data.
    metric : str or callable, default="euclidean"
        Distance between rows, any metric of scikit-learn, for ``"correlation"``, ``"mle"``, ``"twonn"``, ``"isomap"`` and ``"mvu"``; the
        others use coordinates. ``"cosine"`` is quadratic in small angles, which halves the result of the first three.
    n_neighbors : int, pair of int or None, default=None
        Neighbours per point. For ``"mle"``, k or a range (k1, k2) that is averaged over; None means (10, 20). For ``"local-pca"``, None
        means 20. For ``"isomap"`` and ``"mvu"``, None means their defaults. For ``"twonn"``, ``local`` is averaged over these (None: 50).
    fit_range : "auto", "all", int or pair of float, default="auto"
        Scales that ``"correlation"`` fits: ``"auto"``, those at which a point has 0.1 to 10 neighbours on average; ``"all"``; an int, the
        number of smallest distances; or a pair, the scales between two distances.
    window : float, default=0.5
        Octaves of distance over which the slope that ``curve`` shows is smoothed.
    random_state : int, RandomState or None, default=0
        Seed for the points from which standard errors are estimated, and for the random data of ``"parallel"``.
    n_jobs : int or None, default=None
        Threads of the search for neighbours; None means all.

    Returns
    -------
    Dimension
        For several methods, `Dimensions`, which prints as a table. ``error`` is the standard error over samples of the same size. It does
        not include the bias: the dimension is underestimated near edges and for few points in many dimensions, and overestimated if
        noise has the scale of the fit.

    Examples
    --------
    >>> from sklearn.datasets import make_swiss_roll
    >>> from eigenspan import intrinsic_dimension
    >>> X, _ = make_swiss_roll(2000, random_state=0)
    >>> found = intrinsic_dimension(X)
    >>> round(found.dimension)
    2
    >>> several = intrinsic_dimension(X, ["mle", "twonn", "parallel"])
    >>> [round(result.dimension) for result in several]
    [2, 2, 1]

    References
    ----------
    Grassberger & Procaccia (1983); [S3] Burges (2010), §2; Levina & Bickel (2004); MacKay & Ghahramani (2005); Facco et al. (2017);
    Fukunaga & Olsen (1971); Zhu & Ghodsi (2006); Horn (1965); Jackson (1993); Minka (2000).
    """
    if not isinstance(window, Real) or isinstance(window, bool) or not 0 < window < np.inf:
        raise InputError(f"window={window!r:.80} must be a positive number of octaves.")
    names = _names(method)
    settings = _Settings(n_neighbors, fit_range, float(window), seed_of(random_state))
    with collect(), threads(n_jobs):
        data = read_data(X, metric, n_jobs)
        if isinstance(names, str):
            return METHODS[names](data, settings)
        left_out = _unsuitable(data) if isinstance(method, str) else {}
        return Dimensions(tuple(METHODS[name](data, settings) for name in names if name not in left_out), left_out)


def _names(method: Any) -> str | list[str]:
    """Return the requested method, or the list of methods."""
    if isinstance(method, str) and method in METHODS:
        return method
    names = list(METHODS) if isinstance(method, str) and method == "all" else method
    known = ", ".join(f'"{name}"' for name in METHODS)
    if isinstance(names, str) or not isinstance(names, list | tuple) or not names:
        raise InputError(f'method={method!r:.80} must be one of {known}, a list of these, or "all".')
    for name in names:
        if not isinstance(name, str) or name not in METHODS:
            raise InputError(f"There is no method {name!r:.80}. The methods are {known}.")
    return list(dict.fromkeys(names))


def _unsuitable(data: Data) -> dict[str, str]:
    """Return the methods that "all" leaves out, with the reason."""
    reasons: dict[str, str] = {}
    if data.pairs:
        reasons |= dict.fromkeys(_NEED_COORDINATES, "needs coordinates, but X holds distances")
    elif data.n < data.X.shape[1]:
        reasons["minka"] = f"needs more points than the {data.X.shape[1]} features"
    if sp.issparse(data.X):
        reasons["mvu"] = "needs dense rows"
    elif data.n > _UNFOLDED:
        reasons["mvu"] = f"is slow for {data.n} points: request it by name"
    return reasons


def _one(n_neighbors: Any) -> Any:
    """Return the end of a range of neighbours: only the likelihood uses the whole range."""
    return n_neighbors[-1] if isinstance(n_neighbors, tuple | list) and n_neighbors else n_neighbors
