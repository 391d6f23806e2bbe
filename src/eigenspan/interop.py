"""Results for other libraries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .errors import InputError


def to_anndata(estimators: Any, adata: Any = None, *, X: Any = None) -> Any:
    """Fitted estimators as an AnnData object, laid out as scanpy reads it.

    ::

        obsm["X_isomap"]              the embedding
        obsp["isomap_distances"]      the neighbour graph, where the method has one
        varm["pca_loadings"]          directions of the features, where the method has them
        uns["isomap"]                 eigenvalues, shares of the variance, parameters, versions

    Parameters
    ----------
    estimators : fitted estimator, or dict of str to fitted estimator
        The name of a class in lower case, or the name given, becomes part of the keys.
    adata : AnnData, optional
        To add them to, in place; it must have the rows that they were fitted to, in their order. A new one is made of `X` if not given.
    X : array-like of shape (n_samples, n_features), optional
        The data, for a new AnnData; without it that has no matrix.

    Returns
    -------
    AnnData

    Examples
    --------
    >>> import pytest
    >>> _ = pytest.importorskip("anndata")
    >>> from sklearn.datasets import load_iris
    >>> from eigenspan import PCA, to_anndata
    >>> X, _ = load_iris(return_X_y=True)
    >>> to_anndata(PCA(2).fit(X), X=X).obsm["X_pca"].shape
    (150, 2)
    """
    try:
        import anndata
    except ImportError as failure:
        raise ImportError(
            'AnnData needs anndata, which is not installed: pip install "eigenspan[anndata]"'
        ) from failure
    named = estimators if isinstance(estimators, Mapping) else {type(estimators).__name__.lower(): estimators}
    for estimator in named.values():
        check_is_fitted(estimator)
    if adata is None:
        n = len(next(iter(named.values())).embedding_)
        adata = anndata.AnnData(X=X) if X is not None else anndata.AnnData(shape=(n, 0))
    for name, estimator in named.items():
        _add(adata, str(name), estimator)
    return adata


def _add(adata: Any, name: str, estimator: Any) -> None:
    Y = np.asarray(estimator.embedding_)
    if len(Y) != adata.n_obs:
        raise InputError(
            f"The AnnData has {adata.n_obs} rows and {type(estimator).__name__} was fitted to {len(Y)}: they must be the same rows."
        )
    adata.obsm[f"X_{name}"] = Y
    graph = getattr(estimator, "graph_", None)
    if graph is not None and graph.n == len(Y):  # coincident rows are one point of the graph
        adata.obsp[f"{name}_distances"] = graph.undirected()
    directions = getattr(estimator, "components_", None)
    if directions is not None and np.shape(directions)[1] == adata.n_vars:
        adata.varm[f"{name}_loadings"] = np.asarray(directions).T
    if getattr(estimator, "labels_", None) is not None:
        adata.obs[f"{name}_cluster"] = np.asarray(estimator.labels_).astype(str)
    adata.uns[name] = _facts(estimator)


def _facts(estimator: Any) -> dict[str, Any]:
    """What may be wanted later, in types that an HDF5 file can hold."""
    from . import __version__

    facts: dict[str, Any] = {"method": type(estimator).__name__, "eigenspan": __version__}
    facts["params"] = {key: str(value) for key, value in estimator.get_params(deep=False).items()}
    for attribute, key in (("eigenvalues_", "eigenvalues"), ("explained_variance_ratio_", "variance_ratio")):
        value = getattr(estimator, attribute, None)
        if value is not None:
            facts[key] = np.asarray(value)
    return facts
