"""Theorems on the user's own data."""

from __future__ import annotations

import difflib
import time
import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp

from .._checks import real_numbers, whole_number
from .._diagnostics import collect, stage
from ..data.rows.storage import refuse_out_of_range
from ..data.y import read_classes
from ..errors import EigenspanError, EigenspanWarning, InputError
from ..numerics.memory import refuse_lazy
from .theorem import Theorem, UnmetError, all_theorems
from .theorem_data import Data
from .theorem_report import TheoremReport, TheoremResult

#: Rows that are kept of more.
_ROWS = 2000
#: Distinct rows without which there is nothing to compare.
_LEAST = 5


def check_theorems(
    X: Any,
    y: Any = None,
    *,
    names: str | Iterable[str] | None = None,
    n_neighbors: int = 10,
    random_state: int = 0,
) -> TheoremReport:
    """Run the theorems that join the methods on data: statement, condition, whether it holds here, measured discrepancy.

    Two methods that are said to be equal are both fitted, or one of them and its definition written out with dense matrices, and the
    largest principal angle between their subspaces is measured. Where rows or dimensions of the data can be chosen so that the condition
    holds, they are (affinely independent rows, dimensions that vary within classes, an axis with a gap in the spectrum after it);
    where not, the report says by which number it fails.

    Cost: a few seconds. Of more than 2,000 rows that many are drawn, and statements on all pairs take up to 500, on semidefinite
    programs 30 of these; memory is that of matrices of 2,000 × 2,000.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        At least five distinct rows.
    y : array-like of shape (n_samples,), optional
        Classes, for the statements on labels. NaN and None mark rows without one.
    names : str or iterable of str, optional
        Only these; None runs all.
    n_neighbors : int, default=10
        Of every row in the graph; more where it would fall apart, fewer where there are no more rows.
    random_state : int, default=0
        Draws the rows, and noise where a statement needs some.

    Returns
    -------
    TheoremReport
        With one `TheoremResult` a theorem; prints as a table, and ``.frame`` is a pandas DataFrame.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from eigenspan import check_theorems
    >>> X, y = load_iris(return_X_y=True)
    >>> report = check_theorems(X, y, names=["mds-pca", "lda-lpp-npp"])
    >>> [(result.holds, result.confirmed) for result in report.results]
    [(True, True), (True, True)]
    >>> report.failed
    ()

    References
    ----------
    Kokiopoulou, Chen & Saad (2011), Trace optimization and eigenproblems in dimension reduction methods, §§7–8; Burges (2010),
    Dimension reduction: a guided tour; Ghojogh et al. (2021), unification by kernels.
    """
    wanted = _chosen(names)
    values, codes, given = _read(X, y)
    data = _prepared(
        values, codes, whole_number(n_neighbors, "n_neighbors"), whole_number(random_state, "random_state", 0)
    )
    results = []
    with collect():
        for theorem in wanted:
            with stage(theorem.name):
                results.append(_run(theorem, data))
    return TheoremReport(tuple(results), given, data.n)


def _chosen(names: str | Iterable[str] | None) -> list[Theorem]:
    table = all_theorems()
    if names is None:
        return list(table.values())
    wanted = [names] if isinstance(names, str) else list(names)
    for name in wanted:
        if name not in table:
            near = difflib.get_close_matches(str(name), table, n=1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise InputError(f"There is no theorem {name!r}.{hint} The names are {', '.join(table)}.")
    return [table[name] for name in dict.fromkeys(wanted)]


def _read(X: Any, y: Any) -> tuple[Any, Any, int]:
    """Rows, dense or sparse, class codes and the number of rows."""
    refuse_lazy(X)
    values = sp.csr_array(X, dtype=np.float64) if sp.issparse(X) else real_numbers(X, "The entries of X", InputError)
    if values.ndim != 2 or not values.shape[1]:
        raise InputError(
            f"X must be a table, a row for each point and a column for each feature; got shape {values.shape}."
        )
    entries = values.data if sp.issparse(values) else values
    bad = int(np.size(entries) - np.count_nonzero(np.isfinite(entries)))
    if bad:
        raise InputError(
            f"X holds {bad} values that are NaN or infinite, and no method here takes such rows: fill them in, or leave the rows out."
        )
    refuse_out_of_range(values)
    n = values.shape[0]
    codes = None if y is None else read_classes(y, n, unlabeled=None, name="A statement on classes", at_least=1).codes
    return values, codes, n


def _prepared(values: Any, codes: Any, k: int, seed: int) -> Data:
    """Some of the rows where there are many, distinct, and in their span where that has fewer dimensions than there are columns."""
    n = values.shape[0]
    if n > _ROWS:
        rows = np.sort(np.random.default_rng(seed).choice(n, _ROWS, replace=False))
        values, codes = values[rows], None if codes is None else codes[rows]
    X = np.asarray(values.toarray() if sp.issparse(values) else values, dtype=np.float64)
    first = np.sort(np.unique(X, axis=0, return_index=True)[1])
    if first.size < _LEAST:
        raise InputError(
            f"X has {first.size} distinct rows of {n}: at least {_LEAST} are needed to compare embeddings of them."
        )
    X = X[first]
    if X.shape[1] > len(X):
        X = X - X.mean(axis=0)
        X = X @ np.linalg.qr(X.T)[0]
    return Data(X, None if codes is None else codes[first], k, seed)


def _run(theorem: Theorem, data: Data) -> TheoremResult:
    """What the check measures; a refusal by a method says that a condition does not hold."""
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EigenspanWarning)  # equal is not the same as useful
        try:
            found = theorem.check(data)
        except (UnmetError, EigenspanError) as reason:
            return TheoremResult(theorem, False, str(reason), seconds=time.perf_counter() - start)
        except la.LinAlgError:
            return TheoremResult(
                theorem, False, "a scatter that is the unit is singular", seconds=time.perf_counter() - start
            )
    spent = time.perf_counter() - start
    return TheoremResult(
        theorem, True, found.condition, found.degrees, found.relative, found.rows, found.note, found.order, spent
    )
