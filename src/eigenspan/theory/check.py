"""`check_theorems`: numerical checks of theorems on the user's data."""

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

#: Largest number of rows; more are sampled.
_ROWS = 2000
#: Smallest number of distinct rows.
_LEAST = 5


def check_theorems(
    X: Any,
    y: Any = None,
    *,
    names: str | Iterable[str] | None = None,
    n_neighbors: int = 10,
    random_state: int = 0,
) -> TheoremReport:
    """Check theorems about relations between methods on data.

    For two methods that are equal by a theorem, both are fitted (or one of them, and its definition is evaluated with dense matrices), and
    the largest principal angle between their subspaces is measured. If possible, rows or dimensions of the data are selected such that the
    condition of the theorem holds (affinely independent rows, dimensions that vary within classes, an axis before a gap in the spectrum).
    Otherwise the report has the number by which the condition fails.

    Cost: a few seconds, and the memory of 2,000 × 2,000 matrices. More than 2,000 rows are sampled; statements about all pairs use up to
    500 rows, and semidefinite programs 30.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        At least five distinct rows.
    y : array-like of shape (n_samples,), optional
        Classes, for statements about labels. NaN and None mark rows without a class.
    names : str or iterable of str, optional
        Names of the theorems to check. None means all.
    n_neighbors : int, default=10
        Neighbours per row in the graph. It is increased until the graph is connected, and at most one less than the number of rows.
    random_state : int, default=0
        Seed for the sample of rows, and for noise that some statements need.

    Returns
    -------
    TheoremReport
        One `TheoremResult` per theorem. It prints as a table, and ``.frame`` is a pandas DataFrame.

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
    """Return the validated rows, dense or sparse, the class codes and the number of rows."""
    refuse_lazy(X)
    values = sp.csr_array(X, dtype=np.float64) if sp.issparse(X) else real_numbers(X, "The entries of X", InputError)
    if values.ndim != 2 or not values.shape[1]:
        raise InputError(
            f"X must be a table with one row per point and one column per feature; got shape {values.shape}."
        )
    entries = values.data if sp.issparse(values) else values
    bad = int(np.size(entries) - np.count_nonzero(np.isfinite(entries)))
    if bad:
        raise InputError(f"X holds {bad} values that are NaN or infinite: fill them in, or leave those rows out.")
    refuse_out_of_range(values)
    n = values.shape[0]
    codes = (
        None if y is None else read_classes(y, n, unlabeled=None, name="A statement about classes", at_least=1).codes
    )
    return values, codes, n


def _prepared(values: Any, codes: Any, k: int, seed: int) -> Data:
    """Return a sample of the distinct rows; if there are more columns than rows, in coordinates of their span."""
    n = values.shape[0]
    if n > _ROWS:
        rows = np.sort(np.random.default_rng(seed).choice(n, _ROWS, replace=False))
        values, codes = values[rows], None if codes is None else codes[rows]
    X = np.asarray(values.toarray() if sp.issparse(values) else values, dtype=np.float64)
    first = np.sort(np.unique(X, axis=0, return_index=True)[1])
    if first.size < _LEAST:
        raise InputError(
            f"X has {first.size} distinct rows of {n}; at least {_LEAST} are needed to compare embeddings."
        )
    X = X[first]
    if X.shape[1] > len(X):
        X = X - X.mean(axis=0)
        X = X @ np.linalg.qr(X.T)[0]
    return Data(X, None if codes is None else codes[first], k, seed)


def _run(theorem: Theorem, data: Data) -> TheoremResult:
    """Return the result of a check. An error of a method means that a condition does not hold."""
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EigenspanWarning)  # equality is checked also for poor embeddings
        try:
            found = theorem.check(data)
        except (UnmetError, EigenspanError) as reason:
            return TheoremResult(theorem, False, str(reason), seconds=time.perf_counter() - start)
        except la.LinAlgError:
            return TheoremResult(theorem, False, "the unit form is singular", seconds=time.perf_counter() - start)
    spent = time.perf_counter() - start
    return TheoremResult(
        theorem, True, found.condition, found.degrees, found.relative, found.rows, found.note, found.order, spent
    )
