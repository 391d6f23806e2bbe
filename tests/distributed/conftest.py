"""A cluster of two single-threaded workers on this machine: one for each module, or one for a test that harms it."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("distributed")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Dask 2025 warns of a scheduler of this process beside a cluster, which tests here have on purpose."""
    for item in items:
        if item.path.parent == Path(__file__).parent:
            item.add_marker(pytest.mark.filterwarnings("ignore:Running on a single-machine scheduler"))


@contextmanager
def _two_workers() -> Iterator[Any]:
    from distributed import Client, LocalCluster

    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    with warnings.catch_warnings():  # foreign: ports that are taken, files that are closed late
        warnings.simplefilter("ignore")
        workers = LocalCluster(
            n_workers=2, threads_per_worker=1, memory_limit="700MB", dashboard_address=None, host="127.0.0.1"
        )
        client = Client(workers)
        yield client
        client.close()
        with suppress(TimeoutError):  # a worker that was killed may be waited for in vain
            workers.close(timeout=10)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    with _two_workers() as client:
        yield client


@pytest.fixture
def mortal_cluster() -> Iterator[Any]:
    with _two_workers() as client:
        yield client


@pytest.fixture(params=["threads", "cluster"])
def running(request: pytest.FixtureRequest) -> Iterator[Any]:
    """Work on threads of this process, and on the cluster."""
    import dask

    if request.param == "cluster":
        request.getfixturevalue("cluster")
        yield request.param
    else:
        with dask.config.set(scheduler="threads"):
            yield request.param
