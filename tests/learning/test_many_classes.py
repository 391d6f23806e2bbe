"""`KernelLearner` with more than two classes: the sum of one-against-rest machines, compared with a general solver and single machines."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.metrics.pairwise import linear_kernel, polynomial_kernel, rbf_kernel
from sklearn.multiclass import OneVsRestClassifier
from sklearn.preprocessing import scale
from sklearn.svm import SVC

from eigenspan import Kernel
from eigenspan.learning.kernel_learner import KernelLearner
from eigenspan.numerics.sdp.margin import learn_weights

MARGINS = {"hard": (np.inf, 0.0), "l1": (2.0, 0.0), "l2": (np.inf, 0.5)}
every = pytest.mark.parametrize("margin", MARGINS)
both = pytest.mark.parametrize("signs", ["nonnegative", "unrestricted"])


def problem(n=30, labelled=18, classes=3):
    """Return kernels of trace n, and one row of ±1 per class for the labelled points."""
    rng = np.random.default_rng(0)
    y = np.arange(n) % classes
    X = rng.standard_normal((n, 3))
    X[:, 0] += 2.0 * y
    H = np.eye(n) - 1 / n
    raw = [linear_kernel(X), polynomial_kernel(X, degree=2), *(rbf_kernel(X, gamma=g) for g in (0.1, 1, 5))]
    K = np.array([n * H @ G @ H / np.trace(H @ G) for G in raw])
    return K, np.arange(labelled), np.where(y[:labelled] == np.arange(classes)[:, None], 1.0, -1.0)


def solve(K, rows, Y, margin, signs):
    box, tau = MARGINS[margin]
    return learn_weights(K, rows, Y, box=box, tau=tau, signs=signs, tol=1e-6, max_iter=100)


def by_cvxpy(K, rows, Y, margin, signs):
    """Solve the sum of equation 31 over the machines with a common kernel."""
    cp = pytest.importorskip("cvxpy", reason="cvxpy, the oracle, is not installed")
    pytest.importorskip("clarabel")
    (box, tau), (c, size) = MARGINS[margin], Y.shape
    w, t, bounded = cp.Variable(len(K)), cp.Variable(c), np.isfinite(box)
    rules = [cp.sum(w) == 1]
    mixed = sum(w[i] * K[i] for i in range(len(K)))
    rules.append(w >= 0 if signs == "nonnegative" else mixed >> 0)
    for k, y in enumerate(Y):
        lam, nu, delta = cp.Variable(), cp.Variable(size, nonneg=True), cp.Variable(size, nonneg=True)
        rules += [] if bounded else [delta == 0]
        e = cp.reshape(1 + nu - delta + lam * y, (size, 1), order="C")
        corner = cp.reshape(t[k] - 2 * (box if bounded else 0) * cp.sum(delta), (1, 1), order="C")
        Q = cp.multiply(mixed[rows][:, rows], np.outer(y, y)) + tau * np.eye(size)
        M = cp.bmat([[Q, e], [e.T, corner]])
        rules.append((M + M.T) / 2 >> 0)
    program = cp.Problem(cp.Minimize(cp.sum(t)), rules)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program.solve(solver="CLARABEL")
    return float(program.value), w.value


@every
@both
@pytest.mark.every(2)
def test_a_general_solver_finds_the_same(margin, signs):
    K, rows, Y = problem()
    found = solve(K, rows, Y, margin, signs)
    value, weights = by_cvxpy(K, rows, Y, margin, signs)
    assert found.status == "optimal"
    assert found.upper == pytest.approx(value, rel=1e-5)
    np.testing.assert_allclose(found.weights, weights, atol=2e-3)


@every
def test_the_objective_is_the_sum_of_machines(margin):
    K, rows, Y = problem()
    box, tau = MARGINS[margin]
    found = solve(K, rows, Y, margin, "nonnegative")
    assert found.alpha.shape == Y.shape
    G, total = np.tensordot(found.weights, K, axes=1)[np.ix_(rows, rows)] + tau * np.eye(rows.size), 0.0
    for y in Y:
        svm = SVC(C=box if np.isfinite(box) else 1e6, kernel="precomputed", tol=1e-9).fit(G, y)
        alpha = np.zeros(y.size)
        alpha[svm.support_] = svm.dual_coef_[0]
        total += 2 * np.abs(alpha).sum() - alpha @ G @ alpha
    assert found.lower * (1 - 1e-6) <= total <= found.upper * (1 + 1e-6)


@both
def test_equal_machines_give_the_weights_of_one(signs):
    K, rows, Y = problem()
    one, many = (solve(K, rows, y, "l1", signs) for y in (Y[0], np.tile(Y[0], (3, 1))))
    assert many.upper == pytest.approx(3 * one.upper, rel=1e-5)
    np.testing.assert_allclose(many.weights, one.weights, atol=1e-3)
    assert one.alpha.shape == Y[0].shape


def test_iris_from_a_few_labels():
    X, y = load_iris(return_X_y=True)
    X = scale(X)
    few = np.where(np.arange(150) % 5 == 0, y, -1)
    kernels = ["linear", Kernel("poly", degree=2), Kernel("rbf", gamma=0.5)]
    fitted = KernelLearner(kernels, C=10).fit(X, few)
    assert fitted.gap_ < 1e-6
    assert np.mean(fitted.transduction_ == y) > 0.8
    assert fitted.decision_function(X).shape == (150, 3)
    np.testing.assert_array_equal(fitted.predict(X)[few < 0], fitted.transduction_[few < 0])
    own = OneVsRestClassifier(SVC(C=10, kernel="precomputed", tol=1e-5))
    rows = fitted.labelled_
    own.fit(fitted.kernel_[np.ix_(rows, rows)], y[rows])
    np.testing.assert_allclose(
        own.decision_function(fitted.kernel_[:, rows]), fitted.decision_function(X), atol=1e-6, rtol=1e-6
    )


@every
def test_names_of_classes_and_new_points(margin):
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    fitted = KernelLearner(["linear", Kernel("rbf", gamma=2.0)], margin=margin).fit(scale(X)[::2], names[::2])
    assert list(fitted.classes_) == ["setosa", "versicolor", "virginica"]
    assert fitted.score(scale(X)[1::2], names[1::2]) > 0.85
    assert fitted.certificate_.alpha.shape == (3, 75)
