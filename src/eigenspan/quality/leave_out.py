"""Error of the map for new points, measured by leaving rows out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from .._checks import whole_number
from ..errors import InputError
from .procrustes_fit import procrustes
from .refits import Array, Rows, embedded, training_embedding


@dataclass(frozen=True, eq=False)
class MapError:
    """Distances between the mapped positions of rows left out of a fit and their positions in the fit to all rows.

    Attributes
    ----------
    error : float
        Root mean square of the distances, relative to the root mean square distance of the embedded points from their mean: 0 for an
        exact map, about 1.4 for random positions.
    standard_error : float
        Standard error of `error`, from the variation between refits.
    errors : ndarray of shape (n_points,)
        Distance of each row left out, in the same units.
    rows : ndarray of shape (n_points,)
        Row numbers of these points.
    leave_out : int
        Number of rows left out of each refit.
    """

    error: float
    standard_error: float
    errors: Array
    rows: NDArray[np.intp]
    leave_out: int


def leave_one_out_error(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    leave_out: int = 1,
    n_refits: int | None = 30,
    random_state: Any = 0,
) -> MapError:
    """Measure the error of the map for new points by leaving rows out of the fit and mapping them.

    .. math:: e_i = \\frac{\\lVert T_i(f_{-i}(x_i)) - y_i \\rVert}{\\sqrt{\\tfrac1n \\sum_j \\lVert y_j - \\bar y \\rVert^2}}

    y are the positions in the fit to all rows, f₋ᵢ is the map of the fit without row i, and Tᵢ is the rotation, shift and scale that best
    align that fit with the fit to all rows (the signs of eigenvectors are arbitrary, and so are the axes of repeated eigenvalues). A large
    error means that ``transform`` is inaccurate, or that the embedding itself changes when a row is missing.

    Cost: one fit per group, and one to all rows.

    Parameters
    ----------
    estimator : estimator with ``fit`` and ``transform``
        It is cloned, not fitted.
    X : array-like or sparse matrix of shape (n_samples, n_features)
        The data, or a square matrix of distances, affinities or kernel values if the estimator accepts one.
    y : array-like of shape (n_samples,), optional
        Labels or numbers for the fits.
    leave_out : int, default=1
        Number of rows left out of each refit. A larger number measures more points with the same number of refits, but each refit has
        fewer rows.
    n_refits : int or None, default=30
        Number of random groups of rows to leave out. None leaves out every row once.
    random_state : int, RandomState or None, default=0
        Seed for the groups.

    Returns
    -------
    MapError

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from eigenspan import PCA
    >>> from eigenspan.quality import leave_one_out_error
    >>> X, _ = load_iris(return_X_y=True)
    >>> leave_one_out_error(PCA(2), X).error < 0.01
    True
    """
    rows = Rows(estimator, X, y)
    size = whole_number(leave_out, "leave_out", most=rows.n - 3, why=f"three less than the {rows.n} rows")
    shuffled = check_random_state(random_state).permutation(rows.n)
    groups = [shuffled[start : start + size] for start in range(0, rows.n - size + 1, size)]
    if n_refits is not None:
        groups = groups[: whole_number(n_refits, "n_refits")]
    all_rows = np.arange(rows.n)
    Y = training_embedding(rows.fit(all_rows), rows.X)
    spread = float(np.sqrt(np.mean(np.sum((Y - Y.mean(axis=0)) ** 2, axis=1))))
    if not spread > 0:
        raise InputError("All points of the embedding coincide: a relative error is undefined.")
    chosen, errors = [], []
    for kept, fitted in rows.fits([np.setdiff1d(all_rows, group) for group in groups]):
        left = np.setdiff1d(all_rows, kept)
        placed = embedded(fitted, rows.take(left, kept))
        if placed.shape[1] != Y.shape[1]:
            raise InputError(
                f"The fit to all rows has {Y.shape[1]} axes, but a fit without {left.size} rows has {placed.shape[1]}. Reduce n_components."
            )
        back = procrustes(Y[kept], training_embedding(fitted, rows.take(kept, kept)))
        chosen.append(left)
        errors.append(np.linalg.norm(back(placed) - Y[left], axis=1) / spread)
    squares = np.array([np.mean(e**2) for e in errors])
    error = float(np.sqrt(squares.mean()))
    deviation = float(squares.std(ddof=1) / np.sqrt(squares.size)) if squares.size > 1 else np.nan
    return MapError(
        error, deviation / (2 * error) if error else 0.0, np.concatenate(errors), np.concatenate(chosen), size
    )
