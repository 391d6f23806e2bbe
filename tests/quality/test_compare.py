"""`compare`: fitting and measuring several methods, and continuing from a folder."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

import eigenspan
from eigenspan import LLE, PCA, Isomap, compare, evaluate
from eigenspan.errors import DisconnectedWarning, FitWarning, InputError


@pytest.fixture(scope="module")
def wines():
    X, y = load_wine(return_X_y=True)
    return StandardScaler().fit_transform(X), y


def test_methods_by_name_and_by_estimator(wines):
    X, y = wines
    methods = ["PCA", "lda", Isomap(2, n_neighbors=20), LLE(3)]
    result = compare(X, methods, y)
    assert list(result.embeddings) == ["PCA", "LDA", "Isomap", "LLE"]
    assert result.embeddings["LLE"].shape == (len(X), 3)
    assert result.estimators["Isomap"].n_neighbors == 20
    assert not result.failures
    np.testing.assert_allclose(np.abs(result.embeddings["PCA"]), np.abs(PCA(2).fit_transform(X)))
    assert not hasattr(methods[2], "embedding_")


def test_measures_equal_those_of_evaluate(wines):
    X, y = wines
    result = compare(X, {"first": PCA(1), "second": PCA(2)}, y, n_neighbors=7)
    own = evaluate(X, result.embeddings, y, n_neighbors=7, random_state=0)
    assert result.frame.equals(own)
    table = result.table
    assert list(table.index) == ["first", "second"]
    assert table.columns[0] == "seconds"
    assert table.loc["second", "trustworthiness"] > table.loc["first", "trustworthiness"]
    assert "second" in str(result)


def test_default_methods(wines):
    X, y = wines
    assert next(iter(compare(X[::3], measures=["trustworthiness"], n_neighbors=5).embeddings)) == "PCA"
    assert "LDA" in compare(X[::3], None, y[::3], measures=["trustworthiness"], n_neighbors=5).embeddings


def test_pipelines_and_two_estimators_of_one_class(wines):
    X, _ = wines
    result = compare(X, [PCA(2), make_pipeline(MinMaxScaler(), PCA(2)), PCA(1), PCA(3)], measures=["trustworthiness"])
    assert list(result.embeddings) == ["PCA", "Pipeline", "PCA 2", "PCA 3"]
    assert result.embeddings["Pipeline"].std() != result.embeddings["PCA"].std()


def test_a_method_that_fails_does_not_stop_the_others(wines):
    X, _ = wines
    with pytest.warns(FitWarning, match=r"1 of the 2 methods could not be fitted\. LDA:"):
        result = compare(X, ["LDA", "PCA"])
    assert list(result.embeddings) == ["PCA"]
    assert "LDA failed" in str(result)
    with pytest.raises(InputError, match="2 of the 2 methods could not be fitted"):
        compare(X, ["LDA", "LFDA"])


def test_warnings_of_methods_are_recorded_and_given():
    X = np.vstack([np.random.default_rng(0).normal(size=(30, 3)) + shift for shift in (0, 100)])
    with pytest.warns(DisconnectedWarning):
        result = compare(X, ["PCA", "LLE"], n_neighbors=5, measures=["trustworthiness"])
    assert list(result.warnings) == ["LLE"]
    assert "2 components" in result.warnings["LLE"][0]


# ------------------------------------------------------------------------------------------- continuing from a folder
@pytest.fixture
def fits(monkeypatch):
    """Return a list to which every fit appends the name of its class."""
    seen = []
    plain = eigenspan.methods.base.contract.Reducer.fit

    def fit(self, X, y=None):
        seen.append(type(self).__name__)
        return plain(self, X, y)

    monkeypatch.setattr(eigenspan.methods.base.contract.Reducer, "fit", fit)
    return seen


def test_stored_methods_are_not_fitted_again(wines, tmp_path, fits):
    X, y = wines
    first = compare(X, ["PCA", "Isomap"], y, folder=tmp_path / "kept")
    assert fits == ["PCA", "Isomap"]
    again = compare(X, ["PCA", "Isomap", "LPP"], y, folder=tmp_path / "kept")
    assert fits == ["PCA", "Isomap", "LPP"]
    np.testing.assert_array_equal(first.embeddings["Isomap"], again.embeddings["Isomap"])
    assert again.seconds["Isomap"] == first.seconds["Isomap"]
    assert list(again.estimators) == ["LPP"]
    assert again.table.loc["PCA"].equals(first.table.loc["PCA"])


@pytest.mark.parametrize("change", ["data", "labels", "parameter"])
def test_changed_methods_or_data_are_fitted_again(wines, tmp_path, fits, change):
    X, y = wines
    compare(X, [Isomap(2, n_neighbors=9)], y, folder=tmp_path, measures=["trustworthiness"])
    X2, y2 = (X * 1.0000001 if change == "data" else X), (y + 1 if change == "labels" else y)
    k = 10 if change == "parameter" else 9
    compare(X2, [Isomap(2, n_neighbors=k)], y2, folder=tmp_path, measures=["trustworthiness"])
    assert fits == ["Isomap", "Isomap"]


def test_an_interrupted_comparison_continues(wines, tmp_path, fits):
    X, y = wines

    def stop(name, number, count):
        assert count == 2
        if number == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        compare(X, ["PCA", "Isomap"], y, folder=tmp_path, callback=stop)
    compare(X, ["PCA", "Isomap"], y, folder=tmp_path)
    assert fits == ["PCA", "Isomap"]


def test_a_damaged_file_is_replaced(wines, tmp_path, fits):
    X, _ = wines
    compare(X, ["PCA"], folder=tmp_path)
    (file,) = tmp_path.iterdir()
    file.write_bytes(file.read_bytes()[:100])
    with pytest.warns(FitWarning, match="cannot be read"):
        compare(X, ["PCA"], folder=tmp_path)
    compare(X, ["PCA"], folder=tmp_path)
    assert fits == ["PCA", "PCA"]


def test_progress_is_shown_if_verbose(wines, capfd):
    compare(wines[0], ["PCA"], measures=["trustworthiness"], verbose=True)
    out, err = capfd.readouterr()
    assert out == ""
    assert "measures" in err


@pytest.mark.parametrize(
    "methods, message",
    [
        ([], "methods is empty"),
        ([3], "must be names such as 'PCA'"),
        ([PCA], "must be names such as 'PCA'"),
        (["umapp"], "There is no method 'umapp'"),
    ],
)
def test_invalid_methods_are_refused(wines, methods, message):
    with pytest.raises(InputError, match=message):
        compare(wines[0], methods)


def test_a_folder_that_is_a_file_and_a_parameter_that_cannot_be_pickled(wines, tmp_path):
    (tmp_path / "x").write_text("")
    with pytest.raises(InputError, match="is a file"):
        compare(wines[0], ["PCA"], folder=tmp_path / "x")
    with pytest.raises(InputError, match="cannot be pickled"):
        compare(wines[0], [eigenspan.KernelPCA(2, kernel=lambda A, B: A @ B.T)], folder=tmp_path)


def test_plots(wines):
    X, y = wines
    result = compare(X, ["PCA", "Isomap"], y)
    shown = result.plot()
    assert [ax.get_title().split("\n")[0] for ax in shown.figure_.axes[:2]] == ["PCA", "Isomap"]
    assert len(result.plot_ranks().ax_.lines) >= 2
    with pytest.raises(InputError, match="no measure 'beauty'"):
        result.plot("beauty")
