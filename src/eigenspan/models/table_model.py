"""The model of a table: what ``eigenspan embed --model`` saves and ``eigenspan transform`` applies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, eq=False)
class TableModel:
    """A fitted estimator with the columns of its table and their scaling.

    Parameters
    ----------
    method : str
    estimator : fitted estimator
    columns : list of str
    center, scale : ndarray of shape (D,)
        Values subtracted from the columns, and values they are then divided by.
    medians : ndarray of shape (D,)
        Replacements for missing values.
    label, identifier : str or None
        Columns copied to the output if a new table has them.
    """

    method: str
    estimator: Any
    columns: list[str]
    center: Any
    scale: Any
    medians: Any
    label: str | None = None
    identifier: str | None = None
