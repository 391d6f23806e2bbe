"""Sufficient features of contingency tables: the model's own theorems, correspondence analysis nearby, and bad input."""

import numpy as np
import pytest
from sklearn.utils import estimator_checks

from eigenspan import ContingencySDR
from eigenspan.errors import ConvergenceWarning, DimensionError, InputError
from helpers import quietly, reports, says


def table(rows=8, columns=6, d=2, size=0.7, seed=0, total=1000.0):
    """A table of exactly this model."""
    rng = np.random.default_rng(seed)
    eta = rng.standard_normal((rows, 1)) * 0.3 + rng.standard_normal(columns) * 0.3
    P = np.exp(eta + size * rng.standard_normal((rows, d)) @ rng.standard_normal((d, columns)))
    return total * P / P.sum()


def divergence(P, Q):
    P, Q = P / P.sum(), Q / Q.sum()
    return float(np.sum(P * np.log(P / Q)))


def test_a_table_of_the_model_is_found_exactly():
    N = table(d=2)
    fitted = ContingencySDR(2, smoothing=0, tol=1e-12, max_iter=5000).fit(N)
    assert fitted.divergence_ < 1e-8 * fitted.information_
    np.testing.assert_allclose(fitted.expected_, N, rtol=1e-3)
    assert ContingencySDR(1, smoothing=0).fit(N).divergence_ > 1e-3 * fitted.information_


def test_all_features_describe_any_table():
    N = np.random.default_rng(0).integers(1, 30, (5, 4)).astype(float)
    fitted = ContingencySDR(3, smoothing=0, tol=1e-13, max_iter=5000).fit(N)
    np.testing.assert_allclose(fitted.expected_, N, rtol=1e-4)


def test_the_divergence_falls_at_every_sweep():
    N = np.random.default_rng(1).poisson(5.0, (20, 12)) + 1.0
    for d in (1, 2, 4):
        fitted = ContingencySDR(d, tol=1e-7).fit(N)
        assert np.all(np.diff(fitted.path_) <= 1e-13)
        assert 0 < fitted.divergence_ < fitted.information_
    more = [ContingencySDR(d, tol=1e-7).fit(N).divergence_ for d in (1, 2, 3)]
    assert more[0] > more[1] > more[2]


def test_margins_and_expectations_are_kept():
    """What characterises the most likely table: Σ_y p(x,y)ψ(y), Σ_x p(x,y)φ(x) and both margins are those of the data."""
    N = np.random.default_rng(2).poisson(8.0, (15, 9)) + 1.0
    fitted = ContingencySDR(2, smoothing=0, tol=1e-11, max_iter=5000).fit(N)
    E, phi, psi = fitted.expected_, fitted.embedding_, fitted.column_features_
    np.testing.assert_allclose(E.sum(axis=1), N.sum(axis=1), rtol=1e-7)
    np.testing.assert_allclose(E.sum(axis=0), N.sum(axis=0), rtol=1e-4)
    np.testing.assert_allclose(E @ psi, N @ psi, atol=1e-6 * N.sum())
    np.testing.assert_allclose(E.T @ phi, N.T @ phi, atol=1e-4 * N.sum())


def test_it_is_the_likelihood_that_a_general_optimiser_finds():
    """The same model handed to a quasi-Newton method of scipy, from its own start."""
    from scipy.optimize import minimize

    N = np.random.default_rng(3).integers(1, 20, (6, 5)).astype(float)
    P, (rows, columns) = N / N.sum(), N.shape

    def loss(theta):
        a, b, u, v = np.split(theta, np.cumsum([rows, columns, rows]))
        Q = np.exp(a[:, None] + b + np.outer(u, v))
        g = Q - P
        slope = np.concatenate([g.sum(axis=1), g.sum(axis=0), g @ v, g.T @ u])
        return float(np.sum(Q) - np.sum(P * np.log(Q))), slope

    starts = [np.random.default_rng(s).standard_normal(2 * (rows + columns)) for s in range(8)]
    best = min(minimize(loss, x, jac=True, method="BFGS", options={"gtol": 1e-9}).fun for x in starts)
    theirs = best - (1 - np.sum(P * np.log(P)))
    one, several = (ContingencySDR(1, smoothing=0, tol=1e-12, max_iter=5000, n_starts=k).fit(N) for k in (1, 8))
    np.testing.assert_allclose(several.divergence_, theirs, rtol=1e-5)
    assert theirs * (1 - 1e-5) < one.divergence_ < 1.01 * theirs  # a table at random has local optima


def test_near_independence_it_is_correspondence_analysis():
    """For a table p q (1 + δ) the features are those of correspondence analysis but for terms of order δ."""
    rng = np.random.default_rng(4)
    p, q = rng.dirichlet(np.full(7, 5.0)), rng.dirichlet(np.full(6, 5.0))
    bend = rng.standard_normal((7, 6))
    bend -= p @ bend
    bend -= (bend @ q)[:, None]
    gaps = []
    for delta in (1e-1, 1e-2, 1e-3):
        P = np.outer(p, q) * (1 + delta * bend)
        U, s, _ = np.linalg.svd((P - np.outer(p, q)) / np.sqrt(np.outer(p, q)))
        theirs = U[:, :2] * s[:2] / np.sqrt(p)[:, None]
        fitted = ContingencySDR(2, smoothing=0, tol=1e-10, max_iter=5000).fit(P)
        ours = fitted.embedding_ * np.sign(np.sum(fitted.embedding_ * theirs, axis=0))
        gaps.append(np.abs(ours - theirs).max() / np.abs(theirs).max())
    np.testing.assert_allclose(fitted.association_, s[:2], rtol=0.02)
    assert gaps[2] < 0.02
    assert gaps[2] < gaps[1] / 3
    assert gaps[1] < gaps[0] / 3


def test_features_are_centred_and_uncorrelated():
    N = np.random.default_rng(5).poisson(6.0, (12, 8)) + 1.0
    fitted = ContingencySDR(3, tol=1e-10, max_iter=2000).fit(N)
    p, q = N.sum(axis=1) / N.sum(), N.sum(axis=0) / N.sum()
    phi, psi = fitted.embedding_, fitted.column_features_
    np.testing.assert_allclose(q @ psi, 0, atol=1e-10)
    np.testing.assert_allclose(psi.T @ (q[:, None] * psi), np.eye(3), atol=1e-9)
    np.testing.assert_allclose(p @ phi, 0, atol=1e-4)
    np.testing.assert_allclose(phi.T @ (p[:, None] * phi), np.diag(fitted.association_**2), atol=1e-3)


def test_rows_are_mapped_each_for_itself():
    N = np.random.default_rng(6).poisson(6.0, (12, 8)) + 1.0
    fitted = ContingencySDR(2).fit(N)
    np.testing.assert_allclose(fitted.transform(N), fitted.embedding_, atol=1e-10)
    np.testing.assert_allclose(fitted.transform(7 * N[3:4]), fitted.embedding_[3:4], atol=1e-8)  # only shares count
    new = np.vstack([N[0], N[1] + N[2]])
    np.testing.assert_allclose(fitted.transform(new[1:]), fitted.transform(new)[1:], atol=1e-10)


def test_empty_cells_have_finite_features():
    N = np.eye(6) * 10 + np.eye(6, k=1)
    fitted = quietly(lambda: ContingencySDR(2).fit(N), ConvergenceWarning)
    assert np.all(np.isfinite(fitted.embedding_))
    assert np.all(fitted.expected_ >= 0)


def test_smoothing_mixes_independence_into_the_table():
    N = np.random.default_rng(7).poisson(6.0, (9, 7)) + 1.0
    mixed = 0.7 * N + 0.3 * np.outer(N.sum(axis=1), N.sum(axis=0)) / N.sum()
    smooth, plain = ContingencySDR(2, smoothing=0.3).fit(N), ContingencySDR(2, smoothing=0).fit(mixed)
    np.testing.assert_allclose(smooth.embedding_, plain.embedding_, atol=1e-8)
    np.testing.assert_allclose(smooth.expected_, plain.expected_, rtol=1e-8)


def test_scikit_learn_agrees():
    checked = ("check_estimators_dtypes", "check_sample_weights_pandas_series", "check_sample_weights_not_an_array")
    excused = dict.fromkeys(checked, "its table of integers has an empty row")
    checks = quietly(
        lambda: estimator_checks.check_estimator(
            ContingencySDR(1), on_skip=None, on_fail=None, expected_failed_checks=excused
        )
    )
    assert not [r["check_name"] for r in checks if r["status"] not in ("passed", "skipped", "xfail")]
    assert sum(r["status"] == "passed" for r in checks) >= 40


@pytest.mark.parametrize(
    "N, words",
    [
        (np.array([[1.0, 2, 0], [3, -1, 1], [2, 2, 2]]), ["Negative values", "1 entries", "-1"]),
        (np.array([[1.0, 2, 0], [0, 0, 0], [2, 2, 2]]), ["1 of the rows", "first: 1", "Drop"]),
        (np.array([[1.0, 2, 0], [1, 1, 0], [2, 2, 0]]), ["1 of the columns", "first: 2", "Drop"]),
        (np.outer([1.0, 2, 3], [4.0, 5, 6]), ["independent"]),
    ],
)
def test_tables_that_are_none(N, words):
    with pytest.raises(InputError, match=says(*words)):
        ContingencySDR(1).fit(N)


def test_more_features_than_the_table_has():
    with pytest.raises(DimensionError, match=says("n_components=3", "4 rows", "3 columns", "<= 2")):
        ContingencySDR(3).fit(table(4, 3))
    with pytest.raises(DimensionError, match=says("n_components=2", "1 direction", "<= 1")):
        ContingencySDR(2).fit(np.array([[5.0, 1, 2], [10, 2, 4], [1, 7, 3], [2, 14, 6]]))


def test_empty_rows_have_no_place():
    fitted = ContingencySDR(1).fit(table(5, 4, 1))
    with pytest.raises(InputError, match="empty"):
        fitted.transform(np.zeros((2, 4)))
    with pytest.raises(InputError, match="Negative"):
        fitted.transform(-np.ones((1, 4)))


def test_sweeps_cut_short_are_reported():
    N = np.random.default_rng(1).poisson(5.0, (20, 12)) + 1.0
    with reports(ConvergenceWarning, "max_iter=1", "Raise max_iter"):
        ContingencySDR(2, max_iter=1).fit(N)


def sparse_counts(seed, shape=(6, 33)):
    counts = np.random.default_rng(seed).poisson(1.0, shape).astype(float)
    return counts[counts.sum(axis=1) > 0][:, counts.sum(axis=0) > 0]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("shape", [(6, 33), (33, 6)])
@pytest.mark.every(3)
def test_infinite_features_end_with_a_warning(seed, shape):
    """Features of the most likely table are infinite where cells are empty: Newton's matrix became singular, after minutes."""
    N = sparse_counts(seed, shape)
    with pytest.warns(ConvergenceWarning, match=r"infinite: \d+ of its cells vanish.*Use smoothing > 0 \(got 0\)"):
        fitted = ContingencySDR(2, smoothing=0).fit(N)
    assert fitted.n_iter_ < 100
    assert np.isfinite(fitted.embedding_).all()
    assert np.isfinite(fitted.transform(N)).all()
    assert np.all(np.diff(fitted.path_) <= 1e-12)
    # What is left of the divergence is no more than that of a smoothed table, whose features are finite.
    assert fitted.divergence_ / fitted.information_ < 1.0


def test_tables_without_empty_cells_need_no_smoothing():
    N = 1.0 + sparse_counts(0)
    found = ContingencySDR(2, smoothing=0).fit(N)
    P = N / N.sum()
    # The optimum keeps the margins, and the expectations of ψ in every row and of φ in every column.
    expected = found.expected_ / N.sum()
    np.testing.assert_allclose(expected.sum(axis=1), P.sum(axis=1), atol=1e-6)
    np.testing.assert_allclose(expected @ found.column_features_, P @ found.column_features_, atol=1e-4)
    np.testing.assert_allclose(expected.T @ found.embedding_, P.T @ found.embedding_, atol=1e-4)
