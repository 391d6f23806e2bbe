"""What a column of somebody's table is: numbers, words, dates, or the names of rows."""

from __future__ import annotations

import re
import warnings
from typing import Any

import numpy as np

from .console import listed

#: Names under which people keep row numbers and identifiers.
_ID_NAMES = re.compile(
    r"(?:id|index|idx|row|rowid|key|uuid|guid|unnamed: 0|.+[_\s.-](?:id|uuid|guid|key)|.*[a-z](?:ID|Id))", re.ASCII
)
#: Numbers that name places, people and things, and are not amounts of anything.
_CODES = re.compile(
    r"(?:.*[_\s-])?(?:zip|zip[_\s-]?code|post[_\s-]?code|postal[_\s-]?code|plz|phone|telephone|fax|ssn|isbn|ean|barcode|fips|iban)",
    re.ASCII | re.IGNORECASE,
)
#: Rows below which consecutive numbers may be an accident.
_FEW = 10
#: Words a column of classes may have, and the share of the rows that may be different.
_MOST_WORDS, _SHARE = 50, 0.5


def identifiers(frame: Any) -> dict[str, str]:
    """Columns that name rows instead of measuring them, and what gives them away."""
    found = {name: _names_rows(str(name), frame[name]) for name in frame.columns}
    return {name: why for name, why in found.items() if why}


def _names_rows(name: str, column: Any) -> str:
    import pandas as pd

    if pd.api.types.is_bool_dtype(column):
        return ""
    present = column.dropna()
    unique = bool(present.is_unique) and len(present) == len(column)
    whole = _is_whole(present)
    by_name = _ID_NAMES.fullmatch(name) or _ID_NAMES.fullmatch(name.lower())
    if (
        by_name
        and (whole or not pd.api.types.is_numeric_dtype(column))
        and (unique or "_" in name or name.lower() != name)
    ):
        return "by its name"
    if _CODES.fullmatch(name) and (whole or not pd.api.types.is_numeric_dtype(column)):
        return "a code, by its name"
    if whole and unique and len(present) >= _FEW:
        values = present.to_numpy(dtype=np.float64)
        if np.unique(np.diff(values)).size == 1:
            return "it counts the rows"
        if np.ptp(values) + 1 == len(values):
            return "it numbers the rows"
    return ""


def _is_whole(present: Any) -> bool:
    import pandas as pd

    if not pd.api.types.is_numeric_dtype(present) or pd.api.types.is_complex_dtype(present) or not len(present):
        return False
    values = present.to_numpy(dtype=np.float64)
    return bool(np.isfinite(values).all() and (values == np.floor(values)).all())


def words_in(column: Any) -> bool:
    """Whether a column holds words of which there are few, so that rows share them."""
    import pandas as pd

    if pd.api.types.is_bool_dtype(column) or kind_of(column) != "text":
        return False
    present = column.dropna()
    return 2 <= present.nunique() <= max(2, min(_MOST_WORDS, int(_SHARE * len(present))))


def kind_of(column: Any) -> str:
    """What a column holds instead of numbers; empty for numbers."""
    import pandas as pd

    types = pd.api.types
    if types.is_bool_dtype(column) or (types.is_numeric_dtype(column) and not types.is_complex_dtype(column)):
        return ""
    if types.is_datetime64_any_dtype(column) or types.is_timedelta64_dtype(column):
        return "dates"
    present = column.dropna()
    if present.empty:
        return "empty"
    numbers = pd.to_numeric(present.astype(str), errors="coerce")
    if numbers.notna().mean() >= 0.5:
        odd = listed(present[numbers.isna()].astype(str).unique(), 3)
        return (
            f"text among numbers, such as {odd}: --na makes such cells missing values"
            if odd
            else "numbers kept as text"
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # pandas remarks on formats it has to guess
        dates = pd.to_datetime(present.astype(str).head(50), errors="coerce")
    return "dates" if dates.notna().all() else "text"
