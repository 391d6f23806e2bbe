"""Fits to rows that two Dask workers make lazily, against fits to the same rows in memory.

::

    python -m benchmarks.clusters                 # 5,000,000 × 100, processor time and agreement
    python -m benchmarks.clusters --rows 50000000 --large   # one pass over many rows: peak memory of the workers

Processor time is that of all processes, less what it takes to make the rows, which is measured by itself.
"""

from __future__ import annotations

import argparse
import operator
import os
import time
from functools import partial
from typing import Any

import numpy as np

import eigenspan as es

D, CLASSES = 100, 10
DIRECTIONS = np.random.default_rng(0).standard_normal((2, D)).astype(np.float32)
SIZES = np.linspace(2.0, 0.5, D, dtype=np.float32)


def hidden(number: int, rows: int) -> Any:
    """What the rows of a block depend on: cheap to make by itself."""
    return np.random.default_rng([1, number]).standard_normal((rows, 2))


def features(number: int, rows: int) -> Any:
    X = np.random.default_rng([2, number]).standard_normal((rows, D), dtype=np.float32)
    X *= SIZES
    X += hidden(number, rows).astype(np.float32) @ DIRECTIONS
    return X


def classes(number: int, rows: int) -> Any:
    return np.clip(np.floor(3 * hidden(number, rows)[:, 0]) + CLASSES // 2, 0, CLASSES - 1).astype(np.int64)


def response(number: int, rows: int) -> Any:
    t = hidden(number, rows)
    return np.exp(t[:, 0]) + 0.3 * t[:, 1] ** 2


def lazily(make: Any, n: int, step: int, width: int, dtype: Any) -> Any:
    import dask
    import dask.array as da

    shapes = [(min(step, n - start), *((width,) if width else ())) for start in range(0, n, step)]
    blocks = [dask.delayed(make, pure=True)(i, shape[0]) for i, shape in enumerate(shapes)]
    return da.concatenate([da.from_delayed(b, shape, dtype) for b, shape in zip(blocks, shapes, strict=True)])


def whole(make: Any, n: int, step: int) -> Any:
    return np.concatenate([make(i, min(step, n - start)) for i, start in enumerate(range(0, n, step))])


def processor_seconds(client: Any) -> float:
    """Of this process and the workers, so far."""
    return time.process_time() + sum(client.run(time.process_time).values())


def peak_memory(client: Any) -> float:
    """The largest that a worker has been, in GB."""
    return max(client.run(_peak).values()) / 2**20


def _peak() -> int:
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _counted(*tables: Any) -> int:
    return len(tables[0])


def methods(X: Any, c: Any, r: Any) -> dict[str, tuple[Any, tuple[Any, ...]]]:
    return {
        "PCA": (es.PCA(5), (X,)),
        "LDA": (es.LDA(), (X, c)),
        "LPP": (es.LPP(5, graph="class"), (X, c)),
        "SIR": (es.SIR(2), (X, r)),
        "CCA": (es.CCA(2), (X[:, :60], X[:, 60:])),
    }


def compare(client: Any, n: int, step: int, only: list[str], repeats: int) -> None:
    make = partial(lazily, n=n, step=step)
    lazy = make(features, width=D, dtype="f4"), make(classes, width=0, dtype="i8"), make(response, width=0, dtype="f8")
    print(f"{n} × {D}, blocks of {step}; medians of {repeats}, in turn")
    held = [whole(part, n, step) for part in (features, classes, response)]
    for name, (estimator, given) in methods(*lazy).items():
        if only and name not in only:
            continue
        other, arrays = methods(*held)[name]
        spent = np.median([_seconds(client, estimator, given, other, arrays) for _ in range(repeats)], axis=0)
        told = "{:.1f} s on the workers (beside {:.1f} s that made the rows), {:.1f} s in memory".format(*spent)
        if name == "PCA":
            # in memory rows of single precision are multiplied as they are, which is good to six digits; blocks are not
            arrays = (arrays[0].astype(np.float64),)
            told += f" ({np.median([_fitting(other, arrays) for _ in range(repeats)]):.1f} s in double precision)"
        gap = np.abs(other.components_ - estimator.components_).max() / np.abs(other.components_).max()
        print(f"{name}: {told}, apart {gap:.1e}; load {os.getloadavg()[0]:.1f}", flush=True)
    print(f"Peak memory of a worker: {peak_memory(client):.2f} GB")


def _seconds(client: Any, estimator: Any, given: Any, other: Any, arrays: Any) -> tuple[float, float, float]:
    """Of processors: a fit on the workers without making the rows, making them, and a fit in memory."""
    from eigenspan.data.rows.dask_rows import lazy_table

    begun = processor_seconds(client)
    rows = lazy_table(given[0])  # each time: a busy machine works slower
    rows.reduce(_counted, operator.add, *(rows.beside(other) for other in given[1:]))
    making = processor_seconds(client) - begun
    begun = processor_seconds(client)
    estimator.fit(*given)
    return processor_seconds(client) - begun - making, making, _fitting(other, arrays)


def _fitting(estimator: Any, arrays: Any) -> float:
    begun = time.process_time()
    estimator.fit(*arrays)
    return time.process_time() - begun


def large(client: Any, n: int, step: int) -> None:
    begun, spent = time.perf_counter(), processor_seconds(client)
    X, c = (lazily(make, n, step, width, dtype) for make, width, dtype in ((features, D, "f4"), (classes, 0, "i8")))
    lda = es.LDA().fit(X, c)
    seconds, spent = time.perf_counter() - begun, processor_seconds(client) - spent
    assert lda.n_samples_seen_ == n
    print(
        f"LDA of {n} × {D}: {seconds:.0f} s, {spent:.0f} s of processors, the rows made on the way; load {os.getloadavg()[0]:.1f}"
    )
    print(f"Peak memory of a worker: {peak_memory(client):.2f} GB")


def main() -> None:
    from distributed import Client, LocalCluster

    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rows", type=int, default=5_000_000)
    options.add_argument("--step", type=int, default=100_000)
    options.add_argument("--large", action="store_true")
    options.add_argument("--repeats", type=int, default=3)
    options.add_argument("methods", nargs="*", help="PCA LDA LPP SIR CCA; all of them unless named")
    o = options.parse_args()
    settings: dict[str, Any] = {"n_workers": 2, "threads_per_worker": 1, "memory_limit": "2GB"}
    with LocalCluster(**settings, dashboard_address=None) as workers, Client(workers) as client:
        if o.large:
            large(client, o.rows, o.step)
        else:
            compare(client, o.rows, o.step, o.methods, o.repeats)


if __name__ == "__main__":
    main()
