"""What an estimate of dimension says, and the curve it was read from."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Curve:
    """What an estimate was read from, to look at.

    Attributes
    ----------
    x, y : ndarray of shape (m,)
        Ascending in x.
    used : ndarray of bool of shape (m,)
        The part that the estimate rests on.
    x_label, y_label : str
    x_log, y_log : bool
        Whether the axis is better drawn in logarithms.
    reference : ndarray of shape (m,) or None
        What the same curve would be without structure, or by the model that was fitted.
    reference_label : str
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


@dataclass(frozen=True, eq=False)
class Dimension:
    """An estimate of the intrinsic dimension.

    Attributes
    ----------
    dimension : float
    error : float
        One standard error, nan where the method has none.
    method : str
    n_samples : int
        Distinct points that it rests on.
    curve : Curve or None
        What it was read from: `plot` draws it.
    local : ndarray of shape (n_samples,) or None
        The estimate around each point, where the method has one.
    facts : dict
        What else was found on the way (scales fitted, neighbours used, points left out).
    """

    dimension: float
    error: float
    method: str
    n_samples: int
    curve: Curve | None = None
    local: Array | None = None
    facts: dict[str, Any] = field(default_factory=dict)

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
