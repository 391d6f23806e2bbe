"""What a paper prints or says, with ours beside it; shared by the pages of the gallery.

Every page makes one `Beside`, adds what it compares, and shows it. The tests run the page and ask whether all of it holds.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np


class MissingDataError(Exception):
    """Data that are not shipped with the library and not in the folder EIGENSPAN_DATA."""


@dataclass(frozen=True)
class Row:
    """One thing compared: what, in the paper, with us, and whether ours is what the paper's leads one to expect."""

    what: str
    theirs: str
    ours: str
    holds: bool


@dataclass
class Beside:
    """A figure or table of a paper and what we have for it.

    Parameters
    ----------
    figure : str
        Such as ``"S0, figure 11"``.
    differs : str
        What differs from the paper, and why.
    """

    figure: str
    differs: str
    rows: list[Row] = field(default_factory=list)

    def number(self, what: str, theirs: float, ours: float, within: float, digits: int = 3) -> None:
        """A printed number; ours may be `within` of it."""
        self.rows.append(Row(what, f"{theirs:.{digits}f}", f"{ours:.{digits}f}", bool(abs(ours - theirs) <= within)))

    def below(self, what: str, theirs: str, ours: float, most: float, digits: int = 3) -> None:
        """Something that the paper shows without a number, and a number of ours that says so while it is at most `most`."""
        self.rows.append(Row(what, theirs, f"{ours:.{digits}f}, at most {most:g} wanted", bool(ours <= most)))

    def above(self, what: str, theirs: str, ours: float, least: float, digits: int = 3) -> None:
        """The same for a number that should be large."""
        self.rows.append(Row(what, theirs, f"{ours:.{digits}f}, at least {least:g} wanted", bool(ours >= least)))

    def ordered(self, what: str, theirs: str, ours: dict[str, float], digits: int = 3) -> None:
        """Numbers that the paper leads one to expect in this order, largest first."""
        told = " > ".join(f"{name} {value:.{digits}f}" for name, value in ours.items())
        self.rows.append(Row(what, theirs, told, all(a > b for a, b in pairwise(ours.values()))))

    def otherwise(self, what: str, theirs: str, ours: dict[str, float], digits: int = 3) -> None:
        """What does not come out as in the paper: numbers in this order, largest first, where the paper leads one to expect another."""
        told = " > ".join(f"{name} {value:.{digits}f}" for name, value in ours.items())
        self.rows.append(Row(what, theirs, f"{told}: **otherwise**", all(a > b for a, b in pairwise(ours.values()))))

    def failures(self) -> list[Row]:
        return [row for row in self.rows if not row.holds]

    def markdown(self) -> str:
        """The rows as a table."""
        lines = ["| what | the paper | here |", "|---|---|---|"]
        lines += [f"| {row.what} | {row.theirs} | {row.ours}{'' if row.holds else ' (**no**)'} |" for row in self.rows]
        return "\n".join(lines)

    def show(self) -> None:
        """Print the rows, and what differs."""
        widths = [max(len(cell) for cell in column) for column in zip(*map(_cells, self.rows), strict=True)]
        print(self.figure)
        for row in self.rows:
            print(
                "  " + "   ".join(cell.ljust(width) for cell, width in zip(_cells(row), widths, strict=True)).rstrip()
            )
        print(f"What differs: {self.differs}")


def _cells(row: Row) -> tuple[str, str, str]:
    return row.what, f"paper: {row.theirs}", f"here: {row.ours}" + ("" if row.holds else " (no)")


def data(name: str) -> tuple[Any, Any]:
    """X and y of a data set in the folder EIGENSPAN_DATA, as the papers prepare them."""
    path = Path(os.environ.get("EIGENSPAN_DATA", ""), f"{name}.npz")
    if "EIGENSPAN_DATA" not in os.environ or not path.is_file():
        raise MissingDataError(f"{name}.npz is not there: set EIGENSPAN_DATA to the folder that holds it.")
    with np.load(path) as file:
        X, y = file["X"].astype(np.float64), file["y"].astype(np.intp)
    if name == "mfeat":
        X /= X.max(axis=0)  # S0 §9.1
    return X, y


def nearest_accuracy(D: Any, y: Any) -> float:
    """Leave-one-out vote of the nearest neighbour by a table of distances; of neighbours that tie, their share of the right class."""
    D = np.array(D, dtype=np.float64)
    np.fill_diagonal(D, np.inf)
    nearest = D.min(axis=1)
    ties = nearest[:, None] + 1e-9 * np.abs(nearest).max() >= D
    return float(np.mean((ties * (y[:, None] == y)).sum(axis=1) / ties.sum(axis=1)))


def separation(Y: Any, y: Any) -> float:
    """How well classes lie apart in a picture: leave-one-out vote of the nearest neighbour in it."""
    return nearest_accuracy(np.linalg.norm(Y[:, None] - Y[None], axis=2), y)


def scatter(ax: Any, Y: Any, y: Any, title: str, names: Sequence[Any] | None = None) -> None:
    """Points coloured by class, no ticks."""
    for i, label in enumerate(np.unique(y)):
        at = y == label
        ax.scatter(*Y[at, :2].T, s=6, color=f"C{i % 10}", label=str(label if names is None else names[i]))
    ax.set_title(title, fontsize=9)
    ax.set_xticks([])
    ax.set_yticks([])


def shown(drawn: Any) -> Any:
    """A figure that was made without pyplot, as one of pyplot's, which the site's gallery collects."""
    import matplotlib.pyplot as plt
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    drawn.set_dpi(150)
    canvas = FigureCanvasAgg(drawn)
    canvas.draw()
    figure = plt.figure(figsize=drawn.get_size_inches())
    ax = figure.add_axes((0, 0, 1, 1))
    ax.imshow(np.asarray(canvas.buffer_rgba()), interpolation="lanczos")
    ax.set_axis_off()
    return figure
