"""The comparison of learned, averaged and single kernels: it runs, and its numbers are correct."""

import sys

import numpy as np
import pytest

example = pytest.importorskip("kernel_learning", reason="examples/ is not part of this distribution")


@pytest.fixture(scope="module")
def small():
    X, y = example.load("breast cancer")
    rows = np.arange(0, len(y), 5)
    return X[rows], y[rows]


def test_candidates_are_centred_and_of_one_trace(small):
    X, _ = small
    grams = example.candidates(X)
    assert len(grams) == 8
    for K in grams.values():
        assert np.trace(K) == pytest.approx(len(X))
        assert np.abs(K.sum(axis=0)).max() < 1e-8
        assert np.linalg.eigvalsh(K)[0] > -1e-10 * len(X)


def test_a_split_scores_the_unlabelled_points_only(small):
    X, y = small
    train, test = np.arange(40), np.arange(40, len(y))
    found, shares = example.one_split(example.candidates(X), y, train, test, seed=0)
    assert all(value * len(test) == pytest.approx(round(value * len(test))) for value in found.values())
    majority = np.mean(y[test] == 1)
    assert min(found["average"], found["l1 nonnegative"], found["cross-validated"]) > majority
    for name, share in shares.items():
        assert share.sum() == pytest.approx(1)
        if name.endswith("nonnegative"):
            assert share.min() >= 0


def test_the_table_has_one_line_per_method_and_is_written(small, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(example, "load", lambda name: small)
    monkeypatch.setattr(sys, "argv", ["x", "--out", str(tmp_path), "--splits", "2", "--sets", "breast cancer"])
    monkeypatch.setattr(example, "PRICES", (1.0,))
    example.main()
    text = (tmp_path / "kernel-learning-results.md").read_text(encoding="utf-8")
    assert text.split("\n\n", 1)[1].strip() == capsys.readouterr().out.strip()
    for row in ("cross-validated", "hindsight", "average of the kernels", "l1, nonnegative", "l2, unrestricted"):
        assert row in text
    assert text.count("±") == 3 * 7


def test_missing_data_sets_are_skipped(monkeypatch):
    monkeypatch.delenv("EIGENSPAN_DATA", raising=False)
    assert example.load("ionosphere") is None
