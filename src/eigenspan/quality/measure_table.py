"""`evaluate`: all measures of several embeddings as a tidy table."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any

from .._diagnostics import collect, stage
from ..errors import InputError
from ..numerics.threads import threads
from ._blocks import BlockDistances, GraphDistances
from ._check import affordable, as_points, check_neighbours, chosen_rows
from ._measures import (
    ALL,
    CLASSES,
    GRAPHS,
    LOWER,
    NUMBERS,
    ORDERS,
    PAIRS,
    RANKS,
    WITHOUT_NEIGHBOURS,
    Found,
    over_labels,
    over_rows,
    over_sorted,
)
from ._targets import holds_classes, named, read_target

#: Default limit on the pairs that are sorted, and the smallest number of rows from which they are drawn.
_SORTED, _ROWS = 2_000_000, 50


def evaluate(
    X: Any,
    embeddings: Any,
    y: Any = None,
    *,
    measures: Iterable[str] | None = None,
    n_neighbors: int = 10,
    metric: Any = "euclidean",
    sample: int | None = None,
    random_state: Any = 0,
    unlabeled: Any = -1,
    n_jobs: int | None = None,
) -> Any:
    """Measure the quality of one or several embeddings.

    Neighbourhoods and distances are compared in one pass, in which the distances and ranks in the data are computed once for all
    embeddings. Labels and numbers are predicted from the nearest points in each embedding.

    Cost: O(n²(D + d)) time per embedding, blocks of 8 MB in memory. Above 20,000 points a random sample of the rows is compared with all
    points; its size keeps the work equal to that for 20,000 points. Measures that sort distances (non-metric stress) or need shortest
    paths (the geodesic ones) use about two million pairs. The column `error` is the standard error due to this sampling.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        The data.
    embeddings : array-like of shape (n_samples, n_components), fitted estimator, dict or sequence of these
        The embeddings to measure. For an estimator, ``embedding_`` is used, or ``transform(X)`` if it has none; the keys of a dict are
        the names.
    y : array-like of shape (n_samples,), optional
        Labels or numbers that neighbouring points should share. Whole numbers, text and categories are treated as classes, unless
        `measures` includes ``"knn_r2"``. Points without a value (−1, NaN, None) are excluded from these measures.
    measures : iterable of str or None, default=None
        Some of ``"trustworthiness"``, ``"continuity"``, ``"q_nx"``, ``"r_nx"``, ``"lcmc"``, ``"auc_r_nx"``, ``"stress"``,
        ``"residual_variance"``, ``"nonmetric_stress"``, ``"geodesic_correlation"``, ``"geodesic_residual_variance"``, ``"knn_accuracy"``,
        ``"neighbourhood_hit"`` and ``"knn_r2"``. None means all that apply to X and y.
    n_neighbors : int, default=10
        Neighbours per point, in all neighbourhood measures, in the graph for geodesics and in predictions of y; less than n/2.
    metric : str or callable, default="euclidean"
        Distance between rows of X: any metric of scikit-learn's ``pairwise_distances``, or ``"precomputed"`` when X holds them.
    sample : int or None, default=None
        Number of rows used by all measures of neighbourhoods and distances. None means the numbers given above.
    random_state : int, RandomState or None, default=0
        Draws the rows.
    unlabeled : label or None, default=-1
        Label of points without a class, in addition to NaN and None. None means that there is no such label.
    n_jobs : int or None, default=None
        Threads; None means all.

    Returns
    -------
    DataFrame
        One row per embedding and measure: `embedding`, `measure`, `value`, `error` (0 if exact), `n_neighbors` (missing if the measure
        does not use it), `better` ("higher" or "lower"), `exact`, and `n_rows`, the number of points that were averaged over. ``attrs``
        has the ``seconds`` of each stage and the number of ``unlabelled`` points.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import eigenspan as es
    >>> X, y = load_iris(return_X_y=True)
    >>> found = es.evaluate(X, [es.PCA(2).fit(X), es.LDA(2).fit(X, y)], y, measures=["trustworthiness", "knn_accuracy"])
    >>> found.shape, found.columns.tolist()[:5]
    ((4, 8), ['embedding', 'measure', 'value', 'error', 'n_neighbors'])
    >>> found.sort_values("value").groupby("measure").last().embedding["trustworthiness"]
    'PCA'
    """
    X = as_points(X, "X")
    n = X.shape[0]
    if n < 5:
        raise InputError(f"X has {n} rows; at least 5 are needed to compare embeddings.")
    k = check_neighbours(n_neighbors, (n - 1) // 2, f"less than half of the {n} points")
    wanted = _wanted(measures, y)
    spaces = {name: BlockDistances.of(Y, name=name) for name, Y in named(embeddings, X).items()}
    classes, numbers = (bool(wanted & {*some}) for some in (CLASSES, NUMBERS))
    target = read_target(y, n, classes=classes, numbers=numbers, unlabeled=unlabeled)
    direct = BlockDistances.of(X, metric)
    rows = chosen_rows(n, affordable(n, sample), random_state)
    fewer = chosen_rows(n, _fewer(n, sample), random_state), chosen_rows(n, min(n, _SORTED // _ROWS), random_state)
    with collect() as record, threads(n_jobs):
        found = [*over_rows(direct, spaces, rows, k, wanted)]
        if wanted & {*ORDERS}:
            with stage("sorted distances"):
                found += over_sorted(direct, spaces, *fewer, wanted & {*ORDERS})
        if wanted & {*GRAPHS}:
            with stage("geodesics and their ranks"):
                found += over_sorted(GraphDistances.of(X, metric, k), spaces, *fewer, wanted & {*GRAPHS})
        with stage("labels"):
            found += over_labels(target, spaces, k, wanted & {*CLASSES, *NUMBERS})
    frame = _frame([one for one in found if one.measure in wanted], [*spaces], k)
    frame.attrs = {"seconds": record["seconds"], "unlabelled": target.missing}
    return frame


def _wanted(measures: Iterable[str] | None, y: Any) -> set[str]:
    """Return the requested measures, or all that apply."""
    if measures is None:
        predicted = () if y is None else CLASSES if holds_classes(y) else NUMBERS
        return {*RANKS, *PAIRS, *ORDERS, *GRAPHS, *predicted}
    named = [measures] if isinstance(measures, str) else list(measures)
    for name in named:
        if name not in ALL:
            near = difflib.get_close_matches(str(name), ALL, n=1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise InputError(f"There is no measure {name!r}.{hint} The measures are {', '.join(ALL)}.")
        if name in (*CLASSES, *NUMBERS) and y is None:
            raise InputError(f"The measure {name!r} needs y, the labels or numbers of the points.")
    if not named:
        raise InputError(f"measures is empty: use None for all, or choose from {', '.join(ALL)}.")
    return set(named)


def _fewer(n: int, sample: int | None) -> int | None:
    """Return the number of rows whose pairs are sorted; None for all."""
    if sample is not None or n * (n - 1) // 2 <= _SORTED:
        return sample
    return min(n, max(_ROWS, _SORTED // n))


def _frame(found: list[Found], embeddings: list[str], k: int) -> Any:
    """Return a data frame with one row per embedding and measure, in the given order of both."""
    import pandas as pd

    found = sorted(found, key=lambda one: (embeddings.index(one.embedding), ALL.index(one.measure)))
    columns = {name: [getattr(one, name) for one in found] for name in ("embedding", "measure", "value", "error")}
    sizes = [None if one.measure in WITHOUT_NEIGHBOURS else k for one in found]
    return pd.DataFrame(
        {
            **columns,
            "n_neighbors": pd.array(sizes, dtype="Int64"),
            "better": ["lower" if one.measure in LOWER else "higher" for one in found],
            "exact": [one.exact for one in found],
            "n_rows": [one.n_rows for one in found],
        }
    )
