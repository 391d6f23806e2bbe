"""Unfolding with equal actions, without short circuits, and up to a local scale."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import scipy.linalg as la
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.neighbors import kneighbors_graph

from eigenspan import KNN
from eigenspan.data.y import read_actions
from eigenspan.errors import DisconnectedError, DisconnectedWarning, InputError, LabelError
from eigenspan.methods.unfolding import MVU, ActionRespectingEmbedding, RelaxedMVU
from eigenspan.methods.unfolding.action_respecting import equal_pairs
from eigenspan.methods.unfolding.relaxed_mvu import edge_deviations, knee
from eigenspan.plotting.deviations import plot_deviations
from helpers import disparity, pairwise
from sdp_helpers import clarabel_tolerances, cloud

Array = NDArray[np.float64]


def walk(n: int, seed: int = 0) -> tuple[Array, Any]:
    """Steps to and fro, of one length but for a little noise, along an arc that bends more and more; and what they were."""
    rng = np.random.default_rng(seed)
    actions = rng.choice(["back", "forth"], n - 1)
    s = 2.0 + 0.15 * np.append(0.0, np.cumsum(np.where(actions == "back", -1, 1))) + 0.02 * rng.standard_normal(n)
    return np.column_stack([s * np.cos(s), s * np.sin(s)]), actions


def edges_of(X: Array, k: int) -> tuple[Any, Array]:
    A = kneighbors_graph(X, k).toarray()
    i, j = np.nonzero(np.triu(A + A.T))
    return np.column_stack([i, j]), np.sum((X[i] - X[j]) ** 2, axis=1)


def optimum(n: int, edges: Any, d: Array, equal: Any = ()) -> float:
    """max tr K with v ≤ d on the edges and v_ij = v_kl for ((i, j), (k, l)) in `equal`, by a general solver."""
    cp = pytest.importorskip("cvxpy")
    pytest.importorskip("clarabel")
    Z = la.null_space(np.ones((1, n)))
    G = cp.Variable((n - 1, n - 1), PSD=True)

    def v(i: Any, j: Any) -> Any:
        return cp.quad_form(Z[i] - Z[j], G)

    limits = [v(i, j) <= b for (i, j), b in zip(edges.tolist(), d, strict=True)]
    limits += [gap <= 0 for first, second in equal for gap in (v(*first) - v(*second), v(*second) - v(*first))]
    problem = cp.Problem(cp.Maximize(cp.trace(G)), limits)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        problem.solve(solver=cp.CLARABEL, **clarabel_tolerances(1e-6, "reduced_"))
    assert problem.status in ("optimal", "optimal_inaccurate")  # on some processors it gets less far
    return float(problem.value)


# ---------------------------------------------------------------------- actions
@pytest.mark.parametrize("pairs", ["neighbours", "all"])
def test_a_general_solver_agrees_on_equal_actions(pairs: str) -> None:
    n, k = 16, 4
    X, actions = cloud(n, 2), np.random.default_rng(0).integers(0, 3, n - 1)
    fitted = ActionRespectingEmbedding(1, pairs=pairs, n_neighbors=k, tol=1e-5).fit(X, actions)
    edges, d = edges_of(X, k)
    wanted = edges if pairs == "neighbours" else np.column_stack(np.triu_indices(n, 1))
    same = [(i, j) for i, j in wanted.tolist() if max(i, j) < n - 1 and actions[i] == actions[j]]
    assert sorted(map(tuple, fitted.action_pairs_.tolist())) == sorted(same)
    value = optimum(n, edges, d, [((i, j), (i + 1, j + 1)) for i, j in same])
    c = fitted.certificate_
    assert c.lower == pytest.approx(value, rel=1e-4)
    assert c.upper == pytest.approx(value, rel=1e-4)
    assert value < 0.98 * optimum(n, edges, d)


def test_weights_of_equal_actions_complete_the_upper_bound() -> None:
    X, actions = walk(30)
    c = ActionRespectingEmbedding(1, n_neighbors=4).fit(X, actions).certificate_
    assert c.equal_edges.shape == (c.weights_equal.size, 2, 2)
    ends = np.vstack([c.edges, c.equal_edges[:, 0], c.equal_edges[:, 1]])
    weights = np.concatenate([c.weights, c.weights_equal, -c.weights_equal])
    B = np.eye(30)[ends[:, 0]] - np.eye(30)[ends[:, 1]]
    second = la.eigvalsh(B.T @ (weights[:, None] * B))[1]
    assert c.weights @ c.squared_distances / second == pytest.approx(c.upper, rel=1e-6)
    assert MVU(1).fit(X).certificate_.weights_equal is None


def test_equal_actions_keep_distances() -> None:
    X, actions = walk(60, 1)
    fitted = ActionRespectingEmbedding(1).fit(X, actions)
    plain = MVU(1, method="dense").fit(X)
    i, j = fitted.action_pairs_.T

    def change(F: Array) -> float:
        before, after = (np.linalg.norm(F[i + s] - F[j + s], axis=1) ** 2 for s in (0, 1))
        return float(np.abs(before - after).max() / before.mean())

    assert change(fitted.embedding_full_) < 1e-3
    assert change(plain.embedding_full_) > 0.1
    assert fitted.certificate_.lower <= plain.certificate_.upper
    assert fitted.classes_.tolist() == ["back", "forth"]


def test_the_last_action_leads_nowhere() -> None:
    X, actions = walk(20)
    one = ActionRespectingEmbedding(1, n_neighbors=4).fit(X, actions)
    two = ActionRespectingEmbedding(1, n_neighbors=4).fit(X, np.append(actions, "up"))
    assert np.array_equal(one.embedding_, two.embedding_)
    assert one.classes_.size == two.classes_.size == 2


def test_unknown_actions_ask_for_nothing() -> None:
    X, actions = walk(30)
    partly = np.array(actions, dtype=object)
    partly[10:15] = None
    pairs = ActionRespectingEmbedding(1, n_neighbors=4).fit(X, partly).action_pairs_
    assert not np.isin(pairs, np.arange(10, 15)).any()
    nothing = ActionRespectingEmbedding(1, n_neighbors=4, tol=1e-6).fit(X, np.full(29, np.nan))
    assert nothing.certificate_.lower == pytest.approx(
        MVU(1, n_neighbors=4, tol=1e-6).fit(X).certificate_.lower, rel=1e-5
    )


def test_the_same_action_at_the_same_place_leads_to_the_same_place() -> None:
    X, _ = walk(20)
    X[12] = X[3]
    actions = np.arange(19)
    actions[12] = actions[3]
    fitted = ActionRespectingEmbedding(1, n_neighbors=4).fit(X, actions)
    assert np.allclose(fitted.embedding_[4], fitted.embedding_[13], atol=1e-9)
    assert not np.allclose(X[4], X[13])
    assert fitted.certificate_.gap < 1e-3


def test_actions_outside_the_largest_component_are_left_out() -> None:
    X, actions = walk(40)
    X[20:28] += 100.0
    with pytest.warns(DisconnectedWarning):
        fitted = ActionRespectingEmbedding(1, n_neighbors=4, disconnected="largest").fit(X, actions)
    used = np.concatenate([fitted.action_pairs_.ravel(), fitted.action_pairs_.ravel() + 1])
    assert len(fitted.action_pairs_)
    assert not np.isin(used, np.arange(20, 28)).any()
    assert np.all(np.isfinite(fitted.embedding_))


def test_equations_are_independent_and_say_all() -> None:
    rng, n = np.random.default_rng(0), 9
    pairs = np.array([[0, 1], [1, 2], [2, 3]])
    first, second = (np.array([rng.choice(n, 2, replace=False) for _ in range(25)]) for _ in range(2))
    every, T = equal_pairs(n, pairs, first, second)
    keys = {tuple(sorted(pair)): e for e, pair in enumerate(every.tolist())}
    assert every[:3].tolist() == pairs.tolist()
    asked = np.zeros((25, len(every)))
    for row, (one, two) in enumerate(zip(first.tolist(), second.tolist(), strict=True)):
        asked[row, keys[tuple(sorted(one))]] += 1
        asked[row, keys[tuple(sorted(two))]] -= 1
    rank = np.linalg.matrix_rank(T.toarray())
    assert rank == T.shape[0] == np.linalg.matrix_rank(asked) == np.linalg.matrix_rank(np.vstack([T.toarray(), asked]))


@pytest.mark.parametrize(
    ("actions", "settings", "error", "says"),
    [
        (np.zeros(18), {}, LabelError, "18 actions for 20 rows.* give 19, or 20"),
        (np.zeros(21), {}, LabelError, "21 actions for 20 rows"),
        (None, {}, LabelError, "requires y to be passed"),
        (np.zeros(19), {"landmarks": 10}, InputError, "leave landmarks= out"),
        (np.zeros(19), {"method": "low-rank"}, InputError, "dense"),
    ],
)
def test_actions_that_cannot_be_used(actions: Any, settings: Any, error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        ActionRespectingEmbedding(1, **settings).fit(walk(20)[0], actions)


# ---------------------------------------------------------------------- short circuits and local scales
def deviation(X: Array, k: int, i: int, j: int) -> float:
    lists = np.argsort(pairwise(X), axis=1, kind="stable")[:, 1 : k + 1]
    union = sorted({*lists[i].tolist(), *lists[j].tolist()})
    return float(np.mean([np.sum((X[near] - (X[i] + X[j]) / 2) ** 2) for near in union]))


def test_deviations_are_mean_squares_about_the_middle() -> None:
    X = cloud(40)
    pairs, found = edge_deviations(KNN(5).build(X), X)
    edges, _ = edges_of(X, 5)
    assert pairs.tolist() == edges.tolist()
    assert np.allclose(found, [deviation(X, 5, i, j) for i, j in edges.tolist()])


def test_nothing_pruned_and_no_rescaling_is_mvu() -> None:
    X = cloud(80)
    relaxed, plain = RelaxedMVU(2, prune=None, conformal=False).fit(X), MVU(2).fit(X)
    assert relaxed.certificate_.lower == plain.certificate_.lower
    assert np.array_equal(relaxed.embedding_, plain.embedding_)
    assert relaxed.pruned_.shape == (0, 2)
    assert relaxed.deviations_.size == len(plain.certificate_.edges)


def test_a_general_solver_agrees_on_what_is_left() -> None:
    k, rng = 6, np.random.default_rng(2)
    X = np.stack(np.meshgrid(np.arange(5.0), np.arange(6.0)), axis=-1).reshape(-1, 2) + 0.2 * rng.standard_normal(
        (30, 2)
    )
    fitted = RelaxedMVU(2, n_neighbors=k, prune=0.05, conformal=True, tol=1e-5).fit(X)
    edges, _ = edges_of(X, k)
    order = np.argsort([deviation(X, k, i, j) for i, j in edges.tolist()])
    count = round(0.05 * len(edges))
    assert {tuple(pair) for pair in fitted.pruned_.tolist()} == {tuple(pair) for pair in edges[order[-count:]].tolist()}
    left = edges[np.sort(order[:-count])]
    D = pairwise(X)
    joined = np.zeros((30, 30), dtype=bool)
    joined[left[:, 0], left[:, 1]] = joined[left[:, 1], left[:, 0]] = True
    own = joined & (np.argsort(np.argsort(D, axis=1), axis=1) <= k)  # of the k nearest those that are left
    s = np.where(own, D, 0).sum(axis=1) / own.sum(axis=1)
    d = np.array([D[i, j] ** 2 / (s[i] * s[j]) for i, j in left.tolist()])
    value = optimum(30, left, d)
    assert fitted.certificate_.lower == pytest.approx(value, rel=1e-4)
    assert fitted.certificate_.upper == pytest.approx(value, rel=1e-4)


def horseshoe(n: int) -> tuple[Array, sp.csr_array]:
    """Points round three quarters of a ring, and the graph of their neighbours with one edge across the gap."""
    t = np.linspace(0, 1.5 * np.pi, n)
    X = np.column_stack([np.cos(t), np.sin(t)]) + 0.01 * np.random.default_rng(0).standard_normal((n, 2))
    D = sp.lil_array(kneighbors_graph(X, 4, mode="distance"))
    D[2, n - 3] = D[n - 3, 2] = np.linalg.norm(X[2] - X[n - 3])
    return X, sp.csr_array(D)


@pytest.mark.parametrize("conformal", [False, True])
def test_a_short_circuit_is_found_and_pruned(conformal: bool) -> None:
    X, circuit = horseshoe(70)
    with pytest.warns(
        DisconnectedWarning, match="2 more components"
    ):  # its ends have a far neighbour, and all their edges deviate
        fitted = RelaxedMVU(1, graph=circuit, conformal=conformal).fit(X)
    assert [2, 67] in fitted.pruned_.tolist()
    assert np.all(np.isin(fitted.pruned_, [2, 67]).any(axis=1))
    assert fitted.threshold_ < fitted.deviations_[-1]
    kept = RelaxedMVU(1, graph=circuit, prune=None, conformal=conformal).fit(X)
    assert kept.certificate_.upper < 0.6 * fitted.certificate_.lower
    assert disparity(fitted.embedding_, np.arange(70.0)[:, None]) < 0.02


def test_a_threshold_overrides_the_share() -> None:
    X = cloud(60)
    all_of_them = RelaxedMVU(2, prune=None).fit(X).deviations_
    limit = float(all_of_them[-4:-2].mean())
    fitted = RelaxedMVU(2, prune=0.5, threshold=limit).fit(X)
    assert len(fitted.pruned_) == 3
    assert fitted.threshold_ == limit


def test_even_sampling_is_left_alone() -> None:
    assert knee(np.full(50, 2.0)) == np.inf
    assert knee(np.sort(np.exp(0.3 * np.random.default_rng(0).standard_normal(500)))) == np.inf
    assert knee(np.sort(np.append(np.exp(0.3 * np.random.default_rng(0).standard_normal(500)), 50.0))) < 50.0


def test_what_pruning_cuts_is_joined_or_refused() -> None:
    X = np.vstack([cloud(40), [[30.0, 0.0, 0.0]]])
    with pytest.warns(DisconnectedWarning, match=r"1 more components. The 1 of them that deviate least"):
        fitted = RelaxedMVU(2, n_neighbors=5).fit(X)
    assert np.all((fitted.pruned_ == 40).any(axis=1))
    assert np.sum(fitted.certificate_.edges == 40) == 1
    assert np.all(np.isfinite(fitted.embedding_))
    with pytest.raises(DisconnectedError, match="2 components"):
        RelaxedMVU(2, n_neighbors=5, disconnected="raise").fit(X)


def test_distances_alone_have_no_deviations() -> None:
    with pytest.raises(InputError, match="X holds distances"):
        RelaxedMVU(2, graph="precomputed").fit(pairwise(cloud(30)))


def test_a_conformal_map_is_undone() -> None:
    rng = np.random.default_rng(0)
    Z = rng.uniform(0, 1, 250) + 1j * rng.uniform(0, 1, 250)
    W = np.exp(1.5 * Z)  # angles are kept, lengths grow from left to right
    X = np.column_stack([W.real, W.imag])
    even = RelaxedMVU(2, prune=None).fit(X)
    plain = RelaxedMVU(2, prune=None, conformal=False).fit(X)
    truth = np.column_stack([Z.real, Z.imag])
    assert disparity(truth, even.embedding_) < 0.3 * disparity(truth, plain.embedding_)


def test_deviations_are_drawn() -> None:
    X, circuit = horseshoe(70)
    fitted = RelaxedMVU(1, graph=circuit, prune=0.01).fit(X)
    ax = plot_deviations(fitted)
    left, pruned = (line.get_xydata() for line in ax.get_lines()[:2])
    assert len(left) + len(pruned) == fitted.deviations_.size
    assert len(pruned) == round(0.01 * fitted.deviations_.size)
    with pytest.raises(InputError, match="no deviations_"):
        plot_deviations(MVU())


@pytest.mark.parametrize("estimator", [RelaxedMVU(2), ActionRespectingEmbedding(2, n_neighbors=6)])
def test_new_points_fall_among_their_neighbours(estimator: Any) -> None:
    X = cloud(90, 10)
    fitted = estimator.fit(X[:70], np.arange(70) % 7)
    assert np.allclose(fitted.transform(X[:70]), fitted.embedding_)
    placed, near = fitted.transform(X[70:]), pairwise(X)[70:, :70].argmin(axis=1)
    assert np.median(np.linalg.norm(placed - fitted.embedding_[near], axis=1)) < 0.2 * np.abs(fitted.embedding_).max()


def test_missing_actions_in_a_list_of_words_are_missing() -> None:
    actions = read_actions(["left", float("nan"), "right"], 4, "This method")
    assert actions.codes.tolist() == [0, -1, 1]
    assert actions.names.tolist() == ["left", "right"]
