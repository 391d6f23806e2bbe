r"""Parser for the part of LaTeX that docstrings use.

::

    Row        nodes side by side          a + b
    Sign       a letter, number, operator, word or name of a function
    Space      a space, in ems                \quad
    Script     a subscript and a superscript of a base       x_i^2   \max_V   \sum_{i<j}
    Fraction   a numerator over a denominator       \frac{1}{n}   \tfrac12
    Root       a square root                \sqrt{x}
    Accent     an accent over a base           \bar x   \hat x   \tilde x

Anything else raises an `InputError` that names it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TypeAlias

from ..errors import InputError


@dataclass(frozen=True)
class Row:
    parts: tuple[Node, ...]


@dataclass(frozen=True)
class Sign:
    text: str
    kind: str  # letter, number, operator, fence, function, limit, large, word
    size: float = 0.0  # of a fence: minimum height in ems; 0: as high as its content


@dataclass(frozen=True)
class Space:
    width: float


@dataclass(frozen=True)
class Script:
    base: Node
    below: Node | None
    above: Node | None


@dataclass(frozen=True)
class Fraction:
    top: Node
    bottom: Node
    small: bool


@dataclass(frozen=True)
class Root:
    inside: Node


@dataclass(frozen=True)
class Accent:
    base: Node
    mark: str


Node: TypeAlias = Row | Sign | Space | Script | Fraction | Root | Accent

_GREEK = {
    **{
        "alpha": "α",
        "beta": "β",
        "gamma": "γ",
        "delta": "δ",
        "epsilon": "ϵ",
        "varepsilon": "ε",
        "zeta": "ζ",
        "eta": "η",
    },
    **{"theta": "θ", "iota": "ι", "kappa": "κ", "lambda": "λ", "mu": "μ", "nu": "ν", "xi": "ξ", "pi": "π", "rho": "ρ"},
    **{"sigma": "σ", "tau": "τ", "phi": "ϕ", "varphi": "φ", "chi": "χ", "psi": "ψ", "omega": "ω", "Gamma": "Γ"},
    **{
        "Delta": "Δ",
        "Theta": "Θ",
        "Lambda": "Λ",
        "Xi": "Ξ",
        "Pi": "Π",
        "Sigma": "Σ",
        "Phi": "Φ",
        "Psi": "Ψ",
        "Omega": "Ω",
    },
}
_LETTERS = _GREEK | {"ell": "ℓ", "infty": "∞", "dagger": "†", "top": "⊤", "emptyset": "∅"}
_OPERATORS = {
    **{"sim": "∼", "in": "∈", "succeq": "⪰", "preceq": "⪯", "iff": "⇔", "le": "≤", "leq": "≤", "ge": "≥", "geq": "≥"},
    **{"ne": "≠", "neq": "≠", "times": "×", "cdot": "·", "cup": "∪", "cap": "∩", "nabla": "∇", "partial": "∂"},
    **{"mid": "∣", "dots": "…", "ldots": "…", "cdots": "⋯", "approx": "≈", "propto": "∝", "to": "→", "pm": "±"},
    **{"subset": "⊂", "circ": "∘", "odot": "⊙", "otimes": "⊗", "oplus": "⊕", "perp": "⊥", "equiv": "≡", "colon": ":"},
}
_FENCES = {
    **{"lVert": "‖", "rVert": "‖", "Vert": "‖", "|": "‖", "lvert": "|", "rvert": "|", "langle": "⟨", "rangle": "⟩"},
    **{"{": "{", "}": "}", "lfloor": "⌊", "rfloor": "⌋", "lceil": "⌈", "rceil": "⌉"},
}
_FUNCTIONS = {"arg", "log", "det", "exp", "tr", "dim", "ker", "rank", "cos", "sin", "arccos", "diag"}
_LIMITS = {"max": "max", "min": "min", "sup": "sup", "inf": "inf", "argmin": "arg min", "argmax": "arg max"}
_LARGE = {"sum": "∑", "prod": "∏", "int": "∫"}
_SPACES = {"quad": 1.0, "qquad": 2.0, ",": 0.17, ":": 0.22, ";": 0.28, " ": 0.33, "!": 0.0}
_ACCENTS = {"bar": "¯", "hat": "^", "tilde": "~", "dot": "˙", "overline": "¯", "widehat": "^", "widetilde": "~"}
_SIZES = {"big": 1.2, "Big": 1.8, "bigg": 2.4, "Bigg": 3.0, "left": 0.0, "right": 0.0}
_BOARD = dict(zip("CEHNPQRZ", "ℂ𝔼ℍℕℙℚℝℤ", strict=True))
_CURLY = dict(zip("BEFHLMNRST", "ℬℰℱℋℒℳ𝒩ℛ𝒮𝒯", strict=True))
_TOKEN = re.compile(r"\\(?:[a-zA-Z]+|.)|[{}^_]|\s+|.", re.DOTALL)


def parse(formula: str) -> Row:
    """Parse a formula into a tree."""
    return _Reader(formula).all()


_CLOSING = {")": "(", "]": "[", "}": "{", "⟩": "⟨", "‖": "‖", "|": "|"}


def _base(parts: list[Node]) -> Node:
    """Remove and return the base of a script: the last node, or everything between brackets if that is a closing one."""
    if not parts:
        return Row(())
    last = parts.pop()
    if not isinstance(last, Sign) or last.kind != "fence":
        return last
    opening, depth = _CLOSING.get(last.text, ""), 1
    for place in range(len(parts) - 1, -1, -1):
        part = parts[place]
        if isinstance(part, Sign) and part.kind == "fence":
            depth += (part.text == last.text != opening) - (part.text == opening)
        if depth == 0:
            inside = Row((*parts[place:], last))
            del parts[place:]
            return inside
    return last


class _Reader:
    def __init__(self, formula: str) -> None:
        self.formula = formula
        self.tokens = _TOKEN.findall(formula.strip())
        self.place = 0

    def fail(self, found: str) -> InputError:
        return InputError(f"The formula {self.formula.strip()!r:.120} cannot be converted: {found}.")

    def peek(self) -> str:
        while self.place < len(self.tokens) and self.tokens[self.place].isspace():
            self.place += 1
        return self.tokens[self.place] if self.place < len(self.tokens) else ""

    def take(self) -> str:
        token = self.peek()
        if not token:
            raise self.fail("it ends too early")
        self.place += 1
        return token

    def all(self) -> Row:
        row = self.row("")
        if self.peek():
            raise self.fail("it has an unmatched }")
        return row

    def row(self, end: str) -> Row:
        """Parse up to a closing brace, or to the end."""
        parts: list[Node] = []
        while (token := self.peek()) not in ("", "}"):
            if token in "^_" or token == "'":
                parts.append(self.script(_base(parts)))
            else:
                part = self.one()
                if part is not None:
                    parts.append(part)
        if end and self.peek() != end:
            raise self.fail("a } is missing")
        return Row(tuple(parts))

    def script(self, base: Node) -> Script:
        below: Node | None = None
        above: list[Node] = []
        while (token := self.peek()) in ("^", "_", "'") and token:
            self.take()
            if token == "'":
                above.append(Sign("′", "operator"))
            elif token == "^":
                above.append(self.group())
            elif below is None:
                below = self.group()
            else:
                raise self.fail("it has two subscripts at one base")
        return Script(base, below, None if not above else above[0] if len(above) == 1 else Row(tuple(above)))

    def group(self) -> Node:
        """Parse the argument of a command or script: a group in braces, or the next single node."""
        if self.peek() == "{":
            self.take()
            row = self.row("}")
            self.take()
            return row.parts[0] if len(row.parts) == 1 else row
        part = self.one()
        return self.group() if part is None else part

    def words(self) -> str:
        """Return the plain text of a group in braces, with its spaces."""
        if self.peek() != "{":
            raise self.fail("text must be in braces")
        self.take()
        start = self.place
        while self.place < len(self.tokens) and self.tokens[self.place] != "}":
            self.place += 1
        text = "".join(self.tokens[start : self.place])
        self.take()
        return text

    def one(self) -> Node | None:
        token = self.peek()
        if token == "{":
            return self.group()
        self.take()
        if token[0] == "\\" and len(token) > 1:
            return self.command(token[1:])
        if token.isdigit():
            return Sign(token, "number")
        if token in "()[]|":
            return Sign(token, "fence", 1.0)
        return Sign(token, "letter" if token.isalpha() else "operator")

    def command(self, name: str) -> Node | None:
        tables = ((_LETTERS, "letter"), (_OPERATORS, "operator"), (_LIMITS, "limit"), (_LARGE, "large"))
        for table, kind in tables:
            if name in table:
                return Sign(table[name], kind)
        if name in _FENCES:
            return Sign(_FENCES[name], "fence", 1.0)
        if name in _FUNCTIONS:
            return Sign(name, "function")
        if name in _SPACES:
            return Space(_SPACES[name])
        if name in ("textstyle", "displaystyle", "limits"):
            return None
        return self.applied(name)

    def applied(self, name: str) -> Node:
        """Parse a command that takes arguments."""
        if name in ("frac", "tfrac", "dfrac"):
            return Fraction(self.group(), self.group(), small=name == "tfrac")
        if name == "sqrt":
            return Root(self.group())
        if name in _ACCENTS:
            return Accent(self.group(), _ACCENTS[name])
        if name == "operatorname":
            return Sign(self.words(), "function")
        if name in ("text", "mathrm", "textrm"):
            return Sign(self.words(), "word")
        if name in ("mathbb", "mathcal", "mathbf"):
            table = {"mathbb": _BOARD, "mathcal": _CURLY, "mathbf": {}}[name]
            return Sign("".join(table.get(letter, letter) for letter in self.words()), "letter")
        size = _SIZES.get(name.removesuffix("l").removesuffix("r").removesuffix("m") if name not in _SIZES else name)
        if size is None:
            raise self.fail(f"the command \\{name} is not supported")
        following = self.one()
        if not isinstance(following, Sign):
            raise self.fail(f"\\{name} must be followed by a bracket")
        return Sign("" if following.text == "." else following.text, "fence", size)
