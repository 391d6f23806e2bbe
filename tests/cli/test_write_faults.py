"""Commands whose disk is full, or that are interrupted or killed while they write: the old files or the complete new ones, never a third.

``python tests/faults.py`` does the same at every call.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

import eigenspan as es
from cli_helpers import invoke
from eigenspan import _files
from fault_cases import CASES, OLD, Case, Trial, prepare
from fault_injection import Faults, other_writes
from helpers import subprocess_python

cases = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the commands read."""
    folder = tmp_path_factory.mktemp("faults") / "inputs"
    prepare(folder)
    return folder


@pytest.fixture
def here(inputs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of it, the working directory."""
    folder = shutil.copytree(inputs, tmp_path / "copy")
    monkeypatch.chdir(folder)
    return folder


@cases
def test_old_or_complete(case: Case, here: Path) -> None:
    trial = Trial(case, here)
    points = list(trial.points(1))
    for point in points if case.cheap else points[::2]:
        assert trial.fail(*point) == []
