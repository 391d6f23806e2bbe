"""`compare`: fit and measure several methods on the same data, with results kept in a folder."""

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

#: Default methods: one per main family. LDA is added if there are labels.
USUAL = ("PCA", "Isomap", "LaplacianEigenmaps", "LLE", "LTSA", "LPP")


@dataclass(frozen=True, eq=False)
class Comparison:
    """Result of `compare`: embeddings and measures of several methods.

    Attributes
    ----------
    frame : pandas.DataFrame
        One row per method and measure, as returned by `evaluate`.
    embeddings : dict of str to ndarray of shape (n_samples, n_components)
        Embeddings by name of the method.
    seconds : dict of str to float
        Duration of each fit.
    estimators : dict of str to estimator
        Estimators fitted in this call, without those whose embeddings were read from the folder.
    failures : dict of str to str
        Error messages of the methods that could not be fitted.
    warnings : dict of str to list of str
        Warnings of the other methods.
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
        """Data frame with one row per method, one column per measure, and the duration of the fit in seconds."""
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
            raise InputError(f"There is no measure {measure!r}. The measures are {', '.join(table.columns)}.")
        titles = {
            name: f"{name}\n{measure.replace('_', ' ')} {table.loc[name, measure]:.3g}" for name in self.embeddings
        }
        return GalleryDisplay(self.embeddings, self.y, titles=titles).plot()

    def plot_ranks(self, ax: Any = None) -> Any:
        """Draw the share of neighbours that each method preserves, for every neighbourhood size.

        Returns
        -------
        RankCurvesDisplay
        """
        from ..plotting import RankCurvesDisplay

        return RankCurvesDisplay.from_embeddings(self.X, self.embeddings, ax=ax)

    def report(self, path: str | Path, title: str = "Methods side by side", **given: Any) -> Path:
        """Write an HTML page with linked plots, measures, spectra, dimension estimates and all warnings.

        The page needs no network. It contains the data: everyone who has the file can read the rows.

        Parameters
        ----------
        path : str or Path
            A name that ends in ``.html``.
        title : str
        **given
            ``table``, the columns to show and to colour by; ``colour``, the column used first; ``provenance``, a dict that describes the
            origin of the results; and other parameters of `eigenspan.report.full_report`.

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
    """Fit several methods to the same data and measure the quality of their embeddings.

    If a method cannot be fitted, the others are still fitted, and its error message is in ``failures``. With `folder`, every embedding is
    written there after its fit, and a later call with the same data and methods reads it instead of fitting again. Use this to continue
    an interrupted comparison or to add a method.

    Cost: that of the fits, and one pass of O(n²(D + log n)) for the measures of all of them, on a sample of the rows beyond 20,000.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
    methods : list of str or estimators, or dict of str to estimator, optional
        Names from the table of methods, or estimators, which are cloned. By default PCA and one method per main family, and LDA if `y`
        is given.
    y : array-like of shape (n_samples,), optional
        Labels or numbers for the methods that use them, the measures, and the colours of plots.
    n_components : int, default=2
        Number of dimensions for methods given by name.
    measures, n_neighbors, metric, sample
        See `evaluate`.
    folder : path, optional
        Folder for the embeddings; created if it does not exist.
    random_state : int, RandomState or None, default=0
        Seed for methods given by name that have this parameter, and for `sample`.
    n_jobs : int or None, default=None
    verbose : bool, default=False
        Show a progress bar on the error stream.
    callback : callable, optional
        Called before each fit with the name of the method, its number and the number of methods.

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
    store = None if folder is None else EmbeddingFolder(Path(folder), X, y)
    with _progress(len(estimators), verbose) as step:

        def begin(name: str, number: int) -> None:
            step(name)
            logger.info("compare: %s, %d of %d", name, number + 1, len(estimators))
            if callback is not None:
                callback(name, number, len(estimators))

        found = _fit_all(estimators, X, y, store, begin)
        step("measures")
        settings = {"measures": measures, "n_neighbors": n_neighbors, "metric": metric, "sample": sample}
        frame = evaluate(X, found["embeddings"], y, **settings, random_state=random_state, n_jobs=n_jobs)
    return Comparison(frame=frame, X=X, y=y, **found)


@dataclass(frozen=True, eq=False)
class Found:
    """Result of one method; the estimator is None if the result was read from a folder."""

    embedding: Array
    seconds: float
    warnings: list[str]
    estimator: Any = None


def _fit_all(
    estimators: dict[str, Any], X: Any, y: Any, store: EmbeddingFolder | None, begin: Callable[[str, int], None]
) -> dict[str, dict[str, Any]]:
    """Return embeddings, seconds, fitted estimators, failures and warnings by name; raise if all methods fail."""
    found, failures = {}, {}
    for number, (name, estimator) in enumerate(estimators.items()):
        begin(name, number)
        kept = None if store is None else store.find(name, estimator)
        try:
            found[name] = kept or _fit(estimator, X, y)
        except EigenspanError as failure:
            failures[name] = str(failure)
            continue
        if store is not None and kept is None:
            store.keep(name, estimator, found[name])
    if failures:
        reasons = " ".join(f"{name}: {reason}" for name, reason in failures.items())
        message = f"{len(failures)} of the {len(estimators)} methods could not be fitted. {reasons}"
        if not found:
            raise InputError(message)
        warn(message, FitWarning)
    return {
        "embeddings": {name: one.embedding for name, one in found.items()},
        "seconds": {name: one.seconds for name, one in found.items()},
        "estimators": {name: one.estimator for name, one in found.items() if one.estimator is not None},
        "failures": failures,
        "warnings": {name: one.warnings for name, one in found.items() if one.warnings},
    }


def _fit(estimator: Any, X: Any, y: Any) -> Found:
    """Fit a clone of the estimator; record its warnings and give them again."""
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
    """Return the estimators by unique names."""
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
        raise InputError("methods is empty: give at least one method.")
    return named


def _name_of(method: Any, estimator: Any) -> str:
    inner = getattr(estimator, "estimator", None)
    return type(estimator if inner is None else inner).__name__


class EmbeddingFolder:
    """A folder with one file per method: its embedding, and a hash of the data and the parameters."""

    def __init__(self, folder: Path, X: Any, y: Any) -> None:
        if folder.exists() and not folder.is_dir():
            raise InputError(f"folder={str(folder)!r} is a file: give the name of a folder.")
        make_folder(folder)
        self.folder, self.data = folder, joblib.hash((X, y))

    def _mark(self, name: str, estimator: Any) -> str:
        """Return a hash of the data, the method and its parameters."""
        try:
            return str(joblib.hash((self.data, type(estimator).__qualname__, estimator.get_params(deep=True))))
        except Exception as failure:
            raise InputError(
                f"{name} cannot be stored in folder=, because one of its parameters cannot be pickled ({failure}): use functions that are "
                "defined in a module, or leave folder= out."
            ) from failure

    def _file(self, name: str) -> Path:
        return self.folder / (re.sub(r"[^\w.-]+", "-", name) + ".npz")

    def find(self, name: str, estimator: Any) -> Found | None:
        """Return the stored result for the same data and parameters, or None."""
        mark, file = self._mark(name, estimator), self._file(name)
        if not file.exists():
            return None
        try:
            with file.open("rb") as stream, np.load(stream, allow_pickle=False) as kept:
                facts = json.loads(str(kept["facts"]))
                same = facts["mark"] == mark
                return Found(kept["embedding"], facts["seconds"], facts["warnings"]) if same else None
        except Exception as failure:  # a truncated or altered file can raise any exception
            warn(f"{file} cannot be read ({failure}): {name} is fitted again, and the file replaced.", FitWarning)
            return None

    def keep(self, name: str, estimator: Any, found: Found) -> None:
        """Write the result atomically."""
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
    """Yield a function to call with the name of each step. It advances a progress bar if `verbose` is True."""
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
