"""Scatter forms: total variance, and variance between and within classes. All are diagonal plus low rank, never n×n.

Each takes the classes of a sample (``sample.y``) or the class codes of all rows, −1 for those without a label. Forms of classes are
restricted to features from sums over the rows, so rows may be in a file, on a cluster, or no longer available.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..._types import Index
from ..form import ClassesOrCodes, Form, Scatter, diagonal, scatter_form
from .pair_weights import class_graph


def centring(n: int) -> Form:
    """Return ``H = I − 11ᵀ/n``: total variance. PSD, H1 = 0.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenspan.forms import centring
    >>> y = np.array([1.0, 2.0, 6.0])
    >>> float(y @ (centring(3) @ y)), float(3 * y.var())
    (14.0, 14.0)
    """
    part = Scatter("everyone", None, lambda codes: _total(np.zeros(n, dtype=np.intp)))
    return Form(n, pairs=((1.0, part),), psd=True, kills_constant=True)


def class_average(codes: Index) -> Form:
    """Return ``H_class = ⊕ 11ᵀ/n_k``: variance of the class means (about the origin). PSD; does not kill the constant."""
    return class_graph(codes)


def between(classes: ClassesOrCodes) -> Form:
    """Return ``H_class − 11ᵀ/n`` over the labelled points: variance of the class means about the labelled mean. PSD, kills the constant.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenspan.forms import between
    >>> y, codes = np.array([1.0, 3.0, 3.5]), np.array([0, 0, 1])
    >>> round(float(y @ (between(codes) @ y)), 3)
    1.5
    """
    return scatter_form("between", classes, _between, kills_constant=True)


def within(classes: ClassesOrCodes) -> Form:
    """Return ``I − H_class`` on the labelled points: variance about the class means. PSD, kills the constant.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenspan.forms import within
    >>> y, codes = np.array([1.0, 3.0, 3.5]), np.array([0, 0, 1])
    >>> round(float(y @ (within(codes) @ y)), 3)
    2.0
    """
    return scatter_form("within", classes, _within, kills_constant=True)


def total(classes: ClassesOrCodes) -> Form:
    """Return ``between + within``: variance of the labelled points about their mean. PSD, kills the constant.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenspan.forms import total
    >>> y, codes = np.array([1.0, 3.0, 3.5]), np.array([0, 0, 1])
    >>> round(float(y @ (total(codes) @ y)), 3)
    3.5
    """
    return scatter_form("total", classes, _total, kills_constant=True)


def _between(codes: Index) -> Form:
    return replace(class_graph(codes) - _mean(codes), psd=True, kills_constant=True)


def _within(codes: Index) -> Form:
    return replace(diagonal((codes >= 0).astype(float)) - class_graph(codes), psd=True, kills_constant=True)


def _total(codes: Index) -> Form:
    return replace(diagonal((codes >= 0).astype(float)) - _mean(codes), psd=True, kills_constant=True)


def _mean(codes: Index) -> Form:
    """Return ``11ᵀ/n`` over the labelled points."""
    ones = (codes >= 0).astype(float)
    return Form(codes.size, low_rank=(ones[:, None], np.array([1.0 / ones.sum()])), psd=True)
