"""A case of the fuzzer: an estimator, points, labels and a container as Python expressions, so that a failure is a snippet."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

import eigenspan as es
from eigenspan.methods.registry import all_rows

from . import data

ROWS = {row.name: row for row in all_rows()}
_NAMES = {"es": es, "np": np, **{name: getattr(data, name) for name in vars(data) if not name.startswith("_")}}


@dataclass(frozen=True)
class Case:
    """Python expressions. `points` is evaluated first; `labels`, `given` and the parameters may refer to the points as X."""

    method: str
    points: str
    labels: str = "None"
    #: Parameters by name, as expressions; "embedding" of Anchored comes first.
    params: tuple[tuple[str, str], ...] = ()
    #: Argument of fit: the points, or a matrix of pairs.
    given: str = "X"
    container: str = "array"
    seed: int = 0

    # ------------------------------------------------------------------ facts for the table of promises
    def get(self, name: str, default: str = "") -> str:
        """Return the expression of a parameter, or its default."""
        return dict(self.params).get(name, default)

    @property
    def geometry(self) -> str:
        return self.points.split("(")[0]

    @property
    def columns(self) -> int:
        """Number of columns in the expression of the points."""
        found = re.match(r"\w+\(\d+, (\d+)", self.points)
        return int(found[1]) if found else 0

    @property
    def has_constant_columns(self) -> bool:
        return bool(np.any(np.ptp(self.make_points(), axis=0) == 0))

    @property
    def family(self) -> str:
        return ROWS[self.method].family if self.method in ROWS else "by hand"

    @property
    def supervision(self) -> str:
        return str(ROWS[self.method].supervision) if self.method in ROWS else "optional"

    @property
    def basis(self) -> str:
        return str(ROWS[self.method].basis) if self.method in ROWS else "by hand"

    @property
    def has(self) -> frozenset[str]:
        """Names of all parameters of the method."""
        return _parameters(self.method)

    @property
    def text(self) -> str:
        """All expressions as one text, in which exceptions to a promise are searched."""
        return " ".join([*(f"{name}={value}" for name, value in self.params), self.given])

    @property
    def by_neighbours(self) -> bool:
        """True if the result depends on a neighbour graph."""
        return bool({"n_neighbors", "graph", "n_rivals", "embedding"} & self.has) or bool(
            re.search(r"HeatKernel|CommuteTimeKernel|ReconstructionKernel", self.text)
        )

    # ------------------------------------------------------------------ evaluation
    @property
    def estimator(self) -> str:
        return f"es.{self.method}({', '.join(f'{name}={value}' for name, value in self.params)})"

    def make_points(self) -> Any:
        return eval(self.points, dict(_NAMES))

    def make_labels(self, X: Any) -> Any:
        return eval(self.labels, {**_NAMES, "X": X})

    def make_given(self, X: Any) -> Any:
        return eval(self.given, {**_NAMES, "X": X})

    def make_estimator(self, X: Any, **more: Any) -> Any:
        return eval(self.estimator, {**_NAMES, "X": X}).set_params(**more)

    def without(self, name: str) -> Case:
        return replace(self, params=tuple(item for item in self.params if item[0] != name))

    def snippet(self, relation: str) -> str:
        """Return Python code that reproduces the failure; run it with ``PYTHONPATH=src:tests/support``."""
        return "\n".join(
            [
                "from metamorphic import Case, explain",
                f"explain({relation!r}, Case(",
                f"    method={self.method!r},",
                f"    points={self.points!r},",
                f"    labels={self.labels!r},",
                f"    params={self.params!r},",
                f"    given={self.given!r}, container={self.container!r}, seed={self.seed},",
                "))",
            ]
        )


@cache
def _parameters(method: str) -> frozenset[str]:
    """Return the names of the parameters of a class of the library."""
    import inspect

    return frozenset(inspect.signature(getattr(es, method)).parameters)
