"""From results to a page: `render` writes Markdown, `draw` the figures; nothing is measured here."""

from __future__ import annotations

import json
import math
from collections import Counter
from pathlib import Path
from statistics import median
from typing import Any

from . import OURS, REPEATS, ROOT

RESULTS = ROOT / "benchmarks" / "results"
RATIOS, GROWTH = "benchmark-ratios.png", "benchmark-growth.png"
TOP = """# Benchmarks

*This page is written by `python -m benchmarks report` from `{source}`. Do not edit it: change the results by measuring
again, with `make bench` or, at all sizes, `make bench-full`.*
"""
METHOD = """
## Method

- Every run is a fresh Python process with {threads} threads (OpenMP, OpenBLAS, MKL, numba, `n_jobs`). Contenders take turns: ours,
  first peer, second peer, ours again, so that a slow minute of the machine hits all of them alike. Times are wall clock,
  medians over the runs; the repeats differ in their random seed.{runs}
- Before the timed call each process fits the same method to a few hundred or thousand rows of such data, for every contender alike:
  imports and compilation do not count. eigenspan compiles its loops once per installation and then loads them from a cache.
- The timed call goes from the data in memory to the embedding of all its rows, unless a title says otherwise.
- Memory is the peak of the process during that call, above what data and libraries held just before it. Pages of a memory-mapped
  file count when they are read.
- The ratio is the peer's time over ours: above 1 we are faster. A run beyond its limit is ended and not repeated; its ratio is a lower
  bound. A contender whose runs have taken {long:g} s together is not run again. Where the number of runs is not {repeats}, it is
  given in brackets. Points of the growth curves that are not compared are measured once.
- Quality is measured on what each contender returned. *Residual* is what eigenspan reports itself, the largest ‖My − λy‖ relative to ‖M‖.
  *Residual / λ* is recomputed from each contender's vectors on its own graph. *Procrustes* is the relative Frobenius distance after the
  best rotation, scale and shift, *R²* the share of the true sheet that an affine function of the embedding explains, *degrees* are the
  largest principal angle between subspaces, *5-NN accuracy* a leave-one-out vote among 10,000 points, *kernel variance* the share
  of the most that two axes can have, over the first 3,000 rows. *Cosine to exact* is against the eigenvectors of the graph with
  weights 0 and 1 that eigenspan builds: scikit-learn's weights are ½ and 1, so its value contains that difference. *True gap* is
  (upper − lower) / upper, both bounds recomputed from the returned factor and duals; *variance of best* is a PCA's over the largest.
- *Not run above* a size: the whole suite should end within an hour; it does not say that the peer fails there. *Too slow at* a smaller
  size: its run there was ended at the limit. cvxpy's
  solvers work to their default tolerances, eigenspan's unfolding to a gap of 1e-3. A file on disk is dropped from the system's cache
  before every run.
"""

#: The rows of the README's table: what stands there, and the task and size it is taken from.
SUMMARY = (
    ("Isomap, all pairs, 10,000 points", "isomap", 10_000),
    ("Isomap, 200 landmarks, 100,000 points", "landmark-isomap", 100_000),
    ("Isomap, 200 landmarks, 1,000,000 points", "landmark-isomap", 1_000_000),
    ("LLE, 50,000 points", "lle", 50_000),
    ("Hessian LLE, 50,000 points", "hessian-lle", 50_000),
    ("modified LLE, 50,000 points", "modified-lle", 50_000),
    ("LTSA, 50,000 points", "ltsa", 50_000),
    ("LTSA, MNIST reduced to 50 principal components, 70,000 points", "mnist-ltsa", 70_000),
    ("LTSA, MNIST, 784 pixels, 70,000 points", "pixels-ltsa", 70_000),
    ("Laplacian eigenmaps, 50,000 points", "eigenmaps", 50_000),
    ("Laplacian eigenmaps, 200,000 points", "eigenmaps", 200_000),
    ("Laplacian eigenmaps, 1,000,000 points", "eigenmaps", 1_000_000),
    ("Laplacian eigenmaps, MNIST reduced to 50 principal components, 70,000 points", "mnist-eigenmaps", 70_000),
    ("Laplacian eigenmaps, MNIST, 784 pixels, 70,000 points", "pixels-eigenmaps", 70_000),
    ("12 nearest neighbours, MNIST, 784 pixels, 70,000 points", "knn-mnist", 70_000),
    ("classical MDS, 5,000 points, from coordinates", "mds-points", 5_000),
    ("classical MDS, 5,000 points, from distances", "mds-distances", 5_000),
    ("LDA, 100,000 × 784", "lda", 100_000),
    ("LFDA, 50,000 × 100, ten classes", "lfda", 50_000),
    ("SSLFDA, the same, half of the labels hidden", "sslfda", 50_000),
    ("kernel PCA, 10,000 points", "kernel-pca", 10_000),
    ("kernel PCA, 1,000 landmarks, 200,000 points", "kernel-pca-landmarks", 200_000),
    ("PCA, 100,000 × 784, 50 components", "pca", 100_000),
    ("PCA, 1,000,000 × 100 from a file on disk, fit only", "pca-file", 1_000_000),
    ("maximum variance unfolding, 2,000 points", "mvu", 2_000),
    ("maximum variance unfolding, 50,000 points", "mvu-large", 50_000),
)
#: Its columns.
COLUMNS = (OURS, "scikit-learn", "tapkee")
BEGIN, END = "<!-- speed: written by python -m benchmarks report -->\n", "<!-- end of speed -->\n"


def ratio(theirs: float, ours: float) -> float:
    """How many times as long as ours a peer took: above 1 we are faster."""
    return theirs / ours


def exponent(sizes: list[int], seconds: list[float]) -> float:
    """Slope of log seconds on log n over the upper half of the sizes."""
    points = sorted(zip(sizes, seconds, strict=True))[-max(2, math.ceil(len(sizes) / 2)) :]
    x, y = ([math.log(pair[i]) for pair in points] for i in (0, 1))
    mx, my = sum(x) / len(x), sum(y) / len(y)
    return sum((a - mx) * (b - my) for a, b in zip(x, y, strict=True)) / sum((a - mx) ** 2 for a in x)


def measured(entry: dict[str, Any], name: str = OURS) -> float | None:
    """Median seconds of a contender that finished all its runs."""
    for row in entry["contenders"]:
        if row["name"] == name and row["status"] == "ok":
            return median(row["seconds"])
    return None


def ratios(entry: dict[str, Any]) -> dict[str, tuple[float, bool]]:
    """``peer -> (ratio, is a lower bound)`` of an entry where ours finished."""
    own = measured(entry)
    if own is None:
        return {}
    found = {}
    for row in entry["contenders"]:
        if row["name"] != OURS and row["status"] == "ok":
            found[row["name"]] = (ratio(median(row["seconds"]), own), False)
        elif row["name"] != OURS and row["status"] == "timeout":
            found[row["name"]] = (ratio(entry["limit"], own), True)
    return found


def curves(record: dict[str, Any]) -> dict[str, tuple[list[int], list[float]]]:
    """``title -> (sizes, seconds)`` of ours, for tasks measured at sizes beyond the compared ones."""
    grown = {entry["task"] for entry in record["entries"] if not entry["compared"]}
    found: dict[str, tuple[list[int], list[float]]] = {}
    for entry in sorted(record["entries"], key=lambda entry: entry["size"]):
        seconds = measured(entry)
        if entry["task"] in grown and seconds is not None:
            sizes, times = found.setdefault(entry["title"], ([], []))
            sizes.append(entry["size"])
            times.append(seconds)
    return {title: points for title, points in found.items() if len(points[0]) > 1}


# ---------------------------------------------------------------------- Markdown
def render(record: dict[str, Any] | None, source: str = "") -> str:
    """The page; without results, how to get them."""
    from .runner import LONG
    from .tasks import TASKS

    page = [TOP.format(source=source or "benchmarks/results/")]
    if record is None:
        page.append("\nNothing has been measured yet.\n")
        return "".join([*page, METHOD.format(threads=2, long=LONG, repeats=REPEATS, runs="")])
    entries = [entry for entry in record["entries"] if entry["compared"]]
    runs = f"\n  {runs_of(entries)}"
    page += [METHOD.format(threads=record["threads"], long=LONG, repeats=REPEATS, runs=runs), _machine(record)]
    if any(ratios(entry) for entry in entries):
        page.append(f"\n## Comparison\n\n![Time of peers over ours](images/{RATIOS})\n")
    for title in dict.fromkeys(entry["title"] for entry in entries):
        page.append(table(title, [entry for entry in entries if entry["title"] == title]))
    if curves(record):
        page.append(_growth(curves(record)))
    known = {(entry["task"], entry["size"]) for entry in record["entries"]}
    missing = {task.name: [f"{n:,}" for n in task.planned(True) if (task.name, n) not in known] for task in TASKS}
    if record["suite"] == "full" and any(missing.values()):
        listed = "; ".join(f"{name} ({', '.join(sizes)})" for name, sizes in missing.items() if sizes)
        page.append(f"\n## Planned and not measured yet\n\n{listed}.\n")
    return "".join(page)


def runs_of(entries: list[dict[str, Any]], peers: tuple[str, ...] = ("",)) -> str:
    """How many runs are behind the times of these entries and peers, the most frequent number first."""
    counts = Counter(
        len(row["seconds"])
        for entry in entries
        for row in entry["contenders"]
        if row["status"] == "ok" and row["name"].startswith(peers)
    )
    parts = [f"{times} of {n} run{'s' * (n > 1)}" for n, times in counts.most_common()]
    return f"The {counts.total()} times are medians: {', '.join(parts) or 'none'}."


def introduction(record: dict[str, Any]) -> str:
    """The sentence above the README's table: what its times are medians of."""
    wanted = {(task, size) for _, task, size in SUMMARY}
    shown = [entry for entry in record["entries"] if (entry["task"], entry["size"]) in wanted]
    return f"Every run is a fresh process with {record['threads']} threads, contenders in turn. {runs_of(shown, COLUMNS)}\n\n"


def summary(record: dict[str, Any]) -> str:
    """The README's table: those rows of `SUMMARY` that were measured; `render` names the others."""
    entries = {(entry["task"], entry["size"]): entry for entry in record["entries"]}
    lines = [f"| task | {' | '.join(COLUMNS)} |", "|---|---:|---:|---:|"]
    for label, task, size in SUMMARY:
        if (task, size) in entries:
            rows = {row["name"]: row for row in entries[task, size]["contenders"]}
            cells = [_cell(rows, peer, entries[task, size]["limit"]) for peer in COLUMNS]
            lines.append(f"| {label} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _cell(rows: dict[str, dict[str, Any]], peer: str, limit: float) -> str:
    """Seconds of every variant of a peer that ran."""
    found = []
    for name, row in rows.items():
        if name.startswith(peer) and row["status"] in ("ok", "timeout", "error"):
            text = f"> {limit:.0f} s" if row["status"] == "timeout" else "fails" if row["status"] == "error" else ""
            kind = name.removeprefix(peer).strip()
            found.append((text or f"{_short(median(row['seconds']))} s") + (f" ({kind})" if kind else ""))
    return ", ".join(found) or "–"


def _machine(record: dict[str, Any]) -> str:
    facts, dates = record["machine"], sorted(entry["date"] for entry in record["entries"])
    commits = ", ".join(sorted({entry["commit"] for entry in record["entries"]} - {""}))
    used = ", ".join(f"{name} {version}" for name, version in record["versions"].items())
    return (
        f"\n## Machine\n\n{facts['processor']}, {facts['cores']} cores, {facts['memory_gib']:g} GiB, {facts['system']}, Python "
        f"{facts['python']}; {used}. Measured with `{record['command']}` from {dates[0]} to {dates[-1]} at {commits or 'no commit'}.\n"
    )


def table(title: str, entries: list[dict[str, Any]]) -> str:
    """All sizes and contenders of one task."""
    lines = [
        f"\n### {title}\n",
        "| n | contender | seconds | peak MB | quality | time / ours |",
        "|---:|---|---:|---:|---|---:|",
    ]
    notes = []
    for entry in entries:
        found = ratios(entry)
        for row in entry["contenders"]:
            value, bound = found.get(row["name"], (None, False))
            own = row["name"] == OURS and row["status"] == "ok"
            times = "1" if own else "–" if value is None else f"{'> ' if bound else ''}{_short(value)}×"
            lines.append(
                f"| {entry['size']:,} | {row['name']} | {_seconds(row)} | {_peak(row)} | {_quality(row)} | {times} |"
            )
            if row["said"]:
                notes.append(f"{row['name']} at n = {entry['size']:,} said: `{row['said'].replace('`', '')}`")
        if entry["note"]:
            notes.append(f"n = {entry['size']:,}: {entry['note']}.")
    return "\n".join(lines) + "\n" + "".join(f"\n{note}\n" for note in notes)


def _seconds(row: dict[str, Any]) -> str:
    if row["status"] != "ok":
        return row["message"].replace("|", "\\|")
    runs = len(row["seconds"])
    return _short(median(row["seconds"])) + ("" if runs == REPEATS else f" ({runs} run{'s' * (runs > 1)})")


def _peak(row: dict[str, Any]) -> str:
    known = [peak for peak in row["peak_mb"] if peak is not None]
    return f"{median(known):,.0f}" if known else "–"


def _quality(row: dict[str, Any]) -> str:
    return ", ".join(f"{label} {_share(value)}" for label, value in row["quality"].items()) or "–"


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _share(value: float) -> str:
    """Three digits; just below one, three digits of what is missing."""
    if not 0.99 < value < 1 - 1e-12:
        return _short(value)
    return f"1 − {1 - value:.2g}"


def _growth(found: dict[str, tuple[list[int], list[float]]]) -> str:
    columns = sorted({n for sizes, _ in found.values() for n in sizes})
    lines = [
        f"\n## Growth\n\n![Seconds over the number of rows](images/{GROWTH})\n",
        "Seconds of eigenspan. The exponent is the slope of log seconds on log n over the upper half of the sizes.\n",
        "| method | " + " | ".join(f"{n:,}" for n in columns) + " | exponent |",
        "|---|" + "---:|" * (len(columns) + 1),
    ]
    for title, (sizes, seconds) in found.items():
        known = dict(zip(sizes, seconds, strict=True))
        cells = " | ".join(_short(known[n]) if n in known else "" for n in columns)
        lines.append(f"| {title} | {cells} | {exponent(sizes, seconds):.2f} |")
    return "\n".join(lines) + "\n"


# ---------------------------------------------------------------------- figures
def draw(record: dict[str, Any], folder: Path) -> None:
    """The two figures of the page, where there is something to show."""
    import matplotlib

    matplotlib.use("Agg")
    folder.mkdir(parents=True, exist_ok=True)
    largest = {
        (entry["task"], peer): (entry, peer, *found)
        for entry in sorted(record["entries"], key=lambda entry: entry["size"])
        for peer, found in ratios(entry).items()
    }
    order = list(dict.fromkeys(entry["task"] for entry in record["entries"]))
    bars = sorted(largest.values(), key=lambda bar: order.index(bar[0]["task"]))
    if bars:
        _draw_ratios(bars, folder / RATIOS)
    if curves(record):
        _draw_growth(curves(record), folder / GROWTH)


def _draw_ratios(bars: list[tuple[dict[str, Any], str, float, bool]], path: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 0.8 + 0.24 * len(bars)), layout="constrained")
    axes = figure.add_subplot()
    peers = sorted({peer.split()[0] for _, peer, _, _ in bars})
    for y, (_, peer, value, bound) in enumerate(bars):
        left, right = sorted((1.0, value))
        axes.barh(y, right - left, left=left, color=f"C{peers.index(peer.split()[0])}", hatch="///" if bound else None)
        axes.text(right, y, f" {'> ' if bound else ''}{_short(value)}×", va="center", fontsize=7)
    axes.set_yticks(range(len(bars)), [f"{e['task']} {e['size']:,}: {peer}" for e, peer, _, _ in bars], fontsize=7)
    axes.set_xscale("log")
    axes.set_xlim(left=min(0.5, *(0.7 * value for _, _, value, _ in bars)), right=3 * max(2.0, *(b[2] for b in bars)))
    axes.axvline(1.0, color="black", linewidth=0.8)
    axes.set_ylim(len(bars) - 0.4, -0.6)
    axes.set_xlabel(f"peer's time / time of {OURS}, at the largest size compared (hatched: at least)")
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=130)


def _draw_growth(found: dict[str, tuple[list[int], list[float]]], path: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 4.5), layout="constrained")
    axes = figure.add_subplot()
    for title, (sizes, seconds) in found.items():
        axes.loglog(sizes, seconds, "o-", markersize=4, label=f"{title}: n^{exponent(sizes, seconds):.2f}")
    axes.set(xlabel="rows", ylabel="seconds")
    axes.grid(alpha=0.3)
    axes.legend(fontsize=7, frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=130)


def write(path: Path | None = None, docs: Path = ROOT / "docs") -> Path:
    """Page and figures from `path`, by default from the full suite's results, else from the short one's."""
    candidates = [path] if path else [RESULTS / "full.json", RESULTS / "bench.json"]
    found = next((candidate for candidate in candidates if candidate.exists()), None)
    record = None if found is None else json.loads(found.read_text(encoding="utf-8"))
    source = "" if found is None else f"benchmarks/results/{found.name}"
    page = docs / "benchmarks.md"
    page.write_text(render(record, source), encoding="utf-8")
    if record is not None:
        draw(record, docs / "images")
        readme = docs.parent / "README.md"
        if readme.exists():
            readme.write_text(with_summary(readme.read_text(encoding="utf-8"), record), encoding="utf-8")
    return page


def with_summary(text: str, record: dict[str, Any]) -> str:
    """A README with the runs and the table of `record` between its two marks."""
    before, rest = text.split(BEGIN)
    return before + BEGIN + introduction(record) + summary(record) + END + rest.split(END)[1]
