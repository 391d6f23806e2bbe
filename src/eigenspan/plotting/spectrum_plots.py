"""Plots of the eigenvalues of an embedding."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._checks import real_numbers
from ..errors import InputError
from ..problem.dimension_rules import suggested_dimension
from ._canvas import MID, QUIET, axes_of, finish, logarithmic, quiet_legend
from ._colours import FEW
from ._read import Array, attribute, fitted_part, method_name

#: Height reserved for the legend, as a share of the height of the eigenvalues.
_HEADROOM = 0.3
_TOP = 1 / (1 + _HEADROOM)
_WHY = "it is not a spectral method."


class SpectrumDisplay:
    """Eigenvalues, best first: those kept, the gap after them, and the suggested dimension.

    A large gap after the d-th eigenvalue suggests d dimensions; no gap after the last one kept means that the number of axes is arbitrary.

    Parameters
    ----------
    eigenvalues : array-like of shape (m,)
        Eigenvalues, best first.
    n_components : int, optional
        Number of eigenvalues that belong to the embedding; default: all.
    beyond : float, optional
        The next eigenvalue after those given, if known.
    suggested : int, optional
        The dimension suggested by the spectrum.
    title : str, optional

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    kept_, rest_, beyond_ : Line2D or None
        The eigenvalues of the embedding, further ones, and the next one, which was not computed with them.
    cut_, suggested_ : Line2D or None
        Lines after the eigenvalues kept and after the suggested dimension.
    legend_ : Legend or None

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from eigenspan import PCA
    >>> from eigenspan.plotting import SpectrumDisplay
    >>> X, _ = load_iris(return_X_y=True)
    >>> display = SpectrumDisplay.from_estimator(PCA(2).fit(X))
    >>> [text.get_text() for text in display.legend_.get_texts()]
    ['2 kept', 'the next', 'cut: a drop of 68 %']
    """

    def __init__(
        self,
        eigenvalues: Any,
        *,
        n_components: int | None = None,
        beyond: float | None = None,
        suggested: int | None = None,
        title: str | None = None,
    ) -> None:
        values = real_numbers(eigenvalues, "Eigenvalues", InputError)
        if values.ndim != 1 or not values.size or not np.isfinite(values).all():
            raise InputError(
                f"Eigenvalues must be a 1-D array of finite numbers; got shape {values.shape}: {values!r:.80}."
            )
        self.eigenvalues = values
        self.n_components = values.size if n_components is None else int(n_components)
        if not 1 <= self.n_components <= values.size:
            raise InputError(
                f"n_components={n_components} must be between 1 and the number of eigenvalues, {values.size}."
            )
        self.beyond = None if beyond is None or not np.isfinite(beyond) else float(beyond)
        self.suggested, self.title = suggested, title

    @classmethod
    def from_eigenvalues(
        cls, eigenvalues: Any, *, suggest: bool = False, log: bool = False, ax: Any = None, **given: Any
    ) -> SpectrumDisplay:
        """Draw eigenvalues.

        Parameters
        ----------
        eigenvalues : array-like of shape (m,)
        suggest : bool, default=False
            Whether to draw the suggested dimension; the eigenvalues must then be the variances along all axes.
        log : bool, default=False
        ax : matplotlib Axes, optional
        **given
            Parameters of the class.

        Returns
        -------
        SpectrumDisplay
        """
        display = cls(eigenvalues, **given)
        if suggest and display.suggested is None:
            display.suggested = suggested_dimension(display.eigenvalues)
        return display.plot(ax, log=log)

    @classmethod
    def from_estimator(cls, fitted: Any, *, log: bool = False, ax: Any = None, **given: Any) -> SpectrumDisplay:
        """Draw the eigenvalues of a fitted estimator: ``spectrum_`` if it has all of them, else ``eigenvalues_``.

        Parameters
        ----------
        fitted : fitted estimator
        log : bool, default=False
        ax : matplotlib Axes, optional
        **given
            Parameters of the class.

        Returns
        -------
        SpectrumDisplay
        """
        kept = np.asarray(attribute(fitted, "eigenvalues_", _WHY), dtype=np.float64)
        part = fitted_part(fitted)
        whole = getattr(part, "spectrum_", None)
        defaults: dict[str, Any] = {
            "n_components": kept.size,
            "suggested": getattr(part, "suggested_dimension_", kept.size if _is_automatic(part) else None),
            "beyond": _beyond(part, kept) if whole is None else None,
            "title": method_name(fitted),
        }
        return cls(kept if whole is None else whole, **defaults | given).plot(ax, log=log)

    def plot(self, ax: Any = None, *, log: bool = False) -> SpectrumDisplay:
        """Draw the eigenvalues.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Panel to draw on; default: a new figure, without pyplot.
        log : bool, default=False
            Use a logarithmic scale; eigenvalues that are not positive are left out, and counted in the legend.

        Returns
        -------
        SpectrumDisplay
        """
        values, d = self.eigenvalues, self.n_components
        shown = np.append(values, [] if self.beyond is None else self.beyond)
        if log and not (shown > 0).any():
            raise InputError(
                "None of the eigenvalues is positive: a logarithmic scale cannot show them. Use log=False."
            )
        ax = axes_of(ax)
        position = np.arange(1, shown.size + 1)
        drawn = shown > 0 if log else np.ones(shown.size, dtype=bool)
        floor = 0.5 * shown[drawn].min() if log else 0.0
        ax.vlines(position[drawn], floor, shown[drawn], color=QUIET, linewidth=1.2)
        dots = [
            drawn & (position <= d),
            drawn & (position > d) & (position <= values.size),
            drawn & (position > values.size),
        ]
        styles = [("o", FEW[0], FEW[0], f"{d} kept"), ("o", MID, MID, "not kept"), ("o", MID, "none", "the next")]
        self.kept_, self.rest_, self.beyond_ = (
            ax.plot(position[rows], shown[rows], marker, color=edge, markerfacecolor=face, markersize=5, label=label)[0]
            if rows.any()
            else None
            for rows, (marker, edge, face, label) in zip(dots, styles, strict=True)
        )
        if log:
            logarithmic(ax, "y")
        else:
            ax.axhline(0, color=QUIET, linewidth=0.6)
        self._lines(ax, shown, int((~drawn).sum()))
        ax.set_xlim(0.5, shown.size + 0.5)
        ax.set_xticks(position if shown.size <= 15 else np.unique(np.linspace(1, shown.size, 8).astype(int)))
        self.ax_, self.figure_ = finish(ax, "axis", "eigenvalue", self.title or "Eigenvalues"), ax.figure
        return self

    def _lines(self, ax: Any, shown: Array, left_out: int) -> None:
        """Draw lines at the cut and at the suggested dimension, and a legend if there is anything to explain."""
        d = self.n_components
        self.cut_ = self.suggested_ = self.legend_ = None
        if d < shown.size:
            self.cut_ = ax.axvline(
                d + 0.5,
                color=MID,
                linewidth=0.9,
                linestyle="--",
                ymax=_TOP,
                label=f"cut: {_jump(*shown[d - 1 : d + 1])}",
            )
        if self.suggested is not None:
            label = f"suggested dimension: {self.suggested}"
            self.suggested_ = ax.axvline(
                self.suggested + 0.5, color=FEW[1], linewidth=1.4, linestyle=":", ymax=_TOP, label=label
            )
        if left_out:
            ax.plot([], [], " ", label=f"{left_out} not positive, left out")
        if left_out or self.cut_ is not None or self.suggested_ is not None:
            self.legend_ = quiet_legend(ax, loc="upper center", ncols=2, columnspacing=1.0)
            low, high = ax.get_ylim()
            ax.set_ylim(low, high * (high / low) ** _HEADROOM if low > 0 else high + _HEADROOM * (high - low))


def _is_automatic(part: Any) -> bool:
    """Whether the number of axes was chosen by the spectrum (a string such as "auto")."""
    return isinstance(getattr(part, "n_components", None), str)


def _beyond(part: Any, kept: Array) -> float | None:
    """Return the next eigenvalue, computed from the relative gap to it; None if the gap does not determine it."""
    gap, last = float(getattr(part, "gap_", np.inf)), float(kept[-1])
    if not np.isfinite(gap) or last <= 0 or gap >= 1:
        return None
    return last / (1 - gap) if getattr(getattr(part, "problem_", None), "sense", "max") == "min" else last * (1 - gap)


def _jump(last: float, beyond: float) -> str:
    larger = max(abs(last), abs(beyond))
    share = abs(last - beyond) / larger if larger else 0.0
    return f"a {'drop' if beyond <= last else 'rise'} of {100 * share:.2g} %"


def spectrum(estimator: Any, ax: Any = None, title: str | None = None) -> Any:
    """Draw the eigenvalues of a fitted estimator, best first: a short form of `SpectrumDisplay`, with only those kept.

    A large gap after the d-th suggests d dimensions (see ``gap_``).

    Parameters
    ----------
    estimator : fitted estimator with ``eigenvalues_``
    ax : matplotlib Axes, optional
    title : str, optional
        Default: the name of the estimator.

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
        raise InputError(f"{type(estimator).__name__} has no eigenvalues_: it is not fitted, or not a spectral method.")
    return SpectrumDisplay(values, title=title or type(estimator).__name__).plot(ax).ax_
