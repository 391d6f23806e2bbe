"""The figure of all displays is drawn, and no panel is empty."""

import pytest

example = pytest.importorskip("displays", reason="examples/ is not part of this distribution")


@pytest.mark.long
def test_every_panel_is_filled(tmp_path, capsys):
    example.main(["--fast", "--out", str(tmp_path)])
    assert (tmp_path / "displays.png").stat().st_size > 10_000
    out = capsys.readouterr().out
    assert "150 digits" in out
    assert "AUC" in out


def test_angles_of_resampled_axes_are_between_0_and_90_degrees():
    X, _ = example.load_digits(return_X_y=True, as_frame=True)
    angles = example.resampled_angles(X[:100], 3)
    assert angles.shape == (3, example.D)
    assert (angles >= 0).all()
    assert (angles <= 90.0 + 1e-9).all()
