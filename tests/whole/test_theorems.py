"""The theorems that join the methods: the library states each with its condition, and here it holds on random and on real data.

With the condition broken the same comparisons are off by degrees. Where a statement rests on what the library itself says of a method (its
equivalent kernel, its graph), the same is written out here without it.

Numbers of propositions are those of [S0] (Kokiopoulou, Chen & Saad 2011).
"""

import importlib
import warnings

import numpy as np
import pytest
import scipy.linalg as la
from sklearn.datasets import make_swiss_roll
from sklearn.metrics import pairwise_distances

from eigenspan import (
    CCA,
    KNN,
    LDA,
    LFDA,
    LLE,
    LLTSA,
    LPP,
    LTSA,
    MVU,
    NPP,
    OLPP,
    ONPP,
    PCA,
    SELF,
    SIR,
    Binary,
    ClassicalMDS,
    CommuteTimeEmbedding,
    DiffusionMap,
    Heat,
    HessianLLE,
    Isomap,
    Kernel,
    KernelCCA,
    KernelPCA,
    LandmarkMDS,
    LaplacianEigenmaps,
    ModifiedLLE,
    OrientedPCA,
    RoweisDA,
    SpectralClustering,
    TraceReducer,
    check_theorems,
)  # fmt: skip
from eigenspan.errors import EigenspanWarning, IndefiniteWarning
from eigenspan.graphs.class_graphs import slice_edges, slices
from eigenspan.problem import (
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
from eigenspan.problem.extensions import DistanceGram, GramExtension, half_squares
from eigenspan.problem.forms import class_average
from eigenspan.theory import kernel_theorems as kernels
from eigenspan.theory import projection_theorems as projections
from eigenspan.theory.laplacian_theorems import normalised
from eigenspan.theory.theorem import all_theorems
from eigenspan.theory.theorem_data import Data
from grouping import longer
from helpers import angle, centred, connected_neighbours, external_data, inner_products, labelled, relative

#: Real data have outliers, and axes of implicit methods that sit on them: what is tested here holds for these too.
pytestmark = pytest.mark.filterwarnings("ignore::eigenspan.errors.LocalisationWarning")

DEGREES = 1e-4
CASES = ["random-0", "iris", "ionosphere", "mfeat", *longer("random-1", "random-2", "wine", "digits", "usps")]

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


# ---------------------------------------------------------------------- the statements of the library
#: Where rows, dimensions and neighbours can be chosen so that a condition holds, it does: on these data all of them.
STATED = ["wine", *longer("roll", "iris", "digits", "mfeat")]


def _rolled():
    X, t = make_swiss_roll(300, random_state=0)
    return X, np.digitize(t, np.quantile(t, [0.25, 0.5, 0.75]))


@pytest.mark.parametrize("case", STATED)
def test_statements(case):
    results = check_theorems(*(_rolled() if case == "roll" else labelled(case))).results
    assert [result.theorem.name for result in results] == list(all_theorems())
    for result in results:
        name = result.theorem.name
        assert result.holds, f"{name}: {result.found}"
        assert result.confirmed, f"{name}: {result.discrepancy}"
        assert result.degrees is not None or result.relative is not None, name
        assert result.theorem.order is not None or (result.relative or 0.0) < 1e-7, name


@pytest.mark.parametrize("case", ["teapots100_38x50", "orl_112x92", "coil20_32x32"])
@pytest.mark.parametrize("name", ["lpp-le", "npp-lle", "lltsa-ltsa"])
@pytest.mark.every(3)
def test_undersampled_images(case, name):
    (result,) = check_theorems(external_data(case)["X"][:80].astype(float), names=name).results
    assert result.holds
    assert result.rows == 40
    assert result.confirmed, result.discrepancy


def unequal_classes():
    """Classes of 150, 60, 25 and 8 points in seven correlated features."""
    rng = np.random.default_rng(5)
    y = np.repeat([0, 1, 2, 3], [150, 60, 25, 8])
    return (rng.standard_normal((243, 7)) + rng.standard_normal((4, 7))[y]) @ rng.standard_normal((7, 7)) - 4, y


def fewer_rows_than_columns():
    y = np.arange(30) % 3
    return np.random.default_rng(0).standard_normal((30, 50)) + y[:, None], y


@pytest.mark.parametrize("make", [unequal_classes, fewer_rows_than_columns])
def test_statements_on_labels(make):
    names = ["lda-lpp-npp", "sir-lda", "cca-lda", "lfda-lda", "opca-lda", "trace-ratio"]
    report = check_theorems(*make(), names=names)
    assert not report.failed
    held = {result.theorem.name for result in report.results if result.holds}
    assert {"lda-lpp-npp", "sir-lda", "cca-lda"} <= held


# ---------------------------------------------------------------------- conditions that are broken
def _controls(X, y):
    """What the statements say is equal, with the condition broken: pairs of embeddings, or of axes."""
    Z = X / X.std()
    k = connected_neighbours(X)
    graph = {"n_neighbors": k}
    pca, lda, le, lle = PCA(2).fit(X), LDA(2).fit(X, y), LaplacianEigenmaps(2, **graph).fit(X), LLE(2, **graph).fit(X)
    W = le.affinity_.W.toarray()
    d = W.sum(axis=1)
    kernel, noise = (
        Kernel("laplacian"),
        np.random.default_rng(0).standard_normal((3, *X.shape)) * np.arange(1, X.shape[1] + 1),
    )
    half = X.shape[1] // 2
    mixed = X[:, :half] @ np.diag(np.geomspace(1, 100, half))
    yield "mds-pca", ClassicalMDS(2, metric="cityblock").fit(X), pca
    yield "kpca-pca", KernelPCA(2, kernel="rbf").fit(Z), pca
    yield "isomap-mds", Isomap(2, **graph).fit(X), pca
    yield "opca-pca", OrientedPCA(2).fit(X, X + noise), pca
    yield "opca-scale", *(OrientedPCA(2, extractor="difference").fit(X, X + loud * noise) for loud in (0.01, 1))
    yield "ratio-cut", KernelPCA(2, kernel="precomputed").fit(la.pinvh(np.diag(d) - W)), le
    yield "eigenmaps", KernelPCA(2, kernel="precomputed").fit(W / np.sqrt(np.outer(d, d))), le
    yield "lpp-le", LPP(2, **graph).fit(X), le
    yield "npp-lle", NPP(2, **graph).fit(X), lle
    yield "lltsa-ltsa", LLTSA(2, **graph).fit(X), LTSA(2, **graph).fit(X)
    yield "lpp-pca", LPP(2, **graph).fit(X), pca
    yield "lda-lpp-npp", LPP(2, graph="class", weights=Binary()).fit(X, y), lda
    yield "lfda-lda", LFDA(2, n_neighbors=1).fit(X, y), lda
    yield "sir-lda", SIR(2, n_slices=3).fit(X, X[:, 0]), lda
    yield "self-ends", SELF(2, beta=0.5).fit(X, y), pca
    yield "roweis-corners", RoweisDA(2, r1=0.5, r2=0.5).fit(X, y), lda
    yield "cca-affine", *(CCA(1, ridge=1.0).fit(view, X[:, half:]) for view in (X[:, :half], mixed))
    yield "kernel-cca", *(method.fit(X[:, :half], X[:, half:]) for method in (CCA(1), KernelCCA(1, kernel="rbf")))
    yield "kernel-lpp", LPP(2, kernel=kernel, ridge=1.0, **graph).fit(Z), le
    yield "mvu-all-pairs", MVU(2, n_neighbors=4).fit(X[::5]), PCA(2).fit(X[::5])


@pytest.fixture(scope="module")
def controls():
    y = np.repeat([0, 1, 2, 3], [60, 30, 20, 10])
    X = labelled("random-0")[0] + 3 * np.random.default_rng(1).standard_normal((4, 8))[y]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EigenspanWarning)
        found = {name: (a.embedding_, b.embedding_) for name, a, b in _controls(X, y)}
    assert list(found) == CONTROLS
    return found


CONTROLS = [
    *(
        "mds-pca",
        "kpca-pca",
        "isomap-mds",
        "opca-pca",
        "opca-scale",
        "ratio-cut",
        "eigenmaps",
        "lpp-le",
        "npp-lle",
        "lltsa-ltsa",
    ),
    *(
        "lpp-pca",
        "lda-lpp-npp",
        "lfda-lda",
        "sir-lda",
        "self-ends",
        "roweis-corners",
        "cca-affine",
        "kernel-cca",
        "kernel-lpp",
    ),
    "mvu-all-pairs",
]


@pytest.mark.parametrize("name", CONTROLS)
def test_without_its_condition_a_statement_is_off_by_degrees(name, controls):
    assert name in all_theorems()
    assert angle(*controls[name]) > 0.1


def test_what_breaks_facts_of_the_laplacian():
    """Negative weights make it indefinite, and one edge too many makes a tree no tree."""
    W = np.array([[0, 1, -2.0], [1, 0, 1], [-2, 1, 0]])
    assert la.eigvalsh(np.diag(W.sum(axis=1)) - W)[0] < -0.1
    path, triangle = np.diag(np.ones(2), 1), np.triu(np.ones((3, 3)), 1)
    largest = [la.eigvalsh(normalised(A + A.T))[-1] for A in (path, triangle)]
    assert largest[0] == pytest.approx(2.0)
    assert largest[1] == pytest.approx(1.5)


class _Turned:
    """Any method, its first axis turned by a thousandth of a degree towards noise."""

    def __init__(self, method):
        self.method = method

    def __call__(self, *args, **params):
        estimator = self.method(*args, **params)
        fit = estimator.fit

        def turned(*data):
            fitted = fit(*data)
            Y = fitted.embedding_
            noise = np.random.default_rng(0).standard_normal(len(Y))
            Y[:, 0] += np.radians(2e-3) * np.linalg.norm(Y[:, 0]) * noise / np.linalg.norm(noise)
            return fitted

        estimator.fit = turned
        return estimator


@pytest.mark.parametrize(
    "name, place",
    [
        ("mds-pca", "variance_theorems.ClassicalMDS"),
        ("ratio-cut", "graph_theorems.CommuteTimeEmbedding"),
        ("lpp-ritz", "projection_theorems.LPP"),
        ("lpp-le", "projection_theorems.LaplacianEigenmaps"),
        ("lda-lpp-npp", "projection_theorems.NPP"),
        ("kernel-npp", "kernel_theorems.LLE"),
        ("mvu-all-pairs", "unfolding_theorems.MVU"),
    ],
)
def test_a_method_that_is_slightly_wrong_is_found_out(name, place, monkeypatch):
    home, method = place.split(".")
    module = importlib.import_module(f"eigenspan.theory.{home}")
    wrong = _Turned(getattr(module, method))
    monkeypatch.setattr(module, method, wrong)
    theorem, (X, y) = all_theorems()[name], labelled("digits")
    if name in ("lpp-le", "kernel-npp"):  # their checks hold the classes themselves
        check = (projections._undersampled if name == "lpp-le" else kernels._in_feature_space)(
            LPP if name == "lpp-le" else NPP, wrong
        )
    else:
        check = theorem.check
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EigenspanWarning)
        assert 1e-4 < check(Data(X, y)).degrees < 1e-2


# ---------------------------------------------------------------------- variance and distances


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
@pytest.mark.every(3, start=1)
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


# ---------------------------------------------------------------------- slices


@pytest.mark.parametrize("seed", [0, *longer(1, 2)])
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
@cases
@pytest.mark.parametrize("method", [LPP, NPP, LLTSA])
@pytest.mark.parametrize("ridge", [None, 1e-6, 1.0])
@pytest.mark.every(3)
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


def two_views(seed):
    rng = np.random.default_rng(seed)
    shared = rng.standard_normal((150, 3)) * [3, 2, 1]
    return [
        np.hstack([shared, rng.standard_normal((150, p))]) @ rng.standard_normal((3 + p, 3 + p)) + 4 for p in (3, 5)
    ]


def cca(X1, X2, d):
    posed = pose(DirectSum([Features.linear(X1), Features.linear(X2)]), maximise=cross_form(len(X1)))
    found = solve(posed.problem, d)
    Y = posed.basis.embed(found.vectors)
    return found, Y[: len(X1)], Y[len(X1) :], posed.basis.map(found.vectors, found)


@pytest.mark.parametrize("seed", [0, *longer(1, 2)])
def test_cca_agrees_with_scikit_learn(seed):
    from sklearn.cross_decomposition import CCA

    X1, X2 = two_views(seed)
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


@pytest.mark.parametrize("seed", [0, *longer(1, 2)])
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
        LPP(2, kernel=Kernel("rbf", gamma="median"), **graph),
        OLPP(2, kernel=Kernel("rbf", gamma="median"), **graph),
        LPP(2, graph="class"),
        OLPP(2, graph="class"),
        LLE(2, **graph),
        NPP(2, **graph),
        ONPP(2, **graph),
        NPP(2, kernel=Kernel("rbf", gamma="median"), **graph),
        ONPP(2, kernel=Kernel("rbf", gamma="median"), **graph),
        NPP(2, graph="class"),
        LTSA(2, **graph),
        HessianLLE(2, **graph),
        ModifiedLLE(2, **graph),
        LLTSA(2, **graph),
        LDA(2),
        LDA(2, kernel=Kernel("rbf", gamma="median")),
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
@pytest.mark.parametrize("case", ["random-0", "wine", *longer("random-1", "digits", "usps")])
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
@pytest.mark.every(2)
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
