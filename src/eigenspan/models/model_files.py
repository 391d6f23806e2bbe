"""Save fitted estimators to files, and load them without running code from a file."""

from __future__ import annotations

import platform
from datetime import UTC, datetime
from importlib.metadata import version
from os import PathLike
from pathlib import Path
from typing import Any, Literal

from sklearn.base import BaseEstimator

from ..errors import InputError, ModelError, ModelWarning, warn
from .archive import FORMAT, VERSION, malformed, read, read_header, write
from .table_model import TableModel
from .tree import Reader, Writer

_Path = str | PathLike[str]
_PLAIN = (bool, int, float, str, type(None))


def save(estimator: Any, path: _Path, *, provenance: dict[str, Any] | None = None) -> None:
    """Save a fitted estimator to a file that contains data only, no code.

    Parameters and all results of the fit are stored: a loaded estimator transforms new points, and continues with ``partial_fit``, exactly
    as the saved one. Pipelines of scikit-learn's scalers and imputers with an estimator of this library can be saved too. The file is
    written atomically.

    Cost: the bytes of the arrays, processed twice (once for the checksum). Search trees and navigable graphs are not stored.

    Parameters
    ----------
    estimator : estimator
        An estimator of this library, or a scikit-learn ``Pipeline`` with one. Functions, such as custom kernels, cannot be saved.
    path : path-like
        File to write; the usual ending is ``.eig``.
    provenance : dict, optional
        Notes for later, such as the source of the data, the columns, or the command. Texts, numbers, lists and dicts; `describe` returns
        them.

    Raises
    ------
    ModelError
        The estimator contains an object that cannot be saved (the message says where), or the file cannot be written.

    Examples
    --------
    >>> import eigenspan, tempfile, pathlib
    >>> from sklearn.datasets import load_iris
    >>> X, _ = load_iris(return_X_y=True)
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "iris.eig"
    >>> model = eigenspan.PCA(2).fit(X)
    >>> eigenspan.save(model, path, provenance={"data": "iris"})
    >>> bool((eigenspan.load(path).transform(X) == model.transform(X)).all())
    True
    """
    if not isinstance(estimator, BaseEstimator) or isinstance(estimator, type):
        kind = f"the class {estimator.__name__}" if isinstance(estimator, type) else f"a {type(estimator).__name__}"
        raise InputError(f"save needs a fitted estimator; got {kind}.")
    write_model(estimator, path, estimator, provenance)


def load(path: _Path, *, mmap_mode: Literal["r", "c"] | None = None) -> Any:
    """Load an estimator that `save` wrote.

    Nothing in the file is run or imported: the file names kinds of objects from a fixed list and contains their values, which are checked
    against the schema of the format before any object is built. Files of this and of earlier versions of the schema can always be loaded.
    On the machine that saved the model, results are bitwise identical.

    Cost: time and memory proportional to the size of the file.

    Parameters
    ----------
    path : path-like
    mmap_mode : {"r", "c"} or None, default=None
        Memory-map the arrays, so that they are read when used and shared between processes: ``"r"`` read-only, ``"c"`` copy-on-write.
        The file must then not be changed.

    Returns
    -------
    estimator

    Raises
    ------
    ModelError
        The file is not a model, is damaged or malformed, is a pickle, or has another version of the format.
    MemoryLimitError
        The model needs more memory than is available.

    Warns
    -----
    ModelWarning
        The model contains estimators of scikit-learn and was saved with another version of scikit-learn.

    Examples
    --------
    >>> import eigenspan, tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "empty.eig"
    >>> _ = path.write_bytes(b"")
    >>> eigenspan.load(path)
    Traceback (most recent call last):
        ...
    eigenspan.errors.ModelError: '...empty.eig' is not an eigenspan model: it is empty. ...
    """
    found = read_model(path, mmap_mode=mmap_mode)
    if isinstance(found, TableModel):
        raise ModelError(
            f"{str(path)!r} is a model of the command line, with the columns and scales of its table. Apply it with eigenspan transform, "
            "or "
            "open it in Python with eigenspan.cli.bundle.load."
        )
    return found


def describe(path: _Path) -> dict[str, Any]:
    """Return the description stored in a model file, without loading the model.

    Parameters
    ----------
    path : path-like

    Returns
    -------
    dict
        ``class``, ``parameters`` (as text), ``saved`` (time in UTC), ``versions``, ``provenance``, ``format``, ``version`` and ``sha256``
        (the checksum, which is verified).

    Examples
    --------
    >>> import eigenspan, tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "pca.eig"
    >>> eigenspan.save(eigenspan.PCA(3), path)
    >>> eigenspan.models.describe(path)["parameters"]["n_components"]
    '3'
    """
    return read_header(Path(path))


# ---------------------------------------------------------------------- for any storable content
def write_model(content: Any, path: _Path, estimator: Any, provenance: dict[str, Any] | None = None) -> None:
    """Write any storable object; the file is described by `estimator`, which is part of it."""
    provenance = {} if provenance is None else provenance
    if not isinstance(provenance, dict):
        raise InputError(f"provenance must be a dict; got {provenance!r:.80}.")
    _check_plain(provenance, "provenance")
    name, writer = type(estimator).__name__, Writer()
    writer.value(estimator, name)  # first, so that messages use paths as users write them
    root = writer.value(content, "model")
    objects = {"kinds": writer.kinds, "objects": writer.objects, "root": root}
    header = {
        "format": FORMAT,
        "version": VERSION,
        "class": name,
        "parameters": {key: f"{value!r:.200}" for key, value in estimator.get_params(deep=False).items()},
        "saved": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": versions(),
        "provenance": provenance,
    }
    write(Path(path), header, objects, writer.arrays)


def read_model(path: _Path, *, mmap_mode: Any = None) -> Any:
    """Read an object that `write_model` wrote."""
    if mmap_mode not in (None, "r", "c"):
        raise InputError(f"mmap_mode={mmap_mode!r} cannot be used: it must be None, 'r' or 'c'.")
    contents = read(Path(path), mmap_mode)
    objects = contents.objects
    difference = _version_difference(contents.header["versions"])
    try:
        reader = Reader(contents.arrays, objects["kinds"])
        reader.read(objects["objects"])
        found = reader.value(objects["root"])
        if not isinstance(found, BaseEstimator | TableModel):
            raise ValueError("it contains no estimator")
    except MemoryError:
        raise
    except Exception as failure:  # crafted files can fail in any way
        if difference is None:
            raise malformed(Path(path), failure) from failure
        raise ModelError(
            f"{str(path)!r} was {difference}, and cannot be loaded here: {failure}. Load it with those versions, or fit the model again."
        ) from failure
    if any(node["kind"].startswith("sklearn.") for node in objects["objects"]):
        difference = _version_difference(contents.header["versions"], ("scikit-learn",))
        if difference is not None:
            warn(
                f"The model contains estimators of scikit-learn and was {difference}: results may differ.", ModelWarning
            )
    return found


def versions() -> dict[str, str]:
    """Return the versions of Python and the libraries on which results depend."""
    from .. import __version__

    others = {name: version(name) for name in ("numpy", "scipy", "scikit-learn")}
    return {"eigenspan": __version__, "python": platform.python_version(), **others}


def _check_plain(value: Any, place: str) -> None:
    if type(value) is dict and all(type(key) is str for key in value):
        for key, inside in value.items():
            _check_plain(inside, f"{place}[{key!r}]")
    elif type(value) in (list, tuple):
        for i, inside in enumerate(value):
            _check_plain(inside, f"{place}[{i}]")
    elif type(value) not in _PLAIN or (type(value) is float and value - value != 0):
        raise InputError(
            f"{place} is {value!r:.80}: provenance may contain only texts, finite numbers, lists, and dicts with text keys."
        )


def _version_difference(
    saved: dict[str, Any], names: Any = ("eigenspan", "scikit-learn", "numpy", "scipy")
) -> str | None:
    """Describe which of the packages have another version than when the model was saved; None if all are equal."""
    here = versions()
    others = [name for name in names if saved.get(name) != here[name]]
    if not others:
        return None
    theirs = " and ".join(f"{name} {saved.get(name, 'of an unknown version')!s:.50}" for name in others)
    return f"saved by {theirs}, while this is {' and '.join(f'{name} {here[name]}' for name in others)}"
