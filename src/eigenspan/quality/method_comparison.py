"""Several methods on the same data: fitted, measured and drawn in one go, and taken up again where they stopped."""

from __future__ import annotations

import json
import re
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import joblib
import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from .._diagnostics import logger
from .._files import Memory, make_folder, writing
from ..data.y import label_array
from ..errors import EigenspanError, FitWarning, InputError, warn
from ..methods.registry import make
from .measure_table import evaluate
from .refits import training_embedding

Array = NDArray[np.float64]

#: Compared where no methods are named: the first thing to try, one of each family, and LDA where there are labels.
USUAL = ("PCA", "Isomap", "LaplacianEigenmaps", "LLE", "LTSA", "LPP")


@dataclass(frozen=True, eq=False)
class Comparison:
    """Methods side by side.

    Attributes
    ----------
    frame : pandas.DataFrame
        One row for each method and measure, as `evaluate` returns it.
    embeddings : dict of str to ndarray of shape (n_samples, n_components)
    seconds : dict of str to float
        That each fit took.
    estimators : dict of str to estimator
        Fitted here; those taken from the folder are not among them.
    failures : dict of str to str
        What the methods said that could not be fitted.
    warnings : dict of str to list of str
        What the others warned of.
    X, y : the data
    """

    frame: Any
    embeddings: dict[str, Array]
    seconds: dict[str, float]
    estimators: dict[str, Any]
    failures: dict[str, str]
    warnings: dict[str, list[str]]
    X: Any
    y: Any = None

    @property
    def table(self) -> Any:
        """One row for each method, a column for each measure and one for the seconds of the fit."""
        wide = self.frame.pivot(index="embedding", columns="measure", values="value")
        wide = wide[list(dict.fromkeys(self.frame["measure"]))].loc[list(self.embeddings)]
        wide.insert(0, "seconds", [self.seconds[name] for name in wide.index])
        return wide.rename_axis(index="method", columns=None)

    def __str__(self) -> str:
        failed = "".join(f"\n{name} failed: {reason}" for name, reason in self.failures.items())
        return self.table.round(3).to_string() + failed

    def plot(self, measure: str | None = None) -> Any:
        """Draw all embeddings, with one measure under each title.

        Parameters
        ----------
        measure : str, optional
            A column of `table`; the first measure if not given.

        Returns
        -------
        GalleryDisplay
        """
        from ..plotting import GalleryDisplay

        table = self.table
        measure = table.columns[1] if measure is None else measure
        if measure not in table:
            raise InputError(f"There is no measure {measure!r}; there are {', '.join(table.columns)}.")
        titles = {
            name: f"{name}\n{measure.replace('_', ' ')} {table.loc[name, measure]:.3g}" for name in self.embeddings
        }
        return GalleryDisplay(self.embeddings, self.y, titles=titles).plot()

    def plot_ranks(self, ax: Any = None) -> Any:
        """Draw how many neighbours each method keeps, at every size of the neighbourhood.

        Returns
        -------
        RankCurvesDisplay
        """
        from ..plotting import RankCurvesDisplay

        return RankCurvesDisplay.from_embeddings(self.X, self.embeddings, ax=ax)

    def report(self, path: str | Path, title: str = "Methods side by side", **given: Any) -> Path:
        """Write one page with linked panels, measures, spectra, dimension and every warning, to look at and to pass on.

        The page needs no network. The rows are in it: whoever has the file can read them.

        Parameters
        ----------
        path : str or Path
            A name that ends in ``.html``.
        title : str
        **given
            ``table``, the columns to show and to colour by; ``colour``, the first of these; ``provenance``, a dict that says how it was
            made; and other parameters of `eigenspan.report.full_report`.

        Returns
        -------
        Path
        """
        from ..report import full_report

        return full_report(self, title, **given).write(path)


def compare(
    X: Any,
    methods: Any = None,
    y: Any = None,
    *,
    n_components: int = 2,
    measures: Any = None,
    n_neighbors: int = 10,
    metric: Any = "euclidean",
    sample: int | None = None,
    folder: str | Path | None = None,
    random_state: Any = 0,
    n_jobs: int | None = None,
    verbose: bool = False,
    callback: Callable[[str, int, int], None] | None = None,
) -> Comparison:
    """Fit several methods to the same data and measure what each has kept.

    A method that cannot be fitted does not stop the others: what it said is in ``failures``. With `folder`, every embedding is written
    there as soon as it is found, and a second call with the same data and methods takes it from there: work that was interrupted, or is
    extended by a method, goes on where it was.

    Cost: that of the fits, and one pass of O(n²(D + log n)) for the measures of all of them, on a sample of the rows beyond 20,000.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
    methods : list of str or estimators, or dict of str to estimator, optional
        Names of the table of methods, or estimators with parameters of their own, which are cloned. If not given, PCA and one of each
        family, and LDA with `y`.
    y : array-like of shape (n_samples,), optional
        Given to the methods that use it, to the measures of labels, and to the picture.
    n_components : int, default=2
        Of methods given by name.
    measures, n_neighbors, metric, sample
        See `evaluate`.
    folder : path, optional
        Where embeddings and measures are kept; made if it is not there.
    random_state : int, RandomState or None, default=0
        Of the methods given by name that take one, and of `sample`.
    n_jobs : int or None, default=None
    verbose : bool, default=False
        Show a progress bar on the error stream.
    callback : callable, optional
        Called with the name of each method, its number and their count, before it is fitted.

    Returns
    -------
    Comparison

    Examples
    --------
    >>> from sklearn.datasets import make_swiss_roll
    >>> from eigenspan import Isomap, compare
    >>> X, t = make_swiss_roll(500, random_state=0)
    >>> result = compare(X, ["PCA", Isomap(2, n_neighbors=8)], t)
    >>> list(result.table.index)
    ['PCA', 'Isomap']
    >>> result.table["geodesic_correlation"].idxmax()
    'Isomap'
    """
    y = y if y is None or np.ndim(y) != 1 else label_array(y)
    estimators = _named(methods, n_components, random_state, y)
    shelf = None if folder is None else Shelf(Path(folder), X, y)
    with _progress(len(estimators), verbose) as step:

        def begin(name: str, number: int) -> None:
            step(name)
            logger.info("compare: %s, %d of %d", name, number + 1, len(estimators))
            if callback is not None:
                callback(name, number, len(estimators))

        found = _fit_all(estimators, X, y, shelf, begin)
        step("measures")
        settings = {"measures": measures, "n_neighbors": n_neighbors, "metric": metric, "sample": sample}
        frame = evaluate(X, found["embeddings"], y, **settings, random_state=random_state, n_jobs=n_jobs)
    return Comparison(frame=frame, X=X, y=y, **found)


@dataclass(frozen=True, eq=False)
class Found:
    """Of one method; without the estimator where it was kept in a folder."""

    embedding: Array
    seconds: float
    warnings: list[str]
    estimator: Any = None


def _fit_all(
    estimators: dict[str, Any], X: Any, y: Any, shelf: Shelf | None, begin: Callable[[str, int], None]
) -> dict[str, dict[str, Any]]:
    """Embeddings, seconds, fitted estimators, failures and warnings by name; at least one embedding."""
    found, failures = {}, {}
    for number, (name, estimator) in enumerate(estimators.items()):
        begin(name, number)
        kept = None if shelf is None else shelf.find(name, estimator)
        try:
            found[name] = kept or _fit(estimator, X, y)
        except EigenspanError as failure:
            failures[name] = str(failure)
            continue
        if shelf is not None and kept is None:
            shelf.keep(name, estimator, found[name])
    if failures:
        told = " ".join(f"{name}: {reason}" for name, reason in failures.items())
        said = f"{len(failures)} of the {len(estimators)} methods could not be fitted. {told}"
        if not found:
            raise InputError(said)
        warn(said, FitWarning)
    return {
        "embeddings": {name: one.embedding for name, one in found.items()},
        "seconds": {name: one.seconds for name, one in found.items()},
        "estimators": {name: one.estimator for name, one in found.items() if one.estimator is not None},
        "failures": failures,
        "warnings": {name: one.warnings for name, one in found.items() if one.warnings},
    }


def _fit(estimator: Any, X: Any, y: Any) -> Found:
    """A fresh fit, whose warnings are kept and passed on."""
    start = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fitted = clone(estimator).fit(X, y)
        embedding = training_embedding(fitted, X)
    seconds = time.perf_counter() - start
    for entry in caught:
        warnings.warn_explicit(entry.message, entry.category, entry.filename, entry.lineno)
    return Found(embedding, seconds, list(dict.fromkeys(str(entry.message) for entry in caught)), fitted)


def _named(methods: Any, n_components: int, random_state: Any, y: Any) -> dict[str, Any]:
    """Estimators under names that differ."""
    if methods is None:
        methods = [*USUAL, *(() if y is None else ("LDA",))]
    if isinstance(methods, str) or hasattr(methods, "fit"):
        methods = [methods]
    pairs = methods.items() if isinstance(methods, Mapping) else [(None, method) for method in methods]
    named: dict[str, Any] = {}
    for given, method in pairs:
        estimator = method
        if isinstance(method, str):
            estimator = make(method, n_components=n_components)
            if "random_state" in estimator.get_params(deep=False):
                estimator.set_params(random_state=random_state)
        if not hasattr(estimator, "fit") or isinstance(estimator, type):
            raise InputError(f"methods must be names such as 'PCA' or estimators such as PCA(2); got {method!r:.80}.")
        name = str(given) if given is not None else _name_of(method, estimator)
        count = 2
        while name in named:
            name, count = f"{name.removesuffix(f' {count - 1}')} {count}", count + 1
        named[name] = estimator
    if not named:
        raise InputError("There is nothing to compare: give at least one method.")
    return named


def _name_of(method: Any, estimator: Any) -> str:
    inner = getattr(estimator, "estimator", None)
    return type(estimator if inner is None else inner).__name__


class Shelf:
    """A folder with one file for each method: its embedding, and what tells whether it is still the one that is asked for."""

    def __init__(self, folder: Path, X: Any, y: Any) -> None:
        if folder.exists() and not folder.is_dir():
            raise InputError(f"folder={str(folder)!r} is a file: give the name of a folder.")
        make_folder(folder)
        self.folder, self.data = folder, joblib.hash((X, y))

    def _mark(self, name: str, estimator: Any) -> str:
        """Of the data, the method and all its parameters."""
        try:
            return str(joblib.hash((self.data, type(estimator).__qualname__, estimator.get_params(deep=True))))
        except Exception as failure:
            raise InputError(
                f"{name} cannot be told from other methods in a folder, because one of its parameters cannot be pickled ({failure}): use "
                "functions that are defined in a module, or leave folder= out."
            ) from failure

    def _file(self, name: str) -> Path:
        return self.folder / (re.sub(r"[^\w.-]+", "-", name) + ".npz")

    def find(self, name: str, estimator: Any) -> Found | None:
        """What was kept for the same data and parameters, if anything."""
        mark, file = self._mark(name, estimator), self._file(name)
        if not file.exists():
            return None
        try:
            with file.open("rb") as stream, np.load(stream, allow_pickle=False) as kept:
                facts = json.loads(str(kept["facts"]))
                same = facts["mark"] == mark
                return Found(kept["embedding"], facts["seconds"], facts["warnings"]) if same else None
        except Exception as failure:  # a file that was cut short or altered fails in any way that reading can
            warn(f"{file} cannot be read ({failure}): {name} is fitted again, and the file replaced.", FitWarning)
            return None

    def keep(self, name: str, estimator: Any, found: Found) -> None:
        """Write it, all or nothing."""
        facts = json.dumps(
            {
                "mark": self._mark(name, estimator),
                "seconds": found.seconds,
                "warnings": found.warnings,
                "method": repr(estimator),
            }
        )
        whole = Memory()
        np.savez_compressed(whole, embedding=found.embedding, facts=np.array(facts))
        with writing(self._file(name)) as file:
            file.write(whole.getbuffer())


@contextmanager
def _progress(count: int, verbose: bool) -> Iterator[Callable[[str], None]]:
    """A function to call with the name of each step, which moves a bar where one is wanted."""
    if not verbose:
        yield lambda name: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True)) as bar:
        task = bar.add_task("", total=count + 1)

        def step(name: str) -> None:
            started = bar.tasks[0].description != ""
            bar.update(task, description=name, advance=1 if started else 0)

        yield step
        bar.update(task, completed=count + 1)
