"""What must hold of the parts of an object, where compiled code or a cache relies on it without looking."""

from __future__ import annotations

from typing import Any

import numpy as np

#: Links of a point and points looked at in a navigable graph, and threads of a search for clusters, that make sense anywhere.
_LINKS, _EFFORT, _THREADS = range(2, 1025), range(1, 2**20), range(1, 2**12)


def check_parts(name: str, parts: dict[str, Any]) -> None:
    """Raise ValueError where nothing is to be made of these."""
    if name == "sklearn.Pipeline" and parts["parameters"]["memory"] is not None:
        raise ValueError("its memory= is a cache of pickles, which the next fit would open: set_params(memory=None)")
    points: Any = parts.get("points")
    if name in ("TreeSearch", "BlockSearch", "HnswSearch") and not (_array(points, 2) and points.dtype.kind == "f"):
        raise ValueError(f"the points of a {name} are no table of numbers")
    if name == "HnswSearch" and not (parts.get("links", 32) in _LINKS and parts.get("effort", 128) in _EFFORT):
        raise ValueError("the links of a HnswSearch are beyond any graph")


def check(made: Any) -> None:
    """Raise ValueError where the parts of a new object do not belong together."""
    for cls in type(made).__mro__:
        if cls.__name__ in _HOLDS and not _HOLDS[cls.__name__](made):
            raise ValueError(f"the parts of a {type(made).__name__} do not belong together")


def _array(value: Any, ndim: int) -> bool:
    return isinstance(value, np.ndarray) and value.ndim == ndim and value.dtype.kind in "biuf"


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
    fits = _array(centres, 2) and centres.shape == (clusters.n_clusters, clusters.n_features_in_)
    return fits and vars(clusters).get("_n_threads", 1) in _THREADS


def _reducer(estimator: Any) -> bool:
    """New points have as many features as those they are searched among."""
    engine: Any = getattr(vars(estimator).get("map_"), "rows", None)
    for step in ("walk", "joining", "finder", "engine"):
        engine = getattr(engine, step, engine)
    width = vars(estimator).get("n_features_in_")
    return not hasattr(engine, "near") or np.shape(engine.points)[1] == width


_HOLDS: dict[str, Any] = {
    "Map": _map,
    "BarycentricRows": _barycentric,
    "RowIndex": _index,
    "KMeans": _centres,
    "Reducer": _reducer,
}
