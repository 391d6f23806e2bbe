"""Signs and rotations of axes: a rule for what an eigenproblem does not determine.

Eigenvectors have no determined sign, and eigenvectors of equal eigenvalues have no determined rotation: the result of a solver depends on
rounding errors, which differ between processors, BLAS libraries and numbers of threads. The rule here depends on the span of the axes
only, in coordinates that do not depend on the machine (the samples, or the given features).

The *leading row* of the axes is the longest one; rows that are shorter by a factor of less than `EQUAL` count as equally long, and the
first of them leads. The axes are rotated so that the leading row lies along the first axis, on its positive side. The same is repeated
with the components of the rows orthogonal to the first axis. For a single axis this determines the sign: the entry of largest magnitude is
positive (the first one of several that are equal).

The result is a function of the projector onto the span. It is continuous unless a row is shorter than the longest by the factor
``1 − EQUAL`` to within rounding errors. Without a tolerance it would be discontinuous for all data with a symmetry, because several rows
then have equal lengths up to rounding errors. `EQUAL` is far above these errors, also in single precision; its exact value does not matter.
A permutation of the samples permutes the embedding, unless several rows are equally long: then another one may lead, and axes may change
their sign or, if they have equal eigenvalues, their rotation.
"""

from __future__ import annotations

import numpy as np

from .._types import Array

#: Relative distance below which neighbouring eigenvalues are equal.
TIED = 1e-8
#: Relative difference below which two lengths are equal: above rounding errors in single precision and errors of solvers (1e-6).
EQUAL = 1e-4
#: Share of the longest row below which all remaining components are rounding errors.
_NOTHING = 1e-12


def sign_of(Y: Array) -> Array:
    """Return ±1 for each column: the sign that makes its entry of largest magnitude (the first of equal ones) positive."""
    if Y.shape[0] == 0:
        return np.ones(Y.shape[1])
    size = np.abs(Y)
    first = (size >= (1 - EQUAL) * size.max(axis=0)).argmax(axis=0)
    return np.where(Y[first, np.arange(Y.shape[1])] < 0, -1.0, 1.0)


def rotation_of(W: Array) -> Array:
    """Return the orthogonal R for which the leading rows of ``W R`` are triangular with a positive diagonal.

    Parameters
    ----------
    W : ndarray of shape (m, g)
        Axes of which only the span is determined: for any orthogonal Q, ``rotation_of(W @ Q)`` is ``Q.T @ rotation_of(W)``.

    Returns
    -------
    ndarray of shape (g, g)
    """
    g = W.shape[1]
    left, R = np.array(W, dtype=np.float64), np.zeros((g, 0))
    longest = 0.0
    for _ in range(g):
        lengths = np.linalg.norm(left, axis=1)
        longest = max(longest, float(lengths.max(initial=0.0)))
        if not lengths.max(initial=0.0) > _NOTHING * longest:  # the rows do not determine the other axes
            beside = np.linalg.qr(R, mode="complete")[0][:, R.shape[1] :]
            return np.column_stack([R, beside])
        r = left[np.argmax(lengths >= (1 - EQUAL) * lengths.max())]
        r = r - R @ (R.T @ r)
        r = r / np.linalg.norm(r)
        left -= np.outer(left @ r, r)
        R = np.column_stack([R, r])
    return R


def relative_gap(last: float, beyond: float, norm: float) -> float:
    """Return the distance of two neighbouring eigenvalues relative to the larger, or zero if it is a rounding error of the matrix."""
    distance = abs(beyond - last)
    if distance <= 1e-14 * norm:
        return 0.0
    return distance / max(abs(last), abs(beyond))


def ties_of(values: Array, norm: float) -> list[slice]:
    """Return the groups of two or more equal eigenvalues of a matrix of this norm."""
    sizes, apart = np.abs(values), np.abs(np.diff(values))  # `relative_gap` of all neighbours
    tied = (apart <= 1e-14 * norm) | (apart < TIED * np.maximum(sizes[1:], sizes[:-1]))
    if not tied.any():
        return []
    groups = np.split(np.arange(values.size), np.flatnonzero(~tied) + 1)
    return [slice(int(group[0]), int(group[-1]) + 1) for group in groups if group.size > 1]


def orientation_of(values: Array, W: Array, norm: float | None = None) -> Array:
    """Return the orthogonal R for which the axes ``W R`` have the signs, and within equal values the rotations, of the rule.

    Parameters
    ----------
    values : ndarray of shape (d,)
        Eigenvalues or singular values of the axes, in their order.
    W : ndarray of shape (m, d)
        The axes in coordinates that do not depend on the machine.
    norm : float, optional
        Norm of the matrix with these values; by default the largest of them.

    Returns
    -------
    ndarray of shape (d, d)
        A diagonal matrix of signs if no values are equal.
    """
    R = np.eye(values.size)
    for group in ties_of(values, float(np.abs(values).max(initial=0.0)) if norm is None else norm):
        R[group, group] = rotation_of(W[:, group])
    return R * sign_of(W @ R)
