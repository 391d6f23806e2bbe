"""A cluster of two single-threaded workers on this machine: one for all modules, and one for each test that harms it."""

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


#: The workers that the modules share. Starting them takes as long as the tests of a module.
_shared: list[Any] = []


@pytest.hookimpl(trylast=True)  # after the fixtures have closed their clients
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    if nextitem is None or nextitem.path.parent != item.path.parent:
        while _shared:
            _end(_shared.pop())


def _start() -> Any:
    from distributed import LocalCluster

    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    with warnings.catch_warnings():  # foreign: ports that are taken
        warnings.simplefilter("ignore")
        return LocalCluster(
            n_workers=2, threads_per_worker=1, memory_limit="700MB", dashboard_address=None, host="127.0.0.1"
        )


def _end(workers: Any) -> None:
    with warnings.catch_warnings(), suppress(TimeoutError):  # a worker that was killed may be waited for in vain
        warnings.simplefilter("ignore")
        workers.close(timeout=10)


@contextmanager
def _client_of(workers: Any) -> Iterator[Any]:
    from distributed import Client

    with warnings.catch_warnings():  # foreign: files that are closed late
        warnings.simplefilter("ignore")
        client = Client(workers)
        yield client
        client.close()


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    if not _shared:
        _shared.append(_start())
    with _client_of(_shared[0]) as client:
        yield client


@pytest.fixture
def mortal_cluster() -> Iterator[Any]:
    workers = _start()
    with _client_of(workers) as client:
        yield client
    _end(workers)


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
