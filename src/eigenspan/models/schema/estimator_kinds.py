"""Kinds of estimators: constructor parameters, and attributes set by a fit.

Attributes have types by name, equal for all methods: ``embedding_`` is a table everywhere. Attributes used by ``transform`` and
``predict`` must agree in their lengths (``D`` features); attributes that are only reported need the right type and number of axes.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from .field_types import (
    Array,
    Either,
    Floats,
    Index,
    Known,
    LengthOf,
    Many,
    Maybe,
    Number,
    Object,
    Plain,
    SchemaError,
    Sizes,
    Sparse,
    Text,
    Type,
    Whole,
)
from .kind import Kind, Parts

#: Allowed values of parameters: plain values, specifications, estimators, graphs, forms, and states of random generators.
PARAMETER = Plain(("spec.", "method.", "sklearn.", "random.", "graph", "form"))
_ANY = Number(finite=False)
_NUMBERS, _TABLE, _CUBE = Array((None,), "fiu"), Array((None, None), "fiu"), Array((None, None, None), "fiu")
_LABELS = Array((None,), "biufUSO")
_ROWS = Index(None)

ATTRIBUTES: dict[str, Type] = {
    "n_features_in_": LengthOf("D"),
    "feature_names_in_": Array(("D",), "OU"),
    "_sklearn_output_config": Plain(),
    "diagnostics_": Plain(),
    # ------------------------------------------------------------------ embedding and spectrum
    "embedding_": _TABLE,
    "embedding_full_": _TABLE,
    "eigenvalues_": _NUMBERS,
    "eigenvectors_": _TABLE,
    "residuals_": _NUMBERS,
    "spectrum_": _NUMBERS,
    "singular_values_": _NUMBERS,
    "walk_eigenvalues_": _NUMBERS,
    "explained_variance_": _NUMBERS,
    "explained_variance_ratio_": _NUMBERS,
    "gap_": _ANY,
    "gap_bound_": _ANY,
    "n_components_": Whole(),
    "n_iter_": Whole(),
    "n_samples_": Number(0),
    "n_samples_seen_": Number(0),
    "n_graph_components_": Whole(),
    "suggested_dimension_": Whole(),
    "collapsed_": Whole(),
    "landmarks_": _ROWS,
    "sample_": _ROWS,
    "ranks_": Many(Whole()),
    "problem_": Object("problem."),
    # ------------------------------------------------------------------ maps, graphs and sums
    "map_": Object("map.", D="D"),
    "maps_": Many(Object("map.")),
    "y_map_": Object("map.", E="D"),
    "decision_": Object("map.", D="D"),
    "graph_": Object("graph"),
    "y_graph_": Object("graph"),
    "affinity_": Object("affinity"),
    "moments_": Object("moments", "moments."),
    "certificate_": Object("certificate."),
    "solution_": Object("sdp.solution"),
    "assigner_": Object("assign.", "sklearn.KMeans"),
    "estimator_": Object("sklearn.", "method."),
    "best_estimator_": Object("sklearn.", "method."),
    "best_params_": PARAMETER,
    "best_score_": _ANY,
    "results_": PARAMETER,
    "cv_results_": PARAMETER,
    # ------------------------------------------------------------------ linear maps
    "components_": Array((None, "D"), "f"),
    "mean_": Floats("D"),
    "xbar_": Floats("D"),
    "coef_": Array((None, None), "f"),
    "intercept_": _NUMBERS,
    "dual_coef_": Maybe(_TABLE),
    "covariance_": Floats("D", "D"),
    "X_fit_": Either(_TABLE, Sparse(None, "D")),
    "preimage_mean_": _NUMBERS,
    "preimage_gamma_": _ANY,
    "gamma_": _ANY,
    # ------------------------------------------------------------------ classes and clusters
    "classes_": Array((None,), "biufUSO"),
    "priors_": _NUMBERS,
    "transduction_": _LABELS,
    "label_distributions_": _TABLE,
    "confidence_": _NUMBERS,
    "labels_": _LABELS,
    "labelled_": _ROWS,
    "known_": Array((None,), "b"),
    "cluster_centers_": Floats(None, "D"),
    "centres_": Floats(None, "D"),
    "directions_": Floats(None, "D"),
    "tree_": Array((None, 2), "i"),
    "scatters_": _NUMBERS,
    "widths_": _NUMBERS,
    "cut_": _ANY,
    "between_to_within_": _ANY,
    "trace_ratio_": _ANY,
    "slice_edges_": _NUMBERS,
    "_order_tests_": _TABLE,
    # ------------------------------------------------------------------ probabilistic models
    "loadings_": Either(_TABLE, _CUBE),
    "means_": Either(_TABLE, Many(_NUMBERS)),
    "noise_variance_": Either(_ANY, _NUMBERS),
    "noise_variances_": _NUMBERS,
    "log_likelihood_": _ANY,
    "log_likelihoods_": _NUMBERS,
    "log_likelihood_gain_": _ANY,
    "bic_": _ANY,
    "weights_": Either(_NUMBERS, Sparse(), Many(_TABLE)),
    # ------------------------------------------------------------------ two views
    "correlations_": _NUMBERS,
    "pair_correlations_": _CUBE,
    "y_embedding_": _TABLE,
    "y_features_in_": LengthOf("E"),
    "y_ndim_": Whole(1, 2),
    **{f"{side}_{name}_": _TABLE for side in "xy" for name in ("weights", "loadings", "rotations")},
    "x_mean_": Floats("D"),
    "y_mean_": Floats("E"),
    "x_on_y_": _TABLE,
    "y_on_x_": _TABLE,
    # ------------------------------------------------------------------ facts of one method each
    "action_pairs_": Index(None, None),
    "association_": _NUMBERS,
    "column_features_": _TABLE,
    "constant_": _ANY,
    "criterion_": _NUMBERS,
    "deviations_": _NUMBERS,
    "disparities_": _TABLE,
    "distortion_": _ANY,
    "distortion_bound_": _ANY,
    "divergence_": _ANY,
    "expected_": _TABLE,
    "goodness_of_fit_": _ANY,
    "gradient_": _NUMBERS,
    "hsic_": _ANY,
    "importances_": _NUMBERS,
    "index_values_": _NUMBERS,
    "information_": _ANY,
    "interpolation_": _TABLE,
    "isometry_error_": _ANY,
    "kernel_": _TABLE,
    "length_": _ANY,
    "nodes_": Floats(None, "D"),
    "null_values_": _TABLE,
    "objective_": _ANY,
    "path_": _NUMBERS,
    "paths_": Many(_NUMBERS),
    "price_": _ANY,
    "pruned_": Index(None, None),
    "pvalues_": _NUMBERS,
    "ridge_functions_": Many(Object("spline")),
    "scales_": _NUMBERS,
    "scale_": _NUMBERS,
    "shares_": _NUMBERS,
    "signal_to_noise_": Many(_NUMBERS),
    "stress_": _ANY,
    "stress_path_": _NUMBERS,
    "threshold_": _ANY,
    "unexplained_": _ANY,
    "_offset": _NUMBERS,
    "_parts": Many(Maybe(Object("rows."))),
    "_tau": _ANY,
}


@dataclass(frozen=True, eq=False)
class EstimatorKind(Kind):
    """An estimator, with its parameters and attributes.

    `attributes` are the types for this class, in addition to or instead of the common ones. `unstored` ones are rebuilt or not needed.
    """

    attributes: Mapping[str, Type] = field(default_factory=dict)
    unstored: tuple[str, ...] = ()
    common: Mapping[str, Type] = field(default_factory=lambda: ATTRIBUTES)

    @cached_property
    def parameters(self) -> list[str]:
        """Names of the constructor's parameters."""
        return list(inspect.signature(self.cls).parameters)

    def fields_in_words(self) -> str:
        own = "; ".join(f"{name}: {kind}" for name, kind in self.attributes.items())
        return f"parameters; attributes{' ' + own if own else ''}" if self.common or own else "parameters"

    def parts(self, value: Any) -> Parts:
        given = value.get_params(deep=False)
        found = {name: each for name, each in vars(value).items() if name not in given and name not in self.unstored}
        return {"parameters": given, "attributes": found}

    def check(self, parts: Parts, known: Known) -> Sizes:
        sizes: Sizes = {}
        if parts.keys() != {"parameters", "attributes"}:
            raise SchemaError(f"{self.name} must have exactly the fields parameters and attributes")
        if odd := parts["parameters"].keys() - set(self.parameters):
            raise SchemaError(f"{self.name} has no parameter {min(odd)!r:.60}")
        for name, value in parts["parameters"].items():
            self._check_one(name, PARAMETER, value, sizes, known)
        types = {**self.common, **self.attributes}
        if odd := parts["attributes"].keys() - types.keys() - parts["parameters"].keys():
            raise SchemaError(f"{self.name} has no attribute {min(odd)!r:.60}")
        if odd := parts["attributes"].keys() & parts["parameters"].keys():
            raise SchemaError(f"{self.name} has {min(odd)!r:.60} both as a parameter and as an attribute")
        for name, kind in types.items():
            if name in parts["attributes"]:
                self._check_one(name, kind, parts["attributes"][name], sizes, known)
        if self.relation is not None:
            self.relation(parts["attributes"], sizes)
        return sizes

    def build(self, parts: Parts) -> Any:
        made = self.cls(**parts["parameters"])  # scikit-learn's constructors only store their parameters
        vars(made).update(parts["attributes"])
        return made


# ---------------------------------------------------------------------- relations
def _splits(found: Parts, sizes: Sizes) -> None:
    """Check that every split of a tree leads to a later split or to a cluster, so that every walk down the tree ends."""
    if "tree_" not in found:
        return
    tree = found["tree_"]
    splits, clusters = len(tree), len(found["cluster_centers_"])
    later = tree > np.arange(splits)[:, None]
    leaves = (tree < 0) & (tree >= -clusters)
    if not np.all((later & (tree < splits)) | leaves):
        raise SchemaError("PDDP.tree_ does not lead from the root to the clusters")


def _scores(found: Parts, sizes: Sizes) -> None:
    """Check that there is one decision value per class, or one for two classes."""
    if "classes_" in found and "intercept_" in found:
        c, m = len(found["classes_"]), len(found["intercept_"])
        if m not in (c, 1) or (m == 1 and c > 2):
            raise SchemaError(f"{m} decision values do not fit {c} classes")


def _ridges(found: Parts, sizes: Sizes) -> None:
    """Check that there is one ridge function per axis, with a value for every response."""
    if "ridge_functions_" not in found:
        return
    functions, axes, q = found["ridge_functions_"], found.get("components_", ()), len(found.get("intercept_", ()))
    if len(functions) != len(axes) or any(f.coef.shape[1] != q for f in functions):
        raise SchemaError(f"{len(functions)} ridge functions do not fit {len(axes)} axes and {q} responses")


_SPECIAL: dict[str, dict[str, Any]] = {
    "ProjectionPursuitRegression": {"relation": _ridges},
    "PDDP": {"relation": _splits},
    "KernelLearner": {"relation": _scores, "unstored": ("svm_",)},
    "LDA": {"relation": _scores},
}


def method_kinds(classes: Mapping[str, str]) -> list[Kind]:
    """Return the kinds of the methods, from the locations of their classes."""
    return [EstimatorKind(f"method.{name}", path, **_SPECIAL.get(name, {})) for name, path in classes.items()]


#: Specifications: classes with parameters but no attributes.
SPECIFICATIONS = {
    "Auto": "numerics.eigen.auto:Auto",
    "Binary": "graphs.weights.rules:Binary",
    "BlockKrylov": "numerics.eigen.auto:BlockKrylov",
    "Chebyshev": "numerics.eigen.auto:Chebyshev",
    "CommuteTimeKernel": "problem.extensions.graph_kernels:CommuteTimeKernel",
    "Cosine": "graphs.weights.rules:Cosine",
    "Dense": "numerics.eigen.auto:Dense",
    "Factor": "numerics.eigen.auto:Factor",
    "Given": "graphs.weights.rules:Given",
    "Heat": "graphs.weights.rules:Heat",
    "HeatKernel": "problem.extensions.graph_kernels:HeatKernel",
    "KNN": "graphs.neighbours.graph:KNN",
    "Kernel": "problem.kernels:Kernel",
    "Lanczos": "numerics.eigen.auto:Lanczos",
    "Landmarks": "graphs.landmarks:Landmarks",
    "LocalScaling": "graphs.weights.rules:LocalScaling",
    "MST": "graphs.neighbours.spanning_trees:MST",
    "Multigrid": "numerics.eigen.auto:Multigrid",
    "NormalizedKernels": "problem.extensions.smoother_specs:NormalizedKernels",
    "PathSimilarity": "graphs.weights.path_similarity:PathSimilarity",
    "Powered": "graphs.weights.rules:Powered",
    "Radius": "graphs.neighbours.graph:Radius",
    "Randomised": "numerics.eigen.auto:Randomised",
    "ReconstructionKernel": "problem.extensions.graph_kernels:ReconstructionKernel",
    "SemiSupervisedKFold": "selection.folds:SemiSupervisedKFold",
    "ShiftInvert": "numerics.eigen.auto:ShiftInvert",
    "SmoothedEigenfunctions": "problem.extensions.smoother_specs:SmoothedEigenfunctions",
}
SPECS = [EstimatorKind(f"spec.{name}", path, common={}) for name, path in SPECIFICATIONS.items()]
CERTIFICATES = [
    Kind(
        "certificate.margin",
        "numerics.sdp.margin:MarginSolution",
        {
            "weights": _NUMBERS,
            "alpha": Either(_NUMBERS, _TABLE),
            "multiplier": Maybe(_TABLE),
            "upper": _ANY,
            "lower": _ANY,
            "rank": Whole(),
            "n_iter": Whole(),
            "status": Text(),
            "left_out": _ANY,
        },
    ),
]
