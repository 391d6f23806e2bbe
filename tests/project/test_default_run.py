"""The default run includes every method, check and storage, but not all of their combinations."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from cases import own
from grouping import DEFAULT_RUN, THINNED, in_one_test, mark_long, name_of


# ---------------------------------------------------------------------- what the default run holds
def _selected(request: pytest.FixtureRequest, name: str) -> list[Any]:
    """Return the tests of a file in the default run; skip if the file was not collected."""
    found = [item for item in request.config.stash[DEFAULT_RUN] if item.path.name == f"{name}.py"]
    if not found:
        pytest.skip(f"{name}.py is not part of this run")
    return found


def test_every_method_and_every_check_of_the_contract_is_run(request: pytest.FixtureRequest) -> None:
    items = _selected(request, "test_contract")
    import test_contract as contract

    items = [item for item in items if hasattr(item, "callspec")]
    cases = [item.callspec.params["case"] for item in items if "case" in item.callspec.params]
    assert {case.id for case in own()} <= {case.id for case in cases if hasattr(case, "id")}
    checks = {item.callspec.params["check"] for item in items if item.originalname.startswith("test_checks_that")}
    assert checks == set(contract.EXTRA)


@pytest.mark.parametrize("name", ["test_silent_parameters", "test_fuzz"])
def test_every_method_occurs(request: pytest.FixtureRequest, name: str) -> None:
    items = [item for item in _selected(request, name) if hasattr(item, "callspec")]
    found = {item.callspec.params.get("name", item.callspec.params.get("method")) for item in items}
    assert {case.id for case in own()} <= found


def test_every_kind_of_input_and_every_estimator_occurs(request: pytest.FixtureRequest) -> None:
    items = _selected(request, "test_generated_inputs")
    from test_generated_inputs import CASES

    keys = [item.callspec.params["key"] for item in items if item.originalname == "test_inputs"]
    for position in (0, 1):
        assert {key[position] for key in keys} == {key[position] for key in CASES}


def test_every_thinned_test_keeps_some_of_its_parameters(request: pytest.FixtureRequest) -> None:
    kept = {name_of(item) for item in request.config.stash[DEFAULT_RUN]}
    assert sorted(f"{path.name}: {name}" for path, name in request.config.stash[THINNED] - kept) == []


def _values(item: Any, argument: str) -> list[str]:
    """Return all values that the lists of a test's parametrisation hold for one of its arguments."""
    found = []
    for marker in item.iter_markers("parametrize"):
        names, values = marker.args[:2]
        names = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
        if argument in names:
            sets = [
                value.values if hasattr(value, "marks") else value if len(names) > 1 else (value,) for value in values
            ]
            found += [_named(each[names.index(argument)]) for each in sets]
    return found


def _named(value: Any) -> str:
    """Return the name of a value without that of its variant: "LDA" for "LDA-kernel"."""
    return str(getattr(value, "id", getattr(value, "name", value))).partition("-")[0]


@pytest.mark.parametrize(
    ("name", "argument"),
    [
        ("test_routes", "method"),
        ("test_storage", "name"),
        ("test_storage", "storage"),
        ("test_solvers", "name"),
        ("test_oracles", "method"),
        ("test_anchored", "embedding"),
    ],
)
def test_every_value_of_a_list_occurs(name: str, argument: str, request: pytest.FixtureRequest) -> None:
    items = [
        item
        for item in _selected(request, name)
        if argument in getattr(item, "callspec", SimpleNamespace(params={})).params
    ]
    assert items
    found = {_named(item.callspec.params[argument]) for item in items}
    assert sorted({value for item in items for value in _values(item, argument)} - found) == []


# ---------------------------------------------------------------------- how tests are chosen and joined
class _Item:
    """Stand-in for a collected test, with the members that `mark_long` uses."""

    def __init__(self, every: Any, lists: list[pytest.Mark], **params: Any) -> None:
        self.every, self.lists, self.marks = every, lists, []
        self.callspec = SimpleNamespace(params=params)

    def get_closest_marker(self, name: str) -> Any:
        return self.every if name == "every" else None

    def iter_markers(self, name: str) -> list[pytest.Mark]:
        return self.lists

    def add_marker(self, mark: Any) -> None:
        self.marks.append(mark.name)


A, FIRST = ["a0", "a1", "a2", "a3"], ["b0", "b1", "b2", "b3", "b4", "b5"]
B = [pytest.param(first, 2) if first == "b1" else (first, 1) for first in FIRST]
LISTS = [pytest.mark.parametrize("a", A).mark, pytest.mark.parametrize("b, c", B).mark]


def _kept(every: Any, lists: list[pytest.Mark]) -> set[tuple[int, int]]:
    places = [(i, j) for i in range(4) for j in range(6)]
    items = {(i, j): _Item(every and every.mark, lists, a=A[i], b=FIRST[j]) for i, j in places}
    mark_long(items.values())  # type: ignore[arg-type]
    return {place for place, item in items.items() if not item.marks}


def test_stacked_lists_keep_a_diagonal() -> None:
    kept = _kept(pytest.mark.every(3, start=1), LISTS)
    assert kept == {(i, j) for i in range(4) for j in range(6) if (i + j) % 3 == 1}
    assert _kept(pytest.mark.every(2), LISTS[1:]) == {(i, j) for i in range(4) for j in (0, 2, 4)}
    assert len(_kept(None, LISTS)) == 24


def test_joined_checks_report_every_failure() -> None:
    @in_one_test([1, 2, 3, 4], lambda value: f"number {value}")
    def test_even(value: int, fixture: str) -> None:
        assert value % 2 == 0, fixture

    with pytest.raises(AssertionError, match=r"(?s)2 of 4 fail:\nnumber 1: odd.*\nnumber 3: odd"):
        test_even(fixture="odd")
    with pytest.raises(AssertionError, match="nothing to check"):
        in_one_test([])(lambda value: None)()
