"""Specifications, and what users hand over beside the data, are refused with advice where they cannot be used."""

from __future__ import annotations

import pickle
from functools import partial
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.neighbors import KNeighborsTransformer

import eigenspan as es
from eigenspan.data import KernelValues
from eigenspan.data.pair_tables import accept_distances
from eigenspan.errors import DimensionError, EigenspanError, GraphError, InputError, KernelError, LabelError
from eigenspan.graphs import (
    affinity,
    allies,
    as_graph,
    check_n_neighbors,
    choose_landmarks,
    distance_graph,
    rivals,
)
from eigenspan.problem.forms import pair_affinity
from eigenspan.problem.kernels import gram_matrix, kernel_rows
from helpers import encode_labels

X = np.random.default_rng(0).standard_normal((40, 4))
D = np.linalg.norm(X[:, None] - X[None], axis=2)
NEAR = np.argsort(D, axis=1)[:, 1:6]
LENGTHS = np.take_along_axis(D, NEAR, axis=1)
NAN, INF = float("nan"), float("inf")

WHOLE, POSITIVE = "a whole number of at least 1", "a positive number"


def graph_of(spec: Any) -> Any:
    return as_graph(spec, X)


def weights_of(spec: Any) -> Any:
    return affinity(es.KNN(5).build(X), spec, X)


def kernel_of(spec: Any) -> Any:
    return es.KernelPCA(2, kernel=spec).fit(X)


def landmarks_of(spec: Any) -> Any:
    return choose_landmarks(X, spec)


def extension_of(spec: Any) -> Any:
    return spec.extend(es.KNN(5).build(X), X, X)


# ---------------------------------------------------------------------- parameters of specifications
#: Specification, parameter, values that it cannot have, who uses it, the error, and words of the message.
TABLE: list[tuple[type, str, list[Any], Any, type[EigenspanError], str]] = [
    (es.KNN, "n_neighbors", ["a", 2.5, None, True, 0, -1, NAN, [5], X], graph_of, GraphError, WHOLE),
    (es.KNN, "metric", [None, 3, True], graph_of, GraphError, "a name or a function"),
    (es.KNN, "metric_params", ["p", 3], graph_of, GraphError, "a dict or None"),
    (es.KNN, "symmetry", ["both", None, 1], graph_of, GraphError, '"mutual" or "union"'),
    (es.KNN, "within_class", ["yes", 1, None], graph_of, GraphError, "True or False"),
    (es.KNN, "search", ["fast", None, True], graph_of, GraphError, '"auto" or "exact" or "hnsw"'),
    (es.KNN, "n_jobs", [0, 1.5, "all", True], graph_of, GraphError, f"at most -1 or {WHOLE} or None"),
    (es.Radius, "radius", [None, "a", -1, 0, NAN, -INF, True, 1j, [1.0]], graph_of, GraphError, POSITIVE),
    (es.Radius, "metric", [None, 3], graph_of, GraphError, "a name or a function"),
    (es.Radius, "metric_params", [[1]], graph_of, GraphError, "a dict or None"),
    (es.Radius, "n_jobs", [0, "all"], graph_of, GraphError, "or None"),
    (es.Heat, "sigma", ["a", -1, 0, NAN, INF, True, [1.0]], weights_of, GraphError, f"{POSITIVE} or None"),
    (es.LocalScaling, "k", [2.5, 0, -1, "a", None, True], weights_of, GraphError, WHOLE),
    (es.Powered, "alpha", ["a", 0, -1, NAN, INF, None, True], weights_of, GraphError, POSITIVE),
    (es.Powered, "weights", [3, None, X], weights_of, GraphError, "a name or an object implementing 'bind'"),
    (es.PathSimilarity, "pairs", ["some", None], weights_of, GraphError, '"all" or "edges"'),
    (es.PathSimilarity, "robust", ["no", None, 2], weights_of, GraphError, "True or False"),
    (es.PathSimilarity, "weights", [3, None], weights_of, GraphError, "a name or an object"),
    (es.Kernel, "name", [None, 3, True], kernel_of, KernelError, "a name"),
    (
        es.Kernel,
        "gamma",
        ["a", -1.0, 0, NAN, INF, True, np.ones(2)],
        kernel_of,
        KernelError,
        'number or "median" or None',
    ),
    (
        es.Kernel,
        "degree",
        ["a", -1, NAN, None, True, np.ones(2)],
        kernel_of,
        KernelError,
        "a finite number of at least 0",
    ),
    (es.Kernel, "coef0", ["a", NAN, INF, None, True, 1j], kernel_of, KernelError, "a finite number"),
    (es.SmoothedEigenfunctions, "eta", ["a", 0, -1, NAN, None], extension_of, InputError, POSITIVE),
    (es.SmoothedEigenfunctions, "kernel", ["rbf", None], extension_of, InputError, '"gaussian" or "wendland"'),
    (es.SmoothedEigenfunctions, "width", ["a", 0, NAN], extension_of, InputError, f"{POSITIVE} or None"),
    (es.SmoothedEigenfunctions, "rescale", ["no", None], extension_of, InputError, "True or False"),
    (es.NormalizedKernels, "gamma", ["a", 0, NAN, None], extension_of, InputError, POSITIVE),
    (es.NormalizedKernels, "order", [0, 2.5, None], extension_of, InputError, WHOLE),
    (es.NormalizedKernels, "neighbours", [0, "a"], extension_of, InputError, WHOLE),
    (es.NormalizedKernels, "ridge", [0, -1, None], extension_of, InputError, POSITIVE),
    (es.Landmarks, "n", ["a", 2.5, 0, -1, None, True], landmarks_of, InputError, WHOLE),
    (es.Landmarks, "choice", ["best", None, 3], landmarks_of, InputError, '"kmeans++" or "leverage"'),
]


@pytest.mark.parametrize(
    ("spec", "name", "value", "use", "error", "words"),
    [(spec, name, value, *rest) for spec, name, values, *rest in TABLE for value in values],
    ids=lambda given: given.__name__ if isinstance(given, type) else f"{given!r:.12}",
)
def test_a_parameter_that_cannot_be_is_named(
    spec: Any, name: str, value: Any, use: Any, error: type[EigenspanError], words: str
) -> None:
    made = spec(**{name: value})  # nothing happens before it is used
    with pytest.raises(error) as refused:
        use(made)
    message = str(refused.value)
    assert message.startswith(f"{spec.__name__}({name}={value!r:.80}) cannot be used: {name} must be ")
    assert words in message
    assert issubclass(error, ValueError)


def test_every_parameter_of_every_specification_is_declared() -> None:
    specs = {spec for spec, *_ in TABLE} | {es.Binary, es.Cosine}
    for spec in specs:
        assert set(spec._parameter_constraints) == set(spec().get_params(deep=False)), spec
    assert {(spec, name) for spec, name, *_ in TABLE} == {(s, p) for s in specs for p in s().get_params(deep=False)}


@pytest.mark.parametrize("spec", [spec for spec, *_ in TABLE])
def test_defaults_and_numpy_numbers_pass(spec: Any) -> None:
    spec().check()
    for one in (np.int64(3), np.int8(3)):
        es.KNN(one).check()
        es.LocalScaling(one).check()
        es.Heat(one).check()
    es.Heat(np.float32(0.5)).check()
    es.KNN(within_class=np.bool_(True)).check()
    assert clone(spec()).get_params().keys() == spec().get_params().keys()
    pickle.loads(pickle.dumps(spec())).check()


def test_numbers_of_estimators_pass_the_same_check() -> None:
    codes = np.arange(40) % 3
    for use in (
        lambda k: as_graph(None, X, n_neighbors=k),
        lambda k: distance_graph(D, n_neighbors=k),
        lambda k: allies(X, codes, k),
        lambda k: check_n_neighbors(k, X),
    ):
        use(np.int64(3))
        for k in (True, 0, 2.5, "a"):
            with pytest.raises(
                GraphError, match=rf"^(KNN\()?n_neighbors={k!r}\)? cannot be used: n_neighbors must be {WHOLE}\.$"
            ):
                use(k)
    with pytest.raises(GraphError, match=rf"^n_rivals=True cannot be used: n_rivals must be {WHOLE}"):
        rivals(X, codes, True)
    with pytest.raises(InputError, match=r"^Landmarks\(n=True\) cannot be used"):
        choose_landmarks(X, True)


def test_weights_of_all_pairs_check_theirs() -> None:
    for spec in (es.Heat("a"), es.LocalScaling(2.5), es.Powered("heat", "a"), es.Powered(es.Heat(-1))):
        with pytest.raises(GraphError, match="cannot be used"):
            pair_affinity(X, spec)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"graph": es.KNN}, "graph=KNN is a class: pass an object of it"),
        ({"graph": KNeighborsTransformer}, "KNeighborsTransformer is a class"),
        ({"graph": es.KNN(5), "weights": es.Heat}, "neither a name nor a weight specification"),
        ({"graph": es.KNN(5), "weights": es.Powered("warm")}, "weights='warm' is unknown"),
    ],
    ids=["graph", "transformer", "weights", "powered"],
)
def test_classes_and_unknown_names(given: dict[str, Any], words: str) -> None:
    with pytest.raises(GraphError, match=words):
        affinity(as_graph(given["graph"], X), given.get("weights", "heat"), X)


# ---------------------------------------------------------------------- metrics
def a_metric(value: Any) -> Any:
    """The Manhattan distance, but for the value where the rows differ much."""

    def strange(x: Any, z: Any) -> Any:
        d = float(np.abs(x - z).sum())
        return value if d > 2 else d

    return strange


BAD_VALUES = [NAN, INF, -1.0, -0.01, "far", 1 + 1j, np.ones(2), None, [1.0, 2.0]]


@pytest.mark.parametrize("value", BAD_VALUES, ids=repr)
@pytest.mark.parametrize(
    "use",
    [
        lambda metric: es.KNN(5, metric=metric).build(X),
        lambda metric: es.KNN(5, metric=metric).build(X[:8]),
        lambda metric: es.Radius(9.0, metric=metric).build(X),
        lambda metric: es.ClassicalMDS(2, metric=metric).fit(X),
        lambda metric: es.Isomap(2, metric=metric).fit(X),
    ],
    ids=["tree", "brute", "radius", "distances", "estimator"],
)
def test_metrics_that_are_none(value: Any, use: Any) -> None:
    use(a_metric(2.0))
    with pytest.raises(
        GraphError, match=r"The metric strange returned .* for two rows\. .* finite, nonnegative number"
    ):
        use(a_metric(value))


def test_metrics_that_raise_are_named() -> None:
    def broken(x: Any, z: Any) -> float:
        raise ZeroDivisionError("by zero")

    for fit in (es.KNN(5, metric=broken).build, es.ClassicalMDS(2, metric=broken).fit):
        with pytest.raises(GraphError, match=r"The metric broken raised ZeroDivisionError \(by zero\)") as refused:
            fit(X)
        assert isinstance(refused.value.__cause__, ZeroDivisionError)


def test_new_points_without_a_distance_are_refused() -> None:
    fitted = es.Isomap(2, metric=lambda x, z: NAN if max(x[0], z[0]) > 50 else float(np.abs(x - z).sum())).fit(X)
    assert np.isfinite(fitted.transform(X[:3] + 0.01)).all()
    with pytest.raises(GraphError, match="returned nan"):
        fitted.transform(X[:3] + 100)


def test_rounding_below_zero_is_no_negative_distance() -> None:
    def cosine(x: Any, z: Any) -> float:
        return 1.0 - x @ z / np.sqrt((x @ x) * (z @ z))

    Z = np.vstack([X, 3 * X[:10]])  # the same directions again: 1 − cos is 0, or ±1e-16
    assert min(cosine(a, b) for a, b in zip(Z[40:], Z, strict=False)) < 0
    found = es.KNN(4, metric=cosine).build(Z).distances
    assert found.data.min() == 0
    assert found[np.arange(10), np.arange(40, 50)].max() <= 1e-15


def test_values_of_one_number_in_any_wrapping_are_metrics() -> None:
    plain = es.KNN(4, metric="manhattan").build(X).distances.toarray()
    for wrap in (float, np.float32, np.atleast_1d, lambda d: np.array(d)):
        found = es.KNN(4, metric=lambda x, z, wrap=wrap: wrap(np.abs(x - z).sum())).build(X).distances
        np.testing.assert_allclose(found.toarray(), plain, rtol=1e-6)
    differ = es.KNN(4, metric=lambda x, z: np.any(x != z)).build(X)
    np.testing.assert_array_equal(differ.distances.data, 1.0)


def test_names_without_a_distance_for_some_rows() -> None:
    flat = np.vstack([X, np.ones((2, 4))])  # constant rows have no correlation
    for fit in (es.KNN(5, metric="correlation").build, es.ClassicalMDS(2, metric="correlation").fit):
        with pytest.raises(GraphError, match=r"\d+ of \d+ distances are NaN or infinite: metric='correlation'"):
            fit(flat)


@pytest.mark.parametrize("fit", [es.ClassicalMDS(2, metric="elliptic").fit, es.KNN(5, metric="elliptic").build])
def test_unknown_metrics(fit: Any) -> None:
    with pytest.raises(GraphError, match="metric='elliptic' cannot be used here"):
        fit(X)
    with pytest.raises(GraphError, match="metric='haversine' cannot be used here"):
        es.KNN(20, metric="haversine").build(np.hstack([X, X, X, X, X]))


# ---------------------------------------------------------------------- kernels
def linear(A: Any, B: Any) -> Any:
    return A @ B.T


KERNELLED = [es.KernelPCA(2), es.LPP(2), es.KernelPCA(2, landmarks=10), es.LDA(2)]


@pytest.mark.parametrize("estimator", KERNELLED, ids=str)
@pytest.mark.parametrize(
    ("kernel", "words"),
    [
        (lambda A, B: linear(A, B) + 1j, "complex"),
        (lambda A, B: complex(A @ B) if A.ndim == 1 else None, "real numbers"),
        (lambda A, B: np.full((len(A), len(B)), "far"), "text"),
        (lambda A, B: "far", "text"),
        (lambda A, B: None, "real numbers"),
        (lambda A, B: [[1.0], [2.0, 3.0]], "real numbers"),
        (lambda A, B: linear(A, B)[:, :-1], "shape"),
        (lambda A, B: np.where(linear(A, B) > 1, np.nan, 0.0), "NaN or infinite"),
        (lambda A, B: np.where(linear(A, B) > 1, np.inf, 0.0), "NaN or infinite"),
        ("chi2", "kernel='chi2' cannot be used here: X contains negative values"),
    ],
    ids=["complex", "complex pairs", "text", "word", "None", "ragged", "shape", "nan", "inf", "chi2"],
)
def test_kernels_that_are_none(estimator: Any, kernel: Any, words: str) -> None:
    with pytest.raises(KernelError, match=words):
        clone(estimator).set_params(kernel=kernel).fit(X, np.arange(40) % 3)


def test_pairs_that_have_no_kernel() -> None:
    for value in ("far", 1j, None, np.ones(2)):
        kernel = lambda x, z, value=value: value if x is not z and x[0] > 1 else float(np.sum(x * z))  # noqa: E731
        with pytest.raises(KernelError, match=r"real numbers|returned shape \(1, 40, 2\)"):
            es.KernelPCA(2, kernel=kernel).fit(X[np.argsort(X[:, 0])])


def test_matrices_that_are_no_kernel() -> None:
    K = X @ X.T
    rows = kernel_rows("precomputed", KernelValues(K))
    for wrong in (K + 1j, K.astype(str), np.where(K > 1, np.nan, K), np.ma.masked_greater(K, 1.0)):
        for use in (rows, partial(gram_matrix, rows), rows.among(np.arange(5))):
            with pytest.raises(KernelError, match=r"real numbers|NaN or infinite"):
                use(wrong)


def test_new_points_without_kernel_values_are_refused() -> None:
    for value in (np.nan, np.inf, 1j, "far"):

        def kernel(A: Any, B: Any, value: Any = value) -> Any:
            return linear(A, B) if np.max(A) < 50 else np.full((len(A), len(B)), value)

        fitted = es.KernelPCA(2, kernel=kernel).fit(X)
        with pytest.raises(KernelError, match=r"NaN or infinite|real numbers"):
            fitted.transform(X + 100)


# ---------------------------------------------------------------------- graphs that are given
@pytest.mark.parametrize(
    ("graph", "words"),
    [
        ((NEAR + 0.5, LENGTHS), "whole numbers; these are float64, 200 of 200 with a fraction"),
        ((NEAR.astype(float), LENGTHS), "whole numbers; these are float64, 0 of 200"),
        ((NEAR.astype(str), LENGTHS), "Neighbour indices must be real numbers; got text"),
        ((NEAR, np.full(NEAR.shape, "a")), "Distances to neighbours must be real numbers; got text"),
        ((NEAR, LENGTHS + 1j), "Distances to neighbours must be real numbers; got complex"),
        ((NEAR, [[1.0], [1.0, 2.0]]), "Distances to neighbours must be real numbers"),
        ((NEAR, np.ma.masked_greater(LENGTHS, 1.0)), "masked"),
        ((NEAR, np.full(NEAR.shape, NAN)), "finite distances that are not negative"),
        ((NEAR, np.full(NEAR.shape, INF)), "has no edge"),
        ((NEAR, -LENGTHS), "finite distances that are not negative"),
        ((NEAR[:, :0], LENGTHS[:, :0]), "The graph of the 40 points has no edge"),
        ((np.tile(np.arange(40)[:, None], 3), np.zeros((40, 3))), "has no edge"),
        (sp.csr_array((40, 40)), "has no edge"),
        (sp.csr_array(D + 1j), "must be real numbers; got complex"),
        (sp.csr_array(D * 1e200), "squares overflow: the largest is .*e.200. Divide"),
        (sp.csr_array(D * 1e-200), "squares vanish: the largest is .*e-200. Multiply"),
        (D, "graph=ndarray is not understood here.*csr_array"),
        (PCA(2), r"PCA is no neighbours transformer: of 40 rows it made shape \(40, 2\)"),
    ],
    ids=[
        "fractions", "floats", "text indices", "text", "complex", "ragged", "masked", "nan", "inf", "negative", "no columns",
        "itself", "empty", "sparse complex", "huge", "tiny", "dense", "transformer",
    ],
)  # fmt: skip
def test_graphs_that_are_none(graph: Any, words: str) -> None:
    with pytest.raises(GraphError, match=words):
        as_graph(graph, X)
    if not isinstance(graph, np.ndarray):
        with pytest.raises(GraphError, match=words):
            es.RelaxedMVU(2, graph=graph).fit(X)


def test_a_pair_of_plain_lists_is_a_graph() -> None:
    found = as_graph((NEAR.tolist(), LENGTHS.tolist()), X).distances
    np.testing.assert_allclose(found.toarray(), es.KNN(5).build(X).distances.toarray())


class Strange:
    """A specification of the user's own, of a graph and of weights, that goes wrong."""

    def __init__(self, made: Any) -> None:
        self.made = made

    def build(self, X: Any, codes: Any = None) -> Any:
        return self.made

    def bind(self, graph: Any, X: Any) -> Any:
        return self

    def weigh(self, distances: Any, X: Any) -> Any:
        return self.made(distances) if callable(self.made) else self.made


def test_specifications_of_the_users_own() -> None:
    with pytest.raises(GraphError, match="must return a NeighbourGraph; it returned a ndarray"):
        as_graph(Strange(D), X)
    for made, words in (
        (lambda d: d * np.nan, "200 of 200|\\d+ of \\d+ are NaN"),
        (lambda d: d * -1, "must not be negative"),
        (lambda d: d * np.inf, "infinite"),
        (lambda d: d * 1j, "complex"),
        (lambda d: d[:10], r"sparse distances of shape \(40, 40\) .* returned shape \(10, 40\)"),
        (lambda d: d.toarray(), "returned a ndarray"),
        (None, "returned a NoneType"),
    ):
        for weights in (Strange(made), es.Powered(Strange(made), 2.0)):
            with pytest.raises(GraphError, match=words):
                weights_of(weights)


def test_weights_that_no_number_can_hold() -> None:
    with pytest.raises(GraphError, match=r"Powered\(alpha=1e\+06\) makes every weight zero"):
        weights_of(es.Powered("heat", 1e6))
    with pytest.raises(GraphError, match="All edge weights vanish"):
        weights_of(es.Heat(1e-300))


# ---------------------------------------------------------------------- precomputed distances and affinities
W = np.where(D < 3, np.exp(-(D**2)), 0.0)


@pytest.mark.parametrize(
    ("estimator", "table", "words"),
    [
        (es.Isomap(2, graph="precomputed"), D, "Distances"),
        (es.LaplacianEigenmaps(2, graph="precomputed"), D, "Distances"),
        (es.LaplacianEigenmaps(2, graph="precomputed", extension="harmonic"), D, "Distances"),
        (es.MVU(2, graph="precomputed"), D, "Distances"),
        (es.Isomap(2, graph="precomputed", landmarks=30), D, "Distances"),
        (es.ClassicalMDS(2, metric="precomputed"), D, "Distances"),
        (es.LandmarkMDS(2, metric="precomputed", landmarks=np.arange(20)), D, "Distances"),
        (es.LaplacianEigenmaps(2, graph="precomputed", weights="precomputed"), W, "Affinities"),
        (es.DiffusionMap(2, graph="precomputed", weights="precomputed"), W, "Affinities"),
        (es.SpectralClustering(2, graph="precomputed", weights="precomputed"), W, "Affinities"),
    ],
    ids=lambda given: f"{given!r:.70}" if hasattr(given, "fit") else "",
)
def test_negative_rows_of_new_points_are_refused(estimator: Any, table: Any, words: str) -> None:
    fitted = clone(estimator).fit(table)
    new = table[:3] * 1.01
    assert np.isfinite(fitted.transform(new)).all()
    new[1, 4:15] = -0.5
    with pytest.raises(GraphError, match=rf"{words} must not be negative; \d+ of \d+ are, the smallest -0\.5"):
        fitted.transform(new)


def test_negative_stored_distances_are_refused_though_a_row_is_known() -> None:
    table = sp.csr_array(np.where(D < 2.5, D, 0.0))
    fitted = es.Isomap(2, graph="precomputed").fit(table)
    new = sp.csr_array((np.array([0.0, -1.0]), np.array([3, 5]), np.array([0, 2])), shape=(1, 40))
    with pytest.raises(GraphError, match="Distances must not be negative; 1 of 2 are, the smallest -1"):
        fitted.transform(new)


@pytest.mark.parametrize("choice", ["random", "maxmin", "leverage"])
def test_landmarks_of_rectangular_distances(choice: str) -> None:
    for wanted in (es.Landmarks(25, choice=choice), np.arange(25)):
        with pytest.raises(GraphError, match=r"square matrix of precomputed distances; X has shape \(40, 20\)"):
            choose_landmarks(D[:, :20], wanted, precomputed=True)
    with pytest.raises(GraphError, match="square"):
        es.LLE(2, graph="precomputed", landmarks=es.Landmarks(25, choice=choice)).fit(D[:, :20])


@pytest.mark.parametrize("use", [accept_distances, distance_graph], ids=["matrix", "graph"])
def test_distances_without_an_extent(use: Any) -> None:
    with pytest.raises(DimensionError, match="All 40 points coincide: every distance is zero"):
        use(np.zeros((40, 40)))
    for factor, words in ((1e300, "squares overflow"), (1e-300, "squares vanish")):
        with pytest.raises(GraphError, match=rf"The distances are so .*{words}: the largest is"):
            use(D * factor)
    with pytest.raises(GraphError, match="not symmetric"):
        use(np.tril(D))


# ---------------------------------------------------------------------- the mark of unlabelled points
def test_the_mark_of_unlabelled_points_is_one_label() -> None:
    y = np.arange(40) % 3
    for mark in (np.zeros(3), [-1], {}, (1, 2)):
        with pytest.raises(LabelError, match="must be the one label that marks unlabelled points"):
            encode_labels(y, X, unlabeled=mark)
    missing = pytest.importorskip("pandas").NA
    for mark in (missing, NAN, None):  # missing labels are missing without being marked
        np.testing.assert_array_equal(encode_labels(y, X, unlabeled=mark)[0], y)
