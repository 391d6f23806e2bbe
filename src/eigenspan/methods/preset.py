"""Subclasses that differ from their parent in defaults only."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any


def preset(**defaults: Any) -> Callable[[type], type]:
    """Class decorator: other defaults for keyword parameters of the inherited ``__init__``.

    scikit-learn reads parameters from the signature, so the new one is spelled out there.
    """

    def decorate(cls: Any) -> Any:
        inherited = cls.__init__
        signature = inspect.signature(inherited)
        changed = [p.replace(default=defaults.get(name, p.default)) for name, p in signature.parameters.items()]

        def initialise(self: Any, *args: Any, **given: Any) -> None:
            inherited(self, *args, **(defaults | given))

        initialise.__signature__ = signature.replace(parameters=changed)  # type: ignore[attr-defined]
        cls.__init__ = initialise
        return cls

    return decorate
