"""Small fitted models of every method and of every kind of object in model files.

``python tests/support/golden_models.py tests/models/golden`` writes missing models and their transforms of new points. Existing files
are kept, because they test that later versions load the files of earlier ones.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA, FastICA, TruncatedSVD
from sklearn.feature_selection import VarianceThreshold
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.metrics import pairwise_distances
from sklearn.neighbors import (
    KNeighborsClassifier,
    KNeighborsRegressor,
    KNeighborsTransformer,
    RadiusNeighborsTransformer,
    kneighbors_graph,
)
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import (
    Binarizer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)

import eigenspan as es
from eigenspan.methods.registry import all_rows
from eigenspan.models.schema.estimator_kinds import SPECS

_IRIS, _LABELS = load_iris(return_X_y=True)
X = np.round(_IRIS[::5] + 0.04 * np.sin(np.arange(120).reshape(30, 4) ** 2), 6)
Y = _LABELS[::5]
NEW = np.round(X[2::5] + 0.02, 6)
GAPS = np.where(np.arange(120).reshape(30, 4) % 11 == 3, np.nan, X)
COUNTS = np.array([[20, 5, 1, 3], [10, 10, 5, 2], [2, 12, 20, 9], [1, 3, 30, 8], [7, 9, 4, 11]])
SOME = np.where(np.arange(30) % 3 == 0, X[:, 0], np.nan)
PLACES = np.where(np.isnan(SOME)[:, None], np.nan, X[:, :2])
FEW = np.where(np.arange(30) % 3 == 0, Y, -1)
DISTANCES, CROSS = pairwise_distances(X), pairwise_distances(NEW, X)
SECOND = np.column_stack([X[:, 0] * X[:, 1], X[:, 2] ** 2])
WORDS = np.array([["red", "s"], ["blue", "m"], ["red", "l"], ["green", "s"], ["blue", "l"], ["red", "m"]], dtype=object)

#: Rows and classes for semidefinite programs, whose files grow with the square of the rows.
FEWER = X[::2], Y[::2]

#: Methods that need more than X and classes.
GIVEN: dict[str, tuple[Any, Any, Any]] = {
    "Anchored": (lambda: es.Anchored(es.LTSA(2, n_neighbors=8)), X, PLACES),
    "ContingencySDR": (lambda: es.ContingencySDR(1), COUNTS, None),
    "EigenmapRegressor": (lambda: es.EigenmapRegressor(n_neighbors=8), X, SOME),
    "KernelLearner": (lambda: es.KernelLearner(["linear", "rbf"]), X, FEW),
    "ProjectionPursuit": (lambda: es.ProjectionPursuit(2, n_restarts=3, n_draws=4), X, None),
    "ProjectionPursuitRegression": (lambda: es.ProjectionPursuitRegression(2), X, X[:, 0] * X[:, 1]),
    "TSNE": (lambda: es.make("TSNE", perplexity=5, max_iter=250), X, None),
    "CCA": (lambda: es.CCA(1), X, SECOND),
    "KernelCCA": (lambda: es.KernelCCA(1), X, SECOND),
    "MultiviewCCA": (lambda: es.MultiviewCCA(1), X, (SECOND, X[:, :2] ** 2)),
    "MaximumCovarianceUnfolding": (lambda: es.MaximumCovarianceUnfolding(1, n_neighbors=4), X[::2], SECOND[::2]),
}

#: Modes with other kinds of objects, and their rows and responses.
MODES: dict[str, tuple[Any, Any, Any]] = {
    "frame": (lambda: es.PCA(2).set_output(transform="default"), X, None),
    "texts": (lambda: es.LDA(2), X, np.array(["one", "two", "é"])[Y]),
    "objects": (lambda: es.LDA(2), X, np.array(["one", "two", "é"], dtype=object)[Y]),
    "ratio": (lambda: es.LDA(2, criterion="trace-ratio"), X, Y),
    "kernel": (lambda: es.LDA(2, kernel="rbf"), X, Y),
    "polynomial": (lambda: es.KernelPCA(2, kernel=es.Kernel("poly", degree=2)), X, None),
    "nystrom": (lambda: es.LPP(2, kernel="rbf", landmarks=12), X, None),
    "heat kernel": (lambda: es.KernelPCA(2, kernel=es.HeatKernel(n_neighbors=6)), X, None),
    "commute kernel": (lambda: es.KernelPCA(2, kernel=es.CommuteTimeKernel(n_neighbors=6, normalised=True)), X, None),
    "reconstruction kernel": (lambda: es.KernelPCA(2, kernel=es.ReconstructionKernel(n_neighbors=6)), X, None),
    "precomputed": (lambda: es.Isomap(2, metric="precomputed", n_neighbors=8), DISTANCES, None),
    "landmark distances": (lambda: es.LandmarkMDS(2, metric="precomputed", landmarks=12), DISTANCES, None),
    "affinities": (
        lambda: es.LaplacianEigenmaps(2, graph="precomputed", weights="precomputed"),
        np.exp(-DISTANCES),
        None,
    ),
    "cosine": (lambda: es.LaplacianEigenmaps(2, graph=es.KNN(8, metric="cosine"), weights="cosine"), X, None),
    "minkowski": (lambda: es.Isomap(2, graph=es.KNN(8, metric="minkowski", metric_params={"p": 3})), X, None),
    "radius": (lambda: es.Isomap(2, graph=es.Radius(3.0)), X, None),
    "trees": (lambda: es.Isomap(2, graph=es.MST(2)), X, None),
    "mutual": (lambda: es.LLE(2, graph=es.KNN(9, symmetry="mutual")), X, None),
    "exact": (lambda: es.LLE(2, graph=es.KNN(8, search="exact")), X, None),
    "transformer": (lambda: es.LaplacianEigenmaps(2, graph=KNeighborsTransformer(n_neighbors=8)), X, None),
    "radius transformer": (lambda: es.LaplacianEigenmaps(2, graph=RadiusNeighborsTransformer(radius=3.0)), X, None),
    "edges": (lambda: es.Isomap(2, graph=kneighbors_graph(X, 9, mode="distance")), X, None),
    "local scaling": (lambda: es.LaplacianEigenmaps(2, weights=es.LocalScaling(4)), X, None),
    "powered": (lambda: es.LaplacianEigenmaps(2, weights=es.Powered("heat", 2.0)), X, None),
    "paths": (lambda: es.LPP(2, weights=es.PathSimilarity()), X, None),
    "two graphs": (lambda: es.GraphEmbeddingFramework(2, intrinsic="allies", penalty="rivals"), X, Y),
    "trace problem": (lambda: es.TraceReducer(2, minimise="class_laplacian", unit="total"), X, Y),
    "compressed columns": (lambda: es.Isomap(2, graph=sp.csc_array(kneighbors_graph(X, 9, mode="distance"))), X, None),
    "coordinates": (lambda: es.Isomap(2, graph=sp.coo_matrix(kneighbors_graph(X, 9, mode="distance"))), X, None),
    "slices": (lambda: es.SIR(2), X, X[:, 0]),
    "density": (lambda: es.DiffusionMap(2, alpha=0.5), X, None),
    "conformal": (lambda: es.Isomap(2, n_neighbors=8, conformal=True), X, None),
    "landmarks": (lambda: es.LaplacianEigenmaps(2, landmarks=es.Landmarks(15)), X, None),
    "sparse": (lambda: es.LPP(2), sp.csr_array(np.where(X > 2, X, 0)), None),
    "sparse graph": (lambda: es.LaplacianEigenmaps(2), sp.csr_array(np.where(X > 2, X, 0)), None),
    "copies": (lambda: es.LaplacianEigenmaps(2), np.vstack([X, X[:6]]), None),
    "largest": (lambda: es.Isomap(2, n_neighbors=4, disconnected="largest"), np.vstack([X, X[:8] + 500]), None),
    "gaps": (lambda: es.PPCA(2), GAPS, None),
    "kernel map": (lambda: es.MVU(2, n_neighbors=5, extension="kernel-map"), FEWER[0], None),
    "eigenfunctions": (lambda: es.MVU(2, n_neighbors=5, extension="eigenfunctions"), FEWER[0], None),
    "solver": (lambda: es.PCA(2, solver="dense"), X, None),
    "random state": (lambda: es.LandmarkIsomap(2, random_state=np.random.RandomState(3)), X, None),
    "threshold": (lambda: es.SpectralClustering(2, assign="threshold"), X, None),
    "discretised": (lambda: es.SpectralClustering(3, assign="discretize"), X, None),
    "unit rows": (lambda: es.SpectralClustering(3, normalize_rows=True), X, None),
    "search": (lambda: es.RegularizedSearch(es.SSLFDA(2), {"alpha": [0.1, 1]}), X, FEW),
    "labelled only": (lambda: make_pipeline(es.SSLFDA(2), es.LabelledOnly(KNeighborsClassifier(1))), X, FEW),
    "scaled": (lambda: make_pipeline(StandardScaler(), es.PCA(2)), X, None),
    "filled": (lambda: make_pipeline(SimpleImputer(), RobustScaler(), MinMaxScaler(), es.LPP(2)), GAPS, None),
    "indicated": (lambda: make_pipeline(SimpleImputer(add_indicator=True), es.PCA(2)), GAPS, None),
    "reduced": (lambda: make_pipeline(MaxAbsScaler(), Normalizer(), PCA(3), es.Isomap(2, n_neighbors=8)), X, None),
    "truncated": (lambda: make_pipeline(TruncatedSVD(3, random_state=0), es.LLE(2)), X, None),
    "components": (lambda: es.External(FastICA(2, random_state=0)), X, None),
    "powers": (lambda: make_pipeline(PowerTransformer(), es.PCA(2)), X, None),
    "quantiles": (lambda: make_pipeline(QuantileTransformer(n_quantiles=5), VarianceThreshold(), es.PCA(2)), X, None),
    "signs": (lambda: make_pipeline(Binarizer(threshold=3), es.PCA(2)), X, None),
    "one-hot": (lambda: make_pipeline(OneHotEncoder(sparse_output=False), es.PCA(2)), WORDS, None),
    "ordinal": (lambda: make_pipeline(OrdinalEncoder(), es.PCA(2)), WORDS, None),
    "columns": (
        lambda: make_pipeline(
            ColumnTransformer([("a", StandardScaler(), [0, 1]), ("b", MinMaxScaler(), [2])], remainder="passthrough"),
            es.PCA(2),
        ),
        X,
        None,
    ),
    "union": (
        lambda: make_pipeline(FeatureUnion([("a", StandardScaler()), ("b", MinMaxScaler())]), es.PCA(2)),
        X,
        None,
    ),
    "classified": (lambda: make_pipeline(es.LDA(2), LogisticRegression()), X, Y),
    "regressed": (lambda: make_pipeline(es.PCA(2), LinearRegression()), X, X[:, 0]),
    "ridge": (lambda: make_pipeline(es.PCA(2), Ridge()), X, X[:, 0]),
    "neighbours": (lambda: make_pipeline(es.PCA(2), KNeighborsRegressor(3)), X, X[:, 0]),
}


#: Specifications that need a value.
_VALUES: dict[str, dict[str, Any]] = {
    "Radius": {"radius": 1.5},
    "Landmarks": {"n": 7},
    "Powered": {"weights": "heat", "alpha": 2.0},
}


def specifications() -> dict[str, Any]:
    """Return one specification of each kind, which files hold as values of parameters."""
    return {f"spec {kind.cls.__name__}": kind.cls(**_VALUES.get(kind.cls.__name__, {})) for kind in SPECS}


def templates() -> dict[str, tuple[Any, Any, Any]]:
    """Return name, factory, rows and response of every fitted model; `TraceReducer` and `External` are modes."""
    few = {row.name: FEWER if row.family == "unfolding" else (X, Y) for row in all_rows()}
    methods = {
        row.name: GIVEN.get(row.name, (row.build, *few[row.name])) for row in all_rows() if row.family != "custom"
    }
    return {**methods, **{f"mode {name}": mode for name, mode in MODES.items()}}


def fitted(name: str) -> Any:
    make, rows, response = templates()[name]
    model = make()
    return model.fit(rows) if response is None else model.fit(rows, response)


def new_rows(name: str) -> Any:
    """Return new rows of the kind to which the model was fitted."""
    rows = templates()[name][1]
    if rows is DISTANCES:
        return CROSS
    if isinstance(rows, np.ndarray) and rows.dtype == float and rows.shape[1] == 4:
        return NEW
    if isinstance(rows, np.ndarray) and rows.shape == DISTANCES.shape:
        return np.exp(-CROSS)
    return rows[:4]


def places(model: Any, rows: Any) -> Any:
    """Return the output of the model for these rows."""
    use = "transform" if hasattr(model, "transform") else "predict"
    return np.asarray(getattr(model, use)(rows))


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    folder.mkdir(exist_ok=True)
    warnings.simplefilter("ignore")
    for name in templates():
        path = folder / f"{name}.eig"
        if not path.exists():
            model = fitted(name)
            es.save(model, path)
            np.save(path.with_suffix(".npy"), places(es.load(path), new_rows(name)), allow_pickle=False)
    for name, specification in specifications().items():
        path = folder / f"{name}.eig"
        if not path.exists():
            es.save(specification, path)
    print(len(list(folder.glob("*.eig"))), "models,", sum(path.stat().st_size for path in folder.iterdir()), "bytes")
