"""Toy figures 4, 5 and 6 of Chatpatanasiri & Kijsirikul (2009), "A unified semi-supervised dimensionality reduction framework".

    python examples/toy_figures_s2.py --out folder

writes ``s2-toys.png`` and prints the accuracies: two classes in the plane, one axis to find, and every unlabelled point is given
the class of its nearest labelled neighbour on that axis. The paper does not publish its points; these are drawn (seed 0, and 3 for
figure 6, where LFDA and LPP then differ) to show what it says of each figure; of the seeds 0 to 49, 47, 48 and 47 do.

- Figure 4. Two clusters, above and below, both with circles left and right of crosses. On the axis to find, x, the class
  means coincide, so FDA fails; the widest gap is between the clusters, so LPP fails, and SS-FDA, which mixes the two, fails with them.
  LFDA, which only holds near points of a class together, finds x, and SS-LFDA does.
- Figure 5. Three flat clusters, circles above and below crosses. FDA would merge the circles, PCA follows the long side, and LFDA
  is FDA as long as only six points have labels (the other three labelled circles are the neighbours of each); SELF, which mixes
  LFDA and PCA, fails with them. LPP sees that neighbours differ along the clusters and not across, and so does SS-LFDA.
- Figure 6. Three clusters again, twice, with labels on the left only. LFDA fails as before. LPP measures in units of the spread
  of all points, in which the gap between left and right is largest, and squeezes each into a point. SS-LFDA keeps neighbours
  close as LPP does, but in units of what varies within a labelled class: up and down, and not across that gap. It finds y. The
  other panel is the graph of C^u that both use, an edge where c^u_ij > 0.1.

γ (of SELF, SS-FDA and SS-LFDA) is chosen as in the paper's tables, by cross-validation over the labelled points (`RegularizedSearch`);
α = 1 a priori, that is C^u of equation 7, as the caption of figure 6 says.
"""

from __future__ import annotations

import argparse
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from eigenspan import LDA, LFDA, LPP, PCA, SELF, SSFDA, SSLFDA, LocalScaling, RegularizedSearch
from eigenspan.errors import EigenspanWarning
from eigenspan.problem.forms import pair_affinity

AFFINITY = LocalScaling(3)
GAMMAS = [0.01, 0.1, 1.0, 10.0, 100.0]
COLOURS = {
    "FDA": "#d55e00", "PCA": "#8c6d31", "LPP": "#0072b2", "LFDA": "#cc79a7", "SELF": "#e69f00", "SS-FDA": "#56b4e9",
    "SS-LFDA": "#009e73",
}  # fmt: skip


@dataclass(frozen=True)
class Toy:
    """Points in the plane, their classes (0 circles, 1 crosses), which labels are known, and the methods to draw."""

    name: str
    X: Any
    y: Any
    known: Any
    drawn: tuple[str, ...]


def rectangles(parts: list[tuple[Any, ...]], seed: int) -> tuple[Any, Any, Any]:
    """Uniform points in rectangles (class, points, of them labelled, centre, half sides): X, y and what is labelled."""
    rng = np.random.default_rng(seed)
    X = [np.add(centre, rng.uniform(-1, 1, (n, 2)) * half) for _, n, _, centre, half in parts]
    y = [np.full(n, c) for c, n, *_ in parts]
    known = [np.arange(n) < labelled for _, n, labelled, *_ in parts]
    return np.vstack(X), np.concatenate(y), np.concatenate(known)


def figure_4(seed: int = 0) -> Toy:
    """In both clusters the circles are a little higher, all that the class means differ by."""
    columns = ((0, -1, 0.25), (1, 0, -0.25), (0, 1, 0.25))
    parts = [(c, 50, 6, (x, side * 2 + up), (0.15, 1)) for side in (1, -1) for c, x, up in columns]
    return Toy("Figure 4", *rectangles(parts, seed), ("FDA", "LPP", "SS-FDA", "LFDA", "SS-LFDA"))


def figure_5(seed: int = 0) -> Toy:
    """Three clusters of two classes."""
    parts = [(c, n, 2, (0, y), (3, 0.05)) for c, n, y in ((0, 30, 1.5), (1, 60, 0), (0, 30, -1.5))]
    return Toy("Figure 5", *rectangles(parts, seed), ("FDA", "PCA", "LFDA", "SELF", "LPP", "SS-LFDA"))


def figure_6(seed: int = 3) -> Toy:
    """Left and right three clusters of two classes; those on the right have no labels."""
    rows = ((0, 30, 1), (1, 60, 0), (0, 30, -1))
    parts = [(c, n, labels, (x, y), (0.3, 0.1)) for x, labels in ((-1.5, 2), (1.5, 0)) for c, n, y in rows]
    return Toy("Figure 6", *rectangles(parts, seed), ("LFDA", "LPP", "SS-LFDA"))


def methods() -> dict[str, Any]:
    """What is compared, each with one axis to find."""
    return {
        "FDA": LDA(1, unlabeled=-1),
        "PCA": PCA(1),
        "LPP": LPP(1, graph="all", weights=AFFINITY),
        "LFDA": LFDA(1, unlabeled=-1, gamma_scale="raw"),
        "SELF": RegularizedSearch(SELF(1, affinity="neighbours"), {"beta": [g / (1 + g) for g in GAMMAS]}),
        "SS-FDA": RegularizedSearch(SSFDA(1, alpha=1, gamma_scale="raw"), {"gamma": GAMMAS}),
        "SS-LFDA": RegularizedSearch(SSLFDA(1, alpha=1, gamma_scale="raw"), {"gamma": GAMMAS}),
    }


def fitted(toy: Toy, method: Any) -> tuple[float, Any]:
    """Accuracy of the nearest labelled neighbour over the unlabelled points, in per cent, and the axis."""
    with warnings.catch_warnings():
        # Of two labelled crosses the search hides one, and the library says that the other has no neighbour.
        warnings.simplefilter("ignore", EigenspanWarning)
        method.fit(toy.X, np.where(toy.known, toy.y, -1))
    line = method.transform(toy.X)[:, 0]
    nearest = np.abs(line[~toy.known, None] - line[toy.known]).argmin(axis=1)
    accuracy = 100 * float(np.mean(toy.y[toy.known][nearest] == toy.y[~toy.known]))
    return accuracy, getattr(method, "best_estimator_", method).components_[0]


def edges(X: Any) -> Any:
    """Pairs i < j with c^u_ij > 0.1."""
    return np.argwhere(np.triu(pair_affinity(X, AFFINITY).to_dense() > 0.1, k=1))


def table(results: dict[str, dict[str, tuple[float, Any]]]) -> str:
    """Accuracies in Markdown: figures by methods."""
    lines = ["| | " + " | ".join(COLOURS) + " |", "|---|" + "---:|" * len(COLOURS)]
    for name, found in results.items():
        lines.append(f"| {name} | " + " | ".join(f"{found[method][0]:.0f} %" for method in COLOURS) + " |")
    return "\n".join(lines)


# ---------------------------------------------------------------------- drawing
def draw_points(ax: Any, toy: Toy) -> None:
    """Circles and crosses, big ones with labels."""
    for known, size, width, ink in ((False, 9, 0.6, "#666666"), (True, 80, 1.6, "#222222")):
        circles, crosses = (toy.X[(toy.y == c) & (toy.known == known)].T for c in (0, 1))
        ax.scatter(*circles, s=size, marker="o", facecolors="none", edgecolors=ink, linewidths=width, zorder=3)
        ax.scatter(*crosses, s=size, marker="x", color=ink, linewidths=width, zorder=3)
    ax.set_aspect("equal", adjustable="datalim")
    ax.set(xticks=[], yticks=[])


def draw_axes(ax: Any, toy: Toy, found: dict[str, tuple[float, Any]]) -> None:
    """One line a method through the mean, solid where it classifies well; of two on one line both can be seen."""
    centre = toy.X.mean(axis=0)
    for place, name in enumerate(toy.drawn):
        accuracy, axis = found[name]
        good = accuracy > 95
        ax.axline(
            centre, centre + axis, color=COLOURS[name], linestyle="-" if good else (2 * place, (4, 4)),
            linewidth=2 + 2 * (len(toy.drawn) - place - 1) if good else 2, label=f"{name} {accuracy:.0f} %",
        )  # fmt: skip
    below = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.01), "ncols": 3}
    ax.legend(**below, frameon=False, fontsize=9, handlelength=2.5, columnspacing=1)
    ax.set_title(toy.name)


def picture(toys: list[Toy], results: dict[str, dict[str, tuple[float, Any]]]) -> Any:
    """A panel for each figure, and the graph of the last."""
    from matplotlib.collections import LineCollection
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 8.5), layout="constrained")
    panels = figure.subplots(2, 2).ravel()
    for ax, toy in zip(panels, toys, strict=False):
        draw_points(ax, toy)
        draw_axes(ax, toy, results[toy.name])
    last, ax = toys[-1], panels[-1]
    draw_points(ax, last)
    ax.add_collection(LineCollection(list(last.X[edges(last.X)]), colors=COLOURS["LPP"], linewidths=0.6))
    ax.set_title(f"{last.name}, right: edges where $c^u_{{ij}} > 0.1$")
    return figure


def main(arguments: list[str] | None = None) -> dict[str, dict[str, tuple[float, Any]]]:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path(), help="folder of the picture")
    options = parser.parse_args(arguments)
    toys = [figure_4(), figure_5(), figure_6()]
    results = {toy.name: {name: fitted(toy, method) for name, method in methods().items()} for toy in toys}
    print(table(results))
    options.out.mkdir(parents=True, exist_ok=True)
    picture(toys, results).savefig(options.out / "s2-toys.png", dpi=90)
    return results


if __name__ == "__main__":
    main()
