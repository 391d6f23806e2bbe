"""Interfaces of the matrices that the eigensolvers and factorisations accept."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol, Self

from .._types import Array, Integers, Matrix, Sparse


class PairOperator(Protocol):
    """Weights of all pairs of points, which only multiply."""

    def __matmul__(self, V: Array) -> Array: ...


class DistributedOperator(PairOperator, Protocol):
    """Weights of all pairs whose rows are stored on a cluster."""

    distributed: bool

    def filtered(self, V: Array, steps: Iterable[tuple[float, float, float]]) -> Array:
        """Apply a polynomial given by the coefficients of its recurrence to a block of vectors."""


class SymmetricMatrix(Protocol):
    """Interface of a symmetric matrix, a sum of sparse, dense, low-rank and factored parts (`eigenspan.problem.Form` implements it)."""

    @property
    def n(self) -> int: ...
    @property
    def psd(self) -> bool: ...
    @property
    def sparse(self) -> Sparse | None: ...
    @property
    def dense(self) -> Array | None: ...
    @property
    def low_rank(self) -> tuple[Matrix, Array] | None: ...
    @property
    def roots(self) -> tuple[tuple[float, Sparse], ...]: ...
    @property
    def pairs(self) -> tuple[tuple[float, PairOperator], ...]: ...
    def __matmul__(self, Z: Array) -> Array: ...
    def assembled(self) -> Self: ...
    def permuted(self, order: Integers) -> Self: ...
    def written_out(self) -> Self: ...
    def to_dense(self) -> Array: ...
    def norm(self) -> float: ...
