"""What unfoldings and kernel learning say when something does not fit."""

from __future__ import annotations

import numpy as np
import pytest

from eigenspan import MVU, KernelLearner, LandmarkMVU
from eigenspan.errors import ConvergenceWarning, InputError
from eigenspan.methods.unfolding.solver_settings import SDP
from eigenspan.numerics.sdp import Certificate, Solution

X = np.random.default_rng(0).standard_normal((30, 3))
y = np.where(X[:, 0] > 0, 1, 0)


@pytest.mark.parametrize(
    ("status", "advice"), [("stalled", "More time will not help"), ("iterations", "Give it more time")]
)
@pytest.mark.parametrize("upper", [1.1, np.inf])
def test_what_helps_depends_on_why_it_stopped(status, advice, upper):
    solution = Solution(None, np.ones((3, 1)), np.ones(3), Certificate(1.0, 1.0, upper, 0.0), 7, status)
    with pytest.warns(ConvergenceWarning, match=advice) as told:
        SDP.of(MVU(2)).report(solution, solution.gap, "variance")
    assert ("Give it" in str(told[0].message)) == (status != "stalled")


def test_a_solver_that_landmarks_do_not_have_is_refused_at_once():
    with pytest.raises(ValueError, match=r"'method' parameter of LandmarkMVU must be a str among"):
        LandmarkMVU(2, method="low-rank").fit(X)


@pytest.mark.parametrize("kernels", [None, 5, "rbf", [], ()])
def test_kernels_that_are_no_list(kernels):
    with pytest.raises(InputError, match="must be a list of at least one kernel"):
        KernelLearner(kernels).fit(X, y)


def test_one_matrix_is_no_list_of_kernels():
    with pytest.raises(InputError, match=r"one matrix, of shape \(30, 30\).*kernels=\[K\]"):
        KernelLearner(X @ X.T).fit(X, y)


def test_rows_of_new_points_are_numbers():
    fitted = KernelLearner(["linear", np.eye(30)]).fit(X, y)
    rows = np.zeros((3, 30))
    rows[1, 4:6] = np.nan
    with pytest.raises(InputError, match=r"rows= of kernels\[1\] hold 2 values that are NaN or infinite, of 90"):
        fitted.predict(X[:3], rows=[rows])


def test_no_band_means_equations():
    with pytest.raises(InputError, match=r'MVU\(constraint="equality"\), or band > 0'):
        MVU(2, constraint="band", band=0).fit(X)
