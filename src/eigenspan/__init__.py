"""Spectral dimension reduction on one trace-optimisation core.

Methods
    variance        PCA, KernelPCA, PPCA, MixturePPCA, OrientedPCA, DistortionDiscriminantAnalysis
    distances       ClassicalMDS, LandmarkMDS, Isomap, LandmarkIsomap, KernelIsomap
    laplacian       LaplacianEigenmaps, DiffusionMap, CommuteTimeEmbedding, SpectralClustering, LPP, OLPP
    reconstruction  LLE, NPP, ONPP
    alignment       ModifiedLLE, HessianLLE, LTSA, LLTSA
    discriminant    LDA, LFDA, MFA, DNE, LDE, MMC, SupervisedPCA, RoweisDA
    semi-supervised SSLFDA, SSDNE, SSMFA, SSFDA, SSMMC, SELF, SELFDA, SDA, SDACCCP, SODA, SSDR
    sufficient      SIR, SAVE, DirectionalRegression, PHD, ContourRegression, LAD, GradientKDR, KDR, ManifoldKDR, ContingencySDR
    unfolding       MVU, LandmarkMVU, RelaxedMVU, LaplacianMVU, ActionRespectingEmbedding, SupervisedMVU, SMVU1, SMVU2, ColoredMVU,
                    UnfoldingCertificate
    two views       CCA, KernelCCA, MultiviewCCA
    kernels learned KernelLearner
    known places    Anchored
    by hand         TraceReducer, External
Specifications
    graphs          KNN, Radius
    weights         Binary, Heat, LocalScaling, Cosine, Powered, PathSimilarity
    kernels         Kernel, HeatKernel, CommuteTimeKernel, ReconstructionKernel
    landmarks       Landmarks
Before and after a picture
    how many dimensions  intrinsic_dimension
    how good, and which  evaluate, compare
Choosing parameters
    labels          SemiSupervisedKFold, LabelledOnly, RegularizedSearch
Why methods agree
    kernels         equivalent_kernel, EquivalentKernel, nearest_psd
    theorems        check_theorems, Theorem, TheoremResult, TheoremReport
Tables
    methods, make
Files
    save, load
Other libraries
    to_anndata
"""

from typing import TYPE_CHECKING

from .core import Kernel
from .dimension import intrinsic_dimension
from .extend import CommuteTimeKernel, HeatKernel, ReconstructionKernel
from .graphs import KNN, Binary, Cosine, Heat, Landmarks, LocalScaling, Powered, Radius
from .graphs.weights.paths import PathSimilarity
from .interop import to_anndata
from .learning import KernelLearner
from .methods.alignment import LLTSA, LTSA, HessianLLE, ModifiedLLE
from .methods.anchored import Anchored
from .methods.clustering import SpectralClustering
from .methods.compose import TraceReducer
from .methods.contingency import ContingencySDR
from .methods.contours import LAD, ContourRegression
from .methods.costs import LFDA
from .methods.dda import DistortionDiscriminantAnalysis
from .methods.discriminant import LDA
from .methods.distances import ClassicalMDS
from .methods.external import External
from .methods.geodesics import Isomap, LandmarkIsomap
from .methods.inverse import PHD, SAVE, SIR, DirectionalRegression
from .methods.kdr import KDR, GradientKDR
from .methods.kernel_cca import KernelCCA
from .methods.kernel_isomap import KernelIsomap
from .methods.laplacian import LPP, OLPP, LaplacianEigenmaps
from .methods.links import SSDR
from .methods.manifold_kdr import ManifoldKDR
from .methods.margins import DNE, LDE, MFA, SSDNE, SSMFA
from .methods.mixture import MixturePPCA
from .methods.multiview import MultiviewCCA
from .methods.oriented import OrientedPCA
from .methods.probabilistic import PPCA
from .methods.propagation import SDACCCP, SODA
from .methods.reconstruction import LLE, NPP, ONPP
from .methods.registry import make
from .methods.sda import SDA
from .methods.semisupervised import MMC, SELF, SELFDA, SSFDA, SSLFDA, SSMMC
from .methods.supervised import RoweisDA, SupervisedPCA
from .methods.triangulation import LandmarkMDS
from .methods.two_views import CCA
from .methods.unfolding import (
    MVU,
    SMVU1,
    SMVU2,
    ActionRespectingEmbedding,
    ColoredMVU,
    LandmarkMVU,
    LaplacianMVU,
    RelaxedMVU,
    SupervisedMVU,
    UnfoldingCertificate,
)
from .methods.variance import PCA, KernelPCA
from .methods.walks import CommuteTimeEmbedding, DiffusionMap
from .models import load, save
from .quality import compare, evaluate
from .selection import LabelledOnly, RegularizedSearch, SemiSupervisedKFold
from .theory import (
    EquivalentKernel,
    Theorem,
    TheoremReport,
    TheoremResult,
    check_theorems,
    equivalent_kernel,
    nearest_psd,
)

if TYPE_CHECKING:
    from .methods.registry import methods
else:
    from . import methods  # the package itself, which can be called; type checkers do not expect that of one

__version__ = "0.1.0"

__all__ = [
    "CCA",
    "DNE",
    "KDR",
    "KNN",
    "LAD",
    "LDA",
    "LDE",
    "LFDA",
    "LLE",
    "LLTSA",
    "LPP",
    "LTSA",
    "MFA",
    "MMC",
    "MVU",
    "NPP",
    "OLPP",
    "ONPP",
    "PCA",
    "PHD",
    "PPCA",
    "SAVE",
    "SDA",
    "SDACCCP",
    "SELF",
    "SELFDA",
    "SIR",
    "SMVU1",
    "SMVU2",
    "SODA",
    "SSDNE",
    "SSDR",
    "SSFDA",
    "SSLFDA",
    "SSMFA",
    "SSMMC",
    "ActionRespectingEmbedding",
    "Anchored",
    "Binary",
    "ClassicalMDS",
    "ColoredMVU",
    "CommuteTimeEmbedding",
    "CommuteTimeKernel",
    "ContingencySDR",
    "ContourRegression",
    "Cosine",
    "DiffusionMap",
    "DirectionalRegression",
    "DistortionDiscriminantAnalysis",
    "EquivalentKernel",
    "External",
    "GradientKDR",
    "Heat",
    "HeatKernel",
    "HessianLLE",
    "Isomap",
    "Kernel",
    "KernelCCA",
    "KernelIsomap",
    "KernelLearner",
    "KernelPCA",
    "LabelledOnly",
    "LandmarkIsomap",
    "LandmarkMDS",
    "LandmarkMVU",
    "Landmarks",
    "LaplacianEigenmaps",
    "LaplacianMVU",
    "LocalScaling",
    "ManifoldKDR",
    "MixturePPCA",
    "ModifiedLLE",
    "MultiviewCCA",
    "OrientedPCA",
    "PathSimilarity",
    "Powered",
    "Radius",
    "ReconstructionKernel",
    "RegularizedSearch",
    "RelaxedMVU",
    "RoweisDA",
    "SemiSupervisedKFold",
    "SpectralClustering",
    "SupervisedMVU",
    "SupervisedPCA",
    "Theorem",
    "TheoremReport",
    "TheoremResult",
    "TraceReducer",
    "UnfoldingCertificate",
    "check_theorems",
    "compare",
    "equivalent_kernel",
    "evaluate",
    "intrinsic_dimension",
    "load",
    "make",
    "methods",
    "nearest_psd",
    "save",
    "to_anndata",
]
