"""Canonical correlation analysis of two or more views."""

from .cca import CCA
from .kernel_cca import KernelCCA
from .multiview_cca import MultiviewCCA

__all__ = ["CCA", "KernelCCA", "MultiviewCCA"]
