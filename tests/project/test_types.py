"""Type annotations reject wrong calls and accept correct ones: mypy checks wrong_calls/wrong.py and right_calls.py."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest

import eigenspan
from eigenspan.methods.base.contract import SolverName
from eigenspan.numerics.eigen.auto import NAMES

pytest.importorskip("mypy")

WRONG, RIGHT = Path(__file__).parent / "wrong_calls" / "wrong.py", Path(__file__).parent / "right_calls.py"
#: Smallest number of marked wrong calls that must be found.
LEAST = 18


@cache
def errors() -> dict[str, set[int]]:
    """Return the line numbers of the errors in each file, from one run of mypy."""
    root, files = RIGHT.parents[2], [str(WRONG), str(RIGHT)]
    command = [sys.executable, "-m", "mypy", "--no-error-summary", "--no-color-output", *files]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=root)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    found: dict[str, set[int]] = {Path(file).name: set() for file in files}
    for name, line in re.findall(r"^(.+?\.py):(\d+).*: error:", done.stdout, re.M):
        found.setdefault(Path(name).name, set()).add(int(line))
    return found


def test_every_wrong_call_is_an_error() -> None:
    lines = WRONG.read_text(encoding="utf-8").splitlines()
    marked = {number for number, line in enumerate(lines, 1) if line.endswith("# wrong")}
    assert len(marked) >= LEAST
    missed = [lines[number - 1].strip() for number in sorted(marked - errors()[WRONG.name])]
    assert not missed
    assert errors()[WRONG.name] <= marked


def test_right_calls_are_accepted() -> None:
    assert errors()[RIGHT.name] == set()


def test_solver_names_are_those_of_the_solvers() -> None:
    assert set(get_args(SolverName)) == NAMES.keys()


def methods() -> list[Any]:
    """Return the reducers without required parameters."""
    found = [cls for cls in vars(eigenspan).values() if isinstance(cls, type) and hasattr(cls, "_input")]
    return [cls for cls in found if all(p.default is not inspect.Parameter.empty for p in cls._parameters.values())]


@pytest.mark.parametrize("cls", methods(), ids=lambda cls: cls.__name__)
def test_posed_samples_have_the_kind_of_y_that_is_declared(cls: Any) -> None:
    """`_pose(self, sample: Sample[X, Y])` names the kind of y that the reader in ``_input`` returns."""
    declared = {type(y).__name__: get_type_hints(type(y).read)["return"] for y in [cls()._accepted().y] if y}
    for hook in ("_fit", "_pose"):
        function = getattr(cls, hook, None)
        if function is None or "sample" not in inspect.signature(function).parameters:
            continue
        kinds = get_args(get_type_hints(function)["sample"])
        if len(kinds) == 2 and kinds[1] is not Any and declared:
            (returned,) = declared.values()
            assert set(get_args(kinds[1]) or [kinds[1]]) <= set(get_args(returned) or [returned]), (cls, hook)
