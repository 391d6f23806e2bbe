"""Geodesic nullspace analysis: sheets that unroll come out at their true lengths."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.spatial.distance import pdist

import eigenspan as es
from eigenspan.errors import GraphError
from eigenspan.problem.forms import local_alignment as alignment_module
from eigenspan.problem.forms import tangent_alignment
from eigenspan.problem.forms.charts import geodesic_charts, tangent_charts
from eigenspan.quality import procrustes


def roll(n: int, seed: int = 0, window: bool = False) -> tuple[Any, Any]:
    """A Swiss roll without noise and its flat sheet; with a window cut out of the middle."""
    rng = np.random.default_rng(seed)
    t, height = 1.5 * np.pi * (1 + 2 * rng.random(n)), 21 * rng.random(n)
    length = (t * np.sqrt(1 + t**2) + np.arcsinh(t)) / 2
    keep = ~((np.abs(length - 55) < 12) & (np.abs(height - 10.5) < 5)) if window else np.ones(n, dtype=bool)
    X = np.column_stack([t * np.cos(t), height, t * np.sin(t)])
    return X[keep], np.column_stack([length, height])[keep]


def off(sheet: Any, Y: Any, scale: bool = False) -> float:
    """Distance of the embedding from the sheet after turning and moving it, over the sheet's extent."""
    return float(np.sqrt(procrustes(sheet, Y, scale=scale).disparity))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.every(3)
def test_a_roll_comes_out_at_its_lengths(seed: int) -> None:
    X, sheet = roll(1500, seed)
    graph = es.KNN(10)
    found = es.GeodesicNullspaceAnalysis(2, graph=graph).fit(X)
    tangent = es.GeodesicNullspaceAnalysis(2, graph=graph, charts="tangent").fit(X)
    assert off(sheet, found.embedding_) < 0.005
    assert off(sheet, found.embedding_) < off(sheet, tangent.embedding_) < 0.02
    assert off(sheet, es.LTSA(2, graph=graph).fit(X).embedding_, scale=True) > 0.3  # an affine map away
    assert off(sheet, es.Isomap(2, graph=graph).fit(X).embedding_) > 0.02
    assert found.isometry_error_ < tangent.isometry_error_ < 0.02


def test_holes_do_not_matter() -> None:
    X, sheet = roll(2500, window=True)
    graph = es.KNN(8)
    assert off(sheet, es.GeodesicNullspaceAnalysis(2, graph=graph).fit(X).embedding_) < 0.004
    assert off(sheet, es.Isomap(2, graph=graph).fit(X).embedding_) > 0.04


def test_new_points_and_landmarks() -> None:
    X, sheet = roll(3000)
    found = es.GeodesicNullspaceAnalysis(2, n_neighbors=8).fit(X[:2500])
    everyone = np.vstack([found.embedding_, found.transform(X[2500:])])
    assert off(sheet, everyone) < 0.004
    few = es.GeodesicNullspaceAnalysis(2, n_neighbors=8, landmarks=1500).fit(X)
    assert few.landmarks_.size == 1500
    assert off(sheet, few.embedding_) < 0.01


def test_curvature_in_two_planes() -> None:
    """A patch of the flat torus in four dimensions bends along both of its axes, equally: no axis is told from the sum of squares."""
    rng = np.random.default_rng(0)
    u = rng.random((1200, 2)) * [2.0, 1.5]
    turn = np.linalg.qr(rng.standard_normal((6, 4)))[0]
    X = np.column_stack([np.cos(u), np.sin(u)])[:, [0, 2, 1, 3]] @ turn.T
    by = {kind: es.GeodesicNullspaceAnalysis(2, n_neighbors=10, charts=kind).fit(X) for kind in ("geodesic", "tangent")}
    assert off(u, by["geodesic"].embedding_) < 0.5 * off(u, by["tangent"].embedding_) < 0.002


def test_a_chart_of_an_arc_is_its_length() -> None:
    """On a circle the arc length of the parabola is right to third order, the tangent coordinate to second."""
    angle = np.linspace(-0.25, 0.25, 11)
    X = np.column_stack([np.cos(angle), np.sin(angle)])
    X = np.vstack([X[5:6], np.delete(X, 5, axis=0)])
    true = np.concatenate([angle[5:6], np.delete(angle, 5)])
    graph = es.KNN(10).build(X).distances
    errors = []
    for make in (geodesic_charts, tangent_charts):
        (members, T), *_ = make(X, graph, 1).pieces
        chart = T[0, :, 0] * np.sign(T[0, :, 0] @ true[members[0]])
        errors.append(np.abs(chart - true[members[0]]).max())
    assert errors[0] < 3e-4 < 2e-3 < errors[1]


def test_charts_bend_along_the_planes_not_along_the_points() -> None:
    """Points spread along the diagonal of a flat torus: their own axes are not those that it bends in."""
    a, b = (grid.ravel() for grid in np.meshgrid(np.linspace(-0.3, 0.3, 7), np.linspace(-0.15, 0.15, 5)))
    u = np.column_stack([a + b, a - b]) / np.sqrt(2)
    X = np.column_stack([np.cos(u), np.sin(u)])
    graph = es.KNN(len(X) - 1).build(X).distances
    errors = []
    for make in (geodesic_charts, tangent_charts):
        (members, T), *_ = make(X, graph, 2).pieces
        errors.append(np.abs(pdist(T[0]) - pdist(u[members[0]])).max())
    assert errors[0] < 0.1 * errors[1]


def test_flat_points_are_their_own_chart() -> None:
    """Where there is no bending both charts are the points, the form is that of LTSA, and the embedding is the points."""
    points = np.random.default_rng(0).random((150, 2)) * [3.0, 1.0]
    graph = es.KNN(8).build(points).distances
    expected = tangent_alignment(points, graph, 2).to_dense()
    for make in (geodesic_charts, tangent_charts):
        np.testing.assert_allclose(make(points, graph, 2).alignment().to_dense(), expected, atol=1e-12)
    found = es.GeodesicNullspaceAnalysis(2, n_neighbors=8).fit(points)
    assert off(points, found.embedding_) < 1e-6
    assert found.isometry_error_ < 1e-6
    assert abs(np.corrcoef(found.embedding_.T)[0, 1]) < 1e-9
    assert np.all(np.diff(found.embedding_.var(axis=0)) < 0)


def test_the_linear_map_is_the_best() -> None:
    """No other R brings the neighbourhoods nearer to their charts, and the error told is theirs."""
    X, _ = roll(400)
    X += 0.2 * np.random.default_rng(1).standard_normal(X.shape)
    charts = tangent_charts(X, es.KNN(8).build(X).distances, 2)
    Y = np.random.default_rng(2).standard_normal((400, 2))

    def error(R: Any) -> float:
        total = left = 0.0
        for members, T in charts.pieces:
            for c, t in zip(members, T, strict=True):
                near = (Y[c] - Y[c].mean(axis=0)) @ R
                U, _, Vt = np.linalg.svd(t.T @ near)
                left, total = left + np.sum((near - t @ U @ Vt) ** 2), total + np.sum(t**2)
        return float(np.sqrt(left / total))

    R, share = charts.isometry(Y)
    assert share == pytest.approx(error(R), rel=1e-6)
    rng = np.random.default_rng(3)
    for size in (1e-3, 1e-2, 0.1):
        assert all(error(R * (1 + size * rng.standard_normal(R.shape))) >= share for _ in range(3))


def test_sums_without_triplets(monkeypatch: pytest.MonkeyPatch) -> None:
    X, _ = roll(300)
    graph = es.Radius(4.0).build(X).distances  # neighbourhoods of many sizes
    graph = graph if np.diff(graph.indptr).min() >= 5 else es.KNN(9).build(X).distances
    charts = geodesic_charts(X, graph, 2, masses=np.arange(1.0, 301.0))
    expected = charts.alignment().to_dense()
    monkeypatch.setattr(alignment_module, "_TRIPLETS", 0)
    np.testing.assert_allclose(charts.alignment().to_dense(), expected, atol=1e-11 * np.abs(expected).max())


def test_neighbours_enough_for_a_parabola() -> None:
    X, _ = roll(200)
    with pytest.raises(GraphError, match=r"needs at least 5 neighbours .* some have 4"):
        es.GeodesicNullspaceAnalysis(2, n_neighbors=4).fit(X)
