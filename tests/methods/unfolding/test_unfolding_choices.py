"""What stands for a class, and the numbers behind the places of new points."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_blobs, make_swiss_roll

from eigenspan import MVU, SMVU1, SMVU2, NormalizedKernels, SmoothedEigenfunctions
from eigenspan.methods.unfolding.supervised_mvu import representatives
from eigenspan.problem.extensions import eigenfunctions, kernel_map
from helpers import quietly

X = make_swiss_roll(120, random_state=0)[0]
NEW = X[:20] + 0.05


# ---------------------------------------------------------------------- representatives
def test_a_medoid_is_nearest_to_all_others_of_its_class():
    """An outlier draws the mean away, and the point nearest to it, but not the medoid."""
    points = np.array([[0.0], [1.0], [2.0], [3.0], [100.0], [7.0], [8.0], [9.0]])
    codes = np.array([0, 0, 0, 0, 0, 1, 1, -1])
    np.testing.assert_array_equal(representatives(points, codes, "mean"), [3, 5])
    np.testing.assert_array_equal(representatives(points, codes, "medoid"), [2, 5])


@pytest.mark.parametrize("method", [SMVU1, SMVU2])
def test_medoids_may_stand_for_classes(method):
    points, y = make_blobs([14, 14], centers=[[0, 0, 0], [12, 0, 0]], random_state=0)
    points[y == 0] = points[y == 0] ** 3 / 3  # long tails
    ends = [representatives(points, y, how) for how in ("mean", "medoid")]
    assert not np.array_equal(*ends)
    by = [quietly(lambda how=how: method(2, representatives=how).fit(points, y)) for how in ("mean", "medoid")]
    assert all(fitted.certificate_.gap < 1e-3 for fitted in by)
    assert abs(by[0].certificate_.lower / by[1].certificate_.lower - 1) > 1e-4
    with pytest.raises(ValueError, match="representatives"):
        method(2, representatives="median").fit(points, y)


# ---------------------------------------------------------------------- new points
@pytest.fixture(scope="module")
def unfolded():
    return MVU(2).fit(X)


@pytest.mark.parametrize(
    ("spec", "name"), [(SmoothedEigenfunctions(), "eigenfunctions"), (NormalizedKernels(), "kernel-map")]
)
def test_names_are_the_specifications_with_their_defaults(spec, name):
    one, two = (MVU(2, extension=extension).fit(X).transform(NEW) for extension in (spec, name))
    np.testing.assert_array_equal(one, two)
    assert clone(MVU(extension=spec)).extension.get_params() == spec.get_params()


def test_the_numbers_reach_the_formulas(unfolded):
    """By the functions behind them, on the same graph and Gram matrix."""
    graph, F = unfolded.graph_, unfolded.embedding_full_
    for spec, made in (
        (SmoothedEigenfunctions(0.1, kernel="gaussian", width=2.0, rescale=False), eigenfunctions),
        (NormalizedKernels(1.0, order=1, neighbours=12, ridge=1e-2), kernel_map),
    ):
        told = spec.extend(graph, X, F)
        given = made(graph, X, *([F] if made is eigenfunctions else []), **spec.get_params())
        assert type(told) is type(given)
        from_spec, default = MVU(2, extension=spec).fit(X), MVU(2, extension=type(spec)()).fit(X)
        assert np.abs(from_spec.transform(NEW) - default.transform(NEW)).max() > 1e-3
        np.testing.assert_array_equal(told.rows(NEW).toarray(), given.rows(NEW).toarray())


def test_what_is_no_extension_is_refused():
    with pytest.raises(ValueError, match="extension"):
        MVU(2, extension="nearest").fit(X)
    with pytest.raises(ValueError, match="eta"):
        MVU(2, extension=SmoothedEigenfunctions(eta=-1)).fit(X)
