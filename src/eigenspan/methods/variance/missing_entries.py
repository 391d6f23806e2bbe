"""Rows with missing entries, and their latent variables under a linear model with Gaussian noise.

Given the entries o of a row, its latent variable z is Gaussian with precision ``(σ²I + W_o'W_o)/σ²``: one d×d system for each
pattern of gaps. Rows are sorted by pattern and processed in pieces of some thousand rows, all systems of a piece at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from ..._types import Array, Index, Mask, Matrix, is_sparse
from ...data.rows.block_passes import blocks
from ...data.rows.storage import Elsewhere, refuse_out_of_range
from ...errors import InputError, MissingWarning, warn
from ...numerics.eigen import dense
from ...numerics.memory import require
from ...numerics.threads import one_blas_thread

#: Largest number of entries in the stacked systems of a piece, and of rows.
_STACK, _ROWS = 2**21, 4096
#: Least noise in the systems, relative to the mean variance of the model, so that a model without noise can fill gaps too.
_LEAST = 1e-12


def has_gaps(X: Matrix | Elsewhere) -> bool:
    """Return True if dense X in memory or in a file has NaN; raise if sparse X has."""
    if isinstance(X, Elsewhere):
        return False  # the pass over the rows refuses NaN
    if is_sparse(X):
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
        1 for observed entries, else 0.
    which : ndarray of shape (m,)
        Pattern of every row.
    first : ndarray of shape (p,)
        First row of each pattern.
    """

    rows: slice
    patterns: Array
    which: Index
    first: Index

    def sums(self, Z: Array) -> Array:
        """Return ``Σ z z'`` over the rows of each pattern, (p, q, q)."""
        if len(self.patterns) == 1:
            return (Z.T @ Z)[None]
        products = Z[:, :, None] * Z[:, None, :]
        return products if len(self.patterns) == len(Z) else np.add.reduceat(products, self.first, axis=0)


@dataclass(frozen=True, eq=False)
class Gapped:
    """Rows with gaps about an origin, sorted by pattern of gaps.

    Attributes
    ----------
    values : ndarray of shape (n, D)
        About the origin, zero where an entry is missing.
    there : ndarray of bool, shape (n, D)
    order : ndarray of int, shape (n,)
        Index of each row in the given order.
    """

    values: Array
    there: Mask
    order: Index
    _pattern: Index

    @staticmethod
    def of(X: Array, origin: Array, unit: float = 1.0) -> Gapped:
        """Sort the rows of X by pattern, about the origin and in this unit."""
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
        """Number of observed entries of every row."""
        return self.there.sum(axis=1).astype(np.float64)

    @property
    def patterns(self) -> int:
        """Number of patterns of gaps."""
        return int(self._pattern[-1]) + 1

    def pieces(self, d: int) -> Iterator[Piece]:
        """Yield the rows in pieces whose d×d systems fit in the memory limit."""
        n, step = len(self.order), max(16, min(_ROWS, _STACK // (d + 1) ** 2))
        for i in range(0, n, step):
            rows = slice(i, min(i + step, n))
            _, first, which = np.unique(self._pattern[rows], return_index=True, return_inverse=True)
            yield Piece(rows, self.there[rows][first].astype(np.float64), which.ravel(), first)

    def restored(self, Y: Array) -> Array:
        """Return the rows in the given order."""
        out = np.empty_like(Y)
        out[self.order] = Y
        return out


class Triangle:
    """Packed storage of symmetric q×q matrices: the entries on and above the diagonal, which halves the work in sums."""

    def __init__(self, q: int) -> None:
        self.rows, self.columns = np.triu_indices(q)
        place = np.empty((q, q), dtype=np.intp)
        place[self.rows, self.columns] = place[self.columns, self.rows] = np.arange(self.rows.size)
        self.q, self._place = q, place.ravel()
        self._kept = self.rows * q + self.columns

    def squares(self, W: Array) -> Array:
        """Return ``w w'`` of every row of W, packed."""
        return W[:, self.rows] * W[:, self.columns]

    def pack(self, S: Array) -> Array:
        return np.take(S.reshape(len(S), -1), self._kept, axis=1)

    def unpack(self, packed: Array) -> Array:
        return np.take(packed, self._place, axis=1).reshape(-1, self.q, self.q)


@dataclass(frozen=True, eq=False)
class Expected:
    """Posterior of the latent variables of a piece: means (m, d), covariances by pattern (p, d, d), log-likelihood of the rows (m,)."""

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
        """Return the posterior for a piece of rows about the origin of `mean`; `squares` are ``w w'`` of the rows of W, packed.

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
        # r'C⁻¹r as the minimum of ‖r − W z‖²/σ² + ‖z‖², a sum without cancellation.
        square = np.sum((R - (Z @ self.W.T) * there) ** 2, axis=1) / noise + np.sum(Z**2, axis=1)
        logs = logs[piece.which] + there.sum(axis=1) * np.log(2 * np.pi * noise) - d * np.log(noise)
        return Expected(Z, noise * inverse, -0.5 * (logs + square))

    def _of_rows(self, X: Array, what: Callable[[Piece, Expected], Array]) -> Array:
        """Return a function of the posterior of every row of X, computed piece by piece."""
        rows, local = Gapped.of(X, self.mean), Latent(self.W, np.zeros_like(self.mean), self.noise)
        triangle = Triangle(self.W.shape[1])
        squares = triangle.squares(self.W)
        with one_blas_thread():  # for many small products
            pieces = rows.pieces(self.W.shape[1])
            found = [what(piece, local.expected(rows, piece, triangle, squares)) for piece in pieces]
        return rows.restored(np.concatenate(found))

    def means(self, X: Array) -> Array:
        """Return the posterior means of z given the observed entries of every row."""
        return self._of_rows(X, lambda _, found: found.means)

    def covariances(self, X: Array) -> Array:
        """Return the posterior covariances of z, row by row."""
        n, d = len(X), self.W.shape[1]
        require(16.0 * n * d**2, f"Covariances of {n} rows in {d} dimensions", "Pass fewer rows at a time.")
        return self._of_rows(X, lambda piece, found: found.covariances[piece.which])

    def log_likelihood(self, X: Array) -> Array:
        """Return the log-likelihood of the observed entries of every row; zero for a row without any."""
        return self._of_rows(X, lambda _, found: found.log_likelihood)

    def filled(self, X: Array) -> Array:
        """Return X with missing entries replaced by their expected values given the other entries of the row."""
        X = np.asarray(X, dtype=np.float64)
        return np.where(np.isnan(X), self.means(X) @ self.W.T + self.mean, X)


def warn_of_empty_rows(X: Array) -> None:
    """Warn if rows have no entries."""
    empty = np.flatnonzero(np.isnan(X).all(axis=1))
    if empty.size:
        warn(
            f"{empty.size} of {len(X)} rows have no entry (the first is row {empty[0]}): nothing is known of them, and they are placed at "
            "the mean of all others. Drop such rows if they are not meant to count.",
            MissingWarning,
        )


def column_centres(X: Array) -> Array:
    """Return the means of the observed entries of every column; raise for empty columns and for values whose squares overflow."""
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
