"""What an embedding is worth to a classifier."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.neighbors import KNeighborsClassifier

from .._resources import in_slices, workers
from ..errors import InputError, LabelError
from ..input.y import label_array, split_missing
from ._check import as_points, check_neighbours

#: Held-out points asked about at once.
_ROWS = 1024


def knn_accuracy(train_Y: Any, train_labels: Any, test_Y: Any, test_labels: Any, n_neighbors: int = 1) -> float:
    """Share of held-out points whose label is told right by their nearest training points in the embedding.

    Embed the held-out points with ``transform`` of an estimator that has not seen them.

    Parameters
    ----------
    train_Y : array-like of shape (n_train, n_components)
    train_labels : array-like of shape (n_train,)
    test_Y : array-like of shape (n_test, n_components)
    test_labels : array-like of shape (n_test,)
    n_neighbors : int, default=1
        Training points that vote.

    Returns
    -------
    float
        Between 0 and 1.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from eigenspan import LDA
    >>> from eigenspan.quality import knn_accuracy
    >>> X, y = load_iris(return_X_y=True)
    >>> lda = LDA(2).fit(X[::2], y[::2])
    >>> knn_accuracy(lda.embedding_, y[::2], lda.transform(X[1::2]), y[1::2]) > 0.9
    True
    """
    train, test = as_points(train_Y, "train_Y"), as_points(test_Y, "test_Y")
    if train.shape[1] != test.shape[1]:
        raise InputError(
            f"train_Y has {train.shape[1]} columns and test_Y has {test.shape[1]}: they must be one embedding."
        )
    if not train.shape[0] or not test.shape[0]:
        raise InputError(
            f"There must be points on both sides; got {train.shape[0]} for training and {test.shape[0]} held out."
        )
    known, true = _labels(train_labels, train.shape[0], "train"), _labels(test_labels, test.shape[0], "test")
    k = check_neighbours(n_neighbors, train.shape[0], "the number of training points")
    rule = KNeighborsClassifier(k).fit(train, known)
    told = in_slices(lambda rows: rule.predict(test[rows]), test.shape[0], _ROWS, workers())
    return float(np.mean(np.concatenate(told) == true))


def _labels(labels: Any, n: int, side: str) -> Any:
    labels = label_array(labels) if np.ndim(labels) == 1 else np.asarray(labels)
    if labels.shape != (n,):
        raise LabelError(
            f"{side}_labels must be one label for each of the {n} rows of {side}_Y; got shape {labels.shape}."
        )
    missing, known = split_missing(labels, None)
    if missing.any():
        raise LabelError(f"{int(missing.sum())} of the {side}_labels are missing: leave those points out.")
    return known
