"""What an embedding is worth to whoever predicts labels or numbers from it."""

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

#: Held-out points asked about at once.
_ROWS = 1024
#: Up to this many features neighbours are found by a tree.
_TREE = 12


def knn_accuracy(
    train_Y: Any, train_labels: Any, test_Y: Any = None, test_labels: Any = None, n_neighbors: int = 1
) -> float:
    """Share of held-out points whose label is told right by their nearest training points in the embedding.

    Embed the held-out points with ``transform`` of an estimator that has not seen them. Without any, each point in turn is told from
    the others: that flatters an embedding which has seen its label.

    Parameters
    ----------
    train_Y : array-like of shape (n_train, n_components)
    train_labels : array-like of shape (n_train,)
    test_Y : array-like of shape (n_test, n_components), optional
    test_labels : array-like of shape (n_test,), optional
    n_neighbors : int, default=1
        Training points that vote; of classes with equally many votes, the first in order wins.

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
            "Held-out points need both test_Y and test_labels; leave out both to tell each point from the others."
        )
    if test_Y is None:
        Y = as_points(train_Y, "train_Y")
        codes = np.unique(_labels(train_labels, Y.shape[0], "train_labels", "train_Y"), return_inverse=True)[1]
        return float(np.mean(told_right(near_others(Y, n_neighbors), codes)))
    train, test = as_points(train_Y, "train_Y"), as_points(test_Y, "test_Y")
    if train.shape[1] != test.shape[1]:
        raise InputError(
            f"train_Y has {train.shape[1]} columns and test_Y has {test.shape[1]}: they must be one embedding."
        )
    if not train.shape[0] or not test.shape[0]:
        raise InputError(
            f"There must be points on both sides; got {train.shape[0]} for training and {test.shape[0]} held out."
        )
    known = _labels(train_labels, train.shape[0], "train_labels", "train_Y")
    true = _labels(test_labels, test.shape[0], "test_labels", "test_Y")
    k = check_neighbours(n_neighbors, train.shape[0], "the number of training points")
    rule = KNeighborsClassifier(k).fit(train, known)
    told = in_slices(lambda rows: rule.predict(test[rows]), test.shape[0], _ROWS, workers())
    return float(np.mean(np.concatenate(told) == true))


def _labels(labels: Any, n: int, name: str, rows: str) -> Any:
    labels = label_array(labels) if np.ndim(labels) == 1 else np.asarray(labels)
    if labels.shape != (n,):
        raise LabelError(f"{name} must be one label for each of the {n} rows of {rows}; got shape {labels.shape}.")
    missing, known = split_missing(labels, None)
    if missing.any():
        raise LabelError(f"{int(missing.sum())} of the {name} are missing: leave those points out.")
    return known


def neighbourhood_hit(Y: Any, y: Any, n_neighbors: int = 10) -> float:
    """Mean share of the nearest points in the embedding that have the label of the point itself.

    .. math:: \\frac1{nk} \\sum_i \\#\\{j \\in N_k^Y(i) : y_j = y_i\\}

    1 where classes lie apart; classes laid at random over each other give Σ_c (n_c/n)².

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
    """How well numbers are told by the mean of the nearest other points in the embedding.

    .. math:: R^2 = 1 - \\sum_i (y_i - \\hat y_i)^2 \\Big/ \\sum_i (y_i - \\bar y)^2, \\qquad
              \\hat y_i = \\frac1k \\sum_{j \\in N_k^Y(i)} y_j

    Cost: O(nk log n) in few dimensions.

    Parameters
    ----------
    Y : array-like of shape (n_samples, n_components)
        The embedding.
    y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        Numbers; of several columns the sums of squares are added up.
    n_neighbors : int, default=10
        k.

    Returns
    -------
    float
        1 where they are told exactly, about 0 where the embedding says nothing of them, negative where it misleads.

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
    """The nearest other points of each, exactly, equal distances in the order of the search."""
    n = Y.shape[0]
    if n < 2:
        raise InputError(f"Neighbours need at least 2 points; got {n}.")
    k = check_neighbours(n_neighbors, n - 1, f"one less than the {n} points")
    Y = Y if isinstance(Y, np.ndarray) else Y.toarray()
    search = "tree" if Y.shape[1] <= _TREE else "exact"
    return np.asarray(choose(Y, "euclidean", search, None).near(None, k)[1])


def told_right(near: Index, codes: Index) -> NDArray[np.bool_]:
    """Whether most of the neighbours have the label; the first class where two have equally many."""
    votes = np.sort(codes[near], axis=1)
    place = np.arange(near.shape[1])
    begun = np.where(np.diff(votes, axis=1, prepend=-1) != 0, place, 0)
    run = place - np.maximum.accumulate(begun, axis=1)  # where the longest run ends first, the first class has most
    winner = np.take_along_axis(votes, run.argmax(axis=1)[:, None], axis=1)[:, 0]
    return np.asarray(winner == codes)


def hits(near: Index, codes: Index) -> Array:
    """Share of the neighbours with the same label, of each point."""
    return np.asarray(np.mean(codes[near] == codes[:, None], axis=1))


def explained(near: Index, T: Array) -> float:
    """R² of the means of the neighbours."""
    left, total = T - T[near].mean(axis=1), T - T.mean(axis=0)
    return 1.0 - float(np.vdot(left, left) / np.vdot(total, total))
