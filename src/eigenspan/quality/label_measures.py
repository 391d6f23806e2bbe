"""Prediction of labels and numbers from the nearest points in an embedding."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.neighbors import KNeighborsClassifier

from ..data.y import label_array, read_numbers, split_missing
from ..errors import InputError, LabelError
from ..numerics.nearest.engines import choose
from ..numerics.threads import in_slices, workers
from ._check import as_points, check_neighbours

Array = NDArray[np.float64]
Index = NDArray[np.intp]

#: Held-out points per chunk.
_ROWS = 1024
#: Up to this many columns, neighbours are searched by a tree.
_TREE = 12


def knn_accuracy(
    train_Y: Any, train_labels: Any, test_Y: Any = None, test_labels: Any = None, n_neighbors: int = 1
) -> float:
    """Measure the accuracy of nearest-neighbour classification in the embedding.

    Embed the held-out points with ``transform`` of an estimator that was not fitted to them. Without held-out points, each point is
    predicted from the others; the result is then too optimistic for a supervised embedding.

    Parameters
    ----------
    train_Y : array-like of shape (n_train, n_components)
    train_labels : array-like of shape (n_train,)
    test_Y : array-like of shape (n_test, n_components), optional
    test_labels : array-like of shape (n_test,), optional
    n_neighbors : int, default=1
        Number of training points that vote. In a tie the first class in order wins.

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
    if (test_Y is None) != (test_labels is None):
        raise InputError(
            "test_Y and test_labels must be given together. Leave out both to predict each point from the others."
        )
    if test_Y is None:
        Y = as_points(train_Y, "train_Y")
        codes = np.unique(_labels(train_labels, Y.shape[0], "train_labels", "train_Y"), return_inverse=True)[1]
        return float(np.mean(is_majority(near_others(Y, n_neighbors), codes)))
    train, test = as_points(train_Y, "train_Y"), as_points(test_Y, "test_Y")
    if train.shape[1] != test.shape[1]:
        raise InputError(
            f"train_Y has {train.shape[1]} columns and test_Y has {test.shape[1]}: both must be of the same embedding."
        )
    if not train.shape[0] or not test.shape[0]:
        raise InputError(f"train_Y has {train.shape[0]} rows and test_Y has {test.shape[0]}: neither may be empty.")
    known = _labels(train_labels, train.shape[0], "train_labels", "train_Y")
    true = _labels(test_labels, test.shape[0], "test_labels", "test_Y")
    k = check_neighbours(n_neighbors, train.shape[0], "the number of training points")
    rule = KNeighborsClassifier(k).fit(train, known)
    predicted = in_slices(lambda rows: rule.predict(test[rows]), test.shape[0], _ROWS, workers())
    return float(np.mean(np.concatenate(predicted) == true))


def _labels(labels: Any, n: int, name: str, rows: str) -> Any:
    labels = label_array(labels) if np.ndim(labels) == 1 else np.asarray(labels)
    if labels.shape != (n,):
        raise LabelError(f"{name} must have one label per row of {rows} ({n}); got shape {labels.shape}.")
    missing, known = split_missing(labels, None)
    if missing.any():
        raise LabelError(f"{int(missing.sum())} of the {name} are missing: leave those points out.")
    return known


def neighbourhood_hit(Y: Any, y: Any, n_neighbors: int = 10) -> float:
    """Measure the mean share of the nearest points in the embedding that have the label of the point itself.

    .. math:: \\frac1{nk} \\sum_i \\#\\{j \\in N_k^Y(i) : y_j = y_i\\}

    It is 1 if the classes are separated; random labels give Σ_c (n_c/n)².

    Cost: O(nk log n) in few dimensions.

    Parameters
    ----------
    Y : array-like of shape (n_samples, n_components)
        The embedding.
    y : array-like of shape (n_samples,)
        Labels.
    n_neighbors : int, default=10
        k.

    Returns
    -------
    float
        Between 0 and 1.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from eigenspan import LDA
    >>> from eigenspan.quality import neighbourhood_hit
    >>> X, y = load_iris(return_X_y=True)
    >>> neighbourhood_hit(LDA(2).fit_transform(X, y), y) > 0.9
    True

    References
    ----------
    Paulovich et al. (2008).
    """
    Y = as_points(Y, "Y")
    codes = np.unique(_labels(y, Y.shape[0], "y", "Y"), return_inverse=True)[1]
    return float(np.mean(hits(near_others(Y, n_neighbors), codes)))


def knn_r2(Y: Any, y: Any, n_neighbors: int = 10) -> float:
    """Measure R² of nearest-neighbour regression in the embedding: each number is predicted by the mean of the nearest other points.

    .. math:: R^2 = 1 - \\sum_i (y_i - \\hat y_i)^2 \\Big/ \\sum_i (y_i - \\bar y)^2, \\qquad
              \\hat y_i = \\frac1k \\sum_{j \\in N_k^Y(i)} y_j

    Cost: O(nk log n) in few dimensions.

    Parameters
    ----------
    Y : array-like of shape (n_samples, n_components)
        The embedding.
    y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        Numbers; the sums of squares of several columns are added.
    n_neighbors : int, default=10
        k.

    Returns
    -------
    float
        1 for exact predictions, about 0 if the embedding carries no information about y; it can be negative.

    Examples
    --------
    >>> from sklearn.datasets import make_swiss_roll
    >>> from eigenspan import Isomap
    >>> from eigenspan.quality import knn_r2
    >>> X, t = make_swiss_roll(500, random_state=0)
    >>> knn_r2(Isomap(2).fit_transform(X), t) > 0.95
    True
    """
    Y = as_points(Y, "Y")
    T = read_numbers(y, Y.shape[0], "knn_r2")
    missing = int(np.isnan(T).any(axis=1).sum())
    if missing:
        raise LabelError(f"{missing} of the numbers y are missing: leave those points out.")
    return explained(near_others(Y, n_neighbors), T)


def near_others(Y: Any, n_neighbors: Any) -> Index:
    """Return the exact nearest other points of each point; ties are in the order of the search."""
    n = Y.shape[0]
    if n < 2:
        raise InputError(f"At least 2 points are needed to search for neighbours; got {n}.")
    k = check_neighbours(n_neighbors, n - 1, f"one less than the {n} points")
    Y = Y if isinstance(Y, np.ndarray) else Y.toarray()
    search = "tree" if Y.shape[1] <= _TREE else "exact"
    return np.asarray(choose(Y, "euclidean", search, None).near(None, k)[1])


def is_majority(near: Index, codes: Index) -> NDArray[np.bool_]:
    """Return whether each point's class is the most frequent among its neighbours; in a tie the first class wins."""
    votes = np.sort(codes[near], axis=1)
    place = np.arange(near.shape[1])
    begun = np.where(np.diff(votes, axis=1, prepend=-1) != 0, place, 0)
    run = place - np.maximum.accumulate(
        begun, axis=1
    )  # argmax returns the first longest run, so the first class wins a tie
    winner = np.take_along_axis(votes, run.argmax(axis=1)[:, None], axis=1)[:, 0]
    return np.asarray(winner == codes)


def hits(near: Index, codes: Index) -> Array:
    """Return the share of each point's neighbours that have its label."""
    return np.asarray(np.mean(codes[near] == codes[:, None], axis=1))


def explained(near: Index, T: Array) -> float:
    """Return R² of predictions by the mean of the neighbours."""
    left, total = T - T[near].mean(axis=1), T - T.mean(axis=0)
    return 1.0 - float(np.vdot(left, left) / np.vdot(total, total))
