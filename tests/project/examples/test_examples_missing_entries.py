"""The comparison of imputation methods: it runs, and its table is correct."""

import sys

import numpy as np
import pytest

from helpers import external_data

example = pytest.importorskip("missing_entries", reason="examples/ is not part of this distribution")


@pytest.fixture(scope="module")
def small():
    external_data("mfeat")
    X = example.load(400)
    return X, example.with_gaps(X)


def test_missing_entries_are_at_the_documented_positions(small):
    X, gaps = small
    assert X.shape == (400, 240)
    assert np.isnan(gaps).mean() == pytest.approx(0.3, abs=0.01)
    np.testing.assert_array_equal(gaps[~np.isnan(gaps)], X[~np.isnan(gaps)])


def test_the_table_and_the_figure(small, tmp_path, monkeypatch, capsys):
    X, gaps = small
    monkeypatch.setattr(example, "GIVEN", (30,))
    found = example.compare(X, gaps, slow=False)
    monkeypatch.setattr(example, "compare", lambda *_: found)
    monkeypatch.setattr(sys, "argv", ["x", "--out", str(tmp_path), "--rows", "400"])
    example.main()
    text = capsys.readouterr().out
    assert text.count("\n| ") == len(found)
    assert "PPCA(30): 30 components" in text
    assert (tmp_path / "missing-entries.png").stat().st_size > 10_000
    means, *ours = found
    for result in ours:
        assert result.error < 0.75 * means.error
        assert np.all(np.diff(result.estimator.log_likelihoods_) > 0)
    for result in found:
        np.testing.assert_array_equal(result.filled[~np.isnan(gaps)], X[~np.isnan(gaps)])
