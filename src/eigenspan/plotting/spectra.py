"""The eigenvalues behind an embedding."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import InputError
from ._canvas import QUIET, finish, new_axes
from ._colours import FEW


def spectrum(estimator: Any, ax: Any = None, title: str | None = None) -> Any:
    """Draw the eigenvalues of a fitted estimator, best first.

    A jump after the d-th says that d dimensions are natural; no jump at the last one says that the cut is arbitrary (see ``gap_``).

    Parameters
    ----------
    estimator : fitted estimator with ``eigenvalues_``
    ax : matplotlib Axes, optional
    title : str, optional
        The estimator's name if not given.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from eigenspan import PCA
    >>> from eigenspan.plotting import spectrum
    >>> X, _ = load_iris(return_X_y=True)
    >>> spectrum(PCA(4).fit(X)).get_ylabel()
    'eigenvalue'
    """
    values = getattr(estimator, "eigenvalues_", None)
    if values is None:
        raise InputError(
            f"{type(estimator).__name__} has no eigenvalues_: fit it first, or it is not a spectral method."
        )
    values = np.asarray(values, dtype=np.float64)
    ax = new_axes() if ax is None else ax
    position = np.arange(1, values.size + 1)
    ax.vlines(position, 0, values, color=QUIET, linewidth=1.2)
    ax.plot(position, values, "o", color=FEW[0], markersize=5)
    ax.axhline(0, color=QUIET, linewidth=0.6)
    ax.set_xlim(0.5, values.size + 0.5)
    ax.set_xticks(position if values.size <= 15 else np.unique(np.linspace(1, values.size, 8).astype(int)))
    return finish(ax, "axis", "eigenvalue", title or type(estimator).__name__)
