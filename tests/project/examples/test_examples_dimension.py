"""The figures of dimension estimates agree with their descriptions."""

import numpy as np
import pytest

example = pytest.importorskip("dimension_figures", reason="examples/ is not part of this distribution")


def test_uniform_and_snowy_spheres():
    slopes = example.spheres(2000, 2)
    assert slopes["even"]["all pairs"].mean() == pytest.approx(2.0, abs=0.01)
    assert slopes["snowy"]["all pairs"].mean() == pytest.approx(1.76, abs=0.03)
    assert slopes["snowy"]["10,000 closest"].mean() > slopes["snowy"]["all pairs"].mean() + 0.05


def test_known_dimensions():
    rows = {row["data"]: row for row in example.known(300)}
    assert len(rows) >= 12
    for name in ("helix in 3-d", "sphere in 3-d", "Swiss roll", "Möbius band"):
        for method in ("correlation", "mle"):
            assert rows[name]["ours"][method].dimension == pytest.approx(rows[name]["truth"], abs=0.35)
    ours, theirs = rows["cube in 10-d"]["ours"], rows["cube in 10-d"]["theirs"]
    if theirs is not None:
        assert theirs["TwoNN"] == pytest.approx(ours["twonn"].dimension, rel=1e-6)


def test_the_numbers_of_axes():
    for title, truth, found in example.told(1, fast=True)[:3]:
        if "200 × 20" in title or "1000 × 50, five" in title:
            assert found == [truth], title


def test_dimensions_of_gaussians_are_underestimated(tmp_path):
    found = example.gaussians(1000)
    behind = [found[d][0].dimension / d for d in example.GAUSSIANS]
    assert np.all(np.diff(behind) < 0)
    pytest.importorskip("matplotlib")
    example.draw_gaussians(found, 1000).savefig(tmp_path / "gaussians.png")
    example.draw_spheres(500).savefig(tmp_path / "spheres.png")
    assert len(list(tmp_path.iterdir())) == 2
