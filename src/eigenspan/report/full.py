"""Full report of a comparison: the contents of `report_of`, and measures that need further passes over the data."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from ..dimension import Dimensions, intrinsic_dimension
from ..errors import EigenspanError
from ..quality import coranking, distortion
from .comparison_report import report_of
from .page import Report
from .sections import Curves, Section, Table

#: Maximum number of rows for the rank curves, and of points for the distortion.
_ROWS, _POINTS = 2000, 10_000
#: Maximum number of points for the estimates of the dimension, and the estimators used.
_DIMENSION = 10_000
_ESTIMATES = ("correlation", "mle", "twonn", "parallel")


def full_report(
    comparison: Any,
    title: str = "Methods side by side",
    *,
    n_neighbors: int = 10,
    random_state: Any = 0,
    facts: Any = None,
    warned: Any = (),
    **given: Any,
) -> Report:
    """Create the report of a comparison, with rank curves, the distortion of every point, and the dimension of the data.

    Parameters
    ----------
    comparison : Comparison
    title : str
    n_neighbors : int, default=10
        Number of neighbours for the distortion.
    random_state : int, RandomState or None, default=0
        Seed of the random sample of rows, if there are very many.
    facts : dict of str to dict, optional
    warned : list of str, optional
        Further warnings.
    **given
        Further parameters of `report_of`.

    Returns
    -------
    Report

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import StandardScaler
    >>> from eigenspan import compare
    >>> from eigenspan.report import full_report
    >>> X, y = load_wine(return_X_y=True)
    >>> report = full_report(compare(StandardScaler().fit_transform(X), ["PCA", "LLE"], y), "Wines")
    >>> [section.title for section in report.sections][-2:]
    ['Dimension', 'Dimension at every scale']
    """
    X, n = comparison.X, len(next(iter(comparison.embeddings.values())))
    X = X if hasattr(X, "shape") else np.asarray(X)
    sample = _ROWS if n > _ROWS else None
    curves = {
        name: coranking(X, Y, sample=sample, random_state=random_state) for name, Y in comparison.embeddings.items()
    }
    k = min(n_neighbors, (n - 1) // 2)
    wrong = {name: distortion(X, Y, n_neighbors=k) for name, Y in comparison.embeddings.items()} if n <= _POINTS else {}
    said = [f"{name}: {message}" for name, messages in comparison.warnings.items() for message in messages]
    return report_of(
        comparison,
        title,
        rank_curves=curves,
        distortion=wrong,
        facts=facts,
        sections=_dimension(X, random_state),
        warnings=[*said, *warned],
        **given,
    )


def _dimension(X: Any, random_state: Any) -> list[Section]:
    """Return a table of estimates and the curve of the correlation dimension; empty if they cannot be computed."""
    import pandas as pd

    rows = check_random_state(random_state).permutation(X.shape[0])[:_DIMENSION]
    some = X if X.shape[0] <= _DIMENSION else (X.iloc if hasattr(X, "iloc") else X)[np.sort(rows)]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # duplicate rows are reported with the data
            found = intrinsic_dimension(some, list(_ESTIMATES), random_state=random_state)
    except (EigenspanError, ValueError):
        return []
    assert isinstance(found, Dimensions)
    table = pd.DataFrame(
        {"dimension": {r.method: r.dimension for r in found}, "error": {r.method: r.error for r in found}}
    )
    sections: list[Section] = [
        Table(
            "Dimension",
            table,
            text="Intrinsic dimension of the data. The first three estimators use distances, and so detect curved sheets too. The last one "
            "uses variances, and detects only flat ones. If they disagree, the curve below shows at which scale.",
        )
    ]
    curve = found["correlation"].curve
    if curve is not None:
        kept = np.isfinite(curve.y) & (curve.x > 0)
        sections.append(
            Curves(
                "Dimension at every scale",
                {"slope": (curve.x[kept], curve.y[kept])},
                curve.x_label,
                curve.y_label,
                text=f"Slope of the number of pairs closer than a distance. The estimate {found['correlation'].dimension:.2f} is taken at "
                "the smallest scales with enough pairs.",
                log=True,
            )
        )
    return sections
