"""Saved models: an estimator with the columns, scaling and medians of the table it was fitted to.

A file is one line of JSON, which says what it is and how long, followed by a pickle. The line is checked before anything is
unpickled, so that a foreign, truncated or altered file is refused with a reason. The check is against accidents, not against
malice: load models from people you trust only.
"""

from __future__ import annotations

import hashlib
import json
import pickle
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .console import Failed, Unfit, Usage, warn

FORMAT, VERSION = "eigenspan-model", 1


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


def save(bundle: Bundle, path: Path) -> None:
    """Write a model file."""
    from .. import __version__

    try:
        payload = pickle.dumps(vars(bundle), protocol=5)
    except (pickle.PicklingError, TypeError, AttributeError) as failure:
        raise Failed(f"The model cannot be saved: {failure}") from failure
    header = {
        "format": FORMAT,
        "version": VERSION,
        "eigenspan": __version__,
        "method": bundle.method,
        "bytes": len(payload),
        "sha256": hashlib.sha256(payload).hexdigest(),
    }
    try:
        path.write_bytes(json.dumps(header).encode() + b"\n" + payload)
    except OSError as failure:
        raise Failed(f"{str(path)!r} cannot be written: {failure}") from failure


def load(path: Path) -> Bundle:
    """Read a model file, or say what is wrong with it."""
    from .. import __version__

    header, payload = _parts(path)
    writer = header.get("eigenspan", "of a version that it does not name")
    if writer != __version__:
        warn(f"The model was saved by eigenspan {writer}, and this is {__version__}: results may differ.")
    try:
        return Bundle(**pickle.loads(payload))
    except Exception as failure:  # unpickling raises anything at all when a class has moved or changed
        raise Unfit(
            f"The model in {str(path)!r} was saved by eigenspan {writer} and cannot be rebuilt by {__version__} "
            f"({type(failure).__name__}: {failure}). Fit it again."
        ) from failure


def _parts(path: Path) -> tuple[dict[str, Any], bytes]:
    if not path.is_file():
        raise Usage(f"There is no model file {str(path)!r}.")
    line, _, payload = path.read_bytes().partition(b"\n")
    try:
        header = json.loads(line)
    except (RecursionError, ValueError):
        header = None
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise Unfit(f"{str(path)!r} is not an eigenspan model: eigenspan embed --model writes one.")
    if header.get("version") != VERSION:
        raise Unfit(
            f"{str(path)!r} has model format {header.get('version')!r}, and this eigenspan reads {VERSION}: use the version that wrote it."
        )
    if len(payload) != header.get("bytes") or hashlib.sha256(payload).hexdigest() != header.get("sha256"):
        raise Unfit(
            f"The model in {str(path)!r} is damaged: {len(payload)} bytes instead of {header.get('bytes')}, or altered ones. Save it again."
        )
    return header, payload
