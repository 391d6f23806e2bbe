"""Kinds of sparse matrices, and of random generator states."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from .field_types import Array, Number, SchemaError, Sizes, Tuple, Whole
from .kind import Kind, Parts


# ---------------------------------------------------------------------- sparse matrices
def _compressed(parts: Parts, sizes: Sizes) -> None:
    """Check the index arrays of a compressed matrix, because scipy's products do not check them."""
    (rows, columns), indptr, indices = parts["shape"], parts["indptr"], parts["indices"]
    major, minor = (rows, columns) if sizes["p"] == rows + 1 else (columns, rows)
    if sizes["p"] != major + 1 or indptr[0] != 0 or indptr[-1] != sizes["z"] or np.any(indptr[1:] < indptr[:-1]):
        raise SchemaError("its index pointers are not increasing")
    if sizes["z"] and (indices.min() < 0 or indices.max() >= minor):
        raise SchemaError(f"it has indices from {indices.min()} to {indices.max()}, outside [0, {minor})")


def _compressed_rows(parts: Parts, sizes: Sizes) -> None:
    if sizes["p"] != parts["shape"][0] + 1:
        raise SchemaError(f"it has index pointers for {sizes['p'] - 1} rows, but {parts['shape'][0]} rows")
    _compressed(parts, sizes)


def _compressed_columns(parts: Parts, sizes: Sizes) -> None:
    if sizes["p"] != parts["shape"][1] + 1:
        raise SchemaError(f"it has index pointers for {sizes['p'] - 1} columns, but {parts['shape'][1]} columns")
    _compressed({**parts, "shape": parts["shape"][::-1]}, sizes)


def _coordinates(parts: Parts, sizes: Sizes) -> None:
    for name, length in zip(("row", "col"), parts["shape"], strict=True):
        if parts[name].size and not 0 <= parts[name].min() <= parts[name].max() < length:
            raise SchemaError(f"it has a {name} index outside [0, {length})")


def _make_compressed(cls: Any, parts: Parts) -> Any:
    # The constructor may change the width of the indices, which changes the order of summation; so the stored ones are set again.
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
    """Return the matrix in a format that files store: csr, csc and coo are kept, others become csr."""
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
        raise SchemaError(f"a RandomState with {state['bit_generator']} cannot be stored: pass an int as random_state")
    return {**state["state"], "has_gauss": int(state["has_gauss"]), "gauss": float(state["gauss"])}


def _legacy_words(parts: Parts, sizes: Sizes) -> None:
    if parts["key"].dtype != np.uint32:
        raise SchemaError("its key does not consist of 32-bit words")


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
