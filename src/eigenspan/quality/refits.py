"""Fits to subsets of the rows, for measures of an estimator."""

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
from ..data.read import refuse_disguised
from ..errors import EigenspanError, EigenspanWarning, FitWarning, InputError, warn

Array = NDArray[np.float64]
Index = NDArray[np.intp]


class Rows:
    """X and y of an estimator, with selection of rows. If X holds distances or kernel values, columns are selected too."""

    def __init__(self, estimator: Any, X: Any, y: Any = None) -> None:
        refuse_disguised(X)
        if not hasattr(estimator, "fit") or isinstance(estimator, type):
            raise InputError(f"estimator must have fit and transform, such as PCA(2); got {estimator!r:.80}.")
        self.estimator, self.X, self.y = estimator, X if hasattr(X, "shape") else np.asarray(X), y
        self.n = int(self.X.shape[0])
        if self.n < 4:
            raise InputError(f"X has {self.n} rows; at least 4 are needed to leave some out.")
        if y is not None and len(y) != self.n:
            raise InputError(f"X has {self.n} rows and y has {len(y)} values: y must have one value per row.")
        self.pairwise = get_tags(estimator).input_tags.pairwise

    def take(self, rows: Index, columns: Index) -> Any:
        """Return these rows of X as input of a fit to the rows `columns`."""
        taken = rows_of(self.X, rows)
        return rows_of(taken, columns, axis=1) if self.pairwise else taken

    def fit(self, rows: Index) -> Any:
        """Fit a clone to these rows, without warnings: the fit to all rows gives them."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", EigenspanWarning)
            return clone(self.estimator).fit(self.take(rows, rows), None if self.y is None else rows_of(self.y, rows))

    def fits(self, choices: list[Index]) -> Iterator[tuple[Index, Any]]:
        """Yield the fits to these selections of rows that succeed. Warn of those that fail; raise if more than half fail."""
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
        message = (
            f"{failed} of the {len(choices)} fits to subsets of the {self.n} rows failed. The first error: {first}"
        )
        if 2 * failed > len(choices):
            raise type(first)(message) from first
        warn(f"{message} The result is based on the other {len(choices) - failed} fits.", FitWarning)


def embedded(fitted: Any, X: Any) -> Array:
    """Return ``transform(X)`` of a fitted estimator as a 2-D array."""
    Y = np.asarray(fitted.transform(X), dtype=np.float64)
    return Y[:, None] if Y.ndim == 1 else Y


def training_embedding(fitted: Any, X: Any) -> Array:
    """Return the embedding of the training rows."""
    Y = getattr(fitted, "embedding_", None)
    return embedded(fitted, X) if Y is None else np.asarray(Y, dtype=np.float64)
