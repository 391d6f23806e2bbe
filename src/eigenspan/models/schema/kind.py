"""Kinds of objects in a model file: a stable name, typed fields, and how they become a Python object.

The names in files belong to the format, not to the modules of this package. A class may move or be renamed: only its line in the tables of
kinds changes. Where fields change, the kind gets a higher version, and a migration takes the fields of the version before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from functools import cached_property
from importlib import import_module
from typing import Any

from .field_types import Known, Maybe, SchemaError, Sizes, Type

Parts = dict[str, Any]
#: Raises `SchemaError`, and adds lengths that follow from others.
Relation = Callable[[Parts, Sizes], None]
_PACKAGE = __name__.split(".")[0]


@dataclass(frozen=True, eq=False)
class Kind:
    """One kind of object.

    Parameters
    ----------
    name : str
        In files, for ever.
    path : str
        Where the class is now: ``"problem.map:Map"`` within this package, or ``"sklearn.pipeline:Pipeline"``.
    fields : dict of str to Type
        What a file stores; a field that may be null may be absent.
    relation : callable or None
        Checks what the types cannot state, with the lengths that they found.
    take, make : callable or None
        Parts of an object, and an object of parts. By default attributes of the fields' names, set on an instance whose constructor is
        not called.
    version : int
        Of the fields.
    migrations : dict of int to callable
        Parts of that version to parts of the next.
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
        """The class that objects of this kind have."""
        module, _, name = self.path.partition(":")
        first = module.split(".")[0]
        return getattr(
            import_module(module if first in ("sklearn", "numpy", "scipy") else f"{_PACKAGE}.{module}"), name
        )

    def parts(self, value: Any) -> Parts:
        """The fields of an object, by name."""
        return {name: getattr(value, name) for name in self.fields} if self.take is None else self.take(value)

    def fields_in_words(self) -> str:
        """Fields and their types, for people."""
        return "; ".join(f"{name}: {kind}" for name, kind in self.fields.items())

    def migrated(self, parts: Parts, version: int) -> Parts:
        """Parts that an older version wrote, as this version writes them."""
        if not 1 <= version <= self.version:
            raise SchemaError(f"{self.name} has version {version}, and this eigenspan reads 1 to {self.version}")
        for step in range(version, self.version):
            parts = self.migrations[step](parts)
        return parts

    def check(self, parts: Parts, known: Known) -> Sizes:
        """The lengths of these parts; raises `SchemaError` where they are not those of such an object."""
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
        """An object of these parts, which have been checked."""
        return (
            bare(self.cls, {**dict.fromkeys(self.fields), **parts}) if self.make is None else self.make(self.cls, parts)
        )


def bare(cls: Any, attributes: Parts) -> Any:
    """An instance with these attributes whose constructor is not called; other fields of a dataclass have their defaults."""
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
