"""Parse numbers in human notation: ``1.728,30``, ``9,189``, ``3.8%``, ``$1,343.80``, ``(120)``."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np

#: Currency signs and codes before or after a number.
_MONEY = r"[$€£¥₹₽₩₺₿]|\b(?:USD|EUR|GBP|CHF|JPY|CNY|INR|CAD|AUD|SEK|NOK|DKK|PLN|BRL)\b"
#: Spaces of any width, apostrophes and underscores, which within a number can only separate thousands.
_GROUPING = r"(?<=\d)[\s'’_\u00a0\u2009\u202f](?=\d{3}(?!\d))"
_PLAIN = re.compile(r"[-+]?(?:\d[\d.,]*|[.,]\d+)(?:[eE][-+]?\d+)?")


@dataclass(frozen=True)
class Written:
    """Notation of the numbers of a column."""

    decimal: str
    thousands: str
    unit: str = ""

    def __str__(self) -> str:
        parts = [f"{self.thousands!r} as thousands separator"] if self.thousands else []
        parts += [f"{self.decimal!r} as decimal mark"] if self.decimal == "," else []
        parts += [f"without {self.unit!r}"] if self.unit else []
        return ", ".join(parts) or "as numbers"


def numbers_in(column: Any, decimal: str | None = None, thousands: str | None = None) -> tuple[Any, Written] | None:
    """Return the numbers of a text column and their notation; None if a cell is not a number or units differ.

    Parameters
    ----------
    column : Series
        Missing cells stay missing.
    decimal, thousands : str, optional
        Marks given by the user. Otherwise they are detected: if a cell has both marks, the last one is the decimal mark; a mark that
        occurs twice in a cell, or always before three digits, separates thousands.
    """
    present = column.dropna().astype(str)
    cells, units = [], Counter[str]()
    for text in present:
        plain, unit = _plain(text)
        if plain is None:
            return None
        cells.append(plain)
        units[unit] += 1
    named = [unit for unit in units if unit]
    if (
        not cells or len(named) > 1 or (named == ["%"] and units[""])
    ):  # a currency sign may be missing in some cells, "%" may not
        return None
    found = _marks(cells, decimal, thousands)
    if found is None:
        return None
    decimal, thousands = found
    values = np.array([_value(cell, decimal, thousands) for cell in cells])
    if np.isnan(values).any():
        return None
    numbers = column.astype(object).where(column.isna(), 0.0).astype(np.float64).to_numpy(copy=True)
    numbers[column.notna().to_numpy()] = values
    used = thousands if any(thousands in cell for cell in cells if thousands) else ""
    return type(column)(numbers, index=column.index, name=column.name), Written(decimal, used, "".join(named))


def _plain(text: str) -> tuple[str | None, str]:
    """Return a cell without its unit, and the unit."""
    text = text.strip().replace("−", "-")
    bracketed = text.startswith("(") and text.endswith(")")
    text = text[1:-1] if bracketed else text
    units = re.findall(_MONEY + "|%", text)
    text = re.sub(_MONEY + "|%", "", text).strip()
    text = re.sub(_GROUPING, "\u2009", text)  # one mark for all of them
    compact = text.replace("\u2009", "").replace(" ", "") if text[:1] in "+-" else text.replace("\u2009", "")
    if len(units) > 1 or not _PLAIN.fullmatch(compact):
        return None, ""
    return ("-" if bracketed else "") + compact, units[0] if units else ""


def _marks(cells: list[str], decimal: str | None, thousands: str | None) -> tuple[str, str] | None:
    """Return the decimal mark and the thousands separator of a column, or None if its cells disagree."""
    if decimal is not None or thousands is not None:
        other = {",": ".", ".": ","}
        decimal = decimal or other.get(thousands or "", ".")
        return decimal, thousands if thousands is not None else other.get(decimal, "")
    last = {max(cell.rfind("."), cell.rfind(",")): cell for cell in cells if "." in cell and "," in cell}
    if last:
        marks = {cell[place] for place, cell in last.items()}
        if len(marks) > 1:
            return None
        decimal = marks.pop()
        return decimal, "," if decimal == "." else "."
    for mark, other_mark in ((",", "."), (".", ",")):
        having = [cell for cell in cells if mark in cell]
        if not having:
            continue
        groups = all(re.fullmatch(rf"[-+]?[1-9]\d{{0,2}}(?:\{mark}\d{{3}})+", cell) for cell in having)
        if any(cell.count(mark) > 1 for cell in having):
            return (other_mark, mark) if groups else None
        if mark == "," and groups:
            return ".", ","
        if mark == ",":
            return (",", ".") if not any("." in cell for cell in cells) else None
    return ".", ","


def _value(cell: str, decimal: str, thousands: str) -> float:
    """Parse a cell; NaN if a mark is in an impossible position."""
    whole, _, rest = cell.partition(decimal)
    if thousands and (thousands in rest or not _grouped(whole, thousands)):
        return float("nan")
    try:
        return float((whole.replace(thousands, "") if thousands else whole) + ("." + rest if rest else ""))
    except ValueError:
        return float("nan")


def _grouped(whole: str, mark: str) -> bool:
    """Whether all groups after the first have three digits."""
    first, *others = whole.lstrip("+-").split(mark)
    return all(len(group) == 3 for group in others) and (not others or 1 <= len(first) <= 3)
