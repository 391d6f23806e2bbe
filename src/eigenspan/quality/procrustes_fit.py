"""Alignment of two embeddings of the same points."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..numerics.eigen.dense import nearest_rotation
from ._check import as_points

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Procrustes:
    """The best fit of one set of points to another, ``aligned = scale · B @ rotation + shift``.

    Attributes
    ----------
    disparity : float
        Residual sum of squares, relative to that of the target about its mean: 0 for the same shape; at most 1 with a scale.
    rotation : ndarray of shape (d, d)
        Orthogonal matrix, possibly with a reflection. d is the larger number of columns; the other set is padded with zeros.
    scale : float
    shift : ndarray of shape (d,)
    aligned : ndarray of shape (n_samples, d)
    """

    disparity: float
    rotation: Array
    scale: float
    shift: Array
    aligned: Array

    def __call__(self, Y: Array) -> Array:
        """Apply the same transformation to other points of B's space."""
        return self.scale * _filled(Y, len(self.rotation)) @ self.rotation + self.shift


def procrustes(A: Any, B: Any, *, scale: bool = True) -> Procrustes:
    """Align the points B with A by a rotation or reflection, a shift and a scale.

    .. math:: \\min_{s, R, t} \\lVert A - (s B R + 1 t^T) \\rVert_F^2 \\,/\\, \\lVert A - \\bar A \\rVert_F^2, \\qquad R^T R = I

    Use it to compare two embeddings, or an embedding with the ground truth, if order, sign and unit of the axes are arbitrary. With a
    scale, the disparity is symmetric in A and B.

    Cost: O(nd² + d³).

    Parameters
    ----------
    A : array-like of shape (n_samples, n_components)
        The target.
    B : array-like of shape (n_samples, n_components')
        The points to align, in the same order.
    scale : bool, default=True
        Fit a common factor too.

    Returns
    -------
    Procrustes

    Examples
    --------
    >>> import numpy as np
    >>> from eigenspan.quality import procrustes
    >>> A = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 1.0]])
    >>> fit = procrustes(A, 5 - 3 * A[:, ::-1])
    >>> round(fit.disparity, 12), round(fit.scale, 3)
    (0.0, 0.333)

    References
    ----------
    Gower (1975).
    """
    A, B = (as_points(points, name) for points, name in ((A, "A"), (B, "B")))
    if A.shape[0] != B.shape[0]:
        raise InputError(f"A has {A.shape[0]} rows and B has {B.shape[0]}: both must have the same rows.")
    width = max(A.shape[1], B.shape[1])
    A, B = (_filled(points, width) for points in (A, B))
    mean_A, mean_B = A.mean(axis=0), B.mean(axis=0)
    target, moved = A - mean_A, B - mean_B
    size = float(np.vdot(target, target))
    for points, name in ((target, "A"), (moved, "B")):
        if not np.any(points):
            raise InputError(f"All {len(points)} points of {name} coincide: there is no shape to compare.")
    M = moved.T @ target
    R = nearest_rotation(M)
    factor = float(np.vdot(R, M) / np.vdot(moved, moved)) if scale else 1.0
    shift = mean_A - factor * mean_B @ R
    left = target - factor * moved @ R
    return Procrustes(float(np.vdot(left, left)) / size, R, factor, shift, factor * B @ R + shift)


def _filled(points: Any, width: int) -> Array:
    dense = points if isinstance(points, np.ndarray) else points.toarray()
    return np.pad(dense, ((0, 0), (0, width - dense.shape[1])))
