"""Figures of maximum variance unfolding, with the numbers that can be checked of each.

    python examples/unfolding_figures.py --out folder

draws, and prints what can be checked of, these examples (``--fast`` for fewer points, without animation and tables):

- **Swiss roll** (Saul et al. 2006, fig. 1.3; Ghojogh et al. 2021, fig. 2). ``unfolding-roll.png`` and ``unfolding-roll.gif``. Gram
  matrices that keep the bounds form a convex set, so that every mixture (1 − s) XXᵀ + s K of the data and their unfolding keeps them
  too: the upper row and the animation go that way, in the view ((1 − s)x + s y₁, (1 − s)h + s y₂, √(1 − s) z), three orthogonal directions
  of the five that the mixture has. The lower row is what the solver did, from its callback: it begins at geodesic distances, where
  the roll lies open already, and the sheet widens.
- **Trefoil knot** (fig. 1.6 left: 1,617 points). ``unfolding-knot.png``. The closed curve becomes a circle, of two dimensions; the
  geodesic distances of a circle are not those of any points, and Isomap spreads them over many axes. The paper gives neither its
  curve nor its k: here sin φ + 2 sin 2φ, cos φ − 2 cos 2φ, −sin 3φ at equal steps of φ, and four neighbours.
- **Teapots** (fig. 1.6 right), from the folder EIGENSPAN_DATA. ``unfolding-teapots.png``. The paper has 400 views of a full turn, these
  are 100. Three neighbours are all adjacent views, and the curve is a ring in the order of the turn. With four there is one edge
  between a view and almost its opposite, handle and spout both out of sight, which ties the ring in the middle: it is pulled flat.
- **New points** of the Swiss roll, by the three extensions.
- **Tables** of what neighbours and constraints do to the sheet, and of a sheet with a hole, which Isomap's paths go around.
- **Forty random rolls**, half of them noisy: the certified gaps.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from scipy.interpolate import LinearNDInterpolator
from scipy.linalg import orthogonal_procrustes
from scipy.spatial import procrustes
from sklearn.datasets import make_swiss_roll

from eigenspan import MVU, Isomap
from eigenspan.errors import ConvergenceWarning

WIDTH = 21.0
EXTENSIONS = ("barycentric", "eigenfunctions", "kernel-map")
RAMP = "viridis"
#: What to ask of `MVU` for the table of forms.
FORMS: dict[str, dict[str, Any]] = {
    "k = 8": {"n_neighbors": 8},
    "k = 10": {"n_neighbors": 10},
    "k = 15": {"n_neighbors": 15},
    "k = 10, `common_neighbors=True`": {"n_neighbors": 10, "common_neighbors": True},
    'k = 10, `constraint="slack"`': {"n_neighbors": 10, "constraint": "slack"},
    'k = 10, `constraint="band"`, 200 steps': {"n_neighbors": 10, "constraint": "band", "max_iter": 200},
}


# ---------------------------------------------------------------------- Swiss roll
@dataclass(frozen=True)
class Roll:
    """Points, their arc length and height, the unfolding of the points, and (step, gap, coordinates) of the solver's records."""

    X: Any
    sheet: Any
    mvu: Any
    records: list[Any] = field(default_factory=list)

    @property
    def residual(self) -> float:
        return float(procrustes(self.sheet, self.mvu.embedding_)[2])


def swiss_roll(n: int, seed: int = 0) -> tuple[Any, Any]:
    """Points, and where they lie on the sheet: arc length, from the middle, and height."""
    X, t = make_swiss_roll(n, random_state=seed)
    return X, np.column_stack([(t * np.sqrt(1 + t**2) + np.arcsinh(t)) / 2, X[:, 1]])


def principal(F: Any, like: Any) -> Any:
    """The two principal coordinates of the rows of F, with the signs of `like`."""
    U, s, _ = np.linalg.svd(F - F.mean(axis=0), full_matrices=False)
    Y = U[:, :2] * s[:2]
    return Y * np.where(np.sum(Y * like, axis=0) < 0, -1, 1)


def unfold_roll(n: int, k: int = 10, tol: float = 1e-3) -> Roll:
    X, sheet = swiss_roll(n)
    records: list[Any] = []
    mvu = MVU(2, n_neighbors=k, tol=tol, random_state=0, callback=records.append).fit(X)
    Y = mvu.embedding_
    return Roll(X, sheet, mvu, [(r["iteration"], r["gap"], principal(r["factor"], Y)) for r in records])


def mixture(roll: Roll, s: float) -> Any:
    """A factor of (1 − s) XXᵀ + s K, n×5."""
    X, Y = roll.X - roll.X.mean(axis=0), roll.mvu.embedding_
    return np.hstack([np.sqrt(1 - s) * X, np.sqrt(s) * Y])


def view(roll: Roll, s: float) -> Any:
    """Three orthogonal directions of the mixture: roll and length, height and breadth, depth."""
    F, Y = mixture(roll, s), roll.mvu.embedding_
    signs = np.where(np.sum(Y * (roll.sheet - roll.sheet.mean(axis=0)), axis=0) < 0, -1, 1)
    a, b = np.sqrt(1 - s), np.sqrt(s)
    return np.column_stack([a * F[:, 0] + b * signs[0] * F[:, 3], a * F[:, 1] + b * signs[1] * F[:, 4], F[:, 2]])


def excess(roll: Roll, F: Any) -> float:
    """Largest squared distance of neighbours relative to its bound, less one."""
    c = roll.mvu.certificate_
    i, j = c.edges.T
    return float(np.max(np.sum((F[i] - F[j]) ** 2, axis=1) / c.squared_distances)) - 1


# ---------------------------------------------------------------------- closed curves
@dataclass(frozen=True)
class Curve:
    """Unfolding and Isomap of points on a closed curve, in their order."""

    X: Any
    k: int
    mvu: Any
    isomap: Any

    def shares(self) -> tuple[Any, Any]:
        """Eigenvalues of both, ten at most, over their sum."""
        return tuple(values / values.sum() for values in (self.mvu.spectrum_, self.isomap.eigenvalues_))


def unfold_curve(X: Any, k: int) -> Curve:
    return Curve(X, k, MVU(2, n_neighbors=k, random_state=0).fit(X), Isomap(10, n_neighbors=k).fit(X))


def trefoil(n: int = 1617) -> Any:
    phi = np.linspace(0, 2 * np.pi, n, endpoint=False)
    return np.column_stack([np.sin(phi) + 2 * np.sin(2 * phi), np.cos(phi) - 2 * np.cos(2 * phi), -np.sin(3 * phi)])


def teapots() -> Any | None:
    """The views in the order of the turn, or None where the data are not there."""
    path = Path(os.environ.get("EIGENSPAN_DATA", "")) / "teapots100_38x50.npz"
    if "EIGENSPAN_DATA" not in os.environ or not path.exists():
        return None
    return np.asarray(np.load(path)["X"], dtype=np.float64)


def turns(Y: Any) -> tuple[float, bool]:
    """How often the closed polygon of the rows goes around the mean, and whether it never turns back."""
    angle = np.arctan2(*(Y - Y.mean(axis=0))[:, 1::-1].T)
    steps = (np.diff(np.append(angle, angle[0])) + np.pi) % (2 * np.pi) - np.pi
    return float(steps.sum() / (2 * np.pi)), bool(np.all(steps > 0) or np.all(steps < 0))


def roundness(curve: Curve) -> float:
    """Smallest over largest distance of the unfolded points from their mean: 1 on a circle."""
    radius = np.linalg.norm(curve.mvu.embedding_ - curve.mvu.embedding_.mean(axis=0), axis=1)
    return float(radius.min() / radius.max())


def shortcuts(curve: Curve) -> Any:
    """Edges between points more than k places apart along the curve."""
    edges = curve.mvu.certificate_.edges
    apart = np.abs(edges[:, 0] - edges[:, 1])
    return edges[np.minimum(apart, len(curve.X) - apart) > curve.k]


def axes_for(shares: Any, part: float = 0.99) -> int:
    """Axes that hold this part of the sum."""
    return int(np.searchsorted(np.cumsum(shares), part)) + 1


# ---------------------------------------------------------------------- new points
def new_points(n: int = 1500, n_new: int = 1000, k: int = 10) -> dict[str, dict[str, float]]:
    """Errors of the three extensions, and of the training points, in per cent of the width of the sheet.

    `median` and `p95` are distances from where the embedding of the training points, interpolated over the sheet, has the point; points
    outside their hull are left out. `sheet` is the median distance from the true place, after the shift and rotation that bring the
    training points nearest to theirs, and `training` their own.
    """
    X, sheet = swiss_roll(n + n_new)
    X, sheet, new, place = X[:n], sheet[:n], X[n:], sheet[n:]
    found = {}
    for extension in EXTENSIONS:
        mvu = MVU(2, n_neighbors=k, common_neighbors=True, extension=extension, random_state=0).fit(X)
        Y, Z = mvu.embedding_, mvu.transform(new)
        own = np.linalg.norm(Z - LinearNDInterpolator(sheet, Y)(place), axis=1)
        middle = sheet.mean(axis=0)
        turn = orthogonal_procrustes(Y, sheet - middle)[0]
        train, test = (_median(A @ turn + middle - B) for A, B in ((Y, sheet), (Z, place)))
        low, high = (100 * float(np.nanquantile(own, q)) / WIDTH for q in (0.5, 0.95))
        found[extension] = {"median": low, "p95": high, "sheet": test, "training": train}
    return found


def _median(rows: Any) -> float:
    return 100 * float(np.median(np.linalg.norm(rows, axis=1))) / WIDTH


def table(found: dict[str, dict[str, float]]) -> str:
    lines = [
        "| `extension=` | from the embedding, median | 95 % below | from the sheet, median | training points |",
        "|---|---:|---:|---:|---:|",
    ]
    lines += [f'| `"{name}"` | ' + " | ".join(f"{v:.2f} %" for v in row.values()) + " |" for name, row in found.items()]
    return "\n".join(lines)


# ---------------------------------------------------------------------- tables of the sheet
def forms(n: int = 1000, asked: dict[str, dict[str, Any]] | None = None) -> str:
    """Length and width of the unfolded sheet over the true ones (standard deviations), gap and residual of each form."""
    X, sheet = swiss_roll(n)
    lines = ["| | length | width | certified gap | Procrustes residual |", "|---|---:|---:|---:|---:|"]
    for name, settings in (FORMS if asked is None else asked).items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            mvu = MVU(2, random_state=0, **settings).fit(X)
        length, width = mvu.embedding_.std(axis=0) / sheet.std(axis=0)
        residual = 100 * procrustes(sheet, mvu.embedding_)[2]
        lines.append(f"| {name} | {length:.2f} | {width:.2f} | {100 * mvu.certificate_.gap:.2f} % | {residual:.3f} % |")
    return "\n".join(lines)


def many_rolls(n: int = 2000, k: int = 8, count: int = 20, noise: float = 0.5) -> str:
    """Gaps of random rolls, half of them with noise, proved anew from what the fits returned; and how long these took."""
    gaps, seconds = [], []
    for seed in range(count):
        for spread in (0.0, noise):
            X = make_swiss_roll(n, noise=spread, random_state=seed)[0]
            began = time.perf_counter()
            mvu = MVU(2, n_neighbors=k, random_state=0).fit(X)
            seconds.append(time.perf_counter() - began)
            gaps.append(max(mvu.certificate_.gap, mvu.solution_.verify().gap))
    return (
        f"{len(gaps)} random rolls of {n} points, half with noise {noise:g}, k = {k}: {sum(gap > 1e-3 for gap in gaps)} gaps above 1e-3, "
        f"the largest {max(gaps):.1e}; {np.median(seconds):.1f} s at the median, {max(seconds):.1f} s at most"
    )


def with_hole(n: int = 2500, k: int = 10) -> dict[str, float]:
    """Procrustes residuals where a window, half as long as the sheet and more than half as wide, is cut out of it."""
    X, sheet = swiss_roll(n)
    off = np.abs(sheet - [sheet[:, 0].mean(), WIDTH / 2])
    kept = (off[:, 0] > 25) | (off[:, 1] > 6)
    X, sheet = X[kept], sheet[kept]
    fitted = {"MVU": MVU(2, n_neighbors=k, random_state=0).fit(X), "Isomap": Isomap(2, n_neighbors=k).fit(X)}
    return {name: float(procrustes(sheet, method.embedding_)[2]) for name, method in fitted.items()}


# ---------------------------------------------------------------------- drawing
def figure(width: float, height: float) -> Any:
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def bars(ax: Any, values: Any, title: str) -> None:
    """Eigenvalues over their sum, ten places."""
    ax.bar(np.arange(1, 11), np.pad(values, (0, 10))[:10], color="#31688e")
    ax.set(title=title, xticks=[1, 2, 5, 10], ylim=(0, 1))


def draw_rolled(ax: Any, roll: Roll, s: float, rows: Any) -> None:
    P = view(roll, s)[rows]
    ax.scatter(P[:, 0], P[:, 1], P[:, 2], c=roll.sheet[rows, 0], s=2, cmap=RAMP, linewidths=0)
    length = np.ptp(roll.mvu.embedding_[:, 0]) / 2
    ax.set(xlim=(-length, length), ylim=(-15, 15), zlim=(-15, 15))
    ax.set_box_aspect((3, 1, 1), zoom=1.6)
    ax.view_init(elev=20, azim=-75)
    ax.set_axis_off()
    share = np.sum(mixture(roll, s) ** 2) / np.sum(roll.mvu.embedding_**2)
    ax.set_title(f"{100 * share:.0f} % of the variance", fontsize=9)


def picture_roll(roll: Roll) -> Any:
    """Rolled to flat through feasible mixtures; below, the solver's steps and the spectrum."""
    drawn = figure(11, 3.6)
    rows = np.random.default_rng(0).permutation(len(roll.X))[:1200]
    for place, s in enumerate((0.0, 0.15, 0.35, 0.6, 1.0)):
        draw_rolled(drawn.add_subplot(2, 5, place + 1, projection="3d"), roll, s, rows)
    chosen = np.unique(np.linspace(0, len(roll.records) - 1, 4).round().astype(int))
    for place, (step, gap, Y) in enumerate(roll.records[r] for r in chosen):
        ax = drawn.add_subplot(2, 5, place + 6)
        ax.scatter(*Y[rows].T, c=roll.sheet[rows, 0], s=1, cmap=RAMP, linewidths=0)
        ax.set(xlim=(-60, 60), ylim=(-20, 20), xticks=[], yticks=[], aspect="equal")
        ax.set_title(f"step {step}, gap {100 * gap:.2g} %", fontsize=9)
    bars(drawn.add_subplot(2, 5, 10), roll.mvu.spectrum_ / roll.mvu.spectrum_.sum(), "spectrum")
    return drawn


def animate_roll(roll: Roll, path: Path, frames: int = 40) -> None:
    from matplotlib.animation import FuncAnimation, PillowWriter

    drawn = figure(6, 3)
    ax = drawn.add_subplot(projection="3d")
    rows = np.random.default_rng(0).permutation(len(roll.X))[:1500]

    def frame(number: int) -> None:
        ax.clear()
        draw_rolled(ax, roll, (number / (frames - 1)) ** 2, rows)

    FuncAnimation(drawn, frame, frames=frames).save(path, writer=PillowWriter(fps=12))


def picture_curves(curves: list[Curve], names: list[str]) -> Any:
    """For each curve: unfolding, its spectrum, Isomap, its spectrum."""
    drawn = figure(11, 2.9 * len(curves))
    for row, (curve, name) in enumerate(zip(curves, names, strict=True)):
        axes = [drawn.add_subplot(len(curves), 4, 4 * row + place + 1) for place in range(4)]
        hue = np.linspace(0, 1, len(curve.X))
        for ax, Y, method in (
            (axes[0], curve.mvu.embedding_, "MVU"),
            (axes[2], curve.isomap.embedding_[:, :2], "Isomap"),
        ):
            ax.plot(*np.vstack([Y, Y[:1]]).T, color="#bbbbbb", linewidth=0.8, zorder=1)
            ax.scatter(*Y.T, c=hue, cmap="twilight", s=12, zorder=2)
            ax.set(title=f"{name}: {method}", xticks=[], yticks=[])
            ax.axis("equal")
        for ax, shares in zip(axes[1::2], curve.shares(), strict=True):
            bars(ax, shares, "spectrum")
    return drawn


# ---------------------------------------------------------------------- report
def tell_roll(roll: Roll) -> str:
    c = roll.mvu.certificate_
    return (
        f"Swiss roll, {len(roll.X)} points: variance {c.lower:.5g} to {c.upper:.5g}, certified gap {c.gap:.1e}, "
        f"Procrustes residual {100 * roll.residual:.2f} %, dimension {roll.mvu.suggested_dimension_}"
    )


def tell_curve(name: str, curve: Curve) -> str:
    around, monotone = turns(curve.mvu.embedding_)
    radius = np.linalg.norm(curve.mvu.embedding_, axis=1)
    ours, theirs = curve.shares()
    order, across = "in" if monotone else "not in", len(shortcuts(curve))
    return "\n".join(
        [
            f"{name}, {len(curve.X)} points, k = {curve.k}: certified gap {curve.mvu.certificate_.gap:.1e}, dimension "
            f"{curve.mvu.suggested_dimension_}, edges across {across}, winding number {around:.0f}, {order} order, "
            f"radius {radius.min() / radius.mean():.2f} to {radius.max() / radius.mean():.2f} of its mean",
            f"  MVU    {' '.join(f'{v:.4f}' for v in np.pad(ours, (0, 10))[:10])}  axes for 99 %: {axes_for(ours)}",
            f"  Isomap {' '.join(f'{v:.4f}' for v in theirs)}  axes for 99 %: {axes_for(theirs)}",
        ]
    )


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path(), help="folder of the pictures")
    parser.add_argument("--fast", action="store_true", help="fewer points, no animation")
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    roll = unfold_roll(1000 if options.fast else 5000)
    print(tell_roll(roll))
    picture_roll(roll).savefig(options.out / "unfolding-roll.png", dpi=80)
    if not options.fast:
        animate_roll(roll, options.out / "unfolding-roll.gif")
    knot = unfold_curve(trefoil(400 if options.fast else 1617), 4)
    print(tell_curve("Trefoil knot", knot))
    picture_curves([knot], ["trefoil knot"]).savefig(options.out / "unfolding-knot.png", dpi=70)
    X = teapots()
    if X is None:
        print("Teapots skipped: EIGENSPAN_DATA does not name a folder with teapots100_38x50.npz.")
    else:
        curves = [unfold_curve(X, k) for k in (3, 4)]
        print("\n".join(tell_curve("Teapots", curve) for curve in curves))
        names = [f"teapots, k = {curve.k}" for curve in curves]
        picture_curves(curves, names).savefig(options.out / "unfolding-teapots.png", dpi=70)
    print(table(new_points(1000 if options.fast else 1500)))
    if not options.fast:
        print("Sheet with a hole: " + ", ".join(f"{name} {100 * v:.2f} %" for name, v in with_hole().items()))
        print(forms())
        print(many_rolls())


if __name__ == "__main__":
    main()
