"""How many axes of a spectral method to take: handwritten digits in 2, 5, 10 and 20 dimensions.

    EIGENSPAN_DATA=folder python examples/mnist_axes.py --out docs/images

embeds 20,000 random digits of MNIST (``mnist.npz``: X of shape 70,000 × 784, and y), reduced to their 50 leading principal components,
once by each method into 20 dimensions, and looks at the first 2, 5, 10 and 20 axes. Prints the tables of docs/pictures.md: what a vote of
the five nearest neighbours makes of each point, what a linear classifier makes of points that it has not seen, how far ten clusters
of k-means are the ten digits, and which share of the ten nearest neighbours is kept. Draws ``mnist-axes.png``, the first twelve
axes of Laplacian eigenmaps as every picture of more than two axes is drawn. ``--rows 2000`` for a look.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.metrics import adjusted_rand_score
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import NearestNeighbors

from eigenspan import PCA, DiffusionMap, LaplacianEigenmaps

AXES = 2, 5, 10, 20
#: Rows that vote at most: more digits would make any vote better, so that samples of different sizes could not be compared.
VOTERS = 20_000


@dataclass(frozen=True)
class Embedded:
    """An embedding into as many dimensions as are looked at, and the seconds it took, on the clock and of all processors."""

    estimator: Any
    seconds: float
    busy: float


def load(rows: int, more: int = 0) -> tuple[Any, Any, Any, Any]:
    """Random digits as 50 principal components with their labels, and more of them, new to these components, with theirs."""
    with np.load(Path(os.environ["EIGENSPAN_DATA"]) / "mnist.npz") as stored:
        chosen = np.random.default_rng(0).permutation(len(stored["y"]))[: rows + more]
        X, y = stored["X"][chosen].astype(np.float64) / 255, stored["y"][chosen].astype(int)
    pca = PCA(50).fit(X[:rows])
    return pca.embedding_, y[:rows], pca.transform(X[rows:]) if more else X[:0, :50], y[rows:]


def embed(X: Any) -> dict[str, Embedded]:
    """X by each method, one after the other. The first fit on a new machine also compiles."""
    found = {}
    for name, method in {
        "LaplacianEigenmaps": LaplacianEigenmaps(max(AXES)),
        "DiffusionMap(alpha=1)": DiffusionMap(max(AXES), alpha=1),
        "PCA": PCA(max(AXES)),
    }.items():
        start, begun = time.perf_counter(), time.process_time()
        method.fit(X)
        found[name] = Embedded(method, time.perf_counter() - start, time.process_time() - begun)
    return found


# ---------------------------------------------------------------------- what is asked of an embedding
def vote(Y: Any, y: Any) -> float:
    """Share of points of which the five nearest others in the embedding have their class, by majority."""
    rows = np.random.default_rng(0).permutation(len(y))[:VOTERS]
    return voted(NearestNeighbors(n_neighbors=5).fit(Y[rows]).kneighbors(return_distance=False), y[rows], y[rows])


def voted(neighbours: Any, y: Any, truth: Any) -> float:
    """Share of points whose class `truth` is that of most of their neighbours, which are rows of y."""
    counts = np.stack([(y[neighbours] == c).sum(axis=1) for c in range(10)], axis=1)
    return float(np.mean(counts.argmax(axis=1) == truth))


def linear(Y: Any, y: Any) -> float:
    """Accuracy of a linear classifier for the fifth of the points that it was not fitted to."""
    return float(cross_val_score(LinearDiscriminantAnalysis(), Y, y, cv=5).mean())


def clusters(Y: Any, y: Any) -> float:
    """Adjusted Rand index of ten clusters and the digits: 1 where they are the same, 0 by chance."""
    return float(adjusted_rand_score(y, KMeans(10, n_init=3, random_state=0).fit_predict(Y)))


def neighbours_kept(X: Any) -> Callable[[Any, Any], float]:
    """Share of the ten nearest neighbours in X that are among the ten nearest in an embedding, over 2,000 points."""
    some = np.random.default_rng(0).permutation(len(X))[:2000]

    def nearest(Z: Any) -> Any:
        near = NearestNeighbors(n_neighbors=11).fit(Z).kneighbors(Z[some], return_distance=False)
        return [set(row) - {i} for i, row in zip(some, near, strict=True)]

    true = nearest(X)
    return lambda Y, _: float(np.mean([len(a & b) / 10 for a, b in zip(true, nearest(Y), strict=True)]))


def measure(X: Any, y: Any, found: dict[str, Embedded]) -> dict[str, dict[str, list[float]]]:
    """By question and method, a figure for each number of axes; of all 50 components, which nothing was taken from, one."""
    questions = {
        "5-NN accuracy": vote,
        "accuracy of a linear classifier": linear,
        "k-means and the digits, adjusted Rand index": clusters,
        "neighbours kept": neighbours_kept(X),
    }
    return {
        question: {
            name: [ask(each.estimator.embedding_[:, :d], y) for d in AXES] for name, each in found.items()
        } | {"all 50 components": [ask(X, y)]}
        for question, ask in questions.items()
    }  # fmt: skip


# ---------------------------------------------------------------------- the page
def tables(found: dict[str, Embedded], measured: dict[str, dict[str, list[float]]]) -> str:
    """In Markdown, a table of all figures and the seconds of the fits."""
    lines = ["| | method | " + " | ".join(f"{d} axes" for d in AXES) + " |", "|---|---|" + "---:|" * len(AXES)]
    for question, figures in measured.items():
        whole = figures["all 50 components"][0]
        head = f"{question} (all 50 components: {whole:.3f})"
        for name in found:
            lines.append(f"| {head} | {name} | " + " | ".join(f"{value:.3f}" for value in figures[name]) + " |")
            head = ""
    lines += ["", "| method | seconds | of processors |", "|---|---:|---:|"]
    lines += [f"| {name}, {max(AXES)} axes | {each.seconds:.1f} | {each.busy:.1f} |" for name, each in found.items()]
    return "\n".join(lines)


def picture(fitted: Any, y: Any) -> Any:
    """The first twelve axes, two by two."""
    from eigenspan.plotting import EmbeddingDisplay

    title = f"Laplacian eigenmaps of {len(y):,} digits"
    return EmbeddingDisplay(fitted.embedding_[:, :12], y, title=title, legend_title="digit").plot().figure_


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, help="folder for the figure")
    parser.add_argument("--rows", type=int, default=20_000)
    given = parser.parse_args(arguments)
    if "EIGENSPAN_DATA" not in os.environ:
        sys.exit("EIGENSPAN_DATA must name the folder of the data sets.")
    X, y, _, _ = load(given.rows)
    found = embed(X)
    print(tables(found, measure(X, y, found)))
    if given.out is not None:
        given.out.mkdir(parents=True, exist_ok=True)
        figure = picture(found["LaplacianEigenmaps"].estimator, y)
        figure.savefig(given.out / "mnist-axes.png", dpi=90)


if __name__ == "__main__":
    main()
