"""Unfolding: Gram matrices learned by semidefinite programs over the pairs of a graph.

A method states a `Task`: the pairs whose distances are constrained, the program, and the name of its objective. `unfold` solves and
certifies it with the settings in `SDP`; `unfolded` places the points and makes the map.
"""

from .action_respecting import ActionRespectingEmbedding
from .coloured_mvu import SMVU2, ColoredMVU
from .covariance_unfolding import MaximumCovarianceUnfolding
from .landmark_mvu import LandmarkMVU
from .laplacian_mvu import LaplacianMVU
from .mvu import MVU
from .relaxed_mvu import RelaxedMVU
from .supervised_mvu import SMVU1, SupervisedMVU
from .unfolding_base import Unfolding
from .unfolding_certificate import UnfoldingCertificate

__all__ = [
    "MVU", "SMVU1", "SMVU2", "ActionRespectingEmbedding", "ColoredMVU", "LandmarkMVU", "LaplacianMVU", "MaximumCovarianceUnfolding",
    "RelaxedMVU", "SupervisedMVU", "Unfolding", "UnfoldingCertificate",
]  # fmt: skip
