"""What must hold between the parts of an object, where compiled code relies on it without looking."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.cluster import KMeans

from ..core.map import Map
from ..extend.barycentric import BarycentricRows
from ..graphs.neighbours.rows import RowIndex
from ..graphs.search.engines import BlockSearch, HnswSearch, TreeSearch
from ..methods.base import Reducer


def check(made: Any) -> None:
    """Raise ValueError where the parts of a new object do not belong together."""
    for cls, holds in _HOLDS.items():
        if isinstance(made, cls) and not holds(made):
            raise ValueError(f"the parts of a {type(made).__name__} do not belong together")


def _array(value: Any, ndim: int) -> bool:
    return isinstance(value, np.ndarray) and value.ndim == ndim and value.dtype.kind in "biuf"


def _search(engine: Any) -> bool:
    return _array(engine.points, 2) and engine.points.dtype.kind == "f"


def _map(map_: Any) -> bool:
    if not _array(map_.coef, 2):
        return False
    rows, width = map_.coef.shape
    placed = map_.embedding is None or (_array(map_.embedding, 2) and map_.embedding.shape[1] == width)
    offset = map_.offset is None or np.shape(map_.offset) in ((), (rows,))
    return placed and offset and (map_.shift is None or np.shape(map_.shift) == (width,))


def _barycentric(rows: Any) -> bool:
    points = getattr(getattr(rows.finder, "engine", None), "points", None)
    return points is None or np.shape(rows.points) == np.shape(points)


def _index(index: Any) -> bool:
    return _array(index.hashes, 1) and _array(index.order, 1) and index.hashes.shape == index.order.shape


def _centres(clusters: Any) -> bool:
    if "cluster_centers_" not in vars(clusters):
        return True
    centres = clusters.cluster_centers_
    return _array(centres, 2) and centres.shape == (clusters.n_clusters, clusters.n_features_in_)


def _reducer(estimator: Any) -> bool:
    """New points have as many features as those they are searched among."""
    found = vars(estimator).get("map_")
    if found is None:
        return True
    rows = getattr(found, "rows", None)
    for step in ("walk", "joining", "finder", "engine"):
        rows = getattr(rows, step, rows)
    points = getattr(rows, "points", None)
    width = vars(estimator).get("n_features_in_")
    return points is None or getattr(points, "ndim", 0) != 2 or width is None or points.shape[1] == width


_HOLDS: dict[type, Any] = {
    Map: _map,
    BarycentricRows: _barycentric,
    RowIndex: _index,
    TreeSearch: _search,
    BlockSearch: _search,
    HnswSearch: _search,
    KMeans: _centres,
    Reducer: _reducer,
}
