"""Parameters from declarations: a name, its type and its default, said once.

::

    class WalkEmbedding(GraphEmbedding):
        weights: Weights = "heat"
        extension: Literal["nystrom", "harmonic", "barycentric"] = "nystrom"

is a constructor with two keywords more than that of `GraphEmbedding`, for scikit-learn, ``help``, editors and type checkers alike, and
what a value may be is read from its type. A subclass declares what it adds and what it changes.
"""

from __future__ import annotations

import collections.abc
import difflib
import inspect
import types
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Annotated, Any, ClassVar, Literal, Union, dataclass_transform, get_args, get_origin, get_type_hints

from sklearn.base import BaseEstimator

from ._compat import HasMethods, Interval, Options, StrOptions
from .errors import ParameterError

# ---------------------------------------------------------------------- types: what stands behind them is what is checked
Count = Annotated[int, Interval(Integral, 1, None, closed="left")]
NotNegative = Annotated[float, Interval(Real, 0, None, closed="left")]
Positive = Annotated[float, Interval(Real, 0, None, closed="neither")]
Finite = Annotated[float, Interval(Real, None, None, closed="neither")]
Share = Annotated[float, Interval(Real, 0, 1, closed="both")]
Tolerance = Annotated[float, Interval(Real, 0, 1, closed="neither")]
ArrayLike = Annotated[Any, "array-like"]
Seed = Annotated[Any, "random_state"]
Metric = Annotated[Any, str, callable]
Weights = Annotated[Any, str, HasMethods("bind")]

#: Names that scikit-learn uses, and what says the same here.
_ELSEWHERE = {
    "affinity": ' Where X holds affinities, say graph="precomputed", weights="precomputed"; other edge weights are weights="heat", '
    '"binary" and so on, over the neighbours of graph=.',
}
_PLAIN: dict[Any, Any] = {
    bool: "boolean",
    int: Interval(Integral, None, None, closed="neither"),
    collections.abc.Callable: callable,
    type(None): None,
}


@dataclass(frozen=True)
class _Declared:
    """The default of a parameter, if it has one, and whether it must be named."""

    default: Any = inspect.Parameter.empty
    kw_only: bool = True

    def spelled(self, name: str) -> inspect.Parameter:
        kind = inspect.Parameter.KEYWORD_ONLY if self.kw_only else inspect.Parameter.POSITIONAL_OR_KEYWORD
        return inspect.Parameter(name, kind, default=self.default)


def parameter(*, default: Any = inspect.Parameter.empty, kw_only: bool = True) -> Any:
    """A parameter that a plain default cannot declare: one that may be given by position, or must be given."""
    return _Declared(default, kw_only)


class _Constraints:
    """What every parameter may be, in the words of scikit-learn's checks, worked out from the types when first asked for."""

    def __get__(self, estimator: Any, cls: Any) -> dict[str, Any]:
        if "_constraints" not in vars(cls):
            hints = get_type_hints(cls, include_extras=True)
            cls._constraints = {
                name: "no_validation" if hints[name] is Any else choices(hints[name]) for name in cls._parameters
            }
        return dict(cls._constraints)


@dataclass_transform(kw_only_default=True, field_specifiers=(parameter,))
class Declared(BaseEstimator):
    """Estimators and specifications whose constructor is what they and their bases declare.

    A parameter is a public name with a type and a value. Values are stored as they come, under their names.
    """

    #: Parameters by name, what a class adds before what it inherits.
    _parameters: ClassVar[dict[str, _Declared]] = {}
    _own_parameters: ClassVar[dict[str, _Declared]] = {}
    _parameter_constraints: ClassVar[Any] = _Constraints()

    def __init_subclass__(cls, **options: Any) -> None:
        cls._own_parameters = {
            name: value if isinstance(value, _Declared) else _Declared(value)
            for name in inspect.get_annotations(cls)
            if not name.startswith("_") and not name.endswith("_") and name in vars(cls)
            for value in [vars(cls)[name]]
        }
        for name in cls._own_parameters:
            delattr(cls, name)
        cls._parameters = _ordered(cls)
        cls.__init__ = _constructor(cls)  # type: ignore[method-assign]
        super().__init_subclass__(**options)


def _ordered(cls: Any) -> dict[str, _Declared]:
    """Those that may be given by position first; of the others, those of the class before those of its bases."""
    found: dict[str, _Declared] = {}
    for base in cls.__mro__:
        for name, declared in vars(base).get("_own_parameters", {}).items():
            found.setdefault(name, declared)
    return dict(sorted(found.items(), key=lambda item: item[1].kw_only))


def _constructor(cls: Any) -> Any:
    parameters = cls._parameters
    signature = inspect.Signature([declared.spelled(name) for name, declared in parameters.items()])

    def initialise(self: Any, *args: Any, **given: Any) -> None:
        name = type(self).__name__
        for unknown in given.keys() - parameters.keys():
            near = difflib.get_close_matches(unknown, parameters, n=1, cutoff=0.5)
            meant = _ELSEWHERE.get(unknown) or (f" Did you mean {near[0]!r}?" if near else "")
            raise ParameterError(f"{name} has no parameter {unknown!r}.{meant} It has {', '.join(parameters)}.")
        try:
            values = signature.bind(*args, **given)
        except TypeError as failure:
            raise ParameterError(f"{name}: {failure}; its parameters are {signature}.") from None
        values.apply_defaults()
        for parameter, value in values.arguments.items():
            setattr(self, parameter, value)

    itself = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    initialise.__signature__ = signature.replace(parameters=[itself, *signature.parameters.values()])  # type: ignore[attr-defined]
    initialise.__name__, initialise.__qualname__ = "__init__", f"{cls.__qualname__}.__init__"
    return initialise


def choices(hint: Any) -> list[Any]:
    """The constraints that a type stands for, any of which a value may satisfy."""
    kind = get_origin(hint)
    if kind is Annotated:
        return list(hint.__metadata__)
    if kind in (Union, types.UnionType):
        return [choice for part in get_args(hint) for choice in choices(part)]
    if kind is Literal:
        options = set(get_args(hint))
        return [StrOptions(options) if all(isinstance(o, str) for o in options) else Options(Integral, options)]
    kind = kind or hint
    return [_PLAIN.get(kind, kind)]
