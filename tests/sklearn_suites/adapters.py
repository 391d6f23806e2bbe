"""scikit-learn's estimators by name, answered by this library's: parameters renamed, nothing computed.

Each adapter has scikit-learn's signature, builds our estimator in `_build`, and passes everything else on to it. Parameters that tune
scikit-learn's own algorithms (tolerances, iterations, oversampling) have no counterpart and are dropped. Attributes are converted
where only a name or a constant factor differs; those are spelled out.
"""

from __future__ import annotations

import inspect
from functools import partial
from typing import Any

import numpy as np
from scipy.spatial.distance import minkowski
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.utils.validation import check_is_fitted

import eigenspan as es

#: Solvers that have a counterpart for every matrix; the others are a matter of speed.
SOLVERS = {"full": "dense", "covariance_eigh": "dense", "dense": "dense", "arpack": "lanczos"}


def adapter(**defaults: Any) -> Any:
    """Class decorator: a constructor that stores its parameters, of which the first may be given by position."""

    def decorate(cls: type) -> type:
        kinds = [inspect.Parameter.POSITIONAL_OR_KEYWORD] + [inspect.Parameter.KEYWORD_ONLY] * (len(defaults) - 1)
        parameters = [
            inspect.Parameter(name, kind, default=value)
            for (name, value), kind in zip(defaults.items(), kinds, strict=True)
        ]
        own = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
        signature = inspect.Signature([own, *parameters])

        def initialise(self: Any, *args: Any, **given: Any) -> None:
            bound = signature.bind(self, *args, **given)
            bound.apply_defaults()
            for name in defaults:
                setattr(self, name, bound.arguments[name])

        initialise.__signature__ = signature  # type: ignore[attr-defined]
        cls.__init__ = initialise  # type: ignore[misc]
        return cls

    return decorate


class Adapter(ClassNamePrefixFeaturesOutMixin, BaseEstimator):
    """Passes everything on to ``inner_``."""

    def _build(self, X: Any = None) -> Any:
        raise NotImplementedError

    def _input(self, X: Any) -> Any:
        return X

    def fit(self, X: Any, y: Any = None) -> Any:
        self.inner_ = self._build(X).fit(self._input(X), y)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        self.inner_ = self._build(X)
        return self.inner_.fit_transform(self._input(X), y)

    def transform(self, X: Any) -> Any:
        check_is_fitted(self, "inner_")
        return self.inner_.transform(X)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or "inner_" not in vars(self):
            raise AttributeError(name)
        return getattr(self.inner_, name)

    def __sklearn_tags__(self) -> Any:
        return self._build().__sklearn_tags__()


def _solver(name: str) -> str:
    return SOLVERS.get(name, "auto")


@adapter(
    n_components=None, copy=True, whiten=False, svd_solver="auto", tol=0.0, iterated_power="auto", n_oversamples=10,
    power_iteration_normalizer="auto", random_state=None,
)  # fmt: skip
class PCA(Adapter):
    def _build(self, X: Any = None) -> Any:
        return es.PCA(
            self.n_components, whiten=self.whiten, solver=_solver(self.svd_solver), random_state=self.random_state
        )


@adapter(n_components=None, whiten=False, copy=True, batch_size=None)
class IncrementalPCA(Adapter):
    def _build(self, X: Any = None) -> Any:
        return es.PCA(self.n_components, whiten=self.whiten)

    def partial_fit(self, X: Any, y: Any = None) -> Any:
        if "inner_" not in vars(self):
            self.inner_ = self._build(X)
        self.inner_.set_params(n_components=self.n_components).partial_fit(X)
        return self


@adapter(
    n_components=None, kernel="linear", gamma=None, degree=3, coef0=1, kernel_params=None, alpha=1.0,
    fit_inverse_transform=False, eigen_solver="auto", tol=0, max_iter=None, iterated_power="auto", remove_zero_eig=False,
    random_state=None, copy_X=True, n_jobs=None,
)  # fmt: skip
class KernelPCA(Adapter):
    def _build(self, X: Any = None) -> Any:
        return es.KernelPCA(
            self.n_components,
            kernel=partial(self.kernel, **self.kernel_params) if self.kernel_params else self.kernel,
            gamma=self.gamma,
            degree=self.degree,
            coef0=self.coef0,
            alpha=self.alpha,
            preimage="ridge" if self.fit_inverse_transform else None,
            solver=_solver(self.eigen_solver),
            random_state=self.random_state,
        )


@adapter(
    solver="svd", shrinkage=None, priors=None, n_components=None, store_covariance=False, tol=1e-4,
    covariance_estimator=None,
)  # fmt: skip
class LinearDiscriminantAnalysis(Adapter):
    def _build(self, X: Any = None) -> Any:
        if self.covariance_estimator is not None:
            raise NotImplementedError("covariance_estimator has no counterpart")
        return es.LDA(
            self.n_components,
            shrinkage=self.shrinkage,
            priors=self.priors,
            store_covariance=self.store_covariance or self.solver != "svd",
            unlabeled=None,
        )


def _metric(name: Any, p: Any) -> Any:
    """Minkowski's distances by the names of those that have one."""
    if name != "minkowski":
        return name
    return {2: "euclidean", 1: "manhattan"}.get(p) or partial(minkowski, p=p)


@adapter(
    n_neighbors=5, radius=None, n_components=2, eigen_solver="auto", tol=0, max_iter=None, path_method="auto",
    neighbors_algorithm="auto", n_jobs=None, metric="minkowski", p=2, metric_params=None,
)  # fmt: skip
class Isomap(Adapter):
    def _build(self, X: Any = None) -> Any:
        metric = _metric(self.metric, self.p)
        if metric == "precomputed":
            graph: Any = "precomputed"
        elif self.n_neighbors is None:
            graph = es.Radius(self.radius, metric=metric)
        else:
            graph = es.KNN(self.n_neighbors, metric=metric)
        return es.Isomap(
            self.n_components, n_neighbors=self.n_neighbors, graph=graph, solver=_solver(self.eigen_solver)
        )


@adapter(
    n_neighbors=5, n_components=2, reg=1e-3, eigen_solver="auto", tol=1e-6, max_iter=100, method="standard",
    hessian_tol=1e-4, modified_tol=1e-12, neighbors_algorithm="auto", random_state=None, n_jobs=None,
)  # fmt: skip
class LocallyLinearEmbedding(Adapter):
    """Ours has ``Y'Y = n I``, scikit-learn's ``Y'Y = I``: divided by √n here."""

    def _build(self, X: Any = None) -> Any:
        method = {"standard": es.LLE, "modified": es.ModifiedLLE, "hessian": es.HessianLLE, "ltsa": es.LTSA}[
            self.method
        ]
        reg = {"reg": self.reg} if self.method == "standard" else {}
        return method(self.n_components, n_neighbors=self.n_neighbors, random_state=self.random_state, **reg)

    @property
    def embedding_(self) -> Any:
        return self.inner_.embedding_ / np.sqrt(len(self.inner_.embedding_))

    @property
    def reconstruction_error_(self) -> float:
        return float(self.inner_.eigenvalues_.sum())

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        return self.fit(X).embedding_

    def transform(self, X: Any) -> Any:
        return super().transform(X) / np.sqrt(len(self.inner_.embedding_))


class _Affine(Adapter):
    """Affinities by name become a matrix of affinities, as scikit-learn makes them; its neighbours count the point itself."""

    def _precomputed(self) -> bool:
        return self.affinity not in ("nearest_neighbors", "precomputed_nearest_neighbors")

    def _graph(self) -> dict[str, Any]:
        if self._precomputed():
            return {"graph": "precomputed", "weights": "precomputed"}
        if self.affinity == "precomputed_nearest_neighbors":
            return {"graph": "precomputed", "weights": "binary", "n_neighbors": (self.n_neighbors or 10) - 1}
        return {"n_neighbors": (self.n_neighbors or 10) - 1, "weights": "binary"}

    def _kernel(self, X: Any) -> Any:
        raise NotImplementedError

    def _input(self, X: Any) -> Any:
        if isinstance(self.affinity, str) and self.affinity.startswith(("precomputed", "nearest")):
            self._given = X
        else:
            self._given = self._kernel(X)
        return self._given

    @property
    def affinity_matrix_(self) -> Any:
        return self._given if self._precomputed() else self.inner_.affinity_.W


@adapter(
    n_components=2, affinity="nearest_neighbors", gamma=None, random_state=None, eigen_solver=None, eigen_tol="auto",
    n_neighbors=None, n_jobs=None,
)  # fmt: skip
class SpectralEmbedding(_Affine):
    def _build(self, X: Any = None) -> Any:
        return es.LaplacianEigenmaps(
            self.n_components, **self._graph(), solver=_solver(self.eigen_solver), random_state=self.random_state
        )

    def _kernel(self, X: Any) -> Any:
        if callable(self.affinity):
            return self.affinity(X)
        return pairwise_kernels(X, metric="rbf", gamma=1.0 / X.shape[1] if self.gamma is None else self.gamma)


@adapter(
    n_clusters=8, eigen_solver=None, n_components=None, random_state=None, n_init=10, gamma=1.0, affinity="rbf",
    n_neighbors=10, eigen_tol="auto", assign_labels="kmeans", degree=3, coef0=1, kernel_params=None, n_jobs=None,
    verbose=False,
)  # fmt: skip
class SpectralClustering(_Affine):
    def _build(self, X: Any = None) -> Any:
        return es.SpectralClustering(
            self.n_clusters,
            n_components=self.n_components,
            assign=self.assign_labels,
            **self._graph(),
            solver=_solver(self.eigen_solver),
            random_state=self.random_state,
        )

    def _kernel(self, X: Any) -> Any:
        params = {} if callable(self.affinity) else {"gamma": self.gamma, "degree": self.degree, "coef0": self.coef0}
        return pairwise_kernels(X, metric=self.affinity, filter_params=True, **params, **(self.kernel_params or {}))


@adapter(n_components=2, metric="euclidean", metric_params=None)
class ClassicalMDS(Adapter):
    def _build(self, X: Any = None) -> Any:
        return es.ClassicalMDS(self.n_components, metric=_metric(self.metric, (self.metric_params or {}).get("p")))


@adapter(
    n_components=2, algorithm="randomized", n_iter=5, n_oversamples=10, power_iteration_normalizer="auto", random_state=None,
    tol=0.0,
)  # fmt: skip
class TruncatedSVD(Adapter):
    def _build(self, X: Any = None) -> Any:
        return es.PCA(self.n_components, center=False, random_state=self.random_state)


@adapter(n_components=2, scale=True, max_iter=500, tol=1e-06, copy=True)
class CCA(Adapter):
    """Ours needs no scale=: variates do not depend on the units of the columns."""

    def _build(self, X: Any = None) -> Any:
        inner = es.CCA(self.n_components)
        return inner.set_output(transform=self._container) if hasattr(self, "_container") else inner

    def set_output(self, *, transform: Any = None) -> Any:
        self._container = transform
        return self

    def transform(self, X: Any, y: Any = None, copy: bool = True) -> Any:
        check_is_fitted(self, "inner_")
        return self.inner_.transform(X, y)


#: Where scikit-learn keeps the names, and what stands in for them.
STAND_INS = {
    "sklearn.cross_decomposition": [CCA],
    "sklearn.decomposition": [PCA, IncrementalPCA, KernelPCA, TruncatedSVD],
    "sklearn.discriminant_analysis": [LinearDiscriminantAnalysis],
    "sklearn.manifold": [Isomap, LocallyLinearEmbedding, SpectralEmbedding, ClassicalMDS],
    "sklearn.cluster": [SpectralClustering],
}
