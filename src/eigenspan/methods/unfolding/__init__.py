"""Unfolding: Gram matrices learned by semidefinite programs over the pairs of a graph.

A method is a class of parameters that states a `Task`: the pairs that it holds, the program, and the word for its objective. One
function, `unfold`, solves it as `SDP` says, reports and certifies; another, `fit_unfolding`, makes the embedding and its map of that.
"""

from .actions import ActionRespectingEmbedding
from .base import Unfolding
from .certificate import UnfoldingCertificate
from .coloured import SMVU2, ColoredMVU
from .covariance import MaximumCovarianceUnfolding
from .landmarks import LandmarkMVU
from .laplacian import LaplacianMVU
from .mvu import MVU
from .relaxed import RelaxedMVU
from .supervised import SMVU1, SupervisedMVU

__all__ = [
    "MVU", "SMVU1", "SMVU2", "ActionRespectingEmbedding", "ColoredMVU", "LandmarkMVU", "LaplacianMVU", "MaximumCovarianceUnfolding",
    "RelaxedMVU", "SupervisedMVU", "Unfolding", "UnfoldingCertificate",
]  # fmt: skip
