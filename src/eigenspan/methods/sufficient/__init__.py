"""Sufficient dimension reduction: inverse regression, contours, kernel dimension reduction, contingency tables."""

from .contingency import ContingencySDR
from .contours import LAD, ContourRegression
from .kdr import KDR, GradientKDR
from .manifold_kdr import ManifoldKDR
from .phd import PHD
from .sir import SAVE, SIR, DirectionalRegression

__all__ = [
    "KDR",
    "LAD",
    "PHD",
    "SAVE",
    "SIR",
    "ContingencySDR",
    "ContourRegression",
    "DirectionalRegression",
    "GradientKDR",
    "ManifoldKDR",
]
