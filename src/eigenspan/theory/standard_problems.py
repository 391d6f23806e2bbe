"""Eigenproblem of a fitted method in standard form, and the kernels that have its eigenvectors."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import EigenspanWarning, InputError
from ..problem import Form, Raw, TraceProblem, identity, solve
from ..problem.extensions.walk import Approach, WalkRows
from ..problem.matrix_functions import FunctionOf, Reciprocal, Same, Shifted, Walked
from .data_dependent_kernels import Extension, Factor, Interpolated, Steps, Values
from .equivalent import EquivalentKernel

Array = NDArray[np.float64]
Index = NDArray[np.intp]


@dataclass(frozen=True)
class Words:
    """Description of a kernel."""

    name: str
    statement: str
    condition: str


@dataclass(frozen=True, eq=False)
class Standard:
    """``A u = λ u`` over the points of a fit, with embedding rows ``s ∘ u`` and an excluded direction.

    `constant` is the normalised direction that centring removes; for a unit form B = diag(b) it is proportional to b^½.
    """

    estimator: Any
    A: Form
    scale: Array | None
    constant: Array
    points: Index
    embedding: Array

    @staticmethod
    def of(estimator: Any) -> Standard:
        A, B, n = estimator.problem_.A, estimator.problem_.B, estimator.problem_.A.n
        unit, scale = np.ones(n), None
        if B is not None:
            if not B.is_diagonal() or B.diagonal().min() <= 0:
                raise InputError(
                    f"The unit form of this {type(estimator).__name__} is not a positive diagonal matrix, so there is no kernel with the "
                    "same eigenvectors."
                )
            unit = B.diagonal()
            scale = 1.0 / np.sqrt(unit)
            A = A.scaled(scale)
        points = points_of(estimator, n)
        constant = np.sqrt(unit / unit.sum())[:, None]
        return Standard(estimator, A, scale, constant, points, places(estimator, points))

    def kernel(
        self, words: Words, form: str, operator: Any, function: Any, sense: Any, centring: str, extension: Extension | None,
        **facts: Any,
    ) -> EquivalentKernel:  # fmt: skip
        removed = None if centring == "none" else self.constant
        return EquivalentKernel(
            words.name, form, words.statement, words.condition, centring, operator, removed, self.scale, self.points, self.embedding,
            self.estimator, TraceProblem(self.A, None, sense, removed), function, extension, facts,
        )  # fmt: skip

    def gram(self, words: Words, **facts: Any) -> EquivalentKernel:
        """Return the kernel that is the maximised form itself."""
        return self.kernel(words, "gram", self.A, Same(), "max", "centred", self._values(), **facts)

    def shifted(
        self, words: Words, form: str, mu: float | None, centring: str, extension: Any = None
    ) -> EquivalentKernel:
        """Return the kernel ``μI − A``; None means the largest eigenvalue of A."""
        mu = largest(self.A) if mu is None else mu
        function = Shifted(mu)
        return self.kernel(
            words, form, mu * identity(self.A.n) - self.A, function, "min", centring, extension, shift=mu
        )

    def inverse(self, words: Words, centring: str, factor: float = 1.0, extension: Any = None) -> EquivalentKernel:
        """Return the kernel ``factor · A†``."""
        function = Reciprocal(factor, self.A.n * np.finfo(float).eps * self.A.norm())
        operator = FunctionOf(self.A, function, self.constant)
        return self.kernel(words, "pseudo-inverse", operator, function, "min", centring, extension)

    def walked(self, words: Words, time: float, volume: float, extension: Any) -> EquivalentKernel:
        """Return the kernel ``vol |I − A|^2t``."""
        function = Walked(time, volume)
        operator = FunctionOf(self.A, function, self.constant)
        return self.kernel(words, "deflated", operator, function, "min", "deflated", extension)

    # ------------------------------------------------------------------ new points
    def _values(self) -> Extension | None:
        map_ = self.estimator.map_
        if isinstance(map_.rows, Raw) and self.A.low_rank is not None:
            return Factor(None, map_.rows, self.A.low_rank[0], map_.offset)
        if map_.offset is not None:
            return Values(map_.known, map_.rows, map_.offset, None if self.scale is None else 1.0 / self.scale)
        return self.interpolated()

    def interpolated(self) -> Extension | None:
        """Return the rule by interpolation weights, or None if the map of the method is not such an interpolation."""
        map_, n = self.estimator.map_, self.A.n
        if map_.offset is not None or map_.coef.shape[0] not in (n, 2 * n):
            return None
        own = self.embedding if map_.embedding is None else map_.embedding
        if not all(np.allclose(part, own) for part in np.split(map_.coef, map_.coef.shape[0] // n)):
            return None
        return Interpolated(map_.known, map_.rows, np.ones(n) if self.scale is None else self.scale)

    def steps(self, *, alpha: float = 0.0, direct: bool = True) -> Extension | None:
        """Return the rule by normalised affinities; by interpolation if the map of the method has no random walk."""
        map_ = self.estimator.map_
        walk = map_.rows.walk if isinstance(map_.rows, Approach) else map_.rows
        if not isinstance(walk, WalkRows) or self.scale is None:
            return self.interpolated()
        return Steps(map_.known, walk, 1.0 / self.scale**2, alpha, direct)


def points_of(estimator: Any, n: int) -> Index:
    """Return the row numbers in X of the n points of the problem."""
    graph = vars(estimator).get("graph_")
    if graph is not None and graph.rows is not None and graph.n == n:
        return np.asarray(graph.rows)
    return np.arange(n)


def places(estimator: Any, points: Index) -> Array:
    return np.asarray(estimator.embedding_, dtype=np.float64)[points]


def largest(A: Form) -> float:
    """Return the largest eigenvalue of a PSD form."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EigenspanWarning)  # a repeated eigenvalue is no problem here
        return float(solve(TraceProblem(A, None, "max"), 1).values[0])


def no_kernel(estimator: Any, why: str) -> str:
    return f"{type(estimator).__name__} is not kernel PCA of any kernel: {why}"


def check_form(estimator: Any, form: str, *others: str) -> None:
    """Raise InputError if the method does not have this form of kernel."""
    if form != "auto" and form not in others:
        known = f"has {' and '.join(map(repr, others))}" if others else "has one kernel only"
        raise InputError(f"form={form!r} does not apply: {type(estimator).__name__} {known}. Leave form= out.")
