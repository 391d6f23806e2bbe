"""Roles of the columns of a table: numbers, text, dates, or row identifiers."""

from __future__ import annotations

import re
import warnings
from typing import Any

import numpy as np

from .console import listed

#: Usual column names of row numbers and identifiers.
_ID_NAMES = re.compile(
    r"(?:id|index|idx|row|rowid|key|uuid|guid|unnamed: 0|.+[_\s.-](?:id|uuid|guid|key)|.*[a-z](?:ID|Id))", re.ASCII
)
#: Column names of codes: numbers without a quantity, such as telephone numbers.
_CODES = re.compile(
    r"(?:.*[_\s-])?(?:zip|zip[_\s-]?code|post[_\s-]?code|postal[_\s-]?code|plz|phone|telephone|fax|ssn|isbn|ean|barcode|fips|iban)",
    re.ASCII | re.IGNORECASE,
)
#: Minimum number of rows to treat consecutive numbers as row numbers; in fewer rows they may be a coincidence.
_MIN_ROWS = 10
#: Maximum number of distinct values of a text column of categories, and maximum share of the rows.
_MAX_CATEGORIES, _MAX_CATEGORY_SHARE = 50, 0.5


def identifiers(frame: Any) -> dict[str, str]:
    """Return the columns that identify rows, each with the reason."""
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
    if whole and unique and len(present) >= _MIN_ROWS:
        values = present.to_numpy(dtype=np.float64)
        if np.unique(np.diff(values)).size == 1:
            return "equally spaced whole numbers"
        if np.ptp(values) + 1 == len(values):
            return "a permutation of consecutive whole numbers"
    return ""


def _is_whole(present: Any) -> bool:
    import pandas as pd

    if not pd.api.types.is_numeric_dtype(present) or pd.api.types.is_complex_dtype(present) or not len(present):
        return False
    values = present.to_numpy(dtype=np.float64)
    return bool(np.isfinite(values).all() and (values == np.floor(values)).all())


def words_in(column: Any) -> bool:
    """Whether a text column holds few distinct values, so that it can be one-hot encoded."""
    import pandas as pd

    if pd.api.types.is_bool_dtype(column) or kind_of(column) != "text":
        return False
    present = column.dropna()
    return 2 <= present.nunique() <= max(2, min(_MAX_CATEGORIES, int(_MAX_CATEGORY_SHARE * len(present))))


def kind_of(column: Any) -> str:
    """Return what a non-numeric column holds; empty for numbers."""
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
            f"text among numbers, such as {odd}; use --na to treat it as missing" if odd else "numbers stored as text"
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # pandas warns if it has to guess the format
        dates = pd.to_datetime(present.astype(str).head(50), errors="coerce")
    return "dates" if dates.notna().all() else "text"
