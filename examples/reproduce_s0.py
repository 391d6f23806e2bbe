"""Error against the number of dimensions on digits and faces: figures 21 and 22 of Kokiopoulou, Chen & Saad (2011).

    EIGENSPAN_DATA=<folder of .npz files> python examples/reproduce_s0.py --out docs

prints the tables and writes ``reproductions/s0.md`` and ``images/s0-errors-*.png`` below the folder ``--out``. ``--quick`` takes three
splits and six dimensions. Data that are not in EIGENSPAN_DATA are skipped, and the program says so.

Protocol (§9.3 of the paper)
----------------------------
- *Data.* mfeat (2000 digits, 649 features, each divided by its largest value as in §9.1), Roweis' binary digits (390, 320 pixels), ORL
  (400 faces, 112×92 pixels), UMIST (575 faces, here 28×23 pixels). The AR faces of figure 23 cannot be had.
- *Splits.* 50, 15, 5 and 10 training samples per class, drawn at random; all other samples are the test set. Split s is drawn by
  `numpy.random.default_rng(s)` and is the same for all methods.
- *PCA first.* All four training sets are undersampled: for every method they are projected on their n − c leading principal axes,
  n training samples in c classes. Graphs, weights and σ come from these coordinates, training samples only.
- *Graphs.* Supervised: all training samples of a class are neighbours, none of different classes. LPP and OLPP have the weights
  exp(−d²/σ²), σ half the median distance of all training samples; NPP and ONPP the weights of LLE (ridge 1e-3 of the local trace).
- *Units.* As in the paper's equations: VᵀV = I for PCA, OLPP (36) and ONPP (32), VᵀXᵀDXV = I for LPP (28), VᵀXᵀXV = I for NPP (34)
  and, its kin by proposition 7.2, for LDA (45), whose S_W is too nearly singular here to be a unit. Centred data (LPP: weights D).
- *Dimensions.* d = 1, …, 20, 25, 30, …, 150 (a range of ours) and c − 1, all below n − c, where every orthogonal method would be
  PCA; LDA has c − 1 axes at most. Every method is fitted once per split: its axes are the eigenvectors of one problem in order,
  so the first d of them *are* its solution in d dimensions.
- *Classifier.* The nearest training sample in the d dimensions, Euclidean.
- *Figures.* Mean error in per cent over the splits ± its standard error, which speaks of these data only (splits overlap).
  Nothing is tuned. The "best d" of a method is read off its own test curve, to describe it; a user would have to choose d by validation.
"""

from __future__ import annotations

import argparse
import os
import shlex
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed, parallel_config
from numpy.typing import NDArray
from sklearn.metrics.pairwise import euclidean_distances

from eigenspan import KNN, LDA, LPP, NPP, OLPP, ONPP, PCA

Array = NDArray[np.float64]

TITLE = str(__doc__).split(".\n", 1)[0]
ORTHOGONAL, OBLIQUE = ("PCA", "OLPP", "ONPP"), ("LDA", "LPP", "NPP")
METHODS = ("PCA", "LDA", "LPP", "OLPP", "NPP", "ONPP")
#: Added to the name of an oblique method whose axes were divided by their lengths.
UNIT = ", axes of length 1"
DIMENSIONS = (*range(1, 21), *range(25, 151, 5))
QUICK_DIMENSIONS = (2, 5, 10, 20, 40, 80)
SHOWN = (5, 10, 20, 40, 80, 130)
#: Okabe & Ito's colours, dashes for oblique axes: a method and its orthogonal form share a colour.
STYLES = {
    "PCA": ("#000000", "-"), "LDA": ("#009e73", ":"), "LPP": ("#0072b2", "--"), "OLPP": ("#0072b2", "-"),
    "NPP": ("#d55e00", "--"), "ONPP": ("#d55e00", "-"),
}  # fmt: skip


@dataclass(frozen=True)
class Task:
    """One data set and its split."""

    title: str
    file: str
    per_class: int
    kind: str


TASKS = {
    "mfeat": Task("mfeat digits", "mfeat", 50, "digits"),
    "roweis": Task("Roweis' digits", "binaryalphadigs", 15, "digits"),
    "orl": Task("ORL faces", "orl_112x92", 5, "faces"),
    "umist": Task("UMIST faces", "umist_28x23", 10, "faces"),
}
FIGURES = {"digits": 21, "faces": 22}


# ---------------------------------------------------------------------- the experiment
def load(name: str) -> tuple[Array, NDArray[np.intp]]:
    """Samples and class labels of a task, from the folder EIGENSPAN_DATA."""
    folder = os.environ.get("EIGENSPAN_DATA")
    if not folder:
        raise FileNotFoundError("EIGENSPAN_DATA is unset: there is no folder to look for data in")
    path = Path(folder) / f"{TASKS[name].file}.npz"
    if not path.exists():
        raise FileNotFoundError(f"{path.name} is not in the folder EIGENSPAN_DATA")
    with np.load(path) as file:
        X, y = file["X"].astype(np.float64), file["y"].astype(np.intp)
    if name == "mfeat":
        X /= X.max(axis=0)
    if name == "roweis":
        X, y = X[y < 10], y[y < 10]
    return X, y


def training_rows(y: NDArray[Any], per_class: int, seed: int) -> NDArray[np.bool_]:
    """True for `per_class` samples of every class, drawn at random."""
    rng = np.random.default_rng(seed)
    train = np.zeros(y.size, dtype=bool)
    for label in np.unique(y):
        train[rng.choice(np.flatnonzero(y == label), per_class, replace=False)] = True
    return train


def methods(d: int, per_class: int) -> dict[str, Any]:
    """The six methods with supervised graphs; LDA takes the c − 1 axes it has."""
    gaussian: dict[str, Any] = {"graph": "class", "weights": "heat"}
    lle: dict[str, Any] = {"graph": KNN(per_class - 1, within_class=True)}
    return {
        "PCA": PCA(d), "LDA": LDA(), "LPP": LPP(d, **gaussian), "OLPP": OLPP(d, **gaussian),
        "NPP": NPP(d, **lle), "ONPP": ONPP(d, **lle),
    }  # fmt: skip


def errors_at(dims: list[int], Y: Array, y: NDArray[Any], Y_new: Array, y_new: NDArray[Any]) -> list[float]:
    """Nearest-neighbour error of the new points in the first d coordinates for each d; NaN beyond the last coordinate."""
    squared, done, errors = np.zeros((len(Y_new), len(Y))), 0, []
    for d in dims:
        if d > Y.shape[1]:
            errors.append(np.nan)
            continue
        squared += euclidean_distances(Y_new[:, done:d], Y[:, done:d], squared=True)
        done = d
        errors.append(float(np.mean(y[squared.argmin(axis=1)] != y_new)))
    return errors


def errors_of_split(X: Array, y: NDArray[Any], per_class: int, dims: list[int], seed: int) -> dict[str, list[float]]:
    """The error curve of every method on one split, and of the oblique ones with axes of length one."""
    train = training_rows(y, per_class, seed)
    first = PCA(int(train.sum()) - np.unique(y).size).fit(X[train])
    Z, Z_new = first.transform(X[train]), first.transform(X[~train])
    found = {}
    for name, method in methods(max(dims), per_class).items():
        Y, Y_new = method.fit(Z, y[train]).transform(Z), method.transform(Z_new)
        found[name] = errors_at(dims, Y, y[train], Y_new, y[~train])
        if name in OBLIQUE:
            length = np.linalg.norm(method.components_, axis=1)
            found[name + UNIT] = errors_at(dims, Y / length, y[train], Y_new / length, y[~train])
    return found


# ---------------------------------------------------------------------- what came out
@dataclass(frozen=True, eq=False)
class Result:
    """Errors in per cent of every method on one data set, (splits, dims), and the number of classes."""

    task: Task
    classes: int
    dims: list[int]
    errors: dict[str, Array]

    def mean(self, name: str) -> Array:
        return self.errors[name].mean(axis=0)

    def best(self, name: str) -> int:
        """The position of the dimension of least mean error."""
        return int(np.nanargmin(self.mean(name)))

    def at_best(self, name: str) -> str:
        i = self.best(name)
        return f"{pm(self.errors[name][:, i])} % at d = {self.dims[i]}"

    def ranked(self, names: tuple[str, ...]) -> list[str]:
        """The methods by their least mean error, lowest first."""
        return sorted(names, key=lambda name: float(np.nanmin(self.mean(name))))

    def ahead(self, name: str, others: tuple[str, ...]) -> Array:
        """Errors of the best of the others less those of a method, split by split, each at its own best d."""
        rival = self.ranked(others)[0]
        return self.errors[rival][:, self.best(rival)] - self.errors[name][:, self.best(name)]

    def where_below(self, names: tuple[str, ...], others: tuple[str, ...]) -> str:
        """The dimensions at which each of some methods has a lower mean error than each of the others."""
        highest = np.max([self.mean(name) for name in names], axis=0)
        lowest = np.nanmin([self.mean(name) for name in others], axis=0)
        return runs(self.dims, highest < lowest)


def run(name: str, splits: int, quick: bool, n_jobs: int) -> Result:
    """All splits of one data set."""
    task = TASKS[name]
    X, y = load(name)
    c = np.unique(y).size
    most = c * (task.per_class - 1)
    dims = sorted({d for d in (QUICK_DIMENSIONS if quick else DIMENSIONS) if d < most} | {c - 1})
    with parallel_config(backend="loky", inner_max_num_threads=1):
        found = Parallel(n_jobs=n_jobs)(
            delayed(errors_of_split)(X, y, task.per_class, dims, seed) for seed in range(splits)
        )
    return Result(task, c, dims, {method: 100 * np.array([one[method] for one in found]) for method in found[0]})


def pm(values: Array) -> str:
    """Mean ± standard error."""
    return f"{values.mean():.2f} ± {values.std(ddof=1) / np.sqrt(values.size):.2f}"


def surely(values: Array) -> bool:
    """The mean is above zero by more than two standard errors."""
    return bool(values.mean() > 2 * values.std(ddof=1) / np.sqrt(values.size))


def runs(dims: list[int], chosen: NDArray[np.bool_]) -> str:
    """Dimensions as runs of neighbouring ones: "5–20, 30"."""
    parts: list[list[int]] = []
    for i in np.flatnonzero(chosen):
        if parts and i > 0 and chosen[i - 1]:
            parts[-1].append(dims[i])
        else:
            parts.append([dims[i]])
    return ", ".join(f"{part[0]}–{part[-1]}" if len(part) > 1 else str(part[0]) for part in parts) or "none"


# ---------------------------------------------------------------------- the report
def table(result: Result, names: tuple[str, ...]) -> str:
    """Errors at some dimensions and at the best one, the lowest of each column in bold."""
    shown = [i for i, d in enumerate(result.dims) if d in (*SHOWN, result.classes - 1)]
    lowest = np.nanmin([result.mean(name) for name in names], axis=0)
    lines = [
        "| error in % | " + " | ".join(f"d = {result.dims[i]}" for i in shown) + " | best d | error there |",
        "|---|" + "--:|" * (len(shown) + 2),
    ]
    for name in names:
        cells = []
        for i in shown:
            values = result.errors[name][:, i]
            text = "–" if np.isnan(values[0]) else pm(values)
            cells.append(f"**{text}**" if result.mean(name)[i] == lowest[i] else text)
        best = result.best(name)
        text = pm(result.errors[name][:, best])
        cells += [str(result.dims[best]), f"**{text}**" if name == result.ranked(names)[0] else text]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def with_unit_axes(result: Result) -> str:
    """What is left of the oblique methods' lag when only the lengths of their axes change."""
    best = result.ranked(tuple(name + UNIT for name in OBLIQUE))[0]
    return f"  With axes of length 1 the lowest oblique error is that of {best.removesuffix(UNIT)}, {result.at_best(best)}."


def verdict(result: Result, names: tuple[str, ...], others: tuple[str, ...]) -> str:
    """Whether each of some methods is surely below all others, each method at its own best d."""
    ahead = [name for name in names if surely(result.ahead(name, others))]
    if len(ahead) == len(names):
        return "yes"
    return f"in part, {' and '.join(ahead)} only" if ahead else "no"


def on_faces(result: Result) -> str:
    """Are OLPP and ONPP the best on this set, as the paper finds?"""
    names, rest = ("OLPP", "ONPP"), ("PCA", *OBLIQUE)
    rival = result.ranked(rest)[0]
    lines = [
        f"- **{result.task.title}: {verdict(result, names, rest)}.** Best of the other four: {rival}, {result.at_best(rival)}."
    ]
    lines += [
        f"  {name}: {result.at_best(name)}, {pm(result.ahead(name, rest))} points below {rival} split by split; "
        f"lower than all four at the same d for d = {result.where_below((name,), rest)}."
        for name in names
    ]
    return "\n".join([*lines, with_unit_axes(result)])


def on_digits(result: Result) -> str:
    """Are the orthogonal methods below the oblique ones, and does LPP go with NPP?"""
    gap = np.abs(result.mean("LPP") - result.mean("NPP"))
    early = [i for i, d in enumerate(result.dims) if d < result.classes]
    best, oblique = result.ranked(METHODS)[0], result.ranked(OBLIQUE)[0]
    return (
        f"- **{result.task.title}: {verdict(result, ORTHOGONAL, OBLIQUE)}.** The lowest error is that of {best}, "
        f"{result.at_best(best)}; the lowest oblique one that of {oblique}, {result.at_best(oblique)}.\n"
        f"  PCA, OLPP and ONPP are each below LDA, LPP and NPP at the same d for d = {result.where_below(ORTHOGONAL, OBLIQUE)}.\n"
        f"{with_unit_axes(result)}\n  LPP and NPP differ by {gap[early].max():.1f} points at most for d < {result.classes}, "
        f"and by {gap.max():.1f} at d = {result.dims[int(gap.argmax())]}."
    )


def findings(results: dict[str, Result]) -> str:
    """What the paper concludes, held against these results."""
    parts = []
    digits = "§9.3.1: are PCA, OLPP and ONPP better than LDA, LPP and NPP on digits? Does LPP parallel NPP?"
    faces = "§9.3.2: are OLPP and ONPP the best on faces?"
    for kind, question, answer in (("digits", digits, on_digits), ("faces", faces, on_faces)):
        found = [answer(result) for result in results.values() if result.task.kind == kind]
        if found:
            parts.append(
                f'### {question}\n\nEvery method at its own best d; "yes" asks for two standard errors.\n\n'
                + "\n".join(found)
            )
    return "\n\n".join(parts)


def render(results: dict[str, Result], splits: int, command: str) -> str:
    """The page: protocol, a figure and a table for each data set, findings."""
    protocol = str(__doc__).split("-\n", 1)[1].strip()
    page = [
        f"# {TITLE}",
        f"*Written by `{command}`: do not edit. {splits} splits. The paper prints its results as curves, without numbers.*",
        f"## Protocol (§9.3 of the paper)\n\n{protocol}",
    ]
    for kind, number in FIGURES.items():
        shown = [result for result in results.values() if result.task.kind == kind]
        if shown:
            page.append(f"## Figure {number}: {kind}\n\n![Error against d](../images/s0-errors-{kind}.png)")
        for result in shown:
            sizes = f"{result.classes} classes, {result.task.per_class} training samples each"
            page.append(f"### {result.task.title}: {sizes}\n\n{table(result, METHODS)}")
    page.append(
        "## The length of oblique axes\n\nThe units of LDA, LPP and NPP give an axis along which the data vary little the same weight in a "
        "distance as any other. The same axes divided by their lengths:"
    )
    page += [
        f"### {result.task.title}\n\n{table(result, tuple(name + UNIT for name in OBLIQUE))}"
        for result in results.values()
    ]
    page.append(f"## What the paper concludes\n\n{findings(results)}")
    return "\n\n".join(page) + "\n"


def draw(results: list[Result], path: Path) -> None:
    """Error against d, one panel a data set."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4.1 * len(results) + 0.9, 3.6), layout="constrained")
    for ax, result in zip(figure.subplots(1, len(results), squeeze=False)[0], results, strict=True):
        last = [result.dims.index(result.classes - 1)]
        for name, (colour, dash) in STYLES.items():
            mark = {"marker": "D", "markersize": 5, "markevery": last, "zorder": 3} if name == "LDA" else {}
            ax.plot(result.dims, result.mean(name), dash, color=colour, linewidth=1.4, label=name, **mark)
        ax.set_yscale("log")
        ax.set_yticks([d for d in (1, 2, 5, 10, 20, 50, 100) if ax.get_ylim()[0] <= d <= ax.get_ylim()[1]])
        ax.yaxis.set_major_formatter("{x:g} %")
        ax.yaxis.set_minor_formatter("")
        ax.set_xlabel("dimensions d", color="#333333")
        ax.set_title(result.task.title, fontsize=11, color="#333333")
        ax.spines[["top", "right"]].set_visible(False)
        ax.grid(axis="y", color="#b8bcc2", linewidth=0.4)
    figure.axes[0].set_ylabel("test error", color="#333333")
    figure.legend(*figure.axes[0].get_legend_handles_labels(), loc="outside right center", frameon=False, fontsize=9)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)


def write(results: dict[str, Result], out: Path, page: str) -> None:
    """The page and the figures it shows."""
    for kind in FIGURES:
        shown = [result for result in results.values() if result.task.kind == kind]
        if shown:
            draw(shown, out / "images" / f"s0-errors-{kind}.png")
    target = out / "reproductions" / "s0.md"
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(page, encoding="utf-8")


def main(arguments: list[str] | None = None) -> dict[str, Result]:
    """Run what the command line asks for."""
    given = sys.argv[1:] if arguments is None else arguments
    parser = argparse.ArgumentParser(description=TITLE)
    parser.add_argument("--splits", type=int, help="random splits, at least 2 (default: 100, or 3 with --quick)")
    parser.add_argument("--data", nargs="+", choices=TASKS, default=list(TASKS), metavar="NAME", help=", ".join(TASKS))
    parser.add_argument("--out", type=Path, default=Path("s0-results"), help="folder to write to (default: s0-results)")
    parser.add_argument("--quick", action="store_true", help="three splits, six dimensions")
    parser.add_argument("--jobs", type=int, default=2, help="processes (default: 2)")
    options = parser.parse_args(given)
    splits = options.splits or (3 if options.quick else 100)
    if splits < 2:
        parser.error(f"--splits {splits}: a standard error needs at least 2")
    results = {}
    for name in options.data:
        start = time.perf_counter()
        try:
            results[name] = run(name, splits, options.quick, options.jobs)
        except FileNotFoundError as missing:
            print(f"{name} skipped: {missing}.")
            continue
        print(f"\n{TASKS[name].title}, {splits} splits, {time.perf_counter() - start:.0f} s\n")
        print(table(results[name], METHODS), flush=True)
    if results:
        write(results, options.out, render(results, splits, shlex.join(["python", "examples/reproduce_s0.py", *given])))
        print(f"\n{findings(results)}")
    return results


if __name__ == "__main__":
    main()
