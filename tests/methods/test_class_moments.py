"""Supervised LPP, OLPP, NPP and ONPP over the class graph: from the moments of the classes, in one pass over the rows."""

from __future__ import annotations

import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.linalg as la
import scipy.sparse as sp
from sklearn.datasets import load_digits, load_iris

import eigenspan as es
from eigenspan.data.rows import block_passes as strips
from eigenspan.data.rows.moments import Moments
from eigenspan.errors import InputError
from helpers import angle

IRIS, SPECIES = load_iris(return_X_y=True)
SOME = np.where(np.arange(150) % 3 == 0, -1, SPECIES)
NAMES = ["LPP", "OLPP", "NPP", "ONPP"]
DIGITS, NUMBERS = load_digits(return_X_y=True)

names = pytest.mark.parametrize("name", NAMES)


def dense(name: str, X: Any, codes: Any) -> tuple[Any, Any]:
    """Eigenvalues and axes from the n×n matrices of the class graph [S0, eq. 37]."""
    known = (codes >= 0).astype(float)
    same = (codes[:, None] == codes) & (codes >= 0)
    L = np.diag(known) - same / np.maximum(same.sum(axis=1), 1)
    mass = known if name == "LPP" else np.ones(len(X))
    Z = X - mass @ X / mass.sum()
    return la.eigh(Z.T @ L @ Z, None if name.startswith("O") else (Z.T * mass) @ Z)


@names
@pytest.mark.parametrize("labels", [SPECIES, SOME], ids=["all", "some"])
@pytest.mark.parametrize("shift", [0.0, 1e4])
def test_the_class_graph_is_its_moments(name: str, labels: Any, shift: float) -> None:
    values, V = dense(name, IRIS, labels)
    fitted = es.make(name, n_components=2, graph="class", unlabeled=-1).fit(IRIS + shift, labels)
    assert "moments" in fitted.diagnostics_["seconds"]
    np.testing.assert_allclose(fitted.eigenvalues_, values[:2], rtol=1e-8 if not shift else 1e-6)
    assert angle(fitted.components_.T, V[:, :2]) < (1e-6 if not shift else 1e-4)
    np.testing.assert_allclose(fitted.transform(IRIS + shift), fitted.embedding_, atol=1e-8)


@names
def test_rows_of_every_kind_give_the_same_axes(name: str, tmp_path: Path) -> None:
    X, y = DIGITS[:, DIGITS.std(axis=0) > 0.5].copy(), NUMBERS
    whole = es.make(name, n_components=3, graph="class").fit(X, y)
    file = np.memmap(tmp_path / "rows", dtype=np.float64, mode="w+", shape=X.shape)
    file[:] = X
    mapped = es.make(name, n_components=3, graph="class").fit(file, y)
    assert "embedding_" not in vars(mapped)
    np.testing.assert_allclose(np.abs(mapped.transform(X)), np.abs(whole.embedding_), atol=1e-6)
    single = es.make(name, n_components=3, graph="class").fit(X.astype(np.float32), y)
    assert single.embedding_.dtype == np.float32
    thin = es.make(name, n_components=3, graph="class").fit(sp.csr_array(X), y)
    within = es.make(name, n_components=3, graph="class", weights=None, ridge=0.0).fit(X, y)
    for other in (mapped, single, thin, within):
        assert angle(other.components_.T, whole.components_.T) < 1e-4


def test_lpp_over_classes_is_lda_of_the_labelled_points() -> None:
    lda = es.LDA(2, unlabeled=-1).fit(IRIS, SOME)
    lpp = es.LPP(2, graph="class", unlabeled=-1).fit(IRIS, SOME)
    assert angle(lda.components_.T, lpp.components_.T) < 1e-6
    np.testing.assert_allclose(lpp.mean_, IRIS[SOME >= 0].mean(axis=0))
    np.testing.assert_allclose(es.NPP(2, graph="class", unlabeled=-1).fit(IRIS, SOME).mean_, IRIS.mean(axis=0))


@names
def test_what_the_rows_cannot_be(name: str) -> None:
    X = IRIS.copy()
    X[70, 2] = np.nan
    with pytest.raises((InputError, ValueError), match="NaN"):
        es.make(name, graph="class").fit(X, SPECIES)
    X[70, 2] = np.inf
    with pytest.raises((InputError, ValueError), match="infinity"):
        es.make(name, graph="class").fit(X, SPECIES)


def test_a_ridge_and_axes_left_out() -> None:
    ridged = es.LPP(2, graph="class", ridge=0.7).fit(IRIS, SPECIES)
    assert ridged.diagnostics_["ridge"] == 0.7
    S_W, S_T = (M.scatter for M in (Moments.of(IRIS, SPECIES, 3), Moments.of(IRIS)))
    values, V = la.eigh(S_W + 0.7 * np.eye(4), S_T)
    np.testing.assert_allclose(ridged.eigenvalues_, values[:2], rtol=1e-9)
    assert angle(ridged.components_.T, V[:, :2]) < 1e-5
    skipped = es.ONPP(2, graph="class", skip_smallest=1).fit(IRIS, SPECIES)
    assert angle(skipped.components_.T, la.eigh(S_W)[1][:, 1:3]) < 1e-5


@names
def test_one_pass_and_no_copy(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 5, 40_000)
    X = (rng.standard_normal((40_000, 20)) + rng.standard_normal((5, 20))[y]).astype(np.float32)
    passes: list[int] = []
    of_strip = strips._sums_of_blocks

    def counted(X: Any, codes: Any, groups: int, space: Any, parts: list[slice], scatter: Any) -> Any:
        passes.append(sum(part.stop - part.start for part in parts))
        return of_strip(X, codes, groups, space, parts, scatter)

    monkeypatch.setattr(strips, "_sums_of_blocks", counted)
    es.make(name, graph="class").fit(X[:100], y[:100])
    passes.clear()
    tracemalloc.start()
    es.make(name, graph="class").fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert sum(passes) == 40_000
    assert peak < 8 * X.size  # less than one copy in double precision
