"""Thousands of bad and awkward inputs: every one is refused with words, or answered with whole and finite output.

The cases come from `awkward_promises` and `awkward_tables`, crossed with the estimators of `awkward_subjects`. Of what the library
promises of every input (a fit is all or nothing, nothing follows what the caller writes later, copies share a place, no mask, date,
negative distance, fractional index or complex kernel is taken for something else) every case is run. Of the mass of data, labels, new
points, parameters, graphs, weights, kernels, matrices and lives two thousand are drawn, evenly over kinds and estimators and the same
every time: those whose names have the smallest checksums, so that a case added to the tables moves few others.

``PYTHONPATH=tests/support python tests/whole/test_generated_inputs.py`` prints
the table KNOWN as it should read today, and what it rests on.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable

import pytest

from awkward_calls import calls, measures
from awkward_promises import PROMISES
from awkward_subjects import SUBJECTS
from awkward_tables import TABLES

#: Cases drawn from the mass.
DRAW = 2000

Cases = list[tuple[str, Callable[[], str]]]
Key = tuple[str, str]


def _order(*words: str) -> int:
    return zlib.crc32(" ".join(words).encode())


def generate(left: int = DRAW) -> dict[Key, Cases]:
    """The cases of each kind and estimator."""
    chosen = {(kind, name): list(cases(s)) for kind, cases in PROMISES.items() for name, s in SUBJECTS.items()}
    pools = {
        (kind, name): sorted(cases(s), key=lambda case, words=(kind, name): _order(*words, case[0]))
        for kind, cases in TABLES.items()
        for name, s in SUBJECTS.items()
    }
    for turn in range(max(map(len, pools.values()))):
        if not left:
            break
        for key in sorted(pools, key=lambda key, turn=turn: _order(*key, str(turn))):
            if left and turn < len(pools[key]):
                chosen.setdefault(key, []).append(pools[key][turn])
                left -= 1
    return {key: cases for key, cases in chosen.items() if cases}


CASES = generate()
CALLS = {**dict(measures()), **dict(calls())}

#: What is known to fail, and why: "*" stands for all estimators but those after "but".
KNOWN: dict[str, tuple[str, str]] = {}
KNOWN_CALLS: dict[str, str] = {}


def known(kind: str, name: str) -> str | None:
    """Why a kind of input is known to fail in an estimator."""
    reason, names = KNOWN.get(kind, ("", ""))
    some, _, but = names.partition(" but ")
    fails = name not in but.split() if some == "*" else name in names.split()
    return reason if fails and names else None


def marked(id: str, reason: str | None, *values: object) -> object:
    return pytest.param(
        *values, id=id, marks=pytest.mark.xfail(reason=reason, raises=AssertionError, strict=True) if reason else ()
    )


def failures(cases: Cases) -> list[str]:
    return [f"{name}: {said}" for name, run in cases if (said := run())]


def _by_default() -> set[Key]:
    """Return a ninth of the kinds of each estimator, at least one, beginning with another kind for each."""
    kept: set[Key] = set()
    for i, name in enumerate(dict.fromkeys(name for _, name in CASES)):
        keys = [key for key in CASES if key[1] == name]
        kept.update(keys[i % min(9, len(keys)) :: 9])
    return kept


BY_DEFAULT = _by_default()


@pytest.mark.parametrize("key", [marked("-".join(key), known(*key), key) for key in CASES if key in BY_DEFAULT])
def test_inputs(key: Key) -> None:
    wrong = failures(CASES[key])
    assert not wrong, "\n".join([f"{len(wrong)} of {len(CASES[key])}:", *wrong])


@pytest.mark.long
@pytest.mark.parametrize("key", [marked("-".join(key), known(*key), key) for key in CASES if key not in BY_DEFAULT])
def test_other_inputs(key: Key) -> None:
    test_inputs(key)


@pytest.mark.parametrize("name", [marked(name, KNOWN_CALLS.get(name), name) for name in CALLS])
def test_calls(name: str) -> None:
    assert not failures([(name, CALLS[name])])


def test_the_sample_is_spread_evenly() -> None:
    """Every kind meets every estimator that it is about, and no pair of them has many cases more than another."""
    drawn = {key: len(cases) for key, cases in CASES.items() if key[0] in TABLES}
    fail = sum(known(*key) is not None for key in CASES)
    print(
        f"{sum(map(len, CASES.values()))} cases, {DRAW} of them drawn; of {len(CASES)} kinds and estimators {fail} are known to fail"
    )
    assert sum(drawn.values()) == DRAW
    assert max(drawn.values()) - min(drawn.values()) <= 2
    assert set(KNOWN) <= {kind for kind, _ in CASES}
    assert {name for kind in KNOWN for name in KNOWN[kind][1].split()} <= {*SUBJECTS, "*", "but"}


def _renewed() -> str:
    """KNOWN as it should read today, with what was found after each kind."""
    lines = []
    for kind in dict.fromkeys(kind for kind, _ in CASES):
        found = {name: said for name in SUBJECTS if (said := failures(CASES.get((kind, name), [])))}
        right = [name for name in SUBJECTS if (kind, name) in CASES and name not in found]
        if found:
            names = " ".join(["*", *(["but", *right] if right else [])] if len(right) <= 3 else found)
            lines += [f'"{kind}": ("{KNOWN.get(kind, ("", ""))[0]}", "{names}"),']
            lines += [f"    {said}" for said in sorted({said[:140] for some in found.values() for said in some})]
    return "\n".join(lines)


if __name__ == "__main__":
    print(_renewed())
