"""Unfoldings that follow labels: against a general solver, against what must hold, and where they must refuse."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import scipy.linalg as la
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import minimum_spanning_tree
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.utils._param_validation import InvalidParameterError

from eigenspan.errors import (
    DisconnectedError,
    DisconnectedWarning,
    GraphError,
    InputError,
    KernelError,
    LabelError,
    MemoryLimitError,
)
from eigenspan.methods.unfolding import MVU, SMVU1, SMVU2, ColoredMVU, SupervisedMVU
from helpers import assert_healthy, disparity, pairwise

Array = NDArray[np.float64]

ALPHA, PRICE, BAND, K = 1.05, 3.0, 0.1, 4
EVERY = [SupervisedMVU(), SMVU1(), SMVU2(), ColoredMVU()]
every = pytest.mark.parametrize("estimator", EVERY, ids=lambda e: type(e).__name__)


@pytest.fixture(scope="module")
def data() -> tuple[Array, Any]:
    """Three clouds that touch, of ten, nine and eight points."""
    rng = np.random.default_rng(3)
    y = np.repeat([0, 1, 2], [10, 9, 8])
    X = rng.standard_normal((27, 3)) + np.array([[0, 0, 0], [3.0, 0, 0], [0, 3.0, 1.0]])[y]
    order = rng.permutation(27)
    return X[order], y[order]


# ---------------------------------------------------------------------- the definitions, written out
def near(X: Array, k: int, allowed: Any = None) -> set[tuple[int, int]]:
    """Pairs of k-nearest neighbours, each among the points it is allowed."""
    D, out = cdist(X, X), set()
    for i in range(len(X)):
        others = [j for j in np.argsort(D[i], kind="stable") if j != i and (allowed is None or allowed(i, j))]
        out |= {(min(i, int(j)), max(i, int(j))) for j in others[:k]}
    return out


def chosen(X: Array, y: Any) -> list[int]:
    """The point of each class nearest to its mean."""
    out = []
    for c in np.unique(y[y >= 0]):
        rows = np.flatnonzero(y == c)
        out.append(int(rows[np.argmin(np.linalg.norm(X[rows] - X[rows].mean(axis=0), axis=1))]))
    return out


def gain(kind: str, X: Array, y: Any, kernel: Array | None = None) -> Array:
    """W such that Σ W_ij v_ij is the objective, entry by entry from the printed sums."""
    n, W, ends = len(X), np.zeros((len(X), len(X))), chosen(X, y)
    if kind == "variance":
        return np.full((n, n), 0.5 / n)
    if kind == "kernel":
        H = np.eye(n) - 1 / n
        return -0.5 * H @ kernel @ H  # ⟨C, K⟩ = −½ Σ C_ij v_ij where C has zero row sums
    for c, r in zip(np.unique(y), ends, strict=True):
        rows = np.flatnonzero(y == c)
        for i in rows:
            if kind == "smvu1":
                W[i, rows] += 0.5 / rows.size
            else:
                W[i, r] -= len(ends) / rows.size
    if kind == "smvu2":
        for r in ends:
            for s in ends:
                W[r, s] += len(ends)
    return W


def oracle(W: Array, squares: Array, pairs: Any, form: str, equal: Any = (), power: int = 2) -> float:
    """Maximise Σ W_ij v_ij by cvxpy: pairs bounded in the given form, `equal` maps pairs to what they must be."""
    cp = pytest.importorskip("cvxpy")
    pytest.importorskip("clarabel")
    n, equal = len(W), dict(equal)
    Z = la.null_space(np.ones((1, n)))
    M = cp.Variable((n - 1, n - 1), PSD=True)
    G = Z @ M @ Z.T
    i, j = np.array(sorted(pairs)).T
    B = (np.eye(n)[i] - np.eye(n)[j]) @ Z
    v, d = cp.sum(cp.multiply(B @ M, B), axis=1), squares[i, j]
    C = np.diag((W + W.T).sum(axis=1)) - (W + W.T)
    value, limits = cp.trace((Z.T @ C @ Z) @ M), []
    for (r, s), length in equal.items():
        u = G[r, r] + G[s, s] - 2 * G[r, s]
        if form == "slack":
            value -= PRICE * cp.power(cp.abs(u - length), power)
        else:
            limits.append(u == length)
    if form == "slack":
        value -= PRICE * cp.sum(cp.power(cp.pos(v - d), power))
    else:
        limits += [v <= d] + ([v >= (1 - BAND) * d] if form == "band" else [])
    problem = cp.Problem(cp.Maximize(value), limits)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-9, tol_gap_rel=1e-9, tol_feas=1e-9)
    assert problem.status in ("optimal", "optimal_inaccurate")
    return float(problem.value)


def agrees(estimator: Any, optimum: float) -> None:
    found = estimator.certificate_
    assert found.status == "certified"
    assert estimator.solution_.value == pytest.approx(optimum, rel=1e-4)
    room = 1e-4 * abs(optimum)
    assert found.lower - room <= optimum <= found.upper + room


forms = pytest.mark.parametrize("form", ["inequality", "band", "slack"])


def settings(form: str) -> dict[str, Any]:
    return {"n_components": 2, "n_neighbors": K, "constraint": form, "band": BAND, "price": PRICE, "tol": 1e-5}


# ---------------------------------------------------------------------- the optimum
@forms
def test_supervised_mvu_reaches_the_optimum(form: str, data: Any) -> None:
    X, y = data
    ends = sorted(chosen(X, y))
    pairs = near(X, K, lambda i, j: y[i] == y[j]) | {(a, b) for a in ends for b in ends if a < b}
    estimator = SupervisedMVU(**settings(form)).fit(X, y)
    assert {tuple(sorted(map(int, e))) for e in estimator.certificate_.edges} == pairs
    agrees(estimator, oracle(gain("variance", X, y), cdist(X, X, "sqeuclidean"), pairs, form))


@forms
def test_smvu1_reaches_the_optimum(form: str, data: Any) -> None:
    X, y = data
    S, ends = cdist(X, X, "sqeuclidean"), chosen(X, y)
    links = {
        tuple(sorted(pair)): ALPHA**2 * S[pair] for pair in [(ends[0], ends[1]), (ends[1], ends[2]), (ends[0], ends[2])]
    }
    estimator = SMVU1(alpha=ALPHA, **settings(form)).fit(X, y)
    agrees(estimator, oracle(gain("smvu1", X, y), S, near(X, K), form, links.items()))
    F = estimator.embedding_full_
    if form != "slack":
        np.testing.assert_allclose([np.sum((F[i] - F[j]) ** 2) for i, j in links], list(links.values()), rtol=1e-4)


@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.every(4)
def test_smvu1_keeps_the_strings_of_representatives_that_are_neighbours(seed: int, power: int) -> None:
    """An equation of the representatives does not take the place of the string between them: both are paid for."""
    rng = np.random.default_rng(seed)
    y = np.repeat([0, 1, 2], 5)
    X = rng.standard_normal((15, 2)) + np.array([[0, 0], [1.0, 0], [0, 1.0]])[y]
    S, (a, b, c) = cdist(X, X, "sqeuclidean"), chosen(X, y)
    links = {tuple(sorted(pair)): 4.0 * S[pair] for pair in [(a, b), (b, c), (a, c)]}
    assert set(links) & near(X, 6)
    estimator = SMVU1(alpha=2.0, power=power, **settings("slack") | {"n_neighbors": 6}).fit(X, y)
    agrees(estimator, oracle(gain("smvu1", X, y), S, near(X, 6), "slack", links.items(), power))
    edges, squares = estimator.certificate_.edges, estimator.certificate_.squared_distances
    listed = [(tuple(sorted(map(int, e))), float(d)) for e, d in zip(edges, squares, strict=True)]
    strings = [(pair, S[pair]) for pair in near(X, 6)]
    expected = sorted(strings + list(links.items()))
    assert [pair for pair, _ in sorted(listed)] == [pair for pair, _ in expected]
    assert [d for _, d in sorted(listed)] == pytest.approx([d for _, d in expected])
    assert estimator.certificate_.weights.size == len(edges)


@forms
def test_smvu2_reaches_the_optimum(form: str, data: Any) -> None:
    X, y = data
    estimator = SMVU2(**settings(form)).fit(X, y)
    agrees(estimator, oracle(gain("smvu2", X, y), cdist(X, X, "sqeuclidean"), near(X, K), form))


@pytest.mark.parametrize(
    "kind, form",
    [("delta", "band"), ("delta", "inequality"), ("delta", "slack"), ("linear", "band"), ("rbf", "inequality")],
)
@pytest.mark.every(2)
def test_coloured_mvu_reaches_the_optimum(kind: str, form: str, data: Any) -> None:
    X, y = data
    t = X @ [1.0, -1.0, 0.5]
    K_l = {"delta": y[:, None] == y, "linear": np.outer(t, t), "rbf": np.exp(-((t[:, None] - t) ** 2) / 4.0)}[kind]
    estimator = ColoredMVU(label_kernel=kind, width=2.0, **settings(form)).fit(X, y if kind == "delta" else t)
    agrees(estimator, oracle(gain("kernel", X, y, K_l.astype(float)), cdist(X, X, "sqeuclidean"), near(X, K), form))


@pytest.mark.parametrize("unlabelled", [False, True])
def test_four_classes_have_the_five_pairs_of_the_fan(unlabelled: bool) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((20, 3)) + np.repeat(8 * np.eye(4, 3), 5, axis=0), np.repeat([0, 1, 2, 3], 5)
    y = np.where(unlabelled & (np.arange(20) % 5 == 4), -1, y)
    ends = chosen(X, y)
    found = SMVU1(2, n_neighbors=4, alpha=3, constraint="inequality", disconnected="raise").fit(X, y).certificate_
    across = {tuple(sorted(map(int, e))) for e in found.edges if e[0] // 5 != e[1] // 5}
    assert across == {tuple(sorted((ends[a], ends[b]))) for a, b in [(0, 1), (1, 2), (2, 3), (0, 3), (1, 3)]}


# ---------------------------------------------------------------------- what must hold
def test_one_class_is_plain_unfolding(data: Any) -> None:
    X, _ = data
    plain = MVU(2, n_neighbors=K, tol=1e-6, method="dense").fit(X)
    one = np.zeros(len(X), dtype=int)
    for method in (
        SupervisedMVU(2, n_neighbors=K, tol=1e-6, method="dense").fit(X, one),
        SMVU1(2, n_neighbors=K, tol=1e-6, constraint="inequality").fit(X, one),
        ColoredMVU(2, n_neighbors=K, tol=1e-6, constraint="inequality", label_kernel=np.eye(len(X))).fit(X),
    ):
        assert method.solution_.value == pytest.approx(plain.solution_.value, rel=1e-5)
        assert disparity(method.embedding_, plain.embedding_) < 1e-5


def test_smvu1_straightens_every_class_and_spaces_them() -> None:
    """Two bent chains, tied by their representatives alone: the optimum is two straight lines."""
    angle = np.linspace(0, np.pi, 7)
    arc = np.c_[np.cos(angle), np.sin(angle), 0 * angle]
    X, y = np.vstack([arc, arc + np.array([0, 0, 5.0])]), np.repeat(["a", "b"], 7)
    i = np.delete(np.arange(13), 6)
    graph = sp.csr_array((np.linalg.norm(X[i] - X[i + 1], axis=1), (i, i + 1)), shape=(14, 14))
    estimator = SMVU1(1, graph=graph, alpha=2.0, constraint="inequality", tol=1e-6).fit(X, y)
    step = np.linalg.norm(arc[0] - arc[1])
    assert estimator.solution_.value == pytest.approx(2 * np.sum((step * np.arange(-3, 4)) ** 2), rel=1e-5)
    ends = chosen(X, (y == "b").astype(int))
    apart = pairwise(estimator.embedding_full_)[ends[0], ends[1]]
    assert apart == pytest.approx(2.0 * np.linalg.norm(X[ends[0]] - X[ends[1]]), rel=1e-5)


def test_smvu2_of_two_points() -> None:
    """c (σ_B − σ_W) = 2 · 2 v with ordered pairs, and v = d."""
    estimator = SMVU2(1, n_neighbors=1).fit([[0.0], [3.0]], [0, 1])
    assert estimator.certificate_.upper == pytest.approx(36.0, rel=1e-3)


def test_bounds_from_above_alone_crush_what_no_label_speaks_for(data: Any) -> None:
    X, y = data
    coloured = ColoredMVU(2, n_neighbors=K, constraint="inequality", tol=1e-6).fit(X, y).spectrum_
    assert coloured[2:].sum() < 1e-4 * coloured.sum()


@pytest.mark.parametrize("form, left", [("inequality", 0.0), ("band", 0.9)])
def test_smvu2_draws_a_class_to_its_representative(form: str, left: float) -> None:
    """Two stars, their centres tied: the rays shrink to nothing, or as far as the band allows."""
    star = np.vstack([np.zeros(3), np.eye(3)[:2], -np.eye(3)[:2]])
    X, y = np.vstack([star, star + np.array([0, 0, 5.0])]), np.repeat([0, 1], 5)
    D = np.zeros((10, 10))
    D[0, 1:5] = D[5, 6:10] = 1.0
    D[0, 5] = 5.0
    estimator = SMVU2(1, graph=sp.csr_array(D), constraint=form, band=0.1, tol=1e-6).fit(X, y)
    assert estimator.solution_.value == pytest.approx(2 * (2 * 25 - 2 * 4 * left / 5), rel=1e-5)
    rays = pairwise(estimator.embedding_full_)[[0, 5]][:, [1, 2, 3, 4, 6, 7, 8, 9]].min(axis=0) ** 2
    np.testing.assert_allclose(rays, left, atol=1e-3)


@every
def test_coincident_points_count_as_often_as_they_occur(estimator: Any, data: Any) -> None:
    X, y = data
    copies = [0, 0, 5, int(np.flatnonzero(y == y[5])[0])]
    X, y = np.vstack([X, X[copies]]), np.append(y, y[copies])
    estimator = clone(estimator).set_params(
        n_neighbors=5, constraint="inequality", **({"alpha": 1.01} if "alpha" in estimator.get_params() else {})
    )
    F = estimator.fit(X, y).embedding_full_
    np.testing.assert_allclose(F[0], F[27], atol=1e-9)
    kind = {"SupervisedMVU": "variance", "SMVU1": "smvu1", "SMVU2": "smvu2", "ColoredMVU": "kernel"}[
        type(estimator).__name__
    ]
    W = gain(kind, X, y, (y[:, None] == y).astype(float))
    assert np.sum(W * pairwise(F) ** 2) == pytest.approx(estimator.solution_.value, rel=1e-8)


# ---------------------------------------------------------------------- bridges and pieces
def test_shortest_bridges_are_a_tree_between_classes(data: Any) -> None:
    X, y = data
    found = SupervisedMVU(2, n_neighbors=K, bridge="shortest").fit(X, y).certificate_
    across = sorted(float(d) for e, d in zip(found.edges, found.squared_distances, strict=True) if y[e[0]] != y[e[1]])
    between = np.array([[cdist(X[y == a], X[y == b]).min() if a != b else 0.0 for b in range(3)] for a in range(3)])
    np.testing.assert_allclose(across, np.sort(minimum_spanning_tree(between).data) ** 2)


def test_a_given_graph_loses_its_edges_between_classes(data: Any) -> None:
    X, y = data
    plain = MVU(2, n_neighbors=12).fit(X)
    edges = {tuple(map(int, e)) for e in SupervisedMVU(2, graph=plain.graph_).fit(X, y).certificate_.edges}
    within = {(a, b) for a, b in near(X, 12) if y[a] == y[b]}
    ends = set(chosen(X, y))
    assert within <= edges
    assert all(set(e) <= ends for e in edges - within)


@pytest.mark.parametrize("estimator", [SMVU2(), ColoredMVU()], ids=lambda e: type(e).__name__)
def test_pieces_are_named_by_their_classes(estimator: Any) -> None:
    rng = np.random.default_rng(0)
    X, y = (
        rng.standard_normal((24, 2)) + np.repeat([[0, 0], [90, 0], [0, 90]], 8, axis=0),
        np.repeat(["ant", "bee", "cat"], 8),
    )
    with pytest.raises(
        DisconnectedError, match=r"3 components.*8 points \(class ant\); 8 points \(class bee\); 8 points \(class cat\)"
    ):
        clone(estimator).set_params(n_neighbors=3, disconnected="raise").fit(X, y)
    with pytest.warns(DisconnectedWarning, match="3 components"):
        assert_healthy(clone(estimator).set_params(n_neighbors=3).fit(X, y).embedding_, 24)


def test_a_class_in_two_parts_needs_a_bridge_too() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((24, 2)) + np.repeat([[0, 0], [9, 0], [90, 90]], 8, axis=0), np.repeat([0, 1, 1], 8)
    method = SupervisedMVU(2, n_neighbors=3, disconnected="raise")
    with pytest.raises(DisconnectedError, match=r"2 components.*16 points \(class 0, class 1\); 8 points \(class 1\)"):
        method.fit(X, y)
    with pytest.warns(DisconnectedWarning, match="2 components"):
        method.set_params(disconnected="connect").fit(X, y)
    far, labels = np.vstack([X, X[16:] + 0.1, X[16:] - 0.1]), np.r_[y[:16], np.full(24, -1)]
    method = SMVU1(2, n_neighbors=7, disconnected="largest")
    with pytest.warns(DisconnectedWarning), pytest.raises(DisconnectedError, match="leaves out representatives"):
        method.fit(far, labels)


# ---------------------------------------------------------------------- contradictions
def test_alpha_beyond_the_strings_is_explained(data: Any) -> None:
    X, y = data
    with pytest.raises(
        InputError, match=r"alpha=4 contradicts.*of 3 pairs of classes \(0 and 1, to be .* Use alpha < 1\.\d+.*slack"
    ):
        SMVU1(2, n_neighbors=K, alpha=4, constraint="inequality").fit(X, y)
    with pytest.raises(InputError, match="On a straight string no alpha will do"):
        SMVU1(2, n_neighbors=26, alpha=1.01, constraint="band").fit(X, y)
    assert_healthy(SMVU1(2, n_neighbors=K, alpha=4).fit(X, y).embedding_, len(X))


def test_alpha_that_only_the_dual_refutes() -> None:
    """Three arms of length one from a hub reach 2 apart pairwise, but not all three of them 1.9."""
    angle, side = 2 * np.pi * np.arange(3) / 3, 1.9 / 1.5
    tips = side / np.sqrt(3) * np.c_[np.cos(angle), np.sin(angle), 0 * angle]
    X = np.vstack([tips, [[0, 0, np.sqrt(1 - side**2 / 3)]], 1.2 * tips])
    D = np.zeros((7, 7))
    for i, j in [(3, 0), (3, 1), (3, 2), (0, 4), (1, 5), (2, 6)]:
        D[i, j] = D[j, i] = np.linalg.norm(X[i] - X[j])
    method = SMVU1(2, graph=sp.csr_array(D), alpha=1.5, constraint="inequality")
    with pytest.raises(InputError, match=r"No points have these distances, as the dual weights prove.*alpha=1\.5"):
        method.fit(X, [0, 1, 2, -1, 0, 1, 2])
    assert_healthy(method.set_params(alpha=1.3).fit(X, [0, 1, 2, -1, 0, 1, 2]).embedding_, 7)


# ---------------------------------------------------------------------- labels
@every
@pytest.mark.parametrize("mark", [-1, np.nan, None], ids=str)
@pytest.mark.every(3)
def test_unlabelled_points(estimator: Any, mark: Any, data: Any) -> None:
    X, y = data
    hidden = np.arange(len(X)) % 5 == 0
    labels = np.array(
        [mark if h else int(v) for h, v in zip(hidden, y, strict=True)], dtype=object if mark is None else None
    )
    method = clone(estimator).set_params(n_neighbors=K, disconnected="connect")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DisconnectedWarning)
        assert_healthy(method.fit(X, labels).embedding_, len(X))
    assert method.classes_.tolist() == [0, 1, 2]
    if isinstance(method, SupervisedMVU):
        ends = chosen(X, np.where(hidden, -1, y))
        ties = near(X, K, lambda i, j: hidden[i] or (y[i] == y[j] and not hidden[j]))
        ties |= {(min(a, b), max(a, b)) for a in ends for b in ends if a != b}
        assert ties <= {tuple(map(int, e)) for e in method.certificate_.edges}
        return
    C = method.solution_.program.cost
    C = C.toarray() if sp.issparse(C) else C
    assert np.abs(C.sum(axis=0)).max() < 1e-9
    own = np.eye(6) - 1 / 6 if isinstance(method, SMVU1) else np.zeros((6, 6))
    np.testing.assert_allclose(C[np.ix_(hidden, hidden)], own, atol=1e-12)
    assert np.abs(C[np.ix_(hidden, ~hidden)]).max() == 0


def test_classes_of_one_point(data: Any) -> None:
    X, y = data
    y = np.where(np.arange(len(X)) == 3, 3, y)
    for method in EVERY:
        assert_healthy(clone(method).set_params(n_neighbors=K).fit(X, y).embedding_, len(X))
    with pytest.raises(LabelError, match="there is nothing to unfold"):
        SMVU1(2, n_neighbors=K).fit(X, np.arange(len(X)))


@every
@pytest.mark.parametrize(
    "labels, message",
    [
        (lambda y: None, "requires y to be passed"),
        (lambda y: y[:7], "7 .*27 samples"),
        (lambda y: np.append(y, 0), "28.*27 samples"),
        (lambda y: np.full(27, np.nan), "all 27 of them are missing"),
    ],
    ids=["none", "short", "long", "missing"],
)
def test_labels_that_cannot_be_used(estimator: Any, labels: Any, message: str, data: Any) -> None:
    X, y = data
    with pytest.raises(LabelError, match=message):
        clone(estimator).fit(X, labels(y))


@pytest.mark.parametrize("estimator", [SMVU2(), ColoredMVU()], ids=lambda e: type(e).__name__)
def test_one_class_leaves_nothing_to_tell_apart(estimator: Any, data: Any) -> None:
    X, y = data
    with pytest.raises(LabelError, match="only one class"):
        clone(estimator).fit(X, np.zeros(27))
    with pytest.raises(LabelError, match="do not differ"):
        clone(estimator).set_params(landmarks=np.flatnonzero(y == 0), n_neighbors=3).fit(X, y)


@pytest.mark.parametrize("alpha", [1.0, 0.5, -2, "two"])
def test_alpha_must_exceed_one(alpha: Any, data: Any) -> None:
    with pytest.raises(InvalidParameterError, match="alpha"):
        SMVU1(alpha=alpha).fit(*data)


@pytest.mark.parametrize("K", [np.ones((27, 27)), np.add.outer(np.arange(27.0), np.arange(27.0)), np.zeros((27, 27))])
def test_a_label_matrix_that_centring_removes_is_refused(K: Array, data: Any) -> None:
    with pytest.raises(LabelError, match="do not differ"):
        ColoredMVU(2, label_kernel=K).fit(data[0])


def test_label_kernels(data: Any) -> None:
    X, y = data
    t = np.c_[X[:, 0], X[:, 1]]
    method = ColoredMVU(2, n_neighbors=K, label_kernel="linear", tol=1e-5)
    linear = method.fit(X, t).solution_.value
    assert clone(method).set_params(label_kernel=lambda A, B: A @ B.T).fit(X, t).solution_.value == pytest.approx(
        linear, rel=1e-4
    )
    assert clone(method).set_params(label_kernel=t @ t.T).fit(X).solution_.value == pytest.approx(linear, rel=1e-4)
    assert "_training" not in vars(method)
    for kernel, words in [
        (np.eye(5), r"\(27, 27\).*\(5, 5\)"),
        (np.triu(np.ones((27, 27))), "not symmetric"),
        (np.full((27, 27), np.nan), "finite"),
    ]:
        with pytest.raises(KernelError, match=words):
            clone(method).set_params(label_kernel=kernel).fit(X)
    with pytest.raises(KernelError, match=r"\(27, 27\)"):
        clone(method).set_params(label_kernel=lambda A, B: np.ones(3)).fit(X, t)
    with pytest.raises(LabelError, match="cannot be read as numbers"):
        method.fit(X, np.where(y == 0, "a", "b"))
    with pytest.raises(LabelError, match="targets that differ"):
        method.fit(X, np.ones(27))


def test_numbers_that_are_missing(data: Any) -> None:
    X, _ = data
    t = np.where(np.arange(27) < 5, np.nan, X[:, 0])
    for kernel in ("linear", "rbf"):
        C = ColoredMVU(2, n_neighbors=K, label_kernel=kernel).fit(X, t).solution_.program.cost
        assert np.abs(C[:5]).max() == 0
        assert np.abs(C.sum(axis=0)).max() < 1e-9 * np.abs(C).max()


# ---------------------------------------------------------------------- the estimator
@every
def test_new_points_and_landmarks(estimator: Any, data: Any) -> None:
    X, y = data
    method = clone(estimator).set_params(n_neighbors=K).fit(X, y)
    np.testing.assert_allclose(method.transform(X), method.embedding_)
    assert_healthy(method.transform(X[:5] + 0.01), 5)
    rows = np.sort(np.random.default_rng(1).permutation(27)[:20])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DisconnectedWarning)
        some = clone(method).set_params(landmarks=rows).fit(X, y)
        alone = clone(method).fit(X[rows], y[rows])
    np.testing.assert_allclose(some.embedding_[rows], alone.embedding_, atol=1e-9)


@pytest.mark.parametrize("estimator", EVERY[1:], ids=lambda e: type(e).__name__)
def test_too_many_points_are_refused_with_the_way_out(
    estimator: Any, data: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EIGENSPAN_MEMORY", "100K")
    with pytest.raises(MemoryLimitError, match=r"dense matrices.*landmarks=500"):
        clone(estimator).set_params(n_neighbors=K).fit(*data)


def test_what_does_not_apply(data: Any) -> None:
    X, y = data
    with pytest.raises(InputError, match='method="dense"'):
        SMVU2(2, n_neighbors=K, method="low-rank").fit(X, y)
    with pytest.raises(GraphError, match="precomputed"):
        SupervisedMVU(2, graph="precomputed").fit(cdist(X, X), y)
    with pytest.raises(InputError, match="coincide"):
        SupervisedMVU(2).fit(np.ones((9, 2)), np.arange(9) % 3)
