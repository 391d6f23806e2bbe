"""Digits in two views: the protocol, the claims of the tables, and a small version of the run with a million rows."""

import os

import numpy as np
import pytest

from helpers import ROOT

example = pytest.importorskip("two_views", reason="examples/ is not part of this distribution")
with_data = pytest.mark.skipif(
    "EIGENSPAN_DATA" not in os.environ, reason="EIGENSPAN_DATA does not name the data folder"
)


@pytest.fixture(scope="module")
def digits():
    return example.load()


@with_data
def test_the_digits_are_split_and_standardised(digits):
    fits, _, y, y_new = digits
    assert {name: table.shape[1] for name, table in fits.items()} == {
        "fou": 76, "fac": 216, "kar": 64, "pix": 240, "zer": 47, "mor": 6,
    }  # fmt: skip
    assert len(y) == 1334
    assert len(y_new) == 666
    assert all(np.abs(table.mean(axis=0)).max() < 1e-9 for table in fits.values())


@with_data
def test_the_page_agrees_with_the_results(digits):
    """Check one row of the table of retrieval, and the order of its lines on the page."""
    fits, asks, _, y_new = digits
    found = example.retrieval(fits, asks, y_new, ("fou", "kar"), example.methods()["CCA, ridge 0.1"])
    shares = " | ".join(f"{100 * share:.1f} %" for share in found.values())
    page = (ROOT / "docs" / "two-views.md").read_text(encoding="utf-8")
    assert f"| Fourier → Karhunen-Loève | CCA, ridge 0.1 | {shares} |" in page


def test_ranks_of_the_correct_match():
    similar = np.array([[0.9, 0.1, 0.2], [0.5, 0.4, 0.3], [0.1, 0.2, 0.3]])
    np.testing.assert_array_equal(example.ranks_of_the_right_one(similar), [0, 1, 0])


def test_planted_correlations_are_found_in_files(tmp_path):
    found = example.million(tmp_path, n=60_000)
    np.testing.assert_allclose(found["correlations"], example.PLANTED, atol=0.02)
