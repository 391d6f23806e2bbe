"""The declared requirements agree with those that are tested."""

from __future__ import annotations

import re
import tomllib

import kernels
from helpers import ROOT


def test_the_oldest_versions_are_those_declared() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    wanted = [*project["dependencies"], *(line for name in ("ann", "amg", "plot") for line in extras[name])]
    lines = (ROOT / "constraints-oldest.txt").read_text(encoding="utf-8").splitlines()
    pinned = dict(line.split("==") for line in lines if line and not line.startswith("#"))
    for line in wanted:
        name, lowest = line.split(">=")
        assert re.fullmatch(rf"{re.escape(lowest)}(\.0)*", pinned[name]), line


def test_every_library_of_the_numerical_part_exists() -> None:
    assert all(kernels.path_of(name).is_file() for name in kernels.NUMERICAL)


def test_unavailable_kernels_are_refused() -> None:
    assert kernels.why_not("Abacus")
