"""Theorems about supervised and semi-supervised methods."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from ..graphs import allies
from ..methods.discriminant.label_kernels import RoweisDA, SupervisedPCA
from ..methods.discriminant.lda import LDA
from ..methods.discriminant.pair_costs import LFDA
from ..methods.semi_supervised.scatter_discriminants import SELF, SSFDA, SSMMC
from ..methods.sufficient.sir import SIR
from ..methods.variance.kernel_pca import PCA
from ..numerics.eigen import dense
from .measure import MOST, angle, class_means, in_span, lowest, principal, relative
from .theorem import Measured, UnmetError, subject
from .theorem_data import Data

Array = NDArray[np.float64]
Index = NDArray[np.intp]

theorem = subject("Labels")

#: Largest number of rows for costs on all pairs.
_PAIRS = 300


def _partly(data: Data, most: int = _PAIRS) -> tuple[Data, Index, str]:
    """Return rows in the dimensions that vary within classes, labels with half of each class hidden (−1), and a description."""
    data = data.labelled(most)
    y = np.full(data.n, -1)
    for c in range(data.n_classes):
        members = np.flatnonzero(data.y == c)
        y[members[: max(2, len(members) // 2)]] = c
    known = y >= 0
    X = in_span(data.centred, (data.X - class_means(data.X, data.y))[known], 1e-3)[:, : max(2, known.sum() // 4)]
    if not X.shape[1]:
        raise UnmetError("no variation within the classes")
    return Data(X, data.y, data.k, data.seed), y, f"{known.sum()} labels, {X.shape[1]} dimensions"


def _scatter(X: Array, C: Array) -> Array:
    """``½ Σ c_ij (x_i − x_j)(x_i − x_j)ᵀ``."""
    return X.T @ (C.sum(axis=1)[:, None] * X - C @ X)


def _fisher(near: Array, y: Index) -> tuple[Array, Array]:
    """Return the between-class and within-class costs of local Fisher discriminant analysis from the neighbour matrix."""
    known, sizes = y >= 0, np.bincount(y[y >= 0])
    same = (y[:, None] == y) & known[:, None] & known
    other = (y[:, None] != y) & known[:, None] & known
    share = 1 / sizes[np.maximum(y, 0)][:, None]
    return np.where(same, near * (share - 1 / known.sum()), np.where(other, -1 / known.sum(), 0)), same * near * share


def _near(X: Array, y: Index, k: int) -> Array:
    """Return the symmetric 0/1 matrix of the k nearest neighbours within each class."""
    return (allies(X, y, k).undirected().toarray() > 0).astype(float)


def _scaled(X: Array, k: int, power: float) -> Array:
    """Return the Hadamard power of the locally scaled affinities of all pairs, rescaled to their norm."""
    D = cdist(X, X)
    sigma = np.sort(D, axis=1)[:, k]
    if not sigma.all():
        raise UnmetError(f"{np.sum(sigma == 0)} rows have {k} duplicates in the dimensions that vary within classes")
    W = np.exp(-(D**2) / np.outer(sigma, sigma))
    return np.asarray(W**power * np.linalg.norm(W) / np.linalg.norm(W**power))


def _most(X: Array) -> int:
    return max(1, min(MOST, X.shape[1] - 1))


@theorem("lfda-lda", "LFDA equals LDA", condition="all points of a class are neighbours", source="S2 §2.1.1")
def lfda_is_lda(data: Data) -> Measured:
    data, _, _ = _partly(data)
    y = np.asarray(data.y)
    bet, wit = _fisher((y[:, None] == y).astype(float), y)
    few = min(data.n_classes - 1, _most(data.X))
    values, V, gap = lowest(_scatter(data.X, bet), _scatter(data.X, wit), few, 1e-3)
    lfda, lda = LFDA(values.size, n_neighbors=data.n - 1).fit(data.X, y), LDA(values.size).fit(data.X, y)
    return Measured(
        f"{data.n_classes} classes, {gap}",
        max(angle(lda.components_.T, axes) for axes in (V, lfda.components_.T)),
        relative(lfda.eigenvalues_, values, 1e-3),
        data.n,
    )


@theorem(
    "sir-lda",
    "sliced inverse regression finds the directions of LDA",
    condition="each class is a slice",
    source="S3 §3.9",
)
def sir_is_lda(data: Data) -> Measured:
    """Compare with Li's algorithm: standardise, average over slices, find the principal axes, transform back."""
    data = data.labelled(2000).leading(300)
    y = np.asarray(data.y)
    U, s, V = dense.principal_axes(data.centred)
    means = class_means(np.sqrt(data.n) * U, y)
    gains, eta, gap = lowest(-(means.T @ means) / data.n, most=min(data.n_classes - 1, max(1, len(s) - 1)), size=1.0)
    directions = V @ (eta / s[:, None])
    lda = LDA(gains.size).fit(data.X, y)
    sir = SIR(gains.size, ridge=0).fit(data.X, y.astype(str))
    turned = [angle(directions, axes) for axes in (lda.components_.T, sir.components_.T)]
    return Measured(f"{data.n_classes} slices, {gap}", max(turned), relative(lda.eigenvalues_, -gains, 1e-3), data.n)


@theorem(
    "self-member",
    "SELF of equation 11 in Chatpatanasiri & Kijsirikul is a member of their framework",
    condition="costs −1/2n on all ordered pairs; γ = 2β/(1 − β), and γ/2 on the diagonal of the unit",
    source="S2 eq. 11",
)
def self_is_a_member(data: Data) -> Measured:
    data, y, words = _partly(data)
    gamma, n, X = 0.7, data.n, data.X
    bet, wit = _fisher(_near(X, y, 3), y)
    framework = _scatter(X, 2 * bet - gamma / n)  # a sum over ordered pairs is twice the scatter
    equation = 2 * _scatter(X, bet) - gamma * data.centred.T @ data.centred
    unit = _scatter(X, wit) + gamma / 2 * np.eye(X.shape[1])
    _, V, gap = lowest(framework, unit, most=_most(X))
    fitted = SELF(V.shape[1], beta=gamma / (2 + gamma), affinity="neighbours", n_neighbors=3).fit(X, y)
    return Measured(f"{words}, {gap}", angle(fitted.components_.T, V), relative(framework, equation), n)


@theorem(
    "ssmmc-member",
    "SS-MMC and SS-FDA are members of the framework",
    condition="C_ℓ = γ′c^w + c^b, S_B weighted by class sizes",
    source="S2 §3.2, corrected",
)
def ssmmc_is_a_member(data: Data) -> Measured:
    """Compare costs on pairs with class scatter matrices, and both methods with the costs."""
    data, y, words = _partly(data)
    X, known = data.X, y >= 0
    bet, wit = _fisher(np.ones((data.n, data.n)), y)
    smooth = 0.2 * _scatter(X, _scaled(X, 3, 4.0))
    costs = _scatter(X, 0.5 * wit + bet)
    M = class_means(X[known], y[known])
    S_B, S_W = ((Z - Z.mean(axis=0)).T @ (Z - Z.mean(axis=0)) for Z in (M, X[known] - M))
    _, V, gap = lowest(costs + smooth, most=_most(X))
    _, F, _ = lowest(_scatter(X, bet) + smooth, S_W, most=_most(X))
    mmc = SSMMC(V.shape[1], weight=0.5, gamma=0.2, gamma_scale="raw").fit(X, y)
    fda = SSFDA(F.shape[1], gamma=0.2, gamma_scale="raw").fit(X, y)
    return Measured(
        f"{words}, {gap}",
        max(angle(mmc.components_.T, V), angle(fda.components_.T, F)),
        relative(costs, 0.5 * S_W - S_B),
        data.n,
    )


@theorem("self-ends", "SELF equals LFDA at β = 0 and PCA at β = 1", condition="always", source="Sugiyama et al. 2010")
def self_ends_in_lfda_and_pca(data: Data) -> Measured:
    data, y, words = _partly(data)
    X = data.X
    values, _, gap = principal(X)
    bet, wit = _fisher(_near(X, y, 3), y)
    _, V, _ = lowest(_scatter(X, bet), _scatter(X, wit), most=_most(X))
    lfda = LFDA(V.shape[1], n_neighbors=3, unlabeled=-1).fit(X, y)
    ends = [
        SELF(d, beta=beta, affinity="neighbours", n_neighbors=3).fit(X, y).components_.T
        for d, beta in ((V.shape[1], 0.0), (values.size, 1.0))
    ]
    turned = angle(ends[0], lfda.components_.T), angle(ends[1], PCA(values.size).fit(X).components_.T)
    return Measured(f"{words}, {gap}", max(turned), rows=data.n)


@theorem(
    "roweis-corners",
    "Roweis discriminant analysis is PCA, supervised PCA, and spans LDA's directions at three corners",
    condition="(r₁, r₂) = (0, 0), (1, 0), (0, 1)",
    source="S4 §2.4; Ghojogh et al. 2020",
)
def corners_of_roweis(data: Data) -> Measured:
    data, _, words = _partly(data)
    X, y = data.X, data.y
    few = max(1, min(data.n_classes - 1, _most(X)))
    M = class_means(X, y) - X.mean(axis=0)
    sums = np.array([data.centred[y == c].sum(axis=0) for c in range(data.n_classes)])
    n_pca = principal(X)[0].size
    n_spca = lowest(-(sums.T @ sums), most=few)[0].size
    values, _, gap = lowest(-(M.T @ M), data.centred.T @ data.centred, few, 1.0)
    n_lda = values.size
    pairs = (
        (RoweisDA(n_pca, r1=0, r2=0), PCA(n_pca)),
        (RoweisDA(n_spca, r1=1, r2=0), SupervisedPCA(n_spca)),
        (RoweisDA(n_lda, r1=0, r2=1), LDA(n_lda)),
    )
    turned = [angle(a.fit(X, y).components_.T, b.fit(X, y).components_.T) for a, b in pairs]
    return Measured(f"{words}, {gap}", max(turned), rows=data.n)
