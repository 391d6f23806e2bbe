"""Points, labels and containers of the fuzzer, and values of parameters that follow from the points.

Every function is called by name in the snippets that the fuzzer prints. Lengths (`spread`) and rows (`spaced_rows`) are computed from the
points, so that they scale, turn and are reordered with them: a relation changes the points and evaluates the same expressions again.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from scipy.spatial.distance import pdist, squareform

# ---------------------------------------------------------------------- points
GEOMETRIES: dict[str, Callable[..., Any]] = {}
#: Geometries with equal distances: neighbours are not determined by the points, only by a rule for ties.
TIED: set[str] = set()


def geometry(function: Callable[..., Any]) -> Callable[..., Any]:
    GEOMETRIES[function.__name__] = function
    return function


def tied(function: Callable[..., Any]) -> Callable[..., Any]:
    TIED.add(function.__name__)
    return geometry(function)


@geometry
def gaussian(n: int, D: int, seed: int) -> Any:
    """Return normal points with unequal variances."""
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, D)) * np.linspace(2.0, 0.5, D) + 0.3


@geometry
def clusters(n: int, D: int, seed: int) -> Any:
    """Return three distant groups."""
    rng = np.random.default_rng(seed)
    return 30.0 * rng.standard_normal((3, D))[np.arange(n) % 3] + rng.standard_normal((n, D))


@geometry
def swiss_roll(n: int, D: int, seed: int) -> Any:
    """Return a swiss roll; further columns are noise."""
    rng = np.random.default_rng(seed)
    t, h = rng.uniform(4, 10, n), rng.uniform(0, 8, n)
    return np.column_stack([t * np.cos(t), t * np.sin(t), h, 0.3 * rng.standard_normal((n, max(1, D - 3)))])[:, :D]


@tied
def grid(n: int, D: int, seed: int) -> Any:
    """Return points of a 2-D lattice, with many equal distances."""
    side = int(np.ceil(np.sqrt(n)))
    plane = np.stack(np.meshgrid(np.arange(side), np.arange(side)), axis=-1).reshape(-1, 2)[:n].astype(float)
    return np.column_stack([plane, np.zeros((n, max(0, D - 2)))])[:, :D]


@tied
def duplicates(n: int, D: int, seed: int) -> Any:
    """Return points of which every third row is a duplicate."""
    X = gaussian(n, D, seed)
    X[2::3] = X[: len(X[2::3])]
    return X


@geometry
def constant_columns(n: int, D: int, seed: int) -> Any:
    """Return points with every second column constant."""
    X = gaussian(n, D + 1, seed)
    X[:, 1::2] = 7.0
    return X


@tied
def counts(n: int, D: int, seed: int) -> Any:
    """Return small integers, with ties and many zeros."""
    return np.random.default_rng(seed).poisson(1.5, (n, D)).astype(float)


@geometry
def rank_deficient(n: int, D: int, seed: int) -> Any:
    """Return points of a plane in D dimensions."""
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, min(2, D))) @ rng.standard_normal((min(2, D), D))


@geometry
def wide(n: int, D: int, seed: int) -> Any:
    """Return points with more columns than rows."""
    return np.random.default_rng(seed).standard_normal((n, n + 5 * D)) * np.linspace(2.0, 0.2, n + 5 * D)


@geometry
def huge(n: int, D: int, seed: int) -> Any:
    """Return values whose squares nearly overflow in double precision."""
    return 1e100 * gaussian(n, D, seed)


@geometry
def minute(n: int, D: int, seed: int) -> Any:
    """Return values whose squares nearly underflow."""
    return 1e-100 * gaussian(n, D, seed)


@geometry
def offset(n: int, D: int, seed: int) -> Any:
    """Return points whose distance from the origin is a million times their spread."""
    return gaussian(n, D, seed) + 1e6


@geometry
def heavy_tails(n: int, D: int, seed: int) -> Any:
    """Return Cauchy points, with a few outliers."""
    return np.random.default_rng(seed).standard_cauchy((n, D))


@geometry
def outlier(n: int, D: int, seed: int) -> Any:
    """Return points with one row at a distance of 10,000 spreads."""
    X = gaussian(n, D, seed)
    X[-1] += 1e4
    return X


@geometry
def missing(n: int, D: int, seed: int) -> Any:
    """Return points with one NaN, which only methods that impute missing entries accept."""
    X = gaussian(n, D, seed)
    X[n // 2, 0] = np.nan
    return X


# ---------------------------------------------------------------------- labels
def _along(X: Any, seed: int) -> Any:
    """Return the ranks 0 to n − 1 of the rows along a direction through the points, with noise."""
    rng = np.random.default_rng(seed + 1)
    X = np.nan_to_num(X)
    size = np.abs(X).max(initial=0.0)
    line = (X / (size if size > 0 else 1.0)) @ rng.standard_normal(X.shape[1])
    return np.argsort(np.argsort(line + 0.5 * line.std() * rng.standard_normal(len(X))))


def classes(X: Any, count: int, seed: int) -> Any:
    """Return `count` classes along the points, of equal sizes."""
    return _along(X, seed) * count // len(X)


def some_classes(X: Any, count: int, seed: int, mark: Any = -1) -> Any:
    """Return classes with every third row marked as unlabelled."""
    y = classes(X, count, seed)
    return np.where(np.arange(len(y)) % 3 == 1, mark, y.astype(object) if mark is None else y)


def one_small_class(X: Any, seed: int) -> Any:
    """Return two classes, and a third class of one row."""
    y = classes(X, 2, seed)
    y[len(y) // 2] = 2
    return y


def one_class(X: Any) -> Any:
    return np.zeros(len(X), dtype=int)


def numbers(X: Any, seed: int) -> Any:
    """Return a response that increases along the points, with noise."""
    return _along(X, seed) / len(X) + 0.05 * np.random.default_rng(seed).standard_normal(len(X))


def some_numbers(X: Any, seed: int) -> Any:
    return np.where(np.arange(len(X)) % 3 == 1, np.nan, numbers(X, seed))


def view(X: Any, seed: int) -> Any:
    """Return a second view of the rows: three columns, two of which depend on X."""
    rng = np.random.default_rng(seed + 2)
    return np.column_stack([numbers(X, seed), numbers(X, seed + 5) ** 2, rng.standard_normal(len(X))])


def some_coordinates(X: Any, seed: int) -> Any:
    """Return known positions of every second row."""
    known = view(X, seed)[:, :2]
    return np.where(np.arange(len(X))[:, None] % 2 == 0, known, np.nan)


# ---------------------------------------------------------------------- what follows from the points
def _unit(X: Any) -> tuple[Any, float]:
    """Return the rows divided by a power of two near their largest entry, and this number, so that no distance overflows."""
    size = float(np.nanmax(np.abs(X), initial=0.0))
    scale = 2.0 ** np.floor(np.log2(size)) if 0 < size < np.inf else 1.0
    return X / scale, scale


def distances(X: Any) -> Any:
    unit, scale = _unit(X)
    return squareform(pdist(unit)) * scale


def spread(X: Any) -> float:
    """Return the median distance between rows that differ by more than rounding errors."""
    unit, scale = _unit(X)
    found = pdist(unit)
    found = found[found > 1e-9 * found.max(initial=0.0)]
    return float(np.median(found)) * scale if found.size else 1.0


def kernel_values(X: Any) -> Any:
    """Return a Gaussian kernel with the median distance as width."""
    return np.exp(-((distances(X) / spread(X)) ** 2))


def affinities(X: Any, k: int) -> Any:
    """Return symmetric weights on the edges to k neighbours."""
    K, near = kernel_values(X), _nearest(X, k)
    keep = np.zeros(K.shape, dtype=bool)
    np.put_along_axis(keep, near, True, axis=1)
    return np.where(keep | keep.T, K, 0.0)


def _nearest(X: Any, k: int) -> Any:
    D = distances(X)
    np.fill_diagonal(D, np.inf)
    return np.argsort(D, axis=1, kind="stable")[:, : min(k, len(X) - 1)]


def neighbour_pairs(X: Any, k: int) -> tuple[Any, Any]:
    """Return indices and distances of k neighbours."""
    near = _nearest(X, k)
    return near, np.take_along_axis(distances(X), near, axis=1)


def neighbour_distances(X: Any, k: int) -> Any:
    """Return the distances to k neighbours as a sparse matrix."""
    near, lengths = neighbour_pairs(X, k)
    rows = np.repeat(np.arange(len(X)), near.shape[1])
    return sp.csr_array((lengths.ravel(), (rows, near.ravel())), shape=(len(X), len(X)))


def spaced_rows(X: Any, m: int) -> Any:
    """Return m rows at various distances from the mean; the points do not depend on the order of the rows."""
    unit, _ = _unit(X)
    order = np.argsort(np.linalg.norm(unit - unit.mean(axis=0), axis=1), kind="stable")
    return np.sort(order[np.unique(np.linspace(0, len(X) - 1, min(m, len(X))).astype(int))])


def dimmed(rows: Any) -> Any:
    """Distort points by a map that commutes with shifts and rotations."""
    out = rows - rows.mean(axis=0)
    size = (_unit(out)[0] ** 2).sum(axis=1, keepdims=True)
    return rows - 0.3 * out * size / max(size.mean(), np.finfo(float).tiny)


def largest_difference(a: Any, b: Any) -> float:
    """User-defined metric."""
    return float(np.abs(a - b).max())


# ---------------------------------------------------------------------- containers
def _memmap(A: Any) -> Any:
    """Return a read-only memmap of a temporary file, which is unlinked immediately and exists as long as the array."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "X.npy"
        np.save(path, A)
        return np.load(path, mmap_mode="r")


def _single(A: Any) -> Any:
    with np.errstate(over="ignore"):  # values beyond single precision become infinite, and are refused
        return np.asarray(A, dtype=np.float32)


def _csr(A: Any) -> Any:
    """Return sparse rows. Distances keep stored zeros, which mean that two rows are the same point."""
    n, m = A.shape
    if n != m or np.diagonal(A).any():
        return sp.csr_array(A)
    return sp.csr_array((A.ravel(), np.tile(np.arange(m), n), np.arange(n + 1) * m), shape=A.shape)


def _frame(A: Any) -> Any:
    return pd.DataFrame(A, columns=[f"c{j}" for j in range(A.shape[1])], index=np.arange(len(A)) + 100)


def _polars(A: Any) -> Any:
    import polars as pl

    return pl.DataFrame({f"c{j}": A[:, j] for j in range(A.shape[1])})


def _dask(A: Any) -> Any:
    import dask.array as da

    return da.from_array(np.ascontiguousarray(A), chunks=(max(1, len(A) // 3), A.shape[1]))


#: Containers of rows. float32 is compared with the same values in double precision.
CONTAINERS: dict[str, Callable[[Any], Any]] = {
    "array": np.ascontiguousarray,
    "fortran": np.asfortranarray,
    "strided": lambda A: np.repeat(A, 2, axis=0)[::2],
    "float32": _single,
    "csr": _csr,
    "csc": lambda A: _csr(A).tocsc(),
    "frame": _frame,
    "polars": _polars,
    "memmap": _memmap,
    "dask": _dask,
    "list": lambda A: A.tolist(),
}
