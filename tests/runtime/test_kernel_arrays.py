"""Embeddings are equal for all BLAS kernels, or come with a warning; ``tests/kernels.py --arrays`` compares many more."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import kernels
from kernel_arrays import NAMES, VARIANTS, Table, differences, embed, tables

#: Data with several symmetries: double eigenvalues, equal entries of either sign, and equal variances.
DATA = ["grid", "polygon", "lattice"]


@pytest.mark.long  # .ci/run compares all numerical tests by these kernels
@pytest.mark.skipif(sys.platform != "linux", reason="OpenBLAS on other systems has other kernels")
def test_embeddings_are_the_same_with_the_oldest_kernels(tmp_path: Path) -> None:
    if reason := kernels.why_not("Prescott"):
        pytest.skip(f"Prescott: {reason}")
    one_thread = {"OPENBLAS_NUM_THREADS": "1"}
    runs = {
        "oldest": ({**one_thread, "OPENBLAS_CORETYPE": "Prescott"}, ["--data", *DATA]),
        "default": (one_thread, ["--data", *DATA]),
    }
    made = kernels.embeddings(tmp_path, runs)
    found = differences(made["oldest"], made["default"])
    assert [difference for difference in found if not difference.warned] == []


def test_number_of_embeddings() -> None:
    assert len(tables()) * len([*NAMES, *VARIANTS]) == 689


def test_differences_are_detected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import kernel_arrays

    X = tables()["grid"].X
    paths = []
    for factor in (1.0, 1.0 + 1e-5):
        monkeypatch.setattr(kernel_arrays, "tables", lambda factor=factor: {"grid": Table(factor * X, X[:, 0] > 3)})
        paths.append(tmp_path / f"{factor}.npz")
        kernel_arrays.compute(paths[-1], ["grid"], ["PCA"])
    (found,) = differences(*paths)
    assert found.name == "grid/PCA"
    assert 5e-6 < found.size < 2e-5
    assert not found.warned
    assert differences(paths[0], paths[0]) == []


def test_refusal_and_embedding_are_distinguished() -> None:
    Y, said = embed("PPCA", tables()["lattice"])
    assert Y is None
    assert said["error"].startswith("DimensionError")
