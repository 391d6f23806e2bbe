"""Input that cannot work, or works only with care: the error, its words and its numbers. Never NaN out, never fewer rows."""

from __future__ import annotations

import tracemalloc
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError
from sklearn.utils import estimator_checks

import eigenspan as es
from against import wrong_with
from cases import Case, estimators, over, own
from eigenspan.errors import (
    DimensionError,
    DisconnectedError,
    DisconnectedWarning,
    DuplicateWarning,
    GraphError,
    IndefiniteWarning,
    InputError,
    KernelError,
    LabelError,
    MemoryLimitError,
    RidgeWarning,
    UnitError,
)
from eigenspan.methods.base.graph_embedding import GraphEmbedding
from eigenspan.methods.unfolding import Unfolding
from eigenspan.problem import Form, TraceProblem, diagonal, solve
from helpers import angle, assert_allclose_up_to_sign, assert_healthy, pairwise, quietly, reports, says

InvalidParameterError = estimator_checks.InvalidParameterError
RNG = np.random.default_rng(7)
X = RNG.standard_normal((30, 5))
Y3 = np.arange(30) % 3
D = pairwise(X)
K = np.exp(-(D**2))

LINEAR = ["PCA", "LPP", "OLPP", "NPP", "ONPP", "LLTSA", "LDA"]
PAIRS = [case.id for case in own() if {"axes", "n_neighbors"} <= set(case.template.get_params())]
PAIRS.append("SupervisedNonlinearLocalEmbedding")
NEIGHBOURS = [case.id for case in own() if "n_neighbors" in case.template.get_params() and case.id not in PAIRS]
IMPLICIT = [
    case.id
    for case in own()
    if case.template.get_params().get("disconnected") == "connect"
    and not case.template.__sklearn_tags__().target_tags.required
]
LOCAL = ["ModifiedLLE", "HessianLLE", "LTSA", "GeodesicNullspaceAnalysis"]


# ---------------------------------------------------------------------- numbers that are none, and too few of them
@over(estimators())
@pytest.mark.parametrize(("bad", "word"), [(np.nan, "NaN"), (np.inf, "infinity")])
@pytest.mark.every(6)
def test_nan_and_infinity(case: Case, bad: float, word: str) -> None:
    broken = X.copy()
    broken[3, 2] = bad
    if np.isnan(bad) and case.template.__sklearn_tags__().input_tags.allow_nan:
        assert_healthy(quietly(lambda: case.make().fit(broken, Y3)).embedding_, 30)
        return
    with pytest.raises(ValueError, match=f"Input X contains {word}"):
        case.make().fit(broken, Y3)
    fitted = quietly(lambda: es.PCA().fit(X) if "landmarks" in case.id else case.make().fit(X, Y3))
    with pytest.raises(ValueError, match=f"Input X contains {word}"):
        fitted.transform(broken)


@over(own())
def test_one_sample(case: Case) -> None:
    with pytest.raises(ValueError, match=r"1 sample\(s\).*minimum of 2 is required"):
        case.make().fit(X[:1], Y3[:1])


@over(own())
def test_two_samples_are_few(case: Case) -> None:
    """Two points span one dimension: it is found, or the error says why not."""
    params = {"n_components": 1} if case.id != "SpectralClustering" else {"n_clusters": 2}
    if case.id in LOCAL or case.id in ("LLTSA", "LandmarkMVU"):
        with pytest.raises(GraphError, match=says("n_components=1 needs at least 2 neighbours", "some have 1")):
            case.make(**params).fit(X[:2], [0, 1])
        return
    if case.id in ("LFDA", "MFA", "LDE"):
        with pytest.raises(LabelError, match=says("no class has two labelled samples", "gamma > 0")):
            quietly(lambda: case.make(**params).fit(X[:2], [0, 1]))
        return
    if case.id == "SupervisedNonlinearLocalEmbedding":
        with pytest.raises(LabelError, match="None of the 2 classes has two labelled rows"):
            case.make(**params).fit(X[:2], [0, 1])
        return
    if case.id == "PHD":  # the products of rows at −1 and 1 with the response cancel exactly
        with pytest.raises(LabelError, match="it bends along no axis"):
            quietly(lambda: case.make(**params).fit(X[:2], [0, 1]))
        return
    if case.id in ("SAVE", "DirectionalRegression", "LAD"):
        with pytest.raises(LabelError, match=says("2 of 2 slices of the response have one row only", "n_slices=")):
            quietly(lambda: case.make(**params).fit(X[:2], [0, 1]))
        return
    Y = quietly(lambda: case.make(**params).fit(X[:2], [0, 1]).embedding_)
    assert_healthy(Y, 2)


@pytest.mark.parametrize("name", LINEAR)
def test_one_feature_linear(name: str) -> None:
    words = ["n_features=1"] if name == "LLTSA" else ["exceeds 1", "rank of the centred features", "n_components <= 1"]
    with pytest.raises(DimensionError, match=says("n_components=2", *words)):
        es.make(name, n_components=2).fit(X[:, :1], Y3)
    assert_healthy(es.make(name, n_components=1).fit(X[:, :1], Y3).embedding_, 30)


@pytest.mark.parametrize("name", LOCAL)
def test_one_feature_tangents(name: str) -> None:
    with pytest.raises(DimensionError, match=says("n_components=2 exceeds n_features=1", "tangent dimension")):
        es.make(name).fit(X[:, :1])
    assert_healthy(quietly(lambda: es.make(name, n_components=1).fit(X[:, :1]).embedding_), 30)


def test_one_feature_distances() -> None:
    with pytest.raises(DimensionError, match=says("n_components=2 exceeds 1", "n_features=1")):
        es.ClassicalMDS().fit(X[:, :1])
    for name in ("LandmarkMDS", "Isomap", "LandmarkIsomap"):
        with pytest.raises(
            DimensionError, match=says("n_components=2", "only 1 positive eigenvalues", "n_components=1")
        ):
            quietly(lambda name=name: es.make(name).fit(X[:, :1]))


@over(own())
@pytest.mark.every(3)
def test_constant_column_changes_nothing(case: Case) -> None:
    plain = quietly(lambda: case.make().fit(X, Y3))
    padded = quietly(lambda: case.make().fit(np.c_[X, np.full(30, 1e3)], Y3))
    assert_healthy(padded.embedding_, 30)
    # kernels whose width is 1/n_features; noise that is the same in every column
    if case.id not in ("KernelPCA", "KernelCCA", "SupervisedNonlinearLocalEmbedding", "MixturePPCA"):
        assert angle(plain.embedding_, padded.embedding_) < 1e-2


NO_EXTENT = (DimensionError, ["All", "rows coincide"])
COINCIDE = {
    **dict.fromkeys(["KernelPCA", "ClassicalMDS"], (DimensionError, ["only 0 positive", "coincide"])),
    **dict.fromkeys(["LPP", "OLPP"], (GraphError, ["All 30 sampled points coincide"])),
    "LandmarkMDS": (DimensionError, ["n_components=2 exceeds"]),
    **dict.fromkeys(
        ["KernelCCA", "SupervisedNonlinearLocalEmbedding"], (KernelError, ["sees no difference between the 30 points"])
    ),
}


@over(own())
def test_all_rows_equal(case: Case) -> None:
    error, words = COINCIDE.get(case.id, NO_EXTENT)
    with pytest.raises(error, match=says(*words)):
        quietly(lambda: case.make().fit(np.full((30, 4), 2.5), Y3))


@pytest.mark.parametrize("n_components", [None, 0.5])
def test_all_rows_equal_with_a_share_of_the_variance(n_components: Any) -> None:
    with pytest.raises(DimensionError, match="All rows coincide"):
        es.PCA(n_components).fit(np.ones((6, 3)))
    with pytest.raises(KernelError, match=says("sees no difference between the 6 points", "between 1 and 1")):
        es.LPP(kernel="rbf").fit(np.ones((6, 3)))


def _counts_copies(case: Case) -> bool:
    """A copy is no neighbour there, but counts as one point more: tests/methods/test_copies.py has the definition."""
    implicit = isinstance(case.template, GraphEmbedding) and not isinstance(case.template, Unfolding)
    return implicit or case.id == "SpectralClustering"


@over(own())
@pytest.mark.every(3, start=1)
def test_a_few_duplicates(case: Case) -> None:
    twice = np.vstack([X[:27], X[:3]])
    fitted = quietly(lambda: case.make().fit(twice, Y3))
    assert_healthy(fitted.embedding_, 30)
    if not _counts_copies(case):
        assert not wrong_with(fitted, twice, Y3)
    out = fitted.transform(twice)
    if case.lookup:
        np.testing.assert_array_equal(out[27:], out[:3])  # coincident rows share one place
    else:  # products of some 30 terms, which kernels may add up in another order from one row to the next
        np.testing.assert_allclose(out[27:], out[:3], rtol=0, atol=1e-13 * np.abs(out).max())
    assert_healthy(fitted.transform(twice + 0.1), 30)


@over(own())
@pytest.mark.every(3, start=2)
def test_neighbourhoods_of_duplicates_only(case: Case) -> None:
    buried = np.vstack([np.repeat(X[:1], 14, axis=0), X[14:]])
    if case.id in NEIGHBOURS and not _counts_copies(case):
        with reports(DuplicateWarning, "of 30 points have only exact copies"):
            fitted = case.make().fit(buried, Y3)
    else:
        fitted = quietly(lambda: case.make().fit(buried, Y3))
    assert_healthy(fitted.embedding_, 30)
    assert_healthy(fitted.transform(buried + 0.1), 30)


@over(own())
@pytest.mark.every(3)
def test_a_point_far_away(case: Case) -> None:
    far = np.vstack([X, np.full((1, 5), 1e6)])
    y = np.append(Y3, 0)
    if case.id in ("LaplacianEigenmaps", "DiffusionMap", "CommuteTimeEmbedding", "ManifoldKDR"):
        with pytest.raises(GraphError, match=says("1 of 31 points vanish", "2 pieces", 'weights="binary"')):
            case.make().fit(far, y)
        assert_healthy(quietly(lambda: case.make(weights="binary").fit(far, y).embedding_), 31)
        return
    assert_healthy(quietly(lambda: case.make().fit(far, y).embedding_), 31)


@over(own())
@pytest.mark.every(3, start=1)
def test_new_points_far_away(case: Case) -> None:
    fitted = quietly(lambda: case.make().fit(X, Y3))
    assert_healthy(fitted.transform(np.full((2, 5), 1e7)), 2)


# ---------------------------------------------------------------------- too many neighbours, too many components
@pytest.mark.parametrize("name", NEIGHBOURS + PAIRS)
@pytest.mark.every(2)
def test_as_many_neighbours_as_points(name: str) -> None:
    with pytest.raises(GraphError, match=says("n_neighbors=30", "n_samples - 1 = 29")):
        es.make(name, n_neighbors=30).fit(X, Y3)
    fitted = quietly(lambda: es.make(name, n_neighbors=29).fit(X, Y3))
    assert_healthy(fitted.embedding_, 30)
    assert not wrong_with(fitted, X, Y3)


TOO_MANY = {
    **dict.fromkeys(
        [
            "PCA",
            "PPCA",
            "OrientedPCA",
            "LPP",
            "OLPP",
            "NPP",
            "ONPP",
            "TraceReducer",
            "GraphEmbeddingFramework",
            "GraphEmbeddingFramework-class",
        ],
        ("n_components=40 exceeds 5", "rank of the centred", "<= 5"),
    ),
    **dict.fromkeys([*LOCAL, "LLTSA"], ("n_components=40 exceeds n_features=5",)),
    "ClassicalMDS": ["n_components=40 exceeds 5", "n_features=5"],
    "DistortionDiscriminantAnalysis": ["n_components=40 exceeds 5", "its layer joins"],
    "DistortionDiscriminantAnalysis-layers": ["n_components=40 exceeds 2", "its layer joins"],
    "MixturePPCA": ["n_components=40 exceeds 5", "n_features=5"],
    "LDA": ["n_components=40", "3 classes", "at most 2"],
    "LDA-trace-ratio": ["n_components=40 exceeds 5", "number of features"],
    "TraceReducer-ratio": ["n_components=40 exceeds 5", "dimension of the problem"],
    "SpectralClustering": ["n_components=40 exceeds n_samples=30"],
    "SpectralClustering-ratio": ["n_components=40 exceeds n_samples=30"],
    "EigenmapClassifier": ["n_components=40 functions", "30 labelled points", "<= 29"],
    "KernelPCA-landmarks": ["n_components=40 exceeds 29", "<= 29"],
    **dict.fromkeys(["LPP-kernel", "SupervisedNonlinearLocalEmbedding"], ("n_components=40 exceeds 29", "<= 29")),
    "ConformalEigenmaps": ["n_components=40 exceeds 10", "eigenvectors", "<= 10"],
    "ManifoldKDR": ["n_components=40", "needs only", "functions", "Use n_components <="],
}
SAMPLES = ["n_components=40 exceeds 29", "samples", "the constant", "<= 29"]


@over([case for case in estimators() if case.spectral])
@pytest.mark.every(2)
def test_too_many_components(case: Case) -> None:
    changes: dict[str, Any] = {"n_components": 40}
    if not isinstance(case.template.get_params().get("landmarks"), type(None)):
        changes["landmarks"] = 30
    words = TOO_MANY.get(case.id)
    if words is None:
        words = (
            SAMPLES
            if not case.linear and "kernel" not in case.id and case.id != "TraceReducer-class"
            else ["n_components=40"]
        )
    with pytest.raises(DimensionError, match=says(*words)):
        quietly(lambda: case.make(**changes).fit(X, Y3))


def test_components_that_are_not_there() -> None:
    with pytest.raises(
        DimensionError, match=says("n_components=4", "only 2 positive eigenvalues", "Use n_components=2")
    ):
        quietly(lambda: es.ClassicalMDS(4, metric="precomputed").fit(pairwise(X[:, :2])))
    with pytest.raises(DimensionError, match=says("n_components=2", "0 positive")):
        quietly(lambda: es.KernelPCA(2, kernel=lambda a, b: -a @ b.T).fit(X))
    with pytest.raises(
        GraphError, match=says("Hessian LLE with n_components=4 needs at least 14 neighbours", "some have 10")
    ):
        es.HessianLLE(4).fit(X)
    with pytest.raises(InputError, match="n_clusters=31 exceeds n_samples=30"):
        es.SpectralClustering(31).fit(X)


@pytest.mark.parametrize("seed", range(20))
def test_any_share_of_the_variance_has_axes(seed: int) -> None:
    Z = np.random.default_rng(seed).standard_normal((20, 6))
    C = Z - Z.mean(axis=0)
    U, s, _ = np.linalg.svd(C, full_matrices=False)
    for share in (np.nextafter(1.0, 0.0), 0.9, 0.5, 0.01):
        fitted = es.PCA(share).fit(Z)
        k = int(np.sum(np.cumsum(s**2) / np.sum(s**2) < share - 1e-12)) + 1
        assert fitted.n_components_ == k
        assert_allclose_up_to_sign(fitted.embedding_, (U * s)[:, :k], atol=1e-9)


@pytest.mark.parametrize("name", LINEAR)
@pytest.mark.parametrize("kernel", [None, "linear"])
def test_more_features_than_samples(name: str, kernel: Any) -> None:
    wide = np.random.default_rng(3).standard_normal((20, 300))
    params = {} if name == "PCA" else {"kernel": kernel}
    fitted = es.make(name, n_components=2, **params).fit(wide, Y3[:20])
    if name in ("OLPP", "ONPP") and kernel is None:  # orthonormal directions, within the span of the rows
        U, s, _ = np.linalg.svd(wide - wide.mean(axis=0))
        within = es.make(name, n_components=2, **params).fit(U[:, :19] * s[:19], Y3[:20])
        assert not wrong_with(within, U[:, :19] * s[:19], Y3[:20])
        np.testing.assert_allclose(pairwise(fitted.embedding_), pairwise(within.embedding_), atol=1e-7)
    else:
        assert not wrong_with(fitted, wide, Y3[:20])
    assert_healthy(fitted.transform(wide + 1), 20)
    if kernel is None:
        assert fitted.components_.shape == (2, 300)
        rows = np.linalg.qr((wide - wide.mean(axis=0)).T)[0]
        outside = fitted.components_ - fitted.components_ @ rows @ rows.T
        assert np.abs(outside).max() <= 1e-8 * np.abs(fitted.components_).max()  # nothing outside the span of the data


# ---------------------------------------------------------------------- graphs that fall apart
@pytest.mark.parametrize("policy", ["connect", "largest"])
@pytest.mark.parametrize("name", IMPLICIT)
@pytest.mark.every(4)
def test_disconnected(name: str, policy: str, islands: Any) -> None:
    with reports(DisconnectedWarning, "3 components (of 30, 20, 10 points)"):
        fitted = es.make(name, n_neighbors=6, disconnected=policy).fit(islands.X)
    assert_healthy(fitted.embedding_, 60)
    np.testing.assert_allclose(
        fitted.transform(islands.X[:30]), fitted.embedding_[:30], atol=1e-8 * np.abs(fitted.embedding_).max()
    )
    assert_healthy(fitted.transform(islands.X * 1.01), 60)
    assert fitted.diagnostics_["components"] == 3
    if policy == "connect":
        assert fitted.diagnostics_["bridges"] == 2
    else:
        alone = quietly(lambda: es.make(name, n_neighbors=6).fit(islands.X[:30]))
        np.testing.assert_allclose(
            pairwise(fitted.embedding_[:30]), pairwise(alone.embedding_), atol=1e-6 * pairwise(alone.embedding_).max()
        )


@pytest.mark.parametrize("name", IMPLICIT)
def test_disconnected_refused(name: str, islands: Any) -> None:
    with pytest.raises(DisconnectedError, match=says("3 components (of 30, 20, 10 points)", "more neighbours")):
        es.make(name, n_neighbors=6, disconnected="raise").fit(islands.X)


@pytest.mark.parametrize("policy", ["connect", "largest"])
@pytest.mark.parametrize("name", ["Isomap", "LandmarkIsomap", "LaplacianEigenmaps", "DiffusionMap"])
def test_disconnected_distances(name: str, policy: str, islands: Any) -> None:
    far = pairwise(islands.X)
    order = np.roll(np.arange(60), 25)  # the largest component is not the first rows
    far = far[np.ix_(order, order)]
    fitted = quietly(lambda: es.make(name, graph="precomputed", n_neighbors=6, disconnected=policy).fit(far))
    assert_healthy(fitted.embedding_, 60)
    np.testing.assert_allclose(fitted.transform(far), fitted.embedding_, atol=1e-8 * np.abs(fitted.embedding_).max())
    points = quietly(lambda: es.make(name, n_neighbors=6, disconnected=policy).fit(islands.X[order]))
    if policy == "connect" or name.endswith("Isomap"):  # else the width is that of all points, not of the component
        np.testing.assert_allclose(
            pairwise(fitted.embedding_), pairwise(points.embedding_), atol=1e-6 * np.abs(points.embedding_).max()
        )


def test_landmarks_are_rows_of_the_input_also_in_a_component(islands: Any) -> None:
    shuffled = islands.X[::-1]
    fitted = quietly(
        lambda: es.Isomap(n_neighbors=6, landmarks=[0, 15, 35, 40, 45, 59], disconnected="largest").fit(shuffled)
    )
    np.testing.assert_array_equal(fitted.landmarks_, [35, 40, 45, 59])
    assert_healthy(fitted.embedding_, 60)


def test_projections_and_clusters_are_not_bridged(islands: Any) -> None:
    for name in ("LPP", "OLPP", "NPP", "ONPP", "LLTSA"):
        assert not wrong_with(es.make(name, n_neighbors=6).fit(islands.X), islands.X, islands.y)
    clusters = es.SpectralClustering(3, n_neighbors=6).fit(islands.X)
    assert clusters.n_graph_components_ == 3
    assert len(set(zip(clusters.labels_, islands.y, strict=True))) == 3
    np.testing.assert_array_equal(clusters.predict(islands.X + 0.01), clusters.labels_)
    assert clusters.diagnostics_["solver"]


# ---------------------------------------------------------------------- precomputed distances, kernels and graphs
def _spoiled(M: Any, kind: str) -> Any:
    M = M.copy()
    if kind == "asymmetric":
        M[0, 1] += 1.0
    elif kind == "negative":
        M[0, 1] = M[1, 0] = -1.5
    elif kind == "diagonal":
        M[4, 4] = 0.7
    else:
        M = M[:, :20]
    return M


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("asymmetric", ["not symmetric", "reaches 1 "]),
        ("negative", ["must not be negative", "-1.5", "similarities"]),
        ("diagonal", ["diagonal", "must be zero", "0.7"]),
        ("wide", ["square", "(30, 20)"]),
    ],
)
@pytest.mark.parametrize(
    "estimator",
    [
        es.ClassicalMDS(metric="precomputed"),
        es.LandmarkMDS(metric="precomputed", landmarks=10),
        es.Isomap(graph="precomputed"),
        es.LandmarkIsomap(graph="precomputed"),
        es.LaplacianEigenmaps(graph="precomputed"),
        es.DiffusionMap(graph="precomputed"),
        es.CommuteTimeEmbedding(graph="precomputed"),
        es.SpectralClustering(3, graph="precomputed"),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_bad_distance_matrices(estimator: Any, kind: str, words: list[str]) -> None:
    with pytest.raises(GraphError, match=says(*words)):
        estimator.fit(_spoiled(D, kind))


@pytest.mark.parametrize("name", ["LLE", *LOCAL])
def test_methods_that_need_coordinates_refuse_distances(name: str) -> None:
    with pytest.raises(InputError, match=says("needs coordinates", "X holds distances")):
        es.make(name, graph="precomputed").fit(D)


@pytest.mark.parametrize(
    "estimator", [es.LPP(), es.NPP(), es.LLTSA(), es.TraceReducer(), es.TraceReducer(basis="samples")]
)
def test_projections_refuse_distances(estimator: Any) -> None:
    with pytest.raises(GraphError, match=says("maps coordinates", 'graph="precomputed"', "sparse")):
        estimator.set_params(graph="precomputed").fit(D)


KERNELLED = [es.KernelPCA(), es.LPP(), es.ONPP(), es.LDA(), es.TraceReducer(basis="kernel")]


@pytest.mark.parametrize("estimator", KERNELLED, ids=lambda estimator: type(estimator).__name__)
def test_bad_kernel_matrices(estimator: Any) -> None:
    estimator.set_params(kernel="precomputed")
    with pytest.raises(KernelError, match=says("not symmetric", "reaches 1 ")):
        estimator.fit(_spoiled(K, "asymmetric"), Y3)
    with pytest.raises(KernelError, match=says("square", "(30, 20)")):
        estimator.fit(_spoiled(K, "wide"), Y3)
    indefinite = K.copy()
    indefinite[0, 0] = -5.0
    with pytest.warns(IndefiniteWarning, match=r"not positive semidefinite.*-[45]\.\d"):
        fitted = estimator.fit(indefinite, Y3)
    assert_healthy(fitted.embedding_, 30)


@pytest.mark.parametrize("estimator", KERNELLED, ids=lambda estimator: type(estimator).__name__)
def test_precomputed_kernel_is_the_kernel(estimator: Any) -> None:
    new = X[:7] + 0.3
    cross = np.exp(-(np.linalg.norm(new[:, None] - X[None], axis=2) ** 2))
    for landmarks in (None, np.arange(0, 30, 2)):
        estimator.set_params(landmarks=landmarks)
        given = estimator.set_params(kernel="precomputed").fit(K, Y3)
        Y, Z = given.embedding_, given.transform(cross)
        named = estimator.set_params(kernel=es.Kernel("rbf", gamma=1.0)).fit(X, Y3)
        np.testing.assert_allclose(
            pairwise(np.vstack([Y, Z])), pairwise(np.vstack([named.embedding_, named.transform(new)])), atol=1e-5
        )


def test_distances_far_from_euclidean_are_reported() -> None:
    tree = 1.0 - np.eye(12)
    tree[:6, 6:] = tree[6:, :6] = 0.51
    with reports(IndefiniteWarning, "far from Euclidean", "eigenvalues down to -", "reproduces", "%"):
        fitted = es.ClassicalMDS(2, metric="precomputed").fit(tree)
    assert_healthy(fitted.embedding_, 12)
    for correction in ("cailliez", "lingoes"):
        fixed = quietly(lambda c=correction: es.ClassicalMDS(2, metric="precomputed", correction=c).fit(tree))
        assert_healthy(fixed.embedding_, 12)


@pytest.mark.parametrize("name", ["Isomap", "LLE", "LPP", "SpectralClustering"])
def test_bad_sparse_graphs(name: str) -> None:
    graph = es.KNN(5).build(X).undirected()
    cases: dict[str, tuple[Any, list[str]]] = {}
    for value in (-1.0, np.nan, np.inf):
        broken = graph.copy()
        broken.data[0] = value
        cases[str(value)] = (broken, ["finite distances that are not negative"])
    twice = graph.copy()
    twice.data[0] *= 3
    cases["two lengths"] = (twice, ["two lengths", "reaches", "symmetric"])
    cases["small"] = (sp.csr_array(graph[:20, :20]), ["20 nodes", "30 rows"])
    cases["wide"] = (sp.csr_array(graph[:, :20]), ["square", "(30, 20)"])
    near = np.tile(np.arange(5), (30, 1))
    cases["indices"] = ((near + 28, np.ones((30, 5))), ["0..29", "28..32"])
    cases["shapes"] = ((near, np.ones((30, 4))), ["(30, k)", "(30, 5)", "(30, 4)"])
    cases["triple"] = ((near, near, near), ["graph=tuple is not understood"])
    cases["built from others"] = (es.KNN(5).build(X[:25]), ["25 nodes", "30 rows"])
    for label, (bad, words) in cases.items():
        with pytest.raises(GraphError, match=says(*words)):
            es.make(name, graph=bad).fit(X)
            pytest.fail(label)


def test_wrong_shapes() -> None:
    for bad, word in ((X[:, 0], "Expected 2D array"), (X[None], "dim 3"), (X[:, :0], "0 feature")):
        with pytest.raises(ValueError, match=word):
            es.LPP().fit(bad)
    with pytest.raises((ValueError, TypeError), match=says("Column 0 of X holds text", "'a'", "2 of 2 columns")):
        es.PCA().fit([["a", "b"], ["c", "d"], ["e", "f"]])
    with pytest.raises((TypeError, ValueError), match="Sparse data was passed"):
        es.MVU().fit(sp.csr_array(X))


# ---------------------------------------------------------------------- unit forms
def _problem(a: list[float], b: list[float], sense: Any = "max") -> TraceProblem:
    return TraceProblem(Form(3, dense=np.diag(a)), Form(3, dense=np.diag(b)), sense)


def test_singular_unit_is_restricted_where_the_objective_vanishes_too() -> None:
    spectrum = solve(_problem([1.0, 2, 0], [1.0, 0.5, 0]), 2)
    np.testing.assert_allclose(spectrum.values, [4.0, 1.0])
    np.testing.assert_allclose(spectrum.vectors[2], 0, atol=1e-12)
    assert spectrum.facts["rank_of_unit"] == 2
    with pytest.raises(DimensionError, match="n_components=3 exceeds 2"):
        solve(_problem([1.0, 2, 0], [1.0, 1, 0]), 3)


@pytest.mark.parametrize("as_diagonal", [False, True])
def test_singular_unit_gets_a_ridge_where_the_objective_does_not_vanish(as_diagonal: bool) -> None:
    problem = _problem([1.0, 2, 3], [1.0, 1, 0])
    if as_diagonal:
        problem = TraceProblem(problem.A, diagonal(np.array([1.0, 1, 0])), "max")
    with pytest.warns(RidgeWarning, match=r"rank 2 of 3.*ridge of 6\.67e-07"):
        spectrum = solve(problem, 1)
    direction = spectrum.vectors[:, 0] / np.linalg.norm(spectrum.vectors[:, 0])
    np.testing.assert_allclose(np.abs(direction), [0, 0, 1], atol=1e-6)  # the most discriminative direction is kept


def test_within_scatter_as_unit_gets_a_ridge_when_undersampled() -> None:
    wide = np.random.default_rng(0).standard_normal((20, 50))
    with pytest.warns(RidgeWarning, match=r"rank 17 of 19.*ridge="):
        fitted = es.TraceReducer(maximise="between", unit="within").fit(wide, Y3[:20])
    assert_healthy(fitted.embedding_, 20)
    quiet = es.TraceReducer(maximise="between", unit="within", ridge=1e-3).fit(
        wide, Y3[:20]
    )  # chosen by hand: nothing to report
    assert quiet.diagnostics_["ridge"] == 1e-3
    assert angle(quiet.embedding_, es.LDA().fit(wide, Y3[:20]).embedding_) < 1


def test_indefinite_unit_is_refused() -> None:
    for unit in (Form(3, dense=np.diag([1.0, -2.5, 3])), diagonal(np.array([1.0, -2.5, 3]))):
        with pytest.raises(UnitError, match=says("not positive semidefinite", "-2.5 to 3", "ridge")):
            solve(TraceProblem(Form(3, dense=np.eye(3)), unit, "min"), 1)
    with pytest.raises(UnitError, match=r"is zero"):
        quietly(lambda: solve(_problem([1.0, 2, 3], [0.0, 0, 0]), 1))
    sign = np.r_[-np.ones(15), np.ones(15)]
    with pytest.raises(UnitError, match=r"eigenvalues run from -\d"):
        es.TraceReducer(unit=lambda points, y: diagonal(sign)).fit(X)


def test_forms_by_hand_are_checked() -> None:
    with pytest.raises(InputError, match="Form over the 30 samples"):
        es.TraceReducer(minimise=lambda points, y: Form(10, dense=np.eye(10))).fit(X)
    with pytest.raises(InputError, match=says("Form or a symmetric matrix over the 30 samples", "got 3")):
        es.TraceReducer(minimise=lambda points, y: 3).fit(X)
    for given, message in (
        (np.eye(10), "must be 30×30"),
        (np.triu(np.ones((30, 30))), "must be symmetric"),
        (sp.csr_array(np.triu(np.ones((30, 30)))), "must be symmetric"),
        (np.diag(np.full(30, np.nan)), "30 of 900 entries are NaN"),
        (1j * np.eye(30), "complex"),
    ):
        with pytest.raises(InputError, match=says(message)):
            es.TraceReducer(minimise=given).fit(X)
    with pytest.raises(InputError, match=says("one of minimise= and maximise=")):
        es.TraceReducer(minimise="laplacian", maximise="variance").fit(X)
    with pytest.raises(InvalidParameterError, match="minimise"):
        es.TraceReducer(minimise="laplasian").fit(X)


# ---------------------------------------------------------------------- labels
SUPERVISED = [
    es.LDA(1, unlabeled=-1),
    es.LDA(1, kernel="rbf", unlabeled=-1),
    es.LPP(1, graph="class", unlabeled=-1),
    es.NPP(1, graph=es.KNN(3, within_class=True), unlabeled=-1),
    es.TraceReducer(1, minimise="class_laplacian", unit="total", unlabeled=-1),
]
supervised = pytest.mark.parametrize(
    "estimator", SUPERVISED, ids=lambda e: f"{type(e).__name__}-{e.get_params().get('kernel')}"
)


@supervised
@pytest.mark.parametrize(
    ("y", "words"),
    [
        (None, ["requires y to be passed"]),
        (np.zeros(30), ["at least 2 classes", "only one class (0.0)"]),
        (np.array(["cat"] * 30), ["only one class (cat)"]),
        (np.full(30, -1), ["all 30 of them are missing"]),
        (np.full(30, np.nan), ["all 30 of them are missing"]),
        ([None] * 30, ["all 30 of them are missing"]),
        (np.where(Y3 == 0, -1, 1), ["exactly {-1, +1}", "unlabeled=None"]),
        (np.where(Y3 == 0, -1.0, 1.0), ["exactly {-1, +1}", "unlabeled=None"]),
        (np.append(Y3, 0), ["31 labels", "30 samples"]),
        (Y3[:20], ["20 labels", "30 samples"]),
        (X[:, 0], ["class labels", "continuous"]),
    ],
    ids=["none", "one", "one string", "-1", "nan", "Nones", "+-1", "+-1.0", "long", "short", "continuous"],
)
def test_labels_that_define_no_classes(estimator: Any, y: Any, words: list[str]) -> None:
    with pytest.raises(LabelError, match=says(*words)):
        estimator.fit(X, y)


@supervised
def test_plus_minus_one_as_classes(estimator: Any) -> None:
    y = np.where(Y3 == 0, -1, 1)
    signs = (
        es.LDA(1, unlabeled=None).fit(X, y)
        if isinstance(estimator, es.LDA)
        else estimator.set_params(unlabeled=None).fit(X, y)
    )
    estimator.set_params(unlabeled=-1)
    assert_healthy(signs.embedding_, 30)
    other = es.LDA(1).fit(X, y > 0)
    if isinstance(estimator, es.LDA):
        np.testing.assert_array_equal(signs.embedding_, other.embedding_)


MISSING = {
    "-1": np.where(Y3 == 2, -1, Y3),
    "nan": np.where(Y3 == 2, np.nan, Y3.astype(float)),
    "None": np.array([None if v == 2 else int(v) for v in Y3], dtype=object),
    "strings": np.array([None if v == 2 else "ab"[v] for v in Y3], dtype=object),
    "pandas": pd.Series(pd.array([None if v == 2 else int(v) for v in Y3], dtype="Int64")),
    "categories": pd.Series(pd.Categorical([None if v == 2 else "ab"[v] for v in Y3])),
}


@supervised
@pytest.mark.parametrize("kind", MISSING)
def test_missing_labels_are_unlabelled_points(estimator: Any, kind: str) -> None:
    expected = estimator.fit(X, MISSING["-1"]).embedding_
    fitted = estimator.fit(X, MISSING[kind])
    assert_healthy(fitted.embedding_, 30)
    np.testing.assert_array_equal(fitted.embedding_, expected)


def test_labels_of_other_kinds() -> None:
    expected = es.LDA().fit(X, Y3).embedding_
    for y in (
        np.array(list("abc") * 10),
        Y3.tolist(),
        pd.Series(Y3),
        Y3 + 5,
        np.array(list("abc") * 10, dtype=object),
        Y3.astype(float),
    ):
        fitted = es.LDA().fit(X, y)
        np.testing.assert_array_equal(fitted.embedding_, expected)
        assert set(fitted.classes_) == set(np.unique(np.asarray(y)))
    marked = es.LDA(1, unlabeled="?").fit(X, np.array(["a", "b", "?"] * 10))
    assert list(marked.classes_) == ["a", "b"]
    with pytest.raises(ValueError, match=r"1d array.*\(30, 2\)"):
        es.LDA().fit(X, np.c_[Y3, Y3])


def test_class_graphs_without_pairs() -> None:
    with pytest.raises(GraphError, match=says("No class has two points", "30 points")), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # scikit-learn finds so many classes suspicious
        es.LPP(graph=es.KNN(3, within_class=True)).fit(X, np.arange(30))
    with pytest.raises(GraphError, match=r"needs labels: call fit\(X, y\)"):
        es.LaplacianEigenmaps(graph=es.KNN(3, within_class=True)).fit(X)
    with pytest.raises(InputError, match=says("LLTSA models neighbourhoods", "within_class=True")):
        es.LLTSA(graph="class").fit(X, Y3)


# ---------------------------------------------------------------------- kernels
def _ones(a: Any, b: Any) -> Any:
    return np.ones(3)


def _nan(a: Any, b: Any) -> Any:
    return np.full((len(a), len(b)), np.nan)


@pytest.mark.parametrize("estimator", KERNELLED, ids=lambda estimator: type(estimator).__name__)
@pytest.mark.parametrize(
    ("kernel", "words"),
    [
        ("rbg", ["kernel='rbg' is unknown", "rbf", "precomputed"]),
        (_ones, ["_ones must be a function of two arrays of rows", "For 3 and 2 rows it returned shape (3,)"]),
        (_nan, ["900 values that are NaN or infinite"]),
        (es.KNN(), ["neither a name, a Kernel, nor a function"]),
        (es.Kernel("rbf", gamma=-1.0), ["gamma=-1.0", "positive"]),
        (es.Kernel("rbf", gamma="wide"), ["gamma='wide'", '"median"']),
    ],
    ids=["name", "shape", "nan", "object", "negative gamma", "word gamma"],
)
def test_bad_kernels(estimator: Any, kernel: Any, words: list[str]) -> None:
    with pytest.raises(KernelError, match=says(*words)):
        estimator.set_params(kernel=kernel, landmarks=None).fit(X, Y3)


def test_kernels_that_overflow_on_new_points() -> None:
    fitted = es.KernelPCA(kernel="poly", degree=60).fit(X)
    with pytest.raises(KernelError, match="60 values that are NaN or infinite"):
        fitted.transform(np.full((2, 5), 1e9))
    with pytest.raises(KernelError, match="values that are NaN or infinite"):
        es.LPP(kernel=es.Kernel("poly", degree=0.5, coef0=0)).fit(X)  # roots of negative products


def test_kernel_options_that_exclude_each_other() -> None:
    with pytest.raises(InputError, match="give kernel= too"):
        es.LPP(landmarks=5).fit(X)
    with pytest.raises(InputError, match=says("reduce=", "use landmarks= instead")):
        es.LPP(kernel="rbf", reduce=3).fit(X)
    for landmarks in (None, 10):
        with pytest.raises(KernelError, match=says("Pre-images need coordinates", "X holds kernel values")):
            es.KernelPCA(kernel="precomputed", preimage="ridge", landmarks=landmarks).fit(K)
    with pytest.raises(KernelError, match=says("fixed-point", "rbf", "ridge")):
        es.KernelPCA(kernel="poly", preimage="fixed-point").fit(X)


# ---------------------------------------------------------------------- memory
BIG = np.random.default_rng(0).standard_normal((900, 5))
WIDE = sp.random_array((100, 5000), density=0.01, format="csr", random_state=0)


@pytest.mark.parametrize(
    ("estimator", "data", "words"),
    [
        (es.Isomap(), BIG, ["900 to 900", "6.", "only 1 MB", "LandmarkIsomap"]),
        (es.KernelPCA(), BIG, ["900×900 kernel matrix", "6.95 MB", "KernelPCA(landmarks=90)"]),
        (es.ClassicalMDS(metric="cityblock"), BIG, ["900×900 distance matrix", "13.1 MB", "LandmarkMDS(landmarks=90)"]),
        (es.LPP(kernel="rbf"), BIG, ["900×900 kernel matrix", "24.7 MB", "landmarks=90"]),
        (es.LDA(kernel="rbf"), BIG, ["900×900 kernel matrix", "landmarks=90"]),
        (es.TraceReducer(basis="kernel"), BIG, ["900×900 kernel matrix", "landmarks=90"]),
        (es.LLE(solver="dense"), BIG, ["order 900", "shift-invert"]),
        (es.PCA(None), WIDE, ["100×5000", "4.27 MB", "reduce=r"]),
        (es.LPP(), WIDE, ["100×5000", "reduce=r"]),
    ],
    ids=["Isomap", "KernelPCA", "ClassicalMDS", "LPP", "LDA", "TraceReducer", "LLE", "PCA-sparse", "LPP-sparse"],
)
def test_memory_is_predicted(estimator: Any, data: Any, words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EIGENSPAN_MEMORY", "1M")
    with pytest.raises(MemoryLimitError, match=says(*words)):
        estimator.fit(data, np.arange(data.shape[0]) % 3)


@pytest.mark.parametrize(
    ("estimator", "data"),
    [
        (es.LandmarkIsomap(landmarks=50), BIG),
        (es.KernelPCA(landmarks=50), BIG),
        (es.LandmarkMDS(metric="cityblock", landmarks=50), BIG),
        (es.LPP(kernel="rbf", landmarks=40), BIG),
        (es.PCA(reduce=10), WIDE),
        (es.LPP(reduce=10), WIDE),
    ],
    ids=["LandmarkIsomap", "KernelPCA", "LandmarkMDS", "LPP", "PCA", "LPP-sparse"],
)
def test_what_the_memory_error_names_works(estimator: Any, data: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EIGENSPAN_MEMORY", "2M")
    tracemalloc.start()
    Y = quietly(lambda: estimator.fit(data).embedding_)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert_healthy(Y, data.shape[0])
    assert peak < 20e6  # and nothing like the 200 MB of a 5000×5000 matrix on the way


@pytest.mark.parametrize("amount", ["lots", "inf", "1e400", "nan"])
def test_memory_limit_that_is_no_number(amount: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EIGENSPAN_MEMORY", amount)
    with pytest.raises(InputError, match=says(f"EIGENSPAN_MEMORY='{amount}'", "2G")):
        es.KernelPCA().fit(X)


# ---------------------------------------------------------------------- parameters
def test_unknown_names() -> None:
    for name in ("LLE", "LPP", "SpectralClustering"):
        with pytest.raises(GraphError, match=says("graph='ring' is not understood", "KNN(...)")):
            es.make(name, graph="ring").fit(X)
    with pytest.raises(GraphError, match="graph='class' is not understood here"):
        es.LLE(graph="class").fit(X, Y3)
    for name in ("LaplacianEigenmaps", "DiffusionMap", "LPP", "NPP", "SpectralClustering"):
        with pytest.raises(GraphError, match=says("weights='warm' is unknown", "'heat'", "Heat(sigma=1.0)")):
            es.make(name, weights="warm").fit(X)
    for name in ("PCA", "Isomap", "LDA"):
        with pytest.raises(InvalidParameterError, match=says("'solver' parameter of", "'auto'", "Got 'quick'")):
            es.make(name, solver="quick").fit(X, Y3)
    with pytest.raises(InvalidParameterError, match="'disconnected' parameter"):
        es.LLE(disconnected="bridge").fit(X)
    with pytest.raises(GraphError, match=says("KNN(symmetry='both') cannot be used", '"mutual" or "union"')):
        es.LLE(graph=es.KNN(5, symmetry="both")).fit(X)
    with pytest.raises(ValueError, match="Metric 'elliptic' not valid"):
        es.LLE(graph=es.KNN(5, metric="elliptic")).fit(X)
    with pytest.raises(InvalidParameterError, match="'choice' parameter of LandmarkMDS"):
        es.LandmarkMDS(choice="best").fit(X)


def test_solvers_that_do_not_fit_the_problem() -> None:
    with pytest.raises(InputError, match=says('solver="shift-invert"', "sense='max'", "auto")):
        es.PCA(solver="shift-invert").fit(X)
    with pytest.raises(InputError, match=says('solver="factor"', "low-rank")):
        es.LLE(solver="factor").fit(X)
    with pytest.raises(InputError, match=says('solver="randomised"', "largest")):
        es.LLE(solver="randomised").fit(X)
    reference = es.LLE(solver="dense").fit(X).embedding_
    for solver in ("shift-invert", "lanczos"):
        assert angle(es.LLE(solver=solver).fit(X).embedding_, reference) < 1e-3


def test_radius() -> None:
    with pytest.raises(GraphError, match=r"radius=1e-06 leaves every one of the 30 points alone.*median \d\.\d"):
        es.Isomap(graph=es.Radius(1e-6)).fit(X)
    with pytest.raises(GraphError, match=r"Radius\(radius=0\) .* must be a positive number"):
        es.Isomap(graph=es.Radius(0)).fit(X)
    for name in ("LaplacianEigenmaps", "Isomap", "LPP", "NPP", "SpectralClustering"):  # some points alone
        assert_healthy(quietly(lambda name=name: es.make(name, graph=es.Radius(1.6)).fit(X).embedding_), 30)


def test_heat_widths() -> None:
    with pytest.raises(GraphError, match=r"Heat\(sigma=0\) .* must be a positive number"):
        es.LPP(weights=es.Heat(0)).fit(X)
    with pytest.raises(GraphError, match="All edge weights vanish"):
        es.LPP(weights=es.Heat(1e-9)).fit(X)
    with pytest.raises(GraphError, match=says("of 30 points vanish", "pieces", "Heat(sigma=...)")):
        es.LaplacianEigenmaps(weights=es.Heat(0.05)).fit(X)


@pytest.mark.parametrize("make", [es.LandmarkMDS, es.LandmarkIsomap, es.Isomap, es.KernelPCA])
def test_landmarks_out_of_range(make: Any) -> None:
    with pytest.raises(InputError, match="landmarks=31 must lie between 1 and n_samples=30"):
        make(landmarks=31).fit(X)
    with pytest.raises(InvalidParameterError, match="'landmarks' parameter"):
        make(landmarks=0).fit(X)
    for bad in ([0, 0], [99], [-1], [], [0.5, 1.5], [True, False]):
        with pytest.raises(InputError, match=says("distinct row indices in 0..29", "got array(")):
            make(landmarks=bad).fit(X)
    with pytest.raises(DimensionError, match="n_components=2 exceeds"):
        make(landmarks=1).fit(X)
    assert_healthy(make(landmarks=30).fit(X).embedding_, 30)


# ---------------------------------------------------------------------- after fitting
@over(own())
@pytest.mark.every(3, start=2)
def test_transform_refuses(case: Case) -> None:
    with pytest.raises(NotFittedError, match="not fitted yet"):
        case.make().transform(X)
    fitted = quietly(lambda: case.make().fit(X, Y3))
    with pytest.raises(ValueError, match=r"X has 4 features, but \w+ is expecting 5"):
        fitted.transform(X[:, :4])
    with pytest.raises(ValueError, match="Expected 2D array"):
        fitted.transform(X[0])
    with pytest.raises(ValueError, match=r"0 sample\(s\)"):
        fitted.transform(X[:0])


@pytest.mark.parametrize("name", LINEAR)
def test_inverse_transform_refuses(name: str) -> None:
    with pytest.raises(NotFittedError, match="not fitted yet"):
        es.make(name).inverse_transform(X[:, :2])
    fitted = es.make(name).fit(X, Y3)
    with pytest.raises(InputError, match=says("(n_points, 2)", "got (30, 3)")):
        fitted.inverse_transform(X[:, :3])
    with pytest.raises(InputError, match=says("(n_points, 2)", "got (2,)")):
        fitted.inverse_transform(X[0, :2])
    with pytest.raises(ValueError, match="Input Y contains NaN"):
        fitted.inverse_transform(np.full((2, 2), np.nan))
    assert fitted.inverse_transform(np.zeros((2, 2), dtype=np.float32)).dtype == np.float32
    if name != "PCA":
        with pytest.raises(AttributeError, match="has no attribute 'inverse_transform'"):
            _ = es.make(name, kernel="rbf").fit(X, Y3).inverse_transform


def test_preimages_refuse() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'inverse_transform'"):
        _ = es.KernelPCA().fit(X).inverse_transform
    for preimage in ("ridge", "fixed-point"):
        fitted = es.KernelPCA(preimage=preimage, gamma=0.1).fit(X)
        with pytest.raises(InputError, match=says("(n_points, 2)", "got (2, 3)")):
            fitted.inverse_transform(np.zeros((2, 3)))
        with pytest.raises(ValueError, match="contains NaN"):
            fitted.inverse_transform(np.full((2, 2), np.nan))
        assert_healthy(fitted.inverse_transform(np.full((2, 2), 1e6)), 2)
        assert_healthy(fitted.inverse_transform(fitted.embedding_), 30)
