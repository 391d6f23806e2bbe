"""Distances: classical and landmark MDS; `eigenspan.methods.geodesics` has Isomap.

All are ``max Tr(Y'GY)`` with ``G = −½ H Δ² H`` and the axes scaled by √λ; they differ in the distances Δ and in how many points
carry them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from .._compat import StrOptions
from .._diagnostics import note, stage
from .._resources import require
from ..core import Map, Posed, Samples, SqrtEigenvalue, factor_gram, gram, pose
from ..errors import DimensionError, IndefiniteWarning, warn
from ..extend import DistanceGram, FactorExtension, GramExtension
from ..graphs import check_distance_matrix, choose_landmarks, suggested_landmarks
from ..graphs.landmarks import CHOICES
from ..graphs.metric import point_distances
from ..solvers import dense
from .base import COMPONENTS, LANDMARKS, SEED, SOLVER, SpectralReducer
from .docs import documented
from .neighbourhood import known_rows

Array = NDArray[np.float64]


@documented
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

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_components": COMPONENTS,
        "metric": [str, callable],
        "correction": [StrOptions({"cailliez", "lingoes"}), None],
        "solver": SOLVER,
        "random_state": SEED,
    }

    def __init__(
        self,
        n_components: int = 2,
        *,
        metric: Any = "euclidean",
        correction: str | None = None,
        solver: Any = "auto",
        random_state: Any = 0,
    ) -> None:
        self.n_components = n_components
        self.metric = metric
        self.correction = correction
        self.solver = solver
        self.random_state = random_state

    def _pose(self, X: Any, y: Any) -> Posed:
        n = X.shape[0]
        if self.metric == "euclidean" and self.correction is None:
            _check_rank(self.n_components, X)
            centre = X.mean(axis=0)
            R = X - centre
            self._size = _frobenius(R.T @ R if X.shape[1] <= n else R @ R.T)
            form = factor_gram(R, centre=False)
            return pose(Samples(n, FactorExtension(R, centre)), maximise=form, scale=SqrtEigenvalue())
        given = isinstance(self.metric, str) and self.metric == "precomputed"
        require(
            (9.0 if given else 17.0) * n**2,  # another metric is worked out in one more array
            f"The {n}×{n} distance matrix",
            f"Use LandmarkMDS(landmarks={suggested_landmarks(n)}), which needs distances to that many points only.",
        )
        if given:
            check_distance_matrix(X)
        with stage("distances"):
            D = X if given else point_distances(X, metric=self.metric)
        added, squares = _correction(D, self.correction)
        G = _corrected_half_squares(D, added, squares, out=np.empty_like(D) if given else D)
        points = None if given else X
        known = None if self.correction is None else known_rows(points)
        rows = DistanceGram(points, self.metric, added=added, added_to_squares=squares)
        extension = GramExtension(rows, G.mean(axis=0), known)
        form = gram(G, psd=False)
        self._size = _frobenius(form.dense)
        return pose(Samples(n, extension), maximise=form, scale=SqrtEigenvalue())

    def _fit(self, X: Any, y: Any) -> tuple[Array, Map]:
        Y, map_ = super()._fit(X, y)
        self.goodness_of_fit_ = float(np.sum((self.eigenvalues_ / self._size) ** 2)) if self._size else 0.0
        del self._size
        if not self.problem_.A.psd and self.correction is None:
            self._report_negative(self.problem_.A)
        return Y, map_

    def _report_negative(self, form: Any) -> None:
        low = _lowest(form)
        note(smallest_eigenvalue=low)
        if -low > 0.1 * self.eigenvalues_[0] or -low > self.eigenvalues_[-1]:
            warn(
                f"The distances are far from Euclidean: the Gram matrix has eigenvalues down to {low:.3g}, the axes used have "
                f"{self.eigenvalues_[0]:.3g} to {self.eigenvalues_[-1]:.3g}. The embedding reproduces "
                f'{self.goodness_of_fit_:.1%} of it; correction="cailliez" or "lingoes" adds the constant that makes the '
                "distances Euclidean.",
                IndefiniteWarning,
            )


def _frobenius(G: Array) -> float:
    """‖G‖_F, whose squares neither vanish nor overflow."""
    size = max(float(G.max(initial=0.0)), -float(G.min(initial=0.0)))
    if 1e-140 < size < 1e140 or size == 0:
        return float(np.linalg.norm(G))
    return size * float(np.linalg.norm(G / size))


def _lowest(form: Any, width: int = 8) -> float:
    """The smallest eigenvalue of a Gram matrix, to a few per cent: Rayleigh–Ritz on a Krylov space of nine blocks."""
    Q = np.linalg.qr(np.random.default_rng(0).standard_normal((form.n, min(width, form.n))))[0]
    for _ in range(8):
        Q = np.linalg.qr(np.hstack([Q, form @ Q[:, -width:]]))[0]
    return float(dense.eigenpairs(dense.symmetric(Q.T @ (form @ Q)), 1, "min")[0][0])


def _corrected_half_squares(D: Array, added: float, squares: float, *, out: Array) -> Array:
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


def _correction(D: Array, kind: str | None) -> tuple[float, float]:
    """Constants to add to the distances (Cailliez) and to their squares (Lingoes) so that they become Euclidean."""
    if kind is None:
        return 0.0, 0.0
    n = D.shape[0]
    G2 = gram(-0.5 * D**2).dense
    if kind == "lingoes":
        return 0.0, 2 * max(0.0, -float(dense.eigenpairs(G2, 1, "min")[0][0]))
    require(80.0 * n**2, f"Cailliez' {2 * n}×{2 * n} eigenproblem", 'Use correction="lingoes".')
    G1 = gram(-0.5 * D).dense
    block = np.block([[np.zeros((n, n)), 2 * G2], [-np.eye(n), -4 * G1]])
    return max(0.0, dense.largest_real_eigenvalue(block)), 0.0


class LandmarkReducer(SpectralReducer):
    """MDS on landmarks, every other point triangulated from its distances to them [de Silva & Tenenbaum 2004]."""

    def _triangulate(self, H: Array, rows: Any, place: Callable[[Map], Array]) -> tuple[Array, Map]:
        """From `H`, −½ squared distances among the q landmarks; `place` takes all points through the map it is given."""
        extension = GramExtension(rows, H.mean(axis=0))
        _, map_ = self._solve(pose(Samples(H.shape[0], extension), maximise=gram(H, psd=False), scale=SqrtEigenvalue()))
        Y = place(map_)
        centre = Y.mean(axis=0)
        turn = dense.eigenpairs(dense.symmetric((Y - centre).T @ (Y - centre)), None, "max")[
            1
        ]  # principal axes of all points
        aligned = (Y - centre) @ turn
        sign = np.where(aligned[np.abs(aligned).argmax(axis=0), np.arange(aligned.shape[1])] < 0, -1.0, 1.0)
        turn = turn * sign
        return aligned * sign, Map(rows, map_.coef @ turn, offset=map_.offset, shift=-centre @ turn)


@documented
class LandmarkMDS(LandmarkReducer):
    """Landmark multidimensional scaling.

    .. math:: y(x) = \\tfrac12 \\Lambda^{-1/2} U^T (\\bar\\mu - \\delta^2(x))

    Classical MDS on q landmarks, all other points triangulated from their squared distances to them, the result turned to its
    principal axes. The distance method for large n.

    Cost: O(nqD + q³) time; 40q² bytes, since distances from all points are computed a block of rows at a time.

    Parameters
    ----------
    $n_components
    landmarks : int, Landmarks, array of indices or None, default=None
        How many, how, or which. None means 200, or all points where there are fewer.
    choice : {"random", "maxmin", "kmeans++", "leverage"}, default="maxmin"
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

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_components": COMPONENTS,
        "landmarks": LANDMARKS,
        "choice": [StrOptions(set(CHOICES))],
        "metric": [str, callable],
        "solver": SOLVER,
        "random_state": SEED,
    }

    def __init__(
        self,
        n_components: int = 2,
        *,
        landmarks: Any = None,
        choice: str = "maxmin",
        metric: Any = "euclidean",
        solver: Any = "auto",
        random_state: Any = 0,
    ) -> None:
        self.n_components = n_components
        self.landmarks = landmarks
        self.choice = choice
        self.metric = metric
        self.solver = solver
        self.random_state = random_state

    def _fit(self, X: Any, y: Any) -> tuple[Array, Map]:
        precomputed = self.metric == "precomputed"
        if precomputed:
            check_distance_matrix(X)
        wanted = min(200, X.shape[0]) if self.landmarks is None else self.landmarks
        self.landmarks_ = choose_landmarks(
            X, wanted, how=self.choice, random_state=self.random_state, precomputed=precomputed
        )
        rows = DistanceGram(
            None if precomputed else X[self.landmarks_], self.metric, columns=self.landmarks_ if precomputed else None
        )
        q = self.landmarks_.size
        require(40.0 * q**2, f"Distances among {q} landmarks", f"Use LandmarkMDS(landmarks={max(2, q // 2)}).")
        with stage("distances"):
            return self._triangulate(rows(X[self.landmarks_]), rows, lambda map_: map_(X))
