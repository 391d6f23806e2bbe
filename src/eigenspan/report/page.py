"""The report page: its contents, and the HTML file."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from html import escape
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._files import writing
from ..errors import InputError
from ..plotting._colours import FEW, MISSING, TWELVE
from ..plotting._read import most_pairs
from .pack import EXACT_CELLS, Packer, column_facts, distortion_codes, embedding_facts
from .sections import Facts, Made, Section, Warned

SCRIPTS = ("data.js", "colours.js", "paint.js", "select.js", "panels.js", "main.js")
#: Colour of all classes beyond the first eleven; darker than that of missing values.
OTHERS = "#9aa0a9"
#: Maximum number of columns shown for the row under the pointer, unless others are chosen.
MOST_HOVERED = 12


@dataclass(frozen=True, eq=False)
class Report:
    """A page with linked pictures of embeddings and the available information about them, in one file that needs no network.

    The file contains the rows of `table`: everyone who gets the file can read them.

    Parameters
    ----------
    title : str
    embeddings : dict of str to array-like of shape (n_samples, n_components)
        A panel for every two axes: at most six for a single embedding, at most three each for several, and only one each if more would
        make over twelve panels. A single axis is drawn against the row number.
    table : DataFrame or dict of columns, optional
        One row per point: for colours, for the text under the pointer, and for saving selected rows.
    facts : dict of str to dict, optional
        Facts in groups, such as ``{"Data": {"rows": 150, "missing": 0}}``.
    sections : list of sections, optional
        `Table`, `Curves`, `Spectra`, `Formulas`, `Picture`, `Prose`, in the order of the page.
    warnings : list of str, optional
    provenance : dict of str to str, optional
        How the report was made: ``command``, versions, seed.
    colour : str, optional
        The column to colour by at first; ``"distortion"`` for the distortion.
    hover : list of str, optional
        Columns shown for the row under the pointer; default: the first twelve.
    distortion : dict of str to array-like of shape (n_samples,), optional
        Distortion of each point, by embedding: an additional choice of colour.
    distortion_label : str, default="distortion"
    notes : dict of str to str, optional
        Short remark beside the name of each embedding.
    arrows : dict of str to DataFrame, optional
        Contribution of each column of the data (the index) to each axis (the columns), such as loadings or correlations, by embedding.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn.datasets import load_iris
    >>> from eigenspan import PCA, LDA
    >>> from eigenspan.report import Report
    >>> flowers = load_iris(as_frame=True)
    >>> X, y = flowers.data, flowers.target_names[flowers.target]
    >>> embeddings = {"PCA": PCA(2).fit_transform(X), "LDA": LDA(2).fit_transform(X, y)}
    >>> report = Report("Irises", embeddings, X.assign(species=y), colour="species")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     report.write(Path(folder) / "irises.html").name
    'irises.html'
    """

    title: str
    embeddings: Mapping[str, Any]
    table: Any = None
    _: KW_ONLY
    facts: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    sections: Sequence[Section] = ()
    warnings: Sequence[str] = ()
    provenance: Mapping[str, Any] = field(default_factory=dict)
    colour: str | None = None
    hover: Sequence[str] | None = None
    distortion: Mapping[str, Any] = field(default_factory=dict)
    distortion_label: str = "distortion"
    notes: Mapping[str, str] = field(default_factory=dict)
    arrows: Mapping[str, Any] = field(default_factory=dict)

    def write(self, path: str | Path) -> Path:
        """Write the page atomically, and return its path.

        Parameters
        ----------
        path : str or Path
            A file name that ends in ``.html``.

        Raises
        ------
        OutputError
            The file cannot be written; an existing file is unchanged.
        """
        path = Path(path)
        if path.suffix.lower() not in (".html", ".htm"):
            raise InputError(f"The name of a report must end in .html; got {path.name!r}.")
        page = self.html().encode("utf-8", "xmlcharrefreplace")  # lone surrogates cannot be encoded
        with writing(path) as file:
            file.write(page)
        return path

    def html(self) -> str:
        """Return the page as text."""
        head, data = self._data()
        style, script = _asset("style.css"), "\n".join(_asset(name) for name in SCRIPTS)
        parts: list[Section] = [Warned(self.warnings)] if self.warnings else []
        parts += [Facts("Data and graph", self.facts)] if self.facts else []
        parts += self.sections
        parts += [Made(self.provenance)] if self.provenance else []
        anchors = [f"part-{number}" for number in range(len(parts))]
        links = [("explorer", "Embeddings"), *zip(anchors, (part.title for part in parts), strict=True)]
        count = len(self.embeddings)
        return _fill(
            "page.html",
            policy=_policy(style, script),
            title=escape(self.title),
            summary=escape(f"{head['n']:,} rows · {count} embedding{'s' if count > 1 else ''}"),
            style=style,
            contents="".join(f'<a href="#{anchor}">{escape(title)}</a> ' for anchor, title in links),
            explorer=_asset("explorer.html"),
            sections="\n".join(part.html(anchor) for part, anchor in zip(parts, anchors, strict=True)),
            footer="Made with eigenspan. This file contains the rows that it shows, and loads nothing from the network.",
            data=f'<script type="application/json" id="head">{json_text(head)}</script>\n'
            f'<script type="text/plain" id="data">{data}</script>\n<script>{script}</script>',
        )

    def _data(self) -> tuple[dict[str, Any], str]:
        """Return the header that the script reads first, and the packed arrays."""
        arrays = self._embeddings()
        panels = most_pairs(len(arrays))
        n = len(next(iter(arrays.values())))
        frame = self._frame(n)
        self._check(arrays, frame, n)
        packer = Packer()
        lo, hi, codes = distortion_codes(self.distortion) if self.distortion else (0.0, 1.0, {})
        exact = frame.size <= EXACT_CELLS
        columns = [column_facts(packer, name, frame[name], exact=exact) for name in frame]
        hovered = {str(name) for name in (list(frame)[:MOST_HOVERED] if self.hover is None else self.hover)}
        for facts in columns:
            facts["hover"] = facts["name"] in hovered
        names = [facts["name"] for facts in columns]
        head = {
            "n": n,
            "embeddings": [
                embedding_facts(
                    packer, name, Y, str(self.notes.get(name, "")), codes.get(name), self.arrows.get(name), panels
                )
                for name, Y in arrays.items()
            ],
            "columns": columns,
            "distortion": {"lo": lo, "hi": hi, "label": self.distortion_label} if self.distortion else None,
            "colour": names.index(self.colour) if self.colour in names else self.colour or "none",
            "palettes": {"few": FEW, "twelve": TWELVE, "missing": MISSING, "others": OTHERS},
        }
        return head, packer.text()

    def _embeddings(self) -> dict[str, NDArray[np.float64]]:
        if not self.embeddings:
            raise InputError("A report needs at least one embedding.")
        arrays = {}
        for name, embedding in self.embeddings.items():
            Y = np.asarray(embedding, dtype=np.float64)
            Y = Y[:, None] if Y.ndim == 1 else Y
            if Y.ndim != 2 or 0 in Y.shape:
                raise InputError(f"The embedding {name!r} must have one row per point, but has shape {Y.shape}.")
            bad = int((~np.isfinite(Y)).any(axis=1).sum())
            if bad:
                raise InputError(
                    f"{bad} of the {len(Y)} rows of the embedding {name!r} have NaN or infinite entries, which cannot be drawn: remove "
                    "these "
                    "rows from the embeddings and the table."
                )
            arrays[str(name)] = Y
        return arrays

    def _frame(self, n: int) -> Any:
        """Return the table with names as strings, and its index as a column unless that is a plain range."""
        import pandas as pd

        if self.table is None:
            return pd.DataFrame(index=range(n))
        table = self.table.to_pandas() if hasattr(self.table, "to_pandas") else self.table
        frame = pd.DataFrame(table)
        if not isinstance(frame.index, pd.RangeIndex) or frame.index.name is not None:
            frame = frame.reset_index()
        names = [str(name) for name in frame]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise InputError(
                f"Columns of the table must have distinct names, but {', '.join(twice[:5])} occur more than once."
            )
        return frame.set_axis(names, axis=1)

    def _check(self, arrays: Mapping[str, Any], frame: Any, n: int) -> None:
        for name, Y in arrays.items():
            if len(Y) != n:
                raise InputError(
                    f"All embeddings must have the same rows, but {next(iter(arrays))!r} has {n} and {name!r} has {len(Y)}."
                )
        if len(frame) != n:
            raise InputError(
                f"The table must have one row per point, but the embeddings have {n} rows and the table has {len(frame)}."
            )
        for name, values in self.distortion.items():
            if name not in arrays:
                raise InputError(
                    f"distortion has an entry {name!r}, which is not an embedding. The embeddings are {', '.join(arrays)}."
                )
            if np.shape(values) != (n,):
                raise InputError(
                    f"The distortion of {name!r} must be one number per point ({n} points), but has shape {np.shape(values)}."
                )
        for name, directions in self.arrows.items():
            shape = np.shape(directions)
            if name not in arrays or len(shape) != 2 or shape[1] != arrays[name].shape[1]:
                raise InputError(
                    f"The arrows of {name!r} must be a table with one column per axis of an embedding of that name, but have shape {shape}."
                )
        known = {*frame, *(["distortion"] if self.distortion else [])}
        for name in [*([] if self.colour is None else [self.colour]), *(self.hover or [])]:
            if name not in known:
                raise InputError(
                    f"There is no column {name!r} in the table. Its columns: {', '.join(list(frame)[:20]) or 'none'}."
                )


def json_text(value: Any) -> str:
    """Return JSON that is safe inside script elements: ASCII, without characters that open or close markup."""
    return json.dumps(value).replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _asset(name: str) -> str:
    return resources.files(__package__).joinpath("assets", name).read_text(encoding="utf-8")


def _fill(template: str, **parts: str) -> str:
    """Fill the placeholders of a template in one pass: the inserted text is not searched for placeholders."""
    return re.sub(r"\{\{(\w+)\}\}", lambda match: parts[match.group(1)], _asset(template))


def _policy(style: str, script: str) -> str:
    """Return the content security policy: only these exact styles and scripts may run, and nothing may be loaded."""

    def mark(text: str) -> str:
        return base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")

    return (
        f"default-src 'none'; script-src 'sha256-{mark(script)}'; style-src 'sha256-{mark(style)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
