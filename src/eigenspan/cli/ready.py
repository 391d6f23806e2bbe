"""Small calls that compile every numba loop with the types used in fits, so that no fit waits for the compiler."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp

#: Number of points, of neighbours, and of features: fewer and more than neighbours.
_N, _K, _FEW_FEATURES, _MANY_FEATURES = 60, 8, 3, 20
#: Order of a dense matrix whose fronts are large enough for several threads.
_DENSE_ORDER = 400


def _points(features: int = _FEW_FEATURES) -> np.ndarray:
    return np.random.default_rng(0).standard_normal((_N, features))


def _graph() -> sp.csr_array:
    """Return a ring graph with chords; weights are lengths."""
    i = np.repeat(np.arange(_N), _K)
    half = sp.coo_array((np.ones(i.size), (i, (i + np.tile(np.arange(1, _K + 1), _N)) % _N)), shape=(_N, _N))
    return sp.csr_array(half + half.T)


def _neighbours() -> None:
    from ..numerics.nearest.engines import choose

    X = _points(_MANY_FEATURES)
    engine = choose(X, "euclidean", "exact", None, work=np.inf)
    engine.near(None, _K)
    engine.near(X[:5], _K)


def _local_models() -> None:
    from ..graphs.weights import local_models as local
    from ..numerics.factor import assemble

    members = (np.arange(_N)[:, None] + np.arange(_K)).ravel().astype(np.int32) % np.int32(_N)
    starts = np.arange(_N + 1, dtype=np.int64) * _K
    for X in (_points(), _points(_MANY_FEATURES)):
        local.weights_of_lists(X, X, starts, members, 1e-3)
        local.quadratics(X, starts, members, 2)
        F = local.reconstructors(X, starts, members, 2, 1e-3, 1e-3, 1.0)[0]
        assemble.sum_of_blocks(starts, members, F, np.ones(_N), np.ones(F.shape[1]), 1.0, 1.0, -1.0)


def _shortest_paths() -> None:
    from ..numerics.paths.first_steps import first_steps
    from ..numerics.paths.shortest_paths import ShortestPaths

    G, some = _graph(), np.arange(3)
    ShortestPaths(G)(some)
    for single in (False, True):
        table = np.empty((_N, some.size), np.float32 if single else np.float64)
        for together in (1, 2):
            ShortestPaths(G, single, together).into(table, some)
        first_steps(G.indptr, G.indices, G.data, table.astype(np.float64))


def _eigenproblems() -> None:
    from ..numerics.eigen.chebyshev import smallest_by_filter
    from ..numerics.factor import Analysis
    from ..problem import Form

    W = _graph()
    A = sp.csr_array(sp.diags_array(W.sum(axis=1) + 1.0) - W)
    for M in (A, sp.csr_array(np.ones((_DENSE_ORDER, _DENSE_ORDER)) + np.eye(_DENSE_ORDER))):
        Analysis(M).factorise(M).solve(np.ones(M.shape[0]))
    smallest_by_filter(
        Form(_N, sparse=A, psd=True), 1, np.random.default_rng(0), exclude=None, tol=1e-6, cycles=9, degree=20
    )


def _measures() -> None:
    from ..numerics.nearest.pair_counts import pair_histogram
    from ..numerics.ranks import order_rows, tally_rows

    order = order_rows(np.abs(_points(_N)), np.arange(_N))
    counts, rows = np.zeros((5, _N), np.int64), np.zeros((_N, 4))
    tally_rows(order, order, _K, np.ones(_N), counts, np.zeros(_N, np.int64), rows)
    pair_histogram(_points())


#: The calls, by the purpose of the loops that they compile.
CALLS: dict[str, Callable[[], None]] = {
    "the search for neighbours": _neighbours,
    "local models": _local_models,
    "shortest paths": _shortest_paths,
    "eigenproblems": _eigenproblems,
    "measures": _measures,
}
