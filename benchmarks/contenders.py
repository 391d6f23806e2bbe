"""Those who take part: ways to call eigenspan, scikit-learn and other libraries for the same result.

The call that is timed returns ``(fitted, embedding)``; `Contender.keep` looks at the two after the clock has stopped and returns
numbers to report and arrays to grade.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from . import OURS, THREADS
from .quality import walk_residual

Arrays = dict[str, Any]
SKLEARN = "scikit-learn"


def nothing(fitted: Any, Y: Any) -> Arrays:
    return {}


@dataclass(frozen=True)
class Contender:
    """One library's way to do a task.

    Attributes
    ----------
    fit : (data, seed) -> (fitted, embedding or None)
        What is timed.
    keep : (fitted, embedding) -> numbers and arrays
    needs : str
        Module that must be installed.
    upto : int
        The largest size it is tried at.
    """

    name: str
    fit: Callable[[Arrays, int], tuple[Any, Any]]
    keep: Callable[[Any, Any], Arrays] = nothing
    needs: str = ""
    upto: int = 10**9


def estimator(
    name: str, path: str, *, x: str = "X", y: str | None = None, seeded: bool = True, keep: Any = nothing,
    needs: str = "", upto: int = 10**9, embed: bool = True, **params: Any,
) -> Contender:  # fmt: skip
    """``fit_transform`` of the class at `path`, or only ``fit``, with the seed and the number of jobs where it takes them."""
    module, cls = path.rsplit(".", 1)

    def fit(data: Arrays, seed: int) -> tuple[Any, Any]:
        made = getattr(import_module(module), cls)(**params)
        common = {"n_jobs": THREADS} | ({"random_state": seed} if seeded else {})
        known = made.get_params()
        made.set_params(**{k: v for k, v in common.items() if k in known})
        given = [data[x]] if y is None else [data[x], data[y]]
        return (made, made.fit_transform(*given)) if embed else (made.fit(*given), None)

    return Contender(name, fit, keep, needs, upto)


def ours(method: str, *, keep: Any = None, **rest: Any) -> Contender:
    """One of eigenspan's estimators; its largest relative residual is reported unless `keep` says otherwise."""
    return estimator(OURS, f"eigenspan.{method}", keep=keep or residual, **rest)


def eigenmaps_of_graph(data: Arrays, seed: int) -> tuple[Any, Any]:
    """Laplacian eigenmaps of the graph in the data, whose weights are 0 and 1."""
    from eigenspan import LaplacianEigenmaps

    made = LaplacianEigenmaps(graph=data["W"], weights="binary", random_state=seed, n_jobs=THREADS)
    return made, made.fit_transform(data["X"])


def sslfda_of_neighbours(data: Arrays, seed: int) -> tuple[Any, Any]:
    """Semi-supervised local Fisher analysis over the ten nearest neighbours, half of the labels hidden."""
    from eigenspan import KNN, SSLFDA

    made = SSLFDA(9, graph=KNN(10), random_state=seed, n_jobs=THREADS)
    return made, made.fit_transform(data["X"], data["some"])


def trusted(library: str) -> Callable[[Arrays, int], tuple[Any, Any]]:
    """Trustworthiness of two columns as an embedding of all, by the function of this name in a module."""

    def fit(data: Arrays, seed: int) -> tuple[Any, Any]:
        return import_module(library).trustworthiness(data["X"], data["X"][:, :2], n_neighbors=10), None

    return fit


def all_measures(data: Arrays, seed: int) -> tuple[Any, Any]:
    """Every measure of the same, labels too."""
    from eigenspan import evaluate

    frame = evaluate(data["X"], data["X"][:, :2], data["y"], random_state=seed, n_jobs=THREADS)
    return frame.set_index("measure").value["trustworthiness"], None


def trust(fitted: Any, Y: Any) -> Arrays:
    return {"trustworthiness": float(fitted)}


def sklearn(path: str, *, kind: str = "", **rest: Any) -> Contender:
    return estimator(f"{SKLEARN} {kind}".strip(), f"sklearn.{path}", **rest)


def tapkee(method: str, k: int, *, upto: int = 10**9, landmarks: int | None = None, **params: Any) -> Contender:
    """tapkee with its fast neighbour search; it may double the number of neighbours, which it says on stderr."""

    def fit(data: Arrays, seed: int) -> tuple[Any, Any]:
        from tapkee import embed

        ratio = {} if landmarks is None else {"landmark_ratio": landmarks / len(data["X"])}
        columns = np.asfortranarray(data["X"].T)
        fixed = {"neighbors_method": "vptree", "num_neighbors": k, "target_dimension": 2}
        return None, embed(columns, method=method, **fixed, **ratio, **params)

    return Contender("tapkee", fit, needs="tapkee", upto=upto)


def tsne(data: Arrays, seed: int) -> tuple[Any, Any]:
    from openTSNE import TSNE

    return None, np.asarray(TSNE(n_jobs=THREADS, random_state=seed).fit(data["X"]))


def nystroem_pca(gamma: float, landmarks: int) -> Contender:
    """What one writes with scikit-learn for kernel PCA of many points."""

    def fit(data: Arrays, seed: int) -> tuple[Any, Any]:
        from sklearn.decomposition import PCA
        from sklearn.kernel_approximation import Nystroem

        features = Nystroem(gamma=gamma, n_components=landmarks, random_state=seed, n_jobs=THREADS)
        return None, PCA(2, random_state=seed).fit_transform(features.fit_transform(data["X"]))

    return Contender(f"{SKLEARN} Nystroem + PCA", fit)


def read_once(data: Arrays, seed: int) -> tuple[Any, Any]:
    """The sum of all entries in blocks: no method that looks at the data can be faster."""
    X = data["X"]
    return sum(float(X[i : i + 10_000].sum(dtype=np.float64)) for i in range(0, len(X), 10_000)), None


def read_in(data: Arrays, seed: int) -> tuple[Any, Any]:
    """A copy of the file in memory, which a method that is not made for files needs first."""
    return np.array(data["X"]), None


def cone_program(solver: str, upto: int) -> Contender:
    """Maximum variance unfolding as one writes it with cvxpy; kept are a factor of K and the duals of the pairs."""

    def fit(data: Arrays, seed: int) -> tuple[Any, Any]:
        import cvxpy as cp

        n, (i, j) = len(data["X"]), data["pairs"].T
        K = cp.Variable((n, n), PSD=True)
        v = cp.diag(K)[i] + cp.diag(K)[j] - 2 * K[i, j]
        bounds = v <= data["squares"]
        cp.Problem(cp.Maximize(cp.trace(K)), [bounds, cp.sum(K) == 0]).solve(solver=solver)
        return bounds.dual_value, None if K.value is None else K.value

    def keep(duals: Any, K: Any) -> Arrays:
        values, V = np.linalg.eigh((K + K.T) / 2)
        return {"F": V * np.sqrt(np.maximum(values, 0.0)), "w": np.maximum(duals, 0.0)}

    return Contender(f"cvxpy, {solver}", fit, keep, needs="cvxpy", upto=upto)


def dimension_contenders() -> tuple[Contender, ...]:
    """The correlation dimension: of all pairs by us, of those within twenty neighbours by scikit-dimension."""

    def own(data: Arrays, seed: int) -> tuple[Any, Any]:
        from eigenspan import intrinsic_dimension

        return intrinsic_dimension(data["X"], random_state=seed, n_jobs=THREADS), None

    def peer(data: Arrays, seed: int) -> tuple[Any, Any]:
        from skdim.id import CorrInt

        return CorrInt().fit(data["X"]), None

    return (
        Contender(OURS, own, lambda found, Y: {"dimension": found.dimension}),
        Contender("scikit-dimension", peer, lambda found, Y: {"dimension": float(found.dimension_)}, needs="skdim"),
    )


def knn_contenders(k: int = 12) -> tuple[Contender, ...]:
    """Neighbour lists of all points; the result is kept as an array of k columns."""

    def own(search: str) -> Callable[[Arrays, int], tuple[Any, Any]]:
        def fit(data: Arrays, seed: int) -> tuple[Any, Any]:
            from eigenspan import KNN

            return KNN(k, search=search, n_jobs=THREADS).build(data["X"]), None

        return fit

    def listed(graph: Any, Y: Any) -> Arrays:
        return {"neighbours": graph.distances.indices.reshape(-1, k)}

    def scikit(data: Arrays, seed: int) -> tuple[Any, Any]:
        from sklearn.neighbors import NearestNeighbors

        return NearestNeighbors(n_neighbors=k, n_jobs=THREADS).fit(data["X"]).kneighbors()[1], None

    def hnsw(data: Arrays, seed: int) -> tuple[Any, Any]:
        import faiss

        X = np.ascontiguousarray(data["X"], dtype=np.float32)
        index = faiss.IndexHNSWFlat(X.shape[1], 32)
        index.add(X)
        index.hnsw.efSearch = 64
        return index.search(X, k + 1)[1][:, 1:], None

    return (
        Contender(OURS, own("auto"), listed),
        Contender(SKLEARN, scikit, lambda found, Y: {"neighbours": found}),
        Contender("faiss HNSW", hnsw, lambda found, Y: {"neighbours": found}, needs="faiss"),
        Contender(f"{OURS} HNSW", own("hnsw"), listed, needs="faiss"),
    )


# ---------------------------------------------------------------------- what is kept of a fitted estimator
def residual(fitted: Any, Y: Any) -> Arrays:
    return {"residual": float(np.max(fitted.residuals_))}


def components(fitted: Any, Y: Any) -> Arrays:
    return {"V": fitted.components_.T}


def rotations(fitted: Any, Y: Any) -> Arrays:
    return {"V": fitted.x_rotations_}


def canonical(data: Arrays, seed: int) -> tuple[Any, Any]:
    from statsmodels.multivariate.cancorr import CanCorr

    return CanCorr(data["Y"], data["X"]), None


def coefficients(fitted: Any, Y: Any) -> Arrays:
    return {"V": fitted.x_cancoef[:, :4]}


def scalings(fitted: Any, Y: Any) -> Arrays:
    return {"V": fitted.scalings_[:, : Y.shape[1]]}


def unfolded(fitted: Any, Y: Any) -> Arrays:
    """What a certificate is recomputed from."""
    return {"F": fitted.embedding_full_, "w": fitted.certificate_.weights, "iterations": fitted.n_iter_}


def on_own_graph(fitted: Any, Y: Any) -> Arrays:
    W = fitted.affinity_matrix_ if hasattr(fitted, "affinity_matrix_") else fitted.affinity_.W
    own = residual(fitted, Y) if hasattr(fitted, "residuals_") else {}
    return own | {"residual / λ": walk_residual(W, Y)}
