"""Learning of kernels and of feature weights."""

from .affinity_learner import AffinityLearner
from .kernel_completion import LowRankKernel, complete_kernel, low_rank_kernel
from .kernel_learner import KernelLearner

__all__ = ["AffinityLearner", "KernelLearner", "LowRankKernel", "complete_kernel", "low_rank_kernel"]
