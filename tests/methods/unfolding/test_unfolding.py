"""Maximum variance unfolding as an estimator."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.spatial import procrustes
from sklearn.base import clone
from sklearn.datasets import make_swiss_roll

from eigenspan import KNN, MVU, PCA, Anchored, ColoredMVU, Isomap, LandmarkMVU, LaplacianMVU
from eigenspan.errors import (
    ConvergenceWarning,
    DegenerateWarning,
    DisconnectedWarning,
    DuplicateWarning,
    GraphError,
    InputError,
)
from eigenspan.methods.unfolding.solver_settings import SDP
from eigenspan.numerics.sdp import Certificate, Solution
from helpers import pairwise


def sheet(n, seed=0):
    X, t = make_swiss_roll(n, random_state=seed)
    return X, np.column_stack([0.5 * (t * np.sqrt(1 + t * t) + np.arcsinh(t)), X[:, 1]])


@pytest.fixture(scope="module")
def rolled():
    X, T = sheet(1500)
    return X, T, MVU(2, n_neighbors=10).fit(X[:1000])


def test_a_rolled_sheet_lies_flat(rolled):
    _X, T, mvu = rolled
    assert mvu.certificate_.status == "certified"
    assert mvu.certificate_.gap < 1e-3
    assert mvu.suggested_dimension_ == 2
    assert procrustes(T[:1000], mvu.embedding_)[2] < 0.01


def test_the_certificate_is_in_the_units_of_the_data(rolled):
    X, _T, mvu = rolled
    c, R = mvu.certificate_, mvu.embedding_full_
    i, j = c.edges.T
    assert c.squared_distances == pytest.approx(np.sum((X[i] - X[j]) ** 2, axis=1))
    v = np.sum((R[i] - R[j]) ** 2, axis=1)
    assert np.abs(R.mean(axis=0)).max() < 1e-9
    assert np.sum(R**2) / np.max(v / c.squared_distances) == pytest.approx(c.lower, rel=1e-9)
    L = np.zeros((1000, 1000))
    np.add.at(L, (i, i), c.weights)
    np.add.at(L, (j, j), c.weights)
    np.add.at(L, (i, j), -c.weights)
    np.add.at(L, (j, i), -c.weights)
    assert c.weights @ c.squared_distances / np.linalg.eigvalsh(L)[1] == pytest.approx(c.upper, rel=1e-6)
    assert mvu.solution_.verify().gap < 1.1e-3


@pytest.mark.parametrize("extension", ["barycentric", "eigenfunctions", "kernel-map"])
@pytest.mark.every(3)
def test_new_points_find_their_place_in_the_sheet(rolled, extension):
    X, T, _mvu = rolled
    other = MVU(2, n_neighbors=10, extension=extension).fit(X[:1000])
    Y = other.embedding_
    assert np.array_equal(other.transform(X[:1000]), Y)
    A = np.column_stack([Y, np.ones(1000)])
    coef = np.linalg.lstsq(A, T[:1000], rcond=None)[0]
    error = np.linalg.norm(np.column_stack([other.transform(X[1000:]), np.ones(500)]) @ coef - T[1000:], axis=1)
    own = np.linalg.norm(A @ coef - T[:1000], axis=1)
    assert np.median(error) < 1.1 * np.median(own) + 0.002 * 21


def test_copies_of_rows_stay_together_and_are_certified():
    X, _ = sheet(150)
    Z = np.vstack([X, X[:60], X[:20]])
    mvu = MVU(2, n_neighbors=12).fit(Z)
    assert np.abs(mvu.embedding_[:60] - mvu.embedding_[150:210]).max() < 1e-9
    c, R = mvu.certificate_, mvu.embedding_full_
    assert c.gap < 1e-3
    L = np.zeros((len(Z), len(Z)))
    i, j = c.edges.T
    for a, b, s in ((i, i, 1), (j, j, 1), (i, j, -1), (j, i, -1)):
        np.add.at(L, (a, b), s * c.weights)
    assert c.weights @ c.squared_distances / np.linalg.eigvalsh(L)[1] == pytest.approx(c.upper, rel=1e-4)
    assert np.sum(R**2) == pytest.approx(mvu.solution_.value, rel=1e-9)


def test_common_neighbours_add_pairs_and_lower_the_optimum():
    X, _ = sheet(200)
    plain, angles = MVU(2, n_neighbors=6).fit(X), MVU(2, n_neighbors=6, common_neighbors=True).fit(X)
    assert len(angles.certificate_.edges) > 1.5 * len(plain.certificate_.edges)
    assert angles.certificate_.lower < plain.certificate_.upper


def test_common_neighbours_are_measured_in_the_metric_of_the_graph():
    X, _ = sheet(100)
    c = MVU(2, graph=KNN(5, metric="cityblock"), common_neighbors=True).fit(X).certificate_
    assert c.squared_distances == pytest.approx(np.abs(X[c.edges[:, 0]] - X[c.edges[:, 1]]).sum(axis=1) ** 2)
    own, angles = MVU(2, n_neighbors=5).fit(X), MVU(2, n_neighbors=5, common_neighbors=True).fit(X)
    given = MVU(2, n_neighbors=5, graph="precomputed", common_neighbors=True).fit(pairwise(X))
    assert given.certificate_.lower == pytest.approx(angles.certificate_.lower, rel=1e-6)
    stretched = replace(own.graph_, distances=2 * own.graph_.distances)
    kept = MVU(2, graph=stretched, common_neighbors=True).fit(X).certificate_
    ratio = kept.squared_distances / np.sum((X[kept.edges[:, 0]] - X[kept.edges[:, 1]]) ** 2, axis=1)
    assert np.sum(np.isclose(ratio, 4)) == len(own.certificate_.edges)
    assert np.sum(np.isclose(ratio, 1)) == len(kept.edges) - len(own.certificate_.edges)
    foreign = MVU(2, n_neighbors=5, graph="precomputed").fit(pairwise(X)).graph_
    with pytest.raises(InputError, match="no metric"):
        MVU(2, graph=foreign, common_neighbors=True).fit(X)


@pytest.mark.parametrize(
    ("estimator", "copies"),
    [(MVU(2, method="dense"), 30), (MVU(2), 30), (LaplacianMVU(2, n_eigenvectors=8), 0), (LandmarkMVU(2), 30)],
)
@pytest.mark.every(2)
def test_the_whole_unfolding_is_on_its_principal_axes(estimator, copies):
    X, _ = sheet(100)
    fitted = estimator.fit(np.vstack([X, X[:copies]]))
    F, spectrum = fitted.embedding_full_, fitted.spectrum_
    assert np.abs(F.T @ F - np.diag(spectrum)).max() < 1e-10 * spectrum[0]
    assert np.all(np.diff(spectrum) <= 0)
    assert np.abs(fitted.embedding_) == pytest.approx(np.abs(F[:, :2]), abs=1e-6 * np.abs(F).max())


def test_distances_that_no_points_have_are_refused():
    X = np.random.default_rng(0).random((60, 4))
    settings = {"graph": KNN(12, metric="cityblock"), "constraint": "band"}
    with pytest.raises(InputError, match=r"No points have these distances.*band=0\.01.*slack"):
        MVU(2, band=0.01, **settings).fit(X)
    with pytest.raises(InputError, match=r'at most 15 columns.*method="dense"'):
        MVU(2, method="low-rank", **settings).fit(X)


def test_a_band_stops_while_it_is_still_looking_for_a_start():
    def stop(record):
        told.append(record)
        raise KeyboardInterrupt

    told, (X, _) = [], sheet(300)
    with pytest.warns(ConvergenceWarning, match="Interrupted"):
        mvu = MVU(2, constraint="band", callback=stop).fit(X)
    assert mvu.certificate_.status == "interrupted"
    assert len(told) == 1
    assert told[0]["lower"] == -np.inf
    assert mvu.certificate_.lower <= mvu.certificate_.upper < np.inf
    assert mvu.certificate_.upper <= told[0]["upper"] * 1.001


def test_without_a_bound_no_share_is_claimed():
    certificate = Certificate(1.0, 1.0, np.inf, 0.0)
    solution = Solution(None, np.ones((3, 1)), np.ones(3), certificate, 7, "stalled")
    with pytest.warns(ConvergenceWarning, match=r"no bound was proved on how far its variance is"):
        SDP.of(MVU(2)).report(solution, solution.gap, "variance")


def test_a_report_names_the_objective_with_the_price_of_slack():
    X, y = sheet(40)
    with pytest.warns(ConvergenceWarning, match=r"its dependence on the labels less the price of slack proved within"):
        ColoredMVU(2, constraint="slack", label_kernel="linear", max_iter=8).fit(X, y[:, 0])


def test_forms_of_the_constraint_nest():
    X, _ = sheet(120)
    plain = MVU(2).fit(X).certificate_
    banded = MVU(2, constraint="band", band=0.1).fit(X)
    band, R = banded.certificate_, banded.embedding_full_
    v = np.sum((R[band.edges[:, 0]] - R[band.edges[:, 1]]) ** 2, axis=1) / band.squared_distances
    assert v.min() > 0.899
    assert v.max() < 1.001
    slack = MVU(2, constraint="slack").fit(X).certificate_
    assert band.lower <= plain.upper
    assert plain.lower <= slack.upper
    assert band.weights_below is not None
    assert plain.weights_below is None
    assert (band.constraint, slack.constraint) == ("band", "slack")
    assert MVU(2, constraint="slack", price=1e9).fit(X).certificate_.lower == pytest.approx(plain.lower, rel=2e-3)


def test_precomputed_distances_give_the_same_unfolding():
    X, _ = sheet(150)
    D = np.linalg.norm(X[:, None] - X[None], axis=2)
    plain = MVU(2, n_neighbors=8, extension="eigenfunctions").fit(X)
    given = MVU(2, n_neighbors=8, graph="precomputed").fit(D)
    assert given.certificate_.lower == pytest.approx(plain.certificate_.lower, rel=1e-9)
    assert np.array_equal(given.transform(D), given.embedding_)
    isomap = Isomap(2, n_neighbors=8).fit(X)
    same = MVU(2, graph=isomap.graph_).fit(X)
    assert same.certificate_.lower == pytest.approx(MVU(2, n_neighbors=8).fit(X).certificate_.lower, rel=1e-12)


@pytest.mark.parametrize("extension", ["eigenfunctions", "kernel-map"])
@pytest.mark.parametrize("method", [MVU, LaplacianMVU])
@pytest.mark.every(3)
def test_new_points_may_come_as_rows_of_distances(method, extension):
    X, new = np.split(sheet(170)[0], [150])
    plain = method(2, n_neighbors=8, extension=extension).fit(X)
    given = method(2, n_neighbors=8, extension=extension, graph="precomputed").fit(pairwise(X))
    rows = pairwise(np.vstack([X, new]))[150:, :150]
    assert np.abs(given.transform(rows)) == pytest.approx(np.abs(plain.transform(new)), abs=1e-6)


def test_rows_of_distances_over_more_than_is_embedded():
    X = np.vstack([sheet(100)[0], sheet(20, 1)[0] + 300.0])
    settings = {"n_neighbors": 6, "extension": "eigenfunctions", "disconnected": "largest"}
    with pytest.warns(DisconnectedWarning):
        plain, given = MVU(2, **settings).fit(X), MVU(2, graph="precomputed", **settings).fit(pairwise(X))
    assert np.abs(given.embedding_) == pytest.approx(np.abs(plain.embedding_), abs=1e-6)
    assert np.array_equal(given.transform(pairwise(X)), given.embedding_)
    few = MVU(2, graph="precomputed", landmarks=60).fit(pairwise(X[:100]))
    assert np.array_equal(few.transform(pairwise(X[:100])), few.embedding_)


def test_what_distances_cannot_be_extended_by_is_refused_before_solving():
    def never(record):
        raise AssertionError

    with pytest.raises(InputError, match=r'"eigenfunctions" .* or "kernel-map"'):
        MVU(2, graph="precomputed", extension="barycentric", callback=never).fit(pairwise(sheet(80)[0]))


def test_a_disconnected_graph_is_bridged_with_a_warning_or_refused():
    X = np.vstack([sheet(60)[0], sheet(60, 1)[0] + 200.0])
    with pytest.warns(DisconnectedWarning, match="2 components"), pytest.warns(DegenerateWarning, match="1 dimension:"):
        mvu = MVU(2, n_neighbors=6).fit(X)  # one long bridge: both ends are pulled into a line
    assert mvu.certificate_.gap < 1e-3
    assert np.all(mvu.embedding_[:, 1] == 0)
    assert np.all(mvu.transform(X[:5] + 0.01)[:, 1] == 0)
    with pytest.raises(GraphError, match="2 components"):
        MVU(2, n_neighbors=6, disconnected="raise").fit(X)


@pytest.mark.parametrize("n", [3, 4, 6])
def test_a_handful_of_points(n):
    X = np.random.default_rng(n).standard_normal((n, 3))
    mvu = MVU(1).fit(X)  # all pairs are constrained: nothing can move
    assert mvu.certificate_.gap < 1e-3
    assert mvu.certificate_.lower == pytest.approx(np.sum((X - X.mean(axis=0)) ** 2), rel=1e-3)
    assert np.abs(np.abs(mvu.embedding_) - np.abs(PCA(1).fit_transform(X))).max() < 0.05


def test_three_points_on_a_chain_are_pulled_straight():
    X = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]])
    mvu = MVU(1, graph=(np.array([[1], [0], [1]]), np.ones((3, 1))), tol=1e-6).fit(X)
    assert np.sort(mvu.embedding_.ravel()) == pytest.approx([-1, 0, 1], abs=1e-3)


def test_a_time_limit_says_what_was_reached():
    X, _ = sheet(400)
    with pytest.warns(ConvergenceWarning, match=r"time limit of 0\.01 s"):
        mvu = MVU(2, tol=1e-6, time_limit=0.01).fit(X)
    assert mvu.certificate_.status == "time"
    assert np.all(np.isfinite(mvu.embedding_))


def test_an_interrupt_keeps_the_best_point():
    def stop(record):
        raise KeyboardInterrupt

    with pytest.warns(ConvergenceWarning, match="Interrupted"):
        mvu = MVU(2, callback=stop).fit(sheet(300)[0])
    assert mvu.certificate_.status == "interrupted"
    assert mvu.certificate_.lower > 0


def test_progress_is_told(capsys):
    seen = []
    MVU(2, verbose=1, callback=seen.append).fit(sheet(200)[0])
    assert "gap" in capsys.readouterr().out
    assert seen[-1]["gap"] < 1e-3
    assert seen[-1]["factor"].shape[0] == 200


def test_landmarks_fit_on_some_rows_and_place_the_rest():
    X, T = sheet(2000)
    mvu = MVU(2, landmarks=1000, n_neighbors=8).fit(X)
    assert mvu.embedding_.shape == (2000, 2)
    assert mvu.embedding_full_.shape[0] == 1000
    assert procrustes(T, mvu.embedding_)[2] < 0.03


def test_models_survive_pickling_and_cloning(rolled):
    X, _, mvu = rolled
    again = pickle.loads(pickle.dumps(mvu))
    assert np.array_equal(again.transform(X[1000:1010]), mvu.transform(X[1000:1010]))
    assert clone(mvu).get_params()["n_neighbors"] == 10


def test_frames_and_single_precision():
    X, _ = sheet(120)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    assert MVU(2).set_output(transform="pandas").fit_transform(frame).shape == (120, 2)
    assert MVU(2).fit_transform(X.astype(np.float32)).dtype == np.float32


def test_bad_parameters_are_named():
    X, _ = sheet(50)
    for wrong in (
        {"constraint": "equal lengths"},
        {"band": 1.5},
        {"tol": 0},
        {"time_limit": -1},
        {"extension": "magic"},
    ):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            MVU(2, **wrong).fit(X)
    with pytest.raises(ValueError, match="NaN"):
        MVU(2).fit(np.full((20, 2), np.nan))
    with pytest.raises(GraphError, match="n_neighbors=60"):
        MVU(2, n_neighbors=60).fit(X)


def test_known_coordinates_have_no_place_in_a_learned_gram_matrix():
    X, T = sheet(60)
    with pytest.raises(InputError, match="learns a Gram matrix"):
        Anchored(MVU(2)).fit(X, T)


def test_neighbourhoods_of_copies_alone_are_told():
    X = np.repeat(np.random.default_rng(0).standard_normal((12, 3)), 5, axis=0)
    with pytest.warns((DuplicateWarning, DisconnectedWarning)):
        mvu = MVU(2, n_neighbors=4).fit(X)
    assert np.all(np.isfinite(mvu.embedding_))
