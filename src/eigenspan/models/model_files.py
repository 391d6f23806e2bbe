"""Saving fitted estimators to files, and loading them without running anything that a file says."""

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
    """Write a fitted estimator to a file that holds numbers and names, and no code.

    Parameters and all that the fit has found are stored: a loaded estimator transforms, and goes on with ``partial_fit``, as the saved
    one would. Pipelines of scikit-learn's scalers and imputers with an estimator of this library can be saved too. The file appears
    at once and whole, or not at all.

    Cost: the bytes of the arrays, written twice through (once for the checksum). Trees and navigable graphs are not stored.

    Parameters
    ----------
    estimator : estimator
        Of this library, or a scikit-learn ``Pipeline`` with one. Functions (a kernel or metric of your own) cannot be saved.
    path : path-like
        Where to; ``.eig`` is a good ending.
    provenance : dict, optional
        What you want to know later: where the data came from, which columns, by which command. Texts, numbers, lists and dicts; `describe`
        shows it.

    Raises
    ------
    ModelError
        The estimator holds what no file can hold (the message has the place), or the file cannot be written.

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
        raise InputError(f"save takes a fitted estimator; got {kind}.")
    write_model(estimator, path, estimator, provenance)


def load(path: _Path, *, mmap_mode: Literal["r", "c"] | None = None) -> Any:
    """The estimator that `save` wrote to a file.

    Nothing in the file is run or imported: it names kinds of objects out of a fixed list and holds their numbers, which are checked
    against the schema of the format before anything is made of them. Files of this and of earlier versions of the schema load for ever. On
    the machine that saved it results are the same to the last bit.

    Cost: time and memory in proportion to the bytes of the file.

    Parameters
    ----------
    path : path-like
    mmap_mode : {"r", "c"} or None, default=None
        Leave the arrays in the file, to be read when they are used and shared between processes: ``"r"`` read only, ``"c"`` with changes
        that stay in memory. The file must then stay as it is.

    Returns
    -------
    estimator

    Raises
    ------
    ModelError
        The file is not a model, damaged, malformed, a pickle, or of another version of the format.
    MemoryLimitError
        It needs more memory than there is.

    Warns
    -----
    ModelWarning
        It holds estimators of scikit-learn and was saved with another version of that.

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
            f"{str(path)!r} is a model of the command line, with the columns and scales of its table: eigenspan transform applies it, and "
            "eigenspan.cli.bundle.load opens it in Python."
        )
    return found


def describe(path: _Path) -> dict[str, Any]:
    """What a model file says of itself, without loading the model.

    Parameters
    ----------
    path : path-like

    Returns
    -------
    dict
        ``class``, ``parameters`` (as text), ``saved`` (when, in UTC), ``versions``, ``provenance``, ``format``, ``version`` and ``sha256``,
        the checksum, which is verified.

    Examples
    --------
    >>> import eigenspan, tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "pca.eig"
    >>> eigenspan.save(eigenspan.PCA(3), path)
    >>> eigenspan.models.describe(path)["parameters"]["n_components"]
    '3'
    """
    return read_header(Path(path))


# ---------------------------------------------------------------------- also for other contents than one estimator
def write_model(content: Any, path: _Path, estimator: Any, provenance: dict[str, Any] | None = None) -> None:
    """Write anything that can be taken apart, the estimator among it, by which the file describes itself."""
    provenance = {} if provenance is None else provenance
    if not isinstance(provenance, dict):
        raise InputError(f"provenance takes a dict; got {provenance!r:.80}.")
    _check_plain(provenance, "provenance")
    name, writer = type(estimator).__name__, Writer()
    writer.value(estimator, name)  # first, so that messages name places as its users do
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
    """What `write_model` wrote."""
    if mmap_mode not in (None, "r", "c"):
        raise InputError(f"mmap_mode={mmap_mode!r} cannot be used: it must be None, 'r' or 'c'.")
    contents = read(Path(path), mmap_mode)
    objects = contents.objects
    told = _told_apart(contents.header["versions"])
    try:
        reader = Reader(contents.arrays, objects["kinds"])
        reader.read(objects["objects"])
        found = reader.value(objects["root"])
        if not isinstance(found, BaseEstimator | TableModel):
            raise ValueError("it holds no estimator")
    except MemoryError:
        raise
    except Exception as failure:  # what was put together by hand can fail in any way
        if told is None:
            raise malformed(Path(path), failure) from failure
        raise ModelError(
            f"{str(path)!r} was {told}, and cannot be put together here: {failure}. Load it with those versions, or fit the model again."
        ) from failure
    if any(node["kind"].startswith("sklearn.") for node in objects["objects"]):
        told = _told_apart(contents.header["versions"], ("scikit-learn",))
        if told is not None:
            warn(f"The model holds estimators of scikit-learn and was {told}: results may differ.", ModelWarning)
    return found


def versions() -> dict[str, str]:
    """Of what results depend on."""
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
            f"{place} is {value!r:.80}: provenance takes texts, finite numbers, lists, and dicts with texts as keys."
        )


def _told_apart(saved: dict[str, Any], names: Any = ("eigenspan", "scikit-learn", "numpy", "scipy")) -> str | None:
    """In words, which of these have another version here than where the model was saved; None where none has."""
    here = versions()
    others = [name for name in names if saved.get(name) != here[name]]
    if not others:
        return None
    theirs = " and ".join(f"{name} {saved.get(name, 'of an unknown version')!s:.50}" for name in others)
    return f"saved by {theirs}, and this is {' and '.join(f'{name} {here[name]}' for name in others)}"
