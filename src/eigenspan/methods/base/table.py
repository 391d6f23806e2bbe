"""The table of methods: each class adds its row with the decorator `method` or `besides`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from ..._documented import documented
from ...data.y import ClassLabels
from .contract import FeatureReducer, LinearReducer, Reducer

Class = TypeVar("Class", bound=type)

#: Costs that several methods share.
SPARSE = "neighbours + sparse eigenproblem"
NEIGHBOURS_AND_FEATURES = "neighbours + n D² + D³"

#: The families, in the order of the table.
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
#: Classes that are not reducers: they predict, learn weights, read counts, or wrap another method.
BESIDES: list[Method] = []


def method(family: str, form: str, unit: str, cost: str, source: str, *aliases: str) -> Callable[[Class], Class]:
    """Class decorator: add the class to the table, and complete its docstring.

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
    """Class decorator: add the class to `BESIDES`, and complete its docstring; see `method` for the parameters."""

    def decorate(cls: Class) -> Class:
        facts = family, form, unit, basis, supervision, cost, source
        BESIDES.append(Method(cls.__name__, *facts, build=cls, aliases=aliases))
        return documented(cls)

    return decorate


def _basis(cls: type) -> str:
    """Return the basis of the axes: "linear or kernel", "linear", or the value that the class declares."""
    if issubclass(cls, FeatureReducer):
        return "linear or kernel"
    linear = issubclass(cls, LinearReducer) or (issubclass(cls, Reducer) and cls._input.linear is True)
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
