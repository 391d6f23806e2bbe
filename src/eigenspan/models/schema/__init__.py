"""The schema of model files: every kind of object that a file may contain, with the types of its fields."""

from __future__ import annotations

from functools import cache
from typing import Any

from . import (
    map_kinds as maps,
)
from . import (
    matrix_kinds as storage,
)
from . import (
    preparation_kinds as preparations,
)
from . import (
    result_kinds as results,
)
from . import (
    search_kinds as searches,
)
from .estimator_kinds import CERTIFICATES, SPECS, method_kinds
from .kind import Kind

__all__ = ["Kind", "kind_of", "kinds"]


def _methods() -> dict[str, str]:
    """Return the location of every method class, by public name."""
    from ...methods.external.wrappers import External
    from ...methods.registry import all_rows
    from ...methods.trace_reducer import TraceReducer
    from ...selection.folds import LabelledOnly
    from ...selection.search import RegularizedSearch

    more = {External, LabelledOnly, RegularizedSearch, TraceReducer}
    classes = {row.build for row in all_rows() if isinstance(row.build, type)} | more
    package = f"{__name__.split('.')[0]}."
    return {
        cls.__name__: f"{cls.__module__.removeprefix(package)}:{cls.__name__}"
        for cls in sorted(classes, key=lambda c: c.__name__)
    }


@cache
def kinds() -> dict[str, Kind]:
    """Return every kind by its name in files."""
    from ... import learning  # adds its methods to the table  # noqa: F401

    parts = [*maps.KINDS, *searches.KINDS, *results.KINDS, *CERTIFICATES, *SPECS, *storage.KINDS, *preparations.KINDS]
    return {kind.name: kind for kind in [*parts, *method_kinds(_methods())]}


@cache
def _by_class() -> dict[Any, Kind]:
    return {kind.cls: kind for kind in kinds().values()}


def kind_of(value: Any) -> Kind | None:
    """Return the kind of an object; None if files cannot contain it. Subclasses have no kind."""
    return _by_class().get(type(value))


def described() -> list[tuple[str, int, str]]:
    """Return name, version and fields of every kind, for the documentation of the format."""
    return [(kind.name, kind.version, kind.fields_in_words()) for kind in kinds().values()]
