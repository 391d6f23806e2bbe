"""Distances: classical MDS; `triangulation` has landmark MDS, `geodesics` Isomap.

All are ``max Tr(Y'GY)`` with ``G = −½ H Δ² H`` and the axes scaled by √λ; they differ in the distances Δ and in how many points
carry them.
"""

from __future__ import annotations

import warnings
from typing import Any, ClassVar, Literal

import numpy as np
import scipy.linalg as la
from numpy.typing import NDArray

from ..._diagnostics import note, stage
from ..._parameters import Metric, attribute, parameter
from ...data import Input, Sample
from ...errors import DimensionError, IndefiniteWarning, warn
from ...graphs import suggested_landmarks
from ...numerics.eigen import dense
from ...numerics.memory import require
from ...numerics.nearest.metric import point_distances
from ...problem import (
    Fitted,
    Posed,
    Samples,
    SqrtEigenvalue,
    TraceProblem,
    factor_gram,
    gram,
    pose,
    solve,
)
from ...problem.dimension_rules import gram_dimension
from ...problem.extensions import DistanceGram, FactorExtension, GramExtension
from ..base.contract import ToldComponents, told
from ..base.table import method
from .landmark_mds import GramReducer

Array = NDArray[np.float64]

#: Points up to which all eigenvalues are found for "auto", and how many beyond.
_WHOLE, _FIRST = 1500, 50


@method("distances", "max −½HΔ²H", "embedding", "n D min(n, D), else n²", "S0 eq. 27", "mds", "pcoa")
class ClassicalMDS(GramReducer):
    """Classical multidimensional scaling.

    .. math:: \\min_Y \\lVert -\\tfrac12 H \\Delta^2 H - Y Y^T \\rVert_F, \\qquad Y = U \\Lambda^{1/2}

    [S0, eq. 27]. Coordinates whose inner products match a table of dissimilarities. Use it when the distances, not the features,
    are what is known or trusted; for Euclidean distances it is PCA.

    Cost: for Euclidean distances O(nD min(n, D)) and never n×n; otherwise O(n²) memory, O(n²d) a Lanczos sweep.

    Parameters
    ----------
    metric
        Any metric of scikit-learn's pairwise_distances, a function of two rows, or ``"precomputed"`` if X holds the
        distances.
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

    n_components: ToldComponents = parameter(default=2, kw_only=False)
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
        return told(self, posed, lambda: _of_points(small, *X.shape)).having(goodness_of_fit_=size)

    def _distances(self, x: Any) -> Array:
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

    def _pose_distances(self, x: Any) -> Posed:
        """Pose the problem of any distances from their Gram matrix."""
        D = self._distances(x)
        added, squares = _correction(D, self.correction)
        G = corrected_half_squares(D, added, squares, out=np.empty_like(D) if x.pairs else D)
        known = None if self.correction is None else x.known()
        rows = DistanceGram(x.points, self.metric, added=added, added_to_squares=squares)
        extension = GramExtension(rows, G.mean(axis=0), known)
        form = gram(G, psd=False)
        posed = pose(Samples(x.n, extension), maximise=form, scale=SqrtEigenvalue())
        return told(self, posed, lambda: of_gram(posed.problem)).having(goodness_of_fit_=_norm(form.dense))

    def _fit(self, sample: Sample) -> Fitted:
        fitted = super()._fit(sample)
        found = fitted.attributes
        values, form = found["eigenvalues_"], found["problem_"].A
        share = float(np.sum((values / max(found["goodness_of_fit_"], np.finfo(float).tiny)) ** 2))
        if not form.psd and self.correction is None:
            _report_negative(form, values, share)
        return fitted.having(goodness_of_fit_=share)


def _report_negative(form: Any, values: Array, share: float) -> None:
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
    """How many axes n points of D features have to show, and all eigenvalues, from the products of their columns or rows."""
    values = dense.eigenvalues(products)[::-1]
    return gram_dimension(values, n, 0.0, float(np.trace(products)), features=D), values


def of_gram(problem: Any) -> tuple[int, Array]:
    """How many axes a Gram matrix has to show, and its eigenvalues: all of them, or the first of a large one."""
    form, n = problem.A, problem.A.n
    if problem.B is not None:  # points with masses
        form = form.scaled(1.0 / np.sqrt(problem.B.diagonal()))
    if n <= _WHOLE:
        values = dense.eigenvalues(form.to_dense())[::-1]
        low = float(values[-1])
    else:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # where the first end does not matter
            values = solve(TraceProblem(form, None, "max"), _FIRST, random_state=0).values
        low = lowest(form)
    return gram_dimension(values, n, max(0.0, -low), float(form.diagonal().sum())), values


def _norm(M: Array) -> float:
    """Of all entries, by BLAS, which does not square what would overflow or vanish."""
    return float(la.norm(M.ravel()))


def lowest(form: Any, width: int = 8) -> float:
    """The smallest eigenvalue of a Gram matrix, to a few per cent: Rayleigh–Ritz on a Krylov space of nine blocks."""
    Q = np.linalg.qr(np.random.default_rng(0).standard_normal((form.n, min(width, form.n))))[0]
    for _ in range(8):
        Q = np.linalg.qr(np.hstack([Q, form @ Q[:, -width:]]))[0]
    return float(dense.eigenpairs(dense.symmetric(Q.T @ (form @ Q)), 1, "min")[0][0])


def corrected_half_squares(D: Array, added: float, squares: float, *, out: Array) -> Array:
    """``−½ ((d + c)² + c')`` off the diagonal, a block of rows at a time; `out` may be D itself."""
    rows = max(1, 2**18 // D.shape[0])
    for i in range(0, D.shape[0], rows):
        block = np.add(D[i : i + rows], added, out=out[i : i + rows])
        np.square(block, out=block)
        block += squares
        block *= -0.5
    np.fill_diagonal(out, 0.0)  # by place, not by value: two points at distance zero are corrected like any others
    return out


def _check_rank(d: Any, X: Array) -> None:
    if d != "auto" and d > min(X.shape):
        raise DimensionError(
            f"n_components={d} exceeds {min(X.shape)}, the smaller of n_samples={X.shape[0]} and n_features={X.shape[1]}."
        )


def require_cailliez(n: int, instead: str = 'Use correction="lingoes".') -> None:
    require(40.0 * n**2, f"The {n}×{n} matrices behind Cailliez' constant", instead)


def _correction(D: Array, kind: str | None) -> tuple[float, float]:
    """Constants to add to the distances (Cailliez) and to their squares (Lingoes) so that they become Euclidean."""
    if kind is None:
        return 0.0, 0.0
    if kind == "cailliez":
        return cailliez(D), 0.0
    return 0.0, 2 * max(0.0, -float(dense.eigenpairs(gram(-0.5 * D**2).dense, 1, "min")[0][0]))


def cailliez(D: Array) -> float:
    """The smallest c that makes the distances d + c between different points Euclidean; zero where they are.

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
