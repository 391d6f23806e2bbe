"""Supervised projections: LDA, local and margin-based discriminants, supervised PCA."""

from .lda import LDA  # the first row of the family

# isort: split
from .label_kernels import RoweisDA, SupervisedPCA
from .margins import DNE, LDE, MFA
from .nonlinear_local import SupervisedNonlinearLocalEmbedding
from .pair_costs import LFDA

__all__ = ["DNE", "LDA", "LDE", "LFDA", "MFA", "RoweisDA", "SupervisedNonlinearLocalEmbedding", "SupervisedPCA"]
