"""A cluster of two single-threaded workers on this machine, one for each module."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
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
        workers.close(timeout=20)


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
