"""Export of results to other libraries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from .errors import InputError


def to_anndata(estimators: Any, adata: Any = None, *, X: Any = None) -> Any:
    """Return an AnnData object with the results of fitted estimators, in the layout of scanpy.

    ::

        obsm["X_isomap"]              the embedding
        obsp["isomap_distances"]      the neighbour graph, if the method has one
        obsp["lle_connectivities"]    the edge weights, if the method has them
        varm["lpp_loadings"]          directions in feature space, if the method has them
        obs["spectralclustering_cluster"]   clusters
        uns["isomap"]                 eigenvalues, shares of the variance, parameters, versions

    Two methods also exist in scanpy and are written under its names, so that its functions find them:

    - `PCA` as ``"pca"``: ``varm["PCs"]``, and in ``uns["pca"]`` ``variance``, ``variance_ratio`` and ``params["zero_center"]``;
    - `DiffusionMap` as ``"diffmap"``: ``obsm["X_diffmap"]`` and ``uns["diffmap_evals"]`` as in ``sc.tl.diffmap``: unit eigenvectors of
      the symmetric matrix, including the stationary one as the first. The embedding itself is in ``obsm["X_diffusionmap"]``. The graph
      is also written to ``uns["neighbors"]``, for ``sc.tl.dpt``, unless that exists.

    Parameters
    ----------
    estimators : fitted estimator, or dict of str to fitted estimator
        The keys contain the name of the class in lower case (``"diffmap"`` for DiffusionMap), or the name given here.
    adata : AnnData, optional
        Object to add the results to, in place; its rows must be the training rows, in order. By default a new object is made from `X`.
    X : array-like of shape (n_samples, n_features), optional
        The data of a new AnnData; if None, the new object has no matrix.

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
    named = estimators if isinstance(estimators, Mapping) else {anndata_name(type(estimators).__name__): estimators}
    for estimator in named.values():
        check_is_fitted(estimator)
    if adata is None:
        n = len(next(iter(named.values())).embedding_)
        adata = anndata.AnnData(X=X) if X is not None else anndata.AnnData(shape=(n, 0))
    for name, estimator in named.items():
        _add(adata, str(name), estimator)
    return adata


def anndata_name(name: str) -> str:
    """Return the name of a method in AnnData keys: scanpy's name if scanpy has the method."""
    return {"diffusionmap": "diffmap"}.get(name.lower(), name.lower())


def _add(adata: Any, name: str, estimator: Any) -> None:
    Y = np.asarray(estimator.embedding_)
    if len(Y) != adata.n_obs:
        raise InputError(
            f"The AnnData has {adata.n_obs} rows, but {type(estimator).__name__} was fitted to {len(Y)}: both must have the same rows."
        )
    adata.obsm[f"X_{name}"] = Y
    _add_graph(adata, name, estimator)
    directions = getattr(estimator, "components_", None)
    if directions is not None and np.shape(directions)[1] == adata.n_vars:
        key = "PCs" if _is_scanpys(name, estimator, "PCA") else f"{name}_loadings"
        adata.varm[key] = np.asarray(directions).T
    if getattr(estimator, "labels_", None) is not None:
        adata.obs[f"{name}_cluster"] = np.asarray(estimator.labels_).astype(str)
    adata.uns[name] = _facts(estimator)
    if _is_scanpys(name, estimator, "PCA"):
        adata.uns[name]["params"] |= {"zero_center": bool(estimator.center), "use_highly_variable": False}
    if _is_scanpys(name, estimator, "DiffusionMap"):
        _add_diffusion(adata, name, estimator)


def _is_scanpys(name: str, estimator: Any, method: str) -> bool:
    return type(estimator).__name__ == method and name == {"PCA": "pca", "DiffusionMap": "diffmap"}[method]


def _add_graph(adata: Any, name: str, estimator: Any) -> None:
    """Add the distances to neighbours and the edge weights; a graph of affinities has no distances."""
    graph, affinity = getattr(estimator, "graph_", None), getattr(estimator, "affinity_", None)
    if graph is None or graph.n != adata.n_obs:  # duplicate rows are merged into one vertex
        return
    if not getattr(affinity, "given", False):
        adata.obsp[f"{name}_distances"] = graph.undirected()
    weights: Any = getattr(affinity, "W", None)
    if sp.issparse(weights):
        adata.obsp[f"{name}_connectivities"] = sp.csr_matrix(weights)


def _add_diffusion(adata: Any, name: str, estimator: Any) -> None:
    """Add the axes of a diffusion map in scanpy's scaling, ``√d ψ`` for eigenfunctions ψ and degrees d of the walk."""
    Y, masses = np.asarray(estimator.embedding_), estimator.problem_.B.diagonal()
    del adata.obsm[f"X_{name}"]
    adata.obsm["X_diffusionmap"] = Y
    if masses.size != len(Y):  # duplicate rows are merged in the walk, which scanpy does not support
        return
    axes = np.sqrt(masses)[:, None] * np.hstack([np.ones((len(Y), 1)), Y])
    adata.obsm[f"X_{name}"] = axes / np.linalg.norm(axes, axis=0)
    adata.uns["diffmap_evals"] = np.concatenate([[1.0], estimator.walk_eigenvalues_])
    if f"{name}_connectivities" in adata.obsp and "neighbors" not in adata.uns:
        keys = {f"{kind}_key": f"{name}_{kind}" for kind in ("connectivities", "distances")}
        if keys["distances_key"] not in adata.obsp:
            keys["distances_key"] = keys["connectivities_key"]
        degree = int(np.median(np.diff(estimator.graph_.distances.indptr)))
        adata.uns["neighbors"] = {**keys, "params": {"n_neighbors": degree + 1, "method": "eigenspan"}}


def _facts(estimator: Any) -> dict[str, Any]:
    """Return eigenvalues, variances, parameters and versions, in types that an HDF5 file can hold."""
    from . import __version__

    facts: dict[str, Any] = {"method": type(estimator).__name__, "eigenspan": __version__}
    facts["params"] = {key: str(value) for key, value in estimator.get_params(deep=False).items()}
    kept = {
        "eigenvalues_": "eigenvalues",
        "explained_variance_": "variance",
        "explained_variance_ratio_": "variance_ratio",
    }
    for attribute, key in kept.items():
        value = getattr(estimator, attribute, None)
        if value is not None:
            facts[key] = np.asarray(value)
    return facts
