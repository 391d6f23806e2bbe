"""Principal curves: known curves, self-consistency, and projections by brute force."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import eigenspan as es
from eigenspan.errors import ConvergenceWarning, DimensionError
from helpers import assert_scikit_learn_agrees, quietly


def arc(n: int = 300, noise: float = 0.05) -> tuple[np.ndarray, np.ndarray]:
    """Return noisy points of a half circle, and their angles."""
    rng = np.random.default_rng(0)
    angle = rng.uniform(0, np.pi, n)
    return np.column_stack([np.cos(angle), np.sin(angle)]) + noise * rng.standard_normal((n, 2)), angle


def by_hand(X: np.ndarray, nodes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return arc length and nearest point of each row, segment by segment."""
    best = np.full(len(X), np.inf)
    s, points, before = np.zeros(len(X)), np.zeros_like(X), 0.0
    for a, b in itertools.pairwise(nodes):
        length = np.linalg.norm(b - a)
        t = np.clip((X - a) @ (b - a) / length**2, 0, 1)
        at = a + t[:, None] * (b - a)
        distance = np.linalg.norm(X - at, axis=1)
        nearer = distance < best - 1e-12
        best[nearer], s[nearer], points[nearer] = distance[nearer], before + t[nearer] * length, at[nearer]
        before += length
    return s, points


def test_a_half_circle_is_found() -> None:
    X, angle = arc()
    curve = es.PrincipalCurve(df=8).fit(X)
    assert abs(np.corrcoef(curve.embedding_[:, 0], angle)[0, 1]) > 0.998
    assert np.isclose(curve.length_, np.pi, rtol=0.05)
    radii = np.linalg.norm(curve.nodes_, axis=1)
    assert np.abs(radii - 1).max() < 0.05
    assert curve.path_[-1] < 1.2 * 0.05**2  # the noise across the curve


def test_a_helix_is_found() -> None:
    rng = np.random.default_rng(1)
    t = rng.uniform(0, 3 * np.pi, 500)
    X = np.column_stack([np.cos(t), np.sin(t), 0.7 * t]) + 0.05 * rng.standard_normal((500, 3))
    curve = es.PrincipalCurve(df=15).fit(X)
    fine = np.linspace(0, 3 * np.pi, 2000)
    helix = np.column_stack([np.cos(fine), np.sin(fine), 0.7 * fine])
    away = np.linalg.norm(curve.nodes_[:, None] - helix, axis=2).min(axis=1)
    assert np.median(away) < 0.05
    assert abs(np.corrcoef(curve.embedding_[:, 0], t)[0, 1]) > 0.999
    assert np.isclose(curve.length_, 3 * np.pi * np.sqrt(1 + 0.7**2), rtol=0.05)


def test_a_closed_curve_is_found() -> None:
    rng = np.random.default_rng(2)
    t = rng.uniform(0, 2 * np.pi, 300)
    X = np.column_stack([2 * np.cos(t), np.sin(t)]) + 0.03 * rng.standard_normal((300, 2))
    curve = es.PrincipalCurve(df=9, closed=True).fit(X)
    np.testing.assert_allclose(curve.nodes_[0], curve.nodes_[-1], atol=1e-9)
    level = (curve.nodes_[:, 0] / 2) ** 2 + curve.nodes_[:, 1] ** 2
    assert np.abs(level - 1).max() < 0.1
    around = curve.inverse_transform(curve.embedding_ + curve.length_)
    np.testing.assert_allclose(around, curve.project(X), atol=1e-9)


def test_projections_are_those_of_a_loop_over_segments() -> None:
    X, _ = arc()
    curve = es.PrincipalCurve(df=6).fit(X)
    fresh = np.random.default_rng(3).uniform((-2.0, -1.7), (2.0, 2.3), (200, 2))
    s, points = by_hand(fresh, curve.nodes_)
    np.testing.assert_allclose(curve.transform(fresh)[:, 0], s, atol=1e-9)
    np.testing.assert_allclose(curve.project(fresh), points, atol=1e-9)
    np.testing.assert_allclose(curve.inverse_transform(s[:, None]), points, atol=1e-9)
    assert np.isclose(curve.path_[-1], np.mean(np.sum((X - curve.project(X)) ** 2, axis=1)), rtol=1e-6)


def test_the_curve_is_the_mean_of_what_is_near() -> None:
    """Self-consistency: the rows nearest to a stretch have their mean on it, as far as noise lets one see."""
    X, _ = arc(3000)
    curve = es.PrincipalCurve(df=8, tol=1e-5).fit(X)
    s, points = curve.embedding_[:, 0], curve.project(X)
    bins = np.digitize(s, np.linspace(0, curve.length_, 16)[1:-1])
    for k in range(15):
        away = np.mean((X - points)[bins == k], axis=0)
        assert np.linalg.norm(away) < 0.02


def test_the_distance_falls() -> None:
    X, _ = arc(noise=0.2)
    path = es.PrincipalCurve(df=7, tol=1e-6, max_iter=200).fit(X).path_
    assert np.all(np.diff(path) < 0)
    assert path[-1] < 0.9 * path[0]


def test_df_2_is_the_first_principal_axis() -> None:
    X = np.random.default_rng(4).standard_normal((200, 3)) * [3.0, 1.0, 0.5]
    curve = es.PrincipalCurve(df=2, tol=1e-12, max_iter=300).fit(X)
    pca = es.PCA(1).fit(X)
    along = curve.nodes_[-1] - curve.nodes_[0]
    assert abs(along @ pca.components_[0]) / np.linalg.norm(along) > 1 - 1e-6
    assert np.isclose(abs(np.corrcoef(curve.embedding_[:, 0], pca.embedding_[:, 0])[0, 1]), 1, atol=1e-6)


def test_arc_length_is_in_the_units_of_the_rows() -> None:
    X, _ = arc(100)
    one, other = (es.PrincipalCurve().fit(Z) for Z in (X, 1e3 * X + 5))
    np.testing.assert_allclose(other.embedding_, 1e3 * one.embedding_, rtol=1e-6, atol=1e-3)
    beyond = one.inverse_transform([[one.length_ + 1.0], [-1.0]])
    assert np.allclose(np.linalg.norm(beyond - one.nodes_[[-1, 0]], axis=1), 1.0)


def test_a_spiral_needs_another_start() -> None:
    rng = np.random.default_rng(5)
    turns = np.sqrt(np.linspace(0.25, 4, 400)) * 2 * np.pi
    X = (turns * [np.cos(turns), np.sin(turns)]).T + 0.1 * rng.standard_normal((400, 2))
    found = [
        quietly(lambda start=start: es.PrincipalCurve(df=25, start=start).fit_transform(X)[:, 0])
        for start in (None, es.Isomap(1, n_neighbors=6))
    ]
    plain, better = (abs(np.corrcoef(s, turns**2)[0, 1]) for s in found)
    assert plain < 0.9
    assert better > 0.999


def test_what_cannot_be_a_curve_is_refused() -> None:
    line = np.outer(np.arange(9.0), [1.0, 2.0])
    assert np.allclose(np.diff(np.sort(es.PrincipalCurve().fit_transform(line)[:, 0])), np.sqrt(5))
    with pytest.raises(DimensionError, match="plane"):
        es.PrincipalCurve(closed=True).fit(line)
    with pytest.raises(DimensionError, match="coincide"):
        es.PrincipalCurve().fit(np.ones((9, 2)))
    with pytest.warns(ConvergenceWarning, match="max_iter=1"):
        es.PrincipalCurve(max_iter=1, tol=1e-12).fit(arc()[0])


@pytest.mark.long
def test_scikit_learn_accepts_it() -> None:
    quietly(lambda: assert_scikit_learn_agrees(es.PrincipalCurve()))


def test_a_curve_through_two_rows_is_the_line_between_them() -> None:
    X = np.array([[0.0, 0.0, 1.0], [3.0, 4.0, 1.0]])
    assert es.PrincipalCurve().fit(X).length_ == pytest.approx(5.0)
