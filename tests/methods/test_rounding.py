"""From the vectors of a cut to labels: the threshold of least cut, unit rows, and the planes of largest margin."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs, make_moons
from sklearn.metrics import adjusted_rand_score

import eigenspan as es
from eigenspan.errors import InputError
from helpers import quietly, says

CUTS = pytest.mark.parametrize("cut", ["normalized", "ratio"])


def chain(seed: int = 0) -> Any:
    """Three groups in a row, of unequal sizes, that touch."""
    return make_blobs([120, 60, 30], centers=[[0, 0], [4, 0], [8, 1]], random_state=seed)


def sizes(W: Any, cut: str) -> Any:
    return W.sum(axis=1) if cut == "normalized" else np.ones(len(W))


def cut_of(W: Any, mass: Any, labels: Any) -> float:
    """Edges between each cluster and the rest over its size, one by one."""
    total = 0.0
    for c in np.unique(labels):
        inside = labels == c
        total += W[np.ix_(inside, ~inside)].sum() / mass[inside].sum()
    return total


def weights(fitted: Any) -> Any:
    return -(fitted.problem_.A.to_dense() - np.diag(fitted.problem_.A.diagonal()))


def cloud(seed: int) -> Any:
    """Nothing to cut: where the cut is least is decided by the sizes as much as by the edges."""
    return np.random.default_rng(seed).exponential(size=(200, 2)) * [4, 1]


@CUTS
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("data", [lambda seed: chain(seed)[0], cloud], ids=["chain", "cloud"])
@pytest.mark.every(3)
def test_the_threshold_is_the_best_of_all(cut: str, seed: int, data: Any) -> None:
    X = data(seed)
    # of one point of a cloud the weights vanish, which is warned of
    fitted = quietly(lambda: es.SpectralClustering(2, cut=cut, assign="threshold", n_neighbors=12).fit(X))
    W, y = weights(fitted), fitted.embedding_[:, 1]
    mass = sizes(W, cut)
    best = min(cut_of(W, mass, y > value) for value in np.sort(y)[:-1])
    assert fitted.cut_ == pytest.approx(best, rel=1e-9)
    assert fitted.cut_ == pytest.approx(cut_of(W, mass, fitted.labels_), rel=1e-9)
    assert fitted.cut_ >= fitted.eigenvalues_[:2].sum() - 1e-12
    np.testing.assert_array_equal(fitted.predict(X), fitted.labels_)
    plain = quietly(lambda: es.SpectralClustering(2, cut=cut, n_neighbors=12).fit(X))
    assert fitted.cut_ <= plain.cut_ + 1e-12  # k-means on one coordinate is a threshold too


@CUTS
def test_the_cut_as_a_quotient(cut: str) -> None:
    """y = (e + z) − b(e − z) has y'Be = 0 and y'Ly / y'By is the cut; with a plus, as printed, neither."""
    fitted = es.SpectralClustering(2, cut=cut, assign="threshold").fit(chain()[0])
    L = fitted.problem_.A.to_dense()
    mass = sizes(weights(fitted), cut)
    z = np.where(fitted.labels_ == 1, 1.0, -1.0)
    b = mass[z > 0].sum() / mass[z < 0].sum()
    y, printed = (1 + z) - b * (1 - z), (1 + z) + b * (1 - z)
    assert abs(mass @ y) <= 1e-12 * mass.sum()
    assert (y @ L @ y) / (y @ (mass * y)) == pytest.approx(fitted.cut_, rel=1e-10)
    assert abs(mass @ printed) > 0.1 * mass.sum()


@CUTS
def test_the_value_of_the_cut_for_every_rule(cut: str) -> None:
    X, _ = chain()
    for assign in ("kmeans", "discretize", "cluster_qr", "margin"):
        fitted = es.SpectralClustering(3, cut=cut, assign=assign).fit(X)
        W = weights(fitted)
        assert fitted.cut_ == pytest.approx(cut_of(W, sizes(W, cut), fitted.labels_), rel=1e-9)
        assert fitted.cut_ >= fitted.eigenvalues_.sum() - 1e-12


def test_two_components_are_cut_for_nothing() -> None:
    X, y = make_blobs([50, 20], centers=[[0, 0], [50, 0]], random_state=0)
    for assign in ("threshold", "margin"):
        fitted = es.SpectralClustering(2, assign=assign).fit(X)
        assert fitted.cut_ == 0
        assert adjusted_rand_score(fitted.labels_, y) == 1.0


def test_copies_weigh_in_the_threshold() -> None:
    """Rows that repeat count as often as they occur, as if the graph had been built of all of them."""
    X, _ = chain()
    twice = np.vstack([X, X[:30], X[:30]])
    fitted = es.SpectralClustering(2, assign="threshold", n_neighbors=12).fit(twice)
    W, y = weights(fitted), fitted.embedding_[:210, 1]
    best = min(cut_of(W, W.sum(axis=1), y > value) for value in np.sort(y)[:-1])
    assert fitted.cut_ == pytest.approx(best, rel=1e-9)
    np.testing.assert_array_equal(fitted.labels_[210:240], fitted.labels_[:30])


# ---------------------------------------------------------------------- margins
def margin(T: Any, corners: Any, mass: Any) -> Any:
    """Own score less the mean of the others, of the best corner, weighed and added up."""
    S = T @ corners.T
    best, k = S.max(axis=1), len(corners)
    return mass @ (best - (S.sum(axis=1) - best) / (k - 1))


@CUTS
@pytest.mark.parametrize("seed", range(3))
def test_no_turn_has_a_larger_margin(cut: str, seed: int) -> None:
    """Of three clusters all turns and reflections of the plane can be tried."""
    X, _ = chain(seed)
    fitted = es.SpectralClustering(3, cut=cut, assign="margin", n_neighbors=12).fit(X)
    mass = sizes(weights(fitted), cut)
    T = fitted.embedding_[:, 1:]
    t = 2 * np.pi * np.arange(3) / 3
    corners = np.c_[np.cos(t), np.sin(t)]
    turns = np.linspace(0, 2 * np.pi / 3, 2001)
    tried = [margin(T, corners @ [[np.cos(a), np.sin(a)], [-np.sin(a), np.cos(a)]], mass) for a in turns]
    found = fitted.embedding_ @ fitted.assigner_.R
    own = found.max(axis=1)
    np.testing.assert_allclose(found.sum(axis=1), 0, atol=1e-9 * np.abs(found).max())
    assert mass @ own * 1.5 == pytest.approx(max(tried), rel=1e-5)
    np.testing.assert_array_equal(fitted.predict(X), fitted.labels_)


@pytest.mark.parametrize("seed", range(3))
def test_margins_find_what_others_find(seed: int) -> None:
    X, y = make_blobs([150, 60, 40, 80], centers=5 * np.array([[0, 0], [2, 0], [0, 2], [2, 2]]), random_state=seed)
    for k in (10, 80):  # apart, and joined
        assert adjusted_rand_score(es.SpectralClustering(4, assign="margin", n_neighbors=k).fit_predict(X), y) == 1.0
    M, z = make_moons(300, noise=0.05, random_state=seed)
    assert adjusted_rand_score(es.SpectralClustering(2, assign="margin").fit_predict(M), z) == 1.0
    assert set(es.SpectralClustering(1, assign="margin", n_neighbors=40).fit_predict(M)) == {0}


# ---------------------------------------------------------------------- rows of unit length
def test_rows_of_unit_length() -> None:
    """The rows of D^½ Y and of Y are the same once they have unit length, so that this is Ng, Jordan and Weiss."""
    X, _ = chain()
    fitted = es.SpectralClustering(3, normalize_rows=True, n_neighbors=12).fit(X)
    W = weights(fitted)
    d = W.sum(axis=1)
    U = np.linalg.eigh(W / np.sqrt(np.outer(d, d)))[1][:, -3:]
    U /= np.linalg.norm(U, axis=1, keepdims=True)
    expected = KMeans(3, n_init=20, random_state=1).fit_predict(U)
    assert adjusted_rand_score(fitted.labels_, expected) == 1.0
    np.testing.assert_array_equal(fitted.predict(X), fitted.labels_)
    far = fitted.transform(X[:5] + 0.01)
    np.testing.assert_array_equal(fitted.predict(X[:5] + 0.01), fitted.assigner_.predict(far))


def test_saved_and_loaded(tmp_path: Any) -> None:
    X, _ = chain()
    for i, params in enumerate(({"assign": "threshold"}, {"assign": "margin"}, {"normalize_rows": True})):
        fitted = es.SpectralClustering(2, **params).fit(X)
        es.save(fitted, tmp_path / str(i))
        np.testing.assert_array_equal(es.load(tmp_path / str(i)).predict(X), fitted.labels_)


def test_what_cannot_be() -> None:
    X, _ = chain()
    with pytest.raises(InputError, match=says('assign="threshold" splits one vector in two', "n_clusters=3")):
        es.SpectralClustering(3, assign="threshold").fit(X)
    with pytest.raises(InputError, match=says("splits one vector in two", "normalize_rows=True")):
        es.SpectralClustering(2, assign="threshold", normalize_rows=True).fit(X)
    with pytest.raises(InputError, match=says("the embedding has 1", "n_components=2")):
        es.SpectralClustering(2, assign="threshold", n_components=1).fit(X)
    apart, _ = make_blobs(60, centers=[[0, 0], [50, 0], [0, 50]], random_state=0)
    for assign in ("threshold", "margin"):
        with pytest.raises(InputError, match=says(f'assign="{assign}"', "the graph has 3 components", "kmeans")):
            es.SpectralClustering(2, assign=assign).fit(apart)
