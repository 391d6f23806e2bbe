"""What a product of matrices says about infinity depends on the processor: users hear it from the library, in words."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import eigenspan as es
from eigenspan.data.rows.moments import Moments
from eigenspan.errors import InputError

RNG = np.random.default_rng(0)
X = RNG.standard_normal((60, 5))
Y3 = np.repeat([0, 1, 2], 20)
METHODS = ["PCA", "LPP", "LDA", "ClassicalMDS", "LandmarkMDS", "KernelPCA", "LaplacianEigenmaps"]


def fitted(name: str, dtype: Any = np.float64) -> Any:
    return es.make(name).fit(X.astype(dtype), Y3)


def infinities(dtype: Any) -> dict[str, Any]:
    rows = {"one": X[:6].astype(dtype), "both": X[:6].astype(dtype), "all": X[:6].astype(dtype)}
    rows["one"][3, 2] = np.inf
    rows["both"][3, 1:3] = np.inf, -np.inf
    rows["all"][3] = -np.inf
    return rows


@pytest.mark.parametrize("kind", ["one", "both", "all"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", METHODS)
def test_infinity_is_refused_without_a_warning(name: str, dtype: Any, kind: str) -> None:
    broken = infinities(dtype)[kind]
    with pytest.raises(ValueError, match="Input X contains infinity"):
        fitted(name, dtype).transform(broken)
    with pytest.raises(ValueError, match="Input X contains infinity"):
        es.make(name).fit(np.vstack([broken, X[6:].astype(dtype)]), Y3)


@pytest.mark.parametrize("kind", ["one", "both", "all"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", ["PCA", "LDA"])
def test_infinity_in_a_later_part(name: str, dtype: Any, kind: str) -> None:
    broken = np.vstack([infinities(dtype)[kind], X[6:].astype(dtype)])
    begun = es.make(name).partial_fit(X.astype(dtype), Y3)
    with pytest.raises(ValueError, match="Input X contains infinity"):
        begun.partial_fit(broken, Y3)


@pytest.mark.parametrize("name", ["PCA", "ClassicalMDS", "LandmarkMDS"])
def test_embeddings_beyond_the_largest_number(name: str) -> None:
    far = X[:6].copy()
    far[3] = np.finfo(float).max
    far[3, ::2] *= -1
    with pytest.raises(
        InputError,
        match=r"1 of 6 rows have no image in float64, whose numbers end at 1.8e\+308|of 360 distances are NaN or infinite",
    ):
        fitted(name).transform(far)


def test_embeddings_beyond_single_precision() -> None:
    turned = np.linalg.qr(RNG.standard_normal((5, 5)))[0]
    axis = fitted("PCA", np.float32).components_[0]
    far = (np.sign(axis) * np.finfo(np.float32).max).astype(np.float32)[None]
    with pytest.raises(InputError, match=r"no image in float32.*double precision"):
        fitted("PCA", np.float32).transform(far)
    assert np.isfinite(fitted("PCA", np.float32).transform(far.astype(np.float64))).all()
    pca = es.PCA(5).fit((X @ turned).astype(np.float32))
    with pytest.raises(InputError, match="1 of 1 rows have no image in float32"):
        pca.inverse_transform(np.full((1, 5), np.finfo(np.float32).max, dtype=np.float32))


def test_inverse_of_both_infinities() -> None:
    with pytest.raises(ValueError, match="Input Y contains infinity"):
        fitted("PCA").inverse_transform(np.array([[np.inf, -np.inf]]))


def test_values_beyond_single_precision_are_multiplied_in_double() -> None:
    """Columns about the origin are not subtracted from, only cast."""
    large = X * 1e60
    np.testing.assert_allclose(Moments.of(large, single=True).scatter, Moments.of(large).scatter, rtol=1e-5)


@pytest.mark.parametrize("scale", [1e-100, 1e100])
def test_goodness_of_fit_does_not_depend_on_the_scale(scale: float) -> None:
    found = es.ClassicalMDS(2).fit(scale * X).goodness_of_fit_
    assert found == pytest.approx(es.ClassicalMDS(2).fit(X).goodness_of_fit_, rel=1e-9)
