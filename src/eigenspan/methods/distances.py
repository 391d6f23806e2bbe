"""Distances: classical and landmark MDS; `eigenspan.methods.geodesics` has Isomap.

All are ``max Tr(Y'GY)`` with ``G = −½ H Δ² H`` and the axes scaled by √λ; they differ in the distances Δ and in how many points
carry them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np
import scipy.linalg as la
from numpy.typing import NDArray

from .._diagnostics import note, stage
from .._parameters import Metric
from .._resources import require
from ..core import (
    Fitted,
    Form,
    Map,
    Posed,
    Samples,
    Spectrum,
    SqrtEigenvalue,
    TraceProblem,
    factor_gram,
    gram,
    pose,
    sign_of,
    spectral_attributes,
)
from ..errors import DimensionError, IndefiniteWarning, warn
from ..extend import DistanceGram, FactorExtension, GramExtension
from ..graphs import check_distance_matrix, suggested_landmarks
from ..graphs.landmarks import Choice
from ..graphs.search.metric import point_distances
from ..input import Input, Sample
from ..solvers import dense
from .base import LandmarkRows, SpectralReducer, axes
from .table import method

Array = NDArray[np.float64]

#: Coordinates of all points on all axes of the landmarks that are kept (64 MB) instead of computed a second time.
_HELD = 2**23
#: Distances from points to landmarks at a time.
_ENTRIES = 2**20


@method("distances", "max −½HΔ²H", "embedding", "n D min(n, D), else n²", "S0 eq. 27", "mds", "pcoa")
class ClassicalMDS(SpectralReducer):
    """Classical multidimensional scaling.

    .. math:: \\min_Y \\lVert -\\tfrac12 H \\Delta^2 H - Y Y^T \\rVert_F, \\qquad Y = U \\Lambda^{1/2}

    [S0, eq. 27]. Coordinates whose inner products match a table of dissimilarities. Use it when the distances, not the features,
    are what is known or trusted; for Euclidean distances it is PCA.

    Cost: for Euclidean distances O(nD min(n, D)) and never n×n; otherwise O(n²) memory, O(n²d) a Lanczos sweep.

    Parameters
    ----------
    $n_components
    metric : str or callable, default="euclidean"
        Any metric of scikit-learn's pairwise_distances, or ``"precomputed"`` when X holds the distances.
    correction : {"cailliez", "lingoes"} or None, default=None
        For distances that no points have (negative eigenvalues): the smallest constant added to the distances, or to their squares,
        that makes them Euclidean. None keeps the nearest positive semidefinite matrix.
    $solver
    $random_state

    Attributes
    ----------
    goodness_of_fit_ : float
        Share of the squared Gram matrix that the embedding reproduces, ``Σ λ_d² / ‖G‖²_F``.
    $spectral_attributes

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

    _input: ClassVar[Input] = Input(pairs=("metric",))

    def _pose(self, sample: Sample) -> Posed:
        x, n = sample.x, sample.n
        if not x.pairs and self.metric == "euclidean" and self.correction is None:
            X = x.values
            _check_rank(self.n_components, X)
            centre = X.mean(axis=0)
            R = X - centre
            size = _norm(R.T @ R if X.shape[1] <= n else R @ R.T)
            form = factor_gram(R, centre=False)
            posed = pose(Samples(n, FactorExtension(R, centre)), maximise=form, scale=SqrtEigenvalue())
            return posed.having(goodness_of_fit_=size)
        require(
            (9.0 if x.pairs else 17.0) * n**2,  # another metric is worked out in one more array
            f"The {n}×{n} distance matrix",
            f"Use LandmarkMDS(landmarks={suggested_landmarks(n)}), which needs distances to that many points only.",
        )
        if self.correction == "cailliez":
            require_cailliez(n)
        with stage("distances"):
            D = x.values if x.pairs else point_distances(x.values, metric=self.metric)
        if x.pairs:
            check_distance_matrix(D)
        added, squares = _correction(D, self.correction)
        G = corrected_half_squares(D, added, squares, out=np.empty_like(D) if x.pairs else D)
        known = None if self.correction is None else x.known()
        rows = DistanceGram(x.points, self.metric, added=added, added_to_squares=squares)
        extension = GramExtension(rows, G.mean(axis=0), known)
        form = gram(G, psd=False)
        posed = pose(Samples(n, extension), maximise=form, scale=SqrtEigenvalue())
        return posed.having(goodness_of_fit_=_norm(form.dense))

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


def _check_rank(d: int, X: Array) -> None:
    if d > min(X.shape):
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


class LandmarkReducer(SpectralReducer):
    """MDS on landmarks, every other point triangulated from its distances to them [de Silva & Tenenbaum 2004].

    Points are triangulated on *all* axes of the landmarks that stand above noise, and all points then decide which d directions are
    shown. The first d axes of the landmarks alone are not those of the data, least of all for landmarks chosen for their spread.
    """

    def _triangulate(
        self, H: Array, rows: Any, n: int, place: Callable[[Map], Iterator[Array]], masses: Array | None = None
    ) -> Fitted:
        """From `H`, −½ squared distances among the q landmarks; `place` takes all n points through a map, a block at a time."""
        with stage("eigenproblem"):
            wide = self._on_all_axes(H, rows)
        with stage("placing"):
            held = np.vstack(list(place(wide))) if n * wide.coef.shape[1] <= _HELD else None
            mean, scatter = _moments(place(wide) if held is None else iter([held]), masses)
        problem = TraceProblem(Form(mean.size, dense=scatter, psd=True), None, "max")
        V, spectrum = axes(self).of(Posed(problem, Samples(mean.size)))
        map_ = wide.then(V, -mean @ V)
        with stage("placing"):
            Y = np.vstack(list(place(map_))) if held is None else (held - mean) @ V
        sign = sign_of(Y)
        return Fitted(Y * sign, map_.then(np.diag(sign)), spectral_attributes(problem, spectrum))

    def _on_all_axes(self, H: Array, rows: Any) -> Map:
        """The triangulation on every axis of the landmarks that stands above noise, and on `n_components` at least."""
        d, q = self.n_components, H.shape[0]
        if d > q - 1:
            raise DimensionError(
                f"n_components={d} exceeds {q - 1}, the dimension of the problem ({q} distinct landmark samples less the constant)"
                + (f". Use n_components <= {q - 1}, or more landmarks." if q > 1 else ": one point has no extent.")
            )
        values, U = dense.eigenpairs(gram(H, psd=False).dense, None, "max")
        m = max(d, int(np.sum(values > _noise(values, d))))
        note(landmark_axes=m)
        U = U[:, :m] - U[:, :m].mean(axis=0)  # what rounding leaves of the constant, divided by a small √λ, would show
        found = Spectrum(values[:m], U, np.zeros(m))
        return GramExtension(rows, H.mean(axis=0))(U * SqrtEigenvalue()(found), found)


def _noise(values: Array, d: int) -> float:
    """The eigenvalue of the landmarks' Gram matrix down to which its axes serve triangulation.

    Distances that no points have show as eigenvalues down to −ν. The same error enters the distances from other points, and an axis
    of eigenvalue λ divides by √λ: it carries noise of variance ν²/λ, in the units of the eigenvalues. That must not reach the
    variance λ_d of the last axis shown, hence 2ν²/λ_d; below ν/3 an axis is made of noise itself.
    """
    error, last = max(0.0, -float(values[-1])), max(float(values[d - 1]), np.finfo(float).tiny)
    return max(error * max(1 / 3, 2 * error / last), 1e-10 * float(values[0]))


def _moments(blocks: Iterator[Array], masses: Array | None = None) -> tuple[Array, Array]:
    """The mean of the rows and their scatter about it, a block at a time, each row as often as its mass says."""
    seen, total, products = 0, np.zeros(1), np.zeros((1, 1))
    for block in blocks:
        counted = block if masses is None else block * masses[seen : seen + len(block), None]
        seen, total, products = seen + len(block), total + counted.sum(axis=0), products + counted.T @ block
    count = seen if masses is None else float(masses.sum())
    mean = total / count
    return mean, dense.symmetric(products - count * np.outer(mean, mean))


@method("distances", "max −½HΔ²H on landmarks", "embedding", "n q", "S3 §4")
class LandmarkMDS(LandmarkReducer):
    """Landmark multidimensional scaling.

    .. math:: y(x) = V^T \\left[\\tfrac12 \\Lambda^{-1/2} U^T (\\bar\\mu - \\delta^2(x)) - m\\right]

    Classical MDS on q landmarks, all points triangulated from their squared distances to them, and the result, of mean m, brought to d
    dimensions by PCA (V). The triangulation keeps every axis of the landmarks that stands above the error of distances which
    no points have, −λ_min: λ > max(⅓, 2|λ_min|/λ_d)·|λ_min| (``diagnostics_["landmark_axes"]``). Of Euclidean distances these are all,
    and landmarks that span the data give classical MDS itself. ``eigenvalues_`` are the sums of squares of all points along the axes
    shown. The distance method for large n.

    Cost: O(nqD + q³) time; 40q² bytes and at most 64 MB for distances from all points, which are computed a block of rows at a time.

    Parameters
    ----------
    $n_components
    landmarks : int, Landmarks, array of indices or None, default=None
        How many, how, or which. None means 200, or all points where there are fewer.
    choice : {"random", "maxmin", "cholesky", "kmeans++", "leverage"}, default="maxmin"
        How landmarks are chosen when only their number is given (see `Landmarks`).
    metric : str or callable, default="euclidean"
        Any metric of scikit-learn's pairwise_distances, or ``"precomputed"``.
    $solver
    $random_state

    Attributes
    ----------
    landmarks_ : ndarray of int
        The rows chosen.
    $spectral_attributes

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from eigenspan import LandmarkMDS
    >>> X, _ = load_digits(return_X_y=True)
    >>> LandmarkMDS(2, landmarks=100).fit_transform(X).shape
    (1797, 2)
    """

    landmarks: LandmarkRows = None
    choice: Choice = "maxmin"
    metric: Metric = "euclidean"

    _input: ClassVar[Input] = Input(pairs=("metric",))

    def _fit(self, sample: Sample) -> Fitted:
        x = sample.x
        if x.pairs:
            check_distance_matrix(x.values)
        wanted = min(200, x.n) if self.landmarks is None else self.landmarks
        chosen = x.landmarks(wanted, how=self.choice, random_state=self.random_state)
        X, q = x.arriving, chosen.size
        rows = DistanceGram(None if x.pairs else X[chosen], self.metric, columns=chosen if x.pairs else None)
        require(40.0 * q**2, f"Distances among {q} landmarks", f"Use LandmarkMDS(landmarks={max(2, q // 2)}).")
        with stage("distances"):
            H = rows(X[chosen])
        fitted = self._triangulate(H, rows, x.n, partial(_in_blocks, X=X, step=max(1, _ENTRIES // q)))
        return fitted.having(landmarks_=chosen)


def _in_blocks(map_: Map, X: Any, step: int) -> Iterator[Array]:
    for i in range(0, X.shape[0], step):
        yield map_(X[i : i + step])
