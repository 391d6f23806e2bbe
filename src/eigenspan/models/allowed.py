"""Which classes a model file may name: this package's own, and those of scikit-learn whose state is numbers.

A file chooses among these names. It can name nothing else, so nothing else is imported, looked up or called on its behalf.
"""

from __future__ import annotations

import pkgutil
from dataclasses import is_dataclass
from functools import cache
from importlib import import_module
from typing import Any

from sklearn.base import BaseEstimator

_PACKAGE = __name__.split(".")[0]
#: Rooms whose dataclasses, estimators, specifications and solvers a fitted estimator may hold. None of them touches files.
_ROOMS = ("core", "extend", "graphs", "learning", "methods", "selection", "solvers")

#: scikit-learn's that a pipeline or `External` may hold, by the module that exports them.
_LEARNERS = {
    "cluster": ("KMeans",),
    "decomposition": ("FactorAnalysis", "FastICA", "PCA", "TruncatedSVD"),
    "impute": ("SimpleImputer",),
    "manifold": ("MDS", "TSNE"),
    "neighbors": ("NeighborhoodComponentsAnalysis",),
    "pipeline": ("Pipeline",),
    "preprocessing": ("MaxAbsScaler", "MinMaxScaler", "Normalizer", "RobustScaler", "StandardScaler"),
}
#: Searches for neighbours, which are fitted again to the points they searched.
_SEARCHES = ("KNeighborsTransformer", "NearestNeighbors", "RadiusNeighborsTransformer")


@cache
def ours() -> dict[str, type]:
    """This package's classes by name. A name that two of them share stands for neither."""
    found: dict[str, Any] = {}
    for room in _ROOMS:
        package = import_module(f"{_PACKAGE}.{room}")
        inside = [info.name for info in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")]
        for module in (package.__name__, *inside):
            for cls in {value for value in vars(import_module(module)).values() if _is_ours(value, module)}:
                found[cls.__name__] = None if cls.__name__ in found else cls
    return {name: cls for name, cls in found.items() if cls is not None}


def _is_ours(value: Any, module: str) -> bool:
    return (
        isinstance(value, type)
        and value.__module__ == module
        and (is_dataclass(value) or issubclass(value, BaseEstimator))
    )


@cache
def learners() -> dict[str, type]:
    """scikit-learn's classes whose state is numbers, arrays, names and one another."""
    return {
        f"sklearn.{name}": getattr(import_module(f"sklearn.{module}"), name)
        for module, names in _LEARNERS.items()
        for name in names
    }


@cache
def searches() -> dict[str, type]:
    """scikit-learn's classes that hold a tree, and are made anew from their points."""
    return {f"sklearn.{name}": getattr(import_module("sklearn.neighbors"), name) for name in _SEARCHES}
