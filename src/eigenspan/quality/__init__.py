"""Measures of the quality of embeddings and of methods.

Measures of an embedding::

    eigenspan.evaluate    all of the following, for one or several embeddings, as a table

    trustworthiness       share of the neighbours in the embedding that are neighbours in the data
    continuity            share of the neighbours in the data that are neighbours in the embedding
    coranking             both for every neighbourhood size: curves and the area under them
    coranking_matrix      counts of pairs by rank in the data and rank in the embedding

    stress                difference of the distances in the data and in the embedding, or of their order
    residual_variance     one minus the squared correlation of these distances, geodesic or direct
    geodesic_correlation  rank correlation of geodesic distances with distances in the embedding
    unexplained_residual  share of the squared lengths that the embedding omits
    procrustes            best alignment of two embeddings

    knn_accuracy          accuracy of nearest-neighbour classification
    neighbourhood_hit     share of the nearest points with the same label
    knn_r2                R² of nearest-neighbour regression

    distortion            error of the neighbours or distances of each point

    hsic                  dependence of two variables by kernels, and a test of independence

Measures of a method on given data::

    eigenspan.compare     fit, measure and draw several methods
    leave_one_out_error   error of the map for points that the fit has not seen
    stability             angles between the axes of fits to resampled rows
"""

from .axis_stability import Stability, stability
from .coranks import CoRanking, coranking, coranking_matrix
from .distance_measures import geodesic_correlation, residual_variance, stress
from .independence import Independence, hsic
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
    "Independence",
    "MapError",
    "Procrustes",
    "Stability",
    "continuity",
    "coranking",
    "coranking_matrix",
    "distortion",
    "geodesic_correlation",
    "hsic",
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
