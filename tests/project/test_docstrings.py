"""Docstrings agree with the declarations of parameters, and are completed from them and from the bases."""

from __future__ import annotations

import ast
import inspect
import pickle
import pydoc
import re
from pathlib import Path
from typing import Any, Literal, get_type_hints

import pytest
from sklearn.base import clone

import eigenspan as es
from eigenspan import _docstrings as docstrings
from eigenspan._compat import make_constraint
from eigenspan._descriptions import PARAMETERS
from eigenspan._documented import Completed, documented
from eigenspan._parameters import Count, Declared, Metric, NotNegative, Share, parameter
from eigenspan.methods.base.contract import Components, Kernels, LandmarkRows, Scale, Solving
from grouping import in_one_test


def _below(cls: type) -> set[type]:
    found = {sub for sub in cls.__subclasses__() if sub.__module__.startswith("eigenspan.")}
    return found.union(*map(_below, found))


PUBLIC = [
    thing
    for thing in (getattr(es, name) for name in es.__all__)
    if inspect.isclass(thing) and issubclass(thing, Declared)
]
DECLARED = sorted({Declared, *_below(Declared)}, key=lambda cls: cls.__qualname__)
WORDS = ("int", "float", "bool", "dict", "callable", "None")


def own(cls: type, title: str = "Parameters") -> tuple[docstrings.Entry, ...]:
    return docstrings.own_entries(cls, title)


# ---------------------------------------------------------------------- the docstrings of the library
@in_one_test(PUBLIC, lambda cls: cls.__name__)
def test_every_parameter_is_described(cls: Any) -> None:
    assert isinstance(vars(cls)["__doc__"], Completed), "decorate the class with @documented"
    found = docstrings.parameters(cls)
    assert [name for entry in found for name in entry.names] == list(cls._parameters)
    for entry in found:
        assert entry.text, f"nothing describes {', '.join(entry.names)}"
        above = docstrings._described(cls, entry.names[0])
        assert not all(one.text.startswith("...") for one in above), f"{entry.names[0]} continues nothing"
        assert "None" not in entry.type or re.search("None|[Nn]o effect", entry.text), f"{entry.names[0]}=None?"


@in_one_test(DECLARED, lambda cls: cls.__name__)
def test_entries_describe_parameters_that_exist(cls: Any) -> None:
    names = [name for entry in own(cls) for name in entry.names]
    assert set(names) <= set(cls._parameters)
    assert len(set(names)) == len(names)


@in_one_test(DECLARED, lambda cls: cls.__name__)
def test_types_in_entries_agree_with_declarations(cls: Any) -> None:
    for entry in own(cls):
        for name in entry.names if entry.type else ():
            assert contradiction(cls, name, entry.type) == "", f"{name} : {entry.type}"


def contradiction(cls: Any, name: str, said: str) -> str:
    """Return the first contradiction between the type in an entry and the declaration; "" if there is none."""
    hint = get_type_hints(cls, include_extras=True)[name]
    if "default=" in said:
        return "the default is generated"
    if said == docstrings.type_text(hint):
        return "this type is generated"
    rules = cls._parameter_constraints[name]
    accepted = [make_constraint(rule) for rule in rules] if isinstance(rules, list) else []
    for option in re.findall(r'"([^"]*)"', said):
        if accepted and not any(rule.is_satisfied_by(option) for rule in accepted):
            return f"{option!r} is refused"
    for option in literals(hint):
        if f'"{option}"' not in said:
            return f"{option!r} is missing"
    if accepted and ("None" in said) != any(rule.is_satisfied_by(None) for rule in accepted):
        return "None"
    declared = docstrings.type_text(hint)
    if not re.search("array|Any|specification|estimator", declared) and declared:
        wrong = [
            word for word in WORDS if bool(re.search(rf"\b{word}", said)) != bool(re.search(rf"\b{word}", declared))
        ]
        return ", ".join(wrong)
    return ""


def literals(hint: Any) -> set[str]:
    """Return the strings that a type lists."""
    if docstrings.get_origin(hint) is Literal:
        return {option for option in docstrings.get_args(hint) if isinstance(option, str)}
    parts = docstrings.get_args(hint) if docstrings.get_origin(hint) in (docstrings.Union, docstrings.UnionType) else ()
    return {option for part in parts for option in literals(part)}


@in_one_test(PUBLIC, lambda cls: cls.__name__)
def test_types_are_complete(cls: Any) -> None:
    for entry in docstrings.parameters(cls):
        kind = entry.type.partition(", default=")[0]
        assert kind
        assert not re.search(r"\bAny\b|, ,|or $|^ ", kind), f"{entry.names[0]}: name the type {kind!r} by TypeName"


@in_one_test([cls for cls in PUBLIC if hasattr(cls, "_input")], lambda cls: cls.__name__)
def test_precomputed_is_offered_where_it_is_accepted(cls: Any) -> None:
    pairs = cls._input.pairs
    for entry in docstrings.parameters(cls):
        if entry.names[0] in ("graph", "metric", "kernel") and isinstance(pairs, tuple):
            assert ('``"precomputed"``' in entry.text) == (entry.names[0] in pairs), entry.names[0]


@in_one_test(PUBLIC, lambda cls: cls.__name__)
def test_attributes_end_with_an_underscore_and_have_type_and_description(cls: Any) -> None:
    for entry in docstrings.attributes(cls):
        assert all(name.endswith("_") for name in entry.names)
        assert entry.type
        assert not re.search(r"\w_(?!\w)", entry.type), (
            "reStructuredText reads a name with an underscore behind it as a link"
        )
        assert entry.text, entry.names
    absent = {name for entry in own(cls, "Attributes") if entry.type == docstrings.ABSENT for name in entry.names}
    above = [entry for base in cls.__mro__[1:] for entry in own(base, "Attributes")]
    assert absent <= {name for entry in above for name in entry.names}, "left out, but no base has it"


def test_shared_descriptions_are_used() -> None:
    used = {
        name
        for cls in PUBLIC
        for name in cls._parameters
        if not any(
            entry.names.count(name) and not entry.text.startswith("...") for base in cls.__mro__ for entry in own(base)
        )
    }
    assert {name for entry in docstrings.entries(PARAMETERS.strip()) for name in entry.names} == used


def test_names_and_layout() -> None:
    text = inspect.getdoc(es.LPP) or ""
    assert re.findall(r"^(\w+)\n-+$", text, flags=re.MULTILINE) == [
        "Parameters",
        "Attributes",
        "Examples",
        "References",
    ]
    assert "n_components : int, default=2\n    Number of dimensions d of the embedding.\n" in text
    assert '\nscale : "unit-variance" or None, default=None\n' in text
    assert text in pydoc.plain(pydoc.render_doc(es.LPP)).replace("\n |  ", "\n").replace("\n |", "\n")
    assert max(map(len, text.splitlines())) <= 140


# ---------------------------------------------------------------------- first words
#: A docstring of a function begins with an imperative verb ("Return ...") or with the noun it returns, never with one of these.
RIDDLE = re.compile(r"(Of|What|Where|Who|How|The same|As|With)\b")
#: Files with such docstrings. Remove a file when it has none; add no file.
WITH_RIDDLES = {
    "graphs/weights/rules.py",
}


def riddles(text: str) -> list[str]:
    """Return line and first words of the docstrings of functions that begin with such a word."""
    functions = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    found = [(node.lineno, ast.get_docstring(node) or "") for node in functions]
    return [f"{line}: {words[:60]!r}" for line, words in found if RIDDLE.match(words)]


SOURCES = sorted(Path(es.__file__).parent.rglob("*.py"))


@in_one_test(SOURCES, lambda path: path.relative_to(Path(es.__file__).parent).as_posix())
def test_docstrings_of_functions_begin_with_a_verb_or_a_noun(path: Path) -> None:
    found = riddles(path.read_text("utf-8"))
    assert not found or path.relative_to(Path(es.__file__).parent).as_posix() in WITH_RIDDLES, "; ".join(found)


def test_riddles_are_found() -> None:
    text = 'def f():\n    """Of a graph."""\nclass A:\n    """What it is."""\n    async def g(self):\n        """The same rows."""\n'
    assert riddles(text) == ["1: 'Of a graph.'", "5: 'The same rows.'"]
    assert riddles('def f():\n    """Often used."""\ndef g():\n    """Return the rows of X."""\n') == []


# ---------------------------------------------------------------------- the mechanism
class Base(Declared):
    """A base.

    Parameters
    ----------
    size
        How large.
    kernel
        The kernel.
    low, high : number
        Ends of the range.

    Attributes
    ----------
    fitted_ : bool
        Always.
    extra_, other_ : int
        Numbers.
    """

    size: Count | None = None
    kernel: Kernels = "rbf"
    low: float = 0.0
    high: float = 0.0
    verbose: bool = False


@documented
class Derived(Base):
    """A class. [S1, eq. 1]

    Parameters
    ----------
    size
        ... None means ``all of them``.
    part
        A part.

    Attributes
    ----------
    own_ : str
        Its own.
    extra_ : absent

    Examples
    --------
    >>> Derived().size

    References
    ----------
    Somebody.
    """

    part: Share = parameter(default=1e-5, kw_only=False)
    kernel: Literal["a", "b"] = "a"


COMPLETE = """A class. [S1, eq. 1]

Parameters
----------
part : float in [0, 1], default=1e-5
    A part.
kernel : {"a", "b"}, default="a"
    The kernel.
size : int or None, default=None
    How large. None means ``all of them``.
low, high : number, default=0.0
    Ends of the range.
verbose : bool, default=False
    1 prints every stage of the fit as it begins.

Attributes
----------
own_ : str
    Its own.
fitted_ : bool
    Always.
other_ : int
    Numbers.

Examples
--------
>>> Derived().size

References
----------
Somebody.
[S1] Saul, Weinberger, Sha, Ham & Lee (2006), Spectral methods for dimensionality reduction."""


def test_a_class_is_completed_from_its_bases() -> None:
    assert Derived.__doc__ == COMPLETE
    assert Derived().__doc__ == COMPLETE
    assert inspect.getdoc(Derived) == COMPLETE


def test_a_completed_class_behaves_like_others() -> None:
    class Undocumented(Derived):
        pass

    class Documented(Derived):
        """Its own text."""

    assert Undocumented.__doc__ is None
    assert inspect.getdoc(Undocumented) == COMPLETE
    assert Documented.__doc__ == inspect.getdoc(Documented) == "Its own text."
    for made in (pickle.loads(pickle.dumps(Derived(part=0.5))), clone(Derived(part=0.5))):
        assert made.part == 0.5
        assert made.__doc__ == COMPLETE
    Documented.__doc__ = "Another."
    assert Documented.__doc__ == "Another."


@pytest.mark.parametrize(
    "hint, text",
    [
        (Components, "int"),
        (Components | Literal["auto"] | None, 'int, "auto" or None'),
        (NotNegative | None, "float or None"),
        (Literal[1, 2], "{1, 2}"),
        (Kernels | None, "str, Kernel, callable or None"),
        (LandmarkRows, "int, Landmarks, array of indices or None"),
        (Metric, "str or callable"),
        (Scale, '"unit-variance" or None'),
        (dict[str, Any] | None, "dict or None"),
        (Solving, None),
    ],
)
def test_types_in_words(hint: Any, text: str | None) -> None:
    found = docstrings.type_text(hint)
    assert found == text if text else found.startswith('{"auto", "dense", ')


def test_contradictions_are_found() -> None:
    class Odd(Declared):
        kind: Literal["a", "b"] | None = None
        many: Count = 1

    assert contradiction(Odd, "kind", '{"a", "b"}') == "None"
    assert contradiction(Odd, "kind", '{"a"} or None') == "'b' is missing"
    assert contradiction(Odd, "kind", '{"a", "b", "c"} or None') == "'c' is refused"
    assert contradiction(Odd, "many", "float") == "int, float"
    assert contradiction(Odd, "many", "int, default=3") == "the default is generated"
