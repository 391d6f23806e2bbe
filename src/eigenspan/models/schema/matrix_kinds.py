"""Kinds of sparse matrices and of the state of a random generator."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from .field_types import Array, Number, SchemaError, Sizes, Tuple, Whole
from .kind import Kind, Parts


# ---------------------------------------------------------------------- sparse matrices
def _compressed(parts: Parts, sizes: Sizes) -> None:
    """Every index lies inside, and rows follow one another: products do not look."""
    (rows, columns), indptr, indices = parts["shape"], parts["indptr"], parts["indices"]
    major, minor = (rows, columns) if sizes["p"] == rows + 1 else (columns, rows)
    if sizes["p"] != major + 1 or indptr[0] != 0 or indptr[-1] != sizes["z"] or np.any(indptr[1:] < indptr[:-1]):
        raise SchemaError("its rows do not follow one another")
    if sizes["z"] and (indices.min() < 0 or indices.max() >= minor):
        raise SchemaError(f"it has indices from {indices.min()} to {indices.max()}, and there are {minor}")


def _compressed_rows(parts: Parts, sizes: Sizes) -> None:
    if sizes["p"] != parts["shape"][0] + 1:
        raise SchemaError(f"it tells of {sizes['p'] - 1} rows and has {parts['shape'][0]}")
    _compressed(parts, sizes)


def _compressed_columns(parts: Parts, sizes: Sizes) -> None:
    if sizes["p"] != parts["shape"][1] + 1:
        raise SchemaError(f"it tells of {sizes['p'] - 1} columns and has {parts['shape'][1]}")
    _compressed({**parts, "shape": parts["shape"][::-1]}, sizes)


def _coordinates(parts: Parts, sizes: Sizes) -> None:
    for name, length in zip(("row", "col"), parts["shape"], strict=True):
        if parts[name].size and not 0 <= parts[name].min() <= parts[name].max() < length:
            raise SchemaError(f"it has a {name} outside of {length}")


def _make_compressed(cls: Any, parts: Parts) -> Any:
    # The constructor checks again and may change the width of the indices, by which sums are added in another order.
    made = cls((parts["data"], parts["indices"], parts["indptr"]), shape=tuple(map(int, parts["shape"])))
    made.indices, made.indptr = parts["indices"], parts["indptr"]
    return made


def _make_coordinates(cls: Any, parts: Parts) -> Any:
    return cls((parts["data"], (parts["row"], parts["col"])), shape=tuple(map(int, parts["shape"])))


_SHAPE = Tuple(Whole(0, 2**40), Whole(0, 2**40))
_FIELDS = {"shape": _SHAPE, "data": Array(("z",), "biuf"), "indices": Array(("z",), "i"), "indptr": Array(("p",), "i")}


def _sparse_kinds() -> list[Kind]:
    found = []
    for form in ("array", "matrix"):
        rows, columns, places = (f"scipy.sparse:{name}_{form}" for name in ("csr", "csc", "coo"))
        found += [
            Kind(f"sparse.csr_{form}", rows, _FIELDS, _compressed_rows, make=_make_compressed),
            Kind(f"sparse.csc_{form}", columns, _FIELDS, _compressed_columns, make=_make_compressed),
            Kind(
                f"sparse.coo_{form}",
                places,
                {"shape": _SHAPE, "data": Array(("z",), "biuf"), "row": Array(("z",), "i"), "col": Array(("z",), "i")},
                _coordinates,
                make=_make_coordinates,
            ),
        ]
    return found


def storable(matrix: Any) -> Any:
    """The same matrix in a form that files store: other ones than csr, csc and coo become csr."""
    return matrix if matrix.format in ("csr", "csc", "coo") else sp.csr_array(matrix)


# ---------------------------------------------------------------------- random generator
_LEGACY = {
    "key": Array((624,), "u"),
    "pos": Whole(0, 624),
    "has_gauss": Whole(0, 1),
    "gauss": Number(),
}


def _take_legacy(random: Any) -> Parts:
    state = random.get_state(legacy=False)
    if state["bit_generator"] != "MT19937":
        raise SchemaError(f"a RandomState over {state['bit_generator']} cannot be stored: use an int")
    return {**state["state"], "has_gauss": int(state["has_gauss"]), "gauss": float(state["gauss"])}


def _legacy_words(parts: Parts, sizes: Sizes) -> None:
    if parts["key"].dtype != np.uint32:
        raise SchemaError("its key is not of 32-bit words")


def _make_legacy(cls: Any, parts: Parts) -> Any:
    made = cls(0)
    state = {"key": parts["key"], "pos": int(parts["pos"])}
    made.set_state(
        {"bit_generator": "MT19937", "state": state, "has_gauss": parts["has_gauss"], "gauss": parts["gauss"]}
    )
    return made


KINDS = [
    *_sparse_kinds(),
    Kind("random.RandomState", "numpy.random:RandomState", _LEGACY, _legacy_words, _take_legacy, _make_legacy),
]
