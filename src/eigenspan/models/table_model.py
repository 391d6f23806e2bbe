"""A fitted estimator with the table it belongs to: what ``eigenspan embed --model`` saves and ``eigenspan transform`` applies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, eq=False)
class TableModel:
    """An estimator, and how the columns of a table become its features.

    Parameters
    ----------
    method : str
    estimator : fitted estimator
    columns : list of str
    center, scale : ndarray of shape (D,)
        Subtracted from the columns, then divided by.
    medians : ndarray of shape (D,)
        In place of missing values.
    label, identifier : str or None
        Columns carried through when a new table has them.
    """

    method: str
    estimator: Any
    columns: list[str]
    center: Any
    scale: Any
    medians: Any
    label: str | None = None
    identifier: str | None = None
