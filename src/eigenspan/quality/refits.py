"""Fits to parts of the rows: what the measures of an estimator, not of one picture, are made of."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import get_tags

from .._compat import rows_of
from .._diagnostics import logger
from ..data.table_checks import refuse_disguised
from ..errors import EigenspanError, EigenspanWarning, FitWarning, InputError, warn

Array = NDArray[np.float64]
Index = NDArray[np.intp]


class Rows:
    """X and y of an estimator, of which some rows can be taken; of distances or kernel values the columns go with them."""

    def __init__(self, estimator: Any, X: Any, y: Any = None) -> None:
        refuse_disguised(X)
        if not hasattr(estimator, "fit") or isinstance(estimator, type):
            raise InputError(f"An estimator with fit and transform is needed, such as PCA(2); got {estimator!r:.80}.")
        self.estimator, self.X, self.y = estimator, X if hasattr(X, "shape") else np.asarray(X), y
        self.n = int(self.X.shape[0])
        if self.n < 4:
            raise InputError(f"Leaving rows out needs at least 4 of them; X has {self.n}.")
        if y is not None and len(y) != self.n:
            raise InputError(f"X has {self.n} rows and y has {len(y)}: there must be one for each row.")
        self.pairwise = get_tags(estimator).input_tags.pairwise

    def take(self, rows: Index, columns: Index) -> Any:
        """These rows of X, as seen by a fit to the rows `columns`."""
        taken = rows_of(self.X, rows)
        return rows_of(taken, columns, axis=1) if self.pairwise else taken

    def fit(self, rows: Index) -> Any:
        """A fresh fit to some of the rows, whose warnings the fit to all of them has given already."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", EigenspanWarning)
            return clone(self.estimator).fit(self.take(rows, rows), None if self.y is None else rows_of(self.y, rows))

    def fits(self, choices: list[Index]) -> Iterator[tuple[Index, Any]]:
        """Those of the fits to these choices of rows that there are; it is said how many there are not, and why."""
        first, failed = None, 0
        for i, rows in enumerate(choices):
            try:
                fitted = self.fit(rows)
            except EigenspanError as failure:
                first, failed = first or failure, failed + 1
                continue
            logger.info("refit %d of %d", i + 1, len(choices))
            yield rows, fitted
        if first is None:
            return
        said = f"{failed} of the {len(choices)} fits to a part of the {self.n} rows failed. The first: {first}"
        if 2 * failed > len(choices):
            raise type(first)(said) from first
        warn(f"{said} The figures are those of the other {len(choices) - failed}.", FitWarning)


def embedded(fitted: Any, X: Any) -> Array:
    """What a fitted estimator makes of X, as plain numbers."""
    Y = np.asarray(fitted.transform(X), dtype=np.float64)
    return Y[:, None] if Y.ndim == 1 else Y


def training_embedding(fitted: Any, X: Any) -> Array:
    """Where a fit has put its own rows."""
    Y = getattr(fitted, "embedding_", None)
    return embedded(fitted, X) if Y is None else np.asarray(Y, dtype=np.float64)
