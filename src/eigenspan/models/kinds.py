"""How objects are taken apart into numbers, names, lists and arrays, and put together again.

A `Kind` knows one way: ``parts`` of an object, by name, and ``build``, which makes it of these. Trees, navigable graphs and whatever else
follows from the points is not stored; it is made again from them. Nothing here looks up a name that a file chose.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cache
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator

from .allowed import learners, ours, searches
from .invariants import check, check_parts

Parts = dict[str, Any]
_ATTRIBUTE = re.compile(r"_?[A-Za-z][A-Za-z0-9_]*")
_BIT_GENERATORS: dict[str, Any] = {
    cls.__name__: cls
    for cls in (np.random.MT19937, np.random.PCG64, np.random.PCG64DXSM, np.random.Philox, np.random.SFC64)
}


@dataclass(frozen=True)
class Kind:
    """One way to take objects apart and to put them together."""

    parts: Callable[[Any], Parts]
    build: Callable[[Parts], Any]


# ---------------------------------------------------------------------- values and estimators
def _of_dataclass(cls: Any) -> Kind:
    names = [field.name for field in fields(cls) if field.init]

    def build(parts: Parts) -> Any:
        return cls(**parts)

    return Kind(lambda value: {name: getattr(value, name) for name in names}, build)


def _of_estimator(cls: Any) -> Kind:
    """Parameters, for the constructor, and what a fit has set besides."""

    def parts(estimator: Any) -> Parts:
        parameters = estimator.get_params(deep=False)
        found = {name: value for name, value in vars(estimator).items() if name not in parameters}
        return {"parameters": parameters, "attributes": found}

    def build(parts: Parts) -> Any:
        estimator = cls(**parts["parameters"])
        for name, value in parts["attributes"].items():
            refused = not _ATTRIBUTE.fullmatch(name) or callable(getattr(cls, name, None))
            if refused or name in parts["parameters"]:
                raise ValueError(f"{name!r} is no attribute that a fit of {cls.__name__} sets")
            setattr(estimator, name, value)
        return estimator

    return Kind(parts, build)


def _of_search(cls: Any) -> Kind:
    """Parameters and points; the tree grows again."""

    def parts(search: Any) -> Parts:
        return {"parameters": search.get_params(deep=False), "points": vars(search).get("_fit_X")}

    def build(parts: Parts) -> Any:
        search = cls(**parts["parameters"])
        return search if parts["points"] is None else search.fit(parts["points"])

    return Kind(parts, build)


# ---------------------------------------------------------------------- scipy, numpy, pandas
def _of_sparse(cls: Any) -> Kind:
    compressed = cls.__name__.startswith(("csr", "csc"))
    stored = cls if compressed else sp.csr_array

    def parts(matrix: Any) -> Parts:
        matrix = matrix if compressed else sp.csr_array(matrix)
        return {name: getattr(matrix, name) for name in ("data", "indices", "indptr", "shape")}

    def build(parts: Parts) -> Any:
        indices, indptr = parts["indices"], parts["indptr"]
        if not all(
            isinstance(index, np.ndarray) and index.dtype in (np.int32, np.int64) for index in (indices, indptr)
        ):
            raise ValueError("the indices of a sparse matrix are no whole numbers")
        matrix = stored((parts["data"], indices, indptr), shape=tuple(parts["shape"]))
        matrix.check_format(full_check=True)  # products do not look whether an index lies inside
        matrix.indices, matrix.indptr = indices, indptr  # in the width they had
        return matrix if compressed else cls(matrix)

    return Kind(parts, build)


def _random_state_parts(random: Any) -> Parts:
    return {"state": random.get_state(legacy=False)}


def _random_state(parts: Parts) -> Any:
    random = np.random.RandomState()
    random.set_state({**parts["state"], "bit_generator": "MT19937"})
    return random


def _generator_parts(generator: Any) -> Parts:
    return {"state": generator.bit_generator.state}


def _generator(parts: Parts) -> Any:
    name = parts["state"]["bit_generator"]
    if name not in _BIT_GENERATORS:
        raise ValueError(f"there is no bit generator {name!r:.50}")
    bits = _BIT_GENERATORS[name]()
    bits.state = parts["state"]
    return np.random.Generator(bits)


def _frame_parts(frame: Any) -> Parts:
    index = frame.index
    counted = type(index).__name__ == "RangeIndex"
    return {
        "columns": list(frame.columns),
        "values": [frame.iloc[:, j].to_numpy() for j in range(frame.shape[1])],
        "index": [index.start, index.stop, index.step] if counted else index.to_numpy(),
        "names": [index.name, frame.columns.name],
    }


def _frame(parts: Parts) -> Any:
    import pandas as pd

    index, names = parts["index"], parts["names"]
    index = pd.RangeIndex(*index, name=names[0]) if type(index) is list else pd.Index(index, name=names[0])
    frame = pd.DataFrame(dict(enumerate(parts["values"])), index=index)
    frame.columns = pd.Index(parts["columns"], name=names[1])
    return frame


# ---------------------------------------------------------------------- by name
@cache
def kinds() -> dict[str, Kind]:
    """Every kind by the name that files know it by."""
    own: Any = {
        name: _of_estimator(cls) if issubclass(cls, BaseEstimator) else _of_dataclass(cls)
        for name, cls in ours().items()
    }
    sparse = {f"scipy.{name}": _of_sparse(cls) for name, cls in _sparse_classes().items()}
    return {
        **own,
        **{name: _of_estimator(cls) for name, cls in learners().items()},
        **{name: _of_search(cls) for name, cls in searches().items()},
        **sparse,
        "numpy.RandomState": Kind(_random_state_parts, _random_state),
        "numpy.Generator": Kind(_generator_parts, _generator),
        "pandas.DataFrame": Kind(_frame_parts, _frame),
    }


@cache
def _sparse_classes() -> dict[str, type]:
    names = [f"{form}_{kind}" for form in ("csr", "csc", "coo", "dia", "bsr") for kind in ("array", "matrix")]
    return {name: getattr(sp, name) for name in names}


@cache
def _names() -> dict[type, str]:
    found = {**ours(), **learners(), **searches(), **{f"scipy.{n}": c for n, c in _sparse_classes().items()}}
    known = {cls: name for name, cls in found.items()}
    return {**known, np.random.RandomState: "numpy.RandomState", np.random.Generator: "numpy.Generator"}


def name_of(value: Any) -> str | None:
    """By which files know the class of this object; None where they do not. A subclass is another class."""
    cls = type(value)
    if cls.__name__ == "DataFrame" and cls.__module__.split(".")[0] == "pandas":
        return "pandas.DataFrame"
    return _names().get(cls)


def build(name: str, parts: Parts) -> Any:
    """The object of this name with these parts."""
    check_parts(name, parts)
    made = kinds()[name].build(parts)
    check(made)
    return made
