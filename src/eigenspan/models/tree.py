"""Convert objects to JSON values and arrays, and back.

The objects of a file are in a list, each after the objects it contains, so an object that is used twice is stored once, and no object
can contain itself. An object is a dict with its ``kind`` and its fields. A value is a JSON number, text, boolean, null or list, or a
dict with one entry that gives its type::

    {"array": 3}                     the fourth array of the file
    {"ref": 5}                       the sixth object of the list
    {"tuple": [...]}                 and {"dict": [[key, value], ...]}, {"slice": [start, stop, step]}
    {"float": "nan"}                 or "inf", "-inf", which JSON does not have
    {"number": ["<f4", 0.5]}         a NumPy number; {"dtype": "<f8"} and {"type": "<f8"} a NumPy dtype and a NumPy scalar type
    {"texts": [shape, [...]]}        an object array of texts, numbers and None

Estimators store their fields in two dicts, ``parameters`` and ``attributes``.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..data.objects import ObjectPairs
from ..errors import ModelError
from .schema import kind_of, kinds
from .schema.field_types import DEEPEST, SchemaError, Sizes
from .schema.matrix_kinds import storable

#: Kinds of NumPy types that a file may contain: booleans, numbers, texts and times, but no Python objects.
KINDS = "biufcSUMm"
#: Fields of an estimator that are dicts by name.
_NAMED = ("parameters", "attributes")
#: Limit on reading shared arrays repeatedly: in total at most this many times the bytes of all arrays, plus a fixed number of bytes.
_MAX_READS, _FREE_BYTES = 64, 2**28


class _Checked:
    """Kinds and lengths of the objects checked so far, by identity."""

    def __init__(self) -> None:
        self._found: dict[int, tuple[str, Sizes]] = {}

    def __call__(self, value: Any) -> tuple[str, Sizes] | None:
        return self._found.get(id(value))

    def add(self, value: Any, name: str, sizes: Sizes) -> None:
        self._found[id(value)] = name, sizes


class Writer:
    """Converts an object to the `objects` and `arrays` that a file stores, and the versions of their `kinds`."""

    def __init__(self) -> None:
        self.objects: list[dict[str, Any]] = []
        self.arrays: list[np.ndarray] = []
        self.kinds: dict[str, int] = {}
        self._checked = _Checked()
        self._nodes: dict[int, dict[str, Any] | None] = {}
        self._kept_alive: list[Any] = []  # keep objects alive, because ids are reused afterwards

    def value(self, x: Any, path: str, depth: int = 0) -> Any:
        """Return the JSON value of x; `path` is the location of x in the saved object, for messages."""
        if x is None or type(x) in (bool, int, str):
            return x
        if type(x) is float:
            return x if math.isfinite(x) else {"float": str(x)}
        if depth > DEEPEST:
            raise ModelError(
                f"{path} is nested more than {DEEPEST} levels deep, or contains itself: it cannot be saved."
            )
        if type(x) in (list, tuple):
            inside = [self.value(each, f"{path}[{i}]", depth + 1) for i, each in enumerate(x)]
            return inside if type(x) is list else {"tuple": inside}
        if type(x) is dict:
            return {"dict": [[self._key(k, path), self.value(v, f"{path}[{k!r}]", depth + 1)] for k, v in x.items()]}
        if type(x) is slice:
            return {"slice": [self.value(each, path, depth + 1) for each in (x.start, x.stop, x.step)]}
        if isinstance(x, np.generic):
            return self._number(x, path)
        if isinstance(x, np.dtype):
            return {"dtype": _spelled(x, path)}
        if isinstance(x, type) and issubclass(x, np.generic):
            return {"type": _spelled(np.dtype(x), path)}
        return self._node(x, path)

    def _key(self, key: Any, path: str) -> Any:
        if type(key) in (bool, int, str, float) or key is None:
            return self.value(key, path)
        if isinstance(key, np.generic):
            return self._number(key, path)
        raise _refusal(key, f"a key of {path}")

    def _number(self, x: Any, path: str) -> Any:
        if x.dtype.kind in "biuf" and x.dtype.itemsize <= 8:
            return {"number": [_spelled(x.dtype, path), self.value(x.item(), path)]}
        return {"scalar": self._node(np.asarray(x), path)}

    def _node(self, x: Any, path: str) -> Any:
        """Return a reference to an object or array; each is stored only once."""
        if id(x) in self._nodes:
            node = self._nodes[id(x)]
            if node is None:
                raise ModelError(f"{path} contains itself: such an object cannot be saved.")
            return node
        self._nodes[id(x)] = None
        self._kept_alive.append(x)
        node = self._array(x, path) if isinstance(x, np.ndarray) else self._object(x, path)
        self._nodes[id(x)] = node
        return node

    def _array(self, x: np.ndarray, path: str) -> dict[str, Any]:
        if type(x) not in (np.ndarray, np.memmap):
            raise _refusal(x, path)
        if x.dtype.kind == "O":
            texts = [self.value(each, f"{path}.flat[{i}]") for i, each in enumerate(x.ravel().tolist())]
            if any(isinstance(text, list | dict) and "float" not in text for text in texts):
                raise ModelError(f"{path} is an array of Python objects: only texts, numbers and None can be saved.")
            return {"texts": [list(x.shape), texts]}
        _spelled(x.dtype, path)
        whole = x.flags.c_contiguous or x.flags.f_contiguous
        self.arrays.append(
            np.asarray(x) if whole else x.copy(order="K")
        )  # keep the layout, because it affects rounding in products
        return {"array": len(self.arrays) - 1}

    def _object(self, x: Any, path: str) -> dict[str, int]:
        stored = storable(x) if sp.issparse(x) else x
        kind = kind_of(stored)
        if kind is None:
            raise _refusal(x, path)
        if isinstance(held := getattr(stored, "objects_", None), ObjectPairs):
            raise _refusal(held, path)
        try:
            parts = kind.parts(stored)
            written: dict[str, Any] = {}
            for part, value in parts.items():
                if part in _NAMED and isinstance(value, dict):
                    written[part] = {key: self.value(each, f"{path}.{key}") for key, each in value.items()}
                else:
                    written[part] = self.value(value, f"{path}.{part}")
            sizes = kind.check(parts, self._checked)
        except SchemaError as failure:
            raise ModelError(f"{path} cannot be saved: {failure}.") from None
        self._checked.add(x, kind.name, sizes)
        self.kinds[kind.name] = kind.version
        self.objects.append({"kind": kind.name, **written})
        return {"ref": len(self.objects) - 1}


def _spelled(dtype: np.dtype, path: str) -> str:
    if dtype.kind not in KINDS:
        raise ModelError(f"{path} has the NumPy type {dtype}, which a model file cannot store.")
    return dtype.str


def _refusal(x: Any, path: str) -> ModelError:
    kind, name = f"{type(x).__module__}.{type(x).__qualname__}".removeprefix("builtins."), path.rpartition(".")[2]
    if isinstance(x, ObjectPairs):
        return ModelError(
            f"{path} was fitted to a list of objects that {x.function.name} compares, and a model file stores data only, no code. Fit the "
            'table of all pairs with "precomputed" and save that model; or use pickle, which can save functions that can be imported, for '
            "files that only people you trust can write."
        )
    if callable(x) and not hasattr(x, "get_params"):
        called = getattr(x, "__qualname__", kind)
        return ModelError(
            f"{path} is a function ({called}), but a model file stores data only, no code. Use a kernel or metric with a name, such as "
            f"eigenspan.Kernel('rbf'); or, if only the fit needs it, call set_params({name}=None) before saving. pickle can save "
            "functions that "
            "can be imported, but use it only for files that only people you trust can write."
        )
    known = ", ".join(sorted(name.removeprefix("sklearn.") for name in kinds() if name.startswith("sklearn.")))
    return ModelError(
        f"{path} is a {kind}, which a model file cannot store. It can store eigenspan's own classes, arrays, numbers, texts, and these "
        f"classes of scikit-learn: {known}. Save the model without it, or use pickle, only for files that only people you trust can write."
    )


class Reader:
    """Builds the objects that `Writer` stored. Raises ValueError, TypeError or KeyError for contents that `Writer` never produces."""

    def __init__(self, arrays: list[Any], versions: Any = None) -> None:
        self.arrays = arrays
        self.objects: list[Any] = []
        self._checked = _Checked()
        self._versions = versions if isinstance(versions, dict) else {}
        self._readable_bytes = _FREE_BYTES + _MAX_READS * sum(array.nbytes for array in arrays)

    def read(self, objects: list[Any]) -> None:
        """Build every object of the list, in order."""
        for node in objects:
            name, known = node["kind"], kinds()
            if not isinstance(name, str) or name not in known:
                raise ValueError(f"it contains the unknown kind {name!r:.100}")
            kind, version = known[name], self._versions.get(name, 1)
            parts = {part: self._part(part, value) for part, value in node.items() if part != "kind"}
            parts = kind.migrated(parts, version if type(version) is int else 0)
            sizes = kind.check(parts, self._checked)
            made = kind.build(parts)
            self._checked.add(made, name, sizes)
            self.objects.append(made)

    def _part(self, part: str, value: Any) -> Any:
        if part in _NAMED and isinstance(value, dict) and value.keys() != {"dict"}:
            return {name: self.value(each) for name, each in value.items()}
        return self.value(value)

    def value(self, x: Any) -> Any:
        """Return the value that a JSON value represents."""
        if isinstance(x, list):
            return [self.value(each) for each in x]
        if not isinstance(x, dict):
            return x
        ((kind, content),) = x.items()
        if kind in ("array", "ref"):
            return self._stored(kind, content)
        if kind in ("tuple", "dict", "slice"):
            inside = [self.value(each) for each in content]
            return tuple(inside) if kind == "tuple" else dict(inside) if kind == "dict" else _slice(inside)
        if kind == "float" and content in ("nan", "inf", "-inf"):
            return float(content)
        return self._of_numpy(kind, content)

    def _stored(self, kind: str, place: Any) -> Any:
        stored = self.arrays if kind == "array" else self.objects
        if type(place) is not int or not 0 <= place < len(stored):
            raise ValueError(f"it refers to {kind} {place!r:.20}, but only {len(stored)} come before")
        if kind == "array":
            self._readable_bytes -= stored[place].nbytes
            if self._readable_bytes < 0:
                raise ValueError("it refers to its arrays more often than allowed")
        return stored[place]

    def _of_numpy(self, kind: str, content: Any) -> Any:
        if kind == "texts":
            return _texts(content[0], [self.value(text) for text in content[1]])
        if kind == "scalar":
            return self.value(content)[()]
        if kind not in ("number", "dtype", "type"):
            raise ValueError(f"it contains a value of the unknown type {kind!r:.50}")
        dtype = plain_dtype(content[0] if kind == "number" else content)
        if kind == "number":
            return dtype.type(self.value(content[1]))
        return dtype if kind == "dtype" else dtype.type


def _slice(inside: list[Any]) -> slice:
    start, stop, step = inside
    if not all(each is None or type(each) is int for each in inside):
        raise ValueError("it contains a slice whose ends are not whole numbers")
    return slice(start, stop, step)


def _texts(shape: list[int], texts: list[Any]) -> Any:
    if any(type(text) not in (str, int, float, bool, type(None)) for text in texts):
        raise ValueError("it contains an array of objects other than texts and numbers")
    if any(type(length) is not int or not 0 <= length <= len(texts) for length in shape):
        raise ValueError(f"it contains {len(texts)} texts with the shape {shape!r:.60}")
    made = np.empty(len(texts), dtype=object)
    made[:] = texts
    return made.reshape(shape)


def plain_dtype(spelled: Any) -> np.dtype:
    """Return the NumPy dtype of this name; raise ValueError unless it is one of booleans, numbers, texts or times."""
    dtype = np.dtype(spelled) if isinstance(spelled, str) else None
    if dtype is None or dtype.kind not in KINDS or dtype.hasobject:
        raise ValueError(f"it contains an array of the type {spelled!r:.50}, which is not allowed")
    return dtype
