"""Workers that end in the middle of a fit, and schedulers that are lost: real processes are ended."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import eigenspan as es
from eigenspan.data.rows import cluster as module
from eigenspan.errors import ClusterError, ClusterWarning, MemoryLimitError
from lazy_data import block, fatal_block, lazily, telling_block

BLOCKS = 24


@pytest.fixture(scope="module")
def whole() -> Any:
    return es.PCA(3).fit(np.concatenate([block(i) for i in range(BLOCKS)]))


def ours(found: Any) -> list[Any]:
    return [w for w in found if issubclass(w.category, es.errors.EigenspanWarning)]


def fit_and_compare(X: Any, whole: Any) -> list[Any]:
    """The warnings of ours that a fit gives, whose result must be that in memory."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        pca = es.PCA(3).fit(X)
    np.testing.assert_allclose(pca.components_, whole.components_, atol=1e-10)
    assert pca.n_samples_seen_ == 1000 * BLOCKS
    return ours(found)


def _when(begun: Path, act: Callable[[], None]) -> threading.Thread:
    """Do something as soon as a file is there."""

    def run() -> None:
        while not begun.exists():
            time.sleep(0.005)
        act()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return thread


def test_a_worker_that_is_killed_changes_nothing(mortal_cluster: Any, whole: Any, tmp_path: Path) -> None:
    victim, begun = next(iter(mortal_cluster.run(os.getpid).values())), tmp_path / "begun"

    killer = _when(begun, lambda: os.kill(victim, signal.SIGKILL))
    (warning,) = fit_and_compare(lazily(telling_block, BLOCKS, str(begun)), whole)
    killer.join()
    assert warning.category is ClusterWarning
    assert "1 of the cluster's workers ended" in str(warning.message)
    mortal_cluster.wait_for_workers(1, timeout=600)
    assert fit_and_compare(lazily(block, BLOCKS), whole) == []  # told of once


@pytest.mark.long
@pytest.mark.parametrize("memory", [0, 2**30])
@pytest.mark.usefixtures("mortal_cluster")
def test_a_block_that_ends_its_worker_once(whole: Any, tmp_path: Path, memory: int) -> None:
    """By a signal, or by taking more memory than the worker has."""
    flag = tmp_path / "once"
    flag.touch()
    found = fit_and_compare(lazily(fatal_block, BLOCKS, str(flag), memory), whole)
    assert [w.category for w in found] == [ClusterWarning]
    assert not flag.exists()


def test_a_block_that_no_worker_survives(mortal_cluster: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Dask gives up after some workers, or has none left: either way an error says what to do."""
    import dask

    monkeypatch.setattr(module, "_PATIENCE", 10.0)
    mortal_cluster.run_on_scheduler(lambda dask_scheduler: setattr(dask_scheduler, "allowed_failures", 0))
    with (
        warnings.catch_warnings(),
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),
        pytest.raises((MemoryLimitError, ClusterError), match=r"ended every worker that processed it.*smaller blocks"),
    ):
        warnings.simplefilter("ignore")
        es.PCA(3).fit(lazily(_always_fatal, 4))


def _always_fatal(number: int) -> Any:
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_lost_scheduler_is_an_error_that_says_what_to_do(tmp_path: Path) -> None:
    """By its address too: the cluster is of processes of its own."""
    from distributed import Client

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{free.getsockname()[1]}"
    run = [sys.executable, "-m"]
    quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    ends = ["--host", "127.0.0.1", "--port", address.rsplit(":", 1)[1], "--no-dashboard"]
    paths = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    scheduler = subprocess.Popen([*run, "distributed.cli.dask_scheduler", *ends], env=paths, **quiet)
    worker = subprocess.Popen(
        [*run, "distributed.cli.dask_worker", address, "--nthreads", "1", "--no-dashboard"], env=paths, **quiet
    )
    client = None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            client = Client(address, timeout=600)
            client.wait_for_workers(1, timeout=600)
            assert es.PCA(3).fit(lazily(block, 4)).n_samples_seen_ == 4000
            begun, pca = tmp_path / "begun", es.PCA(3)
            _when(begun, scheduler.kill)
            with pytest.raises(ClusterError, match=f"scheduler at {address} was lost.*call fit anew"):
                pca.fit(lazily(telling_block, 100, str(begun)))
        assert not hasattr(pca, "components_")
    finally:
        for process in (scheduler, worker):
            process.kill()
            process.wait()
        if client is not None:
            _close(client)


def _close(client: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            client.close(timeout=2)
        except Exception:  # there is nobody to say goodbye to
            time.sleep(0.1)


def test_an_error_of_a_task_is_passed_on(cluster: Any) -> None:
    with pytest.raises(FileNotFoundError, match="nowhere"):
        es.PCA().fit(lazily(_missing, 3))


def _missing(number: int) -> Any:
    raise FileNotFoundError("nowhere to be found")


def test_the_limit_of_a_worker_counts(cluster: Any) -> None:
    """What a worker may use, not what the machine has."""
    from eigenspan.numerics.memory import available_memory

    left = cluster.submit(available_memory, pure=False).result()
    assert 0 < left < 700e6
