"""What the summary of ``embed`` costs, and which rows it looks at."""

from __future__ import annotations

import json

import numpy as np
import pytest

import eigenspan.quality.neighbour_measures as neighbours
from cli_helpers import invoke, run
from eigenspan.quality import trustworthiness

BUDGET = 20_000_000


@pytest.fixture
def compared(monkeypatch):
    """Rows whose neighbours are ranked, with the number of points among which these are sought."""
    seen = []
    real = neighbours.tallied

    def counting(data, embedding, rows, *given, **named):
        seen.append((len(rows), data.n))
        return real(data, embedding, rows, *given, **named)

    monkeypatch.setattr(neighbours, "tallied", counting)
    return seen


@pytest.mark.parametrize("n", [300, 4000, 8000, 20_000, 30_000])
def test_the_pairs_compared_are_bounded(tmp_path, compared, n):
    np.save(tmp_path / "t.npy", np.random.default_rng(0).standard_normal((n, 3)))
    said = json.loads(invoke("embed", tmp_path / "t.npy", "-o", tmp_path / "o.npy", "--json", "-q", "--seed", 3).stdout)
    (method,) = said["methods"]
    ((rows, points),) = compared
    assert points == n
    assert rows == method["trustworthiness_rows"]
    assert rows * points <= BUDGET
    assert rows == n or rows * points > 0.9 * BUDGET
    X = np.load(tmp_path / "t.npy")
    X = (X - X.mean(0)) / X.std(0)
    given = {} if rows == n else {"sample": rows, "random_state": 3}
    expected = trustworthiness(X, np.load(tmp_path / "o.npy"), **given)
    assert method["trustworthiness"] == pytest.approx(expected, abs=2e-6)


def test_a_sample_is_named_with_its_size_and_seed(tmp_path, monkeypatch):
    monkeypatch.setattr("eigenspan.cli.outputs._PAIRS", 200_000)
    np.save(tmp_path / "t.npy", np.random.default_rng(0).standard_normal((1000, 3)))
    said = run("embed", tmp_path / "t.npy", "-o", tmp_path / "o.npy", "--seed", 5)
    assert "averaged over 200 of 1000 rows drawn with --seed 5" in said
    np.save(tmp_path / "t.npy", np.random.default_rng(0).standard_normal((3000, 3)))
    assert "trustworthiness" not in run("embed", tmp_path / "t.npy", "-o", tmp_path / "o.npy")


def test_work_of_comparisons_does_not_jump_where_sampling_begins():
    from eigenspan.quality._check import affordable

    work = [n * (affordable(n, None) or n) for n in (19_999, 20_000, 20_001, 40_000, 1_000_000)]
    assert max(work) <= 1.01 * 20_000**2
