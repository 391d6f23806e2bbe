"""Kernel dimension reduction on regressions whose answer is known.

    python examples/kernel_sufficient.py --out docs/images

prints the tables of docs/kernel-sufficient.md and draws ``kernel-sufficient.png``. About three minutes on two cores; ``--fast`` has fewer
points and seeds.

The three regressions are those of Fukumizu, Bach & Jordan (2009, §4.1), with 1,000 points each:

- **A**: y = x₁ / (0.5 + (x₂ + 1.5)²) + (1 + x₂)² + 0.4 ε, four normal features; a curved surface over two of them.
- **B**: y = sin²(π x₂ + 1) + 0.1 ε, four features that are uniform in a cube without one of its corners, so that they are far from
  elliptical and depend on each other; one direction.
- **C**: y = ½ (x₁ − a)² ε with a = 0, ten normal features: neither the mean of y nor its median depends on X, only its spread does, and
  in a symmetric way.

The table has the largest angle, in degrees, between the subspace found and the true one, and the seconds of a fit. PCA and
supervised PCA (a Gaussian kernel of y, whitened X) stand for what does without a model of the regression. The last table has 20,000
points of A and of a sine in twenty dimensions, where some points stand for all.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.linalg import subspace_angles

from eigenspan import KDR, PCA, GradientKDR, SupervisedPCA

Case = tuple[Any, Any, Any]


# ---------------------------------------------------------------------- regressions
def case_a(n: int, seed: int, D: int = 4) -> Case:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, D))
    y = X[:, 0] / (0.5 + (X[:, 1] + 1.5) ** 2) + (1 + X[:, 1]) ** 2 + 0.4 * rng.standard_normal(n)
    return X, y, np.eye(D)[:, :2]


def case_b(n: int, seed: int) -> Case:
    rng = np.random.default_rng(seed)
    X = rng.random((2 * n, 4))
    X = X[(X > 0.7).any(axis=1)][:n]
    return X, np.sin(np.pi * X[:, 1] + 1) ** 2 + 0.1 * rng.standard_normal(n), np.eye(4)[:, 1:2]


def case_c(n: int, seed: int) -> Case:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 10))
    return X, 0.5 * X[:, 0] ** 2 * rng.standard_normal(n), np.eye(10)[:, :1]


def sine(n: int, seed: int, D: int = 20) -> Case:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, D))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] + 0.2 * rng.standard_normal(n), np.eye(D)[:, :2]


CASES: dict[str, Callable[[int, int], Case]] = {"A": case_a, "B": case_b, "C": case_c}


# ---------------------------------------------------------------------- methods
def whitened(X: Any) -> tuple[Any, Any]:
    """Coordinates of unit covariance, and the matrix that leads to them."""
    values, Q = np.linalg.eigh(np.cov(X.T))
    T = Q / np.sqrt(values)
    return (X - X.mean(axis=0)) @ T, T


def by_pca(X: Any, y: Any, d: int) -> Any:
    return PCA(d).fit(X).components_.T


def by_supervised_pca(X: Any, y: Any, d: int) -> Any:
    Z, T = whitened(X)
    return T @ SupervisedPCA(d, labels="rbf").fit(Z, y).components_.T


def by_gradients(X: Any, y: Any, d: int) -> Any:
    return GradientKDR(d).fit(X, y).components_.T


def by_kdr(X: Any, y: Any, d: int) -> Any:
    return KDR(d).fit(X, y).components_.T


METHODS = {"PCA": by_pca, "SupervisedPCA": by_supervised_pca, "GradientKDR": by_gradients, "KDR": by_kdr}


def angle(V: Any, W: Any) -> float:
    """The largest between two subspaces, in degrees."""
    return float(np.degrees(subspace_angles(V, W).max()))


def run(method: str, case: Case) -> tuple[float, float]:
    """Angle to the truth, and seconds."""
    X, y, truth = case
    start = time.perf_counter()
    V = METHODS[method](X, y, truth.shape[1])
    return angle(V, truth), time.perf_counter() - start


# ---------------------------------------------------------------------- report
def table(n: int, seeds: int, methods: tuple[str, ...] = tuple(METHODS)) -> tuple[str, dict[str, dict[str, Any]]]:
    """Median and worst angle and the longest time over the seeds, in Markdown, and all runs."""
    runs = {
        name: {method: [run(method, make(n, seed)) for seed in range(seeds)] for method in methods}
        for name, make in CASES.items()
    }
    lines = [f"| {n:,} points, {seeds} seeds | " + " | ".join(methods) + " |", "|---|" + "---:|" * len(methods)]
    for name, found in runs.items():
        cells = []
        for method in methods:
            angles, seconds = zip(*found[method], strict=True)
            cells.append(f"{np.median(angles):.1f}° (worst {max(angles):.1f}°), {max(seconds):.1f} s")
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines), runs


def many(n: int) -> str:
    """The same with very many points."""
    lines = [f"| {n:,} points | GradientKDR | KDR |", "|---|---:|---:|"]
    for name, case in {"A": case_a(n, 0), "sine, 20 features": sine(n, 0)}.items():
        cells = [f"{a:.1f}°, {s:.1f} s" for a, s in (run(method, case) for method in ("GradientKDR", "KDR"))]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def picture(n: int) -> Any:
    """The response against the first axis that PCA, gKDR and KDR find, a row for each regression."""
    from matplotlib.figure import Figure

    methods = ("PCA", "GradientKDR", "KDR")
    figure = Figure(figsize=(9, 8), layout="constrained")
    for axes, (name, make) in zip(figure.subplots(3, 3), CASES.items(), strict=True):
        X, y, truth = make(n, 0)
        low, high = np.quantile(y, [0.005, 0.995])
        for ax, method in zip(axes, methods, strict=True):
            V = METHODS[method](X, y, truth.shape[1])
            ax.plot((X - X.mean(axis=0)) @ V[:, 0], y, ".", ms=2, color="#3b6ea5", alpha=0.6)
            ax.set_ylim(low - 0.1 * (high - low), high + 0.1 * (high - low))
            ax.set_xticks([])
            ax.set_yticks([])
            ax.set_title(f"{method}: {angle(V, truth):.1f}°", fontsize=9)
        axes[0].set_ylabel(f"{name}: y")
    return figure


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path(), help="folder of the picture")
    parser.add_argument("--fast", action="store_true", help="fewer points and seeds")
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    n, seeds = (300, 1) if options.fast else (1000, 5)
    print(table(n, seeds)[0], flush=True)
    print(many(3000 if options.fast else 20_000), flush=True)
    picture(n).savefig(options.out / "kernel-sufficient.png", dpi=80)


if __name__ == "__main__":
    main()
