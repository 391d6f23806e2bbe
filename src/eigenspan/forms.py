"""Quadratic forms on the samples, to state a problem of your own: what `TraceReducer` and `PairCosts` take besides names.

A `Form` is a symmetric matrix M over the n samples, read as a cost or a gain ``Tr(Y'MY)`` of an embedding Y. Forms add, subtract and take
factors, so that ``laplacian(W) - 0.5 * between(codes)`` is a form, and none of them is an n×n array unless you give one.

==============================================  ===========================================================
forms                                           functions
==============================================  ===========================================================
from a matrix, a diagonal, a Gram matrix        `as_form`, `identity`, `diagonal`, `gram`, `factor_gram`
of weights on pairs                             `laplacian`, `degree`
weights of all pairs and of classes, as forms   `every_pair`, `same_class`, `other_class`, `class_graph`, `local_fisher`, `pair_affinity`
scatter                                         `centring`, `between`, `within`, `total`
of neighbourhoods                               `reconstruction`, `tangent_alignment`, `hessian_alignment`, `modified_alignment`
the problem                                     `pose`, `solve`, in a basis `Features`
==============================================  ===========================================================

Classes are codes 0..c−1, −1 for a row without a label: ``np.unique(y, return_inverse=True)[1]``. Local models take the neighbour lists of a
graph, ``KNN(12).build(X).lists()``.
"""

from .problem import Features, Form, diagonal, factor_gram, gram, identity, pose, solve
from .problem.forms import (
    as_form,
    between,
    centring,
    class_graph,
    degree,
    every_pair,
    hessian_alignment,
    laplacian,
    local_fisher,
    modified_alignment,
    other_class,
    pair_affinity,
    reconstruction,
    same_class,
    tangent_alignment,
    total,
    within,
)

__all__ = [
    "Features",
    "Form",
    "as_form",
    "between",
    "centring",
    "class_graph",
    "degree",
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
    "pose",
    "reconstruction",
    "same_class",
    "solve",
    "tangent_alignment",
    "total",
    "within",
]
