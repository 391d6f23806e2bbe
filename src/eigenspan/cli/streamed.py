"""``eigenspan embed`` for a table larger than memory, in three passes over its chunks."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from ..data.rows.moments import Moments
from .console import Unfit, Usage, listed, note, plural, working
from .delivery import Result
from .files.write import is_folder, writing_chunks
from .outputs import axes_of, frame_of, summary_of_chunks

#: Maximum number of rows that the picture shows.
_SHOWN = 50_000


def streams(estimator: Any) -> bool:
    """Whether the method can be fitted chunk by chunk."""
    return hasattr(estimator, "partial_fit")


def embed_in_chunks(o: SimpleNamespace, row: Any, estimator: Any) -> Result:
    """Embed a table in three passes: compute the scales, fit, then embed and write the rows."""
    from .fitting import labels_of
    from .reading import reading_of

    _refuse(o, row, estimator)
    note(f"{o.table.name} does not fit in memory; reading it in chunks (3 passes).")
    rows = Rows(o, reading_of(o))
    with working("Computing the scales of the columns"):
        scaling, count = rows.scales(o.scale)
    note(f"Embedding {plural(count, 'row')} and {plural(len(rows.columns), 'column')} of numbers.")
    begin, mark = time.perf_counter(), getattr(estimator, "unlabeled", None)
    with working(f"Fitting {row.name} in chunks"):
        for X, label, _ in rows:
            y = None if label is None or row.supervision == "none" else labels_of(label, mark)
            estimator.partial_fit(scaling(X), *(() if y is None else (y,)))
    seconds = time.perf_counter() - begin
    third = ThirdPass(rows, estimator, scaling, _sampled(count, o.seed))
    with working("Embedding and writing the rows"):
        third.write(o.output)
    summary = summary_of_chunks(row.name, estimator, seconds, third.correlation(), rows.columns)
    unknown = np.full(len(rows.columns), np.nan)
    return Result(
        {row.name: estimator}, [summary], rows.columns, scaling.center, scaling.spread, unknown, count,
        {row.name: third.picture()}, third.label(),
    )  # fmt: skip


def _refuse(o: SimpleNamespace, row: Any, estimator: Any) -> None:
    """Refuse methods and options that need all rows at once, before the table is read."""
    if not streams(estimator):
        raise Unfit(
            f"{o.table.name} does not fit in memory, and {row.name} needs all rows at once. Use pca, ppca, lda, mmc, sir or another "
            "linear method, which read it in chunks; or take a sample of its rows first."
        )
    asked = {
        f"--missing {o.missing}": o.missing in ("median", "drop-columns"),
        f"--categorical {o.categorical}": o.categorical != "drop",
        f"--scale {o.scale}": o.scale == "robust",
    }
    refused = [option for option, there in asked.items() if there]
    if refused:
        raise Usage(
            f"{o.table.name} does not fit in memory and is read in chunks. {' and '.join(refused)} cannot be used then, because that needs "
            "whole columns. Use --missing refuse or drop-rows, --scale standard or none, and omit --categorical."
        )
    if str(o.output) == "-" or is_folder(o.output, o.table):
        return
    if o.output.suffix.lower() not in (".csv", ".tsv", ".txt"):
        raise Usage(
            f"{o.table.name} does not fit in memory, so its embedding is written in chunks, which {o.output.suffix} does not allow. Use "
            "-o with .csv, .tsv or - (standard output) or, if the table is a folder, with a new folder."
        )


def _sampled(count: int, seed: int) -> Any:
    """Return the ascending numbers of the rows that the picture shows."""
    if count <= _SHOWN:
        return np.arange(count)
    return np.sort(np.random.default_rng(seed).choice(count, _SHOWN, replace=False, shuffle=False))


@dataclass(frozen=True, eq=False)
class Scaling:
    """Scaling of columns: subtract `center`, then divide by `spread`."""

    center: Any
    spread: Any

    def __call__(self, X: Any) -> Any:
        return (X - self.center) / self.spread


class Rows:
    """Chunks of a table: numbers, labels and identifiers. Can be iterated more than once."""

    def __init__(self, o: SimpleNamespace, reading: Any) -> None:
        from .columns import columns_chosen
        from .files.parts import parts_of
        from .reading import choice_of

        self.parts = lambda: parts_of(o.table, reading)
        self.o = o
        with closing(self.parts()) as parts:
            first = next(parts)
        self.columns, self.identifier = columns_chosen(first, choice_of(o))
        if not self.columns:
            raise Unfit(f"None of the {first.shape[1]} columns can be embedded: eigenspan needs columns of numbers.")

    def __iter__(self) -> Iterator[tuple[Any, Any, Any]]:
        for frame in self.parts():
            X = self._numbers(frame)
            gaps = ~np.isfinite(X).all(axis=1)
            if gaps.any() and self.o.missing != "drop-rows":
                raise Unfit(
                    f"{plural(int(gaps.sum()), 'row')} with missing values, the first in row {frame.index[gaps][0] + 1}: use --missing "
                    "drop-rows."
                )
            label = None if self.o.label is None else frame.loc[~gaps, self.o.label]
            ids = frame.index.to_numpy() + 1 if self.identifier is None else frame[self.identifier].to_numpy()
            if (~gaps).any():
                yield X[~gaps], label, ids[~gaps]

    def _numbers(self, frame: Any) -> Any:
        """Return the chosen columns in double precision; raise Unfit if a later chunk holds text where the first held numbers."""
        try:
            return frame[self.columns].to_numpy(dtype=np.float64, na_value=np.nan)
        except (TypeError, ValueError) as failure:
            first, last = frame.index[0] + 1, frame.index[-1] + 1
            raise Unfit(
                f"A cell in rows {first} to {last} is not a number, but its column held numbers in the first chunk: {failure}. Treat such "
                "cells as missing with --na, or leave the column out with --columns."
            ) from failure

    def scales(self, scale: str) -> tuple[Scaling, int]:
        """Return the means and standard deviations of the columns, and the number of rows."""
        moments = Moments.nothing(1, len(self.columns))
        for X, _, _ in self:
            moments = moments + Moments.of(X)
        n, mean, spread = moments.n, moments.mean, moments.spread()
        if n < 2:
            raise Unfit(f"{plural(n, 'row')} cannot be embedded: at least 2 rows are needed.")
        if scale == "none":
            return Scaling(np.zeros_like(mean), np.ones_like(mean)), n
        live = moments.live()
        constant = [name for name, varies in zip(self.columns, live, strict=True) if not varies]
        if constant:
            note(f"Constant columns, which have no effect: {listed(constant)}.")
        return Scaling(mean, np.where(live, spread, 1.0)), n


class ThirdPass:
    """Third pass over the rows: embed and write them, and keep what the picture and the summary need.

    Parameters
    ----------
    rows : Rows
    estimator : fitted estimator
    scaling : Scaling
    shown : ndarray
        Ascending numbers of the rows that the picture shows.
    """

    def __init__(self, rows: Rows, estimator: Any, scaling: Scaling, shown: Any) -> None:
        self.rows, self.estimator, self.scaling, self.shown = rows, estimator, scaling, shown
        self.moments: Any = None
        self._embedded: list[Any] = []
        self._labels: list[Any] = []

    def write(self, path: Path) -> None:
        """Write the output table chunk by chunk."""
        with writing_chunks(path, folder=is_folder(path, self.rows.o.table)) as write:
            for table in self._tables():
                write(table)

    def _tables(self) -> Iterator[Any]:
        """Yield the chunks of the output table, and update the moments and the sample of each."""
        import pandas as pd

        begin, axes = 0, axes_of(self.estimator)
        for X, label, ids in self.rows:
            Y = np.asarray(self.estimator.transform(self.scaling(X)))
            first, last = np.searchsorted(self.shown, (begin, begin + len(Y)))
            chosen = self.shown[first:last] - begin
            self._embedded.append(Y[chosen])
            both = Moments.of(np.hstack([self.scaling(X), Y]))
            self.moments = both if self.moments is None else self.moments + both
            if label is not None:
                self._labels.append(label.iloc[chosen])
            begin += len(Y)
            name = pd.Series(ids, name=self.rows.identifier or "row")
            yield frame_of(name, dict(zip(axes, Y.T, strict=True)), label)

    def picture(self) -> Any:
        """Return the coordinates of the rows that the picture shows."""
        return np.concatenate(self._embedded)

    def label(self) -> Any:
        """Return the labels of the rows that the picture shows, or None."""
        import pandas as pd

        return pd.concat(self._labels) if self._labels else None

    def correlation(self) -> Any:
        """Return the correlation of every column with every axis; 0 if one of them is constant."""
        D = len(self.rows.columns)
        live, spread = self.moments.live(), self.moments.spread()
        inverse = np.where(live, 1.0 / np.where(live, spread, 1.0), 0.0)
        R = self.moments.scatter / self.moments.n * np.outer(inverse, inverse)
        return R[:D, D:]
