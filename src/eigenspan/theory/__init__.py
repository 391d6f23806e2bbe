"""Relations between methods: equivalent kernels, and theorems that can be checked on data."""

from .check import check_theorems
from .complete_tables import dot_products
from .equivalent import EquivalentKernel
from .kernel_of_method import equivalent_kernel
from .nystrom_kernel import NystromKernel, nystrom
from .psd import nearest_psd
from .theorem import Theorem
from .theorem_report import TheoremReport, TheoremResult

__all__ = [
    "EquivalentKernel",
    "NystromKernel",
    "Theorem",
    "TheoremReport",
    "TheoremResult",
    "check_theorems",
    "dot_products",
    "equivalent_kernel",
    "nearest_psd",
    "nystrom",
]
