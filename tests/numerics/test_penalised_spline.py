"""Penalised splines against scipy's smoothing splines, and their limits."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.interpolate import CubicSpline, make_smoothing_spline

from eigenspan.numerics.penalised_spline import Spline, fit_spline


def curve(n: int = 30) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    t = rng.uniform(0, 1, n)
    return t, np.sin(6 * t) + 0.1 * rng.standard_normal(n)


@pytest.mark.parametrize("penalty", [1e-5, 1e-3])
def test_a_knot_at_every_point_gives_the_smoothing_spline(penalty: float) -> None:
    t, y = curve(11)
    t, y = np.sort(t), y[np.argsort(t)]
    theirs = make_smoothing_spline(t, y, lam=penalty)
    df = sum(float(make_smoothing_spline(t, e, lam=penalty)(t[i])) for i, e in enumerate(np.eye(t.size)))
    ours, at = fit_spline(t, y[:, None], df), np.linspace(t[0], t[-1], 50)
    np.testing.assert_allclose(ours(at)[:, 0], theirs(at), atol=1e-9)
    np.testing.assert_allclose(ours(at, 1)[:, 0], theirs.derivative()(at), atol=1e-7)


def test_few_knots_are_close_to_the_smoothing_spline() -> None:
    t, y = curve(100)
    order = np.argsort(t)
    theirs = make_smoothing_spline(t[order], y[order], lam=1e-3)
    df = np.trace(np.column_stack([make_smoothing_spline(t[order], e, lam=1e-3)(t[order]) for e in np.eye(100)]))
    assert np.abs(fit_spline(t, y[:, None], df)(t[order])[:, 0] - theirs(t[order])).max() < 5e-3


@pytest.mark.parametrize("df", [2.0, 3.5, 8.0])
def test_the_trace_is_the_degrees_of_freedom(df: float) -> None:
    t, _ = curve()
    assert np.isclose(np.trace(fit_spline(t, np.eye(t.size), df)(t)), df, rtol=1e-6)


def test_the_limits_are_a_line_and_interpolation() -> None:
    t, y = curve(12)
    line = np.polyval(np.polyfit(t, y, 1), t)
    np.testing.assert_allclose(fit_spline(t, y[:, None], 2.0)(t)[:, 0], line, atol=1e-9)
    np.testing.assert_allclose(fit_spline(t, y[:, None], 40.0)(t)[:, 0], y, atol=1e-6)


def test_repeated_points_have_the_mean() -> None:
    t, y = np.array([0.0, 1.0, 1.0, 3.0]), np.array([[1.0], [2.0], [4.0], [0.0]])
    np.testing.assert_allclose(fit_spline(t, y, 5.0)(t)[:, 0], [1, 3, 3, 0], atol=1e-9)
    assert np.isclose(fit_spline(np.ones(3), y[:3], 5.0)(np.ones(1))[0, 0], 7 / 3)


def test_beyond_the_ends_it_is_straight() -> None:
    t, y = curve()
    f = fit_spline(t, y[:, None], 6.0)
    low, high = f.bounds
    for end, sign in ((low, -1), (high, 1)):
        at = end + sign * np.array([0.0, 1.0, 2.0])
        values, slopes = f(at)[:, 0], f(at, 1)[:, 0]
        np.testing.assert_allclose(slopes, slopes[0])
        np.testing.assert_allclose(np.diff(values), sign * slopes[0])


def test_a_mirrored_spline_is_mirrored() -> None:
    t, y = curve()
    f = fit_spline(t, y[:, None], 6.0)
    at = np.linspace(-1, 2, 40)
    np.testing.assert_allclose(f.mirrored()(-at), f(at), atol=1e-12)


def test_a_closed_curve_joins_smoothly() -> None:
    t = np.random.default_rng(1).uniform(0, 2 * np.pi, 200)
    f: Spline = fit_spline(t, np.column_stack([np.cos(t), np.sin(3 * t)]), 15.0, period=2 * np.pi)
    ends = np.array([1e-9, 2 * np.pi - 1e-9])
    for order in (0, 1):
        first, last = f(ends, order)
        np.testing.assert_allclose(first, last, atol=1e-6)
    np.testing.assert_allclose(f(t + 2 * np.pi), f(t), atol=1e-9)
    assert np.abs(f(t) - np.column_stack([np.cos(t), np.sin(3 * t)])).max() < 0.15


@pytest.mark.parametrize("n", [2, 5, 12])
def test_more_degrees_of_freedom_than_points_give_the_natural_spline(n: int) -> None:
    """Between the points too: splines that are zero at all of them have no part in the fit."""
    t = np.sort(np.random.default_rng(0).uniform(0, 1, n))
    Y = np.cos(5 * np.column_stack([t, 2 * t]))
    at = np.linspace(t[0], t[-1], 50)
    theirs = CubicSpline(t, Y, bc_type="natural")(at)
    np.testing.assert_allclose(fit_spline(t, Y, 100.0)(at), theirs, atol=1e-8 * np.abs(theirs).max())
