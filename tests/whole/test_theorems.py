"""The theorems that join the methods: each is stated with its conditions and holds on random and on real data.

Numbers of propositions are those of [S0] (Kokiopoulou, Chen, Saad 2010).
"""

import warnings

import numpy as np
import pytest
import scipy.linalg as la
from sklearn.metrics import pairwise_distances

from eigenspan import (
    CCA,
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
    ClassicalMDS,
    CommuteTimeEmbedding,
    DiffusionMap,
    Heat,
    HessianLLE,
    Isomap,
    Kernel,
    KernelPCA,
    LandmarkMDS,
    LaplacianEigenmaps,
    ModifiedLLE,
    SpectralClustering,
    TraceReducer,
)
from eigenspan.core import (
    DirectSum,
    Features,
    Form,
    Samples,
    SqrtEigenvalue,
    TraceProblem,
    TraceRatio,
    cross_form,
    gram,
    pose,
    solve,
)
from eigenspan.errors import IndefiniteWarning
from eigenspan.extend import DistanceGram, GramExtension, half_squares
from eigenspan.forms import class_average, reconstruction
from eigenspan.graphs.labels import slice_edges, slices
from helpers import angle, centred, connected_neighbours, external_data, inner_products, labelled, relative

#: Real data have outliers, and axes of implicit methods that sit on them: what is tested here holds for these too.
pytestmark = pytest.mark.filterwarnings("ignore::eigenspan.errors.LocalisationWarning")

DEGREES = 1e-4
CASES = ["random-0", "random-1", "random-2", "iris", "wine", "digits", "ionosphere", "usps", "mfeat"]

cases = pytest.mark.parametrize("case", CASES)


@pytest.fixture
def data(case):
    return labelled(case)


def oversampled(X):
    """The data, or their leading 20 principal components where they are too few to fill their space."""
    return X if 2 * X.shape[1] < len(X) else PCA(20).fit_transform(X)


def weights_of(X, k, sigma=None):
    """Dense heat weights of a k-nearest-neighbour graph, built without the library; σ is half the median distance."""
    D = pairwise_distances(X)
    np.fill_diagonal(D, np.inf)
    near = np.zeros(D.shape, dtype=bool)
    np.put_along_axis(near, np.argsort(D, axis=1, kind="stable")[:, :k], True, axis=1)
    near |= near.T
    np.fill_diagonal(D, 0.0)
    sigma = np.median(D[np.triu_indices(len(D), 1)]) / 2 if sigma is None else sigma
    return np.where(near, np.exp(-(D**2) / sigma**2), 0.0)


# ---------------------------------------------------------------------- variance and distances
@cases
def test_classical_mds_is_pca(data):
    X, _ = data
    pca = PCA(3).fit(X)
    for mds in (ClassicalMDS(3).fit(X), ClassicalMDS(3, metric="precomputed").fit(pairwise_distances(X))):
        assert angle(mds.embedding_, pca.embedding_) < DEGREES
        assert relative(inner_products(mds.embedding_), inner_products(pca.embedding_)) < 1e-8
        assert relative(mds.eigenvalues_, pca.eigenvalues_) < 1e-8


@cases
def test_kernel_pca_with_the_linear_kernel_is_pca(data):
    X, _ = data
    train, new = X[::2], X[1::2]
    pca, kpca = PCA(3).fit(train), KernelPCA(3, kernel="linear").fit(train)
    assert relative(inner_products(kpca.embedding_), inner_products(pca.embedding_)) < 1e-8
    assert (
        relative(
            inner_products(kpca.transform(new), kpca.embedding_), inner_products(pca.transform(new), pca.embedding_)
        )
        < 1e-8
    )
    assert relative(kpca.eigenvalues_, pca.eigenvalues_) < 1e-8


@cases
@pytest.mark.parametrize("metric", ["euclidean", "cityblock", "cosine"])
def test_isomap_over_the_complete_graph_is_mds(data, metric):
    """Only for distances that obey the triangle inequality: the cosine distance does not, and there the two differ."""
    X, _ = data
    D = pairwise_distances(X, metric=metric)
    D = (D + D.T) / 2
    np.fill_diagonal(D, 0.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", IndefiniteWarning)  # city-block distances may be far from Euclidean
        mds = ClassicalMDS(2, metric="precomputed").fit(D)
    isomap = Isomap(2, graph="precomputed", n_neighbors=len(X) - 1).fit(D)
    if metric == "cosine":
        assert angle(mds.embedding_, isomap.embedding_) > 0.1
        return
    assert angle(mds.embedding_, isomap.embedding_) < DEGREES
    assert relative(inner_products(isomap.embedding_), inner_products(mds.embedding_)) < 1e-8


@cases
def test_isomap_over_the_complete_graph_of_points_is_pca(data):
    X, _ = data
    isomap = Isomap(2, n_neighbors=len(X) - 1).fit(X)
    assert angle(isomap.embedding_, PCA(2).fit(X).embedding_) < DEGREES


# ---------------------------------------------------------------------- the Laplacian
@cases
def test_kernel_pca_of_the_pseudo_inverse_laplacian_is_the_ratio_cut(data):
    """Proposition 8.1: with B = I, not with B = D."""
    X, _ = data
    k = connected_neighbours(X)
    ratio = CommuteTimeEmbedding(3, n_neighbors=k).fit(X)
    W = ratio.affinity_.W.toarray()
    L = np.diag(W.sum(axis=1)) - W
    kpca = KernelPCA(3, kernel="precomputed").fit(la.pinvh(L))
    by_hand = TraceReducer(3, basis="samples", minimise="laplacian", unit="embedding", n_neighbors=k).fit(X)
    cut = SpectralClustering(4, cut="ratio", n_neighbors=k).fit(X)
    for Y in (ratio.embedding_, by_hand.embedding_, cut.embedding_[:, 1:]):
        assert angle(kpca.embedding_, Y) < DEGREES
    assert angle(np.ones((len(X), 1)), cut.embedding_[:, :1]) < DEGREES
    normalised = LaplacianEigenmaps(3, n_neighbors=k).fit(X)
    assert angle(kpca.embedding_, normalised.embedding_) > 1e-2


@cases
def test_eigenmaps_are_the_deflated_normalised_affinity(data):
    """LE = D^{−½}U, U the top eigenvectors of D^{−½}WD^{−½} − D^{½}11ᵀD^{½}/1ᵀD1, uncentred."""
    X, _ = data
    k = connected_neighbours(X)
    le = LaplacianEigenmaps(3, n_neighbors=k).fit(X)
    W = weights_of(X, k)
    d = W.sum(axis=1)
    s = np.sqrt(d)
    values, U = la.eigh(W / np.outer(s, s) - np.outer(s, s) / d.sum())
    Y = (U / s[:, None])[:, ::-1][:, :3]
    assert angle(le.embedding_, Y) < DEGREES
    assert relative(1 - le.eigenvalues_, values[::-1][:3]) < 1e-8
    assert relative(le.embedding_.T @ (d[:, None] * le.embedding_), np.eye(3)) < 1e-8


@cases
def test_locally_linear_embedding_is_kernel_pca(data):
    """LLE ≡ KPCA(λ_max I − M), centred, up to the scale of each column."""
    X, _ = data
    k = connected_neighbours(X)
    lle = LLE(3, n_neighbors=k, reg=1e-2).fit(X)
    F = np.eye(len(X)) - lle.weights_.toarray()
    M = F.T @ F
    top = la.eigvalsh(M)[-1]
    kpca = KernelPCA(3, kernel="precomputed").fit(top * np.eye(len(X)) - M)
    assert angle(lle.embedding_, kpca.embedding_) < DEGREES
    for j in range(3):
        assert angle(lle.embedding_[:, [j]], kpca.embedding_[:, [j]]) < DEGREES
    assert relative(top - kpca.eigenvalues_, lle.eigenvalues_) < 1e-6  # a small difference of large numbers


@cases
@pytest.mark.parametrize("alpha", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("t", [1, 2, 3])
def test_diffusion_map_is_kernel_pca_of_the_walk(data, alpha, t):
    """Kernel S^{2t}, S = D_α^{−½}W_αD_α^{−½} with the stationary vector deflated, rows times D_α^{−½}; S has μ > 0 at the cut."""
    X, _ = data
    k = connected_neighbours(X)
    dm = DiffusionMap(2, t=t, alpha=alpha, n_neighbors=k).fit(X)
    W = weights_of(X, k) + np.eye(len(X))
    q = W.sum(axis=1) ** alpha
    Wa = W / np.outer(q, q)
    d = Wa.sum(axis=1)
    s = np.sqrt(d)
    S = Wa / np.outer(s, s) - np.outer(s, s) / d.sum()
    values, U = la.eigh(np.linalg.matrix_power(S, 2 * t))
    Y = np.sqrt(d.sum()) * (U * np.sqrt(np.maximum(values, 0.0)) / s[:, None])[:, ::-1][:, :2]
    assert angle(dm.embedding_, Y) < DEGREES
    assert relative(inner_products(dm.embedding_), inner_products(Y)) < 1e-8
    assert relative(dm.walk_eigenvalues_ ** (2 * t), values[::-1][:2]) < 1e-8


@cases
def test_diffusion_distances(data):
    """With all n − 1 axes, distances are those of the t-step transition probabilities in the stationary measure."""
    X = data[0][:60]
    k = connected_neighbours(X)
    dm = DiffusionMap(len(X) - 1, t=2, n_neighbors=k, extension="harmonic").fit(X)
    W = weights_of(X, k) + np.eye(len(X))
    q = W.sum(axis=1)
    Wa = W / np.outer(q, q)
    d = Wa.sum(axis=1)
    P = np.linalg.matrix_power(Wa / d[:, None], 2)
    expected = pairwise_distances(P / np.sqrt(d / d.sum()), metric="sqeuclidean")
    assert relative(pairwise_distances(dm.embedding_, metric="sqeuclidean"), expected) < 1e-8


@cases
def test_commute_times(data):
    """Squared distances over all n − 1 axes are vol·(e_i − e_j)ᵀL†(e_i − e_j), and expected steps of the walk there and back."""
    X = data[0][:60]
    n, k = len(X), connected_neighbours(X)
    sigma = np.median(pairwise_distances(X))  # wide enough that no bridge of the graph is weaker than rounding
    Y = CommuteTimeEmbedding(n - 1, n_neighbors=k, weights=Heat(sigma)).fit_transform(X)
    found = pairwise_distances(Y, metric="sqeuclidean")
    W = weights_of(X, k, sigma)
    d = W.sum(axis=1)
    G = la.pinvh(np.diag(d) - W)
    resistance = np.diag(G)[:, None] + np.diag(G) - 2 * G
    assert relative(found, d.sum() * resistance) < 1e-8
    P = W / d[:, None]
    hitting = np.zeros((n, n))  # of j from i: h = 1 + P h, h_j = 0
    for j in range(n):
        rest = np.delete(np.arange(n), j)
        hitting[rest, j] = la.solve(np.eye(n - 1) - P[np.ix_(rest, rest)], np.ones(n - 1))
    assert relative(found, hitting + hitting.T) < 1e-8


# ---------------------------------------------------------------------- reconstruction
@cases
def test_the_matrix_of_lle_has_zero_row_sums(data):
    X, _ = data
    k = connected_neighbours(X)
    M = reconstruction(LLE(2, n_neighbors=k).fit(X).weights_)
    assert np.abs(M.ones()).max() < 1e-10 * M.norm()
    assert M.kills_constant


def test_the_matrix_of_lle_is_no_laplacian():
    """Proposition 7.1 and its example: one positive pair off the diagonal, 0.14."""
    W = np.array([[0, 0.4, 0.6, 0], [0.1, 0, 0.3, 0.6], [0.2, 0.4, 0, 0.4], [0, 0.5, 0.5, 0]])
    M = reconstruction(W).to_dense()
    assert M[0, 3] == pytest.approx(0.14, abs=1e-15)
    assert M[3, 0] == pytest.approx(0.14, abs=1e-15)
    off = M[~np.eye(4, dtype=bool)]
    assert np.sum(off > 0) == 2
    assert np.abs(M.sum(axis=1)).max() < 1e-15
    np.testing.assert_allclose(np.diag(M), 1 + np.sum(W**2, axis=0), atol=1e-15)


# ---------------------------------------------------------------------- projections
def ritz(X, A, b, d):
    """Rayleigh–Ritz of (A, diag b) on the span of X centred with weights b: values and embedding."""
    Z = np.sqrt(b)[:, None] * centred(X, b)
    U, s, _ = la.svd(Z, full_matrices=False)
    Q = U[:, s > 1e-10 * s[0]] / np.sqrt(b)[:, None]
    values, S = la.eigh(Q.T @ A @ Q)
    return values[:d], Q @ S[:, :d]


@cases
def test_lpp_is_a_rayleigh_ritz_projection_of_eigenmaps(data):
    """Proposition 7.4; Ritz values bound the eigenvalues of eigenmaps from above."""
    X, _ = data
    k = connected_neighbours(X)
    lpp, W = LPP(3, n_neighbors=k).fit(X), weights_of(X, k)
    d = W.sum(axis=1)
    values, Y = ritz(X, np.diag(d) - W, d, 3)
    assert angle(lpp.embedding_, Y) < DEGREES
    assert relative(lpp.eigenvalues_, values) < 1e-8
    assert np.all(lpp.eigenvalues_ >= LaplacianEigenmaps(3, n_neighbors=k).fit(X).eigenvalues_ - 1e-12)


@cases
def test_npp_is_a_rayleigh_ritz_projection_of_lle(data):
    """Proposition 7.4."""
    X, _ = data
    k = connected_neighbours(X)
    npp, lle = NPP(3, n_neighbors=k).fit(X), LLE(3, n_neighbors=k).fit(X)
    M = reconstruction(lle.weights_).to_dense()
    values, Y = ritz(X, M, np.ones(len(X)), 3)
    assert angle(npp.embedding_, Y) < DEGREES
    assert relative(npp.eigenvalues_, values) < 1e-8
    assert np.all(npp.eigenvalues_ >= lle.eigenvalues_ - 1e-12)


@pytest.mark.parametrize("case", ["random-0", "random-1", "random-2", "digits", "teapots", "orl", "coil"])
@pytest.mark.parametrize(
    "projection, implicit", [(LPP, LaplacianEigenmaps), (NPP, LLE), (LLTSA, LTSA)], ids=["LPP", "NPP", "LLTSA"]
)
def test_undersampled_projections_are_implicit_methods(case, projection, implicit):
    """Corollary 7.5: the rows are affinely independent, that is, the centred data have rank n − 1."""
    if case.startswith("random-"):
        X = np.random.default_rng(int(case[-1])).standard_normal((60, 90)) @ np.diag(np.linspace(1, 3, 90))
    elif case == "digits":
        X = labelled("digits", 40)[0]
    else:
        X = external_data({"teapots": "teapots100_38x50", "orl": "orl_112x92", "coil": "coil20_32x32"}[case])["X"][
            :80
        ].astype(float)
    assert np.linalg.matrix_rank(centred(X)) == len(X) - 1
    k = connected_neighbours(X, 6)
    a, b = projection(2, n_neighbors=k).fit(X), implicit(2, n_neighbors=k).fit(X)
    assert angle(a.embedding_, b.embedding_) < DEGREES
    np.testing.assert_allclose(a.eigenvalues_, b.eigenvalues_, rtol=1e-6, atol=1e-12)


@cases
def test_lpp_with_the_inverse_scatter_is_pca(data):
    """Proposition 7.3: I − Ŵ = X(XᵀX)⁻²Xᵀ, X centred and of full column rank."""
    X, _ = data
    X = PCA(min(X.shape[1], 10)).fit_transform(X) if np.linalg.matrix_rank(centred(X)) < X.shape[1] else centred(X)
    S = X.T @ X
    form = Form(len(X), dense=X @ np.linalg.solve(S, np.linalg.solve(S, X.T)), psd=True, kills_constant=True)
    posed = pose(Features.linear(X), minimise=form)
    found = solve(posed.problem, 3)
    pca = PCA(3).fit(X)
    assert angle(posed.basis.map(found.vectors, found).coef, pca.components_.T) < DEGREES
    assert relative(1 / found.values, pca.eigenvalues_) < 1e-8


@cases
def test_lda_is_supervised_lpp_is_supervised_npp(data):
    """Proposition 7.2, with the class graph W = H."""
    X, y = data
    c = np.unique(y).size
    lda = LDA().fit(X, y)
    assert lda.embedding_.shape[1] == c - 1
    for method in (LPP, NPP):
        other = method(c - 1, graph="class").fit(X, y)
        assert angle(lda.components_.T, other.components_.T) < DEGREES
        assert angle(lda.embedding_, other.embedding_) < DEGREES
        assert relative(1 - other.eigenvalues_, lda.eigenvalues_) < 1e-8


@pytest.mark.parametrize("seed", range(3))
def test_lda_is_supervised_lpp_when_undersampled(seed):
    rng = np.random.default_rng(seed)
    y = np.arange(30) % 3
    X = rng.standard_normal((30, 50)) + y[:, None]
    lda = LDA().fit(X, y)
    assert relative(lda.eigenvalues_, np.ones(2)) < 1e-8
    for method in (LPP, NPP):
        assert angle(lda.components_.T, method(2, graph="class").fit(X, y).components_.T) < DEGREES


@cases
def test_sliced_inverse_regression_on_classes_is_lda(data):
    """max variance of the slice means under unit embedding, against the textbook's whiten–average–rotate and against LDA."""
    X, y = data
    d = np.unique(y).size - 1
    posed = pose(Features.linear(X), maximise=class_average(y))
    found = solve(posed.problem, d)
    assert angle(posed.basis.embed(found.vectors), LDA().fit(X, y).embedding_) < DEGREES
    U, s, _ = la.svd(centred(X), full_matrices=False)
    U = U[:, s > 1e-10 * s[0]]
    means = np.vstack([np.sqrt(np.sum(y == k)) * U[y == k].mean(axis=0) for k in range(d + 1)])
    _, values, Vt = la.svd(means, full_matrices=False)
    assert angle(posed.basis.embed(found.vectors), U @ Vt[:d].T) < DEGREES
    assert relative(found.values, values[:d] ** 2) < 1e-8


def unequal_classes():
    """Classes of 150, 60, 25 and 8 points in seven correlated features."""
    rng = np.random.default_rng(5)
    y = np.repeat([0, 1, 2, 3], [150, 60, 25, 8])
    return (rng.standard_normal((243, 7)) + rng.standard_normal((4, 7))[y]) @ rng.standard_normal((7, 7)) - 4, y


@pytest.mark.parametrize("make", [unequal_classes, lambda: labelled("wine")], ids=["unequal", "wine"])
def test_directions_of_sliced_inverse_regression_are_those_of_lda(make):
    """Li's recipe with a class for a slice: standardise, weigh the slice means by their shares, rotate, and transform back."""
    X, y = make()
    c = np.unique(y).size
    Z = X - X.mean(axis=0)
    values, Q = np.linalg.eigh(Z.T @ Z / len(Z))
    root = Q / np.sqrt(values) @ Q.T  # Σ^{-1/2}
    M = np.zeros((X.shape[1], X.shape[1]))
    for k in range(c):
        mean = (Z[y == k] @ root).mean(axis=0)
        M += np.mean(y == k) * np.outer(mean, mean)
    gains, eta = np.linalg.eigh(M)
    directions = root @ eta[:, ::-1][:, : c - 1]
    lda = LDA().fit(X, y)
    assert angle(lda.components_.T, directions) < DEGREES
    assert relative(lda.eigenvalues_, gains[::-1][: c - 1]) < 1e-8
    for j in range(1, c):  # the directions one by one, not only all together
        assert angle(lda.components_[:j].T, directions[:, :j]) < DEGREES


@pytest.mark.parametrize("seed", range(3))
def test_sliced_inverse_regression_finds_the_direction(seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((2000, 6)) @ rng.standard_normal((6, 6)) + 5
    beta = rng.standard_normal(6)
    index = X @ beta
    y = np.exp((index - index.mean()) / index.std()) + 0.05 * rng.standard_normal(2000)
    posed = pose(Features.linear(X), maximise=class_average(slices(y, slice_edges(y, 10))))
    found = solve(posed.problem, 1)
    assert np.abs(np.corrcoef(posed.basis.embed(found.vectors).ravel(), index)[0, 1]) > 0.99


# ---------------------------------------------------------------------- kernels
KERNEL = Kernel("laplacian")


def nonsingular_kernel(X):
    from sklearn.metrics.pairwise import laplacian_kernel

    K = laplacian_kernel(X)
    assert np.linalg.cond(K) < 1e8, "the theorem needs a nonsingular kernel matrix"
    return K


@cases
@pytest.mark.parametrize(
    "method, implicit", [(LPP, LaplacianEigenmaps), (NPP, LLE), (LLTSA, LTSA)], ids=["LPP", "NPP", "LLTSA"]
)
def test_kernel_projections_are_implicit_methods_in_feature_space(data, method, implicit):
    """Propositions 8.2 and 8.3: K numerically nonsingular, no ridge, the graph built in feature space."""
    X = data[0] / data[0].std()
    nonsingular_kernel(X)
    Z = Features.kernel(KERNEL, X).Z
    k = connected_neighbours(Z)
    kernelised = method(2, kernel=KERNEL, ridge=0, n_neighbors=k).fit(X)
    plain = implicit(2, n_neighbors=k).fit(Z)
    assert angle(kernelised.embedding_, plain.embedding_) < DEGREES


def kernel_problem(K, w, A, B, epsilon, d, sense):
    """``K̃AK̃α = λK̃BK̃α`` solved as it stands, K̃ centred with weights w (then K̃w = 0); εK̃ is added to B, or to A in a minimum."""
    n = len(K)
    w = w / w.sum()
    C = np.eye(n) - np.outer(np.ones(n), w)
    Kc = C @ K @ C.T
    P = la.null_space(w[None])
    in_A, in_B = (epsilon, 0.0) if sense == "min" else (0.0, epsilon)
    left = P.T @ (Kc @ A @ Kc + in_A * Kc) @ P
    right = P.T @ ((Kc if B is None else Kc @ B @ Kc) + in_B * Kc) @ P
    values, alpha = la.eigh((left + left.T) / 2, (right + right.T) / 2)
    order = slice(None, d) if sense == "min" else slice(None, -d - 1, -1)
    return values[order], Kc @ P @ alpha[:, order]


@cases
def test_the_kpca_trick_is_the_kernelised_method(data):
    """Kernel LDA, LPP, NPP and OLPP against their n×n eigenproblems in the dual coefficients."""
    X, y = data
    X = X / X.std()
    n = len(X)
    K = nonsingular_kernel(X)
    ones = np.ones(n)
    G = (y[:, None] == y) / np.bincount(y)[y]
    H = np.eye(n) - 1 / n
    c = np.unique(y).size
    values, Y = kernel_problem(K, ones, H @ G @ H, H, 0.1, c - 1, "max")
    lda = LDA(kernel=KERNEL, ridge=0.1).fit(X, y)
    assert angle(lda.embedding_, Y) < DEGREES
    assert relative(lda.eigenvalues_, values) < 1e-8

    Z = Features.kernel(KERNEL, X).Z
    k = connected_neighbours(Z)
    W = weights_of(Z, k)
    d = W.sum(axis=1)
    L = np.diag(d) - W
    values, Y = kernel_problem(K, d, L, np.diag(d), 0.1, 2, "min")
    lpp = LPP(2, kernel=KERNEL, ridge=0.1, n_neighbors=k).fit(X)
    assert angle(lpp.embedding_, Y) < DEGREES
    assert relative(lpp.eigenvalues_, values) < 1e-8

    values, Y = kernel_problem(K, ones, L, None, 0.0, 2, "min")
    olpp = OLPP(2, kernel=KERNEL, n_neighbors=k).fit(X)
    assert angle(olpp.embedding_, Y) < DEGREES
    assert relative(olpp.eigenvalues_, values) < 1e-8

    M = reconstruction(LLE(2, n_neighbors=k).fit(Z).weights_).to_dense()
    values, Y = kernel_problem(K, ones, M, np.eye(n), 0.1, 2, "min")
    npp = NPP(2, kernel=KERNEL, ridge=0.1, n_neighbors=k).fit(X)
    assert angle(npp.embedding_, Y) < DEGREES
    assert relative(npp.eigenvalues_, values) < 1e-8


@cases
@pytest.mark.parametrize("method", [LPP, NPP, LLTSA])
@pytest.mark.parametrize("ridge", [None, 1e-6, 1.0])
def test_a_ridge_keeps_the_unit_of_kernel_projections(data, method, ridge):
    """A smooth kernel has axes along which the data hardly vary. However long the ridge lets them be, they are no answer."""
    X = data[0] / data[0].std() / np.sqrt(data[0].shape[1])
    k = connected_neighbours(X)
    fitted = method(2, kernel="rbf", ridge=ridge, graph=KNN(k).build(X)).fit(X)
    d = weights_of(X, k).sum(axis=1) if method is LPP else np.ones(len(X))
    if method is LPP:
        fitted.set_params(weights=Heat(np.median(pairwise_distances(X)[np.triu_indices(len(X), 1)]) / 2)).fit(X)
    Y = fitted.embedding_
    assert relative(Y.T @ (d[:, None] * Y), np.eye(2)) < 1e-6
    nudged = fitted.transform(X + 1e-6 * np.random.default_rng(0).standard_normal(X.shape))
    assert relative(nudged, Y) < 1e-2


@cases
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_kernel_pca_extension_is_nystrom_is_landmark_mds(data, kernel):
    """Landmark centring. The maps agree point for point before landmark MDS turns to its principal axes, and in distances after."""
    from sklearn.metrics.pairwise import pairwise_kernels

    X, _ = data
    X = X / X.std() / np.sqrt(X.shape[1])
    rng = np.random.default_rng(0)
    landmarks = np.sort(rng.choice(len(X), 40, replace=False))
    K = pairwise_kernels(X, metric=kernel)
    D2 = np.maximum(np.diag(K)[:, None] + np.diag(K) - 2 * K, 0.0)
    np.fill_diagonal(D2, 0.0)
    Kq, Kx = K[np.ix_(landmarks, landmarks)], K[:, landmarks]

    H = np.eye(40) - 1 / 40
    values, U = la.eigh(H @ Kq @ H)
    values, U = values[::-1][:2], U[:, ::-1][:, :2]
    nystrom = (Kx - Kq.mean(axis=0)) @ U / np.sqrt(values)

    extended = KernelPCA(2, kernel="precomputed").fit(Kq).transform(Kx)
    assert relative(inner_products(extended), inner_products(nystrom)) < 1e-8

    D = np.sqrt(D2)
    G = half_squares(D[np.ix_(landmarks, landmarks)])
    extension = GramExtension(DistanceGram(None, "precomputed", landmarks), G.mean(axis=0))
    posed = pose(Samples(40, extension), maximise=gram(G), scale=SqrtEigenvalue())
    found = solve(posed.problem, 2)
    triangulated = posed.basis.map(found.vectors * posed.scale(found), found)(D)
    assert relative(inner_products(triangulated), inner_products(nystrom)) < 1e-8

    published = 0.5 * (D2[np.ix_(landmarks, landmarks)].mean(axis=0) - D2[:, landmarks]) @ U / np.sqrt(values)
    assert relative(triangulated @ triangulated.T, published @ published.T) < 1e-8

    # landmark MDS does so on all axes, and the principal ones of all points are its answer
    values, U = (part[..., ::-1] for part in la.eigh(H @ Kq @ H))
    kept = values > 1e-10 * values[0]
    wide = (Kx - Kq.mean(axis=0)) @ H @ (U[:, kept] / np.sqrt(values[kept]))
    aligned = LandmarkMDS(2, landmarks=landmarks, metric="precomputed").fit(D)
    assert relative(pairwise_distances(aligned.embedding_), pairwise_distances(PCA(2).fit_transform(wide))) < 1e-7
    assert np.abs(aligned.embedding_.mean(axis=0)).max() < 1e-10
    C = aligned.embedding_.T @ aligned.embedding_
    assert abs(C[0, 1]) < 1e-8 * C[0, 0]
    assert C[0, 0] >= C[1, 1]


# ---------------------------------------------------------------------- two views
def canonical(X1, X2, d):
    """Canonical correlations and variates by QR and SVD (Björck & Golub)."""
    Q1, Q2 = (la.orth(centred(X), rcond=1e-10) for X in (X1, X2))
    U, s, Vt = la.svd(Q1.T @ Q2)
    return s[:d], Q1 @ U[:, :d], Q2 @ Vt[:d].T


def two_views(case):
    if case.startswith("random-"):
        rng = np.random.default_rng(int(case[-1]))
        shared = rng.standard_normal((150, 3)) * [3, 2, 1]
        return [
            np.hstack([shared, rng.standard_normal((150, p))]) @ rng.standard_normal((3 + p, 3 + p)) + 4 for p in (3, 5)
        ]
    if case == "wine":
        X, _ = labelled("wine")
        return [X[:, :6], X[:, 6:]]
    file = external_data("mfeat")
    view = file["view"]
    return [file["X"][:, view == name].astype(float) for name in np.unique(view)[:2]]


def cca(X1, X2, d):
    posed = pose(DirectSum([Features.linear(X1), Features.linear(X2)]), maximise=cross_form(len(X1)))
    found = solve(posed.problem, d)
    Y = posed.basis.embed(found.vectors)
    return found, Y[: len(X1)], Y[len(X1) :], posed.basis.map(found.vectors, found)


@pytest.mark.parametrize("case", ["random-0", "random-1", "random-2", "wine", "mfeat"])
def test_cca_is_the_cross_form_under_unit_embedding(case):
    X1, X2 = two_views(case)
    found, Y1, Y2, maps = cca(X1, X2, 3)
    s, U, V = canonical(X1, X2, 3)
    assert relative(found.values, s) < 1e-8
    assert relative(CCA(3).fit(X1, X2).correlations_, s) < 1e-8
    assert angle(Y1, U) < DEGREES
    assert angle(Y2, V) < DEGREES
    for Y in (Y1, Y2):  # each view carries half of the unit
        assert relative(2 * Y.T @ Y, np.eye(3)) < 1e-6
    assert relative(maps[0](X1), Y1) < 1e-8
    assert relative(maps[1](X2), Y2) < 1e-8


@pytest.mark.parametrize("case", ["random-0", "random-1", "random-2", "wine", "mfeat"])
def test_cca_is_affine_invariant(case):
    X1, X2 = two_views(case)
    rng = np.random.default_rng(7)
    found, Y1, Y2, _ = cca(X1, X2, 3)
    mixed = [
        X @ (la.qr(rng.standard_normal((X.shape[1],) * 2))[0] * rng.uniform(0.5, 2, X.shape[1])) + 3 for X in (X1, X2)
    ]
    again, Z1, Z2, _ = cca(*mixed, 3)
    assert relative(again.values, found.values) < 1e-8
    assert angle(Y1, Z1) < DEGREES
    assert angle(Y2, Z2) < DEGREES


@pytest.mark.parametrize("case", ["random-0", "random-1", "random-2"])
def test_cca_agrees_with_scikit_learn(case):
    from sklearn.cross_decomposition import CCA

    X1, X2 = two_views(case)
    found, Y1, Y2, _ = cca(X1, X2, 3)
    theirs = CCA(3, max_iter=100000, tol=1e-15).fit(X1, X2)
    T1, T2 = theirs.transform(X1, X2)
    correlations = [np.corrcoef(T1[:, j], T2[:, j])[0, 1] for j in range(3)]
    np.testing.assert_allclose(found.values, correlations, rtol=1e-5)
    assert angle(Y1, T1) < 0.01  # scikit-learn iterates to a tolerance of its own
    assert angle(Y2, T2) < 0.01


# ---------------------------------------------------------------------- trace ratio
@cases
@pytest.mark.parametrize("d", [1, 2])
def test_the_trace_ratio_beats_the_ratio_trace(data, d):
    X, y = oversampled(data[0]), data[1]
    d = min(d, y.max())
    lda, ratio = LDA(d).fit(X, y), LDA(d, criterion="trace-ratio").fit(X, y)
    Xc = centred(X)
    means = np.vstack([Xc[y == k].mean(axis=0) for k in range(y.max() + 1)])
    S_B, S_T = (means.T * np.bincount(y)) @ means, Xc.T @ Xc

    def value(V):
        Q = la.orth(V)
        return np.trace(Q.T @ S_B @ Q) / np.trace(Q.T @ S_T @ Q)

    V = ratio.components_.T
    assert relative(V.T @ V, np.eye(d)) < 1e-8
    best = value(V)
    assert best == pytest.approx(ratio.diagnostics_["trace_ratio"], rel=1e-8)
    assert best >= value(lda.components_.T) - 1e-10
    rng = np.random.default_rng(0)
    row_space = la.orth(Xc.T, rcond=1e-10)
    for _ in range(200):
        assert best >= value(row_space @ rng.standard_normal((row_space.shape[1], d))) - 1e-10
        assert best >= value(V + 0.01 * row_space @ rng.standard_normal((row_space.shape[1], d))) - 1e-10


@pytest.mark.parametrize("seed", range(3))
def test_a_singular_unit_under_a_minimum_is_eliminated(seed):
    """min over what B does not see, then the eigenproblem of the Schur complement on what it does: no ridge, no warning."""
    rng = np.random.default_rng(seed)
    F, G = rng.standard_normal((9, 6)), rng.standard_normal((3, 6))
    A, B = F.T @ F, G.T @ G
    found = solve(TraceProblem(Form(6, dense=A, psd=True), Form(6, dense=B, psd=True), "min"), 2)
    values = la.eigvals(la.solve(A, B))  # 1/λ of the finite eigenvalues
    np.testing.assert_allclose(1 / found.values, np.sort(values.real)[::-1][:2], rtol=1e-8)
    V = found.vectors
    assert relative(V.T @ B @ V, np.eye(2)) < 1e-8
    assert relative(V.T @ A @ V, np.diag(found.values)) < 1e-8


@pytest.mark.parametrize("sense", ["min", "max"])
def test_the_trace_ratio_in_both_senses(sense):
    rng = np.random.default_rng(1)
    A, B = (M @ M.T + np.eye(6) for M in rng.standard_normal((2, 6, 6)))
    found = solve(TraceRatio(Form(6, dense=A), Form(6, dense=B), sense), 2)
    rho, V = found.facts["trace_ratio"], found.vectors
    assert rho == pytest.approx(np.trace(V.T @ A @ V) / np.trace(V.T @ B @ V))
    ratios = []
    for _ in range(200):
        Q = la.orth(rng.standard_normal((6, 2)))
        ratios.append(np.trace(Q.T @ A @ Q) / np.trace(Q.T @ B @ Q))
    assert rho >= max(ratios) if sense == "max" else rho <= min(ratios)


# ---------------------------------------------------------------------- units and optimality
def everyone(k):
    """Every method that is one trace problem."""
    graph = {"n_neighbors": k}
    return [
        PCA(2),
        KernelPCA(2),
        ClassicalMDS(2),
        Isomap(2, **graph),
        LaplacianEigenmaps(2, **graph),
        DiffusionMap(2, **graph),
        CommuteTimeEmbedding(2, **graph),
        SpectralClustering(3, **graph),
        SpectralClustering(3, cut="ratio", **graph),
        LPP(2, **graph),
        OLPP(2, **graph),
        LPP(2, kernel="rbf", **graph),
        OLPP(2, kernel="rbf", **graph),
        LPP(2, graph="class"),
        OLPP(2, graph="class"),
        LLE(2, **graph),
        NPP(2, **graph),
        ONPP(2, **graph),
        NPP(2, kernel="rbf", **graph),
        ONPP(2, kernel="rbf", **graph),
        NPP(2, graph="class"),
        LTSA(2, **graph),
        HessianLLE(2, **graph),
        ModifiedLLE(2, **graph),
        LLTSA(2, **graph),
        LDA(2),
        LDA(2, kernel="rbf"),
        LDA(2, shrinkage=0.3),
        TraceReducer(2, minimise="class_laplacian", unit="total"),
    ]


def feasible(problem, V):
    """V moved into the B-complement of the excluded directions and made B-orthonormal."""
    B = np.eye(problem.A.n) if problem.B is None else problem.B.to_dense()
    N = problem.exclude
    if N is not None:
        V = V - N @ la.lstsq(N.T @ B @ N, N.T @ B @ V)[0]
    values, Q = la.eigh(V.T @ B @ V)
    return V @ (Q / np.sqrt(values))


@pytest.mark.filterwarnings("ignore::eigenspan.errors.FlatWarning")  # optimal is not the same as useful
@pytest.mark.parametrize("case", ["random-0", "random-1", "wine", "digits", "usps"])
def test_the_attained_trace_beats_every_competitor(case):
    """200 random feasible points, half of them anywhere and half of them near the solution."""
    X, y = labelled(case, 150)
    X = oversampled(X)
    k = connected_neighbours(X)
    rng = np.random.default_rng(0)
    for method in everyone(k):
        method.fit(X, y)
        problem = method.problem_
        A = problem.A.to_dense()
        sign = 1.0 if problem.sense == "min" else -1.0
        excluded = (
            0 if problem.exclude is None or not isinstance(method, SpectralClustering) else problem.exclude.shape[1]
        )
        values = method.eigenvalues_[excluded:]
        found = solve(problem, values.size)
        best = sign * values.sum()
        scale = np.abs(A).sum() / len(A)
        assert sign * np.trace(found.vectors.T @ A @ found.vectors) == pytest.approx(
            best, rel=1e-6, abs=1e-10 * scale
        ), method
        for i in range(200):
            step = rng.standard_normal((problem.A.n, values.size))
            V = feasible(problem, step if i % 2 else found.vectors + 0.1 * np.abs(found.vectors).mean() * step)
            assert sign * np.sum(V * (A @ V)) >= best - 1e-8 * max(abs(best), 1e-8 * scale), method


@cases
def test_units(data):
    """V'V = I, Y'Y = I, Y'DY = I, unit covariance: what each method promises of its output."""
    X, y = oversampled(data[0]), data[1]
    if y.max() < 2:
        y = y + 2 * (X[:, 0] > np.median(X[:, 0]))  # two discriminants need three classes
    k = connected_neighbours(X)
    graph = {"n_neighbors": k}
    eye, n = np.eye(2), len(X)
    for method in (PCA(2), OLPP(2, **graph), ONPP(2, **graph), OLPP(2, graph="class"), LDA(2, criterion="trace-ratio")):
        V = method.fit(X, y).components_.T
        assert relative(V.T @ V, eye) < 1e-8, method
    for method in (NPP(2, **graph), LLTSA(2, **graph), LDA(2), NPP(2, graph="class"), LPP(2, graph="class")):
        Y = method.fit(X, y).embedding_
        assert relative(Y.T @ Y, eye) < 1e-8, method
        assert np.abs(Y.sum(axis=0)).max() < 1e-8, method
    d = weights_of(X, k).sum(axis=1)
    for method in (LaplacianEigenmaps(2, **graph), LPP(2, **graph)):
        Y = method.fit(X).embedding_
        assert relative(Y.T @ (d[:, None] * Y), eye) < 1e-8, method
        assert np.abs(d @ Y).max() < 1e-8 * np.sqrt(d.sum()), method
    for method in (LLE(2, **graph), LTSA(2, **graph), HessianLLE(2, **graph), ModifiedLLE(2, **graph)):
        Y = method.fit(X).embedding_
        assert relative(Y.T @ Y / n, eye) < 1e-8, method
        assert np.abs(Y.mean(axis=0)).max() < 1e-8, method
    for method in (KernelPCA(2), ClassicalMDS(2), Isomap(2, **graph)):
        Y = method.fit(X).embedding_
        assert relative(Y.T @ Y, np.diag(method.eigenvalues_)) < 1e-8, method
        assert np.abs(Y.mean(axis=0)).max() < 1e-8 * np.abs(Y).max(), method
