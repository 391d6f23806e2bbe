"""Oriented PCA: scipy's generalised eigenproblem, its theorems, every way to give copies, and what is refused."""

from __future__ import annotations

import warnings
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.linalg as la
import scipy.sparse as sp
from sklearn.datasets import load_wine

import eigenspan as es
from eigenspan.errors import DimensionError, InputError, RidgeWarning
from helpers import angle, assert_allclose_up_to_sign, inner_products, says

RNG = np.random.default_rng(0)
N, D = 120, 6
MIX = RNG.standard_normal((D, D))
X = RNG.standard_normal((N, D)) @ np.diag([3.0, 2.0, 2.0, 1.0, 1.0, 0.5]) @ MIX + 5.0
#: Noise that is not the same everywhere, and has a mean.
NOISE = RNG.standard_normal((3, N, D)) @ RNG.standard_normal((D, D)) + RNG.standard_normal(D)
COPIES = X + NOISE


def matrices(X: Any, noise: Any) -> tuple[Any, Any]:
    """C and R, written out."""
    Z = np.asarray(noise).reshape(-1, X.shape[1])
    return np.cov(X.T, bias=True), Z.T @ Z / len(Z)


def brute(X: Any, noise: Any, d: int) -> tuple[Any, Any]:
    """The largest ratios and their directions, by scipy."""
    values, V = la.eigh(*matrices(X, noise))
    return values[::-1][:d], V[:, ::-1][:, :d]


# ---------------------------------------------------------------------- oracles and theorems
def test_it_is_the_generalised_eigenproblem() -> None:
    fitted = es.OrientedPCA(3).fit(X, COPIES)
    values, V = brute(X, NOISE, 3)
    np.testing.assert_allclose(fitted.eigenvalues_, values, rtol=1e-10)
    assert_allclose_up_to_sign(fitted.components_.T, V, atol=1e-9)
    assert_allclose_up_to_sign(fitted.embedding_, (X - X.mean(axis=0)) @ V, atol=1e-8)


@pytest.mark.parametrize("n", [12, 25])
def test_more_features_than_rows(n: int) -> None:
    """Noise may leave the span of the signals, and is cancelled by what is seen of it there."""
    rng = np.random.default_rng(n)
    W, noise = rng.standard_normal((n, 30)), rng.standard_normal((6, n, 30)) @ rng.standard_normal((30, 30))
    fitted = es.OrientedPCA(4).fit(W, W + noise)
    values, V = brute(W, noise, 4)
    np.testing.assert_allclose(fitted.eigenvalues_, values, rtol=1e-8)
    assert angle(fitted.components_.T, V) < 1e-5


def test_a_feature_without_signal_cancels_noise() -> None:
    rng = np.random.default_rng(1)
    hum = rng.standard_normal((N, 1))
    S = np.c_[X[:, :2], np.zeros(N)]  # the third feature hears the hum alone
    noise = hum * [1.0, 0.5, 2.0] + 0.01 * rng.standard_normal((N, 3))
    fitted = es.OrientedPCA(2).fit(S, S + noise)
    np.testing.assert_allclose(fitted.eigenvalues_, brute(S, noise, 2)[0], rtol=1e-8)
    deaf = es.OrientedPCA(2).fit(S[:, :2], (S + noise)[:, :2])
    assert np.all(fitted.eigenvalues_ > 5 * deaf.eigenvalues_)


def test_axes_are_conjugate_in_both() -> None:
    V, (C, R) = es.OrientedPCA(D).fit(X, COPIES).components_, matrices(X, NOISE)
    np.testing.assert_allclose(V @ R @ V.T, np.eye(D), atol=1e-10)
    signal = V @ C @ V.T
    np.testing.assert_allclose(signal, np.diag(np.diag(signal)), atol=1e-10 * signal.max())


def test_scales_of_signal_and_noise_do_not_turn_the_axes() -> None:
    def axes(signal: float, noise: float, **how: Any) -> Any:
        return es.OrientedPCA(2, **how).fit(signal * X, signal * X + noise * NOISE)

    plain = axes(1, 1)
    for signal, noise in ((3.0, 1.0), (1.0, 1e-6), (1e-4, 1e4)):
        scaled = axes(signal, noise)
        assert angle(plain.components_.T, scaled.components_.T) < 1e-4
        np.testing.assert_allclose(scaled.eigenvalues_, plain.eigenvalues_ * (signal / noise) ** 2, rtol=1e-7)
    turned = [axes(signal, noise, extractor="difference") for signal, noise in ((1, 1), (1, 6))]
    assert angle(*(each.components_.T for each in turned)) > 5  # what oriented PCA mends


def test_noise_that_is_the_same_everywhere_is_pca() -> None:
    pca = es.PCA(3).fit(X)
    silent = es.OrientedPCA(3).fit(X)
    assert_allclose_up_to_sign(silent.components_, pca.components_)
    np.testing.assert_allclose(silent.eigenvalues_, pca.eigenvalues_ / N, rtol=1e-12)
    around = X + np.vstack([np.eye(D), -np.eye(D)])[:, None]
    assert angle(es.OrientedPCA(3).fit(X, around).components_.T, pca.components_.T) < 1e-5
    for wide in (X[:4], sp.csr_array(X)):
        assert angle(es.OrientedPCA(3).fit(wide).components_.T, es.PCA(3).fit(wide).components_.T) < 1e-5


def test_class_means_as_signals_are_discriminant_analysis() -> None:
    """The signal of a sample is the mean of its class, its copy the sample itself: C is S_B / n and R is S_W / n."""
    W, y = load_wine(return_X_y=True)
    means = np.array([W[y == c].mean(axis=0) for c in range(3)])
    oriented, lda = es.OrientedPCA(2).fit(means[y], W), es.LDA().fit(W, y)
    assert angle(oriented.components_.T, lda.components_.T) < 1e-4
    q = oriented.eigenvalues_
    np.testing.assert_allclose(q / (1 + q), lda.eigenvalues_, rtol=1e-8)  # S_B against S_W, or against S_T


def test_the_mean_of_the_noise_counts() -> None:
    S = np.random.default_rng(2).standard_normal((200, 2)) * [1.0, 2.0]
    shifted = S + [0.1, 5.0] + 0.1 * np.random.default_rng(3).standard_normal((200, 2))
    assert abs(es.OrientedPCA(1).fit(S, shifted).components_).argmax() == 0
    # noise that shifts all rows alike has no variance at all
    oriented = es.OrientedPCA(1, ridge=1e-3).fit(S, S + np.array([0.0, 5.0]))
    assert abs(oriented.components_).argmax() == 0


def test_the_difference_rebuilds_originals_best() -> None:
    fitted = es.OrientedPCA(1, extractor="difference").fit(X, COPIES)
    Z = NOISE.reshape(-1, D)
    values, V = la.eigh(X.T @ X / N - Z.T @ Z / len(Z))
    np.testing.assert_allclose(fitted.eigenvalues_, values[-1:], rtol=1e-10)
    assert_allclose_up_to_sign(fitted.components_.T, V[:, -1:])
    np.testing.assert_array_equal(fitted.mean_, np.zeros(D))

    def error(n: Any) -> float:
        return float(np.mean((X - (COPIES @ n)[..., None] * n) ** 2))

    n = fitted.components_[0]
    np.testing.assert_allclose(fitted.inverse_transform(fitted.transform(COPIES[0])), (COPIES[0] @ n)[:, None] * n)
    nearby = n + 0.05 * np.random.default_rng(4).standard_normal((50, D))
    assert all(error(n) < error(m / la.norm(m)) for m in nearby)
    S, Z = RNG.standard_normal((5, 30)) + 1.0, RNG.standard_normal((5, 30))
    wide = es.OrientedPCA(1, extractor="difference").fit(S, S + Z)
    assert_allclose_up_to_sign(wide.components_.T, la.eigh(S.T @ S / 5 - Z.T @ Z / 5)[1][:, -1:])


# ---------------------------------------------------------------------- ways to give copies
def hiss(rows: Any, rng: Any) -> Any:
    return rows + rng.standard_normal(rows.shape) * np.arange(1, rows.shape[1] + 1)


def squash(rows: Any, limit: float = 6.0) -> Any:
    """A second value with a default of its own is no place for a generator."""
    return np.minimum(rows, limit)


def overwritten(rows: Any) -> Any:
    rows *= 0.5
    return rows


def test_copies_in_any_wrapping_are_the_same() -> None:
    one = es.OrientedPCA(2).fit(X, COPIES).components_
    for y in (list(COPIES), tuple(COPIES), COPIES.tolist(), [sp.csr_array(copy) for copy in COPIES]):
        np.testing.assert_allclose(es.OrientedPCA(2).fit(X, y).components_, one, atol=1e-10)
    pandas = pytest.importorskip("pandas")
    frames = [pandas.DataFrame(copy) for copy in COPIES]
    np.testing.assert_allclose(es.OrientedPCA(2).fit(pandas.DataFrame(X), frames).components_, one, atol=1e-10)
    sparse = es.OrientedPCA(2).fit(sp.csr_array(X), [sp.csr_array(copy) for copy in COPIES])
    assert angle(sparse.components_.T, one.T) < 1e-5
    single = es.OrientedPCA(2).fit(X.astype(np.float32), COPIES.astype(np.float32))
    assert single.embedding_.dtype == np.float32
    assert angle(single.components_.T, one.T) < 1e-2


def test_functions_make_the_copies_that_they_return() -> None:
    before = X.copy()
    for functions in (squash, [squash], [squash, partial(squash, limit=4.0)], [overwritten, squash]):
        listed = functions if isinstance(functions, list) else [functions]
        made = es.OrientedPCA(2, distortions=functions, ridge=0.1).fit(X)
        given = es.OrientedPCA(2, ridge=0.1).fit(X, [f(X.copy()) for f in listed])
        np.testing.assert_allclose(made.components_, given.components_, atol=1e-10)
    np.testing.assert_array_equal(X, before)
    both = es.OrientedPCA(2, distortions=overwritten).fit(X, COPIES)
    assert_allclose_up_to_sign(both.components_.T, brute(X, [*NOISE, -X / 2], 2)[1])


def test_random_distortions_follow_the_seed() -> None:
    first, again, other = (es.OrientedPCA(2, distortions=hiss, random_state=s).fit(X).components_ for s in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)
    many = es.OrientedPCA(2, distortions=[hiss] * 200).fit(X)
    expected = la.eigh(np.cov(X.T, bias=True), np.diag(np.arange(1.0, D + 1) ** 2))[1][:, ::-1][:, :2]
    assert angle(many.components_.T, expected) < 3


def test_labels_are_no_copies() -> None:
    plain = es.OrientedPCA(2).fit(X).components_
    for y in (np.arange(N) % 3, list("ab" * (N // 2)), np.arange(5)):
        np.testing.assert_array_equal(es.OrientedPCA(2).fit(X, y).components_, plain)


# ---------------------------------------------------------------------- files and parts
def test_rows_in_a_file_are_read_in_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    signals, copies = (np.memmap(tmp_path / name, np.float64, "w+", shape=X.shape) for name in ("x", "copy"))
    signals[:], copies[:] = X, COPIES[0]
    seen: list[int] = []

    def halved(rows: Any) -> Any:
        seen.append(len(rows))
        return rows / 2

    monkeypatch.setattr(
        "eigenspan.methods.variance.oriented_pca.blocks",
        lambda n, D, **_: (slice(i, min(i + 50, n)) for i in range(0, n, 50)),
    )
    filed = es.OrientedPCA(2, distortions=halved).fit(signals, copies)
    assert seen == [50, 50, 20]
    held = es.OrientedPCA(2, distortions=halved).fit(X, COPIES[0])
    np.testing.assert_allclose(filed.components_, held.components_, atol=1e-10)
    np.testing.assert_allclose(filed.transform(signals), held.embedding_, atol=1e-10)
    assert not hasattr(filed, "embedding_")
    copies[77, 3] = np.nan
    with pytest.raises(InputError, match=says("Distorted copy 0 in y holds 1 values", "row 77, column 3")):
        es.OrientedPCA(2).fit(signals, copies)
    signals[99, 1] = np.inf
    with pytest.raises(InputError, match=says("Input X contains infinity", "row 99, column 1")):
        es.OrientedPCA(2).fit(signals, COPIES[0])


def test_parts_add_up() -> None:
    whole, parts = es.OrientedPCA(2).fit(X, COPIES), es.OrientedPCA(2)
    for rows in (slice(0, 2), slice(2, 3), slice(3, 90), slice(90, N)):
        parts.partial_fit(X[rows], COPIES[:, rows])
        assert hasattr(parts, "map_") == (rows.stop > 2)
    np.testing.assert_allclose(parts.components_, whole.components_, atol=1e-9)
    np.testing.assert_allclose(parts.eigenvalues_, whole.eigenvalues_, rtol=1e-9)
    assert parts.n_samples_seen_ == N
    made = es.OrientedPCA(2, distortions=hiss).partial_fit(X[:60]).partial_fit(X[60:])
    assert made.moments_.noise.n == N
    assert es.OrientedPCA(2).fit(X[:60], COPIES[:, :60]).partial_fit(X[60:], COPIES[:, 60:]).n_samples_seen_ == N
    with pytest.raises(InputError, match="shape"):
        parts.partial_fit(X[:5], COPIES[0, :4])


# ---------------------------------------------------------------------- kernels
def test_a_linear_kernel_changes_nothing() -> None:
    linear = es.OrientedPCA(2).fit(X, COPIES)
    kernel = es.OrientedPCA(2, kernel="linear", ridge=1e-10).fit(X, COPIES)
    np.testing.assert_allclose(kernel.eigenvalues_, linear.eigenvalues_, rtol=1e-5)
    np.testing.assert_allclose(
        inner_products(kernel.transform(COPIES[0])), inner_products(linear.transform(COPIES[0])), atol=1e-4
    )
    table = es.OrientedPCA(2, kernel="precomputed", ridge=1e-10).fit(X @ X.T, [copy @ X.T for copy in COPIES])
    np.testing.assert_allclose(inner_products(table.embedding_), inner_products(kernel.embedding_), atol=1e-4)
    with pytest.raises(InputError, match="X holds kernel values: pass their copies"):
        es.OrientedPCA(kernel="precomputed", distortions=squash).fit(X @ X.T)


def test_a_kernel_finds_what_no_line_shows() -> None:
    """Points on two circles; distortions turn them about the centre: the radius is all that stays."""
    rng = np.random.default_rng(5)
    t, r = rng.uniform(0, 2 * np.pi, 150), np.repeat([1.0, 2.0, 3.0], 50)

    def place(turn: Any) -> Any:
        return np.c_[r * np.cos(t + turn), r * np.sin(t + turn)]

    copies = [place(rng.uniform(0, 2 * np.pi, 150)) for _ in range(4)]
    found = es.OrientedPCA(1, kernel=es.Kernel("poly", degree=2, gamma=1.0)).fit(place(0), copies)
    assert abs(np.corrcoef(found.embedding_[:, 0], r**2)[0, 1]) > 0.999
    few = es.OrientedPCA(1, kernel=es.Kernel("poly", degree=2, gamma=1.0), landmarks=40).fit(place(0), copies)
    assert abs(np.corrcoef(few.transform(copies[0])[:, 0], r**2)[0, 1]) > 0.999


# ---------------------------------------------------------------------- too little noise, or none
def test_noise_in_some_directions_only_asks_for_a_ridge() -> None:
    flat = X.copy()
    flat[:, 0] += 1.0 + np.arange(N) % 2
    with pytest.warns(RidgeWarning, match="rank 1 of 6"):
        warned = es.OrientedPCA(2).fit(X, flat)
    assert np.all(warned.eigenvalues_ > 1e3)  # signal without noise
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        chosen = es.OrientedPCA(2, ridge=0.1).fit(X, flat)
    C, R = matrices(X, flat - X)
    np.testing.assert_allclose(chosen.eigenvalues_, la.eigh(C, R + 0.1 * np.eye(D))[0][::-1][:2], rtol=1e-9)


@pytest.mark.parametrize("rows", [N, 5])
@pytest.mark.parametrize("extractor", ["ratio", "difference"])
def test_no_noise_at_all(rows: int, extractor: Any) -> None:
    ways: list[Any] = [(X[:rows].copy(), {}), (None, {"distortions": lambda rows: rows})]
    ways += [(X[:rows].copy(), {"kernel": "rbf"})] if extractor == "ratio" else []
    for copies, how in ways:
        with pytest.raises(InputError, match=says(f"All {rows} distorted rows are equal to their originals", "PCA")):
            es.OrientedPCA(extractor=extractor, **how).fit(X[:rows], copies)


# ---------------------------------------------------------------------- refused
@pytest.mark.parametrize(
    "distort, words",
    [
        (
            lambda rows: rows[:-1],
            ["The distortion <lambda> returned", f"shape ({N - 1}, {D})", f"{N} rows of {D} features"],
        ),
        (lambda rows: rows[:, :2], ["returned an array of shape", f"({N}, 2)"]),
        (lambda rows: rows.ravel(), [f"shape ({N * D},)"]),
        (lambda rows: None, ["returned an array of shape ()"]),
        (lambda rows: np.where(rows > rows[7, 2], np.nan, rows), ["NaN or infinite", "first in row"]),
        (lambda rows: np.where(np.eye(N, D) > 0, np.inf, rows), [f"{D} values", "first in row 0, column 0"]),
        (lambda rows: rows + 1j, ["values that are not real numbers"]),
        (lambda rows: rows.astype(object) * "a", ["raised TypeError", "must return the rows distorted"]),
        (lambda rows: np.full(rows.shape, "a"), ["values that are not real numbers"]),
        (lambda rows: np.ma.masked_less(rows, 0), ["masked array"]),
        (lambda rows: [[1.0], [1.0, 2.0]], ["cannot be read as a table"]),
        (lambda rows: {}["gone"], ["raised KeyError ('gone')"]),
        ([], ["distortions=[] is empty"]),
        ([squash, 3.0], ["holds 3.0", "to fit as y"]),
        (lambda: X, ["'distortions' parameter"]),
        ("noise", ["'distortions' parameter"]),
    ],
)
def test_distortions_that_are_none(distort: Any, words: list[str]) -> None:
    with pytest.raises(ValueError, match=says(*words)):
        es.OrientedPCA(2, distortions=distort).fit(X)


@pytest.mark.parametrize("rows", [X[:5], sp.csr_array(X)], ids=["few rows", "sparse"])
def test_distortions_of_few_and_of_sparse_rows_are_checked_too(rows: Any) -> None:
    with pytest.raises(InputError, match=f"shape .4, 6. for {rows.shape[0]} rows of 6 features"):
        es.OrientedPCA(2, distortions=lambda rows: rows[:4]).fit(rows)
    with pytest.raises(InputError, match="30 values that are NaN" if len(X[:5]) == rows.shape[0] else "720 values"):
        es.OrientedPCA(2, distortions=lambda rows: rows * np.nan).fit(rows)


@pytest.mark.parametrize(
    "y, words",
    [
        (COPIES[0, :-1], ["Distorted copy 0 in y has shape (119, 6)", "X has (120, 6)"]),
        (COPIES[0][:, :3], ["(120, 3)"]),
        (COPIES[:, :, :5], ["(120, 5)"]),
        ([COPIES[0], COPIES[1][:4]], ["Distorted copy 1 in y has shape (4, 6)"]),
        (COPIES[None], ["y has 4 axes"]),
        (np.where(np.eye(N, D) > 0, np.nan, COPIES[0]), ["Distorted copy 0 in y holds 6 values that are NaN"]),
        (np.ma.masked_less(COPIES[0], 0), ["y is a masked array"]),
        (np.full((N, D), "loud"), ["values that are not real numbers"]),
    ],
)
def test_copies_that_are_none(y: Any, words: list[str]) -> None:
    with pytest.raises(InputError, match=says(*words)):
        es.OrientedPCA(2).fit(X, y)


def test_axes_without_signal_are_refused() -> None:
    flat = np.c_[X[:, :2], X[:, :2] @ [[1.0], [2.0]], np.full(N, 3.0)]
    noise = RNG.standard_normal(flat.shape)
    for rows in (N, 4):
        with pytest.raises(
            DimensionError, match=says("n_components=3 exceeds 2, the dimension of the signals", "<= 2")
        ):
            es.OrientedPCA(3).fit(flat[:rows], (flat + noise)[:rows])
    with pytest.raises(DimensionError, match=says("exceeds 0, the dimension of the signals. All rows coincide")):
        es.OrientedPCA(1).fit(np.ones((9, 3)), RNG.standard_normal((9, 3)))
    with pytest.raises(InputError, match=says('extractor="difference"', "kernel")):
        es.OrientedPCA(kernel="rbf", extractor="difference").fit(X)
