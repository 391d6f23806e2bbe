"""Fits to the same rows in an array, a sparse array, a memory-mapped file and a Dask array agree in subspace and in fitted attributes.

`DRIFTS` lists the known differences. The tests fail when one of them disappears, so that its line is removed together with the defect.
"""

from __future__ import annotations

import warnings
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import scipy.linalg as la

import eigenspan as es
from eigenspan.errors import EigenspanError
from routes import by_route, problem
from snapshots import attributes_of, digest, digests_apart, numbers_of

TOLERANCE = 1e-8
STORAGES = ("sparse", "memmap", "dask")
#: 240 rows × 5, well conditioned.
P = problem(condition=4.0, offset=0.0)
LANDMARKS = np.arange(0, 240, 6)
CLASS = {"graph": "class"}


class Subject(NamedTuple):
    """A method, its y and its parameters."""

    name: str
    y: Any = None
    parameters: Any = None

    def make(self, **more: Any) -> Any:
        return es.make(self.name, n_components=2, **(self.parameters or {}), **more)


SUBJECTS = {
    "PCA": Subject("PCA"),
    "PPCA": Subject("PPCA"),
    "LDA": Subject("LDA", P.codes),
    "MMC": Subject("MMC", P.codes),
    "SupervisedPCA": Subject("SupervisedPCA", P.codes),
    "SIR": Subject("SIR", P.response),
    "SIR of classes": Subject("SIR", np.array(["a", "b", "c"])[P.codes]),
    "SAVE": Subject("SAVE", P.response),
    "DirectionalRegression": Subject("DirectionalRegression", P.response),
    "PHD": Subject("PHD", P.response),
    "CCA": Subject("CCA", P.view),
    "MultiviewCCA": Subject("MultiviewCCA", (P.view, P.view[:, :2] ** 2 + P.X[:, :2])),
    "LPP of classes": Subject("LPP", P.codes, CLASS),
    "SDA over a given graph": Subject("SDA", P.codes, {"graph": P.graph, "weights": "binary"}),
    "LandmarkMDS": Subject("LandmarkMDS", None, {"landmarks": LANDMARKS}),
    "KernelPCA by landmarks": Subject("KernelPCA", None, {"landmarks": LANDMARKS, "gamma": 0.1}),
    "LDA by landmarks": Subject("LDA", P.codes, {"kernel": "rbf", "landmarks": LANDMARKS}),
}

#: Storages that a method does not support.
REFUSED = {("LandmarkMDS", "sparse"): "distances among sparse rows are not computed"}
#: Attributes that fits to files and Dask arrays do not set: transform(X) computes them in blocks.
NOT_HELD = {"memmap": {"embedding_", "y_embedding_"}, "dask": {"embedding_", "y_embedding_"}}
#: Attributes that record how the rows were read.
DESCRIBE = {"diagnostics_"}

_READS_FILE = "the whole file is read into memory, so the embedding is set"
#: Known differences from the fit to an array: "-" missing, "+" additional, "~" other values.
DRIFTS: dict[tuple[str, str], dict[str, str]] = {
    ("SAVE", "memmap"): {"+embedding_": _READS_FILE},
    ("DirectionalRegression", "memmap"): {"+embedding_": _READS_FILE},
    ("PHD", "memmap"): {"+embedding_": _READS_FILE},
    ("SDA over a given graph", "memmap"): {"+embedding_": _READS_FILE},
    ("SDA over a given graph", "dask"): {"-graph_": "only the Laplacian of the given graph is kept"},
    ("LandmarkMDS", "memmap"): {"+embedding_": _READS_FILE},
    ("KernelPCA by landmarks", "memmap"): {"+embedding_": _READS_FILE},
    ("LDA by landmarks", "memmap"): {"+embedding_": _READS_FILE},
}
#: The same for sparse rows with so many products that their sums are not computed for a later `partial_fit`.
_NO_SUMS = dict.fromkeys(("-moments_", "-n_samples_seen_"), "sums over many sparse rows are not computed")
DRIFTS_OF_MANY_PRODUCTS = {
    "PCA": {**_NO_SUMS, "~gap_": "the eigenvalue after the last axis has not converged when the iteration stops"},
    "LDA": _NO_SUMS,
    "SIR": _NO_SUMS,
}
#: Attributes that a fit with this parameter does not set: coefficients of the inputs, and sums for `partial_fit`.
WITHOUT = {
    "reduce": {"moments_", "n_samples_seen_"},
    "kernel": {
        "components_", "mean_", "coef_", "intercept_", "means_", "xbar_", "moments_", "n_samples_seen_", "order_tests_",
    },
}  # fmt: skip


@pytest.fixture(autouse=True)
def one_process() -> Any:
    dask = pytest.importorskip("dask")
    with dask.config.set(scheduler="synchronous"):
        yield


def lazily(y: Any, folder: Path) -> Any:
    """y of rows in a Dask array."""
    if isinstance(y, tuple):
        return tuple(lazily(view, folder) for view in y)
    return None if y is None else by_route(y, "dask", folder)


def fitted(subject: Subject, storage: str, folder: Path, X: Any = P.X) -> Any:
    y = lazily(subject.y, folder) if storage == "dask" else subject.y
    return subject.make().fit(by_route(X, storage, folder), y)


@cache
def in_memory(name: str) -> Any:
    return fitted(SUBJECTS[name], "array", Path())


def sine(Y: Any, Z: Any) -> float:
    """Sine of the largest angle between the column spans of two centred embeddings."""
    Q, R = (la.orth(A - A.mean(axis=0)) for A in (Y, Z))
    assert Q.shape == R.shape
    return float(np.sin(la.subspace_angles(Q, R).max()))


def drifts(whole: dict[str, Any], other: dict[str, Any], not_held: set[str]) -> set[str]:
    """Attributes that are missing ("-"), additional ("+") or of other values ("~"). Those in `not_held` are expected to be missing."""
    ours, theirs = whole.keys() - DESCRIBE, other.keys() - DESCRIBE
    found = {f"-{name}" for name in ours - theirs - not_held} | {f"+{name}" for name in theirs - ours}
    found |= {f"+{name}" for name in theirs & not_held}
    return found | {f"~{name}" for name in (ours & theirs) - not_held if differs(name, whole[name], other[name])}


def differs(name: str, a: Any, b: Any) -> bool:
    A, B = numbers_of(a), numbers_of(b)
    if A is None or B is None:
        return type(a) is not type(b) or (isinstance(a, np.ndarray) and not np.array_equal(a, b))
    least = 1.0 if name == "residuals_" else 0.0  # these measure rounding errors
    return digests_apart(digest(A), digest(B), least) > TOLERANCE


EVERY = [(name, storage) for name in SUBJECTS for storage in STORAGES]
every = pytest.mark.parametrize(("name", "storage"), [each for each in EVERY if each not in REFUSED])


@every
@pytest.mark.every(2)
def test_same_subspace_by_every_storage(name: str, storage: str, tmp_path: Path) -> None:
    found = fitted(SUBJECTS[name], storage, tmp_path).transform(by_route(P.X, storage, tmp_path))
    assert sine(in_memory(name).transform(P.X), np.asarray(found)) <= TOLERANCE


@every
@pytest.mark.every(2, start=1)
def test_same_attributes_by_every_storage(name: str, storage: str, tmp_path: Path) -> None:
    whole, other = attributes_of(in_memory(name)), attributes_of(fitted(SUBJECTS[name], storage, tmp_path))
    found = drifts(whole, other, NOT_HELD.get(storage, set()))
    assert found == set(DRIFTS.get((name, storage), ())), "mended? Then remove its line from DRIFTS"


@pytest.mark.parametrize(("name", "storage"), REFUSED)
def test_unsupported_storages_raise(name: str, storage: str, tmp_path: Path) -> None:
    with pytest.raises((EigenspanError, TypeError)):
        fitted(SUBJECTS[name], storage, tmp_path)


@pytest.mark.parametrize("name", DRIFTS_OF_MANY_PRODUCTS)
@pytest.mark.every(3)
def test_same_attributes_of_many_sparse_products(name: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X, codes = rng.standard_normal((3100, 300)), np.arange(3100) % 4
    X[:, :2] *= [3, 2]
    X[:, 1] += codes
    y = {"LDA": codes, "SIR": X[:, 0] + X[:, 1] ** 2}.get(name)
    whole, other = (fitted(Subject(name, y), storage, tmp_path, X) for storage in ("array", "sparse"))
    assert sine(whole.transform(X), other.transform(X)) <= TOLERANCE
    assert drifts(attributes_of(whole), attributes_of(other), set()) == set(DRIFTS_OF_MANY_PRODUCTS[name])


@pytest.mark.parametrize("parameter", WITHOUT)
@pytest.mark.parametrize(
    "name", ["LDA", "MMC", "SupervisedPCA", "SIR", "DirectionalRegression", "PHD", "LPP of classes"]
)
def test_parameters_remove_no_other_attributes(name: str, parameter: str) -> None:
    subject = SUBJECTS[name]
    given: dict[str, Any] = {"reduce": {"reduce": 4}, "kernel": {"kernel": "rbf", "ridge": 0.1}}[parameter]
    with warnings.catch_warnings(
        action="ignore", category=UserWarning
    ):  # equal eigenvalues of classes in a kernel space
        model = subject.make(**given).fit(P.X, subject.y)
    missing = {f"-{key}" for key in attributes_of(in_memory(name)).keys() - attributes_of(model).keys()}
    missing -= {f"-{key}" for key in WITHOUT[parameter]}
    assert not missing


def test_the_tables_name_what_is_tested() -> None:
    assert {*DRIFTS, *REFUSED} <= {*EVERY}
    assert len({subject.name for subject in SUBJECTS.values()}) >= 14


def test_drifts_are_found() -> None:
    assert drifts({"a_": 1.0, "b_": 2.0}, {"a_": 1.1, "c_": 3.0}, set()) == {"~a_", "-b_", "+c_"}
    assert drifts({"a_": 1.0, "embedding_": 2.0}, {"a_": 1.0 + 1e-12}, {"embedding_"}) == set()
    assert drifts({"a_": 1.0}, {"a_": 1.0, "embedding_": 2.0}, {"embedding_"}) == {"+embedding_"}
