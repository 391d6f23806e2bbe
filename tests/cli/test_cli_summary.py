"""Cost and sampling of the summary of ``embed``."""

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
    """Record the number of ranked rows, and the number of points in each ranking."""
    seen = []
    real = neighbours.count_ranks

    def counting(data, embedding, rows, *given, **named):
        seen.append((len(rows), data.n))
        return real(data, embedding, rows, *given, **named)

    monkeypatch.setattr(neighbours, "count_ranks", counting)
    return seen


@pytest.mark.parametrize("n", [300, 4000, 8000, 20_000, 30_000])
@pytest.mark.every(4)
def test_number_of_compared_pairs_is_bounded(tmp_path, compared, n):
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


def test_summary_states_sample_size_and_seed(tmp_path, monkeypatch):
    monkeypatch.setattr("eigenspan.cli.outputs._PAIRS", 200_000)
    np.save(tmp_path / "t.npy", np.random.default_rng(0).standard_normal((1000, 3)))
    said = run("embed", tmp_path / "t.npy", "-o", tmp_path / "o.npy", "--seed", 5)
    assert "averaged over 200 of 1000 rows drawn with --seed 5" in said
    np.save(tmp_path / "t.npy", np.random.default_rng(0).standard_normal((3000, 3)))
    assert "trustworthiness" not in run("embed", tmp_path / "t.npy", "-o", tmp_path / "o.npy")


def test_cost_is_continuous_at_the_sampling_threshold():
    from eigenspan.quality._check import affordable

    work = [n * (affordable(n, None) or n) for n in (19_999, 20_000, 20_001, 40_000, 1_000_000)]
    assert max(work) <= 1.01 * 20_000**2
