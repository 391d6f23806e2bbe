"""Methods of reconstruction weights: LLE, NPP, ONPP, conformal eigenmaps."""

from .conformal_eigenmaps import ConformalEigenmaps
from .lle import LLE, NPP, ONPP

__all__ = ["LLE", "NPP", "ONPP", "ConformalEigenmaps"]
