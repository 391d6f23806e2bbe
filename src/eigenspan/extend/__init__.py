"""New points for implicit methods. Each extension turns a training embedding and its spectrum into a `Map`."""

from .barycentric import Barycentric, BarycentricRows
from .gram import DistanceGram, FactorExtension, GeodesicGram, GramExtension, half_squares
from .walk import Walk, WalkRows

__all__ = [
    "Barycentric",
    "BarycentricRows",
    "DistanceGram",
    "FactorExtension",
    "GeodesicGram",
    "GramExtension",
    "Walk",
    "WalkRows",
    "half_squares",
]
