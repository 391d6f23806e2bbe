"""The mutation tool makes exactly the reported change."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import mutate
from helpers import ROOT

SOURCE = '''"""Prose with 1 < 2."""
import numpy as np


def f(é, k: int = 3) -> int:
    """Not changed: 4 + 5."""
    check(é)
    if not é and k <= 2:
        raise ValueError(f"é has {k + 1} rows")
    return np.maximum(é[:k], -é * 0.5) if k > 1 else é + k
'''


@pytest.fixture
def found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[mutate.Mutant]:
    monkeypatch.setattr(mutate, "SOURCES", tmp_path)
    folder = tmp_path / "eigenspan" / "problem"
    folder.mkdir(parents=True)
    (folder / "sums.py").write_text(SOURCE, encoding="utf-8")
    return mutate.mutants(folder / "sums.py")


def test_every_kind_of_change(found: list[mutate.Mutant]) -> None:
    changes = {(m.kind, m.before, m.after) for m in found}
    assert changes == {
        ("removed call", "check(é)", "pass"),
        ("operator", "not é and k <= 2", "(not é or k <= 2)"),
        ("dropped sign", "not é", "(é)"),
        ("comparison", "k <= 2", "(k < 2)"),
        ("comparison", "k <= 2", "(k > 2)"),
        ("constant", "2", "(3)"),
        ("constant", "2", "(1)"),
        ("constant", "3", "(4)"),
        ("constant", "3", "(2)"),
        ("constant", "1", "(2)"),
        ("constant", "1", "(0)"),
        ("constant", "0.5", "(1.0)"),
        ("constant", "0.5", "(0.25)"),
        ("swapped branches", "np.maximum(é[:k], -é * 0.5) if k > 1 else é + k", "(é + k if k > 1 else np.maximum(é[:k], -é * 0.5))"),
        ("opposite function", "np.maximum(é[:k], -é * 0.5)", "(np.minimum(é[:k], -é * 0.5))"),
        ("slice", "é[:k]", "(é[:k + 1])"),
        ("dropped sign", "-é", "(é)"),
        ("operator", "-é * 0.5", "(-é / 0.5)"),
        ("comparison", "k > 1", "(k >= 1)"),
        ("comparison", "k > 1", "(k <= 1)"),
        ("operator", "é + k", "(é - k)"),
        ("dropped term", "é + k", "(é)"),
    }  # fmt: skip


def test_a_change_is_made_at_its_position(found: list[mutate.Mutant]) -> None:
    source = SOURCE.encode()
    for mutant in found:
        changed = mutant.applied(source)
        ast.parse(changed)
        assert changed.startswith(source[: mutant.start])
        assert changed.endswith(source[mutant.end :])
        assert source[mutant.start : mutant.end].decode() == mutant.before
        assert source[: mutant.start].count(b"\n") + 1 == mutant.line


def test_draws_depend_on_the_seed_alone(found: list[mutate.Mutant]) -> None:
    first = mutate.draw(["problem"], 8, seed=1)
    assert first == mutate.draw(["problem"], 8, seed=1) != mutate.draw(["problem"], 8, seed=2)
    assert len({mutant.id for mutant in first}) == 8
    assert len({mutant.kind for mutant in first}) == 8  # all kinds occur before one is repeated


def test_tests_of_the_module_and_its_package_come_first() -> None:
    mutant = mutate.Mutant("eigenspan/numerics/nearest/numpy_loops.py", 1, 0, 0, "constant", "", "")
    stages = mutate.stages(mutant)
    assert ROOT / "tests" / "numerics" / "nearest" / "test_first_fit.py" in stages[0]
    assert {path.parent.name for path in stages[1]} == {"numerics", "sdp"}
    assert {path.parent.name for path in stages[2]} == {"whole"}
    every = [path for stage in stages for path in stage]
    assert len(set(every)) == len(every)


@pytest.mark.parametrize(
    ("change", "outcome"),
    [("left <= right", "killed"), pytest.param("right > left", "survived", marks=pytest.mark.long)],
    ids=["noticed", "equivalent"],
)
def test_a_mutant_is_killed_by_a_test_that_fails(
    change: str, outcome: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tests, package = tmp_path / "tests", tmp_path / "src" / "eigenspan" / "problem"
    tests.mkdir()
    package.mkdir(parents=True)
    for folder in (package, package.parent):
        (folder / "__init__.py").write_text("")
    (package / "order.py").write_text("def less(left, right):\n    return left < right\n")
    (tests / "test_order.py").write_text(
        "from eigenspan.problem.order import less\n\n\ndef test_less():\n    assert less(1, 2)\n    assert not less(1, 1)\n"
    )
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    for name, value in (("TESTS", tests), ("ROOT", tmp_path), ("SOURCES", tmp_path / "src")):
        monkeypatch.setattr(mutate, name, value)
    (mutant,) = (m for m in mutate.mutants(package / "order.py") if m.after == "(left <= right)")
    changed = mutate.Mutant(**{**vars(mutant), "after": change})
    before = (package / "order.py").read_bytes()
    found = mutate.judge(changed, tmp_path / "src", limit=600.0, last=4)
    assert found["outcome"] == outcome
    assert found.get("by", "tests/test_order.py::test_less") == "tests/test_order.py::test_less"
    assert (package / "order.py").read_bytes() == before


@pytest.mark.long
def test_long_tests_run_on_request(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tests, sources = tmp_path / "tests", tmp_path / "src"
    tests.mkdir()
    (sources / "eigenspan").mkdir(parents=True)
    (sources / "eigenspan" / "__init__.py").write_text("")
    (sources / "eigenspan" / "order.py").write_text("def less(left, right):\n    return left < right\n")
    (tests / "test_order.py").write_text(
        "import pytest\nfrom eigenspan.order import less\n\n\n@pytest.mark.long\ndef test_less():\n    assert not less(1, 1)\n"
    )
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = -m 'not long'\nmarkers = long\n")
    for name, value in (("TESTS", tests), ("ROOT", tmp_path), ("SOURCES", sources)):
        monkeypatch.setattr(mutate, name, value)
    (mutant,) = (m for m in mutate.mutants(sources / "eigenspan" / "order.py") if m.after == "(left <= right)")
    outcomes = [mutate.judge(mutant, sources, limit=600.0, last=4, every=every)["outcome"] for every in (False, True)]
    assert outcomes == ["survived", "killed"]
