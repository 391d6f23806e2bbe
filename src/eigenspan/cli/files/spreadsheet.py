"""Text cells that spreadsheet programs would run as formulas.

Excel, LibreOffice and Google Sheets take a cell of a .csv or .tsv that begins with ``=``, ``+``, ``-`` or ``@`` as a formula, which
can read other cells, open addresses and start programs. `neutralised` puts an apostrophe before such text, as OWASP recommends.
Workbooks state the type of every cell: there text is stored as text and does not change.
"""

from __future__ import annotations

import re
from typing import IO, Any

from ..console import how, plural, warn
from ..escape import escaped

#: Text that begins like a formula, after blanks and control characters, or whose first character spreadsheets drop to find one.
_FORMULA = re.compile(r"[\t\r\n]|[\s\x00-\x1f\ufeff\u200b]*[=+\-@＝＋－＠]")
_BEGINS = re.compile(r"[\s\x00-\x1f\ufeff\u200b=+\-@＝＋－＠]")
#: One number, which spreadsheets read as that number; or signs alone, such as the "-" and "--" of missing values.
_HARMLESS = re.compile(r"\s*(?:[-+]?(?:\d[\d.,]*|[.,]\d+)(?:[eE][-+]?\d+)?\s?%?|-+|\++)\s*")
#: What XML cannot hold, and a workbook neither.
_NOT_IN_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def looks_like_formula(cell: Any) -> bool:
    """Whether a spreadsheet program may take this cell as a formula."""
    return isinstance(cell, str) and _FORMULA.match(cell) is not None and not _HARMLESS.fullmatch(cell)


def neutralised(frame: Any, header: bool = True) -> Any:
    """The table with an apostrophe before every text that looks like a formula; how many there are is counted for `say_changed`.

    Parameters
    ----------
    frame : DataFrame
    header : bool
        Whether the names of the columns are written with it.
    """
    if how().raw_cells:
        return frame
    whole = frame
    for place in range(frame.shape[1]):
        column = _guarded(whole.iloc[:, place])
        if column is not None:
            whole = whole.copy() if whole is frame else whole
            whole.isetitem(place, column)
    names = [f"'{name}" if looks_like_formula(name) else name for name in frame.columns]
    changed = sum(new != old for new, old in zip(names, frame.columns, strict=True))
    if not changed:
        return whole
    how().cells_changed += changed if header else 0
    return whole.set_axis(names, axis=1)


def _guarded(column: Any) -> Any:
    """The column with its formulas neutralised; None where it has none."""
    import pandas as pd

    types = pd.api.types
    if types.is_numeric_dtype(column) or types.is_datetime64_any_dtype(column) or types.is_timedelta64_dtype(column):
        return None
    if isinstance(column.dtype, pd.StringDtype) and not _suspicious(column.str.slice(0, 1).unique()):
        return None  # one vectorised pass, for this is nearly always so
    cells = column.astype(object)
    if not _suspicious({cell[:1] for cell in cells if isinstance(cell, str)}):
        return None
    formulas = {cell for cell in {cell for cell in cells if isinstance(cell, str)} if looks_like_formula(cell)}
    if not formulas:
        return None
    found = cells.isin(formulas)
    how().cells_changed += int(found.sum())
    return cells.where(~found, "'" + cells.where(found, "").astype(str))


def _suspicious(firsts: Any) -> bool:
    """Whether a formula may begin with one of these characters."""
    return any(isinstance(first, str) and _BEGINS.match(first) for first in firsts)


def say_changed() -> None:
    """Say, once for a command, how many cells were changed and how to keep them."""
    count = how().cells_changed
    begins = "begins" if count == 1 else "begin"
    warn(
        f"{plural(count, 'text cell')} {begins} with =, +, - or @, which spreadsheet programs run as formulas: an apostrophe was put "
        "before the text. Use --raw-cells to write it unchanged, for programs that read the file again."
    )


def write_workbook(frame: Any, file: IO[bytes]) -> None:
    """Write an .xlsx whose text cells are text: never formulas, also after a user has edited them.

    Characters that a workbook cannot hold are written as their escapes.
    """
    import pandas as pd

    with pd.ExcelWriter(file, engine="openpyxl") as book:
        _without_control_characters(frame).to_excel(book, index=False)
        for sheet in book.book.worksheets:
            for row in sheet.iter_rows():
                for cell in row:
                    if isinstance(cell.value, str) and (cell.data_type == "f" or looks_like_formula(cell.value)):
                        cell.data_type = "s"
                        cell.quotePrefix = True


def _without_control_characters(frame: Any) -> Any:
    import pandas as pd

    whole = frame.set_axis([_clean(str(name)) for name in frame.columns], axis=1)
    for place in range(whole.shape[1]):
        column = whole.iloc[:, place]
        if isinstance(column.dtype, pd.CategoricalDtype) or not pd.api.types.is_numeric_dtype(column):
            cells = column.astype(object)
            if any(isinstance(cell, str) and _NOT_IN_XML.search(cell) for cell in cells):
                whole.isetitem(place, cells.map(lambda cell: _clean(cell) if isinstance(cell, str) else cell))
    return whole


def _clean(text: str) -> str:
    return _NOT_IN_XML.sub(lambda match: escaped(match.group()), text)
