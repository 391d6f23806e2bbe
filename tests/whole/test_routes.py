"""The same fit by every route: array, sparse rows, file, Dask array, parts and kernel matrix agree to 1e-6, or a warning says otherwise.

A part of the grid runs here. ``EIGENSPAN_ROUTES=all`` (``make test-routes``) runs all of it, and prints how many cases agreed.
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
from kernel_routes import (
    KERNEL_ROUTED,
    KERNELS_LEFT_OUT,
    OWN_REFERENCE,
    TIED,
    KernelRouted,
    few_rows,
    kernel_outcome,
    kernel_reference,
)
from routes import CONDITIONS, LEFT_OUT, OFFSETS, ROUTED, Problem, Routed, outcome, problem, reference

TOLERANCE = 1e-6
ALL = os.environ.get("EIGENSPAN_ROUTES") == "all"
GRID = (
    [(condition, offset) for condition in CONDITIONS for offset in OFFSETS]
    if ALL
    else [(1.0, 0.0), (1e4, 0.0), (1e6, 1e3), (1e8, 0.0), (1e12, 0.0), (1.0, 1e6), (1e2, 1e9)]
)
#: Of the kernel methods, which are many, each has some of these cells.
KERNEL_GRID = GRID if ALL else [(1.0, 0.0), (1e12, 0.0), (1e4, 1e3), (1.0, 1e6), (1e8, 0.0), (1e2, 1e9)]
STEP = 1 if ALL else 36
TALLY: Counter[str] = Counter()

made = cache(problem)


@pytest.fixture(scope="module", autouse=True)
def tally() -> Any:
    yield
    if ALL:
        print("\n(method, route, condition and offset):", dict(sorted(TALLY.items())))


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
        TALLY["linear, warned" if found.warned else "linear, refused" if found.refused else "linear, equal"] += 1
        assert found.is_right(TOLERANCE), f"{route}: {found}"
        if p.condition * max(p.offset, 1.0) <= 1e6:  # nothing is lost, and nothing to be said
            assert not found.refused, route
            assert not found.warned, route


@pytest.mark.parametrize(("condition", "offset"), GRID, ids=lambda value: f"{value:.0e}")
@pytest.mark.parametrize("method", ROUTED, ids=lambda method: method.name)
@pytest.mark.every(1 if ALL else 4)
def test_routes_agree(method: Routed, condition: float, offset: float, tmp_path: Path) -> None:
    if offset not in method.offsets:
        pytest.skip("not compared so far from the origin")
    if (method.name, condition, offset) == ("LDA-trace-ratio", 1e10, 1e9):
        pytest.skip("the reference is unbounded: its best axes hold rounding alone")
    check(method, made(condition, offset), tmp_path)


def kernel_cells() -> list[Any]:
    """Methods with conditions and offsets: all of them, or those of each method in turn."""
    every = [(method, cell) for cell in KERNEL_GRID for method in KERNEL_ROUTED]
    some = [each for i, each in enumerate(every) if (i + i // len(KERNEL_ROUTED)) % STEP == 0]
    return [pytest.param(method, *cell, id=f"{method.name}-{cell[0]:.0e}-{cell[1]:.0e}") for method, cell in some]


@pytest.mark.parametrize(("method", "condition", "offset"), kernel_cells())
def test_routes_of_kernels_agree(method: KernelRouted, condition: float, offset: float, tmp_path: Path) -> None:
    known: dict[Any, Any] = {}
    wrong = []
    for route in method.routes:
        p = few_rows(made(condition, offset), route == "float32")
        key = p.X.tobytes(), route if route in OWN_REFERENCE else ""
        if key not in known:
            with warnings.catch_warnings(action="ignore"):
                known[key] = kernel_reference(method, p, route)
        found = kernel_outcome(method, p, route, tmp_path, known[key])
        right = found.is_right(method.tolerance(TOLERANCE))
        said = "warned" if found.warned else "refused" if found.refused else "equal"
        TALLY[f"kernels, {said if right else 'silent'}"] += 1
        plain = condition * max(offset, 1.0) == 1.0 and route != "precomputed-float32" and method.name not in TIED
        if not right or (plain and said != "equal"):
            wrong.append((route, found))
    assert not wrong


def test_every_kernel_method_is_compared() -> None:
    table = es.methods()
    kernels = {name for name in table.index if "kernel" in table.loc[name, "basis"]}
    compared = {method.method for method in KERNEL_ROUTED}
    assert kernels - compared == set(KERNELS_LEFT_OUT)


def test_every_linear_method_is_compared() -> None:
    table = es.methods()
    linear = {name for name in table.index if "linear" in table.loc[name, "basis"]}
    compared = {method.name.split("-")[0] for method in ROUTED}
    assert linear - compared == set(LEFT_OUT)
