"""Why methods agree: the kernel behind each, and the theorems that join them."""

from .check import check_theorems
from .equivalent import EquivalentKernel
from .psd import nearest_psd
from .report import TheoremReport, TheoremResult
from .tables import dot_products
from .theorem import Theorem
from .which import equivalent_kernel

__all__ = [
    "EquivalentKernel",
    "Theorem",
    "TheoremReport",
    "TheoremResult",
    "check_theorems",
    "dot_products",
    "equivalent_kernel",
    "nearest_psd",
]
