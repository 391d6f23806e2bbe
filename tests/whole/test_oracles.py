"""Against what we did not write: scikit-learn, tapkee, LAPACK on matrices built entry by entry, and data whose answer is known."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
import scipy.linalg as la
import scipy.sparse as sp
from sklearn import datasets, decomposition, discriminant_analysis, manifold
from sklearn.cluster import SpectralClustering as TheirSpectralClustering
from sklearn.metrics import adjusted_rand_score, pairwise_distances
from sklearn.neighbors import NearestNeighbors, kneighbors_graph

from eigenspan import (
    KNN,
    LDA,
    LLE,
    LLTSA,
    LPP,
    LTSA,
    NPP,
    OLPP,
    ONPP,
    PCA,
    SAVE,
    ClassicalMDS,
    CommuteTimeEmbedding,
    Cosine,
    DiffusionMap,
    Heat,
    HessianLLE,
    Isomap,
    KernelPCA,
    LandmarkIsomap,
    LandmarkMDS,
    LaplacianEigenmaps,
    LocalScaling,
    ModifiedLLE,
    Powered,
    SpectralClustering,
    TraceReducer,
)
from eigenspan.errors import (
    DegenerateWarning,
    DimensionError,
    DisconnectedWarning,
    GraphError,
    IndefiniteWarning,
    InputError,
)
from eigenspan.graphs import affinity, reconstruction_weights
from eigenspan.numerics.eigen import dense
from eigenspan.numerics.nearest.metric import median_width
from eigenspan.problem import Features
from eigenspan.problem.forms import (
    class_graph,
    hessian_alignment,
    laplacian,
    modified_alignment,
    tangent_alignment,
)
from grouping import longer
from helpers import angle, centred, connected_neighbours, disparity, inner_products, labelled, relative

#: Real data have outliers, and axes of implicit methods that sit on them: what is tested here holds for these too.
pytestmark = pytest.mark.filterwarnings("ignore::eigenspan.errors.LocalisationWarning")

DEGREES = 1e-5
CASES = ["random-0", "iris", "wine", "ionosphere", *longer("random-1", "random-2", "digits", "usps")]
SEEDS = pytest.mark.parametrize("seed", [0, *longer(1, 2)])

cases = pytest.mark.parametrize("case", CASES)


@pytest.fixture
def data(case):
    return labelled(case)


def roll(n, seed):
    """Points of a Swiss roll and the coordinates of its flat sheet."""
    rng = np.random.default_rng(seed)
    t = 1.5 * np.pi * (1 + 2 * rng.uniform(size=n))
    height = 21 * rng.uniform(size=n)
    length = (t * np.sqrt(1 + t**2) + np.arcsinh(t)) / 2
    return np.column_stack([t * np.cos(t), height, t * np.sin(t)]), np.column_stack([length, height])


def s_curve(n, seed):
    rng = np.random.default_rng(seed)
    t = 3 * np.pi * (rng.uniform(size=n) - 0.5)
    height = 2 * rng.uniform(size=n)
    return np.column_stack([np.sin(t), height, np.sign(t) * (np.cos(t) - 1)]), np.column_stack([t, height])


def explained(Y, truth):
    """Share of the variance of the worst true coordinate that is affine in Y."""
    Z = np.column_stack([np.ones(len(Y)), Y])
    left = truth - Z @ la.lstsq(Z, truth)[0]
    return float(1 - (left.var(axis=0) / truth.var(axis=0)).max())


def neighbour_sets(X, k):
    """The k nearest other points of each, by brute force."""
    D = pairwise_distances(X)
    np.fill_diagonal(D, np.inf)
    return np.argsort(D, axis=1, kind="stable")[:, :k]


def heat(X, k, loops=False):
    """Dense heat weights over the union of neighbourhoods, σ half the median distance."""
    D = pairwise_distances(X)
    W = np.zeros_like(D)
    for i, near in enumerate(neighbour_sets(X, k)):
        W[i, near] = W[near, i] = 1.0
    W *= np.exp(-(D**2) / (np.median(D[np.triu_indices(len(X), 1)]) / 2) ** 2)
    return W + np.eye(len(X)) if loops else W


def smallest(A, B, d, skip=1):
    values, V = la.eigh(A, B)
    return values[skip : skip + d], V[:, skip : skip + d]


def lle_matrix(X, k, reg=1e-3):
    """(I − W)ᵀ(I − W) point by point from the definition."""
    n = len(X)
    F = np.eye(n)
    for i, near in enumerate(neighbour_sets(X, k)):
        Z = X[near] - X[i]
        G = Z @ Z.T
        w = la.solve(G + reg * np.trace(G) * np.eye(k), np.ones(k))
        F[i, near] -= w / w.sum()
    return F.T @ F


def ltsa_matrix(X, k, d):
    """Zhang & Zha 2004: Σ S_i (I − [1/√m, U_i][1/√m, U_i]ᵀ) S_iᵀ, the point in its own neighbourhood."""
    M = np.zeros((len(X), len(X)))
    for i, near in enumerate(neighbour_sets(X, k)):
        at = np.append(near, i)
        m = len(at)
        U = la.svd(centred(X[at]), full_matrices=False)[0][:, :d]
        G = np.column_stack([np.full(m, 1 / np.sqrt(m)), U])
        M[np.ix_(at, at)] += np.eye(m) - G @ G.T
    return M


def hessian_matrix(X, k, d):
    """Donoho & Grimes 2003: Gram–Schmidt of [1, U, products of U]; the last d(d+1)/2 columns, as rows, estimate the Hessian."""
    M = np.zeros((len(X), len(X)))
    for i, near in enumerate(neighbour_sets(X, k)):
        at = np.append(near, i)
        U = la.svd(centred(X[at]), full_matrices=False)[0][:, :d]
        columns = [np.ones(len(at)), *U.T, *[U[:, a] * U[:, b] for a in range(d) for b in range(a, d)]]
        basis = []
        for v in columns:
            for _ in range(2):
                for b in basis:
                    v = v - (b @ v) * b
            basis.append(v / la.norm(v))
        N = np.array(basis[1 + d :]).T
        M[np.ix_(at, at)] += N @ N.T
    return M


def modified_matrix(X, k, d, limit=True):
    """Zhang & Wang 2006: s_i weight vectors a point, (1 − α)w1ᵀ + V_s H, with s_i ≤ k − d unless the limit is lifted."""
    near = neighbour_sets(X, k)
    local = [la.eigh((X[j] - X[i]) @ (X[j] - X[i]).T) for i, j in enumerate(near)]
    ratios = [[np.maximum(v, 0)[:s].sum() / v[s:].sum() for s in range(1, k)] for v, _ in local]
    eta = np.median([r[k - d - 1] for r in ratios])
    M = np.zeros((len(X), len(X)))
    for i, ((v, V), r) in enumerate(zip(local, ratios, strict=True)):
        s = max(1, int(np.sum(np.array(r[: k - d] if limit else r) < eta)))
        w = la.solve((V * v) @ V.T + 1e-3 * v.sum() * np.eye(k), np.ones(k))
        w /= w.sum()
        v1 = V[:, :s].sum(axis=0)
        alpha = la.norm(v1) / np.sqrt(s)
        h = alpha - v1
        h = h / la.norm(h) if la.norm(h) > 1e-12 else 0 * h
        N = np.vstack([-np.ones(s), (1 - alpha) * w[:, None] + V[:, :s] @ (np.eye(s) - 2 * np.outer(h, h))])
        at = np.append(i, near[i])
        M[np.ix_(at, at)] += N @ N.T
    return M


# ---------------------------------------------------------------------- variance
@cases
@pytest.mark.parametrize("whiten", [False, True])
def test_pca_against_scikit_learn(data, whiten):
    X, _ = data
    train, new = X[::2], X[1::2]  # for usps and ionosphere with fewer rows than columns, or nearly
    ours, theirs = PCA(3, whiten=whiten).fit(train), decomposition.PCA(3, whiten=whiten, svd_solver="full").fit(train)
    assert angle(ours.components_.T, theirs.components_.T) < DEGREES
    assert relative(ours.explained_variance_, theirs.explained_variance_) < 1e-10
    assert relative(ours.explained_variance_ratio_, theirs.explained_variance_ratio_) < 1e-10
    assert relative(inner_products(ours.embedding_), inner_products(theirs.transform(train))) < 1e-8
    assert relative(inner_products(ours.transform(new)), inner_products(theirs.transform(new))) < 1e-8
    assert relative(ours.inverse_transform(ours.transform(new)), theirs.inverse_transform(theirs.transform(new))) < 1e-8


@cases
def test_pca_chooses_its_number_of_axes_as_scikit_learn(data):
    X, _ = data
    for share in (0.5, 0.9, 0.99):
        assert PCA(share).fit(X).n_components_ == decomposition.PCA(share, svd_solver="full").fit(X).n_components_


@SEEDS
@pytest.mark.parametrize("shape", [(200, 30), (40, 120)])
def test_sparse_pca_against_dense(seed, shape):
    X = sp.random_array(shape, density=0.2, format="csr", random_state=np.random.default_rng(seed))
    ours, theirs = PCA(3).fit(X), decomposition.PCA(3, svd_solver="full").fit(X.toarray())
    assert angle(ours.components_.T, theirs.components_.T) < DEGREES
    assert relative(inner_products(ours.transform(X)), inner_products(theirs.transform(X.toarray()))) < 1e-8
    assert relative(ours.explained_variance_ratio_, theirs.explained_variance_ratio_) < 1e-8


@cases
@pytest.mark.parametrize(
    "kernel",
    [
        {"kernel": "rbf"},
        {"kernel": "poly", "degree": 2},
        {"kernel": "cosine"},
        {"kernel": "sigmoid", "gamma": 1e-2, "coef0": 0},
    ],
)
def test_kernel_pca_against_scikit_learn(data, kernel):
    X, _ = data
    X = X / X.std() / np.sqrt(X.shape[1])
    train, new = X[::2], X[1::2]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", IndefiniteWarning)  # the sigmoid is no positive definite kernel
        ours = KernelPCA(3, **kernel).fit(train)
    theirs = decomposition.KernelPCA(3, eigen_solver="dense", **kernel).fit(train)
    assert angle(ours.embedding_, theirs.transform(train)) < DEGREES
    assert relative(ours.eigenvalues_, theirs.eigenvalues_) < 1e-8
    assert (
        relative(
            inner_products(ours.transform(new), ours.embedding_),
            inner_products(theirs.transform(new), theirs.transform(train)),
        )
        < 1e-8
    )


@cases
def test_precomputed_kernel_pca_against_scikit_learn(data):
    X, _ = data
    K = np.exp(-pairwise_distances(X) / np.median(pairwise_distances(X)))
    half = len(X) // 2
    ours = KernelPCA(3, kernel="precomputed").fit(K[:half, :half])
    theirs = decomposition.KernelPCA(3, kernel="precomputed", eigen_solver="dense").fit(K[:half, :half])
    assert (
        relative(inner_products(ours.transform(K[half:, :half])), inner_products(theirs.transform(K[half:, :half])))
        < 1e-8
    )


@SEEDS
@pytest.mark.parametrize("preimage", ["ridge", "fixed-point"])
def test_pre_images_denoise_a_circle(seed, preimage):
    rng = np.random.default_rng(seed)
    t = rng.uniform(0, 2 * np.pi, 200)
    clean = np.column_stack([np.cos(t), np.sin(t)])
    noisy = clean + 0.1 * rng.standard_normal(clean.shape)
    kpca = KernelPCA(4, kernel="rbf", gamma=1.0, preimage=preimage, alpha=0.1).fit(noisy)
    found = kpca.inverse_transform(kpca.embedding_)

    def off(Z):
        return np.sqrt(np.mean((la.norm(Z, axis=1) - 1) ** 2))

    assert off(found) < 0.85 * off(noisy)
    assert np.sqrt(np.mean((found - clean) ** 2)) < np.sqrt(np.mean((noisy - clean) ** 2))


@SEEDS
def test_ridge_pre_images_of_the_linear_kernel(seed):
    """On data in the span of the axes nothing is lost but the ridge's shrinkage."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((300, 2)) @ rng.standard_normal((2, 5)) + 1
    kpca = KernelPCA(2, kernel="linear", preimage="ridge", alpha=1e-3).fit(X)
    left = kpca.inverse_transform(kpca.transform(X)) - X
    assert np.sqrt(np.mean(left**2)) < 0.05 * X.std()


@pytest.mark.parametrize("n", [20, 100, 150, 400])
def test_copies_of_a_multiple_eigenvalue_are_not_lost(n):
    """LAPACK's subset driver returns fewer pairs than asked for; we do not."""
    M = np.eye(n) - 5 / n
    for sense in ("min", "max"):
        values, V = dense.eigenpairs(M, 3, sense)
        assert V.shape == (n, 3)
        assert relative(V.T @ V, np.eye(3)) < 1e-10
        assert np.abs(M @ V - V * values).max() < 1e-12
    X = 100.0 * np.random.default_rng(0).standard_normal((n, 5))  # the kernel matrix underflows to I
    with pytest.warns(DegenerateWarning):
        assert KernelPCA(2, gamma=100).fit(X).embedding_.shape == (n, 2)


# ---------------------------------------------------------------------- discriminant
@cases
@pytest.mark.parametrize("solver", ["eigen", "svd"])
def test_lda_against_scikit_learn(data, solver):
    X, y = data
    X = X if 2 * X.shape[1] < len(X) else PCA(20).fit_transform(X)
    X = X[:, X.std(axis=0) > 0]
    ours = LDA().fit(X, y)
    theirs = discriminant_analysis.LinearDiscriminantAnalysis(solver=solver).fit(X, y)
    d = y.max()
    assert angle(ours.embedding_, centred(theirs.transform(X)[:, :d])) < DEGREES
    assert angle(ours.components_.T, theirs.scalings_[:, :d]) < DEGREES
    share = ours.eigenvalues_ / (1 - ours.eigenvalues_)  # S_B against S_T is ours, against S_W theirs
    np.testing.assert_allclose(
        share / share.sum(),
        theirs.explained_variance_ratio_[:d] / theirs.explained_variance_ratio_[:d].sum(),
        rtol=1e-6,
    )


@cases
@pytest.mark.parametrize("shrinkage", [0.1, 0.5])
def test_shrunk_lda_against_the_definition(data, shrinkage):
    X, y = data
    Xc = centred(X)
    means = np.vstack([Xc[y == k].mean(axis=0) for k in range(y.max() + 1)])
    S_W = (Xc - means[y]).T @ (Xc - means[y])
    S_B = (means[y]).T @ means[y]
    rank = np.linalg.matrix_rank(Xc)
    Q = la.orth(Xc.T, rcond=1e-10)
    W = Q.T @ S_W @ Q
    W = (1 - shrinkage) * W + shrinkage * np.trace(W) / X.shape[1] * np.eye(rank)
    V = la.eigh(Q.T @ S_B @ Q, W)[1]
    d = y.max()
    assert angle(LDA(shrinkage=shrinkage).fit(X, y).components_.T, Q @ V[:, ::-1][:, :d]) < DEGREES


# ---------------------------------------------------------------------- distances
@cases
def test_classical_mds_against_scikit_learn(data):
    X, _ = data
    if not hasattr(manifold, "ClassicalMDS"):
        pytest.skip("this scikit-learn has no ClassicalMDS")
    for metric in ("euclidean", "cityblock"):
        D = pairwise_distances(X, metric=metric)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", IndefiniteWarning)
            ours = ClassicalMDS(3, metric="precomputed").fit(D)
        theirs = manifold.ClassicalMDS(3, metric="precomputed").fit(D)
        assert angle(ours.embedding_, theirs.embedding_) < DEGREES
        assert relative(inner_products(ours.embedding_), inner_products(theirs.embedding_)) < 1e-8


@cases
def test_mds_recovers_euclidean_distances(data):
    X, _ = data
    r = np.linalg.matrix_rank(centred(X))
    X = X if r <= 64 else PCA(20).fit_transform(X)
    r = np.linalg.matrix_rank(centred(X))
    D = pairwise_distances(X)
    for mds, given in ((ClassicalMDS(r), X), (ClassicalMDS(r, metric="precomputed"), D)):
        assert relative(pairwise_distances(mds.fit_transform(given)), D) < 1e-6
        assert mds.goodness_of_fit_ == pytest.approx(1.0, abs=1e-8)


def half_gram(D2):
    H = np.eye(len(D2)) - 1 / len(D2)
    return -0.5 * H @ D2 @ H


@SEEDS
@pytest.mark.parametrize("correction", ["cailliez", "lingoes"])
def test_additive_constants_are_sufficient_and_minimal(seed, correction):
    """The corrected distances are Euclidean, and with a slightly smaller constant they are not."""
    rng = np.random.default_rng(seed)
    D = pairwise_distances(rng.standard_normal((30, 4)), metric="cityblock") ** 1.5
    off = ~np.eye(30, dtype=bool)
    assert la.eigvalsh(half_gram(D**2))[0] < -0.1
    mds = ClassicalMDS(2, metric="precomputed", correction=correction).fit(D)
    G = mds.problem_.A.to_dense()
    assert la.eigvalsh(G)[0] > -1e-8 * la.eigvalsh(G)[-1]
    squares = np.diag(G)[:, None] + np.diag(G) - 2 * G
    added = (np.sqrt(squares) - D)[off] if correction == "cailliez" else (squares - D**2)[off]
    c = added.mean()
    assert c > 0
    assert np.ptp(added) < 1e-8 * D.max() ** 2
    for factor, euclidean in ((1.001, True), (0.999, False)):
        corrected = np.where(off, (D + factor * c) ** 2 if correction == "cailliez" else D**2 + factor * c, 0.0)
        assert (la.eigvalsh(half_gram(corrected))[0] > -1e-9 * corrected.max()) == euclidean


@cases
def test_landmark_mds_on_all_points_is_mds(data):
    X, _ = data
    mds, landmark = ClassicalMDS(3).fit(X), LandmarkMDS(3, landmarks=np.arange(len(X))).fit(X)
    assert angle(mds.embedding_, landmark.embedding_) < DEGREES
    assert relative(inner_products(landmark.embedding_), inner_products(mds.embedding_)) < 1e-8


@cases
def test_landmark_mds_is_exact_when_landmarks_span(data):
    """Any landmarks that span the space triangulate Euclidean data exactly."""
    X = PCA(3).fit_transform(data[0])
    landmark = LandmarkMDS(3, landmarks=10).fit(X)
    assert relative(pairwise_distances(landmark.embedding_), pairwise_distances(X)) < 1e-6
    assert relative(pairwise_distances(landmark.transform(X + 0.1)), pairwise_distances(X)) < 1e-6
    assert relative(landmark.transform(X), landmark.embedding_) < 1e-8


@cases
def test_isomap_against_scikit_learn(data):
    X, _ = data
    train, new = X[::2], X[1::2]
    k = connected_neighbours(train)
    ours, theirs = (
        Isomap(3, n_neighbors=k).fit(train),
        manifold.Isomap(n_neighbors=k, n_components=3, eigen_solver="dense").fit(train),
    )
    assert angle(ours.embedding_, theirs.embedding_) < DEGREES
    assert relative(inner_products(ours.embedding_), inner_products(theirs.embedding_)) < 1e-8
    # theirs takes the first step of a new point along its own list only, ours along every edge it would have in the graph
    rows = replace(ours.map_.rows, joining=ours.graph_.finder)
    assert (
        relative(
            inner_products(replace(ours.map_, rows=rows)(new), ours.embedding_),
            inner_products(theirs.transform(new), theirs.embedding_),
        )
        < 1e-8
    )


@cases
def test_landmark_isomap_on_all_points_is_isomap(data):
    X, _ = data
    k = connected_neighbours(X)
    all_points = LandmarkIsomap(2, n_neighbors=k, landmarks=np.arange(len(X))).fit(X)
    assert (
        relative(inner_products(all_points.embedding_), inner_products(Isomap(2, n_neighbors=k).fit(X).embedding_))
        < 1e-8
    )


@SEEDS
def test_conformal_isomap_flattens_a_fishbowl(seed):
    """A disc wrapped conformally on a sphere (de Silva & Tenenbaum 2003), sampled evenly in the disc."""
    rng = np.random.default_rng(seed)
    radius, t = np.sqrt(rng.uniform(0, 4, 800)), rng.uniform(0, 2 * np.pi, 800)
    flat = np.column_stack([radius * np.cos(t), radius * np.sin(t)])
    r2 = np.sum(flat**2, axis=1, keepdims=True)
    bowl = np.hstack([2 * flat, r2 - 1]) / (1 + r2)  # inverse stereographic projection
    plain = disparity(Isomap(2, n_neighbors=12).fit(bowl).embedding_, flat)
    conformal = disparity(Isomap(2, n_neighbors=12, conformal=True).fit(bowl).embedding_, flat)
    assert conformal < 0.02
    assert conformal < plain / 2


# ---------------------------------------------------------------------- implicit methods
@cases
def test_lle_against_scikit_learn(data):
    X, _ = data
    k = connected_neighbours(X)
    ours = LLE(3, n_neighbors=k, reg=1e-2).fit(X)
    theirs = manifold.LocallyLinearEmbedding(n_neighbors=k, n_components=3, reg=1e-2, eigen_solver="dense").fit(X)
    assert angle(ours.embedding_, theirs.embedding_) < DEGREES
    assert ours.eigenvalues_.sum() == pytest.approx(theirs.reconstruction_error_, rel=1e-6)


@cases
def test_modified_lle_against_scikit_learn(data):
    """The paper lets a point have at most k − d weight vectors; scikit-learn sets no such limit, and with ours lifted it agrees."""
    X, _ = data
    X = X[: len(X) - len(X) % 2]  # the median η is then no point's own ratio, which rounding would decide
    k = connected_neighbours(X)
    theirs = manifold.LocallyLinearEmbedding(
        n_neighbors=k, n_components=2, method="modified", eigen_solver="dense"
    ).fit(X)
    assert angle(smallest(modified_matrix(X, k, 2, limit=False), None, 2)[1], theirs.embedding_) < DEGREES
    ours = ModifiedLLE(2, n_neighbors=k).fit(X)
    values, Y = smallest(modified_matrix(X, k, 2), None, 2)
    assert angle(ours.embedding_, Y) < DEGREES
    assert relative(ours.eigenvalues_, values) < 1e-6


def _without_the_point(X, k, d, quadratics):
    """LTSA or Hessian LLE whose neighbourhoods leave their own point out, as scikit-learn's do."""
    M = np.zeros((len(X), len(X)))
    for at in neighbour_sets(X, k):
        U = la.svd(centred(X[at]), full_matrices=False)[0][:, :d]
        Q = la.qr(np.column_stack([np.ones(k), U]), mode="economic")[0]
        N = la.null_space(Q.T)
        if quadratics:
            P = np.column_stack([U[:, a] * U[:, b] for a in range(d) for b in range(a, d)])
            N = la.orth(P - Q @ (Q.T @ P))
        M[np.ix_(at, at)] += N @ N.T
    return smallest(M, None, d)[1]


@SEEDS
def test_ltsa_and_hessian_of_scikit_learn(seed):
    """What docs/coming-from-scikit-learn.md says of both: neighbourhoods without their point, and a Hessian that is LTSA."""
    X, _ = s_curve(300, seed)
    X = X + 0.05 * np.random.default_rng(seed).standard_normal(X.shape)

    def theirs(method, k, d=2, X=X):
        found = manifold.LocallyLinearEmbedding(n_neighbors=k, n_components=d, method=method, eigen_solver="dense")
        return found.fit(X).embedding_

    assert angle(theirs("ltsa", 12), _without_the_point(X, 12, 2, False)) < DEGREES
    assert angle(theirs("hessian", 12), theirs("ltsa", 12)) < DEGREES
    assert angle(theirs("hessian", 12), _without_the_point(X, 12, 2, True)) > 0.1
    # one axis and three neighbours: no columns beyond the quadratics
    turn = np.linspace(0, 6, 60) + 0.01 * np.random.default_rng(seed).standard_normal(60)
    helix = np.column_stack([np.cos(turn), np.sin(turn), turn])
    assert angle(theirs("hessian", 3, 1, helix), _without_the_point(helix, 3, 1, True)) < 1e-3
    assert angle(theirs("ltsa", 12), LTSA(2, n_neighbors=12).fit(X).embedding_) > 0.1
    assert angle(theirs("hessian", 12), HessianLLE(2, n_neighbors=12).fit(X).embedding_) > 0.1


def test_save_divides_by_one_less_than_the_rows_of_a_slice():
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(6), 20)
    X = rng.standard_normal((120, 4))
    X[:, 0] *= 1 + 0.3 * y
    X[:, 1] += 0.2 * y
    Z = centred(X)
    T = la.inv(la.sqrtm(Z.T @ Z / 120))

    def kernel(divisor_less):
        inside = [np.eye(4) - np.cov((Z @ T)[y == c].T, ddof=divisor_less) for c in range(6)]
        values, V = la.eigh(sum(G @ G for G in inside) / 6)
        return values[::-1][:2], T @ V[:, ::-1][:, :2]

    found = SAVE(2, n_slices=6).fit(X, y.astype(str))
    assert angle(found.components_.T, kernel(1)[1]) < DEGREES
    np.testing.assert_allclose(found.eigenvalues_, kernel(1)[0], rtol=1e-9)
    assert angle(found.components_.T, kernel(0)[1]) > 0.1


@cases
@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.every(2)
def test_alignment_matrices_against_their_papers(data, d):
    X, _ = data
    k = 12
    graph = KNN(k).build(X).distances
    for ours, theirs in ((tangent_alignment, ltsa_matrix), (hessian_alignment, hessian_matrix)):
        assert relative(ours(X, graph, d).to_dense(), theirs(X, k, d)) < 1e-8
    assert np.abs(modified_alignment(X, graph, d).ones()).max() < 1e-8


@SEEDS
@pytest.mark.parametrize("method, matrix", [(LTSA, ltsa_matrix), (HessianLLE, hessian_matrix)])
def test_alignment_embeddings_against_dense_matrices(seed, method, matrix):
    X, _ = s_curve(300, seed)
    X = X + 0.05 * np.random.default_rng(seed).standard_normal(X.shape)
    ours = method(2, n_neighbors=12).fit(X)
    values, Y = smallest(matrix(X, 12, 2), None, 2)
    assert angle(ours.embedding_, Y) < DEGREES
    np.testing.assert_allclose(ours.eigenvalues_, values, rtol=1e-6, atol=1e-12)


@cases
def test_laplacian_eigenmaps_against_scikit_learn(data):
    """scikit-learn's vectors D^{−½}u, from the same affinity; scaled there to unit u, so only the subspace is compared."""
    X, _ = data
    k = connected_neighbours(X)
    ours = LaplacianEigenmaps(3, n_neighbors=k).fit(X)
    theirs = manifold.spectral_embedding(
        heat(X, k), n_components=3, eigen_solver="arpack", eigen_tol=1e-14, drop_first=True, random_state=0
    )
    assert angle(ours.embedding_, theirs) < DEGREES


@SEEDS
@pytest.mark.parametrize("solver", ["dense", "shift-invert", "lanczos"])
@pytest.mark.parametrize("method", [LaplacianEigenmaps, LLE])
@pytest.mark.every(2)
def test_large_sparse_solves_against_lapack(method, solver, seed):
    """1000 points: the iterative solvers find LAPACK's subspace, constant excluded."""
    X, _ = s_curve(1000, seed)
    ours = method(2, n_neighbors=15, solver=solver).fit(X) if not (method is LLE and solver == "lanczos") else None
    if ours is None:
        pytest.skip("tiny crowded eigenvalues are not for plain Lanczos")
    if method is LLE:
        values, Y = smallest(lle_matrix(X, 15), None, 2)
    else:
        W = heat(X, 15)
        d = W.sum(axis=1)
        values, Y = smallest(np.diag(d) - W, np.diag(d), 2)
    assert angle(ours.embedding_, Y) < 1e-4
    np.testing.assert_allclose(ours.eigenvalues_, values, rtol=1e-5)


@cases
def test_graph_embeddings_against_dense_matrices(data):
    X, _ = data
    k = connected_neighbours(X)
    W = heat(X, k)
    d = W.sum(axis=1)
    L = np.diag(d) - W
    values, Y = smallest(L, np.diag(d), 3)
    le = LaplacianEigenmaps(3, n_neighbors=k).fit(X)
    assert angle(le.embedding_, Y) < DEGREES
    assert relative(le.eigenvalues_, values) < 1e-8

    values, Y = smallest(L, None, 3)
    commute = CommuteTimeEmbedding(3, n_neighbors=k).fit(X)
    assert angle(commute.embedding_, Y) < DEGREES
    assert relative(inner_products(commute.embedding_), d.sum() * inner_products(Y / np.sqrt(values))) < 1e-6

    for cut, B in (("ratio", None), ("normalized", np.diag(d))):
        ours = SpectralClustering(4, cut=cut, n_neighbors=k).fit(X)
        values, Y = smallest(L, B, 4, skip=0)
        assert angle(ours.embedding_, Y) < DEGREES
        np.testing.assert_allclose(ours.eigenvalues_, values, atol=1e-10)


@cases
@pytest.mark.parametrize("alpha", [0.0, 0.5, 1.0])
def test_diffusion_map_against_the_markov_matrix(data, alpha):
    """Right eigenvectors of the nonsymmetric P itself, normalised in the stationary measure."""
    X, _ = data
    k = connected_neighbours(X)
    W = heat(X, k, loops=True)
    q = W.sum(axis=1) ** alpha
    W = W / np.outer(q, q)
    d = W.sum(axis=1)
    mu, psi = la.eig(W / d[:, None])
    order = np.argsort(-mu.real)[1:4]
    mu, psi = mu.real[order], psi.real[:, order]
    psi = psi / np.sqrt((d / d.sum()) @ psi**2)
    ours = DiffusionMap(3, t=3, alpha=alpha, n_neighbors=k).fit(X)
    assert relative(ours.walk_eigenvalues_, mu) < 1e-8
    assert relative(inner_products(ours.embedding_), inner_products(psi * mu**3)) < 1e-6


def _joined_to_all_but_the_farthest(X, new):
    """The k = n − 1 neighbours of a new point leave out the farthest, unless that has points of its own farther away."""
    D = pairwise_distances(new, X)
    return (D.max(axis=1, keepdims=True) > D) | (pairwise_distances(X).max(axis=1) > D)


@SEEDS
@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_diffusion_extension_is_nystrom(seed, alpha):
    """Over the complete graph the extension is Σ_j p(x, x_j) ψ_j / μ with p from the same normalised kernel."""
    rng = np.random.default_rng(seed)
    X, new = rng.standard_normal((80, 2)), rng.standard_normal((5, 2))
    ours = DiffusionMap(2, t=1, alpha=alpha, n_neighbors=79, weights=Heat(1.0)).fit(X)
    W = np.exp(-(pairwise_distances(X) ** 2))
    q = W.sum(axis=1) ** alpha
    p = np.where(_joined_to_all_but_the_farthest(X, new), np.exp(-(pairwise_distances(new, X) ** 2)) / q, 0.0)
    p /= p.sum(axis=1, keepdims=True)
    assert relative(ours.transform(new), p @ ours.embedding_ / ours.walk_eigenvalues_) < 1e-8


@SEEDS
def test_eigenmaps_extension_is_nystrom(seed):
    rng = np.random.default_rng(seed)
    X, new = rng.standard_normal((80, 2)), rng.standard_normal((5, 2))
    ours = LaplacianEigenmaps(2, n_neighbors=79, weights=Heat(1.0)).fit(X)
    p = np.where(_joined_to_all_but_the_farthest(X, new), np.exp(-(pairwise_distances(new, X) ** 2)), 0.0)
    p /= p.sum(axis=1, keepdims=True)
    assert relative(ours.transform(new), p @ ours.embedding_ / (1 - ours.eigenvalues_)) < 1e-8
    harmonic = LaplacianEigenmaps(2, n_neighbors=79, weights=Heat(1.0), extension="harmonic").fit(X)
    assert relative(harmonic.transform(new), p @ harmonic.embedding_) < 1e-8


@SEEDS
def test_barycentric_extension_is_the_reconstruction(seed):
    X, _ = s_curve(400, seed)
    lle = LLE(2, n_neighbors=10).fit(X[:390])
    D = pairwise_distances(X[390:], X[:390])
    for x, row, y in zip(X[390:], D, lle.transform(X[390:]), strict=True):
        near = np.argsort(row)[:10]
        G = (X[near] - x) @ (X[near] - x).T
        w = la.solve(G + 1e-3 * np.trace(G) * np.eye(10), np.ones(10))
        np.testing.assert_allclose(y, w / w.sum() @ lle.embedding_[near], rtol=1e-8, atol=1e-8)


# ---------------------------------------------------------------------- projective methods
@cases
def test_projections_against_dense_matrices(data):
    X, _ = data
    k = connected_neighbours(X)
    W = heat(X, k)
    d = W.sum(axis=1)
    L = np.diag(d) - W
    ones = np.ones(len(X))
    n = len(X)
    for method, A, w, B in (
        (LPP(2, n_neighbors=k), L, d, np.diag(d)),
        (OLPP(2, n_neighbors=k), L, ones, None),
        (NPP(2, n_neighbors=k), lle_matrix(X, k), ones, np.eye(n)),
        (ONPP(2, n_neighbors=k), lle_matrix(X, k), ones, None),
        (LLTSA(2, n_neighbors=k), ltsa_matrix(X, k, 2), ones, np.eye(n)),
    ):
        Xc = centred(X, w)
        Q = la.orth(centred(X).T, rcond=1e-10)  # the row space: the rest is no data
        Z = Xc @ Q
        values, V = smallest(Z.T @ A @ Z, None if B is None else Z.T @ B @ Z, 2, skip=0)
        method.fit(X)
        assert angle(method.embedding_, Z @ V) < 1e-4, method
        assert angle(method.components_.T, Q @ V) < 1e-4, method
        np.testing.assert_allclose(
            method.eigenvalues_, values, rtol=1e-6, atol=1e-10 * np.abs(A).max(), err_msg=str(method)
        )
        assert relative(method.transform(X), Xc @ method.components_.T) < 1e-8, method


@SEEDS
def test_skipping_the_smallest(seed):
    X, _ = labelled(f"random-{seed}")
    every = ONPP(5).fit(X)
    skipped = ONPP(3, skip_smallest=2).fit(X)
    assert relative(skipped.eigenvalues_, every.eigenvalues_[2:]) < 1e-10
    assert angle(skipped.components_.T, every.components_[2:].T) < DEGREES


# ---------------------------------------------------------------------- one method, several ways in
@SEEDS
@pytest.mark.parametrize(
    "method",
    [PCA(2), LDA(2), LPP(2), OLPP(2), NPP(2), ONPP(2), LPP(2, graph="class"), KernelPCA(2), LPP(2, kernel="rbf")],
    ids=lambda m: type(m).__name__,
)
def test_sparse_and_dense_input_agree(method, seed):
    S = sp.random_array((90, 20), density=0.4, format="csr", random_state=np.random.default_rng(seed))
    y = np.arange(90) % 3
    from_dense = method.fit(S.toarray(), y).embedding_
    new_from_dense = method.transform(S[:7].toarray())
    from_sparse = method.fit(S, y).embedding_
    assert angle(from_dense, from_sparse) < 1e-4
    assert relative(inner_products(from_sparse), inner_products(from_dense)) < 1e-6
    assert relative(inner_products(method.transform(S[:7])), inner_products(new_from_dense)) < 1e-6


@cases
def test_all_points_as_landmarks_are_the_whole_kernel(data):
    X, y = data
    X = X / X.std() / np.sqrt(X.shape[1])
    everyone = np.arange(len(X))
    plain, landmarks = KernelPCA(2).fit(X), KernelPCA(2, landmarks=everyone).fit(X)
    assert relative(inner_products(landmarks.embedding_), inner_products(plain.embedding_)) < 1e-6
    assert (
        relative(inner_products(landmarks.transform(X[:9] + 0.1)), inner_products(plain.transform(X[:9] + 0.1))) < 1e-6
    )
    graph = KNN(10).build(
        X
    )  # one graph for both: the feature spaces differ in rounding, which may decide between neighbours
    for method in (LPP(1, ridge=1.0, graph=graph, weights="binary"), LDA(1, ridge=1.0)):
        method.set_params(kernel="rbf")
        whole = method.fit(X, y).embedding_
        assert angle(method.set_params(landmarks=everyone).fit(X, y).embedding_, whole) < 5e-3


@cases
@pytest.mark.parametrize("landmarks", [False, True])
def test_kernel_coordinates_reproduce_the_centred_kernel(data, landmarks):
    """ZZᵀ = HKH in full rank, also for smooth kernels whose eigenvalues span ten orders of magnitude."""
    X, _ = data
    X = X / X.std() / np.sqrt(X.shape[1])
    H = np.eye(len(X)) - 1 / len(X)
    K = np.exp(-pairwise_distances(X, metric="sqeuclidean") / X.shape[1])
    Z = Features.kernel("rbf", X, landmarks=np.arange(len(X)) if landmarks else None).Z
    assert relative(Z @ Z.T, H @ K @ H) < 1e-6
    assert np.abs(Z.mean(axis=0)).max() < 1e-10


@cases
def test_a_graph_given_in_any_way_is_the_same_graph(data):
    from sklearn.neighbors import KNeighborsTransformer

    X, _ = data
    k = connected_neighbours(X)
    search = NearestNeighbors(n_neighbors=k).fit(X)
    distances, indices = search.kneighbors()
    plain = LaplacianEigenmaps(2, n_neighbors=k).fit(X)
    for graph in (
        KNN(k),
        plain.graph_,
        sp.csr_array(search.kneighbors_graph(mode="distance")),
        (indices, distances),
        KNeighborsTransformer(n_neighbors=k),
    ):
        assert angle(LaplacianEigenmaps(2, graph=graph).fit(X).embedding_, plain.embedding_) < DEGREES
    D = pairwise_distances(X)
    sigma = plain.diagnostics_["sigma"]
    pre = LaplacianEigenmaps(2, graph="precomputed", n_neighbors=k, weights=Heat(sigma)).fit((D + D.T) / 2)
    assert angle(pre.embedding_, plain.embedding_) < DEGREES


# ---------------------------------------------------------------------- clustering
@SEEDS
@pytest.mark.parametrize("assign", ["kmeans", "discretize", "cluster_qr"])
@pytest.mark.parametrize("cut", ["normalized", "ratio"])
def test_spectral_clustering_against_scikit_learn(seed, assign, cut):
    centres = 6.0 * np.array([[0, 0], [1, 0], [0, 1], [1, 1]])
    X, y = datasets.make_blobs(200, centers=centres, cluster_std=1.0, random_state=seed)
    k = connected_neighbours(X, 15)
    ours = SpectralClustering(4, cut=cut, assign=assign, n_neighbors=k).fit(X)
    A = heat(X, k)
    theirs = TheirSpectralClustering(4, affinity="precomputed", assign_labels=assign, random_state=0).fit(A)
    assert adjusted_rand_score(ours.labels_, theirs.labels_) > 0.98
    assert adjusted_rand_score(ours.labels_, y) > 0.95
    assert adjusted_rand_score(ours.predict(X), ours.labels_) == 1.0


@SEEDS
def test_spectral_clustering_of_separate_pieces_is_exact(seed):
    X, y = datasets.make_blobs(150, centers=[[0, 0], [100, 0], [0, 100]], random_state=seed)
    for cut in ("normalized", "ratio"):
        for assign in ("kmeans", "discretize", "cluster_qr"):
            clustering = SpectralClustering(3, cut=cut, assign=assign).fit(X)
            assert adjusted_rand_score(clustering.labels_, y) == 1.0
            assert clustering.n_graph_components_ == 3
            assert np.abs(clustering.eigenvalues_).max() == 0


# ---------------------------------------------------------------------- graphs that fall apart, and answers that are not unique
@SEEDS
def test_two_far_blobs(seed):
    """A disconnected graph: LLE stays centred, with unit covariance and finite; scikit-learn's does not."""
    rng = np.random.default_rng(seed)
    X = np.vstack([rng.standard_normal((60, 3)), rng.standard_normal((60, 3)) + 50])
    with pytest.warns(DisconnectedWarning, match="2 components"):
        Y = LLE(2, n_neighbors=8).fit_transform(X)
    assert np.all(np.isfinite(Y))
    assert np.abs(Y.mean(axis=0)).max() < 1e-8
    assert relative(Y.T @ Y / len(Y), np.eye(2)) < 1e-8
    theirs = manifold.LocallyLinearEmbedding(n_neighbors=8, n_components=2, eigen_solver="dense").fit_transform(X)
    assert (
        np.abs(theirs.mean(axis=0)).max() > 1e-4 * np.abs(theirs).max()
    )  # any vector of the null space, not the centred ones


@pytest.mark.parametrize("n", [40, 100, 700])
def test_a_circle_has_no_first_coordinate(n):
    t = 2 * np.pi * np.arange(n) / n
    X = np.column_stack([np.cos(t), np.sin(t)])
    with pytest.warns(DegenerateWarning, match="1 and 2 coincide"):
        LaplacianEigenmaps(1, n_neighbors=2, weights="binary").fit(X)
    Y = LaplacianEigenmaps(2, n_neighbors=2, weights="binary").fit(X)
    assert angle(Y.embedding_, X) < 1e-4
    assert relative(Y.eigenvalues_, np.full(2, 1 - np.cos(2 * np.pi / n))) < 1e-6


@pytest.mark.parametrize("n", [50, 120])
def test_a_path_has_cosines(n):
    """Eigenvectors of the path graph's Laplacian are cos(πj(i + ½)/n), eigenvalues 2 − 2cos(πj/n)."""
    X = np.arange(n, dtype=float)[:, None]
    path = sp.diags_array([np.ones(n - 1), np.ones(n - 1)], offsets=[-1, 1], format="csr")
    ours = CommuteTimeEmbedding(3, graph=path, weights="binary").fit(X)
    i, j = np.arange(n)[:, None], np.arange(1, 4)
    assert relative(ours.eigenvalues_, 2 - 2 * np.cos(np.pi * j / n)) < 1e-8
    for axis in range(3):
        assert angle(ours.embedding_[:, [axis]], np.cos(np.pi * (axis + 1) * (i + 0.5) / n)) < DEGREES


# ---------------------------------------------------------------------- known sheets
@SEEDS
@pytest.mark.parametrize(
    "method, least",
    [
        (Isomap(2, n_neighbors=10), 0.98),
        (LTSA(2, n_neighbors=12), 0.99),
        (HessianLLE(2, n_neighbors=12), 0.99),
        (ModifiedLLE(2, n_neighbors=12), 0.98),
    ],
    ids=["Isomap", "LTSA", "HessianLLE", "ModifiedLLE"],
)
@pytest.mark.parametrize("sheet", [roll, s_curve])
@pytest.mark.every(2)
def test_the_sheet_is_recovered(method, least, sheet, seed):
    """R² of the true coordinates on the embedding, the worse of the two."""
    X, truth = sheet(1500, seed)
    assert explained(method.fit_transform(X), truth) > least


@SEEDS
def test_isomap_keeps_lengths(seed):
    X, truth = roll(1500, seed)
    assert disparity(Isomap(2, n_neighbors=10).fit_transform(X), truth) < 0.01
    landmark = LandmarkIsomap(2, n_neighbors=10, landmarks=100).fit(X)
    assert disparity(landmark.embedding_, truth) < 0.02
    assert relative(landmark.transform(X), landmark.embedding_) < 1e-8


@SEEDS
def test_new_points_of_a_sheet_land_in_place(seed):
    X, truth = roll(1500, seed)
    for method in (
        Isomap(2, n_neighbors=10),
        LTSA(2, n_neighbors=12),
        HessianLLE(2, n_neighbors=12),
        LandmarkIsomap(2, n_neighbors=10),
    ):
        Y = method.fit_transform(X[:1300])
        Z = np.column_stack([np.ones(1300), Y])
        fit = la.lstsq(Z, truth[:1300])[0]
        predicted = np.column_stack([np.ones(200), method.transform(X[1300:])]) @ fit
        left = truth[1300:] - predicted
        assert np.all(left.var(axis=0) < 0.03 * truth.var(axis=0)), method


# ---------------------------------------------------------------------- tapkee
def tapkee_embedding(X, method, k, **settings):
    tapkee = pytest.importorskip("tapkee")
    data = np.asfortranarray(X.T)
    return np.asarray(
        tapkee.embed(
            data,
            method=method,
            neighbors_method="brute",
            eigen_method="dense",
            num_neighbors=k,
            target_dimension=2,
            **settings,
        )
    )


@SEEDS
def test_lle_against_tapkee(seed):
    X, _ = s_curve(600, seed)
    assert angle(LLE(2, n_neighbors=12).fit(X).embedding_, tapkee_embedding(X, "lle", 12)) < 1e-3


@SEEDS
@pytest.mark.parametrize("name, method", [("ltsa", LTSA), ("hlle", HessianLLE)])
def test_alignment_against_tapkee(name, method, seed):
    """tapkee leaves a point out of its own neighbourhood: another matrix, the same sheet."""
    X, truth = s_curve(600, seed)
    ours = method(2, n_neighbors=12).fit(X).embedding_
    assert explained(ours, truth) > 0.999
    assert angle(ours, tapkee_embedding(X, name, 12)) < 2


@SEEDS
def test_laplacian_eigenmaps_against_tapkee(seed):
    """tapkee counts an edge twice where both ends chose it; with these weights given the two agree."""
    X, _ = s_curve(300, seed)
    A = kneighbors_graph(X, 12, mode="distance")
    A.data = np.exp(-(A.data**2) / 0.5)
    W = sp.csr_array(A + A.T)
    ours = LaplacianEigenmaps(2, graph=W, weights="precomputed").fit(X)
    assert angle(ours.embedding_, tapkee_embedding(X, "la", 12, gaussian_kernel_width=0.5)) < DEGREES


# ---------------------------------------------------------------------- weights and graphs
@cases
def test_heat_weights(data):
    """σ is half the median of all pairwise distances; an edge of length d weighs exp(−d²/σ²)."""
    X, _ = data
    D = pairwise_distances(X)
    sigma = np.median(D[np.triu_indices(len(X), 1)]) / 2
    assert median_width(X) == pytest.approx(sigma, rel=1e-10)
    W = affinity(KNN(10).build(X), "heat", X).W
    assert relative(W.toarray(), heat(X, 10)) < 1e-8


@cases
def test_local_scaling(data):
    X, _ = data
    D = pairwise_distances(X)
    W = affinity(KNN(10).build(X), LocalScaling(7), X).W.toarray()
    sigma = np.sort(D, axis=1)[:, 7]  # column 0 is the point itself
    expected = np.where(heat(X, 10) > 0, np.exp(-(D**2) / np.outer(sigma, sigma)), 0.0)
    assert relative(W, expected) < 1e-8


@cases
def test_cosine_weights(data):
    X, _ = data
    W = affinity(KNN(10).build(X), Cosine(), X).W.toarray()
    U = X / la.norm(X, axis=1, keepdims=True)
    assert relative(W, np.where(heat(X, 10) > 0, np.maximum(U @ U.T, 0.0), 0.0)) < 1e-8


@cases
@pytest.mark.parametrize("alpha", [0.5, 2.0, 7.0])
def test_hadamard_power_keeps_the_norm(data, alpha):
    X, _ = data
    W, P = (affinity(KNN(10).build(X), weights, X).W for weights in ("local", Powered("local", alpha)))
    assert sp.linalg.norm(P) == pytest.approx(sp.linalg.norm(W), rel=1e-12)
    ratio = P.data / W.data**alpha
    assert relative(ratio, np.full_like(ratio, ratio[0])) < 1e-10


@cases
def test_the_class_graph_is_a_projector(data):
    _, y = data
    H = class_graph(y).to_dense()
    assert relative(H @ H, H) < 1e-12
    assert relative(H.sum(axis=1), np.ones(len(y))) < 1e-12
    assert np.linalg.matrix_rank(H) == np.unique(y).size
    assert relative(H, (y[:, None] == y) / np.bincount(y)[y]) < 1e-12
    partial = np.where(np.arange(len(y)) % 3 == 0, -1, y)
    P = class_graph(partial).to_dense()
    assert np.all(P[partial < 0] == 0)
    assert relative(P @ P, P) < 1e-12


@cases
def test_knn_graphs_against_brute_force(data):
    X, _ = data
    for symmetry in ("union", "mutual"):
        graph = KNN(10, symmetry=symmetry).build(X)
        A = kneighbors_graph(X, 10, mode="distance").toarray()
        assert relative(graph.distances.toarray(), A) < 1e-8
        both = np.maximum(A, A.T) if symmetry == "union" else np.where((A > 0) & (A.T > 0), A, 0.0)
        assert relative(graph.undirected().toarray(), both) < 1e-8


@SEEDS
@pytest.mark.parametrize("D", [2, 4])
def test_barycentric_weights_reproduce_points(seed, D):
    """k ≥ D + 1 neighbours in general position hold every point in their affine hull; the error vanishes with reg."""
    X = np.random.default_rng(seed).standard_normal((100, D))
    graph = KNN(D + 3).build(X).distances
    errors = []
    for reg in (1e-3, 1e-6, 1e-9):
        W = reconstruction_weights(X, graph, reg=reg)
        assert relative(W.sum(axis=1), np.ones(100)) < 1e-12
        errors.append(np.median(la.norm(W @ X - X, axis=1)))
    assert errors[0] > errors[1] > errors[2]
    assert errors[2] < 1e-5
    # fewer neighbours than dimensions: the best affine combination, by least squares
    few = KNN(D).build(X).distances
    W = reconstruction_weights(X, few, reg=1e-12)
    for i in range(0, 100, 10):
        near = few.indices[few.indptr[i] : few.indptr[i + 1]]
        Z = (X[near[1:]] - X[near[0]]).T
        best = la.norm(Z @ la.lstsq(Z, X[i] - X[near[0]])[0] - (X[i] - X[near[0]]))
        assert la.norm((W[[i]] @ X).ravel() - X[i]) < best + 1e-5


@cases
def test_nearest_neighbours_of_new_points(data):
    X, _ = data
    train, new = X[::2], X[1::2]
    found = KNN(5).build(train).finder.relate(new)
    distances, indices = NearestNeighbors(n_neighbors=5, algorithm="brute").fit(train).kneighbors(new)
    expected = np.zeros((len(new), len(train)))
    np.put_along_axis(expected, indices, distances, axis=1)
    assert relative(found.toarray(), expected) < 1e-7


@pytest.mark.parametrize("sparse", [False, True])
def test_precomputed_affinities_are_taken_as_they_are(sparse):
    """``graph="precomputed", weights="precomputed"``: X is the affinity matrix, for training points and for new ones."""
    X = datasets.load_iris().data + 1e-4 * np.random.default_rng(0).standard_normal((150, 4))
    fitted = LaplacianEigenmaps(2, n_neighbors=60).fit(X)
    W = fitted.affinity_.W
    given = LaplacianEigenmaps(2, graph="precomputed", weights="precomputed").fit(W.toarray())
    assert angle(given.embedding_, fitted.embedding_) < 1e-6
    rows = W.toarray()[-5:]  # a training point's own row leads back to it: P y = (1 − λ) y
    assert np.all(rows[:, 0] == 0)  # no affinity to the first point, which must not be taken for distance zero
    np.testing.assert_allclose(given.transform(rows), given.embedding_[-5:], atol=1e-9)
    labels = SpectralClustering(3, graph="precomputed", weights="precomputed").fit_predict(W.toarray())
    assert adjusted_rand_score(labels, SpectralClustering(3, n_neighbors=60).fit_predict(X)) == 1.0
    coordinates = LaplacianEigenmaps(2, graph=W if sparse else sp.csr_matrix(W), weights="precomputed").fit(X)
    assert angle(coordinates.embedding_, fitted.embedding_) < 1e-6
    near = coordinates.transform(X[:20] + 1e-3)
    assert np.abs(near - coordinates.embedding_[:20]).max() < 0.5 * np.abs(coordinates.embedding_).max()


def test_unusable_affinities_are_refused():
    W = np.ones((12, 12))
    with pytest.raises(GraphError, match="not symmetric"):
        LaplacianEigenmaps(graph="precomputed", weights="precomputed").fit(W + np.triu(W, 1))
    with pytest.raises(GraphError, match="must not be negative; 144 of 144 are, the smallest -1"):
        LaplacianEigenmaps(graph="precomputed", weights="precomputed").fit(-W)
    apart = np.kron(np.eye(2), np.ones((6, 6)))
    with pytest.raises(GraphError, match="affinities are disconnected"):
        LaplacianEigenmaps(graph="precomputed", weights="precomputed").fit(apart)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("shape", [(300, 200), (120, 400)])
def test_reduced_pca_is_converged_and_keeps_the_books(sparse, shape):
    """``reduce=`` finds the leading axes of a flat spectrum too, and shares refer to all of the variance."""
    X = np.random.default_rng(0).standard_normal(shape)
    data = sp.csr_array(X) if sparse else X
    full, reduced = PCA(4).fit(X), PCA(4, reduce=6, random_state=3).fit(data)
    assert angle(reduced.components_.T, full.components_.T) < 1e-5
    np.testing.assert_allclose(reduced.explained_variance_ratio_, full.explained_variance_ratio_, rtol=1e-9)
    with pytest.raises(DimensionError, match="reduce= hold only"):
        PCA(0.9, reduce=6).fit(data)


def test_wide_sparse_data_need_no_square_matrix():
    X = sp.random_array((40, 30000), density=0.01, format="csr", random_state=np.random.default_rng(0))
    ours, theirs = PCA(3).fit(X), decomposition.PCA(3, svd_solver="full").fit(X.toarray())
    assert angle(ours.components_.T, theirs.components_.T) < 1e-5


def test_corrected_distances_are_euclidean_also_where_one_is_zero():
    D = np.random.default_rng(0).random((12, 12))
    D = np.triu(D, 1) + np.triu(D, 1).T
    D[0, 1] = D[1, 0] = 0.0
    for correction in ("cailliez", "lingoes"):
        G = ClassicalMDS(2, metric="precomputed", correction=correction).fit(D).problem_.A.to_dense()
        assert la.eigvalsh(G)[0] > -1e-9 * np.abs(G).max()


def test_only_kernels_known_to_be_definite_are_trusted():
    X = datasets.load_iris().data
    with pytest.warns(IndefiniteWarning, match="not positive semidefinite"):
        KernelPCA(2, kernel="poly", coef0=-5).fit(X)


def test_preimages_move_with_the_data():
    X = np.random.default_rng(0).standard_normal((60, 3))
    near = KernelPCA(2, preimage="ridge").fit(X)
    far = KernelPCA(2, preimage="ridge").fit(X + 100)
    np.testing.assert_allclose(
        far.inverse_transform(far.embedding_) - 100, near.inverse_transform(near.embedding_), atol=1e-6
    )


def test_a_ridge_is_never_ignored():
    X, y = datasets.load_iris(return_X_y=True)
    plain, strong = (LDA(2, criterion="trace-ratio", ridge=r).fit(X, y) for r in (None, 1e4))
    assert angle(plain.components_.T, strong.components_.T) > 0.1
    with pytest.raises(InputError, match="has no place"):
        TraceReducer(basis="samples", ridge=1.0).fit(X)


def test_quadratics_that_are_affine_cost_nothing():
    """On two values x² is affine in x: Hessian LLE has nothing to charge, and must not charge for something arbitrary."""
    X = np.repeat([[0.0], [1.0]], 10, axis=0)[np.random.default_rng(0).permutation(20)]
    everyone = kneighbors_graph(X, 19, mode="distance")
    assert np.abs(hessian_alignment(X, everyone, 1).to_dense()).max() < 1e-12


@pytest.mark.parametrize("D", [2, 30])
def test_coincident_neighbourhoods_have_no_tangent(D):
    """Among copies of one point LTSA charges for every difference; an arbitrary tangent would let some pass."""
    X = np.ones((8, D))
    graph = sp.csr_array(np.ones((8, 8)) - np.eye(8))
    expected = 8 * (np.eye(8) - 1 / 8)  # every one of the 8 neighbourhoods is all of them
    np.testing.assert_allclose(tangent_alignment(X, graph, 2).to_dense(), expected, atol=1e-12)
    assert np.abs(hessian_alignment(X, graph, 2).to_dense()).max() < 1e-12


def test_asymmetric_weights_have_no_laplacian():
    W = sp.random_array((20, 20), density=0.3, random_state=np.random.default_rng(0), format="csr")
    with pytest.raises(InputError, match="symmetric"):
        laplacian(W)
