"""Choice of landmark points."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from .._checks import Spec
from .._documented import documented
from .._parameters import Count, parameter
from .._types import Array, Index, Matrix, RandomState, is_sparse
from ..errors import GraphError, InputError
from ..numerics.eigen import dense
from ..numerics.factor.pivoted import EQUAL, first_largest, pivoted_cholesky
from ..numerics.memory import require
from ..numerics.nearest.metric import median_width, point_distances

#: ``(i, j) -> K[i, j]`` for two arrays of row numbers.
KernelBlock = Callable[[Index, Index], Array]

#: Number of kernel values held at once.
_BLOCK = 2**22


#: How landmarks are chosen.
Choice = Literal["random", "maxmin", "cholesky", "kmeans++", "leverage"]


@documented
class Landmarks(Spec):
    """Specification of landmark points, for any estimator's ``landmarks=``; a number alone means ``Landmarks(number)``.

    Parameters
    ----------
    n
        Number of landmarks.
    choice
        ``"random"``: uniformly. ``"maxmin"``: each is the point farthest from those before it. ``"cholesky"``: each is the
        point that the kernel's feature space explains least by those before it, the pivots of an incomplete Cholesky
        factorisation. ``"kmeans++"``: k-means++ seeding. ``"leverage"``: with probability proportional to approximate ridge
        leverage scores, the share of each point in the kernel's feature space. The last four find small distant groups that
        a uniform draw misses. Pivots and leverage are those of the method's kernel; without one, those of the Gaussian
        kernel of the coordinates (or precomputed distances) whose width is half the median distance. They cost O(nm²) time,
        and O(nm) and O(n + m²) memory. If fewer points than asked for explain all others, there are fewer pivots.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from eigenspan import KernelPCA, Landmarks
    >>> X, _ = load_digits(return_X_y=True)
    >>> KernelPCA(2, gamma=1e-3, landmarks=Landmarks(100, choice="leverage")).fit(X).embedding_.shape
    (1797, 2)

    References
    ----------
    Musco & Musco (2017), Recursive sampling for the Nyström method; Arthur & Vassilvitskii (2007) for k-means++.
    """

    n: Count = parameter(default=200, kw_only=False)
    choice: Choice = "random"


#: The landmarks as a number, a specification or row numbers.
LandmarksLike: TypeAlias = int | Landmarks | ArrayLike


def suggested_landmarks(n: int, most: int = 1000) -> int:
    """Return the number of landmarks that an error message proposes for n points: a tenth of them, at most `most`."""
    return max(2, min(most, n // 10))


def choose_landmarks(
    X: Matrix,
    landmarks: LandmarksLike,
    *,
    how: str = "random",
    random_state: RandomState = 0,
    precomputed: bool = False,
    kernel: KernelBlock | None = None,
) -> Index:
    """Return the indices of landmark points.

    Parameters
    ----------
    landmarks : int, Landmarks or array of int
        Their number, a specification, or the row numbers.
    how : {"random", "maxmin", "cholesky", "kmeans++", "leverage"}
        The rule if `landmarks` is a number.
    precomputed : bool
        X holds distances, or with `kernel` the kernel's values.
    kernel : callable, optional
        ``(i, j) -> K[i, j]``: the kernel whose pivots or leverage scores are used.
    """
    n = X.shape[0]
    if precomputed and X.shape[1] != n:
        raise GraphError(f"Landmarks need a square matrix of precomputed distances; X has shape {X.shape}.")
    wanted = check_landmarks(landmarks, n, how)
    if not isinstance(wanted, Landmarks):
        return wanted
    m, how = wanted.n, wanted.choice
    rng = check_random_state(random_state)
    if how == "random":
        return np.sort(rng.choice(n, size=m, replace=False))
    if precomputed and is_sparse(X):
        raise InputError(
            f'Landmarks by "{how}" compare all distances, and X is a sparse matrix of {X.nnz} of {n * n}: use '
            'Landmarks(n, choice="random"), give row numbers, or pass all distances as an array.'
        )
    if how in ("cholesky", "leverage"):
        block = kernel or gaussian_block(X, precomputed)
        return _pivots(block, n, m) if how == "cholesky" else _by_leverage(block, n, m, rng)
    if precomputed and (how == "kmeans++" or kernel is not None):
        have, use = ("kernel values", "leverage") if kernel is not None else ("distances", "maxmin")
        raise InputError(f'Landmarks by "{how}" need coordinates; with precomputed {have} use "{use}" or "random".')
    return _seeds(X, m, rng) if how == "kmeans++" else _maxmin(X, m, rng, precomputed)


def check_landmarks(landmarks: LandmarksLike, n: int, how: str = "random") -> Landmarks | Index:
    """Return the specification of landmarks among n points, or their row numbers. Raise if there are too many or the rows are invalid."""
    landmarks = Landmarks(landmarks, choice=how) if isinstance(landmarks, Integral) else landmarks
    if isinstance(landmarks, Landmarks):
        landmarks.check()
        if landmarks.n > n:
            raise InputError(f"landmarks={landmarks.n} must lie between 1 and n_samples={n}.")
        return landmarks
    given = np.asarray(landmarks)
    fits = given.ndim == 1 and given.size > 0 and given.dtype.kind in "iu" and given.min() >= 0 and given.max() < n
    if not fits or np.unique(given).size < given.size:
        raise InputError(f"landmarks must be distinct row indices in 0..{n - 1}; got {given!r:.80}.")
    return given.astype(np.intp)


def _maxmin(X: Matrix, m: int, rng: np.random.RandomState, precomputed: bool) -> Index:
    walk = [int(rng.randint(X.shape[0]))]
    nearest = np.full(X.shape[0], np.inf)
    for _ in range(m - 1):
        column = np.asarray(X[:, walk[-1]]) if precomputed else point_distances(X, X[[walk[-1]]])
        nearest = np.minimum(nearest, column.ravel())
        walk.append(first_largest(nearest))
    return np.array(list(dict.fromkeys(walk)), dtype=np.intp)


def _seeds(X: Matrix, m: int, rng: np.random.RandomState) -> Index:
    """Greedy k-means++ seeding with scikit-learn's draws. If candidates are equal up to rounding, take the first."""
    n, trials = X.shape[0], 2 + int(np.log(m))
    chosen = [int(rng.choice(n, p=np.full(n, 1.0 / n)))]
    far = point_distances(X, X[chosen])
    unit = float(far.max()) or 1.0  # in this unit, squares of distances neither overflow nor underflow
    nearest = np.square(far[:, 0] / unit)
    while len(chosen) < m and nearest.max() > EQUAL**2:  # otherwise all other points equal chosen ones
        along = np.cumsum(nearest)
        drawn = np.minimum(np.searchsorted(along, rng.uniform(size=trials) * along[-1]), n - 1)
        left = np.minimum(nearest[:, None], np.square(point_distances(X, X[drawn]) / unit))
        sums = left.sum(axis=0)
        best = int(np.argmax(sums <= (1 + EQUAL) * sums.min()))
        chosen.append(int(drawn[best]))
        nearest = left[:, best]
    return np.sort(np.array(chosen, dtype=np.intp))


def _pivots(kernel: KernelBlock, n: int, m: int) -> Index:
    """Return the pivots of an incomplete Cholesky factorisation: each has the largest residual of k(x, x) after those before it."""
    require(8.0 * n * m, f"The factor of {n} points on {m} landmarks", 'Choose them by "leverage", or fewer.')
    every = np.arange(n)

    def column(j: int) -> Array:
        return np.concatenate([kernel(every[i : i + _BLOCK], every[[j]])[:, 0] for i in range(0, n, _BLOCK)])

    chosen = pivoted_cholesky(column, _diagonal(kernel, every), rtol=0.0, most=m)[1]
    return np.sort(chosen) if chosen.size else every[:1]


# ---------------------------------------------------------------------- leverage
def gaussian_block(X: Matrix, precomputed: bool = False) -> KernelBlock:
    """Return ``exp(−d²/σ²)`` of coordinates or of precomputed distances, with σ half the median distance."""
    width = median_width(X, precomputed=precomputed)

    def block(i: Index, j: Index) -> Array:
        D = np.asarray(X[np.ix_(i, j)], dtype=np.float64) if precomputed else point_distances(X[i], X[j])
        return np.exp(-np.square(D / width))

    return block


def _by_leverage(kernel: KernelBlock, n: int, m: int, rng: np.random.RandomState) -> Index:
    """Draw m points without replacement, with probabilities proportional to ridge leverage.

    Recursive: the scores of a set are computed from a weighted sample of a random half of it, which was drawn by its own scores.
    The sample has up to 2m points, because the scores from m points are too noisy.
    """
    pilot = m + min(m, 500)
    order = rng.permutation(n).astype(np.intp)
    size = n
    while size > 2 * pilot:
        size = (size + 1) // 2
    sample = order[: min(size, pilot)]
    weights = np.full(sample.size, np.sqrt(size / sample.size))
    while True:
        scores, cells = _leverage(kernel, order[:size], sample, weights, max(1, m // 4))
        shares = _inclusion(scores, m if size == n else pilot)
        drawn = _systematic(shares, cells, rng)
        if size == n:
            return np.sort(order[drawn])
        sample, weights = order[drawn], 1.0 / np.sqrt(shares[drawn])
        size = min(n, 2 * size)


def _leverage(kernel: KernelBlock, rows: Index, sample: Index, weights: Array, k: int) -> tuple[Array, Index]:
    """Return ``(K (K + λI)⁻¹)_ii`` of the rows, K approximated by weighted sample columns, and each row's nearest sample point.

    λ is the trace less the k leading eigenvalues, divided by k: the scores then sum to at most 2k.
    """
    values, U = dense.eigenpairs(dense.symmetric(weights[:, None] * kernel(sample, sample) * weights), None, "max")
    values = np.maximum(values, 0.0)
    rest, least = float(values[k:].sum()) / k, 1e-10 * float(values.sum()) / rows.size
    ridge = max(rest, least, np.finfo(float).tiny)
    T = (weights[:, None] * U) / np.sqrt(values + ridge)
    scores, cells = np.empty(rows.size), np.empty(rows.size, dtype=np.intp)
    step = max(1, _BLOCK // sample.size)
    for i in range(0, rows.size, step):
        K = kernel(rows[i : i + step], sample)
        P, top = K @ T, K.max(axis=1, keepdims=True)
        scores[i : i + step] = _diagonal(kernel, rows[i : i + step]) - np.einsum("ij,ij->i", P, P)
        # Choose the first of tied values, so that rounding does not change the order in which points are drawn.
        cells[i : i + step] = np.argmax(top - EQUAL * np.abs(top) <= K, axis=1)
    return np.clip(scores / ridge, 0.0, 1.0), cells


def _systematic(shares: Array, cells: Index, rng: np.random.RandomState) -> Index:
    """Draw points with the given probabilities, cell by cell: a cell whose probabilities sum to one or more gets at least one point."""
    along = np.argsort(cells, kind="stable")
    m = round(float(shares.sum()))
    steps = np.floor(np.cumsum(shares[along]) + rng.random_sample())
    drawn = along[np.flatnonzero(np.diff(steps, prepend=0.0) > 0)][:m]
    if drawn.size < m:  # the cumulative sum was rounded down
        others = np.setdiff1d(np.arange(shares.size), drawn)
        drawn = np.append(drawn, others[np.argsort(-shares[others], kind="stable")][: m - drawn.size])
    return drawn


def _diagonal(kernel: KernelBlock, rows: Index, step: int = 256) -> Array:
    parts = (rows[i : i + step] for i in range(0, rows.size, step))
    return np.concatenate([np.diagonal(kernel(part, part)) for part in parts])


def _inclusion(scores: Array, m: int) -> Array:
    """Return probabilities proportional to the scores, at most one each, that sum to m (or to the number of points)."""
    if not scores.any():  # the kernel is negative almost everywhere: all points have equal probabilities
        scores = np.ones(scores.size)
    p = np.maximum(scores, 1e-3 * max(float(scores.mean()), np.finfo(float).tiny))
    if p.size <= m:
        return np.ones(p.size)
    sure = np.zeros(p.size, dtype=bool)
    while True:
        share = (m - int(sure.sum())) / float(p[~sure].sum())
        over = ~sure & (share * p >= 1.0 - EQUAL)
        if not over.any():
            return np.where(sure, 1.0, share * p)
        sure |= over
