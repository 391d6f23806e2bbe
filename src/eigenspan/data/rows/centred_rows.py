"""Rows about an origin, or their coordinates along some axes, made some at a time and never as a whole."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ...numerics.threads import in_threads, workers
from .chunked_sums import strips_of

Array = NDArray[np.float64]

#: Rows that are projected at once: these and their images stay in the cache.
_PLACED = 512
#: Relative error of a projection from which single precision is given up.
_SHOWS = 1e-5
#: Multiplications from which a second thread is worth starting.
_WORTH = 2**24
#: Columns from which a product with few axes is faster transposed, by a fifth at 784; of 100 it would be slower by a third.
_WIDE = 400


@dataclass(frozen=True, eq=False)
class CentredRows:
    """Rows of X about an origin, or their coordinates along some axes, handed out in double precision some at a time."""

    X: Any
    origin: Array
    axes: Array | None = None

    @property
    def shape(self) -> tuple[int, int]:
        return self.X.shape if self.axes is None else (self.X.shape[0], self.axes.shape[1])

    def __getitem__(self, which: Any) -> Array:
        rows = self.X[which]
        rows = np.subtract(rows.toarray() if sp.issparse(rows) else rows, self.origin, dtype=np.float64)
        return np.asarray(rows if self.axes is None else rows @ self.axes)

    def project(self, V: Array, precision: Any = np.float64) -> Any:
        """``(X − 1·origin') V`` a block at a time, multiplied in the precision of X and written down in another.

        Rows in single precision are multiplied in double where large coefficients cancel.
        """
        out = np.empty((self.shape[0], V.shape[1]), precision)
        dtype: Any = np.float32 if self.X.dtype == np.float32 and not self._cancels(V) else np.float64
        # zero in double precision, where X V − origin' V loses nothing that X had
        near = np.zeros_like(self.origin) if dtype == np.float64 else self.origin.astype(dtype)
        axes, shift = V.astype(dtype), ((self.origin - near) @ V).astype(precision)

        wide = dtype == np.float64 and len(V) >= _WIDE

        def place(strip: list[slice]) -> None:
            space = np.empty((0 if dtype == np.float64 else 1 + strip[0].stop - strip[0].start, len(V)), dtype)
            for part in strip:
                rows = self.X[part]
                if len(space):
                    rows = np.subtract(rows, near, out=space[: len(rows)])
                elif self.X.dtype == np.float32:
                    rows = rows.astype(np.float64)
                np.subtract((axes.T @ rows.T).T if wide else rows @ axes, shift, out=out[part])

        # never on threads of the linear algebra: these would keep a processor from what comes next
        (n, D), d = self.shape, V.shape[1]
        in_threads(place, strips_of(n, D, rows=_PLACED), workers() if n * D * d > _WORTH else 1)
        return out

    def _cancels(self, V: Array) -> bool:
        """Whether products of the first rows with V are so much smaller than their terms that single precision would show."""
        rows = np.subtract(self.X[:_PLACED], self.origin, dtype=np.float64)
        terms, products = np.abs(rows) @ np.abs(V), np.abs(rows @ V)
        lost = float(np.finfo(np.float32).eps) * terms.max(axis=0, initial=0.0)
        return bool(np.any(lost > _SHOWS * products.max(axis=0, initial=0.0)))
