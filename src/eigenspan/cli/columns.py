"""Selection of the rows and columns of a table to embed."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

import numpy as np

from .console import Unfit, Usage, listed, note, plural, suggestion
from .escape import quoted
from .roles import identifiers, kind_of, words_in


@dataclass(frozen=True, eq=False)
class Prepared:
    """Numbers ready to embed, with the identifiers and labels of their rows.

    Parameters
    ----------
    X : ndarray of shape (n, D)
    columns : list of str
        Names of the D columns.
    medians : ndarray of shape (D,)
        Medians of the columns, to fill missing values in new rows.
    ids : Series
        Identifiers of the n rows kept.
    label : Series or None
    """

    X: Any
    columns: list[str]
    medians: Any
    ids: Any
    label: Any = None


@dataclass(frozen=True)
class Choice:
    """The user's choices about rows and columns.

    Parameters
    ----------
    label, identifier : str or None
        Columns that are left out of the embedding.
    columns : tuple of str
        Columns to embed, by name or pattern; empty: all numeric columns.
    keep : tuple of str
        Columns to embed although they look like identifiers.
    missing, categorical : str
        The options of the same names.
    gaps : bool
        Whether the method accepts missing values.
    """

    label: str | None = None
    identifier: str | None = None
    columns: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    missing: str = "refuse"
    categorical: str = "drop"
    gaps: bool = False


def prepare(frame: Any, choice: Choice) -> Prepared:
    """Select the numeric columns, handle missing values, and report the columns left out."""
    for name in filter(None, (choice.label, choice.identifier, *choice.keep)):
        require_column(frame, name)
    ids, aside = row_ids(frame, choice)
    features = frame.drop(columns=[name for name in (choice.label, ids.name, *aside) if name in frame.columns])
    features = _chosen(features, choice)
    if choice.categorical == "onehot":
        features = _as_zeros_and_ones(features)
    features = _varying(_numeric(features, bool(choice.columns)))
    if not features.shape[1]:
        raise Unfit(
            f"None of the {frame.shape[1]} columns can be embedded: eigenspan needs columns of numbers that differ between rows"
            + (", or columns of text categories with --categorical onehot." if choice.categorical == "drop" else ".")
        )
    filled, kept = handle_missing(features, choice.missing, taken=choice.gaps)
    if filled.shape[0] < 2:
        raise Unfit(f"{plural(filled.shape[0], 'row')} cannot be embedded: at least 2 rows are needed.")
    note(f"Embedding {plural(filled.shape[0], 'row')} and {plural(filled.shape[1], 'column')} of numbers.")
    medians = features.loc[kept, filled.columns].median().to_numpy()
    X = filled.to_numpy(dtype=np.float64)
    label = None if choice.label is None else frame.loc[kept, choice.label]
    return Prepared(X, list(filled.columns), medians, ids[kept], label)


def columns_chosen(frame: Any, choice: Choice) -> tuple[list[str], str | None]:
    """Return the names of the numeric columns and of the identifier column, judged by the first rows of a table."""
    for name in filter(None, (choice.label, choice.identifier, *choice.keep)):
        require_column(frame, name)
    ids, aside = row_ids(frame, choice)
    features = frame.drop(columns=[name for name in (choice.label, ids.name, *aside) if name in frame.columns])
    numbers = _numeric(_chosen(features, choice), bool(choice.columns))
    return [str(name) for name in numbers.columns], str(ids.name) if ids.name in frame.columns else None


def _chosen(features: Any, choice: Choice) -> Any:
    """Return the chosen columns, or all but those stored beside a matrix."""
    if choice.columns:
        return features[_matching(features, choice.columns)]
    beside = [name for name in features.attrs.get("beside", ()) if name in features.columns]
    if beside:
        note(f"Left out (vectors stored beside the matrix): {listed(beside)}.")
    return features.drop(columns=beside)


def _as_zeros_and_ones(features: Any) -> Any:
    """One-hot encode the columns of text categories that have few categories."""
    import pandas as pd

    chosen = [name for name in features.columns if words_in(features[name])]
    if not chosen:
        return features
    note(f"One-hot encoded (one column of zeros and ones per category): {listed(chosen)}.")
    return pd.get_dummies(features, columns=chosen, prefix_sep="=", dtype=np.float64)


def require_column(frame: Any, name: str) -> None:
    """Raise Usage if the table has no column of this name."""
    if name not in frame.columns:
        hint = suggestion(name, frame.columns)
        raise Usage(f"There is no column {quoted(name)}.{hint} The columns are {listed(frame.columns, 12)}.")


def row_ids(frame: Any, choice: Choice) -> tuple[Any, list[str]]:
    """Return the identifiers of the rows, and the names of further columns that look like identifiers.

    The identifiers are the chosen column, else a column that looks like identifiers, else row numbers counted from 1.
    """
    import pandas as pd

    kept = {choice.label, choice.identifier, *choice.keep}
    kept |= set(_matching(frame, choice.columns)) if choice.columns else set()
    found = {name: why for name, why in identifiers(frame).items() if name not in kept}
    ids = None if choice.identifier is None else frame[choice.identifier]
    unique = [name for name in found if frame[name].is_unique and not frame[name].isna().any()]
    if ids is None and unique:
        ids = frame[unique[0]]
        note(
            f"Used as row identifier, not embedded: {quoted(unique[0])} ({found.pop(unique[0])}). Use --keep {_quoted(unique[0])} to "
            "embed it."
        )
    for name, why in found.items():
        note(f"Left out as an identifier: {quoted(name)} ({why}). Use --keep {_quoted(name)} to embed it.")
    if ids is None:
        name = "row" if "row" not in frame.columns else "row number"
        ids = pd.Series(np.arange(1, frame.shape[0] + 1), index=frame.index, name=name)
    return ids, list(found)


def _quoted(name: str) -> str:
    return f"'{name}'" if " " in name else name


def _matching(frame: Any, chosen: tuple[str, ...]) -> list[str]:
    """Return the columns that match the names or patterns (``pixel*``), in the order of the table."""
    wanted: set[str] = set()
    for entry in (part.strip() for text in chosen for part in ([text] if text in frame.columns else text.split(","))):
        hits = [entry] if entry in frame.columns else [c for c in frame.columns if fnmatchcase(c, entry)]
        if not hits:
            require_column(frame, entry)
        wanted.update(hits)
    return [c for c in frame.columns if c in wanted]


# --------------------------------------------------------------------- columns
def _numeric(frame: Any, asked_for: bool) -> Any:
    """Return the numeric columns as float64. Other columns are reported by kind, or refused if the user chose them."""
    aside: dict[str, list[str]] = {}
    for name in frame.columns:
        if kind := kind_of(frame[name]):
            aside.setdefault(kind, []).append(name)
    if aside and asked_for:
        kind, names = next(iter(aside.items()))
        raise Usage(
            f"The chosen columns must hold numbers, but {listed(names)} {'holds' if len(names) == 1 else 'hold'} {kind}."
        )
    for kind, names in aside.items():
        note(f"Left out ({kind}): {listed(names)}.")
    numbers = frame.drop(columns=[name for names in aside.values() for name in names])
    numbers = numbers.astype(np.float64)
    infinite = np.isinf(numbers.to_numpy())
    if infinite.any():
        note(
            f"Treated as missing: {plural(int(infinite.sum()), 'infinite value')} in {listed(numbers.columns[infinite.any(0)])}."
        )
        numbers = numbers.mask(infinite)
    return numbers


def _varying(frame: Any) -> Any:
    """Drop empty and constant columns, which do not distinguish any rows."""
    empty = [name for name in frame.columns if frame[name].isna().all()]
    constant = [name for name in frame.columns if name not in empty and frame[name].nunique() == 1]
    if empty:
        note(f"Left out (empty): {listed(empty)}.")
    if constant:
        note(f"Left out (constant): {listed(constant)}.")
    return frame.drop(columns=[*empty, *constant])


# ------------------------------------------------------------------------ gaps
def handle_missing(frame: Any, missing: str, medians: Any = None, taken: bool = False) -> tuple[Any, Any]:
    """Handle missing values as the user chose; return the table and the mask of the rows kept."""
    gaps = frame.isna()
    rows, columns = gaps.any(axis=1), gaps.any(axis=0)
    all_rows = np.ones(frame.shape[0], dtype=bool)
    if not rows.any():
        return frame, all_rows
    if missing == "drop-rows":
        left = int((~rows).sum())
        if not left:
            raise Unfit(
                f"{_affected(gaps)}: drop-rows leaves no row. Use --missing {'drop-columns or ' * (medians is None)}median."
            )
        note(f"Dropped {_affected(gaps)}: {plural(left, 'row')} {'remains' if left == 1 else 'remain'}.")
        return frame[~rows], (~rows).to_numpy()
    if missing == "drop-columns":
        note(f"Dropped {plural(int(columns.sum()), 'column')} with missing values: {listed(frame.columns[columns])}.")
        if columns.all():
            raise Unfit(
                "Every column has missing values, so drop-columns leaves no column. Use --missing drop-rows or median."
            )
        return frame.loc[:, ~columns], all_rows
    if missing == "median":
        values = frame.median() if medians is None else dict(zip(frame.columns, medians, strict=True))
        unknown = [name for name in frame.columns[columns] if np.isnan(values[name])]
        if unknown:
            raise Unfit(
                f"The model has no medians of {listed(unknown)}, because its table was read in chunks. Use --missing drop-rows, or fill "
                "the missing values first."
            )
        note(
            f"Filled {plural(int(gaps.to_numpy().sum()), 'missing value')} in {listed(frame.columns[columns])} with medians."
        )
        return frame.fillna(values), all_rows
    if taken:
        note(
            f"{plural(int(gaps.to_numpy().sum()), 'value')} missing, in {plural(int(rows.sum()), 'row')}: the method accepts missing "
            "values."
        )
        return frame, all_rows
    return _refuse(gaps, may_drop_columns=medians is None)


def _affected(gaps: Any) -> str:
    """Format as ``3 rows with missing values (rows 2, 5, 9)``, counted from 1 below the header."""
    where = np.flatnonzero(gaps.any(axis=1).to_numpy()) + 1
    numbers = ", ".join(map(str, where[:10])) + (", …" if where.size > 10 else "")
    return f"{plural(where.size, 'row')} with missing values ({'row' if where.size == 1 else 'rows'} {numbers})"


def _refuse(gaps: Any, may_drop_columns: bool) -> Any:
    per_column = gaps.sum()
    per_column = per_column[per_column > 0].sort_values(ascending=False)
    rows = int(gaps.any(axis=1).sum())
    worst = ", ".join(f"{quoted(name)} {count}" for name, count in per_column.head(5).items())
    more = f" and {len(per_column) - 5} more" if len(per_column) > 5 else ""
    ways = [f"--missing drop-rows (keeps {plural(gaps.shape[0] - rows, 'row')})"]
    if may_drop_columns:
        ways.append(f"--missing drop-columns (keeps {plural(gaps.shape[1] - len(per_column), 'column')})")
    raise Unfit(
        f"{plural(int(per_column.sum()), 'value')} missing, in {len(per_column)} of {gaps.shape[1]} columns ({worst}{more}) and "
        f"{rows} of {gaps.shape[0]} rows. An embedding needs complete rows: use {', '.join(ways)} or --missing median; "
        "or use a method that accepts missing values, such as --method ppca."
    )


def numbers_of(frame: Any, columns: list[str]) -> Any:
    """Return the columns that a model was fitted to, as numbers."""
    absent = [name for name in columns if name not in frame.columns]
    if absent:
        raise Unfit(
            f"The table lacks {plural(len(absent), 'column')} that the model was fitted to: {listed(absent)}. It has "
            f"{listed(frame.columns, 12)}."
        )
    frame = frame[columns]
    empty = [name for name in columns if frame[name].isna().all()]
    return _numeric(frame.astype(dict.fromkeys(empty, np.float64)), asked_for=True)
