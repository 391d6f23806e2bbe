"""Methods for a few labels among many points."""

from .anchored import Anchored
from .cost_framework import PairCosts
from .eigenmap_prediction import EigenmapClassifier, EigenmapRegressor
from .label_propagation import SDACCCP, SODA
from .scatter_discriminants import MMC, SELF, SELFDA, SSFDA, SSLFDA, SSMMC
from .sda import SDA
from .ssdr import SSDR

__all__ = [
    "MMC",
    "SDA",
    "SDACCCP",
    "SELF",
    "SELFDA",
    "SODA",
    "SSDR",
    "SSFDA",
    "SSLFDA",
    "SSMMC",
    "Anchored",
    "EigenmapClassifier",
    "EigenmapRegressor",
    "PairCosts",
]
