"""Saved models: an estimator with the columns, scaling and medians of the table it was fitted to.

They are files of `eigenspan.models`, which hold numbers and names: a foreign, truncated, altered or crafted one is refused with a
reason, and nothing that a file says is run.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .console import Failed, Unfit, Usage


@dataclass(frozen=True, eq=False)
class Bundle:
    """What ``eigenspan transform`` needs.

    Parameters
    ----------
    method : str
    estimator : fitted estimator
    columns : list of str
    center, scale : ndarray of shape (D,)
        Subtracted from the columns, then divided by.
    medians : ndarray of shape (D,)
    label, identifier : str or None
        Columns carried through when a new table has them.
    """

    method: str
    estimator: Any
    columns: list[str]
    center: Any
    scale: Any
    medians: Any
    label: str | None = None
    identifier: str | None = None

    def __post_init__(self) -> None:
        width = (len(self.columns),) if isinstance(self.columns, list) else None
        tables = all(getattr(values, "shape", None) == width for values in (self.center, self.scale, self.medians))
        names = all(isinstance(name, str | None) for name in (self.label, self.identifier))
        if not (tables and names and hasattr(self.estimator, "transform")):
            raise ValueError("its columns, their scales and its estimator do not belong together")


def save(bundle: Bundle, path: Path, provenance: dict[str, Any] | None = None) -> None:
    """Write a model file; `provenance` is what `eigenspan.models.describe` is to tell of it."""
    from ..errors import ModelError
    from ..models.files import write_model

    read = {name: getattr(bundle, name) for name in ("columns", "label", "identifier")}
    try:
        write_model(vars(bundle), path, bundle.estimator, {**read, **(provenance or {})})
    except ModelError as failure:
        raise Failed(str(failure)) from failure


def load(path: Path) -> Bundle:
    """Read a model file, or say what is wrong with it."""
    from ..errors import ModelError
    from ..models.files import read_model

    if not path.exists():
        raise Usage(f"There is no model file {str(path)!r}: eigenspan embed --model writes one.")
    try:
        found = read_model(path)
        if type(found) is not dict:
            raise ModelError(
                f"{str(path)!r} holds a {type(found).__name__} alone, as eigenspan.save wrote it, without the columns of a table: "
                "eigenspan.load opens it in Python. For the command line, fit it with eigenspan embed --model."
            )
        return Bundle(**found)
    except (ModelError, TypeError, ValueError) as failure:
        why = str(failure) if isinstance(failure, ModelError) else f"{str(path)!r} is malformed: {failure}."
        raise Unfit(why) from failure
