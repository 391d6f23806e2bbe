"""Landmarks: how they are chosen, what stands on them, and what is refused for want of memory."""

from __future__ import annotations

import pickle
import tracemalloc
import warnings
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import make_swiss_roll
from sklearn.metrics import pairwise_distances

import eigenspan as es
from against import wrong_with
from eigenspan.data import KernelValues
from eigenspan.errors import EigenspanWarning, GraphError, InputError, KernelError, MemoryLimitError
from eigenspan.graphs import choose_landmarks
from eigenspan.graphs.landmarks import _systematic
from eigenspan.numerics.nearest.pair_matrices import Asymmetry
from eigenspan.problem import Features, NystromFeatures, gram_matrix, kernel_rows, pose, solve
from eigenspan.problem.forms import centring
from helpers import assert_allclose_up_to_sign, assert_healthy, disparity, pairwise

CHOICES = ("random", "maxmin", "cholesky", "kmeans++", "leverage")
FAMILY = [
    es.LaplacianEigenmaps(n_neighbors=12),
    es.LaplacianEigenmaps(n_neighbors=12, extension="barycentric"),
    es.DiffusionMap(n_neighbors=12),
    es.CommuteTimeEmbedding(n_neighbors=12),
    es.LLE(n_neighbors=12),
    es.ModifiedLLE(n_neighbors=12),
    es.HessianLLE(n_neighbors=12),
    es.LTSA(n_neighbors=12),
]
family = pytest.mark.parametrize("estimator", FAMILY, ids=lambda e: f"{type(e).__name__}-{getattr(e, 'extension', '')}")

pytestmark = pytest.mark.filterwarnings("ignore::eigenspan.errors.EigenspanWarning")


def explained(target: Any, Y: Any) -> Any:
    """Share of each column of the target that an affine function of Y explains."""
    A = np.column_stack([np.ones(len(Y)), Y])
    rest = target - A @ np.linalg.lstsq(A, target, rcond=None)[0]
    return 1 - rest.var(axis=0) / target.var(axis=0)


# ---------------------------------------------------------------------- choosing
@pytest.fixture(scope="module")
def outlying() -> Any:
    """3000 points of which six lie far away, their rbf kernel, and which six."""
    rng = np.random.default_rng(0)
    X, far = rng.standard_normal((3000, 3)), np.zeros(3000, dtype=bool)
    far[rng.choice(3000, 6, replace=False)] = True
    X[far] = 20 + 0.3 * rng.standard_normal((6, 3))
    return X, far, es.Kernel("rbf", gamma=0.05)


def _nystrom_error(K: Any, chosen: Any) -> float:
    values, U = np.linalg.eigh(K[np.ix_(chosen, chosen)])
    keep = values > 1e-12 * values[-1]
    F = K[:, chosen] @ (U[:, keep] / np.sqrt(values[keep]))
    return float(np.linalg.norm(K - F @ F.T))


def test_leverage_and_spread_find_a_tiny_far_group(outlying: Any) -> None:
    X, far, kernel = outlying
    K = gram_matrix(kernel_rows(kernel, X), X)
    errors: dict[str, list[float]] = {choice: [] for choice in CHOICES}
    for seed in range(3):
        for choice in CHOICES:
            fitted = es.KernelPCA(kernel=kernel, landmarks=es.Landmarks(60, choice=choice), random_state=seed).fit(X)
            assert fitted.landmarks_.size == 60
            if choice != "random":
                assert far[fitted.landmarks_].any()
            errors[choice].append(_nystrom_error(K, fitted.landmarks_))
    for choice in CHOICES[1:]:
        assert 10 * max(errors[choice]) < min(errors["random"])


@pytest.mark.parametrize("choice", CHOICES)
@pytest.mark.every(2)
def test_choices_follow_the_seed(choice: str) -> None:
    X = np.random.default_rng(1).standard_normal((300, 4))
    spec = es.Landmarks(25, choice=choice)
    first = [choose_landmarks(X, spec, random_state=seed) for seed in range(4)]
    for seed, chosen in enumerate(first):
        np.testing.assert_array_equal(chosen, choose_landmarks(X, spec, random_state=seed))
        assert len(set(chosen)) == 25
        assert chosen.min() >= 0
        assert chosen.max() < 300
        np.testing.assert_array_equal(choose_landmarks(sp.csr_array(X), spec, random_state=seed), chosen)
    assert len({tuple(sorted(chosen)) for chosen in first}) == (
        1 if choice == "cholesky" else 4
    )  # pivots leave nothing to chance
    assert set(choose_landmarks(X, es.Landmarks(300, choice=choice))) == set(range(300))
    assert choose_landmarks(X, es.Landmarks(1, choice=choice)).size == 1


@pytest.mark.parametrize("m", [7, 30, 120])
@pytest.mark.every(3)
def test_leverage_draws_by_the_scores_it_estimates(m: int) -> None:
    """Inclusion follows the exact ridge leverage: points with twice the leverage are drawn about twice as often."""
    rng = np.random.default_rng(0)
    X = np.vstack([rng.standard_normal((350, 2)), 4 * rng.standard_normal((50, 2))])
    rows = kernel_rows(es.Kernel("rbf", gamma=0.5), X)
    K = gram_matrix(rows, X)
    values = np.linalg.eigvalsh(K)[::-1]
    k = max(1, m // 4)
    ridge = values[k:].sum() / k
    exact = np.diagonal(K @ np.linalg.inv(K + ridge * np.eye(400)))
    drawn = np.zeros(400)
    for seed in range(60):
        chosen = choose_landmarks(
            X, es.Landmarks(m, choice="leverage"), random_state=seed, kernel=lambda i, j: K[np.ix_(i, j)]
        )
        assert chosen.size == m
        drawn[chosen] += 1 / 60
    expected = np.minimum(1.0, m * exact / exact.sum())
    order = np.argsort(exact)
    for part in np.array_split(order, 4):
        assert abs(drawn[part].sum() - expected[part].sum()) < 0.25 * expected[part].sum() + 0.02 * m


def test_leverage_of_distances_is_that_of_their_points() -> None:
    X = np.random.default_rng(2).standard_normal((200, 3))
    spec = es.Landmarks(20, choice="leverage")
    of_points = choose_landmarks(X, spec, random_state=3)
    np.testing.assert_array_equal(choose_landmarks(pairwise(X), spec, random_state=3, precomputed=True), of_points)


def test_coincident_points_are_accepted() -> None:
    X = np.repeat(np.random.default_rng(0).standard_normal((5, 2)), 40, axis=0)
    assert choose_landmarks(X, es.Landmarks(12, choice="leverage")).size == 12
    for choice in ("maxmin", "kmeans++"):
        chosen = choose_landmarks(X, es.Landmarks(12, choice=choice))
        assert len(np.unique(X[chosen], axis=0)) == 5


def test_landmarks_is_a_specification() -> None:
    spec = es.Landmarks(30, choice="maxmin")
    assert clone(spec).get_params() == {"n": 30, "choice": "maxmin"}
    estimator = es.LandmarkIsomap(landmarks=spec)
    assert clone(estimator).landmarks.choice == "maxmin"
    assert estimator.set_params(landmarks__n=40).landmarks.n == 40
    X = np.random.default_rng(0).standard_normal((50, 3))
    with pytest.raises(InputError, match="must lie between 1 and n_samples=50"):
        es.KernelPCA(landmarks=es.Landmarks(51)).fit(X)
    with pytest.raises(InputError, match=r"Landmarks\(choice='best'\) cannot be used"):
        es.LLE(landmarks=es.Landmarks(20, choice="best")).fit(X)


@pytest.mark.parametrize("choice", CHOICES)
@pytest.mark.every(2)
def test_every_method_with_landmarks_takes_the_specification(choice: str, roll: Any) -> None:
    spec, rbf = es.Landmarks(60, choice=choice), es.Kernel("rbf", gamma="median")
    methods = [
        es.LandmarkMDS(landmarks=spec, choice="random"),
        es.Isomap(landmarks=spec),
        es.LandmarkIsomap(landmarks=spec),
        es.KernelPCA(landmarks=spec),
        es.LPP(kernel=rbf, landmarks=spec),
        es.LDA(kernel=rbf, landmarks=spec),
        es.TraceReducer(basis="kernel", landmarks=spec),
        es.LLE(landmarks=spec),
    ]
    for estimator in methods:
        fitted = estimator.fit(roll.X, roll.y)
        assert_healthy(fitted.transform(roll.X[:5] + 0.1), 5)
        assert not wrong_with(fitted, roll.X, roll.y)
        if hasattr(fitted, "landmarks_") and choice in ("random", "maxmin", "kmeans++"):
            np.testing.assert_array_equal(fitted.landmarks_, choose_landmarks(roll.X, spec))


def test_choices_that_need_coordinates() -> None:
    X = np.random.default_rng(0).standard_normal((60, 3))
    D, K = pairwise(X), X @ X.T
    with pytest.raises(InputError, match=r'"kmeans\+\+" need coordinates; with precomputed distances use "maxmin"'):
        es.LandmarkMDS(metric="precomputed", landmarks=es.Landmarks(9, choice="kmeans++")).fit(D)
    for choice in ("kmeans++", "maxmin"):
        with pytest.raises(InputError, match='need coordinates; with precomputed kernel values use "leverage"'):
            es.KernelPCA(kernel="precomputed", landmarks=es.Landmarks(9, choice=choice)).fit(K)
    assert es.KernelPCA(kernel="precomputed", landmarks=es.Landmarks(9, choice="leverage")).fit(K).landmarks_.size == 9
    with pytest.raises(InputError, match='"maxmin"\\) needs coordinates, and X holds distances'):
        es.Isomap(graph="precomputed", landmarks=es.Landmarks(20, choice="maxmin")).fit(D)
    with pytest.raises(InputError, match=r'"leverage".* needs coordinates or distances'):
        es.LaplacianEigenmaps(
            graph="precomputed", weights="precomputed", landmarks=es.Landmarks(20, choice="leverage")
        ).fit(np.exp(-D))


# ---------------------------------------------------------------------- graph embeddings on landmarks
@family
@pytest.mark.every(3)
def test_the_fit_is_that_of_the_landmarks_and_the_map_does_the_rest(estimator: Any) -> None:
    X, _ = make_swiss_roll(900, random_state=0)
    chosen = np.random.default_rng(0).permutation(900)[:400]
    fitted = clone(estimator).set_params(landmarks=chosen).fit(X)
    alone = clone(estimator).fit(X[chosen])
    np.testing.assert_array_equal(fitted.landmarks_, chosen)
    np.testing.assert_array_equal(fitted.embedding_[chosen], alone.embedding_)
    np.testing.assert_array_equal(fitted.embedding_, alone.transform(X))
    np.testing.assert_array_equal(fitted.transform(X), fitted.embedding_)
    np.testing.assert_array_equal(fitted.transform(X[:9] + 0.1), alone.transform(X[:9] + 0.1))
    np.testing.assert_array_equal(fitted.eigenvalues_, alone.eigenvalues_)
    np.testing.assert_array_equal(fitted.graph_.rows, chosen)
    assert not hasattr(clone(fitted).fit(X).set_params(landmarks=None).fit(X), "landmarks_")
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.transform(X[:9] + 0.1), fitted.transform(X[:9] + 0.1))


@pytest.fixture(scope="module")
def long_roll() -> Any:
    X, t = make_swiss_roll(5000, random_state=0)
    return X, np.column_stack([(t * np.hypot(1, t) + np.arcsinh(t)) / 2, X[:, 1]])


@pytest.mark.parametrize(
    ("estimator", "least"),
    [
        (es.LaplacianEigenmaps(n_neighbors=12), 0.98),
        (es.LLE(n_neighbors=12, reg=1e-2), 0.9),
        (es.LTSA(n_neighbors=12), 0.999),
    ],
    ids=["LaplacianEigenmaps", "LLE", "LTSA"],
)
@pytest.mark.every(3)
def test_a_fifth_of_the_points_give_the_embedding_of_all(estimator: Any, least: float, long_roll: Any) -> None:
    X, truth = long_roll
    whole = clone(estimator).fit(X).embedding_
    for seed in (0, 1):
        part = clone(estimator).set_params(landmarks=1000, random_state=seed).fit(X).embedding_
        assert_healthy(part, 5000)
        assert explained(whole, part).min() > least
        if isinstance(estimator, es.LTSA):
            assert explained(truth, part).min() > 0.95


@pytest.mark.parametrize("name", ["LaplacianEigenmaps", "DiffusionMap", "CommuteTimeEmbedding"])
@pytest.mark.parametrize("choice", ["random", "maxmin", "leverage"])
def test_precomputed_distances_are_sliced(name: str, choice: str, roll: Any) -> None:
    spec = es.Landmarks(80, choice=choice)
    D, new = pairwise(roll.X), pairwise_distances(roll.X[:7] + 0.1, roll.X)
    given = es.make(name, graph="precomputed", landmarks=spec).fit(D)
    points = es.make(name, landmarks=spec).fit(roll.X)
    np.testing.assert_array_equal(given.landmarks_, points.landmarks_)
    size = np.abs(points.embedding_).max()
    np.testing.assert_allclose(given.embedding_, points.embedding_, atol=1e-6 * size)
    np.testing.assert_allclose(given.transform(new), points.transform(roll.X[:7] + 0.1), atol=1e-6 * size)
    np.testing.assert_array_equal(given.transform(D), given.embedding_)


def test_precomputed_affinities_are_sliced(roll: Any) -> None:
    W = np.exp(-(pairwise(roll.X) ** 2) / 100)
    chosen = np.arange(0, 240, 3)
    fitted = es.LaplacianEigenmaps(graph="precomputed", weights="precomputed", landmarks=chosen).fit(W)
    alone = es.LaplacianEigenmaps(graph="precomputed", weights="precomputed").fit(W[np.ix_(chosen, chosen)])
    np.testing.assert_array_equal(fitted.embedding_[chosen], alone.embedding_)
    others = np.setdiff1d(np.arange(240), chosen)
    np.testing.assert_allclose(fitted.embedding_[others], alone.transform(W[np.ix_(others, chosen)]), atol=1e-12)


def test_graphs_over_all_points_are_refused(roll: Any) -> None:
    graph = es.KNN(10).build(roll.X)
    near = np.argsort(pairwise(roll.X), axis=1)[:, 1:6]
    for given in (graph, graph.distances, (near, np.take_along_axis(pairwise(roll.X), near, axis=1))):
        with pytest.raises(GraphError, match=r"landmarks= builds the graph among some rows.*all 240 points"):
            es.LLE(graph=given, landmarks=50).fit(roll.X)
    assert_healthy(es.LLE(graph=es.KNN(8), landmarks=60).fit(roll.X).embedding_, 240)


def test_landmarks_of_a_disconnected_graph(islands: Any) -> None:
    chosen = np.arange(0, 60, 2)[::-1]
    for policy in ("connect", "largest"):
        fitted = es.LaplacianEigenmaps(n_neighbors=4, landmarks=chosen, disconnected=policy).fit(islands.X)
        assert not wrong_with(fitted, islands.X)
        np.testing.assert_array_equal(fitted.transform(islands.X), fitted.embedding_)
        assert set(fitted.graph_.rows) <= set(chosen)
    assert set(islands.y[fitted.graph_.rows]) == {0}  # the largest component, as rows of the input
    D = pairwise(islands.X)
    given = es.LaplacianEigenmaps(n_neighbors=4, graph="precomputed", landmarks=chosen, disconnected="largest").fit(D)
    np.testing.assert_array_equal(given.graph_.rows, fitted.graph_.rows)
    assert_healthy(given.embedding_, 60)
    np.testing.assert_array_equal(given.transform(D), given.embedding_)


# ---------------------------------------------------------------------- kernel PCA in blocks
@pytest.mark.parametrize("kernel", ["rbf", "poly", "cosine", "linear", "precomputed"])
def test_blocks_give_the_nystrom_features(kernel: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("eigenspan.problem.nystrom._BLOCK_BYTES", 8 * 60 * 37)  # 37 rows at a time
    X = np.random.default_rng(0).standard_normal((500, 6)) + 1
    X = X @ X.T if kernel == "precomputed" else X
    fitted = es.KernelPCA(3, kernel=kernel, landmarks=60).fit(X)
    given = KernelValues(X) if kernel == "precomputed" else X
    basis = Features.kernel(kernel, given, landmarks=fitted.landmarks_)
    posed = pose(basis, maximise=centring(500), unit="projection")
    whole = solve(posed.problem, 3)
    np.testing.assert_allclose(fitted.eigenvalues_, whole.values, rtol=1e-10)
    Y = posed.basis.embed(whole.vectors)
    assert_allclose_up_to_sign(fitted.embedding_, Y, atol=1e-8 * np.abs(Y).max())
    np.testing.assert_allclose(fitted.transform(X), fitted.embedding_, atol=1e-12 * np.abs(Y).max())


def test_kernel_pca_on_landmarks_never_holds_all_kernel_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("nystrom", "map"):
        monkeypatch.setattr(f"eigenspan.problem.{module}._BLOCK_BYTES", 2**21)
    X = np.random.default_rng(0).standard_normal((60_000, 5))
    tracemalloc.start()
    fitted = es.KernelPCA(2, landmarks=150).fit(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert_healthy(fitted.embedding_, 60_000)
    assert peak < 0.3 * 8 * 60_000 * 150


def test_a_constant_kernel() -> None:
    X = np.random.default_rng(0).standard_normal((40, 3))
    with pytest.raises(KernelError, match=r"sees no difference between the 40 points.*between 1 and 1"):
        NystromFeatures.build(lambda a, b: np.ones((a.shape[0], b.shape[0])), X, 10)


def test_gram_matrices_are_symmetric_and_those_of_scikit_learn() -> None:
    from sklearn.metrics.pairwise import pairwise_kernels

    X = np.random.default_rng(0).standard_normal((1300, 4)) + 100  # more than one tile, far from the origin
    for name in ("rbf", "laplacian", "poly", "cosine"):
        rows = kernel_rows(es.Kernel(name, gamma=0.01), X)
        K = gram_matrix(rows, X)
        np.testing.assert_allclose(K, K.T, rtol=1e-12)
        expected = pairwise_kernels(X, metric=name, **rows.parameters)
        np.testing.assert_allclose(K, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())
    assert np.all(np.diagonal(gram_matrix(kernel_rows("rbf", X), X)) == 1)


def test_asymmetry_is_found_in_any_tile() -> None:
    M = np.zeros((1200, 1200))
    assert Asymmetry.of(M) == Asymmetry()
    M += 2.0
    for i, j in ((1199, 3), (3, 1199), (700, 701)):
        M[i, j] += 0.5
        assert Asymmetry.of(M).skew == 0.5
        assert Asymmetry.of(M).skew_of_squares == 2.25
        M[i, j] -= 0.5
    assert Asymmetry.of(-M) == Asymmetry(2.0)


# ---------------------------------------------------------------------- one n×n array
def test_isomap_keeps_one_square_array() -> None:
    X, _ = make_swiss_roll(2200, random_state=0)
    es.Isomap(n_neighbors=10).fit(X)  # what is compiled once is no part of the measure
    tracemalloc.start()
    fitted = es.Isomap(n_neighbors=10).fit(X)
    kept, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert kept < 1.2 * 8 * 2200**2
    assert peak < 1.5 * 8 * 2200**2
    from sklearn.manifold import Isomap

    theirs = Isomap(n_components=2, n_neighbors=10).fit(X)
    assert disparity(fitted.embedding_, theirs.embedding_) < 1e-6
    new = X[::7] + 0.05
    together = disparity(
        np.vstack([fitted.embedding_, fitted.transform(new)]), np.vstack([theirs.embedding_, theirs.transform(new)])
    )
    assert together < 1e-4  # the two extensions tie new points to their neighbours alike


def test_geodesics_are_recovered_from_the_gram_matrix() -> None:
    from eigenspan.graphs import geodesic_distances
    from eigenspan.methods.distances.isomap import KeptGeodesics
    from eigenspan.problem import gram

    X, _ = make_swiss_roll(300, random_state=0)
    D = geodesic_distances(es.KNN(12).build(X).undirected())
    G = -0.5 * D**2
    means = G.mean(axis=0)
    kept = KeptGeodesics(gram(G).dense, means)
    rows = np.array([7, 0, 299, 7])
    np.testing.assert_allclose(kept[rows], D[rows], atol=1e-10 * D.max())
    assert np.all(kept[rows][np.arange(4), rows] == 0)


@pytest.mark.parametrize("metric", ["precomputed", "cityblock"])
@pytest.mark.every(2)
def test_classical_mds_keeps_its_input_and_allocates_few_arrays(metric: str) -> None:
    X = np.random.default_rng(0).standard_normal((2200, 4))
    D = pairwise_distances(X, metric="cityblock")
    before = D.copy()
    tracemalloc.start()
    fitted = es.ClassicalMDS(2, metric=metric).fit(D if metric == "precomputed" else X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    np.testing.assert_array_equal(D, before)
    assert peak < (1.5 if metric == "precomputed" else 2.5) * D.nbytes
    G = -0.5 * (D**2 - (D**2).mean(axis=0) - (D**2).mean(axis=1)[:, None] + (D**2).mean())
    values = np.linalg.eigvalsh(G)
    np.testing.assert_allclose(fitted.eigenvalues_, values[::-1][:2], rtol=1e-9)
    assert abs(fitted.diagnostics_["smallest_eigenvalue"] - values[0]) < 0.02 * values[-1]


def test_non_euclidean_distances_of_many_points_are_reported() -> None:
    rng = np.random.default_rng(0)
    D = rng.random((700, 700))
    D = D + D.T
    np.fill_diagonal(D, 0.0)
    with pytest.warns(EigenspanWarning, match="far from Euclidean"):
        es.ClassicalMDS(2, metric="precomputed").fit(D)
    X = rng.standard_normal((700, 3))
    with warnings.catch_warnings():
        warnings.simplefilter("error", EigenspanWarning)
        es.ClassicalMDS(2, metric="precomputed").fit(pairwise(X))


# ---------------------------------------------------------------------- memory
BIG = np.random.default_rng(0).standard_normal((3000, 4))


@pytest.mark.parametrize(
    ("estimator", "call"),
    [
        (es.KernelPCA(), "KernelPCA(landmarks=300)"),
        (es.ClassicalMDS(metric="cityblock"), "LandmarkMDS(landmarks=300)"),
        (es.Isomap(), "LandmarkIsomap"),
        (es.LPP(kernel="rbf"), "landmarks=300 beside kernel="),
        (es.LandmarkMDS(landmarks=3000, choice="random"), "LandmarkMDS(landmarks=1500)"),
        (es.KernelPCA(landmarks=3000), "landmarks=1500"),
        (es.KernelPCA(landmarks=20, preimage="ridge"), "Leave preimage= out"),
    ],
    ids=["KernelPCA", "ClassicalMDS", "Isomap", "LPP", "LandmarkMDS", "KernelPCA-landmarks", "preimage"],
)
def test_errors_name_the_call_to_use(estimator: Any, call: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EIGENSPAN_MEMORY", "30M")
    with pytest.raises(MemoryLimitError) as refusal:
        estimator.fit(BIG)
    assert call in str(refusal.value)


@pytest.mark.parametrize(
    "estimator",
    [
        es.KernelPCA(landmarks=300),
        es.LandmarkMDS(landmarks=300, metric="cityblock"),
        es.LandmarkIsomap(landmarks=300),
        es.LPP(kernel="rbf", landmarks=300),
        es.LLE(landmarks=300),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
@pytest.mark.every(2)
def test_the_calls_named_fit(estimator: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EIGENSPAN_MEMORY", "40M")
    assert_healthy(estimator.fit(BIG).embedding_, 3000)


@pytest.mark.parametrize("seed", range(5))
def test_shares_above_one_are_made_up_by_the_largest_others(seed: int) -> None:
    """A point is drawn once, however large its share: the points that are then missing are those of the largest shares."""
    shares = np.array([0.05, 2.6, 0.2, 0.15, 1.0, 0.0])
    drawn = _systematic(shares, np.zeros(6, dtype=np.intp), np.random.RandomState(seed))
    assert len(drawn) == len(set(drawn)) == 4
    assert {1, 4} <= set(drawn)
    missed = set(range(6)) - set(drawn)
    assert 5 in missed


@pytest.mark.parametrize("seed", range(5))
def test_shares_of_a_whole_cell_draw_one_point_of_it(seed: int) -> None:
    cells = np.array([2, 0, 1, 0, 2, 1, 0, 2, 1])
    shares = np.array([0.5, 0.2, 0.3, 0.3, 0.25, 0.3, 0.5, 0.25, 0.4])
    drawn = _systematic(shares, cells, np.random.RandomState(seed))
    np.testing.assert_array_equal(np.sort(cells[drawn]), [0, 1, 2])
