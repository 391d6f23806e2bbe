"""The table of methods: each class adds its row with the decorator `method` or `besides`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from ..._documented import documented
from ...data.y import ClassLabels
from .contract import FeatureReducer, Reducer

Class = TypeVar("Class", bound=type)
#: Pairs of the arguments of a call and a phrase that stands for it.
Phrases = tuple[tuple[str, str], ...]

#: Costs that several methods share.
SPARSE = "neighbours + sparse eigenproblem"
NEIGHBOURS_AND_FEATURES = "neighbours + n D² + D³"

#: The families, in the order of the table.
FAMILIES = (
    "variance",
    "pursuit",
    "distances",
    "laplacian",
    "reconstruction",
    "alignment",
    "discriminant",
    "semi-supervised",
    "two views",
    "sufficient",
    "unfolding",
    "learning",
    "external",
    "custom",
)


@dataclass(frozen=True)
class Method:
    """One row of the table."""

    name: str
    family: str
    form: str
    unit: str
    basis: str
    supervision: str
    cost: str
    source: str
    build: Callable[..., Any]
    aliases: tuple[str, ...] = ()
    title: str = ""
    phrases: Phrases = ()
    own: bool = True


ROWS: list[Method] = []
#: Classes that are not reducers: they predict, learn weights, read counts, or wrap another method.
BESIDES: list[Method] = []


#: Titles and phrases of classes that `known_as` has named and that have no row yet.
_NAMED: dict[type, tuple[str, Phrases]] = {}


def method(family: str, form: str, unit: str, cost: str, source: str, *aliases: str) -> Callable[[Class], Class]:
    """Class decorator: add the class to the table, and complete its docstring. `known_as` follows it.

    Parameters
    ----------
    family : str
        One of `FAMILIES`.
    form : str
        The quadratic form that is minimised or maximised.
    unit : str
        The quadratic form that is kept at one.
    cost : str
    source : str
        The equation.
    *aliases : str
        Other short names for `eigenspan.make`.
    """

    def decorate(cls: Class) -> Class:
        facts = family, form, unit, _basis(cls), _supervision(cls), cost, source
        ROWS.append(Method(cls.__name__, *facts, cls, aliases, *_NAMED.pop(cls, ("", ()))))
        ROWS.sort(key=lambda row: FAMILIES.index(row.family))
        return documented(cls)

    return decorate


def besides(
    family: str, form: str, unit: str, basis: str, supervision: str, cost: str, source: str, *aliases: str
) -> Callable[[Class], Class]:
    """Class decorator: add the class to `BESIDES`, and complete its docstring; see `method` for the parameters."""

    def decorate(cls: Class) -> Class:
        facts = family, form, unit, basis, supervision, cost, source
        BESIDES.append(Method(cls.__name__, *facts, cls, aliases, *_NAMED.pop(cls, ("", ()))))
        return documented(cls)

    return decorate


def known_as(title: str, phrases: str = "", variants: Mapping[str, str] | None = None) -> Callable[[Class], Class]:
    """Class decorator below `method` or `besides`: the full name of a method, and what people call it and its variants.

    `eigenspan.find` ignores case, accents, hyphens and plurals, and whether words are British or American: write one spelling.

    Parameters
    ----------
    title : str
        The full name, such as "Neighbourhood preserving projections".
    phrases : str
        Other names and related terms, separated by semicolons: "neighbourhood preserving embedding; linear LLE".
    variants : mapping
        The arguments of a call and the phrases that stand for it: ``{"graph='class'": "supervised NPP; supervised NPE"}``.
    """

    def decorate(cls: Class) -> Class:
        _NAMED[cls] = title, spoken({"": phrases} | dict(variants or {}))
        return cls

    return decorate


def spoken(phrases: Mapping[str, str]) -> Phrases:
    """Return (arguments, phrase) for each phrase of ``{arguments: "phrase; phrase"}``."""
    return tuple(
        (arguments, phrase.strip())
        for arguments, several in phrases.items()
        for phrase in several.split(";")
        if phrase.strip()
    )


def _basis(cls: type) -> str:
    """Return the basis of the axes: "linear or kernel", "linear", or the value that the class declares."""
    if issubclass(cls, FeatureReducer):
        return "linear or kernel"
    linear = issubclass(cls, Reducer) and cls._input.linear is True
    return "linear" if linear else getattr(cls, "_basis", "samples")


def _supervision(cls: type[Reducer]) -> str:
    """Return the kind of y that the class reads by default."""
    template = cls()
    y = template._accepted().y
    if y is None:
        return "none" if cls._input.y is None else "optional"
    if not isinstance(y, ClassLabels):
        return str(y.kind)
    return "some labels" if template._accepted().unlabeled == -1 else "labels"
