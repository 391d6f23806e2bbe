"""From points and labels to sparse graphs: neighbours, weights, components, geodesics, landmarks."""

from .class_graphs import allies, class_indicator, class_pairs, rivals, slice_edges, slices
from .landmarks import Landmarks, choose_landmarks, suggested_landmarks
from .neighbours.closed import ClosedClasses
from .neighbours.connect import Needs, Policy, check_weights_connect, components, ensure_connected
from .neighbours.geodesics import conformal_distances, geodesic_distances, geodesic_table, require_geodesics
from .neighbours.graph import KNN, NeighbourGraph, Radius, affinity_graph, as_graph, check_n_neighbors, distance_graph
from .neighbours.spanning_trees import MST
from .weights.path_similarity import PathSimilarity
from .weights.reconstruction_weights import reconstruction_weights
from .weights.rules import (
    Affinity,
    Binary,
    ComputedWeights,
    Cosine,
    Heat,
    LocalScaling,
    NeighbourWeights,
    Powered,
    ProjectionWeights,
    WeightRule,
    Weights,
    affinity,
    as_weights,
    weight_rule,
)

__all__ = [
    "KNN",
    "MST",
    "Affinity",
    "Binary",
    "ClosedClasses",
    "ComputedWeights",
    "Cosine",
    "Heat",
    "Landmarks",
    "LocalScaling",
    "Needs",
    "NeighbourGraph",
    "NeighbourWeights",
    "PathSimilarity",
    "Policy",
    "Powered",
    "ProjectionWeights",
    "Radius",
    "WeightRule",
    "Weights",
    "affinity",
    "affinity_graph",
    "allies",
    "as_graph",
    "as_weights",
    "check_n_neighbors",
    "check_weights_connect",
    "choose_landmarks",
    "class_indicator",
    "class_pairs",
    "components",
    "conformal_distances",
    "distance_graph",
    "ensure_connected",
    "geodesic_distances",
    "geodesic_table",
    "reconstruction_weights",
    "require_geodesics",
    "rivals",
    "slice_edges",
    "slices",
    "suggested_landmarks",
    "weight_rule",
]
