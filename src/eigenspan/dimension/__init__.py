"""Estimates of the intrinsic dimension of data."""

from .estimate import intrinsic_dimension
from .result import Curve, Dimension, Dimensions

__all__ = ["Curve", "Dimension", "Dimensions", "intrinsic_dimension"]
