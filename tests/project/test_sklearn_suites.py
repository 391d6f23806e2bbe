"""The harness that runs scikit-learn's own tests against this library; ``make test-sklearn`` runs all of them."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import json
import sys
from collections import Counter
from typing import Any

import pytest
import sklearn

from helpers import ROOT

HERE = ROOT / "tests" / "sklearn_suites"
TABLE = json.loads((HERE / "expected.json").read_text(encoding="utf-8"))


def _load(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(f"sklearn_suites_{name.strip('_')}", HERE / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


suites, adapters = _load("__main__"), _load("adapters")
same_version = pytest.mark.skipif(
    sklearn.__version__.rsplit(".", 1)[0] != TABLE["version"].rsplit(".", 1)[0],
    reason=f"the table is of scikit-learn {TABLE['version']}",
)


def test_the_table_gives_a_reason_for_every_difference() -> None:
    for name, row in TABLE["tests"].items():
        assert row["kind"] in ("pass", "different", "missing", "internal"), name
        assert row["kind"] == "pass" or len(row["why"]) > 20, name


def test_a_listed_pass_that_fails_fails_the_run(capsys: Any) -> None:
    table = {
        "a::x": {"kind": "pass"},
        "a::y": {"kind": "different", "why": "for a reason"},
        "a::z": {"kind": "internal"},
    }
    good = {"a::x": "passed", "a::y": "failed", "a::z": "failed"}
    assert suites.compare(good, table) == 0
    assert "1 of 2 applicable tests" in capsys.readouterr().out
    assert suites.compare({**good, "a::x": "failed"}, table) == 1
    assert "NO LONGER PASSES a::x" in capsys.readouterr().out
    assert suites.compare({**good, "a::y": "passed", "a::new": "failed"}, table) == 0
    printed = capsys.readouterr().out
    assert "passes now, move it in the table: a::y" in printed
    assert "not in the table: a::new" in printed


def test_the_documentation_has_the_counts_of_the_table() -> None:
    counts = Counter(row["kind"] for row in TABLE["tests"].values())
    text = " ".join((ROOT / "docs" / "coming-from-scikit-learn.md").read_text(encoding="utf-8").split())
    whole = sum(counts.values())
    assert f"{whole} test functions {counts['internal']} are about its own functions" in text
    assert f"{whole - counts['internal']} others {counts['pass']} pass, {counts['different']} meet" in text
    assert f"and {counts['missing']} ask for" in text


@same_version
@pytest.mark.long
def test_no_case_is_left_out() -> None:
    """Check that the second of two alternating cases, an infinite radius, is run."""
    plugin = (HERE / "plugin.py").read_text(encoding="utf-8")
    assert "pytest_collection_modifyitems" not in plugin
    assert TABLE["tests"]["test_isomap::test_isomap_simple_grid"] == {"kind": "pass"}
    outcomes = suites.run(["sklearn.manifold.tests.test_isomap", "-k", "test_isomap_simple_grid"])
    assert outcomes == {"test_isomap::test_isomap_simple_grid": "passed"}


@same_version
@pytest.mark.parametrize(
    "module, cls",
    [(module, cls) for module, classes in adapters.STAND_INS.items() for cls in classes],
    ids=lambda x: getattr(x, "__name__", x),
)
def test_adapters_have_scikit_learns_parameters(module: str, cls: Any) -> None:
    original = getattr(importlib.import_module(module), cls.__name__)
    theirs = {name: p.default for name, p in inspect.signature(original).parameters.items()}
    assert {name: p.default for name, p in inspect.signature(cls).parameters.items()} == theirs


@same_version
def test_a_small_suite_runs() -> None:
    suite = "sklearn.manifold.tests.test_classical_mds"
    outcomes = suites.run([suite])
    table = {name: row for name, row in TABLE["tests"].items() if name.startswith("test_classical_mds::")}
    assert set(outcomes) == set(table)
    assert suites.compare(outcomes, table) == 0
