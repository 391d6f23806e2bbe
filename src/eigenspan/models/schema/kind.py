"""Kinds of objects in a model file: a stable name, typed fields, and the conversion to a Python object.

The names in files belong to the format, not to the modules of this package. If a class is moved or renamed, only its path in the tables
of kinds changes. If its fields change, the kind gets a higher version, with a migration from the fields of the previous version.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from functools import cached_property
from importlib import import_module
from typing import Any

from .field_types import Known, Maybe, SchemaError, Sizes, Type

Parts = dict[str, Any]
#: Function that raises `SchemaError` for invalid parts, and adds lengths that follow from others.
Relation = Callable[[Parts, Sizes], None]
_PACKAGE = __name__.split(".")[0]


@dataclass(frozen=True, eq=False)
class Kind:
    """A kind of object in model files.

    Parameters
    ----------
    name : str
        Name in files; it never changes.
    path : str
        Current location of the class: ``"problem.map:Map"`` in this package, or ``"sklearn.pipeline:Pipeline"``.
    fields : dict of str to Type
        Types of the stored fields; a field that may be null may be absent.
    relation : callable or None
        Check of conditions that types cannot express, given the lengths found.
    take, make : callable or None
        Functions that extract the parts of an object, and build an object from parts. By default, the parts are the attributes with the
        names of the fields, and are set on an instance without calling its constructor.
    version : int
        Version of the fields.
    migrations : dict of int to callable
        Functions that convert the parts of a version to those of the next.
    """

    name: str
    path: str
    fields: Mapping[str, Type] = field(default_factory=dict)
    relation: Relation | None = None
    take: Callable[[Any], Parts] | None = None
    make: Callable[[Any, Parts], Any] | None = None
    version: int = 1
    migrations: Mapping[int, Callable[[Parts], Parts]] = field(default_factory=dict)

    @cached_property
    def cls(self) -> Any:
        """Class of the objects of this kind."""
        module, _, name = self.path.partition(":")
        first = module.split(".")[0]
        return getattr(
            import_module(module if first in ("sklearn", "numpy", "scipy") else f"{_PACKAGE}.{module}"), name
        )

    def parts(self, value: Any) -> Parts:
        """Return the fields of an object by name."""
        return {name: getattr(value, name) for name in self.fields} if self.take is None else self.take(value)

    def fields_in_words(self) -> str:
        """Return the fields and their types as text."""
        return "; ".join(f"{name}: {kind}" for name, kind in self.fields.items())

    def migrated(self, parts: Parts, version: int) -> Parts:
        """Convert the parts of an older version to this version."""
        if not 1 <= version <= self.version:
            raise SchemaError(
                f"{self.name} has version {version}, but this version of eigenspan reads 1 to {self.version}"
            )
        for step in range(version, self.version):
            parts = self.migrations[step](parts)
        return parts

    def check(self, parts: Parts, known: Known) -> Sizes:
        """Return the lengths of the parts; raise `SchemaError` if the parts are not valid."""
        sizes: Sizes = {}
        if odd := parts.keys() - self.fields.keys():
            raise SchemaError(f"{self.name} has no field {min(odd)!r:.60}")
        for name, kind in self.fields.items():
            if name not in parts and not isinstance(kind, Maybe):
                raise SchemaError(f"{self.name} has no {name}")
            self._check_one(name, kind, parts.get(name), sizes, known)
        if self.relation is not None:
            try:
                self.relation(parts, sizes)
            except SchemaError as reason:
                raise SchemaError(f"{self.name}: {reason}") from None
        return sizes

    def _check_one(self, name: str, kind: Type, value: Any, sizes: Sizes, known: Known) -> None:
        try:
            kind.check(value, sizes, known)
        except SchemaError as reason:
            raise SchemaError(f"{self.name}.{name} {reason}") from None

    def build(self, parts: Parts) -> Any:
        """Build an object from checked parts."""
        return (
            bare(self.cls, {**dict.fromkeys(self.fields), **parts}) if self.make is None else self.make(self.cls, parts)
        )


def bare(cls: Any, attributes: Parts) -> Any:
    """Return an instance with these attributes without calling the constructor; other dataclass fields get their defaults."""
    made = object.__new__(cls)
    if is_dataclass(cls):
        for one in fields(cls):
            if one.name not in attributes and one.default is not MISSING:
                object.__setattr__(made, one.name, one.default)
            elif one.name not in attributes and one.default_factory is not MISSING:
                object.__setattr__(made, one.name, one.default_factory())
    for name, value in attributes.items():
        object.__setattr__(made, name, value)
    return made
