"""Methods that follow labels, few or many: against plain numpy, at their corners, and with labels that cannot be used."""

from __future__ import annotations

import itertools
import pickle
import re
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.linalg as la
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_digits, make_blobs, make_swiss_roll
from sklearn.exceptions import NotFittedError
from sklearn.neighbors import NearestCentroid
from sklearn.utils import estimator_checks as checks

import eigenspan as es
from eigenspan.errors import (
    ConvergenceWarning,
    DimensionError,
    EigenspanWarning,
    GraphError,
    InputError,
    LabelError,
    LabelWarning,
    MemoryLimitError,
    RidgeWarning,
)
from eigenspan.graphs import KNN, Heat
from eigenspan.graphs.weights.path_similarity import MergeTree, PathSimilarity, merge_tree, robustness
from eigenspan.methods.discriminant.label_kernels import RoweisDA, SupervisedPCA
from eigenspan.methods.registry import TABLE
from eigenspan.methods.semi_supervised.label_propagation import SDACCCP, SODA, assign, propagate, soft_scatters
from eigenspan.methods.semi_supervised.sda import SDA
from eigenspan.methods.semi_supervised.ssdr import SSDR
from eigenspan.problem import Features, Form, Raw, TraceProblem, TraceRatio
from helpers import angle, assert_scikit_learn_agrees, labelled, pairwise, quietly

#: −1 marks a missing label throughout this file, in supervised methods too.
MARK = {"unlabeled": -1}
ALL = [SupervisedPCA(**MARK), RoweisDA(**MARK), SSDR(), SDA(), SDACCCP(), SODA()]
VARIANTS = [
    *ALL,
    SupervisedPCA(labels="rbf", **MARK),
    SupervisedPCA(labels="linear", **MARK),
    RoweisDA(r1=0, r2=0, **MARK),
    RoweisDA(r1=0.3, r2=1, **MARK),
    SSDR(normalise=False, axes="norm"),
    SDA(weights="path"),
    SDA(weights=PathSimilarity("local", robust=False, pairs="edges"), axes="eigenvalue"),
    SDA(kernel=es.Kernel("rbf", gamma="median")),
    SODA(kernel=es.Kernel("rbf", gamma="median"), trust=0.5),
    SDACCCP(kernel=es.Kernel("rbf", gamma="median")),
]
SUPERVISED = [pytest.param(e, id=str(e).replace("\n", "").replace(" ", "")[:60]) for e in VARIANTS]
#: As the registry builds them: scikit-learn checks these there.
IN_THE_CONTRACT = {"SSDR()", "SDA()", "SDACCCP()", "SODA()"}
EACH = [pytest.param(e, id=type(e).__name__) for e in ALL]
REGISTRY = [m.build(**MARK) for m in TABLE if m.own and "labels" in m.supervision and m.basis == "linear or kernel"]
every = pytest.mark.parametrize("estimator", REGISTRY, ids=lambda estimator: type(estimator).__name__)
#: Those that look for neighbours within a class, and so say when a class has no pair.
ALLIES = {"LFDA", "SSLFDA", "SELFDA", "MFA", "SSMFA", "LDE", "DNE", "SSDNE", "PairCosts"}


def some(y: Any, every: int = 3) -> Any:
    """Labels of every third point."""
    return np.where(np.arange(len(y)) % every == 0, y, -1)


@pytest.fixture(scope="module")
def data() -> Any:
    X, y = labelled("random-0")
    return X, y


def top(A: Any, B: Any, d: int) -> Any:
    """The d leading generalised eigenvectors, by scipy."""
    return la.eigh(A, B)[1][:, ::-1][:, :d]


def centring(n: int, rows: Any = None) -> Any:
    """``H`` over some of the points, zero on the others."""
    mask = np.ones(n) if rows is None else rows.astype(float)
    return np.diag(mask) - np.outer(mask, mask) / mask.sum()


def scatters(X: Any, y: Any) -> tuple[Any, Any]:
    """S_B and S_W of the points with labels, class by class."""
    mean = X[y >= 0].mean(axis=0)
    S_B, S_W = np.zeros((2, X.shape[1], X.shape[1]))
    for k in np.unique(y[y >= 0]):
        mine = X[y == k]
        S_B += len(mine) * np.outer(mine.mean(axis=0) - mean, mine.mean(axis=0) - mean)
        S_W += (mine - mine.mean(axis=0)).T @ (mine - mine.mean(axis=0))
    return S_B, S_W


def neighbours(X: Any, k: int) -> Any:
    """0/1 weights of the symmetric k-nearest-neighbour graph."""
    D = pairwise(X) + np.diag(np.full(len(X), np.inf))
    W = np.zeros(D.shape)
    np.put_along_axis(W, np.argsort(D, axis=1)[:, :k], 1.0, axis=1)
    return np.maximum(W, W.T)


def minimax(S: Any) -> Any:
    """Path-based similarity by Floyd and Warshall's loop."""
    M = S.copy()
    for k in range(len(M)):
        M = np.maximum(M, np.minimum(M[:, k][:, None], M[k][None]))
    return M


# ---------------------------------------------------------------------- supervised PCA
def label_kernel(y: Any, labels: str, width: float | None = None) -> Any:
    """``H K_y H`` over the points with labels (NaN: none)."""
    known = ~np.isnan(y)
    t = np.where(known, y, 0.0)
    if labels == "delta":
        K = (t[:, None] == t[None]).astype(float)
    elif labels == "linear":
        K = np.outer(t, t)
    else:
        if width is None:
            pairs = np.abs(t[known][:, None] - t[known][None])[np.triu_indices(known.sum(), 1)]
            width = np.median(pairs) / 2
        K = np.exp(-((t[:, None] - t[None]) ** 2) / width**2)
    H = centring(len(y), known)
    return H @ (K * np.outer(known, known)) @ H


@pytest.mark.parametrize("every", [1, 3])
@pytest.mark.parametrize(
    "labels, width, d", [("delta", None, 3), ("linear", None, 1), ("rbf", None, 4), ("rbf", 0.7, 2)]
)
def test_supervised_pca_maximises_dependence_on_the_labels(
    data: Any, labels: str, width: Any, d: int, every: int
) -> None:
    X, y = data
    t = (
        y + 0.0
        if labels == "delta"
        else X[:, 0] ** 2 - X[:, 1] + 0.1 * np.random.default_rng(0).standard_normal(len(X))
    )
    t = np.where(np.arange(len(t)) % every == 0, t, np.nan)
    fitted = SupervisedPCA(d, labels=labels, width=width).fit(X, t)
    M = X.T @ label_kernel(t, labels, width) @ X
    values, V = la.eigh(M)
    np.testing.assert_allclose(fitted.eigenvalues_, values[::-1][:d], rtol=1e-9)
    assert angle(fitted.components_.T, V[:, ::-1][:, :d]) < 1e-6
    np.testing.assert_allclose(fitted.components_ @ fitted.components_.T, np.eye(d), atol=1e-12)


def test_rbf_labels_of_many_points_are_never_n_by_n(data: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    X, _ = data
    t = X @ np.arange(8.0)
    before = SupervisedPCA(3, labels="rbf").fit(X, t)
    monkeypatch.setattr("eigenspan.problem.forms.all_pairs._SMALL", 0)
    monkeypatch.setattr("eigenspan.problem.pairwise.Pairwise.to_dense", lambda self: pytest.fail("n×n"))
    blockwise = SupervisedPCA(3, labels="rbf").fit(X, t)
    assert angle(before.components_.T, blockwise.components_.T) < 1e-6


def test_several_targets_give_several_axes(data: Any) -> None:
    X, _ = data
    T = X[:, :2] ** 2
    fitted = SupervisedPCA(labels="linear").fit(X, T)
    H = centring(len(X))
    assert fitted.components_.shape == (2, 8)
    assert angle(fitted.components_.T, top(X.T @ H @ T @ T.T @ H @ X, np.eye(8), 2)) < 1e-6


def test_kernel_supervised_pca(data: Any) -> None:
    X, y = data
    gamma = 0.05
    K = np.exp(-gamma * pairwise(X) ** 2)
    H = centring(len(X))
    root = la.sqrtm(H @ K @ H).real  # in feature space, coordinates are a square root of the kernel
    U = top(root @ label_kernel(y + 0.0, "delta") @ root, np.eye(len(X)), 3)
    fitted = SupervisedPCA(3, kernel=es.Kernel("rbf", gamma=gamma)).fit(X, y)
    assert angle(fitted.embedding_, root @ U) < 1e-4


def test_regression_sees_more_of_the_target_than_pca() -> None:
    X, y = load_diabetes(return_X_y=True)
    X = X / X.std(axis=0)

    def explained(Y: Any) -> float:
        Y = np.column_stack([np.ones(len(Y)), Y])
        return 1 - np.var(y - Y @ np.linalg.lstsq(Y, y, rcond=None)[0]) / np.var(y)

    ours = explained(SupervisedPCA(2, labels="rbf").fit(X, y).embedding_)
    assert ours > explained(es.PCA(2).fit(X).embedding_) + 0.03
    assert ours > 0.35


# ---------------------------------------------------------------------- Roweis discriminant analysis
@pytest.mark.parametrize("every", [1, 3])
@pytest.mark.parametrize("r1, r2", [(0.3, 0.6), (1, 0.5), (0.5, 0), (0.7, 1)])
@pytest.mark.parametrize("labels", ["delta", "rbf", "linear"])
def test_roweis_discriminant_analysis(data: Any, labels: str, r1: float, r2: float, every: int) -> None:
    X, y = data
    t = np.where(np.arange(len(y)) % every == 0, y, np.nan)
    d = 1 if labels == "linear" else 2
    fitted = RoweisDA(d, r1=r1, r2=r2, labels=labels, width=2.0).fit(X, t)
    K = label_kernel(t, labels, 2.0)
    K /= la.eigvalsh(K)[-1]
    H = centring(len(X))
    R1 = X.T @ (r1 * K + (1 - r1) * H) @ X
    R2 = r2 * scatters(X, np.where(np.isnan(t), -1, y))[1] + (1 - r2) * np.eye(8)
    assert angle(fitted.components_.T, top(R1, R2, d)) < 1e-6
    np.testing.assert_allclose(fitted.components_ @ R2 @ fitted.components_.T, np.eye(d), atol=1e-9)


def test_corners_of_the_square(data: Any) -> None:
    X, y = data
    partly = some(y)
    assert angle(RoweisDA(3, r1=0, r2=0, **MARK).fit(X, partly).components_.T, es.PCA(3).fit(X).components_.T) < 1e-6
    fisher = RoweisDA(3, r1=0, r2=1).fit(X, y).components_.T
    assert angle(fisher, es.LDA(3).fit(X, y).components_.T) < 1e-6
    label_only = RoweisDA(3, r1=1, r2=0, **MARK).fit(X, partly).components_.T
    assert angle(label_only, SupervisedPCA(3, **MARK).fit(X, partly).components_.T) < 1e-6


def test_equal_classes_give_a_mean_of_scatters(data: Any) -> None:
    X, y = data
    S_B, S_W = scatters(X, y)
    fitted = RoweisDA(2, r1=0.25, r2=0).fit(X, y)
    np.testing.assert_allclose(fitted.eigenvalues_, la.eigvalsh(0.25 * S_B + 0.75 * (S_B + S_W))[::-1][:2], rtol=1e-9)


def test_many_samples_find_the_same_norm_of_the_label_kernel() -> None:
    X, y = make_blobs(700, n_features=4, centers=3, random_state=0)  # beyond the size below which everything is dense
    fitted = RoweisDA(2, r1=0.5, r2=0.5).fit(X, y)
    K = label_kernel(y + 0.0, "delta")
    R1 = X.T @ (0.5 * K / la.eigvalsh(K)[-1] + 0.5 * centring(700)) @ X
    R2 = 0.5 * scatters(X, y)[1] + 0.5 * np.eye(4)
    assert angle(fitted.components_.T, top(R1, R2, 2)) < 1e-6


def test_undersampled_fisher_corner_says_that_it_needs_a_ridge(digits: Any) -> None:
    X, y = digits.X[:40], digits.y[:40]
    with pytest.warns(RidgeWarning):
        RoweisDA(2, r1=0, r2=1).fit(X, y)
    RoweisDA(2, r1=0, r2=1, ridge=1.0).fit(X, y)
    RoweisDA(2, r1=0, r2=0.9).fit(X, y)


# ---------------------------------------------------------------------- SSDR
def ssdr_matrix(X: Any, together: Any, apart: Any, alpha: float, beta: float) -> Any:
    """The sum over pairs, pair by pair: all ordered pairs, then those in the two lists (in both orders)."""
    n = len(X)
    M = np.zeros((X.shape[1],) * 2)
    for i, j in itertools.product(range(n), repeat=2):
        M += np.outer(X[i] - X[j], X[i] - X[j]) / (2 * n**2)
    for pairs, weight in ((apart, alpha), (together, -beta)):
        for i, j in pairs:
            M += weight * np.outer(X[i] - X[j], X[i] - X[j])  # ½, twice
    return M


@pytest.mark.parametrize("normalise", [True, False])
@pytest.mark.parametrize("kind", ["labels", "pairs", "both"])
def test_ssdr_is_the_sum_over_pairs(data: Any, kind: str, normalise: bool) -> None:
    X, y = data[0][:40], some(data[1][:40], 2)
    must, cannot = [[1, 5], [5, 1], [3, 7], [0, 4]], [[1, 2], [11, 9]]
    together, apart = set(), set()
    for i, j in itertools.combinations(range(40), 2):
        if kind != "pairs" and y[i] >= 0 and y[j] >= 0:
            (together if y[i] == y[j] else apart).add((i, j))
    if kind != "labels":
        together |= {(1, 5), (3, 7), (0, 4)}  # (0, 4) is in the labels too, and counts once
        apart |= {(1, 2), (9, 11)}
    alpha, beta = (0.7, 3.0) if normalise else (0.002, 0.03)
    params: dict[str, Any] = {} if kind == "labels" else {"must_link": must, "cannot_link": np.array(cannot)}
    fitted = SSDR(3, alpha=alpha, beta=beta, normalise=normalise, **params).fit(X, None if kind == "pairs" else y)
    if normalise:
        alpha, beta = alpha / (2 * len(apart)), beta / (2 * len(together))
    values, V = la.eigh(ssdr_matrix(X, together, apart, alpha, beta))
    np.testing.assert_allclose(fitted.eigenvalues_, values[::-1][:3], rtol=1e-8)
    assert angle(fitted.components_.T, V[:, ::-1][:, :3]) < 1e-6


def test_ssdr_without_weights_is_pca(data: Any) -> None:
    X, y = data
    fitted = SSDR(3, alpha=0, beta=0).fit(X, y)
    assert angle(fitted.components_.T, es.PCA(3).fit(X).components_.T) < 1e-6
    np.testing.assert_allclose(fitted.eigenvalues_, la.eigvalsh(np.cov(X.T, bias=True))[::-1][:3])


def test_ssdr_does_not_depend_on_how_often_the_data_are_repeated(data: Any) -> None:
    X, y = data
    once, thrice = (SSDR(2, beta=5).fit(np.tile(X, (m, 1)), np.tile(y, m)) for m in (1, 30))
    assert (
        angle(once.components_.T, thrice.components_.T) < 2
    )  # pairs of a point with its own copies are the difference


def test_ssdr_takes_one_class_which_says_what_belongs_together(data: Any) -> None:
    X, y = data
    fitted = SSDR(2).fit(X, np.where(y == 0, 0, -1))
    members = np.flatnonzero(y == 0)
    M = ssdr_matrix(X, list(itertools.combinations(members, 2)), [], 0, 20 / (members.size * (members.size - 1)))
    assert angle(fitted.components_.T, la.eigh(M)[1][:, -2:]) < 1e-6


@pytest.mark.parametrize(
    "params, y, message",
    [
        ({"must_link": [[0, 1, 2]]}, None, r"shape \(m, 2\); got shape \(1, 3\)"),
        ({"must_link": [[0.5, 1]]}, None, r"row numbers.*float64"),
        ({"cannot_link": [[0, 200]]}, None, r"rows 0 to 200, but X has rows 0 to 119"),
        ({"cannot_link": [[-1, 3]]}, None, r"rows -1 to 3"),
        ({"must_link": [[4, 4]]}, None, r"row 4 with itself"),
        (
            {"must_link": [[4, 8], [0, 1]], "cannot_link": [[8, 4]]},
            None,
            r"1 pairs, the first \(4, 8\), are in must_link and in cannot_link",
        ),
        ({"must_link": [[0, 1]]}, "y", r"1 pairs of must_link, the first \(0, 1\), contradict"),
        ({"cannot_link": [[0, 4]]}, "y", r"1 pairs of cannot_link, the first \(0, 4\), contradict"),
        ({"must_link": []}, None, r"needs pairs, but 0 labelled"),
        ({}, "one", r"needs pairs, but 1 labelled sample"),
        ({}, None, r"requires y"),
    ],
)
def test_pairs_that_cannot_be_used(data: Any, params: Any, y: Any, message: str) -> None:
    X, labels = data
    given = {"y": labels, "one": np.where(np.arange(len(labels)) == 3, 5, -1), None: None}[y]
    with pytest.raises(LabelError, match=message):
        SSDR(2, **params).fit(X, given)


# ---------------------------------------------------------------------- SDA
@pytest.mark.parametrize("mu", [0.0, 0.1, 2.0])
@pytest.mark.parametrize("ridge", [None, 0.5])
def test_sda_is_lda_smoothed_over_all_points(data: Any, mu: float, ridge: Any) -> None:
    X, y = data
    partly = some(y)
    fitted = SDA(3, mu=mu, n_neighbors=6, ridge=ridge).fit(X, partly)
    S_B, S_W = scatters(X, partly)
    J = np.zeros((8, 8))
    for i, j in zip(*np.nonzero(neighbours(X, 6)), strict=True):
        J += np.outer(X[i] - X[j], X[i] - X[j])  # Σ_ij w_ij (a'x_i − a'x_j)²: twice a'X'LXa
    B = S_B + S_W + mu / 2 * J + (ridge or 0) * np.eye(8)
    np.testing.assert_allclose(fitted.eigenvalues_, la.eigvalsh(S_B, B)[::-1][:3], rtol=1e-9)
    assert angle(fitted.components_.T, top(S_B, B, 3)) < 1e-6
    np.testing.assert_allclose(fitted.components_ @ B @ fitted.components_.T, np.eye(3), atol=1e-9)
    if mu == 0 and ridge is None:
        assert angle(fitted.components_.T, es.LDA(**MARK).fit(X, partly).components_.T) < 1e-6


@pytest.mark.parametrize("robust", [True, False])
@pytest.mark.parametrize("pairs", ["all", "edges"])
def test_sda_with_path_based_similarity(data: Any, pairs: str, robust: bool) -> None:
    X, y = data
    partly = some(y)
    sigma = 3.0
    rule = PathSimilarity(Heat(sigma), robust=robust, pairs=pairs)
    fitted = SDA(3, mu=0.5, n_neighbors=5, weights=rule).fit(X, partly)
    near = neighbours(X, 5)
    W = near * np.exp(-(pairwise(X) ** 2) / sigma**2)
    if robust:
        a = robustness(KNN(5).build(X), X)
        W *= np.outer(a, a)
    W = minimax(W) / len(X) if pairs == "all" else minimax(W) * near
    L = np.diag(W.sum(axis=1)) - W
    S_B, S_W = scatters(X, partly)
    assert angle(fitted.components_.T, top(S_B, S_B + S_W + 0.5 * X.T @ L @ X, 3)) < 1e-6


def test_paths_of_many_points_are_never_n_by_n(data: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = data
    before = SDA(weights="path").fit(X, some(y))
    monkeypatch.setattr(MergeTree, "to_dense", lambda self: pytest.fail("n×n"))
    monkeypatch.setattr(
        "eigenspan.graphs.weights.path_similarity._NUMBERS", 50
    )  # a few merges, a few neighbourhoods at a time
    again = SDA(weights="path").fit(X, some(y))
    assert angle(before.components_.T, again.components_.T) < 1e-6
    assert before.diagnostics_["seconds"]["paths"] > 0


@pytest.mark.parametrize("n, density, ties", [(2, 1.0, False), (30, 0.3, False), (60, 0.06, False), (50, 0.1, True)])
def test_merge_tree_is_the_path_based_similarity(n: int, density: float, ties: bool) -> None:
    rng = np.random.default_rng(n)
    S = rng.random((n, n)) * (rng.random((n, n)) < density)
    S = np.round(4 * S) / 4 if ties else S
    S = np.maximum(S, S.T)
    np.fill_diagonal(S, 0)
    tree, expected = merge_tree(sp.csr_array(S)), minimax(S)
    off = ~np.eye(n, dtype=bool)
    D = tree.to_dense()
    np.testing.assert_array_equal(D[off], expected[off])
    np.testing.assert_array_equal(np.diagonal(D), np.where(off, expected, 0).max(axis=1))
    i, j = np.nonzero(off)
    np.testing.assert_array_equal(tree.between(i, j), expected[off])
    Z, s = rng.standard_normal((n, 3)), rng.random(n)
    for T, M in ((tree, D), (tree.scaled(s), D * np.outer(s, s))):
        np.testing.assert_allclose(T @ Z, M @ Z, atol=1e-12)
        np.testing.assert_allclose(T @ Z[:, 0], M @ Z[:, 0], atol=1e-12)
        np.testing.assert_allclose(T.quadratic(Z), Z.T @ M @ Z, atol=1e-12)
        np.testing.assert_allclose(T.diagonal(), np.diagonal(M), atol=1e-15)
        np.testing.assert_allclose(T.to_dense(), M, atol=1e-15)


def test_paths_do_not_run_over_outliers() -> None:
    """Two far clusters and a thread of single points between them: only robust weights keep the clusters apart."""
    rng = np.random.default_rng(0)
    X = np.vstack(
        [
            rng.standard_normal((60, 2)),
            rng.standard_normal((60, 2)) + np.array([14, 0]),
            np.c_[np.arange(3.5, 11, 1.25), np.zeros(6)],
        ]
    )
    graph = KNN(8).build(X)
    a = robustness(graph, X)
    assert np.all((a > 0) & (a <= 1))
    assert a[120:].max() < np.median(a[:120])
    within, across = {}, {}
    for robust in (True, False):
        S = PathSimilarity(Heat(2.0), robust=robust).tree(graph, X).to_dense()
        within[robust], across[robust] = np.median(S[:60, :60]), np.median(S[:60, 60:120])
    assert across[True] / within[True] < 0.2 * across[False] / within[False]


def test_robustness_handles_copies_and_lonely_points() -> None:
    X = np.vstack([np.zeros((6, 2)), np.ones((1, 2))])
    assert np.all(np.isfinite(robustness(KNN(3).build(X), X)))
    far = np.vstack([np.random.default_rng(0).standard_normal((20, 2)), [[100.0, 0]]])
    a = robustness(es.Radius(3.0).build(far), far)
    assert a[20] == 1  # alone: no edge of its own to damp
    dense = robustness(KNN(4).build(far), far)
    np.testing.assert_allclose(robustness(KNN(4).build(far), sp.csr_array(far)), dense)


def test_path_weights_serve_other_projections(data: Any) -> None:
    X, y = data
    fitted = es.LPP(2, n_neighbors=8, weights=PathSimilarity(pairs="edges")).fit(X)
    assert fitted.components_.shape == (2, 8)
    with pytest.raises(GraphError, match=r"use KNN"):
        es.LPP(2, graph="class", weights=PathSimilarity()).fit(X, y)
    with pytest.raises(GraphError, match=r'"all" or "edges"'):
        es.LPP(2, weights=PathSimilarity(pairs="some")).fit(X)
    roll = make_swiss_roll(200, random_state=0)[0]
    with pytest.raises(GraphError, match=r'pairs="edges"'):
        es.LaplacianEigenmaps(2, weights=PathSimilarity()).fit(roll)
    with pytest.raises(GraphError, match="training points only"):
        es.LaplacianEigenmaps(2, weights=PathSimilarity(pairs="edges")).fit(roll).transform(roll + 0.01)
    with pytest.raises(GraphError, match="need coordinates"):
        es.LaplacianEigenmaps(2, weights=PathSimilarity(pairs="edges"), graph="precomputed").fit(pairwise(roll))


# ---------------------------------------------------------------------- SDA by CCCP
def criterion(X: Any, y: Any) -> float:
    S_B, S_W = scatters(X, y)
    return float(np.trace(np.linalg.solve(S_B + S_W, S_B)))


def hard(seed: int) -> tuple[Any, Any, Any]:
    """Overlapping classes with two labels each."""
    rng = np.random.default_rng(seed)
    y = np.arange(160) % 4
    X = (rng.standard_normal((160, 5)) + 1.2 * rng.standard_normal((4, 5))[y]) @ rng.standard_normal((5, 5))
    return X, y, np.where(np.arange(160) < 8, y, -1)


@pytest.mark.parametrize("seed", range(6))
def test_cccp_never_decreases_the_criterion(seed: int) -> None:
    X, _, partly = hard(seed)
    fitted = SDACCCP().fit(X, partly)
    assert fitted.n_iter_ == fitted.criterion_.size > 2
    assert np.all(np.diff(fitted.criterion_) > 0)
    np.testing.assert_allclose(fitted.criterion_[-1], criterion(X, fitted.transduction_), rtol=1e-9)
    np.testing.assert_array_equal(fitted.transduction_[:8], partly[:8])


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.every(3)
def test_cccp_ends_where_the_linearised_criterion_is_largest(seed: int) -> None:
    """No labels of unlabelled points beat the found ones in the linearisation about these (gradient by differences)."""
    X, _, partly = hard(seed)
    found = SDACCCP().fit(X, partly).transduction_
    P = np.eye(4)[found]
    Z = X - X.mean(axis=0)
    S = Z @ np.linalg.solve(Z.T @ Z, Z.T)

    def value(A: Any) -> float:
        return float(np.sum(np.einsum("ik,ij,jk->k", A, S, A) / A.sum(axis=0)))

    np.testing.assert_allclose(value(P), criterion(X, found), rtol=1e-9)
    gradient = np.zeros_like(P)
    for i, k in np.ndindex(*P.shape):
        step = np.zeros_like(P)
        step[i, k] = 1e-5
        gradient[i, k] = (value(P + step) - value(P - step)) / 2e-5
    free = partly < 0
    assert np.all(gradient[free, found[free]] >= gradient[free].max(axis=1) - 1e-8)


def test_cccp_confidence_is_the_posterior_of_normal_classes() -> None:
    X, _, partly = hard(0)
    fitted = SDACCCP().fit(X, partly)
    found = fitted.transduction_
    precision = np.linalg.inv(scatters(X, found)[1] / (160 - 4))
    means = np.array([X[found == k].mean(axis=0) for k in range(4)])
    d = np.einsum("ikp,pq,ikq->ik", X[:, None] - means, precision, X[:, None] - means)
    proba = np.exp(-d / 2) / np.exp(-d / 2).sum(axis=1, keepdims=True)
    free = partly < 0
    np.testing.assert_allclose(fitted.confidence_[free], proba[np.arange(160), found][free], atol=1e-9)
    assert np.all(fitted.confidence_[~free] == 1)


@pytest.mark.parametrize("threshold", [0.0, 0.8, 1.0])
def test_cccp_is_lda_of_the_sure_points(threshold: float) -> None:
    X, _, partly = hard(1)
    fitted = SDACCCP(threshold=threshold).fit(X, partly)
    sure = (partly >= 0) | (fitted.confidence_ > threshold)
    assert sure.sum() == {0.0: 160, 1.0: 8}.get(threshold, sure.sum())
    assert fitted.diagnostics_["labels_added"] == sure.sum() - 8
    expected = es.LDA(**MARK).fit(X, np.where(sure, fitted.transduction_, -1))
    assert angle(fitted.components_.T, expected.components_.T) < 1e-6


def test_cccp_finds_separated_classes_from_one_label_each() -> None:
    X, y = make_blobs(200, n_features=6, centers=3, random_state=4)
    first = [int(np.flatnonzero(y == k)[0]) for k in range(3)]
    partly = np.full(200, -1)
    partly[first] = y[first]
    fitted = SDACCCP().fit(X, partly)
    np.testing.assert_array_equal(fitted.transduction_, y)
    assert angle(fitted.components_.T, es.LDA().fit(X, y).components_.T) < 1e-6


@pytest.mark.parametrize("kernel", [None, es.Kernel("rbf", gamma="median")])
def test_cccp_with_more_features_than_samples_still_tells_labellings_apart(digits: Any, kernel: Any) -> None:
    X, y = digits.X[:50] if kernel is None else digits.X, digits.y[:50] if kernel is None else digits.y
    keep = y < 3
    X, y = X[keep], y[keep]
    fitted = SDACCCP(kernel=kernel).fit(X, np.where(np.arange(len(y)) < 9, y, -1))
    assert fitted.diagnostics_["ridge"] > 0
    assert np.mean(fitted.transduction_ == y) > 0.8


def test_cccp_says_when_labels_still_change() -> None:
    X, _, partly = hard(0)
    with pytest.warns(ConvergenceWarning, match="still changed in step 2"):
        fitted = SDACCCP(max_iter=2).fit(X, partly)
    assert fitted.n_iter_ == 2


def test_assign_keeps_labels_on_ties() -> None:
    Z = np.array([[-1.0], [1.0], [0.0]])
    codes, values = assign(Z, np.array([0, 1, -1]), 10)
    np.testing.assert_array_equal(codes, [0, 1, 0])
    assert len(values) == 1


# ---------------------------------------------------------------------- SODA
def spread(W: Any, y: Any, c: int, trust: float, novelty: float) -> Any:
    """The fixed point of propagation, dense, with all c + 1 columns."""
    n = len(y)
    Y = np.zeros((n, c + 1))
    Y[np.arange(n), np.where(y >= 0, y, c)] = 1
    alpha = 1 - np.where(y >= 0, trust, novelty)
    P = W / W.sum(axis=1, keepdims=True)
    return np.linalg.solve(np.eye(n) - alpha[:, None] * P, (1 - alpha)[:, None] * Y)


def soft(X: Any, F: Any) -> tuple[Any, Any]:
    """Soft scatters point by point."""
    S_B, S_W = np.zeros((2, X.shape[1], X.shape[1]))
    mean = F.sum(axis=1) @ X / F.sum()
    for k in range(F.shape[1]):
        m = F[:, k] @ X / F[:, k].sum()
        S_B += F[:, k].sum() * np.outer(m - mean, m - mean)
        S_W += (X - m).T @ (F[:, k, None] * (X - m))
    return S_B, S_W


@pytest.mark.parametrize("trust, novelty", [(1.0, 0.01), (0.6, 0.05), (0.2, 1.0), (1.0, 1e-4)])
def test_labels_spread_as_the_linear_system_says(data: Any, trust: float, novelty: float) -> None:
    X, y = data
    partly = some(y, 5)
    W = neighbours(X, 6) * np.exp(-(pairwise(X) ** 2) / 9)
    F = propagate(Form(120, sparse=sp.csr_array(W)), partly, 4, trust=trust, novelty=novelty)
    np.testing.assert_allclose(F, spread(W, partly, 4, trust, novelty), atol=1e-9)
    np.testing.assert_allclose(F.sum(axis=1), 1)
    if trust == 1:
        np.testing.assert_array_equal(F[partly >= 0], np.eye(5)[partly[partly >= 0]])


@pytest.mark.parametrize("trust, d", [(1.0, 2), (0.5, 5)])
def test_soda_is_the_trace_ratio_of_soft_scatters(data: Any, trust: float, d: int) -> None:
    X, y = data
    partly = some(y, 5)
    fitted = SODA(d, trust=trust, novelty=0.05, n_neighbors=6, weights=Heat(3.0), ridge=0).fit(X, partly)
    W = neighbours(X, 6) * np.exp(-(pairwise(X) ** 2) / 9)
    F = spread(W, partly, 4, trust, 0.05)
    np.testing.assert_allclose(fitted.label_distributions_, F, atol=1e-9)
    S_B, S_W = soft(X, F[:, :4])
    ratio = 0.0
    for _ in range(50):  # with S_W below the line: the same axes
        V = la.eigh(S_B - ratio * S_W)[1][:, -d:]
        ratio = np.trace(V.T @ S_B @ V) / np.trace(V.T @ S_W @ V)
    assert angle(fitted.components_.T, V) < 1e-5
    np.testing.assert_allclose(fitted.components_ @ fitted.components_.T, np.eye(d), atol=1e-10)
    np.testing.assert_allclose(fitted.diagnostics_["trace_ratio"], ratio / (1 + ratio), rtol=1e-9)
    np.testing.assert_array_equal(fitted.transduction_, F[:, :4].argmax(axis=1))
    assert np.mean(fitted.transduction_ == y) > 0.8


def test_soft_scatters_are_forms_of_low_rank(data: Any) -> None:
    X, _ = data
    F = np.random.default_rng(0).random((120, 3))
    S_B, S_W = soft(X, F)
    between, total = soft_scatters(F)
    np.testing.assert_allclose(between.quadratic(X), S_B, atol=1e-9 * np.abs(S_B).max())
    np.testing.assert_allclose(total.quadratic(X), S_B + S_W, atol=1e-9 * np.abs(S_W).max())
    np.testing.assert_allclose(between.ones(), 0, atol=1e-12)


def test_soda_that_does_not_spread_is_lda_of_the_labelled_points(data: Any) -> None:
    X, y = data
    partly = some(y)
    fitted = SODA(3, novelty=1, ridge=0).fit(X, partly)
    assert angle(fitted.components_.T, es.LDA(3, criterion="trace-ratio", **MARK).fit(X, partly).components_.T) < 1e-5


def test_points_that_no_label_reaches_have_no_class(islands: Any) -> None:
    names = np.array(["a", "b", "c"], dtype=object)[islands.y]
    names[5:20], names[islands.y == 2] = None, None
    fitted = SODA(1, n_neighbors=4).fit(islands.X, names)
    assert list(fitted.classes_) == ["a", "b"]
    assert set(fitted.transduction_[:30]) == {"a"}
    assert set(fitted.transduction_[50:]) == {None}
    np.testing.assert_array_equal(fitted.label_distributions_[50:], np.tile([0, 0, 1.0], (10, 1)))


def test_points_without_edges_keep_what_they_have() -> None:
    W = np.zeros((4, 4))
    W[0, 1] = W[1, 0] = 1
    F = propagate(Form(4, sparse=sp.csr_array(W)), np.array([0, -1, 1, -1]), 2, trust=0.5, novelty=0.1)
    np.testing.assert_array_equal(F[2:], [[0, 1, 0], [0, 0, 1]])
    assert F[1, 0] > F[1, 1] == 0


# ---------------------------------------------------------------------- what all of them promise
@pytest.mark.parametrize("estimator", [param for param in SUPERVISED if param.id not in IN_THE_CONTRACT])
@pytest.mark.every(4)
def test_check_estimator(estimator: Any) -> None:
    quietly(lambda: assert_scikit_learn_agrees(clone(estimator)))


@pytest.mark.parametrize("estimator", EACH)
def test_parameters_are_validated(estimator: Any) -> None:
    checks.check_param_validation(type(estimator).__name__, clone(estimator))


@pytest.mark.parametrize("estimator", SUPERVISED)
def test_pickle_clone_and_new_points(estimator: Any, data: Any) -> None:
    X, y = data
    fitted = clone(estimator).fit(X, some(y, 2))
    new = X[::7] + 0.01
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.transform(new), fitted.transform(new))
    np.testing.assert_array_equal(clone(fitted).fit(X, some(y, 2)).embedding_, fitted.embedding_)
    np.testing.assert_allclose(fitted.transform(X), fitted.embedding_, atol=1e-7 * np.abs(fitted.embedding_).max())
    assert clone(estimator).__sklearn_tags__().target_tags.required


@every
@pytest.mark.parametrize("axes", ["unit", "eigenvalue-norm"])
@pytest.mark.every(4)
def test_linear_kernel_is_the_linear_method(estimator: Any, axes: str, data: Any) -> None:
    X, y = data
    settings = {"ridge": 0.0, "axes": axes}
    plain, kernel = (clone(estimator).set_params(kernel=k, **settings).fit(X, some(y)) for k in (None, "linear"))
    assert angle(plain.embedding_, kernel.embedding_) < 1e-5
    np.testing.assert_allclose(
        pairwise(plain.embedding_), pairwise(kernel.embedding_), atol=1e-6 * pairwise(plain.embedding_).max()
    )
    np.testing.assert_allclose(kernel.eigenvalues_, plain.eigenvalues_, rtol=1e-6)


@pytest.mark.parametrize("estimator", SUPERVISED)
def test_sparse_and_single_precision_equal_dense(estimator: Any, data: Any) -> None:
    X, y = data
    X, y = np.where(np.abs(X) < 1, 0, X).astype(np.float32), some(y)
    dense = clone(estimator).fit(X.astype(np.float64), y)
    for other in (clone(estimator).fit(sp.csr_array(X.astype(np.float64)), y), clone(estimator).fit(X, y)):
        assert angle(dense.embedding_, other.embedding_) < 1e-2
        np.testing.assert_allclose(other.eigenvalues_, dense.eigenvalues_, rtol=1e-4)
    assert clone(estimator).fit(X, y).embedding_.dtype == np.float32


@pytest.mark.parametrize("estimator", EACH)
def test_landmarks_and_reduce(estimator: Any, data: Any) -> None:
    X, y = data
    rbf = es.Kernel("rbf", gamma="median")
    near = clone(estimator).set_params(kernel=rbf, landmarks=40).fit(X, some(y))
    assert near.transform(X[:3]).shape[0] == 3
    whole, reduced = (clone(estimator).set_params(reduce=r).fit(X, some(y)) for r in (None, 8))
    assert angle(whole.embedding_, reduced.embedding_) < 1e-5


def marks(y: Any) -> dict[str, Any]:
    """The same labels with those that are missing (−1) marked in other ways."""
    return {
        "nan": np.where(y < 0, np.nan, y),
        "None": [None if v < 0 else int(v) for v in y],
        "text": np.array([None if v < 0 else f"class {v}" for v in y], dtype=object),
        "string": pd.Series([None if v < 0 else f"class {v}" for v in y], dtype="string"),
        "categories": pd.Categorical([None if v < 0 else f"class {v}" for v in y]),
        "text and -1": np.array([-1 if v < 0 else f"class {v}" for v in y], dtype=object),
    }


def test_methods_of_labels_are_in_the_registry() -> None:
    labels = {"LDA", "LFDA", "MFA", "DNE", "MMC", "LDE", "SupervisedPCA", "RoweisDA"}
    few = {"SDA", "SSDR", "SELFDA", "SSLFDA", "SSDNE", "SSMFA", "SSFDA", "SSMMC", "SODA", "SDACCCP", "PairCosts"}
    assert {type(estimator).__name__ for estimator in REGISTRY} >= labels | few


@every
@pytest.mark.every(4)
def test_kernels_missing_labels_weighted_axes_and_new_points(estimator: Any, data: Any) -> None:
    """What every method of labels accepts."""
    X, y = data
    partly, new = some(y), X[::7] + 0.01
    expected = clone(estimator).fit(X, partly).embedding_
    for kind, marked in marks(partly).items():
        found = clone(estimator).fit(X, marked).embedding_
        np.testing.assert_allclose(found, expected, atol=1e-12 * np.abs(expected).max(), err_msg=kind)
    shifted = clone(estimator).set_params(unlabeled=9).fit(X, np.where(partly < 0, 9, y - 1))
    np.testing.assert_allclose(shifted.embedding_, expected, atol=1e-12 * np.abs(expected).max())
    for kernel in (None, es.Kernel("rbf", gamma="median")):
        plain = clone(estimator).set_params(kernel=kernel).fit(X, partly).embedding_
        for kind in ("norm", "eigenvalue", "eigenvalue-norm"):
            fitted = clone(estimator).set_params(kernel=kernel, axes=kind).fit(X, partly)
            Y = fitted.embedding_
            factors = np.linalg.norm(Y, axis=0) / np.linalg.norm(plain, axis=0)
            np.testing.assert_allclose(Y, factors * plain, atol=1e-9 * np.abs(Y).max())
            np.testing.assert_allclose(fitted.transform(X), Y, atol=1e-7 * np.abs(Y).max())
            assert fitted.transform(new).shape == (len(new), Y.shape[1])
            assert np.all(np.isfinite(fitted.transform(new)))


def gains(fitted: Any, X: Any, y: Any) -> Any:
    """What each axis adds to the criterion; of a trace ratio, what it has of the one scatter in units of the other."""
    problem = fitted.problem_
    if isinstance(problem, TraceProblem):
        return -fitted.eigenvalues_ if problem.sense == "min" else fitted.eigenvalues_
    S_B, S_W = (
        soft(X, fitted.label_distributions_[:, :-1]) if hasattr(fitted, "label_distributions_") else scatters(X, y)
    )
    V, S_T = fitted.components_, S_B + S_W + fitted.diagnostics_.get("ridge", 0.0) * np.eye(X.shape[1])
    return np.sum(V @ S_B * V, axis=1) / np.sum(V @ S_T * V, axis=1)


@pytest.mark.parametrize(
    "estimator",
    [*REGISTRY, es.LDA(4, criterion="trace-ratio"), es.LDA(2, shrinkage=0.3), es.LDA(2, shrinkage="auto")],
    ids=lambda e: str(e).replace(" ", "")[:50],
)
@pytest.mark.every(4)
def test_axes_are_weighed(estimator: Any, data: Any) -> None:
    X, y = data
    plain = clone(estimator).fit(X, y)
    V = plain.components_
    lengths, roots = np.linalg.norm(V, axis=1), np.sqrt(np.maximum(gains(plain, X, y), 0))
    assert np.any(roots > 0)
    for kind, factor in (("norm", 1 / lengths), ("eigenvalue", roots), ("eigenvalue-norm", roots / lengths)):
        fitted = clone(estimator).set_params(axes=kind).fit(X, y)
        np.testing.assert_allclose(fitted.components_, factor[:, None] * V, rtol=1e-9, atol=1e-12 * np.abs(V).max())


def test_an_axis_along_which_nothing_varies_gains_nothing(data: Any) -> None:
    X, y = data
    fitted = es.LDA(8, criterion="trace-ratio", axes="eigenvalue", **MARK).fit(X, np.where(np.arange(120) < 8, y, -1))
    lengths = np.sort(np.linalg.norm(fitted.components_, axis=1))  # eight points span seven dimensions
    assert lengths[0] == 0 < lengths[1]
    assert lengths[-1] <= 1


def test_unlabelled_points_correct_a_discriminant_of_few_labels() -> None:
    """Three labels a class on long, parallel clusters, where LDA of the labels alone is misled by their places along these."""
    shares = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        y = np.arange(200) % 2
        X = np.c_[
            8 * rng.standard_normal(200), 2.5 * y + 0.4 * rng.standard_normal(200), 0.4 * rng.standard_normal(200)
        ]
        partly = np.where(np.arange(200) < 6, y, -1)
        found = [
            e.fit(X, labels).components_ for e, labels in ((es.LDA(**MARK), partly), (SDACCCP(), partly), (es.LDA(), y))
        ]
        values = [float(np.divide(*(S[0, 0] for S in scatters(X @ V.T, y)))) for V in found]
        shares.append(np.divide(values[:2], values[2]))
    alone, helped = np.mean(shares, axis=0)
    assert alone < 0.8
    assert helped > 0.98


def test_few_labels_on_real_data() -> None:
    """A hundred labelled digits: nearest class means in the projection, scored on the other 1697."""
    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    X, y = X[order], y[order]
    partly = np.where(np.arange(len(y)) < 100, y, -1)

    def score(estimator: Any) -> float:
        Y = estimator.fit(X, partly).embedding_
        return float(NearestCentroid().fit(Y[:100], y[:100]).score(Y[100:], y[100:]))

    alone = score(es.LDA(**MARK))
    assert score(SDA()) > alone + 0.08
    assert score(SDACCCP(reduce=15)) > alone + 0.04
    soda = SODA()
    assert score(soda) > alone + 0.04
    assert soda.diagnostics_["ridge"] > 0
    assert np.mean(soda.transduction_ == y) > 0.95


# ---------------------------------------------------------------------- bad input
@every
@pytest.mark.parametrize(
    "labels, message",
    [
        (lambda y: None, "{name} requires y to be passed"),
        (lambda y: np.full(120, -1), "{name} needs labels, but all 120 of them are missing"),
        (lambda y: [None] * 120, "all 120 of them are missing"),
        (lambda y: np.append(y, 0), "121 labels for 120 samples"),
        (lambda y: y[:7], "7 labels for 120 samples"),
        (lambda y: np.c_[y, y], r"{name} needs one label a sample.*\(120, 2\)"),
        (
            lambda y: y + np.arange(120) / 256,
            r"{name} needs class labels.*continuous.*120 distinct values.*such as 0\.015625",
        ),
        (lambda y: np.where(y == 0, 1, -1), r"exactly \{{-1, \+1\}}.*unlabeled=None"),
        (lambda y: np.where(y == 0, "a", y.astype(object)), r"30 of 120 labels are text, such as 'a'.*such as 1:"),
        (lambda y: np.full(120, "rosé"), r"{name} needs at least 2 classes.*only one class \(rosé\)"),
        (lambda y: np.ones(120), r"only one class \(1\.0\)"),
        (lambda y: np.where(y == 3, 3, -1), r"only one class \(3\)"),
    ],
    ids=["none", "-1", "Nones", "long", "short", "2d", "continuous", "+-1", "mixed", "one", "1", "one and none"],
)
def test_labels_that_cannot_be_used(estimator: Any, labels: Any, message: str, data: Any) -> None:
    X, y = data
    name = type(estimator).__name__
    method = clone(estimator)
    if name == "SSDR" and "only one class" in message:  # which tells what belongs together
        assert np.all(np.isfinite(method.fit(X, labels(y)).embedding_))
        return
    with pytest.raises(LabelError, match=message.format(name=name)):
        method.fit_transform(X, labels(y))
    with pytest.raises(NotFittedError):
        method.transform(X)


@every
def test_identifiers_are_suspicious_and_rare_labels_are_not(estimator: Any, data: Any) -> None:
    X, _ = data
    method = clone(estimator).set_params(n_components=1)
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        try:
            method.fit(X, np.arange(120) // 1.5)
        except LabelError as refusal:
            assert "no class has two" in str(refusal)  # noqa: PT017
    told = [str(w.message) for w in given if "identifiers" in str(w.message)]
    assert bool(told) == (not isinstance(estimator, SSDR))  # which asks only who is alike
    assert all(issubclass(w.category, EigenspanWarning) for w in given)
    assert all("80 classes of 120 samples" in message for message in told)
    rare = np.where(np.arange(120) < 30, np.arange(120) // 2 % 15, -1)
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        method.fit(X, rare)  # fifteen classes of two labels each
    assert not [w for w in given if "identifiers" in str(w.message)]


@every
@pytest.mark.every(2)
def test_labels_of_every_kind(estimator: Any, data: Any) -> None:
    X, y = data
    expected = clone(estimator).fit(X, y)
    words = np.array(["a", "b", "c", "d"])[y]
    for labels in (words, words.astype(object), y.astype(float), y.tolist(), y[:, None] == [0, 1, 2, 3]):
        labels = labels.argmax(axis=1) if np.ndim(labels) == 2 else labels
        fitted = clone(estimator).fit(X, labels)
        np.testing.assert_array_equal(fitted.embedding_, expected.embedding_)
        np.testing.assert_array_equal(fitted.classes_, np.unique(np.asarray(labels)))
    two = clone(estimator).fit(X, y > 1)
    np.testing.assert_array_equal(two.embedding_, clone(estimator).fit(X, np.where(y > 1, "yes", "no")).embedding_)


@every
def test_classes_of_one_sample(estimator: Any, data: Any) -> None:
    """They are told apart, or named; where no class has a pair, a unit of pairs within classes has no length."""
    X, y = data
    single = np.where(np.arange(120) == 7, 9, y)
    few = np.where((np.arange(120) < 30) | (single == 9), single, -1)
    for labels in (single, few):
        with warnings.catch_warnings(record=True) as given:
            warnings.simplefilter("always")
            fitted = clone(estimator).fit(X, labels)
        told = [str(w.message) for w in given if issubclass(w.category, LabelWarning)]
        assert len(told) == len(given) == (type(estimator).__name__ in ALLIES)
        assert all("1 of 5 classes have one labelled sample" in message for message in told)
        assert np.all(np.isfinite(fitted.embedding_))
        np.testing.assert_array_equal(fitted.classes_, [0, 1, 2, 3, 9])
    one_each = np.where(np.arange(120) < 4, y, -1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LabelWarning)
        if type(estimator).__name__ in ("LFDA", "MFA", "LDE"):
            with pytest.raises(LabelError, match=r"no class has two labelled samples.*gamma > 0.*ridge="):
                clone(estimator).fit(X, one_each)
        else:
            assert np.all(np.isfinite(clone(estimator).fit(X, one_each).embedding_))


@every
@pytest.mark.parametrize("known", [40, 8])
@pytest.mark.every(2)
def test_a_singular_unit_is_reported(estimator: Any, known: int) -> None:
    rng = np.random.default_rng(0)
    y = np.where(np.arange(40) < known, np.arange(40) % 4, -1)
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        fitted = clone(estimator).fit(rng.standard_normal((40, 60)), y)
    assert np.all(np.isfinite(fitted.embedding_))
    told = [str(w.message) for w in given if issubclass(w.category, RidgeWarning)]
    assert len(told) == len(given)
    if isinstance(fitted.problem_, TraceRatio) or fitted.problem_.B is None:
        assert not told
        return
    B = fitted.problem_.B.to_dense()
    rank = int(np.linalg.matrix_rank(B, hermitian=True))
    if rank < len(B):
        assert fitted.diagnostics_.get("rank_of_unit") == rank or f"has rank {rank} of {len(B)}" in told[0]
    assert bool(told) == (type(estimator).__name__ in ("LFDA", "MFA", "LDE"))
    if type(estimator).__name__ in ("SSLFDA", "SSMFA", "SSFDA"):
        assert fitted.diagnostics_["ridge"] == pytest.approx(np.linalg.eigvalsh(B)[0])


@pytest.mark.parametrize(
    "estimator, most, why",
    [
        (SupervisedPCA(4), 3, "there are 4 classes"),
        (SupervisedPCA(2, labels="linear"), 1, "1 target"),
        (SupervisedPCA(4, labels="rbf"), 3, "4 distinct values"),
        (RoweisDA(4, r1=1), 3, "there are 4 classes"),
        (SDA(4), 3, "there are 4 classes"),
        (SDACCCP(4), 3, "there are 4 classes"),
    ],
)
def test_no_more_axes_than_the_labels_have(estimator: Any, most: int, why: str, data: Any) -> None:
    X, y = data
    with pytest.raises(DimensionError, match=rf"n_components={most + 1}, but .*{why}.*n_components <= {most}\."):
        clone(estimator).fit(X, y)
    assert clone(estimator).set_params(n_components=most).fit(X, y).embedding_.shape == (120, most)
    if not isinstance(estimator, RoweisDA):
        default = 2 if getattr(estimator, "labels", "") == "rbf" else most
        assert clone(estimator).set_params(n_components=None).fit(X, y).embedding_.shape == (120, default)


@every
def test_no_more_axes_than_the_criterion_or_the_features_have(estimator: Any, data: Any) -> None:
    X, y = data
    four = clone(estimator).set_params(n_components=4)
    refusal = None
    try:
        assert four.fit(X, y).embedding_.shape == (120, 4)
    except DimensionError as error:
        refusal = str(error)
    if refusal is None:
        assert type(estimator).__name__ not in ("LDA", "SupervisedPCA", "SDA", "SDACCCP")
    else:
        assert re.search(r"n_components=4, but .*4 classes.*n_components <= 3", refusal)
    with pytest.raises(DimensionError, match=r"n_components=9(, but .*4 classes| exceeds 8)"):
        clone(estimator).set_params(n_components=9).fit(X, y)
    assert clone(estimator).fit(X[:, :2], y).embedding_.shape == (120, 2)  # four classes in two features
    with pytest.raises(DimensionError, match=r"[Aa]ll .*rows coincide"):
        clone(estimator).set_params(n_components=1).fit(np.ones((20, 3)), np.arange(20) % 2)


def test_lda_takes_all_the_axes_there_are(data: Any) -> None:
    X, y = data
    for features, settings in ((2, {}), (8, {"reduce": 2}), (8, {"kernel": "rbf"}), (2, {"criterion": "trace-ratio"})):
        fitted = es.LDA(**settings).fit(X[:, :features], y)
        assert fitted.embedding_.shape == (120, 3 if "kernel" in settings else 2)
    constant = np.column_stack([X[:, :1], np.full(120, 7.0), X[:, :1] * 2])
    assert es.LDA().fit(constant, y).embedding_.shape == (120, 1)
    in_parts = es.LDA()
    for rows in np.array_split(np.arange(120), 5):
        in_parts.partial_fit(X[rows, :2], y[rows])
    assert angle(in_parts.components_.T, es.LDA().fit(X[:, :2], y).components_.T) < 1e-6


@pytest.mark.parametrize(
    "cls, params",
    [
        (RoweisDA, {"r1": 1.1}),
        (RoweisDA, {"r2": -0.1}),
        (RoweisDA, {"n_components": None}),
        (SDA, {"mu": -1}),
        (SDACCCP, {"threshold": 1.5}),
        (SDACCCP, {"max_iter": 0}),
        (SODA, {"trust": 0}),
        (SODA, {"novelty": 1.01}),
        (SSDR, {"alpha": -1}),
        (SSDR, {"beta": -1}),
        (SupervisedPCA, {"labels": "cosine"}),
        (SupervisedPCA, {"width": 0}),
        (SupervisedPCA, {"axes": "longest"}),
    ],
)
def test_parameters_out_of_range(cls: Any, params: Any, data: Any) -> None:
    X, y = data
    with pytest.raises(ValueError, match=f"The '{next(iter(params))}' parameter of {cls.__name__} must be"):
        cls(**params).fit(X, y)


@pytest.mark.parametrize(
    "y, message",
    [
        (np.full(120, np.nan), "all 120 of them are missing"),
        (np.ones(120), r"all 120 of them are \[1.0\]"),
        (np.full(120, "a"), "cannot be read as numbers"),
        (np.r_[np.inf, np.arange(119.0)], "1 targets are infinite"),
        (np.arange(119.0), r"shape \(119,\) for 120 samples"),
        (None, "requires y"),
    ],
)
@pytest.mark.parametrize("labels", ["rbf", "linear"])
def test_targets_that_cannot_be_used(y: Any, message: str, labels: str, data: Any) -> None:
    with pytest.raises(LabelError, match=message):
        SupervisedPCA(1, labels=labels).fit(data[0], y)


def test_numbers_have_no_scatter_within_classes(data: Any) -> None:
    X, _ = data
    with pytest.raises(LabelError, match=r"r2=0\.5.*use r2=0"):
        RoweisDA(2, labels="rbf").fit(X, X[:, 0])
    assert RoweisDA(2, labels="rbf", r2=0).fit(X, X[:, 0]).components_.shape == (2, 8)
    minus = np.where(np.arange(120) % 2, -1, 1)  # two numbers, none of them a mark
    assert list(RoweisDA(2, labels="rbf").fit(X, minus).classes_) == [-1, 1]


def test_graphs_that_cannot_be_used(data: Any) -> None:
    X, y = data
    for cls in (SDA, SODA):
        with pytest.raises(GraphError, match="cannot hold distances"):
            cls(graph="precomputed").fit(pairwise(X), y)
        with pytest.raises(GraphError, match="n_neighbors=200"):
            cls(n_neighbors=200).fit(X, y)
        with pytest.raises(InputError, match="landmarks= has an effect only"):
            cls(landmarks=10).fit(X, y)
    with pytest.raises(GraphError, match='graph="class"'):
        SDA(graph="class", weights="path").fit(X, y)
    assert SDA(graph="class").fit(X, y).embedding_.shape == (120, 3)


def test_what_does_not_fit_is_refused(data: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    X, _ = data
    monkeypatch.setenv("EIGENSPAN_MEMORY", "16K")
    with pytest.raises(MemoryLimitError, match="whitened features"):
        SDACCCP()._whitened(Features(Raw(), X, None, X.mean(axis=0)))
    with pytest.raises(MemoryLimitError, match="merges of 120 points"):
        merge_tree(sp.csr_array(neighbours(X, 4))).quadratic(X)
