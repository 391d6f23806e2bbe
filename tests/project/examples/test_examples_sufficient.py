"""The figures of inverse regressions and of projections agree with their descriptions."""

import os

import numpy as np
import pytest

sufficient = pytest.importorskip("sufficient_figures", reason="examples/ is not part of this distribution")
projective = pytest.importorskip("projective_figures", reason="examples/ is not part of this distribution")


def test_slices_of_five_responses():
    found = {(row["y"], row["method"]): row for row in sufficient.slices(20_000)}
    for method in ("SIR", "SAVE"):
        first = found["x₁ + x₂ + x₃", method]
        assert first["angle"] < 1
        assert first["eigenvalues"][1] < 0.02  # one direction, not three
        assert found["x₁ + log(1 + e^5x₂)", method]["angle"] < 5
    for blind in ("x₁² + x₂² + x₃²", "x₁ + x₂x₃"):
        assert found[blind, "SAVE"]["angle"] < 6
        assert found[blind, "SIR"]["angle"] > 15


def test_symmetric_responses():
    _, angles = sufficient.symmetric(400, 5)
    assert angles["SIR"][0] > 25
    assert max(angles["LAD"][0], angles["contour regression"][0]) < 15


@pytest.mark.long
def test_pictures(tmp_path, capsys):
    sufficient.main(["--fast", "--out", str(tmp_path)])
    projective.main(["--fast", "--out", str(tmp_path)])
    pictures = {path.name for path in tmp_path.iterdir()}
    expected = {"sufficient-slices.png", "sufficient-symmetric.png", "projections-normal.png", "one-against-rest.png"}
    assert expected <= pictures
    assert ("denoising-digits.png" in pictures) == ("EIGENSPAN_DATA" in os.environ)
    assert "in a file" in capsys.readouterr().out


def test_projections_of_a_sphere_are_nearly_normal():
    found = projective.projections(20_000)
    assert found["the 20-sphere, formula"] < 0.01
    assert found["the 20-sphere, along the first axis of PCA"] < 0.03
    assert found["the circle, formula"] > 0.05
    assert found["two clusters, along the first axis of PCA"] > 0.1


@pytest.mark.skipif("EIGENSPAN_DATA" not in os.environ, reason="EIGENSPAN_DATA does not name the data folder")
def test_kernel_pca_takes_noise_out_of_digits():
    errors, pictures = projective.denoise(400, 40, (64, 256))
    noisy = np.mean((pictures["noisy"] - pictures["clean"]) ** 2)
    assert errors["PCA"][1] > 0.9 * noisy  # with as many axes as pixels the noise remains
    assert errors["kernel PCA, fixed point"][1] < errors["kernel PCA, fixed point"][0] < 0.7 * noisy
