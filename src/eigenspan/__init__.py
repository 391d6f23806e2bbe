"""Spectral dimension reduction: most methods are solved as one trace-optimisation problem.

Methods
    variance        PCA, KernelPCA, PPCA, MixturePPCA, OrientedPCA, DistortionDiscriminantAnalysis, PDDP
    pursuit         ProjectionPursuit, ProjectionPursuitRegression, KernelICA, PrincipalCurve
    distances       ClassicalMDS, LandmarkMDS, Isomap, LandmarkIsomap, KernelIsomap, OrdinalIsomap
    laplacian       LaplacianEigenmaps, DiffusionMap, CommuteTimeEmbedding, SpectralClustering, LPP, OLPP
    reconstruction  LLE, ConformalEigenmaps, NPP, ONPP
    alignment       ModifiedLLE, HessianLLE, LTSA, LLTSA, GeodesicNullspaceAnalysis
    discriminant    LDA, LFDA, MFA, DNE, LDE, MMC, SupervisedPCA, RoweisDA, SupervisedNonlinearLocalEmbedding
    semi-supervised SSLFDA, SSDNE, SSMFA, SSFDA, SSMMC, SELF, SELFDA, SDA, SDACCCP, SODA, SSDR
    sufficient      SIR, SAVE, DirectionalRegression, PHD, ContourRegression, LAD, GradientKDR, KDR, ManifoldKDR, ContingencySDR
    unfolding       MVU, LandmarkMVU, RelaxedMVU, LaplacianMVU, ActionRespectingEmbedding, SupervisedMVU, SMVU1, SMVU2, ColoredMVU,
                    MaximumCovarianceUnfolding, UnfoldingCertificate
    two views       CCA, KernelCCA, MultiviewCCA
    kernel learning KernelLearner, AffinityLearner, complete_kernel, low_rank_kernel, LowRankKernel,
                    order_constrained_kernel, OrderedKernel
    few labels      EigenmapRegressor, EigenmapClassifier
    known positions Anchored
    custom          TraceReducer, PairCosts, GraphEmbeddingFramework, External
Specifications
    graphs          KNN, Radius, MST
    weights         Binary, Heat, LocalScaling, Cosine, Powered, PathSimilarity
    kernels         Kernel, HeatKernel, CommuteTimeKernel, ReconstructionKernel, jaccard_kernel, spectrum_kernel
    landmarks       Landmarks
    new points      SmoothedEigenfunctions, NormalizedKernels
Before and after an embedding
    dimension       intrinsic_dimension, check_distances
    quality         evaluate, compare
Choosing parameters
    labels          SemiSupervisedKFold, LabelledOnly, RegularizedSearch
Why methods agree
    kernels         equivalent_kernel, EquivalentKernel, nystrom, NystromKernel, nearest_psd, dot_products
    theorems        check_theorems, Theorem, TheoremResult, TheoremReport
Tables
    methods, make, find
Files
    save, load
Other libraries
    to_anndata
"""

from typing import TYPE_CHECKING

from .graphs import KNN, MST, Binary, Cosine, Heat, Landmarks, LocalScaling, Powered, Radius
from .graphs.weights.path_similarity import PathSimilarity
from .learning import (
    AffinityLearner,
    KernelLearner,
    LowRankKernel,
    OrderedKernel,
    complete_kernel,
    low_rank_kernel,
    order_constrained_kernel,
)
from .methods.alignment import LLTSA, LTSA, GeodesicNullspaceAnalysis, HessianLLE, ModifiedLLE
from .methods.discriminant import DNE, LDA, LDE, LFDA, MFA, RoweisDA, SupervisedNonlinearLocalEmbedding, SupervisedPCA
from .methods.discriminant.margins import SSDNE, SSMFA
from .methods.distances import ClassicalMDS, Isomap, KernelIsomap, LandmarkIsomap, LandmarkMDS, OrdinalIsomap
from .methods.external import External
from .methods.graph_embedding_framework import GraphEmbeddingFramework
from .methods.laplacian import LPP, OLPP, CommuteTimeEmbedding, DiffusionMap, LaplacianEigenmaps, SpectralClustering
from .methods.pursuit import KernelICA, PrincipalCurve, ProjectionPursuit, ProjectionPursuitRegression
from .methods.reconstruction import LLE, NPP, ONPP, ConformalEigenmaps
from .methods.registry import find, make
from .methods.semi_supervised import (
    MMC,
    SDA,
    SDACCCP,
    SELF,
    SELFDA,
    SODA,
    SSDR,
    SSFDA,
    SSLFDA,
    SSMMC,
    Anchored,
    EigenmapClassifier,
    EigenmapRegressor,
    PairCosts,
)
from .methods.sufficient import (
    KDR,
    LAD,
    PHD,
    SAVE,
    SIR,
    ContingencySDR,
    ContourRegression,
    DirectionalRegression,
    GradientKDR,
    ManifoldKDR,
)
from .methods.trace_reducer import TraceReducer
from .methods.two_views import CCA, KernelCCA, MultiviewCCA
from .methods.unfolding import (
    MVU,
    SMVU1,
    SMVU2,
    ActionRespectingEmbedding,
    ColoredMVU,
    LandmarkMVU,
    LaplacianMVU,
    MaximumCovarianceUnfolding,
    RelaxedMVU,
    SupervisedMVU,
    UnfoldingCertificate,
)
from .methods.variance import PCA, PDDP, PPCA, DistortionDiscriminantAnalysis, KernelPCA, MixturePPCA, OrientedPCA
from .problem import Kernel
from .problem.extensions import (
    CommuteTimeKernel,
    HeatKernel,
    NormalizedKernels,
    ReconstructionKernel,
    SmoothedEigenfunctions,
)
from .problem.object_kernels import jaccard_kernel, spectrum_kernel

if TYPE_CHECKING:
    from .dimension import check_distances, intrinsic_dimension
    from .interop import to_anndata
    from .methods.registry import methods
    from .models import load, save
    from .quality import compare, evaluate
    from .selection import LabelledOnly, RegularizedSearch, SemiSupervisedKFold
    from .theory import (
        EquivalentKernel,
        NystromKernel,
        Theorem,
        TheoremReport,
        TheoremResult,
        check_theorems,
        dot_products,
        equivalent_kernel,
        nearest_psd,
        nystrom,
    )
else:
    from . import methods  # the package itself, which is callable; type checkers do not support that

    #: Names that are imported on first use, because fitting a method does not need them.
    _LATER = {
        "dimension": ("check_distances", "intrinsic_dimension"),
        "forms": (),
        "interop": ("to_anndata",),
        "models": ("load", "save"),
        "quality": ("compare", "evaluate"),
        "selection": ("LabelledOnly", "RegularizedSearch", "SemiSupervisedKFold"),
        "theory": (
            "EquivalentKernel",
            "NystromKernel",
            "Theorem",
            "TheoremReport",
            "TheoremResult",
            "check_theorems",
            "dot_products",
            "equivalent_kernel",
            "nearest_psd",
            "nystrom",
        ),
    }

    def __getattr__(name):
        from importlib import import_module

        home = next((home for home, names in _LATER.items() if name == home or name in names), None)
        if home is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        module = import_module(f"{__name__}.{home}")
        found = module if name == home else getattr(module, name)
        globals()[name] = found
        return found

    def __dir__():
        return sorted({*globals(), *__all__, *_LATER})


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
    "MST",
    "MVU",
    "NPP",
    "OLPP",
    "ONPP",
    "PCA",
    "PDDP",
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
    "AffinityLearner",
    "Anchored",
    "Binary",
    "ClassicalMDS",
    "ColoredMVU",
    "CommuteTimeEmbedding",
    "CommuteTimeKernel",
    "ConformalEigenmaps",
    "ContingencySDR",
    "ContourRegression",
    "Cosine",
    "DiffusionMap",
    "DirectionalRegression",
    "DistortionDiscriminantAnalysis",
    "EigenmapClassifier",
    "EigenmapRegressor",
    "EquivalentKernel",
    "External",
    "GeodesicNullspaceAnalysis",
    "GradientKDR",
    "GraphEmbeddingFramework",
    "Heat",
    "HeatKernel",
    "HessianLLE",
    "Isomap",
    "Kernel",
    "KernelCCA",
    "KernelICA",
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
    "LowRankKernel",
    "ManifoldKDR",
    "MaximumCovarianceUnfolding",
    "MixturePPCA",
    "ModifiedLLE",
    "MultiviewCCA",
    "NormalizedKernels",
    "NystromKernel",
    "OrderedKernel",
    "OrdinalIsomap",
    "OrientedPCA",
    "PairCosts",
    "PathSimilarity",
    "Powered",
    "PrincipalCurve",
    "ProjectionPursuit",
    "ProjectionPursuitRegression",
    "Radius",
    "ReconstructionKernel",
    "RegularizedSearch",
    "RelaxedMVU",
    "RoweisDA",
    "SemiSupervisedKFold",
    "SmoothedEigenfunctions",
    "SpectralClustering",
    "SupervisedMVU",
    "SupervisedNonlinearLocalEmbedding",
    "SupervisedPCA",
    "Theorem",
    "TheoremReport",
    "TheoremResult",
    "TraceReducer",
    "UnfoldingCertificate",
    "check_distances",
    "check_theorems",
    "compare",
    "complete_kernel",
    "dot_products",
    "equivalent_kernel",
    "evaluate",
    "find",
    "intrinsic_dimension",
    "jaccard_kernel",
    "load",
    "low_rank_kernel",
    "make",
    "methods",
    "nearest_psd",
    "nystrom",
    "order_constrained_kernel",
    "save",
    "spectrum_kernel",
    "to_anndata",
]
