"""Landmark MDS: classical MDS on landmarks, all other points from their distances to these [de Silva & Tenenbaum 2004].

Points are triangulated on *all* axes of the landmarks that stand above noise, and all points then decide which d directions are shown. The
first d axes of the landmarks alone are not those of the data, least of all for landmarks that were chosen far apart.

`GramReducer` is the base of methods whose axes are those of a Gram matrix.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..._checks import real_numbers
from ..._diagnostics import note, stage
from ..._parameters import Metric, attribute, parameter
from ..._types import Array, Index, Matrix
from ...data import Distances, Input, Sample
from ...data.read import is_precomputed
from ...data.rows.moments import Moments
from ...data.rows.storage import Rows
from ...data.x import AllOrLandmarkDistances, LandmarkDistances
from ...errors import DegenerateWarning, DimensionError, GraphError, InputError, warn
from ...graphs import Landmarks
from ...graphs.landmarks import Choice, LandmarksLike, check_landmarks
from ...graphs.sample_graph import landmark_rows
from ...numerics.eigen import dense
from ...numerics.memory import require
from ...problem import Form, Map, Posed, Spectrum, SqrtEigenvalue, TraceProblem, TraceRatio, gram
from ...problem.dimension_rules import gram_dimension
from ...problem.extensions import DistanceGram, GramExtension
from ...problem.extensions.gram import half_squares
from ...problem.spectrum import TIED, relative_gap
from ..base.contract import LandmarkRows, SpectralReducer, ToldComponents, told
from ..base.table import known_as, method

#: Maps all points, a block at a time.
Place = Callable[[Map], Iterator[Array]]

#: Number of coordinates of all points on all axes that are kept (128 MB) instead of computed a second time.
_HELD = 2**24
#: Number of distances from points to landmarks in a block.
_ENTRIES = 2**20


def unexplained_share(problem: TraceProblem | TraceRatio, shown: Array) -> float:
    """Return ``Σ_{a>d} λ_a / Σ_a λ_a`` over the positive eigenvalues of a Gram matrix, of which the first d are `shown`."""
    form, unit = problem.A, problem.B
    if unit is not None:  # points with masses
        form = form.scaled(1.0 / np.sqrt(unit.diagonal()))
    if form.psd:
        total = float(form.diagonal().sum())
    else:
        n = form.n
        require(24.0 * n**2, f"All eigenvalues of the {n}×{n} Gram matrix", "Fit with landmarks.")
        total = float(np.sum(np.maximum(dense.eigenvalues(form.to_dense()), 0.0)))
    return max(0.0, 1.0 - float(np.sum(shown)) / total)


class GramReducer(SpectralReducer):
    """Methods whose axes are those of a Gram matrix, or of the points placed by one.

    Parameters
    ----------
    n_components
        Number of dimensions d of the embedding. ``"auto"`` determines it from the spectrum. For coordinates with noise it
        uses the Bayesian information criterion of a Gaussian model, as `PCA` does. For distances that no points can have,
        whose negative eigenvalues show the size of the errors, it drops axes up to twice that size and keeps those before
        the largest drop among the others.

    Attributes
    ----------
    n_components_ : int
        Number of dimensions of the embedding.
    spectrum_ : ndarray
        The eigenvalues, largest first, from which the number was determined. Present with ``n_components="auto"``.
    """

    n_components: ToldComponents = parameter(default=2, kw_only=False)

    n_components_: int = attribute()
    spectrum_: Array = attribute()

    def unexplained_residual(self) -> float:
        """Share of the points' extent that the embedding leaves out: ``Σ_{a>d} λ_a / Σ_a λ_a`` over the positive eigenvalues.

        The summed squared distances of the points that have the whole Gram matrix from their shadows on the axes shown, over those from
        their mean [S3, eq. 4.11]; PCA's unexplained variance. Distances that no points have count by the nearest positive
        semidefinite matrix; that takes all eigenvalues, O(n³).

        Returns
        -------
        float
        """
        check_is_fitted(self)
        return unexplained_share(self.problem_, self.eigenvalues_)


@dataclass(frozen=True, eq=False)
class Triangulated:
    """The basis of all points on every axis of the landmarks that stands above noise.

    Attributes
    ----------
    rows : callable
        −½ squared distances of points to the landmarks.
    raw : Place or None
        Maps all points. None for rows of a Dask collection: they are placed when the embedding is computed.
    wide : Map
        The triangulation on all these axes.
    mean : ndarray of shape (m,)
        Mean of all points.
    held : ndarray of shape (n, m) or None
        All points on these axes, if that is not too much to keep.
    """

    rows: Any
    raw: Any
    wide: Map
    mean: Array
    held: Array | None

    def map(self, V: Array, spectrum: Spectrum | None = None) -> Map:
        """Return the map of points to the axes V."""
        return self.wide.then(V, -self.mean @ V)

    def embed(self, V: Array) -> Array:
        """Return all points on the axes V."""
        with stage("placing"):
            if self.held is not None:
                return (self.held - self.mean) @ V
            return np.vstack(list(self.raw(self.map(V))))


def triangulation(
    H: Array,
    rows: Any,
    n: int,
    place: Place | None,
    n_components: int | str,
    *,
    masses: Array | None = None,
    features: int | None = None,
    points: Rows | None = None,
) -> tuple[Posed, Callable[[], tuple[int, Array]]]:
    """Pose the PCA of n triangulated points. Return it with the function that determines the number of axes from its spectrum.

    Parameters
    ----------
    H : ndarray of shape (q, q)
        −½ squared distances among the landmarks.
    rows : callable
        The same of new points to the landmarks.
    place : callable or None
        Maps all points, a block at a time. None if they are placed when the embedding is computed.
    masses : ndarray of shape (n,), optional
        How many rows each point stands for.
    features : int, optional
        Number of columns of X, if distances are Euclidean.
    points : Rows, optional
        All points, without `place`.
    """
    with stage("eigenproblem"):
        wide, near, error = _on_all_axes(H, rows, n_components)
    with stage("placing"):
        held = np.vstack(list(place(wide))) if place is not None and n * wide.coef.shape[1] <= _HELD else None
        if place is not None:
            mean, scatter = _moments(place(wide) if held is None else iter([held]), masses)
        else:
            assert points is not None
            moments = Moments.of(points.map(wide, wide.width))
            mean, scatter = moments.mean, moments.scatter
    problem = TraceProblem(Form(mean.size, dense=scatter, psd=True), None, "max")
    count = n if masses is None else int(masses.sum())
    basis: Any = Triangulated(rows, place, wide, mean, held)
    posed = Posed(problem, basis, witness=lambda V: (near - mean) @ V)
    return posed, partial(_of_scatter, scatter, count, error * count / H.shape[0], features)


def _on_all_axes(H: Array, rows: Any, n_components: int | str) -> tuple[Map, Array, float]:
    """Triangulate on every axis of the landmarks that stands above noise, and on `n_components` at least.

    Returns the map, the places of the landmarks, and the noise.
    """
    d, q = 1 if isinstance(n_components, str) else n_components, H.shape[0]
    if d > q - 1:
        raise DimensionError(
            f"n_components={d} exceeds {q - 1}, the dimension of the problem ({q} distinct landmark samples less the constant)"
            + (f". Use n_components <= {q - 1}, or more landmarks." if q > 1 else ": one point has no extent.")
        )
    values, U = dense.eigenpairs(gram(H, psd=False).dense, None, "max")
    error = max(0.0, -float(values[-1]))
    if n_components == "auto":
        d = gram_dimension(values, q, error, float(values.sum()))
    m = max(d, int(np.sum(values > _noise(values, d))))
    note(landmark_axes=m)
    if m < values.size and relative_gap(float(values[m - 1]), float(values[m]), float(values[0])) < TIED:
        warn(
            f"Axes {m} and {m + 1} of the {q} landmarks have the same eigenvalue ({values[m - 1]:.6g} and {values[m]:.6g}), and the "
            f"triangulation uses {m}: which is not determined, and another machine may return another embedding. Use other "
            "landmarks, or another number of components.",
            DegenerateWarning,
        )
    U = U[:, :m] - U[:, :m].mean(axis=0)  # rounding errors of the constant would be divided by a small √λ
    found = Spectrum(values[:m], U, np.zeros(m))
    near = U * SqrtEigenvalue()(found)
    return GramExtension(rows, H.mean(axis=0))(near, found), near, error


def _noise(values: Array, d: int) -> float:
    """Return the eigenvalue of the landmarks' Gram matrix down to which its axes are used for triangulation.

    Distances that no points have show as eigenvalues down to −ν. The same error enters the distances from other points, and an axis
    of eigenvalue λ divides by √λ: it carries noise of variance ν²/λ, in the units of the eigenvalues. That must not reach the
    variance λ_d of the last axis shown, hence 2ν²/λ_d; below ν/3 an axis is made of noise itself.
    """
    error, last = max(0.0, -float(values[-1])), max(float(values[d - 1]), np.finfo(float).tiny)
    return max(error * max(1 / 3, 2 * error / last), 1e-10 * float(values[0]))


def _of_scatter(scatter: Array, n: int, error: float, features: int | None) -> tuple[int, Array]:
    """Return the number of axes of n triangulated points, and the eigenvalues of their scatter."""
    values = dense.eigenvalues(scatter)[::-1]
    return gram_dimension(values, n, error, float(np.trace(scatter)), features), values


def _moments(blocks: Iterator[Array], masses: Array | None = None) -> tuple[Array, Array]:
    """Return the mean of the rows and their scatter about it. A row counts as often as its mass says."""
    seen, total, products = 0, np.zeros(1), np.zeros((1, 1))
    for block in blocks:
        counted = block if masses is None else block * masses[seen : seen + len(block), None]
        seen, total, products = seen + len(block), total + counted.sum(axis=0), products + counted.T @ block
    count = seen if masses is None else float(masses.sum())
    mean = total / count
    return mean, dense.symmetric(products - count * np.outer(mean, mean))


def _kind_of_table(estimator: LandmarkMDS) -> type[Distances]:
    """Return the kind of a table of distances: square, or the columns of the landmarks."""
    return LandmarkDistances if _is_table(estimator.landmarks) else AllOrLandmarkDistances


def _refuse_table(estimator: LandmarkMDS) -> None:
    if _is_table(estimator.landmarks) and not is_precomputed(estimator.metric):
        raise InputError(
            'landmarks= is a table of distances, which belongs to metric="precomputed", where X holds distances to the landmarks. '
            "Here X holds points: pass the rows of the landmarks, or their number."
        )


@method("distances", "max −½HΔ²H on landmarks", "embedding", "n q", "S3 §4")
@known_as(
    "Landmark multidimensional scaling",
    "landmark MDS; LMDS; distance-based triangulation; Nyström MDS; FastMap; MetricMap; pivot MDS",
)
class LandmarkMDS(GramReducer):
    """Landmark multidimensional scaling.

    .. math:: y(x) = V^T \\left[\\tfrac12 \\Lambda^{-1/2} U^T (\\bar\\mu - \\delta^2(x)) - m\\right]

    Classical MDS on q landmarks, all points triangulated from their squared distances to them, and the result, of mean m, brought to d
    dimensions by PCA (V). The triangulation keeps every axis of the landmarks that stands above the error of distances which
    no points have, −λ_min: ``λ > max(⅓, 2|λ_min|/λ_d)·|λ_min|`` (``diagnostics_["landmark_axes"]``). Of Euclidean distances these are all,
    and landmarks that span the data give classical MDS itself. ``eigenvalues_`` are the sums of squares of all points along the axes
    shown. The distance method for large n.

    Cost: O(nqD + q³) time; 40q² bytes and at most 128 MB for coordinates of all points; distances are computed a block of rows at a time.

    Parameters
    ----------
    landmarks
        Number of landmarks, how to choose them, or their rows. None means 200, or all points if there are fewer. For a table
        of the distances to q landmarks only: the rows of X that are the landmarks, in the order of the columns, or the q×q
        table of distances among the landmarks, which then need not be rows of X.
    choice
        How landmarks are chosen if only their number is given (see `Landmarks`).
    metric
        Any metric of scikit-learn's pairwise_distances, a function of two rows (or of two objects, if X is a list of them),
        or ``"precomputed"`` if X holds the distances: among all points (n×n), or from all points to the landmarks (n×q).

    Attributes
    ----------
    landmarks_ : ndarray of int
        The rows chosen as landmarks. Absent if `landmarks` is a table of distances.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_digits
    >>> from eigenspan import LandmarkMDS
    >>> X, _ = load_digits(return_X_y=True)
    >>> LandmarkMDS(2, landmarks=100).fit_transform(X).shape
    (1797, 2)

    Distances to 100 landmarks are enough, and new points need no more:

    >>> D = np.linalg.norm(X[:, None] - X[:100], axis=2)
    >>> fitted = LandmarkMDS(2, metric="precomputed", landmarks=np.arange(100)).fit(D)
    >>> fitted.transform(D[:3]).shape
    (3, 2)
    """

    landmarks: LandmarkRows = None
    choice: Choice = "maxmin"
    metric: Metric = "euclidean"

    landmarks_: Index = attribute()

    _input: ClassVar[Input] = Input(pairs=("metric",), columns=_kind_of_table, blocks=True, idle=_refuse_table)

    def _pose(self, sample: Sample) -> Posed:
        if isinstance(sample.x, LandmarkDistances):
            return self._pose_columns(sample.x)
        x, wanted = sample.x, min(200, sample.x.n) if self.landmarks is None else self.landmarks
        chosen = landmark_rows(x, wanted, how=self.choice, random_state=self.random_state)
        X, q = x.arriving, chosen.size
        near = X[chosen] if x.pairs else x.take(chosen).values
        rows = DistanceGram(None if x.pairs else near, self.metric, columns=chosen if x.pairs else None)
        require(40.0 * q**2, f"Distances among {q} landmarks", f"Use LandmarkMDS(landmarks={max(2, q // 2)}).")
        with stage("distances"):
            H = rows(near)
        features = X.shape[1] if not x.pairs and self.metric == "euclidean" else None
        place = None if x.lazy else partial(_placed_in_blocks, X=X, step=max(1, _ENTRIES // q))
        posed = told(self, *triangulation(H, rows, x.n, place, self.n_components, features=features, points=x.values))
        return posed.having(landmarks_=chosen)

    def _pose_columns(self, x: LandmarkDistances) -> Posed:
        """Pose the problem from the distances of all points to the landmarks alone."""
        X, landmarks = x.whole, _as_given(self.landmarks, x.whole.shape)
        rows = DistanceGram(None, self.metric)
        H = half_squares(x.among(landmarks))
        place = partial(_placed_in_blocks, X=X, step=max(1, _ENTRIES // X.shape[1]))
        posed = told(self, *triangulation(H, rows, x.n, place, self.n_components))
        return posed.having(landmarks_=landmarks) if landmarks.ndim == 1 else posed


def _is_table(landmarks: object) -> bool:
    """Return True if the landmarks are given by the table of distances among them."""
    given: Any = landmarks
    return bool(np.ndim(given) == 2)


def _as_given(landmarks: LandmarksLike | None, shape: tuple[int, ...]) -> Index | Array:
    """Return the row numbers of the landmarks in a table of this shape, or the table of their distances."""
    if _is_table(landmarks):
        return real_numbers(landmarks, "The distances landmarks=", GraphError)
    if landmarks is None or isinstance(landmarks, Integral | Landmarks):
        raise GraphError(
            f"X is not a square table of all distances: its shape is {shape}, and landmarks={landmarks!r:.60} does not say which points "
            f"its {shape[1]} columns are. Pass landmarks= their rows in X, in the order of the columns, or the distances among them."
        )
    rows = check_landmarks(landmarks, shape[0])
    assert not isinstance(rows, Landmarks)
    return rows


def _placed_in_blocks(map_: Map, X: Matrix, step: int) -> Iterator[Array]:
    for i in range(0, X.shape[0], step):
        yield map_(X[i : i + step])
