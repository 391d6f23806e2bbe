"""What is learned before, or beside, a reduction: kernels."""

from .completion import LowRankKernel, complete_kernel, low_rank_kernel
from .kernels import KernelLearner

__all__ = ["KernelLearner", "LowRankKernel", "complete_kernel", "low_rank_kernel"]
