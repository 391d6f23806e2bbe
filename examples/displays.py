"""Every display of one panel, drawn from fits to handwritten digits.

    python examples/displays.py --out docs/images

prints what the panels show in numbers and draws ``displays.png`` (``--fast`` for fewer digits).
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from scipy.linalg import subspace_angles
from sklearn.datasets import load_digits

from eigenspan import LPP, PCA, Isomap, intrinsic_dimension
from eigenspan.plotting import (
    BiplotDisplay,
    DimensionDisplay,
    DistortionDisplay,
    EmbeddingDisplay,
    GraphDisplay,
    RankCurvesDisplay,
    SpectrumDisplay,
    StabilityDisplay,
)

#: Axes whose stability is looked at.
D = 6


def resampled_angles(X: Any, resamples: int) -> Any:
    """Degrees between the leading axes of PCA and those of resamples, for 1 to D of them."""
    rng, axes = np.random.default_rng(0), PCA(D).fit(X).components_
    found = np.empty((resamples, D))
    for row in found:
        again = PCA(D).fit(X.iloc[rng.integers(0, len(X), len(X))]).components_
        row[:] = [np.degrees(subspace_angles(axes[: d + 1].T, again[: d + 1].T)).max() for d in range(D)]
    return found


def draw(n: int, resamples: int) -> tuple[Any, dict[str, Any]]:
    """Nine panels, and the displays by name."""
    from matplotlib.figure import Figure

    X, y = load_digits(return_X_y=True, as_frame=True)
    X, y = X[:n], y[:n].rename("digit")
    pca, isomap, lpp = PCA(D).fit(X), Isomap(2).fit(X), LPP(2).fit(X)
    embeddings = {"PCA, 2 axes": pca.embedding_[:, :2], "LPP": lpp.embedding_, "Isomap": isomap.embedding_}
    estimates = [intrinsic_dimension(X, method=method) for method in ("correlation", "mle", "twonn")]
    figure = Figure(figsize=(13, 11), layout="constrained")
    ax = figure.subplots(3, 3)
    shown: dict[str, Any] = {
        "graph": GraphDisplay.from_estimator(isomap, y, ax=ax[0, 1]),
        "distortion": DistortionDisplay.from_estimator(isomap, X, worst=4, ax=ax[0, 2]),
        "biplot": BiplotDisplay.from_estimator(pca, y, top=6, ax=ax[1, 0]),
        "spectrum": SpectrumDisplay.from_estimator(pca, ax=ax[1, 1]),
        "stability": StabilityDisplay(resampled_angles(X, resamples)).plot(ax[1, 2]),
        "dimension": DimensionDisplay.from_result(estimates[0], ax=ax[2, 0]),
        "dimensions": DimensionDisplay.from_results(estimates, ax=ax[2, 1]),
        "ranks": RankCurvesDisplay.from_embeddings(X, embeddings, ax=ax[2, 2]),
        # last, when the other panels have their sizes: pictures are given theirs by the room that is left
        "embedding": EmbeddingDisplay.from_estimator(isomap, y, images=X, image_shape=(8, 8), ax=ax[0, 0]),
    }
    for display in shown.values():
        display.ax_.set_title(f"{type(display).__name__}\n{display.ax_.get_title()}", fontsize=10)
    return figure, shown


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, help="folder for the figure")
    parser.add_argument("--fast", action="store_true", help="fewer digits")
    given = parser.parse_args(arguments)
    n, resamples = (150, 5) if given.fast else (600, 100)
    figure, shown = draw(n, resamples)
    print(f"{n} digits")
    print(f"edges {shown['graph'].n_edges_}, of which long {shown['graph'].n_long_}")
    print(f"most distorted rows {shown['distortion'].worst_.tolist()}")
    for line in shown["ranks"].lines_.values():
        print(line.get_label())
    for result in shown["dimensions"].results:
        print(f"{result.method:12s} {result.dimension:.2f} ± {result.error:.2f}")
    print("median angles of 1 to 6 axes: " + " ".join(f"{angle:.1f}" for angle in shown["stability"].median))
    if given.out is not None:
        given.out.mkdir(parents=True, exist_ok=True)
        figure.savefig(given.out / "displays.png", dpi=75)


if __name__ == "__main__":
    main()
