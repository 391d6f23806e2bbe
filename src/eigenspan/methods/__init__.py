"""The methods, one file per form, each a few lines over `eigenspan.problem`; called, ``eigenspan.methods()``, the table of them all.

See `eigenspan.methods.registry.methods`.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any


class _Table(ModuleType):
    """One name for the package and for its table, so that neither hides the other."""

    def __call__(self) -> Any:
        from .registry import methods

        return methods()


sys.modules[__name__].__class__ = _Table
