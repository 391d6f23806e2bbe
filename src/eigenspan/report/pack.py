"""Pack tables and embeddings for the page: typed arrays one after another, compressed, in base64."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..plotting._colours import MOST_CLASSES
from ..plotting._read import pairs_of

#: Maximum number of cells for which numbers keep double precision; larger tables keep single precision.
EXACT_CELLS = 200_000
#: Maximum number of axes of an embedding on the page.
MOST_AXES = 8
#: Maximum number of columns for which an embedding keeps arrows; the page shows those that fit its axes.
MOST_ARROWS = 40
#: Whole numbers with more distinct values than this are quantities, others are classes.
MOST_WHOLE_CLASSES = 50


@dataclass
class Packer:
    """Byte buffer that returns the offsets of the arrays put into it."""

    raw: bytearray = field(default_factory=bytearray)

    def put(self, data: bytes) -> int:
        """Append data at a multiple of eight bytes, as typed arrays require; return its offset."""
        self.raw.extend(b"\0" * (-len(self.raw) % 8))
        start = len(self.raw)
        self.raw.extend(data)
        return start

    def text(self) -> str:
        """Return the whole buffer, compressed and in base64."""
        deflate = zlib.compressobj(9, zlib.DEFLATED, -15)
        return base64.b64encode(deflate.compress(bytes(self.raw)) + deflate.flush()).decode("ascii")


def embedding_facts(
    packer: Packer, name: str, Y: NDArray[np.float64], note: str, codes: Any, arrows: Any, panels: int = 1
) -> dict[str, Any]:
    """Return the facts of an embedding for the page: its axes in 16 bits, the pairs of axes shown at first, and its distortion codes and
    arrows, if any."""
    axes = []
    for number, values in enumerate(Y.T[:MOST_AXES]):
        lo, hi = float(values.min()), float(values.max())
        places = np.round((values - lo) / (hi - lo) * 65535) if hi > lo else np.full(values.size, 32768.0)
        if hi == lo:
            lo, hi = lo - 0.5, hi + 0.5
        axes.append(
            {"label": f"axis {number + 1}", "lo": lo, "hi": hi, "at": packer.put(places.astype("<u2").tobytes())}
        )
    place = None if codes is None else packer.put(codes.tobytes())
    if Y.shape[1] > MOST_AXES:
        note = ", ".join(filter(None, [note, f"the first {MOST_AXES} of {Y.shape[1]} axes"]))
    pairs = [
        pair if len(pair) > 1 else [0, 1] for pair in pairs_of(Y[:, :MOST_AXES], panels)
    ]  # a single axis is drawn against the row number
    return {
        "name": name,
        "note": note,
        "axes": axes,
        "pairs": pairs,
        "distortion": place,
        "arrows": _arrow_facts(arrows),
    }


def _arrow_facts(arrows: Any) -> list[dict[str, Any]]:
    """Return names and directions of the columns with the longest arrows."""
    if arrows is None:
        return []
    along = np.nan_to_num(arrows.to_numpy(dtype=np.float64))[:, :MOST_AXES]
    order = np.argsort(-np.abs(along).max(axis=1, initial=0.0), kind="stable")[:MOST_ARROWS]
    return [{"name": str(arrows.index[row]), "along": along[row].round(4).tolist()} for row in order]


def distortion_codes(distortion: Mapping[str, Any]) -> tuple[float, float, dict[str, NDArray[np.uint8]]]:
    """Return the ends of a scale common to all embeddings, and for each point a code on it from 1 to 255; 0 is missing."""
    values = {name: np.asarray(column, dtype=np.float64) for name, column in distortion.items()}
    finite = np.concatenate([column[np.isfinite(column)] for column in values.values()])
    lo, hi = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)
    hi = hi if hi > lo else lo + 1.0
    codes = {}
    for name, column in values.items():
        known = np.isfinite(column)
        codes[name] = np.zeros(column.size, dtype=np.uint8)
        codes[name][known] = 1 + np.round(254 * (column[known] - lo) / (hi - lo))
    return lo, hi, codes


def column_facts(packer: Packer, name: Any, column: Any, *, exact: bool) -> dict[str, Any]:
    """Return the facts of a table column for the page: numbers, times, or classes with their names."""
    import pandas as pd

    facts: dict[str, Any] = {"name": str(name)}
    if column.dtype == object and pd.api.types.infer_dtype(column) in ("integer", "floating", "mixed-integer-float"):
        column = pd.to_numeric(column)
    if isinstance(column.dtype, pd.CategoricalDtype):
        return facts | _classes(packer, column.cat.codes.to_numpy() + 1, column.cat.categories)
    if pd.api.types.is_datetime64_dtype(column.dtype):
        times = _times(packer, column)
        if times is not None:
            return facts | times
    elif pd.api.types.is_numeric_dtype(column.dtype) and not pd.api.types.is_bool_dtype(column.dtype):
        numbers = _numbers(column)
        if numbers is not None and _is_quantity(numbers, column.dtype):
            kind = "<f8" if exact else "<f4"
            if np.array_equal(numbers, numbers.astype("<f4"), equal_nan=True):
                kind = "<f4"
            if not np.isnan(numbers).any() and np.array_equal(
                numbers, np.clip(numbers, -(2**31), 2**31 - 1).astype("<i4")
            ):
                kind = "<i4"
            return facts | {"kind": "number", "type": kind[1:], "at": packer.put(numbers.astype(kind).tobytes())}
    codes, levels = _factorised(column)
    return facts | _classes(packer, codes + 1, levels)


def _numbers(column: Any) -> NDArray[np.float64] | None:
    """Return the numbers in double precision, or None if they are complex or too large to be exact."""
    import pandas as pd

    if pd.api.types.is_complex_dtype(column.dtype):
        return None
    numbers: NDArray[np.float64] = column.to_numpy(dtype=np.float64, na_value=np.nan)
    whole = pd.api.types.is_integer_dtype(column.dtype)
    return None if whole and bool((np.abs(numbers) > 2**53).any()) else numbers


def _is_quantity(numbers: NDArray[np.float64], dtype: Any) -> bool:
    """Whether numbers are a quantity, as in `plotting`: more than 12 distinct fractions, or more than 50 distinct whole numbers."""
    import pandas as pd

    distinct = pd.unique(numbers[~np.isnan(numbers)]).size
    return distinct > (MOST_WHOLE_CLASSES if pd.api.types.is_integer_dtype(dtype) else MOST_CLASSES)


def _times(packer: Packer, column: Any) -> dict[str, Any] | None:
    """Return times as milliseconds since 1970, the unit of JavaScript; None if they are finer, or out of its range."""
    stamps = column.to_numpy()
    known = ~np.isnat(stamps)
    whole = stamps.astype("datetime64[ms]")
    count = whole.astype(np.int64)
    if (whole.astype(stamps.dtype) != stamps)[known].any() or (np.abs(count[known]) > 8e15).any():
        return None
    at = packer.put(np.where(known, count, np.nan).astype("<f8").tobytes())
    return {"kind": "time", "type": "f8", "at": at, "whole_days": not (count[known] % 86_400_000).any()}


def _factorised(column: Any) -> tuple[NDArray[np.intp], Any]:
    """Return codes, -1 if missing, and levels: in their own order or, if they have none, sorted as text."""
    import pandas as pd

    try:
        codes, levels = pd.factorize(column, sort=True)
    except TypeError:  # values of mixed types, or not hashable
        words = [None if _absent(value) else _word(value) for value in column]
        codes, levels = pd.factorize(np.array(words, dtype=object), sort=True)
    return codes, levels


def _absent(value: Any) -> bool:
    import pandas as pd

    return bool(np.ndim(value) == 0 and pd.isna(value))


def _word(value: Any) -> str:
    """Return the name of a class: whole numbers without a decimal point, whatever their type."""
    if isinstance(value, float | np.floating):
        real = float(value)
        return str(int(real)) if real.is_integer() and -1e15 < real < 1e15 else str(value)
    return str(value)


def _classes(packer: Packer, codes: NDArray[Any], levels: Any) -> dict[str, Any]:
    count = len(levels)
    kind = "u1" if count < 2**8 else "u2" if count < 2**16 else "u4"
    # single precision prints shorter numbers
    values = np.asarray(levels) if getattr(levels.dtype, "kind", "") == "f" else levels
    words = json.dumps([_word(value) for value in values]).encode("ascii")
    at = packer.put(codes.astype(f"<{kind}").tobytes())
    return {"kind": "class", "type": kind, "at": at, "levels": {"at": packer.put(words), "bytes": len(words)}}
