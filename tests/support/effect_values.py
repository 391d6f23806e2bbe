"""Values of every parameter, and situations in which they have an effect, for `parameter_effects`.

A situation is a data set with a few other parameters: ``ridge`` has an effect if the unit form is singular, ``disconnected`` if the graph
is disconnected. Strings and objects are those of `parameter_values`; numbers are added here.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.neighbors import KNeighborsTransformer

import eigenspan as es
from eigenspan.numerics.eigen import Dense
from parameter_values import KERNELS, METRICS, VALUES, WEIGHTS, N, Values, X, plain

_RNG = np.random.default_rng(8)


@dataclass(frozen=True)
class Situation:
    """A data set by name, and other parameters. It applies to methods that have all of these parameters."""

    data: str = "plain"
    params: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return ", ".join([self.data, *(f"{name}={value!r:.40}" for name, value in self.params.items())])


def on(data: str = "plain", **params: Any) -> Situation:
    return Situation(data, params)


# ---------------------------------------------------------------------- data
_APART = np.vstack([X[:26], X[26:] + 0.8])
#: More columns than rows: every scatter matrix is singular.
_WIDE = np.hstack([X, np.abs(_RNG.standard_normal((N, 55)))])
_GAPS = np.where(_RNG.random(X.shape) < 0.1, np.nan, X)
#: Points of a plane without noise.
_FLAT = X[:, :2] @ np.array([[1.0, 0.5, -0.2], [0.3, -1.0, 0.4]])
#: Independent columns with slowly decreasing variances.
_SLOPING = np.linalg.qr(np.column_stack([np.ones(N), _RNG.standard_normal((N, 8))]))[0][:, 1:] * 1.05 ** (
    -np.arange(8) / 2
)
#: "classes", "few labels" and "marked" differ from "plain" in y alone.
DATA: dict[str, Any] = {"plain": X, "apart": _APART, "wide": _WIDE, "gaps": _GAPS, "flat": _FLAT, "sloping": _SLOPING}
#: Numbers that depend on X, for responses.
NUMBERS = X @ [1.0, -0.5, 0.3, 0.0, 0.0] + 0.05 * _RNG.standard_normal(N)
NEW = X[:6] * 1.03 + 0.01


class Calls:
    """A callback that counts."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, record: dict[str, Any]) -> None:
        self.count += 1


def _dimmed_unevenly(rows: Any) -> Any:
    """Distort every column by a different factor."""
    return rows * np.linspace(0.6, 0.95, rows.shape[1])


# ---------------------------------------------------------------------- values
#: Numbers, in addition to `parameter_values.VALUES`.
MORE: dict[str, Values] = {
    "n_neighbors": plain(4, 7),
    "n_rivals": plain(1, 4),
    "n_slices": plain(2, 5),
    "n_permutations": plain(0, 5),
    "n_restarts": plain(1, 3),
    "n_draws": plain(3),
    "sweeps": plain(0, 1),
    "df": plain(3.0, 8.0),
    "closed": plain(True),
    "start": {"estimator": lambda: es.KernelPCA(2, kernel="rbf")},
    "n_clusters": plain(3, 4),
    "reduce": plain(3, 4),
    "rank": plain(2, 6),
    "ridge": plain(0.0, 0.1, 1.0),
    "width": plain(0.3, 0.7),
    "eps": plain(0.01, 0.1),
    "max_iter": plain(1, 3),
    "time_limit": plain(1e-9),
    "tol": plain(0.05, 0.4),
    "level": plain(0.2, 0.999),
    "n_starts": plain(2, 6),
    "callback": {"callable": Calls},
    "verbose": plain(1),
    "n_jobs": plain(1),
    "unlabeled": plain(None, -1, 0),
    "sample": plain(20, 30),
    "shrinkage": plain(0.3, 0.6),
    "C": plain(0.1, 10.0),
    "tau": plain(0.1, 2.0),
    "center": plain(False),
    "trace": plain(1.0, 5.0),
    "smoothing": plain(0.0, 0.5),
    "n_components": plain(1, 3),
    "charts": {},
    "random_state": plain(1, 5),
    "kernels": {"list": lambda: ["linear", es.Kernel("poly", degree=2)], "one": lambda: ["rbf"]},
    "threshold": plain(0.1, 0.5),
    "store_covariance": plain(True),
    "normalize_rows": plain(True),
    "conformal": plain(True, False),
    "n_eigenvectors": plain(4, 8),
    "alignment": {"array": lambda: [1]},
    "distortions": VALUES["distortions"],
    "embedding": {
        "LaplacianEigenmaps": lambda: es.LaplacianEigenmaps(2),
        "LTSA": lambda: es.LTSA(2),
    },
    "solver": {"object": Dense},
    "graph": {
        "KNN": lambda: es.KNN(6),
        "Radius": lambda: es.Radius(0.5),
        "MST": lambda: es.MST(6),
        "built": lambda: es.KNN(6).build(X),
        "transformer": lambda: KNeighborsTransformer(n_neighbors=6),
        **{label: VALUES["graph"][label] for label in ("sparse", "pair", "'precomputed'", "'class'", "'all'")},
    },
    "metric": {label: METRICS[label] for label in ("'cityblock'", "'cosine'", "callable", "'precomputed'")},
    "kernel": {
        label: KERNELS[label]
        for label in ("'rbf'", "'poly'", "'sigmoid'", "'cosine'", "'precomputed'", "Kernel", "of rows")
    },
    "weights": WEIGHTS,
    "landmarks": {label: VALUES["landmarks"][label] for label in ("number", "array", "maxmin")},
}

#: Situations in which a parameter may have an effect. The search ends with the first in which a value changes a result.
SITUATIONS: dict[str, list[Situation]] = {
    "disconnected": [on("apart", n_neighbors=4), on("apart", graph=es.KNN(4)), on("apart")],
    "ridge": [on("wide"), on(), on(kernel="rbf")],
    "unlabeled": [on("marked"), on("marked", graph="class"), on("marked", graph=es.KNN(4, within_class=True))],
    "landmarks": [on(kernel="rbf"), on()],
    "metric_params": [on(metric="minkowski")],
    "degree": [on(kernel="poly")],
    "coef0": [on(kernel="poly")],
    "gamma": [on(), on(kernel="poly")],
    "level": [on(n_components="test"), on(n_components="test", n_permutations=3)],
    "band": [on(constraint="band")],
    "price": [on(constraint="slack"), on()],
    "power": [on(constraint="slack")],
    "representatives": [on()],
    "scale": [on(), on(ridge=0.5)],
    "labels": [on(), on("classes")],
    "width": [on(), on(labels="rbf"), on(label_kernel="rbf")],
    "response_width": [on(), on(labels="rbf")],
    "criterion": [on(), on(n_components="auto")],
    "random_state": [
        on(kernel="rbf", landmarks=15),
        on(landmarks=15),
        on(sample=25),
        on(solver="randomised"),
        on(n_permutations=5),
        on(),
    ],
    "n_rivals": [on()],
    "rank": [on(), on(method="low-rank")],
    "affinity": [on()],
    "weights": [on(), on(graph="all"), on(graph="precomputed")],
    "n_init": [on(n_clusters=4), on()],
    "steps": [on()],
    "trust": [on()],
    "gamma_scale": [on(gamma=0.5)],
    "alpha": [on(gamma=0.5), on()],
    "cannot_link": [on(), on(must_link=[[0, 1]])],
    "n_neighbors": [on(), on(gamma=0.5), on(graph=es.KNN(4), gamma=0.5)],
    "graph": [on(), on(gamma=0.5)],
    "preimage": [on()],
    "n_starts": [on(max_iter=2), on()],
}

#: Situations for single methods, which are tried before those for all methods.
OWN: dict[tuple[str, str], list[Situation]] = {
    ("DistortionDiscriminantAnalysis", "hidden_layer_sizes"): [on(distortions=_dimmed_unevenly, frames=2)],
    ("DistortionDiscriminantAnalysis", "step"): [on(frames=2)],
    ("DistortionDiscriminantAnalysis", "random_state"): [on(distortions=VALUES["distortions"]["list"]())],
    ("DistortionDiscriminantAnalysis", "lengths"): [on(frames=2)],
    ("OrientedPCA", "random_state"): [on(distortions=VALUES["distortions"]["list"]())],
    ("MixturePPCA", "noise_floor"): [on("flat", n_clusters=2)],
    ("PPCA", "criterion"): [on("sloping", n_components="auto")],
    ("PPCA", "tol"): [on("gaps")],
    ("PPCA", "max_iter"): [on("gaps")],
    ("PPCA", "random_state"): [on("gaps")],
    ("KernelPCA", "alpha"): [on(preimage="ridge")],
    ("ClassicalMDS", "correction"): [on(metric="cityblock")],
    ("PDDP", "tol"): [on(n_clusters=10)],
    ("PairCosts", "n_rivals"): [on(labelled="-rivals")],
    ("GraphEmbeddingFramework", "n_rivals"): [on(penalty="rivals")],
    ("GraphEmbeddingFramework", "disconnected"): [on("apart", basis="samples", n_neighbors=4)],
    ("GraphEmbeddingFramework", "kernel"): [on(basis="kernel")],
    ("GraphEmbeddingFramework", "landmarks"): [on(basis="kernel")],
    ("GraphEmbeddingFramework", "random_state"): [on(basis="kernel", landmarks=15)],
    ("GraphEmbeddingFramework", "unlabeled"): [on("marked", intrinsic="within")],
    ("GraphEmbeddingFramework", "affinity"): [on(intrinsic="local_within")],
    ("ConformalEigenmaps", "weights"): [on(base="laplacian")],
    ("ConformalEigenmaps", "extension"): [on(base="laplacian")],
    ("SDACCCP", "max_iter"): [on("few labels")],
    ("Anchored", "beta"): [on(form="noisy")],
    ("MultiviewCCA", "max_iter"): [on(criterion="sumcor")],
    ("MultiviewCCA", "random_state"): [on(criterion="sumcor")],
    ("ManifoldKDR", "max_iter"): [on(tol=1e-9)],
    ("ManifoldKDR", "disconnected"): [on("apart", n_neighbors=4, n_functions=5)],
    ("ContingencySDR", "random_state"): [on(n_starts=3)],
    ("SMVU1", "representatives"): [on("apart")],
    ("SMVU2", "representatives"): [on("apart")],
    ("SMVU1", "band"): [on(constraint="band", alpha=1.05)],
    ("LandmarkMVU", "form"): [on(landmarks=12)],
    ("LandmarkMVU", "reg"): [on(landmarks=12, form="reconstruction")],
    ("LandmarkMVU", "tol"): [on(landmarks=12)],
    ("LandmarkMVU", "max_iter"): [on(landmarks=12)],
}

#: Values for single methods, instead of those for all methods.
FEWER: dict[tuple[str, str], Values] = {
    ("MaximumCovarianceUnfolding", "graph"): {  # the cost is cubic in the number of edges
        "KNN": lambda: es.KNN(3),
        "Radius": lambda: es.Radius(0.25),
        "MST": lambda: es.MST(2),
        **plain("precomputed", "class", "all"),
    },
}

#: Parameters of scikit-learn's own estimators, which `External` passes on.
THEIRS = frozenset({"FactorAnalysis", "FastICA", "NCA", "TSNE", "NonmetricMDS"})

#: Parameters whose strings are not modes: the computation, number and scale of axes, on which no other parameter depends.
NO_MODES = frozenset(
    {"n_components", "solver", "disconnected", "extension", "axes", "gamma", "price", "choice", "n_clusters"}
)
#: Modes that are not strings.
MODES: dict[str, tuple[Any, ...]] = {
    "kernel": ("rbf",),
    "graph": ("class", "all", es.KNN(6), es.KNN(6, within_class=True)),
    "weights": ("barycentric", "path", "binary", "local"),
}
#: Parameters whose effect does not depend on modes, or that are tested separately.
ALIKE = frozenset(
    {
        "n_jobs",
        "verbose",
        "random_state",
        "callback",
        "time_limit",
        "n_components",
        "solver",
        "landmarks",
        "n_starts",
        "n_init",
    }
    | {"store_covariance", "tol", "max_iter", "metric_params", "disconnected", "level"}
)


@dataclass(frozen=True)
class SpecParameter:
    """A parameter of a specification, the parameter of the method that accepts the specification, and situations with an effect."""

    cls: Any
    holder: str
    parameter: str
    values: tuple[Any, ...]
    #: The other parameters of the specification.
    base: dict[str, Any] = field(default_factory=dict)
    #: Methods to test; () for all that have the parameter.
    methods: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return f"{self.holder}={self.cls.__name__}.{self.parameter}"


_GRAPH_KERNELS = ("KernelPCA", "LPP")
SPECS: tuple[SpecParameter, ...] = (
    SpecParameter(es.KNN, "graph", "n_neighbors", (8,), {"n_neighbors": 6}),
    SpecParameter(es.KNN, "graph", "metric", ("cityblock", "cosine"), {"n_neighbors": 6}),
    SpecParameter(es.KNN, "graph", "metric_params", ({"p": 1}, {"p": 5}), {"n_neighbors": 6, "metric": "minkowski"}),
    SpecParameter(es.KNN, "graph", "symmetry", ("mutual",), {"n_neighbors": 9}),
    SpecParameter(es.KNN, "graph", "within_class", (True,), {"n_neighbors": 6}),
    SpecParameter(es.KNN, "graph", "search", ("exact", "sklearn"), {"n_neighbors": 6}),
    SpecParameter(es.KNN, "graph", "n_jobs", (1,), {"n_neighbors": 6}),
    SpecParameter(es.Radius, "graph", "radius", (0.5,), {"radius": 0.4}),
    SpecParameter(es.Radius, "graph", "metric", ("cityblock",), {"radius": 0.7}),
    SpecParameter(es.Radius, "graph", "metric_params", ({"p": 1.5}, {"p": 5}), {"radius": 0.6, "metric": "minkowski"}),
    SpecParameter(es.Radius, "graph", "n_jobs", (1,), {"radius": 0.5}),
    SpecParameter(es.MST, "graph", "n_trees", (6,), {"n_trees": 5}),
    SpecParameter(es.MST, "graph", "metric", ("cityblock",), {"n_trees": 5}),
    SpecParameter(es.MST, "graph", "metric_params", ({"p": 1}, {"p": 5}), {"n_trees": 5, "metric": "minkowski"}),
    SpecParameter(es.MST, "graph", "n_neighbors", (7,), {"n_trees": 5}),
    SpecParameter(es.MST, "graph", "n_jobs", (1,), {"n_trees": 5}),
    SpecParameter(es.Heat, "weights", "sigma", (0.2, 0.5)),
    SpecParameter(es.LocalScaling, "weights", "k", (2,)),
    SpecParameter(es.Powered, "weights", "weights", ("heat",)),
    SpecParameter(es.Powered, "weights", "alpha", (3.0,)),
    SpecParameter(es.PathSimilarity, "weights", "weights", ("local",), {"pairs": "edges"}),
    SpecParameter(es.PathSimilarity, "weights", "robust", (False,), {"pairs": "edges"}),
    SpecParameter(es.PathSimilarity, "weights", "pairs", ("all",), {"pairs": "edges"}),
    SpecParameter(es.Kernel, "kernel", "name", ("laplacian",), {"gamma": 1.0}),
    SpecParameter(es.Kernel, "kernel", "gamma", (0.5, "median")),
    SpecParameter(es.Kernel, "kernel", "degree", (2,), {"name": "poly"}),
    SpecParameter(es.Kernel, "kernel", "coef0", (0.5,), {"name": "poly"}),
    SpecParameter(es.HeatKernel, "kernel", "t", (3.0,), methods=_GRAPH_KERNELS),
    SpecParameter(es.HeatKernel, "kernel", "weights", ("binary",), methods=_GRAPH_KERNELS),
    SpecParameter(es.HeatKernel, "kernel", "normalised", (True,), methods=_GRAPH_KERNELS),
    SpecParameter(es.HeatKernel, "kernel", "n_neighbors", (5,), methods=_GRAPH_KERNELS),
    SpecParameter(es.HeatKernel, "kernel", "graph", (es.KNN(5),), methods=_GRAPH_KERNELS),
    SpecParameter(es.HeatKernel, "kernel", "rank", (8,), methods=("LPP",)),
    SpecParameter(es.CommuteTimeKernel, "kernel", "weights", ("binary",), methods=_GRAPH_KERNELS),
    SpecParameter(es.CommuteTimeKernel, "kernel", "normalised", (True,), methods=_GRAPH_KERNELS),
    SpecParameter(es.CommuteTimeKernel, "kernel", "n_neighbors", (5,), methods=_GRAPH_KERNELS),
    SpecParameter(es.CommuteTimeKernel, "kernel", "graph", (es.KNN(5),), methods=_GRAPH_KERNELS),
    SpecParameter(es.CommuteTimeKernel, "kernel", "rank", (8,), methods=("LPP",)),
    SpecParameter(es.ReconstructionKernel, "kernel", "n_neighbors", (5,), methods=_GRAPH_KERNELS),
    SpecParameter(es.ReconstructionKernel, "kernel", "reg", (0.1,), methods=_GRAPH_KERNELS),
    SpecParameter(es.ReconstructionKernel, "kernel", "graph", (es.KNN(5),), methods=_GRAPH_KERNELS),
    SpecParameter(es.ReconstructionKernel, "kernel", "rank", (8,), methods=("LPP",)),
    SpecParameter(es.Landmarks, "landmarks", "n", (15,), {"n": 20}),
    SpecParameter(es.Landmarks, "landmarks", "choice", ("maxmin", "kmeans++", "cholesky", "leverage"), {"n": 20}),
    *(
        SpecParameter(es.SmoothedEigenfunctions, "extension", parameter, (value,), methods=("MVU", "LandmarkMVU"))
        for parameter, value in {"eta": 0.1, "kernel": "gaussian", "width": 0.5, "rescale": False}.items()
    ),
    *(
        SpecParameter(es.NormalizedKernels, "extension", parameter, (value,), methods=("MVU", "LandmarkMVU"))
        for parameter, value in {"gamma": 1.0, "order": 5, "neighbours": 12, "ridge": 0.1}.items()
    ),
)
#: Other parameters to set together with a specification, if the method has them.
COMPANIONS: dict[str, tuple[dict[str, Any], ...]] = {
    "graph": ({}, {"gamma": 0.5}),
    "weights": ({}, {"graph": "all"}, {"base": "laplacian"}),
    "landmarks": ({}, {"kernel": "rbf"}),
}
