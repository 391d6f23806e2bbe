"""Why methods agree: the kernel behind each, and the theorems that join them."""

from .check import check_theorems
from .report import TheoremReport, TheoremResult
from .theorem import Theorem

__all__ = ["Theorem", "TheoremReport", "TheoremResult", "check_theorems"]
