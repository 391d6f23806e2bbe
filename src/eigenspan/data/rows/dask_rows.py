"""Rows of a Dask array, data frame or Parquet dataset, in blocks; computations run where the blocks are stored.

Dask is imported inside functions only, so that it is loaded only for Dask collections.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, NoReturn

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ..._checks import refuse_complex
from ..._types import Array, Floats, Index, RandomState
from ...errors import InputError
from ...numerics.memory import is_lazy, require
from ...numerics.threads import threads
from .block_passes import refuse_non_finite
from .cluster import Delayed, compute, folded, shared
from .storage import Elsewhere, Statistic, not_in_memory


@dataclass(frozen=True, eq=False)
class LazyRows(Elsewhere):
    """Rows in blocks with all columns, outside the memory of this process.

    Attributes
    ----------
    parts : tuple of Delayed
        The blocks, of numpy or pandas, before conversion.
    known : tuple of int or None
        Number of rows of each block; None if Dask does not know them, and `sizes` counts them.
    width : int
        Number of columns; 0 for a vector, whose blocks have one axis.
    dtype : dtype or None
        Type of the numbers; None for blocks that are not converted.
    source : Dask collection
        The collection that the blocks belong to.
    name : str
        Name of the rows in messages.
    """

    parts: tuple[Delayed[Any], ...]
    known: tuple[int, ...] | None
    width: int
    dtype: np.dtype | None
    source: Any
    name: str = "X"

    # ------------------------------------------------------------------ properties
    @cached_property
    def sizes(self) -> Index:
        """Number of rows of each block, counted if Dask does not know them."""
        if self.known is not None:
            return np.array(self.known, dtype=np.intp)
        import dask

        return np.array(compute(dask.delayed(list)([dask.delayed(len)(part) for part in self.parts])), dtype=np.intp)

    @property
    def shape(self) -> tuple[int, ...]:
        n = int(self.sizes.sum())
        return (n, self.width) if self.width else (n,)

    @property
    def size(self) -> int:
        return int(np.prod(self.shape))

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def starts(self) -> Index:
        """Index of the first row of each block."""
        return np.concatenate([[0], np.cumsum(self.sizes)[:-1]]).astype(np.intp)

    @cached_property
    def meta(self) -> Any:
        """Empty block of the same type."""
        return self.source._meta

    def counted(self) -> LazyRows:
        """Return these rows with the known number of rows of each block."""
        return self if self.known is not None else replace(self, known=tuple(map(int, self.sizes)))

    def array(self) -> Any:
        """Return the blocks as a Dask array."""
        if self.source is not None and hasattr(self.source, "chunks"):
            return self.source
        import dask
        import dask.array as da

        plain, tail = dask.delayed(_plain, pure=False), (self.width,) if self.width else ()
        sizes = [np.nan] * len(self.parts) if self.known is None else self.known
        blocks = [
            da.from_delayed(plain(part, self.dtype, self.name), (size, *tail), self.dtype or object)
            for part, size in zip(self.parts, sizes, strict=True)
        ]
        return da.concatenate(blocks, allow_unknown_chunksizes=True)

    def each(
        self, function: Callable[[Array], Array], width: int, dtype: np.dtype | None, *, held: bool = False
    ) -> LazyRows:
        """Return ``function(block)`` of every block, in the same blocks; `held` keeps the results in the memory of the workers."""
        import dask

        task = shared(partial(_each, function, self.dtype, self.name))
        parts = [dask.delayed(operator.call, pure=False)(task, part) for part in self.parts]
        parts = list(dask.persist(*parts)) if held else parts
        return replace(self, parts=tuple(parts), width=width, dtype=dtype, source=None)

    # ------------------------------------------------------------------ computations
    def reduce(
        self,
        statistic: Callable[..., Statistic],
        *aligned: LazyRows,
        add: Callable[[Statistic, Statistic], Statistic] = operator.add,
    ) -> Statistic:
        """Return the sum of ``statistic(block, *aligned blocks)`` over all blocks, added up by a tree in a fixed order.

        The aligned rows have the same blocks (see `aligned`). Every block must have its known number of rows, and as many as the aligned
        ones. NaN and infinity that the statistic refuses are reported with their row number among all rows.
        """
        import dask

        rule = _Leaf(statistic, self.dtype, (self.name, *(o.name for o in aligned)), tuple(o.dtype for o in aligned))
        starts = [None] * len(self.parts) if self.known is None else self.starts.tolist()
        sizes = [None] * len(self.parts) if self.known is None else self.sizes.tolist()
        blocks = zip(starts, sizes, self.parts, *(other.parts for other in aligned), strict=True)
        task, leaf = shared(rule), dask.delayed(_run, pure=False)
        try:
            rows, total = compute(folded([leaf(task, *block) for block in blocks], add))
        except InputError:
            if self.known is not None:
                raise
            return self.counted().reduce(statistic, *aligned, add=add)  # raises again, with the row number
        if self.known is not None and rows != sum(self.known):
            raise InputError(f"{rows} of {sum(self.known)} rows of {self.name} were read.")
        return total

    def take(self, rows: Index) -> Array:
        """Return some of the rows, in this order, in memory."""
        import dask

        rows = np.asarray(rows, dtype=np.intp)
        n = self.shape[0]
        if rows.size and not (rows.min() >= 0 and rows.max() < n):
            raise InputError(f"Rows {rows.min()} to {rows.max()} were asked for, and {self.name} has {n}.")
        require(8.0 * rows.size * max(self.width, 1), f"{rows.size} rows of {self.name}", "Take fewer.")
        ends = np.cumsum(self.sizes)
        block = np.searchsorted(ends, rows, side="right")
        pick = dask.delayed(block_rows, pure=False)
        wanted = [(i, np.flatnonzero(block == i)) for i in np.unique(block)]
        parts = [pick(self.parts[i], rows[places] - self.starts[i], self.dtype) for i, places in wanted]
        found = compute(dask.delayed(list)(parts)) if parts else [np.empty((0, self.width), self.dtype)]
        out = np.concatenate(found)
        order = np.concatenate([places for _, places in wanted]) if wanted else rows
        back = np.empty_like(order)
        back[order] = np.arange(order.size)
        return out[back]

    def __getitem__(self, rows: Index) -> Array:
        """Return some of the rows, checked for NaN and infinity."""
        found = self.take(rows)
        bad = np.flatnonzero(~np.isfinite(found).all(axis=1))
        if bad.size:
            refuse_non_finite(found[bad[:1]], int(np.asarray(rows)[bad[0]]), self.name)
        return found

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NoReturn:
        raise not_in_memory("This use of X")

    def sample(self, m: int, random_state: RandomState = 0) -> Index:
        """Return the indices of m random rows, without replacement and in ascending order; all rows if there are no more."""
        n = self.shape[0]
        if m >= n:
            return np.arange(n)
        seed = random_state.randint(2**31 - 1) if isinstance(random_state, np.random.RandomState) else random_state
        return np.sort(np.random.default_rng(seed).choice(n, m, replace=False)).astype(np.intp)

    def images(self, function: Callable[[Array], Array], width: int, dtype: np.dtype | None) -> Any:
        """Return ``function(block)`` of every block as a lazy Dask array of the same chunks, with `width` columns (0: a vector).

        The function must be picklable; it is sent to the workers once.
        """
        array = self.array()
        rule = _Mapped(self.dtype, self.name, None if self.known is None else tuple(self.starts.tolist()))
        chunks = (array.chunks[0], (width,)) if width else (array.chunks[0],)
        return array.map_blocks(
            rule,
            shared(function, "The map"),
            dtype=dtype,
            chunks=chunks,
            drop_axis=[] if width else [1],
            meta=np.empty((0,) * len(chunks), dtype),
        )

    def map(self, function: Callable[[Array], Array], width: int) -> LazyRows:
        """Return ``function(block)`` of every block, in double precision and in the same blocks; rows are checked for NaN first."""
        return lazy_rows(self.images(_Checked(function), width, np.dtype(np.float64)), self.name, numbers=True)

    def aligned(self, other: object, name: str = "y", *, numbers: bool = False) -> LazyRows:
        """Return another collection or an array over the same rows, cut into the same blocks and converted if they are `numbers`."""
        table = other if is_lazy(other) else _cut(other, self.counted(), name)
        found = lazy_rows(table, name, numbers=numbers)
        if self.known is None and found.known is None and len(self.parts) == len(found.parts):
            return found  # The numbers of rows are compared block by block, in `_run`.
        one, two = self.counted(), found.counted()
        if one.known == two.known:
            return two
        if one.shape[0] != two.shape[0]:
            raise InputError(
                f"X and {name} have {one.shape[0]} and {two.shape[0]} rows: both must be of the same points, in the same order."
            )
        return lazy_rows(two.array().rechunk({0: one.known}), name, numbers=numbers)


def lazy_table(X: object, name: str = "X", width: int | None = None) -> LazyRows:
    """Return the blocks of a table of numbers; raise unless it has `width` columns, if that is given."""
    axes = getattr(X, "ndim", 2)
    if axes != 2:
        raise InputError(f"Expected 2D array, got {axes}D array instead: {name} is a table with a row for each point.")
    rows = lazy_rows(X, name, numbers=True)
    if width is not None and rows.width != width:
        raise InputError(f"{name} must have shape (n_points, {width}); it has {rows.width} columns.")
    return rows


def lazy_rows(X: Any, name: str = "X", *, numbers: bool) -> LazyRows:
    """Return the blocks of a Dask array or data frame: as tables if they are `numbers` (a vector is one column), else unconverted."""
    if hasattr(X, "to_dask_array"):
        # A data frame or a column of one. Unused columns are not read, shared parts not computed twice.
        X = X.simplify()
        meta, parts, known = X._meta, X.to_delayed(optimize_graph=False), None
        kinds = list(meta.dtypes) if meta.ndim == 2 else [meta.dtype]
        width = len(meta.columns) if meta.ndim == 2 else 0
    elif hasattr(X, "chunks"):
        if X.ndim not in (1, 2):
            raise InputError(f"{name} has {X.ndim} axes: a table has two, a row for each point.")
        X = X.rechunk({1: -1}) if X.ndim == 2 and len(X.chunks[1]) > 1 else X
        # Without optimisation: fusing would compute a source that X and y share twice.
        parts, kinds = X.to_delayed(optimize_graph=False).ravel().tolist(), [X.dtype]
        known = None if np.isnan(X.chunks[0]).any() else tuple(map(int, X.chunks[0]))
        width = X.shape[1] if X.ndim == 2 else 0
    else:
        raise InputError(
            f"{name} is a {type(X).__module__.split('.')[0]} {type(X).__name__}: Dask arrays and data frames are accepted. "
            "Convert it (dask.array.from_delayed), or pass what compute() returns."
        )
    dtype = _number_type(kinds, name) if numbers else None
    return LazyRows(tuple(parts), known, max(width, 1) if numbers else width, dtype, X, name)


def _cut(table: object, rows: LazyRows, name: str) -> object:
    """Return an array in memory as a Dask array with the blocks of the rows."""
    import dask.array as da

    gaps = hasattr(table, "isna") and table.isna().any()
    values = np.asarray(table, dtype=object if gaps else None)
    if values.ndim not in (1, 2) or values.shape[0] != rows.shape[0]:
        raise InputError(
            f"{name} has shape {values.shape}, and X has {rows.shape[0]} rows: give a row of {name} for each."
        )
    chunks = (rows.known, *((size,) for size in values.shape[1:]))
    return da.from_array(values, chunks=chunks)


def _number_type(kinds: list[np.dtype], name: str) -> np.dtype:
    """Return the type of numbers for columns of these types, as in scikit-learn: single precision if all columns have it."""
    refuse_complex(kinds, name, InputError)
    if any(getattr(kind, "kind", "") in "mM" and getattr(kind, "kind", "") for kind in kinds):
        raise InputError(
            f"{name} holds dates or times, whose size depends on their unit: convert them to numbers first."
        )
    return np.dtype(np.float32 if all(str(kind).lower() == "float32" for kind in kinds) and kinds else np.float64)


def block_numbers(block: Any, dtype: np.dtype | None, name: str) -> Array:
    """Return a block as an array of this type; unconverted for None."""
    if dtype is None:
        return block
    if np.ma.isMaskedArray(block):
        raise InputError(
            f"{name} has blocks that are masked arrays, whose masked values would be used as data: fill them in first."
        )
    if hasattr(block, "toarray"):  # a sparse matrix
        block = block.toarray()
    try:
        pandas = hasattr(block, "to_numpy")
        values = block.to_numpy(dtype=dtype, na_value=np.nan) if pandas else np.asarray(block, dtype=dtype)
    except (TypeError, ValueError) as failure:
        raise InputError(
            f"{name} holds values that are not numbers ({failure!s:.120}): leave such columns out, or encode them."
        ) from None
    return values[:, None] if values.ndim == 1 else values


@dataclass(frozen=True, eq=False)
class _Checked:
    """A function of rows that are converted to double precision and must be finite."""

    function: Callable[[Array], Array]

    def __call__(self, X: Floats) -> Array:
        refuse_non_finite(X)
        return self.function(np.asarray(X, dtype=np.float64))


@dataclass(frozen=True, eq=False)
class _Leaf:
    """A statistic of a block, the types that its numbers are converted to, and names for messages."""

    function: Callable[..., Any]
    dtype: np.dtype | None
    names: tuple[str, ...]
    others: tuple[np.dtype | None, ...]


def _run(rule: _Leaf, start: int | None, size: int | None, block: object, *others: object) -> tuple[int, object]:
    """Return the number of rows of a block, and the statistic of them."""
    kinds = zip((rule.dtype, *rule.others), rule.names, strict=True)
    tables = [block_numbers(table, kind, name) for table, (kind, name) in zip((block, *others), kinds, strict=True)]
    n = len(tables[0])
    where = "" if start is None else f" from row {start} on"
    if size is not None and n != size:
        raise InputError(f"A block of {rule.names[0]}{where} has {n} rows, but its chunks in Dask say {size}.")
    for table, name in zip(tables[1:], rule.names[1:], strict=True):
        if len(table) != n:
            raise InputError(
                f"A block of {rule.names[0]}{where} has {n} rows, and that of {name} {len(table)}: both must be of the same points."
            )
    try:
        with threads(1):  # Dask runs one task per thread
            return n, rule.function(*tables)
    except InputError:
        for table, kind, name in zip(tables, (rule.dtype, *rule.others), rule.names, strict=True):
            if kind is not None:
                refuse_non_finite(table, start or 0, name)
        raise


def _each(function: Callable[[Array], Array], dtype: np.dtype | None, name: str, block: object) -> Array:
    """Return the function of a block, on one thread."""
    with threads(1):
        return function(block_numbers(block, dtype, name))


def _plain(block: object, dtype: np.dtype | None, name: str) -> NDArray:
    """Return a block of pandas as an array of numbers, or of labels of any kind."""
    return np.asarray(block, dtype=object) if dtype is None else np.asarray(block_numbers(block, dtype, name))


def block_rows(block: Any, rows: Index, dtype: np.dtype | None) -> Array:
    """Return some rows of a block, converted to this type."""
    return np.asarray(block_numbers(block.iloc[rows] if hasattr(block, "iloc") else block[rows], dtype, "X"))


@dataclass(frozen=True, eq=False)
class _Mapped:
    """A function of converted blocks for ``map_blocks``; messages count rows from the first of all."""

    dtype: np.dtype | None
    name: str
    starts: tuple[int, ...] | None

    def __call__(self, block: object, function: Callable[[Array], Array], block_id: tuple[int, ...] = (0,)) -> Array:
        rows = block_numbers(block, self.dtype, self.name)
        try:
            with threads(1):
                return function(rows)
        except InputError as refusal:
            if self.starts is not None:
                refuse_non_finite(rows, self.starts[block_id[0]], self.name)
                raise
            raise InputError(f"In block {block_id[0]} of {self.name}, rows counted from its first: {refusal}") from None
