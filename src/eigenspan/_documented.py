"""The decorator of classes whose docstrings are completed by `_docstrings`, which is imported when one of them is first read."""

from __future__ import annotations

import inspect
from typing import Any, TypeVar

Class = TypeVar("Class", bound=type)


class Completed:
    """The value of ``cls.__doc__``: `own` is the docstring in the source, and reading the attribute returns the complete one."""

    def __init__(self, cls: type, own: str) -> None:
        self.cls, self.own = cls, own
        self._text: str | None = None

    def __get__(self, instance: Any, owner: Any = None) -> str:
        if self._text is None:
            from ._docstrings import complete

            self._text = complete(self.cls, inspect.cleandoc(self.own))
        return self._text


def documented(cls: Class) -> Class:
    """Class decorator: complete the docstring when it is first read."""
    if cls.__doc__ is not None:  # python -OO drops docstrings
        cls.__doc__ = Completed(cls, cls.__doc__)  # type: ignore[assignment]
    return cls
