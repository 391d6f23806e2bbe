"""The table of methods, one row for each class that states its facts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from ..._documented import documented
from ...data.y import ClassLabels
from .contract import FeatureReducer, LinearReducer

Class = TypeVar("Class", bound=type)

#: Costs that many methods have.
SPARSE = "neighbours + sparse eigenproblem"
NEIGHBOURS_AND_FEATURES = "neighbours + n D² + D³"

#: The table is sorted by these.
FAMILIES = (
    "variance",
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
    own: bool = True


ROWS: list[Method] = []
#: What the contract of reducers does not fit: it predicts or learns weights, reads counts, or is built around another method.
BESIDES: list[Method] = []


def method(family: str, form: str, unit: str, cost: str, source: str, *aliases: str) -> Callable[[Class], Class]:
    """Class decorator: add the class to the table, and complete its docstring.

    Parameters
    ----------
    family : str
        One of `FAMILIES`.
    form : str
        What is minimised or maximised.
    unit : str
        The quadratic form that is kept at one.
    cost : str
    source : str
        The equation.
    *aliases : str
        Other names for `eigenspan.make`.
    """

    def decorate(cls: Class) -> Class:
        facts = family, form, unit, _basis(cls), _supervision(cls), cost, source
        ROWS.append(Method(cls.__name__, *facts, build=cls, aliases=aliases))
        ROWS.sort(key=lambda row: FAMILIES.index(row.family))
        return documented(cls)

    return decorate


def besides(
    family: str, form: str, unit: str, basis: str, supervision: str, cost: str, source: str, *aliases: str
) -> Callable[[Class], Class]:
    """The same for a class of `BESIDES`, of which basis and supervision are told."""

    def decorate(cls: Class) -> Class:
        facts = family, form, unit, basis, supervision, cost, source
        BESIDES.append(Method(cls.__name__, *facts, build=cls, aliases=aliases))
        return documented(cls)

    return decorate


def _basis(cls: Any) -> str:
    if issubclass(cls, FeatureReducer):
        return "linear or kernel"
    linear = issubclass(cls, LinearReducer) or cls._input.linear is True
    return "linear" if linear else getattr(cls, "_basis", "samples")


def _supervision(cls: Any) -> str:
    """What y is for, unless parameters say otherwise."""
    template = cls()
    y = cls._input.of(template).y
    if y is None:
        return "none" if cls._input.y is None else "optional"
    if not isinstance(y, ClassLabels):
        return str(y.kind)
    return "some labels" if template.unlabeled == -1 else "labels"
