"""Neighbour search engines.

=====================================================  ===========================================================
points                                                 engine (``search=``)
=====================================================  ===========================================================
Euclidean, few features or low intrinsic dimension     ``"tree"``: k-d tree, queried in its own order
Euclidean, otherwise                                   ``"exact"``: bounds from a few principal axes, few pairs measured
Euclidean, if expected to be faster                    ``"hnsw"``: a navigable graph (faiss), with measured recall
sparse, or another metric                              ``"sklearn"``: scikit-learn's NearestNeighbors
=====================================================  ===========================================================

All but ``"hnsw"`` are exact and find the same neighbours: the k nearest by distance, then by index (see `neighbour_lists`). Coincident
points have distance exactly zero. ``search="auto"`` chooses ``"hnsw"`` only if faiss is installed. Sparse Euclidean points are searched
by products with bounded errors (see `expanded`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from importlib.util import find_spec
from types import ModuleType
from typing import Any, ClassVar, Protocol, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
from scipy.spatial import cKDTree
from sklearn.neighbors import NearestNeighbors

from ..._diagnostics import note
from ..._types import Array, Index, Integers, Mask, Matrix, MetricLike, Single, is_sparse
from ...errors import GraphError, SearchWarning, warn
from ..memory import refuse_lazy
from ..threads import in_slices, in_threads, workers
from .angles import cosines_by_differences, paired_cosines, rounding_of_cosines, unit_rows
from .exact import BlockSearch
from .expanded import nearest_by_products, within_by_products
from .metric import Metric, explaining, is_euclidean, point_distances, search_arguments
from .neighbour_lists import (
    Lists,
    Ragged,
    decided_at,
    leave_out_self,
    settled_in_rows,
    settled_in_tree,
    tied_rows,
)
from .plan import seconds
from .squares import EPS, euclidean_lengths, square_lengths

Built = TypeVar("Built")
#: Distances and row numbers of one search: tables, or ragged lists.
Distances = TypeVar("Distances", Array, Ragged)
Places = TypeVar("Places", Index, Ragged)

#: A tree is used up to the first number of features, and up to the second if the intrinsic dimension is low.
_TREE_ALWAYS, _TREE_AT_MOST = 8, 15
#: Largest intrinsic dimension at which a tree is faster than products of blocks.
_TREE_DIMENSION = 7.0
#: Expected seconds of an exact search, on one thread, above which a warning is issued.
_PATIENCE = 60.0
#: Number of queries per call: well below a second of work, because Ctrl-C waits for it.
_SLICE = 1024
#: Extra candidates of an approximate search beyond k, so that rounding does not exclude a neighbour.
_SPARE = 8
#: Number of neighbours assumed when an exact search is planned before the number is known.
_NEIGHBOURS = 10
#: Rounding error of distances in another metric, relative to the largest or to one; also used for distances close to the radius.
_ROUNDING = 1e-12
#: Number of points added to an approximate index at a time.
_PART = 4096
#: Recall below which a warning is issued, and the number of points on which it is measured.
_RECALL, _SAMPLE = 0.95, 1000


#: Search structures (k-d trees, navigable graphs) by owner.
_BUILT: WeakKeyDictionary[object, Any] = WeakKeyDictionary()


def index_of(owner: object, build: Callable[[], Built]) -> Built:
    """Return the search structure of this owner, building it by `build` at its first use.

    Structures are never attributes of their owners, so that pickles, copies and files contain only the points; a copy builds its
    structure again. Two threads may build it at the same time, but both get the same one: `dict.setdefault` is atomic, so no lock is
    needed, and no lock can stay locked after a fork.
    """
    found: Built | None = _BUILT.get(owner)
    return _BUILT.setdefault(owner, build()) if found is None else found


class SearchEngine(Protocol):
    """Interface of the search engines."""

    @property
    def name(self) -> str: ...
    @property
    def points(self) -> Matrix: ...
    def near(self, X: Matrix | None, k: int) -> Lists:
        """Return the k nearest points of each row of X; None queries the points, each excluded from its own list."""


class _Graph(Protocol):
    """Interface of faiss's index."""

    def add(self, X: Single) -> None: ...
    def search(self, X: Single, k: int) -> tuple[Single, Integers]: ...


def choose(X: Matrix, metric: MetricLike, search: str, n_jobs: int | None, work: float = 0.0) -> SearchEngine:
    """Return the engine for the training points X; `work` is the total cost of all searches that this engine will make."""
    refuse_lazy(X)
    _refuse_gaps(X)
    euclidean = is_euclidean(metric) and not is_sparse(X)
    if not euclidean or search == "sklearn":
        if search not in ("auto", "sklearn"):
            raise GraphError(
                f"search={search!r} needs dense points and the Euclidean metric, but metric={metric!r} and X is "
                f'{"sparse" if is_sparse(X) else "dense"}. Use search="auto".'
            )
        with explaining(metric):
            engine = LibrarySearch.of(X, metric, n_jobs)
            engine.near(X[:1], 1)  # some metrics are rejected only at the first search
        return engine
    if search == "auto":
        return _automatic(X, n_jobs, work)
    if search == "exact":
        return BlockSearch(X, n_jobs, work)
    return TreeSearch(X, n_jobs) if search == "tree" else HnswSearch(X, n_jobs)


def _refuse_gaps(X: Matrix) -> None:
    entries = np.asarray(X.data if is_sparse(X) else X)
    if entries.dtype.kind != "f" or np.isfinite([np.min(entries, initial=0.0), np.max(entries, initial=0.0)]).all():
        return
    raise GraphError(
        f"X has {int(np.sum(~np.isfinite(entries)))} values that are NaN or infinite, and such points have no neighbours. Impute or "
        "drop them first."
    )


def _automatic(X: Array, n_jobs: int | None, work: float) -> SearchEngine:
    n, D = X.shape
    if _TREE_ALWAYS >= D or (_TREE_AT_MOST >= D and _intrinsic_dimension(X) <= _TREE_DIMENSION):
        return TreeSearch(X, n_jobs)
    engine, approximate = BlockSearch(X, n_jobs, work), _approximate(n, D)
    if seconds(n, n, D) <= min(approximate, _PATIENCE):
        return engine
    expected = engine.planned(n, _NEIGHBOURS).seconds
    if expected > approximate and find_spec("faiss") is not None:
        return HnswSearch(X, n_jobs)
    if expected > max(approximate, _PATIENCE):
        warn(
            f"An exact search for the neighbours of {n} points with {D} features takes about {expected / 120:.0f} minutes on two cores. "
            'Install "eigenspan[ann]" for an approximate search with measured recall, or reduce the features by PCA first.',
            SearchWarning,
        )
    return engine


def _approximate(n: int, D: int) -> float:
    """Return the seconds of an approximate search on one thread, fitted to 20,000 and 70,000 points in 50 to 784 dimensions."""
    return 1e-6 * n * float(np.log2(max(n, 2))) * (17 + 0.062 * D)


def _intrinsic_dimension(X: Array, k: int = 10) -> float:
    """Return the maximum likelihood estimate from the neighbour distances of 200 points (Levina & Bickel), to choose an engine."""
    if X.shape[0] < 3:
        return 0.0
    sample = np.random.default_rng(0).choice(X.shape[0], size=min(200, X.shape[0]), replace=False)
    distances = cKDTree(X, balanced_tree=False).query(X[sample], min(k + 1, X.shape[0]))[0][:, 1:]
    distances = distances[(distances[:, 0] > 0) & np.isfinite(distances[:, -1])]
    ratios = np.log(distances[:, -1:] / distances[:, :-1])
    return 1.0 / max(float(np.mean(ratios)), 1e-3) if ratios.size else 0.0


@dataclass(frozen=True, eq=False)
class TreeSearch:
    """k-d tree: O(n log n) to build, O(log n) per query if the dimension is low."""

    name: ClassVar[str] = "tree"
    points: Array
    n_jobs: int | None = None

    @property
    def tree(self) -> cKDTree:
        leaf = 20 if self.points.shape[1] <= 3 else 32  # measured: in more dimensions boxes exclude little
        return index_of(self, partial(cKDTree, self.points, leaf, balanced_tree=False))

    def near(self, X: Array | None, k: int) -> Lists:
        tree, (n, D) = self.tree, self.points.shape
        queries, among = (self.points, True) if X is None else (X, False)
        order = tree.indices  # points of the same leaf are consecutive, so their neighbours are still in the cache
        distances, indices = np.empty((len(queries), k)), np.empty((len(queries), k), dtype=np.intp)
        wanted = np.arange(1, min(k + 1 + among, n) + 1)  # one more than requested, to detect a tie with the last

        def search(rows: slice) -> None:
            at = order[rows] if among else np.arange(rows.start, rows.stop)
            # for the short contiguous rows of the tree, `take` is several times as fast as indexing
            found, which = tree.query(np.take(tree.data, at, axis=0) if among else queries[rows], wanted)
            if among:
                found, which = leave_out_self(found, which, at)
            distances[at], indices[at] = found[:, :k], which[:, :k]
            tied = at[tied_rows(found, D)]
            if tied.size and np.isfinite(distances[tied]).all():
                own = tied if among else np.full(tied.size, -1)
                some = np.asarray(queries[tied], dtype=np.float64)
                distances[tied], indices[tied] = settled_in_tree(tree, self.points, some, own, k)

        # The tree's own threads would keep writing to freed arrays after Ctrl-C, so each call queries one slice on one of our threads.
        in_slices(search, len(distances), _SLICE, workers(self.n_jobs))
        return distances, indices


@dataclass(frozen=True, eq=False)
class HnswSearch:
    """Approximate neighbours by a hierarchical navigable graph (faiss): about O(log n) per query in any dimension.

    The recall on 1,000 of the points is recorded in the diagnostics, with a warning if it is below 0.95.
    """

    name: ClassVar[str] = "hnsw"
    points: Array
    n_jobs: int | None = None
    links: int = 32
    effort: int = 128
    centre: Array = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "centre", self.points.mean(axis=0))
        _faiss()  # raise now, not at the first search, if faiss is not installed

    @property
    def index(self) -> _Graph:
        return index_of(self, self._built)

    def _built(self) -> _Graph:
        index = _faiss().IndexHNSWFlat(self.points.shape[1], self.links)
        index.hnsw.efConstruction = self.effort
        index.hnsw.efSearch = self.effort
        parts = (self._centred(self.points[i : i + _PART]) for i in range(0, len(self.points), _PART))
        in_threads(index.add, parts, 1, openmp=workers(self.n_jobs))
        return index

    def _centred(self, X: Array) -> Single:
        return np.ascontiguousarray(X - self.centre, dtype=np.float32)

    def __getstate__(self) -> dict[str, object]:
        # The graph depends on the timing of its threads, so a copy must contain the same graph.
        return {**self.__dict__, "index": _faiss().serialize_index(self.index)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        index = _faiss().deserialize_index(state["index"])
        self.__dict__.update({name: value for name, value in state.items() if name != "index"})
        index_of(self, lambda: index)

    def near(self, X: Array | None, k: int) -> Lists:
        from .compiled_loops import measure

        queries, points = self.points if X is None else X, np.ascontiguousarray(self.points)
        m, n = queries.shape[0], points.shape[0]
        index = self.index
        wanted, distances, indices = min(k + _SPARE, n), np.empty((m, k)), np.full((m, k), n, dtype=np.intp)

        def search(rows: slice) -> Mask:
            block = np.asarray(queries[rows], dtype=np.float64)
            found = index.search(self._centred(block), wanted)[1].astype(np.intp)
            own = np.arange(rows.start, rows.stop) if X is None else np.full(len(block), -1)
            squares = np.full((len(block), k), np.inf)
            measure(block, points, found, own, squares, indices[rows])
            distances[rows] = np.sqrt(squares)
            return found.min(axis=1) < 0

        short = np.flatnonzero(np.concatenate(in_slices(search, m, _SLICE, workers(self.n_jobs))))
        if short.size:  # the search could not leave a part of the graph and found too few points
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
                f"The approximate search found {recall:.1%} of the true neighbours of {sample.size} sampled points (recommended: at least "
                f'{_RECALL:.0%}). Use KNN(search="exact"), or reduce the number of features first.',
                SearchWarning,
            )


def _faiss() -> ModuleType:
    try:
        import faiss
    except ImportError:
        raise GraphError(
            'search="hnsw" needs faiss, which is not installed: pip install "eigenspan[ann]", or use search="exact".'
        ) from None
    return faiss


@dataclass(frozen=True, eq=False)
class LibrarySearch:
    """scikit-learn's search, for any metric and for sparse points.

    Queries with neighbours at distances that are equal up to rounding are searched again by distance, then index. Euclidean distances of
    sparse points, and of all points within a radius in many dimensions, are computed by `expanded` instead.
    """

    name: ClassVar[str] = "sklearn"
    model: NearestNeighbors  # stores the parameters only and is not fitted
    points: Matrix
    centre: Array | None = None
    n_jobs: int | None = None

    @classmethod
    def of(cls, X: Matrix, metric: MetricLike, n_jobs: int | None) -> LibrarySearch:
        arguments = search_arguments(metric)
        fitted, model = NearestNeighbors(**arguments), NearestNeighbors(**arguments)
        fitted.fit(unit_rows(X) if model.metric == "cosine" else X)
        if is_sparse(X) or fitted.effective_metric_ != "euclidean" or fitted._fit_method != "brute":
            engine = cls(model, X, n_jobs=n_jobs)
            index_of(engine, lambda: fitted)
            return engine
        centre = np.median(X[:: max(1, len(X) // 1000)], axis=0)  # products lose digits far from the origin
        return cls(model, X, centre, n_jobs)

    @property
    def fitted(self) -> NearestNeighbors:
        return index_of(
            self, lambda: NearestNeighbors(**self.model.get_params(deep=False)).fit(self._moved(self.points))
        )

    def near(self, X: Matrix | None, k: int) -> Lists:
        if self._euclidean and is_sparse(self.points):
            return nearest_by_products(self.points, X, k, self.n_jobs)
        fitted, n = self.fitted, self.points.shape[0]
        queries, own = (self.points, np.arange(n)) if X is None else (X, np.full(X.shape[0], -1))
        wanted = min(k + 1 + (X is None), n)  # one more than requested, to detect a tie with the last
        found, which = self._asked(lambda rows: fitted.kneighbors(self._moved(queries[rows]), wanted), queries.shape[0])
        if X is None:
            found, which = leave_out_self(found, which, own)
        distances, indices = found[:, :k], which[:, :k]
        tied = tied_rows(found, self.points.shape[1], self._slack(queries, found))
        if tied.size and np.isfinite(distances[tied]).all():
            distances, indices = distances.copy(), indices.copy()
            distances[tied], indices[tied] = self._settled(queries[tied], own[tied], k, self._equal(found))
        if self.model.metric == "cosine":
            rows = np.repeat(np.arange(len(indices)), k)
            lengths = paired_cosines(unit_rows(queries), rows, unit_rows(self.points), indices.ravel())
            distances = lengths.reshape(indices.shape)
        return distances, indices

    @property
    def _euclidean(self) -> bool:
        return self.fitted.effective_metric_ == "euclidean"

    def _slack(self, queries: Matrix, found: Array) -> Array | None:
        """Return the rounding error of differences of distances for each query; None if distances are computed by differences."""
        if not self._euclidean:
            return np.full(len(found), self._equal(found))
        if self.centre is None:
            return None
        sizes = square_lengths(self._moved(queries)) + square_lengths(self._moved(self.points)).max()
        # products have an error in the squares, which is largest for the shortest distance
        return np.sqrt(4 * EPS * (self.points.shape[1] + 4) * sizes)

    def _equal(self, found: Array) -> float:
        return _equal(found, self.fitted.effective_metric_)

    def _settled(self, queries: Matrix, own: Index, k: int, slack: float) -> Lists:
        """Return the nearest by distance, then index, for queries whose neighbours are tied up to rounding."""
        n = self.points.shape[0]
        if self._euclidean:
            among = bool(own.size) and own[0] >= 0
            lists = BlockSearch(self.points, self.n_jobs).near(queries, min(k + among, n))
            return leave_out_self(*lists, own) if among else lists
        if self.model.metric == "cosine":
            U, V = unit_rows(queries), unit_rows(self.points)
            by_differences = partial(rounding_of_cosines, features=V.shape[1])
            return settled_in_rows(lambda rows: cosines_by_differences(U[rows], V), own, k, n, by_differences)
        metric = Metric(self.fitted.effective_metric_, self.fitted.effective_metric_params_ or {})
        return settled_in_rows(
            lambda rows: point_distances(queries[rows], self.points, metric), own, k, n, lambda D: slack
        )

    def within(self, X: Matrix | None, radius: float) -> tuple[Ragged, Ragged]:
        """Return ragged lists of all points at most `radius` away."""
        if self._euclidean and (self.centre is not None or is_sparse(self.points)):
            return within_by_products(self.points, X, radius, self.n_jobs)
        queries, fitted, cosine = self.points if X is None else X, self.fitted, self.model.metric == "cosine"
        wider = radius * (1 + _ROUNDING) if self._euclidean else radius + _ROUNDING * cosine
        points = unit_rows(self.points) if cosine else self.points
        lengths_of: Callable[..., Array] = paired_cosines if cosine else euclidean_lengths

        def search(rows: slice) -> tuple[Ragged, Ragged]:
            some = self._moved(queries[rows])
            distances, indices = fitted.radius_neighbors(some, radius=wider)
            if wider > radius:
                doubt = -np.inf if cosine else radius * (1 - _ROUNDING)
                measured = partial(lengths_of, some if cosine else queries[rows], Z=points)
                decided_at(radius, doubt, measured, distances, indices)
            for i in range(len(indices)) if X is None else ():
                other = indices[i] != rows.start + i
                distances[i], indices[i] = distances[i][other], indices[i][other]
            return distances, indices

        return self._asked(search, queries.shape[0])

    def _moved(self, X: Matrix) -> Matrix:
        if self.model.metric == "cosine":
            return unit_rows(X)
        return X if self.centre is None else X - self.centre

    def _asked(self, search: Callable[[slice], tuple[Distances, Places]], n: int) -> tuple[Distances, Places]:
        """Search slice by slice on our own threads: the engine's threads do not all survive a fork or Ctrl-C."""
        distances, indices = zip(*in_slices(search, n, _SLICE, workers(self.n_jobs)), strict=True)
        return np.concatenate(distances), np.concatenate(indices)


def _equal(distances: Array, metric: MetricLike) -> float:
    """Return the rounding error of a difference of distances: relative to the largest, or to one for similarities subtracted from one."""
    least = 1.0 if metric in ("cosine", "correlation") else 0.0
    return _ROUNDING * max(least, float(distances.max(initial=0.0)))
