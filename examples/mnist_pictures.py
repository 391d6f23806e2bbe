"""A picture of handwritten digits: Laplacian eigenmaps, t-SNE of their axes, t-SNE by itself, and UMAP.

    EIGENSPAN_DATA=folder python examples/mnist_pictures.py --out docs/images

draws 20,000 random digits of MNIST, reduced to their 50 leading principal components, in two dimensions in each of these ways, one
after the other in this process, and places 2,000 new digits where there is a way to. Prints the table of docs/pictures.md and draws
``mnist-pictures.png``. ``--rows 68000`` takes all digits but the new ones and leaves out scikit-learn's t-SNE, which would take very
long. ``--only NAME`` makes one picture. openTSNE and umap-learn are left out, and it is said, where they are not installed
(``pip install openTSNE umap-learn``).

The recipe is `eigenmaps_tsne`: axes of Laplacian eigenmaps, then t-SNE of them that begins at the first two.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial.distance import pdist
from scipy.stats import spearmanr
from sklearn.manifold import TSNE
from sklearn.neighbors import NearestNeighbors

from eigenspan import LaplacianEigenmaps
from mnist_axes import load, vote, voted

#: Axes that t-SNE is given.
AXES = 20
#: Most digits for scikit-learn's t-SNE.
PATIENCE = 20_000

#: The first phase of t-SNE, early exaggeration, finds the large arrangement, which eigenmaps have found already.
SHORT = {"early_exaggeration_iter": 50, "n_iter": 250}

Placing = Callable[[Any], Any]


@dataclass(frozen=True)
class Picture:
    """Two coordinates a point, seconds on the clock and of all processors, and where the new points came to lie, if anywhere."""

    Y: Any
    seconds: float
    busy: float
    new: Any = None
    seconds_new: float = np.nan


# ---------------------------------------------------------------------- the recipe
def beginning(axes: Any) -> Any:
    """The first two axes as t-SNE likes to begin: the same shape, so small that no point repels another from the start."""
    return 1e-4 * axes[:, :2] / axes[:, 0].std()


def eigenmaps_tsne(X: Any, **settings: Any) -> tuple[Any, Placing]:
    """t-SNE of the axes by openTSNE, which places new points as well: after our `transform` its own."""
    import openTSNE

    eigenmaps = LaplacianEigenmaps(AXES).fit(X)
    axes = eigenmaps.embedding_
    drawn = openTSNE.TSNE(initialization=beginning(axes), n_jobs=-1, random_state=0, **settings).fit(axes)
    return np.asarray(drawn), lambda new: np.asarray(drawn.transform(eigenmaps.transform(new)))


def begun_at_eigenmaps(X: Any, **settings: Any) -> tuple[Any, Placing]:
    """t-SNE of the points themselves, which only begins at the axes."""
    import openTSNE

    start = beginning(LaplacianEigenmaps(2).fit_transform(X))
    drawn = openTSNE.TSNE(initialization=start, n_jobs=-1, random_state=0, **settings).fit(X)
    return np.asarray(drawn), lambda new: np.asarray(drawn.transform(new))


def eigenmaps_sklearn_tsne(X: Any) -> tuple[Any, None]:
    """t-SNE of the axes by scikit-learn, which has no `transform`: new points cannot be placed."""
    axes = LaplacianEigenmaps(AXES).fit_transform(X)
    return TSNE(init=beginning(axes), random_state=0, n_jobs=-1).fit_transform(axes), None


# ---------------------------------------------------------------------- what it stands beside
def eigenmaps(X: Any) -> tuple[Any, Placing]:
    fitted = LaplacianEigenmaps(2).fit(X)
    return fitted.embedding_, fitted.transform


def open_tsne(X: Any, **settings: Any) -> tuple[Any, Placing]:
    import openTSNE

    drawn = openTSNE.TSNE(n_jobs=-1, random_state=0, **settings).fit(X)
    return np.asarray(drawn), lambda new: np.asarray(drawn.transform(new))


def sklearn_tsne(X: Any) -> tuple[Any, None]:
    return TSNE(random_state=0, n_jobs=-1).fit_transform(X), None


def umap(X: Any) -> tuple[Any, Placing]:
    from umap import UMAP

    fitted = UMAP().fit(X)  # a seed would take all processors but one
    return fitted.embedding_, fitted.transform


@dataclass(frozen=True)
class Way:
    """How to make a picture, the package that it needs, and the most points that one would wait for."""

    make: Callable[[Any], tuple[Any, Placing | None]]
    needs: str = "eigenspan"
    most: int = 10**9


WAYS = {
    "LaplacianEigenmaps(2)": Way(eigenmaps),
    "eigenmaps → openTSNE": Way(eigenmaps_tsne, "openTSNE"),
    "eigenmaps → openTSNE, short": Way(partial(eigenmaps_tsne, **SHORT), "openTSNE"),
    "openTSNE from eigenmaps, short": Way(partial(begun_at_eigenmaps, **SHORT), "openTSNE"),
    "openTSNE": Way(open_tsne, "openTSNE"),
    "openTSNE, short": Way(partial(open_tsne, **SHORT), "openTSNE"),
    "eigenmaps → scikit-learn's TSNE": Way(eigenmaps_sklearn_tsne, most=PATIENCE),
    "scikit-learn's TSNE": Way(sklearn_tsne, most=PATIENCE),
    "UMAP": Way(umap, "umap"),
}


def there_are(ways: dict[str, Way], rows: int) -> dict[str, Way]:
    """Those that can be gone here; of the others it is said why not."""
    kept = {}
    for name, way in ways.items():
        if find_spec(way.needs) is None:
            print(f"{name}: {way.needs} is not installed; left out.")
        elif rows > way.most:
            print(f"{name}: takes very long beyond {way.most:,} points; left out.")
        else:
            kept[name] = way
    return kept


def compile_first(X: Any, ways: dict[str, Way]) -> None:
    """What is compiled once on a machine should not count: fits that are large enough to need all of it."""
    LaplacianEigenmaps(2).fit(X[:12_000])
    if "UMAP" in ways:
        umap(X[:5000])


def run(way: Way, X: Any, new: Any) -> Picture:
    """A picture, timed, and the new points in it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the peers
        start, begun = time.perf_counter(), time.process_time()
        Y, place = way.make(X)
        seconds, busy = time.perf_counter() - start, time.process_time() - begun
        if place is None:
            return Picture(Y, seconds, busy)
        start = time.perf_counter()
        placed = place(new)
        return Picture(Y, seconds, busy, placed, time.perf_counter() - start)


# ---------------------------------------------------------------------- the page
def arrangement(X: Any, Y: Any) -> float:
    """Rank correlation of the distances between 1,000 points before and in the picture: how far the large arrangement is kept."""
    some = np.random.default_rng(0).permutation(len(X))[:1000]
    return float(spearmanr(pdist(X[some]), pdist(Y[some])).statistic)


def vote_on_new(picture: Picture, y: Any, y_new: Any) -> float:
    """Share of new points whose five nearest in the picture have their class, by majority."""
    near = NearestNeighbors(n_neighbors=5).fit(picture.Y).kneighbors(picture.new, return_distance=False)
    return voted(near, y, y_new)


HEAD = """| picture | 5-NN accuracy | distances | seconds | of processors | new points | seconds |
|---|---:|---:|---:|---:|---:|---:|"""


def line(name: str, p: Picture, X: Any, y: Any, y_new: Any) -> str:
    """In Markdown, accuracy and seconds of a picture."""
    new = "cannot be placed |" if p.new is None else f"{vote_on_new(p, y, y_new):.3f} | {p.seconds_new:.1f}"
    return f"| {name} | {vote(p.Y, y):.3f} | {arrangement(X, p.Y):.2f} | {p.seconds:.1f} | {p.busy:.1f} | {new} |"


def gallery(pictures: dict[str, Picture], y: Any) -> Any:
    """All pictures, with their accuracy and seconds."""
    from eigenspan.plotting import GalleryDisplay

    told = {name: f"{vote(p.Y, y):.3f} in {p.seconds:.0f} s" for name, p in pictures.items()}
    embeddings = {name: p.Y for name, p in pictures.items()}
    return GalleryDisplay(embeddings, y, measures=told, legend_title="digit").plot(panel=3.2).figure_


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, help="folder for the figure")
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--new", type=int, default=2000, help="digits to place in the finished pictures")
    parser.add_argument("--only", action="append", choices=list(WAYS), help="one way, or several if given again")
    given = parser.parse_args(arguments)
    if "EIGENSPAN_DATA" not in os.environ:
        sys.exit("EIGENSPAN_DATA must name the folder of the data sets.")
    ways = there_are({name: WAYS[name] for name in given.only or WAYS}, given.rows)
    X, y, X_new, y_new = load(given.rows, given.new)
    compile_first(X, ways)
    print(HEAD)
    pictures = {}
    for name, way in ways.items():
        pictures[name] = run(way, X, X_new)
        print(line(name, pictures[name], X, y, y_new), flush=True)
    if given.out is not None:
        given.out.mkdir(parents=True, exist_ok=True)
        gallery(pictures, y).savefig(given.out / "mnist-pictures.png", dpi=90)


if __name__ == "__main__":
    main()
