"""What inverse regressions see of a response, and what they do not.

    python examples/sufficient_figures.py --out docs/images

prints these and draws two figures (``--fast`` for fewer points):

- **Figure 3.8 of Burges (2010)**: SIR and SAVE on five responses of 100,000 normal points in ten dimensions.
  ``sufficient-slices.png``. The first row needs a comment. y = x₁ + x₂ + x₃ depends on *one* direction, (1, 1, 1)/√3: whatever x is
  beyond that, y is independent of it. SIR's single eigenvalue is the right answer, and so is SAVE's; three large eigenvalues of SAVE,
  "the correct three-dimensional subspace" in the paper's words, are none of this response. The fourth response is printed as
  log(1 + 5e^{x₂}) in the paper's text and log(1 + e^{5x₂}) in its figure; the latter has the two directions that the text speaks of.
- **Symmetric dependence**: the angle between the direction found and the truth of y = (x₁ − c)² + noise, as c goes from 0, where
  no slice has a mean that differs, to 2, where there is a trend. ``sufficient-symmetric.png``.
- **A million rows in a file**: SIR reads them once.
"""

from __future__ import annotations

import argparse
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from eigenspan import LAD, PHD, SAVE, SIR, ContourRegression, DirectionalRegression
from eigenspan.errors import LabelWarning

#: Responses of figure 3.8, and the coordinates that each depends on.
RESPONSES: dict[str, tuple[Callable[[Any], Any], list[list[float]]]] = {
    "x₁ + x₂ + x₃": (lambda x: x[0] + x[1] + x[2], [[1, 1, 1]]),
    "x₁² + x₂² + x₃²": (lambda x: x[0] ** 2 + x[1] ** 2 + x[2] ** 2, [[1, 0, 0], [0, 1, 0], [0, 0, 1]]),
    "x₁ + x₂x₃": (lambda x: x[0] + x[1] * x[2], [[1, 0, 0], [0, 1, 0], [0, 0, 1]]),
    "x₁ + log(1 + e^5x₂)": (lambda x: x[0] + np.log1p(np.exp(5 * x[1])), [[1, 0, 0], [0, 1, 0]]),
    "x₁ + 5 sin πx₂": (lambda x: x[0] + 5 * np.sin(np.pi * x[1]), [[1, 0, 0], [0, 1, 0]]),
}
METHODS: dict[str, Any] = {
    "SIR": SIR,
    "SAVE": SAVE,
    "directional regression": DirectionalRegression,
    "pHd": PHD,
    "contour regression": ContourRegression,
    "LAD": LAD,
}
D = 10


def angle(V: Any, B: Any) -> float:
    """Degrees between the spans of the columns, the largest."""
    Q, P = np.linalg.qr(V)[0], np.linalg.qr(B)[0]
    return float(np.degrees(np.arcsin(np.clip(np.linalg.norm(P - Q @ (Q.T @ P), 2), 0, 1))))


def slices(n: int, seed: int = 0, tested: bool = False) -> list[dict[str, Any]]:
    """Eigenvalues of SIR and SAVE for every response, and how far their leading axes are from the truth.

    If `tested`, with the number of directions by the chi-square tests at 5 %: the first number that is not refused.
    """
    X = np.random.default_rng(seed).standard_normal((n, D))
    rows = []
    for name, (response, truth) in RESPONSES.items():
        B = np.zeros((D, len(truth)))
        B[:3] = np.array(truth, dtype=float).T
        for cls in (SIR, SAVE):
            fitted = cls(9, n_slices=10).fit(X, response(X.T))
            found = fitted.components_[: len(truth)].T
            rows.append(
                {
                    "y": name,
                    "method": cls.__name__,
                    "directions": len(truth),
                    "eigenvalues": fitted.eigenvalues_,
                    "axes": fitted.components_,
                    "angle": angle(found, B),
                    "first": angle(fitted.components_[:1].T, np.eye(D)[:, :1]),
                    "count": _count(cls, X, response(X.T)) if tested else None,
                }
            )
    return rows


def _count(cls: Any, X: Any, y: Any) -> int:
    """The number of directions that the tests find."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LabelWarning)  # a response of which no direction tells
        refused = cls("test", n_slices=10).fit(X, y).order_tests_["p_value"].to_numpy() < 0.05
    return int(np.argmin(np.append(refused, False)))


def draw_slices(rows: list[dict[str, Any]]) -> Any:
    """Two columns of eigenvalues and axes, a row for every response, as in the paper."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.5, 8.5), layout="constrained")
    axes = figure.subplots(len(RESPONSES), 4, width_ratios=[1, 1.3, 1, 1.3])
    for index, row in enumerate(rows):
        bars, image = axes[index // 2, 2 * (index % 2) : 2 * (index % 2) + 2]
        bars.bar(np.arange(1, 10), row["eigenvalues"], color="#4c78a8")
        bars.set_ylim(0, max(0.05, 1.1 * row["eigenvalues"][0]))
        bars.tick_params(labelsize=7)
        V = row["axes"][:4] / np.linalg.norm(row["axes"][:4], axis=1, keepdims=True)
        image.imshow(np.abs(V), cmap="Blues", vmin=0, vmax=1, aspect="auto")
        image.set_xticks(range(D), [f"{i + 1}" for i in range(D)], fontsize=7)
        image.set_yticks(range(4), [f"{i + 1}." for i in range(4)], fontsize=7)
        if index < 2:
            bars.set_title(f"{row['method']}: eigenvalues", fontsize=9)
            image.set_title("size of the first four axes", fontsize=9)
        if index % 2 == 0:
            bars.set_ylabel(row["y"], fontsize=9)
    return figure


def symmetric(n: int, runs: int) -> tuple[Any, dict[str, Any]]:
    """Median angles to the truth over some runs, from a parabola about its middle to one side of it."""
    shifts = np.array([0.0, 0.25, 0.5, 1.0, 1.5, 2.0])
    angles: dict[str, Any] = {name: np.empty((shifts.size, runs)) for name in METHODS}
    for i, c in enumerate(shifts):
        for seed in range(runs):
            rng = np.random.default_rng(seed)
            X = rng.standard_normal((n, 6))
            y = (X[:, 0] - c) ** 2 + 0.3 * rng.standard_normal(n)
            for name, cls in METHODS.items():
                angles[name][i, seed] = angle(cls(1).fit(X, y).components_.T, np.eye(6)[:, :1])
    return shifts, {name: np.median(found, axis=1) for name, found in angles.items()}


def draw_symmetric(shifts: Any, angles: dict[str, Any], n: int) -> Any:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.2, 4.0), layout="constrained")
    ax = figure.add_subplot()
    for name, found in angles.items():
        ax.plot(shifts, found, marker="o", markersize=3, label=name)
    ax.set_xlabel("c")
    ax.set_ylabel("degrees to the truth, median")
    ax.set_title(f"y = (x₁ − c)² + noise, {n} points in six dimensions", fontsize=10)
    ax.legend(fontsize=8)
    return figure


def million(n: int) -> float:
    """Seconds of SIR on n rows of 50 numbers in a file."""
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "X.npy"
        X = np.lib.format.open_memmap(path, mode="w+", dtype=np.float64, shape=(n, 50))
        y = np.empty(n)
        for start in range(0, n, 50_000):
            part = rng.standard_normal((min(50_000, n - start), 50))
            X[start : start + len(part)] = part
            y[start : start + len(part)] = np.exp(part[:, 0]) + 0.1 * rng.standard_normal(len(part))
        X.flush()
        began = time.perf_counter()
        SIR(2).fit(np.load(path, mmap_mode="r"), y)
        return time.perf_counter() - began


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, help="folder for the figures")
    parser.add_argument("--fast", action="store_true", help="fewer points")
    given = parser.parse_args(arguments)
    n, m, runs = (5_000, 300, 3) if given.fast else (100_000, 600, 15)
    rows = slices(n)
    print(f"{'y':22s}{'':6s}directions  degrees  eigenvalues ({n:,} points)")
    for row in rows:
        values = " ".join(f"{value:.3f}" for value in row["eigenvalues"][:5])
        print(f"{row['y']:22s}{row['method']:6s}{row['directions']:10d}{row['angle']:9.1f}  {values}")
    shifts, angles = symmetric(m, runs)
    print(f"\n{'c':24s}" + "".join(f"{c:7.2f}" for c in shifts))
    for name, found in angles.items():
        print(f"{name:24s}" + "".join(f"{value:7.1f}" for value in found))
    rows_in_file = 20_000 if given.fast else 1_000_000
    print(f"\nSIR of {rows_in_file:,} × 50 in a file: {million(rows_in_file):.2f} s")
    if given.out is not None:
        given.out.mkdir(parents=True, exist_ok=True)
        draw_slices(rows).savefig(given.out / "sufficient-slices.png", dpi=110)
        draw_symmetric(shifts, angles, m).savefig(given.out / "sufficient-symmetric.png", dpi=110)


if __name__ == "__main__":
    main()
