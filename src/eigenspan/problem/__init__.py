"""The trace-optimisation core: forms, bases, problems, spectra, scales and maps.

graph or kernel -> quadratic forms on the samples -> trace problem in a basis -> spectrum -> map
"""

from .basis import Features, Samples, Scatters
from .direct_sum import DirectSum, cross_form
from .fitted import Axes, Fitted, spectral_attributes, warn_of_flat_axes
from .form import Form, diagonal, factor_gram, gram, identity
from .kernels import Kernel, KernelRows, gram_matrix, kernel_rows
from .map import Map, Raw
from .nystrom import NystromFeatures
from .pairwise import Pairwise
from .pose import Posed, TraceProblem, TraceRatio, as_solved, pose, share_of, solve, with_ridge
from .scale import AxisWeights, Diffusion, InverseSqrt, RatioWeights, SqrtEigenvalue, Unit, UnitCovariance, Whitened
from .spectrum import Spectrum, orientation_of, sign_of

__all__ = [
    "Axes",
    "AxisWeights",
    "Diffusion",
    "DirectSum",
    "Features",
    "Fitted",
    "Form",
    "InverseSqrt",
    "Kernel",
    "KernelRows",
    "Map",
    "NystromFeatures",
    "Pairwise",
    "Posed",
    "RatioWeights",
    "Raw",
    "Samples",
    "Scatters",
    "Spectrum",
    "SqrtEigenvalue",
    "TraceProblem",
    "TraceRatio",
    "Unit",
    "UnitCovariance",
    "Whitened",
    "as_solved",
    "cross_form",
    "diagonal",
    "factor_gram",
    "gram",
    "gram_matrix",
    "identity",
    "kernel_rows",
    "orientation_of",
    "pose",
    "share_of",
    "sign_of",
    "solve",
    "spectral_attributes",
    "warn_of_flat_axes",
    "with_ridge",
]
