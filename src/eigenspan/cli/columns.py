"""Which columns and rows of a table can be embedded, and what is said about the others."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

import numpy as np

from .console import Refusal, listed, plural, say, suggestion

#: Names under which people keep row numbers and identifiers.
_ID_NAMES = ("id", "index", "row", "rowid", "row_id", "unnamed: 0")


@dataclass(frozen=True, eq=False)
class Prepared:
    """Numbers ready to embed, with what goes back beside the embedding.

    Parameters
    ----------
    X : ndarray of shape (n, D)
    columns : list of str
        Names of the D columns.
    medians : ndarray of shape (D,)
        Of the values present, to fill gaps in new rows.
    ids : Series
        Identifiers of the n rows kept.
    label : Series or None
    """

    X: Any
    columns: list[str]
    medians: Any
    ids: Any
    label: Any = None


def prepare(
    frame: Any, *, label: str | None, identifier: str | None, chosen: tuple[str, ...], missing: str, gaps: bool = False
) -> Prepared:
    """Sort the columns, settle the gaps, which a method may take as they are, and say what was set aside."""
    for name in filter(None, (label, identifier)):
        require_column(frame, name)
    ids = row_ids(frame, identifier, label)
    features = frame.drop(columns=[name for name in (label, ids.name) if name in frame.columns])
    beside = [] if chosen else [name for name in frame.attrs.get("beside", ()) if name in features.columns]
    if beside:
        say(f"Set aside (vectors beside the matrix): {listed(beside)}.")
        features = features.drop(columns=beside)
    features = _numeric(features[_matching(features, chosen)] if chosen else features, bool(chosen))
    features = _varying(features)
    if not features.shape[1]:
        raise Refusal(
            f"None of the {frame.shape[1]} columns can be embedded: it takes columns of numbers that differ between rows."
        )
    filled, kept = settle_gaps(features, missing, taken=gaps)
    if filled.shape[0] < 2:
        raise Refusal(f"{plural(filled.shape[0], 'row')} cannot be embedded: it takes at least 2.")
    say(f"Embedding {plural(filled.shape[0], 'row')} and {plural(filled.shape[1], 'column')} of numbers.")
    medians = features.loc[kept, filled.columns].median().to_numpy()
    X = filled.to_numpy(dtype=np.float64)
    return Prepared(X, list(filled.columns), medians, ids[kept], None if label is None else frame.loc[kept, label])


def require_column(frame: Any, name: str) -> None:
    """Refuse a column that is not there."""
    if name not in frame.columns:
        hint = suggestion(name, frame.columns)
        raise Refusal(f"There is no column {name!r}.{hint} The columns are {listed(frame.columns, 12)}.")


def row_ids(frame: Any, identifier: str | None, label: str | None) -> Any:
    """The named column, one that looks like identifiers, or row numbers counted from 1."""
    import pandas as pd

    if identifier is not None:
        return frame[identifier]
    for name in frame.columns:
        if name != label and name.lower() in _ID_NAMES and frame[name].is_unique and not frame[name].isna().any():
            say(f"Set aside as row identifier: {name!r}.")
            return frame[name]
    name = "row" if "row" not in frame.columns else "row number"
    return pd.Series(np.arange(1, frame.shape[0] + 1), index=frame.index, name=name)


def _matching(frame: Any, chosen: tuple[str, ...]) -> list[str]:
    """Columns by name or by pattern (``pixel*``), in the order of the table."""
    wanted: set[str] = set()
    for entry in (part.strip() for text in chosen for part in ([text] if text in frame.columns else text.split(","))):
        hits = [entry] if entry in frame.columns else [c for c in frame.columns if fnmatchcase(c, entry)]
        if not hits:
            require_column(frame, entry)
        wanted.update(hits)
    return [c for c in frame.columns if c in wanted]


# --------------------------------------------------------------------- columns
def _numeric(frame: Any, asked_for: bool) -> Any:
    """The columns of numbers; the others are named by kind, or refused when they were asked for."""
    aside: dict[str, list[str]] = {}
    for name in frame.columns:
        if kind := _not_numeric(frame[name]):
            aside.setdefault(kind, []).append(name)
    if aside and asked_for:
        kind, names = next(iter(aside.items()))
        raise Refusal(f"The columns chosen must hold numbers, but {listed(names)} hold {kind}.")
    for kind, names in aside.items():
        say(f"Set aside ({kind}): {listed(names)}.")
    numbers = frame.drop(columns=[name for names in aside.values() for name in names])
    numbers = numbers.astype(np.float64)
    infinite = np.isinf(numbers.to_numpy())
    if infinite.any():
        say(
            f"{plural(int(infinite.sum()), 'infinite value')} in {listed(numbers.columns[infinite.any(0)])} count as missing."
        )
        numbers = numbers.mask(infinite)
    return numbers


def _not_numeric(column: Any) -> str:
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


def _varying(frame: Any) -> Any:
    """The columns that differ between rows: the others say nothing about any pair of points."""
    empty = [name for name in frame.columns if frame[name].isna().all()]
    constant = [name for name in frame.columns if name not in empty and frame[name].nunique() == 1]
    if empty:
        say(f"Set aside (empty): {listed(empty)}.")
    if constant:
        say(f"Set aside (constant): {listed(constant)}.")
    return frame.drop(columns=[*empty, *constant])


# ------------------------------------------------------------------------ gaps
def settle_gaps(frame: Any, missing: str, medians: Any = None, taken: bool = False) -> tuple[Any, Any]:
    """Apply the user's choice for missing values, if any are refused; returns the table and the mask of rows kept."""
    gaps = frame.isna()
    rows, columns = gaps.any(axis=1), gaps.any(axis=0)
    everyone = np.ones(frame.shape[0], dtype=bool)
    if not rows.any():
        return frame, everyone
    if missing == "drop-rows":
        left = int((~rows).sum())
        if not left:
            raise Refusal(
                f"{_affected(gaps)}: drop-rows leaves nothing. Choose --missing {'drop-columns or ' * (medians is None)}median."
            )
        say(f"Dropped {_affected(gaps)}: {plural(left, 'row')} {'is' if left == 1 else 'are'} left.")
        return frame[~rows], (~rows).to_numpy()
    if missing == "drop-columns":
        say(f"Dropped {plural(int(columns.sum()), 'column')} with missing values: {listed(frame.columns[columns])}.")
        if columns.all():
            raise Refusal(
                "Every column has missing values, so drop-columns leaves nothing: choose drop-rows or median."
            )
        return frame.loc[:, ~columns], everyone
    if missing == "median":
        say(
            f"Filled {plural(int(gaps.to_numpy().sum()), 'missing value')} in {listed(frame.columns[columns])} with medians."
        )
        values = frame.median() if medians is None else dict(zip(frame.columns, medians, strict=True))
        return frame.fillna(values), everyone
    if taken:
        say(
            f"{plural(int(gaps.to_numpy().sum()), 'value')} missing, in {plural(int(rows.sum()), 'row')}: the method takes them so."
        )
        return frame, everyone
    return _refuse(gaps, columns_may_go=medians is None)


def _affected(gaps: Any) -> str:
    """``3 rows with missing values (rows 2, 5, 9)``, counted from 1 below the header."""
    where = np.flatnonzero(gaps.any(axis=1).to_numpy()) + 1
    numbers = ", ".join(map(str, where[:10])) + (", …" if where.size > 10 else "")
    return f"{plural(where.size, 'row')} with missing values (row {numbers})"


def _refuse(gaps: Any, columns_may_go: bool) -> Any:
    per_column = gaps.sum()
    per_column = per_column[per_column > 0].sort_values(ascending=False)
    rows = int(gaps.any(axis=1).sum())
    worst = ", ".join(f"{name!r} {count}" for name, count in per_column.head(5).items())
    more = f" and {len(per_column) - 5} more" if len(per_column) > 5 else ""
    ways = [f"--missing drop-rows (keeps {plural(gaps.shape[0] - rows, 'row')})"]
    if columns_may_go:
        ways.append(f"--missing drop-columns (keeps {plural(gaps.shape[1] - len(per_column), 'column')})")
    raise Refusal(
        f"{plural(int(per_column.sum()), 'value')} missing, in {len(per_column)} of {gaps.shape[1]} columns ({worst}{more}) and "
        f"{rows} of {gaps.shape[0]} rows. An embedding needs complete rows: choose {', '.join(ways)} or --missing median; "
        "or a method that takes gaps, such as --method ppca."
    )


def numbers_of(frame: Any, columns: list[str]) -> Any:
    """The columns a model was fitted to, as numbers."""
    absent = [name for name in columns if name not in frame.columns]
    if absent:
        raise Refusal(
            f"The table lacks {plural(len(absent), 'column')} that the model was fitted to: {listed(absent)}. It has "
            f"{listed(frame.columns, 12)}."
        )
    frame = frame[columns]
    empty = [name for name in columns if frame[name].isna().all()]
    return _numeric(frame.astype(dict.fromkeys(empty, np.float64)), asked_for=True)
