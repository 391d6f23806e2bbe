"""Validation of tables of numbers: the checks of scikit-learn, and errors for tables that it would convert silently."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from .._checks import kinds_of, refuse_complex, refuse_no_table
from .._compat import BaseEstimator, validated
from .._types import Matrix, TableLike
from ..errors import InputError
from ..numerics.memory import refuse_lazy


def checked_rows(
    estimator: BaseEstimator,
    X: TableLike,
    sparse: bool = False,
    missing: Literal["refuse", "allow"] = "refuse",
    *,
    finite: bool = True,
    dtype: type | tuple[type, ...] = (np.float64, np.float32),
    reset: bool = True,
    least: int = 1,
) -> Matrix:
    """Return X as an array or a CSR matrix of numbers, as scikit-learn validates it. Raise also where scikit-learn would convert silently.

    Parameters
    ----------
    sparse : bool
        Sparse X is accepted.
    missing : {"refuse", "allow"}
        What to do with NaN.
    finite : bool
        Look for NaN and infinity.
    reset : bool
        Remember the number and names of the columns on the estimator, instead of comparing them.
    least : int
        Smallest number of rows.
    """
    refuse_lazy(X)
    refuse_disguised(X)
    refuse_equal_names(X)
    formats, allowed = "csr" if sparse else False, finite if missing == "refuse" else "allow-nan"
    rule: dict[str, Any] = {"dtype": dtype, "accept_sparse": formats, "ensure_all_finite": allowed}
    try:
        with np.errstate(over="ignore", invalid="ignore"):  # scikit-learn sums X to find values that are not finite
            return validated(estimator, X, reset=reset, ensure_min_samples=least, **rule)
    except ValueError:
        _explain_refusal(X)
        raise


def refuse_disguised(X: Any) -> None:
    """Raise if X is no table, or if numpy would convert it to numbers of another meaning: masked values, complex numbers, dates."""
    if X is not None:
        refuse_no_table(X)
    if np.ma.isMaskedArray(X):
        raise InputError(
            f"X is a masked array, with {int(np.ma.count_masked(X))} of {X.size} values masked, and what lies under a mask would be taken "
            "for data: pass X.filled(np.nan), or fill the values in first."
        )
    kinds = kinds_of(X)
    refuse_complex(kinds, "X", InputError)
    if any(getattr(kind, "kind", "") in "mM" and getattr(kind, "kind", "") for kind in kinds):
        raise InputError(
            "X holds dates or times, whose size depends on their unit: turn them into numbers that mean something first."
        )


def refuse_equal_names(X: Any) -> None:
    """Raise if two columns share a name: columns of new rows are matched by name."""
    names = getattr(X, "columns", None)
    if names is None or getattr(names, "is_unique", True):
        return
    twice = [repr(name) for name in names[names.duplicated()].unique()]
    listed = ", ".join(twice[:5]) + (", …" if len(twice) > 5 else "")
    raise InputError(
        f"X has {len(names)} columns with {names.nunique()} different names: {listed} occur more than once, and columns are matched by "
        "name. Rename them, or pass X.to_numpy()."
    )


def _explain_refusal(X: Any) -> None:
    """Raise an error that names the reason why X could not be converted to numbers, if it is known."""
    if X is None:
        raise InputError("X is None: pass a table of numbers with one row per point.") from None
    if getattr(X, "shape", ())[1:] == (0,):
        raise InputError(
            f"Found array with 0 feature(s) (shape={X.shape}) while a minimum of 1 is required: the table has no columns."
        ) from None
    kinds = kinds_of(X)
    others = [j for j, kind in enumerate(kinds) if getattr(kind, "kind", "O") not in "biufc"]
    if hasattr(X, "columns"):
        count, columns = len(kinds), [(j, X.iloc[:, j] if hasattr(X, "iloc") else X[:, j]) for j in others]
    else:
        values = np.array(X, dtype=object) if others or not kinds else np.empty(0)
        count, columns = values.shape[-1], list(enumerate(values.T)) if values.ndim == 2 else []
    words = {j: word for j, column in columns if (word := next(filter(_is_word, column), None)) is not None}
    if words:
        j, word = next(iter(words.items()))
        name = repr(X.columns[j]) if hasattr(X, "columns") else j
        raise InputError(
            f"Column {name} of X holds text, such as {str(word)!r:.40}, as do {len(words)} of {count} columns in all, and numbers are "
            "needed: leave such columns out, or turn them into numbers (pandas.get_dummies, OneHotEncoder)."
        ) from None


def _is_word(value: object) -> bool:
    """Return True for text that cannot be converted to a number."""
    if not isinstance(value, str | bytes):
        return False
    try:
        float(value)
    except ValueError:
        return True
    return False
