"""What the unlabelled points add: five semi-supervised methods with their defaults beside the same methods on the labels alone.

    EIGENSPAN_DATA=folder python examples/few_labels.py --out docs/reproductions

prints the table of docs/labels.md and keeps every accuracy in ``few-labels.json``. About half an hour on two free cores; ``--error 2
--data Balance`` for a look, ``--again docs/reproductions/few-labels.json`` for the table alone. ``--all-axes`` is the second protocol
below, whose accuracies go to ``few-labels-all-axes.json``.

Protocol, the same for every data set, fixed before the first of its splits was drawn
--------------------------------------------------------------------------------------
- A third of the points is for testing and is never seen by a fit. Of the others 10 or 100 have labels, drawn at random until every
  class has two; the rest is unlabelled. Data as they come, not scaled.
- SS-LFDA, SS-DNE, SS-MFA, SS-MMC and SS-FDA are fitted to labelled and unlabelled points; their bases LFDA, DNE, MFA, MMC and LDA to the
  labelled points alone. All have the library's defaults, and nothing is chosen by any label. The semi-supervised methods are fitted
  with γ = 0 too, which leaves the unlabelled points out and only keeps the ridge.
- Both have as many axes: d of `SETS`, at most a fifth of the number of labels, and at most c − 1 for LDA and SS-FDA with c classes.
  With as many axes as labels a base keeps all that the labels span: no reduction at all. The second protocol is about that: 10 labels
  and d axes without this limit, on the sets whose d it lowers.
- Accuracy is that of the nearest labelled neighbour on the test points. The gain is the mean over splits of the difference on the same
  split. Splits are added, ten at a time from seed 1000 (earlier ones were seen when the defaults were chosen), until the standard
  error of every gain of a cell is small enough (``--error``).
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from eigenspan import DNE, LDA, LFDA, MFA, MMC, SSDNE, SSFDA, SSLFDA, SSMFA, SSMMC
from eigenspan.errors import EigenspanWarning
from eigenspan.quality import knn_accuracy

#: Semi-supervised method and its base.
PAIRS = {
    "SS-LFDA": (SSLFDA, LFDA),
    "SS-DNE": (SSDNE, DNE),
    "SS-MFA": (SSMFA, MFA),
    "SS-MMC": (SSMMC, MMC),
    "SS-FDA": (SSFDA, LDA),
}
LABELS = (10, 100)
FIRST_SEED = 1000


def two_gaussians(seed: int) -> tuple[Any, Any]:
    """Two round classes in 241 dimensions: there is nothing to learn but the direction of their means."""
    rng, y = np.random.default_rng(seed), np.arange(2250) % 2
    X = rng.standard_normal((y.size, 241))
    X[:, 0] += np.where(y, 1.25, -1.25)
    return X, y


def clusters(seed: int) -> tuple[Any, Any]:
    """Two classes of two clusters each, at the corners of a square and crosswise, in 20 dimensions of unequal width."""
    rng, y = np.random.default_rng(seed), np.arange(900) % 2
    X = rng.standard_normal((y.size, 20)) * np.linspace(2.0, 0.5, 20)
    side = rng.choice([-1.0, 1.0], y.size)
    X[:, 10] = 4 * side + 0.5 * rng.standard_normal(y.size)
    X[:, 11] = 4 * side * np.where(y, 1.0, -1.0) + 0.5 * rng.standard_normal(y.size)
    return X, y


def shared(name: str) -> Callable[[int], tuple[Any, Any]]:
    """A data set of the folder EIGENSPAN_DATA."""

    def load(seed: int) -> tuple[Any, Any]:
        archive = np.load(Path(os.environ["EIGENSPAN_DATA"]) / f"{name}.npz")
        return archive["X"].astype(np.float64), np.unique(archive["y"], return_inverse=True)[1]

    return load


def digits(seed: int) -> tuple[Any, Any]:
    """Threes, fives and eights among the digits of USPS, 1,500 of them."""
    X, y = shared("usps")(seed)
    rows = np.random.default_rng(seed).permutation(np.flatnonzero(np.isin(y, (3, 5, 8))))[:1500]
    return X[rows], np.unique(y[rows], return_inverse=True)[1]


@dataclass(frozen=True)
class Set:
    """How to load it, and the number of axes."""

    load: Callable[[int], tuple[Any, Any]]
    d: int


SETS = {
    "Gaussians": Set(two_gaussians, 2),
    "Clusters": Set(clusters, 2),
    "Ionosphere": Set(shared("ionosphere"), 2),
    "Balance": Set(shared("balance"), 1),
    "BCI": Set(shared("ssl_BCI"), 2),
    "USPS-2": Set(shared("ssl_USPS"), 9),
    "USPS-358": Set(digits, 9),
}


def split(y: Any, labels: int, seed: int) -> tuple[Any, Any, Any]:
    """Indices of labelled, unlabelled and test points."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(y.size)
    test, rest = order[: y.size // 3], order[y.size // 3 :]
    while np.bincount(y[rest[:labels]], minlength=y.max() + 1).min() < 2:
        rest = rng.permutation(rest)
    return rest[:labels], rest[labels:], test


def axes(name: str, labels: int, every: bool) -> int:
    """How many, before the limit of LDA."""
    return SETS[name].d if every else min(SETS[name].d, labels // 5)


def run(
    name: str, labels: int, seed: int, every: bool = False, methods: tuple[str, ...] = tuple(PAIRS)
) -> dict[str, list[float]]:
    """Accuracies on one split: of a semi-supervised method, of its base, and of the method with γ = 0."""
    X, y = SETS[name].load(seed)
    known, rest, test = split(y, labels, seed)
    train = np.concatenate([known, rest])
    given = np.where(np.arange(train.size) < labels, y[train], -1)
    out = {}
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore", EigenspanWarning)
        for method in methods:
            semi, base = PAIRS[method]
            d = min(axes(name, labels, every), int(y.max()) if base is LDA else labels)
            fits = semi(d).fit(X[train], given), base(d).fit(X[known], y[known]), semi(d, gamma=0).fit(X[train], given)
            out[method] = [
                round(knn_accuracy(fit.transform(X[known]), y[known], fit.transform(X[test]), y[test]), 5)
                for fit in fits
            ]
    return out


# ---------------------------------------------------------------------- report
def gains(cell: dict[str, Any]) -> dict[str, dict[str, float]]:
    """Of every method in a cell: accuracies in per cent, the gain over the base and its standard error, and what γ adds."""
    out = {}
    for method, runs in cell["runs"].items():
        semi, base, zero = 100 * np.array(runs).T
        error = (semi - base).std(ddof=1) / np.sqrt(semi.size)
        out[method] = {"semi": semi.mean(), "base": base.mean(), "gain": (semi - base).mean(), "error": error}
        out[method] |= {"added": (semi - zero).mean(), "added error": (semi - zero).std(ddof=1) / np.sqrt(semi.size)}
    return out


def table(cells: list[dict[str, Any]]) -> str:
    """Accuracy and gain over the base of every method, in Markdown."""
    methods = list(cells[0]["runs"])
    lines = ["| data, labels, splits | " + " | ".join(methods) + " |", "|---|" + "---:|" * len(methods)]
    for cell in cells:
        found = gains(cell)
        row = [f"{g['semi']:.1f} ({g['gain']:+.1f} ± {g['error']:.1f})" for g in found.values()]
        splits = len(next(iter(cell["runs"].values())))
        lines.append(f"| {cell['set']}, {cell['labels']}, {splits} | " + " | ".join(row) + " |")
    every = [(g["gain"], g["error"], g["added"], cell, m) for cell in cells for m, g in gains(cell).items()]
    worst = min(every, key=lambda entry: entry[0])
    added = np.array([entry[2] for entry in every])
    return "\n".join(
        [
            *lines,
            "",
            f"Worst gain {worst[0]:+.2f} ± {worst[1]:.2f} ({worst[4]}, {worst[3]['set']}, {worst[3]['labels']} labels); largest standard "
            f"error {max(entry[1] for entry in every):.2f}. γ itself, against the same method with γ = 0: mean {added.mean():+.2f}, from "
            f"{added.min():+.2f} to {added.max():+.2f}.",
        ]
    )


def fill(name: str, labels: int, every: bool, error: float, most: int, jobs: int) -> dict[str, Any]:
    """One cell, with as many splits as its errors ask for."""
    cell: dict[str, Any] = {"set": name, "labels": labels, "runs": {method: [] for method in PAIRS}}
    for start in range(0, most, 10):
        seeds = range(FIRST_SEED + start, FIRST_SEED + start + 10)
        for found in Parallel(n_jobs=jobs)(delayed(run)(name, labels, seed, every) for seed in seeds):
            for method, accuracies in found.items():
                cell["runs"][method].append(accuracies)
        if start and max(g["error"] for g in gains(cell).values()) < error:
            break
    return cell


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", nargs="+", default=list(SETS), choices=list(SETS))
    parser.add_argument("--error", type=float, default=0.4, help="largest standard error of a gain, in points")
    parser.add_argument("--most", type=int, default=400, help="splits of a cell at most")
    parser.add_argument("--out", type=Path, default=Path("few-labels"), help="folder of the raw results")
    parser.add_argument("--all-axes", action="store_true", help="10 labels, and as many axes as the set has")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--again", type=Path, help="print the table of these raw results instead of running")
    options = parser.parse_args()
    if options.again is not None:
        print(table(json.loads(options.again.read_text(encoding="utf-8"))["cells"]))
        return
    if "EIGENSPAN_DATA" not in os.environ:
        sys.exit("EIGENSPAN_DATA must name the folder of the data sets.")
    options.out.mkdir(parents=True, exist_ok=True)
    wanted = [(name, labels) for name in options.data for labels in LABELS]
    if options.all_axes:
        wanted = [(name, labels) for name, labels in wanted if axes(name, labels, True) > axes(name, labels, False)]
    file = options.out / ("few-labels-all-axes.json" if options.all_axes else "few-labels.json")
    cells: list[dict[str, Any]] = []
    for name, labels in wanted:
        cells.append(fill(name, labels, options.all_axes, options.error, options.most, options.jobs))
        whole = {"command": " ".join(["python examples/few_labels.py", *sys.argv[1:]]), "cells": cells}
        file.write_text(json.dumps(whole) + "\n", encoding="utf-8")
        print(table(cells[-1:]), flush=True)
    print(table(cells))


if __name__ == "__main__":
    main()
