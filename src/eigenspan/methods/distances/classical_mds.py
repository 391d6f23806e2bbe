"""Classical MDS: ``max Tr(Y'GY)`` with ``G = −½ H Δ² H`` and the axes scaled by √λ, and what else is computed from such Gram matrices."""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import partial
from typing import ClassVar, Literal

import numpy as np
import scipy.linalg as la

from ..._diagnostics import note, stage
from ..._parameters import Metric, attribute
from ..._types import Array
from ...data import Input, Sample
from ...data.x import XKind
from ...errors import DimensionError, IndefiniteWarning, warn
from ...graphs import suggested_landmarks
from ...numerics.eigen import dense
from ...numerics.memory import require
from ...numerics.nearest.metric import point_distances
from ...problem import (
    Fitted,
    Form,
    Posed,
    Samples,
    SqrtEigenvalue,
    TraceProblem,
    TraceRatio,
    factor_gram,
    gram,
    pose,
    solve,
)
from ...problem.dimension_rules import gram_dimension
from ...problem.extensions import DistanceGram, FactorExtension, GramExtension
from ..base.contract import told
from ..base.table import known_as, method
from .landmark_mds import GramReducer

#: Number of points up to which "auto" computes all eigenvalues, and how many it computes for more.
_WHOLE, _FIRST = 1500, 50


@method("distances", "max −½HΔ²H", "embedding", "n D min(n, D), else n²", "S0 eq. 27", "mds", "pcoa")
@known_as(
    "Classical multidimensional scaling",
    "multidimensional scaling; principal coordinates analysis; Torgerson scaling; Torgerson–Gower scaling; metric MDS; "
    "classical scaling; double centring",
    {
        "metric='precomputed'": "MDS of a distance matrix; coordinates from distances; embedding of a table of distances",
        "correction='cailliez'": "additive constant problem",
    },
)
class ClassicalMDS(GramReducer):
    """Classical multidimensional scaling.

    .. math:: \\min_Y \\lVert -\\tfrac12 H \\Delta^2 H - Y Y^T \\rVert_F, \\qquad Y = U \\Lambda^{1/2}

    [S0, eq. 27]. Coordinates whose inner products match a table of dissimilarities. Use it when the distances, not the features,
    are what is known or trusted; for Euclidean distances it is PCA.

    Cost: for Euclidean distances O(nD min(n, D)) and never n×n; otherwise O(n²) memory, O(n²d) a Lanczos sweep.

    Parameters
    ----------
    metric
        Any metric of scikit-learn's pairwise_distances, a function of two rows (or of two objects, if X is a list of them),
        or ``"precomputed"`` if X holds the distances.
    correction
        For distances that no points can have (negative eigenvalues): add the smallest constant to the distances, or to
        their squares, that makes them Euclidean. None keeps the nearest positive semidefinite matrix.

    Attributes
    ----------
    goodness_of_fit_ : float
        Share of the squared Gram matrix that the embedding reproduces, ``Σ λ_d² / ‖G‖²_F``.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenspan import ClassicalMDS
    >>> D = np.array([[0.0, 3, 4], [3, 0, 5], [4, 5, 0]])
    >>> Y = ClassicalMDS(2, metric="precomputed").fit_transform(D)
    >>> np.linalg.norm(Y[1] - Y[2]).round(6)
    np.float64(5.0)

    References
    ----------
    [S0] §4.2; Cailliez (1983); Lingoes (1971).
    """

    metric: Metric = "euclidean"
    correction: Literal["cailliez", "lingoes"] | None = None

    goodness_of_fit_: float = attribute()

    _input: ClassVar[Input] = Input(pairs=("metric",))

    def _pose(self, sample: Sample) -> Posed:
        euclidean = not sample.x.pairs and self.metric == "euclidean" and self.correction is None
        return self._pose_coordinates(sample.x.values) if euclidean else self._pose_distances(sample.x)

    def _pose_coordinates(self, X: Array) -> Posed:
        """Pose the problem of Euclidean distances from the centred coordinates, which are a factor of the Gram matrix."""
        n = X.shape[0]
        _check_rank(self.n_components, X)
        centre = X.mean(axis=0)
        R = X - centre
        small = R.T @ R if X.shape[1] <= n else R @ R.T
        size = _norm(small)
        form = factor_gram(R, centre=False)
        posed = pose(Samples(n, FactorExtension(R, centre)), maximise=form, scale=SqrtEigenvalue())
        posed = replace(posed, after=partial(_with_goodness, self.correction, size))
        return told(self, posed, lambda: _of_points(small, *X.shape))

    def _distances(self, x: XKind) -> Array:
        """Return the n×n distance matrix, after checking that it fits into memory."""
        n = x.n
        require(
            (9.0 if x.pairs else 17.0) * n**2,  # a metric of scikit-learn needs one more array
            f"The {n}×{n} distance matrix",
            f"Use LandmarkMDS(landmarks={suggested_landmarks(n)}), which needs distances to that many points only.",
        )
        if self.correction == "cailliez":
            require_cailliez(n)
        with stage("distances"):
            return x.values if x.pairs else point_distances(x.values, metric=self.metric)

    def _pose_distances(self, x: XKind) -> Posed:
        """Pose the problem of any distances from their Gram matrix."""
        D = self._distances(x)
        added, squares = _correction(D, self.correction)
        G = corrected_half_squares(D, added, squares, out=np.empty_like(D) if x.pairs else D)
        known = None if self.correction is None else x.known()
        rows = DistanceGram(x.points, self.metric, added=added, added_to_squares=squares)
        extension = GramExtension(rows, G.mean(axis=0), known)
        form = gram(G, psd=False)
        posed = pose(Samples(x.n, extension), maximise=form, scale=SqrtEigenvalue())
        posed = replace(posed, after=partial(_with_goodness, self.correction, _norm(form.dense)))
        return told(self, posed, lambda: of_gram(posed.problem))


def _with_goodness(correction: str | None, size: float, fitted: Fitted) -> Fitted:
    """Add the share of a Gram matrix of this Frobenius norm that the embedding reproduces. Warn if it is far from Euclidean."""
    values, form = fitted.attributes["eigenvalues_"], fitted.attributes["problem_"].A
    share = float(np.sum((values / max(size, np.finfo(float).tiny)) ** 2))
    if not form.psd and correction is None:
        _report_negative(form, values, share)
    return fitted.having(goodness_of_fit_=share)


def _report_negative(form: Form, values: Array, share: float) -> None:
    low = lowest(form)
    note(smallest_eigenvalue=low)
    if -low > 0.1 * values[0] or -low > values[-1]:
        warn(
            f"The distances are far from Euclidean: the Gram matrix has eigenvalues down to {low:.3g}, the axes used have "
            f"{values[0]:.3g} to {values[-1]:.3g}. The embedding reproduces {share:.1%} of it; "
            'correction="cailliez" or "lingoes" adds the constant that makes the distances Euclidean.',
            IndefiniteWarning,
        )


def _of_points(products: Array, n: int, D: int) -> tuple[int, Array]:
    """Return the number of axes of n points of D features, and all eigenvalues, from the products of their columns or rows."""
    values = dense.eigenvalues(products)[::-1]
    return gram_dimension(values, n, 0.0, float(np.trace(products)), features=D), values


def of_gram(problem: TraceProblem | TraceRatio) -> tuple[int, Array]:
    """Return the number of axes of a Gram matrix, and its eigenvalues: all of them, or the first of a large one."""
    form, n = problem.A, problem.A.n
    if problem.B is not None:  # points with masses
        form = form.scaled(1.0 / np.sqrt(problem.B.diagonal()))
    if n <= _WHOLE:
        values = dense.eigenvalues(form.to_dense())[::-1]
        low = float(values[-1])
    else:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it does not matter if these values are tied
            values = solve(TraceProblem(form, None, "max"), _FIRST, random_state=0).values
        low = lowest(form)
    return gram_dimension(values, n, max(0.0, -low), float(form.diagonal().sum())), values


def _norm(M: Array) -> float:
    """Return the Frobenius norm. BLAS scales the entries, so that squares neither overflow nor vanish."""
    return float(la.norm(M.ravel()))


def lowest(form: Form, width: int = 8) -> float:
    """Return the smallest eigenvalue of a Gram matrix, to a few per cent, by Rayleigh–Ritz on a Krylov space of nine blocks."""
    Q = np.linalg.qr(np.random.default_rng(0).standard_normal((form.n, min(width, form.n))))[0]
    for _ in range(8):
        Q = np.linalg.qr(np.hstack([Q, form @ Q[:, -width:]]))[0]
    return float(dense.eigenpairs(dense.symmetric(Q.T @ (form @ Q)), 1, "min")[0][0])


def corrected_half_squares(D: Array, added: float, squares: float, *, out: Array) -> Array:
    """Return ``−½ ((d + c)² + c')`` off the diagonal; `out` may be D itself."""
    rows = max(1, 2**18 // D.shape[0])
    for i in range(0, D.shape[0], rows):
        block = np.add(D[i : i + rows], added, out=out[i : i + rows])
        np.square(block, out=block)
        block += squares
        block *= -0.5
    np.fill_diagonal(out, 0.0)  # only here: two points at distance zero are corrected like any others
    return out


def _check_rank(d: int | str, X: Array) -> None:
    if not isinstance(d, str) and d > min(X.shape):
        raise DimensionError(
            f"n_components={d} exceeds {min(X.shape)}, the smaller of n_samples={X.shape[0]} and n_features={X.shape[1]}."
        )


def require_cailliez(n: int, instead: str = 'Use correction="lingoes".') -> None:
    require(40.0 * n**2, f"The {n}×{n} matrices behind Cailliez' constant", instead)


def _correction(D: Array, kind: str | None) -> tuple[float, float]:
    """Return the constants to add to the distances (Cailliez) and to their squares (Lingoes) so that they become Euclidean."""
    if kind is None:
        return 0.0, 0.0
    if kind == "cailliez":
        return cailliez(D), 0.0
    return 0.0, 2 * max(0.0, -float(dense.eigenpairs(gram(-0.5 * D**2).dense, 1, "min")[0][0]))


def cailliez(D: Array) -> float:
    """Return the smallest c that makes the distances d + c between different points Euclidean; zero if they are.

    ``K(c) = G₂ + 2c G₁ + ½c² H`` must have no negative eigenvalue, G₂ = −½HD²H and G₁ = −½HDH. Each vector v gives a bound, the larger
    root of ``vᵀK(c)v``, which no smaller c meets; that of the lowest eigenvector at the bound before is the next, as in Newton's method,
    and a handful of them reach c. (Cailliez' own way is one eigenproblem of order 2n that is not symmetric.)
    """
    G2, G1 = gram(-0.5 * D**2).dense, gram(-0.5 * D).dense
    size, c = float(np.abs(G2).max(initial=0.0)) * len(D), 0.0
    for _ in range(100):
        values, V = dense.eigenpairs(G2 + 2 * c * G1, 1, "min")
        if values[0] + c**2 / 2 >= -1e-14 * size:
            break
        v = V[:, 0] - V[:, 0].mean()
        v /= np.linalg.norm(v)
        a, b = v @ G2 @ v, v @ G1 @ v
        bound = -2 * b + np.sqrt(max(4 * b**2 - 2 * a, 0.0))
        if bound <= c * (1 + 1e-14):
            break
        c = float(bound)
    return c
