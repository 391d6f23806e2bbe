"""Graph embeddings with known coordinates: dense oracles for every form, accuracy on a sheet that is known, limits, refusals."""

import pickle
import re
import tracemalloc
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
import scipy.linalg as la
import scipy.sparse as sp
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.datasets import make_s_curve, make_swiss_roll
from sklearn.exceptions import NotFittedError
from sklearn.utils import estimator_checks as checks

import eigenspan as es
from eigenspan.errors import (
    DegenerateWarning,
    DisconnectedError,
    DisconnectedWarning,
    GraphError,
    InputError,
)
from eigenspan.methods.semi_supervised.anchored import Anchored
from helpers import ROOT, assert_scikit_learn_agrees, relative

NEIGHBOUR_FORMS = [
    es.LLE(n_neighbors=10),
    es.ModifiedLLE(n_neighbors=10),
    es.HessianLLE(n_neighbors=10),
    es.LTSA(n_neighbors=10),
    es.LaplacianEigenmaps(n_neighbors=10),
    es.DiffusionMap(n_neighbors=10),
    es.CommuteTimeEmbedding(n_neighbors=10),
]
EVERY = [*NEIGHBOUR_FORMS, es.Isomap(n_neighbors=10)]
embeddings = pytest.mark.parametrize("embedding", EVERY, ids=lambda e: type(e).__name__)
forms = pytest.mark.parametrize("form", ["exact", "noisy", "spectral"])


def sheet(n, seed=0):
    """A Swiss roll and its flat coordinates: arc length and height."""
    X, t = make_swiss_roll(n, random_state=seed)
    return X, np.column_stack([(t * np.sqrt(1 + t * t) + np.arcsinh(t)) / 2, X[:, 1]])


def curve(n):
    """An S-curve, which few points sample well, and its flat coordinates."""
    X, t = make_s_curve(n, random_state=0)
    return X, np.column_stack([t, X[:, 1]])


def some(T, m, seed=0):
    """The coordinates of m points, NaN for the others."""
    Y = np.full_like(T, np.nan)
    rows = np.random.default_rng(seed).choice(len(T), m, replace=False)
    Y[rows] = T[rows]
    return Y


def mismatch(Y, T):
    """Root mean square error relative to the spread of the truth."""
    return np.linalg.norm(Y - T) / np.linalg.norm(T - T.mean(axis=0))


def dense_form(embedding, X):
    """The n×n matrix M, and the unit B, that the forms are about."""
    problem = clone(embedding).fit(X).problem_
    A, n = problem.A.to_dense(), len(X)
    B = np.eye(n) if problem.B is None else problem.B.to_dense()
    if problem.sense == "min":
        return A, B
    U = np.linalg.eigh(A)[1][:, -embedding.n_components :]
    return np.eye(n) - 1 / n - U @ U.T, B


def brute(form, beta, M, B, Y):
    """Every form in plain dense algebra."""
    known = ~np.isnan(Y[:, 0])
    G, mu, E = Y[known], np.trace(M) / len(M), np.diag(known.astype(float))
    if form == "exact":
        out = Y.copy()
        out[~known] = -la.solve(M[np.ix_(~known, ~known)], M[np.ix_(~known, known)] @ G)
        return out
    if form == "noisy":
        return la.solve(M + beta * mu * E, beta * mu * E @ np.nan_to_num(Y))
    C = la.null_space(np.column_stack([np.ones(len(G)), G]).T)
    P = np.zeros_like(M)
    P[np.ix_(known, known)] = C @ C.T
    N = la.null_space((B @ np.ones((len(M), 1))).T)
    Z = N @ la.eigh(N.T @ (M + beta * mu * P) @ N, N.T @ B @ N)[1][:, : Y.shape[1]]
    Z1 = np.column_stack([np.ones(len(M)), Z])
    return Z1 @ la.lstsq(Z1[known], G)[0]


# ---------------------------------------------------------------------- oracles
@forms
@embeddings
@pytest.mark.parametrize("beta", [0.01, 3.0])
@pytest.mark.every(4)
def test_the_dense_oracle_agrees(embedding, form, beta):
    X, T = curve(300)
    Y = some(T, 12)
    anchored = Anchored(embedding, form=form, beta=beta).fit(X, Y)
    assert relative(anchored.embedding_, brute(form, beta, *dense_form(embedding, X), Y)) < 1e-6
    np.testing.assert_array_equal(anchored.known_, ~np.isnan(Y[:, 0]))


@pytest.mark.parametrize("beta", [1e-3, 1.0, 1e4])
@pytest.mark.parametrize("embedding", [es.LTSA(n_neighbors=10), es.LaplacianEigenmaps(), es.Isomap()], ids=str)
@pytest.mark.every(3)
def test_the_sparse_solver_finds_the_spectral_form(embedding, beta):
    X, T = sheet(800)
    Y = some(T, 40)
    anchored = Anchored(embedding, form="spectral", beta=beta).fit(X, Y)
    assert anchored.diagnostics_["solver"] == "ShiftInvert"
    assert anchored.problem_.A.dense is None
    assert relative(anchored.embedding_, brute("spectral", beta, *dense_form(embedding, X), Y)) < 1e-5
    assert anchored.eigenvalues_.shape == anchored.residuals_.shape == (2,)


def test_a_known_neighbour_is_all_there_is_to_a_chain():
    """By hand: the Laplacian of a path with unit weights interpolates linearly between its ends."""
    X = np.linspace(0, 1, 9)[:, None]
    D = sp.csr_array(np.abs(np.subtract.outer(np.arange(9), np.arange(9))) == 1, dtype=float)
    Y = np.full(9, np.nan)
    Y[[0, -1]] = 2.0, 10.0
    path = es.LaplacianEigenmaps(1, graph=D, weights="binary")
    np.testing.assert_allclose(Anchored(path).fit(X, Y).embedding_[:, 0], np.linspace(2, 10, 9))
    # one tie of strength beta·mu at either end, in series with eight unit edges
    mu, gap = 16 / 9, 8.0
    ends = Anchored(path, form="noisy", beta=0.5).fit(X, Y).embedding_[[0, -1], 0]
    np.testing.assert_allclose(np.ptp(ends), gap * 8 / (8 + 2 / (0.5 * mu)))


# ---------------------------------------------------------------------- what it is good for
@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("m", [5, 10, 20])
@pytest.mark.parametrize("form", ["exact", "noisy", "spectral"])
@pytest.mark.every(3)
def test_a_handful_of_coordinates_unrolls_the_sheet(form, m, seed):
    X, T = sheet(1000, seed)
    Y = some(T, m, seed)
    alone = es.LTSA(n_neighbors=10).fit_transform(X)
    turn, size = la.orthogonal_procrustes(alone - alone.mean(axis=0), T - T.mean(axis=0))
    best = (alone - alone.mean(axis=0)) @ turn * (size / np.sum((alone - alone.mean(axis=0)) ** 2)) + T.mean(axis=0)
    error = mismatch(Anchored(es.LTSA(n_neighbors=10), form=form).fit(X, Y).embedding_, T)
    assert error < 0.02
    assert error < 0.05 * mismatch(best, T)  # even against its best rotation, scale and shift


@pytest.mark.parametrize(
    ("embedding", "limit"),
    [
        (es.LLE(n_neighbors=10), 0.05),
        (es.ModifiedLLE(n_neighbors=10), 0.005),
        (es.HessianLLE(n_neighbors=10), 0.005),
        (es.Isomap(n_neighbors=10), 0.06),
    ],
    ids=lambda p: type(p).__name__,
)
def test_other_forms_unroll_it_too(embedding, limit):
    X, T = sheet(1000)
    assert mismatch(Anchored(embedding).fit(X, some(T, 20)).embedding_, T) < limit


def test_flat_data_keep_any_affine_map():
    """LTSA's form has no cost for affine coordinates of a plane: d + 1 points determine all others."""
    X = np.random.default_rng(0).uniform(size=(200, 2))
    T = X @ [[2.0, -1.0], [0.5, 3.0]] + [1e6, -5.0]
    for form in ("exact", "noisy", "spectral"):
        Y = Anchored(es.LTSA(n_neighbors=8), form=form).fit(X, some(T, 3)).embedding_
        np.testing.assert_allclose(Y, T, atol=1e-3 if form == "noisy" else 1e-5)


@forms
@embeddings
@pytest.mark.every(4)
def test_an_affine_change_of_the_coordinates_changes_nothing_else(embedding, form):
    X, T = curve(300)
    Y, turn, shift = some(T, 10), np.array([[2.0, 1.0], [-3.0, 0.5]]), np.array([1e5, -7.0])
    before = Anchored(embedding, form=form).fit(X, Y).embedding_
    after = Anchored(embedding, form=form).fit(X, Y @ turn + shift).embedding_
    assert relative(after - shift, before @ turn) < 1e-6


@pytest.mark.parametrize(("form", "beta"), [("exact", 1.0), ("noisy", 1e-6)])
@embeddings
@pytest.mark.every(4)
def test_far_from_the_origin_no_digits_are_lost(embedding, form, beta):
    X, T = sheet(1000)
    Y = some(T, 10)
    near, far = (Anchored(embedding, form=form, beta=beta).fit(X, Y + shift).embedding_ for shift in (0, 1e8))
    np.testing.assert_allclose(far - 1e8, near, atol=1e-4)


# ---------------------------------------------------------------------- limits
@embeddings
@pytest.mark.every(2)
def test_large_beta_is_exact(embedding):
    X, T = curve(300)
    Y = some(T, 12)
    exact = Anchored(embedding).fit(X, Y).embedding_
    far = [
        relative(Anchored(embedding, form="noisy", beta=b).fit(X, Y).embedding_, exact) for b in (1e2, 1e4, 1e6, 1e10)
    ]
    assert all(a > 50 * b for a, b in pairwise(far[:3]))
    assert far[-1] < 1e-6


def test_small_beta_trusts_the_neighbours():
    X, T = sheet(1000)
    Y = some(T, 100)
    rng = np.random.default_rng(0)
    noisy = Y + 3.0 * rng.standard_normal(Y.shape)
    error = {
        b: mismatch(Anchored(es.LTSA(n_neighbors=10), form="noisy", beta=b).fit(X, noisy).embedding_, T)
        for b in (1e-5, 1e5)
    }
    assert error[1e-5] < 0.5 * error[1e5]


def test_beta_is_relative_to_the_form():
    """Weights a thousand times larger change M, and nothing else."""
    X, T = curve(300)
    W = es.LaplacianEigenmaps(n_neighbors=10).fit(X).affinity_.W
    for form in ("noisy", "spectral"):
        small, large = (
            Anchored(es.LaplacianEigenmaps(graph=s * W, weights="precomputed"), form=form, beta=0.3).fit(X, some(T, 10))
            for s in (1.0, 1000.0)
        )
        assert relative(large.embedding_, small.embedding_) < 1e-7


def test_with_the_fewest_points_the_spectral_form_is_the_embedding_in_another_frame():
    X, T = curve(300)
    Y = some(T, 3)
    known = ~np.isnan(Y[:, 0])
    Z = np.column_stack([np.ones(300), es.LTSA(n_neighbors=10).fit_transform(X)])
    expected = Z @ la.solve(Z[known], Y[known])
    for beta in (1.0, 1e3):
        Y3 = Anchored(es.LTSA(n_neighbors=10), form="spectral", beta=beta).fit(X, Y).embedding_
        assert relative(Y3, expected) < 1e-6


def test_known_points_are_kept_and_all_may_be_known():
    X, T = curve(200)
    anchored = Anchored(es.LTSA(n_neighbors=10))
    Y = some(T, 30)
    known = ~np.isnan(Y[:, 0])
    np.testing.assert_array_equal(anchored.fit(X, Y).embedding_[known], T[known])
    np.testing.assert_array_equal(anchored.fit_transform(X, T), T)
    np.testing.assert_array_equal(anchored.transform(X), T)
    noisy = Anchored(es.LTSA(n_neighbors=10), form="noisy").fit_transform(X, T)
    assert relative(noisy, brute("noisy", 1.0, *dense_form(es.LTSA(n_neighbors=10), X), T)) < 1e-8
    for form in ("noisy", "spectral"):
        assert mismatch(Anchored(es.Isomap(n_neighbors=10), form=form).fit_transform(X, T), T) < 1


# ---------------------------------------------------------------------- new points
@embeddings
@pytest.mark.every(2)
def test_training_points_return_their_own_coordinates(embedding):
    X, T = curve(300)
    for form in ("exact", "noisy", "spectral"):
        anchored = Anchored(embedding, form=form)
        np.testing.assert_array_equal(anchored.fit_transform(X, some(T, 12)), anchored.transform(X))


@pytest.mark.parametrize(
    ("embedding", "limit"), [(es.LTSA(n_neighbors=10), 0.02), (es.Isomap(n_neighbors=10), 0.08)], ids=["LTSA", "Isomap"]
)
@forms
@pytest.mark.every(2)
def test_held_out_points_find_their_place(embedding, limit, form):
    X, T = sheet(1300)
    T = T @ [[1.2, 1.6], [-1.6, 1.2]]  # not along Isomap's own axes
    anchored = Anchored(embedding, form=form).fit(X[:1000], some(T[:1000], 20))
    assert mismatch(anchored.transform(X[1000:]), T[1000:]) < limit
    np.testing.assert_allclose(anchored.transform(X[1000:1001]), anchored.transform(X[1000:])[:1], rtol=1e-12)


def test_isomap_of_distances():
    X, T = curve(300)
    D, new = cdist(X[:280], X[:280]), cdist(X[280:], X[:280])
    Y = some(T[:280], 10)
    for form in ("exact", "noisy", "spectral"):
        points = Anchored(es.Isomap(n_neighbors=10), form=form).fit(X[:280], Y)
        pairs = Anchored(es.Isomap(n_neighbors=10, graph="precomputed"), form=form).fit(D, Y)
        assert relative(pairs.embedding_, points.embedding_) < 1e-8
        assert relative(pairs.transform(new), points.transform(X[280:])) < 1e-8
        assert pairs.__sklearn_tags__().input_tags.pairwise


# ---------------------------------------------------------------------- graphs in pieces
@pytest.mark.parametrize(
    "embedding", [es.LTSA(n_neighbors=6), es.LLE(n_neighbors=6), es.LaplacianEigenmaps(n_neighbors=6)], ids=str
)
@pytest.mark.parametrize("form", ["exact", "noisy"])
def test_islands_with_known_points_are_solved_apart_and_not_bridged(islands, embedding, form):
    T = islands.X[:, :2]
    Y = some(T, 30)
    anchored = Anchored(embedding, form=form).fit(islands.X, Y)
    assert anchored.diagnostics_["components"] == 3
    for c in range(3):
        rows = islands.y == c
        apart = Anchored(embedding, form=form).fit(islands.X[rows], Y[rows])
        assert relative(anchored.embedding_[rows], apart.embedding_) < 1e-8
    assert mismatch(anchored.transform(islands.X + 1e-7), anchored.embedding_) < 0.05


def test_an_island_without_known_points_is_refused(islands):
    Y = islands.X[:, :2].copy()
    Y[islands.y > 0] = np.nan
    for form in ("exact", "noisy"):
        with pytest.raises(GraphError, match=r"2 of the 3 components.* 30 of 60 points \(first: 30\)"):
            Anchored(es.LTSA(n_neighbors=6), form=form).fit(islands.X, Y)
    with pytest.warns(DisconnectedWarning):
        bridged = es.LLE(n_neighbors=6).fit(islands.X).graph_
    assert np.isfinite(Anchored(es.LLE(graph=bridged)).fit(islands.X, Y).embedding_).all()


@pytest.mark.parametrize(
    ("embedding", "form"), [(es.LTSA(n_neighbors=6), "spectral"), (es.Isomap(n_neighbors=6), "exact")]
)
def test_spectral_forms_and_isomap_follow_the_policy(islands, embedding, form):
    X, island = islands.X[::-1], islands.y[::-1]  # the largest comes last
    Y = some(X[:, :2], 30)
    with pytest.warns(DisconnectedWarning, match="bridging"):
        Anchored(embedding, form=form).fit(X, Y)
    with pytest.raises(DisconnectedError):
        Anchored(clone(embedding).set_params(disconnected="raise"), form=form).fit(X, Y)
    largest = Anchored(clone(embedding).set_params(disconnected="largest"), form=form)
    with pytest.warns(DisconnectedWarning, match="largest"), pytest.raises(InputError, match="outside the largest"):
        largest.fit(X, Y)
    Y[island > 0] = np.nan
    with pytest.warns(DisconnectedWarning, match="largest"):
        largest.fit(X, Y)
    alone = Anchored(embedding, form=form).fit(X[30:], Y[30:])
    assert relative(largest.embedding_[30:], alone.embedding_) < 1e-8
    assert largest.embedding_.shape == (60, 2)
    assert np.isfinite(largest.embedding_).all()


# ---------------------------------------------------------------------- refusals
def spoiled(how):
    X, T = sheet(120)
    Y = some(T, 12)
    known = np.flatnonzero(~np.isnan(Y[:, 0]))
    if how == "mixed":
        Y[known[:2], 1] = np.nan
    elif how == "infinite":
        Y[known[0], 0] = np.inf
    elif how == "unknown":
        Y[:] = np.nan
    elif how == "short":
        Y = Y[:-1]
    elif how == "wide":
        Y = np.column_stack([Y, Y[:, 0]])
    elif how == "flat":
        Y = Y[:, 0]
    elif how == "none":
        Y = None
    return X, Y


@forms
@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("mixed", r"2 rows of coordinates \(first: \d+\) are NaN in part"),
        ("infinite", "1 rows of known coordinates hold infinity"),
        ("unknown", "None of the 120 points"),
        ("short", r"shape \(119, 2\), but there are 120 points"),
        ("wide", r"shape \(120, 3\).*n_components=2"),
        ("flat", r"shape \(120,\).*pass shape \(120, 2\)"),
        ("none", "requires y to be passed, but the target y is None"),
    ],
)
def test_coordinates_that_cannot_be_used_are_refused(how, message, form):
    X, Y = spoiled(how)
    with pytest.raises(InputError, match=message):
        Anchored(es.LTSA(n_neighbors=10), form=form).fit(X, Y)


def test_an_affine_map_needs_its_points():
    X, T = curve(200)
    for embedding, form in ((es.LTSA(n_neighbors=10), "spectral"), (es.Isomap(n_neighbors=10), "exact")):
        with pytest.raises(InputError, match=r"2 distinct points have known coordinates.* at least 3"):
            Anchored(embedding, form=form).fit(X, some(T, 2))
    line = some(T, 10)
    line[:, 1] = 2 * line[:, 0]
    with pytest.raises(InputError, match="10 known points span only 1 of 2 dimensions"):
        Anchored(es.LTSA(n_neighbors=10), form="spectral").fit(X, line)
    rows = np.array([0, 1, 2])
    X[rows] = X[0]  # one point three times
    with pytest.raises(InputError, match=r"1 distinct point has known coordinates.* at least 3"):
        Anchored(es.Isomap(n_neighbors=10)).fit(X, np.where(np.isin(np.arange(200), rows)[:, None], T, np.nan))


@pytest.mark.parametrize("embedding", [es.LLE(n_neighbors=10), es.Isomap(n_neighbors=10)], ids=["LLE", "Isomap"])
def test_points_on_a_line_hold_the_others_on_it(embedding):
    X, T = curve(200)
    line = some(T, 10)
    line[:, 1] = 2 * line[:, 0]
    with pytest.warns(DegenerateWarning, match="span only 1 of 2 dimensions"):
        Y = Anchored(embedding).fit(X, line).embedding_
    np.testing.assert_allclose(Y[:, 1], 2 * Y[:, 0], rtol=1e-6, atol=1e-6)


def test_where_no_point_is_left_to_place_none_is_missed():
    X, _ = curve(200)
    np.testing.assert_array_equal(Anchored(es.LTSA(n_neighbors=10)).fit(X, np.ones((200, 2))).embedding_, 1.0)


def test_a_plane_needs_three_points():
    X = np.random.default_rng(0).uniform(size=(200, 2))
    for form in ("exact", "noisy"):
        with (
            pytest.warns(DegenerateWarning),
            pytest.raises(InputError, match=r"system of (198|200) points is singular"),
        ):
            Anchored(es.LTSA(n_neighbors=8), form=form).fit(X, some(X, 2))


def test_what_cannot_be_wrapped_is_refused():
    X, T = sheet(120)
    for wrong in (es.PCA(2), es.LTSA, "LTSA", None):
        with pytest.raises(ValueError, match="'embedding' parameter of Anchored must be"):
            Anchored(wrong).fit(X, T)
    for sparse in (es.LTSA(landmarks=40), es.LandmarkIsomap(landmarks=40), es.LandmarkIsomap()):
        with pytest.raises(InputError, match="Leave landmarks out"):
            Anchored(sparse).fit(X, some(T, 10))
    for bad in ({"n_neighbors": 0}, {"disconnected": "never"}):
        with pytest.raises(ValueError, match=f"'{next(iter(bad))}' parameter of LTSA must be"):
            Anchored(es.LTSA(**bad)).fit(X, some(T, 10))
    for bad in ({"beta": 0.0}, {"beta": -1}, {"form": "soft"}):
        with pytest.raises(ValueError, match=next(iter(bad))):
            Anchored(es.LTSA(), **bad).fit(X, some(T, 10))
    with pytest.raises(InputError, match="coordinates"):
        Anchored(es.LaplacianEigenmaps(graph="precomputed")).fit(cdist(X, X), some(T, 10))
    with pytest.raises(NotFittedError):
        Anchored(es.LTSA()).transform(X)


# ---------------------------------------------------------------------- conventions
def test_parameters_go_through_the_wrapper():
    anchored = Anchored(es.LTSA(2, n_neighbors=10), form="noisy", beta=2.0)
    copy = clone(anchored).set_params(embedding__n_neighbors=12, beta=3.0)
    assert copy.get_params()["embedding__n_neighbors"] == 12
    assert anchored.embedding.n_neighbors == 10
    X, T = curve(200)
    before = pickle.dumps(anchored.embedding)
    anchored.fit(X, some(T, 10))
    assert pickle.dumps(anchored.embedding) == before  # the wrapped estimator stays unfitted


@forms
@embeddings
@pytest.mark.every(4)
def test_models_survive_pickling_and_seeds_repeat(embedding, form):
    X, T = curve(200)
    Y = some(T, 10)
    anchored = Anchored(embedding, form=form).fit(X, Y)
    again = pickle.loads(pickle.dumps(anchored))
    np.testing.assert_array_equal(again.transform(X + 0.01), anchored.transform(X + 0.01))
    np.testing.assert_array_equal(clone(anchored).fit(X, Y).embedding_, anchored.embedding_)


@forms
def test_single_precision_stays_single(form):
    X, T = curve(300)
    Y = some(T, 10)
    double = Anchored(es.LTSA(n_neighbors=10), form=form).fit(X.astype(np.float32), Y)
    assert double.embedding_.dtype == double.transform(X.astype(np.float32)).dtype == np.float32
    assert relative(double.embedding_, Anchored(es.LTSA(n_neighbors=10), form=form).fit(X, Y).embedding_) < 1e-2


def test_tables_in_and_out():
    X, T = curve(200)
    Y = pd.DataFrame(some(T, 10), columns=["arc", "height"])
    frame = pd.DataFrame(X, columns=list("abc"))
    anchored = Anchored(es.LTSA(n_neighbors=10)).fit(frame, Y)
    assert list(anchored.feature_names_in_) == list("abc")
    assert list(anchored.get_feature_names_out()) == ["anchored0", "anchored1"]
    out = anchored.set_output(transform="pandas").transform(frame.iloc[:3])
    assert list(out.columns) == ["anchored0", "anchored1"]
    np.testing.assert_array_equal(
        anchored.embedding_, Anchored(es.LTSA(n_neighbors=10)).fit(X, Y.to_numpy()).embedding_
    )


def test_one_coordinate_may_come_flat_and_a_refit_forgets():
    X, T = curve(300)
    y = some(T[:, :1], 10)
    anchored = Anchored(es.LTSA(1, n_neighbors=10), form="spectral")
    assert anchored.fit(X, y).embedding_.shape == (300, 1)
    flat = anchored.set_params(form="exact").fit(X, y[:, 0])
    np.testing.assert_array_equal(flat.embedding_, clone(anchored).fit(X, y).embedding_)
    assert not hasattr(flat, "eigenvalues_")


@forms
@pytest.mark.filterwarnings("ignore::eigenspan.errors.EigenspanWarning")
@pytest.mark.filterwarnings("ignore:X (does not have valid|has) feature names:UserWarning")
@pytest.mark.every(3)
def test_scikit_learn_finds_nothing_to_object_to(form):
    """With one component any y of numbers is a set of known coordinates."""
    anchored = Anchored(es.LLE(1, n_neighbors=4), form=form)
    assert_scikit_learn_agrees(anchored)
    for check in (checks.check_param_validation, checks.check_dataframe_column_names_consistency):
        check("Anchored", clone(anchored))


def test_the_page_runs():
    page = ROOT / "docs" / "anchored.md"
    found = re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    namespace = {}
    for block in found:
        exec(compile(block, page.name, "exec"), namespace)
    assert namespace["error"] < 0.01


def test_nothing_is_n_by_n():
    X, T = sheet(4000)
    for form in ("exact", "noisy", "spectral"):
        tracemalloc.start()
        anchored = Anchored(es.LTSA(n_neighbors=10), form=form).fit(X, some(T, 200))
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 8 * 4000**2 / 3
        assert mismatch(anchored.embedding_, T) < 0.005
