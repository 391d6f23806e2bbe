"""From weights, labels and distances to quadratic forms. Functions are nouns: ``laplacian(W)``, ``reconstruction(W)``.

Each states the shape, symmetry, definiteness and null vectors of what it returns.
"""

from ..core.form import diagonal, factor_gram, gram, identity
from .affinity import AllPairs, ByClass, PairWeights, Paths, Sparse
from .alignment import hessian_alignment, modified_alignment, tangent_alignment
from .costs import every_pair, local_fisher, other_class, pair_affinity, same_class
from .laplacian import class_graph, counted, degree, degrees, laplacian
from .reconstruction import reconstruction, row_stochastic
from .scatter import between, centring, class_average, total, within

__all__ = [
    "AllPairs",
    "ByClass",
    "PairWeights",
    "Paths",
    "Sparse",
    "between",
    "centring",
    "class_average",
    "class_graph",
    "counted",
    "degree",
    "degrees",
    "diagonal",
    "every_pair",
    "factor_gram",
    "gram",
    "hessian_alignment",
    "identity",
    "laplacian",
    "local_fisher",
    "modified_alignment",
    "other_class",
    "pair_affinity",
    "reconstruction",
    "row_stochastic",
    "same_class",
    "tangent_alignment",
    "total",
    "within",
]
