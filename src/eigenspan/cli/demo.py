"""``eigenspan demo``: embed the handwritten digits with six methods."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, NamedTuple

import click

from .console import Failed, Grid, show, working

METHODS = ("PCA", "LPP", "LLE", "LaplacianEigenmaps", "Isomap", "LDA")
TITLES = {"LaplacianEigenmaps": "Laplacian eigenmaps"}


class _Result(NamedTuple):
    name: str
    seconds: float
    solver: str
    trust: float
    accuracy: float
    points: Any


@click.command()
@click.option(
    "--report",
    type=click.Path(dir_okay=False, path_type=Path),
    default=Path("eigenspan-demo.html"),
    show_default=True,
    help="Page with linked pictures to write.",
)
@click.option(
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    default=Path("eigenspan-demo.png"),
    show_default=True,
    help="Picture to write.",
)
def demo(output: Path, report: Path) -> None:
    """Embed scikit-learn's digits in the plane with six methods: a table, a picture, and a page to explore them.

    Each method is fitted to 70 % of the images. The other images are embedded with the fitted map and classified by their
    nearest neighbour in the plane.
    """
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    from .._files import make_folder
    from ..plotting import grid
    from .files.write import write_figure

    X, y = load_digits(return_X_y=True)
    train, test, y_train, y_test = train_test_split(X, y, test_size=0.3, stratify=y, random_state=0)
    show(f"Digits: {X.shape[0]} images of {X.shape[1]} pixels; {len(train)} to fit, {len(test)} held out.")
    show()
    results = [_run(name, train, y_train, test, y_test) for name in METHODS]
    _table(results).show()
    with working("Drawing"):
        titles = {r.name: f"{TITLES.get(r.name, r.name)}\n1-NN accuracy {r.accuracy:.0%}" for r in results}
        try:
            figure = grid({r.name: r.points for r in results}, [*y_train, *y_test], titles=titles, legend_title="digit")
        except (ImportError, ValueError) as failure:
            raise Failed(f"The picture could not be drawn: {failure}") from failure
        make_folder(output.parent)
        write_figure(figure, output, dpi=105)
    show()
    show(f"Picture: {output}")
    _report(X, y, report)
    show(f"Report: {report}   (open it in a browser; it needs no network)")


def _report(X: Any, y: Any, path: Path) -> None:
    """Compare the methods on all images and write the page."""
    import numpy as np
    import pandas as pd

    from .._files import make_folder
    from ..quality import compare
    from .compare import command_line

    with working("Comparing") as update_title:
        found = compare(
            X,
            list(METHODS),
            y,
            callback=lambda name, number, count: update_title(f"Comparing: {name}, {number + 1} of {count}"),
        )
        update_title("Writing the report")
        ink, rows = X.sum(axis=1), X.reshape(-1, 8, 8).sum(axis=2)
        lowest = 8 - np.argmax(rows[:, ::-1] > 0, axis=1)
        table = pd.DataFrame({"image": np.arange(len(y)), "digit": y.astype(str), "ink": ink, "lowest row": lowest})
        make_folder(path.parent)
        found.report(
            path,
            title="Handwritten digits by six methods",
            table=table,
            colour="digit",
            provenance={"command": command_line(), "seed": 0},
        )


def _run(name: str, train: Any, y_train: Any, test: Any, y_test: Any) -> _Result:
    import numpy as np

    from ..methods.registry import make
    from ..quality import knn_accuracy, trustworthiness

    with working(f"Fitting {name}"):
        estimator = make(name, n_components=2)
        start = time.perf_counter()
        estimator.fit(train, y_train)
        seconds = time.perf_counter() - start
        placed = estimator.transform(test)
        trust = trustworthiness(train, estimator.embedding_)
        accuracy = knn_accuracy(estimator.embedding_, y_train, placed, y_test)
    solver = str(estimator.diagnostics_.get("solver", "—"))
    return _Result(name, seconds, solver, trust, accuracy, np.vstack([estimator.embedding_, placed]))


def _table(results: list[_Result]) -> Grid:
    table = Grid(caption="LDA uses the labels of the training images; the other methods do not.")
    table.column("method")
    table.column("seconds\nto fit", justify="right")
    table.column("solver")
    table.column("trust-\nworthiness", justify="right")
    table.column("1-NN accuracy\nheld out, 2-D", justify="right")
    for r in results:
        table.row(r.name, f"{r.seconds:.2f}", r.solver, f"{r.trust:.3f}", f"{r.accuracy:.1%}")
    return table
