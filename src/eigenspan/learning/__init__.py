"""Learning of kernels and of feature weights."""

from .affinity_learner import AffinityLearner
from .kernel_completion import LowRankKernel, complete_kernel, low_rank_kernel
from .kernel_learner import KernelLearner
from .order_constrained import OrderedKernel, order_constrained_kernel

__all__ = [
    "AffinityLearner",
    "KernelLearner",
    "LowRankKernel",
    "OrderedKernel",
    "complete_kernel",
    "low_rank_kernel",
    "order_constrained_kernel",
]
