"""Stages of a fit are reported to scikit-learn's callbacks."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_swiss_roll
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from eigenspan import LLE, PCA
from eigenspan.errors import InputError

callback = pytest.importorskip("sklearn.callback", reason="callbacks came with scikit-learn 1.9")


class Log:
    def __init__(self):
        self.seen = []

    def setup(self, estimator, context):
        self.seen.append("setup")

    def teardown(self, estimator, context):
        self.seen.append("teardown")

    def on_fit_task_begin(self, estimator, context, **_):
        self.seen.append(f"begin {context.task_name}")

    def on_fit_task_end(self, estimator, context, **_):
        self.seen.append(f"end {context.task_name}")


@pytest.fixture(scope="module")
def roll():
    return make_swiss_roll(300, random_state=0)[0]


def test_stages_are_reported_in_order(roll):
    log = Log()
    fitted = LLE(2).set_callbacks(log).fit(roll)
    assert log.seen[:2] == ["setup", "begin fit"]
    assert log.seen[-2:] == ["end fit", "teardown"]
    begun = [line.removeprefix("begin ") for line in log.seen if line.startswith("begin ")]
    assert {"neighbours", "eigenproblem"} <= set(begun)
    assert sorted(begun) == sorted(line.removeprefix("end ") for line in log.seen if line.startswith("end "))
    plain = LLE(2).fit(roll)
    np.testing.assert_array_equal(fitted.embedding_, plain.embedding_)
    assert set(plain.diagnostics_["seconds"]) == set(fitted.diagnostics_["seconds"])


def test_a_fit_that_fails_ends_its_stages(roll):
    log = Log()
    with pytest.raises(InputError):
        LLE(2, n_neighbors=400).set_callbacks(log).fit(roll)
    assert log.seen[-2:] == ["end fit", "teardown"]


def test_progress_bar_of_a_pipeline_shows_stages(roll, capsys):
    pipeline = make_pipeline(StandardScaler(), LLE(2)).set_callbacks(callback.ProgressBar()).fit(roll)
    assert "neighbours" in capsys.readouterr().out
    assert pickle.loads(pickle.dumps(pipeline)).transform(roll[:3]).shape == (3, 2)


def test_no_callbacks_by_default(roll):
    fitted = PCA(2).fit(roll)
    assert not [name for name in vars(fitted) if "callback" in name]
    assert not [name for name in vars(clone(fitted)) if "callback" in name]
