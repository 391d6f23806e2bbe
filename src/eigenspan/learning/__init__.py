"""What is learned before, or beside, a reduction: kernels."""

from .affinity_learner import AffinityLearner
from .kernel_completion import LowRankKernel, complete_kernel, low_rank_kernel
from .kernel_learner import KernelLearner

__all__ = ["AffinityLearner", "KernelLearner", "LowRankKernel", "complete_kernel", "low_rank_kernel"]
