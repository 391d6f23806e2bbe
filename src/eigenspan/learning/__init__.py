"""What is learned before, or beside, a reduction: kernels."""

from .kernels import KernelLearner

__all__ = ["KernelLearner"]
