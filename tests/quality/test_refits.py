"""`leave_one_out_error` and `stability`."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.linalg import subspace_angles
from scipy.spatial import procrustes
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.datasets import load_iris, make_swiss_roll

from eigenspan import LDA, LLE, LPP, PCA, ClassicalMDS, Isomap, KernelPCA
from eigenspan.errors import DisconnectedError, FitWarning, InputError
from eigenspan.quality import leave_one_out_error, stability


class Fixed(TransformerMixin, BaseEstimator):
    """Projection to the first two columns, with a different random rotation in each fit."""

    def fit(self, X, y=None):
        angle = float(np.asarray(X)[:, 0].sum() * 1e3)
        self.turn_ = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
        return self

    def transform(self, X):
        return 3.0 * np.asarray(X)[:, :2] @ self.turn_


class Stray(Fixed):
    """Map that places new points at random."""

    def transform(self, X):
        Y = super().transform(X)
        return (
            Y if len(Y) > 100 else np.random.default_rng(len(Y)).normal(size=Y.shape) * Y.std() + 100 * (len(Y) > 100)
        )


@pytest.fixture(scope="module")
def flowers():
    X, y = load_iris(return_X_y=True)
    X, first = np.unique(X, axis=0, return_index=True)
    return X, y[first]


@pytest.fixture(scope="module")
def roll():
    return make_swiss_roll(500, random_state=0)[0]


def gaussian(variances, n=1500, seed=0):
    return np.random.default_rng(seed).normal(size=(n, len(variances))) * np.sqrt(variances)


# ------------------------------------------------------------------------------------------- leaving out
def test_an_exact_map_has_no_error_whatever_its_rotation(flowers):
    assert leave_one_out_error(Fixed(), flowers[0]).error < 1e-12


def test_the_error_equals_its_definition(flowers):
    X = flowers[0][:40]
    found = leave_one_out_error(PCA(2), X, n_refits=None)
    Y = PCA(2).fit_transform(X)
    spread = np.sqrt(((Y - Y.mean(axis=0)) ** 2).sum(axis=1).mean())
    assert sorted(found.rows) == list(range(40))
    for row, error in zip(found.rows[:5], found.errors[:5], strict=True):
        kept = np.delete(np.arange(40), row)
        part = PCA(2).fit(X[kept])
        # scipy also fits rotation, shift and scale; its standardised results are transformed back to Y
        first, second, _ = procrustes(Y[kept], part.embedding_)
        into = np.linalg.lstsq(np.column_stack([part.embedding_, np.ones(39)]), second, rcond=None)[0]
        back = np.linalg.lstsq(np.column_stack([first, np.ones(39)]), Y[kept], rcond=None)[0]
        placed = np.append(np.append(part.transform(X[[row]])[0], 1) @ into, 1) @ back
        assert np.linalg.norm(placed - Y[row]) / spread == pytest.approx(error, abs=1e-9)
    assert found.error == pytest.approx(np.sqrt(np.mean(found.errors**2)))


def test_groups_are_left_out_together(flowers):
    found = leave_one_out_error(KernelPCA(2, kernel="rbf"), flowers[0], leave_out=10, n_refits=4)
    assert found.rows.size == 40 == np.unique(found.rows).size
    assert 0 < found.standard_error < found.error < 0.2


def test_graph_methods_and_distances(roll, flowers):
    assert leave_one_out_error(Isomap(2, n_neighbors=8), roll, n_refits=3).error < 0.1
    X = flowers[0]
    D = np.linalg.norm(X[:, None] - X[None], axis=2)
    points = leave_one_out_error(ClassicalMDS(2), X, n_refits=5)
    distances = leave_one_out_error(ClassicalMDS(2, metric="precomputed"), D, n_refits=5)
    assert distances.error == pytest.approx(points.error, rel=1e-6)


def test_the_error_of_a_random_map(flowers):
    assert leave_one_out_error(Stray(), flowers[0]).error > 0.5


# ------------------------------------------------------------------------------------------- resampling
def test_the_angles_equal_their_definition(flowers):
    X = flowers[0]
    found = stability(PCA(3), X, n_resamples=3, random_state=7)
    rng, whole = np.random.RandomState(7), PCA(3).fit(X).components_
    for b in range(3):
        rows = np.sort(rng.choice(np.arange(len(X)), len(X), replace=True))
        part = PCA(3).fit(X[rows]).components_
        angles = [np.degrees(subspace_angles(whole[:d].T, part[:d].T)[0]) for d in (1, 2, 3)]
        assert found.angles[b] == pytest.approx(angles, abs=1e-6)
    assert found.median == pytest.approx(np.median(found.angles, axis=0))
    assert (found.low <= found.median).all()
    assert (found.median <= found.high).all()


@pytest.mark.parametrize("resample", ["bootstrap", "half"])
@pytest.mark.every(2)
def test_the_median_angle_for_two_variances_agrees_with_theory(resample):
    a, b, n = 4.0, 1.0, 1500
    found = stability(PCA(1), gaussian([a, b], n), n_resamples=200, resample=resample)
    expected = np.degrees(0.6745 * np.sqrt(a * b / n) / (a - b))  # median of |N(0, 1)| times the standard deviation
    assert found.median[0] == pytest.approx(expected, rel=0.3)


def test_only_the_plane_of_two_axes_with_equal_variance_is_stable():
    found = stability(PCA(4), gaussian([16.0, 4.0, 4.0, 1.0]), n_resamples=40)
    assert (found.median[[0, 2]] < 5).all()
    assert found.median[1] > 10
    assert np.median(found.axis_angles, axis=0)[2] > 10
    assert list(found.frame["n_components"]) == [1, 2, 3, 4]


def test_spaces_and_resamples_are_chosen_by_the_estimator(flowers, roll):
    X, y = flowers
    assert stability(PCA(2), X, n_resamples=2).space == "features"
    lpp = stability(LPP(2), X, n_resamples=2)
    assert (lpp.space, lpp.resample) == ("features", "half")
    lle = stability(LLE(2, n_neighbors=10), roll, n_resamples=2)
    assert (lle.space, lle.resample) == ("embedding", "half")
    inside = stability(PCA(2), X, n_resamples=5, space="embedding")
    assert inside.median[1] < 10
    named = stability(LDA(2), pd.DataFrame(X), pd.Series(y).map({0: "a", 1: "b", 2: "c"}), n_resamples=5)
    assert named.median[0] < 30


def test_every_class_stays_in_every_resample():
    X = gaussian([1.0, 1.0, 1.0], 60)
    y = np.array([0] * 56 + [1] * 2 + [2] * 2)
    X[56:58] += 5
    X[58:] -= 5
    assert stability(LDA(2), X, y, n_resamples=20).angles.shape == (20, 2)


def test_the_same_seed_gives_the_same_result(flowers):
    first, second = (stability(LPP(2), flowers[0], n_resamples=3).angles for _ in range(2))
    np.testing.assert_array_equal(first, second)
    estimator = PCA(2)
    stability(estimator, flowers[0], n_resamples=2)
    assert not hasattr(estimator, "components_")  # it is cloned


# ------------------------------------------------------------------------------------------- errors
class Needs(PCA):
    """Estimator that fails if fewer than `nines` rows have the value 99."""

    nines: int = 1

    def fit(self, X, y=None):
        if (np.asarray(X) == 99.0).any(axis=1).sum() < self.nines:
            raise DisconnectedError("The graph falls apart.")
        return super().fit(X, y)


def test_failed_fits_are_counted(flowers):
    X = flowers[0].copy()
    X[0, 0] = 99.0  # 37 % of the bootstrap samples lack this row
    with pytest.warns(
        FitWarning, match=r"of the 40 fits to subsets .* failed\. The first error: The graph falls apart"
    ):
        found = stability(Needs(2), X, n_resamples=40)
    assert 20 <= len(found.angles) < 40
    X[:10, 0] = 99.0  # a random half of the rows practically never contains all ten
    with pytest.raises(DisconnectedError, match="30 of the 30 fits"):
        stability(Needs(2, nines=10), X, n_resamples=30, resample="half")


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda X: leave_one_out_error(PCA(2), X, leave_out=0), "leave_out must be a whole number"),
        (lambda X: leave_one_out_error(PCA(2), X, leave_out=len(X)), "must be at most"),
        (lambda X: leave_one_out_error(PCA(2), X, n_refits=2.5), "n_refits must be a whole number"),
        (lambda X: leave_one_out_error(PCA, X), "estimator must have fit and transform"),
        (lambda X: leave_one_out_error(PCA(1), X[:3]), "at least 4"),
        (lambda X: leave_one_out_error(LDA(1), X, [0, 1]), "one value per row"),
        (lambda X: stability(PCA(2), X, level=1.0), "level=1.0, .* must lie strictly between"),
        (lambda X: stability(PCA(2), X, resample="jackknife"), "resample='jackknife' must be one of"),
        (lambda X: stability(PCA(2), X, space="graph"), "space='graph' must be one of"),
        (lambda X: stability(LLE(2), X, space="features"), "no directions in feature space"),
        (lambda X: stability(PCA(2), X, n_resamples=True), "n_resamples must be a whole number"),
    ],
)
def test_invalid_parameters_are_refused(flowers, call, message):
    with pytest.raises(InputError, match=message):
        call(flowers[0])
    assert clone(PCA(2)).n_components == 2
