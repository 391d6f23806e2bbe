"""Signs and rotations of axes: one rule for what an eigenproblem leaves open.

An eigenvector has no sign, and eigenvectors of one eigenvalue have no rotation of their own: solvers return whichever their rounding
errors led to, and other processors, BLAS libraries and numbers of threads round differently. The rule here looks at the span of
the axes only, in coordinates that every machine has in common (the samples, or the features as they were given).

Go through the rows of the axes. The *leading row* is the longest one; rows that are shorter by a factor of less than `EQUAL` count as long
as it, and the first of them leads. Turn the axes so that the leading row lies along the first axis, on its positive side. Continue with
what is left of the rows beside the first axis. For a single axis this is the rule of signs: the entry of largest magnitude
is positive, and the first one of several that are equal.

The result depends on the projector onto the span alone, and continuously so unless a row is shorter than the longest by the factor
``1 − EQUAL`` to within rounding errors. Without a tolerance this would happen wherever the data have a symmetry, since then several rows
are equally long but for rounding errors. `EQUAL` is far above these, in single precision too, and any value between would do.
Permuting the samples permutes the embedding, unless several rows are equally long: then another one may come first, and axes may change
their sign or, where they share an eigenvalue, their rotation.
"""

from __future__ import annotations

import numpy as np

from .._types import Array

#: Relative distance below which neighbouring eigenvalues coincide.
TIED = 1e-8
#: Relative difference below which two lengths count as equal: above rounding in single precision and what solvers leave, 1e-6.
EQUAL = 1e-4
#: Share of the longest row below which nothing but rounding is left of the rows.
_NOTHING = 1e-12


def sign_of(Y: Array) -> Array:
    """±1 for each column: the sign that makes its entry of largest magnitude positive, the first one of those that are equal."""
    if Y.shape[0] == 0:
        return np.ones(Y.shape[1])
    size = np.abs(Y)
    first = (size >= (1 - EQUAL) * size.max(axis=0)).argmax(axis=0)
    return np.where(Y[first, np.arange(Y.shape[1])] < 0, -1.0, 1.0)


def rotation_of(W: Array) -> Array:
    """The orthogonal R for which ``W R`` has the leading rows in triangular form, positive on its diagonal.

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
        if not lengths.max(initial=0.0) > _NOTHING * longest:  # the rows do not show the other axes: any will do
            beside = np.linalg.qr(R, mode="complete")[0][:, R.shape[1] :]
            return np.column_stack([R, beside])
        r = left[np.argmax(lengths >= (1 - EQUAL) * lengths.max())]
        r = r - R @ (R.T @ r)
        r = r / np.linalg.norm(r)
        left -= np.outer(left @ r, r)
        R = np.column_stack([R, r])
    return R


def relative_gap(last: float, beyond: float, norm: float) -> float:
    """Distance of two neighbouring eigenvalues relative to the larger, zero below rounding of the matrix."""
    distance = abs(beyond - last)
    if distance <= 1e-14 * norm:
        return 0.0
    return distance / max(abs(last), abs(beyond))


def ties_of(values: Array, norm: float) -> list[slice]:
    """The groups of two or more neighbouring eigenvalues of a matrix of this norm that coincide."""
    sizes, apart = np.abs(values), np.abs(np.diff(values))  # `relative_gap` of all neighbours at once
    tied = (apart <= 1e-14 * norm) | (apart < TIED * np.maximum(sizes[1:], sizes[:-1]))
    if not tied.any():
        return []
    groups = np.split(np.arange(values.size), np.flatnonzero(~tied) + 1)
    return [slice(int(group[0]), int(group[-1]) + 1) for group in groups if group.size > 1]


def orientation_of(values: Array, W: Array, norm: float | None = None) -> Array:
    """The orthogonal R for which the axes ``W R`` have the signs, and within equal values the rotations, of the rule.

    Parameters
    ----------
    values : ndarray of shape (d,)
        Eigenvalues or singular values of the axes, in their order.
    W : ndarray of shape (m, d)
        The axes in coordinates that all machines have in common.
    norm : float, optional
        Norm of the matrix they are values of; the largest of them by default.

    Returns
    -------
    ndarray of shape (d, d)
        A diagonal of signs where no values are equal.
    """
    R = np.eye(values.size)
    for group in ties_of(values, float(np.abs(values).max(initial=0.0)) if norm is None else norm):
        R[group, group] = rotation_of(W[:, group])
    return R * sign_of(W @ R)
