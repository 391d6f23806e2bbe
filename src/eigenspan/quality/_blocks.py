"""Distances from blocks of rows to all points."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from ..data.read import is_precomputed
from ..errors import InputError
from ..graphs import KNN, distance_graph, ensure_connected, geodesic_distances
from ..numerics.memory import human_bytes, require
from ..numerics.nearest.metric import point_distances, refuse_undefined
from ..numerics.nearest.pair_matrices import PairTolerance
from ..numerics.threads import in_slices, workers

Array = NDArray[np.float64]
Index = NDArray[np.intp]

#: Size of one block of distances from some rows to all points.
_BLOCK_BYTES = 8 * 2**20
#: Arrays of the size of a block that are needed at once: distances in both spaces, two rankings, differences.
_COPIES = 5
#: Up to this many features, or this many operations in total, distances are computed from differences, not from inner products.
_FEATURES, _OPERATIONS = 64, 2e9


class Distances(Protocol):
    """Function from row numbers to the distances from these rows to all. `n_jobs` is 1 if it uses several threads itself."""

    @property
    def n(self) -> int: ...

    @property
    def n_jobs(self) -> int | None: ...

    def __call__(self, rows: Index) -> Array: ...


@dataclass(frozen=True, eq=False)
class BlockDistances:
    """Distances from given rows of a table to all rows.

    Euclidean distances are computed from differences, which gives duplicate rows identical distances. For large tables with many features
    they are computed from inner products after subtracting the median; the median keeps integers exact.
    """

    points: Any
    metric: Any = "euclidean"
    squares: Array | None = None
    n_jobs: int | None = None

    @classmethod
    def of(cls, A: Any, metric: Any = "euclidean", name: str = "X") -> BlockDistances:
        """Return the distances of a validated table `A`, which messages call `name`."""
        if is_precomputed(metric):
            if A.shape[0] != A.shape[1]:
                raise InputError(
                    f'metric="precomputed" needs a square matrix of distances, but {name} has shape {A.shape}.'
                )
            if sp.issparse(A) and A.nnz < A.shape[0] * (A.shape[0] - 1):
                raise InputError(
                    f"{name} stores {A.nnz} of the distances between {A.shape[0]} points: ranks and stress need all of them."
                )
            least = float((A.data if sp.issparse(A) else A).min(initial=0.0))
            if least < -PairTolerance.of(A).distance:
                raise InputError(
                    f"{name} holds negative distances, the smallest {least:.3g}: distances must not be negative."
                )
            return cls(A, metric)
        if isinstance(metric, str) and metric == "euclidean" and not sp.issparse(A):
            n, features = A.shape
            if features > _FEATURES and float(n) * n * features > _OPERATIONS:
                A = A - np.median(A[:: max(1, n // 1000)], axis=0)
                return cls(A, metric, np.einsum("ij,ij->i", A, A))
        return cls(A, metric)

    @property
    def n(self) -> int:
        return int(self.points.shape[0])

    def __call__(self, rows: Index) -> Array:
        """Return the distances (b, n) from these rows to all; exactly zero from a row to itself."""
        D = self._measured(rows)
        if not np.isfinite(D.sum()):  # distances are not negative, so their sum is finite only if all are
            refuse_undefined(D, self.metric)
        D[np.arange(rows.size), rows] = 0.0
        return D

    def _measured(self, rows: Index) -> Array:
        some = self.points[rows]
        if is_precomputed(self.metric):
            return np.maximum(some.toarray() if sp.issparse(some) else some, 0.0)
        if self.squares is not None:
            D = (-2.0 * some) @ self.points.T
            D += self.squares[rows][:, None]
            D += self.squares
            return np.sqrt(np.maximum(D, 0.0, out=D), out=D)
        if isinstance(self.metric, str) and self.metric == "euclidean" and not sp.issparse(some):
            return np.asarray(cdist(some, self.points))
        D = np.array(point_distances(some, self.points, self.metric), dtype=np.float64)
        return np.maximum(D, 0.0, out=D)  # rounding can make one minus a cosine negative


@dataclass(frozen=True, eq=False)
class GraphDistances:
    """Lengths of the shortest paths in a connected neighbour graph."""

    lengths: sp.csr_array
    n_jobs: int | None = 1

    @classmethod
    def of(cls, A: Any, metric: Any = "euclidean", n_neighbors: int | None = None) -> GraphDistances:
        """Return the geodesic distances of a validated table: `n_neighbors` edges per row (None: ten), components connected by bridges."""
        given = is_precomputed(metric)
        k = min(10, A.shape[0] - 1) if n_neighbors is None else n_neighbors
        graph = distance_graph(A, k) if given else KNN(k, metric=metric).build(A)
        graph, _ = ensure_connected(graph, A, "connect", precomputed=given)
        return cls(graph.undirected())

    @property
    def n(self) -> int:
        return int(self.lengths.shape[0])

    def __call__(self, rows: Index) -> Array:
        return geodesic_distances(self.lengths, rows)


def in_blocks(work: Callable[[slice], Any], m: int, n: int, n_jobs: int | None = None) -> list[Any]:
    """Call ``work`` on consecutive slices of m rows that are compared with n points, on `n_jobs` threads; return the results."""
    step, threads = max(1, _BLOCK_BYTES // (8 * n)), workers(n_jobs)
    need = 8.0 * _COPIES * step * n * threads
    require(
        need,
        f"Blocks of distances to {n} points on {threads} threads",
        f"With n_jobs=1, {human_bytes(need / threads)} suffice.",
    )
    return in_slices(work, m, step, threads)
