"""Graphs with 64-bit indices, as constructed from pairs of points."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse import csgraph

from eigenspan.numerics.paths import csgraph as _csgraph


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@pytest.mark.parametrize("routine", ["dijkstra", "minimum_spanning_tree"])
def test_csgraph_accepts_any_index_type(routine: str, dtype: type, monkeypatch: pytest.MonkeyPatch) -> None:
    i, j = np.array([0, 1, 2, 0, 3]), np.array([1, 2, 3, 3, 4])
    A = sp.csr_array((np.array([1.0, 2.0, 4.0, 3.0, 1.0]), (i, j)), shape=(5, 5))
    A.indices, A.indptr = A.indices.astype(dtype), A.indptr.astype(dtype)
    theirs, seen = getattr(csgraph, routine), []

    def watched(graph: sp.csr_array, **options: object) -> object:
        seen.append(graph.indices.dtype)
        return theirs(graph, **options)

    monkeypatch.setattr(csgraph, routine, watched)
    found = getattr(_csgraph, routine)(A)
    assert seen == [np.int32]
    assert A.indices.dtype == dtype
    expected = {"dijkstra": [0, 1, 3, 3, 4], "minimum_spanning_tree": [0, 1, 0, 3, 0]}[routine]
    np.testing.assert_array_equal((found.toarray() if sp.issparse(found) else found)[0], expected)
