"""Distortion discriminant analysis: layers written out by hand, recordings that stay apart, and what is refused."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
import scipy.linalg as la

import eigenspan as es
from eigenspan.errors import DimensionError, InputError
from helpers import angle, assert_allclose_up_to_sign, pairwise, says

DDA = es.DistortionDiscriminantAnalysis
RNG = np.random.default_rng(0)
CLIPS, ROWS, D = 30, 20, 5
#: Thirty recordings of twenty frames, one after the other, and two distorted copies of them.
X = RNG.standard_normal((CLIPS, ROWS, D)).cumsum(axis=1).reshape(-1, D)
NOISE = RNG.standard_normal((2, len(X), D)) @ RNG.standard_normal((D, D)) + 0.3
COPIES = X + NOISE


def layer(X: Any, noise: Any, d: int) -> tuple[Any, Any, Any]:
    """Axes and ratios of oriented PCA by scipy, and the mean."""
    Z = np.vstack(noise)
    values, V = la.eigh(np.cov(X.T, bias=True), Z.T @ Z / len(Z))
    return V[:, ::-1][:, :d], values[::-1][:d], X.mean(axis=0)


def stretches(Y: Any, frames: int, step: int, rows: int) -> Any:
    """Of every recording, all `rows` stretches that lie in it, joined; written as a loop."""
    clips = Y.reshape(CLIPS, ROWS, -1)
    return np.array(
        [np.concatenate([clip[t + j * step] for j in range(frames)]) for clip in clips for t in range(rows)]
    )


def test_one_layer_is_oriented_pca() -> None:
    dda, opca = DDA(3).fit(X, COPIES), es.OrientedPCA(3).fit(X, COPIES)
    np.testing.assert_allclose(dda.embedding_, opca.embedding_, atol=1e-10)
    np.testing.assert_allclose(dda.eigenvalues_, opca.eigenvalues_)
    np.testing.assert_allclose(dda.transform(COPIES[0]), opca.transform(COPIES[0]), atol=1e-10)


def test_two_layers_of_single_rows_are_one() -> None:
    """Oriented PCA does not see an invertible map of the features."""
    two, one = DDA(2, hidden_layer_sizes=(D,)).fit(X, COPIES), es.OrientedPCA(2).fit(X, COPIES)
    assert_allclose_up_to_sign(two.embedding_, one.embedding_, atol=1e-8)
    np.testing.assert_allclose(two.signal_to_noise_[1], one.eigenvalues_, rtol=1e-9)


def test_layers_written_out() -> None:
    dda = DDA(4, hidden_layer_sizes=(3,), frames=(2, 3), step=(1, 4), lengths=ROWS).fit(X, COPIES)
    tables = [X, *COPIES]
    joined = [stretches(T, 2, 1, ROWS - 1) for T in tables]
    V, values, mean = layer(joined[0], [T - joined[0] for T in joined[1:]], 3)
    np.testing.assert_allclose(dda.signal_to_noise_[0], values, rtol=1e-9)
    # the last row of a recording has no successor: it stands in for it
    following = np.arange(len(X)) + (np.arange(len(X)) % ROWS < ROWS - 1)
    ends = [np.hstack([T, T[following]]) for T in tables]
    features = [(T - mean) @ V for T in ends]
    joined = [stretches(F, 3, 4, ROWS - 9) for F in features]
    W, values, middle = layer(joined[0], [T - joined[0] for T in joined[1:]], 4)
    np.testing.assert_allclose(dda.signal_to_noise_[1], values, rtol=1e-8)
    whole = (np.arange(len(X)) % ROWS) < ROWS - 9
    assert_allclose_up_to_sign(dda.embedding_[whole], (joined[0] - middle) @ W, atol=1e-7)


def test_signals_have_mean_zero_and_noise_a_mean_square_of_one() -> None:
    dda = DDA(4, hidden_layer_sizes=(3,), frames=(1, 4), lengths=ROWS).fit(X, COPIES)
    whole = (np.arange(len(X)) % ROWS) <= ROWS - 4
    Y, Z = dda.embedding_[whole], np.vstack([dda.transform(copy)[whole] - dda.embedding_[whole] for copy in COPIES])
    np.testing.assert_allclose(Y.mean(axis=0), 0, atol=1e-9)
    np.testing.assert_allclose(Z.T @ Z / len(Z), np.eye(4), atol=1e-9)
    np.testing.assert_allclose(np.var(Y, axis=0), dda.eigenvalues_, rtol=1e-9)


def test_recordings_stay_apart() -> None:
    how: Any = {"hidden_layer_sizes": (3,), "frames": (1, 5)}
    dda = DDA(2, lengths=ROWS, **how).fit(X, COPIES)
    alone = np.vstack([dda.transform(X[i : i + ROWS]) for i in range(0, len(X), ROWS)])
    np.testing.assert_allclose(alone, dda.embedding_, atol=1e-10)
    np.testing.assert_allclose(dda.transform(X), dda.embedding_, atol=1e-10)
    listed = DDA(2, lengths=[ROWS] * CLIPS, **how).fit(X, COPIES)
    np.testing.assert_allclose(listed.embedding_, dda.embedding_, atol=1e-10)
    np.testing.assert_allclose(listed.transform(X, lengths=ROWS), dda.embedding_, atol=1e-10)
    np.testing.assert_allclose(dda.transform(X[:30], lengths=[20, 10])[20:], dda.transform(X[20:30], lengths=10))
    joined = DDA(2, **how).fit(X, COPIES)  # as one recording
    assert pairwise(joined.embedding_[::50]).max() > 0
    assert angle(joined.embedding_, dda.embedding_) > 1e-3
    # unequal recordings
    lengths = [50, 70, 480]
    odd = DDA(2, lengths=lengths, **how).fit(X, COPIES)
    np.testing.assert_allclose(odd.transform(X, lengths=lengths), odd.embedding_, atol=1e-10)
    again = pickle.loads(pickle.dumps(odd))
    np.testing.assert_array_equal(again.transform(X[:9]), odd.transform(X[:9]))


def test_a_stretch_that_runs_over_the_end_repeats_the_last_row() -> None:
    dda = DDA(2, frames=4, lengths=ROWS).fit(X, COPIES)
    padded = np.vstack([X[:ROWS], np.repeat(X[ROWS - 1 : ROWS], 3, axis=0)])
    np.testing.assert_allclose(dda.transform(padded, lengths=[ROWS + 3])[:ROWS], dda.embedding_[:ROWS], atol=1e-10)
    assert dda.transform(X[:1], lengths=1).shape == (1, 2)


def test_alignment_is_noise_of_its_own() -> None:
    rows = ROWS - 2 - 2  # stretches of three rows that can be moved by one either way
    dda = DDA(2, frames=3, alignment=1, lengths=ROWS).fit(X)
    clips = X.reshape(CLIPS, ROWS, D)
    before, here, after = (stretches(np.roll(clips, -s, axis=1), 3, 1, rows) for s in (0, 1, 2))
    _, values, _ = layer(here, [before - here, after - here], 2)
    np.testing.assert_allclose(dda.eigenvalues_, values, rtol=1e-9)

    def moved(fitted: Any) -> float:
        """Change of the features from one row to the next, in units of their spread."""
        Y = fitted.embedding_.reshape(CLIPS, ROWS, -1)[:, : ROWS - 2]
        return float((np.diff(Y, axis=1) ** 2).mean(axis=(0, 1)).max() / Y.var(axis=(0, 1)).min())

    assert moved(dda) < 0.5 * moved(DDA(2, frames=3, lengths=ROWS).fit(X, COPIES))


def test_distortions_of_each_layer() -> None:
    def loud(rows: Any) -> Any:
        return rows * 1.5

    def cut(rows: Any) -> Any:
        return np.minimum(rows, 1.0)

    def hiss(rows: Any, rng: Any) -> Any:
        return rows + rng.standard_normal(rows.shape)

    how: Any = {"hidden_layer_sizes": (3,), "frames": (1, 2), "ridge": 0.01}
    both = DDA(2, distortions={0: hiss, 1: [hiss, loud]}, **how).fit(X)
    first = es.OrientedPCA(3, distortions=hiss, ridge=0.01).fit(X)
    np.testing.assert_allclose(both.signal_to_noise_[0], first.eigenvalues_)
    same = DDA(2, distortions={0: [cut, loud], 1: [cut, loud]}, **how).fit(X)
    np.testing.assert_allclose(same.embedding_, DDA(2, distortions=[cut, loud], **how).fit(X).embedding_)
    assert angle(both.embedding_, same.embedding_) > 0.01
    np.testing.assert_array_equal(
        both.embedding_, DDA(2, distortions={0: hiss, 1: [hiss, loud]}, **how).fit(X).embedding_
    )
    # a first layer that keeps all features does not matter to the second, which bears its own distortions alone
    apart = DDA(2, hidden_layer_sizes=(D,), distortions={0: loud, 1: cut}).fit(X)
    np.testing.assert_allclose(apart.eigenvalues_, es.OrientedPCA(2, distortions=cut).fit(X).eigenvalues_, rtol=1e-8)
    quiet = DDA(2, distortions={1: loud}, **how).fit(X)  # none in the first layer: that is PCA
    np.testing.assert_allclose(quiet.signal_to_noise_[0], es.PCA(3).fit(X).eigenvalues_ / len(X) / 1.01)


@pytest.mark.parametrize(
    "how, words",
    [
        ({"lengths": 7}, ["X has 600 rows", "no whole number of recordings of lengths=7"]),
        ({"lengths": [300, 299]}, ["2 recordings sum to 599", "X has 600 rows"]),
        ({"lengths": []}, ["0 recordings"]),
        ({"lengths": [600.0]}, ["lengths=[600.0] must be whole numbers of 1 or more"]),
        ({"frames": (1, 2)}, ["frames=(1, 2) has 2 numbers for 1 layer(s)"]),
        ({"frames": []}, ["frames=[] must be whole numbers"]),
        ({"frames": (0,)}, ["frames=(0,) must be whole numbers of 1 or more"]),
        ({"frames": 0}, ["'frames' parameter"]),
        ({"step": (1.5,)}, ["step=(1.5,) must be whole numbers"]),
        ({"alignment": -1}, ["alignment=-1 must be whole numbers of 0 or more"]),
        ({"hidden_layer_sizes": (3, 0)}, ["hidden_layer_sizes=(3, 0)"]),
        ({"frames": 21, "lengths": ROWS}, ["Layer 0 sees 21 rows at once", "recording 0 has 20 rows", "fewer frames"]),
        ({"frames": 601}, ["Layer 0 sees 601 rows at once", "X has 600 rows"]),
        ({"frames": 15, "alignment": 3, "lengths": ROWS}, ["15 rows at once, shifted by up to 3 either way"]),
        ({"hidden_layer_sizes": (3,), "frames": (1, 8), "step": 3, "lengths": ROWS}, ["Layer 1 sees 22 rows"]),
        ({"distortions": {2: np.abs}}, ["an entry for layer 2", "numbered 0 to 0"]),
        ({"distortions": {0: 3.0}}, ["must be a function"]),
        ({"distortions": lambda rows: rows[::2]}, ["returned an array of shape (300, 5) for 600 rows"]),
        ({"distortions": lambda rows: rows * np.nan}, ["returned 3000 values that are NaN", "first in row 0, column 0"]),
        ({"distortions": lambda rows: rows}, ["equal to their originals"]),
    ],
)  # fmt: skip
def test_what_cannot_be(how: Any, words: list[str]) -> None:
    with pytest.raises(ValueError, match=says(*words)):
        DDA(2, **how).fit(X)


def test_sizes_that_cannot_be() -> None:
    with pytest.raises(DimensionError, match=says("hidden_layer_sizes[0]=6 exceeds 5", "1 row(s) of 5 features")):
        DDA(2, hidden_layer_sizes=(6,)).fit(X)
    with pytest.raises(DimensionError, match=says("n_components=11 exceeds 10", "2 row(s) of 5", "more frames")):
        DDA(11, frames=2).fit(X)
    with pytest.raises(InputError, match="has shape"):
        DDA(2).fit(X, COPIES[:, :9])
    fitted = DDA(2, frames=2, lengths=ROWS).fit(X, COPIES)
    with pytest.raises(InputError, match="X has 7 rows"):
        fitted.transform(X[:7])
    with pytest.raises(InputError, match="sum to 6, but X has 7 rows"):
        fitted.transform(X[:7], lengths=[3, 3])
