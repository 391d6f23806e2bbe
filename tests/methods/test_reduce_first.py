"""``reduce=r`` is PCA to r axes followed by the method: embedding, map of new points and axes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import decomposition
from sklearn.base import clone

import eigenspan as es
from eigenspan.errors import LabelError
from eigenspan.methods.registry import TABLE
from helpers import quietly

R = 5

#: PCA chooses among the axes that it computes, and PPCA's noise is what X has in all other directions: see their own tests.
_MODELS = {"PCA", "PPCA"}
#: These data are normal, so that the independence of directions has many local optima: see its own test.
_SEARCHES = {"KernelICA"}
_TWO_VIEWS = {"CCA", "MultiviewCCA"}
_MANIFOLDS = {"LPP", "OLPP", "NPP", "ONPP", "LLTSA"}


def _with_reduce() -> list[Any]:
    templates = [row.build() for row in TABLE if row.own]
    return [one for one in templates if "reduce" in one.get_params(deep=False)]


def _cases() -> list[Any]:
    found = [(type(one).__name__, one, {}) for one in _with_reduce()]
    cases = [case for case in found if case[0] not in _MODELS | _TWO_VIEWS | _SEARCHES]
    for name in sorted(_MANIFOLDS):
        one = getattr(es, name)()
        cases += [
            (f"{name}-cityblock", one, {"metric": "cityblock"}),
            (f"{name}-radius", one, {"graph": es.Radius(9.0)}),
        ]
        cases += [(f"{name}-tree", one, {"graph": es.MST(n_neighbors=8)})]
        cases += [(f"{name}-within", one, {"graph": es.KNN(6, within_class=True)})]
    for name in ("LPP", "OLPP", "NPP"):
        one = getattr(es, name)()
        cases += [(f"{name}-class-heat", one, {"graph": "class", "weights": "heat"})]
        cases += [(f"{name}-class", one, {"graph": "class"}), (f"{name}-all", one, {"graph": "all", "weights": "heat"})]
    return [
        *cases,
        ("LFDA-local", es.LFDA(), {"affinity": "local"}),
        ("SSLFDA-graph", es.SSLFDA(), {"graph": es.KNN(5)}),
        ("SDA-path", es.SDA(), {"weights": "path"}),
        ("MMC-gamma", es.MMC(), {"gamma": 0.1}),
        ("LDA-ratio", es.LDA(), {"criterion": "trace-ratio"}),
        ("LDA-shrinkage", es.LDA(), {"shrinkage": 0.2}),
        ("LDA-ledoit-wolf", es.LDA(), {"shrinkage": "auto"}),
    ]


def _data(n: int = 100, D: int = 14) -> tuple[Any, Any]:
    """Points whose discarded axes hold a third of the variance, about the origin, and three classes."""
    rng = np.random.default_rng(5)
    y = np.arange(n) % 3
    mix = np.linalg.qr(rng.standard_normal((D, D)))[0] * np.linspace(2.2, 0.8, D)
    X = (rng.standard_normal((n, D)) + 1.5 * rng.standard_normal((3, D))[y]) @ mix.T
    return X - X.mean(axis=0), y


def _target(estimator: Any, scores: Any, y: Any) -> Any:
    declared = str(estimator._accepted().y)
    if "Responses" in declared:
        return scores[:, 0] ** 2 + scores[:, 1] + 0.1 * np.random.default_rng(1).standard_normal(len(y))
    if estimator.get_params(deep=False).get("unlabeled", None) == -1:
        return np.where(np.arange(len(y)) % 2, y, -1)
    return None if "Copies" in declared else y


def _agree(ours: Any, theirs: Any, pca: Any, X: Any, new: Any, tol: float = 1e-7) -> None:
    Y, Z = np.asarray(ours.embedding_), np.asarray(theirs.embedding_)
    sign = np.where(np.sum(Y * Z, axis=0) < 0, -1.0, 1.0)
    size = np.abs(Z).max(axis=0)
    assert np.abs(Y * sign - Z).max() <= tol * size.max()
    into = theirs.transform(pca.transform(new))
    assert np.abs(ours.transform(new) * sign - into).max() <= tol * max(np.abs(into).max(), size.max())
    back = theirs.components_ @ pca.components_
    assert np.abs(ours.components_ * sign[:, None] - back).max() <= tol * np.abs(back).max()
    if hasattr(ours, "predict_proba"):
        np.testing.assert_allclose(
            ours.predict_proba(new), theirs.predict_proba(pca.transform(new)), rtol=1e-6, atol=1e-9
        )


@pytest.mark.parametrize(
    ("name", "template", "params"), _cases(), ids=lambda value: value if isinstance(value, str) else ""
)
@pytest.mark.every(4)
def test_reduce_equals_pca_then_the_method(name, template, params):
    X, y = _data()
    new = X[:9] + 0.3 * np.random.default_rng(2).standard_normal((9, X.shape[1]))
    pca = decomposition.PCA(R, svd_solver="full").fit(X)
    target = _target(template, pca.transform(X), y)
    ours = quietly(lambda: clone(template).set_params(reduce=R, **params).fit(X, target))
    theirs = quietly(lambda: clone(template).set_params(**params).fit(pca.transform(X), target))
    _agree(ours, theirs, pca, X, new, 1e-5 if "KDR" in name else 1e-7)


@pytest.mark.parametrize("name", ["LPP", "NPP", "OLPP", "LLTSA", "LFDA", "SSMFA", "SODA", "SDA", "SELF"])
def test_reduce_of_sparse_rows_equals_pca_then_the_method(name):
    rng = np.random.default_rng(3)
    y = np.arange(120) % 3
    counts = rng.poisson(0.4 + 3.0 * rng.random((3, 60))[y] * (rng.random((3, 60)) < 0.2)[y])
    X = sp.csr_array(counts * np.linspace(2, 0.5, 60))
    pca = decomposition.PCA(R, svd_solver="full").fit(X.toarray())
    template = getattr(es, name)()
    target = _target(template, pca.transform(X.toarray()), y)
    ours = quietly(lambda: clone(template).set_params(reduce=R).fit(X, target))
    theirs = quietly(lambda: template.fit(pca.transform(X.toarray()), target))
    _agree(ours, theirs, pca, X, X[:9].toarray(), 1e-6)


@pytest.mark.parametrize("name", ["LPP", "NPP", "LLTSA"])
def test_a_given_graph_is_used_as_it_is(name):
    X, _ = _data()
    pca = decomposition.PCA(R, svd_solver="full").fit(X)
    graph = es.KNN(7).build(X)
    method = getattr(es, name)
    given = method(reduce=R, graph=graph).fit(X)
    _agree(given, method(graph=graph).fit(pca.transform(X)), pca, X, X[:5])
    lists = graph.distances.indices.reshape(len(X), -1), graph.distances.data.reshape(len(X), -1)
    _agree(method(reduce=R, graph=lists).fit(X), method(graph=lists).fit(pca.transform(X)), pca, X, X[:5])
    own = method(reduce=R, n_neighbors=7).fit(X)
    assert np.abs(own.embedding_ - given.embedding_).max() > 1e-3 * np.abs(own.embedding_).max()


def test_distorted_samples_are_made_of_x_and_then_reduced():
    X, _ = _data()
    pca = decomposition.PCA(R, svd_solver="full").fit(X)
    theirs = es.OrientedPCA().fit(pca.transform(X), pca.transform(np.abs(X)))
    _agree(es.OrientedPCA(reduce=R).fit(X, np.abs(X)), theirs, pca, X, X[:5])
    _agree(es.OrientedPCA(reduce=R, distortions=np.abs).fit(X), theirs, pca, X, X[:5])


def _variates(fitted: Any, X: Any, Y: Any) -> Any:
    return fitted.transform([X, Y]) if isinstance(fitted, es.MultiviewCCA) else fitted.transform(X, Y)


@pytest.mark.parametrize("ridge", [0.0, 0.2])
@pytest.mark.parametrize("name", sorted(_TWO_VIEWS))
def test_both_views_are_reduced_first(name, ridge):
    rng = np.random.default_rng(0)
    shared = rng.standard_normal((80, 2))
    X, Z = (
        shared @ rng.standard_normal((2, D)) + rng.standard_normal((80, D)) * np.linspace(1.5, 0.3, D) for D in (10, 9)
    )
    x, z = (decomposition.PCA(4, svd_solver="full").fit_transform(view) for view in (X, Z))
    ours = getattr(es, name)(2, reduce=4, ridge=ridge).fit(X, Z)
    theirs = getattr(es, name)(2, ridge=ridge).fit(x, z)
    for one, other in zip(_variates(ours, X, Z), _variates(theirs, x, z), strict=True):
        sign = np.where(np.sum(one * other, axis=0) < 0, -1.0, 1.0)
        np.testing.assert_allclose(one * sign, other, atol=1e-9 * np.abs(other).max())


def test_pca_and_ppca_count_the_variance_of_all_axes():
    X, _ = _data()
    plain, few = es.PCA(2).fit(X), es.PCA(2, reduce=R).fit(X)
    np.testing.assert_allclose(few.explained_variance_ratio_, plain.explained_variance_ratio_, rtol=1e-10)
    np.testing.assert_allclose(
        es.PPCA(2, reduce=R).fit(X).noise_variance_, es.PPCA(2).fit(X).noise_variance_, rtol=1e-10
    )


@pytest.mark.parametrize("method", [es.LDA, es.SDA])
def test_labelled_rows_that_coincide_on_the_kept_axes_are_refused(method):
    rng = np.random.default_rng(0)
    X = np.zeros((60, 6))
    X[20:, :3] = 5 * rng.standard_normal((40, 3))
    X[:20, 3:] = 0.1 * rng.standard_normal((20, 3))
    X[:20, :3] = X[20:, :3].mean(axis=0)
    basis = decomposition.PCA(3, svd_solver="full").fit(X)
    X[:20] -= (X[:20] - X[:20].mean(axis=0)) @ basis.components_.T @ basis.components_
    y = np.where(np.arange(60) < 20, np.arange(60) % 2, -1)
    with pytest.raises(LabelError, match="coincide"):
        method(1, reduce=3, unlabeled=-1).fit(X, y)
