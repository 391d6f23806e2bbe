"""Rows of a Dask array, data frame or Parquet dataset: blocks that stay where they are, and are worked on there.

Dask is imported inside functions only: whoever has no Dask collection never loads it.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._checks import refuse_complex
from ...errors import InputError
from ...numerics.memory import is_lazy, require
from ...numerics.threads import threads
from .cluster import compute, folded, shared
from .storage import Elsewhere, not_in_memory, refuse_non_finite

Index = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class LazyRows(Elsewhere):
    """Rows in blocks of all columns, none of them in memory here.

    Attributes
    ----------
    parts : tuple of Delayed
        The blocks, of numpy or pandas, as they come.
    known : tuple of int or None
        Rows of each block, where Dask knows them; `sizes` counts them where it does not.
    width : int
        Columns; 0 of a vector, whose blocks have one axis.
    dtype : dtype or None
        What the numbers are handed out in; None for blocks that are handed out as they come.
    source : Dask collection
        What the blocks are of.
    name : str
        What messages call it.
    """

    parts: tuple[Any, ...]
    known: tuple[int, ...] | None
    width: int
    dtype: Any
    source: Any
    name: str = "X"

    # ------------------------------------------------------------------ what there is
    @cached_property
    def sizes(self) -> Index:
        """Rows of each block, counted where Dask does not know them."""
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
        """Number of the first row of each block."""
        return np.concatenate([[0], np.cumsum(self.sizes)[:-1]]).astype(np.intp)

    @cached_property
    def meta(self) -> Any:
        """An empty block."""
        return self.source._meta

    def counted(self) -> LazyRows:
        """The same, the rows of each block being known."""
        return self if self.known is not None else replace(self, known=tuple(map(int, self.sizes)))

    def array(self) -> Any:
        """The blocks as a Dask array: the one that they are of, or one made of them."""
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

    def each(self, function: Callable[[Any], Any], width: int, dtype: Any, *, held: bool = False) -> LazyRows:
        """What a function makes of every block, in the same blocks; `held` where they are, so that they are made once."""
        import dask

        task = shared(partial(_each, function, self.dtype, self.name))
        parts = [dask.delayed(_called, pure=False)(task, part) for part in self.parts]
        parts = list(dask.persist(*parts)) if held else parts
        return replace(self, parts=tuple(parts), width=width, dtype=dtype, source=None)

    # ------------------------------------------------------------------ what is done with it
    def reduce(
        self, statistic: Callable[..., Any], *aligned: LazyRows, add: Callable[[Any, Any], Any] = operator.add
    ) -> Any:
        """``statistic(block, *aligned blocks)`` of every block, added up by a tree, always in the same order.

        The aligned rows have the blocks of these (`aligned`). Every block must have its known number of rows, and as many as the aligned
        ones. NaN and infinity that the statistic refuses are reported with their row number among all rows.
        """
        import dask

        rule = _Leaf(statistic, self.dtype, (self.name, *(o.name for o in aligned)), tuple(o.dtype for o in aligned))
        task, leaf = shared(rule), dask.delayed(_run, pure=False)
        starts = [None] * len(self.parts) if self.known is None else self.starts.tolist()
        sizes = [None] * len(self.parts) if self.known is None else self.sizes.tolist()
        blocks = zip(starts, sizes, self.parts, *(other.parts for other in aligned), strict=True)
        try:
            rows, total = compute(folded([leaf(task, *block) for block in blocks], add))
        except InputError:
            if self.known is not None:
                raise
            return self.counted().reduce(statistic, *aligned, add=add)  # raises again, with the row number
        if self.known is not None and rows != self.shape[0]:
            raise InputError(f"{rows} of {self.shape[0]} rows of {self.name} were read.")
        return total

    def take(self, rows: Any) -> NDArray[Any]:
        """Some of the rows, in this order, in memory."""
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

    def __getitem__(self, rows: Any) -> NDArray[Any]:
        """Some of the rows by their numbers, looked through for NaN and infinity."""
        found = self.take(rows)
        bad = np.flatnonzero(~np.isfinite(found).all(axis=1))
        if bad.size:
            refuse_non_finite(found[bad[:1]], int(np.asarray(rows)[bad[0]]), self.name)
        return found

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        raise not_in_memory("This use of X")

    def sample(self, m: int, random_state: Any = 0) -> Index:
        """Numbers of m different rows in ascending order, each set of them as likely as any other; all of them where there are no more."""
        n = self.shape[0]
        if m >= n:
            return np.arange(n)
        seed = random_state.randint(2**31 - 1) if isinstance(random_state, np.random.RandomState) else random_state
        return np.sort(np.random.default_rng(seed).choice(n, m, replace=False)).astype(np.intp)

    def images(self, function: Callable[[Any], Any], width: int, dtype: Any) -> Any:
        """``function`` of every block as a lazy Dask array of the same chunks, `width` columns (0: a vector) of this type.

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

    def map(self, function: Callable[[Any], Any], width: int) -> LazyRows:
        """The images of the rows, in double precision and in the same blocks; rows are looked through for NaN before."""
        return lazy_rows(self.images(_Checked(function), width, np.dtype(np.float64)), self.name, numbers=True)

    def aligned(self, other: Any, name: str = "y", *, numbers: bool = False) -> LazyRows:
        """Another collection, or an array in memory, over the same rows in the same blocks; as they come unless `numbers` are wanted."""
        table = other if is_lazy(other) else _cut(other, self.counted(), name)
        found = lazy_rows(table, name, numbers=numbers)
        if self.known is None and found.known is None and len(self.parts) == len(found.parts):
            return found  # rows are compared block by block, where the blocks are
        one, two = self.counted(), found.counted()
        if one.known == two.known:
            return two
        if one.shape[0] != two.shape[0]:
            raise InputError(
                f"X and {name} have {one.shape[0]} and {two.shape[0]} rows: both must be of the same points, in the same order."
            )
        return lazy_rows(two.array().rechunk({0: one.known}), name, numbers=numbers)


def lazy_table(X: Any, name: str = "X", width: int | None = None) -> LazyRows:
    """The blocks of a table of numbers, of so many columns where that is known."""
    if getattr(X, "ndim", 2) != 2:
        raise InputError(
            f"Expected 2D array, got {X.ndim}D array instead: {name} is a table with a row for each point."
        )
    rows = lazy_rows(X, name, numbers=True)
    if width is not None and rows.width != width:
        raise InputError(f"{name} must have shape (n_points, {width}); it has {rows.width} columns.")
    return rows


def lazy_rows(X: Any, name: str = "X", *, numbers: bool) -> LazyRows:
    """The blocks of a Dask array or data frame: numbers as tables, a vector being one column, or whatever there is as it comes."""
    if hasattr(X, "to_dask_array"):
        # a data frame or a column of one; unused columns are not read, shared parts not computed twice
        X = X.simplify()
        meta, parts, known = X._meta, X.to_delayed(optimize_graph=False), None
        kinds = list(meta.dtypes) if meta.ndim == 2 else [meta.dtype]
        width = len(meta.columns) if meta.ndim == 2 else 0
    elif hasattr(X, "chunks"):
        if X.ndim not in (1, 2):
            raise InputError(f"{name} has {X.ndim} axes: a table has two, a row for each point.")
        X = X.rechunk({1: -1}) if X.ndim == 2 and len(X.chunks[1]) > 1 else X
        # not optimised: fused with what comes after it, a source that X and y share would be computed for each
        parts, kinds = X.to_delayed(optimize_graph=False).ravel().tolist(), [X.dtype]
        known = None if np.isnan(X.chunks[0]).any() else tuple(map(int, X.chunks[0]))
        width = X.shape[1] if X.ndim == 2 else 0
    else:
        raise InputError(
            f"{name} is a {type(X).__module__.split('.')[0]} {type(X).__name__}: of Dask's collections arrays and data frames are taken. "
            "Make one of it (dask.array.from_delayed), or pass what compute() returns."
        )
    dtype = _number_type(kinds, name) if numbers else None
    return LazyRows(tuple(parts), known, max(width, 1) if numbers else width, dtype, X, name)


def _cut(values: Any, rows: LazyRows, name: str) -> Any:
    """An array in memory as one of Dask, cut into the blocks of the rows."""
    import dask.array as da

    values = (
        np.asarray(values)
        if not hasattr(values, "isna")
        else np.asarray(values, dtype=object if values.isna().any() else None)
    )
    if values.ndim not in (1, 2) or values.shape[0] != rows.shape[0]:
        raise InputError(
            f"{name} has shape {values.shape}, and X has {rows.shape[0]} rows: give a row of {name} for each."
        )
    chunks = (rows.known, *((size,) for size in values.shape[1:]))
    return da.from_array(values, chunks=chunks)


def _number_type(kinds: list[Any], name: str) -> Any:
    """What the numbers of columns of these types are handed out in, as scikit-learn would have it: single precision where all are."""
    refuse_complex(kinds, name, InputError)
    if any(getattr(kind, "kind", "") in "mM" and getattr(kind, "kind", "") for kind in kinds):
        raise InputError(
            f"{name} holds dates or times, whose size depends on their unit: turn them into numbers that mean something first."
        )
    return np.dtype(np.float32 if all(str(kind).lower() == "float32" for kind in kinds) and kinds else np.float64)


def block_numbers(block: Any, dtype: Any, name: str) -> Any:
    """A block as an array of this type."""
    if dtype is None:
        return block
    if np.ma.isMaskedArray(block):
        raise InputError(
            f"{name} has blocks that are masked arrays, and what lies under a mask would be taken for data: fill them in first."
        )
    if hasattr(block, "toarray"):  # of a sparse matrix
        block = block.toarray()
    try:
        pandas = hasattr(block, "to_numpy")
        values = block.to_numpy(dtype=dtype, na_value=np.nan) if pandas else np.asarray(block, dtype=dtype)
    except (TypeError, ValueError) as failure:
        raise InputError(
            f"{name} holds what are no numbers ({failure!s:.120}): leave such columns out, or encode them."
        ) from None
    return values[:, None] if values.ndim == 1 else values


@dataclass(frozen=True, eq=False)
class _Checked:
    """A function of rows in double precision that are all finite."""

    function: Callable[[Any], Any]

    def __call__(self, X: Any) -> Any:
        refuse_non_finite(X)
        return self.function(np.asarray(X, dtype=np.float64))


@dataclass(frozen=True, eq=False)
class _Leaf:
    """What is done with a block, and what its numbers are handed out in."""

    function: Callable[..., Any]
    dtype: Any
    names: tuple[str, ...]
    others: tuple[Any, ...]


def _run(rule: _Leaf, start: int | None, size: int | None, block: Any, *others: Any) -> tuple[int, Any]:
    """The rows of a block, and what the function makes of them."""
    kinds = zip((rule.dtype, *rule.others), rule.names, strict=True)
    tables = [block_numbers(table, kind, name) for table, (kind, name) in zip((block, *others), kinds, strict=True)]
    n = len(tables[0])
    where = "" if start is None else f" from row {start} on"
    if size is not None and n != size:
        raise InputError(
            f"A block of {rule.names[0]}{where} has {n} rows, and Dask was told of {size}: its chunks are wrong."
        )
    for table, name in zip(tables[1:], rule.names[1:], strict=True):
        if len(table) != n:
            raise InputError(
                f"A block of {rule.names[0]}{where} has {n} rows, and that of {name} {len(table)}: both must be of the same points."
            )
    try:
        with threads(1):  # the cluster counts threads, and this task has one
            return n, rule.function(*tables)
    except InputError:
        for table, kind, name in zip(tables, (rule.dtype, *rule.others), rule.names, strict=True):
            if kind is not None:
                refuse_non_finite(table, start or 0, name)
        raise


def _each(function: Callable[[Any], Any], dtype: Any, name: str, block: Any) -> Any:
    with threads(1):
        return function(block_numbers(block, dtype, name))


def _called(function: Callable[[Any], Any], block: Any) -> Any:
    return function(block)


def _plain(block: Any, dtype: Any, name: str) -> NDArray[Any]:
    """A block of pandas as an array: numbers, or labels of any kind."""
    return np.asarray(block, dtype=object) if dtype is None else np.asarray(block_numbers(block, dtype, name))


def block_rows(block: Any, rows: Index, dtype: Any) -> NDArray[Any]:
    """Rows of a block."""
    return np.asarray(block_numbers(block.iloc[rows] if hasattr(block, "iloc") else block[rows], dtype, "X"))


@dataclass(frozen=True, eq=False)
class _Mapped:
    """The image of a block, whose numbers are handed out in this type; messages count rows from the first of all."""

    dtype: Any
    name: str
    starts: tuple[int, ...] | None

    def __call__(self, block: Any, function: Callable[..., Any], block_id: Any = None) -> Any:
        rows = block_numbers(block, self.dtype, self.name)
        try:
            with threads(1):
                return function(rows)
        except InputError as refusal:
            if self.starts is not None:
                refuse_non_finite(rows, self.starts[block_id[0]], self.name)
                raise
            raise InputError(f"In block {block_id[0]} of {self.name}, rows counted from its first: {refusal}") from None
