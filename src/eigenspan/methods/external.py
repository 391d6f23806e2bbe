"""Methods that scikit-learn has well made, under this library's interface: `embedding_`, a map for new points, diagnostics."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from .._compat import HasMethods
from .._diagnostics import note, stage
from ..core import Map, Spectrum
from ..graphs import as_graph
from .base import JOBS, NEIGHBOURS, Reducer
from .neighbourhood import barycentric

Array = NDArray[np.float64]


class External(Reducer):
    """Another library's reducer under this library's interface.

    An estimator that cannot place new points (t-SNE, non-metric MDS) gets the barycentric extension: new points are rebuilt from
    their neighbours among the training points.

    Parameters
    ----------
    estimator : estimator with ``fit_transform``
    n_neighbors : int or None, default=None
        Neighbours for the extension, where one is needed.
    n_jobs : int or None, default=None

    Attributes
    ----------
    estimator_ : estimator
        The fitted clone.
    embedding_ : ndarray of shape (n_samples, n_components)
    map_ : callable
    diagnostics_ : dict

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.decomposition import FactorAnalysis
    >>> from eigenspan import External
    >>> X, _ = load_iris(return_X_y=True)
    >>> External(FactorAnalysis(2)).fit(X).transform(X[:3]).shape
    (3, 2)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "estimator": [HasMethods("fit_transform")],
        "n_neighbors": NEIGHBOURS,
        "n_jobs": JOBS,
    }

    def __init__(self, estimator: Any, *, n_neighbors: int | None = None, n_jobs: int | None = None) -> None:
        self.estimator = estimator
        self.n_neighbors = n_neighbors
        self.n_jobs = n_jobs

    def _needs_labels(self) -> bool:
        tags = getattr(self.estimator, "__sklearn_tags__", None)
        return bool(tags is not None and tags().target_tags.required)

    def _fit(self, X: Any, y: Any) -> tuple[Array, Any]:
        self.estimator_ = clone(self.estimator)
        note(solver=f"sklearn.{type(self.estimator).__name__}")
        with stage("external fit"):
            Y = np.asarray(
                self.estimator_.fit_transform(X, y) if self._needs_labels() else self.estimator_.fit_transform(X),
                dtype=np.float64,
            )
        if hasattr(self.estimator_, "transform"):
            return Y, _Transform(self.estimator_)
        graph = as_graph(None, X, n_neighbors=self.n_neighbors, n_jobs=self.n_jobs)
        map_: Map = barycentric(graph, X)(Y, Spectrum(np.zeros(0), np.zeros((0, 0)), np.zeros(0)))
        return Y, map_


class _Transform:
    """The estimator's own map."""

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def __call__(self, X: Any) -> Array:
        return np.asarray(self.estimator.transform(X), dtype=np.float64)
