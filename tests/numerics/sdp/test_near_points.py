"""Unfolding of points that nearly coincide: contraction, solution, and certificates for all points."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_swiss_roll

from eigenspan import MVU, SMVU2, ColoredMVU, LandmarkMVU, RelaxedMVU, SupervisedMVU
from eigenspan.numerics.paths.csgraph import dijkstra
from eigenspan.numerics.sdp import Program
from eigenspan.numerics.sdp.certificate import largest_ratio
from eigenspan.numerics.sdp.interior_point import dense_interior_point
from eigenspan.numerics.sdp.near_groups import contracted, near_points
from sdp_helpers import cloud, line, neighbours, optimum

DISTANCES = [1e-3, 1e-5, 1e-7, 1e-9, 0.0]


def with_near_copies(X, share, distance, seed=0):
    """Return X with copies of its first rows at a distance relative to its variance."""
    m = int(share * len(X))
    step = np.random.default_rng(seed).standard_normal((m, X.shape[1]))
    return np.vstack([X, X[:m] + distance * X.std(axis=0).max() * step])


@pytest.mark.parametrize("distance", [*DISTANCES, 1e-12])
@pytest.mark.every(3)
def test_bounds_bracket_the_optimum_at_any_distance(distance):
    X = cloud(18)
    settings = {"n_neighbors": 6, "tol": 1e-4}
    found = MVU(2, **settings).fit(with_near_copies(X, 0.4, distance)).certificate_
    # a general solver gives the optimum for coincident points; strings longer by some share change it by about twice that share
    there, accuracy = optimum(MVU(2, **settings).fit(with_near_copies(X, 0.4, 0.0)).solution_.program)
    moved = 20.0 * distance + accuracy
    assert found.status == "certified"
    assert found.gap < 1e-4
    assert found.lower <= there * (1 + moved)
    assert found.upper >= there * (1 - moved)


@pytest.mark.parametrize("distance", [1e-3, 1e-4])
def test_bounds_bracket_the_solution_without_contraction(distance):
    mvu = MVU(2, n_neighbors=6).fit(with_near_copies(cloud(18), 0.4, distance))
    assert mvu.diagnostics_["contracted"] > 0
    there = dense_interior_point(mvu.solution_.program, tol=1e-5)  # the point at which general solvers stall
    assert there.status == "certified"
    assert mvu.certificate_.lower <= there.upper
    assert mvu.certificate_.upper >= there.lower
    assert mvu.certificate_.lower == pytest.approx(there.lower, rel=1e-3)


@pytest.mark.parametrize("distance", DISTANCES)
@pytest.mark.every(3)
def test_near_duplicates_are_certified_like_duplicates(distance):
    X, _ = make_swiss_roll(120, random_state=0)
    mvu = MVU(2).fit(with_near_copies(X, 0.3, distance))
    c, R = mvu.certificate_, mvu.embedding_full_
    assert c.status == "certified"
    assert c.gap < 1e-3
    # as documented: two bounds in a few lines, from the embedding and the weights of all rows
    i, j = c.edges.T
    held = c.squared_distances > 0
    v = np.sum((R[i] - R[j]) ** 2, axis=1)[held] / c.squared_distances[held]
    assert np.sum(R**2) / v.max() == pytest.approx(c.lower, rel=1e-6)
    L = np.zeros((len(R), len(R)))
    L[i, j] = L[j, i] = -c.weights
    np.fill_diagonal(L, -L.sum(axis=1))
    assert c.weights @ c.squared_distances / np.linalg.eigvalsh(L)[1] == pytest.approx(c.upper, rel=1e-4)
    assert mvu.solution_.verify().gap < 1.2e-3


@pytest.mark.parametrize(
    ("estimator", "n"),
    [
        (MVU(2, n_neighbors=6, constraint="band"), 30),
        (MVU(2, n_neighbors=6, constraint="slack"), 30),
        (RelaxedMVU(2), 70),
        (SupervisedMVU(2, n_neighbors=5), 70),
        (ColoredMVU(2, n_neighbors=5), 30),
        (ColoredMVU(2, n_neighbors=5, constraint="inequality"), 30),
        (SMVU2(2, n_neighbors=5), 30),
    ],
    ids=lambda value: type(value).__name__ + getattr(value, "constraint", "") if not isinstance(value, int) else "",
)
@pytest.mark.parametrize("distance", [1e-5, 1e-9])
@pytest.mark.every(5)
def test_all_variants_are_certified(estimator, n, distance):
    X, t = make_swiss_roll(n, random_state=0)
    y = (t > np.median(t)).astype(int)
    fitted = estimator.fit(with_near_copies(X, 0.3, distance), np.append(y, y[: int(0.3 * n)]))
    assert fitted.certificate_.status == "certified"
    assert abs(fitted.certificate_.gap) <= 1e-3


@pytest.mark.parametrize("form", ["tangent", "reconstruction"])
def test_landmark_unfolding_converges_with_near_duplicates(form):
    """The contributions of neighbours to two near points differ by more than the string between them; the solver used to stall."""
    X, _ = make_swiss_roll(200, random_state=0)
    found = [
        LandmarkMVU(2, form=form, landmarks=15).fit(with_near_copies(X, 0.3, distance)).certificate_
        for distance in (1e-5, 1e-9, 0.0)
    ]
    assert all(c.gap <= 1e-3 for c in found)
    assert min(c.lower for c in found) > 0.9 * max(c.lower for c in found)


def test_near_duplicates_stay_distinct_and_every_row_is_reported():
    seen = []
    X = with_near_copies(make_swiss_roll(80, random_state=0)[0], 0.2, 1e-6)
    mvu = MVU(3, callback=seen.append).fit(X)
    assert {record["factor"].shape[0] for record in seen} == {96}
    assert seen[-1]["lower"] == mvu.certificate_.lower
    assert seen[-1]["upper"] == mvu.certificate_.upper
    assert all(record["upper"] >= mvu.certificate_.lower for record in seen)
    steps = np.linalg.norm(mvu.embedding_full_[:16] - mvu.embedding_full_[80:], axis=1)
    assert steps == pytest.approx(np.linalg.norm(X[:16] - X[80:], axis=1), rel=1e-2)


def test_an_outlier_does_not_contract_the_others():
    X = np.vstack([cloud(40), [[1e6, 0.0, 0.0]]])
    pairs, d = neighbours(X, 5)
    assert near_points(len(X), pairs, np.sqrt(d), 1e-2, 0.25 * len(X)) is None


# ---------------------------------------------------------------------- the pieces
@pytest.mark.parametrize("seed", range(4))
def test_groups_are_small_relative_to_the_edges_that_leave_them(seed):
    rng = np.random.default_rng(seed)
    X = cloud(30, seed)
    X = np.vstack([X, X[:9] + 1e-4 * rng.standard_normal((9, 3)), X[:4] + 1e-7 * rng.standard_normal((4, 3))])
    pairs, squares = neighbours(X, 6)
    d, limit = np.sqrt(squares), 1e-2
    roots, away, parent = near_points(len(X), pairs, d, limit, len(X) / 4)
    assert np.unique(roots).size == 30
    assert np.array_equal(roots[roots], roots)
    own = roots[pairs[:, 0]] == roots[pairs[:, 1]]
    G = sp.csr_array((d[own], pairs[own].T), shape=(len(X),) * 2)
    paths = dijkstra(G, directed=False)
    assert away == pytest.approx(paths[np.arange(len(X)), roots])
    for root in np.unique(roots):
        leaving = (roots[pairs] == root).sum(axis=1) == 1
        assert away[roots == root].max() <= limit * d[leaving].min()
    inner = np.flatnonzero(parent >= 0)
    assert away[inner] == pytest.approx(away[parent[inner]] + np.linalg.norm(X[inner] - X[parent[inner]], axis=1))


def test_points_at_unequal_distances_are_not_contracted():
    pairs, d = neighbours(cloud(60), 5)
    assert near_points(60, pairs, np.sqrt(d), 1e-4, 15) is None
    program = Program.of_pairs(60, pairs, d)
    assert contracted(program, None) is None


@pytest.mark.parametrize("distance", [1e-3, 1e-6])
def test_the_extension_loses_at_most_the_predicted_share(distance):
    X = with_near_copies(cloud(20), 0.4, distance)
    pairs, d = neighbours(X, 5)
    near = contracted(Program.of_pairs(len(X), pairs, d), None)
    small = dense_interior_point(near.small, tol=1e-7)
    found = near.solution(small, 1e-3, None)
    assert found.lower == pytest.approx(small.lower, rel=2e-5)
    assert small.upper * (1 - 1e-9) <= found.upper <= small.upper * (1 + near.loss + 1e-3)
    assert found.verify().upper == pytest.approx(found.upper, rel=1e-4)
    assert np.all(found.weights >= 0)


@pytest.mark.parametrize("seed", [0, 1])
def test_short_strings_do_not_stall_the_dense_solver(seed):
    X = with_near_copies(cloud(16, seed), 0.3, 5e-5, seed)
    pairs, d = neighbours(X, 5)
    found = dense_interior_point(Program.of_pairs(len(X), pairs, d), tol=1e-3)
    assert found.status == "certified"


def test_weights_of_very_different_size_give_a_valid_bound():
    """If rounding cancels the shift of the factorisation, the eigenvalue is wrong: this used to give an upper bound below the optimum."""
    program, x, _ = line(300)
    value = float(np.sum(x**2))
    for size in (1e16, 1e20, 1e24):
        w = np.where(np.arange(299) % 2, 1.0, size)
        ratio = largest_ratio(program, w)[0]
        assert ratio * (program.bounds @ w) >= value * (1 - 1e-6)
