"""``eigenspan embed`` of a table larger than memory: read three times, never held."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from ..core.moments import Moments
from .console import Failed, Unfit, Usage, listed, out, plural, say, working
from .files.write import is_folder, write_part


def streams(estimator: Any) -> bool:
    """Whether a method can be fitted to parts."""
    return hasattr(estimator, "partial_fit")


def run(o: SimpleNamespace, row: Any, estimator: Any) -> None:
    """Scales from the first reading, the fit from the second, the places from the third."""
    from .bundle import Bundle, save
    from .reading import reading_of
    from .results import axes_of

    if not streams(estimator):
        raise Unfit(
            f"{o.table.name} is too large for the memory there is, and {row.name} needs all rows at once. pca, ppca, lda, mmc, sir and "
            "other linear methods read it in parts; or take some of its rows first."
        )
    if o.missing in ("median", "drop-columns") or o.categorical != "drop" or o.scale == "robust":
        raise Usage(
            "A table that is read in parts has no medians, quartiles or list of words: use --missing refuse or drop-rows, "
            "--scale standard or none, and no --categorical."
        )
    if o.output.suffix.lower() not in (".csv", ".tsv", ".txt") and not is_folder(o.output, o.table):
        raise Usage(
            "The places of a table that is read in parts are written in parts too: name a .csv or .tsv with -o, or a folder where the "
            "table is one."
        )
    say(f"{o.table.name} is large for the memory there is: it is read in parts, three times.")
    rows = Rows(o, reading_of(o))
    with working("Reading for the scales"):
        center, spread, count = rows.scales(o.scale)
    say(f"Embedding {plural(count, 'row')} and {plural(len(rows.columns), 'column')} of numbers.")
    with working(f"Fitting {row.name} in parts"):
        for X, label, _ in rows:
            estimator.partial_fit((X - center) / spread, *(() if label is None else (label,)))
    axes = axes_of(estimator)
    with working("Placing the rows"):
        _write(o.output, rows, estimator, (center, spread), axes)
    if o.model is not None:
        nothing = np.zeros(len(rows.columns))
        save(Bundle(row.name, estimator, rows.columns, center, spread, nothing, o.label, o.identifier), o.model)
    out().print(f"{row.name}: {count} × {len(axes)}, read in parts.\nEmbedding: {o.output}", soft_wrap=True)


class Rows:
    """The parts of a table as numbers, with labels and identifiers, as often as they are asked for."""

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
            raise Unfit(f"None of the {first.shape[1]} columns can be embedded: it takes columns of numbers.")

    def __iter__(self) -> Any:
        for frame in self.parts():
            X = frame[self.columns].to_numpy(dtype=np.float64)
            gaps = ~np.isfinite(X).all(axis=1)
            if gaps.any() and self.o.missing != "drop-rows":
                raise Unfit(
                    f"{plural(int(gaps.sum()), 'row')} from row {frame.index[gaps][0] + 1} on have missing values: use --missing drop-rows."
                )
            label = None if self.o.label is None else frame[self.o.label].to_numpy()[~gaps]
            ids = frame.index.to_numpy() + 1 if self.identifier is None else frame[self.identifier].to_numpy()
            if (~gaps).any():
                yield X[~gaps], label, ids[~gaps]

    def scales(self, scale: str) -> tuple[Any, Any, int]:
        """Means and standard deviations of the columns, and the number of rows."""
        moments = Moments.nothing(1, len(self.columns))
        for X, _, _ in self:
            moments = moments + Moments.of(X)
        n, mean, spread = moments.n, moments.mean, moments.spread()
        if n < 2:
            raise Unfit(f"{plural(n, 'row')} cannot be embedded: it takes at least 2.")
        if scale == "none":
            return np.zeros_like(mean), np.ones_like(mean), n
        live = moments.live()
        constant = [name for name, varies in zip(self.columns, live, strict=True) if not varies]
        if constant:
            say(f"Constant, and so without effect: {listed(constant)}.")
        return mean, np.where(live, spread, 1.0), n


def _write(path: Path, rows: Rows, estimator: Any, scaling: tuple[Any, Any], axes: list[str]) -> None:
    import pandas as pd

    from .results import frame_of

    mode, (center, spread) = "w", scaling
    folder = is_folder(path, rows.o.table)
    try:
        for number, (X, label, ids) in enumerate(rows):
            Y = np.asarray(estimator.transform((X - center) / spread))
            beside = None if label is None else pd.Series(label, name=rows.o.label)
            table = frame_of(pd.Series(ids, name=rows.identifier or "row"), dict(zip(axes, Y.T, strict=True)), beside)
            if folder:
                write_part(table, path, number)
                continue
            table.to_csv(path, index=False, mode=mode, header=mode == "w", sep="\t" if path.suffix == ".tsv" else ",")
            mode = "a"
    except OSError as failure:
        raise Failed(f"{str(path)!r} cannot be written: {failure}") from failure
