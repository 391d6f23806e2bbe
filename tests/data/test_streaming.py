"""Rows from a file, in parts or in single precision give what one fit on an array in memory gives."""

from __future__ import annotations

import pickle
import tracemalloc
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import eigenspan as es
from eigenspan.data.rows.block_passes import NUMBERS, ROWS, CentredRows, groups_of_blocks
from eigenspan.data.rows.moments import Moments, Sums
from eigenspan.data.rows.storage import on_disk
from eigenspan.errors import DimensionError, InputError, LabelError, LabelWarning
from eigenspan.graphs import KNN, affinity
from eigenspan.problem import Features, Form, diagonal, factor_gram
from eigenspan.problem.forms import laplacian, total
from helpers import angle, quietly, relative


def cloud(n: int = 600, D: int = 12, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Four overlapping classes whose features differ in scale and are correlated."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 4, n)
    mix = rng.standard_normal((D, D)) * np.linspace(0.2, 3, D)
    return (rng.standard_normal((n, D)) + 1.5 * rng.standard_normal((4, D))[y]) @ mix + 5.0, y


def on_file(X: np.ndarray, folder: Path) -> np.memmap:
    path = folder / "rows.npy"
    np.save(path, X)
    return np.load(path, mmap_mode="r")


def parts(n: int, cuts: list[int]) -> list[slice]:
    edges = [0, *sorted({min(c, n) for c in cuts} - {0, n}), n]
    return [slice(a, b) for a, b in pairwise(edges)]


def assert_same_fit(a: Any, b: Any, X: np.ndarray, tolerance: float = 1e-10) -> None:
    assert relative(a.eigenvalues_, b.eigenvalues_) <= tolerance
    assert relative(a.mean_, b.mean_) <= tolerance
    assert relative(a.transform(X), b.transform(X)) <= 10 * tolerance


# ---------------------------------------------------------------------- moments
@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(1, 199), max_size=6), st.integers(1, 5), st.floats(-1e3, 1e3))
def test_moments_of_parts_add_up(cuts: list[int], groups: int, shift: float) -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 7)) * np.logspace(-3, 3, 7) + shift
    codes = rng.integers(0, groups, 200)
    pieces = [Moments.of(X[p], codes[p], groups) for p in parts(200, cuts)]
    whole = pieces[0]
    for piece in pieces[1:]:
        whole = whole + piece
    inside = (
        X - np.array([X[codes == k].mean(axis=0) if np.any(codes == k) else 0 * X[0] for k in range(groups)])[codes]
    )
    scale = np.sqrt(np.outer(np.sum(inside**2, axis=0), np.sum(inside**2, axis=0)))
    np.testing.assert_allclose(whole.scatter / scale, inside.T @ inside / scale, atol=1e-9)
    np.testing.assert_array_equal(whole.counts, np.bincount(codes, minlength=groups))
    np.testing.assert_allclose(whole.mean, X.mean(axis=0), rtol=1e-12, atol=1e-12)
    centred = X - X.mean(axis=0)
    np.testing.assert_allclose(whole.pooled().scatter / scale, centred.T @ centred / scale, atol=1e-8)


def test_blocks_and_threads_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = cloud(3000)
    codes = np.where(np.arange(3000) % 7 == 0, -1, y)
    whole = Sums.of(X, codes, 4)
    monkeypatch.setattr("eigenspan.data.rows.block_passes.ROWS", 257)
    monkeypatch.setattr("eigenspan.data.rows.block_passes.NUMBERS", 1000)
    some = []
    for threads in (1, 3):
        monkeypatch.setattr("eigenspan.data.rows.block_passes.workers", lambda threads=threads: threads)
        some.append(Sums.of(X, codes, 4))
    for part in ("labelled", "rest"):
        one, two, reference = (getattr(sums, part) for sums in (*some, whole))
        np.testing.assert_array_equal(one.scatter, two.scatter)
        assert relative(one.scatter, reference.scatter) <= 1e-13
        assert relative(one.means, reference.means) <= 1e-13
    assert whole.labelled.n == np.sum(codes >= 0)
    assert whole.rest.n == np.sum(codes < 0)


def sure(X: np.ndarray, k: int) -> bool:
    """Return whether products of the standardised columns give k directions."""
    spread = X.std(axis=0)
    return Moments.of(X / np.where(spread > 1e-13 * np.abs(X.mean(axis=0)), spread, 1.0)).leads(k)


def test_sure_dimensions_are_counted() -> None:
    X, _ = cloud()
    assert sure(X, 12)
    assert Moments.of(X).is_full
    redundant = np.column_stack([X, X[:, 0] + X[:, 1], np.full(600, 3.3)])
    assert sure(redundant, 12)
    assert not sure(redundant, 13)
    assert not Moments.of(redundant).is_full
    tiny = X * np.logspace(0, -9, 12)
    assert sure(tiny, 12)
    assert Moments.of(tiny).is_full
    assert not Moments.of(tiny).leads(12)
    assert sure(tiny[:5], 4)
    assert not sure(tiny[:5], 5)
    thin = np.column_stack([X[:, :3] @ np.random.default_rng(1).standard_normal((3, 12)), np.full(600, 3.3)])
    assert sure(thin, 3)
    assert not sure(thin, 4)


@pytest.mark.parametrize("n", [0, 1, 63, 64, 600, 40_001])
@pytest.mark.parametrize("D", [1, 100, 3000])
def test_threads_share_equal_parts_of_all_rows(n: int, D: int) -> None:
    strips = groups_of_blocks(n, D)
    edges = [(part.start, part.stop) for strip in strips for part in strip]
    assert [row for a, b in edges for row in range(a, b)] == list(range(n))
    lengths = [strip[-1].stop - strip[0].start for strip in strips]
    assert max(lengths, default=0) - min(lengths, default=0) <= 1 + max((len(strip) for strip in strips), default=0)
    assert all(0 < b - a <= max(64, min(ROWS, NUMBERS // D)) for a, b in edges)


@pytest.mark.parametrize("D", [5, 420])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_projections_in_blocks(dtype: Any, D: int) -> None:
    rng = np.random.default_rng(0)
    X, V = rng.standard_normal((1100, D)) + 3.0, np.linalg.qr(rng.standard_normal((D, 4)))[0]
    X, origin = X.astype(dtype), X.mean(axis=0)
    expected = (X.astype(np.float64) - origin) @ V
    assert relative(CentredRows(X, origin).project(V), expected) <= (1e-6 if dtype == np.float32 else 1e-13)


# ---------------------------------------------------------------------- single precision
@pytest.mark.parametrize("mean", [0.0, 1.0, 1e4])
def test_single_precision_keeps_six_digits(mean: float) -> None:
    X, _ = cloud(20_000)
    X = (X - X.mean(axis=0) + mean * X.std()).astype(np.float32)
    single, double = es.PCA(5).fit(X), es.PCA(5).fit(X.astype(np.float64))
    assert single.moments_.labelled.single
    assert single.problem_.A.dense.dtype == np.float64
    assert relative(single.problem_.A.dense, double.problem_.A.dense) <= 1e-6
    assert relative(single.eigenvalues_, double.eigenvalues_) <= 1e-6
    assert angle(single.components_.T, double.components_.T) <= 1e-3
    assert single.embedding_.dtype == np.float32
    assert relative(single.embedding_, double.embedding_) <= 1e-5


@pytest.mark.parametrize("size", [1e-25, 1e-21, 1e25])
def test_single_precision_squares_neither_vanish_nor_overflow(size: float) -> None:
    X, _ = cloud()
    X = (X * size).astype(np.float32)
    assert relative(Moments.of(X, single=True).scatter, Moments.of(X).scatter) <= 1e-6
    single, double = es.PCA(3).fit(X), es.PCA(3).fit(X.astype(np.float64))
    assert relative(single.eigenvalues_, double.eigenvalues_) <= 1e-6


def test_a_doubtful_rank_is_settled_in_double_precision() -> None:
    X, _ = cloud(5000)
    X[:, 10] = X[:, 11] + 1e-4 * X[:, 10]
    X = np.column_stack([X, X[:, 2]]).astype(np.float32)
    assert es.PCA(None).fit(X).n_components_ == 12
    with pytest.raises(DimensionError, match="exceeds 12"):
        es.PCA(13).fit(X)


# ---------------------------------------------------------------------- the same problem by forms on the samples
@pytest.mark.parametrize(
    "params", [{}, {"shrinkage": 0.3}, {"criterion": "trace-ratio", "n_components": 4}, {"ridge": 2.0}]
)
def test_moments_pose_the_problem_of_the_forms(params: dict[str, Any]) -> None:
    """A sparse X goes by the forms on its samples; unlabelled rows count for the mean and for nothing else."""
    X, y = cloud()
    y = np.where(np.arange(600) % 3 == 0, -1, y)
    X[::3] += 2.0
    by_moments, by_forms = (es.LDA(unlabeled=-1, **params).fit(rows, y) for rows in (X, sp.csr_array(X)))
    assert_same_fit(by_moments, by_forms, X, 1e-8)
    np.testing.assert_allclose(by_moments.mean_, X.mean(axis=0))
    assert_same_fit(es.PCA(4).fit(X), es.PCA(4).fit(sp.csr_array(X)), X, 1e-8)


def test_axes_have_signs_of_their_own() -> None:
    X, _ = cloud()
    V = es.PCA(5).fit(X).components_
    assert np.all(V[np.arange(5), np.abs(V).argmax(axis=1)] > 0)
    corners = np.array([[2.0, 2.0], [-2, -2], [1, -1], [-1, 1]])
    for turn in (1.0, -1.0):  # equal coefficients: the first decides
        np.testing.assert_allclose(es.PCA(2).fit(turn * corners).components_, np.array([[1, 1], [1, -1]]) / np.sqrt(2))


# ---------------------------------------------------------------------- partial_fit
@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(1, 199), max_size=8), st.sampled_from([2, 7, 0.9, None]), st.booleans())
def test_principal_axes_in_parts(cuts: list[int], k: Any, whiten: bool) -> None:
    X, _ = cloud(200, 7)
    piecewise = es.PCA(k, whiten=whiten)
    for part in parts(200, cuts):
        assert piecewise.partial_fit(X[part]) is piecewise
    whole = es.PCA(k, whiten=whiten).fit(X)
    assert_same_fit(piecewise, whole, X)
    assert piecewise.n_samples_seen_ == 200
    assert piecewise.n_components_ == whole.n_components_
    np.testing.assert_allclose(piecewise.explained_variance_ratio_, whole.explained_variance_ratio_, rtol=1e-10)
    np.testing.assert_allclose(piecewise.explained_variance_, whole.explained_variance_, rtol=1e-10)


@pytest.mark.parametrize(
    "params", [{}, {"n_components": 2}, {"shrinkage": 0.3}, {"criterion": "trace-ratio"}, {"ridge": 1.0}]
)
@settings(max_examples=8, deadline=None)
@given(cuts=st.lists(st.integers(1, 199), max_size=8))
@pytest.mark.every(2)
def test_discriminants_in_parts(params: dict[str, Any], cuts: list[int]) -> None:
    X, y = cloud(200, 7)
    y = np.where(np.arange(200) % 9 == 0, -1, y)  # some rows without a label
    piecewise = es.LDA(unlabeled=-1, **params)
    for part in parts(200, cuts):
        piecewise.partial_fit(X[part], y[part], classes=np.arange(4))
    assert_same_fit(piecewise, es.LDA(unlabeled=-1, **params).fit(X, y), X)


@pytest.mark.parametrize(
    "method",
    [es.MMC(3), es.MMC(2, weight=0.5), es.SDA(mu=0.0), es.SDA(1, mu=0.0, ridge=0.5), es.SupervisedPCA()],
    ids=str,
)
def test_scatters_are_all_that_many_methods_need(method: Any, tmp_path: Any) -> None:
    """In parts, from a file and from sparse rows, which take the other road: the same axes."""
    X, y = cloud(300, 7)
    y = np.where(np.arange(300) % 9 == 0, -1, y)
    whole, piecewise = clone(method).set_params(unlabeled=-1).fit(X, y), clone(method).set_params(unlabeled=-1)
    for part in parts(300, [40, 90, 200]):
        piecewise.partial_fit(X[part], y[part])
    assert_same_fit(piecewise, whole, X)
    assert_same_fit(clone(whole).fit(sp.csr_array(X), y), whole, X, 1e-8)
    np.save(tmp_path / "X.npy", X)
    assert_same_fit(clone(whole).fit(np.load(tmp_path / "X.npy", mmap_mode="r"), y), whole, X)
    assert piecewise.n_samples_seen_ == 300
    for more in ({"kernel": "rbf"}, {"reduce": 3}, {"gamma": 0.1} if isinstance(method, es.MMC) else {"kernel": "rbf"}):
        assert not hasattr(clone(method).set_params(**more), "partial_fit")


def test_parts_are_read_as_whole_tables_are() -> None:
    X, y = cloud(40, 6)
    for method, labels in ((es.PCA(2), None), (es.LDA(), y), (es.MMC(2), y)):
        for rows, words in ((np.ma.masked_less(X, 0), "masked array"), (X.astype("M8[s]"), "dates or times")):
            with pytest.raises(InputError, match=words):
                method.partial_fit(rows, labels)
        assert not hasattr(method, "moments_")


# two rows of two classes leave much open, and say so
@pytest.mark.filterwarnings("ignore::eigenspan.errors.DegenerateWarning")
def test_one_row_at_a_time() -> None:
    X, y = cloud(40, 6)
    pca, lda = es.PCA(3), es.LDA(2)
    with pytest.raises(NotFittedError):
        pca.partial_fit(X[:1]).transform(X)
    for row in X[1:]:
        pca.partial_fit(row[None])
    for i in range(40):
        lda.partial_fit(X[i : i + 1], y[i : i + 1])
    assert_same_fit(pca, es.PCA(3).fit(X), X)
    assert_same_fit(lda, es.LDA(2).fit(X, y), X)


def test_a_class_may_come_late() -> None:
    X, y = cloud(300, 6)
    order = np.argsort(y == 1, kind="stable")  # class 1, in the middle of the codes, comes last
    X, y = X[order], np.array(["d", "b", "c", "a"])[y[order]]
    lda = es.LDA()
    lda.partial_fit(X[:100], y[:100])
    assert list(lda.classes_) == ["a", "c", "d"]
    assert lda.transform(X).shape == (300, 2)
    lda.partial_fit(X[100:], y[100:])
    assert list(lda.classes_) == ["a", "b", "c", "d"]
    assert_same_fit(lda, es.LDA().fit(X, y), X)


def test_labels_of_a_block_are_read_among_all_classes() -> None:
    X, y = cloud(200, 5)
    y = np.where(y == 3, -1, y)
    order = np.argsort(np.isin(y, (-1, 1)), kind="stable")  # the last block has the labels -1 and 1 alone
    X, y = X[order], y[order]
    cut = int(np.sum(~np.isin(y, (-1, 1))))
    lda = es.LDA(unlabeled=-1).partial_fit(X[:cut], y[:cut]).partial_fit(X[cut:], y[cut:])
    assert_same_fit(lda, es.LDA(unlabeled=-1).fit(X, y), X)
    with pytest.warns(LabelWarning, match="exactly"):
        late = es.LDA(unlabeled=-1).partial_fit(X[cut:], y[cut:])
    assert_same_fit(late.partial_fit(X[:cut], y[:cut]), es.LDA(unlabeled=-1).fit(X, y), X)
    es.LDA(unlabeled=-1).partial_fit(X[cut:], y[cut:], classes=[0, 1, 2])
    unlabelled = es.LDA(unlabeled=-1).partial_fit(X[:cut], y[:cut]).partial_fit(X[cut:], np.full(200 - cut, -1))
    assert unlabelled.n_samples_seen_ == 200
    with pytest.raises(LabelError, match="text in one block"):
        unlabelled.partial_fit(X[:2], ["a", "b"])
    with pytest.raises(LabelError, match="requires y"):
        unlabelled.partial_fit(X)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        unlabelled.partial_fit(X, y[1:])


def test_announced_classes_are_waited_for() -> None:
    X, y = cloud(100, 5)
    lda = es.LDA(1).partial_fit(X[y < 3], y[y < 3], classes=range(4))
    with pytest.raises(NotFittedError):
        lda.transform(X)
    assert_same_fit(lda.partial_fit(X[y == 3], y[y == 3]), es.LDA(1).fit(X, y), X)


def test_partial_fit_goes_on_from_a_fit_and_fit_begins_anew() -> None:
    X, y = cloud()
    assert_same_fit(es.PCA(3).fit(X[:400]).partial_fit(X[400:]), es.PCA(3).fit(X), X)
    assert_same_fit(es.LDA().fit(X[:400], y[:400]).partial_fit(X[400:], y[400:]), es.LDA().fit(X, y), X)
    assert_same_fit(es.PCA(3).partial_fit(X[:400]).fit(X[400:]), es.PCA(3).fit(X[400:]), X)
    for first in (X[:8], sp.csr_array(X[:400])):  # which a fit does not sum up for itself
        rest = slice(first.shape[0], None)
        assert_same_fit(es.PCA(3).fit(first).partial_fit(X[rest]), es.PCA(3).fit(X), X)
        labelled = quietly(lambda first=first: es.LDA(2, unlabeled=None).fit(first, y[: first.shape[0]]))
        labelled.partial_fit(X[rest], y[rest])
        assert_same_fit(labelled, es.LDA(2, unlabeled=None).fit(X, y), X)
    wide = sp.random_array((40, 5000), density=0.01, random_state=np.random.default_rng(0))
    with pytest.raises(InputError, match=r"fitted to 5000 features.*Begin with partial_fit"):
        es.PCA(3).fit(wide).partial_fit(wide)
    pca = es.PCA(3).fit(X)
    with pytest.raises(AttributeError, match="call transform"):
        _ = pca.partial_fit(X).embedding_
    assert_same_fit(pickle.loads(pickle.dumps(pca)).partial_fit(X), pca.partial_fit(X), X)


def test_a_block_that_is_refused_leaves_no_trace() -> None:
    X, y = cloud()
    pca, lda = es.PCA(3).partial_fit(X), es.LDA().partial_fit(X, y)
    bad = X[:20].copy()
    bad[13, 4] = np.nan
    for attempt in (lambda: pca.partial_fit(bad), lambda: lda.partial_fit(bad, y[:20])):
        with pytest.raises(ValueError, match=r"contains NaN, first in row 13, column 4"):
            attempt()
    with pytest.raises(ValueError, match="11 features"):
        pca.partial_fit(X[:, :11])
    assert_same_fit(pca, es.PCA(3).fit(X), X)
    assert_same_fit(lda, es.LDA().fit(X, y), X)


@pytest.mark.parametrize(
    ("estimator", "reason"),
    [
        (es.PCA(reduce=2), "reduce="),
        (es.LDA(reduce=2), "reduce="),
        (es.LDA(kernel="rbf"), "kernel="),
        (es.LDA(shrinkage="auto"), "shrinkage="),
    ],
    ids=str,
)
def test_what_needs_all_rows_has_no_partial_fit(estimator: Any, reason: str) -> None:
    with pytest.raises(AttributeError) as refusal:
        _ = estimator.partial_fit
    assert reason in str(refusal.value.__cause__)
    assert not hasattr(estimator, "partial_fit")
    assert not hasattr(es.LPP(), "partial_fit")


# ---------------------------------------------------------------------- files
METHODS = {
    "PCA": es.PCA(3),
    "PCA-whiten": es.PCA(0.8, whiten=True),
    "LDA": es.LDA(),
    "LDA-shrinkage": es.LDA(shrinkage=0.2),
    "LDA-auto": es.LDA(shrinkage="auto"),
    "LPP": es.LPP(3),
    "LPP-class": es.LPP(3, graph="class"),
    "OLPP": es.OLPP(3),
    "NPP": es.NPP(3),
    "ONPP": es.ONPP(3),
    "LLTSA": es.LLTSA(3),
    "PCA-reduce": es.PCA(2, reduce=5),
    "LDA-kernel": es.LDA(kernel="rbf"),
}


@pytest.mark.parametrize("shape", [(300, 12), (300, 13), (10, 12)], ids=["full rank", "redundant", "wide"])
@pytest.mark.parametrize("name", METHODS)
@pytest.mark.every(3)
def test_file_equals_array(name: str, shape: tuple[int, int], tmp_path: Path) -> None:
    X, y = cloud(shape[0])
    X = np.column_stack([X, X[:, 0] - X[:, 3]])[:, : shape[1]]
    M = on_file(X, tmp_path)
    params = {"n_neighbors": 5} if "n_neighbors" in METHODS[name].get_params() else {}
    array, file = (clone(METHODS[name]).set_params(**params).fit(Z, y) for Z in (X, M))
    assert relative(file.eigenvalues_, array.eigenvalues_) <= 1e-7
    np.testing.assert_allclose(file.transform(X), array.transform(X), atol=1e-6 * np.abs(array.embedding_).max())
    np.testing.assert_array_equal(file.transform(M), file.transform(X))
    Y = clone(file).fit_transform(M, y)
    assert type(Y) is np.ndarray
    np.testing.assert_allclose(Y, array.embedding_, atol=1e-6 * np.abs(Y).max())


def test_a_file_has_no_embedding_and_says_so(tmp_path: Path) -> None:
    X, y = cloud()
    M = on_file(X, tmp_path)
    assert all(map(on_disk, (M, M[5:], np.asarray(M))))
    assert not on_disk(X)
    for fitted in (es.PCA().fit(X).fit(M), es.LDA().fit(M, y)):
        with pytest.raises(AttributeError, match=r"read its rows from a file or in parts.*call transform"):
            _ = fitted.embedding_
        assert fitted.fit(X, y).embedding_.shape[0] == 600
    with pytest.raises(AttributeError, match="no attribute 'embedding_'"):
        _ = es.PCA().embedding_
    out = es.PCA().set_output(transform="pandas").fit_transform(M)
    assert list(out.columns) == ["pca0", "pca1"]


@pytest.mark.parametrize(("value", "word"), [(np.nan, "NaN"), (np.inf, "infinity"), (-np.inf, "infinity")])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_bad_number_late_in_a_file_is_found(value: float, word: str, dtype: Any, tmp_path: Path) -> None:
    X = np.ones((30_000, 3), dtype=dtype)
    X[:, 1:] = np.random.default_rng(0).standard_normal((30_000, 2))
    X[7 * 4096 + 5, 1] = value
    M = on_file(X, tmp_path)
    for attempt in (
        lambda: es.PCA(1).fit(M),
        lambda: es.LDA().fit(M, np.arange(30_000) % 2),
        lambda: es.PCA(1).fit(X[:50]).transform(M),
    ):
        with pytest.raises(ValueError, match=f"Input X contains {word}, first in row 28677, column 1"):
            attempt()


def test_numbers_too_large_to_square() -> None:
    X, _ = cloud()
    with pytest.raises(InputError, match="squares overflow"):
        es.PCA().fit(X * 1e160)


def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    n, D = 500_000, 100
    path = tmp_path / "rows.f32"
    rng = np.random.default_rng(0)
    M = np.memmap(path, dtype=np.float32, mode="w+", shape=(n, D))  # 200 MB
    for i in range(0, n, 50_000):
        M[i : i + 50_000] = rng.standard_normal((50_000, D), dtype=np.float32)
    M.flush()
    y = rng.integers(0, 3, n)
    for fit in (lambda: es.PCA(5).fit(M), lambda: es.LDA().fit(M, y)):
        tracemalloc.start()
        fit()
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 60e6


# ---------------------------------------------------------------------- forms over rows in blocks
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_forms_read_rows_in_blocks(dtype: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("eigenspan.data.rows.block_passes.ROWS", 64)
    X, y = cloud(200, 5)
    X = X.astype(dtype)
    W = affinity(KNN(6).build(X.astype(np.float64)), "heat", X).W
    F = sp.random_array((90, 200), density=0.05, random_state=np.random.default_rng(0), format="csr")
    forms = {
        "laplacian": laplacian(W),
        "diagonal": diagonal(np.linspace(0, 1, 200)),
        "total": total(np.where(y == 0, -1, y)),
        "roots": Form(200, roots=((0.5, F), (-2.0, F[:7]))),
        "dense": Form(200, dense=W.toarray()) + factor_gram(X[:, :2].astype(np.float64)),
    }
    origin = X.mean(axis=0, dtype=np.float64)
    Z = X.astype(np.float64) - origin
    for name, form in forms.items():
        expected = Z.T @ (form @ Z)
        np.testing.assert_allclose(
            form.quadratic(CentredRows(X, origin)), expected, atol=1e-12 * np.abs(expected).max(), err_msg=name
        )


def test_single_precision_rows_are_not_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("eigenspan.problem.form._GATHERED", 2**16)
    X, _ = cloud(20_000, 40)
    X = X.astype(np.float32)
    W = sp.csr_array(sp.eye_array(20_000, k=1) + sp.eye_array(20_000, k=-1))
    tracemalloc.start()
    weights = np.linspace(0, 1, 20_000)
    basis = Features.linear(X).centred(weights)
    form = basis.restrict(laplacian(W))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    reference = Features.linear(X.astype(np.float64)).centred(weights)
    assert relative(basis.offset, reference.offset) <= 1e-12
    assert relative(form.dense, reference.restrict(laplacian(W)).dense) <= 1e-12
    assert peak < X.size * 8


@pytest.mark.parametrize("size", [1e-140, 1e100, 1e150])
def test_components_do_not_depend_on_the_unit_of_length(size: float) -> None:
    X = cloud(500, 6)[0]
    expected, found = (es.PCA(2).fit(Z) for Z in (X, X * size))
    np.testing.assert_allclose(found.explained_variance_ratio_, expected.explained_variance_ratio_, rtol=1e-9)
    assert angle(found.components_.T, expected.components_.T) < 1e-6


@pytest.mark.parametrize(
    "size, what", [(1e-170, "small that their squares vanish: multiply"), (1e160, "large .* divide")]
)
def test_squares_that_vanish_or_overflow_are_named(size: float, what: str) -> None:
    with pytest.raises(InputError, match=what):
        es.PCA(2).fit(cloud(500, 6)[0] * size)


@pytest.mark.parametrize(
    "method",
    [es.CCA(2), es.MultiviewCCA(2), es.SIR(2, n_slices=5), es.MMC(2), es.SDA(2, mu=0), es.OrientedPCA(2)],
    ids=repr,
)
def test_a_sparse_fit_goes_on_in_parts(method: Any) -> None:
    """With fit as with partial_fit at first: what follows is the same."""
    X, classes = cloud(200, 6)
    draws = np.random.default_rng(1)
    numbers = X @ draws.standard_normal((6, 3)) * [3.0, 1.0, 0.3] + draws.standard_normal((200, 3))
    y = {"CCA": numbers, "MultiviewCCA": numbers, "SIR": numbers[:, 0], "OrientedPCA": None}.get(
        type(method).__name__, classes
    )
    first, second = (None, None) if y is None else (y[:150], y[150:])
    by_fit = clone(method).fit(sp.csr_array(X[:150]), first).partial_fit(sp.csr_array(X[150:]), second)
    by_parts = clone(method).partial_fit(X[:150], first).partial_fit(X[150:], second)
    assert by_fit.n_samples_seen_ == 200
    np.testing.assert_allclose(by_fit.transform(X), by_parts.transform(X), atol=1e-8)
