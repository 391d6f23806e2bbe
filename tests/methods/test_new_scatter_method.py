"""A method as a newcomer would write it, with labels, scatter forms and `_pose` only, works for rows of every storage and in parts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from eigenspan.data import Input, Sample
from eigenspan.data.y import ClassLabels
from eigenspan.errors import InputError
from eigenspan.graphs import KNN, affinity
from eigenspan.methods.base.contract import FeatureReducer, features_of, points_of
from eigenspan.methods.base.streaming import labelled_partial_fit
from eigenspan.problem import Posed, pose
from eigenspan.problem.forms import between, laplacian, total, within
from helpers import angle
from routes import by_route, problem

P = problem(condition=4.0, offset=1e3)
SOME = np.where(np.arange(len(P.codes)) % 4 == 0, np.nan, P.codes)


class HalfMargin(FeatureReducer):
    """``max Tr V'(S_B − ½ S_W)V  s.t.  V'(S_T + εI)V = I``: the example of CONTRIBUTING with w = ½, without its documentation."""

    _input: ClassVar[Input] = replace(FeatureReducer._input, y=ClassLabels())
    partial_fit = labelled_partial_fit

    def _pose(self, sample: Sample) -> Posed:
        y = sample.y
        return pose(features_of(self, sample), maximise=between(y) - 0.5 * within(y), unit=total(y), ridge=self.ridge)


class Neighbourly(FeatureReducer):
    """The same with a form over neighbours, which needs all rows in memory."""

    _input: ClassVar[Input] = replace(FeatureReducer._input, y=ClassLabels())
    partial_fit = labelled_partial_fit

    def _pose(self, sample: Sample) -> Posed:
        basis = features_of(self, sample)
        points = points_of(self, basis, sample)
        L = laplacian(affinity(KNN(5).build(points), "binary", points).W)
        return pose(basis, maximise=between(sample.y), unit=total(sample.y) + 0.1 * L)


@pytest.fixture(autouse=True)
def one_process() -> Any:
    dask = pytest.importorskip("dask")
    with dask.config.set(scheduler="synchronous"):
        yield


def in_parts(estimator: Any) -> Any:
    for rows in (slice(0, 7), slice(7, 9), slice(9, 120), slice(120, None)):
        estimator.partial_fit(P.X[rows], SOME[rows])
    return estimator


def by_definition() -> tuple[Any, Any]:
    """Eigenvalues and axes from matrices of all rows."""
    import scipy.linalg as la

    known = ~np.isnan(SOME)
    means = np.array([P.X[k == SOME].mean(axis=0) for k in range(3)])[SOME[known].astype(int)]
    centre = P.X[known].mean(axis=0)
    B, W = (M.T @ M for M in (means - centre, P.X[known] - means))
    values, V = la.eigh(B - 0.5 * W, B + W)
    return values[::-1][:2], V[:, ::-1][:, :2]


@pytest.mark.parametrize("storage", ["array", "sparse", "memmap", "dask", "parts"])
def test_one_statement_for_rows_of_every_storage(storage: str, tmp_path: Path) -> None:
    if storage == "parts":
        fitted = in_parts(HalfMargin(2))
    else:
        y = by_route(SOME, "dask", tmp_path) if storage == "dask" else SOME
        fitted = HalfMargin(2).fit(by_route(P.X, storage, tmp_path), y)
    values, V = by_definition()
    np.testing.assert_allclose(fitted.eigenvalues_, values, rtol=1e-8)
    assert angle(fitted.components_.T, V) < 1e-5
    np.testing.assert_allclose(fitted.mean_, P.X.mean(axis=0), rtol=1e-12)
    assert fitted.classes_.tolist() == [0, 1, 2]
    assert fitted.n_samples_seen_ == len(P.X)
    assert ("embedding_" in vars(fitted)) == (storage in ("array", "sparse"))


def test_parts_follow_a_fit() -> None:
    fitted = HalfMargin(2).fit(P.X[:150], SOME[:150]).partial_fit(P.X[150:], SOME[150:])
    assert angle(fitted.components_.T, by_definition()[1]) < 1e-5


def test_a_model_waits_for_its_classes() -> None:
    fitted = HalfMargin(2).partial_fit(P.X[:10], np.zeros(10))
    assert "too few so far" in fitted.diagnostics_["not_fitted"]
    with pytest.raises(NotFittedError):
        fitted.transform(P.X)


def test_parameters_that_need_all_rows_are_named(tmp_path: Path) -> None:
    for parameter, value in (("kernel", "rbf"), ("reduce", 3)):
        estimator = HalfMargin(2, **{parameter: value})
        assert not hasattr(estimator, "partial_fit")
        with pytest.raises(InputError, match=f"HalfMargin with {parameter}= needs all rows"):
            estimator.fit(by_route(P.X, "dask", tmp_path), by_route(SOME, "dask", tmp_path))
        assert estimator.fit(P.X, SOME).transform(P.X[:3]).shape == (3, 2)


def test_a_form_that_needs_rows_raises_where_there_are_none(tmp_path: Path) -> None:
    whole = Neighbourly(2).fit(P.X, SOME)
    mapped = Neighbourly(2).fit(by_route(P.X, "memmap", tmp_path), SOME)
    assert angle(whole.components_.T, mapped.components_.T) < 1e-5
    with pytest.raises(InputError, match="all rows in the memory of one process"):
        Neighbourly(2).fit(by_route(P.X, "dask", tmp_path), by_route(SOME, "dask", tmp_path))
    with pytest.raises(InputError, match="all rows in the memory of one process"):
        Neighbourly(2).partial_fit(P.X[:100], SOME[:100])
