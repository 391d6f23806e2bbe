"""Search structures (k-d trees, navigable graphs), stored separately from the objects that hold the points.

A structure is built at its first use and kept in a weak dictionary while its owner exists, never as its attribute. Pickles, copies and
files contain only the points, and the structure is built again from them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

Built = TypeVar("Built")

_BUILT: WeakKeyDictionary[object, Any] = WeakKeyDictionary()


def index_of(owner: object, build: Callable[[], Built]) -> Built:
    """Return the structure of this owner, building it by `build` if there is none yet.

    Two threads may build it at the same time, but both get the same one: `dict.setdefault` is atomic, so no lock is needed, and no lock
    can stay locked after a fork.
    """
    found: Built | None = _BUILT.get(owner)
    return _BUILT.setdefault(owner, build()) if found is None else found
