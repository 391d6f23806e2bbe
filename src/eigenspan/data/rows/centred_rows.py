"""Rows minus an origin, or their coordinates along axes, computed in blocks: the whole table is never formed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import DTypeLike

from ..._types import Array, Floats, Index, Matrix, is_sparse
from ...numerics.threads import in_threads, workers
from .chunked_sums import groups_of_blocks

#: Rows per block of a projection: a block and its image fit in the cache.
_BLOCK_ROWS = 512
#: Largest relative error of a projection in single precision; if it may be larger, double precision is used.
_TOLERANCE = 1e-5
#: Least number of multiplications for which several threads are used.
_THREADED = 2**24
#: Least number of columns for which the transposed product is faster: by 20 % at 784 columns; at 100 it is 30 % slower.
_WIDE = 400


@dataclass(frozen=True, eq=False)
class CentredRows:
    """Rows of X minus an origin, or their coordinates along axes, in double precision; indexing computes the rows asked for."""

    X: Matrix
    origin: Array
    axes: Array | None = None

    @property
    def shape(self) -> tuple[int, int]:
        return self.X.shape if self.axes is None else (self.X.shape[0], self.axes.shape[1])

    def __getitem__(self, which: slice | Index) -> Array:
        rows = self.X[which]
        rows = np.subtract(rows.toarray() if is_sparse(rows) else rows, self.origin, dtype=np.float64)
        return np.asarray(rows if self.axes is None else rows @ self.axes)

    def project(self, V: Array, precision: DTypeLike = np.float64) -> Array:
        """Return ``(X − 1·origin') V``, computed in blocks in the precision of X and stored in `precision`.

        Rows in single precision are multiplied in double precision if large coefficients cancel.
        """
        out: Array = np.empty((self.shape[0], V.shape[1]), precision)
        dtype = np.float32 if self.X.dtype == np.float32 and not self._cancels(V) else np.float64
        # In double precision X V − origin' V loses no digits, so nothing is subtracted before the product.
        near: Floats = np.zeros_like(self.origin) if dtype == np.float64 else self.origin.astype(dtype)
        axes: Floats = V.astype(dtype)
        shift = ((self.origin - near) @ V).astype(precision)
        wide = dtype == np.float64 and len(V) >= _WIDE

        def place(group: list[slice]) -> None:
            buffer = np.empty((0 if dtype == np.float64 else 1 + group[0].stop - group[0].start, len(V)), dtype)
            for part in group:
                rows = self.X[part]
                if len(buffer):
                    rows = np.subtract(rows, near, out=buffer[: len(rows)])
                elif self.X.dtype == np.float32:
                    rows = rows.astype(np.float64)
                np.subtract((axes.T @ rows.T).T if wide else rows @ axes, shift, out=out[part])

        # Not on BLAS threads: these stay busy for a while after the product.
        (n, D), d = self.shape, V.shape[1]
        in_threads(place, groups_of_blocks(n, D, rows=_BLOCK_ROWS), workers() if n * D * d > _THREADED else 1)
        return out

    def _cancels(self, V: Array) -> bool:
        """Return True if products of the first rows with V are so much smaller than their terms that single precision is too coarse."""
        rows = np.subtract(self.X[:_BLOCK_ROWS], self.origin, dtype=np.float64)
        terms, products = np.abs(rows) @ np.abs(V), np.abs(rows @ V)
        lost = float(np.finfo(np.float32).eps) * terms.max(axis=0, initial=0.0)
        return bool(np.any(lost > _TOLERANCE * products.max(axis=0, initial=0.0)))
