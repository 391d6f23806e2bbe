"""Output of ``eigenspan embed``: the table, the picture and the summary of a fit."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from .console import Usage, listed, note, show, working
from .escape import name_of, quoted

#: An axis shows a single column if their correlation is larger than this.
_SINGLE_COLUMN_CORRELATION = 0.95
#: Number of columns listed for each axis.
_COLUMNS_PER_AXIS = 3
#: Maximum number of pairs of rows whose distances are ranked for the summary: about a second.
_PAIRS = 20_000_000
#: Minimum number of rows whose neighbours are compared; with more than 200,000 rows, `_PAIRS` allows fewer, and the measure is omitted.
_MIN_ROWS = 100


@dataclass(frozen=True, eq=False)
class Summary:
    """Summary of one fitted method, printed or written as JSON.

    Parameters
    ----------
    method : str
    axes : list of str
        Names of the axes, as ``get_feature_names_out`` gives them.
    seconds : float
    solver : str
    explained_variance : list of float
        Shares of the variance, if the method has them.
    trustworthiness : float or None
    trustworthiness_rows : int
        Number of rows whose neighbours were compared with all other rows: all, or a random sample.
    correlations : dict
        For each axis, the columns most correlated with it, largest first.
    """

    method: str
    axes: list[str]
    seconds: float
    solver: str
    explained_variance: list[float] = field(default_factory=list)
    trustworthiness: float | None = None
    trustworthiness_rows: int = 0
    correlations: dict[str, dict[str, float]] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """Return the summary as a dictionary for JSON."""
        return asdict(self)


def axes_of(estimator: Any) -> list[str]:
    """Return the names of the axes, equal in files and in Python."""
    return [str(name) for name in estimator.get_feature_names_out()]


def summary_of(name: str, estimator: Any, X: Any, columns: list[str], seed: int = 0) -> Summary:
    """Summarise a fit to X, for data in memory."""
    from ..report.comparison_report import correlation

    Y, axes = np.asarray(estimator.embedding_), axes_of(estimator)
    complete = not np.isnan(X).any()
    with working(f"Measuring the trustworthiness of {name}"):
        trust, rows = _trustworthiness(X, Y, seed) if complete else (None, 0)
    found = most_correlated(correlation(X, Y), columns, axes) if complete else {}
    seconds = float(estimator.diagnostics_["seconds"]["total"])
    return Summary(name, axes, *_facts(estimator, seconds), trust, rows, found)


def summary_of_chunks(name: str, estimator: Any, seconds: float, R: Any, columns: list[str]) -> Summary:
    """Summarise a fit to a table read in chunks from the correlations R of columns and axes; trustworthiness is not computed."""
    axes = axes_of(estimator)
    return Summary(name, axes, *_facts(estimator, seconds), correlations=most_correlated(R, columns, axes))


def _facts(estimator: Any, seconds: float) -> tuple[float, str, list[float]]:
    """Return seconds, solver and shares of the variance, rounded for JSON."""
    shares = getattr(estimator, "explained_variance_ratio_", None)
    rounded = [] if shares is None else [round(float(share), 6) for share in shares]
    return round(seconds, 4), str(estimator.diagnostics_.get("solver", "—")), rounded


def _trustworthiness(X: Any, Y: Any, seed: int) -> tuple[float | None, int]:
    """Return the trustworthiness and the number of rows that it is averaged over: as many as `_PAIRS` allows."""
    from ..quality import trustworthiness

    n = len(Y)
    k, rows = min(5, (n - 1) // 2), min(n, _PAIRS // n)
    if k < 1 or n < 3 or rows < min(n, _MIN_ROWS):
        return None, 0
    found = trustworthiness(X, Y, k, sample=None if rows == n else rows, random_state=seed)
    return round(float(found), 6), rows


def most_correlated(R: Any, columns: list[str], axes: list[str]) -> dict[str, dict[str, float]]:
    """Return, for every axis, the columns most correlated with it; R has the correlations of all columns with all axes."""
    found = {}
    for j, axis in enumerate(axes):
        order = np.argsort(-np.abs(R[:, j]), kind="stable")[:_COLUMNS_PER_AXIS]
        found[axis] = {columns[i]: round(float(R[i, j]), 4) for i in order}
    return found


def announce(summary: Summary, n: int, scale: str, seed: int) -> None:
    """Print the summary: shape, time, solver, variance, trustworthiness, and the columns most correlated with each axis."""
    scaled = {"standard": "columns scaled to unit variance", "robust": "columns scaled by their quartiles"}
    show(
        f"{summary.method}: {n} × {len(summary.axes)} in {summary.seconds:.2f} s, solver {summary.solver}, "
        f"{scaled.get(scale, 'columns not scaled')}."
    )
    if summary.explained_variance:
        shares = ", ".join(f"{share:.1%}" for share in summary.explained_variance[:10])
        show(f"  explained variance: {shares}; total {sum(summary.explained_variance):.1%}")
    if summary.trustworthiness is not None:
        rows = summary.trustworthiness_rows
        sampled = "" if rows == n else f", averaged over {rows} of {n} rows drawn with --seed {seed}"
        meaning = "(1 = every embedded neighbour is a true neighbour)"
        show(f"  trustworthiness: {summary.trustworthiness:.3f} {meaning}{sampled}")
    for axis, columns in summary.correlations.items():
        listed_columns = ", ".join(f"{name_of(name)} {r:+.2f}" for name, r in columns.items())
        show(f"  {axis} correlates with: {listed_columns}")
    warn_of_single_columns(summary)


def warn_of_single_columns(summary: Summary) -> None:
    """Print a note if an axis shows only one column of the table."""
    for axis, columns in summary.correlations.items():
        name, r = next(iter(columns.items()))
        others = [abs(value) for value in list(columns.values())[1:]]
        if abs(r) > _SINGLE_COLUMN_CORRELATION and others and max(others) <= _SINGLE_COLUMN_CORRELATION:
            note(
                f"The axis {axis} shows almost only the column {quoted(name)} (correlation {r:+.2f}). If that is not intended, leave it "
                "out with "
                "--columns, or use it as --label to colour by it."
            )


def frame_of(ids: Any, embeddings: dict[str, Any], label: Any, clusters: dict[str, Any] | None = None) -> Any:
    """Return the output table: identifier, axes, clusters if any, and label, under unique names."""
    import pandas as pd

    parts: dict[str, Any] = {}

    def add(name: str, values: Any, kind: str) -> None:
        parts[name if name not in parts else f"{name} ({kind})"] = values

    for axis, values in embeddings.items():
        parts[axis] = values
    for name, values in (clusters or {}).items():
        parts[name] = values
    axes = dict(parts)
    parts.clear()
    add(str(ids.name) if str(ids.name) not in axes else f"{ids.name} (identifier)", ids.to_numpy(), "identifier")
    parts |= axes
    if label is not None:
        add(str(label.name), label.to_numpy(), "label")
    return pd.DataFrame(parts)


def check_plot(path: Path | None) -> None:
    """Refuse a picture that cannot be written, before any work."""
    if path is None:
        return
    try:
        from matplotlib.backend_bases import FigureCanvasBase
    except ImportError as failure:
        raise Usage('--plot needs matplotlib: pip install "eigenspan[plot]"') from failure
    known = FigureCanvasBase.get_supported_filetypes()
    if path.suffix.lstrip(".").lower() not in known:
        raise Usage(f"{path.name!r} is not a picture format that can be written: use .png, .pdf or .svg.")


@contextmanager
def literal_labels() -> Iterator[None]:
    """Draw dollar signs in names and labels literally; matplotlib would parse the text as a formula and usually fail."""
    from matplotlib import rc_context

    with rc_context({"text.parse_math": False}):
        yield


def draw(estimators: dict[str, Any], embeddings: dict[str, Any], n: int, label: Any, path: Path) -> None:
    """Draw one embedding, or several side by side; the title gives the sample size if not all n rows are drawn."""
    from ..plotting import EmbeddingDisplay, GalleryDisplay
    from ..plotting.point_cloud import display_options_of
    from .files.write import write_figure

    labels = None if label is None else _colours(label)
    with working("Drawing"), literal_labels():
        shown: Any
        if len(estimators) == 1:
            ((name, estimator),) = estimators.items()
            Y, clusters = embeddings[name], getattr(estimator, "labels_", None)
            coloured = labels if clusters is None else np.asarray(clusters).astype(str)
            title = str(label.name) if clusters is None and label is not None else "cluster"
            given = display_options_of(estimator, Y) | {"legend_title": title}
            if len(Y) < n:
                given["title"] += f", {len(Y)} of {n} rows"
            shown = EmbeddingDisplay.from_embedding(Y, coloured, **given)
        else:
            shown = GalleryDisplay(embeddings, labels, legend_title=None if label is None else str(label.name)).plot()
        write_figure(shown.figure_, path, dpi=150)


def _colours(label: Any) -> Any:
    """Return numbers as numbers, and everything else as text with None for missing values."""
    import pandas as pd

    if pd.api.types.is_numeric_dtype(label) and not pd.api.types.is_bool_dtype(label):
        return label.to_numpy()
    return np.array([None if pd.isna(v) else str(v) for v in label], dtype=object)


def note_hidden_axes(embeddings: dict[str, Any]) -> None:
    """Print which embeddings have more axes than the picture shows."""
    from ..plotting._read import most_pairs

    shown = 2 * most_pairs(len(embeddings))
    deeper = [name for name, Y in embeddings.items() if np.shape(Y)[1] > shown]
    if deeper:
        note(f"The picture shows the first {shown} axes of {listed(deeper)}; the table has all axes.")
