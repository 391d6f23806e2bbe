"""Report of a comparison of methods."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Mapping, Sequence
from importlib import metadata
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..errors import InputError
from .formulas import formulas_of, to_mathml
from .page import Report
from .sections import Curves, Formulas, Section, Spectra, Table

Array = NDArray[np.float64]

#: Maximum number of table cells written to the page, unless the caller passes a table.
MOST_CELLS = 250_000
MOST_COLUMNS = 30
#: Maximum number of columns in the table of correlations.
MAX_CORRELATED = 20


def report_of(
    comparison: Any,
    title: str = "Methods side by side",
    *,
    table: Any = None,
    colour: str | None = None,
    rank_curves: Mapping[str, Any] | None = None,
    distortion: Mapping[str, Any] | None = None,
    facts: Mapping[str, Mapping[str, Any]] | None = None,
    sections: Sequence[Section] = (),
    warnings: Sequence[str] = (),
    provenance: Mapping[str, Any] | None = None,
) -> Report:
    """Create the report of methods that were fitted to the same data and measured.

    Parameters
    ----------
    comparison : Comparison
        Object with ``embeddings``, ``frame``, ``table``, ``estimators``, ``failures``, ``X`` and ``y``.
    title : str
    table : DataFrame, optional
        Columns to show, colour by and save. Default: the first columns of X, as many as keep the page small, and y as ``label``.
    colour : str, optional
        The column to colour by at first; default: ``label``, if it exists.
    rank_curves : dict of str to CoRanking, optional
        Objects with ``k`` and ``r_nx``, by embedding.
    distortion : dict of str to array-like of shape (n_samples,), optional
        Result of ``quality.distortion``, by embedding.
    facts, sections, warnings, provenance
        See `Report`; entries that follow from the comparison are added.

    Returns
    -------
    Report

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> import pandas as pd
    >>> from sklearn.datasets import load_iris
    >>> from eigenspan import PCA
    >>> from eigenspan.report import report_of
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> fitted = PCA(2).fit(X)
    >>> figures = pd.DataFrame({"trustworthiness": [0.98]}, index=["PCA"])
    >>> fitted_parts = dict(embeddings={"PCA": fitted.embedding_}, estimators={"PCA": fitted}, failures={})
    >>> report = report_of(SimpleNamespace(**fitted_parts, table=figures, frame=None, X=X, y=y))
    >>> [section.title for section in report.sections]
    ['Quality', 'Spectra', 'Graphs and solvers', 'Columns and axes', 'The problems solved']
    """
    n, D = np.shape(comparison.X)
    shown, carried = (table, None) if table is not None else _shown(comparison.X, comparison.y)
    if colour is None and table is None and comparison.y is not None:
        colour = str(shown.columns[0])
    correlations = _correlations(comparison)
    own: list[Section | None] = [
        _quality(comparison),
        _curves(rank_curves or {}),
        _spectra(comparison),
        _graphs(comparison.estimators),
        _largest_correlations(correlations),
        _problems(comparison.estimators),
    ]
    data = {"rows": n, "columns": D} | _labels(comparison.y)
    if carried is not None and carried < D:
        data["columns in this file"] = f"the first {carried} of {D:,}"
    failed = [f"{name} could not be fitted: {reason}" for name, reason in comparison.failures.items()]
    return Report(
        title,
        comparison.embeddings,
        shown,
        facts={"Data": data} | {name: dict(group) for name, group in (facts or {}).items()},
        sections=[*(section for section in own if section is not None), *sections],
        warnings=[*failed, *warnings],
        provenance=dict(provenance or {}) | versions(),
        colour=colour,
        distortion=distortion or {},
        notes=_notes(comparison),
        arrows=correlations,
    )


def versions(packages: Iterable[str] = ("eigenspan", "numpy", "scipy", "scikit-learn")) -> dict[str, str]:
    """Return the versions of Python and of the given packages."""
    found = {"Python": platform.python_version()}
    for name in packages:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = "not installed"
    return found


def _shown(X: Any, y: Any) -> tuple[Any, int]:
    """Return a table of the label and the first columns of X, and the number of columns of X in it."""
    import pandas as pd

    n, D = np.shape(X)
    most = min(D, MOST_COLUMNS, max(1, MOST_CELLS // n))
    if hasattr(X, "columns"):
        frame = pd.DataFrame(X[list(X.columns)[:most]].to_pandas() if hasattr(X, "to_pandas") else X.iloc[:, :most])
        frame = frame.reset_index(drop=True)
    else:
        first = X[:, :most].toarray() if sp.issparse(X) else np.asarray(X)[:, :most]
        frame = pd.DataFrame(first, columns=[f"x{j + 1}" for j in range(most)])
    if y is not None and np.ndim(y) == 1:
        name = "label"
        while name in frame:
            name += "_"
        frame.insert(0, name, pd.Series(np.asarray(y)))
    return frame, most


def _labels(y: Any) -> dict[str, Any]:
    if y is None or np.ndim(y) != 1:
        return {}
    import pandas as pd

    labels = pd.Series(np.asarray(y))
    return {"labels": f"{labels.nunique()} distinct", "without a label": int(labels.isna().sum())}


def _notes(comparison: Any) -> dict[str, str]:
    """Return the first measure of each embedding, to write beside its name."""
    table = comparison.table
    measures = [name for name in table if name != "seconds"]
    if not measures:
        return {}
    word = measures[0].replace("_", " ")
    return {name: f"{table.loc[name, measures[0]]:.3f} {word}" for name in comparison.embeddings if name in table.index}


def _quality(comparison: Any) -> Table:
    table, frame = comparison.table, comparison.frame
    lower = {"seconds"}
    if frame is not None and "better" in frame:
        lower |= {*frame.loc[frame["better"] == "lower", "measure"]}
    shown = table.rename(columns={name: str(name).replace("_", " ") for name in table})
    fewer = [str(name).replace("_", " ") for name in table if name in lower]
    more = [name for name in shown if name not in fewer]
    text = "The best value of each column is bold. "
    text += (
        f"Lower is better for {', '.join(fewer)}; higher is better for the others." if fewer else "Higher is better."
    )
    return Table("Quality", shown, text, higher=more, lower=fewer)


def _curves(rank_curves: Mapping[str, Any]) -> Curves | None:
    if not rank_curves:
        return None
    lines = {name: _subsampled(np.asarray(found.k), np.asarray(found.r_nx)) for name, found in rank_curves.items()}
    text = "Share of the K nearest neighbours that each embedding preserves, rescaled: 0 is a random embedding, 1 a perfect one."
    return Curves("Neighbours preserved", lines, "neighbours K", "R_NX", text, log=True)


def _subsampled(k: NDArray[Any], values: NDArray[Any], most: int = 160) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return as many points of a curve as a line on a logarithmic axis can show."""
    places = np.unique(np.geomspace(1, k.size, most).round().astype(int) - 1)
    return k[places], values[places]


def _last(estimator: Any) -> Any:
    """Return the method at the end of a pipeline, or inside a wrapper."""
    while True:
        inner = estimator.steps[-1][1] if hasattr(estimator, "steps") else getattr(estimator, "estimator", None)
        if inner is None:
            return estimator
        estimator = inner


def _spectra(comparison: Any) -> Spectra | None:
    values, kept, words = {}, {}, {}
    for name, estimator in comparison.estimators.items():
        method = _last(estimator)
        own = getattr(method, "eigenvalues_", None)
        if own is None or not np.size(own):
            continue
        values[name], kept[name] = np.ravel(getattr(method, "spectrum_", own)), np.size(own)
        gap = getattr(method, "gap_", None)
        if gap is not None and np.isfinite(gap):
            words[name] = f"gap {gap:.3g}"
    text = "Eigenvalues of the problem that each method solved, best first. "
    text += "The gap is the relative distance from the last one kept to the next. A large gap suggests the right number of axes."
    return Spectra("Spectra", values, kept, text, words) if values else None


#: Diagnostics of fits shown in the table, and the headings of their columns.
_DIAGNOSTICS = {
    **{"distinct_rows": "distinct rows", "components": "components", "bridges": "bridges", "edges": "edges"},
    **{"search": "search", "solver": "solver"},
}


def _graphs(estimators: Mapping[str, Any]) -> Table | None:
    """Return the table of neighbour graphs, searches and solvers."""
    import pandas as pd

    diagnostics = [getattr(_last(estimator), "diagnostics_", {}) for estimator in estimators.values()]
    finders = [getattr(getattr(_last(estimator), "graph_", None), "finder", None) for estimator in estimators.values()]
    columns = {"neighbours": [getattr(finder, "n_neighbors", None) for finder in finders]}
    columns |= {head: [facts.get(key) for facts in diagnostics] for key, head in _DIAGNOSTICS.items()}
    kept = {head: pd.Series(values, estimators, dtype=object) for head, values in columns.items() if any(values)}
    frame = pd.DataFrame(kept, index=list(estimators))
    text = (
        "If there is more than one component, the neighbour graph was disconnected and was joined by bridges. The relative position of "
        "the components then depends on the bridges only."
    )
    return Table("Graphs and solvers", frame, text if "components" in frame else "") if frame.shape[1] else None


def _correlations(comparison: Any) -> dict[str, Any]:
    """Return, by embedding, the correlations of the data's columns with the axes; empty if the data are not suitable or too large."""
    import pandas as pd

    X = comparison.X
    n, D = np.shape(X)
    if sp.issparse(X) or n * D > 50_000_000 or D > 20_000:
        return {}
    names = [str(name) for name in X.columns] if hasattr(X, "columns") else [f"x{j + 1}" for j in range(D)]
    try:
        data = np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError):
        return {}
    if not np.isfinite(data).all():
        return {}
    found = {name: correlation(data, np.asarray(Y)) for name, Y in comparison.embeddings.items()}
    return {name: pd.DataFrame(r, names, [f"{name} {k + 1}" for k in range(r.shape[1])]) for name, r in found.items()}


def _largest_correlations(correlations: Mapping[str, Any]) -> Table | None:
    """Return one table of the correlations of all embeddings, for the columns with the largest ones."""
    import pandas as pd

    if not correlations:
        return None
    frame = pd.concat(list(correlations.values()), axis=1)
    order = np.argsort(-frame.abs().max(axis=1).to_numpy(), kind="stable")[:MAX_CORRELATED]
    text = "Correlation of each column of the data with each axis."
    text += (
        f" Only the {MAX_CORRELATED} of {len(frame):,} columns with the largest correlations are shown."
        if len(frame) > MAX_CORRELATED
        else ""
    )
    return Table("Columns and axes", frame.iloc[np.sort(order)], text, heat=True)


def correlation(X: Array, Y: Array) -> Array:
    """Return the correlations of every column of X with every column of Y; 0 if one of them is constant."""
    X, Y = X - X.mean(axis=0), Y - Y.mean(axis=0)
    across, along = np.linalg.norm(X, axis=0), np.linalg.norm(Y, axis=0)
    scale = np.outer(np.where(across > 0, across, np.inf), np.where(along > 0, along, np.inf))
    return np.asarray((X.T @ Y) / scale)


def _problems(estimators: Mapping[str, Any]) -> Formulas | None:
    """Return the formulas in the docstrings of the methods, each with the first sentence of the docstring."""
    problems = {}
    for name, estimator in estimators.items():
        method = _last(estimator)
        doc = type(method).__doc__ or ""
        formulas = [formula for formula in formulas_of(doc) if _can_be_shown(formula)]
        if formulas:
            first = " ".join(doc.strip().split("\n\n")[0].replace("`", "").split())
            problems[name] = (formulas, f"{first} {method!r}".strip())
    text = "s.t.: subject to. X are the data, with rows as points. The unknowns are the directions V or the embedded points Y."
    return Formulas("The problems solved", problems, text) if problems else None


def _can_be_shown(formula: str) -> bool:
    try:
        to_mathml(formula)
    except InputError:
        return False
    return True
