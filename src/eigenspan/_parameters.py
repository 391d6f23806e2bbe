"""Parameters from declarations of a name, a type and a default.

::

    class WalkEmbedding(GraphEmbedding):
        weights: Weights = "heat"
        extension: Literal["nystrom", "harmonic", "barycentric"] = "nystrom"

defines a constructor with two keywords more than that of `GraphEmbedding`, for scikit-learn, ``help``, editors and type checkers. The
types determine which values are valid. A subclass declares the parameters that it adds or changes.
"""

from __future__ import annotations

import collections.abc
import difflib
import inspect
import re
import types
from collections.abc import Iterable
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Annotated, Any, ClassVar, Literal, Union, dataclass_transform, get_args, get_origin, get_type_hints

from ._compat import BaseEstimator, HasMethods, Interval, Options, StrOptions, make_constraint
from .errors import ParameterError


# ---------------------------------------------------------------------- types, with the constraints that are checked
class Function(HasMethods):
    """A function that accepts this number of arguments; None for any number."""

    def __init__(self, arguments: int | None = None) -> None:
        super().__init__("__call__")
        self.arguments = arguments

    def is_satisfied_by(self, value: Any) -> bool:
        return super().is_satisfied_by(value) and (self.arguments is None or accepts(value, *range(self.arguments)))

    def __str__(self) -> str:
        count = self.arguments
        return "a function" + ("" if count is None else f" of {count} value{'s' * (count != 1)}")


class _Table(HasMethods):
    """An array-like of scikit-learn. Classes, text, dicts and sets are refused, although they may have a length."""

    def __init__(self) -> None:
        super().__init__("__len__")

    def is_satisfied_by(self, value: object) -> bool:
        odd = isinstance(value, type | str | bytes | dict | set)
        return not odd and bool(make_constraint("array-like").is_satisfied_by(value))

    def __str__(self) -> str:
        return "an array-like"


class TypeName:
    """Metadata of a type: its alternatives as docstrings name them. It constrains no value.

    ``Annotated[Any, str, HasMethods("bind"), TypeName("str", "weight specification")]`` is documented as "str or weight specification".
    An alternative may be a function, which is called when a docstring is completed.
    """

    def __init__(self, *alternatives: str | collections.abc.Callable[[], str]) -> None:
        self._alternatives = alternatives

    @property
    def alternatives(self) -> tuple[str, ...]:
        return tuple(each if isinstance(each, str) else each() for each in self._alternatives)


def literal_set(values: Iterable[object]) -> str:
    """Return values as numpydoc lists them: ``{"auto", "dense"}``."""
    return "{" + ", ".join(map(literal, values)) + "}"


def literal(value: object) -> str:
    """Return a value as docstrings spell it: strings in double quotes, ``1e-5`` for ``1e-05``."""
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, tuple):
        return "(" + ", ".join(map(literal, value)) + ")"
    return re.sub(r"e-0(?=\d)", "e-", repr(value))


def accepts(function: Any, *values: object, **named: object) -> bool:
    """Return True if the function can be called with these arguments."""
    try:
        inspect.signature(function).bind(*values, **named)
    except TypeError:
        return False
    except ValueError:  # compiled functions have no signature
        return True
    return True


Count = Annotated[int, Interval(Integral, 1, None, closed="left")]
Whole = Annotated[int, Interval(Integral, 0, None, closed="left")]
NotNegative = Annotated[float, Interval(Real, 0, None, closed="left")]
Positive = Annotated[float, Interval(Real, 0, None, closed="neither")]
Finite = Annotated[float, Interval(Real, None, None, closed="neither")]
Share = Annotated[float, Interval(Real, 0, 1, closed="both")]
Tolerance = Annotated[float, Interval(Real, 0, 1, closed="neither")]
ArrayLike = Annotated[Any, _Table(), TypeName("array-like")]
Seed = Annotated[Any, "random_state", TypeName("int", "RandomState", "None")]
Verbose = Annotated[int, "verbose", TypeName("int")]
Metric = Annotated[Any, str, Function()]
#: The label of unlabelled points; any value is accepted.
Marker = Annotated[Any, TypeName("int", "str", "None")]

#: Parameters of scikit-learn, with their equivalents here.
_ELSEWHERE = {
    "affinity": ' Where X holds affinities, say graph="precomputed", weights="precomputed"; other edge weights are set by weights=.',
}
_PLAIN: dict[Any, Any] = {
    bool: "boolean",
    int: Interval(Integral, None, None, closed="neither"),
    type(None): None,
}


@dataclass(frozen=True)
class _Declared:
    """Default of a parameter, if it has one, and whether it is keyword-only."""

    default: Any = inspect.Parameter.empty
    kw_only: bool = True

    def spelled(self, name: str) -> inspect.Parameter:
        kind = inspect.Parameter.KEYWORD_ONLY if self.kw_only else inspect.Parameter.POSITIONAL_OR_KEYWORD
        return inspect.Parameter(name, kind, default=self.default)


def parameter(*, default: Any = inspect.Parameter.empty, kw_only: bool = True) -> Any:
    """Declare a parameter that may be positional, or that has no default."""
    return _Declared(default, kw_only)


class _FittedAttribute:
    """Type of the mark of a fitted attribute."""


_FITTED = _FittedAttribute()


def attribute(*, init: Literal[False] = False) -> Any:
    """Declare the type of an attribute that a fit sets, ``graph_: NeighbourGraph = attribute()``, which is not a parameter.

    The class has no attribute of this name; ``init`` is for type checkers.
    """
    return _FITTED


class _Constraints:
    """Descriptor of the constraints of scikit-learn for every parameter, computed from the types on first access."""

    def __get__(self, estimator: Any, cls: Any) -> dict[str, Any]:
        if "_constraints" not in vars(cls):
            hints = get_type_hints(cls, include_extras=True)
            found = {name: choices(hints[name]) for name in cls._parameters}
            cls._constraints = {name: "no_validation" if may_be == [Any] else may_be for name, may_be in found.items()}
        return dict(cls._constraints)


@dataclass_transform(kw_only_default=True, field_specifiers=(parameter, attribute))
class Declared(BaseEstimator):
    """Estimators and specifications whose constructor follows from their declarations and those of their bases.

    A parameter is a public name with a type and a value. Values are stored unchanged, under their names.
    """

    #: Parameters by name: those that a class adds, then those that it inherits.
    _parameters: ClassVar[dict[str, _Declared]] = {}
    _own_parameters: ClassVar[dict[str, _Declared]] = {}
    _parameter_constraints: ClassVar[Any] = _Constraints()

    def __init_subclass__(cls, **options: Any) -> None:
        for name in [name for name, value in vars(cls).items() if value is _FITTED]:
            delattr(cls, name)
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
    """Return the parameters in order: positional ones first, then those of the class, then those of its bases."""
    found: dict[str, _Declared] = {}
    for base in cls.__mro__:
        for name, declared in vars(base).get("_own_parameters", {}).items():
            found.setdefault(name, declared)
    return dict(sorted(found.items(), key=lambda item: item[1].kw_only))


def _constructor(cls: Any) -> Any:
    parameters = cls._parameters
    signature = inspect.Signature([declared.spelled(name) for name, declared in parameters.items()])

    def initialise(self: Any, *args: Any, **given: Any) -> None:
        values = bound(type(self).__name__, signature, args, given)
        for parameter, value in values.arguments.items():
            setattr(self, parameter, value)

    itself = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    initialise.__signature__ = signature.replace(parameters=[itself, *signature.parameters.values()])  # type: ignore[attr-defined]
    initialise.__name__, initialise.__qualname__ = "__init__", f"{cls.__qualname__}.__init__"
    return initialise


def bound(name: str, signature: inspect.Signature, args: Any, given: dict[str, Any]) -> inspect.BoundArguments:
    """Return the arguments by parameter, with defaults. Raise ParameterError if the class of this name does not accept them."""
    for unknown in given.keys() - signature.parameters.keys():
        near = difflib.get_close_matches(unknown, signature.parameters, n=1, cutoff=0.5)
        hint = _ELSEWHERE.get(unknown) or (f" Did you mean {near[0]!r}?" if near else "")
        known = ", ".join(signature.parameters)
        raise ParameterError(f"{name} has no parameter {unknown!r}.{hint} It has {known}.")
    try:
        values = signature.bind(*args, **given)
    except TypeError as failure:
        raise ParameterError(f"{name}: {failure}; its parameters are {signature}.") from None
    values.apply_defaults()
    return values


def choices(hint: Any) -> list[Any]:
    """Return the constraints of a type; a value must satisfy at least one of them."""
    kind = get_origin(hint)
    if kind is Annotated:
        return [rule for rule in hint.__metadata__ if not isinstance(rule, TypeName)] or choices(hint.__origin__)
    if kind in (Union, types.UnionType):
        return [choice for part in get_args(hint) for choice in choices(part)]
    if kind is Literal:
        options = set(get_args(hint))
        return [StrOptions(options) if all(isinstance(o, str) for o in options) else Options(Integral, options)]
    if kind is collections.abc.Callable:
        taken = get_args(hint)[0]
        return [Function(len(taken) if isinstance(taken, list) else None)]
    kind = kind or hint
    return [_PLAIN.get(kind, kind)]
