"""The same fit by every route: array, sparse rows, file, Dask array and parts agree to 1e-6, or say that they cannot.

A part of the grid runs here. ``EIGENSPAN_ROUTES=all`` (``make test-routes``) runs all of it, and prints how many triples agreed.
"""

from __future__ import annotations

import os
import warnings
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import eigenspan as es
from routes import CONDITIONS, KERNEL_ROUTED, LEFT_OUT, OFFSETS, ROUTED, Problem, Routed, outcome, problem, reference

TOLERANCE = 1e-6
ALL = os.environ.get("EIGENSPAN_ROUTES") == "all"
GRID = (
    [(condition, offset) for condition in CONDITIONS for offset in OFFSETS]
    if ALL
    else [(1.0, 0.0), (1e4, 0.0), (1e6, 1e3), (1e8, 0.0), (1e12, 0.0), (1.0, 1e6), (1e2, 1e9)]
)
TALLY: Counter[str] = Counter()

made = cache(problem)


@pytest.fixture(scope="module", autouse=True)
def tally() -> Any:
    yield
    if ALL:
        print("\n(method, route, condition and offset):", dict(TALLY))


@pytest.fixture(autouse=True)
def one_process() -> Any:
    dask = pytest.importorskip("dask")
    with dask.config.set(scheduler="synchronous"):
        yield


def check(method: Routed, p: Problem, folder: Path) -> None:
    with warnings.catch_warnings(action="ignore"):
        expected = reference(method, p)
    for route in method.routes:
        found = outcome(method, p, route, folder, expected)
        TALLY["warned" if found.warned else "refused" if found.refused else "equal"] += 1
        assert found.is_right(TOLERANCE), f"{route}: {found}"
        if p.condition * max(p.offset, 1.0) <= 1e6:  # nothing is lost, and nothing to be said
            assert not found.refused, route
            assert not found.warned, route


@pytest.mark.parametrize(("condition", "offset"), GRID, ids=lambda value: f"{value:.0e}")
@pytest.mark.parametrize("method", [*ROUTED, *KERNEL_ROUTED], ids=lambda method: method.name)
@pytest.mark.every(1 if ALL else 2)
def test_routes_agree(method: Routed, condition: float, offset: float, tmp_path: Path) -> None:
    if offset not in method.offsets:
        pytest.skip("not compared so far from the origin")
    if (method.name, condition, offset) == ("LDA-trace-ratio", 1e10, 1e9):
        pytest.skip("the reference is unbounded: its best axes hold rounding alone")
    check(method, made(condition, offset), tmp_path)


def test_every_linear_method_is_compared() -> None:
    table = es.methods()
    linear = {name for name in table.index if "linear" in table.loc[name, "basis"]}
    compared = {method.name.split("-")[0] for method in ROUTED}
    assert linear - compared == set(LEFT_OUT)
