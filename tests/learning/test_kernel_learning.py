"""`KernelLearner` compared with a general solver of eq. 31 and with SVC, and its bounds recomputed."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.metrics.pairwise import linear_kernel, polynomial_kernel, rbf_kernel
from sklearn.preprocessing import scale
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from eigenspan import Kernel
from eigenspan.errors import ConvergenceWarning, InputError, KernelError, LabelError
from eigenspan.learning.kernel_learner import KernelLearner
from eigenspan.numerics.sdp import margin as solver
from helpers import external_data

#: c₂ and τ.
MARGINS = {"hard": (np.inf, 0.0), "l1": (2.0, 0.0), "l2": (np.inf, 0.5), "l1 with tau": (2.0, 0.3)}
#: The parameters of the estimator.
SETTINGS = {name: {"margin": name} for name in MARGINS} | {"l1 with tau": {"margin": "l1", "tau": 0.3}}
SIGNS = ("nonnegative", "unrestricted")
every = pytest.mark.parametrize("margin", MARGINS)
both = pytest.mark.parametrize("signs", SIGNS)
seeds = pytest.mark.parametrize("seed", range(3))


def points(seed, n=36, D=3):
    """Return two overlapping classes with alternating labels."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    X = rng.standard_normal((n, D))
    X[:, 0] += 2 * y
    return X, y


def hidden(y, labelled):
    return np.where(np.arange(len(y)) < labelled, y, -1)


def grams(X):
    """Return five centred kernels of trace n."""
    n = len(X)
    H = np.eye(n) - 1 / n
    raw = [linear_kernel(X), polynomial_kernel(X, degree=2), *(rbf_kernel(X, gamma=g) for g in (0.1, 1, 5))]
    return np.array([n * H @ K @ H / np.trace(H @ K) for K in raw])


def problem(seed, labelled=20, **shape):
    X, y = points(seed, **shape)
    return grams(X), np.arange(labelled), 2.0 * y[:labelled] - 1


def solve(K, rows, y, margin, signs, **options):
    box, tau = MARGINS[margin]
    options = {"tol": 1e-6, "max_iter": 100} | options
    return solver.learn_weights(K, rows, y, box=box, tau=tau, signs=signs, **options)


def by_cvxpy(K, rows, y, margin, signs):
    """Solve equation 31 in its printed form, with all multipliers."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cp = pytest.importorskip("cvxpy", reason="cvxpy, the oracle, is not installed")
        (box, tau), m, size = MARGINS[margin], len(K), len(y)
        G = K[:, rows[:, None], rows] * np.outer(y, y)
        w, t, lam, nu, delta = cp.Variable(m), cp.Variable(), cp.Variable(), cp.Variable(size), cp.Variable(size)
        bounded = np.isfinite(box)
        e = cp.reshape(1 + nu - delta + lam * y, (size, 1), order="C")
        corner = cp.reshape(t - 2 * (box if bounded else 0) * cp.sum(delta), (1, 1), order="C")
        Q = sum(w[i] * G[i] for i in range(m)) + tau * np.eye(size)
        M = cp.bmat([[Q, e], [e.T, corner]])
        rules = [cp.sum(w) == 1, nu >= 0, (delta >= 0) if bounded else (delta == 0), (M + M.T) / 2 >> 0]
        rules.append(w >= 0 if signs == "nonnegative" else sum(w[i] * K[i] for i in range(m)) >> 0)
        program = cp.Problem(cp.Minimize(t), rules)
        program.solve(solver="CLARABEL")
    return program.value, w.value


def omega(G, y, box, tau):
    """Return the optimum of the machine from SVC: minus twice its dual objective."""
    K = G * np.outer(y, y) + tau * np.eye(len(y))
    svm = SVC(C=box if np.isfinite(box) else 1e6, kernel="precomputed", tol=1e-9).fit(K, y)
    alpha = np.zeros(len(y))
    alpha[svm.support_] = np.abs(svm.dual_coef_[0])
    return 2 * alpha.sum() - alpha @ (G + tau * np.eye(len(y))) @ alpha


# ---------------------------------------------------------------------- the optimisation
@seeds
@every
@both
@pytest.mark.every(2)
def test_agrees_with_a_general_solver_of_equation_31(seed, margin, signs):
    K, rows, y = problem(seed)
    found = solve(K, rows, y, margin, signs)
    value, weights = by_cvxpy(K, rows, y, margin, signs)
    assert found.status == "optimal"
    assert found.upper == pytest.approx(value, rel=1e-5)
    np.testing.assert_allclose(found.weights, weights, atol=2e-3)


@seeds
@every
@both
@pytest.mark.every(3)
def test_bounds_can_be_recomputed_from_the_results(seed, margin, signs):
    K, rows, y = problem(seed)
    box, tau = MARGINS[margin]
    found = solve(K, rows, y, margin, signs)
    G = np.array([k[np.ix_(rows, rows)] * np.outer(y, y) for k in K])
    a, w = found.alpha, found.weights
    assert w.sum() == pytest.approx(1, abs=1e-12)
    assert a.min() >= 0
    assert a.max() <= box
    assert abs(a @ y) < 1e-9 * a.sum()
    quadratics = np.array([a @ g @ a for g in G])
    if signs == "nonnegative":
        assert found.multiplier is None
        assert w.min() >= 0
    else:
        Z = found.multiplier
        assert np.linalg.eigvalsh(np.tensordot(w, K, axes=1))[0] > -1e-12 * len(K[0])
        assert np.linalg.eigvalsh(Z)[0] > -1e-9 * np.abs(Z).max()
        quadratics = quadratics + np.array([np.sum(Z * k) for k in K])
        assert np.ptp(quadratics) < 1e-8 * quadratics.mean()
    assert found.lower == pytest.approx(2 * a.sum() - tau * a @ a - quadratics.max(), rel=1e-7)
    assert found.lower * (1 - 1e-9) <= omega(np.tensordot(w, G, axes=1), y, box, tau) <= found.upper * (1 + 1e-9)
    assert found.upper - found.lower <= 1e-6 * found.upper


@seeds
@every
def test_no_other_weights_are_better(seed, margin):
    K, rows, y = problem(seed)
    box, tau = MARGINS[margin]
    G = K[:, rows[:, None], rows] * np.outer(y, y)
    lower = solve(K, rows, y, margin, "nonnegative").lower
    rng = np.random.default_rng(seed)
    for w in [*np.eye(len(K)), *rng.dirichlet(np.ones(len(K)), 10)]:
        if margin != "hard" or w[3:].sum() > 0.05:  # with kernels of full rank all labels are separable
            assert omega(np.tensordot(w, G, axes=1), y, box, tau) >= lower * (1 - 1e-7)


@seeds
@every
def test_weights_of_one_sign_are_never_better(seed, margin):
    K, rows, y = problem(seed)
    one, free = (solve(K, rows, y, margin, signs) for signs in SIGNS)
    assert one.upper >= free.lower
    assert one.lower >= free.upper * (1 + 1e-4), "these kernels gain from negative weights"


@every
@both
def test_one_kernel_is_the_support_vector_machine(margin, signs):
    K, rows, y = problem(0)
    box, tau = MARGINS[margin]
    found = solve(K[3:4], rows, y, margin, signs)
    G = K[3][np.ix_(rows, rows)] * np.outer(y, y)
    np.testing.assert_allclose(found.weights, [1])
    assert found.upper == pytest.approx(omega(G, y, box, tau), rel=2e-6)


@both
def test_duplicate_kernels_change_nothing(signs):
    K, rows, y = problem(1)
    once, twice = solve(K, rows, y, "l1", signs), solve(np.concatenate([K, K[:3]]), rows, y, "l1", signs)
    assert twice.status == "optimal"
    assert twice.upper == pytest.approx(once.upper, rel=3e-6)
    folded = twice.weights[:5] + np.r_[twice.weights[5:], 0, 0]
    np.testing.assert_allclose(folded, once.weights, atol=2e-3)


@both
@pytest.mark.parametrize("box, tau", [(np.inf, 0), (1e-3, 0), (1e4, 0), (np.inf, 1e-4), (np.inf, 1e3)])
def test_nearly_dependent_kernels(signs, box, tau):
    X, y = points(0, n=80, D=5)
    n, H = len(X), np.eye(80) - 1 / 80
    K = np.array([H @ rbf_kernel(X, gamma=g) @ H for g in np.geomspace(1e-3, 10, 12)])
    K *= n / np.trace(K, axis1=1, axis2=2)[:, None, None]
    found = solver.learn_weights(
        K, np.arange(40), 2.0 * y[:40] - 1, box=box, tau=tau, signs=signs, tol=1e-6, max_iter=60
    )
    assert found.status == "optimal"
    values = np.linalg.eigvalsh(np.tensordot(found.weights, K, axes=1))
    assert values[0] > -1e-8 * values[-1]
    assert found.rank == 12 if signs == "nonnegative" else found.rank < 12


@both
def test_inseparable_classes_are_proved_inseparable(signs):
    K, rows, _ = problem(0, labelled=36)
    y = 2.0 * (np.arange(36) // 2 % 2) - 1
    found = solve(K[:1], rows, y, "hard", signs)
    assert found.status == "inseparable"
    assert found.n_iter < 50
    assert np.isinf(found.upper)
    assert found.lower > 1e9


def test_a_coarse_solution_reports_its_gap():
    K, rows, y = problem(0)
    best = solve(K, rows, y, "l1", "nonnegative")
    for steps in (1, 3, 5):
        early = solve(K, rows, y, "l1", "nonnegative", max_iter=steps)
        assert early.status == "iterations"
        assert early.n_iter == steps
        assert early.lower <= best.upper
        assert early.upper >= best.lower


# ---------------------------------------------------------------------- the estimator
KERNELS = ["linear", Kernel("poly", degree=2), Kernel("rbf", gamma=0.1), rbf_kernel]


@every
@both
def test_the_learned_kernel_is_the_weighted_sum(margin, signs):
    X, y = points(3, n=50)
    fitted = KernelLearner(KERNELS, weights=signs, C=2.0, **SETTINGS[margin]).fit(X, hidden(y, 24))
    H = np.eye(50) - 1 / 50
    raw = [
        linear_kernel(X), polynomial_kernel(X, degree=2, gamma=1 / 3), rbf_kernel(X, gamma=0.1), rbf_kernel(X)
    ]  # fmt: skip
    np.testing.assert_allclose(fitted.kernel_, sum(w * H @ K @ H for w, K in zip(fitted.weights_, raw, strict=True)))
    assert np.trace(fitted.kernel_) == pytest.approx(50)
    assert fitted.shares_.sum() == pytest.approx(1)
    assert fitted.gap_ <= 1e-6
    assert fitted.certificate_.status == fitted.diagnostics_["status"] == "optimal"


@every
@both
def test_the_machine_has_the_optimal_alpha(margin, signs):
    X, y = points(3, n=50)
    fitted = KernelLearner(KERNELS, weights=signs, C=2.0, **SETTINGS[margin]).fit(X, hidden(y, 24))
    a = np.zeros(24)
    a[fitted.svm_.support_] = np.abs(fitted.svm_.dual_coef_[0])
    K, tau = fitted.kernel_[:24, :24], MARGINS[margin][1]
    s = 2.0 * y[:24] - 1
    assert 2 * a.sum() - a @ (K * np.outer(s, s) + tau * np.eye(24)) @ a == pytest.approx(fitted.objective_, rel=1e-5)


@every
@both
def test_new_points_are_predicted_like_unlabelled_points(margin, signs):
    X, y = points(4, n=60)
    fitted = KernelLearner(KERNELS, weights=signs, **SETTINGS[margin]).fit(X, hidden(y, 30))
    rest = np.arange(30, 60)
    inside = fitted.svm_.decision_function(fitted.kernel_[np.ix_(rest, fitted.labelled_)])
    np.testing.assert_allclose(fitted.decision_function(X[rest]), inside, atol=1e-6 * np.abs(inside).max())
    np.testing.assert_array_equal(fitted.transduction_[:30], y[:30])
    np.testing.assert_array_equal(fitted.transduction_[30:], fitted.predict(X[30:]))


def test_kinds_and_positions_of_labels():
    X, y = points(5, n=40)
    reference = KernelLearner(KERNELS).fit(X, hidden(y, 20)).transduction_
    names = np.array(["no", "yes"])
    order = np.random.default_rng(0).permutation(40)
    given = np.where(np.arange(40) < 20, names[y], None)[order]
    fitted = KernelLearner(KERNELS).fit(X[order], given)
    assert list(fitted.classes_) == ["no", "yes"]
    np.testing.assert_array_equal(fitted.transduction_, names[reference][order])
    floats = KernelLearner(KERNELS).fit(X, np.where(np.arange(40) < 20, y, np.nan))
    np.testing.assert_array_equal(floats.transduction_, reference)


def test_unlabelled_points_affect_only_the_traces_of_kernels():
    X, y = points(6, n=40)
    alone = KernelLearner(KERNELS).fit(X[:30], y[:30])
    np.testing.assert_array_equal(alone.transduction_, y[:30])
    far = KernelLearner(KERNELS).fit(np.vstack([X[:30], 5 * X[30:]]), hidden(y, 30))
    assert np.abs(far.shares_ - alone.shares_).max() > 1e-3
    rows = np.r_[X[:30], X[30:] * 0 + X[:30].mean(axis=0)]
    same = KernelLearner(["linear"], trace=30).fit(rows, hidden(y, 30))
    single = KernelLearner(["linear"], trace=30).fit(X[:30], y[:30])
    assert same.objective_ == pytest.approx(single.objective_, rel=3e-6)


def test_trace_scales_the_hard_margin():
    X, y = points(0)
    one, three = (KernelLearner(KERNELS, margin="hard", trace=t).fit(X, hidden(y, 20)) for t in (10, 30))
    assert np.trace(three.kernel_) == pytest.approx(30)
    assert one.objective_ == pytest.approx(3 * three.objective_, rel=3e-6)
    np.testing.assert_allclose(one.shares_, three.shares_, atol=2e-3)


def test_centring_makes_the_origin_irrelevant():
    X, y = points(7)
    kernels = ["linear", Kernel("rbf", gamma=0.3)]
    here, there = (KernelLearner(kernels).fit(X + shift, hidden(y, 20)) for shift in (0, 10))
    np.testing.assert_allclose(here.shares_, there.shares_, atol=1e-3)
    raw, moved = (KernelLearner(kernels, center=False).fit(X + shift, hidden(y, 20)) for shift in (0, 10))
    assert np.abs(raw.shares_ - moved.shares_).max() > 0.05
    np.testing.assert_allclose(raw.kernel_, raw.weights_[0] * X @ X.T + raw.weights_[1] * rbf_kernel(X, gamma=0.3))
    np.testing.assert_allclose(
        raw.decision_function(X[20:]), raw.svm_.decision_function(raw.kernel_[20:, :20]), atol=1e-8
    )


def test_kernels_given_as_matrices_and_new_points_as_rows():
    X, y = points(8, n=50)
    old, new = X[:40], X[40:]
    named = KernelLearner(["linear", Kernel("rbf", gamma=0.5)]).fit(old, hidden(y[:40], 25))
    mixed = KernelLearner(["linear", rbf_kernel(old, gamma=0.5)]).fit(old, hidden(y[:40], 25))
    np.testing.assert_allclose(mixed.kernel_, named.kernel_, atol=1e-12)
    rows = [rbf_kernel(new, old, gamma=0.5)]
    np.testing.assert_allclose(mixed.decision_function(new, rows=rows), named.decision_function(new), atol=1e-9)
    np.testing.assert_array_equal(mixed.predict(new, rows=rows), named.predict(new))
    with pytest.raises(InputError, match=r"kernels\[1\] is a matrix.*10×40"):
        mixed.predict(new)
    with pytest.raises(InputError, match=r"got shape \(10, 25\)"):
        mixed.predict(new, rows=[rows[0][:, :25]])
    with pytest.raises(InputError, match="rows= has 2 arrays, but only 1 of the kernels"):
        mixed.predict(new, rows=rows * 2)
    with pytest.raises(InputError, match="rows= has 1 arrays, but only 0 of the kernels"):
        named.predict(new, rows=rows)
    whole = KernelLearner(["precomputed"]).fit(rbf_kernel(old, gamma=0.5), hidden(y[:40], 25))
    single = KernelLearner([Kernel("rbf", gamma=0.5)]).fit(old, hidden(y[:40], 25))
    np.testing.assert_allclose(whole.decision_function(rows[0]), single.decision_function(new), atol=1e-9)


def test_omitted_combinations_give_a_warning():
    X, y = points(3, n=60)
    near = [Kernel("rbf", gamma=g) for g in (0.5, 0.5 + 1e-6, 1.0)]
    with pytest.warns(ConvergenceWarning, match="3 kernels that nearly cancel .* other 2 directions"):
        fitted = KernelLearner(near, weights="unrestricted").fit(X, hidden(y, 30))
    assert fitted.certificate_.rank == 2
    assert 1e-12 < fitted.certificate_.left_out < 1e-5
    K = rbf_kernel(X, gamma=0.5)
    for copies in (["rbf", "rbf"], ["linear", K, linear_kernel(X) + K]):
        same = KernelLearner(copies, weights="unrestricted").fit(X, hidden(y, 30))
        assert same.certificate_.rank < len(copies)
        assert same.certificate_.left_out == 0


def test_same_input_same_output_in_every_container():
    X, y = points(9)
    fitted = KernelLearner(KERNELS, weights="unrestricted").fit(X, hidden(y, 20))
    again = clone(fitted).fit(X, hidden(y, 20))
    np.testing.assert_array_equal(fitted.weights_, again.weights_)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(fitted)).predict(X), fitted.predict(X))
    frame = pd.DataFrame(X, columns=list("abc"))
    framed = clone(fitted).fit(frame, pd.Series(hidden(y, 20)))
    np.testing.assert_allclose(framed.decision_function(frame), fitted.decision_function(X), atol=1e-9)
    assert list(framed.feature_names_in_) == list("abc")
    sparse = clone(fitted).fit(sp.csr_array(X), hidden(y, 20))
    np.testing.assert_allclose(sparse.decision_function(sp.csr_array(X)), fitted.decision_function(X), atol=1e-4)


@pytest.mark.parametrize("name", ["breast cancer", "ionosphere"])
def test_real_data(name):
    if name == "ionosphere":
        file = external_data(name)
        X, y = file["X"], file["y"].astype(int)
    else:
        X, y = load_breast_cancer(return_X_y=True)
    X = scale(np.asarray(X, dtype=float)[:, np.std(X, axis=0) > 0])
    fitted = KernelLearner(["linear", "poly", "rbf"], C=10).fit(X, np.where(np.arange(len(y)) % 6 == 0, y, -1))
    assert fitted.gap_ <= 1e-6
    rest = np.arange(len(y)) % 6 != 0
    assert np.mean(fitted.transduction_[rest] == y[rest]) > 0.85


# ---------------------------------------------------------------------- bad input
def refuse(error, match, kernels=("linear", "rbf"), X=None, y=None, **options):
    data, labels = points(0)
    with pytest.raises(error, match=match):
        KernelLearner(kernels, **options).fit(data if X is None else X, hidden(labels, 20) if y is None else y)


def indefinite(X, Z):
    return -rbf_kernel(X, Z)


def test_invalid_kernels():
    X, _ = points(0)
    K = rbf_kernel(X)
    refuse(KernelError, r"kernels\[1\] \(indefinite\).*smallest eigenvalue is -", ["linear", indefinite])
    refuse(KernelError, r"kernels\[0\] \(matrix\).*not symmetric", [np.triu(K)])
    refuse(KernelError, r"kernels\[1\] \(matrix\).*shape \(20, 20\); X has 36", ["rbf", K[:20, :20]])
    refuse(KernelError, r"kernels\[0\] \(matrix\).*1 values that are NaN", [K + np.diag([np.nan] + 35 * [0])])
    refuse(KernelError, r"kernels\[1\] \(matrix\).*trace .*all points coincide", ["rbf", np.ones((36, 36))])
    refuse(KernelError, r"kernels\[0\] \(matrix\).*all points coincide", [np.zeros((36, 36))], center=False)
    refuse(KernelError, r"kernels\[0\] \(nothing\).*unknown", ["nothing"])
    refuse(KernelError, "precomputed", ["precomputed", "rbf"], X=K)
    refuse(InputError, "list of at least one kernel", "rbf")
    refuse(InputError, "list of at least one kernel", [])


def test_invalid_labels():
    _, y = points(0)
    refuse(LabelError, "only one class", y=np.where(y == 1, 1, np.nan))
    refuse(LabelError, "all 36 of them are missing", y=np.full(36, -1))
    refuse(LabelError, r"exactly \{-1, \+1\}", y=2 * y - 1)
    refuse(LabelError, "5 labels for 36", y=y[:5])
    KernelLearner(unlabeled=None).fit(points(0)[0], 2 * y - 1)


def test_invalid_parameters():
    for bad in ({"C": 0}, {"trace": -1.0}, {"margin": "soft"}, {"weights": "any"}, {"tol": 0}, {"max_iter": 0}):
        refuse(ValueError, next(iter(bad)), **bad)
    X, _ = points(0)
    X[0, 0] = np.nan
    refuse(ValueError, "NaN", X=X)
    for margin in ("hard", "l2"):
        refuse(InputError, r'tau=0\.3 belongs to margin="l1"', margin=margin, tau=0.3)


@both
def test_a_hard_margin_needs_separable_classes(signs):
    refuse(InputError, "unbounded.*margin=", ["linear"], y=np.arange(36) // 2 % 2, margin="hard", weights=signs)
    X, _ = points(0)
    X[1] = X[0]
    refuse(InputError, "coincident points", ["linear", "rbf"], X=X, margin="hard", weights=signs)


def test_an_open_gap_gives_a_warning():
    X, y = points(0)
    with pytest.warns(ConvergenceWarning, match=r"relative gap of .* after 2 steps \(iterations\)"):
        fitted = KernelLearner(KERNELS, max_iter=2).fit(X, hidden(y, 20))
    assert fitted.gap_ > 1e-6


LEARNERS = [KernelLearner(unlabeled=None, weights=signs, margin=m) for signs in SIGNS for m in ("l1", "l2")]


@parametrize_with_checks(LEARNERS[:1])
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


@pytest.mark.long
@parametrize_with_checks(LEARNERS[1:])
def test_scikit_learn_conventions_of_other_signs_and_margins(estimator, check):
    check(estimator)
