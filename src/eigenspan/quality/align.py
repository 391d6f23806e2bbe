"""The rotation, shift and scale that bring one configuration of points closest to another."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..solvers import dense
from .refits import Array


@dataclass(frozen=True, eq=False)
class Alignment:
    """``y -> s (y − a) R + b``."""

    rotation: Array
    scale: float
    origin: Array
    target: Array

    def __call__(self, Y: Array) -> Array:
        return self.scale * (Y - self.origin) @ self.rotation + self.target


def align(Y: Array, onto: Array) -> Alignment:
    """Of least squared distance between the points of Y, moved, and the points `onto` of the same order and number of axes."""
    a, b = Y.mean(axis=0), onto.mean(axis=0)
    A, B = Y - a, onto - b
    R = dense.nearest_rotation(A.T @ B)
    size = float(np.sum(A**2))
    return Alignment(R, float(np.sum((A @ R) * B)) / size if size else 1.0, a, b)
