"""Limits for the counters of `benchmarks.house` that read sources and classes.

A change that improves a counter lowers its limit. ``python -m benchmarks.house --verbose`` lists what each figure consists of.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from grouping import in_one_test

source: Any = pytest.importorskip("benchmarks.house_source", reason="benchmarks/ is not part of this distribution")

#: Largest values allowed.
LIMITS: dict[str, float] = {
    "own classes of a method, median": 6,
    "own classes of a method, most": 9,
    "hooks that 3 classes define": 12,
    "methods that state their problem twice": 0,
    "hooks for where the rows lie": 8,
    "declarations of where rows may lie": 13,
    "lines of methods about lazy rows": 5,
    "signatures with Any in the engine, %": 6.5,
    "signatures with Any in the input, %": 6.0,
    "repeated module names": 0,
    "public names with two homes": 0,
    "names that two packages export": 0,
    "lines that only name a parameter": 0,
    "code lines of the engine": 29_000,
    "code lines of the longest function": 40,
}
COUNTERS: dict[str, Callable[[], float]] = {
    "own classes of a method, median": lambda: source.base_classes()[0],
    "own classes of a method, most": lambda: source.base_classes()[1],
    "hooks that 3 classes define": lambda: len(source.hooks()),
    "methods that state their problem twice": lambda: len(source.stated_twice()),
    "hooks for where the rows lie": lambda: source.row_hooks().total(),
    "declarations of where rows may lie": lambda: source.row_declarations(),
    "lines of methods about lazy rows": lambda: source.row_lines(),
    "signatures with Any in the engine, %": lambda: 100 * source.any_share(source.engine()),
    "signatures with Any in the input, %": lambda: 100 * source.any_share(source.in_room(source.INPUT)),
    "repeated module names": lambda: len(source.repeated_module_names()),
    "public names with two homes": lambda: len(source.repeated_public_names()),
    "names that two packages export": lambda: len(source.exported_twice()),
    "lines that only name a parameter": lambda: source.shared_parameter_lines(),
    "code lines of the engine": lambda: source.code_lines(),
    "code lines of the longest function": lambda: source.longest_functions(1)[0][0],
}


@in_one_test(LIMITS)
def test_counters_stay_below_their_limits(name: str) -> None:
    found = COUNTERS[name]()
    assert found <= LIMITS[name], (
        f"{name}: {found:g} is above the limit of {LIMITS[name]:g}. `python -m benchmarks.house --verbose` lists what counts. Simplify the "
        "change, or raise LIMITS in this file and give the reason in the commit message."
    )


def test_every_counter_has_a_limit() -> None:
    assert COUNTERS.keys() == LIMITS.keys()


def test_every_module_has_a_place_in_the_table_of_rooms() -> None:
    assert {source.room_of(module.path) for module in source.modules()} <= source.LEVEL.keys()
    assert {source.TOP_OF_ENGINE, source.INPUT, source.METHODS} <= {module.room for module in source.modules()}
    with pytest.raises(LookupError, match="attic"):
        source.level_of(source.ROOT / "attic" / "trunk.py")


def test_code_lines_leave_out_prose() -> None:
    text = '"""One.\n\nTwo."""\n\n# why\nx = """a\n\nb"""\n\n\ndef f(a: int) -> int:\n    """Three."""\n    return (\n        a\n    )\n'
    text += "class A:\n    n_: int = attribute()\n    m: int = 1\n"
    module = source.Module(source.ROOT / "core" / "none.py", text)
    assert module.code_lines == {6, 8, 11, 13, 14, 15, 16, 18}


def test_signatures_with_any_are_found() -> None:
    text = "def f(a: dict[str, Any]): ...\ndef g(a: int) -> 'Any': ...\ndef h(*a: int, b: int) -> Any: ...\ndef i(a): ...\n"
    module = source.Module(source.ROOT / "core" / "none.py", text)
    assert source.any_share([module]) == 0.5


def test_twins_with_the_same_parameters_are_one_home(monkeypatch: pytest.MonkeyPatch) -> None:
    def repeated(*texts: str) -> dict[str, list[str]]:
        paths = [source.ROOT / name for name in [*sorted(source.TWINS), "numerics/other.py"]]
        found = [source.Module(path, text) for path, text in zip(paths, texts, strict=False)]
        monkeypatch.setattr(source, "engine", lambda: found)
        return source.repeated_public_names()

    assert repeated("def f(a, b): ...", "def f(a: int, b: int) -> int: ...") == {}
    assert list(repeated("def f(a, b): ...", "def f(a): ...")) == ["f"]
    assert list(repeated("class F: ...", "", "class F: ...")) == ["F"]
    assert list(repeated("def f(a): ...", "def f(a): ...", "def f(a): ...")) == ["f"]


def test_hooks_that_only_raise_state_no_problem() -> None:
    class Base:
        def _pose(self) -> None:
            raise NotImplementedError

    class Method(Base):
        def _pose(self) -> None:
            return None

    assert not source._states(Base, "_pose")
    assert source._states(Method, "_pose")
    assert not source._states(Method, "_pose_lazily")


def test_sentences_come_from_docstrings_comments_and_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    prose: Any = pytest.importorskip("benchmarks.house_sentences")
    text = '"""First words of a module."""\n# Second words of a comment.\nraise ValueError(f"Third words of {1} message.")\n'
    monkeypatch.setattr(prose, "modules", lambda: [source.Module(source.ROOT / "core" / "none.py", text)])
    assert [sentence for _, sentence in prose.sentences()] == [
        "First words of a module.",
        "Second words of a comment.",
        "Third words of … message.",
    ]
    assert prose.draw(2, 0) == prose.draw(2, 0)


def test_wrong_calls_are_counted_by_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "WRONG_CALLS", tmp_path)
    assert source.wrong_calls() is None
    (tmp_path / "calls.py").write_text('a: int = "one"  # wrong\nb: int = 2  # wrong\nc: int = "no mark"\n', "utf-8")
    (tmp_path / "whole.py").write_text('a: int = "one"\n', "utf-8")
    assert source.wrong_calls() == (2, 3)
    assert ast.parse((tmp_path / "calls.py").read_text("utf-8"))
