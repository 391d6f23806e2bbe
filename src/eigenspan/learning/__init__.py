"""What is learned before, or beside, a reduction: kernels."""

from .cuts import AffinityLearner
from .completion import LowRankKernel, complete_kernel, low_rank_kernel
from .kernels import KernelLearner

__all__ = ["AffinityLearner", "KernelLearner", "LowRankKernel", "complete_kernel", "low_rank_kernel"]
