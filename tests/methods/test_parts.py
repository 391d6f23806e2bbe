"""``partial_fit`` takes parts of any size and content, and equals ``fit`` to all rows so far; every method that has it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import eigenspan as es
from eigenspan.errors import DimensionError, InputError, LabelError, LabelWarning
from helpers import angle, quietly, relative

CLASSES = {
    "LDA": es.LDA(),
    "LDA-one": es.LDA(1),
    "LDA-two": es.LDA(2),
    "LDA-rest": es.LDA(criterion="one-against-rest"),
    "LDA-rest-three": es.LDA(3, criterion="one-against-rest"),
    "LDA-trace": es.LDA(2, criterion="trace-ratio"),
    "LDA-shrunk": es.LDA(shrinkage=0.3),
    "LDA-auto": es.LDA("auto"),
    "LDA-priors": es.LDA(priors=[0.2, 0.3, 0.5]),
    "MMC": es.MMC(2),
    "SDA": es.SDA(2, mu=0.0),
    "SSMMC": es.SSMMC(2, gamma=0.0),
    "SSFDA": es.SSFDA(1, gamma=0.0),
    "SupervisedPCA": es.SupervisedPCA(),
    "SupervisedPCA-two": es.SupervisedPCA(2),
    "SIR": es.SIR(1),
    "SIR-two": es.SIR(2),
}
OTHERS = {
    "PCA": es.PCA(2),
    "PCA-all": es.PCA(None),
    "PCA-share": es.PCA(0.9),
    "PCA-auto": es.PCA("auto"),
    "PCA-mle": es.PCA("mle"),
    "PCA-origin": es.PCA(2, center=False),
    "PPCA": es.PPCA(1),
    "CCA": es.CCA(1),
    "CCA-ridge": es.CCA(1, ridge=0.1),
    "MultiviewCCA": es.MultiviewCCA(1),
    "MultiviewCCA-ridge": es.MultiviewCCA(1, ridge=0.1),
    "OrientedPCA": es.OrientedPCA(2),
    "OrientedPCA-difference": es.OrientedPCA(1, extractor="difference"),
    "OrientedPCA-copies": es.OrientedPCA(1, ridge=0.01),
}
#: Where nothing is determined, ``fit`` warns and ``partial_fit`` waits for more rows.
WAITING = {"CCA", "MultiviewCCA"}
KINDS = ("plain", "constant", "plane", "line", "late", "coincident", "lattice", "few classes")
N = 30
#: Attributes that are compared.
NUMBERS = (
    "eigenvalues_", "mean_", "means_", "priors_", "correlations_", "explained_variance_", "noise_variance_", "ranks_", "collapsed_",
    "n_components_",
)  # fmt: skip


def table(kind: str) -> tuple[np.ndarray, np.ndarray]:
    """Rows of three classes, of which features are constant, dependent, or constant at first."""
    draws = np.random.default_rng(0)
    y = draws.integers(0, 3, N)
    X = 2 * draws.standard_normal((3, 5))[y] + draws.standard_normal((N, 5))
    if kind == "constant":
        X = np.column_stack([X[:, :3], np.full(N, 3.3), X[:, 3:], np.full(N, -7e5)])
    elif kind == "plane":
        X = X[:, :2] @ draws.standard_normal((2, 6))
    elif kind == "line":
        X = X[:, :1] @ draws.standard_normal((1, 4))
    elif kind == "late":
        X[: N // 2, [1, 3]] = X[0, [1, 3]]
    elif kind == "coincident":
        X[y > 0] = X[0]
    elif kind == "lattice":
        X = np.round(X)
    return X, (y % 2 if kind == "few classes" else y)


def beside(name: str, X: np.ndarray, y: np.ndarray) -> Any:
    """What the method is given as y."""
    draws = np.random.default_rng(1)
    if name == "OrientedPCA-copies":
        return X + draws.standard_normal(X.shape) * np.linspace(0.1, 1, X.shape[1])
    if "CCA" in name:
        return np.column_stack([X[:, 0] + draws.standard_normal(N), y])
    return None


def parts_of(cut: str, y: np.ndarray) -> list[np.ndarray]:
    if cut == "rows":
        return [np.array([i]) for i in range(N)]
    return [np.flatnonzero(y == k) for k in np.unique(y)]


def assert_parts_equal_fit(method: Any, X: np.ndarray, y: Any, parts: list[np.ndarray], waits: bool = False) -> None:
    """The method is fitted as soon as ``fit`` to the rows so far is, to the same."""
    piecewise, seen = clone(method), np.zeros(0, dtype=int)
    for number, part in enumerate(parts):
        seen = np.concatenate([seen, part])
        quietly(lambda part=part: piecewise.partial_fit(X[part], None if y is None else y[part]))
        if number not in (0, 1, 2, 4, 6, 14) and number + 1 < len(parts):
            continue
        whole = fitted_or_none(method, X[seen], None if y is None else y[seen])
        if whole is None or not hasattr(piecewise, "map_"):
            assert not hasattr(piecewise, "map_"), "fit refuses these rows"
            assert piecewise.diagnostics_["not_fitted"]
            assert whole is None or waits
        else:
            assert_same(piecewise, whole, X)
    assert hasattr(piecewise, "map_") or whole is None


def fitted_or_none(method: Any, X: np.ndarray, y: Any) -> Any:
    try:
        return quietly(lambda: clone(method).fit(X, y))
    except ValueError:
        return None


def assert_same(one: Any, two: Any, X: np.ndarray) -> None:
    """The axes, where they are determined, and attributes that are numbers."""
    if getattr(two, "gap_", 1.0) > 1e-6:
        axes = [fitted.components_.T if hasattr(fitted, "components_") else fitted.weights_[0] for fitted in (one, two)]
        if np.linalg.matrix_rank(axes[1]) == axes[1].shape[1]:
            assert angle(*axes) < 1e-8
        assert relative(one.transform(X), two.transform(X)) < 1e-9
    for name in NUMBERS:
        assert hasattr(one, name) == hasattr(two, name), name
        values = [numbers(getattr(fitted, name, 0.0)) for fitted in (one, two)]
        assert np.abs(values[0] - values[1]).max() < 1e-10 * max(1.0, np.abs(values[1]).max()), name


def numbers(value: Any) -> np.ndarray:
    return np.concatenate([np.ravel(part) for part in value]) if isinstance(value, tuple) else np.ravel(value)


def test_all_methods_in_parts_are_tested() -> None:
    streaming = {name for name in es.__all__ if hasattr(getattr(es, name), "partial_fit")}
    assert streaming == {name.split("-")[0] for name in (*CLASSES, *OTHERS)}


@pytest.mark.parametrize("cut", ["rows", "classes"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", [*CLASSES, *OTHERS])
@pytest.mark.every(12)
def test_parts_of_any_rows(name: str, kind: str, cut: str) -> None:
    X, y = table(kind)
    method = {**CLASSES, **OTHERS}[name]
    target = beside(name, X, y) if name in OTHERS else np.array(["a", "b", "c"])[y]
    assert_parts_equal_fit(method, X, target, parts_of(cut, y), waits=name in WAITING)


@pytest.mark.parametrize("name", CLASSES)
@pytest.mark.every(2)
def test_rows_without_a_label_may_come_first(name: str) -> None:
    """One row at a time, and in two parts of which one has no label at all."""
    X, y = table("plain")
    method = clone(CLASSES[name])
    mark = -1 if "unlabeled" in method.get_params() else None
    y = np.where(np.isin(np.arange(N), [0, 1, 2, 3, 4, 5, 20]), mark, np.array([0, 1, 2], dtype=object)[y])
    y = (
        y.astype(int)
        if mark == -1
        else np.array([None if label is None else "abc"[label] for label in y], dtype=object)
    )
    method = method.set_params(unlabeled=-1) if mark == -1 else method
    for parts in ([np.array([i]) for i in range(N)], [np.arange(6), np.arange(6, N)], [np.arange(6, N), np.arange(6)]):
        assert_parts_equal_fit(method, X, y, parts)


def test_a_numeric_response_may_come_late() -> None:
    """The first part with responses says where slices begin, those without any have none."""
    X, _ = table("plain")
    y = X[:, 0] + X[:, 1] ** 2
    parts = es.SIR(1, n_slices=3).partial_fit(X[:5], np.full(5, np.nan)).partial_fit(X[5:], y[5:])
    known = np.where(np.arange(N) < 5, np.nan, y)
    whole = es.SIR(1, n_slices=3).fit(X, known)
    np.testing.assert_array_equal(parts.slice_edges_, whole.slice_edges_)
    assert_same(parts, whole, X)
    assert parts.partial_fit(X[:2], np.full(2, np.nan)).n_samples_seen_ == N + 2
    with pytest.raises(LabelError, match="one of numbers before and is one of classes now"):
        parts.partial_fit(X[:2], ["a", "b"])


def test_one_class_beside_a_mark_is_taken_with_a_warning() -> None:
    X, y = table("plain")
    y = np.where(y == 0, -1, y)
    order = np.argsort(y == 2, kind="stable")
    X, y = X[order], y[order]
    cut = int(np.sum(y != 2))
    lda = es.LDA(unlabeled=-1)
    with pytest.warns(LabelWarning, match="exactly {-1, \\+1}"):
        lda.partial_fit(X[:cut], y[:cut])
    assert_same(lda.partial_fit(X[cut:], y[cut:]), es.LDA(unlabeled=-1).fit(X, y), X)
    with pytest.raises(LabelError, match="exactly"):
        es.LDA(unlabeled=-1).fit(X[:cut], y[:cut])


@pytest.mark.parametrize(
    "method",
    [
        es.LDA(9, criterion="trace-ratio"),
        es.LDA(1, priors=[-0.5, 1.5]),
        es.MMC(9),
        es.PCA(9),
        es.SupervisedPCA(9),
        es.SIR(9),
    ],
    ids=repr,
)
def test_what_no_rows_can_make_possible_is_refused_at_once(method: Any) -> None:
    X, y = table("few classes")
    with pytest.raises(InputError):
        method.partial_fit(X, np.array(["a", "b"])[y])
    assert not hasattr(method, "moments_")


def test_axes_for_classes_seen_so_far() -> None:
    X, y = table("plain")
    rest = es.LDA(3, criterion="one-against-rest").partial_fit(X[y < 2], y[y < 2])
    assert "2 classes" in rest.diagnostics_["not_fitted"]
    with pytest.raises(NotFittedError):
        rest.transform(X)
    assert rest.partial_fit(X[y == 2], y[y == 2]).components_.shape == (3, 5)
    with pytest.raises(DimensionError, match="each of the 4 classes"):
        rest.partial_fit(X[:4], [3, 3, 3, 3])
    assert rest.components_.shape == (3, 5)


@pytest.mark.parametrize("copies", [3, 1])
def test_copies_may_be_undistorted_at_first(copies: int) -> None:
    X, _ = table("plain")
    shift = np.random.default_rng(0).standard_normal((copies, *X.shape)) * np.linspace(0.1, 1, 5)
    shift[:, :10] = 0.0
    parts = es.OrientedPCA(2).partial_fit(X[:10], X[:10] + shift[:, :10])
    assert "too few" in parts.diagnostics_["not_fitted"]
    assert_same(parts.partial_fit(X[10:], X[10:] + shift[:, 10:]), es.OrientedPCA(2).fit(X, X + shift), X)


@pytest.mark.parametrize("name", ["PCA", "LDA", "CCA", "MultiviewCCA", "OrientedPCA", "SIR"])
@pytest.mark.every(2)
def test_rows_far_from_the_origin_one_at_a_time(name: str) -> None:
    """Differences keep the digits that the rows have of them: 1e6 beside a spread of one leaves ten."""
    X, y = table("plain")
    method = {**CLASSES, **OTHERS}[name]
    target = beside(name, X, y) if name in OTHERS else np.array(["a", "b", "c"])[y]
    piecewise = clone(method)
    for i in range(N):
        quietly(lambda i=i: piecewise.partial_fit(X[i : i + 1] + 1e6, None if target is None else target[i : i + 1]))
    whole = clone(method).fit(X + 1e6, target)
    first, second = (
        fitted.weights_[0].T if name == "MultiviewCCA" else fitted.components_ for fitted in (piecewise, whole)
    )
    assert relative(first, second) < 1e-9


@pytest.mark.parametrize("name", ["CCA", "MultiviewCCA"])
@pytest.mark.parametrize("ridge", [0.0, 0.1])
def test_dependent_columns_of_a_wide_view(name: str, ridge: float) -> None:
    """Of the weights that give the same variates ``fit`` and ``partial_fit`` take the same, in whatever units."""
    draws = np.random.default_rng(0)
    X = draws.standard_normal((20, 3)) @ draws.standard_normal((3, 40))
    Y = X[:, :2] + draws.standard_normal((20, 2))
    method = getattr(es, name)(1, ridge=ridge)
    whole, parts = clone(method).fit(X, Y), clone(method).partial_fit(X[:9], Y[:9]).partial_fit(X[9:], Y[9:])
    rows = draws.standard_normal((5, 40))
    np.testing.assert_allclose(parts.transform(rows), whole.transform(rows), rtol=1e-9, atol=1e-9)
    sparse = clone(method).fit(sp.csr_array(X), Y)
    np.testing.assert_allclose(sparse.transform(rows), whole.transform(rows), rtol=1e-9, atol=1e-9)


def test_a_ridge_beside_columns_of_unlike_units() -> None:
    """Directions far below the ridge keep their digits: they are a millionth of the variates."""
    draws = np.random.default_rng(0)
    X = draws.standard_normal((60, 4)) * [1e6, 1.0, 1e-2, 1e-6]
    Y = X[:, :2] + draws.standard_normal((60, 2))
    whole, parts = (es.CCA(1, ridge=0.1) for _ in range(2))
    whole.fit(X, Y)
    for i in range(0, 60, 20):
        parts.partial_fit(X[i : i + 20], Y[i : i + 20])
    assert parts.ranks_ == whole.ranks_
    assert relative(parts.components_ * X.std(axis=0), whole.components_ * X.std(axis=0)) < 1e-10


def test_no_more_rows_than_columns_have_no_further_eigenvalue() -> None:
    X, _ = table("plain")
    parts = es.PCA(2).partial_fit(X[:2]).partial_fit(X[2:3])
    assert parts.gap_ == es.PCA(2).fit(X[:3]).gap_ == np.inf


def test_directions_are_tested_in_parts_too() -> None:
    X, y = table("plain")
    names = np.array(["a", "b", "c"])[y]
    whole, parts = es.SIR("test").fit(X, names), es.SIR("test").partial_fit(X[:4], names[:4])
    assert "needs more rows" in parts.diagnostics_["not_fitted"] or "too few" in parts.diagnostics_["not_fitted"]
    assert_same(parts.partial_fit(X[4:], names[4:]), whole, X)


# ---------------------------------------------------------------------- what fit itself made of such rows
def test_labelled_rows_that_coincide_determine_no_axes() -> None:
    """Below and above the number of columns, in parts too; the axes were those of the rounding of their mean."""
    draws = np.random.default_rng(0)
    for n in (4, 20):
        X, y = draws.standard_normal((n, 5)), np.full(n, -1)
        X[1::2], y[1::2] = X[0] + 0.1, np.arange(n // 2) % 2
        for method in (es.MMC(1), es.SupervisedPCA(1), es.SDA(1, mu=0.0), es.LDA()):
            with pytest.raises(LabelError, match="all coincide"):
                clone(method).set_params(unlabeled=-1).fit(X, y)
            parts = clone(method).set_params(unlabeled=-1).partial_fit(X, y)
            assert "all coincide" in parts.diagnostics_["not_fitted"]


def test_classes_without_extent_are_no_unit() -> None:
    X = np.repeat(np.random.default_rng(0).standard_normal((2, 5)), 2, axis=0)
    with pytest.raises(LabelError, match="no class has two labelled samples that differ"):
        es.SSFDA(1, gamma=0.0).fit(X, [0, 0, 1, 1])


@pytest.mark.parametrize("method", [es.PCA(1), es.LDA("auto"), es.PPCA(1)], ids=repr)
@pytest.mark.parametrize("n", [3, 9])
def test_rows_that_all_coincide(method: Any, n: int) -> None:
    X = np.tile([0.1, 0.7, 0.3, 1.1, 2.3], (n, 1))  # the mean of three is another number
    with pytest.raises(DimensionError, match="coincide"):
        method.fit(X, np.arange(n) % 2)


@pytest.mark.parametrize("seed", range(12))
def test_nothing_within_the_classes_to_shrink_to(seed: int) -> None:
    """Its trace is what rounding leaves of the total, of either sign."""
    draws = np.random.default_rng(seed)
    X = 2 * draws.standard_normal((3, 5))[draws.integers(0, 3, 8)] + draws.standard_normal((8, 5))
    lda = es.LDA(shrinkage=0.3, unlabeled=-1).fit(X * np.logspace(-8, 8, 5), [1, -1, -1, -1, -1, -1, -1, 0])
    assert np.isfinite(lda.components_).all()


def test_axes_of_labelled_rows_on_a_line() -> None:
    """By default there are as many as there are dimensions among the labelled rows."""
    X, y = table("plain")
    X[:20] = X[:20, :1] * np.ones(5)
    y = np.where(np.arange(N) < 20, y, -1)
    for more in ({}, {"criterion": "one-against-rest"}):
        lda = es.LDA(unlabeled=-1, **more).fit(X, y)
        assert np.linalg.matrix_rank(lda.components_, tol=1e-8) == 1


@pytest.mark.parametrize("seed", range(8))
def test_statistics_of_rounding_have_no_missing_p_value(seed: int) -> None:
    draws = np.random.default_rng(seed)
    y, X = draws.integers(0, 3, 29), draws.standard_normal((29, 5))
    X[y > 0] = X[0]  # two classes of one mean: the second statistic is zero
    tests = es.SIR(1).fit(X, np.array(["a", "b", "c"])[y]).order_tests_
    assert np.isfinite(tests["p_value"]).all()
