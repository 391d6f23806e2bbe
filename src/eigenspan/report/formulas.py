r"""Convert the formulas of docstrings to MathML for pages and to Unicode for terminals.

>>> from eigenspan.report.formulas import to_mathml, to_unicode
>>> to_unicode(r"\min_V \operatorname{Tr}(V^T X^T L X V) \quad \text{s.t. } V^T V = I")
'min_V Tr(Vᵀ Xᵀ L X V)  s.t. Vᵀ V = I'
>>> to_mathml("x^2")
'<math display="block"><msup><mi>x</mi><mn>2</mn></msup></math>'
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape

from .latex import Fraction, Node, Root, Row, Script, Sign, Space, parse

_SUP = dict(zip("0123456789+−=()nijkTtbdhlmrswxyzβγαδ′†", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ⁿⁱʲᵏᵀᵗᵇᵈʰˡᵐʳˢʷˣʸᶻᵝᵞᵅᵟ′†", strict=True))
_SUB = dict(zip("0123456789+−=()aehijklmnoprstuvxβγρφχ", "₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓᵦᵧᵨᵩᵪ", strict=True))
_OVER = {"¯": "\u0304", "^": "\u0302", "~": "\u0303", "˙": "\u0307"}
_PARTS = {("1", "2"): "½", ("1", "3"): "⅓", ("1", "4"): "¼", ("3", "4"): "¾"}


def formulas_of(docstring: str | None) -> list[str]:
    """Return the formulas of the ``.. math::`` blocks of a docstring, in order."""
    return [formula for block in _blocks((docstring or "").split("\n")) for formula in block.formulas]


def readable(text: str) -> str:
    """Replace the formulas of a text, inline and in blocks, by Unicode."""
    lines = text.split("\n")
    for block in reversed(list(_blocks(lines))):  # from the end, so that earlier line numbers stay valid
        shown = [" " * (block.indent + 4) + to_unicode(formula) for formula in block.formulas]
        lines[block.start : block.end] = [*shown, ""]
    return re.sub(r":math:`([^`]*)`", lambda found: to_unicode(found.group(1)), "\n".join(lines))


@dataclass(frozen=True)
class _Block:
    """A block of formulas: lines from `start` up to but excluding `end`, and the indentation of the first."""

    start: int
    end: int
    indent: int
    formulas: list[str]


def _blocks(lines: list[str]) -> Iterator[_Block]:
    for start, line in enumerate(lines):
        opening = re.match(r"(\s*)\.\. math::(.*)", line)
        if opening is None:
            continue
        indent, end = len(opening.group(1)), start + 1
        while end < len(lines) and (not lines[end].strip() or len(lines[end]) - len(lines[end].lstrip()) > indent):
            end += 1
        paragraphs = re.split(r"\n\s*\n", "\n".join([opening.group(2), *lines[start + 1 : end]]))
        yield _Block(start, end, indent, [" ".join(words.split()) for words in paragraphs if words.strip()])


def to_unicode(formula: str) -> str:
    """Convert a LaTeX formula to one line of Unicode.

    Examples
    --------
    >>> from eigenspan.report.formulas import to_unicode
    >>> to_unicode(r"Y = U \\Lambda^{1/2}, \\quad \\sigma^2 = \\frac{1}{D - d} \\sum_{j > d} \\lambda_j")
    'Y = U Λ^(1/2),  σ² = 1/(D − d) ∑_(j > d) λⱼ'
    """
    return re.sub(r" +([,;.)\]])", r"\1", re.sub(r" {3,}", "  ", _line(parse(formula)))).strip()


def to_mathml(formula: str) -> str:
    """Convert a LaTeX formula to MathML.

    Examples
    --------
    >>> from eigenspan.report.formulas import to_mathml
    >>> to_mathml(r"\\tfrac12 x")
    '<math display="block"><mfrac displaystyle="false"><mn>1</mn><mn>2</mn></mfrac><mi>x</mi></math>'
    """
    return f'<math display="block">{_marked(parse(formula), inside=True)}</math>'


# ---------------------------------------------------------------------------------------------- Unicode
def _line(node: Node) -> str:
    if isinstance(node, Row):
        return _row_line(node)
    if isinstance(node, Sign):
        return {"-": "−", "*": "∗"}.get(node.text, node.text)
    if isinstance(node, Space):
        return "  " if node.width >= 1 else " " if node.width > 0.2 else ""
    if isinstance(node, Script):
        base = _line(node.base)
        loose = isinstance(node.base, Row) and len(node.base.parts) > 1 and _sign(node.base.parts[0]) != "fence"
        return (f"({base})" if loose else base) + _raised(node.below, _SUB, "_") + _raised(node.above, _SUP, "^")
    if isinstance(node, Fraction):
        top, bottom = _line(node.top), _line(node.bottom)
        return _PARTS.get((top, bottom), f"{_held(node.top)}/{_held(node.bottom)}")
    if isinstance(node, Root):
        return f"√{_held(node.inside)}"
    return _line(node.base) + _OVER[node.mark]


def _row_line(row: Row) -> str:
    """Join the parts of a row: digits, and brackets with their content, without spaces; factors with spaces."""
    text = ""
    before: Node | None = None
    for part in row.parts:
        piece = _line(part)
        text += _gap(before, part, text, piece) + piece
        before = part
    return text


def _gap(before: Node | None, part: Node, text: str, piece: str) -> str:
    """Return the space between two parts of a row, or an empty string if they belong together."""
    if before is None or not text or not piece or text[-1].isspace() or piece[0].isspace():
        return ""
    factor = part.base if isinstance(part, Script) else part
    coefficient = _sign(before) == "number" and (_sign(factor) == "letter" or _sign(part) == "number")
    closing = piece[0] in ",;.)]⟩/" and _sign(part) != "word"
    sign = text[-1] == "−" and text[:-1].rstrip()[-1:] in ("", *"=(,[‖")  # a sign, not a subtraction
    called = piece[0] in "([" and (_sign(before) == "function" or (text[-1] in "pkNyx" and _sign(before) == "letter"))
    norm = text.count("‖") % 2 == 1 and "‖" in (piece[0], text[-1])
    return "" if coefficient or closing or sign or called or norm or text[-1] in "([⟨/" else " "


def _sign(node: Node) -> str:
    return node.kind if isinstance(node, Sign) else ""


def _raised(node: Node | None, table: dict[str, str], sign: str) -> str:
    if node is None:
        return ""
    text = _line(node)
    tight = text.replace(" ", "")
    if all(letter in table for letter in tight):
        return "".join(table[letter] for letter in tight)
    single = len(tight) == 1 or tight.isalpha() or (tight[0] == "(" and tight.count("(") == 1 and tight[-1] == ")")
    return sign + (tight if single else f"({text})")


def _held(node: Node) -> str:
    """Return the node in brackets unless it is a single symbol."""
    text = _line(node)
    single = not isinstance(node, Row) or len(node.parts) == 1 or all(_sign(part) == "number" for part in node.parts)
    return text if single and " " not in text else f"({text})"


# ---------------------------------------------------------------------------------------------- MathML
def _marked(node: Node, inside: bool = False) -> str:
    if isinstance(node, Row):
        pieces = "".join(_marked(part) for part in _joined(node.parts))
        return pieces if inside else f"<mrow>{pieces}</mrow>"
    if isinstance(node, Sign):
        return _mark_sign(node)
    if isinstance(node, Space):
        return f'<mspace width="{node.width:g}em"></mspace>'
    if isinstance(node, Script):
        return _mark_script(node)
    if isinstance(node, Fraction):
        style = ' displaystyle="false"' if node.small else ""
        return f"<mfrac{style}>{_marked(node.top)}{_marked(node.bottom)}</mfrac>"
    if isinstance(node, Root):
        return f"<msqrt>{_marked(node.inside)}</msqrt>"
    return f'<mover accent="true">{_marked(node.base)}<mo stretchy="false">{node.mark}</mo></mover>'


def _joined(parts: tuple[Node, ...]) -> list[Node]:
    """Join adjacent digits to one number."""
    joined: list[Node] = []
    for part in parts:
        before = joined[-1] if joined else None
        if isinstance(part, Sign) and isinstance(before, Sign) and part.kind == before.kind == "number":
            joined[-1] = Sign(before.text + part.text, "number")
        else:
            joined.append(part)
    return joined


def _mark_sign(sign: Sign) -> str:
    text = escape({"-": "−", "*": "∗"}.get(sign.text, sign.text))
    if sign.kind in ("letter", "function"):
        after = '<mspace width="0.12em"></mspace>' if sign.kind == "function" else ""
        upright = ' mathvariant="normal"' if sign.text in "∞∅⊤†ΓΔΘΛΞΠΣΦΨΩ" else ""
        return f"<mi{upright}>{text}</mi>{after}" if not after else f"<mrow><mi>{text}</mi>{after}</mrow>"
    if sign.kind == "number":
        return f"<mn>{text}</mn>"
    if sign.kind == "word":
        return f"<mtext>{text.replace(' ', chr(0xA0))}</mtext>"
    if sign.kind == "limit":
        return f'<mo movablelimits="false" lspace="0" rspace="0.17em">{text}</mo>'
    if sign.kind == "fence":
        grow = (
            'stretchy="true"'
            if sign.size == 0
            else 'stretchy="false"'
            if sign.size == 1
            else f'minsize="{sign.size:g}em"'
        )
        return f'<mo {grow} lspace="0" rspace="0">{text}</mo>'
    return f"<mo>{text}</mo>"


def _mark_script(script: Script) -> str:
    under = isinstance(script.base, Sign) and script.base.kind in ("limit", "large")
    below, above = ("munder", "mover") if under else ("msub", "msup")
    both = "munderover" if under else "msubsup"
    base = _marked(script.base)
    if script.below is not None and script.above is not None:
        return f"<{both}>{base}{_marked(script.below)}{_marked(script.above)}</{both}>"
    if script.below is not None:
        return f"<{below}>{base}{_marked(script.below)}</{below}>"
    assert script.above is not None
    return f"<{above}>{base}{_marked(script.above)}</{above}>"
