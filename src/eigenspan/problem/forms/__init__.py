"""Quadratic forms from weights, labels and distances. Functions are named after their result: ``laplacian(W)``, ``reconstruction(W)``.

Docstrings state the shape, symmetry, definiteness and null vectors of the result.
"""

from .all_pairs import every_pair, local_fisher, other_class, pair_affinity, same_class
from .class_scatter import between, centring, class_average, total, within
from .given_form import GIVEN_FORM, GivenForm, as_form, form_of
from .local_alignment import hessian_alignment, modified_alignment, tangent_alignment
from .pair_weights import (
    AllPairs,
    ByClass,
    PairWeights,
    Paths,
    Sparse,
    class_graph,
    counted,
    degree,
    degrees,
    laplacian,
    without_density,
)
from .reconstruction_form import reconstruction, row_stochastic

__all__ = [
    "GIVEN_FORM",
    "AllPairs",
    "ByClass",
    "GivenForm",
    "PairWeights",
    "Paths",
    "Sparse",
    "as_form",
    "between",
    "centring",
    "class_average",
    "class_graph",
    "counted",
    "degree",
    "degrees",
    "every_pair",
    "form_of",
    "hessian_alignment",
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
    "without_density",
]
