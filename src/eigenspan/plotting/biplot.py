"""Biplot: points and features in one picture."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._checks import real_numbers
from ..errors import InputError
from ._canvas import ink, note
from ._labels import place_labels
from ._read import Array, attribute, column_names, embedding_of, fitted_part, read_embedding
from .point_cloud import EmbeddingDisplay, display_options_of

#: Length of the longest arrow, as a share of the distance to the farthest point.
_ARROW_SHARE = 0.85


class BiplotDisplay:
    """The points of a linear method, with an arrow for every feature.

    .. math:: x_{ij} - \\bar x_j \\approx y_i \\cdot \\ell_j = (y_i s^{\\alpha - 1}) \\cdot (\\ell_j s^{1 - \\alpha})

    The coordinates of a point times the arrow of a feature approximate that feature at the point, as ``inverse_transform`` does, less its
    mean: a feature is large at points in the direction of its arrow. With α = 1, points keep their distances (for PCA, the form biplot).
    With α = 0, points are divided by their standard deviation s along every axis; for PCA, angles between arrows then show the
    correlations of the features, and lengths their standard deviations, as far as two axes can (the covariance biplot). All arrows are
    scaled by one factor, written in the corner, to fill the picture.

    Parameters
    ----------
    scores : array-like of shape (n_points, n_components)
    loadings : array-like of shape (n_features, n_components)
        Change of each feature per unit of each axis.
    y : array-like of shape (n_points,), optional
        Classes or numbers.
    feature_names : sequence of str, optional
        Default: "x0", "x1", …
    alpha : float, default=1.0
        Between 0 and 1, see above.
    **given
        Parameters of `EmbeddingDisplay`.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    points_ : EmbeddingDisplay
    arrows_ : list of Annotation
    labels_ : list of Annotation
        Names of the features at the tips of the arrows.
    features_ : ndarray of int
        Indices of the features drawn, longest arrow first.
    factor_ : float
        Ratio of the lengths of arrows to the lengths of loadings.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from eigenspan import PCA
    >>> from eigenspan.plotting import BiplotDisplay
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> display = BiplotDisplay.from_estimator(PCA(2).fit(X), y, top=2)
    >>> [label.get_text() for label in display.labels_]
    ['petal length (cm)', 'sepal length (cm)']
    """

    def __init__(
        self,
        scores: Any,
        loadings: Any,
        y: Any = None,
        *,
        feature_names: Sequence[str] | None = None,
        alpha: float = 1.0,
        **given: Any,
    ) -> None:
        Y = read_embedding(scores)
        self.loadings = real_numbers(loadings, "Loadings", InputError)
        if self.loadings.ndim != 2 or self.loadings.shape[1] != Y.shape[1] or Y.shape[1] < 2:
            raise InputError(
                f"A biplot needs at least two axes, and loadings with as many columns as the scores: scores have shape {Y.shape}, loadings "
                f"{self.loadings.shape}."
            )
        if not np.isfinite(self.loadings).all() or not self.loadings.any():
            raise InputError("The loadings are missing, infinite or all zero: no arrow can be drawn.")
        names = [f"x{j}" for j in range(len(self.loadings))] if feature_names is None else list(map(str, feature_names))
        if len(names) != len(self.loadings):
            raise InputError(f"There are {len(names)} feature_names for {len(self.loadings)} features.")
        if not 0 <= alpha <= 1:
            raise InputError(f"alpha={alpha!r} must lie between 0 (covariance biplot) and 1 (form biplot).")
        self.feature_names, self.alpha = names, float(alpha)
        spread = np.where(Y.std(axis=0) > 0, Y.std(axis=0), 1.0) ** (1.0 - self.alpha)
        given = {"aspect": "equal", "names": column_names(scores)} | given
        self.points_, self.loadings = EmbeddingDisplay(Y / spread, y, **given), self.loadings * spread

    @classmethod
    def from_estimator(
        cls, fitted: Any, y: Any = None, *, X: Any = None, top: int = 8, ax: Any = None, **given: Any
    ) -> BiplotDisplay:
        """Draw a fitted linear method.

        Parameters
        ----------
        fitted : fitted estimator with ``components_`` and ``inverse_transform``
        y : array-like of shape (n_points,), optional
        X : array-like of shape (n_points, n_features), optional
            Points to draw instead of the training points.
        top : int, default=8
            Number of features that get an arrow: those with the longest arrows.
        ax : matplotlib Axes, optional
        **given
            Parameters of the class. Names of features default to ``feature_names_in_``.

        Returns
        -------
        BiplotDisplay
        """
        attribute(fitted, "components_", "arrows of features need a linear method, such as PCA, without a kernel.")
        part = fitted_part(fitted)
        Y, loadings = embedding_of(fitted, X), _loadings(part)
        defaults = display_options_of(fitted, Y) | {
            "aspect": "equal",
            "feature_names": _feature_names(part, fitted, len(loadings)),
        }
        return cls(Y, loadings, y, **defaults | given).plot(ax, top=top)

    def plot(self, ax: Any = None, *, axes: Sequence[int] = (0, 1), top: int = 8, legend: bool = True) -> BiplotDisplay:
        """Draw the points and the arrows.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Panel to draw on; default: a new figure, without pyplot.
        axes : pair of int, default=(0, 1)
        top : int, default=8
            Number of features that get an arrow: those with the longest arrows.
        legend : bool, default=True

        Returns
        -------
        BiplotDisplay
        """
        if top < 1 or len(axes) != 2:
            raise InputError(f"A biplot needs top >= 1 and two axes; got top={top} and axes={tuple(axes)}.")
        drawn = self.points_.plot(ax, axes=axes, legend=legend)
        arrows = self.loadings[:, list(axes)]
        lengths = np.linalg.norm(arrows, axis=1)
        self.features_ = np.argsort(-lengths, kind="stable")[: int(top)]
        self.factor_ = _factor(drawn.embedding[:, list(axes)], lengths.max())
        tips = self.factor_ * arrows[self.features_]
        style = {"arrowstyle": "-|>", "color": ink(), "linewidth": 1.0, "shrinkA": 0, "shrinkB": 0, "mutation_scale": 8}
        ax = drawn.ax_
        self.arrows_ = [ax.annotate("", tip, xytext=(0.0, 0.0), arrowprops=style) for tip in tips]
        ax.update_datalim(1.12 * tips)
        ax.autoscale_view()
        words = [self.feature_names[j] for j in self.features_]
        self.labels_ = place_labels(ax, tips, words, centre=np.zeros(2), color=ink())
        note(ax, f"arrows × {self.factor_:.3g}")
        self.ax_, self.figure_ = ax, ax.figure
        return self


def _loadings(part: Any) -> Array:
    """Return the change of each feature per unit of each axis, by ``inverse_transform`` or, without one, the pseudoinverse of the axes."""
    d = len(part.components_)
    if hasattr(part, "inverse_transform"):
        rebuilt = np.asarray(part.inverse_transform(np.vstack([np.zeros(d), np.eye(d)])), dtype=np.float64)
        return (rebuilt[1:] - rebuilt[0]).T
    return np.linalg.pinv(part.components_)


def _feature_names(part: Any, fitted: Any, n_features: int) -> Any:
    """Return the feature names of the method or, if they are as many, of the pipeline before it."""
    known = [getattr(owner, "feature_names_in_", []) for owner in (part, fitted)]
    return next((names for names in known if len(names) == n_features), None)


def _factor(Y: Array, longest: float) -> float:
    """Return the factor that scales the longest arrow to almost the distance of the farthest points, ignoring the farthest 2 %."""
    reach = float(np.quantile(np.linalg.norm(Y, axis=1), 0.98))
    return _ARROW_SHARE * reach / longest if reach > 0 and longest > 0 else 1.0
