"""`intrinsic_dimension`: one question, a dozen ways to answer it."""

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
        """The same for every method, whatever others are asked for."""
        return np.random.default_rng(self.seed)


#: Estimates by name.
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
_OF_COORDINATES = ("local-pca", "eigengap", "scree", "broken-stick", "parallel", "bic", "minka")


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
    """How many dimensions the data have.

    .. math:: C(\\varepsilon) = \\frac{2}{n(n-1)} \\, \\#\\{i < j : \\lVert x_i - x_j \\rVert < \\varepsilon\\}
       \\;\\sim\\; \\varepsilon^d

    The share of pairs nearer than ε grows with the power d of ε [S3, eq. 2.1]: ``"correlation"`` counts all pairs and fits d. Other
    methods ask neighbours, or spectra:

    ==================  =====================================================================================================
    ``"correlation"``   slope of log C(ε) over a range of scales, which ``curve`` shows at every scale
    ``"mle"``           likelihood of the distances to k neighbours, inverses averaged over points and the result over k
    ``"twonn"``         ratio of the distances to the second and the first neighbour: the smallest scale there is
    ``"local-pca"``     principal axes of each neighbourhood with more than a twentieth of the variance of the first
    ``"eigengap"``      largest ratio of two successive variances of PCA
    ``"scree"``         the cut of these variances into two groups with least variance within
    ``"broken-stick"``  variances larger than the pieces of a stick broken at random
    ``"parallel"``      variances larger than those of independent columns, 95 times of 100
    ``"bic"``           Bayesian information criterion of probabilistic PCA, as ``PCA("auto")``; all axes if none stands out
    ``"minka"``         Minka's evidence of the same
    ``"isomap"``        eigenvalues of geodesic distances above the negative ones, up to where they drop
    ``"mvu"``           where the spectrum of the unfolding drops
    ==================  =====================================================================================================

    Those from ``"eigengap"`` to ``"minka"`` see flat subspaces only, and count axes of much variance: what is curved is beyond
    them. Ask several, and look at the curve: the dimension of real data depends on the scale.

    Rows that repeat count once: two copies say nothing about dimension. Whole numbers and rounded data, whose distances repeat, are told
    of by a warning.

    Cost: ``"correlation"`` O(n²D) time and O(nD) memory (50,000 points of 10 features take about two seconds on two cores); neighbours
    as in any graph; spectra as PCA, Isomap (200 landmarks above 2,000 points) and MVU.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        The data, or the distances between all points with ``metric="precomputed"``.
    method : str or sequence of str, default="correlation"
        One of the above, several of them, or ``"all"`` for those that suit the data.
    metric : str or callable, default="euclidean"
        Distance between rows, any of scikit-learn's, for ``"correlation"``, ``"mle"``, ``"twonn"``, ``"isomap"`` and ``"mvu"``; the
        others read coordinates. ``"cosine"`` grows with the square of an angle, which halves the first three.
    n_neighbors : int, pair of int or None, default=None
        Neighbours of every point. For ``"mle"`` k, or a range (k1, k2) that is averaged over, None for (10, 20); for ``"local-pca"`` None
        means 20; for ``"isomap"`` and ``"mvu"`` what these mean by None; for ``"twonn"`` those around which ``local`` is averaged (50).
    fit_range : "auto", "all", int or pair of float, default="auto"
        Scales that ``"correlation"`` fits: ``"auto"``, those at which a point has from a tenth to ten neighbours on the average; all of
        them; so many of the smallest distances; or those between two distances.
    window : float, default=0.5
        Octaves of distance over which the slope that ``curve`` shows is smoothed.
    random_state : int, RandomState or None, default=0
        For the points that errors are told from, and the random data of ``"parallel"``.
    n_jobs : int or None, default=None
        Threads of the search for neighbours; None means all.

    Returns
    -------
    Dimension
        Or `Dimensions`, which prints as a table, where several methods are asked for. ``error`` is a standard error over samples
        of the same size. It does not contain the bias: towards fewer dimensions near edges and for few points in many dimensions,
        towards more where noise has the scale that is looked at.

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
    """The method asked for, or the methods."""
    if isinstance(method, str) and method in METHODS:
        return method
    names = list(METHODS) if isinstance(method, str) and method == "all" else method
    known = ", ".join(f'"{name}"' for name in METHODS)
    if isinstance(names, str) or not isinstance(names, list | tuple) or not names:
        raise InputError(f'method={method!r:.80} must be one of {known}, a list of these, or "all".')
    for name in names:
        if not isinstance(name, str) or name not in METHODS:
            raise InputError(f"method {name!r:.80} is unknown: there are {known}.")
    return list(dict.fromkeys(names))


def _unsuitable(data: Data) -> dict[str, str]:
    """Methods that "all" does without, with the reason."""
    reasons: dict[str, str] = {}
    if data.pairs:
        reasons |= dict.fromkeys(_OF_COORDINATES, "reads coordinates, and X holds distances")
    elif data.n < data.X.shape[1]:
        reasons["minka"] = f"needs more points than the {data.X.shape[1]} features"
    if sp.issparse(data.X):
        reasons["mvu"] = "reads dense rows"
    elif data.n > _UNFOLDED:
        reasons["mvu"] = f"takes long for {data.n} points: ask for it by name"
    return reasons


def _one(n_neighbors: Any) -> Any:
    """A range of neighbours is for the likelihood alone: the others take its end."""
    return n_neighbors[-1] if isinstance(n_neighbors, tuple | list) and n_neighbors else n_neighbors
