"""Data that many tests share, and what holds for every test."""

from __future__ import annotations

import gc
import os

# threads of OpenBLAS that have nothing to do sleep, instead of keeping a core from the other process of tests for a tenth of a second
os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "4")  # read when numpy is imported

from typing import Any

import hypothesis
import numpy as np
import pytest
from sklearn.datasets import load_digits, make_blobs, make_swiss_roll
from threadpoolctl import threadpool_limits

from cases import Data
from grouping import DEFAULT_RUN, THINNED, mark_long, name_of
from helpers import ROOT

# what a search over random examples finds is for the one who writes code: a change is judged on the same examples every time
hypothesis.settings.register_profile("same", derandomize=True)
hypothesis.settings.register_profile("forgetful", database=None)
if "CI" in os.environ:
    hypothesis.settings.load_profile("same")
elif not os.access(ROOT, os.W_OK):  # a tree that cannot be written to: examples are not stored
    hypothesis.settings.load_profile("forgetful")


@pytest.hookimpl(tryfirst=True)  # before -m selects
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    mark_long(items)
    config.stash[THINNED] = {name_of(item) for item in items if item.get_closest_marker("every") is not None}
    config.stash[DEFAULT_RUN] = [item for item in items if item.get_closest_marker("long") is None]


def pytest_collection_finish() -> None:
    """Exclude modules and collected tests, which live until the end, from garbage collection: it costs a tenth of the run."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def roll() -> Data:
    """A swiss roll of 240 points, three classes along it."""
    X, t = make_swiss_roll(240, noise=0.05, random_state=0)
    return Data(X, np.digitize(t, np.quantile(t, [1 / 3, 2 / 3])))


@pytest.fixture(scope="session")
def blobs() -> Data:
    """Three overlapping blobs in five dimensions."""
    X, y = make_blobs(90, n_features=5, centers=3, cluster_std=3.0, random_state=1)
    return Data(X, y)


@pytest.fixture(scope="session")
def digits() -> Data:
    """The first 200 handwritten digits: 64 features, some of them constant."""
    X, y = load_digits(return_X_y=True)
    return Data(X[:200], y[:200])


@pytest.fixture(scope="session")
def islands() -> Data:
    """Three blobs so far apart that their neighbour graph falls apart: 30, 20 and 10 points."""
    rng = np.random.default_rng(0)
    centres = np.array([[0.0, 0, 0], [50, 0, 0], [0, 80, 0]])
    y = np.repeat([0, 1, 2], [30, 20, 10])
    return Data(centres[y] + rng.standard_normal((60, 3)), y)


@pytest.fixture(scope="session", autouse=True)
def one_thread() -> Any:
    """Two test processes on two cores: more threads would only wait for each other."""
    with threadpool_limits(1):
        yield
