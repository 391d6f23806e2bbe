"""Graphs and geodesics on a cluster of two workers, against the truth and against one process.

    python -m benchmarks.clusters_graph eigenmaps 100000 --memory     # the same rows in one process, and the angle between both
    python -m benchmarks.clusters_graph isomap 5000000                # a Swiss roll by blocks, against its own coordinates
    python -m benchmarks.clusters_graph wide 200000                   # ten axes of a table of 20,000 columns

Rows are made by the workers. Prints seconds, megabytes that workers have received from others, and what was found.
"""

from __future__ import annotations

import argparse
import resource
import time
from typing import Any

import numpy as np
import scipy.linalg as la

_LATENT, _CLUSTERS = 6, 8


def lazily(make: Any, n: int, D: int, rows: int, dtype: str) -> Any:
    """A Dask array whose blocks ``make(seed, rows)`` are made on the workers."""
    import dask
    import dask.array as da

    block = dask.delayed(make, pure=True)
    sizes = [min(rows, n - start) for start in range(0, n, rows)]
    return da.concatenate([da.from_delayed(block(i, m), (m, D), dtype) for i, m in enumerate(sizes)])


def clusters(seed: int, rows: int) -> Any:
    """Overlapping clusters in six latent dimensions, shown in fifty."""
    fixed, rng = np.random.default_rng(0), np.random.default_rng([1, seed])
    centres, turn = 1.1 * fixed.standard_normal((_CLUSTERS, _LATENT)), fixed.standard_normal((_LATENT, 50))
    Z = centres[rng.integers(0, _CLUSTERS, rows)] + rng.standard_normal((rows, _LATENT))
    return Z @ turn / np.sqrt(50)


def sheet(seed: int, rows: int) -> Any:
    """Length along the roll, and height: the coordinates that unrolling should find."""
    t, height = roll_parameters(seed, rows)
    return np.column_stack([0.5 * (t * np.sqrt(1 + t**2) + np.arcsinh(t)), height])


def roll(seed: int, rows: int) -> Any:
    t, height = roll_parameters(seed, rows)
    return np.column_stack([t * np.cos(t), height, t * np.sin(t)])


def roll_parameters(seed: int, rows: int) -> Any:
    rng = np.random.default_rng([2, seed])
    return 1.5 * np.pi * (1 + 2 * rng.random(rows)), 21 * rng.random(rows)


def wide(seed: int, rows: int) -> Any:
    fixed, rng = np.random.default_rng(0), np.random.default_rng([3, seed])
    axes = fixed.standard_normal((40, 20_000)).astype(np.float32)
    factors = rng.standard_normal((rows, 40)).astype(np.float32) * np.linspace(5, 0.5, 40, dtype=np.float32)
    return factors @ axes + rng.standard_normal((rows, 20_000)).astype(np.float32)


def procrustes(Y: Any, truth: Any) -> float:
    """What a rotation and a shift leave of the squared distances to the truth, as a share of its variance."""
    A, B = Y - Y.mean(axis=0), truth - truth.mean(axis=0)
    U, _, Vt = la.svd(A.T @ B)
    return float(np.sum((A @ U @ Vt - B) ** 2) / np.sum(B**2))


def eigenmaps(n: int, memory: bool) -> None:
    from eigenspan import LaplacianEigenmaps

    X = lazily(clusters, n, 50, 50_000, "f8")
    start = time.perf_counter()
    found = LaplacianEigenmaps(3, n_neighbors=10).fit(X)
    print(f"cluster: {time.perf_counter() - start:.0f} s", found.eigenvalues_, found.diagnostics_, flush=True)
    if memory:
        start = time.perf_counter()
        whole = LaplacianEigenmaps(3, n_neighbors=10).fit(X.compute())
        print(f"one process: {time.perf_counter() - start:.0f} s", whole.eigenvalues_, whole.diagnostics_)
        print(f"angle: {np.degrees(la.subspace_angles(found.embedding_, whole.embedding_)).max():.2e} degrees")


def isomap(n: int, memory: bool) -> None:
    from eigenspan import LandmarkIsomap

    X, truth = lazily(roll, n, 3, 100_000, "f8"), lazily(sheet, n, 2, 100_000, "f8")
    start = time.perf_counter()
    found = LandmarkIsomap(2, n_neighbors=10, sample=20_000, landmarks=100).fit(X)
    print(f"fit: {time.perf_counter() - start:.0f} s", found.diagnostics_, flush=True)
    start = time.perf_counter()
    Y = found.transform(X).compute()
    print(f"placing {n} rows: {time.perf_counter() - start:.0f} s", flush=True)
    print(f"Procrustes: {procrustes(Y, truth.compute()):.2e}")


def axes(n: int, memory: bool) -> None:
    from eigenspan import PCA

    start = time.perf_counter()
    found = PCA(10).fit(lazily(wide, n, 20_000, 2000, "f4"))
    print(f"fit: {time.perf_counter() - start:.0f} s", found.explained_variance_, found.diagnostics_)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["eigenmaps", "isomap", "wide"])
    parser.add_argument("n", type=int)
    parser.add_argument("--memory", action="store_true")
    given = parser.parse_args()
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, memory_limit="4GB", dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        {"eigenmaps": eigenmaps, "isomap": isomap, "wide": axes}[given.what](given.n, given.memory)
        moved = client.run(lambda dask_worker: sum(e["total"] for e in dask_worker.transfer_incoming_log) / 2**20)
        peaks = client.run(lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20)
        print("workers: MB received", list(moved.values()), "GB at most", list(peaks.values()))
    print(f"this process: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.2f} GB")


if __name__ == "__main__":
    main()
