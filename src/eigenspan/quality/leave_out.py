"""How well does the map for new points foresee where a fit would have put them?"""

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
    """How far points that were left out of the fit land from where the fit to all rows has them.

    Attributes
    ----------
    error : float
        Root mean square of the distances, in units of the spread of the embedding (the root mean square distance of its points from
        their mean): 0 for a map that foresees every place, about 1.4 for one that places points at random.
    standard_error : float
        Of that, from the spread over the refits.
    errors : ndarray of shape (n_points,)
        Distance of each point left out, in the same units.
    rows : ndarray of shape (n_points,)
        Which rows these are.
    leave_out : int
        Rows left out of each refit.
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
    """Error of the map for new points, by leaving rows out and placing them.

    .. math:: e_i = \\frac{\\lVert T_i(f_{-i}(x_i)) - y_i \\rVert}{\\sqrt{\\tfrac1n \\sum_j \\lVert y_j - \\bar y \\rVert^2}}

    where y are the places in the fit to all rows, f₋ᵢ is the map of the fit without row i, and Tᵢ the rotation, shift and scale that bring
    that fit's points closest to where they are in the fit to all (eigenvectors have no sign, and no axes where eigenvalues repeat). A large
    error says that ``transform`` is not to be trusted, or that the embedding itself changes when a point is missing.

    Cost: one fit for each of the `n_refits` groups, and one to all rows.

    Parameters
    ----------
    estimator : estimator with ``fit`` and ``transform``
        It is cloned, not fitted.
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Or the square matrix of distances, affinities or kernel values where the estimator takes that.
    y : array-like of shape (n_samples,), optional
    leave_out : int, default=1
        Rows left out of each refit. More say more for the same number of refits, of fits to fewer rows.
    n_refits : int or None, default=30
        Groups of rows that are left out, drawn at random; None for every row once.
    random_state : int, RandomState or None, default=0
        Of that draw.

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
    dealt = check_random_state(random_state).permutation(rows.n)
    groups = [dealt[start : start + size] for start in range(0, rows.n - size + 1, size)]
    if n_refits is not None:
        groups = groups[: whole_number(n_refits, "n_refits")]
    everyone = np.arange(rows.n)
    Y = training_embedding(rows.fit(everyone), rows.X)
    spread = float(np.sqrt(np.mean(np.sum((Y - Y.mean(axis=0)) ** 2, axis=1))))
    if not spread > 0:
        raise InputError("All points of the embedding coincide: there is no spread to measure an error by.")
    chosen, errors = [], []
    for kept, fitted in rows.fits([np.setdiff1d(everyone, group) for group in groups]):
        left = np.setdiff1d(everyone, kept)
        placed = embedded(fitted, rows.take(left, kept))
        if placed.shape[1] != Y.shape[1]:
            raise InputError(
                f"The fit to all rows has {Y.shape[1]} axes and one without {left.size} of them {placed.shape[1]}: ask for fewer."
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
