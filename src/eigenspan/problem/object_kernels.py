"""Kernels of two objects that are not rows of numbers: sets and strings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import numpy as np

from .._checks import whole_number
from ..errors import KernelError


def jaccard_kernel(a: Iterable[Hashable], b: Iterable[Hashable]) -> float:
    """Return the share of the elements of two sets that they have in common, ``|a ∩ b| / |a ∪ b|``.

    It is a positive definite kernel of sets. Use it as ``kernel=`` with a list of sets as X: tags, baskets, words of a text. Two empty sets
    have the value one.

    Cost: O(1) for each element of a and b.

    Parameters
    ----------
    a, b : set, or iterable of hashable elements

    Returns
    -------
    float

    Examples
    --------
    >>> from eigenspan import KernelPCA, jaccard_kernel
    >>> jaccard_kernel({"milk", "tea"}, {"tea", "jam"}) == 1 / 3
    True
    >>> baskets = [{"milk", "tea"}, {"tea", "jam"}, {"jam", "bread"}, {"bread"}]
    >>> KernelPCA(2, kernel=jaccard_kernel).fit_transform(baskets).shape
    (4, 2)

    References
    ----------
    Gower (1971), A general coefficient of similarity and some of its properties.
    """
    for each in (a, b):
        if isinstance(each, str | bytes):
            raise KernelError(
                f"jaccard_kernel compares sets, and {each!r:.40} is text. Pass set(text), or use spectrum_kernel."
            )
    one, two = _elements(a), _elements(b)
    union = len(one | two)
    return len(one & two) / union if union else 1.0


def spectrum_kernel(a: Sequence[Any], b: Sequence[Any], k: int = 3) -> float:
    """Return the cosine between the counts of the k-mers of two strings, their pieces of k successive letters.

    .. math:: \\frac{\\sum_u n_u(a)\\, n_u(b)}{\\sqrt{\\sum_u n_u(a)^2 \\, \\sum_u n_u(b)^2}}

    It is a positive semidefinite kernel of strings. Use it as ``kernel=`` with a list of strings as X: sequences of proteins or DNA, names,
    short texts; ``functools.partial(spectrum_kernel, k=4)`` sets k. A string shorter than k has no pieces: its value with others is zero,
    and with itself too.

    Cost: O(k) for each letter of a and b.

    Parameters
    ----------
    a, b : str, or sequence of hashable elements
    k : int, default=3
        Length of the pieces.

    Returns
    -------
    float

    Examples
    --------
    >>> from eigenspan import KernelPCA, spectrum_kernel
    >>> round(spectrum_kernel("banana", "bandana"), 3)
    0.548
    >>> KernelPCA(2, kernel=spectrum_kernel).fit_transform(["banana", "bandana", "ananas", "pineapple", "apple"]).shape
    (5, 2)

    References
    ----------
    Leslie, Eskin & Noble (2002), The spectrum kernel: a string kernel for SVM protein classification.
    """
    k = whole_number(k, "k")
    one, two = _pieces(a, k), _pieces(b, k)
    size = float(np.sqrt(_product(one, one) * _product(two, two)))
    return _product(one, two) / size if size else 0.0


def _elements(a: Iterable[Hashable]) -> set[Hashable]:
    try:
        return set(a)
    except TypeError as failure:
        raise KernelError(
            f"jaccard_kernel compares sets of hashable elements, and {a!r:.40} cannot be read as one: {failure}."
        ) from None


def _pieces(text: Sequence[Any], k: int) -> Counter[Any]:
    try:
        whole = text if isinstance(text, str | bytes) else tuple(text)
        return Counter(whole[i : i + k] for i in range(len(whole) - k + 1))
    except TypeError as failure:
        raise KernelError(
            f"spectrum_kernel compares strings, or sequences of hashable elements, and {text!r:.40} is neither: {failure}."
        ) from None


def _product(one: Counter[Any], two: Counter[Any]) -> float:
    return float(sum(count * two[piece] for piece, count in one.items() if piece in two))
