"""Digits of which a third of the pixels were lost: probabilistic PCA beside column means and scikit-learn's IterativeImputer.

    EIGENSPAN_DATA=folder python examples/missing_entries.py --out docs/images

hides 30 % of the entries of the 2,000 handwritten digits of mfeat (240 pixels with values from 0 to 6), at random, and fills them in
again by each method, one after the other in this process. Prints the table of docs/probabilistic.md (root mean square error over
the hidden entries, seconds on the clock and of all processors) and draws ``missing-entries.png``. IterativeImputer, with its own
settings, takes minutes; ``--rows 300`` for a look. PPCA has the number of components that its criterion chooses, and two that are given:
the criterion asks how many axes the entries prove, and a few more fill in better than that.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, SimpleImputer

from eigenspan import PPCA

SHAPE = 16, 15
GIVEN = 60, 70


@dataclass(frozen=True)
class Result:
    """One way to fill the gaps: the table, root mean square error over what was hidden, seconds on the clock, and those of processors."""

    name: str
    filled: Any
    error: float
    seconds: float
    busy: float
    estimator: Any


def load(rows: int) -> Any:
    """Some of the digits' pixels, every class alike."""
    archive = np.load(Path(os.environ["EIGENSPAN_DATA"]) / "mfeat.npz")
    view = np.char.lower(archive["view"].astype(str))
    X = archive["X"][:, np.char.find(view, "pix") >= 0].astype(np.float64)
    return X[np.unique(np.linspace(0, len(X) - 1, rows).astype(int))]


def with_gaps(X: Any, share: float = 0.3, seed: int = 0) -> Any:
    """X with a share of its entries NaN, whatever they hold."""
    return np.where(np.random.default_rng(seed).random(X.shape) < share, np.nan, X)


def run(name: str, estimator: Any, X: Any, gaps: Any) -> Result:
    """Fill in, and compare with what was there."""
    start, begun = time.perf_counter(), time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # IterativeImputer stops after ten rounds, as it is set up
        ours = isinstance(estimator, PPCA)
        filled = estimator.fit(gaps).impute(gaps) if ours else estimator.fit_transform(gaps)
    seconds, busy = time.perf_counter() - start, time.process_time() - begun
    hidden = np.isnan(gaps)
    return Result(name, filled, float(np.sqrt(np.mean((filled - X)[hidden] ** 2))), seconds, busy, estimator)


def compare(X: Any, gaps: Any, slow: bool = True) -> list[Result]:
    """All methods, one after the other."""
    found = [run("column means", SimpleImputer(keep_empty_features=True), X, gaps)]
    found += [run(f"PPCA({d!r})".replace("'", '"'), PPCA(d), X, gaps) for d in ("auto", *GIVEN)]
    if slow:
        found.append(run("IterativeImputer", IterativeImputer(random_state=0), X, gaps))
    return found


def table(found: list[Result]) -> str:
    """Error and time of every method, in Markdown."""
    lines = ["| method | error | seconds | of processors |", "|---|---:|---:|---:|"]
    lines += [f"| {r.name} | {r.error:.3f} | {r.seconds:.1f} | {r.busy:.1f} |" for r in found]
    for r in found:
        if isinstance(r.estimator, PPCA):
            gains = np.diff(r.estimator.log_likelihoods_)
            lines.append(
                f"\n{r.name}: {r.estimator.n_components_} components, {gains.size} steps, in each of which the log-likelihood rose by "
                f"{gains.min():.3g} or more."
            )
    return "\n".join(lines)


def picture(X: Any, gaps: Any, found: list[Result], digits: int = 10) -> Any:
    """A digit of each kind: with gaps, as each method fills it in, and as it was; and the course of the likelihood."""
    from matplotlib.figure import Figure

    last = [r for r in found if isinstance(r.estimator, PPCA)][-1]
    shown = [("seen", gaps), *((r.name, r.filled) for r in found if r is last or not isinstance(r.estimator, PPCA))]
    shown.append(("hidden truth", X))
    figure = Figure(figsize=(11, 1.15 * len(shown)), layout="constrained")
    left, right = figure.subfigures(1, 2, width_ratios=[3, 1])
    axes = left.subplots(len(shown), digits, squeeze=False)
    for row, (name, Y) in zip(axes, shown, strict=True):
        for ax, image in zip(row, Y[np.linspace(0, len(X) - 1, digits).astype(int)], strict=True):
            ax.set_facecolor("tab:orange")  # what is missing
            ax.imshow(image.reshape(SHAPE), cmap="gray_r", vmin=0, vmax=6)
            ax.set(xticks=[], yticks=[])
        row[0].set_ylabel(name, rotation=0, ha="right", va="center")
    ax, course = right.subplots(), last.estimator.log_likelihoods_ / len(X)
    ax.plot(np.arange(1, course.size + 1), course, marker=".")
    ax.set(xlabel="step", ylabel="log-likelihood a row", title=last.name)
    return figure


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("missing-entries"), help="folder of the figure")
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--share", type=float, default=0.3, help="of the entries, hidden")
    options = parser.parse_args()
    if "EIGENSPAN_DATA" not in os.environ:
        sys.exit("EIGENSPAN_DATA must name the folder of the data sets.")
    X = load(options.rows)
    gaps = with_gaps(X, options.share)
    found = compare(X, gaps)
    print(table(found))
    options.out.mkdir(parents=True, exist_ok=True)
    picture(X, gaps, found).savefig(options.out / "missing-entries.png", dpi=90)


if __name__ == "__main__":
    main()
