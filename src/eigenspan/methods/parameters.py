"""Constructors from declarations: a subclass names the parameters it adds and the defaults it changes, and nothing else."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, TypeVar

Class = TypeVar("Class", bound=type)

#: Names that scikit-learn uses, and what says the same here.
_ELSEWHERE = {
    "affinity": ' Where X holds affinities, say graph="precomputed", weights="precomputed"; other edge weights are weights="heat", '
    '"binary" and so on, over the neighbours of graph=.',
}


def parameters(**defaults: Any) -> Callable[[Class], Class]:
    """Class decorator: more keyword parameters for the inherited ``__init__``, or other defaults for those it has.

    scikit-learn, ``help`` and editors read parameters from the signature, which is spelled out here: what is new first, then what
    is inherited. Values are stored as they are, under their names.
    """

    def decorate(cls: Any) -> Any:
        inherited = cls.__init__
        signature = inspect.signature(inherited)
        first, *rest = [
            p.replace(default=defaults.get(p.name, p.default), annotation=inspect.Parameter.empty)
            for p in signature.parameters.values()
        ]
        position = sum(p.kind is not inspect.Parameter.KEYWORD_ONLY for p in rest)
        added = {name: value for name, value in defaults.items() if name not in signature.parameters}
        changed = {name: value for name, value in defaults.items() if name in signature.parameters}
        new = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=value) for name, value in added.items()]

        def initialise(self: Any, *args: Any, **given: Any) -> None:
            for name in given.keys() - signature.parameters.keys() - added.keys():
                here = _ELSEWHERE.get(name, "")
                raise TypeError(
                    f"{type(self).__name__} has no parameter {name!r}; help({type(self).__name__}) lists them.{here}"
                )
            own = {name: given.pop(name, value) for name, value in added.items()}
            placed = {p.name for p in rest[: len(args)]}
            inherited(self, *args, **{name: value for name, value in changed.items() if name not in placed} | given)
            for name, value in own.items():
                setattr(self, name, value)

        spelled = [first, *rest[:position], *new, *rest[position:]]
        initialise.__signature__ = inspect.Signature(spelled)  # type: ignore[attr-defined]
        initialise.__name__, initialise.__qualname__ = "__init__", f"{cls.__qualname__}.__init__"
        cls.__init__ = initialise
        return cls

    return decorate
