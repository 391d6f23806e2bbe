"""How many dimensions have the data?"""

from .result import Curve, Dimension

__all__ = ["Curve", "Dimension"]
