"""Principal component analysis and its relatives: PCA, kernel PCA, probabilistic PCA, oriented PCA, PDDP."""

from .distortion_discriminant import DistortionDiscriminantAnalysis
from .kernel_pca import KernelPCA
from .mixture_ppca import MixturePPCA
from .oriented_pca import OrientedPCA
from .pca import PCA
from .pddp import PDDP
from .ppca import PPCA

__all__ = ["PCA", "PDDP", "PPCA", "DistortionDiscriminantAnalysis", "KernelPCA", "MixturePPCA", "OrientedPCA"]
