"""Methods of the graph Laplacian: Laplacian eigenmaps, LPP, OLPP, diffusion maps, commute times, spectral clustering."""

from .eigenmaps import LPP, OLPP, LaplacianEigenmaps
from .random_walks import CommuteTimeEmbedding, DiffusionMap
from .spectral_clustering import SpectralClustering

__all__ = ["LPP", "OLPP", "CommuteTimeEmbedding", "DiffusionMap", "LaplacianEigenmaps", "SpectralClustering"]
