"""Three views and more."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.linalg as la

import eigenspan as es
from eigenspan.errors import ConvergenceWarning, DegenerateWarning, DimensionError, InputError
from helpers import angle, assert_allclose_up_to_sign, centred, reports, says


def views(n: int = 250, widths: tuple[int, ...] = (5, 4, 6), seed: int = 0) -> list[Any]:
    """Mixed tables that share two factors, each with noise of its own."""
    rng = np.random.default_rng(seed)
    T = rng.standard_normal((n, 2)) * [2.0, 1.0]
    return [
        np.hstack([T + (0.4 + 0.3 * i) * rng.standard_normal(T.shape), rng.standard_normal((n, D - 2))])
        @ rng.standard_normal((D, D))
        + i
        for i, D in enumerate(widths)
    ]


VIEWS = views()


@pytest.mark.parametrize("criterion", ["maxvar", "sumcor"])
@pytest.mark.parametrize("ridge", [0.0, 0.2])
def test_two_views_are_cca(criterion: str, ridge: float) -> None:
    X, Y = VIEWS[:2]
    cca, both = es.CCA(3, ridge=ridge).fit(X, Y), es.MultiviewCCA(3, criterion=criterion, ridge=ridge)
    for found in (both.fit(X, Y), both.fit([X, Y])):
        np.testing.assert_allclose(found.correlations_, cca.correlations_, atol=1e-9)
        for mine, theirs in zip(found.transform([X, Y]), cca.transform(X, Y), strict=True):
            assert_allclose_up_to_sign(mine, theirs, atol=1e-7)
    expected = cca.eigenvalues_ + (criterion == "maxvar")
    np.testing.assert_allclose(both.eigenvalues_, expected, atol=1e-9)


def _dense(tables: list[Any], ridge: float) -> Any:
    """Leading eigenvalues of the covariances between views against those within, by brute force."""
    within = [np.cov(table.T) for table in tables]
    C = np.cov(np.hstack(tables).T) - la.block_diag(*within)
    B = la.block_diag(*[W + ridge * np.trace(W) / len(W) * np.eye(len(W)) for W in within])
    return 1 + la.eigh(C, B)[0][::-1][:3]


def test_maxvar_is_the_sum_of_projections() -> None:
    P = sum(Q @ Q.T for Q in (np.linalg.qr(centred(view))[0] for view in VIEWS))
    values, vectors = np.linalg.eigh(P)
    gcca = es.MultiviewCCA(2).fit(VIEWS)
    np.testing.assert_allclose(gcca.eigenvalues_, values[::-1][:2], atol=1e-10)
    shared = np.mean(gcca.transform(VIEWS), axis=0)
    assert angle(shared, vectors[:, ::-1][:, :2]) < 1e-5
    np.testing.assert_allclose(
        np.mean([part.var(axis=0, ddof=1) for part in gcca.transform(VIEWS)], axis=0), 1, atol=1e-10
    )
    np.testing.assert_allclose(es.MultiviewCCA(3, ridge=0.1).fit(VIEWS).eigenvalues_, _dense(VIEWS, 0.1), atol=1e-9)


def test_sumcor_gives_every_view_its_unit_and_the_largest_sum() -> None:
    def total(found: Any) -> float:
        parts = [part / part.std(axis=0) for part in found.transform(VIEWS)]
        return sum(np.mean(parts[i] * parts[j]) for i in range(3) for j in range(i))

    sumcor, maxvar = (es.MultiviewCCA(1, criterion=name).fit(VIEWS) for name in ("sumcor", "maxvar"))
    for part in sumcor.transform(VIEWS):
        np.testing.assert_allclose(part.var(axis=0, ddof=1), 1, atol=1e-10)
    assert total(sumcor) >= total(maxvar) - 1e-12
    assert sumcor.eigenvalues_[0] == pytest.approx(3 * sumcor.correlations_[0], abs=1e-9)
    rng = np.random.default_rng(0)
    for _ in range(20):  # no small step leads higher
        nudged = []
        for view, weights in zip(VIEWS, sumcor.weights_, strict=True):
            z = centred(view) @ (weights[:, 0] + 0.02 * np.linalg.norm(weights) * rng.standard_normal(len(weights)))
            nudged.append(z / z.std())
        assert sum(np.mean(nudged[i] * nudged[j]) for i in range(3) for j in range(i)) <= total(sumcor) + 1e-9
    both = es.MultiviewCCA(2, criterion="sumcor").fit(VIEWS)
    for part in both.transform(VIEWS):
        np.testing.assert_allclose(np.cov(part.T), np.eye(2), atol=1e-9)
    assert both.n_iter_ > 1
    parts = both.transform(VIEWS)
    S = sum(parts[i].T @ parts[j] + parts[j].T @ parts[i] for i in range(3) for j in range(i)) / (2 * 249)
    np.testing.assert_allclose(S, np.diag(both.eigenvalues_), atol=1e-9)
    np.testing.assert_allclose(both.eigenvalues_, 3 * both.correlations_, atol=1e-9)
    with reports(ConvergenceWarning, "SUMCOR still grew", "max_iter="):
        es.MultiviewCCA(2, criterion="sumcor", max_iter=1).fit(VIEWS)


def test_correlations_are_those_of_the_variates() -> None:
    for criterion in ("maxvar", "sumcor"):
        found = es.MultiviewCCA(2, criterion=criterion).fit(VIEWS)
        parts = found.transform(VIEWS)
        for k in range(2):
            R = np.corrcoef(np.column_stack([part[:, k] for part in parts]).T)
            np.testing.assert_allclose(found.pair_correlations_[k], R, atol=1e-9)
            assert found.correlations_[k] == pytest.approx(R[np.triu_indices(3, 1)].mean())
    np.testing.assert_allclose(found.embedding_, found.transform(VIEWS[0]), atol=1e-9)
    np.testing.assert_allclose(found.transform(VIEWS[2][:5], view=2), parts[2][:5], atol=1e-9)
    np.testing.assert_allclose(found.fit_transform(VIEWS)[1], parts[1], atol=1e-9)


def test_views_in_files_and_frames(tmp_path: Path) -> None:
    whole, files = es.MultiviewCCA(2).fit(VIEWS), []
    for i, view in enumerate(VIEWS):
        np.save(tmp_path / f"{i}", view)
        files.append(np.load(tmp_path / f"{i}.npy", mmap_mode="r"))
    mapped = es.MultiviewCCA(2).fit(files)
    np.testing.assert_allclose(mapped.correlations_, whole.correlations_, atol=1e-10)
    assert "embedding_" not in vars(mapped)
    rows = es.MultiviewCCA(1).fit([view.tolist() for view in VIEWS[:2]])
    np.testing.assert_allclose(rows.correlations_, es.CCA(1).fit(*VIEWS[:2]).correlations_, atol=1e-10)
    vector = es.MultiviewCCA(1).fit([*VIEWS[:2], VIEWS[2][:, 0]])
    assert vector.transform(VIEWS[2][:9, 0], view=2).shape == (9, 1)
    frames = [pd.DataFrame(view) for view in VIEWS]
    np.testing.assert_allclose(es.MultiviewCCA(2).fit(tuple(frames)).correlations_, whole.correlations_, atol=1e-12)


@pytest.mark.parametrize("criterion", ["maxvar", "sumcor"])
def test_views_in_parts(criterion: str) -> None:
    whole, piecewise = (es.MultiviewCCA(2, criterion=criterion) for _ in range(2))
    whole.fit(VIEWS)
    for rows in (slice(0, 2), slice(2, 9), slice(9, 100), slice(100, 250)):
        piecewise.partial_fit([view[rows] for view in VIEWS])
    np.testing.assert_allclose(piecewise.correlations_, whole.correlations_, atol=1e-9)
    for a, b in zip(piecewise.weights_, whole.weights_, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-5 * np.abs(b).max())
    for i in range(9):  # too few rows so far are nothing yet
        early = es.MultiviewCCA(3, criterion=criterion, ridge=0.1).partial_fit([view[: i + 1] for view in VIEWS])
        assert hasattr(early, "correlations_") == (i >= 3)
    two = es.MultiviewCCA(1).partial_fit(*VIEWS[:2])
    np.testing.assert_allclose(two.correlations_, es.CCA(1).fit(*VIEWS[:2]).correlations_, atol=1e-9)
    with pytest.raises(InputError, match=says("5 and 4 and 6 columns", "5 and 4 now")):
        piecewise.partial_fit(VIEWS[:2])
    assert not hasattr(es.MultiviewCCA(reduce=2), "partial_fit")


def test_views_that_cannot_be() -> None:
    holes = VIEWS[2].copy()
    holes[3, 1] = np.nan
    for call, words in (
        (lambda: es.MultiviewCCA().fit(VIEWS[:1]), ["list of 1 view", "takes two"]),
        (lambda: es.MultiviewCCA().fit(VIEWS, VIEWS[0]), ["put all of them into the list"]),
        (lambda: es.MultiviewCCA().fit([VIEWS[0], VIEWS[1][:-1]]), ["250 and 249 rows"]),
        (lambda: es.MultiviewCCA().fit([*VIEWS[:2], holes]), ["Input X[2] contains NaN", "row 3, column 1"]),
        (lambda: es.MultiviewCCA().fit([*VIEWS[:2], np.ones((250, 2))]), ["All 250 rows of X[2] coincide"]),
        (lambda: es.MultiviewCCA().fit([*VIEWS[:2], ["a", "b"] * 125]), ["X[2] holds text", "'a'"]),
        (lambda: es.MultiviewCCA(6).fit(VIEWS), ["n_components=6 exceeds 5", "second largest", "5, 4, 6"]),
        (lambda: es.MultiviewCCA(5, criterion="sumcor").fit(VIEWS), ["n_components=5 exceeds 4", "smallest"]),
        (lambda: es.MultiviewCCA(ridge=[0.1, 0.2]).fit(VIEWS), ["3 of them"]),
        (lambda: es.MultiviewCCA().fit(VIEWS).transform(VIEWS[:2]), ["list of 2 views", "3 were fitted"]),
        (lambda: es.MultiviewCCA().fit(VIEWS).transform(VIEWS[0], view=3), ["between 0 and 2"]),
        (lambda: es.MultiviewCCA().fit(VIEWS).transform(VIEWS[0], view=2), ["had 6 columns", "has 5 now"]),
        (lambda: es.MultiviewCCA().fit(VIEWS[0]), ["requires y", "other view"]),
    ):
        with pytest.raises(InputError, match=says(*words)):
            call()
    with pytest.raises(DimensionError):
        es.MultiviewCCA(6).fit(VIEWS)
    with reports(DegenerateWarning, "dimensions more", "ridge="):
        es.MultiviewCCA(1).fit([view[:9] for view in VIEWS])
