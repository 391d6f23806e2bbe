"""`to_anndata`: the layout that scanpy expects."""

import sys
import types

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_wine
from sklearn.preprocessing import StandardScaler

from eigenspan import LLE, LPP, PCA, DiffusionMap, LaplacianEigenmaps, SpectralClustering, to_anndata
from eigenspan.errors import InputError


class Table:
    """Stand-in for AnnData with the members that are written."""

    def __init__(self, X=None, shape=None):
        self.n_obs, self.n_vars = shape if X is None else X.shape
        self.obsm, self.varm, self.obsp, self.obs, self.uns = {}, {}, {}, {}, {}


@pytest.fixture
def stand_in(monkeypatch):
    monkeypatch.setitem(sys.modules, "anndata", types.SimpleNamespace(AnnData=Table))


@pytest.fixture(scope="module")
def X():
    return StandardScaler().fit_transform(load_wine().data)


def test_principal_axes_have_scanpys_names(X, stand_in):
    pca = PCA(3).fit(X)
    adata = to_anndata(pca, X=X)
    np.testing.assert_array_equal(adata.obsm["X_pca"], pca.embedding_)
    np.testing.assert_array_equal(adata.varm["PCs"], pca.components_.T)
    np.testing.assert_array_equal(adata.uns["pca"]["variance"], pca.explained_variance_)
    np.testing.assert_array_equal(adata.uns["pca"]["variance_ratio"], pca.explained_variance_ratio_)
    assert adata.uns["pca"]["params"]["zero_center"] is True
    assert adata.uns["pca"]["params"]["use_highly_variable"] is False
    assert to_anndata(PCA(3, center=False).fit(X), X=X).uns["pca"]["params"]["zero_center"] is False
    assert set(to_anndata({"pca": LPP(2).fit(X), "axes": pca}, X=X).varm) == {"pca_loadings", "axes_loadings"}


def test_diffusion_axes_have_scanpys_names(X, stand_in):
    fitted = DiffusionMap(3, n_neighbors=15, t=2).fit(X)
    adata = to_anndata(fitted, X=X)
    found, values = adata.obsm["X_diffmap"], adata.uns["diffmap_evals"]
    W = fitted.affinity_.W + sp.eye_array(len(X))
    density = 1 / W.sum(axis=1)
    W = sp.diags_array(density) @ W @ sp.diags_array(density)
    root = 1 / np.sqrt(W.sum(axis=1))
    exact, axes = np.linalg.eigh((sp.diags_array(root) @ W @ sp.diags_array(root)).toarray())
    np.testing.assert_allclose(values, exact[::-1][:4], atol=1e-9)
    np.testing.assert_allclose(np.abs(np.sum(found * axes[:, ::-1][:, :4], axis=0)), 1, atol=1e-8)
    np.testing.assert_array_equal(adata.obsm["X_diffusionmap"], fitted.embedding_)
    keys = adata.uns["neighbors"]
    np.testing.assert_allclose(adata.obsp[keys["connectivities_key"]].toarray(), fitted.affinity_.W.toarray())
    assert adata.obsp[keys["distances_key"]].nnz == fitted.graph_.undirected().nnz


def test_affinities_are_not_stored_as_distances(X, stand_in):
    W = LaplacianEigenmaps(2, n_neighbors=20).fit(X).affinity_.W
    adata = to_anndata(LaplacianEigenmaps(2, graph="precomputed", weights="precomputed").fit(W), X=X)
    assert set(adata.obsp) == {"laplacianeigenmaps_connectivities"}


def test_names_of_results(X, tmp_path):
    anndata = pytest.importorskip("anndata", reason="anndata is not installed")
    adata = to_anndata({"pca": PCA(2).fit(X), "lle": LLE(2).fit(X)}, X=X)
    np.testing.assert_array_equal(adata.obsm["X_pca"], PCA(2).fit(X).embedding_)
    assert adata.varm["PCs"].shape == (13, 2)
    assert adata.obsp["lle_distances"].shape == (len(X), len(X))
    assert adata.uns["pca"]["variance_ratio"].shape == (2,)
    adata.write_h5ad(tmp_path / "a.h5ad")
    again = anndata.read_h5ad(tmp_path / "a.h5ad")
    np.testing.assert_array_equal(again.obsm["X_lle"], adata.obsm["X_lle"])
    assert again.uns["lle"]["params"]["n_neighbors"] == str(LLE().n_neighbors)


def test_results_are_added_to_an_existing_object(X):
    anndata = pytest.importorskip("anndata", reason="anndata is not installed")
    adata = anndata.AnnData(X=X)
    assert to_anndata(SpectralClustering(n_clusters=3).fit(X), adata) is adata
    assert set(adata.obs["spectralclustering_cluster"]) == {"0", "1", "2"}
    with pytest.raises(InputError, match="must have the same rows"):
        to_anndata(PCA(2).fit(X[1:]), adata)
