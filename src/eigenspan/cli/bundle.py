"""Saved models: an estimator with the columns, scaling and medians of the table it was fitted to.

The files are written by `eigenspan.models`. They hold data only: a foreign, truncated, altered or manipulated file is refused with a
reason, and no code from a file is ever run.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..models.table_model import TableModel as Bundle
from .console import Failed, Unfit, Usage


def save(bundle: Bundle, path: Path, provenance: dict[str, Any] | None = None) -> None:
    """Write a model file; `provenance` is included in what `eigenspan.models.describe` returns."""
    from ..errors import ModelError
    from ..models.model_files import write_model

    read = {name: getattr(bundle, name) for name in ("columns", "label", "identifier")}
    try:
        write_model(bundle, path, bundle.estimator, {**read, **(provenance or {})})
    except ModelError as failure:
        raise Failed(str(failure)) from failure


def load(path: Path) -> Bundle:
    """Read a model file, or raise an error that says what is wrong with it."""
    from ..errors import ModelError
    from ..models.model_files import read_model

    if not path.exists():
        raise Usage(f"There is no model file {str(path)!r}: eigenspan embed --model writes one.")
    try:
        found = read_model(path)
        if not isinstance(found, Bundle):
            raise ModelError(
                f"{str(path)!r} holds only a {type(found).__name__}, saved by eigenspan.save, without the columns of a table. Open it in "
                "Python "
                "with eigenspan.load. For the command line, fit a model with eigenspan embed --model."
            )
        return found
    except ModelError as failure:
        raise Unfit(str(failure)) from failure
