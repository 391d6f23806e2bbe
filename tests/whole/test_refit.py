"""A fit leaves what it found and nothing of the fits before it; a fit that fails changes nothing at all."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

import eigenspan as es
from cases import Case, estimators

pytestmark = pytest.mark.filterwarnings("ignore::eigenspan.errors.EigenspanWarning")

#: Parameters beyond those of the registry's variants that make other attributes.
MORE = [
    es.KernelPCA(preimage="ridge", gamma=0.01),
    es.KernelPCA(preimage="fixed-point", gamma=0.01),
    es.LLE(landmarks=60),
    es.LaplacianEigenmaps(landmarks=60),
    es.Anchored(es.LTSA(), form="spectral"),
    es.Anchored(es.LTSA()),
    es.PCA(2, reduce=2),
    es.LDA(kernel="rbf", landmarks=30),
    es.OLPP(graph="all"),
    es.LPP(graph="all"),
]


def _pairs() -> list[Any]:
    groups: dict[str, list[Any]] = {}
    for template in [*(case.template for case in estimators()), *MORE]:
        groups.setdefault(type(template).__name__, []).append(template)
    return [
        pytest.param(first, second, id=f"{name}-{i}-{j}")
        for name, templates in groups.items()
        for (i, first), (j, second) in permutations(enumerate(templates), 2)
    ]


def _data(roll: Any, template: Any) -> tuple[Any, Any]:
    X, y = roll.X[::2], roll.y[::2]
    if isinstance(template, es.Anchored):
        y = np.full((len(X), 2), np.nan)
        y[::9] = roll.X[::18, :2]
    return X, y


@pytest.mark.parametrize("first, second", _pairs())
@pytest.mark.every(6)
def test_a_refit_has_the_attributes_of_a_fresh_fit(first: Any, second: Any, roll: Any) -> None:
    X, y = _data(roll, first)
    fresh = clone(second).fit(X, y)
    again = clone(first).fit(X, y).set_params(**second.get_params(deep=False)).fit(X, y)
    assert sorted(vars(again)) == sorted(vars(fresh))
    np.testing.assert_array_equal(again.embedding_, fresh.embedding_)


def test_a_kernel_after_a_linear_fit_keeps_no_axes(blobs: Any) -> None:
    lpp = es.LPP(2).fit(blobs.X).set_params(kernel="rbf").fit(blobs.X)
    assert not hasattr(lpp, "components_")
    assert not hasattr(lpp, "mean_")
    kpca = es.KernelPCA(2, preimage="ridge").fit(blobs.X).set_params(preimage=None).fit(blobs.X)
    assert not [name for name in vars(kpca) if name.startswith(("dual", "preimage_"))]


def _case_ids(case: Case) -> str:
    return case.id


@pytest.mark.parametrize("case", estimators(), ids=_case_ids)
@pytest.mark.every(6)
def test_a_fit_that_fails_changes_nothing(case: Case, roll: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Refused on entry, or stopped half-way: what was not fitted stays so, and what was keeps its model whole."""
    X, y = _data(roll, case.template)
    wide = np.hstack([X, X])
    wide[3, 1] = np.inf
    fresh, fitted = case.make(), case.make().fit(X, y)
    before = dict(vars(fitted))

    def interrupted(self: Any, sample: Any) -> Any:
        raise KeyboardInterrupt

    def try_to_fit(estimator: Any) -> None:
        with pytest.raises(ValueError, match="infinity"):
            estimator.fit(wide, y)
        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
            patch.setattr(type(estimator), "_fit", interrupted)
            estimator.fit(np.hstack([X, X]), y)

    try_to_fit(fresh)
    assert sorted(vars(fresh)) == sorted(vars(case.make()))
    with pytest.raises(NotFittedError):
        check_is_fitted(fresh)
    with pytest.raises(NotFittedError):
        fresh.transform(X)
    try_to_fit(fitted)
    assert all(vars(fitted)[name] is value for name, value in before.items())
    assert vars(fitted).keys() == before.keys()
    assert fitted.transform(X[:3]).shape == (3, fitted.embedding_.shape[1])


def test_settings_of_the_output_outlive_a_fit(blobs: Any) -> None:
    pca = es.PCA(2).set_output(transform="pandas").fit(blobs.X).fit(blobs.X)
    assert list(pca.transform(blobs.X).columns) == ["pca0", "pca1"]
