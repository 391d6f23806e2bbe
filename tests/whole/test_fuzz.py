"""A bounded draw of the metamorphic fuzzer, and whether it can fail.

``make fuzz`` runs it at length. A failure prints a snippet that shows it alone.
"""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import eigenspan as es
from eigenspan.errors import DegenerateWarning, warn
from grouping import longer
from helpers import ROOT
from metamorphic import Case, draw, judge, shrink
from metamorphic.draw import METHODS
from metamorphic.promises import EXCUSES, KNOWN, UNLESS, why_not
from metamorphic.relations import RELATIONS
from metamorphic.summary import first_of_each, summary

#: Cases of each method, and the seed that they are drawn from.
EACH, SEED = 6, 2024


@pytest.mark.parametrize("indices", [range(1), *longer(range(1, EACH))], ids=str)
@pytest.mark.parametrize("method", METHODS)
def test_relations_hold(method: str, indices: range) -> None:
    wrong = []
    for index in indices:
        case = draw(SEED, index, method)
        wrong += [f"{name}: {said}\n{case.snippet(name)}" for name, said in judge(case).failures.items()]
    assert not wrong, "\n\n".join(["Run the snippets with PYTHONPATH=src:tests/support.", *wrong])


# ---------------------------------------------------------------------- the table of promises
def test_every_relation_says_for_whom_it_is_promised() -> None:
    assert set(UNLESS) == set(RELATIONS)
    assert all(unless.reason for some in UNLESS.values() for unless in some)
    assert all(hasattr(es.errors, name) for name in EXCUSES)
    assert all(relation in {*RELATIONS, "uncaught"} and reason for relation, _, reason in KNOWN)


def test_no_promise_is_empty() -> None:
    """Each relation is checked, and most methods have most relations."""
    cases = [draw(SEED, index, method) for method in METHODS for index in range(EACH)]
    promised = {name: {case.method for case in cases if not why_not(name, case)} for name in RELATIONS}
    assert min(map(len, promised.values())) >= 5, promised
    for name in ("finite", "pickle", "save and load", "fit twice", "transform of training rows", "subset transform"):
        assert len(promised[name]) >= len(METHODS) - 3


def test_draws_are_the_same_every_time_and_differ() -> None:
    assert draw(1, 7) == draw(1, 7)
    assert len({draw(1, index) for index in range(200)}) == 200
    assert {draw(1, index).method for index in range(len(METHODS))} == set(METHODS)
    fitted = sum(judge(draw(1, index), []).outcome == "fitted" for index in range(0, 81, 2))
    assert fitted >= 15  # most draws are meant to be fitted


# ---------------------------------------------------------------------- planted defects
PCA = Case("PCA", "gaussian(20, 4, seed=1)", params=(("n_components", "2"),))


def _planted(monkeypatch: pytest.MonkeyPatch, change: Any) -> None:
    """Let every PCA change its embedding after a fit: ``change(estimator, X)``."""
    fit = es.PCA.fit

    def spoilt(self: Any, X: Any, y: Any = None) -> Any:
        fit(self, X, y)
        change(self, np.asarray(X))
        return self

    monkeypatch.setattr(es.PCA, "fit", spoilt)


def _replace(values: Any) -> Any:
    def change(estimator: Any, X: Any) -> None:
        estimator.embedding_ = values(estimator.embedding_, X)

    return change


DEFECTS: dict[str, Any] = {
    "finite": _replace(lambda Y, X: np.where(np.arange(len(Y))[:, None] == 3, np.nan, Y)),
    "transform of training rows": _replace(lambda Y, X: Y * 1.01),
    "row order": _replace(lambda Y, X: Y * np.linspace(1, 2, len(Y))[:, None]),
    "column order": _replace(lambda Y, X: Y + [1, 0] * X[:, :1]),
    "scale": _replace(lambda Y, X: Y + np.array([[1, 0]]) * np.sin(np.arange(len(Y)))[:, None]),
    "scale by two": _replace(lambda Y, X: Y + np.array([[1, 0]]) * np.sin(np.arange(len(Y)))[:, None]),
    "rotation": _replace(lambda Y, X: Y + [1, 0] * np.abs(X[:, :1])),
    "translation": _replace(lambda Y, X: Y * (1 + 0.01 * np.abs(X[:, :1]))),
    "input unchanged": lambda estimator, X: X.__setitem__((0, 0), 7.0),
    "parameters": lambda estimator, X: estimator.set_params(whiten=True),
}


@pytest.mark.parametrize("relation", DEFECTS)
def test_planted_defects_are_found(relation: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert relation in judge(PCA, [relation]).held
    _planted(monkeypatch, DEFECTS[relation])
    assert relation in judge(PCA, [relation]).failures


def test_other_exceptions_and_warnings_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(estimator: Any, X: Any) -> None:
        raise KeyError("x")

    _planted(monkeypatch, fail)
    verdict = judge(PCA)
    assert verdict.outcome == "uncaught"
    assert "KeyError" in verdict.failures["uncaught"]
    monkeypatch.undo()
    _planted(monkeypatch, lambda estimator, X: np.log(0 * X[:1]))
    assert "RuntimeWarning" in judge(PCA).failures["uncaught"]


def test_a_warning_excuses_what_it_is_about_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    def change(estimator: Any, X: Any) -> None:
        warn("not unique", DegenerateWarning)
        estimator.embedding_ = estimator.embedding_ * np.linspace(1, 2, len(X))[:, None]
        estimator.embedding_[0] = np.inf if X[0, 0] > 1e6 else estimator.embedding_[0]

    _planted(monkeypatch, change)
    verdict = judge(PCA, ["row order", "fit twice"])
    assert verdict.excused == {"row order": ["DegenerateWarning"]}
    assert verdict.held == ["fit twice"]


def test_a_failing_case_is_made_small_and_its_snippet_shows_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _planted(monkeypatch, DEFECTS["row order"])
    large = Case(
        "PCA", "clusters(40, 6, seed=1)", params=(("n_components", "2"), ("reduce", "3")), container="fortran", seed=3
    )
    said = judge(large, ["row order"]).failures["row order"]
    small = shrink(large, "row order", said)
    assert small.params == ()
    assert small.container == "array"
    assert small.geometry == "gaussian"
    exec(small.snippet("row order"), {})
    assert "embeddings differ" in capsys.readouterr().out


# ---------------------------------------------------------------------- the run at length
def _script() -> Any:
    spec = importlib.util.spec_from_file_location("fuzz", ROOT / "tests" / "fuzz.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


STUB = """
import json, os, sys, time
for line in sys.stdin:
    index = json.loads(line)["index"]
    if index == 1:
        time.sleep(600)
    if index == 2:
        os._exit(7)
    print(json.dumps({"outcome": "fitted"}), flush=True)
"""


def test_hangs_and_crashes_are_attributed_to_their_case() -> None:
    worker = _script().Worker((sys.executable, "-c", STUB))
    try:
        answers = [worker.ask({"index": index}, 1.0 if index == 1 else 60.0) for index in range(4)]
    finally:
        if worker.process is not None:
            worker.process.kill()
            worker.stop()
    assert [answer["outcome"] for answer in answers] == ["fitted", "hang", "crash", "fitted"]
    assert "within 1 s" in answers[1]["failures"]["hang"]
    assert "status 7" in answers[2]["failures"]["crash"]


def test_an_interrupted_run_is_continued(tmp_path: Path) -> None:
    script, path = _script(), tmp_path / "fuzz.jsonl"
    head = {"seed": 1, "method": None, "sources": "a"}
    path.write_text("\n".join([json.dumps(head), json.dumps({"index": 4, "outcome": "refused"}), '{"index": 5, "out']))
    assert set(script.read_results(path, head)) == {4}
    with pytest.raises(SystemExit, match="another seed"):
        script.read_results(path, {**head, "sources": "b"})


def test_results_are_counted_by_relation_and_method() -> None:
    results = {
        0: {"outcome": "fitted", "held": ["finite"], "excused": {}, "failures": {"row order": "differ by 0.1"}},
        1: {"outcome": "refused", "held": [], "excused": {}, "failures": {}},
        len(METHODS): {"outcome": "fitted", "held": [], "excused": {}, "failures": {"row order": "differ by 0.2"}},
    }
    told = summary(results, 0)
    assert "3 cases: 2 fitted, 1 refused" in told
    assert any(line.split() == ["row", "order", "0", "0", "2"] for line in told.splitlines())
    (first,) = first_of_each(results, 0)  # both are cases of one method
    assert first["index"] == 0
