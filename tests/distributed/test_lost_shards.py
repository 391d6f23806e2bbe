"""A worker that ends while a filter runs on the cluster: shards, and what was sent to them, are made again by others."""

from __future__ import annotations

import itertools
import os
import signal
import time
import warnings
from collections.abc import Iterator
from typing import Any

import dask
import numpy as np

from eigenspan import Heat
from eigenspan.data.rows.cluster import Here, Workers
from eigenspan.errors import ClusterWarning, EigenspanWarning
from eigenspan.graphs.distributed.cells import Cells
from eigenspan.graphs.distributed.laplacian_products import SpreadMatrix, spread_laplacian
from eigenspan.graphs.distributed.shard_search import dealt, spread_graph

N = 400


def rows() -> Any:
    """Some of them equal, so that masses are sent too."""
    X = np.random.default_rng(0).standard_normal((N, 3))
    X[N // 2 :: 5] = X[0]
    return X


def matrix_by(hands: Here, X: Any) -> SpreadMatrix:
    """The Laplacian of a graph in two shards, in units that were sent to the workers too."""
    cells = Cells.of(X, 2)
    blocks = [dask.delayed(X[i:j]) for i, j in itertools.pairwise(range(0, N + 1, N // 2))]
    pieces = [hands.begin(dealt, part, i, cells) for part, i in zip(blocks, (0, N // 2), strict=True)]
    L = spread_laplacian(spread_graph(hands, pieces, cells, 6), Heat(1.0))[0]
    return L.scaled(1 / np.sqrt(L.diagonal()))


def test_a_worker_that_ends_while_the_filter_runs(cluster: Any) -> None:
    from distributed import wait

    cluster.wait_for_workers(2, timeout=600)
    expected = matrix_by(Here(), rows())
    steps = [(0.5, -0.5, 0.0)] + 9 * [(1.0, -1.0, -1.0)]
    V = np.random.default_rng(1).standard_normal((expected.starts[-1], 3))
    found = matrix_by(Workers(cluster), rows())
    wait(found.blocks)

    def fatal(steps: Any) -> Iterator[Any]:
        """In the middle of them the worker ends that holds the first shard, and what of V was sent there."""
        for i, step in enumerate(steps):
            if i == len(steps) // 2:
                holder = next(iter(cluster.who_has(found.blocks[:1]).values()))[0]
                (victim,) = cluster.run(os.getpid, workers=[holder]).values()
                os.kill(victim, signal.SIGKILL)
                while holder in cluster.ncores():
                    time.sleep(0.02)
            yield step

    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        Y = found.filtered(V, fatal(steps))
        again = found.filtered(V, steps)
    np.testing.assert_allclose(Y, expected.filtered(V, steps), atol=1e-10 * np.abs(Y).max())
    np.testing.assert_array_equal(again, Y)
    (warning,) = [w for w in told if issubclass(w.category, EigenspanWarning)]
    assert warning.category is ClusterWarning
    assert "1 of the cluster's workers ended" in str(warning.message)
