"""Pairwise testing of parameter values: rows that contain every pair of values at least once, chosen during the tests.

A row assigns a value to every parameter of a method; the method is one more parameter. A correct fit covers all pairs of its row. A row
that is refused or wrong is reduced to the fewest values with the same outcome, and no later row contains these.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import combinations

from parameter_values import DEFAULT, Values

Item = tuple[str, str]
Pair = tuple[Item, Item]
Row = dict[str, str]


@dataclass
class Cover:
    """All pairs of values of the parameters of some methods, and their outcomes.

    `judge` fits a row and says "" where it is right, "refused: ..." where it was refused on purpose, else what is wrong. `has` holds the
    parameters of each method, `known` what is known to be wrong: sets of values that no row contains.
    """

    table: dict[str, Values]
    has: dict[str, frozenset[str]]
    judge: Callable[[Row], str]
    known: list[frozenset[Item]] = field(default_factory=list)
    #: Values that are tried with every method, and in no other pair.
    alone: frozenset[Item] = frozenset()
    #: Parameters that decide which way a fit goes: what is not in the pair stays at its default, for the shortest way must be tried too.
    routes: frozenset[str] = frozenset()
    #: Begin with every single value with the defaults of every method: more fits, but fewer rows to reduce.
    singles: bool = True
    #: Try only every n-th of the single values, and no other pairs. 0: everything.
    sample: int = 0

    def __post_init__(self) -> None:
        self.forbidden = list(self.known)
        self.defects: dict[frozenset[Item], str] = {}
        self.said: dict[frozenset[Item], str] = {}
        self.wrong: dict[frozenset[Item], Row] = {}
        self.right = self.refused = 0
        self.random = random.Random(0)
        self.open: dict[Pair, None] = {}
        self.near: dict[Item, set[Item]] = {}
        self.companions: dict[Item, set[str]] = {}
        self.asked: set[frozenset[str]] = set()

    @property
    def cases(self) -> int:
        return len(self.said)

    # ------------------------------------------------------------------ fits
    def _try(self, row: Row) -> str:
        key = frozenset(item for item in row.items() if item[1] != DEFAULT)
        if key not in self.said:
            self.said[key] = said = self.judge(row)
            self.right += not said
            self.refused += (kept := said.startswith("refused"))
            if said and not kept:
                self.wrong[key] = row
        return self.said[key]

    def _row(self, *items: Item) -> Row:
        """Return these values with the other parameters of the method at their defaults."""
        method = dict(items)["estimator"]
        return {"estimator": method, **dict.fromkeys(sorted(self.has[method]), DEFAULT), **dict(items)}

    def _allowed(self, row: Row) -> bool:
        items = row.items()
        return not any(some <= items for some in self.forbidden)

    # ------------------------------------------------------------------ what is refused or wrong, and why
    def _settle(self, row: Row, said: str) -> frozenset[Item]:
        """Reduce a refused or wrong row, and exclude the remaining values from later rows."""
        culprits = self._strip(row, said)
        if said.startswith("refused"):
            self._forbid(culprits, said)
        else:
            self.defects[culprits] = said
            self.forbidden.append(culprits)
        return culprits

    def _strip(self, row: Row, said: str) -> frozenset[Item]:
        kept = dict(row)
        for name in row:
            if name != "estimator" and kept[name] != DEFAULT:
                fewer = {**kept, name: DEFAULT}
                if _kind(self._try(fewer)) == _kind(said):
                    kept = fewer
        items = {item for item in kept.items() if item[1] != DEFAULT}
        mine = ("estimator", kept["estimator"])
        for other in self.has:  # test whether another method has the same outcome
            if (
                len(items) > 2
                and other != kept["estimator"]
                and {name for name, _ in items - {mine}} <= self.has[other]
            ):
                if _kind(self._try(self._row(*(items - {mine}), ("estimator", other)))) == _kind(said):
                    items.discard(mine)
                break
        return frozenset(items)

    def _forbid(self, culprits: frozenset[Item], said: str) -> None:
        """Search another parameter, named in the message, with which a value is accepted that is refused with all defaults."""
        others = {name for name, _ in culprits}
        if len(culprits) == 2 and "estimator" in others:
            for name in sorted(self.has[dict(culprits)["estimator"]] - others):
                if name in said.lower():
                    rows = [self._row(*culprits, (name, label)) for label in self.table[name] if label != DEFAULT]
                    if any(self._allowed(row) and not self._try(row) for row in rows):
                        for item in (item for item in culprits if item[0] != "estimator"):
                            self.companions.setdefault(item, set()).add(name)
                        culprits |= {(name, DEFAULT)}
                        break
        self.forbidden.append(culprits)

    # ------------------------------------------------------------------ pairs
    def _applicable(self) -> Iterator[Pair]:
        for first, second in combinations(sorted(self.table), 2):
            for a in self.table[first]:
                for b in self.table[second]:
                    if "estimator" not in (first, second) and self.alone & {(first, a), (second, b)}:
                        continue
                    names = {first, second} - {"estimator"}
                    methods = [a] if first == "estimator" else [b] if second == "estimator" else list(self.has)
                    if any(names <= self.has[method] for method in methods):
                        yield (first, a), (second, b)

    def _close(self, a: Item, b: Item) -> None:
        if (a, b) in self.open:
            del self.open[a, b]
            self.near[a].discard(b)
            self.near[b].discard(a)

    def run(self) -> None:
        for a, b in self._applicable():
            self.open[a, b] = None
            self.near.setdefault(a, set()).add(b)
            self.near.setdefault(b, set()).add(a)
        if self.singles:
            single = [pair for pair in self.open if "estimator" in dict(pair)]
            for pair in single[:: self.sample or None]:
                self._single(pair)
        while self.open and not self.sample:
            seed = next(iter(self.open))
            self._cover(seed)
            self._close(*seed)
        for key in list(self.wrong):  # failures found only while other rows were reduced
            row = self.wrong[key]
            if self._allowed(row) or not any(some <= row.items() for some in (*self.known, *self.defects)):
                self._settle(row, self.said[key])

    def _single(self, pair: Pair) -> None:
        row = self._row(*pair)
        if self._allowed(row) and (said := self._try(row)):
            if said.startswith("refused"):
                self._forbid(frozenset(pair), said)
            else:
                self._settle(row, said)
        elif self._allowed(row):
            self._close(*pair)

    def _cover(self, seed: Pair) -> None:
        small = self._small(seed)
        if small is None:
            return
        row = self._fill(small, {name for name, _ in seed})
        said = self._try(row)
        if said:
            self._ask_around(frozenset(name for name, _ in self._settle(row, said)))
            row, said = small, self._try(small) if self._allowed(small) else said
            if said and self._allowed(small):
                self._settle(small, said)
        if not said:
            turned = {name for name in self.routes & row.keys() if row[name] != DEFAULT}
            for pair in combinations(sorted(row.items()), 2):
                if turned <= {pair[0][0], pair[1][0]} | self._wants(pair[0]) | self._wants(pair[1]):
                    self._close(*pair)

    def _ask_around(self, names: frozenset[str]) -> None:
        """Test each pair of values of two parameters by itself, if one pair of theirs was refused."""
        names = names - {"estimator"}
        if len(names) != 2 or names in self.asked:
            return
        self.asked.add(names)
        for pair in [pair for pair in self.open if {pair[0][0], pair[1][0]} == names]:
            row = self._small(pair)
            said = self._try(row) if row is not None else ""
            if said.startswith("refused"):
                self.forbidden.append(frozenset(pair))
            elif said:
                self._settle(row, said)
            self._close(*pair)

    def _small(self, seed: Pair) -> Row | None:
        """Return a row with the two values, defaults, and other values that make it valid; None if there is none."""
        given = dict(seed)
        names = set(given) - {"estimator"}
        methods = [given["estimator"]] if "estimator" in given else [m for m in self.has if names <= self.has[m]]
        self.random.shuffle(methods)
        for method in methods:
            row = self._row(*seed, ("estimator", method))
            if self._allowed(row):
                return row
            for some in self.forbidden:  # a default that must not be
                wanting = sorted(name for name, label in some if label == DEFAULT and name not in given)
                if some <= row.items() and wanting:
                    for label in self.table[wanting[0]]:
                        if self._allowed(other := {**row, wanting[0]: label}):
                            return other
        return None

    def _wants(self, item: Item) -> set[str]:
        """Return the parameters whose defaults are refused together with this value."""
        return self.companions.get(item, set())

    def _fill(self, small: Row, fixed: set[str]) -> Row:
        """Return the next row: each free parameter in turn gets the value that covers most open pairs."""
        row = dict(small)
        free = [name for name in row if name not in fixed | self.routes | {"estimator"} and row[name] == DEFAULT]
        self.random.shuffle(free)
        for name in free:
            items = set(row.items())
            met = {label: len(self.near.get((name, label), set()) & items) for label in self.table[name]}
            for label in sorted(met, key=lambda label: -met[label]):
                if met[label] == 0:
                    break
                if self._allowed({**row, name: label}):
                    row[name] = label
                    break
        return row if self._allowed(row) else small


def _kind(said: str) -> str:
    """Return the outcome without numbers."""
    return "".join(c for c in said.split("\n")[0] if not c.isdigit())[:60]
