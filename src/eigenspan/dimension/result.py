"""Results of estimates of dimension, with their curves."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Curve:
    """Curve from which an estimate was derived, for plots.

    Attributes
    ----------
    x, y : ndarray of shape (m,)
        Ascending in x.
    used : ndarray of bool of shape (m,)
        Points of the curve that the estimate uses.
    x_label, y_label : str
        Labels of the axes.
    x_log, y_log : bool
        Use a logarithmic axis.
    reference : ndarray of shape (m,) or None
        Curve of data without structure, or of the fitted model.
    reference_label : str
        Label of the reference.
    """

    x: Array
    y: Array
    used: NDArray[np.bool_]
    x_label: str
    y_label: str
    x_log: bool = False
    y_log: bool = False
    reference: Array | None = None
    reference_label: str = ""


@dataclass(frozen=True, eq=False, repr=False)
class Dimension:
    """An estimate of the intrinsic dimension.

    Attributes
    ----------
    dimension : float
        The estimate.
    error : float
        Standard error; nan if the method has none.
    method : str
        Name of the method.
    n_samples : int
        Number of distinct points used.
    curve : Curve or None
        Curve from which the estimate was derived; `plot` draws it.
    local : ndarray of shape (n_rows,) or None
        Local estimate around each row of X, if the method has one; duplicate rows have the same value.
    facts : dict
        Further results, such as the fitted scales, the neighbours used and the points left out.
    """

    dimension: float
    error: float
    method: str
    n_samples: int
    curve: Curve | None = None
    local: Array | None = None
    facts: dict[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        error = "" if np.isnan(self.error) else f" ± {self.error:.2g}"
        return f"Dimension({self.dimension:.4g}{error}, {self.method!r}, {self.n_samples} points)"

    def plot(self, ax: Any = None) -> Any:
        """Draw the curve with the part that was used and the estimate.

        Parameters
        ----------
        ax : matplotlib Axes, optional

        Returns
        -------
        DimensionDisplay
        """
        from ..plotting import DimensionDisplay

        return DimensionDisplay.from_result(self, ax=ax)


@dataclass(frozen=True, eq=False, repr=False)
class Dimensions:
    """Estimates of several methods for the same data.

    It prints as a table. ``dimensions["mle"]`` is one estimate, ``len(dimensions)`` their number, and iteration yields all of them.

    Attributes
    ----------
    results : tuple of Dimension
    left_out : dict
        Methods that ``"all"`` did not use, with the reason.
    """

    results: tuple[Dimension, ...]
    left_out: dict[str, str] = field(default_factory=dict)

    def __iter__(self) -> Iterator[Dimension]:
        return iter(self.results)

    def __len__(self) -> int:
        return len(self.results)

    def __getitem__(self, method: str) -> Dimension:
        found = [result for result in self.results if result.method == method]
        if not found:
            names = ", ".join(result.method for result in self.results)
            reason = f" ({self.left_out[method]})" if method in self.left_out else ""
            raise InputError(f"There is no estimate by {method!r}{reason}. The estimates are {names}.")
        return found[0]

    def frame(self) -> Any:
        """Return the estimates as a pandas data frame with one row per method.

        Returns
        -------
        DataFrame with columns dimension, error and n_samples
        """
        import pandas as pd

        rows = {r.method: (r.dimension, r.error, r.n_samples) for r in self.results}
        table = pd.DataFrame.from_dict(rows, orient="index", columns=["dimension", "error", "n_samples"])
        return table.rename_axis("method")

    def __repr__(self) -> str:
        width = max(len("method"), *(len(r.method) for r in self.results)) if self.results else 6
        lines = [f"{'method':{width}}  dimension   error  points"]
        for r in self.results:
            error = "" if np.isnan(r.error) else f"{r.error:.2g}"
            lines.append(f"{r.method:{width}}  {r.dimension:9.4g}  {error:>6}  {r.n_samples:6d}")
        lines += [f"{name:{width}}  left out: {reason}" for name, reason in self.left_out.items()]
        return "\n".join(lines)

    def plot(self, axes: Any = None) -> list[Any]:
        """Draw the curve of every estimate that has one.

        Parameters
        ----------
        axes : sequence of matplotlib Axes, optional
            One per estimate with a curve. By default each is drawn in its own figure.

        Returns
        -------
        list of DimensionDisplay
        """
        drawn = [result for result in self.results if result.curve is not None]
        return [
            result.plot(ax) for result, ax in zip(drawn, [None] * len(drawn) if axes is None else axes, strict=True)
        ]
