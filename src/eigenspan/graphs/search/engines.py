"""Engines of the search for nearest neighbours.

=====================================================  ===========================================================
points                                                 engine (``search=``)
=====================================================  ===========================================================
Euclidean, few features or low intrinsic dimension     ``"tree"``: k-d tree, queried in its own order
Euclidean, otherwise                                   ``"exact"``: products of blocks, every result proven
Euclidean, where that takes more than half a minute    ``"hnsw"``: a navigable graph (faiss), its recall measured
sparse, or another metric                              ``"sklearn"``: scikit-learn's NearestNeighbors
=====================================================  ===========================================================

The first two are exact and find the same neighbours; coincident points are at distance zero exactly. ``search="auto"`` takes
the third only where faiss is installed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist
from sklearn.neighbors import NearestNeighbors

from ..._diagnostics import note
from ..._resources import (
    available_memory,
    human_bytes,
    in_slices,
    in_threads,
    one_thread,
    refuse_lazy,
    require,
    workers,
)
from ...errors import GraphError, SearchWarning, warn
from .lists import Lists, empty_lists, leave_out_self, nearest_first
from .metric import explaining, search_arguments
from .tiles import Frame, Tiles

Array = NDArray[np.float64]
Index = NDArray[np.intp]


#: Up to this many features a tree may pay; below the lower number it always does.
_TREE_ALWAYS, _TREE_AT_MOST = 8, 15
#: Intrinsic dimension up to which a tree beats products of blocks.
_TREE_DIMENSION = 7.0
#: Pairs times features that take half a minute or so of products on two cores.
_PATIENCE = 2e12
#: Cost up to which plain distances are quicker than loading the compiled loop: pairs times features, every pair with some more.
_SMALL, _PAIR = 4e8, 25
#: Queries searched for at once by products, and by everything else: well below a second of work, which is what Ctrl-C waits for.
_ROWS, _SLICE = 256, 1024
#: Candidates kept beyond k, so that rounding in the products cannot push a neighbour out unnoticed.
_SPARE = 8
#: Distances held at once where all are taken and memory allows.
_CELLS = 2**22
#: Points added to an approximate index at once.
_PART = 4096
#: Recall below which approximate neighbours are not to be trusted, and the points it is measured on.
_RECALL, _SAMPLE = 0.95, 1000


def choose(X: Any, metric: Any, search: str, n_jobs: int | None, work: float = 0.0) -> Any:
    """The engine for the training points X; `work` is the cost of all the searches that this is one of."""
    refuse_lazy(X)
    euclidean = isinstance(metric, str) and metric in ("euclidean", "l2") and not sp.issparse(X)
    if not euclidean or search == "sklearn":
        if search not in ("auto", "sklearn"):
            raise GraphError(
                f'search={search!r} needs dense points and the Euclidean metric; got metric={metric!r}. Use search="auto".'
            )
        with explaining(metric):
            engine = LibrarySearch.of(X, metric, n_jobs)
            engine.near(X[:1], 1)  # some metrics are refused by the first search only
        return engine
    if search == "auto":
        search = _automatic(X)
    if search == "exact":
        return BlockSearch(X, n_jobs, work)
    return TreeSearch(X, n_jobs) if search == "tree" else HnswSearch(X, n_jobs)


def cost(queries: int, points: int, features: int) -> float:
    """Of all distances from `queries` to `points`, in units of a nanosecond or less."""
    return float(queries) * points * (features + _PAIR)


def _automatic(X: Array) -> str:
    n, D = X.shape
    if _TREE_ALWAYS >= D or (_TREE_AT_MOST >= D and _intrinsic_dimension(X) <= _TREE_DIMENSION):
        return "tree"
    work = float(n) ** 2 * D
    if work <= _PATIENCE:
        return "exact"
    if find_spec("faiss") is not None:
        return "hnsw"
    warn(
        f"An exact search for the neighbours of {n} points with {D} features takes about {work / 3e12:.0f} minutes on two cores. "
        'pip install "eigenspan[ann]" adds an approximate search whose recall is measured; PCA to fewer features also helps.',
        SearchWarning,
    )
    return "exact"


def _intrinsic_dimension(X: Array, k: int = 10) -> float:
    """Maximum likelihood from the neighbour distances of 200 points (Levina & Bickel), good enough to choose an engine."""
    if X.shape[0] < 3:
        return 0.0
    sample = np.random.default_rng(0).choice(X.shape[0], size=min(200, X.shape[0]), replace=False)
    distances = cKDTree(X, balanced_tree=False).query(X[sample], min(k + 1, X.shape[0]))[0][:, 1:]
    distances = distances[(distances[:, 0] > 0) & np.isfinite(distances[:, -1])]
    ratios = np.log(distances[:, -1:] / distances[:, :-1])
    return 1.0 / max(float(np.mean(ratios)), 1e-3) if ratios.size else 0.0


@dataclass(frozen=True, eq=False)
class TreeSearch:
    """k-d tree: O(n log n) to build, O(log n) a query where the dimension is low."""

    name: ClassVar[str] = "tree"
    points: Array
    n_jobs: int | None = None
    tree: cKDTree = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "tree", cKDTree(self.points, balanced_tree=False))

    def near(self, X: Array | None, k: int) -> Lists:
        order = self.tree.indices  # points of one leaf after another: their neighbours are still in the cache
        distances, indices = empty_lists(len(self.points if X is None else X), k)

        def search(rows: slice) -> None:
            if X is not None:
                distances[rows], indices[rows] = self.tree.query(X[rows], np.arange(1, k + 1))
            else:
                own = order[rows]
                found, which = self.tree.query(self.points[own], np.arange(1, k + 2))
                distances[own], indices[own] = leave_out_self(found, which, own)

        # The tree has threads of its own, but Ctrl-C leaves them writing to arrays that are gone: it is asked a slice at a time.
        in_slices(search, len(distances), _SLICE, workers(self.n_jobs))
        return distances, indices


@dataclass(frozen=True, eq=False)
class BlockSearch:
    """All distances, a block at a time: O(mnD) by matrix products in single precision.

    Points are kept in tiles of near ones, and tiles that cannot hold a neighbour of any query of a block are passed over: data in
    separate clusters cost the pairs within them.

    What is kept are the smallest lower bounds on the distances, more of them than wanted, which are then measured again from
    differences in double precision. Where that leaves room for a missed neighbour, the query is searched again by differences alone.
    A search that is small, and no part of a larger `work`, is made by differences from the start.
    """

    name: ClassVar[str] = "exact"
    points: Array
    n_jobs: int | None = None
    work: float = 0.0

    def near(self, X: Array | None, k: int) -> Lists:
        queries = self.points if X is None else X
        m, n = queries.shape[0], self.points.shape[0]
        own = np.arange(m) if X is None else np.full(m, -1)
        small = max(self.work, cost(m, n, self.points.shape[1])) <= _SMALL
        self._require(m, k, small)
        return (self._by_distances if small else self._by_products)(queries, own, k)

    def _require(self, m: int, k: int, small: bool) -> None:
        """The lists, and a row of distances, or the points in single precision (twice, while they are sorted) and a block a thread."""
        n, D = self.points.shape
        found = 16.0 * n if small else n * (8.0 * D + 128) + (8192 + 12 * D) * _ROWS * workers()
        require(
            16.0 * m * k + found,
            f"The exact search for {k} neighbours of {m} among {n} points with {D} features",
            f'Take fewer points, or fewer features (PCA first); KNN({k}, search="hnsw") needs {human_bytes(4.0 * n * (D + 80))} and '
            "faiss; a graph found elsewhere can be passed as graph=.",
        )

    def _by_distances(self, queries: Array, own: Index, k: int) -> Lists:
        n = self.points.shape[0]
        distances, indices = empty_lists(len(queries), k)
        step = int(max(1, min(_CELLS, available_memory() // 64) // n))
        for i in range(0, len(queries), step):
            squares = cdist(queries[i : i + step], self.points, "sqeuclidean")
            mine = own[i : i + step]
            squares[mine >= 0, mine[mine >= 0]] = np.inf
            limit = np.partition(squares, k - 1, axis=1)[:, k - 1 : k]
            for r, row in enumerate(squares):  # by value, then by index: ties must not depend on the partition
                near = np.flatnonzero(row <= limit[r])
                near = near[np.argsort(row[near], kind="stable")[:k]]
                distances[i + r], indices[i + r] = np.sqrt(row[near]), near
        return distances, indices

    def _by_products(self, queries: Array, own: Index, k: int) -> Lists:
        from ...compiled.nearest import exact_squares, keep_nearest, scan_exactly

        n, D = self.points.shape
        others = n - int(own.size > 0 and own[0] >= 0)
        K = min(k + _SPARE, others)
        frame = Frame.of(self.points)
        P = frame(self.points)
        with one_thread():
            tiles = Tiles.of(P) if 8 * len(queries) >= n else Tiles.whole(P)
            by_cell = tiles.order if others < n else np.argsort(tiles.nearest(frame(queries))[0], kind="stable")
        P = P[tiles.order]
        doubt = 2 * 1.2e-7 * (D + 8)  # rounding of |q|² + |p|² − 2q·p is at most this part of |q|² + |p|²
        squares = np.einsum("ij,ij->i", P, P) * np.float32(1 - doubt)
        reach = float(np.sqrt(squares.max()))
        P *= -2
        place = np.full(n + 1, -1)  # of each point among the tiles; the last is that of a query that is no point
        place[tiles.order] = np.arange(n)
        distances, indices = empty_lists(len(queries), k)

        def search(start: int) -> tuple[int, int]:
            at = by_cell[start : start + _ROWS]
            block, mine = queries[at], place[own[at]]
            Q = frame(block)
            size = np.einsum("ij,ij->i", Q, Q).astype(np.float64)
            values = np.full((len(block), K), np.inf, dtype=np.float32)
            which = np.full((len(block), K), -1, dtype=np.intp)
            to_centres = tiles.to_centres(Q)
            bounds = tiles.bounds(to_centres) - 1e-7 * np.sqrt(D + 8) * (np.sqrt(size) + reach)[:, None]
            scanned = 0
            for t in np.argsort(to_centres.mean(axis=0)[tiles.cell], kind="stable"):
                if np.all(bounds[:, t] > np.sqrt(np.maximum(values[:, -1] + size, 0))):
                    continue
                tile = slice(tiles.starts[t], tiles.starts[t + 1])
                keep_nearest(Q @ P[tile].T, squares[tile], tile.start, mine, values, which)
                scanned += (tile.stop - tile.start) * len(block)
            which = np.append(tiles.order, -1)[which]
            exact = np.empty((len(block), K))
            exact_squares(block, self.points, which, exact)
            farthest = np.sort(exact, axis=1)[:, k - 1] * frame.scale**2 + np.finfo(np.float32).tiny
            proven = np.isfinite(size) & (farthest < values[:, -1] + (1 - doubt) * size)
            doubtful = np.flatnonzero(~proven) if others > K else np.zeros(0, dtype=np.intp)
            if doubtful.size:
                again, found = np.full((doubtful.size, k), np.inf), np.full((doubtful.size, k), -1, dtype=np.intp)
                scan_exactly(block[doubtful], self.points, own[at[doubtful]], again, found)
                exact[doubtful], which[doubtful] = np.inf, n
                exact[doubtful, :k], which[doubtful, :k] = again, found
            distances[at], indices[at] = nearest_first(exact, which, k)
            return doubtful.size, scanned

        def quietly(start: int) -> tuple[int, int]:
            with np.errstate(over="ignore", invalid="ignore"):  # what overflows is not proven, and searched again
                return search(start)

        counts = np.array(in_threads(quietly, range(0, len(queries), _ROWS), workers(self.n_jobs)))
        if len(queries) == n:
            repeated, scanned = counts.sum(axis=0)
            note(searched_again=int(repeated), scanned=float(scanned) / n**2)
        return distances, indices


@dataclass(frozen=True, eq=False)
class HnswSearch:
    """Approximate neighbours by a hierarchical navigable graph (faiss): about O(log n) a query in any dimension.

    The recall on 1,000 of the points is noted in the diagnostics, and a warning is given where it is below 0.95.
    """

    name: ClassVar[str] = "hnsw"
    points: Array
    n_jobs: int | None = None
    links: int = 32
    effort: int = 128
    index: Any = field(init=False)
    centre: Array = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "centre", self.points.mean(axis=0))
        index = _faiss().IndexHNSWFlat(self.points.shape[1], self.links)
        index.hnsw.efConstruction = self.effort
        index.hnsw.efSearch = self.effort
        object.__setattr__(self, "index", index)
        parts = (self._centred(self.points[i : i + _PART]) for i in range(0, len(self.points), _PART))
        in_threads(index.add, parts, 1, openmp=workers(self.n_jobs))

    def _centred(self, X: Array) -> Any:
        return np.ascontiguousarray(X - self.centre, dtype=np.float32)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "index": _faiss().serialize_index(self.index)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update({**state, "index": _faiss().deserialize_index(state["index"])})

    def near(self, X: Array | None, k: int) -> Lists:
        from ...compiled.nearest import exact_squares

        queries = np.ascontiguousarray(self.points if X is None else X)
        wanted = min(k + _SPARE, self.points.shape[0])

        def search(rows: slice) -> Any:
            return self.index.search(self._centred(queries[rows]), wanted)[1]

        which = np.concatenate(in_slices(search, len(queries), _SLICE, workers(self.n_jobs))).astype(np.intp)
        if X is None:
            which = leave_out_self(np.zeros(which.shape), which, np.arange(which.shape[0]))[1]
        short = np.flatnonzero(which.min(axis=1) < 0)  # a corner of the graph that its search could not leave
        exact = np.empty(which.shape)
        exact_squares(queries, self.points, np.maximum(which, 0), exact)
        distances, indices = nearest_first(exact, which, k)
        if short.size:
            lists = BlockSearch(self.points, self.n_jobs).near(queries[short], k + (X is None))
            distances[short], indices[short] = leave_out_self(*lists, short) if X is None else lists
        if X is None:
            self._report(distances)
        return distances, indices

    def _report(self, distances: Array) -> None:
        n, k = distances.shape
        sample = np.sort(np.random.default_rng(0).choice(n, size=min(_SAMPLE, n), replace=False))
        lists = BlockSearch(self.points, self.n_jobs).near(self.points[sample], k + 1)
        farthest = leave_out_self(*lists, sample)[0][:, -1:]
        recall = float(np.mean(distances[sample] <= farthest * (1 + 1e-9)))
        note(recall=recall)
        if recall < _RECALL:
            warn(
                f"The approximate search found {recall:.1%} of the true neighbours of {sample.size} sampled points: the graph lacks "
                'edges it should have. Use KNN(search="exact"), or reduce the number of features first.',
                SearchWarning,
            )


def _faiss() -> Any:
    try:
        import faiss
    except ImportError:
        raise GraphError(
            'search="hnsw" needs faiss, which is not installed: pip install "eigenspan[ann]". search="exact" needs nothing more.'
        ) from None
    return faiss


@dataclass(frozen=True, eq=False)
class LibrarySearch:
    """scikit-learn's search, for any metric and for sparse points.

    Euclidean distances that it takes from products are taken about the median point: far from the origin they would lose their
    digits. (Whole numbers stay whole, and points at the very radius stay within it.)
    """

    name: ClassVar[str] = "sklearn"
    model: NearestNeighbors
    points: Any
    centre: Any = None
    n_jobs: int | None = None

    @classmethod
    def of(cls, X: Any, metric: Any, n_jobs: int | None) -> LibrarySearch:
        model = NearestNeighbors(**search_arguments(metric)).fit(X)
        if sp.issparse(X) or model.effective_metric_ != "euclidean" or model._fit_method != "brute":
            return cls(model, X, n_jobs=n_jobs)
        centre = np.median(X[:: max(1, len(X) // 1000)], axis=0)  # products lose digits far from the origin
        return cls(model.fit(X - centre), X, centre, n_jobs)

    def near(self, X: Any, k: int) -> Lists:
        if X is not None:
            return self._asked(lambda rows: self.model.kneighbors(self._moved(X[rows]), k), X.shape[0])
        own = np.arange(self.points.shape[0])
        lists = self._asked(lambda rows: self.model.kneighbors(self._moved(self.points[rows]), k + 1), own.size)
        return leave_out_self(*lists, own)

    def within(self, X: Any, radius: float) -> tuple[Any, Any]:
        """Ragged lists of all points at most `radius` away."""
        queries = self.points if X is None else X

        def search(rows: slice) -> tuple[Any, Any]:
            distances, indices = self.model.radius_neighbors(self._moved(queries[rows]), radius=radius)
            for i in range(len(indices)):
                if X is None:
                    other = indices[i] != rows.start + i
                    distances[i], indices[i] = distances[i][other], indices[i][other]
                if self.centre is not None:  # products leave 1e-8 where coincident rows have 0
                    distances[i] = np.linalg.norm(self.points[indices[i]] - queries[rows.start + i], axis=1)
            return distances, indices

        return self._asked(search, queries.shape[0])

    def _moved(self, X: Any) -> Any:
        return X if self.centre is None else X - self.centre

    def _asked(self, search: Any, n: int) -> tuple[Any, Any]:
        """Its answers for one slice of queries after another, on our threads: its own do not all survive a fork or Ctrl-C."""
        distances, indices = zip(*in_slices(search, n, _SLICE, workers(self.n_jobs)), strict=True)
        return np.concatenate(distances), np.concatenate(indices)
