"""Forms from matrices and functions of users, after validation."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias, get_args

import numpy as np
import scipy.sparse as sp

from ..._checks import real_numbers
from ..._parameters import ArrayLike, Function, TypeName
from ..._types import Array, Matrix
from ...errors import EigenspanError, InputError, MemoryLimitError
from ...numerics.factor import analyse
from ...numerics.nearest.pair_matrices import Asymmetry, PairTolerance, averaged
from ..form import Form

#: Constraints of a parameter that is a symmetric matrix over the samples: a function of the points and y that returns one, a form, a
#: sparse matrix or an array.
GIVEN_FORM: tuple[Any, ...] = (Function(2), Form, "sparse matrix", get_args(ArrayLike)[1])
GivenForm: TypeAlias = Annotated[Any, *GIVEN_FORM, TypeName("Form", "array", "sparse matrix", "callable")]

#: Shares of the norm up to which a row sum is zero, and by which eigenvalues may lie below zero.
_ZERO, _NEGATIVE = 1e-10, 1e-10


def as_form(matrix: Matrix, n: int | None = None, what: str = "A form") -> Form:
    """Return a symmetric matrix over the samples as a form, after validation.

    ``psd`` and ``kills_constant`` are determined from the numbers, by a factorisation where dominant diagonals do not show it.

    Parameters
    ----------
    matrix : array-like, sparse matrix or Form
        Symmetric, of shape (n, n). A `Form` is checked and returned as it is.
    n : int, optional
        The number of samples that the matrix must have.
    what : str, default="A form"
        The subject of messages.

    Returns
    -------
    Form

    Examples
    --------
    >>> import numpy as np
    >>> from eigenspan.forms import as_form
    >>> L = as_form(np.array([[1.0, -1.0], [-1.0, 1.0]]))
    >>> L.psd, L.kills_constant
    (True, True)
    """
    if isinstance(matrix, Form):
        return _checked(matrix, n, what)
    sparse = sp.issparse(matrix)
    M: Any = sp.csr_array(matrix) if sparse else real_numbers(matrix, what, InputError)
    if M.ndim != 2 or M.shape[0] != M.shape[1] or M.shape[0] != (n or M.shape[0]):
        size = "square" if n is None else f"{n}×{n}, a row and a column for every sample"
        raise InputError(f"{what} must be {size}; got shape {M.shape}.")
    M = sp.csr_array((real_numbers(M.data, what, InputError), M.indices, M.indptr), shape=M.shape) if sparse else M
    M = _symmetric(M, what)
    form = Form(M.shape[0], sparse=M) if sparse else Form(M.shape[0], dense=M)
    bound = abs(M).sum(axis=1)
    kills = bool(np.all(np.abs(form.ones()) <= _ZERO * bound)) and bool(np.any(bound))
    return Form(form.n, sparse=form.sparse, dense=form.dense, psd=_is_psd(M, bound), kills_constant=kills)


def form_of(given: Any, points: Matrix, y: Any, n: int, what: str = "A form") -> Form:
    """Return the form of a user over n samples: a `Form`, a matrix, or what a function of the points and y returns."""
    if callable(given) and not isinstance(given, Form):
        name = f"{given!r:.80}"
        try:
            given = given(points, y)
        except EigenspanError:
            raise
        except Exception as failure:
            raise InputError(
                f"The form {name} raised {type(failure).__name__} ({failure}): it is called with the {n} points and y, and must return a "
                "Form or a symmetric matrix over them."
            ) from failure
    if not isinstance(given, Form) and np.ndim(given) != 2 and not sp.issparse(given):
        raise InputError(f"{what} must be a Form or a symmetric matrix over the {n} samples; got {given!r:.80}.")
    return as_form(given, n, what)


def _checked(form: Form, n: int | None, what: str) -> Form:
    """Return the form itself; raise if it has another size, or values that are not finite."""
    if n is not None and form.n != n:
        raise InputError(f"{what} must be a Form over the {n} samples; got one over {form.n}.")
    with np.errstate(invalid="ignore"):
        unknown = int(np.sum(~np.isfinite(form.ones())))
    if unknown:
        raise InputError(
            f"{unknown} of the {form.n} rows of a form hold values that are NaN or infinite: a form is made of numbers."
        )
    return form


def _symmetric(M: Any, what: str) -> Any:
    """Return a matrix without the asymmetry of rounding errors; raise for a larger one, and for values that are not finite."""
    values = M.data if sp.issparse(M) else M
    if bad := int(np.sum(~np.isfinite(values))):
        raise InputError(f"{what} must hold finite numbers; {bad} of {values.size} entries are NaN or infinite.")
    if not values.size:
        return M
    skew = float(abs(M - M.T).max()) if sp.issparse(M) else Asymmetry.of(M).skew
    if skew > PairTolerance.of(M).difference:
        raise InputError(
            f"{what} must be symmetric, but |m_ij − m_ji| reaches {skew:.3g} where |m_ij| reaches {np.abs(values).max():.3g}. Pass "
            "(M + M.T) / 2."
        )
    if not skew:
        return M
    return sp.csr_array((M + M.T) / 2) if sp.issparse(M) else averaged(M)


def _is_psd(M: Any, bound: Array) -> bool:
    """Return True if no eigenvalue lies below zero by more than rounding: by dominant diagonals, or by the signs of a factor."""
    norm = float(bound.max(initial=0.0))
    diagonal = M.diagonal()
    if np.all(2 * diagonal >= bound * (1 - _ZERO)):
        return True
    if np.any(diagonal < -_NEGATIVE * norm):
        return False
    try:
        if sp.issparse(M):
            lifted = sp.csr_array(M + _NEGATIVE * norm * sp.eye_array(M.shape[0]))
            return analyse(lifted).factorise(lifted).negative == 0
        lifted = M.copy()
        lifted[np.diag_indices_from(lifted)] += _NEGATIVE * norm
        np.linalg.cholesky(lifted)
    except (RuntimeError, MemoryLimitError, np.linalg.LinAlgError):
        return False
    return True
