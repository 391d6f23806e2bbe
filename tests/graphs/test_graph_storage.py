"""A graph built over dense rows, used with the same rows stored sparsely, and the reverse."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.neighbors import KNeighborsTransformer

import eigenspan as es
from eigenspan.errors import GraphError
from helpers import quietly

SPARSE = sp.csr_array(sp.random_array((60, 8), density=0.4, random_state=np.random.default_rng(0)).toarray())
DENSE = SPARSE.toarray()
NEW = np.where(DENSE[:7] > 0, DENSE[:7] + 0.03, 0.0)

GRAPHS = {
    "nearest": lambda rows: es.KNN(6).build(rows),
    "radius": lambda rows: es.Radius(1.2).build(rows),
    "cityblock": lambda rows: es.KNN(6, metric="cityblock").build(rows),
    "transformer": lambda rows: KNeighborsTransformer(n_neighbors=6).fit(rows),
}
METHODS = {
    "LaplacianEigenmaps": es.LaplacianEigenmaps,
    "LLE": es.LLE,
    "Isomap": es.Isomap,
    "LPP": es.LPP,
    "DiffusionMap": es.DiffusionMap,
}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize("over, rows", [(DENSE, SPARSE), (SPARSE, DENSE)], ids=["dense graph", "sparse graph"])
@pytest.mark.every(3)
def test_a_given_graph_equals_a_graph_of_these_rows(method, graph, over, rows):
    make, build = METHODS[method], GRAPHS[graph]
    new = sp.csr_array(NEW) if sp.issparse(rows) else NEW
    other = quietly(lambda: make(2, graph=build(over)).fit(rows), Warning)
    same = quietly(lambda: make(2, graph=build(rows)).fit(rows), Warning)
    for points in (rows, new):
        found, expected = other.transform(points), same.transform(points)
        np.testing.assert_allclose(np.abs(found), np.abs(expected), atol=1e-5 * np.abs(expected).max())


def test_bridges_are_found_in_the_rows_of_the_fit():
    """The exact search of dense points would be handed sparse ones."""
    rng = np.random.default_rng(0)
    islands = np.vstack([rng.standard_normal((30, 20)), rng.standard_normal((30, 20)) + 50.0])
    graph = es.KNN(5, search="exact").build(islands)
    found = quietly(lambda: es.LaplacianEigenmaps(1, graph=graph).fit(sp.csr_array(islands)), Warning).embedding_
    expected = quietly(lambda: es.LaplacianEigenmaps(1, graph=graph).fit(islands), Warning).embedding_
    np.testing.assert_allclose(np.abs(found), np.abs(expected), atol=1e-6 * np.abs(expected).max())


def test_new_points_with_other_features_than_the_graph_has():
    X = np.random.default_rng(0).standard_normal((50, 8))
    fitted = es.LaplacianEigenmaps(2, graph=es.KNN(6).build(X[:, :3])).fit(X)
    with pytest.raises(GraphError, match="built from points with 3 features, but the new points have 8"):
        fitted.transform(X[:5] + 0.1)
