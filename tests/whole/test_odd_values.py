"""Values that nobody means, in every place that takes one: refused with words that name what was found and what belongs there."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from click.testing import CliRunner
from sklearn.base import clone
from sklearn.decomposition import FactorAnalysis, TruncatedSVD
from sklearn.linear_model import LinearRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.utils._param_validation import InvalidParameterError

import eigenspan as es
from eigenspan.cli import main
from eigenspan.cli.bundle import load
from eigenspan.errors import EigenspanError, EigenspanWarning, ModelError
from eigenspan.models.archive import OBJECTS
from eigenspan.models.model_files import write_model
from eigenspan.problem import Form
from eigenspan.quality import continuity, trustworthiness
from helpers import pairwise, relative
from model_files import entries, forged

RNG = np.random.default_rng(0)
X = RNG.standard_normal((30, 5))
Y = np.arange(30) % 3
SOME = np.where(np.arange(30) % 2 == 0, Y, -1)
N = len(X)
EQUAL = np.full((N, 5), 2.5)
FIRST = KNeighborsClassifier(1)
SEARCH = {"gamma": [0.1, 1.0]}


def form(value: float) -> Callable[[Any, Any], Form]:
    return lambda points, y: Form(N, dense=np.full((N, N), value))


def names(X: Any, y: Any) -> Form:
    raise KeyError("no such column")


#: A class where an object, a function or a table belongs: it has the methods, can be called, and may have a length.
CLASSES: dict[str, tuple[Callable[[], Any], str]] = {
    "External": (lambda: es.External(TruncatedSVD).fit(X), "'fit_transform'"),
    "LabelledOnly": (lambda: es.LabelledOnly(KNeighborsClassifier).fit(X, SOME), "'fit' and 'predict'"),
    "RegularizedSearch": (lambda: es.RegularizedSearch(es.SSLFDA).fit(X, SOME), "'fit' and 'transform'"),
    "minimise": (lambda: es.TraceReducer(minimise=dict).fit(X), "a function of 2 values"),
    "maximise": (lambda: es.TraceReducer(maximise=dict).fit(X), "a function of 2 values"),
    "unit": (lambda: es.TraceReducer(unit=dict).fit(X), "a function of 2 values"),
    "label_kernel": (lambda: es.ColoredMVU(label_kernel=dict).fit(X, Y), "'label_kernel'"),
    "priors": (lambda: es.LDA(priors=dict).fit(X, Y), "an array-like"),
    "landmarks": (lambda: es.Isomap(landmarks=dict).fit(X), "an array-like"),
    "kernels": (lambda: es.KernelLearner(kernels=dict).fit(X, Y > 0), "a list of at least one kernel"),
    "kernel": (lambda: es.LPP(kernel=es.Kernel).fit(X), "'kernel'"),
    "callback": (lambda: es.MVU(callback=dict).fit(X), "a function of 1 value"),
    "weights": (lambda: es.LPP(weights=es.Heat).fit(X), "'weights'"),
}

#: Anything else.
VALUES: dict[str, tuple[Callable[[], Any], str]] = {
    "no name": (lambda: es.make(), "There is no method ''"),
    "another library's parameters": (lambda: es.make("TSNE", perplexty=3), "Did you mean 'perplexity'"),
    "another library's positions": (lambda: es.make("TSNE", 2, 3), "TSNE: too many positional arguments"),
    "positions": (lambda: es.make("LPP", 2, 3), "LPP: too many positional arguments"),
    "True components": (lambda: es.make("FactorAnalysis", True).fit(X), "is a truth value"),
    "True components within": (lambda: es.External(TruncatedSVD(True)).fit(X), "is a truth value"),
    "NCA without y": (lambda: es.make("NCA").fit(X), "requires y to be passed"),
    "NCA of single points": (lambda: es.make("NCA").fit(X, np.arange(N)), "30 rows of 5 columns"),
    "too many components": (lambda: es.make("NCA", 9).fit(X, Y), "n_components=9"),
    "t-SNE in 5 dimensions": (lambda: es.make("TSNE", 5, perplexity=5).fit(X), "barnes_hut"),
    "function of too few": (lambda: es.TraceReducer(minimise=lambda points: None).fit(X), "a function of 2 values"),
    "callback of nothing": (lambda: es.MVU(callback=lambda: None).fit(X), "a function of 1 value"),
    "form that raises": (lambda: es.TraceReducer(minimise=names).fit(X), "raised KeyError"),
    "form of NaN": (lambda: es.TraceReducer(minimise=form(np.nan)).fit(X), "30 of the 30 rows of a form"),
    "form of infinity": (lambda: es.TraceReducer(minimise=form(np.inf)).fit(X), "30 of the 30 rows of a form"),
    "unit of NaN": (lambda: es.TraceReducer(unit=form(np.nan)).fit(X), "30 of the 30 rows of a form"),
    "dict of priors": (lambda: es.LDA(priors={}).fit(X, Y), "an array-like"),
    "text of priors": (lambda: es.LDA(priors=["a", "b", "c"]).fit(X, Y), "priors must be real numbers"),
    "dict of a label kernel": (lambda: es.ColoredMVU(label_kernel={}).fit(X, Y), "'label_kernel'"),
    "text of a label kernel": (lambda: es.ColoredMVU(label_kernel=[["a"]]).fit(X, Y), "must be real numbers"),
    "number of landmarks": (lambda: es.Isomap(landmarks=es.Landmarks("a")).fit(X), "Landmarks(n='a') cannot be used"),
    "regressor": (lambda: es.LabelledOnly(LinearRegression()).fit(X, SOME), "needs a classifier"),
    "list for a classifier": (lambda: es.LabelledOnly([]).fit(X, SOME), "'fit' and 'predict'"),
    "text among numbers": (
        lambda: es.RegularizedSearch(es.SSLFDA(2), {"gamma": ["a", 1.0]}).fit(X, SOME),
        "'gamma' parameter of SSLFDA",
    ),
    "negative number to try": (
        lambda: es.RegularizedSearch(es.SSLFDA(2), {"gamma": [-1.0, 1.0]}).fit(X, SOME),
        "'gamma' parameter of SSLFDA",
    ),
    "haversine, ranked": (lambda: trustworthiness(X, X[:, :2], metric="haversine"), "metric='haversine' cannot"),
    "haversine, near": (lambda: continuity(X, X[:, :2], metric="haversine"), "metric='haversine' cannot"),
    "metric of text": (lambda: trustworthiness(X, X[:, :2], metric=lambda a, b: "x"), "returned 'x' for two rows"),
    "metric of NaN": (lambda: continuity(X, X[:, :2], metric=lambda a, b: np.nan), "returned nan for two rows"),
    "unknown metric": (lambda: continuity(X, X[:, :2], metric="no-such"), "metric='no-such' cannot be used"),
}

#: What is no table, and the words that refuse it.
TABLES: dict[str, tuple[Any, str]] = {
    "0-d": (np.float64(3), "got scalar array instead"),
    "None": (None, "X must be a table of numbers"),
    "text": ("abc", "is text, not a table of numbers"),
    "dict": ({"a": 1}, "X is a dict"),
    "ragged": ([[1.0], [1.0, 2.0]], "X must be a table of numbers"),
}
READERS: dict[str, Callable[[Any], Any]] = {
    "LabelledOnly": lambda Z: es.LabelledOnly(FIRST).fit(Z, SOME),
    "RegularizedSearch": lambda Z: es.RegularizedSearch(es.SSLFDA(2), SEARCH).fit(Z, SOME),
    "RegularizedSearch, no grid": lambda Z: es.RegularizedSearch(es.SSLFDA(2)).fit(Z, SOME),
    "SemiSupervisedKFold": lambda Z: list(es.SemiSupervisedKFold(3).split(Z, SOME)),
}
VALUES |= {
    f"{reader} of {table}": (lambda read=read, Z=Z: read(Z), words)
    for reader, read in READERS.items()
    for table, (Z, words) in TABLES.items()
    if (reader, table) != ("SemiSupervisedKFold", "None")  # whose folds are of y alone
}
VALUES |= {
    f"{name} of equal rows": (lambda made=made: clone(made).fit(EQUAL, Y), "All 30 rows coincide")
    for name, made in {
        "NCA": es.make("NCA"), "FactorAnalysis": es.make("FactorAnalysis"), "FastICA": es.make("FastICA"),
        "a reducer within": es.External(FactorAnalysis(2)), "TraceReducer": es.TraceReducer(basis="samples", minimise="tangent"),
    }.items()
}  # fmt: skip


@pytest.mark.parametrize("name", [*(f"class for {name}" for name in CLASSES), *VALUES])
def test_refused_with_words(name: str) -> None:
    call, words = VALUES[name] if name in VALUES else CLASSES[name.removeprefix("class for ")]
    with pytest.raises((EigenspanError, InvalidParameterError)) as refused, warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # scikit-learn's own, of labels that may be numbers
        call()
    assert words in str(refused.value)


def test_what_a_callback_raises_is_the_caller_s_own() -> None:
    """As it does anywhere in Python: it may be there to end the fit."""

    def enough(record: dict[str, Any]) -> None:
        raise LookupError("enough")

    with pytest.raises(LookupError, match="enough"):
        es.MVU(callback=enough).fit(X)


@pytest.mark.parametrize("layout", ["coo", "csc", "bsr", "dia", "lil"])
def test_labelled_rows_of_any_sparse_matrix(layout: str) -> None:
    Z = np.maximum(X, 0.0)
    found = es.LabelledOnly(FIRST).fit(sp.csr_array(Z).asformat(layout), SOME).predict(sp.csr_array(Z))
    np.testing.assert_array_equal(found, es.LabelledOnly(FIRST).fit(Z, SOME).predict(Z))


UNFOLDINGS = [
    es.LandmarkMVU(2),
    es.ActionRespectingEmbedding(2),
    es.LaplacianMVU(2),
    es.MVU(2, constraint="slack"),
    es.SMVU1(2),
]


@pytest.mark.parametrize("method", UNFOLDINGS, ids=lambda method: type(method).__name__)
@pytest.mark.every(2)
def test_unfoldings_do_not_depend_on_the_unit(method: Any) -> None:
    def fitted(scale: float) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", EigenspanWarning)
            return clone(method).fit(scale * X, Y)

    plain = fitted(1.0)
    for scale in (1e-100, 1e100):
        found = fitted(scale)
        assert found.diagnostics_["status"] == "certified"
        assert relative(pairwise(found.embedding_ / scale), pairwise(plain.embedding_)) < 1e-6
        assert found.certificate_.weights == pytest.approx(plain.certificate_.weights, rel=1e-4, abs=1e-6)


# ---------------------------------------------------------------------- the command line
@pytest.mark.parametrize(
    "change",
    [{"estimator": None}, {"columns": 5}, {"columns": ["a"]}, {"medians": None}, {"label": 3}],
    ids=lambda change: next(iter(change)),
)
def test_models_whose_parts_do_not_fit_are_told_of(change: dict[str, Any], tmp_path: Path) -> None:
    rows = [",".join("abcde"), *(",".join(map(str, row)) for row in X)]
    (tmp_path / "t.csv").write_text("\n".join(rows), encoding="utf-8")
    places = [f"{tmp_path}/t.csv", "-o", f"{tmp_path}/o.csv"]
    told = CliRunner().invoke(main, ["embed", *places, "--model", f"{tmp_path}/m"])
    assert told.exit_code == 0, told.output
    bundle = load(tmp_path / "m")
    with pytest.raises(ModelError, match="cannot be saved: table"):
        write_model(replace(bundle, **change), tmp_path / "x", bundle.estimator)
    whole = (tmp_path / "m").read_bytes()
    objects = json.loads(entries(whole)[OBJECTS])
    (node,) = [node for node in objects["objects"] if node["kind"] == "table"]
    node.update(change)
    (tmp_path / "x").write_bytes(forged(whole, objects))
    told = CliRunner().invoke(main, ["transform", f"{tmp_path}/x", *places])
    assert told.exit_code == 3, told.exception
    assert "is malformed: table." in " ".join(told.output.split())
