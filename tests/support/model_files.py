"""Reading and forging of model files: entries, objects, and a correct checksum for any contents."""

from __future__ import annotations

import io
import json
import zipfile
from typing import Any

import numpy as np

from eigenspan.models.archive import _CHECKSUM_PREFIX, HEADER, OBJECTS, _digest


def entries(content: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {info.filename: archive.read(info) for info in archive.infolist()}


def sealed(parts: Any, packed: Any = (), bend: Any = lambda archive: None) -> bytes:
    """Return a file with these entries and a correct checksum."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in parts.items() if isinstance(parts, dict) else parts:
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED if name in packed else None)
        archive.comment = _CHECKSUM_PREFIX + b"0" * 64
        bend(archive)
    digest = _digest(file, len(file.getvalue()) - 64)
    return file.getvalue()[:-64] + digest.encode()


def forged(whole: bytes, objects: Any = None, header: Any = None, **arrays: bytes) -> bytes:
    """Return the model with some parts replaced."""
    parts = entries(whole)
    if objects is not None:
        layouts = json.loads(parts[OBJECTS])["arrays"]
        parts[OBJECTS] = json.dumps({"arrays": layouts, **objects} if isinstance(objects, dict) else objects).encode()
    if header is not None:
        parts[HEADER] = json.dumps({**json.loads(parts[HEADER]), **header}).encode()
    return sealed({**parts, **arrays})


def npy(array: Any, allow_pickle: bool = False) -> bytes:
    file = io.BytesIO()
    np.lib.format.write_array(file, array, allow_pickle=allow_pickle)
    return file.getvalue()


def spots(tree: Any) -> Any:
    """Yield every position in a tree of lists and dicts, as container and key."""
    for key in list(tree) if isinstance(tree, dict) else range(len(tree)):
        yield tree, key
        if isinstance(tree[key], dict | list):
            yield from spots(tree[key])
