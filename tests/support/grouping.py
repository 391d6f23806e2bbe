"""Parametrised tests: many short checks as one test, and parameters that the default run leaves out."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

Check = Callable[..., None]
#: The collected tests that are not marked `long`.
DEFAULT_RUN = pytest.StashKey[list[pytest.Item]]()
#: The names of the tests of which `every` leaves some parameters out.
THINNED = pytest.StashKey[set[tuple[Path, str]]]()


def in_one_test(values: Iterable[Any], name: Callable[[Any], str] = str) -> Callable[[Check], Check]:
    """Call the decorated function with each value in one test, and report all values for which it fails.

    The value is the first argument; the others are fixtures. For checks of a millisecond, where collecting and reporting a test per value
    would take longer than the checks, and for checks that share an expensive fixture, which each process of tests would make anew.
    """
    values = list(values)

    def decorate(check: Check) -> Check:
        _, *fixtures = inspect.signature(check).parameters.values()

        def test(**given: Any) -> None:
            failures = []
            for value in values:
                try:
                    check(value, **given)
                except AssertionError as failure:
                    failures.append(f"{name(value)}: {failure}")
            assert values, "there is nothing to check"
            assert not failures, "\n".join([f"{len(failures)} of {len(values)} fail:", *failures])

        test.__name__, test.__qualname__ = check.__name__, check.__qualname__
        test.__doc__, test.__module__ = check.__doc__, check.__module__
        vars(test)["__signature__"] = inspect.Signature(fixtures)  # pytest reads the names of fixtures from it
        return test

    return decorate


def longer(*values: Any) -> list[Any]:
    """Return these values for a parametrisation, each marked as `long`."""
    return [pytest.param(value, marks=pytest.mark.long) for value in values]


def mark_long(items: Iterable[pytest.Item]) -> None:
    """Mark as `long` what the marker ``every(step, start=0)`` leaves out.

    Of the sets of parameters of a test those stay whose positions in their lists add up to `start`, modulo `step`. Of two stacked lists
    this keeps a diagonal, on which every value of either list occurs.
    """
    for item in items:
        marker = item.get_closest_marker("every")
        if marker is not None and (_position(item) - marker.kwargs.get("start", 0)) % marker.args[0]:
            item.add_marker(pytest.mark.long)


def name_of(item: Any) -> tuple[Path, str]:
    """Return the file and the name of a test without its parameters."""
    return item.path, item.originalname


def _position(item: Any) -> int:
    """Sum of the positions of an item's values in the lists of its parametrisations."""
    found = 0
    for marker in item.iter_markers("parametrize"):
        names, values = marker.args[:2]
        several = not isinstance(names, str) or "," in names
        first = item.callspec.params[names.split(",")[0].strip() if isinstance(names, str) else names[0]]
        found += next(i for i, value in enumerate(values) if _first(value, several) is first)
    return found


def _first(value: Any, several: bool) -> Any:
    """The value of the first argument in one set of parameters."""
    if hasattr(value, "marks"):  # pytest.param(...)
        return value.values[0]
    return value[0] if several else value
