"""Protection of text cells that spreadsheet programs would run as formulas.

Excel, LibreOffice and Google Sheets treat a cell of a .csv or .tsv that begins with ``=``, ``+``, ``-`` or ``@`` as a formula, which
can read other cells, open addresses and start programs. `neutralised` puts an apostrophe before such text, as OWASP recommends.
Workbooks store the type of every cell, so text is stored there unchanged.
"""

from __future__ import annotations

import re
from typing import IO, Any

from ..console import output_options, plural, warn
from ..escape import escaped

#: Text that begins like a formula after optional whitespace or control characters, or begins with a tab or line break.
_FORMULA = re.compile(r"[\t\r\n]|[\s\x00-\x1f\ufeff\u200b]*[=+\-@＝＋－＠]")
_BEGINS = re.compile(r"[\s\x00-\x1f\ufeff\u200b=+\-@＝＋－＠]")
#: A single number, or only signs, such as the "-" and "--" of missing values.
_HARMLESS = re.compile(r"\s*(?:[-+]?(?:\d[\d.,]*|[.,]\d+)(?:[eE][-+]?\d+)?\s?%?|-+|\++)\s*")
#: Characters that XML, and therefore a workbook, cannot hold.
_NOT_IN_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def looks_like_formula(cell: Any) -> bool:
    """Whether a spreadsheet program may treat this cell as a formula."""
    return isinstance(cell, str) and _FORMULA.match(cell) is not None and not _HARMLESS.fullmatch(cell)


def neutralised(frame: Any, header: bool = True) -> Any:
    """Return the table with an apostrophe before every text that looks like a formula, and count these cells for `warn_of_changed_cells`.

    Parameters
    ----------
    frame : DataFrame
    header : bool
        Whether the column names are written too.
    """
    if output_options().raw_cells:
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
    output_options().cells_changed += changed if header else 0
    return whole.set_axis(names, axis=1)


def _guarded(column: Any) -> Any:
    """Return the column with its formulas neutralised, or None if it has none."""
    import pandas as pd

    types = pd.api.types
    if types.is_numeric_dtype(column) or types.is_datetime64_any_dtype(column) or types.is_timedelta64_dtype(column):
        return None
    if isinstance(column.dtype, pd.StringDtype) and not _suspicious(column.str.slice(0, 1).unique()):
        return None  # fast vectorised test of the usual case
    cells = column.astype(object)
    if not _suspicious({cell[:1] for cell in cells if isinstance(cell, str)}):
        return None
    formulas = {cell for cell in {cell for cell in cells if isinstance(cell, str)} if looks_like_formula(cell)}
    if not formulas:
        return None
    found = cells.isin(formulas)
    output_options().cells_changed += int(found.sum())
    return cells.where(~found, "'" + cells.where(found, "").astype(str))


def _suspicious(firsts: Any) -> bool:
    """Whether a formula may begin with one of these characters."""
    return any(isinstance(first, str) and _BEGINS.match(first) for first in firsts)


def warn_of_changed_cells() -> None:
    """Warn, once per command, how many cells were changed and how to avoid it."""
    count = output_options().cells_changed
    begins = "begins" if count == 1 else "begin"
    warn(
        f"{plural(count, 'text cell')} {begins} with =, +, - or @, which spreadsheet programs run as formulas: an apostrophe was put "
        "before the text. Use --raw-cells to write it unchanged if another program reads the file."
    )


def write_workbook(frame: Any, file: IO[bytes]) -> None:
    """Write an .xlsx whose text cells are never formulas, even after a user has edited them.

    Characters that a workbook cannot hold are escaped.
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
