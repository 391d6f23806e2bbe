"""The claims of a paper's figure, each asserted over many draws; shared by the pages of the gallery.

Every page makes one `Beside`, adds its claims, and shows it. The tests run the page and ask whether each claim comes out as the page says.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

#: What a claim needs to hold, for the pages and for `Beside.show`.
RULE = (
    "A claim holds if it is true in most draws: the 95 % interval (Wilson) of its rate lies above one half. A printed "
    "number is reproduced if "
    "it lies within three standard errors of ours."
)


class MissingDataError(Exception):
    """Data that are not shipped with the library and not in the folder EIGENSPAN_DATA."""


@dataclass(frozen=True)
class Claim:
    """A claim, what the paper says, what comes out, over how many draws, by which tolerance, and what we think if it fails."""

    what: str
    paper: str
    here: str
    rate: str
    tolerance: str
    holds: bool
    fails: str = ""

    def cells(self) -> tuple[str, ...]:
        verdict = "holds" if self.holds else f"**FAILED.** {self.fails}".rstrip()
        return self.what, self.paper, self.here, self.rate, self.tolerance, verdict


def over(draw: Callable[[int], Mapping[str, Any]], draws: int) -> dict[str, Any]:
    """What ``draw(seed)`` returns for the seeds 0, 1, …, stacked by name. GALLERY_DRAWS limits the number of draws (for tests)."""
    found = [draw(seed) for seed in range(min(draws, int(os.environ.get("GALLERY_DRAWS", draws))))]
    return {name: np.array([each[name] for each in found]) for name in found[0]}


def interval(good: int, draws: int) -> tuple[float, float]:
    """The 95 % interval of a rate, by Wilson."""
    z = 1.96
    middle = (good + z**2 / 2) / (draws + z**2)
    half = z * np.sqrt(good * (draws - good) / draws + z**2 / 4) / (draws + z**2)
    return middle - half, middle + half


def spread(values: Any, digits: int = 3) -> str:
    """Mean and standard deviation over draws, or the value of a single result."""
    values = np.atleast_1d(np.asarray(values, dtype=float))
    if len(values) == 1 or np.ptp(values) == 0:
        return f"{values[0]:.{digits}f}"
    return f"{values.mean():.{digits}f} ± {values.std(ddof=1):.{digits}f}"


@dataclass
class Beside:
    """A figure or table of a paper and our claims about it.

    Parameters
    ----------
    figure : str
        Such as ``"S0, figure 11"``.
    settings : str
        The settings of every method, above all those that differ between methods.
    differs : str
        What differs from the paper, and why.

    In the methods below, `values` has one number per draw, and `fails` says what we think of a claim that does not hold. The page is wrong
    if such a claim holds, or if a claim without it fails: `surprises`.
    """

    figure: str
    settings: str
    differs: str
    claims: list[Claim] = field(default_factory=list)

    def often(self, what: str, paper: str, good: Any, here: str, tolerance: str, fails: str = "") -> None:
        """A property that every draw has or has not."""
        good = np.atleast_1d(good)
        low, high = interval(int(good.sum()), good.size)
        rate = f"{good.sum()} of {good.size} ({low:.2f} to {high:.2f})"
        self.claims.append(Claim(what, paper, here, rate, tolerance, bool(low > 0.5), fails))

    def always(self, what: str, paper: str, good: Any, here: str, tolerance: str, fails: str = "") -> None:
        """A property that no draw may lack: of a theorem, of a guarantee, or of data of which there is one set only."""
        good = np.atleast_1d(good)
        self.claims.append(Claim(what, paper, here, f"{good.sum()} of {good.size}", tolerance, bool(good.all()), fails))

    def above(
        self, what: str, paper: str, values: Any, least: float, why: str, digits: int = 3, fails: str = ""
    ) -> None:
        """A number that is at least `least` in most draws."""
        values = np.atleast_1d(values)
        self.often(what, paper, values >= least, spread(values, digits), f"≥ {least:g}: {why}", fails)

    def below(
        self, what: str, paper: str, values: Any, most: float, why: str, digits: int = 3, fails: str = ""
    ) -> None:
        """A number that is at most `most` in most draws."""
        values = np.atleast_1d(values)
        self.often(what, paper, values <= most, spread(values, digits), f"≤ {most:g}: {why}", fails)

    def ordered(self, what: str, paper: str, values: Mapping[str, Any], digits: int = 3, fails: str = "") -> None:
        """Numbers in this order, largest first, within each draw."""
        good = np.all([np.asarray(a) > np.asarray(b) for a, b in pairwise(values.values())], axis=0)
        here = " > ".join(f"{name} {spread(each, digits)}" for name, each in values.items())
        self.often(what, paper, good, here, "none: the order within each draw", fails)

    def number(self, what: str, printed: float, values: Any, digits: int, fails: str = "") -> None:
        """A printed number that is one draw; its standard error and that of our mean come from the spread of our draws."""
        values = np.asarray(values, dtype=float)
        error = values.std(ddof=1) * np.sqrt(1 + 1 / values.size)
        off = (values.mean() - printed) / error
        tolerance = f"± {3 * error:.{digits}f}: three standard errors of the paper's one draw less our mean"
        rate = f"{values.size} draws, {abs(off):.1f} standard errors off"
        self.claims.append(
            Claim(what, f"{printed:.{digits}f}", spread(values, digits), rate, tolerance, bool(abs(off) <= 3), fails)
        )

    def same(self, what: str, printed: float, value: float, digits: int, fails: str = "") -> None:
        """A printed number of data that both have: nothing is drawn, and the tolerance is the rounding of what is printed."""
        tolerance = f"± {0.5 * 10.0**-digits:g}: rounding of the printed number" if digits else "exact: a count"
        good = abs(value - printed) <= 0.5 * 10.0**-digits * (1 + 1e-9) if digits else value == printed
        self.claims.append(
            Claim(what, f"{printed:.{digits}f}", f"{value:.{digits}f}", "1 data set", tolerance, bool(good), fails)
        )

    def failures(self) -> list[Claim]:
        """Claims that do not hold."""
        return [claim for claim in self.claims if not claim.holds]

    def surprises(self) -> list[Claim]:
        """Claims that do not come out as the page says."""
        return [claim for claim in self.claims if claim.holds == bool(claim.fails)]

    def markdown(self) -> str:
        """The claims as a table."""
        lines = [
            "| claim | the paper | here | rate over draws | tolerance and its reason | verdict |",
            "|---|---|---|---|---|---|",
        ]
        return "\n".join([*lines, *(f"| {' | '.join(claim.cells())} |" for claim in self.claims)])

    def show(self) -> None:
        """Print the claims, the settings, and what differs."""
        print(self.figure)
        for claim in self.claims:
            what, paper, here, rate, tolerance, verdict = claim.cells()
            print(f"  {what}\n    paper: {paper}   here: {here}   draws: {rate}\n    tolerance {tolerance}   {verdict}")
        print(f"Settings: {self.settings}\nWhat differs: {self.differs}\n{RULE}")


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


def halves(y: Any, seed: int, each: int | None = None) -> Any:
    """Rows of a random half of each class, or of `each` points per class, in their order."""
    rng = np.random.default_rng(seed)
    groups = [np.flatnonzero(y == label) for label in np.unique(y)]
    return np.sort(np.concatenate([rng.choice(rows, each or len(rows) // 2, replace=False) for rows in groups]))


def nearest_accuracy(D: Any, y: Any) -> float:
    """Leave-one-out vote of the nearest neighbour by a table of distances; of neighbours that tie, their share of the right class."""
    D = np.array(D, dtype=np.float64)
    np.fill_diagonal(D, np.inf)
    nearest = D.min(axis=1)
    ties = nearest[:, None] + 1e-9 * np.abs(nearest).max() >= D
    return float(np.mean((ties * (y[:, None] == y)).sum(axis=1) / ties.sum(axis=1)))


def roll(n: int, seed: int, even: bool = True) -> tuple[Any, Any, Any]:
    """Points of a Swiss roll, their places on the sheet (length along the spiral and height), and their turns in radians, ascending.

    Points are uniform over the sheet if `even`, otherwise uniform in the angle: denser inside, as often seen.
    """
    rng = np.random.default_rng(seed)
    turns = 1.5 * np.pi * (1 + 2 * np.linspace(0, 1, 10_000))
    lengths = (turns * np.sqrt(1 + turns**2) + np.arcsinh(turns)) / 2
    place = np.sort(rng.uniform(size=n))
    turn = np.interp(lengths[0] + place * np.ptp(lengths), lengths, turns) if even else turns[0] + place * np.ptp(turns)
    height = rng.uniform(0, 21, n)
    sheet = np.column_stack([np.interp(turn, turns, lengths), height])
    return np.column_stack([turn * np.cos(turn), height, turn * np.sin(turn)]), sheet, turn


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
