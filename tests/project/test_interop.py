"""AnnData as scanpy reads it."""

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.preprocessing import StandardScaler

from eigenspan import LLE, PCA, SpectralClustering, to_anndata
from eigenspan.errors import InputError

anndata = pytest.importorskip("anndata", reason="anndata is not installed")


@pytest.fixture(scope="module")
def X():
    return StandardScaler().fit_transform(load_wine().data)


def test_what_stands_where(X, tmp_path):
    adata = to_anndata({"pca": PCA(2).fit(X), "lle": LLE(2).fit(X)}, X=X)
    np.testing.assert_array_equal(adata.obsm["X_pca"], PCA(2).fit(X).embedding_)
    assert adata.varm["pca_loadings"].shape == (13, 2)
    assert adata.obsp["lle_distances"].shape == (len(X), len(X))
    assert adata.uns["pca"]["variance_ratio"].shape == (2,)
    adata.write_h5ad(tmp_path / "a.h5ad")
    again = anndata.read_h5ad(tmp_path / "a.h5ad")
    np.testing.assert_array_equal(again.obsm["X_lle"], adata.obsm["X_lle"])
    assert again.uns["lle"]["params"]["n_neighbors"] == str(LLE().n_neighbors)


def test_added_to_what_there_is(X):
    adata = anndata.AnnData(X=X)
    assert to_anndata(SpectralClustering(n_clusters=3).fit(X), adata) is adata
    assert set(adata.obs["spectralclustering_cluster"]) == {"0", "1", "2"}
    with pytest.raises(InputError, match="must be the same rows"):
        to_anndata(PCA(2).fit(X[1:]), adata)
