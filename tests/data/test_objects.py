"""Lists of objects with a function of two: the same fit as the table of all pairs, and messages for what cannot be."""

from __future__ import annotations

import pickle
from collections import Counter
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import eigenspan as es
from eigenspan.errors import GraphError, InputError, KernelError, ModelError
from helpers import disparity

RNG = np.random.default_rng(0)
STRINGS = ["".join(RNG.choice(list("abcd"), RNG.integers(6, 12))) for _ in range(40)]
NEW = ["abcabc", "ddddaa", "bcbcbcbc"]


def apart(a: Any, b: Any) -> float:
    """Return the Euclidean distance between the counts of successive pairs of two sequences."""
    u, v = (Counter(pairwise(each)) for each in (a, b))
    return float(np.sqrt(sum((u[pair] - v[pair]) ** 2 for pair in u | v)))


def spectrum(a: str, b: str) -> float:
    """Return eq. of Leslie et al. over all 4² pieces of two letters, normalised."""
    pieces = [x + z for x in "abcd" for z in "abcd"]
    u, v = (np.array([sum(s[i : i + 2] == p for i in range(len(s) - 1)) for p in pieces], dtype=float) for s in (a, b))
    return float(u @ v / np.sqrt(u @ u * (v @ v)))


def table(function: Any, some: Any, others: Any) -> np.ndarray:
    return np.array([[function(a, b) for b in others] for a in some])


KERNEL = partial(es.spectrum_kernel, k=2)
Y = np.arange(40) % 2


@pytest.mark.parametrize(
    "make",
    [es.KernelPCA, partial(es.KernelPCA, landmarks=15), es.LDA, es.LPP, es.SupervisedPCA],
)
def test_a_kernel_of_objects_is_its_matrix(make: Any) -> None:
    fitted = make(1, kernel=KERNEL).fit(STRINGS, Y)
    given = make(1, kernel="precomputed").fit(table(spectrum, STRINGS, STRINGS), Y)
    extent = np.abs(given.embedding_).max()
    np.testing.assert_allclose(fitted.embedding_, given.embedding_, atol=1e-9 * extent)
    np.testing.assert_allclose(
        fitted.transform(NEW), given.transform(table(spectrum, NEW, STRINGS)), atol=1e-8 * extent
    )
    assert list(fitted.objects_.objects) == STRINGS
    assert not hasattr(fitted, "n_features_in_")


@pytest.mark.parametrize(
    "make",
    [
        es.ClassicalMDS,
        partial(es.LandmarkMDS, landmarks=np.arange(0, 40, 2)),
        partial(es.Isomap, n_neighbors=8),
        partial(es.LaplacianEigenmaps, n_neighbors=8),
        partial(es.DiffusionMap, n_neighbors=8),
    ],
)
def test_a_metric_of_objects_is_its_table(make: Any) -> None:
    fitted = make(2, metric=apart).fit(STRINGS)
    given = make(2, metric="precomputed").fit(table(apart, STRINGS, STRINGS))
    np.testing.assert_array_equal(fitted.embedding_, given.embedding_)
    np.testing.assert_array_equal(fitted.transform(NEW), given.transform(table(apart, NEW, STRINGS)))
    np.testing.assert_allclose(fitted.transform(STRINGS[:4]), fitted.embedding_[:4], atol=1e-9)


def test_each_pair_is_compared_once() -> None:
    """n(n + 1)/2 calls, and the few with exchanged arguments that check symmetry."""
    calls: Counter[Any] = Counter()

    def counted(a: str, b: str) -> float:
        calls[a, b] += 1
        return apart(a, b)

    es.ClassicalMDS(2, metric=counted).fit(STRINGS)
    assert 40 * 41 / 2 <= calls.total() <= 40 * 41 / 2 + 16


def test_lists_series_and_arrays_of_objects() -> None:
    base = es.ClassicalMDS(2, metric=apart).fit_transform(STRINGS)
    for X in (
        tuple(STRINGS),
        pd.Series(STRINGS),
        np.array(STRINGS),
        np.array(STRINGS, dtype=object),
        [list(s) for s in STRINGS],
    ):
        np.testing.assert_array_equal(es.ClassicalMDS(2, metric=apart).fit_transform(X), base)


def test_sequences_of_numbers() -> None:
    """Sequences of different lengths are objects; rows of equal length are a table, whose rows the function takes."""

    def far(a: Any, b: Any) -> float:
        return float(abs(np.sum(a) - np.sum(b)))

    rows = [[float(i), 1.0] for i in range(6)]
    table_fit = es.ClassicalMDS(1, metric=far).fit(rows)
    assert table_fit.n_features_in_ == 2
    assert not hasattr(table_fit, "objects_")
    ragged = es.ClassicalMDS(1, metric=far).fit([*rows[:-1], [5.0, 0.5, 0.5]])
    np.testing.assert_allclose(ragged.embedding_, table_fit.embedding_, atol=1e-12)
    matrices = es.ClassicalMDS(1, metric=far).fit([np.outer(row, [0.5, 0.5]) for row in rows])
    np.testing.assert_allclose(matrices.embedding_, table_fit.embedding_, atol=1e-12)


def test_sets_and_graphs() -> None:
    sets: Any = [set(s) for s in STRINGS[:12]]
    J = table(lambda a, b: len(a & b) / len(a | b), sets, sets)
    fitted = es.KernelPCA(2, kernel=es.jaccard_kernel).fit(sets)
    values = np.linalg.eigvalsh((np.eye(12) - 1 / 12) @ J @ (np.eye(12) - 1 / 12))[::-1][:2]
    np.testing.assert_allclose(fitted.eigenvalues_, values, rtol=1e-9)

    class Graph:
        """A graph as networkx has it: iterable, with a length, and no rows."""

        def __init__(self, *edges: tuple[int, int]) -> None:
            self.edges = set(edges)

        def __len__(self) -> int:
            return len(self.edges)

        def __getitem__(self, node: int) -> Any:
            raise KeyError(node)

    graphs: Any = [Graph(*[(j, j + 1) for j in range(i)]) for i in range(2, 9)]
    Z = es.ClassicalMDS(1, metric=lambda a, b: float(len(a.edges ^ b.edges))).fit_transform(graphs)
    assert disparity(Z, np.arange(7.0)[:, None]) < 1e-12


def test_estimators_with_objects_follow_scikit_learn() -> None:
    model = es.KernelPCA(2, kernel=KERNEL)
    again = clone(model).fit(STRINGS)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(again)).transform(NEW), again.transform(NEW))
    frame = clone(model).set_output(transform="pandas").fit(STRINGS).transform(NEW)
    assert frame.shape == (3, 2)
    refitted = again.set_params(kernel="rbf").fit(RNG.standard_normal((10, 3)))
    assert not hasattr(refitted, "objects_")
    assert refitted.transform(np.zeros((1, 3))).shape == (1, 2)


def test_parameters_of_a_metric_reach_it() -> None:
    def far(a: str, b: str, power: float = 1.0) -> float:
        return abs(len(a) - len(b)) ** power

    found = es.Isomap(1, metric=far, metric_params={"power": 0.5}, n_neighbors=12).fit(STRINGS)
    same = es.Isomap(1, metric=partial(far, power=0.5), n_neighbors=12).fit(STRINGS)
    np.testing.assert_array_equal(found.embedding_, same.embedding_)


def test_kernels_of_two_objects_as_defined() -> None:
    for a, b in zip(STRINGS[:20], STRINGS[20:], strict=True):
        assert es.spectrum_kernel(a, b, k=2) == pytest.approx(spectrum(a, b))
    assert es.spectrum_kernel("ab", "abc") == 0.0
    assert es.jaccard_kernel(set(), set()) == 1.0
    with pytest.raises(KernelError, match="jaccard_kernel compares sets"):
        es.jaccard_kernel("tea", "tea")


REFUSED: list[tuple[Any, Any, str]] = [
    (es.KernelPCA(2), STRINGS, r"list of 40 objects, such as X\[0\] = .* of type str.*Give a function"),
    (es.PCA(2), [{1}, {2}], r"list of 2 objects, such as X\[0\] = \{1\} of type set"),
    (es.LPP(2), STRINGS, "KernelPCA"),
    (es.Isomap(2, graph=es.KNN(5, metric=apart)), STRINGS, "list of 40 objects"),
    (es.KernelPCA(2, kernel=KERNEL), [*STRINGS, None], r"1 of 41 objects are None \(first: X\[40\]\)"),
    (es.KernelPCA(2, kernel=KERNEL), ["one"], "minimum of 2"),
    (es.KernelPCA(2, kernel=lambda a, b: "x"), STRINGS, "returned 'x' for objects 0 and 0"),
    (es.KernelPCA(2, kernel=lambda a, b: float("nan")), STRINGS, "one finite number"),
    (es.KernelPCA(2, kernel=lambda a, b: a.missing), STRINGS, r"raised AttributeError .* for objects 0 and 0"),
    (es.KernelPCA(2, kernel=lambda a, b: float(a < b)), STRINGS, r"returned .* for objects 0 and 39, but"),
    (es.ClassicalMDS(2, metric=lambda a, b: apart(a, b) + 1), STRINGS, "diagonal of a distance matrix must be zero"),
    (es.ClassicalMDS(2, metric=lambda a, b: -apart(a, b)), STRINGS, "must not be negative"),
]


@pytest.mark.parametrize(("estimator", "X", "message"), REFUSED)
def test_messages(estimator: Any, X: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        estimator.fit(X)


def test_new_objects_are_checked(tmp_path: Path) -> None:
    fitted = es.KernelPCA(2, kernel=KERNEL).fit(STRINGS)
    with pytest.raises(InputError, match="must be a list, as in the fit"):
        fitted.transform(np.zeros((2, 3)))
    with pytest.raises(GraphError, match="raised TypeError"):
        es.ClassicalMDS(1, metric=apart).fit(STRINGS).transform([1, 2])
    with pytest.raises(InputError, match="list of 3 objects"):
        es.KernelPCA(1).fit(np.arange(8.0).reshape(4, 2)).transform(NEW)
    with pytest.raises(ModelError, match="fitted to a list of objects"):
        es.save(fitted, tmp_path / "model.eig")


def test_messages_for_lists_of_objects() -> None:
    with pytest.raises(InputError, match="list of 0 object"):
        es.KernelPCA(1, kernel=es.jaccard_kernel).fit([])
    with pytest.raises(InputError, match="leave graph= out and give n_neighbors= and metric=f"):
        es.Isomap(1, graph=es.KNN(3, metric=apart)).fit(STRINGS)
    with pytest.raises(InputError, match="or a function of two objects"):
        es.LLE(1, n_neighbors=4, metric=apart).fit(STRINGS)
    with pytest.raises(KernelError, match="hashable elements, and 3"):
        es.jaccard_kernel(3, {1})  # type: ignore[arg-type]
    with pytest.raises(KernelError, match="hashable elements, and None"):
        es.spectrum_kernel(None, "abc")  # type: ignore[arg-type]
