"""New points for implicit methods. Each extension turns a training embedding and its spectrum into a `Map`."""

from .barycentric import Barycentric, BarycentricRows
from .gram import DistanceGram, FactorExtension, GeodesicGram, GramExtension, half_squares
from .graph_kernels import CommuteTimeKernel, HeatKernel, ReconstructionKernel
from .smoother import eigenfunctions, kernel_map
from .smoother_specs import NormalizedKernels, SmoothedEigenfunctions
from .walk import Walk, WalkRows, rows_of_walk

__all__ = [
    "Barycentric",
    "BarycentricRows",
    "CommuteTimeKernel",
    "DistanceGram",
    "FactorExtension",
    "GeodesicGram",
    "GramExtension",
    "HeatKernel",
    "NormalizedKernels",
    "ReconstructionKernel",
    "SmoothedEigenfunctions",
    "Walk",
    "WalkRows",
    "eigenfunctions",
    "half_squares",
    "kernel_map",
    "rows_of_walk",
]
