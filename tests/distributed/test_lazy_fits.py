"""Fits to rows that stay in the blocks of a Dask collection, against fits to the same rows in memory."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from typing import Any

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

import eigenspan as es
from eigenspan.data.rows.dask_rows import lazy_table
from eigenspan.errors import InputError, LabelError, MemoryLimitError
from lazy_data import table

X, CODES, NUMBERS = table()
WORDS = np.array(["ash", "beech", "cedar", "oak"], dtype=object)[CODES]
SOME_WORDS = np.where(np.arange(len(X)) % 5 == 0, None, WORDS)
SOME_CODES = np.where(np.arange(len(X)) % 3 == 0, -1, CODES)
SOME_NUMBERS = np.where(np.arange(len(X)) % 7 == 0, np.nan, NUMBERS)

FITS = {
    "PCA": (es.PCA(3), None),
    "PCA whitened": (es.PCA(0.9, whiten=True), None),
    "PCA about the origin": (es.PCA(2, center=False), None),
    "PPCA": (es.PPCA(3), None),
    "LDA": (es.LDA(), CODES),
    "LDA of text": (es.LDA(store_covariance=True), SOME_WORDS),
    "LDA trace ratio": (es.LDA(2, criterion="trace-ratio", shrinkage=0.1), CODES),
    "MMC": (es.MMC(2), CODES),
    "SDA": (es.SDA(mu=0.0), SOME_CODES),
    "SSFDA": (es.SSFDA(2, gamma=0.0), SOME_CODES),
    "SupervisedPCA": (es.SupervisedPCA(), SOME_WORDS),
    "LPP": (es.LPP(2, graph="class"), CODES),
    "OLPP": (es.OLPP(2, graph="class"), SOME_WORDS),
    "NPP": (es.NPP(2, graph="class"), CODES),
    "ONPP": (es.ONPP(2, graph="class"), CODES),
    "CCA": (es.CCA(2), X[:, :3] ** 2 + X[:, 3:6]),
    "CCA of a vector": (es.CCA(1), NUMBERS),
    "SIR": (es.SIR(2), NUMBERS),
    "SIR with gaps": (es.SIR(2, n_slices=7), SOME_NUMBERS),
    "SIR of text": (es.SIR(2), WORDS),
    "SIR of few values": (es.SIR(2), np.round(NUMBERS).clip(0, 3)),
    "SAVE": (es.SAVE(2), NUMBERS),
    "SAVE of text": (es.SAVE(2), SOME_WORDS),
    "DirectionalRegression": (es.DirectionalRegression(2), SOME_NUMBERS),
    "PHD": (es.PHD(2), NUMBERS),
    "PHD of residuals": (es.PHD(2, response="residual"), SOME_NUMBERS),
    "PHD of two classes": (es.PHD(1), WORDS > "b"),
}
ROWS = {"PCA", "LDA", "CCA", "SIR"}  # also on the cluster, which takes longer


def fitted(estimator: Any, X: Any, y: Any) -> Any:
    from sklearn.base import clone

    return clone(estimator).fit(X, y)


def cut(values: Any, rows: Any) -> Any:
    """As a Dask array in such blocks."""
    return None if values is None else da.from_array(values, chunks=(rows, *values.shape[1:]))


def assert_same(lazy: Any, whole: Any, tolerance: float = 1e-8) -> None:
    size = np.abs(whole.components_).max()
    np.testing.assert_allclose(lazy.components_ / size, whole.components_ / size, atol=tolerance)
    np.testing.assert_allclose(lazy.eigenvalues_, whole.eigenvalues_, rtol=tolerance)
    assert {name for name in vars(whole) if name.endswith("_")} - set(vars(lazy)) <= {"embedding_", "y_embedding_"} | {
        name for name in ("moments_", "n_samples_seen_") if name not in vars(lazy)
    }


@pytest.mark.parametrize("name", FITS)
@pytest.mark.every(2)
def test_as_in_memory_on_threads(name: str) -> None:
    estimator, y = FITS[name]
    whole = fitted(estimator, X, y)
    with dask.config.set(scheduler="threads"):
        for rows, others in ((701, 701), ((1, 0, 2999, 1000), 333)):
            lazy = fitted(estimator, cut(X, rows), cut(y, others))
            assert_same(lazy, whole)
    if hasattr(whole, "classes_"):
        assert lazy.classes_.tolist() == whole.classes_.tolist()
    if hasattr(whole, "order_tests_"):
        np.testing.assert_allclose(lazy.order_tests_, whole.order_tests_, rtol=1e-6, atol=1e-300)
    if hasattr(whole, "slice_edges_"):
        np.testing.assert_array_equal(lazy.slice_edges_, whole.slice_edges_)
    with pytest.raises(AttributeError, match="holds no embedding"):
        _ = lazy.embedding_


@pytest.mark.parametrize("name", sorted(ROWS))
def test_as_in_memory_on_a_cluster(cluster: Any, name: str) -> None:
    estimator, y = FITS[name]
    assert_same(fitted(estimator, cut(X, 701), cut(y, 501)), fitted(estimator, X, y))


def test_frames_with_unknown_sizes(running: str, tmp_path: Any) -> None:
    frame = pd.DataFrame(X.astype(np.float32), columns=[f"c{j}" for j in range(X.shape[1])])
    frame["kind"], frame["number"], frame["unused"] = SOME_WORDS, NUMBERS, "text"
    for i, rows in enumerate(np.array_split(np.arange(len(X)), 5)):
        frame.iloc[rows].to_parquet(tmp_path / f"{i}.parquet")
    features = list(frame.columns[: X.shape[1]])
    whole = fitted(es.LDA(), frame[features].astype(float), frame["kind"])
    for source in (dd.read_parquet(tmp_path), dd.from_pandas(frame, npartitions=3)):
        lda = es.LDA().fit(source[features], source["kind"])
        assert_same(lda, whole)
        assert list(lda.feature_names_in_) == features
        Y = lda.transform(source[features]).compute()
        np.testing.assert_allclose(Y, whole.transform(frame[features]), atol=1e-5)
        assert Y.dtype == np.float32
        sir = es.SIR(1).fit(source[features], source["number"])
        np.testing.assert_array_equal(sir.slice_edges_, es.SIR(1).fit(X, NUMBERS).slice_edges_)
    other = dd.from_pandas(frame["kind"], npartitions=4)  # other blocks than those of X
    assert_same(es.LDA().fit(dd.read_parquet(tmp_path)[features], other), whole)
    assert_same(es.LDA().fit(dd.read_parquet(tmp_path)[features], frame["kind"].to_numpy()), whole)


def test_a_source_that_x_and_y_share_is_made_once() -> None:
    calls: Counter[int] = Counter()

    def make(i: int) -> Any:
        calls[i] += 1
        return X[1000 * i : 1000 * i + 1000], CODES[1000 * i : 1000 * i + 1000]

    both = [dask.delayed(make, nout=2, pure=True)(i) for i in range(4)]
    rows = da.concatenate([da.from_delayed(x, (1000, X.shape[1]), float) for x, _ in both]) * 1.0
    codes = da.concatenate([da.from_delayed(y, (1000,), int) for _, y in both])
    with dask.config.set(scheduler="sync"):
        assert_same(es.LDA().fit(rows, codes), es.LDA().fit(X, CODES))
        assert set(calls.values()) == {1}
        es.PCA(2).fit(rows)
    assert set(calls.values()) == {2}


def test_single_precision_is_summed_in_double() -> None:
    single = X.astype(np.float32)
    with dask.config.set(scheduler="threads"):
        for rows in (4000, 37):
            lazy = es.PCA(3).fit(cut(single, rows))
            assert_same(lazy, es.PCA(3).fit(single.astype(np.float64)), 1e-10)
            assert lazy.transform(cut(single, rows)).dtype == np.float32


# ---------------------------------------------------------------------- what is refused
def test_nan_is_told_by_its_row(running: str) -> None:
    bad = X.copy()
    bad[2345, 3] = np.nan
    frame = dd.from_pandas(pd.DataFrame(bad).rename(columns=str), npartitions=7)
    for rows in (cut(bad, 700), frame):
        for use in (lambda rows=rows: es.PCA().fit(rows), lambda rows=rows: es.LDA().fit(rows, CODES)):
            with pytest.raises(InputError, match="X contains NaN, first in row 2345, column 3"):
                use()
    with pytest.raises(InputError, match="y contains infinity, first in row 17, column 1"):
        es.CCA().fit(cut(X, 600), cut(np.where(np.arange(len(X))[:, None] == 17, [0, np.inf], X[:, :2]), 500))
    pca = es.PCA().fit(X)
    with pytest.raises(InputError, match="first in row 2345, column 3"):
        pca.transform(cut(bad, 700)).compute()


def test_labels_that_are_none() -> None:
    rows = cut(X, 500)
    with dask.config.set(scheduler="threads"):
        for y, words in (
            (NUMBERS, "continuous"),
            (np.full(len(X), "a"), "only one class"),
            (np.full(len(X), np.nan), "all 4000 of them are missing"),
            (np.array(["a"] * 2000 + [1] * 2000, dtype=object), "text in one block"),
        ):
            with pytest.raises(LabelError, match=words):
                es.LDA().fit(rows, cut(y, 500))
        with pytest.raises(LabelError, match=r"exactly \{-1, \+1\}"):
            es.SDA(mu=0).fit(rows, cut(np.where(CODES > 1, 1, -1), 500))
        with pytest.raises(LabelError, match="requires y"):
            es.LDA().fit(rows)
        with pytest.raises(InputError, match="4000 and 3999 rows"):
            es.LDA().fit(rows, cut(CODES[:-1], 500))
        with pytest.raises(LabelError, match="targets are infinite"):
            es.SIR().fit(rows, cut(np.where(CODES == 0, np.inf, NUMBERS), 500))
        with pytest.raises(LabelError, match="2 columns"):
            es.SAVE().fit(rows, cut(X[:, :2], 500))


def test_methods_that_need_all_rows_say_so() -> None:
    rows = cut(X, 700)
    for estimator, words in (
        (es.LLE(), r"the neighbour graph .*landmarks=m .*X\.compute\(\)"),
        (es.PCA(reduce=3), r"PCA with reduce= needs all rows"),
        (es.LPP(), "LPP needs all rows"),
        (es.SAVE(n_permutations=9), "SAVE with n_permutations= needs all rows"),
        (es.KernelPCA(), "landmarks=m"),
    ):
        with pytest.raises(InputError, match=words):
            fitted(estimator, rows, CODES if "SAVE" in words else None)
    with pytest.raises(InputError, match="give the number of directions"):
        es.DirectionalRegression("test").fit(rows, cut(NUMBERS, 700))


def test_tables_that_are_none() -> None:
    with pytest.raises(InputError, match="Expected 2D"):
        es.PCA().fit(cut(NUMBERS, 700))
    with pytest.raises(InputError, match="dates"):
        es.PCA().fit(da.zeros((10, 2), dtype="M8[s]"))
    with dask.config.set(scheduler="threads"), pytest.raises(InputError, match="not numbers"):
        es.PCA().fit(dd.from_pandas(pd.DataFrame({"a": ["x", "y"] * 9, "b": 1.0}), npartitions=2))
    with pytest.raises(ValueError, match="expecting 8 features"):
        es.PCA().fit(X).transform(cut(X[:, :5], 700))
    wrong = da.from_delayed(dask.delayed(X[:10]), (12, X.shape[1]), float)
    with (
        dask.config.set(scheduler="threads"),
        pytest.raises(InputError, match="10 rows, but its chunks in Dask say 12"),
    ):
        es.PCA().fit(wrong)


# ---------------------------------------------------------------------- maps of blocks
def test_maps_are_lazy_and_keep_the_blocks(running: str) -> None:
    rows = cut(X, 701)
    for estimator in (es.PCA(2), es.LDA(), es.KernelPCA(2, landmarks=50), es.LLE(2, n_neighbors=8)):
        some = slice(0, None, 10)
        estimator.fit(X[some], CODES[some])
        Y = estimator.transform(rows)
        assert isinstance(Y, da.Array)
        assert Y.chunks == (rows.chunks[0], (estimator.map_.width,))
        np.testing.assert_allclose(Y.compute(), estimator.transform(X), atol=1e-9)
    pca = es.PCA(2).fit(rows)
    back = pca.inverse_transform(pca.transform(rows))
    np.testing.assert_allclose(back.compute(), pca.inverse_transform(pca.transform(X)), atol=1e-9)
    np.testing.assert_allclose(es.PCA(2).fit_transform(rows).compute(), pca.transform(X), atol=1e-9)
    cca = es.CCA(2).fit(rows, cut(X[:, :3] ** 2, 400))
    one, two = cca.transform(rows, cut(X[:, :3] ** 2, 400))
    for lazy, whole in zip((one, two), cca.transform(X, X[:, :3] ** 2), strict=True):
        np.testing.assert_allclose(lazy.compute(), whole, atol=1e-9)
    sides = zip(cca.inverse_transform(one, two), cca.inverse_transform(one.compute(), two.compute()), strict=True)
    for lazy, whole in sides:
        np.testing.assert_allclose(lazy.compute(), whole, atol=1e-9)


def test_no_container_gathers_the_rows() -> None:
    pca = es.PCA(2).fit(X).set_output(transform="pandas")
    with pytest.raises(InputError, match=r"asks for a data frame in memory.*X\.compute\(\)"):
        pca.transform(cut(X, 700))


def test_large_maps_are_sent_once_or_refused(running: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from eigenspan.data.rows import cluster as module

    pca, rows = es.PCA(3).fit(X), cut(X, 700)
    monkeypatch.setattr(module, "_SMALL", 100)  # the map is scattered
    np.testing.assert_allclose(pca.transform(rows).compute(), pca.transform(X), atol=1e-12)
    monkeypatch.setattr(module, "_LARGE", 200)
    with pytest.raises(MemoryLimitError, match="every worker would hold a copy"):
        pca.transform(rows)


def test_rows_can_be_taken_and_drawn(running: str) -> None:
    for source in (cut(X, 700), dd.from_pandas(pd.DataFrame(X).rename(columns=str), npartitions=3)):
        rows = lazy_table(source)
        assert rows.shape == X.shape
        wanted = np.array([3999, 0, 700, 699, 5])
        np.testing.assert_array_equal(rows.take(wanted), X[wanted])
        assert rows.take([]).shape == (0, X.shape[1])
        with pytest.raises(InputError, match="has 4000"):
            rows.take([4000])
        drawn = rows.sample(100, 1)
        assert np.unique(drawn).size == 100
        np.testing.assert_array_equal(drawn, rows.sample(100, 1))
        assert rows.sample(10**6).size == len(X)


def test_order_statistics_are_exact() -> None:
    rng = np.random.default_rng(3)
    values = np.concatenate(
        [rng.standard_cauchy(2000), -np.zeros(500), np.zeros(500), 1e300 * rng.random(1000) - 5e299]
    )
    ranks = np.array([0, 1, 1999, 2000, 2400, 3100, 3999])
    with dask.config.set(scheduler="threads"):
        from eigenspan.data.y import Responses

        lazy = Responses().read_lazy(cut(values, 333), lazy_table(cut(X, 700)), name="SIR", unlabeled=None)
        np.testing.assert_array_equal(lazy.ranked(ranks), np.sort(values)[ranks])


def test_no_dask_without_dask_input() -> None:
    code = "import sys, numpy as np, eigenspan as es; es.PCA().fit_transform(np.eye(9)); es.LDA().fit(np.eye(9), [0, 1, 2] * 3)"
    code += "; print([name for name in sys.modules if name.split('.')[0] in ('dask', 'distributed')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_zarr_by_the_same_road(tmp_path: Any) -> None:
    zarr = pytest.importorskip("zarr")
    store = zarr.open(str(tmp_path / "rows.zarr"), mode="w", shape=X.shape, chunks=(500, 3), dtype="f8")
    store[:] = X
    with dask.config.set(scheduler="threads"):
        assert_same(es.PCA(3).fit(da.from_zarr(str(tmp_path / "rows.zarr"))), es.PCA(3).fit(X))
