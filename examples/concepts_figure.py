"""One form in three bases: the picture that docs/concepts.md begins with.

    python examples/concepts_figure.py --out docs/images

draws ``concepts.png`` in a few seconds: above, the way from points to a spectrum (neighbours, the form that local tangent
coordinates give, its smallest eigenvalues); below, what that one form finds in each basis, with the share of the variance along the
sheet that a linear function of its axes tells.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import make_s_curve
from sklearn.linear_model import LinearRegression

from eigenspan import LLTSA, LTSA, Kernel

N = 600


def sheet(n: int = N) -> tuple[Any, Any]:
    """Points of a bent sheet in the order of its length, and their two true coordinates."""
    X, t = make_s_curve(n, random_state=0)
    order = np.argsort(t)
    return X[order], np.column_stack([t, X[:, 1]])[order]


def fits(X: Any) -> dict[str, Any]:
    """The same form in each basis."""
    return {
        "samples: LTSA": LTSA(2).fit(X),
        "linear: LLTSA": LLTSA(2).fit(X),
        "kernel: LLTSA(kernel=…)": LLTSA(2, kernel=Kernel("rbf", gamma=0.1)).fit(X),
    }


def recovered(Y: Any, length: Any) -> float:
    """Share of the variance of the place along the sheet that a linear function of the embedding tells."""
    return float(LinearRegression().fit(Y, length).score(Y, length))


def draw_way(figure: Any, ltsa: Any, X: Any, colour: Any) -> None:
    """Points, graph, form and spectrum."""
    for place in (1, 2):
        ax = figure.add_subplot(1, 4, place, projection="3d")
        ax.scatter(*X.T, c=colour, s=7, cmap="viridis", depthshade=False)
        ax.set(xticks=[], yticks=[], zticks=[], title=("points", "graph: who is near")[place - 1])
        ax.view_init(9, -65)
    for i, j in np.argwhere(np.triu(ltsa.graph_.distances.toarray() > 0)):
        ax.plot(*X[[i, j]].T, color="#555555", linewidth=0.4)
    ax = figure.add_subplot(1, 4, 3)
    A = ltsa.problem_.A.to_dense()
    ax.spy(A, markersize=0.4, color="#333333")
    ax.set(xticks=[], yticks=[], title="form: what an embedding costs")
    ax = figure.add_subplot(1, 4, 4)
    values = np.linalg.eigvalsh(A)[1:8]  # the constant costs nothing and is no axis
    ax.bar(range(1, 8), values, color=["#1f77b4"] * 2 + ["#c8c8c8"] * 5)
    ax.set(yscale="log", yticks=[], xticks=range(1, 8), title="spectrum: the axes that cost least")


def draw(X: Any, truth: Any) -> tuple[Any, dict[str, float]]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12.5, 6.8), layout="constrained")
    above, below = figure.subfigures(2, 1, height_ratios=(1.05, 1))
    found, length = fits(X), truth[:, 0]
    draw_way(above, next(iter(found.values())), X, length)
    shares = {}
    for ax, (name, fitted) in zip(below.subplots(1, 3), found.items(), strict=True):
        shares[name] = recovered(fitted.embedding_, length)
        along = np.argsort([-abs(np.corrcoef(y, length)[0, 1]) for y in fitted.embedding_.T])
        ax.scatter(*fitted.embedding_[:, along].T, c=length, s=9, cmap="viridis")
        ax.set(xticks=[], yticks=[], title=name, xlabel=f"{100 * shares[name]:.1f} % of the length along the sheet")
    below.suptitle("map: the same form in three bases")
    return figure, shares


def main(arguments: list[str] | None = None) -> dict[str, float]:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, help="folder for the picture")
    given = parser.parse_args(arguments)
    figure, shares = draw(*sheet())
    for name, share in shares.items():
        print(f"{name:26s}{share:6.3f}")
    if given.out is not None:
        given.out.mkdir(parents=True, exist_ok=True)
        figure.savefig(given.out / "concepts.png", dpi=90)
    return shares


if __name__ == "__main__":
    main()
