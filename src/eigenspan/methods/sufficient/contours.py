"""Contour regression (directions along which the response hardly changes), and likelihood-acquired directions (LAD)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from ..._diagnostics import note, stage
from ..._parameters import Count, Share, Tolerance, attribute
from ..._types import Array, Index
from ...data import Classes, Numbers, Points, Sample
from ...data.rows.block_passes import blocks
from ...errors import DegenerateWarning, LabelError, warn
from ...numerics.descent.stiefel import Descent, minimise_on_stiefel
from ...numerics.eigen import dense
from ...problem import Posed
from ...problem.spectrum import seed_of
from ..base.table import known_as, method
from .inverse_regression import Inverse, InverseRegression, Spherical, spherical_rows
from .response_slices import Response, check_slices, slice_moments, table_of
from .sir import directional_matrix, means_matrix, slice_means

#: Largest number of rows that are searched for those near a line.
_SEARCHED = 1000
#: Relative difference up to which numbers count as equal.
_EQUAL = 1e-10
#: Eigenvalue of the covariance of a slice, relative to its largest, that counts as zero; least shrinkage if there is such a slice.
_FLAT, _LEAST = 1e-10, 0.01
#: Difference of log-likelihoods per row that counts as none, and sine of the angle from which subspaces count as different.
_SAME_COST, _OTHER_SPAN = 1e-9, 1e-2


def _contour_matrix(estimator: ContourRegression, W: Array, response: Response) -> Array:
    if estimator.form == "general":
        U = estimator._along_lines(W, response.values)
        F = U.T @ U / len(U)
    elif response.classes:
        F = 2 * np.tensordot(response.shares, slice_moments(W, response).covariances, 1)
    else:
        F = _near_in_order(W, response.values[:, 0], estimator.contour)
    return np.eye(W.shape[1]) - F / 2


@method("sufficient", "min Cov[z − z′ | one contour]", "covariance", "pairs n D", "S3 §3.9.3", "gcr", "scr")
@known_as(
    "Contour regression",
    "general contour regression; contour directions",
    {"form='simple'": "simple contour regression"},
)
class ContourRegression(InverseRegression):
    """Contour regression.

    .. math:: \\max_V \\operatorname{Tr}\\bigl(V^T \\Sigma^{1/2} (I - \\tfrac12 F) \\Sigma^{1/2} V\\bigr)
              \\quad \\text{s.t. } V^T \\Sigma V = I,

    .. math:: F = \\mathbb{E}\\bigl[(z - z')(z - z')^T \\bigm| \\text{z, z' on one contour}\\bigr]

    over pairs of spherical rows :math:`z = \\Sigma^{-1/2}(x - \\bar x)`. Pairs on one contour differ little along the
    directions that the response depends on. With ``form="general"`` a pair is on a contour where the response hardly varies near the line
    through both points, and symmetric dependence, ``y = x²``, is found; with ``"simple"``, where their two responses are nearly the same:
    that is `SIR` without slices, and as blind to symmetry as it is.

    Cost: ``"general"`` O(pairs · min(n, 1000) · D) time in blocks; ``"simple"`` O(n log n + nD²), for sorted responses hold the pairs of a
    contour side by side.

    Parameters
    ----------
    form
        How a contour is defined.
    contour
        Share of the pairs that count as lying on one contour: those along which the response varies least.
    tube
        Share of the rows that count as near a line, out of 1,000 of them if there are more. It has no effect with
        ``form="simple"``.
    n_pairs
        Number of pairs through which lines are drawn, chosen at random if there are more. It has no effect with
        ``form="simple"``.
    n_permutations
        Number of permutations of the rows for the tests. 0 means no test, or 199 permutations with ``n_components="test"``.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenspan import ContourRegression
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((500, 4))
    >>> y = X[:, 0] ** 2 + 0.1 * rng.standard_normal(500)
    >>> V = ContourRegression(1).fit(X, y).components_
    >>> bool(abs(V[0, 0]) > 0.95)
    True

    References
    ----------
    [S3] §3.9.3; Li, Zha & Chiaromonte (2005), Contour regression: a general approach to dimension reduction.
    """

    form: Literal["general", "simple"] = "general"
    contour: Tolerance = 0.1
    tube: Tolerance = 0.05
    n_pairs: Count = 5000

    _inverse: ClassVar[Inverse] = Inverse(_contour_matrix)

    def _along_lines(self, W: Array, Y: Array) -> Array:
        """Return differences of the pairs for which the response varies least near the line through both points."""
        rng = np.random.default_rng(seed_of(self.random_state))
        i, j = _pairs(len(W), self.n_pairs, rng)
        crowd = np.arange(len(W)) if len(W) <= _SEARCHED else np.sort(rng.choice(len(W), _SEARCHED, replace=False))
        near = int(min(len(crowd), max(3, round(self.tube * len(crowd)))))
        U = W[j] - W[i]
        length = np.linalg.norm(U, axis=1)
        apart = length > 1e-12 * max(length.max(initial=0.0), np.finfo(float).tiny)
        i, U, length = i[apart], U[apart], length[apart]
        spread = np.empty(len(U))
        for part in blocks(len(U), len(crowd)):
            spread[part] = _variance_near(W[i[part]], U[part] / length[part, None], W[crowd], Y[crowd], near)
        return U[spread <= np.quantile(spread, self.contour) * (1 + _EQUAL)]


def _pairs(m: int, most: int, rng: np.random.Generator) -> tuple[Index, Index]:
    """Return all pairs of m points, or `most` random pairs if there are more."""
    if m * (m - 1) // 2 <= most:
        return np.triu_indices(m, 1)
    i = rng.integers(m, size=most)
    return i, (i + rng.integers(1, m, size=most)) % m


def _variance_near(origin: Array, U: Array, crowd: Array, Y: Array, near: int) -> Array:
    """Return the variance of the responses Y of the points of `crowd` nearest to each line ``origin + t U``."""
    along = U @ crowd.T - np.sum(U * origin, axis=1)[:, None]
    away = np.sum(crowd**2, axis=1) - 2 * origin @ crowd.T - along**2  # up to a constant per line
    last = np.partition(away, near - 1, axis=1)[:, near - 1 : near]
    rounding = _EQUAL * (np.abs(away).max(initial=0.0) + np.sum(origin**2, axis=1, keepdims=True))
    # Ties up to rounding, of which whole numbers have many, are broken by index.
    place = (away >= last - rounding).astype(np.uint8) + (away > last + rounding)
    found = Y[np.argsort(place, axis=1, kind="stable")[:, :near]]
    return found.var(axis=1).sum(axis=1)


def _near_in_order(W: Array, y: Array, share: float) -> Array:
    """Return the mean of ``(w − w')(w − w')'`` over this share of the pairs, those with the nearest responses."""
    order = np.argsort(y, kind="stable")
    W, y, m = W[order], y[order], len(y)
    low, high = 0.0, float(np.ptp(y))
    for _ in range(60):  # bisect the difference of responses that this share of the pairs has
        reach = (low + high) / 2
        pairs = np.sum(np.searchsorted(y, y + reach, side="right") - np.arange(m) - 1)
        low, high = (reach, high) if pairs < share * m * (m - 1) / 2 else (low, reach)
    first, last = np.searchsorted(y, y - high, side="left"), np.searchsorted(y, y + high, side="right")
    sums = np.vstack([np.zeros(W.shape[1]), np.cumsum(W, axis=0)])
    degrees = (last - first).astype(float)
    G = (W.T * degrees) @ W - W.T @ (sums[last] - sums[first])
    return 2 * dense.symmetric(G) / max(degrees.sum() - m, 1.0)


def _average_matrix(estimator: LAD, W: Array, response: Response) -> Array:
    return _Likelihood.of(W, [response], estimator.shrinkage).average


@method("sufficient", "min Σ p_h log det Cov[z | slice]", "covariance", "n D² + slices D² d a step", "S3 §3.9.3", "lad")
@known_as("Likelihood-acquired directions", "maximum likelihood sufficient dimension reduction")
class LAD(InverseRegression):
    """Likelihood-acquired directions.

    .. math:: \\min_V \\sum_h p_h \\log\\det(V^T \\Sigma_h V) \\quad \\text{s.t. } V^T \\Sigma V = I

    with :math:`\\Sigma_h` the covariance of the rows whose response falls in slice h, a share :math:`p_h` of all: the subspace of
    largest likelihood where X is normal in each slice. Means and covariances of the slices both count, as in `DirectionalRegression`, but
    by how well they are known: on few rows LAD is the best of them where its model holds. No eigenproblem solves it; the likelihood is
    climbed over orthonormal matrices from the best of SIR, SAVE and directional regression. The axes within the subspace are those of
    `SAVE` restricted to it, and so are ``eigenvalues_``; its tests by permutation are SAVE's.

    Cost: O(nD min(n, D)) time for the covariances, and O(hD²d) a step for h slices.

    Parameters
    ----------
    shrinkage
        Shrink the covariances of the slices, in spherical coordinates, towards I, which carries no information. ``"auto"``
        means 0 if each slice has more than 3D rows and extent in all directions, at least 0.01 if a slice has no extent in
        some direction, and up to a half if slices have fewer rows; ``diagnostics_`` has the value used.

    Attributes
    ----------
    log_likelihood_gain_ : float
        Gain in log-likelihood of the subspace over none, per row: −½ of the criterion.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenspan import LAD
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((1000, 5))
    >>> y = X[:, 0] ** 2 + X[:, 1] + 0.1 * rng.standard_normal(1000)
    >>> V = LAD(2).fit(X, y).components_
    >>> bool(abs(V[:, 2:]).max() < 0.1)
    True

    References
    ----------
    [S3] §3.9.3; Cook & Forzani (2009), Likelihood-based sufficient dimension reduction.
    """

    shrinkage: Share | Literal["auto"] = "auto"
    n_slices: Count | None = None

    log_likelihood_gain_: float = attribute()

    _inverse: ClassVar[Inverse] = Inverse(_average_matrix)

    def _pose(self, sample: Sample[Points, Classes | Numbers]) -> Posed:
        responses, seen = self._responses(sample), spherical_rows(self, sample)
        with stage("inverse moments"):
            likelihood = _Likelihood.of(seen.rows, responses, self.shrinkage)
        note(shrinkage=likelihood.shrinkage)
        tests = self._ratio_tests(likelihood, len(seen.rows)) if self._has_theory(seen, likelihood) else None
        tests = self._tests(seen, responses, likelihood.average) if tests is None else tests
        d = self._wanted(seen, [response.count for response in responses], tests)
        with stage("likelihood"):
            V, cost = likelihood.best(d)
        M = V @ (V.T @ likelihood.average @ V) @ V.T
        return self._posed(seen, M, d, tests).having(log_likelihood_gain_=-cost / 2)

    def _has_theory(self, seen: Spherical, likelihood: _Likelihood) -> bool:
        asked = self.n_components == "test" and not self.n_permutations
        return asked and seen.plain and len(likelihood.shares) == 1 and not likelihood.shrinkage

    def _ratio_tests(self, likelihood: _Likelihood, m: int) -> Any:
        """Return likelihood-ratio tests of d directions against all, d = 0, 1, …, up to the first that is not rejected."""
        (shares,), p = likelihood.shares, likelihood.average.shape[0]
        h, all_of_them, found = shares.size, likelihood.at(np.eye(p))[0], []
        for d in range(p):
            cost = likelihood.least(d)
            degrees = (h - 1) * ((p - d) + (p * (p + 1) - d * (d + 1)) // 2) - d * (p - d)
            found.append((m * (cost - all_of_them), degrees))
            tests = table_of(*np.array(found).T)
            if tests["p_value"].iloc[-1] > self.level:
                break
        return tests


@dataclass(frozen=True, eq=False)
class _Likelihood:
    """The criterion ``Σ p_h log det(V'C_h V)`` of spherical rows, averaged over responses; it is minimised.

    Attributes
    ----------
    shares, covariances : list of ndarray
        Shares and covariances of the slices of each response.
    starts : list of ndarray of shape (D, D)
        Matrices whose leading axes are starting points.
    average : ndarray of shape (D, D)
        The matrix of SAVE, which defines the axes within a subspace.
    shrinkage : float
    """

    shares: list[Array]
    covariances: list[Array]
    starts: list[Array]
    average: Array
    shrinkage: float

    @staticmethod
    def of(W: Array, responses: list[Response], shrinkage: float | Literal["auto"]) -> _Likelihood:
        """Return the criterion for these rows; raise if slices are flat and `shrinkage` is zero."""
        for response in responses:
            check_slices(response, "LAD", covariances=True)
        p = W.shape[1]
        least = min(int(response.counts.min()) for response in responses)
        s = max(0.0, 0.5 * (1 - (least - 1) / (3 * p))) if shrinkage == "auto" else float(shrinkage)
        likeliest = [_likeliest(W, response) for response in responses]
        flat = sum(dense.is_singular(C, _FLAT) for each in likeliest for C in each)
        if flat and shrinkage == "auto":
            s = max(s, _LEAST)
        elif flat and not s:
            raise LabelError(
                f"{flat} slices of the response have no extent in some direction, in which the likelihood has no bound: take fewer with "
                "n_slices=, or pull their covariances towards I with shrinkage=0.05."
            )
        covariances = [(1 - s) * each + s * np.eye(p) for each in likeliest]
        G = [np.eye(p) - C for C in covariances]
        average = np.mean([np.tensordot(r.shares, g @ g, 1) for r, g in zip(responses, G, strict=True)], axis=0)
        others = [
            [means_matrix(slice_means(W, response)) for response in responses],
            [directional_matrix(slice_moments(W, response)) for response in responses],
        ]
        starts = [average, *(np.mean(matrices, axis=0) for matrices in others)]
        return _Likelihood([response.shares for response in responses], covariances, starts, average, s)

    def at(self, V: Array) -> tuple[float, Array]:
        """Return the criterion and its gradient."""
        cost, slope, q = 0.0, np.zeros_like(V), len(self.shares)
        for shares, C in zip(self.shares, self.covariances, strict=True):
            CV = C @ V
            inner = V.T @ CV
            cost += float(shares @ np.linalg.slogdet(inner)[1]) / q
            slope += 2 / q * np.tensordot(shares, CV @ np.linalg.inv(inner), 1)
        return cost, slope

    def descents(self, d: int) -> list[Descent]:
        """Return descents over d orthonormal columns, one from each start."""
        return [minimise_on_stiefel(self.at, dense.eigenpairs(M, d, "max")[1]) for M in self.starts]

    def least(self, d: int) -> float:
        """Return the least criterion of d directions."""
        return min(float(descent.values[-1]) for descent in self.descents(d)) if d else 0.0

    def best(self, d: int) -> tuple[Array, float]:
        """Return the best V with d columns and its criterion; warn if equally good ones span different subspaces."""
        found = self.descents(d)
        costs = np.array([descent.values[-1] for descent in found])
        equal = [found[i].V for i in np.flatnonzero(costs <= costs.min() + _SAME_COST)]
        turned = max(float(np.linalg.norm(V - equal[0] @ (equal[0].T @ V), 2)) for V in equal)
        if turned > _OTHER_SPAN:
            warn(
                f"{len(equal)} of the {len(found)} starts lead to different subspaces of the same likelihood (sine of the angle "
                f"{turned:.1g}): {d} direction(s) among {len(equal[0])} features are not determined. Use fewer features (landmarks=, "
                "reduce=), another number of components, or more rows.",
                DegenerateWarning,
            )
        return equal[0], float(costs.min())


def _likeliest(W: Array, response: Response) -> Array:
    """Return the maximum-likelihood covariances of the slices (divisor: number of rows)."""
    return slice_moments(W, response).covariances * (1 - 1 / response.counts)[:, None, None]
