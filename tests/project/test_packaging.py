"""What the project says of its requirements is what is tested."""

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


def test_the_numerical_part_is_there() -> None:
    assert all(kernels.path_of(name).is_file() for name in kernels.NUMERICAL)


def test_kernels_that_are_not_to_be_had() -> None:
    assert kernels.why_not("Abacus")
