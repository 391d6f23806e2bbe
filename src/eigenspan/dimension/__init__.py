"""Estimates of the intrinsic dimension of data, and the dimension of a table of distances."""

from .distance_check import DistanceCheck, EntryFault, check_distances
from .estimate import intrinsic_dimension
from .result import Curve, Dimension, Dimensions

__all__ = ["Curve", "Dimension", "Dimensions", "DistanceCheck", "EntryFault", "check_distances", "intrinsic_dimension"]
