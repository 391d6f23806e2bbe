"""Why methods agree: the kernel behind each, and the theorems that join them."""

from .equivalent import EquivalentKernel
from .psd import nearest_psd
from .which import equivalent_kernel

__all__ = ["EquivalentKernel", "equivalent_kernel", "nearest_psd"]
