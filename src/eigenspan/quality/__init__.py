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

How good is a method on these data?

::

    eigenspan.compare     several methods at once: fitted, measured and drawn
    leave_one_out_error   whether its map foresees where a fit would put a new point
    stability             whether other rows would have given the same axes
"""

from .axis_stability import Stability, stability
from .coranks import CoRanking, coranking, coranking_matrix
from .distance_measures import geodesic_correlation, residual_variance, stress
from .label_measures import knn_accuracy, knn_r2, neighbourhood_hit
from .leave_out import MapError, leave_one_out_error
from .measure_table import evaluate as evaluate
from .method_comparison import Comparison
from .method_comparison import compare as compare
from .neighbour_measures import continuity, trustworthiness
from .point_measures import distortion
from .procrustes_fit import Procrustes, procrustes
from .residual import unexplained_residual

__all__ = [
    "CoRanking",
    "Comparison",
    "MapError",
    "Procrustes",
    "Stability",
    "continuity",
    "coranking",
    "coranking_matrix",
    "distortion",
    "geodesic_correlation",
    "knn_accuracy",
    "knn_r2",
    "leave_one_out_error",
    "neighbourhood_hit",
    "procrustes",
    "residual_variance",
    "stability",
    "stress",
    "trustworthiness",
    "unexplained_residual",
]
