"""What is learned before, or beside, a reduction: kernels."""

from .cuts import AffinityLearner
from .kernels import KernelLearner

__all__ = ["AffinityLearner", "KernelLearner"]
