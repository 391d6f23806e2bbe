"""Plot of the share of neighbours that embeddings preserve, against the neighbourhood size."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .._checks import real_numbers
from ..errors import InputError
from ._canvas import QUIET, axes_of, finish, logarithmic, quiet_legend
from ._colours import FEW, visible
from ._read import Array, one_of, some

_NAMES = {"r_nx": "$R_{NX}(K)$", "q_nx": "$Q_{NX}(K)$", "lcmc": "LCMC$(K)$"}
#: Maximum number of curves for which the legend is above them, and the height of an entry as a share of the height of the panel.
_FEW_CURVES, _ENTRY = 6, 0.085
_LINES = ("-", "--", ":", "-.")


class RankCurvesDisplay:
    """The share of the K nearest neighbours that embeddings preserve, for every K.

    ``q_nx`` is the share itself; a random embedding reaches K/(n − 1). ``lcmc`` is the difference from that of a random embedding. ``r_nx``
    is this difference divided by its maximum, so that 0 is random and 1 is perfect at every K. The area under R_NX over log K, in the
    legend, weighs small and large neighbourhoods alike.

    Parameters
    ----------
    results : dict of str to CoRanking
        Results of ``quality.coranking`` by the name of the embedding.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    lines_ : dict of str to Line2D
    bands_ : dict of str to FillBetweenPolyCollection
        One standard error on either side, if a sample of the points was used.
    chance_ : Line2D
        The curve of a random embedding.
    legend_ : Legend

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from eigenspan import PCA
    >>> from eigenspan.plotting import RankCurvesDisplay
    >>> X, _ = load_iris(return_X_y=True)
    >>> display = RankCurvesDisplay.from_embeddings(X, {f"PCA, {d}": PCA(d).fit_transform(X) for d in (1, 2)})
    >>> [text.get_text()[:6] for text in display.legend_.get_texts()]
    ['PCA, 1', 'PCA, 2']
    """

    def __init__(self, results: Mapping[str, Any]) -> None:
        self.results = some(results, "results")

    @classmethod
    def from_results(cls, results: Mapping[str, Any], *, which: str = "r_nx", ax: Any = None) -> RankCurvesDisplay:
        """Draw co-rankings that were computed before; parameters as in `plot`."""
        return cls(results).plot(ax, which=which)

    @classmethod
    def from_embeddings(
        cls, X: Any, embeddings: Mapping[str, Any], *, which: str = "r_nx", ax: Any = None, **given: Any
    ) -> RankCurvesDisplay:
        """Compute the co-rankings of embeddings of X, and draw the curves.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        embeddings : dict of str to array-like of shape (n_samples, n_components)
        which : {"r_nx", "q_nx", "lcmc"}, default="r_nx"
        ax : matplotlib Axes, optional
        **given
            Parameters of ``quality.coranking``.

        Returns
        -------
        RankCurvesDisplay
        """
        from ..quality import coranking

        found = {name: coranking(X, Y, **given) for name, Y in some(embeddings, "embeddings").items()}
        return cls(found).plot(ax, which=which)

    def plot(self, ax: Any = None, *, which: str = "r_nx") -> RankCurvesDisplay:
        """Draw the curves.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Panel to draw on; default: a new figure, without pyplot.
        which : {"r_nx", "q_nx", "lcmc"}, default="r_nx"

        Returns
        -------
        RankCurvesDisplay
        """
        one_of("which", which, tuple(_NAMES))
        curves = {name: _curve(result, which, name) for name, result in self.results.items()}
        ax = axes_of(ax, 4.8, 3.6)
        longest = max(curve.size for curve in curves.values())
        K = np.arange(1, longest + 1)
        n = max(getattr(result, "n_samples", longest + 2) for result in self.results.values())
        chance = K / (n - 1.0) if which == "q_nx" else np.zeros(longest)
        self.chance_ = ax.plot(K, chance, color=QUIET, linewidth=0.8, label="chance" if which == "q_nx" else None)[0]
        self.lines_, self.bands_ = {}, {}
        for i, (name, curve) in enumerate(curves.items()):
            style = {
                "color": visible(FEW)[i % len(FEW)],
                "linestyle": _LINES[i // len(FEW) % len(_LINES)],
                "linewidth": 1.5,
            }
            area = getattr(self.results[name], "auc", None)
            label = name if area is None else f"{name}  (AUC {float(area):.3f})"
            self.lines_[name] = ax.plot(K[: curve.size], curve, label=label, **style)[0]
            error = np.asarray(getattr(self.results[name], "r_nx_error" if which == "r_nx" else "q_nx_error", 0.0))
            if error.any():
                around = {"color": style["color"], "alpha": 0.2, "linewidth": 0}
                self.bands_[name] = ax.fill_between(K[: curve.size], curve - error, curve + error, **around)
        ax.set_xlim(1, longest)
        logarithmic(ax, "x")
        self.legend_ = _legend(ax, len(curves) + (which == "q_nx"))
        self.ax_, self.figure_ = finish(ax, "neighbours K", _NAMES[which], "Neighbours preserved"), ax.figure
        return self


def _legend(ax: Any, entries: int) -> Any:
    """Draw the legend above the curves, with room for it, or beside them if it is long."""
    if entries > _FEW_CURVES:
        return quiet_legend(ax, loc="center left", bbox_to_anchor=(1, 0.5))
    low, high = ax.get_ylim()
    ax.set_ylim(low, high + _ENTRY * entries * (high - low))
    return quiet_legend(ax, loc="upper left")


def _curve(result: Any, which: str, name: str) -> Array:
    found = getattr(result, which, None)
    if found is None:
        raise InputError(
            f"The result {name!r} is a {type(result).__name__} without {which}: pass a result of quality.coranking."
        )
    curve = real_numbers(found, f"{which} of {name!r}", InputError)
    if curve.ndim != 1 or not curve.size:
        raise InputError(f"{which} of {name!r} must be one number per K, but has shape {curve.shape}.")
    return curve
