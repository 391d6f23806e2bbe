"""The data of the tasks: functions of the number of rows, always the same for the same number."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

Arrays = dict[str, Any]


class MissingDataError(Exception):
    """The data of a task are not on this machine."""


def roll(n: int) -> Arrays:
    """Swiss roll in three dimensions; `truth` is the sheet it was rolled from (arc length, height)."""
    from sklearn.datasets import make_swiss_roll

    X, t = make_swiss_roll(n, random_state=0)
    arc = 0.5 * (t * np.sqrt(1 + t**2) + np.arcsinh(t))
    return {"X": X, "truth": np.column_stack([arc, X[:, 1]])}


def normal(n: int) -> Arrays:
    """Normal points in ten dimensions."""
    return {"X": np.random.default_rng(0).standard_normal((n, 10))}


def roll_graph(n: int) -> Arrays:
    """The same with W, its symmetric 12-nearest-neighbour graph with weights 0 and 1."""
    import eigenspan

    made = roll(n)
    W = eigenspan.KNN(12).build(made["X"]).undirected()
    W = sp.csr_array((np.ones(W.nnz), W.indices.astype(np.int32), W.indptr.astype(np.int32)), shape=W.shape)
    return made | {"W": W}


def roll_pairs(n: int, k: int) -> Arrays:
    """Swiss roll with the pairs of its k-nearest-neighbour graph, bridged where it falls apart, and their squared distances."""
    return _with_pairs(roll(n), k)


def digit_pairs(n: int, k: int) -> Arrays:
    """The first `n` of scikit-learn's 8×8 digits, with pairs in the same way."""
    from sklearn.datasets import load_digits

    return _with_pairs({"X": load_digits().data[:n]}, k)


def _with_pairs(made: Arrays, k: int) -> Arrays:
    from eigenspan import KNN
    from eigenspan.graphs import ensure_connected

    graph, _ = ensure_connected(KNN(k).build(made["X"]), made["X"], "connect")
    upper = sp.coo_array(sp.triu(graph.undirected(), 1))
    return made | {"pairs": np.column_stack([upper.row, upper.col]), "squares": upper.data**2}


def mnist(n: int) -> Arrays:
    """`n` random MNIST digits, their 50 leading principal components, and their labels."""
    images, y = _mnist(n)
    X = images - images.mean(axis=0)
    axes = np.linalg.eigh(X.T @ X)[1][:, :-51:-1]
    return {"X": X @ axes, "y": y}


def mnist_images(n: int) -> Arrays:
    """`n` random MNIST digits as 784 pixels."""
    return dict(zip("Xy", _mnist(n), strict=True))


def _mnist(n: int) -> tuple[Any, Any]:
    folder = os.environ.get("EIGENSPAN_DATA")
    path = Path(folder or ".") / "mnist.npz"
    if folder is None or not path.exists():
        raise MissingDataError(
            "mnist.npz (X of shape 70000×784, y) is looked for in the folder named by EIGENSPAN_DATA"
        )
    with np.load(path) as stored:
        rows = np.sort(np.random.default_rng(0).permutation(len(stored["y"]))[:n])
        return stored["X"][rows].astype(np.float64), stored["y"][rows]


def decaying(n: int, d: int, dtype: Any = np.float64) -> Arrays:
    """Gaussian data of which the i-th hidden axis has standard deviation 1/√i, far from the origin."""
    rng = np.random.default_rng(0)
    axes = np.linalg.qr(rng.standard_normal((d, d)))[0] / np.sqrt(np.arange(1, d + 1))[:, None]
    X = np.empty((n, d), dtype)
    for i in range(0, n, 10_000):
        X[i : i + 10_000] = rng.standard_normal((min(10_000, n - i), d)) @ axes + 3.0
    return {"X": X}


def wide(n: int, d: int = 5_000) -> Arrays:
    """Fewer rows than features: hidden axes of standard deviation 1/√i under noise in all directions."""
    rng = np.random.default_rng(0)
    hidden = rng.standard_normal((n, 100)) / np.sqrt(np.arange(1, 101))
    return {"X": 3.0 + hidden @ rng.standard_normal((100, d)) + 0.5 * rng.standard_normal((n, d))}


def wide_classes(n: int, c: int = 10) -> Arrays:
    """The same in `c` classes, their means as far apart as the noise is wide in a hundred directions."""
    y = np.random.default_rng(1).integers(c, size=n)
    X = wide(n)["X"]
    X[:, :100] += np.random.default_rng(2).standard_normal((c, 100))[y]
    return {"X": X, "y": y}


def documents(n: int, d: int = 20_000, topics: int = 20) -> Arrays:
    """Rows of d/100 words at random, as logarithms of their counts: a few common ones, many rare ones, and topics that share some; y is the
    topic that a row has most of."""
    rng = np.random.default_rng(0)
    common = np.arange(1, d + 1) ** -0.8
    rates = np.stack([rng.permutation(common) + common for _ in range(topics)])
    sums = np.cumsum(rates / rates.sum(axis=1, keepdims=True), axis=1)
    each = d // 90  # some words come more than once
    mixture = np.cumsum(rng.dirichlet(np.full(topics, 0.2), n), axis=1)
    columns = np.empty((n, each), dtype=np.int64)
    for i in range(n):
        topic = np.minimum(np.searchsorted(mixture[i], rng.random(each)), topics - 1)
        drawn = rng.random(each)
        for t in np.unique(topic):
            columns[i, topic == t] = np.minimum(np.searchsorted(sums[t], drawn[topic == t]), d - 1)
    X = sp.csr_array((np.ones(n * each), (np.repeat(np.arange(n), each), columns.ravel())), shape=(n, d))
    X.sum_duplicates()
    X.data = np.log1p(X.data)
    return {"X": X, "y": np.diff(mixture, axis=1, prepend=0.0).argmax(axis=1)}


def classes(n: int, d: int = 784, c: int = 10) -> Arrays:
    """`c` Gaussian classes with one covariance of decaying spectrum, their means as far apart as it is wide."""
    y = np.random.default_rng(1).integers(c, size=n)
    centres = np.random.default_rng(2).standard_normal((c, d)) / np.sqrt(d)
    return {"X": decaying(n, d)["X"] + centres[y], "y": y}


def clusters(n: int, d: int = 20, c: int = 20) -> Arrays:
    """`c` Gaussian clusters of unit width."""
    rng = np.random.default_rng(0)
    y = rng.integers(c, size=n)
    return {"X": rng.standard_normal((c, d))[y] * 2.0 + rng.standard_normal((n, d)), "y": y}


def two_views(n: int, d: int = 50) -> Arrays:
    """Two tables of standardised columns, mixed from columns of which four pairs are correlated, 0.9 to 0.3."""
    rng, r = np.random.default_rng(0), np.zeros(d)
    r[:4] = 0.9, 0.7, 0.5, 0.3
    A, B = (rng.standard_normal((n, d)) for _ in range(2))
    tables = A @ rng.standard_normal((d, d)), (r * A + np.sqrt(1 - r**2) * B) @ rng.standard_normal((d, d))
    return {name: (Z - Z.mean(axis=0)) / Z.std(axis=0, ddof=1) for name, Z in zip("XY", tables, strict=True)}


def modes(n: int, d: int = 100, c: int = 10) -> Arrays:
    """`c` classes of three Gaussian clusters each, and as `some` the labels of every second point, −1 elsewhere."""
    made = clusters(n, d, 3 * c)
    y = made["y"] % c
    return {"X": made["X"], "y": y, "some": np.where(np.arange(n) % 2 == 0, y, -1)}


def distances(n: int) -> Arrays:
    """Gaussian points in ten dimensions with unequal axes, their distances, and as `truth` their two principal components."""
    from scipy.spatial.distance import pdist, squareform

    X = np.random.default_rng(0).standard_normal((n, 10)) / np.arange(1, 11)
    U, s, _ = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)
    return {"X": X, "D": squareform(pdist(X)), "truth": U[:, :2] * s[:2]}


def words(n: int, d: int = 100, topics: int = 300) -> Arrays:
    """Synthetic stand-in for word vectors: heavy-tailed topics of Zipf-distributed sizes, rows of unit length."""
    rng = np.random.default_rng(0)
    share = 1.0 / np.arange(1, topics + 1)
    y = rng.choice(topics, size=n, p=share / share.sum())
    X = rng.standard_t(4, (topics, d))[y] + rng.standard_t(4, (n, d))
    return {"X": X / np.linalg.norm(X, axis=1, keepdims=True)}
