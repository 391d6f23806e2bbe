"""What is learned before, or beside, a reduction: kernels."""

from .completion import LowRankKernel, complete_kernel, low_rank_kernel
from .cuts import AffinityLearner
from .kernels import KernelLearner

__all__ = ["AffinityLearner", "KernelLearner", "LowRankKernel", "complete_kernel", "low_rank_kernel"]
