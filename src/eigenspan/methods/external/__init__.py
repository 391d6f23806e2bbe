"""scikit-learn's reducers under this library's interface."""

from .wrappers import External

__all__ = ["External"]
