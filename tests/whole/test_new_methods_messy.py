"""Messy tables given to what registry-driven tests do not reach: refused in words with numbers and advice, or answered with numbers."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

import eigenspan as es
from eigenspan.errors import DimensionError, DuplicateWarning, EigenspanError, InputError, LabelError
from eigenspan.methods.laplacian.cluster_assignment import Threshold
from eigenspan.problem import Form, TraceProblem, diagonal
from helpers import relative, reports, says

RNG = np.random.default_rng(3)
N = 60
T = RNG.uniform(0, 3, N)
X = np.column_stack([np.cos(T), np.sin(T), RNG.uniform(0, 1, N)])
Y = (T > 1).astype(int) + (T > 2)
K = np.exp(-((X[:, None] - X) ** 2).sum(axis=-1))
PAIRS = [[0, 1], [2, 3]]
TABLE = pd.DataFrame(X, columns=["a", "b", "c"])
WORDS = TABLE.assign(name=[f"row {i}" for i in range(N)], kind=pd.Categorical(np.where(T > 1, "y", "n")))
GAPS = np.where(
    np.abs(np.subtract.outer(np.arange(4), np.arange(4))) == 3, np.nan, np.full((4, 4), 0.5) + np.eye(4) / 2
)

FITS: dict[str, Callable[[Any], Any]] = {
    "ConformalEigenmaps": lambda X: es.ConformalEigenmaps().fit(X),
    "GeodesicNullspaceAnalysis": lambda X: es.GeodesicNullspaceAnalysis().fit(X),
    "MaximumCovarianceUnfolding": lambda X: es.MaximumCovarianceUnfolding().fit(X, TABLE),
    "PDDP": lambda X: es.PDDP(3).fit(X),
    "Anchored": lambda X: es.Anchored(es.LLE(2)).fit(X, np.column_stack([T, T**2])),
    "EigenmapRegressor": lambda X: es.EigenmapRegressor(5).fit(X, T),
    "KernelLearner": lambda X: es.KernelLearner().fit(X, Y),
    "AffinityLearner": lambda X: es.AffinityLearner().fit(X, Y),
}
OVER_FITS = pytest.mark.parametrize("fit", FITS.values(), ids=FITS)


@OVER_FITS
def test_columns_of_words_are_named(fit: Callable[[Any], Any]) -> None:
    with pytest.raises(
        InputError, match=says("Column 'name' of X holds text", "'row 0'", "2 of 5 columns", "get_dummies")
    ):
        fit(WORDS)
    with pytest.raises(InputError, match=says("Column 3 of X holds text", "'row 0'")):
        fit(WORDS.to_numpy())
    check_is_fitted(fit(TABLE.astype({"a": str})))  # numbers as text are numbers


def test_numbers_are_not_searched_for_words() -> None:
    """A table of numbers with a gap is refused without a copy of it as objects."""
    gap = np.ones((100_000, 5))
    gap[3, 2] = np.nan
    tracemalloc.start()
    try:
        for table in (gap, pd.DataFrame(gap)):
            with pytest.raises(ValueError, match="contains NaN"):
                es.ConformalEigenmaps().fit(table)
        assert tracemalloc.get_traced_memory()[1] < 3 * gap.nbytes
    finally:
        tracemalloc.stop()


@OVER_FITS
def test_no_columns_nothing_and_complex_numbers(fit: Callable[[Any], Any]) -> None:
    with pytest.raises(InputError, match=says("0 feature(s) (shape=(60, 0))", "no columns")):
        fit(TABLE[[]])
    with pytest.raises(InputError, match="X is None"):
        fit(None)
    with pytest.raises(InputError, match="Complex data not supported: X holds") as refusal:
        fit(TABLE.assign(a=1j))
    assert len(str(refusal.value)) < 200  # and not the whole table


REFUSED: dict[str, tuple[Callable[[], Any], list[str]]] = {
    "values too large for a kernel": (lambda: es.KernelLearner().fit(X * 1e200, Y), ["squares overflow", "divide X"]),
    "values too small for a kernel": (lambda: es.KernelLearner().fit(X * 1e-200, Y), ["squares vanish", "multiply X"]),
    "values too large for affinities": (lambda: es.AffinityLearner().fit(X * 1e200, Y), ["squares overflow"]),
    "rows that coincide": (lambda: es.AffinityLearner().fit(X * 0, Y), ["All 60 labelled rows coincide"]),
    "new rows too large": (lambda: es.AffinityLearner().fit(X, Y).transform(X * 1e308), ["rows have no image"]),
    "a trace beyond rounding": (lambda: es.KernelLearner(trace=1e300).fit(X, Y), ["trace=1e+300", "1e+30"]),
    "a price beyond rounding": (lambda: es.KernelLearner(C=1e-300, margin="l2").fit(X, Y), ["C=1e-300", "1e-30"]),
    "classes to predict as numbers": (
        lambda: es.EigenmapRegressor(5).fit(X, np.array(["a", "b", "c"])[Y]),
        ["cannot be read as numbers", "'a'", "EigenmapClassifier"],
    ),
    "numbers to predict as classes": (lambda: es.EigenmapClassifier(5).fit(X, T), ["y is continuous", "EigenmapRegressor"]),
    "complex numbers to predict": (lambda: es.EigenmapRegressor(5).fit(X, T + 1j), ["Complex data not supported: y"]),
    "complex classes": (lambda: es.EigenmapClassifier(5).fit(X, Y + 1j), ["Complex data not supported: y"]),
    "sparse numbers": (lambda: es.EigenmapRegressor(5).fit(X, sp.csr_array(X)), ["sparse matrix", "(60, 3)", "toarray"]),
    "words for places": (
        lambda: es.Anchored(es.LLE(2)).fit(X, np.array(["a", "b", "c"])[Y]),
        ["cannot be read as coordinates", "'a'", "shape (60, 2)", "NaN"],
    ),
    "words for a view": (
        lambda: es.MaximumCovarianceUnfolding().fit(X, np.array(["a", "b", "c"])[Y]),
        ["y holds text", "'a'", "takes classes, such as LDA"],
    ),
    "a view of one place": (
        lambda: es.MaximumCovarianceUnfolding().fit(X, np.ones(N)),
        ["In y, the other view: All 60 rows coincide"],
    ),
    "a view too large": (lambda: es.MaximumCovarianceUnfolding().fit(X, X * 1e200), ["Input y", "divide y"]),
    "classes of one row each": (
        lambda: es.TraceReducer(maximise="between", over="within", unit="total").fit(X[:9], np.arange(9)),
        ["trace 0", "not zero", "classes of one sample"],
    ),
    "one dimension, asked for two": (
        lambda: es.TraceReducer(maximise="between", over="within", unit="total").fit(X[:, :1], Y),
        ["n_components=2 exceeds 1", "n_components <= 1"],
    ),
    "too few points for charts": (
        lambda: es.GeodesicNullspaceAnalysis().fit(X[:4]),
        ["at least 5 neighbours", "some have 3", "4 distinct points", "more data"],
    ),
    "too few points for eigenvectors": (
        lambda: es.ConformalEigenmaps().fit(X[:3]),
        ["n_components=2 exceeds 1", "more distinct points"],
    ),
    "fewer eigenvectors than axes": (
        lambda: es.ConformalEigenmaps(3, n_eigenvectors=2).fit(X),
        ["n_components=3 exceeds 2", "more n_eigenvectors"],
    ),
    "more clusters than places": (
        lambda: es.SpectralClustering(4).fit(np.repeat(X[:3], 20, axis=0)),
        ["n_clusters=4 exceeds 3", "distinct rows"],
    ),
    "a sparse kernel": (lambda: es.complete_kernel(sp.csr_array(K)), ["sparse matrix of shape (60, 60)", "toarray"]),
    "no steps": (lambda: es.complete_kernel(GAPS, max_iter=-1), ["max_iter=-1", "at least 1"]),
    "half a step": (lambda: es.complete_kernel(GAPS, max_iter=2.5), ["max_iter=2.5", "whole number"]),
    "a tolerance that is none": (lambda: es.complete_kernel(GAPS, tol=float("nan")), ["tol=nan", "above 0"]),
    "near another scale": (lambda: es.complete_kernel(GAPS, near=np.eye(4) * 1e200), ["largest entry of near is 1e+200", "of K is 1"]),
    "no sweeps": (lambda: es.low_rank_kernel(K, PAIRS, upper=0.1, max_iter=0), ["max_iter=0", "at least 1"]),
    "half a rank": (lambda: es.low_rank_kernel(K, PAIRS, rank=2.5), ["rank=2.5", "whole number"]),
    "a rank beyond": (lambda: es.low_rank_kernel(X, PAIRS, rank=4), ["rank=4", "between 1 and 3"]),
    "a kernel of zero": (lambda: es.low_rank_kernel(np.zeros((5, 5)), PAIRS), ["K is zero", "coincide"]),
    "pairs of different lengths": (lambda: es.low_rank_kernel(K, [[0, 1], [2]]), ["(m, 2)", "different lengths"]),
    "bounds of other pairs": (lambda: es.low_rank_kernel(K, PAIRS, upper=[1, 2, 3]), ["upper has shape (3,)", "2 pairs"]),
    "words for bounds": (lambda: es.low_rank_kernel(K, PAIRS, lower="x"), ["lower=", "real numbers", "text"]),
    "bounds beyond rounding": (
        lambda: es.low_rank_kernel(K * 1e300, PAIRS, upper=0.1),
        ["2 of 2 pairs", "rows 0 and 1", "between 0 and 0.1", "unit of K"],
    ),
    "no distance at all": (lambda: es.low_rank_kernel(X, PAIRS, upper=1e-300), ["2 of 2 pairs", "between 0 and 1e-300"]),
    "a factor too large": (lambda: es.low_rank_kernel(X * 1e200, PAIRS), ["The largest entry of the factor is", "overflows", "Divide"]),
}  # fmt: skip


@pytest.mark.parametrize(("call", "words"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_used(call: Callable[[], Any], words: list[str]) -> None:
    with pytest.raises(EigenspanError, match=says(*words)):
        call()


def test_warnings_name_the_view_they_are_of() -> None:
    with reports(DuplicateWarning, "In y, the other view: 60 of 60 points"):
        es.MaximumCovarianceUnfolding(1, n_neighbors=3).fit(X, np.column_stack([Y, Y]))


# ---------------------------------------------------------------------- what is answered
@pytest.mark.parametrize("size", [1e-310, 1e-200, 1.0, 1e200, 1e305])
def test_completion_knows_no_unit(size: float) -> None:
    """Of an entry and the lengths of its points only the quotient counts: their product overflows or vanishes."""
    assert relative(es.complete_kernel(GAPS * size) / size, es.complete_kernel(GAPS)) < 1e-5


def test_a_kernel_of_zero_is_complete() -> None:
    zero = np.zeros((4, 4))
    np.testing.assert_array_equal(es.complete_kernel(zero), zero)
    one_row = zero.copy()
    one_row[1:, 1:] = np.nan
    np.testing.assert_array_equal(es.complete_kernel(one_row), zero)


def test_missing_entries_as_pandas_has_them() -> None:
    table = pd.DataFrame(GAPS)
    for given in (table, table.astype("Float64"), table.astype(object).where(table.notna(), None)):
        np.testing.assert_allclose(es.complete_kernel(given), es.complete_kernel(GAPS), atol=1e-12)


@pytest.mark.parametrize("kind", [sp.csr_matrix, sp.csr_array, sp.coo_array])
@pytest.mark.parametrize("kernel", ["rbf", "linear", "laplacian"])
def test_sparse_rows_beside_a_kernel_of_dense_ones(kind: Any, kernel: str) -> None:
    fitted = es.KernelLearner([kernel]).fit(X, Y)
    np.testing.assert_allclose(fitted.decision_function(kind(X)), fitted.decision_function(X), atol=1e-9)


def chained(*strengths: float) -> TraceProblem:
    """The normalised cut of points in a row, each joined to the next."""
    W = sp.diags_array([strengths, strengths], offsets=[1, -1])
    d = W.sum(axis=0)
    return TraceProblem(Form(d.size, sparse=sp.csr_array(sp.diags_array(d) - W)), diagonal(d), "min")


def test_a_threshold_lies_between_different_values() -> None:
    """The weakest edge joins points of one value, which no threshold tells apart."""
    y = np.array([0.0, 0, 0, 1, 1, 1, 2, 2])
    found = Threshold.least_cut(y[:, None], chained(1, 1, 0.1, 0.001, 1, 0.5, 1), axis=0)
    assert found.value == 0.5


def test_a_threshold_beside_a_point_of_next_to_no_weight() -> None:
    """Its edge and its degree are below the rounding of all others' sums, and cutting it off costs 1, not nothing."""
    n, y = 40, np.linspace(-1, 1, 40)
    problem = chained(*[1.0] * 19, 0.01, *[1.0] * 18, 1e-40)
    for sign in (1, -1):
        found = Threshold.least_cut(np.column_stack([np.ones(n), sign * y]), problem, axis=1)
        assert sign * found.value == pytest.approx((y[19] + y[20]) / 2)


@pytest.mark.parametrize("size", [1e-120, 1e100, 1e149])
def test_the_unit_of_a_sheet_does_not_matter(size: float) -> None:
    """Fourth powers of lengths are summed, which overflow or vanish long before squares do."""
    sheet = np.column_stack([T, X[:, 2], T**2])
    one, other = (es.ConformalEigenmaps().fit(sheet * s) for s in (1.0, size))
    assert relative(other.spectrum_, one.spectrum_) < 1e-6
    assert relative(other.scales_ * size * size, one.scales_) < 1e-6


@pytest.mark.parametrize("estimator", [es.EigenmapRegressor, es.EigenmapClassifier])
def test_as_many_functions_as_there_are_places(estimator: Any) -> None:
    """Nobody has asked for a number of them, and few rows differ."""
    fitted = estimator(extension="barycentric").fit(np.repeat(X[:6], 10, axis=0), np.repeat(Y[:6], 10))
    assert fitted.n_components_ == 5
    np.testing.assert_allclose(fitted.transduction_, np.repeat(Y[:6], 10), atol=1e-8)


def test_a_fit_that_fails_leaves_affinities_as_they_were() -> None:
    learner = es.AffinityLearner()
    with pytest.raises(LabelError):
        learner.fit(X, np.arange(N) // N)
    with pytest.raises(NotFittedError):
        learner.transform(X)
    before = learner.fit(X, Y).transform(X)
    with pytest.raises(DimensionError):
        learner.fit(np.zeros((N, 2)), Y)
    np.testing.assert_array_equal(learner.transform(X), before)


# ---------------------------------------------------------------------- rows that lie elsewhere
def test_complex_blocks_are_refused() -> None:
    da = pytest.importorskip("dask.array")
    with pytest.raises(InputError, match="Complex data not supported: X holds"):
        es.PCA(2).fit(da.from_array(X + 1j, chunks=(20, 3)))


def test_landmarks_are_advised_where_they_help() -> None:
    da = pytest.importorskip("dask.array")
    rows = da.from_array(X, chunks=(20, 3))
    with pytest.raises(InputError, match="landmarks=m fits m of the rows"):
        es.KernelPCA(2).fit(rows)
    for estimator in (
        es.EigenmapClassifier(2),
        es.EigenmapClassifier(2, landmarks=30),
        es.MaximumCovarianceUnfolding(),
    ):
        with pytest.raises(InputError, match="memory of one process") as refusal:
            estimator.fit(rows, Y)
        assert "landmarks" not in str(refusal.value)
