"""Parameter selection with few labels: folds that keep the unlabelled points, and a search over γ, α, ridge and other parameters."""

from .folds import LabelledOnly, SemiSupervisedKFold
from .search import RegularizedSearch

__all__ = ["LabelledOnly", "RegularizedSearch", "SemiSupervisedKFold"]
