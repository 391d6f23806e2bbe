"""Search structures (k-d trees, navigable graphs) of objects that hold the points alone.

A structure is built when it is first asked for and kept beside its owner as long as that lives, never inside it: what is pickled, copied or
written to a file is the points, and the structure is built from them again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

Built = TypeVar("Built")

_BUILT: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()


def index_of(owner: Any, build: Callable[[], Built]) -> Built:
    """The structure of this owner, built by `build` if there is none yet.

    Two threads that ask at once may both build it. They get the same one: `dict.setdefault` is atomic, so no lock is needed, and none
    can be left closed by a fork.
    """
    found: Built | None = _BUILT.get(owner)
    return _BUILT.setdefault(owner, build()) if found is None else found
