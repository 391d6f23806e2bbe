"""Two views of handwritten digits: what their feature sets have in common, and finding a digit in one that was seen in the other.

    EIGENSPAN_DATA=folder python examples/two_views.py --out docs/images

prints the tables of docs/two-views.md and draws ``two-views.png``. The 2,000 digits of mfeat come in six feature sets (Fourier
coefficients, profile correlations, Karhunen-Loève coefficients, pixel averages, Zernike moments, morphology). Two thirds of the digits,
drawn at random, are for fitting; the others are asked for: given the Fourier coefficients of a digit, which of the 666 rows of another
feature set belongs to the same image? A method is right if the row is the first, or among the first ten, by cosine of the variates.
Columns are standardised by the training digits. Ridge regression of one view on the other followed by the nearest row is the yardstick.

    python examples/two_views.py --million folder

writes two memory-mapped tables of 1,000,000 × 50 with four known correlations to the folder and fits them in one pass.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import Ridge
from sklearn.metrics import pairwise_distances
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler

from eigenspan import CCA, Kernel, KernelCCA, MultiviewCCA

NAMES = {
    "fou": "Fourier",
    "fac": "profiles",
    "kar": "Karhunen-Loève",
    "pix": "pixels",
    "zer": "Zernike",
    "mor": "morphology",
}
PAIRS = (("fou", "kar"), ("fou", "fac"), ("zer", "pix"))
#: The correlations of the tables of a million rows.
PLANTED = (0.9, 0.7, 0.5, 0.3)


def load(seed: int = 0) -> tuple[dict[str, Any], dict[str, Any], Any, Any]:
    """Training and test rows of every feature set, standardised, and the digits they show."""
    archive = np.load(Path(os.environ["EIGENSPAN_DATA"]) / "mfeat.npz")
    X, y, column = archive["X"].astype(np.float64), archive["y"], archive["view"].astype(str)
    order = np.random.default_rng(seed).permutation(len(y))
    test, train = order[: len(y) // 3], order[len(y) // 3 :]
    fits, asks = {}, {}
    for name in NAMES:
        table = X[:, np.char.find(column, name) >= 0]
        scaler = StandardScaler().fit(table[train])
        fits[name], asks[name] = scaler.transform(table[train]), scaler.transform(table[test])
    return fits, asks, y[train], y[test]


def methods(d: int = 30) -> dict[str, Any]:
    """Those compared, with the number of pairs kept."""
    return {
        "CCA": CCA(d),
        "CCA, ridge 0.1": CCA(d, ridge=0.1),
        "kernel CCA": KernelCCA(d, kernel=Kernel("rbf", gamma=None), kappa=0.002),
    }


def ranks_of_the_right_one(similar: Any) -> Any:
    """0 where the row itself is the most similar, 1 where one other is more so, and so on."""
    return np.sum(similar > np.diagonal(similar)[:, None], axis=1)


def retrieval(fits: Any, asks: Any, y: Any, pair: tuple[str, str], method: Any) -> dict[str, float]:
    """Shares of the test digits that are found first, and among the first ten, and whose first answer shows the same digit."""
    one, two = pair
    if method is None:
        guess = Ridge(alpha=0.1 * len(fits[one])).fit(fits[one], fits[two]).predict(asks[one])
        similar = -pairwise_distances(guess, asks[two])
    else:
        fitted = method.fit(fits[one], fits[two])
        index, cosines = fitted.retrieve(asks[one], among=asks[two], k=len(asks[two]))
        similar = np.empty_like(cosines)
        np.put_along_axis(similar, index, cosines, axis=1)
    place = ranks_of_the_right_one(similar)
    best = similar.argmax(axis=1)
    return {"first": np.mean(place == 0), "ten": np.mean(place < 10), "digit": np.mean(y[best] == y)}


def retrieval_table(fits: Any, asks: Any, y: Any) -> str:
    lines = ["| seen → asked for | method | found first | among ten | same digit first |", "|---|---|---:|---:|---:|"]
    for pair in PAIRS:
        for name, method in {**methods(min(30, *(fits[p].shape[1] for p in pair))), "ridge regression": None}.items():
            found = retrieval(fits, asks, y, pair, method)
            seen = f"{NAMES[pair[0]]} → {NAMES[pair[1]]}"
            lines.append(
                f"| {seen} | {name} | " + " | ".join(f"{100 * share:.1f} %" for share in found.values()) + " |"
            )
    return "\n".join(lines)


def correlations(one: Any, two: Any) -> Any:
    """Of each pair of columns."""
    return np.array([np.corrcoef(a, b)[0, 1] for a, b in zip(one.T, two.T, strict=True)])


def correlation_table(fits: Any, asks: Any, pair: tuple[str, str] = ("fou", "kar")) -> tuple[str, dict[str, Any]]:
    """Correlations of the first pairs on the digits that were fitted and on the others."""
    lines, curves = ["| method | digits | pair 1 | 5 | 10 | 20 | 30 |", "|---|---|" + "---:|" * 5], {}
    for name, method in methods().items():
        fitted = method.fit(fits[pair[0]], fits[pair[1]])
        for which, data in (("fitted", fits), ("new", asks)):
            r = correlations(*fitted.transform(data[pair[0]], data[pair[1]]))
            curves[f"{name}, {which}"] = r
            lines.append(f"| {name} | {which} | " + " | ".join(f"{r[k - 1]:.3f}" for k in (1, 5, 10, 20, 30)) + " |")
    return "\n".join(lines), curves


def together(fits: Any, asks: Any, y: Any, y_new: Any, d: int = 15) -> str:
    """Nearest-neighbour accuracy on the average of the variates of all six views, beside each view by itself."""
    lines = ["| features | 5-NN accuracy |", "|---|---:|"]
    knn = KNeighborsClassifier(5)
    for name in NAMES:
        lines.append(f"| {NAMES[name]} | {100 * knn.fit(fits[name], y).score(asks[name], y_new):.1f} % |")
    views = [name for name in NAMES if name != "mor"]
    for criterion in ("maxvar", "sumcor"):
        gcca = MultiviewCCA(d, criterion=criterion, ridge=0.1).fit([fits[name] for name in views])
        train, test = (np.mean(gcca.transform([data[name] for name in views]), axis=0) for data in (fits, asks))
        lines.append(f"| mean of {d} variates, {criterion} | {100 * knn.fit(train, y).score(test, y_new):.1f} % |")
    return "\n".join(lines)


def draw(fits: Any, asks: Any, y_new: Any, curves: dict[str, Any], file: Path) -> None:
    """The first variates of new digits in both views, and correlations on fitted and new digits."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    cca = CCA(2, ridge=0.1).fit(fits["fou"], fits["kar"])
    figure, panels = plt.subplots(1, 3, figsize=(13, 4.2), constrained_layout=True)
    for panel, Z, name in zip(
        panels, cca.transform(asks["fou"], asks["kar"]), ("Fourier", "Karhunen-Loève"), strict=False
    ):
        panel.scatter(*Z.T, c=y_new, cmap="tab10", s=9)
        panel.set(title=f"{name} coefficients of new digits", xlabel="variate 1", ylabel="variate 2")
    for label, r in curves.items():
        name, which = label.rsplit(", ", 1)
        color = f"C{list(methods()).index(name)}"
        panels[2].plot(np.arange(1, len(r) + 1), r, color=color, ls="-" if which == "new" else ":", label=label)
    panels[2].set(title="correlation of each pair", xlabel="pair", ylim=(0, 1.02))
    panels[2].legend(fontsize=7)
    figure.savefig(file, dpi=110)
    plt.close(figure)


# ---------------------------------------------------------------------- a million rows
def write_million(folder: Path, n: int = 1_000_000, D: int = 50, seed: int = 0) -> list[Path]:
    """Two files of n rows, mixed from columns of which four pairs have the planted correlations."""
    rng, files = np.random.default_rng(seed), [folder / "X.npy", folder / "Y.npy"]
    tables = [np.lib.format.open_memmap(file, "w+", np.float64, (n, D)) for file in files]
    mixes = [rng.standard_normal((D, D)) for _ in tables]
    r = np.zeros(D)
    r[: len(PLANTED)] = PLANTED
    for i in range(0, n, 50_000):
        rows = slice(i, min(i + 50_000, n))
        A, B = (rng.standard_normal((rows.stop - rows.start, D)) for _ in tables)
        tables[0][rows], tables[1][rows] = A @ mixes[0] + 3, (r * A + np.sqrt(1 - r**2) * B) @ mixes[1] - 5
    for table in tables:
        table.flush()
    return files


def million(folder: Path, n: int = 1_000_000) -> dict[str, Any]:
    """Seconds of a fit, the memory it allocates, and the correlations found."""
    files = write_million(folder, n)
    one, two = (np.load(file, mmap_mode="r") for file in files)
    start = time.perf_counter()
    cca = CCA(len(PLANTED)).fit(one, two)
    seconds = time.perf_counter() - start
    tracemalloc.start()
    CCA(len(PLANTED)).fit(one, two)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return {"seconds": seconds, "peak of a fit, MB": peak / 2**20, "correlations": cca.correlations_}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path(), help="folder of the figure")
    parser.add_argument("--million", type=Path, help="folder for two files of a million rows, instead of the digits")
    options = parser.parse_args()
    if options.million is not None:
        for name, value in million(options.million).items():
            print(f"{name}: {np.round(value, 4)}")
        return
    if "EIGENSPAN_DATA" not in os.environ:
        sys.exit("EIGENSPAN_DATA must name the folder of the data sets.")
    fits, asks, y, y_new = load()
    table, curves = correlation_table(fits, asks)
    print(table, "", retrieval_table(fits, asks, y_new), "", together(fits, asks, y, y_new), sep="\n")
    options.out.mkdir(parents=True, exist_ok=True)
    draw(fits, asks, y_new, curves, options.out / "two-views.png")


if __name__ == "__main__":
    main()
