"""How good is an embedding?

::

    eigenspan.evaluate    all of these at once, of one embedding or several, in a table

    trustworthiness       neighbours in the embedding that were neighbours before
    continuity            neighbours before that still are in the embedding
    coranking             both at every size of neighbourhood: curves and the area under them
    coranking_matrix      ranks before against ranks after

    stress                distances in the embedding against those in the data, or only their order
    residual_variance     one minus the squared correlation of the two, along the data or direct
    geodesic_correlation  rank correlation of distances along the data with those in the embedding
    unexplained_residual  what the axes left out hold
    procrustes            two embeddings laid over each other

    knn_accuracy          labels told from the nearest points
    neighbourhood_hit     share of the nearest points with the same label
    knn_r2                numbers told from the nearest points

    distortion            point by point, where neighbours or distances are wrong
"""

from .alignment import Procrustes, procrustes
from .coranks import CoRanking, coranking, coranking_matrix
from .distances import geodesic_correlation, residual_variance, stress
from .labels import knn_accuracy, knn_r2, neighbourhood_hit
from .neighbours import continuity, trustworthiness
from .points import distortion
from .residual import unexplained_residual
from .table import evaluate as evaluate

__all__ = [
    "CoRanking",
    "Procrustes",
    "continuity",
    "coranking",
    "coranking_matrix",
    "distortion",
    "geodesic_correlation",
    "knn_accuracy",
    "knn_r2",
    "neighbourhood_hit",
    "procrustes",
    "residual_variance",
    "stress",
    "trustworthiness",
    "unexplained_residual",
]
