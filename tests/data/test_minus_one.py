"""What −1 means: a class where labels are all there is, a missing label where some are expected to be missing."""

from __future__ import annotations

import inspect
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from sklearn.base import clone
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

import eigenspan as es
from eigenspan.cli.main import main
from eigenspan.errors import InputError, LabelError, LabelWarning
from eigenspan.methods.registry import TABLE
from eigenspan.quality import knn_accuracy
from helpers import angle

TRUTH = np.arange(90) % 3
X = np.random.default_rng(5).standard_normal((90, 5)) + 3.0 * np.eye(3, 5)[TRUTH]

SUPERVISED = [
    es.LDA(2),
    es.LDA(2, kernel="rbf"),
    es.LDA(2, criterion="trace-ratio"),
    es.LFDA(2),
    es.LFDA(2, affinity="local"),
    es.MFA(2),
    es.DNE(2),
    es.LDE(2),
    es.MMC(2),
    es.SupervisedPCA(2),
    es.RoweisDA(2),
    es.LPP(2, graph="class"),
    es.OLPP(2, graph="class"),
    es.NPP(2, graph=es.KNN(5, within_class=True)),
    es.TraceReducer(2, maximise="between", unit="total", basis="linear"),
]
SEMI = [es.SSLFDA(2), es.SSMMC(2), es.SELF(2), es.SDA(2), es.SODA(2), es.SDACCCP(2), es.SSDR(2)]


def fit(estimator: Any, y: Any) -> Any:
    return clone(estimator).fit(X, y)


def test_the_table_decides() -> None:
    """The default mark is None where the table says that a method needs labels or may take them, −1 where some of them are enough."""
    expected = {"labels": None, "optional": None, "some labels": -1}
    for method in TABLE:
        parameter = inspect.signature(method.build).parameters.get("unlabeled")
        if method.own and method.supervision in expected:
            assert parameter is not None, method.name
            assert parameter.default == expected[method.supervision], method.name
            assert f"unlabeled : int, str or None, default={parameter.default}" in method.build.__doc__, method.name


@pytest.mark.parametrize("estimator", SUPERVISED, ids=repr)
def test_minus_one_is_a_class_of_supervised_methods(estimator: Any) -> None:
    named, shifted = fit(estimator, TRUTH), fit(estimator, TRUTH - 1)
    if not isinstance(estimator, es.TraceReducer):
        assert shifted.classes_.tolist() == [-1, 0, 1]
    assert angle(named.embedding_, shifted.embedding_) < 1e-6
    signs = fit(clone(estimator).set_params(n_components=1), np.where(TRUTH == 0, -1, 1))
    assert signs.embedding_.shape == (90, 1)


@pytest.mark.parametrize("mark", [np.nan, None], ids=["NaN", "None"])
@pytest.mark.parametrize("estimator", SUPERVISED, ids=repr)
def test_missing_labels_are_missing_beside_the_class(estimator: Any, mark: Any) -> None:
    hidden = np.arange(90) % 4 == 0
    y = np.where(hidden, mark, (TRUTH - 1).astype(object if mark is None else float))
    some = fit(estimator, y)
    same = fit(clone(estimator).set_params(unlabeled=-7), np.where(hidden, -7, TRUTH - 1))
    assert angle(some.embedding_, same.embedding_) < 1e-6
    if not isinstance(estimator, es.TraceReducer):
        assert list(some.classes_) == list(same.classes_) == [-1, 0, 1]


@pytest.mark.parametrize("estimator", SEMI, ids=repr)
def test_minus_one_is_missing_in_semi_supervised_methods(estimator: Any) -> None:
    some = fit(clone(estimator).set_params(n_components=1), TRUTH - 1)
    assert some.classes_.tolist() == [0, 1]
    assert fit(clone(estimator).set_params(unlabeled=None), TRUTH - 1).classes_.tolist() == [-1, 0, 1]
    with pytest.raises(LabelError, match=r"exactly \{-1, \+1\}.*unlabeled=None"):
        fit(estimator, np.where(TRUTH == 0, -1, 1))


def test_blocks_of_rows_have_the_class() -> None:
    lda = es.LDA().partial_fit(X[:45], TRUTH[:45] - 1).partial_fit(X[45:], TRUTH[45:] - 1)
    assert lda.classes_.tolist() == [-1, 0, 1]
    np.testing.assert_allclose(lda.eigenvalues_, es.LDA().fit(X, TRUTH).eigenvalues_)
    signs = np.where(TRUTH[:45] == 0, -1, 1)
    assert es.LDA().partial_fit(X[:45], signs).classes_.tolist() == [-1, 1]


@pytest.mark.parametrize("gamma", [0.0, 0.5])
def test_a_supervised_method_asked_for_unlabelled_points_doubts_the_class(gamma: float) -> None:
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        es.LFDA(2, gamma=gamma).fit(X, TRUTH - 1)
        es.LFDA(2, gamma=gamma).fit(
            X, np.where(TRUTH == 0, -1, 1)
        )  # two classes, or there would be nothing to tell apart
        es.LFDA(1, gamma=gamma, unlabeled=-1).fit(X, TRUTH - 1)
        es.SSLFDA(2, gamma=gamma, unlabeled=None).fit(X, TRUTH - 1)
    doubts = [str(w.message) for w in told if "contain -1" in str(w.message)]
    assert len(doubts) == (gamma > 0)
    assert all("pass unlabeled=-1 or use SSLFDA" in text and "2 others" in text for text in doubts)
    if gamma:
        with pytest.warns(LabelWarning, match="contain -1"):
            es.RegularizedSearch(es.LFDA(2), {"gamma": [0.0, gamma]}).fit(X, TRUTH - 1)


# ---------------------------------------------------------------------- the tools around them
def test_a_search_reads_labels_as_its_estimator_does() -> None:
    search = es.RegularizedSearch(es.LDA(), {"shrinkage": [0.1, 0.5]})
    assert search.fit(X, TRUTH - 1).best_estimator_.classes_.tolist() == [-1, 0, 1]
    assert search.results_ == es.RegularizedSearch(es.LDA(), {"shrinkage": [0.1, 0.5]}).fit(X, TRUTH).results_
    semi = es.RegularizedSearch(es.SSLFDA(1), {"gamma": [0.1]}).fit(X, TRUTH - 1)
    assert semi.best_estimator_.classes_.tolist() == [0, 1]
    graph = es.RegularizedSearch(es.LPP(2), {"graph": [None, "class"]}).fit(X, TRUTH - 1)
    assert graph.results_ == es.RegularizedSearch(es.LPP(2), {"graph": [None, "class"]}).fit(X, TRUTH).results_
    ignoring = es.RegularizedSearch(
        es.LPP(2), {"n_neighbors": [5]}
    )  # reads no label itself: the search has some hidden
    some = np.where(np.arange(90) % 2 == 0, TRUTH, -1)
    nothing = np.where(np.arange(90) % 2 == 0, TRUTH, np.nan)
    assert ignoring.fit(X, some).results_ == ignoring.fit(X, nothing).results_


def test_steps_that_read_labels_must_agree_and_others_need_not() -> None:
    some = np.where(np.arange(90) % 2 == 0, TRUTH, -1)
    with pytest.raises(InputError, match="different markers of unlabelled points"):
        es.RegularizedSearch(make_pipeline(es.SSLFDA(4), es.LDA(2)), {"sslfda__gamma": [0.1]}).fit(X, some)
    steps = make_pipeline(es.LPP(4), es.SSLFDA(1))
    search = es.RegularizedSearch(steps, {"sslfda__gamma": [0.1]}).fit(X, some)
    assert search.best_estimator_[-1].classes_.tolist() == [0, 1, 2]


def test_folds_and_classifiers_of_the_labelled_keep_their_mark() -> None:
    some = np.where(np.arange(90) % 2 == 0, TRUTH, -1)
    tests = [test for _, test in es.SemiSupervisedKFold(3).split(X, some)]
    np.testing.assert_array_equal(np.sort(np.concatenate(tests)), np.flatnonzero(some >= 0))
    assert es.LabelledOnly(KNeighborsClassifier(1)).fit(X, some).classes_.tolist() == [0, 1, 2]


def test_accuracies_count_the_class() -> None:
    assert knn_accuracy(X, TRUTH - 1, X, TRUTH - 1) == 1.0
    missing: Any = [None, *(TRUTH[1:] - 1).tolist()]
    for labels in (missing, np.array(missing, dtype=object), np.where(np.arange(90) == 0, np.nan, TRUTH)):
        with pytest.raises(LabelError, match="1 of the train_labels are missing"):
            knn_accuracy(X, labels, X, TRUTH)


@pytest.mark.parametrize(
    "method, labelled", [("LDA", "3 classes; 90 of 90"), ("SSLFDA", "2 classes; 60 of 90")], ids=["LDA", "SSLFDA"]
)
@pytest.mark.parametrize("text", [False, True], ids=["numbers", "text"])
def test_the_command_line_does_the_same(method: str, labelled: str, text: bool, tmp_path: Any) -> None:
    names = np.array(["-1", "a", "b"])[TRUTH] if text else TRUTH - 1
    pd.DataFrame(X).add_prefix("x").assign(kind=names).to_csv(tmp_path / "t.csv", index=False)
    told = [
        "embed",
        str(tmp_path / "t.csv"),
        "--label",
        "kind",
        "-m",
        method,
        "-d",
        "1",
        "-o",
        str(tmp_path / "out.csv"),
    ]
    result = CliRunner().invoke(main, told)
    assert result.exit_code == 0, result.output
    assert f"{labelled} rows had a label" in result.output
