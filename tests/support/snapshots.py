"""Snapshots of the results of all methods, to check that a restructuring of the sources changes no number.

``python tests/support/snapshots.py write FILE [METHOD ...]`` fits every method in many modes to three small data sets. It stores the
embedding, the transform of new points, digests of all fitted attributes, and the categories of warnings and errors. FILE.npz holds the
numbers and FILE.json the rest. ``python tests/support/snapshots.py compare FILE [OTHER]`` compares FILE with OTHER or, without it, with the
current sources, prints the differences, and exits with status 1 if there are any.

Embeddings are compared entry by entry, because signs and the order of axes are canonical. The tolerance is 1e-10 relative to the array.
Message texts are stored but not compared. Attributes that are objects (maps, graphs) are compared by the set of arrays inside, whatever the
names of their fields. With ``--rounding FILE2``, a snapshot of the sources of FILE under other BLAS kernels (``OPENBLAS_CORETYPE=Nehalem
python tests/support/snapshots.py write FILE2``), each number may differ by 100 times its difference between FILE and FILE2.

The program uses public names only, so it also runs on older sources (``PYTHONPATH=OLD/src``).
"""

from __future__ import annotations

import argparse
import inspect
import json
import os
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris, make_swiss_roll
from sklearn.metrics import pairwise_distances
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.neighbors import kneighbors_graph
from threadpoolctl import threadpool_limits

import eigenspan as es

Array = NDArray[Any]

#: Relative difference up to which two numbers are the same.
TOLERANCE = 1e-10
#: Attributes that measure rounding errors: compared in absolute terms.
ROUNDING = ("residuals_", "diagnostics_['violation']", "diagnostics_['residual']")
#: New points of every data set.
NEW = 40
#: Number of rows for methods whose cost grows fast with it, such as semidefinite programs.
FEW = 60
#: Fits left out because their last digits differ from run to run: Lanczos iterations with an ill-conditioned unit.
UNSTEADY = {("SupervisedNonlinearLocalEmbedding", "solver='lanczos'")}
COSTLY_FAMILIES, COSTLY = ("unfolding",), ("TSNE", "NonmetricMDS", "KDR", "ManifoldKDR")


# ---------------------------------------------------------------------- data
@dataclass(frozen=True, eq=False)
class Data:
    """Rows to fit, new rows, class codes, and derived targets."""

    name: str
    X: Array
    new: Array
    codes: Array

    @cached_property
    def number(self) -> Array:
        """A response that depends on two directions."""
        Z = (self.X - self.X.mean(axis=0)) @ np.cos(np.arange(2 * self.X.shape[1])).reshape(-1, 2)
        Z /= Z.std(axis=0)
        return np.asarray(np.exp(0.5 * Z[:, 0]) + Z[:, 1] ** 2)

    @cached_property
    def view(self) -> Array:
        """A second table of the same rows."""
        half = self.X.shape[1] // 2
        return np.column_stack([self.number, self.X[:, half] * self.X[:, half - 1], np.sin(self.X).sum(axis=1)])

    def some(self, values: Array, missing: Any) -> Array:
        """Keep every third value and mark the others as missing."""
        return np.where(np.arange(len(values)) % 3 == 0, values, missing)

    def target(self, supervision: str) -> Any:
        """Return y for methods with this entry in the column "supervision" of `eigenspan.methods`."""
        return {
            "none": lambda: None,
            "optional": lambda: None,
            "labels": lambda: self.codes,
            "some labels": lambda: self.some(self.codes, -1),
            "numbers": lambda: self.some(self.number, np.nan),
            "response": lambda: self.number,
            "other view": lambda: self.view,
            "actions": lambda: np.arange(len(self.X) - 1) % 2,
            "coordinates": lambda: np.where(np.arange(len(self.X))[:, None] % 3 == 0, self.X[:, -2:], np.nan),
        }[supervision]()

    def first(self, n: int) -> Data:
        """Return about `n` evenly spaced rows."""
        rows = np.unique(np.linspace(0, len(self.X) - 1, n).astype(int))
        return Data(self.name, self.X[rows], self.new, self.codes[rows])


@cache
def data_sets() -> tuple[Data, ...]:
    """Digits (300 × 64), a Swiss roll with noise (250 × 3), and iris with 5 % repeated rows (158 × 4)."""
    pixels, digit = load_digits(return_X_y=True)
    roll, t = make_swiss_roll(250 + NEW, noise=0.05, random_state=0)
    third = np.digitize(t, np.quantile(t, [1 / 3, 2 / 3]))
    flowers, species = load_iris(return_X_y=True)
    rows = np.append(np.arange(150), np.arange(0, 150, 19))
    between = (flowers[::3][:NEW] + flowers[1::3][:NEW]) / 2 + 0.01
    return (
        Data("digits", pixels[:300], pixels[300 : 300 + NEW], digit[:300]),
        Data("roll", roll[:250], roll[250:], third[:250]),
        Data("iris", flowers[rows], between, species[rows]),
    )


# ---------------------------------------------------------------------- modes
@dataclass(frozen=True, eq=False)
class Mode:
    """Parameters of a fit, and the container or kind of its rows."""

    parameters: dict[str, Any] = field(default_factory=dict)
    rows: str = "array"

    @property
    def label(self) -> str:
        given = ", ".join(f"{name}={value!r}" for name, value in self.parameters.items())
        return "; ".join(filter(None, (given, "" if self.rows == "array" else self.rows))) or "default"


def _each(name: str, *values: Any, **others: Any) -> tuple[Mode, ...]:
    return tuple(Mode({**others, name: value}) for value in values)


#: Modes on every data set. A mode applies to the methods that have all of its parameters.
EVERYWHERE: tuple[Mode, ...] = (
    Mode(),
    *_each("kernel", "rbf"),
    *_each("landmarks", 30),
    *_each("landmarks", 30, kernel="rbf"),
    *_each("reduce", 2),
    *_each("graph", "class", es.KNN(8, symmetry="mutual"), es.MST()),
    *_each("graph", "class", kernel="rbf"),
    *_each("graph", "class", kernel="rbf", landmarks=30),
    *_each("graph", "class", reduce=2),
    *_each("weights", "binary", "local", "cosine", "barycentric", "heat"),
    *_each("weights", "binary", "barycentric", graph="class"),
    *_each("disconnected", "connect", "largest", "keep", "raise", n_neighbors=3),
    *_each("scale", "unit-variance", "covariance", "sqrt", "unit"),
    *_each("n_components", 1, 3, "auto", None),
    *_each("solver", "dense", "lanczos"),
    *_each("metric", "cityblock"),
    *_each("ridge", 0.1),
    *_each("extension", "nystrom", "harmonic", "barycentric", "kernel-map", "eigenfunctions"),
)
#: Modes on iris alone.
SMALL: tuple[Mode, ...] = (
    *(Mode(rows=rows) for rows in ("sparse", "memmap", "dask", "parts")),
    *(Mode({"kernel": "rbf", "landmarks": 30}, rows) for rows in ("sparse", "memmap", "dask")),
    *(Mode({"graph": "class"}, rows) for rows in ("sparse", "memmap", "dask")),
    *(Mode({"reduce": 2}, rows) for rows in ("sparse", "memmap")),
    *(Mode({"graph": "given", "weights": "binary"}, rows) for rows in ("array", "sparse", "dask")),
    Mode({"metric": "precomputed"}, "distances"),
    Mode({"kernel": "precomputed"}, "kernel"),
    Mode({"graph": "precomputed", "weights": "precomputed"}, "affinities"),
    *_each("graph", es.Radius(1.0), es.KNN(8, metric="cosine"), es.KNN(6, within_class=True), "all"),
    *_each("weights", "path", es.LocalScaling(4), es.Powered("heat", 2.0)),
    *_each("weights", "unrestricted"),
    *_each("kernel", "linear", es.Kernel("poly", degree=2), es.HeatKernel(1.0)),
    *_each("landmarks", es.Landmarks(25, choice="cholesky"), kernel="rbf"),
    *_each("criterion", "ratio-trace", "trace-ratio", "one-against-rest", "minka", "bic", "sumcor", "maxvar"),
    *_each("axes", "norm", "eigenvalue", "eigenvalue-norm"),
    *_each("shrinkage", "auto", 0.3, None),
    *_each("labels", "rbf", "linear"),
    *_each("affinity", "local", "neighbours"),
    *_each("gamma", 0.5),
    *_each("gamma_scale", "raw", gamma=0.5),
    *_each("alpha", 0.5, 2.0),
    *_each("beta", 0.3),
    *_each("weight", 2.0),
    *_each("mu", 2.0),
    *_each("trust", 0.7),
    *_each("t", 0, 2.5),
    *_each("reg", 0.05),
    *_each("unit", "covariance", "projection"),
    *_each("conformal", True, False),
    *_each("psd", "constant"),
    *_each("correction", "lingoes", "cailliez", metric="cityblock"),
    *_each("choice", "random", "leverage"),
    *_each("sample", 50),
    *_each("charts", "tangent"),
    *_each("base", "laplacian"),
    *_each("assign", "discretize", "threshold", "cluster_qr", "margin"),
    *_each("cut", "ratio"),
    *_each("normalize_rows", True),
    *_each("n_clusters", 3, "auto"),
    *_each("whiten", True, False),
    *_each("center", False),
    *_each("covariance", "ml"),
    *_each("preimage", "ridge"),
    *_each("extractor", "difference"),
    *_each("hidden_layer_sizes", (2,)),
    *_each("r1", 0.0, 1.0),
    *_each("priors", [0.2, 0.3, 0.5]),
    *_each("store_covariance", True),
    *_each("skip_smallest", 1),
    *_each("n_slices", 4),
    *_each("n_permutations", 20, n_components="test"),
    *_each("form", "simple", "noisy", "spectral", "reconstruction"),
    *_each("response", "residual"),
    *_each("kernel_y", "rbf"),
    *_each("kappa", 0.5),
    *_each("unlabeled", None),
    *_each("n_rivals", 2),
    *_each("normalise", False),
    *_each("margin", "l2", "hard"),
    *_each("constraint", "inequality", "slack", "band"),
    *_each("method", "dense", "low-rank"),
    *_each("common_neighbors", True),
    *_each("representatives", "medoid"),
    *_each("bridge", "shortest"),
    *_each("label_kernel", "rbf", "linear"),
    *_each("pairs", "all"),
    *_each("power", 1),
)


@dataclass(frozen=True, eq=False)
class Case:
    """One fit and its key "data / method / mode"."""

    key: str
    make: Callable[..., Any]
    mode: Mode
    data: Data
    y: Any


def _builders() -> dict[str, tuple[Callable[..., Any], set[str], str, str]]:
    """Map the name of every method to its constructor, parameter names, supervision and family."""
    found = {}
    for name, row in es.methods().iterrows():
        build = getattr(es, name, None)
        parameters = set() if build is None else set(inspect.signature(build).parameters)
        if name == "Anchored":
            found[name] = (lambda **given: es.Anchored(es.LTSA(2), **given), parameters, "coordinates", row["family"])
            continue
        make = build or (lambda name=name: es.make(name))
        found[name] = (make, parameters, row["supervision"], row["family"])
    return {**found, **_by_hand()}


def _by_hand() -> dict[str, tuple[Callable[..., Any], set[str], str, str]]:
    """Return estimators that the table of methods does not list, in the same form."""
    problems = {
        "linear": {},
        "kernel": {"basis": "kernel"},
        "samples": {"basis": "samples", "minimise": "reconstruction", "scale": "covariance"},
        "ratio": {"maximise": "between", "over": "within", "unit": "total"},
        "class": {"minimise": "class_laplacian", "unit": "total"},
    }
    found = {
        f"TraceReducer-{name}": (lambda given=given: es.TraceReducer(2, **given), set(), "labels", "by hand")
        for name, given in problems.items()
    }
    search = es.RegularizedSearch(es.SSLFDA(2), {"alpha": [0.1, 1]})
    return {**found, "RegularizedSearch": (lambda: clone(search), set(), "some labels", "by hand")}


def _target(name: str, data: Data, mode: Mode, supervision: str) -> Any:
    if name == "MultiviewCCA":
        return data.view, data.X[:, :2] ** 2
    return data.codes if supervision == "optional" and _needs_labels(mode) else data.target(supervision)


def _needs_labels(mode: Mode) -> bool:
    graph = mode.parameters.get("graph")
    return (isinstance(graph, str) and graph == "class") or bool(getattr(graph, "within_class", False))


def cases(only: set[str] | None = None) -> Iterator[Case]:
    """Yield all fits, or those of the methods in `only`."""
    for name, (make, parameters, supervision, family) in _builders().items():
        if only and name not in only:
            continue
        for data in data_sets():
            rows = data.first(FEW) if family in COSTLY_FAMILIES or name in COSTLY else data
            if supervision == "none" and name == "ContingencySDR":
                rows = Data(data.name, np.round(np.abs(rows.X[:30])) + 1, np.round(np.abs(rows.new)) + 1, rows.codes)
            modes = EVERYWHERE + (SMALL if data.name == "iris" else ())
            for mode in [mode for mode in modes if parameters.issuperset(mode.parameters)]:
                if (name, mode.label) in UNSTEADY:
                    continue
                key = f"{data.name} / {name} / {mode.label}"
                yield Case(key, make, mode, rows, _target(name, rows, mode, supervision))


# ---------------------------------------------------------------------- one fit
def _contained(X: Array, how: str, folder: Path) -> Any:
    if how == "sparse":
        return sp.csr_array(X)
    if how == "memmap":
        np.save(folder / "rows.npy", X)
        return np.load(folder / "rows.npy", mmap_mode="r")
    if how == "dask":
        import dask.array as da

        return da.from_array(X, chunks=(-(-len(X) // 3), *X.shape[1:]))
    return X


def _lazily(y: Any, folder: Path) -> Any:
    """Return y as Dask arrays."""
    if isinstance(y, tuple):
        return tuple(_lazily(part, folder) for part in y)
    return None if y is None else _contained(np.asarray(y), "dask", folder)


def _pairs(case: Case) -> tuple[Array, Array]:
    """Return distances, kernel values or affinities among the rows, and between new points and rows."""
    X, new = case.data.X, case.data.new
    if case.mode.rows == "distances":
        return pairwise_distances(X), pairwise_distances(new, X)
    return rbf_kernel(X, gamma=0.5), rbf_kernel(new, X, gamma=0.5)


def fit(case: Case, folder: Path) -> tuple[Any, Any, Any]:
    """Return the fitted estimator, its rows, and new rows of the same kind."""
    given = dict(case.mode.parameters)
    if given.get("graph") == "given":
        given["graph"] = kneighbors_graph(case.data.X, 8, mode="distance")
    model, how, y = case.make(**given), case.mode.rows, case.y
    if how == "parts":
        for part in np.array_split(np.random.default_rng(0).permutation(len(case.data.X)), 3):
            known = tuple(view[part] for view in y) if isinstance(y, tuple) else None if y is None else y[part]
            model.partial_fit(case.data.X[part], known)
        return model, case.data.X, case.data.new
    if how in ("distances", "kernel", "affinities"):
        X, new = _pairs(case)
    else:
        X, new = _contained(case.data.X, how, folder), case.data.new
    return model.fit(X, _lazily(y, folder) if how == "dask" else y), X, new


def record(case: Case, folder: Path) -> dict[str, Any]:
    """Run one fit and return its arrays, digests of attributes, warnings and errors."""
    found: dict[str, Any] = {"outputs": {}, "plain": {}, "inside": {}, "names": [], "errors": {}}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            model, X, new = fit(case, folder)
        except Exception as error:
            found["errors"]["fit"] = [type(error).__name__, str(error)]
        else:
            _describe(model, found)
            _use(model, X, new, found)
    found["warnings"] = sorted({each.category.__name__ for each in caught})
    return found


def _use(model: Any, X: Any, new: Any, found: dict[str, Any]) -> None:
    """Add embedding, transform, inverse transform and prediction to the record."""
    held = hasattr(model, "embedding_")
    uses: dict[str, Callable[[], Any]] = {
        "embedding": lambda: model.embedding_ if held else model.transform(X),
        "transform": lambda: model.transform(new),
        "inverse": lambda: model.inverse_transform(model.transform(new)),
        "predict": lambda: model.predict(new),
    }
    for name, use in uses.items():
        if name in ("embedding", "transform") or hasattr(model, {"inverse": "inverse_transform"}.get(name, name)):
            try:
                found["outputs"][name] = np.asarray(use(), dtype=np.float64)
            except Exception as error:
                found["errors"][name] = [type(error).__name__, str(error)]


# ---------------------------------------------------------------------- digests of attributes
def attributes_of(model: Any) -> dict[str, Any]:
    """Return fitted attributes by name, including properties."""
    names = {name for name in vars(model) if name.endswith("_")}
    names |= {name for name in dir(type(model)) if name.endswith("_") and not name.endswith("__")}
    found = {}
    for name in sorted(name for name in names if not name.startswith("_")):
        try:
            found[name] = getattr(model, name)
        except AttributeError:
            continue
    return found


def _describe(model: Any, found: dict[str, Any]) -> None:
    for name, value in attributes_of(model).items():
        found["names"].append(name)
        for path, part in _named_parts(name, value):
            numbers = numbers_of(part)
            if numbers is not None:
                found["plain"][path] = digest(numbers)
            elif not isinstance(part, str | bytes | None | type):
                found["inside"][path] = [digest(array) for array in _arrays(part, set()) if _size(array) > 1]


def _named_parts(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the entries of a dictionary under their keys, except times and memory; yield any other value as it is."""
    if not isinstance(value, dict):
        yield name, value
        return
    for key, part in value.items():
        if not any(word in str(key) for word in ("seconds", "memory", "time")):
            yield from _named_parts(f"{name}[{key!r}]", part)


def numbers_of(value: Any) -> Any:
    """Return a number, an array or a list of numbers as an array (sparse arrays unchanged), and None for anything else."""
    if sp.issparse(value):
        return value
    if isinstance(value, bool | int | float | complex | np.generic | np.ndarray | list | tuple):
        try:
            array = np.asarray(value)
        except ValueError:  # rows of different lengths
            return None
        return array if array.dtype.kind in "biufc" else None
    return None


def _size(array: Any) -> int:
    return int(np.prod(array.shape))


def _arrays(value: Any, seen: set[int]) -> Iterator[Any]:
    """Yield all numeric arrays inside an object, each once."""
    if id(value) in seen or value is None or isinstance(value, str | bytes | type | np.random.RandomState):
        return
    seen.add(id(value))
    if (numbers := numbers_of(value)) is not None:
        yield numbers
    elif isinstance(value, dict):
        for part in value.values():
            yield from _arrays(part, seen)
    elif isinstance(value, list | tuple | set | frozenset):
        for part in value:
            yield from _arrays(part, seen)
    elif not callable(value) or type(value).__module__.startswith(("eigenspan", "sklearn")):
        slots = [name for cls in type(value).__mro__ for name in getattr(cls, "__slots__", ())]
        held = {**getattr(value, "__dict__", {}), **{name: getattr(value, name, None) for name in slots}}
        for part in held.values():
            yield from _arrays(part, seen)


def digest(array: Any) -> list[Any]:
    """Return shape, norm, two pseudo-random projections and the number of non-finite entries; equal for sparse and dense arrays."""
    if sp.issparse(array):
        stored = sp.coo_array(array)
        stored.sum_duplicates()
        values, places = stored.data, stored.row.astype(np.int64) * array.shape[1] + stored.col
    else:
        values, places = np.ravel(array), np.arange(array.size)
    if values.dtype.kind == "c":
        values, places = np.append(values.real, values.imag), np.append(places, places + _size(array))
    values = values.astype(np.float64)
    finite = np.isfinite(values)
    values = np.where(finite, values, 0.0)
    projections = [float(values @ np.cos(places * turn + 0.5)) for turn in (1.6180339887, 2.7182818284)]
    return [list(array.shape), float(np.linalg.norm(values)), *projections, int((~finite).sum())]


# ---------------------------------------------------------------------- files
def snapshot(only: set[str] | None = None, say: Callable[[str], None] = lambda line: None) -> dict[str, Any]:
    """Run all cases and return their records by key."""
    found, started = {}, time.perf_counter()
    with tempfile.TemporaryDirectory() as folder, threadpool_limits(1), _one_process():
        for case in cases(only):
            entry = record(case, Path(folder))
            if entry["errors"].get("fit", [""])[0] != "InvalidParameterError":  # a value for another method
                found[case.key] = entry
    failed = sum("fit" in entry["errors"] for entry in found.values())
    say(f"{len(found)} fits, {failed} of them refused, in {time.perf_counter() - started:.0f} s")
    return found


def _one_process() -> Any:
    import dask

    return dask.config.set(scheduler="synchronous")


def write(path: Path, found: dict[str, Any]) -> None:
    """Write all numbers as one array to a .npz file, and everything else, with offsets into that array, to a .json file."""
    numbers: list[Array] = []
    index: dict[str, Any] = {}
    place = 0
    for key, entry in found.items():
        outputs = {}
        for name, array in entry["outputs"].items():
            outputs[name] = [place, list(array.shape)]
            numbers.append(array.ravel())
            place += array.size
        index[key] = {**entry, "outputs": outputs}
    np.savez_compressed(path.with_suffix(".npz"), numbers=np.concatenate(numbers) if numbers else np.empty(0))
    path.with_suffix(".json").write_text(json.dumps(index), encoding="utf-8")


def read(path: Path) -> dict[str, Any]:
    """Read the files of `write`."""
    with np.load(path.with_suffix(".npz"), allow_pickle=False) as file:
        numbers = file["numbers"]
    found = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    for entry in found.values():
        for name, (place, shape) in entry["outputs"].items():
            entry["outputs"][name] = numbers[place : place + int(np.prod(shape))].reshape(shape)
    return dict(found)


# ---------------------------------------------------------------------- comparison
@dataclass(frozen=True)
class Difference:
    """A difference between two records of a fit. `size` is relative for numbers and infinite for names, warnings and errors."""

    kind: str
    what: str
    size: float = np.inf

    def __str__(self) -> str:
        return f"{self.kind} {self.what}" + (f" {self.size:.1e}" if np.isfinite(self.size) else "")


def apart(A: Array, B: Array) -> float:
    """Largest difference of two arrays relative to their largest entry; infinite if shapes or positions of NaN differ."""
    if A.shape != B.shape or not np.array_equal(np.isfinite(A), np.isfinite(B)):
        return np.inf
    good = np.isfinite(A)
    scale = max(np.abs(A[good]).max(initial=0.0), np.abs(B[good]).max(initial=0.0))
    return float(np.abs(A[good] - B[good]).max(initial=0.0) / scale) if scale > 0 else 0.0


def digests_apart(a: list[Any], b: list[Any], least: float = 0.0) -> float:
    """Relative difference of two digests; `least` bounds the reference size from below."""
    if a[0] != b[0] or a[4] != b[4]:
        return np.inf
    scale = max(a[1], b[1], least)
    return max(abs(x - y) for x, y in zip(a[1:4], b[1:4], strict=True)) / scale if scale > 0 else 0.0


def differences(old: dict[str, Any], new: dict[str, Any]) -> list[Difference]:
    """Return all differences between two records of a fit, without a tolerance."""
    found = [*_of_names(old, new)]
    for name in old["outputs"].keys() & new["outputs"].keys():
        found.append(Difference("output", name, apart(old["outputs"][name], new["outputs"][name])))
    for name in old["plain"].keys() & new["plain"].keys():
        least = 1.0 if name.startswith(ROUNDING) else 0.0
        found.append(Difference("attribute", name, digests_apart(old["plain"][name], new["plain"][name], least)))
    for name in old["inside"].keys() & new["inside"].keys():
        found.append(Difference("inside", name, _sets_apart(old["inside"][name], new["inside"][name])))
    return [each for each in found if each.size > 0]


def _of_names(old: dict[str, Any], new: dict[str, Any]) -> Iterator[Difference]:
    """Yield attributes, dictionary entries, warnings and errors that only one of two records has."""
    errors = [{f"{step}: {error[0]}" for step, error in entry["errors"].items()} for entry in (old, new)]
    keys = [{*entry["plain"], *entry["inside"]} - {*entry["names"]} for entry in (old, new)]
    sides = {
        "name": (set(old["names"]), set(new["names"])),
        "entry": (keys[0], keys[1]),
        "warning": (set(old["warnings"]), set(new["warnings"])),
        "error": (errors[0], errors[1]),
    }
    for kind, (before, after) in sides.items():
        yield from (Difference(kind, f"-{name}") for name in sorted(before - after))
        yield from (Difference(kind, f"+{name}") for name in sorted(after - before))


def _sets_apart(old: list[Any], new: list[Any]) -> float:
    """Largest difference between an array of one object and the most similar array of the other."""
    if bool(old) != bool(new):
        return np.inf
    ways = ((old, new), (new, old))
    return max((min(digests_apart(a, b) for b in others) for each, others in ways for a in each), default=0.0)


def compare(
    old: dict[str, Any], new: dict[str, Any], rounding: dict[str, Any] | None = None
) -> dict[str, list[Difference]]:
    """Return differences above the tolerance by key, including fits that only one snapshot has."""
    found = {}
    for key in [*old, *(key for key in new if key not in old)]:
        if key not in old or key not in new:
            found[key] = [Difference("fit", "only in the " + ("first" if key in old else "second"))]
            continue
        loose: dict[tuple[str, str], float] = {}
        if rounding is not None and key in rounding:
            loose = {(each.kind, each.what): 100 * each.size for each in differences(old[key], rounding[key])}
        each = differences(old[key], new[key])
        each = [d for d in each if d.size > max(TOLERANCE, loose.get((d.kind, d.what), 0.0))]
        if each:
            found[key] = each
    return found


def show(found: dict[str, list[Difference]], total: int) -> None:
    """Print differences grouped by method."""
    methods: dict[str, list[str]] = {}
    for key in found:
        methods.setdefault(key.split(" / ")[1], []).append(key)
    for name, keys in methods.items():
        print(f"{name}: {len(keys)} fits differ")
        for key in keys:
            print(f"    {key}: {'; '.join(map(str, found[key]))}")
    print(f"{len(found)} of {total} fits differ, of {len(methods)} methods")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    writing, comparing = commands.add_parser("write"), commands.add_parser("compare")
    for command in (writing, comparing):
        command.add_argument("file", type=Path)
    writing.add_argument("methods", nargs="*")
    comparing.add_argument("other", nargs="?", type=Path)
    comparing.add_argument("--rounding", type=Path)
    chosen = parser.parse_args()
    if chosen.command == "write":
        write(chosen.file, snapshot({*chosen.methods}, print))
        return 0
    old = read(chosen.file)
    new = read(chosen.other) if chosen.other else snapshot(None, print)
    found = compare(old, new, read(chosen.rounding) if chosen.rounding else None)
    show(found, len({*old, *new}))
    return 1 if found else 0


if __name__ == "__main__":
    for library in ("OMP", "OPENBLAS", "MKL", "NUMBA"):  # for libraries that are loaded later
        os.environ[f"{library}_NUM_THREADS"] = "1"
    sys.exit(main())
