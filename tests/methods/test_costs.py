"""Costs on pairs: every method against dense matrices written out here, pair by pair, and the theorems that join them."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import scipy.linalg as la
from scipy.spatial.distance import cdist
from sklearn.datasets import load_iris, load_wine, make_blobs
from sklearn.metrics.pairwise import polynomial_kernel
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import eigenspan as es
from eigenspan.errors import DimensionError, GraphError, LabelError, LabelWarning, RidgeWarning
from eigenspan.graphs import allies, rivals
from eigenspan.problem import Form, Pairwise
from eigenspan.problem.forms import (
    all_pairs as costs,
)
from eigenspan.problem.forms import (
    laplacian,
    local_fisher,
    other_class,
    pair_affinity,
    same_class,
)
from helpers import angle, relative

IRIS, SPECIES = load_iris(return_X_y=True)
IRIS = IRIS + 1e-3 * np.random.default_rng(0).standard_normal(IRIS.shape)  # no ties among neighbours
SOME = np.where(np.arange(150) % 3 == 0, SPECIES, -1)
WINE, CULTIVAR = load_wine(return_X_y=True)
WINE = StandardScaler().fit_transform(WINE)


# ---------------------------------------------------------------------- the dense twin
def scatter(X: Any, C: Any) -> Any:
    """``½ Σ c_ij (x_i − x_j)(x_i − x_j)'``, summed pair by pair."""
    return sum(0.5 * c * np.outer(X[i] - X[j], X[i] - X[j]) for (i, j), c in np.ndenumerate(C) if c and i != j)


def near(X: Any, y: Any, k: int, same: bool) -> Any:
    """Binary k nearest neighbours of the same or of another class, by union."""
    D, C = cdist(X, X), np.zeros((len(y), len(y)))
    for i in np.flatnonzero(y >= 0):
        pool = [j for j in np.flatnonzero(y >= 0) if j != i and (y[j] == y[i]) == same]
        for j in sorted(pool, key=lambda j: D[i, j])[:k]:
            C[i, j] = C[j, i] = 1.0
    return C


def scaled(X: Any, k: int, alpha: float = 1.0) -> Any:
    """Locally scaled affinity of all pairs with its Hadamard power."""
    D = cdist(X, X)
    sigma = np.sort(D, axis=1)[:, k]
    W = np.exp(-(D**2) / np.outer(sigma, sigma))
    return W**alpha * np.linalg.norm(W) / np.linalg.norm(W**alpha)


def fisher(A: Any, y: Any) -> tuple[Any, Any]:
    """c_bet and c_wit from affinities within classes, entry by entry."""
    n, sizes = np.sum(y >= 0), np.bincount(y[y >= 0])
    bet, wit = np.zeros_like(A), np.zeros_like(A)
    for i in np.flatnonzero(y >= 0):
        for j in np.flatnonzero(y >= 0):
            same = y[i] == y[j]
            bet[i, j] = A[i, j] * (1 / sizes[y[i]] - 1 / n) if same else -1 / n
            wit[i, j] = A[i, j] / sizes[y[i]] if same else 0.0
    return bet, wit


def bottom(A: Any, B: Any, d: int) -> Any:
    return la.eigh(A, B)[1][:, :d]


def axes(estimator: Any) -> Any:
    return estimator.components_.T


@pytest.mark.parametrize("y", [SPECIES, SOME], ids=["all labels", "some"])
@pytest.mark.parametrize("gamma", [0.0, 0.3])
def test_lfda_dne_mfa_are_their_matrices(y: Any, gamma: float) -> None:
    within, across = near(IRIS, y, 3, True), near(IRIS, y, 3, False)
    bet, wit = fisher(within, y)
    smooth = gamma * scatter(IRIS, scaled(IRIS, 3, 2.0)) if gamma else 0.0
    settings = {"gamma": gamma, "alpha": 2.0, "gamma_scale": "raw", "unlabeled": -1}
    lfda = bottom(scatter(IRIS, bet) + smooth, scatter(IRIS, wit), 2)
    dne = bottom(scatter(IRIS, within - across) + smooth, np.eye(4), 2)
    mfa = bottom(smooth - scatter(IRIS, across), scatter(IRIS, within), 2)
    assert angle(axes(es.LFDA(2, **settings).fit(IRIS, y)), lfda) < 1e-6
    assert angle(axes(es.DNE(2, **settings).fit(IRIS, y)), dne) < 1e-6
    assert angle(axes(es.MFA(2, **settings).fit(IRIS, y)), mfa) < 1e-6


def test_numbers_of_allies_and_rivals_are_apart() -> None:
    A, B = scatter(WINE, near(WINE, CULTIVAR, 20, False)), scatter(WINE, near(WINE, CULTIVAR, 5, True))
    assert angle(axes(es.MFA(2, n_neighbors=5, n_rivals=20).fit(WINE, CULTIVAR)), bottom(-A, B, 2)) < 1e-6


def test_lde_weighs_its_edges() -> None:
    heat = np.exp(-((cdist(WINE, WINE) / 3.0) ** 2))
    A, B = (scatter(WINE, heat * near(WINE, CULTIVAR, 4, same)) for same in (False, True))
    fitted = es.LDE(2, weights=es.Heat(3.0), n_neighbors=4).fit(WINE, CULTIVAR)
    assert angle(axes(fitted), bottom(-A, B, 2)) < 1e-6


def test_lfda_is_sugiyamas() -> None:
    """The scatter matrices of the 2007 paper, class by class as it defines them."""
    n, D = WINE.shape
    within, between = np.zeros((D, D)), np.zeros((D, D))
    affinity = np.zeros((n, n))
    for c in range(3):
        members = np.flatnonzero(c == CULTIVAR)
        affinity[np.ix_(members, members)] = scaled(WINE[members], 7)
    for i in range(n):
        for j in range(n):
            gap = np.outer(WINE[i] - WINE[j], WINE[i] - WINE[j]) / 2
            size = np.sum(CULTIVAR[i] == CULTIVAR)
            same = CULTIVAR[i] == CULTIVAR[j]
            within += gap * (affinity[i, j] / size if same else 0.0)
            between += gap * (affinity[i, j] * (1 / n - 1 / size) if same else 1 / n)
    fitted = es.LFDA(3, affinity="local").fit(WINE, CULTIVAR)
    values, vectors = la.eigh(between, within)
    assert angle(axes(fitted), vectors[:, ::-1][:, :3]) < 1e-6
    np.testing.assert_allclose(-fitted.eigenvalues_, values[::-1][:3], rtol=1e-9)


def test_self_is_sugiyamas_and_ends_in_lfda_and_pca() -> None:
    y, beta = np.where(np.arange(178) % 2 == 0, CULTIVAR, -1), 0.3
    bet, wit = fisher(near(WINE, y, 3, True), y)
    centred = WINE - WINE.mean(axis=0)
    A = -(1 - beta) * scatter(WINE, bet) + beta * centred.T @ centred
    B = (1 - beta) * scatter(WINE, wit) + beta * np.eye(13)
    fitted = es.SELF(2, beta=beta, affinity="neighbours", n_neighbors=3).fit(WINE, y)
    assert angle(axes(fitted), bottom(-A, B, 2)) < 1e-6
    lfda = es.LFDA(2, affinity="local", n_neighbors=7, unlabeled=-1).fit(WINE, y)
    assert angle(axes(es.SELF(2, beta=0.0, n_neighbors=7).fit(WINE, y)), axes(lfda)) < 1e-6
    assert angle(axes(es.SELF(2, beta=1.0).fit(WINE, y)), axes(es.PCA(2).fit(WINE))) < 1e-6


def test_self_of_s2_is_a_member_of_the_framework() -> None:
    """Equation 11: costs −1/2n on all ordered pairs are minus the variance, γ times."""
    y, gamma, n = np.where(np.arange(178) % 2 == 0, CULTIVAR, -1), 0.7, 178
    bet, wit = fisher(near(WINE, y, 3, True), y)
    framework = scatter(WINE, 2 * bet + gamma * np.full((n, n), -1 / n))  # Σ over ordered pairs is twice the scatter
    centred = WINE - WINE.mean(axis=0)
    equation = 2 * scatter(WINE, bet) - gamma * centred.T @ centred
    np.testing.assert_allclose(framework, equation, atol=1e-8 * np.abs(equation).max())
    assert angle(bottom(framework, scatter(WINE, wit), 2), bottom(equation, scatter(WINE, wit), 2)) < 1e-4
    fitted = es.SELF(2, beta=gamma / (2 + gamma), affinity="neighbours", n_neighbors=3).fit(WINE, y)
    assert angle(axes(fitted), bottom(framework, scatter(WINE, wit) + gamma / 2 * np.eye(13), 2)) < 1e-6


def ordered_pairs(X: Any, C: Any) -> Any:
    """The matrix of Σ_ij c_ij ‖Ax_i − Ax_j‖², one ordered pair at a time."""
    return sum(C[i, j] * np.outer(X[i] - X[j], X[i] - X[j]) for i, j in zip(*np.nonzero(C), strict=True))


@pytest.mark.parametrize("beta", [0.1, 0.5, 0.8])
def test_beta_of_self_and_gamma_of_s2(beta: float) -> None:
    """γ = 2β/(1 − β), as the docstring says: equation 11 adds up ordered pairs, Sugiyama's scatters count each pair once."""
    y = np.where(np.arange(178) % 2 == 0, CULTIVAR, -1)
    bet, wit = fisher(near(WINE, y, 3, True), y)
    centred = WINE - WINE.mean(axis=0)
    costs, unit = ordered_pairs(WINE, bet), ordered_pairs(WINE, wit) / 2
    fitted = es.SELF(2, beta=beta, affinity="neighbours", n_neighbors=3).fit(WINE, y)

    def equation_11(gamma: float) -> Any:
        return bottom(costs - gamma * centred.T @ centred, unit + beta / (1 - beta) * np.eye(13), 2)

    assert angle(axes(fitted), equation_11(2 * beta / (1 - beta))) < 1e-6
    assert angle(axes(fitted), equation_11(beta / (1 - beta))) > 0.1
    assert "γ = 2β/(1 − β)" in str(es.SELF.__doc__)


def test_ss_mmc_is_a_member_of_the_framework() -> None:
    """Equation 12 as costs on pairs: of all pairs in a class 1/n_k, w times, with those between classes and γ times the affinities."""
    y = np.where(np.arange(178) % 2 == 0, CULTIVAR, -1)
    bet, wit = fisher(np.asarray((y[:, None] == y) & (y >= 0), dtype=float), y)
    framework = scatter(WINE, 0.5 * wit + bet + 0.2 * scaled(WINE, 3, 4.0))
    fitted = es.SSMMC(2, weight=0.5, gamma=0.2, gamma_scale="raw").fit(WINE, y)
    assert angle(axes(fitted), bottom(framework, np.eye(13), 2)) < 1e-6
    np.testing.assert_allclose(fitted.eigenvalues_, la.eigvalsh(framework)[:2], rtol=1e-8)


def test_mmc_fda_and_their_semi_supervised_forms() -> None:
    y = np.where(np.arange(178) % 2 == 0, CULTIVAR, -1)
    known = y >= 0
    S_W, S_B = np.zeros((13, 13)), np.zeros((13, 13))
    for c in range(3):
        members = WINE[y == c]
        S_W += (members - members.mean(axis=0)).T @ (members - members.mean(axis=0))
        gap = members.mean(axis=0) - WINE[known].mean(axis=0)
        S_B += len(members) * np.outer(gap, gap)
    smooth = scatter(WINE, scaled(WINE, 3, 4.0))
    assert angle(axes(es.MMC(2, weight=0.5, unlabeled=-1).fit(WINE, y)), bottom(0.5 * S_W - S_B, np.eye(13), 2)) < 1e-6
    ssmmc = es.SSMMC(2, weight=0.5, gamma=0.2, gamma_scale="raw").fit(WINE, y)
    assert angle(axes(ssmmc), bottom(0.5 * S_W - S_B + 0.2 * smooth, np.eye(13), 2)) < 1e-6
    assert (
        angle(axes(es.SSFDA(2, gamma=0.2, gamma_scale="raw").fit(WINE, y)), bottom(0.2 * smooth - S_B, S_W, 2)) < 1e-6
    )
    assert angle(axes(es.SSFDA(2, gamma=0.0).fit(WINE, y)), axes(es.LDA(2).fit(WINE[known], y[known]))) < 1e-6


def test_costs_of_all_pairs_are_the_scatters_of_fisher() -> None:
    """With a_ij = 1 in a class LFDA's costs are −S_B and S_W, which makes SS-MMC and SS-FDA members [S2, §3.2]."""
    bet, wit = local_fisher(same_class(SOME), SOME)
    labelled = SOME >= 0
    lda = es.LDA(2).fit(IRIS[labelled], SOME[labelled])
    A, B = laplacian(bet).quadratic(IRIS), laplacian(wit).quadratic(IRIS)
    assert angle(bottom(A, B, 2), axes(lda)) < 1e-6


def test_lpp_star() -> None:
    W = scaled(WINE, 3, 8.0)
    fitted = es.LPP(2, graph="all", weights=es.Powered(es.LocalScaling(3), 8)).fit(WINE)
    degrees = W.sum(axis=1)
    centred = WINE - degrees @ WINE / degrees.sum()
    expected = bottom(scatter(WINE, W), centred.T @ (degrees[:, None] * centred), 2)
    assert angle(axes(fitted), expected) < 1e-6


# ---------------------------------------------------------------------- kernels, units of axes, scale
@pytest.mark.parametrize("name", ["LFDA", "SSLFDA", "DNE", "SSDNE", "MFA", "MMC", "SELFDA"])
def test_a_kernel_is_the_linear_method_on_its_features(name: str) -> None:
    """(1 + ⟨x, z⟩)² has features that can be written down: the KPCA trick changes nothing."""
    X = IRIS[::2] - IRIS.mean(axis=0)
    i, j = np.triu_indices(4, 1)
    features = np.hstack([np.sqrt(2) * X, X**2, np.sqrt(2) * X[:, i] * X[:, j]])
    np.testing.assert_allclose(features @ features.T + 1, polynomial_kernel(X, degree=2, gamma=1, coef0=1), atol=1e-9)
    kernel = es.Kernel("poly", degree=2, gamma=1.0, coef0=1.0)
    own = es.make(name, n_components=2, kernel=kernel, ridge=0.1).fit(X, SPECIES[::2])
    linear = es.make(name, n_components=2, ridge=0.1).fit(features, SPECIES[::2])
    assert angle(own.embedding_, linear.embedding_) < 1e-4
    np.testing.assert_allclose(own.transform(X), own.embedding_, atol=1e-8 * np.abs(own.embedding_).max())


def test_weights_of_axes() -> None:
    plain = es.LFDA(3).fit(WINE, CULTIVAR)
    lengths, gains = np.linalg.norm(plain.components_, axis=1), np.sqrt(-plain.eigenvalues_)
    for kind, factor in (("norm", 1 / lengths), ("eigenvalue", gains), ("eigenvalue-norm", gains / lengths)):
        weighted = es.LFDA(3, axes=kind).fit(WINE, CULTIVAR)
        np.testing.assert_allclose(weighted.components_, plain.components_ * factor[:, None], rtol=1e-9)
    with pytest.raises(DimensionError, match="none of the 2 has any"):
        es.SSMMC(2, axes="eigenvalue", gamma=1e6).fit(WINE, CULTIVAR)


def test_blocks_are_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    X, codes = np.random.default_rng(1).standard_normal((700, 5)), np.arange(700) % 4 - 1
    Z, s = np.random.default_rng(2).standard_normal((700, 3)), np.random.default_rng(3).random(700)
    for groups in (None, codes):
        small = pair_affinity(X, es.Powered("local", 3), codes=groups)
        monkeypatch.setattr(costs, "_SMALL", 0)
        large = pair_affinity(X, es.Powered("local", 3), codes=groups)
        monkeypatch.undo()
        W = small.to_dense()
        if groups is None:
            np.testing.assert_allclose(W, scaled(X, 7, 3.0), rtol=1e-9)
        assert np.all(W[codes != codes[:, None]] == 0) or groups is None
        assert small.dense is not None
        assert large.pairs
        assert relative(large.to_dense(), W) < 1e-12
        assert relative(large @ Z, W @ Z) < 1e-12
        assert relative((2 * large - large).quadratic(Z), Z.T @ W @ Z) < 1e-12
        assert relative(large.diagonal(), np.diagonal(W)) < 1e-12
        assert relative(large.scaled(s) @ Z, s[:, None] * (W @ (s[:, None] * Z))) < 1e-12
        assert large.norm() >= np.linalg.norm(W, 2)
        assert not large.is_diagonal()


def test_all_pairs_in_blocks_give_the_same_axes(monkeypatch: pytest.MonkeyPatch) -> None:
    estimators = [es.SSLFDA(2, alpha=2), es.LFDA(2, affinity="local"), es.LPP(2, graph="all", weights="local")]
    before = [axes(e.fit(WINE, CULTIVAR)) for e in estimators]
    monkeypatch.setattr(costs, "_SMALL", 0)
    monkeypatch.setattr(Form, "to_dense", _only_small(Form.to_dense))
    monkeypatch.setattr(Pairwise, "to_dense", None)
    for estimator, V in zip(estimators, before, strict=True):
        assert angle(axes(estimator.fit(WINE, CULTIVAR)), V) < 1e-6


def _only_small(plain: Any) -> Any:
    def to_dense(self: Form) -> Any:
        assert self.n < 178, "an n×n array was made"
        return plain(self)

    return to_dense


def test_neighbours_of_a_few_points_in_many() -> None:
    near_same = allies(IRIS, SOME, 3).undirected().toarray() > 0
    near_other = rivals(IRIS, SOME, 3).undirected().toarray() > 0
    np.testing.assert_array_equal(near_same, near(IRIS, SOME, 3, True) > 0)
    np.testing.assert_array_equal(near_other, near(IRIS, SOME, 3, False) > 0)
    cross = other_class(SOME).to_dense()
    np.testing.assert_array_equal(cross, (SOME[:, None] != SOME) & (SOME >= 0) & (SOME >= 0)[:, None])


# ---------------------------------------------------------------------- what labels can be, and what they cannot
def test_unlabelled_points_pull() -> None:
    """Two thin clusters with labels at far ends: the axis of the labelled pair is poor, that of all points is not."""
    rng = np.random.default_rng(0)
    X = np.vstack([rng.standard_normal((60, 2)) * [8, 0.05] + [0, side] for side in (-2, 2)])
    truth, y = np.repeat([0, 1], 60), np.full(120, -1)
    X[[0, 1, 60, 61]] = [[-8, -2], [-7, -2.1], [7, 2], [8, 2.1]]
    y[[0, 1, 60, 61]] = [0, 0, 1, 1]
    alone, helped = es.DNE(1).fit(X, y), es.SSDNE(1, gamma=1000).fit(X, y)

    def score(fitted: Any) -> float:
        return KNeighborsClassifier(1).fit(fitted.transform(X[y >= 0]), y[y >= 0]).score(fitted.transform(X), truth)

    assert score(helped) > 0.95 > score(alone)


FEW = np.full(178, -1)
FEW[[0, 1, 70, 71, 150, 151]] = CULTIVAR[[0, 1, 70, 71, 150, 151]]


def test_the_ridge_of_a_singular_unit() -> None:
    """1 % of the mean of the eigenvalues that are not zero; as printed, γ."""
    unit = scatter(WINE, fisher(near(WINE, FEW, 3, True), FEW)[1])
    values = la.eigvalsh(unit)
    expected = 0.01 * values[-3:].mean()
    assert values[-4] < 1e-9
    for gamma in (0.02, 0.25):
        fitted = es.SSLFDA(2, gamma=gamma).fit(WINE, FEW)
        assert fitted.diagnostics_["ridge"] == pytest.approx(expected)
        np.testing.assert_allclose(fitted.problem_.B.to_dense().trace(), values.sum() + 13 * expected)
        assert es.SSLFDA(2, gamma=gamma, gamma_scale="raw").fit(WINE, FEW).diagnostics_["ridge"] == gamma
    assert "ridge" not in es.SSLFDA(2, gamma=0.25).fit(WINE, CULTIVAR).diagnostics_
    with pytest.warns(RidgeWarning, match=r"differ in 10 of 13 directions: a ridge of .* was added to the unit, 1%"):
        fitted = es.LFDA(2, unlabeled=-1).fit(WINE, FEW)
    assert fitted.diagnostics_["ridge"] == pytest.approx(expected)
    with pytest.warns(RidgeWarning, match="has rank 3 of 13"):
        es.LFDA(2, unlabeled=-1, gamma_scale="raw").fit(WINE, FEW)


@pytest.mark.parametrize("method", [es.LFDA, es.MFA, es.DNE, es.MMC], ids=lambda method: method.__name__)
def test_without_gamma_unlabelled_points_change_nothing(method: Any) -> None:
    """Not even through the ridge of a singular unit, which has more directions with them than without."""
    known = FEW >= 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RidgeWarning)
        some, alone = method(2, unlabeled=-1).fit(WINE, FEW), method(2).fit(WINE[known], FEW[known])
    assert angle(axes(some), axes(alone)) < 1e-5
    np.testing.assert_allclose(some.eigenvalues_, alone.eigenvalues_, rtol=1e-7)


def test_a_feature_without_variation_among_the_labelled_needs_no_ridge() -> None:
    """null(B) is in null(A): such a feature is left out, and no other is shrunk."""
    wide = np.column_stack([WINE, np.where(SOME_WINE >= 0, 0.0, 1.0)])
    plain, dead = es.LFDA(2, unlabeled=-1).fit(WINE, SOME_WINE), es.LFDA(2, unlabeled=-1).fit(wide, SOME_WINE)
    assert "ridge" not in dead.diagnostics_
    assert angle(axes(dead)[:13], axes(plain)) < 1e-6


def test_one_label_a_class_has_orthonormal_axes() -> None:
    """Nothing varies within a class: there is no unit but the axes themselves."""
    y = np.full(178, -1)
    y[[0, 70, 150]] = [0, 1, 2]
    with pytest.warns(LabelWarning, match="3 of 3 classes"):
        V = axes(es.SSLFDA(2).fit(WINE, y))
    np.testing.assert_allclose(V.T @ V, np.eye(2), atol=1e-9)


# ---------------------------------------------------------------------- the unit of γ
SOME_WINE = np.where(np.arange(178) % 2 == 0, CULTIVAR, -1)


@pytest.mark.parametrize("kernel", [None, "rbf"])
@pytest.mark.parametrize("method", [es.SSLFDA, es.SSDNE, es.SSMFA, es.SSMMC, es.SSFDA], ids=lambda m: m.__name__)
@pytest.mark.every(3)
def test_gamma_is_a_share_of_what_labels_can_gain(method: Any, kernel: Any) -> None:
    """A = (A + γsU at γ = 1) − U·s has its negative eigenvalues' sum equal to s Tr U, whatever the basis."""
    half, whole = (method(2, gamma=g, kernel=kernel).fit(WINE, SOME_WINE) for g in (1.0, 2.0))
    U = whole.problem_.A.to_dense() - half.problem_.A.to_dense()  # sU
    labels = la.eigvalsh(half.problem_.A.to_dense() - U)
    assert np.trace(U) == pytest.approx(-labels[labels < 0].sum(), rel=1e-8)
    s = half.diagnostics_["gamma_factor"]
    assert whole.diagnostics_["gamma_factor"] == pytest.approx(s)
    assert whole.diagnostics_["effective_gamma"] == pytest.approx(2 * s)
    raw = method(2, gamma=2 * s, kernel=kernel, gamma_scale="raw", ridge=0.1).fit(WINE, SOME_WINE)
    same = method(2, gamma=2.0, kernel=kernel, ridge=0.1).fit(WINE, SOME_WINE)
    assert angle(raw.embedding_, same.embedding_) < 1e-5
    assert raw.diagnostics_["gamma_factor"] == 1.0


@pytest.mark.parametrize("method", [es.SSLFDA, es.SSDNE, es.SSMFA, es.SSMMC, es.SSFDA], ids=lambda m: m.__name__)
def test_units_and_copies_of_unlabelled_points_do_not_change_the_share(method: Any) -> None:
    plain = method(2).fit(WINE, SOME_WINE)
    scaled_up = method(2).fit(1e3 * WINE, SOME_WINE)
    assert angle(axes(plain), axes(scaled_up)) < 1e-6
    for fitted in (plain, scaled_up):
        costs = fitted.problem_.A.to_dense()
        labels = la.eigvalsh(method(2, gamma=0).fit(WINE, SOME_WINE).problem_.A.to_dense())
        size = np.trace(costs) / (1e6 if fitted is scaled_up else 1.0)
        assert size == pytest.approx(labels.sum() + 0.1 * -labels[labels < 0].sum(), rel=1e-6)


def test_labels_that_can_gain_nothing_are_measured_by_their_cost() -> None:
    """A margin so heavy that no eigenvalue of A is negative: the nuclear norm stands in."""
    fits = [es.MMC(2, weight=1e3, gamma=g, unlabeled=-1).fit(WINE, SOME_WINE) for g in (0.0, 0.5)]
    labels, both = (fitted.problem_.A.to_dense() for fitted in fits)
    assert la.eigvalsh(labels)[0] > 0
    assert np.trace(both - labels) == pytest.approx(0.5 * np.trace(labels), rel=1e-8)


def test_the_labels_are_not_drowned() -> None:
    """Two Gaussian classes in 241 dimensions, 100 of 1,000 labels: a raw γ of 1 leaves chance, the defaults what the labels say."""
    rng, truth = np.random.default_rng(0), np.arange(2000) % 2
    X = rng.standard_normal((2000, 241))
    X[:, 0] += np.where(truth, 1.5, -1.5)
    y = np.where(np.arange(1000) < 100, truth[:1000], -1)

    def score(fitted: Any) -> float:
        known, test = fitted.transform(X[:100]), fitted.transform(X[1000:])
        return KNeighborsClassifier(1).fit(known, truth[:100]).score(test, truth[1000:])

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RidgeWarning)
        base = score(es.LFDA(2).fit(X[:100], y[:100]))
    assert base > 0.7
    assert score(es.SSLFDA(2, gamma=1.0, gamma_scale="raw").fit(X[:1000], y)) < 0.6
    for method in (es.SSLFDA, es.SSDNE, es.SSMMC, es.SSFDA, es.SSMFA):
        assert score(method(1 if method is es.SSFDA else 2).fit(X[:1000], y)) > base - 0.03


def test_a_class_of_one() -> None:
    y = CULTIVAR.copy()
    y[y == 2] = -1
    y[177] = 2
    with pytest.warns(LabelWarning, match="1 of 3 classes have one labelled sample"):
        fitted = es.LFDA(2, unlabeled=-1).fit(WINE, y)
    np.testing.assert_array_equal(fitted.classes_, [0, 1, 2])
    assert np.all(np.isfinite(fitted.embedding_))


@pytest.mark.parametrize("method", [es.LFDA, es.SELF], ids=["LFDA", "SELF"])
@pytest.mark.parametrize("kind", ["local", "neighbours"])
def test_a_class_of_one_is_named_whatever_the_affinity(method: Any, kind: str) -> None:
    y = np.where(CULTIVAR == 2, -1, CULTIVAR)
    y[177] = 2
    with pytest.warns(LabelWarning, match="1 of 3 classes have one labelled sample only.*Label at least two samples"):
        fitted = method(2, affinity=kind, unlabeled=-1).fit(WINE, y)
    assert np.all(np.isfinite(fitted.embedding_))


@pytest.mark.parametrize("features", [2, 8, 13])
def test_one_rival(features: int) -> None:
    """Two classes, one of a single point: every other point has one rival, whichever way neighbours are searched."""
    codes = np.zeros(40, dtype=np.intp)
    codes[3] = 1
    graph = rivals(WINE[:40, :features], codes, 3)
    np.testing.assert_array_equal(np.diff(graph.distances.indptr), np.where(codes == 1, 3, 1))


def test_weights_that_have_no_all_pairs_form() -> None:
    with pytest.raises(GraphError, match="Heat, LocalScaling or Powered"):
        es.LPP(2, graph="all", weights="cosine").fit(WINE)


# ---------------------------------------------------------------------- choosing parameters
def test_folds_keep_the_unlabelled() -> None:
    y = np.array(["a"] * 7 + ["b"] * 2 + [None] * 4, dtype=object)
    tests = []
    for train, test in es.SemiSupervisedKFold(3).split(y, y):
        assert set(range(9, 13)) <= set(train)
        assert not set(train) & set(test)
        assert len(train) + len(test) == 13
        tests.extend(test)
    assert sorted(tests) == list(range(9))
    with pytest.raises(
        LabelError, match=r"n_splits=10 must be a whole number between 2 and the number of labelled points .9"
    ):
        next(es.SemiSupervisedKFold(10).split(y, y))


def test_a_classifier_of_the_labelled() -> None:
    steps = make_pipeline(StandardScaler(), es.SSLFDA(2), es.LabelledOnly(KNeighborsClassifier(1)))
    some = np.where(np.arange(178) % 4 == 0, CULTIVAR, -1)
    np.testing.assert_array_equal(steps.fit(WINE, some).classes_, [0, 1, 2])
    assert set(steps.predict(WINE)) == {0, 1, 2}
    assert steps.predict_proba(WINE).shape == (178, 3)
    assert not hasattr(es.LabelledOnly(KNeighborsClassifier()), "decision_function")
    scores = cross_val_score(steps, WINE, some, cv=es.SemiSupervisedKFold(4))
    assert scores.shape == (4,)
    assert np.all(scores > 0.8)
    grid = {"sslfda__gamma": [0.1, 1.0], "sslfda__alpha": [1, 4], "sslfda__n_neighbors": [3, 5]}
    search = GridSearchCV(steps, grid, cv=es.SemiSupervisedKFold(4)).fit(WINE, some)
    assert search.score(WINE[some < 0], CULTIVAR[some < 0]) > 0.9


def test_the_quick_search_is_the_plain_one(monkeypatch: pytest.MonkeyPatch) -> None:
    some = np.where(np.arange(178) % 6 == 0, CULTIVAR, -1)
    grid = {"gamma": [0.0, 0.01, 1.0], "alpha": [1, 4]}
    for method in (es.SSLFDA(2), es.SSDNE(2, kernel="rbf"), es.SSMFA(2)):
        quick = es.RegularizedSearch(method, grid).fit(WINE, some)
        with monkeypatch.context() as patched:
            patched.setattr(es.RegularizedSearch, "_is_shared", lambda self, candidates: False)
            plain = es.RegularizedSearch(method, grid).fit(WINE, some)
        assert quick.results_ == plain.results_
        assert quick.best_params_ == plain.best_params_
        np.testing.assert_array_equal(quick.transform(WINE), plain.transform(WINE))


def test_a_score_is_of_hidden_labels() -> None:
    some = np.where(np.arange(178) % 6 == 0, CULTIVAR, -1)
    search = es.RegularizedSearch(es.SSLFDA(2), {"gamma": [0.3]}, cv=es.SemiSupervisedKFold(3)).fit(WINE, some)
    right = 0
    for train, test in es.SemiSupervisedKFold(3).split(WINE, some):
        hidden = some.copy()
        hidden[test] = -1
        Y = es.SSLFDA(2, gamma=0.3).fit_transform(WINE, hidden)
        known = train[some[train] >= 0]
        right += np.sum(KNeighborsClassifier(1).fit(Y[known], some[known]).predict(Y[test]) == some[test])
    assert search.best_score_ == pytest.approx(right / np.sum(some >= 0))
    assert 0 < search.best_score_ < 1


def test_the_middle_of_equals_is_taken() -> None:
    X, truth = make_blobs(60, centers=[[0, 0], [50, 50]], random_state=0)
    some = np.where(np.arange(60) % 3 == 0, truth, -1)
    search = es.RegularizedSearch(es.SSLFDA(1), {"gamma": [1, 2, 3, 4, 5], "alpha": [1, 2, 3]}).fit(X, some)
    assert {score for _, score in search.results_} == {1.0}
    assert search.best_params_ == {"gamma": 3, "alpha": 2}
    assert "gamma" in es.RegularizedSearch(es.SSDNE()).fit(X, some).best_params_


def test_a_search_that_cannot_be() -> None:
    X, y = WINE[:6], np.array([0, 1, -1, -1, -1, -1])
    with pytest.raises(LabelError, match="leaves only one class"):
        es.RegularizedSearch(es.SSLFDA(1), cv=2).fit(X, y)
    with pytest.raises(ValueError, match="must be a dict with a list of values"):
        es.RegularizedSearch(es.SSLFDA(1), {"gamma": []}).fit(WINE, CULTIVAR)


def test_presets_change_defaults_and_nothing_else() -> None:
    for name, base in (("SSLFDA", "LFDA"), ("SSDNE", "DNE"), ("SSMFA", "MFA"), ("SSMMC", "MMC")):
        preset, plain = getattr(es, name)().get_params(), getattr(es, base)().get_params()
        assert (preset.pop("gamma"), preset.pop("unlabeled"), preset.pop("weights")) == (0.1, -1, "local")
        assert (plain.pop("gamma"), plain.pop("unlabeled")) == (0.0, None)
        assert preset == plain
        assert getattr(es, name)(3, gamma=2.0).get_params()["n_components"] == 3


@pytest.mark.parametrize("gamma", [0.0, 0.1])
@pytest.mark.parametrize("name", ["LFDA", "DNE", "MFA", "LDE", "MMC"])
def test_a_graph_within_classes_is_refused_with_and_without_its_weight(name: str, gamma: float) -> None:
    """The graph joins points whether they are labelled or not."""
    with pytest.raises(GraphError, match=r"graph=KNN\(n_neighbors=5, within_class=True\).*Leave within_class out"):
        es.make(name, graph=es.KNN(5, within_class=True), gamma=gamma).fit(IRIS, SPECIES)
