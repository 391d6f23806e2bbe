"""Rows with missing entries under a linear model with Gaussian noise: what they say of the model, and the model of them.

A row with entries o says of its latent variable z that it is Gaussian, with precision ``(σ²I + W_o'W_o)/σ²``: one d×d system for each
pattern of gaps. Rows are sorted by pattern and worked on some thousand at a time, all systems of a piece at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._types import Array, Index
from ...data.rows.storage import blocks, refuse_out_of_range
from ...errors import InputError, MissingWarning, warn
from ...numerics.eigen import dense
from ...numerics.memory import require
from ...numerics.threads import one_blas_thread

#: Numbers in the stacked systems of a piece, and its rows.
_STACK, _ROWS = 2**21, 4096
#: Noise, relative to the model's mean variance, that systems have at least: a model without any still fills gaps.
_LEAST = 1e-12


def has_gaps(X: Any) -> bool:
    """A NaN is among the entries of dense X; sparse X must not have any."""
    if hasattr(X, "toarray"):
        if np.isnan(X.data).any():
            raise InputError(
                f"Sparse X has {int(np.isnan(X.data).sum())} entries NaN beside zeros that are not stored: which of them are missing "
                "cannot be told. Pass X.toarray() with NaN where nothing was observed."
            )
        return False
    return any(np.isnan(np.min(X[part])) for part in blocks(*X.shape) if X.size)


@dataclass(frozen=True, eq=False)
class Piece:
    """Some rows, sorted by pattern.

    Attributes
    ----------
    rows : slice
        Among the sorted rows.
    patterns : ndarray of shape (p, D)
        One where an entry is there.
    which : ndarray of shape (m,)
        Pattern of every row.
    first : ndarray of shape (p,)
        Where each pattern begins.
    """

    rows: slice
    patterns: Array
    which: Index
    first: Index

    def sums(self, Z: Array) -> Array:
        """``Σ z z'`` over the rows of each pattern, (p, q, q)."""
        if len(self.patterns) == 1:
            return (Z.T @ Z)[None]
        products = Z[:, :, None] * Z[:, None, :]
        return products if len(self.patterns) == len(Z) else np.add.reduceat(products, self.first, axis=0)


@dataclass(frozen=True, eq=False)
class Gapped:
    """Rows with gaps about an origin, those of one pattern side by side.

    Attributes
    ----------
    values : ndarray of shape (n, D)
        About the origin, zero where an entry is missing.
    there : ndarray of bool, shape (n, D)
    order : ndarray of int, shape (n,)
        Which of the given rows each is.
    """

    values: Array
    there: NDArray[np.bool_]
    order: Index
    _pattern: Index

    @staticmethod
    def of(X: Any, origin: Array, unit: float = 1.0) -> Gapped:
        """The rows of X."""
        n, D = X.shape
        require(
            26.0 * n * D,
            f"The {n}×{D} entries and their gaps",
            "Fit to some of the rows, and impute the others in parts.",
        )
        there = ~np.isnan(X)
        words = np.packbits(there, axis=1)
        pattern = np.unique(words.view(f"V{words.shape[1]}").ravel(), return_inverse=True)[1].ravel()
        order = np.argsort(pattern, kind="stable")
        there = there[order]
        values = np.where(there, np.subtract(X[order], origin, dtype=np.float64) / unit, 0.0)
        return Gapped(values, there, order, pattern[order])

    @property
    def counts(self) -> Array:
        """Entries of every row."""
        return self.there.sum(axis=1).astype(np.float64)

    @property
    def patterns(self) -> int:
        """How many patterns of gaps there are."""
        return int(self._pattern[-1]) + 1

    def pieces(self, d: int) -> Iterator[Piece]:
        """The rows in pieces that leave room for d×d systems."""
        n, step = len(self.order), max(16, min(_ROWS, _STACK // (d + 1) ** 2))
        for i in range(0, n, step):
            rows = slice(i, min(i + step, n))
            _, first, which = np.unique(self._pattern[rows], return_index=True, return_inverse=True)
            yield Piece(rows, self.there[rows][first].astype(np.float64), which.ravel(), first)

    def restored(self, Y: Array) -> Array:
        """Rows in their own order again."""
        out = np.empty_like(Y)
        out[self.order] = Y
        return out


class Triangle:
    """Symmetric q×q matrices by the entries on and above the diagonal: half of the work in sums over them."""

    def __init__(self, q: int) -> None:
        self.rows, self.columns = np.triu_indices(q)
        place = np.empty((q, q), dtype=np.intp)
        place[self.rows, self.columns] = place[self.columns, self.rows] = np.arange(self.rows.size)
        self.q, self._place = q, place.ravel()
        self._kept = self.rows * q + self.columns

    def squares(self, W: Array) -> Array:
        """``w w'`` of every row of W."""
        return W[:, self.rows] * W[:, self.columns]

    def pack(self, S: Array) -> Array:
        return np.take(S.reshape(len(S), -1), self._kept, axis=1)

    def unpack(self, packed: Array) -> Array:
        return np.take(packed, self._place, axis=1).reshape(-1, self.q, self.q)


@dataclass(frozen=True, eq=False)
class Expected:
    """What is known of the latent variables of a piece: means (m, d), covariances by pattern (p, d, d), log-likelihood of the rows (m,)."""

    means: Array
    covariances: Array
    log_likelihood: Array


@dataclass(frozen=True, eq=False)
class Latent:
    """``x = W z + mean + e`` with z ~ N(0, I) and e ~ N(0, noise·I): W is (D, d)."""

    W: Array
    mean: Array
    noise: float

    def _noise(self) -> float:
        return max(self.noise, _LEAST * float(np.mean(np.sum(self.W**2, axis=1))), np.finfo(float).tiny)

    def expected(self, rows: Gapped, piece: Piece, triangle: Triangle, squares: Array) -> Expected:
        """Of a piece of rows about an origin from which `mean` is measured too; `squares` are ``w w'`` of the rows of W, packed.

        Cost O(pDd² + pd³ + mDd).
        """
        d, noise = self.W.shape[1], self._noise()
        A = triangle.unpack(piece.patterns @ squares)
        A[:, np.arange(d), np.arange(d)] += noise
        inverse, logs = dense.inverses(A)
        there = rows.there[piece.rows]
        R = rows.values[piece.rows] - self.mean * there
        B = R @ self.W
        Z = B @ inverse[0] if len(inverse) == 1 else np.matmul(B[:, None, :], inverse[piece.which])[:, 0]
        # the smallest of ‖r − W z‖²/σ² + ‖z‖² is r'C⁻¹r: nothing large is subtracted
        square = np.sum((R - (Z @ self.W.T) * there) ** 2, axis=1) / noise + np.sum(Z**2, axis=1)
        logs = logs[piece.which] + there.sum(axis=1) * np.log(2 * np.pi * noise) - d * np.log(noise)
        return Expected(Z, noise * inverse, -0.5 * (logs + square))

    def _of_rows(self, X: Any, what: Callable[[Piece, Expected], Array]) -> Array:
        """Something of the rows of X, told piece by piece."""
        rows, local = Gapped.of(X, self.mean), Latent(self.W, np.zeros_like(self.mean), self.noise)
        triangle = Triangle(self.W.shape[1])
        squares = triangle.squares(self.W)
        with one_blas_thread():  # many small products
            pieces = rows.pieces(self.W.shape[1])
            found = [what(piece, local.expected(rows, piece, triangle, squares)) for piece in pieces]
        return rows.restored(np.concatenate(found))

    def means(self, X: Any) -> Array:
        """Posterior means of z given what is there of every row."""
        return self._of_rows(X, lambda _, found: found.means)

    def covariances(self, X: Any) -> Array:
        """Posterior covariances of z, row by row."""
        n, d = len(X), self.W.shape[1]
        require(16.0 * n * d**2, f"Covariances of {n} rows in {d} dimensions", "Pass fewer rows at a time.")
        return self._of_rows(X, lambda piece, found: found.covariances[piece.which])

    def log_likelihood(self, X: Any) -> Array:
        """Of what is there of every row; zero for a row without any entry."""
        return self._of_rows(X, lambda _, found: found.log_likelihood)

    def filled(self, X: Any) -> Array:
        """X with the expected values of missing entries, given the others of their row."""
        X = np.asarray(X, dtype=np.float64)
        return np.where(np.isnan(X), self.means(X) @ self.W.T + self.mean, X)


def warn_of_empty_rows(X: Any) -> None:
    """Say how many rows have no entry."""
    empty = np.flatnonzero(np.isnan(X).all(axis=1))
    if empty.size:
        warn(
            f"{empty.size} of {len(X)} rows have no entry (the first is row {empty[0]}): nothing is known of them, and they are placed at "
            "the mean of all others. Drop such rows if they are not meant to count.",
            MissingWarning,
        )


def column_centres(X: Any) -> Array:
    """Means of what is there of every column; refuses columns without entries, and values whose squares cannot be held."""
    there = ~np.isnan(X)
    counts = there.sum(axis=0)
    if not counts.all():
        empty = np.flatnonzero(counts == 0)
        listed = ", ".join(map(str, empty[:10])) + (", …" if empty.size > 10 else "")
        raise InputError(
            f"Column{'s' * (empty.size > 1)} {listed} of X ha{'ve' if empty.size > 1 else 's'} no entry in any of the {len(X)} rows: "
            "nothing can be learned of what is never observed. Drop it before the fit."
        )
    with np.errstate(over="ignore", invalid="ignore"):
        rough = np.where(there, X, 0.0).sum(axis=0, dtype=np.float64) / counts
        refuse_out_of_range(np.where(there, X, rough))
        return np.asarray(rough + np.where(there, X - rough, 0.0).sum(axis=0) / counts)
