"""Methods that align local models: modified LLE, Hessian LLE, LTSA, LLTSA, geodesic nullspace analysis."""

from .local_models_glued import LLTSA, LTSA, GeodesicNullspaceAnalysis, HessianLLE, ModifiedLLE

__all__ = ["LLTSA", "LTSA", "GeodesicNullspaceAnalysis", "HessianLLE", "ModifiedLLE"]
