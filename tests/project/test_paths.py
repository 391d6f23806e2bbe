"""Tests do not depend on the name of the folder that holds the checkout."""

from __future__ import annotations

import linecache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import eigenspan
from awkward_subjects import on_purpose
from helpers import ROOT, raised_in

#: A checkout with the name of the library, and its virtual environment.
CHECKOUT = Path("/home/someone/a b é/eigenspan")
ELSEWHERE = CHECKOUT / ".venv/lib/python3.12/site-packages/numpy/linalg/_linalg.py"


def raised(filename: str | Path) -> ValueError:
    """Return an error that was raised in a file of this name."""
    source = 'raise ValueError("shapes do not fit")'
    linecache.cache[str(filename)] = (len(source), None, [source], str(filename))
    try:
        exec(compile(source, str(filename), "exec"), {})
    except ValueError as error:
        return error
    raise AssertionError


@pytest.fixture(autouse=True)
def _sources() -> Any:
    yield
    linecache.clearcache()


def test_errors_of_other_libraries_are_not_refusals_in_a_folder_called_eigenspan() -> None:
    assert not on_purpose(raised(ELSEWHERE))
    assert not on_purpose(raised(CHECKOUT / ".venv/lib/python3.12/site-packages/scipy/sklearn/utils/notes.py"))


def test_an_error_of_the_library_is_a_refusal() -> None:
    assert on_purpose(raised(Path(eigenspan.__file__).parent / "problem" / "pose.py"))


def test_frames_belong_to_the_package_whose_directory_holds_their_file(tmp_path: Path) -> None:
    package = Path(eigenspan.__file__).parent
    assert raised_in(str(package / "graphs" / "any.py"))
    assert raised_in(str(package / "errors.py"), eigenspan, "errors.py")
    assert not raised_in(str(package / "problem" / "form.py"), eigenspan, "errors.py")
    assert not raised_in(np.__file__)
    assert not raised_in(f"{package}_more/any.py")
    link = tmp_path / "link"
    link.symlink_to(package)
    assert raised_in(str(link / "graphs" / "any.py"))


def test_make_runs_every_tool_by_its_module() -> None:
    """The first line of a script names its interpreter by an absolute path, which may be too long or contain spaces."""
    recipes = [line for line in (ROOT / "Makefile").read_text(encoding="utf-8").splitlines() if line.startswith("\t")]
    tools = [word for line in recipes for word in line.split() if "(BIN)/" in word or "/bin/" in word]
    assert len(tools) > 10
    assert {word.split("/")[-1] for word in tools} == {"python"}
