"""The snapshot guard finds changes of numbers, names, warnings and errors, and nothing else."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import eigenspan as es
import snapshots

pytest.importorskip("dask")


@pytest.fixture(scope="module")
def found() -> Any:
    """Return records of two methods on small data."""
    return snapshots.snapshot({"PCA", "ClassicalMDS"})


def changed(found: Any, key: str) -> tuple[Any, Any]:
    """Return a copy of the records, and one of them to change."""
    other = copy.deepcopy(found)
    return other, other[key]


def test_a_stored_snapshot_equals_what_was_stored(found: Any, tmp_path: Path) -> None:
    snapshots.write(tmp_path / "before", found)
    read = snapshots.read(tmp_path / "before")
    assert read.keys() == found.keys()
    assert snapshots.compare(found, read) == {}
    assert sorted(path.suffix for path in tmp_path.iterdir()) == [".json", ".npz"]


def test_every_kind_of_change_is_found(found: Any) -> None:
    key = "iris / PCA / default"
    for kind, change in {
        "output": lambda entry: entry["outputs"]["embedding"].__setitem__((3, 1), 1.0),
        "attribute": lambda entry: entry["plain"]["components_"].__setitem__(2, 1.0),
        "inside": lambda entry: entry["inside"]["map_"].clear(),
        "name": lambda entry: entry["names"].remove("mean_"),
        "warning": lambda entry: entry["warnings"].append("RidgeWarning"),
        "error": lambda entry: entry["errors"].update(transform=["InputError", "text"]),
    }.items():
        other, entry = changed(found, key)
        change(entry)
        differences = snapshots.compare(found, other)
        assert list(differences) == [key]
        assert kind in {each.kind for each in differences[key]}, kind


def test_texts_of_errors_and_last_digits_are_not_compared(found: Any) -> None:
    refused = next(key for key, entry in found.items() if "fit" in entry["errors"])
    other, entry = changed(found, refused)
    entry["errors"]["fit"][1] = "other words"
    other["iris / PCA / default"]["outputs"]["transform"] *= 1 + 1e-13
    assert snapshots.compare(found, other) == {}
    entry["errors"]["fit"][0] = "OtherError"
    assert list(snapshots.compare(found, other)) == [refused]


def test_fits_of_one_snapshot_alone_are_found(found: Any) -> None:
    other, _ = changed(found, "iris / PCA / default")
    del other["iris / PCA / default"]
    for old, new in ((found, other), (other, found)):
        assert list(snapshots.compare(old, new)) == ["iris / PCA / default"]


def test_rounding_widens_the_tolerance(found: Any) -> None:
    (other, entry), (beside, rounded) = (changed(found, "iris / PCA / default") for _ in range(2))
    entry["outputs"]["transform"][0] *= 1 + 1e-7
    rounded["outputs"]["transform"][0] *= 1 + 1e-8
    assert snapshots.compare(found, other)
    assert snapshots.compare(found, other, beside) == {}


def test_digests_do_not_depend_on_storage() -> None:
    A = np.random.default_rng(0).standard_normal((7, 5)) * (np.arange(5) % 2)
    stored = [A, np.asfortranarray(A), sp.csr_array(A), sp.coo_array(A), sp.csc_matrix(A)]
    assert all(snapshots.digests_apart(snapshots.digest(A), snapshots.digest(B)) < 1e-15 for B in stored)
    for row, column in np.ndindex(A.shape):
        B = A.copy()
        B[row, column] += 1e-8
        assert snapshots.digests_apart(snapshots.digest(A), snapshots.digest(B)) > 1e-10
    assert snapshots.digests_apart(snapshots.digest(A), snapshots.digest(A.T)) == np.inf
    assert (
        snapshots.digests_apart(snapshots.digest(np.array([1.0, np.nan])), snapshots.digest(np.array([1.0, 0.0])))
        == np.inf
    )


def test_every_method_has_a_default_fit_on_every_data_set() -> None:
    cases = {case.key: case for case in snapshots.cases()}
    for name in es.methods().index:
        assert {f"{data.name} / {name} / default" for data in snapshots.data_sets()} <= cases.keys()
