"""Local planes that the data leave open are reported, and those of equal bending are oriented by their members."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.datasets import make_swiss_roll

import eigenspan as es
from eigenspan.errors import DegenerateWarning
from eigenspan.problem.forms import charts
from eigenspan.problem.forms import local_alignment as alignment
from eigenspan.problem.forms.open_planes import OpenPlanes
from kernel_arrays import tables

METHODS = ("LTSA", "HessianLLE", "ModifiedLLE", "GeodesicNullspaceAnalysis")


def test_equal_variances_on_both_sides_of_a_cut_are_counted() -> None:
    planes = OpenPlanes()
    planes.look(np.array([[3.0, 2.0, 2.0], [3.0, 3.0, 1.0], [3.0, 2.0, 2.0 * (1 - 1e-6)], [1.0, 0.0, 0.0]]), 2)
    assert (planes.open, planes.seen) == (1, 4)
    planes.look(np.array([[3.0, 2.0, 2.0], [3.0, 3.0, 1.0], [1.0, 1e-15, 1e-15]]), np.array([3, 1, 2]))
    assert (planes.open, planes.seen) == (2, 7)
    with pytest.warns(DegenerateWarning, match="In 2 of 7 neighbourhoods the last local axis of a model and the next"):
        planes.warn("a model", "Do something.")


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("loops", ["numpy", "compiled"])
def test_a_symmetric_lattice_has_no_tangent_planes(method: str, loops: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if loops == "compiled":
        monkeypatch.setattr(alignment, "_SMALL", 0.0)
    # modified LLE takes further axes where their share is large: on the lattice all three
    data, k = ("cube", 8) if method == "ModifiedLLE" else ("lattice", 26)
    with pytest.warns(DegenerateWarning, match="neighbourhoods the last local axis of"):
        es.make(method, n_components=2, n_neighbors=k).fit(tables()[data].X)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("loops", ["numpy", "compiled"])
def test_a_sheet_has_tangent_planes(method: str, loops: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if loops == "compiled":
        monkeypatch.setattr(alignment, "_SMALL", 0.0)
    X = make_swiss_roll(200, random_state=0)[0]
    with warnings.catch_warnings():
        warnings.simplefilter("error", DegenerateWarning)
        es.make(method, n_components=2, n_neighbors=10).fit(X)
        es.make(method, n_components=2, n_neighbors=10).fit(X[:, [0, 2]])  # no further axis is left out


def test_bending_does_not_depend_on_the_axes_of_the_plane() -> None:
    rng = np.random.default_rng(0)
    T = rng.standard_normal((1, 4, 2))  # four members for six coefficients: the ones of least norm are taken
    T -= T.mean(axis=1, keepdims=True)
    N = rng.standard_normal((1, 4, 1))
    Q = np.linalg.qr(rng.standard_normal((2, 2)))[0]
    slopes, H = charts._bending(T, N)
    turned_slopes, turned = charts._bending(T @ Q, N)
    np.testing.assert_allclose(turned_slopes[0], Q.T @ slopes[0], atol=1e-10)
    np.testing.assert_allclose(turned[0, :, :, 0], Q.T @ H[0, :, :, 0] @ Q, atol=1e-10)


def test_equal_bending_is_oriented_by_the_members() -> None:
    angles = 2 * np.pi * np.arange(8) / 8 + 0.1
    T = np.column_stack([np.cos(angles), np.sin(angles)])
    T = np.vstack([T, 2.0 * T[:3]])
    T -= T.mean(axis=0)
    H = np.eye(2)[None, :, :, None]
    found = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        Q = np.linalg.qr(rng.standard_normal((2, 2)))[0]
        noise = 1e-14 * rng.standard_normal((2, 2))
        turned = H + (noise + noise.T)[None, :, :, None]
        found.append((T @ Q) @ charts._axes_of_bending(turned, (T @ Q)[None], np.ones((1, len(T), 1)))[0])
    np.testing.assert_allclose(found[1], found[0], atol=1e-9)
    np.testing.assert_allclose(found[2], found[0], atol=1e-9)
