"""``n_components="auto"``: as many axes as a spectrum tells, and a reason where it does not."""

import inspect
import pickle

import numpy as np
import pytest
from scipy.spatial.distance import pdist, squareform
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine, make_swiss_roll

import eigenspan as es
from eigenspan._compat import make_constraint
from eigenspan.errors import DimensionError, InputError, LabelWarning
from grouping import longer
from helpers import quietly

RNG = np.random.default_rng(0)
NOISY = RNG.standard_normal((250, 4)) @ RNG.standard_normal((4, 15)) + 0.1 * RNG.standard_normal((250, 15))
ROLL = make_swiss_roll(900, random_state=5)[0]
SMALL_ROLL = make_swiss_roll(600, random_state=0)[0]
WINE = load_wine(return_X_y=True)
TELLING = {
    "PCA", "PPCA", "ClassicalMDS", "LandmarkMDS", "Isomap", "LandmarkIsomap", "KernelIsomap", "OrdinalIsomap", "LDA", "MVU", "RelaxedMVU",
    "ActionRespectingEmbedding", "SupervisedMVU", "SMVU1", "SMVU2", "ColoredMVU", "ConformalEigenmaps",
    "MaximumCovarianceUnfolding",
}  # fmt: skip
CASES = {
    "PCA": (lambda: es.PCA("auto"), (NOISY,), 4),
    "PCA, whitened": (lambda: es.PCA("auto", whiten=True), (NOISY,), 4),
    "PPCA": (lambda: es.PPCA("auto"), (NOISY,), 4),
    "ClassicalMDS": (lambda: es.ClassicalMDS("auto"), (NOISY,), 4),
    "ClassicalMDS, distances": (lambda: es.ClassicalMDS("auto", metric="precomputed"), (squareform(pdist(NOISY)),), 4),
    "LandmarkMDS": (lambda: es.LandmarkMDS("auto", landmarks=60), (NOISY,), 4),
    "Isomap": (lambda: es.Isomap("auto"), (ROLL,), 2),
    "KernelIsomap": (lambda: es.KernelIsomap("auto"), (ROLL,), 2),
    "OrdinalIsomap": (lambda: es.OrdinalIsomap("auto"), (ROLL,), 2),
    "Isomap with landmarks": (lambda: es.Isomap("auto", landmarks=100), (ROLL,), 2),
    "LandmarkIsomap": (lambda: es.LandmarkIsomap("auto", landmarks=150), (ROLL,), 2),
    "MVU": (lambda: es.MVU("auto", n_neighbors=6), (SMALL_ROLL,), 2),
    "LDA": (lambda: es.LDA("auto"), WINE, 2),
}  # fmt: skip


QUICK = ["PCA", "ClassicalMDS", "LandmarkMDS", "KernelIsomap", "LandmarkIsomap", "MVU", "LDA"]


@pytest.fixture(scope="module", params=[*QUICK, *longer(*(name for name in CASES if name not in QUICK))])
def case(request):
    make, given, d = CASES[request.param]
    return make().fit(*given), given, d


def test_the_number_is_found_and_everything_has_that_width(case):
    fitted, given, d = case
    assert fitted.n_components_ == d
    assert fitted.n_components == "auto"
    Y = fitted.transform(given[0][:7])
    assert fitted.embedding_.shape == (len(given[0]), d)
    assert Y.shape == (7, d)
    assert len(fitted.get_feature_names_out()) == d
    assert fitted.eigenvalues_.shape == (d,)
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.transform(given[0][:7]), Y)
    table = clone(fitted).set_output(transform="pandas").fit_transform(*given)
    assert table.shape == (len(given[0]), d)


def test_the_axes_are_those_of_the_same_number(case):
    fitted, given, d = case
    asked = clone(fitted).set_params(n_components=d).fit(*given)
    tolerance = 0.03 if hasattr(fitted, "certificate_") else 1e-5  # an unfolding is solved to its tol
    np.testing.assert_allclose(
        np.abs(asked.embedding_), np.abs(fitted.embedding_), atol=tolerance * np.abs(fitted.embedding_).max()
    )
    assert asked.n_components_ == d


def test_the_spectrum_that_told_is_there():
    for fitted in (es.ClassicalMDS("auto").fit(NOISY), es.Isomap("auto", landmarks=60).fit(ROLL)):
        assert fitted.spectrum_.size >= fitted.n_components_
        np.testing.assert_allclose(fitted.spectrum_[: fitted.n_components_], fitted.eigenvalues_, rtol=1e-6)


def test_moments_tell_as_rows_do(tmp_path):
    parts = es.PCA("auto").partial_fit(NOISY[:90]).partial_fit(NOISY[90:])
    assert parts.n_components_ == 4
    np.save(tmp_path / "X.npy", NOISY)
    assert es.PCA("auto").fit(np.load(tmp_path / "X.npy", mmap_mode="r")).n_components_ == 4
    X, y = WINE
    streamed = es.LDA("auto").partial_fit(X[::2], y[::2]).partial_fit(X[1::2], y[1::2])
    assert streamed.n_components_ == es.LDA("auto").fit(X, y).n_components_ == 2


def test_pca_and_ppca_and_mds_agree():
    X, _ = load_iris(return_X_y=True)
    numbers = [cls("auto").fit(X).n_components_ for cls in (es.PCA, es.PPCA, es.ClassicalMDS, es.LandmarkMDS)]
    assert len(set(numbers)) == 1


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("k", [8, 11])
@pytest.mark.every(3)
def test_isomap_of_rolls(seed, k):
    X, _ = make_swiss_roll(1000, noise=0.2, random_state=seed)
    assert es.Isomap("auto", n_neighbors=k).fit(X).n_components_ == 2


def test_a_large_gram_matrix_is_told_by_its_first_eigenvalues(monkeypatch):
    from eigenspan.methods.distances import classical_mds as distances

    whole = es.Isomap("auto").fit(ROLL[:500])
    monkeypatch.setattr(distances, "_WHOLE", 10)
    part = es.Isomap("auto").fit(ROLL[:500])
    assert part.n_components_ == whole.n_components_
    np.testing.assert_allclose(part.spectrum_, whole.spectrum_[: part.spectrum_.size], rtol=1e-6, atol=1e-6)


def test_rows_that_repeat_tell_as_often_as_they_occur():
    fitted = es.Isomap("auto").fit(np.vstack([ROLL[:700], ROLL[:100]]))
    assert fitted.n_components_ == 2
    assert fitted.embedding_.shape == (800, 2)


# ---------------------------------------------------------------------- discriminants
def groups(separations, D=6, n=60, seed=0):
    """Classes with means on axes of these lengths."""
    rng = np.random.default_rng(seed)
    means = np.zeros((4, D))
    means[1:4, :3] = np.diag(separations)
    y = np.repeat(np.arange(4), n)
    return rng.standard_normal((4 * n, D)) + means[y], y


@pytest.mark.parametrize(("separations", "d"), [((6, 4, 3), 3), ((6, 4, 0), 2), ((6, 0, 0), 1)])
def test_discriminants_that_are_there(separations, d):
    found = [es.LDA("auto").fit(*groups(separations, seed=seed)).n_components_ for seed in range(10)]
    assert found.count(d) >= 8  # one in twenty has one more by chance


def test_discriminants_by_the_tests_of_canonical_correlations():
    """LDA is CCA with the classes, one column each: the same tests."""
    X, y = groups((2, 0.6, 0))
    lda = es.LDA("auto").fit(X, y)
    table = es.CCA(3).fit(X, np.eye(4)[y][:, :3]).significance()
    np.testing.assert_allclose(lda.diagnostics_["p_values"], table["p_F"], rtol=1e-6)
    assert lda.n_components_ == int(np.sum(np.cumprod(table["p_F"] < 0.05)))


def test_no_discriminant_is_told_of():
    rng = np.random.default_rng(3)
    with pytest.warns(LabelWarning, match="No discriminant direction is significant"):
        assert es.LDA("auto").fit(rng.standard_normal((150, 4)), np.arange(150) % 3).n_components_ == 1


@pytest.mark.parametrize(
    "given",
    [{"kernel": "rbf"}, {"ridge": 0.1}, {"shrinkage": 0.2}, {"criterion": "trace-ratio"}],
    ids=lambda g: next(iter(g)),
)
def test_discriminants_without_a_test(given):
    with pytest.raises(InputError, match="Wilks"):
        es.LDA("auto", **given).fit(*WINE)


def test_too_few_rows_to_test_discriminants():
    rng = np.random.default_rng(0)
    with pytest.raises(DimensionError, match="12 labelled rows of 11 dimensions in 3 classes"):
        es.LDA("auto").fit(rng.standard_normal((12, 20)), np.arange(12) % 3)


# ---------------------------------------------------------------------- where the spectrum does not tell
def accepts(cls):
    return any(make_constraint(c).is_satisfied_by("auto") for c in cls._parameter_constraints["n_components"])


@pytest.mark.parametrize(
    "name", [n for n in es.__all__ if "n_components" in getattr(getattr(es, n), "_parameters", {})]
)
def test_told_or_refused_with_a_reason(name):
    cls = getattr(es, name)
    assert accepts(cls) == (name in TELLING)
    if name in TELLING:
        assert '"auto"' in inspect.getdoc(cls).split("n_components :")[1][:40]
        return
    needed = {"minimise": "laplacian"} if name == "TraceReducer" else {}
    with pytest.raises(InputError, match="intrinsic_dimension") as refused:
        cls(n_components="auto", **needed).fit(*WINE)
    assert any(word in str(refused.value) for word in ("eigenvalues", "spectrum", "test", "landmarks"))


@pytest.mark.parametrize("given", [{"ridge": 0.1}, {"shrinkage": 0.5}, {"criterion": "trace-ratio"}])
def test_untested_directions_are_refused_from_sums_too(given):
    with pytest.raises(InputError, match=r"Wilks' lambda.*not known with"):
        es.LDA("auto", **given).partial_fit(*WINE)


@pytest.mark.parametrize("first", [1, 8])
def test_directions_are_tested_as_soon_as_there_are_rows_enough(first):
    """More rows than features and classes together: 13 + 3, and not one fewer."""
    X, y = WINE
    rows = np.concatenate([np.flatnonzero(y == 0)[:8], np.flatnonzero(y == 1)[:7], np.flatnonzero(y == 2)[:1]])
    rows = np.roll(rows, first)  # all classes are among the first fifteen
    streamed = es.LDA("auto").partial_fit(X[rows[:7]], y[rows[:7]])
    streamed.partial_fit(X[rows[7:15]], y[rows[7:15]])
    assert not hasattr(streamed, "components_")
    quietly(lambda: streamed.partial_fit(X[rows[15:]], y[rows[15:]]))
    whole = quietly(lambda: es.LDA("auto").fit(X[rows], y[rows]))
    assert streamed.n_components_ == whole.n_components_
    np.testing.assert_allclose(
        np.abs(streamed.components_), np.abs(whole.components_), rtol=1e-4, atol=1e-6 * np.abs(whole.components_).max()
    )
