"""Sections of a report below the pictures. Each has a title and renders itself as HTML; all text of the caller is escaped."""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any, Protocol

import numpy as np

from .formulas import to_mathml
from .pictures import data_uri
from .svg_charts import line_chart, series_key, spectrum_chart


class Section(Protocol):
    """Protocol of a section of the page."""

    @property
    def title(self) -> str: ...

    def html(self, anchor: str) -> str: ...


def part(anchor: str, title: str, text: str, *body: str, kind: str = "wide") -> str:
    """Return a section with heading and explanation; sections of kind "half" are placed side by side."""
    words = f"<p>{escape(text)}</p>" if text else ""
    return f'<section class="part {kind}" id="{anchor}"><h2>{escape(title)}</h2>{words}{"".join(body)}</section>'


def number(value: Any) -> str:
    """Format a value: numbers with three or four digits, True and False as yes and no."""
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if isinstance(value, numbers.Integral):
        return f"{int(value):,}".replace("-", "−")
    if isinstance(value, numbers.Real):
        real = float(value)
        if not math.isfinite(real):
            return "—" if math.isnan(real) else "∞" if real > 0 else "−∞"
        usual = real == 0 or 1e-3 <= abs(real) < 1e5
        return (f"{real:.3g}" if not usual else f"{real:,.0f}" if abs(real) >= 1e3 else f"{real:.3f}").replace("-", "−")
    return "—" if value is None else str(value)


def brief(value: Any) -> str:
    """Format a value as `number` does, but without trailing digits that only align columns."""
    fraction = isinstance(value, numbers.Real) and not isinstance(value, numbers.Integral | np.bool_)
    return f"{float(value):.4g}".replace("-", "−") if fraction and math.isfinite(value) else number(value)


@dataclass(frozen=True, eq=False)
class Table:
    """A table of numbers and text.

    Parameters
    ----------
    title : str
    frame : DataFrame
        Its index holds the names of the rows.
    text : str, default=""
        Explanation of the table.
    higher, lower : sequence of str
        Columns whose largest (`higher`) or smallest (`lower`) value is printed bold.
    heat : bool, default=False
        Whether to colour the cells by sign and size, for loadings and correlations.
    """

    title: str
    frame: Any
    text: str = ""
    higher: Sequence[str] = ()
    lower: Sequence[str] = ()
    heat: bool = False

    def html(self, anchor: str) -> str:
        frame = self.frame
        first = "" if frame.index.name is None else str(frame.index.name)
        heads = f'<th scope="col">{escape(first)}</th>' + "".join(self._head(name) for name in frame)
        largest = float(np.nanmax(np.abs(frame.to_numpy(dtype=float)), initial=0.0)) if self.heat else 0.0
        rows = []
        for place, label in enumerate(frame.index):
            cells = "".join(self._cell(name, frame[name].iloc[place], largest) for name in frame)
            rows.append(f'<tr><th scope="row">{escape(str(label))}</th>{cells}</tr>')
        table = f"<table><thead><tr>{heads}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
        name = escape(self.title, quote=True)
        return part(
            anchor,
            self.title,
            self.text,
            f'<div class="scroll" tabindex="0" role="region" aria-label="{name}">{table}</div>',
            kind="wide" if frame.shape[1] > 5 else "half",
        )

    def _head(self, name: Any) -> str:
        mark = ' class="word"' if any(isinstance(value, str) for value in self.frame[name]) else ""
        return f'<th scope="col"{mark}>{escape(str(name))}</th>'

    def _cell(self, name: Any, value: Any, largest: float) -> str:
        kinds = []
        if self.heat and largest > 0 and np.isfinite(value):
            step = round(4 * abs(float(value)) / largest)
            kinds = ["heat", *([f"{'p' if value > 0 else 'm'}{step}"] if step else [])]
        elif isinstance(value, str):
            kinds = ["word"]
        elif len(self.frame) > 1 and (name in self.higher or name in self.lower):
            column = self.frame[name]
            if value == (column.max() if name in self.higher else column.min()):
                kinds = ["best"]
        mark = f' class="{" ".join(kinds)}"' if kinds else ""
        return f"<td{mark}>{escape(number(value))}</td>"


@dataclass(frozen=True, eq=False)
class Curves:
    """Lines over a common axis, such as the R_NX of several embeddings.

    Parameters
    ----------
    title : str
    lines : dict of str to (x, y)
    x, y : str
        Labels of the axes.
    text : str, default=""
    log : bool, default=False
        Whether x is drawn on a logarithmic scale.
    """

    title: str
    lines: Mapping[str, tuple[Any, Any]]
    x: str = ""
    y: str = ""
    text: str = ""
    log: bool = False

    def html(self, anchor: str) -> str:
        key = series_key(list(self.lines)) if len(self.lines) > 1 else ""
        chart = line_chart(self.lines, self.x, self.y, self.title, log=self.log, width=560, height=320)
        figure = f'<div class="charts"><figure class="wide">{chart}</figure></div>'
        return part(anchor, self.title, self.text, key, figure, kind="half")


@dataclass(frozen=True, eq=False)
class Spectra:
    """Charts of the eigenvalues of several methods, with the axes kept and the gap after them.

    Parameters
    ----------
    title : str
    values : dict of str to array-like
    kept : dict of str to int
        Number of eigenvalues that belong to the embedding.
    text : str, default=""
    words : dict of str to str
        Text under each chart.
    """

    title: str
    values: Mapping[str, Any]
    kept: Mapping[str, int] = field(default_factory=dict)
    text: str = ""
    words: Mapping[str, str] = field(default_factory=dict)

    def html(self, anchor: str) -> str:
        figures = []
        for name, values in self.values.items():
            chart = spectrum_chart(np.asarray(values, dtype=float), self.kept.get(name), name)
            words = f'<p class="quiet">{escape(self.words[name])}</p>' if name in self.words else ""
            figures.append(f"<figure><figcaption>{escape(name)}</figcaption>{chart}{words}</figure>")
        kind = "wide" if len(figures) > 6 else "half"
        return part(anchor, self.title, self.text, f'<div class="charts">{"".join(figures)}</div>', kind=kind)


@dataclass(frozen=True, eq=False)
class Formulas:
    """The problems that the methods solve.

    Parameters
    ----------
    title : str
    problems : dict of str to (list of str, str)
        Formulas in LaTeX, and a line of explanation, by method.
    text : str, default=""
    """

    title: str
    problems: Mapping[str, tuple[Sequence[str], str]]
    text: str = ""

    def html(self, anchor: str) -> str:
        body = []
        for name, (formulas, words) in self.problems.items():
            maths = "".join(f'<div class="formula">{to_mathml(formula)}</div>' for formula in formulas)
            line = f"<p>{escape(words)}</p>" if words else ""
            body.append(f'<div class="problem"><h3>{escape(name)}</h3>{maths}{line}</div>')
        return part(anchor, self.title, self.text, *body)


@dataclass(frozen=True, eq=False)
class Picture:
    """A matplotlib figure, embedded as an image.

    Parameters
    ----------
    title : str
    figure : matplotlib Figure
    alt : str
        Description of the figure for people who cannot see it.
    text : str, default=""
    """

    title: str
    figure: Any
    alt: str
    text: str = ""

    def html(self, anchor: str) -> str:
        image = f'<img src="{data_uri(self.figure)}" alt="{escape(self.alt, quote=True)}">'
        return part(anchor, self.title, self.text, f'<figure class="picture">{image}</figure>')


@dataclass(frozen=True, eq=False)
class Prose:
    """A paragraph of text."""

    title: str
    text: str

    def html(self, anchor: str) -> str:
        return part(anchor, self.title, self.text)


@dataclass(frozen=True, eq=False)
class Facts:
    """Groups of names and values."""

    title: str
    groups: Mapping[str, Mapping[str, Any]]

    def html(self, anchor: str) -> str:
        groups = []
        for name, facts in self.groups.items():
            rows = "".join(
                f"<dt>{escape(str(key))}</dt><dd>{escape(brief(value))}</dd>" for key, value in facts.items()
            )
            groups.append(f"<div><h3>{escape(str(name))}</h3><dl>{rows}</dl></div>")
        return part(anchor, self.title, "", f'<div class="facts">{"".join(groups)}</div>', kind="half")


@dataclass(frozen=True, eq=False)
class Warned:
    """A list of all warnings."""

    messages: Sequence[str]
    title: str = "Warnings"

    def html(self, anchor: str) -> str:
        lines = "".join(f"<li>{escape(str(message))}</li>" for message in self.messages)
        return part(anchor, self.title, "", f"<ul>{lines}</ul>", kind="wide warn")


@dataclass(frozen=True, eq=False)
class Made:
    """Provenance of the page: the command and versions."""

    provenance: Mapping[str, Any]
    title: str = "How this was made"

    def html(self, anchor: str) -> str:
        others = {key: value for key, value in self.provenance.items() if key != "command"}
        command = self.provenance.get("command")
        body = f"<pre><code>{escape(str(command))}</code></pre>" if command else ""
        rows = "".join(f"<dt>{escape(str(key))}</dt><dd>{escape(str(value))}</dd>" for key, value in others.items())
        return part(anchor, self.title, "", body, f'<div class="facts"><dl>{rows}</dl></div>')
