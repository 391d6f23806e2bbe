"""Stability of the axes of a method under resampling of the rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy.linalg import subspace_angles
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import type_of_target

from .._checks import whole_number
from ..errors import InputError
from ..numerics.eigen import dense
from .refits import Array, Index, Rows, embedded, training_embedding


@dataclass(frozen=True, eq=False)
class Stability:
    """Angles between the axes of a fit and those of fits to resampled rows.

    Attributes
    ----------
    angles : ndarray of shape (n_resamples, n_components)
        Column d − 1 holds the largest angle in degrees between the subspaces of the first d axes: 0 if they are equal, 90 if one of them
        has a direction that is orthogonal to the other.
    axis_angles : ndarray of shape (n_resamples, n_components)
        Column d − 1 holds the angle in degrees between the two d-th axes. It is also large if two axes are exchanged or rotated within
        their plane.
    low, median, high : ndarray of shape (n_components,)
        Percentile band and median of `angles`.
    level : float
        Share of the resamples within the band.
    space : {"features", "embedding"}
        Space in which the angles were measured.
    resample : {"bootstrap", "half"}
        Kind of resample.
    """

    angles: Array
    axis_angles: Array
    low: Array
    median: Array
    high: Array
    level: float
    space: str
    resample: str

    @property
    def n_components(self) -> int:
        """Number of axes that were compared."""
        return int(self.angles.shape[1])

    @property
    def frame(self) -> Any:
        """Data frame with one row per number of axes: median angle, its band, and the median angle of that single axis."""
        import pandas as pd

        return pd.DataFrame(
            {
                "n_components": np.arange(1, self.n_components + 1),
                "angle": self.median,
                "low": self.low,
                "high": self.high,
                "axis_angle": np.median(self.axis_angles, axis=0),
            }
        )

    def plot(self, ax: Any = None) -> Any:
        """Draw the angle against the number of axes, with its band.

        Parameters
        ----------
        ax : matplotlib Axes, optional

        Returns
        -------
        StabilityDisplay
        """
        from ..plotting import StabilityDisplay

        return StabilityDisplay.from_result(self, ax=ax)


def stability(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    n_resamples: int = 50,
    resample: Literal["auto", "bootstrap", "half"] = "auto",
    space: Literal["auto", "features", "embedding"] = "auto",
    level: float = 0.9,
    random_state: Any = 0,
) -> Stability:
    """Measure the stability of the axes of a method under resampling of the rows.

    .. math:: \\theta_d^{(b)} = \\angle_{\\max}\\bigl(\\langle v_1, …, v_d \\rangle,\\ \\langle v_1^{(b)}, …, v_d^{(b)} \\rangle\\bigr)

    The angle is between the subspaces spanned by the axes v of the fit to all rows and v⁽ᵇ⁾ of the fit to the b-th resample. Read the
    curve from the left: while the angle is small, the first d axes are a property of the data; if it jumps to 90°, the last of them
    depends on the sample. A small angle at d with a large one at d − 1 means that only the plane of axes d − 1 and d is stable.

    Cost: `n_resamples` + 1 fits, and as many transforms of X if the angles are measured in the embedding.

    Parameters
    ----------
    estimator : estimator with ``fit`` and ``transform``
        It is cloned, not fitted. Its number of components is the number of axes that are compared.
    X : array-like or sparse matrix of shape (n_samples, n_features)
        The data, or a square matrix of distances, affinities or kernel values if the estimator accepts one.
    y : array-like of shape (n_samples,), optional
        If y holds classes, rows are resampled within each class.
    n_resamples : int, default=50
        Number of resamples.
    resample : {"auto", "bootstrap", "half"}, default="auto"
        n rows with replacement, or half of them without. To first order both vary as much as a new sample of n rows. The bootstrap
        creates duplicate rows, which are neighbours at distance zero: ``"auto"`` uses halves if the estimator has `n_neighbors`.
    space : {"auto", "features", "embedding"}, default="auto"
        Space in which angles are measured: ``"features"`` compares the directions in feature space (the default for linear methods);
        ``"embedding"`` compares the centred columns of the embeddings of all rows of X, by ``transform`` of the resampled fits.
    level : float, default=0.9
        Share of the resamples within the band.
    random_state : int, RandomState or None, default=0

    Returns
    -------
    Stability

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from eigenspan import PCA
    >>> from eigenspan.quality import stability
    >>> X, _ = load_iris(return_X_y=True)
    >>> found = stability(PCA(3), X)
    >>> bool(found.median[0] < 3)  # degrees: the first axis hardly depends on which flowers were measured
    True

    References
    ----------
    Diaconis & Efron (1983), Computer-intensive methods in statistics; Politis & Romano (1994) for halves.
    """
    rows = Rows(estimator, X, y)
    count = whole_number(n_resamples, "n_resamples")
    if not 0 < level < 1:
        raise InputError(f"level={level!r}, the share of resamples in the band, must lie strictly between 0 and 1.")
    how = _chosen(
        resample, "resample", ("bootstrap", "half"), "half" if hasattr(estimator, "n_neighbors") else "bootstrap"
    )
    all_rows = np.arange(rows.n)
    whole = rows.fit(all_rows)
    there = _chosen(space, "space", ("features", "embedding"), "features" if _has_directions(whole) else "embedding")
    if there == "features" and not _has_directions(whole):
        raise InputError(f'{type(estimator).__name__} has no directions in feature space: use space="embedding".')
    reference = _axes(whole, rows, all_rows, there)
    rng, strata = check_random_state(random_state), _strata(y, rows.n)
    choices = [_resampled(strata, how, rng) for _ in range(count)]
    angles, single = [], []
    for chosen, fitted in rows.fits(choices):
        axes = _axes(fitted, rows, chosen, there)
        d = min(axes.shape[1], reference.shape[1])
        if d < reference.shape[1]:
            raise InputError(
                f"The fit to all rows has {reference.shape[1]} axes, but a fit to resampled rows has {d}. Use n_components={d}."
            )
        angles.append([_largest_angle(reference[:, :j], axes[:, :j]) for j in range(1, d + 1)])
        single.append([_largest_angle(reference[:, [j]], axes[:, [j]]) for j in range(d)])
    tail = 50 * (1 - level)
    low, median, high = np.percentile(angles, [tail, 50, 100 - tail], axis=0)
    return Stability(np.array(angles), np.array(single), low, median, high, float(level), there, how)


def _chosen(given: Any, name: str, known: tuple[str, ...], auto: str) -> str:
    if given not in ("auto", *known):
        raise InputError(f"{name}={given!r:.80} must be one of {', '.join(map(repr, ('auto', *known)))}.")
    return auto if given == "auto" else str(given)


def _has_directions(fitted: Any) -> bool:
    return getattr(fitted, "components_", None) is not None


def _axes(fitted: Any, rows: Rows, chosen: Index, space: str) -> Array:
    """Return the axes as columns: directions in feature space, or the centred embedding of all rows of X."""
    if space == "features":
        return np.asarray(fitted.components_, dtype=np.float64).T
    whole = np.arange(rows.n)
    own = chosen.size == rows.n and np.array_equal(chosen, whole)
    Y = training_embedding(fitted, rows.X) if own else embedded(fitted, rows.take(whole, chosen))
    return Y - Y.mean(axis=0)


def _largest_angle(A: Array, B: Array) -> float:
    """Return the largest angle between the column spaces in degrees; 90 if the columns of A or of B are linearly dependent."""
    P, Q = dense.orthonormal(A), dense.orthonormal(B)
    if P.shape[1] < A.shape[1] or Q.shape[1] < B.shape[1]:
        return 90.0
    return float(np.degrees(subspace_angles(P, Q)[0]))


def _strata(y: Any, n: int) -> list[Index]:
    """Return the groups within which rows are resampled: the classes, or all rows."""
    if y is None or np.ndim(y) != 1 or type_of_target(np.asarray(y)) not in ("binary", "multiclass"):
        return [np.arange(n)]
    codes = np.unique(np.asarray(y).astype(str), return_inverse=True)[1]
    return [np.flatnonzero(codes == c) for c in range(codes.max() + 1)]


def _resampled(strata: list[Index], how: str, rng: Any) -> Index:
    taken = [
        rng.choice(members, members.size if how == "bootstrap" else -(-members.size // 2), replace=how == "bootstrap")
        for members in strata
    ]
    return np.sort(np.concatenate(taken))
