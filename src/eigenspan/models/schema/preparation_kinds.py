"""Kinds of scikit-learn estimators used before, after or inside a method: scalers, encoders, imputers, pipelines, searches.

Their attributes are listed individually, including private ones. Other versions of scikit-learn may have other parameters: those unknown
to the installed version are dropped with a warning when a model is loaded.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ...errors import ModelWarning, warn
from .estimator_kinds import PARAMETER, EstimatorKind
from .field_types import (
    Array,
    Either,
    Flag,
    Floats,
    Index,
    Known,
    LengthOf,
    Many,
    Maybe,
    Number,
    Object,
    Plain,
    Points,
    SchemaError,
    Sizes,
    Text,
    Type,
    Whole,
)
from .kind import Kind, Parts

_ANY = Number(finite=False)
_COLUMNS = Array(("D",), "f")
_TABLE, _NUMBERS = Array((None, None), "f"), Array((None,), "f")
_COUNTS = Either(Number(0), Array((None,), "fiu"))
_DTYPE = Plain()
#: Number of threads of a clustering or neighbour search.
_JOBS = Maybe(Whole(-1024, 1024))

_COMMON: dict[str, Type] = {
    "n_features_in_": LengthOf("D"),
    "feature_names_in_": Array(("D",), "OU"),
    "_sklearn_output_config": Plain(),
}


@dataclass(frozen=True, eq=False)
class PreparationKind(EstimatorKind):
    """An estimator of scikit-learn; `absent` lists parameters that must be None, with the reason."""

    absent: Mapping[str, str] = field(default_factory=dict)

    def check(self, parts: Parts, known: Known) -> Sizes:
        for name, reason in self.absent.items():
            if parts.get("parameters", {}).get(name) is not None:
                raise SchemaError(f"its {name}= {reason}: set_params({name}=None)")
        return super().check(parts, known)

    def migrated(self, parts: Parts, version: int) -> Parts:
        given = parts["parameters"]
        if unknown := sorted(given.keys() - set(self.parameters)):
            import sklearn

            warn(
                f"scikit-learn {sklearn.__version__} has no {', '.join(unknown)} in {self.name.removeprefix('sklearn.')}, which the "
                "model sets: "
                "dropped. A new fit may differ; new points are embedded as before.",
                ModelWarning,
            )
            given = {name: value for name, value in given.items() if name not in unknown}
        return super().migrated({**parts, "parameters": given}, version)


@dataclass(frozen=True, eq=False)
class NeighbourKind(PreparationKind):
    """A neighbour search of scikit-learn, stored as parameters and points; loading fits it again, in O(nD log n)."""

    def parts(self, value: Any) -> Parts:
        found = vars(value)
        labels = found.get("_y")
        if labels is not None and "classes_" in found:
            if isinstance(found["classes_"], list):
                raise SchemaError(f"{self.name} with several outputs cannot be stored")
            labels = found["classes_"][labels]
        return {
            "parameters": value.get_params(deep=False),
            "attributes": {name: found[name] for name in _COMMON if name in found and name != "n_features_in_"},
            "points": found.get("_fit_X"),
            "labels": labels,
        }

    def check(self, parts: Parts, known: Known) -> Sizes:
        points, labels = parts.get("points"), parts.get("labels")
        rest = {name: parts[name] for name in parts.keys() - {"points", "labels"}}
        sizes = super().check(rest, known)
        self._check_one("points", Maybe(Points("n", "D")), points, sizes, known)
        self._check_one("labels", Maybe(Array(None, "biufUO")), labels, sizes, known)
        jobs, leaf = parts["parameters"].get("n_jobs"), parts["parameters"].get("leaf_size", 30)
        self._check_one("n_jobs", _JOBS, jobs, sizes, known)
        self._check_one("leaf_size", Whole(1, 2**31), leaf, sizes, known)
        if labels is not None and (points is None or len(labels) != points.shape[0]):
            raise SchemaError(f"{self.name} has {len(labels)} labels, which is not its number of points")
        return sizes

    def build(self, parts: Parts) -> Any:
        search = self.cls(**parts["parameters"])
        if parts.get("points") is not None:
            search.fit(parts["points"], parts.get("labels"))
        vars(search).update(parts["attributes"])
        return search


# ---------------------------------------------------------------------- relations
def _categories(found: Parts, sizes: Sizes) -> None:
    """Check that an encoder's lists have one entry per column, and no more output columns than categories."""
    for name in ("_n_features_outs", "_infrequent_indices", "_default_to_infrequent_mappings"):
        agreed = found.get(name)
        if agreed is not None and len(agreed) != len(found["categories_"]):
            raise SchemaError(f"{name} and categories_ have different numbers of columns")
    for count, names in zip(found.get("_n_features_outs", ()), found.get("categories_", ()), strict=False):
        if count > len(names):
            raise SchemaError(f"{count} columns are too many for {len(names)} categories")


def _centres(found: Parts, sizes: Sizes) -> None:
    """Check the precision of the centres, which compiled code assumes without a check."""
    if "cluster_centers_" in found and found["cluster_centers_"].dtype.itemsize not in (4, 8):
        raise SchemaError("cluster_centers_ is neither single nor double precision")


_ENCODER = {
    "categories_": Many(Array((None,), "biufUSO"), count="D", container=list),
    "_infrequent_enabled": Flag(),
    "_infrequent_indices": Many(Maybe(Index(None)), container=list),
    "_default_to_infrequent_mappings": Many(Maybe(Index(None)), container=list),
}
_IMPUTER = {"_fit_dtype": _DTYPE, "_fill_dtype": _DTYPE, "statistics_": Array(("D",), "fUO")}

#: Attributes of the classes, by the module that exports them.
_PARTS: dict[str, dict[str, dict[str, Any]]] = {
    "preprocessing": {
        "StandardScaler": {
            "mean_": Maybe(_COLUMNS),
            "var_": Maybe(_COLUMNS),
            "scale_": Maybe(_COLUMNS),
            "n_samples_seen_": _COUNTS,
        },
        "MinMaxScaler": {
            **dict.fromkeys(("scale_", "min_", "data_min_", "data_max_", "data_range_"), _COLUMNS),
            "n_samples_seen_": _COUNTS,
        },
        "MaxAbsScaler": {"max_abs_": _COLUMNS, "scale_": _COLUMNS, "n_samples_seen_": _COUNTS},
        "RobustScaler": {"center_": Maybe(_COLUMNS), "scale_": Maybe(_COLUMNS)},
        "Normalizer": {},
        "Binarizer": {},
        "FunctionTransformer": {},
        "QuantileTransformer": {
            "n_quantiles_": LengthOf("q"),
            "references_": Floats("q"),
            "quantiles_": Floats("q", "D"),
        },
        "PowerTransformer": {"lambdas_": _COLUMNS, "_scaler": Object("sklearn.StandardScaler", D="D")},
        "OneHotEncoder": {
            **_ENCODER,
            "drop_idx_": Maybe(Array(("D",), "iO")),
            "_drop_idx_after_grouping": Maybe(Array(("D",), "iO")),
            "_n_features_outs": Many(Whole(0, 2**31), container=list),
        },
        "OrdinalEncoder": {**_ENCODER, "_missing_indices": Plain()},
    },
    "impute": {
        "SimpleImputer": {**_IMPUTER, "indicator_": Maybe(Object("sklearn.MissingIndicator"))},
        "MissingIndicator": {"_precomputed": Flag(), "_n_features": Whole(), "features_": Index(None)},
    },
    "feature_selection": {"VarianceThreshold": {"variances_": _COLUMNS}},
    "compose": {
        "ColumnTransformer": {
            "transformers_": PARAMETER,
            "_columns": Plain(),
            "_transformer_to_input_indices": Plain(),
            "_remainder": PARAMETER,
            "_n_features": Whole(),
            "_name_to_fitted_passthrough": PARAMETER,
            "sparse_output_": Flag(),
            "output_indices_": Plain(),
        }
    },
    "pipeline": {"Pipeline": {}, "FeatureUnion": {}},
    "cluster": {
        "KMeans": {
            "_tol": _ANY,
            "_n_init": Whole(),
            "_algorithm": Text(),
            "_n_threads": Whole(1, 2**12),
            "_n_features_out": LengthOf("k"),
            "cluster_centers_": Floats("k", "D"),
            "labels_": Index(None, below="k"),
            "inertia_": _ANY,
            "n_iter_": Whole(),
        }
    },
    "decomposition": {
        "PCA": {
            "_fit_svd_solver": Text(),
            "mean_": _COLUMNS,
            "noise_variance_": _ANY,
            "n_samples_": Whole(),
            "n_components_": LengthOf("d"),
            "components_": Floats("d", "D"),
            "explained_variance_": _NUMBERS,
            "explained_variance_ratio_": _NUMBERS,
            "singular_values_": _NUMBERS,
        },
        "TruncatedSVD": {
            "components_": Floats(None, "D"),
            "explained_variance_": _NUMBERS,
            "explained_variance_ratio_": _NUMBERS,
            "singular_values_": _NUMBERS,
        },
        "FastICA": {
            "n_iter_": Whole(),
            "components_": Floats("d", "D"),
            "mean_": _COLUMNS,
            "whitening_": _TABLE,
            "mixing_": Floats("D", "d"),
            "_unmixing": _TABLE,
            "_whiten": Plain(),
        },
        "FactorAnalysis": {
            "mean_": _COLUMNS,
            "components_": Floats(None, "D"),
            "noise_variance_": _COLUMNS,
            "loglike_": Many(_ANY, container=list),
            "n_iter_": Whole(),
        },
    },
    "manifold": {
        "MDS": {
            **dict.fromkeys(("_init", "_metric", "_metric_mds", "_n_init", "_normalized_stress"), Plain()),
            "dissimilarity_matrix_": _TABLE,
            "embedding_": _TABLE,
            "stress_": _ANY,
            "n_iter_": Whole(),
        },
        "TSNE": {
            "learning_rate_": _ANY,
            "n_iter_": Whole(),
            "kl_divergence_": _ANY,
            "embedding_": _TABLE,
            **dict.fromkeys(("_learning_rate", "_max_iter", "_n_iter"), Plain()),
        },
    },
    "linear_model": {
        "LogisticRegression": {
            "classes_": Array((None,), "biufUSO"),
            "n_iter_": Index(None),
            "coef_": Floats(None, "D"),
            "intercept_": _NUMBERS,
        },
        "LinearRegression": {
            "coef_": Array(None, "f"),
            "rank_": Plain(),
            "singular_": Plain(),
            "intercept_": Either(_ANY, _NUMBERS),
        },
        "Ridge": {
            "coef_": Array(None, "f"),
            "n_iter_": Plain(),
            "solver_": Text(),
            "intercept_": Either(_ANY, _NUMBERS),
        },
    },
    "neighbors": {
        "NeighborhoodComponentsAnalysis": {
            "random_state_": Object("random."),
            "n_iter_": Whole(),
            "components_": Floats(None, "D"),
            "_n_features_out": Whole(),
        },
    },
}
_RELATIONS = {"OneHotEncoder": _categories, "OrdinalEncoder": _categories, "KMeans": _centres}
#: Parameters that could make a loaded model open pickles or call functions.
_ABSENT = {
    "Pipeline": {"memory": "is a cache of pickles, which the next fit would load"},
    "FunctionTransformer": dict.fromkeys(("func", "inverse_func"), "is a function"),
}
_SEARCHES = (
    "NearestNeighbors",
    "KNeighborsTransformer",
    "RadiusNeighborsTransformer",
    "KNeighborsClassifier",
    "KNeighborsRegressor",
)


def _kinds() -> list[Kind]:
    found: list[Kind] = []
    for module, classes in _PARTS.items():
        for name, attributes in classes.items():
            more: dict[str, Any] = {"relation": _RELATIONS.get(name), "absent": _ABSENT.get(name, {})}
            path = f"sklearn.{module}:{name}"
            found.append(PreparationKind(f"sklearn.{name}", path, attributes=attributes, common=_COMMON, **more))
    searches = [NeighbourKind(f"sklearn.{name}", f"sklearn.neighbors:{name}", common=_COMMON) for name in _SEARCHES]
    return [*found, *searches]


KINDS = _kinds()
