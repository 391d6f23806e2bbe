"""Audio fingerprints: the distortions are correct, and methods that learned from them are more robust than PCA."""

import numpy as np
import pytest

from helpers import ROOT

audio = pytest.importorskip("oriented_audio", reason="examples/ is not part of this distribution")
ORIENTED, PLAIN = ("OPCA", "DDA"), ("PCA", "PCA, whitened", "PCA, whitened, copies too")


@pytest.fixture(scope="module")
def wave():
    return audio.clip(np.random.default_rng(0))


@pytest.mark.parametrize("name", [*audio.SEEN, *audio.UNSEEN])
def test_distortions_change_a_clip_moderately(name, wave):
    distort = {**audio.SEEN, **audio.UNSEEN}[name]
    changed = distort(wave, np.random.default_rng(1))
    assert changed.shape == wave.shape
    assert np.all(np.isfinite(changed))
    before, after = audio.frames(wave), audio.frames(changed)
    assert before.shape == after.shape == (39, audio.BANDS)
    assert np.abs(after - before).mean() > 0.03
    assert np.corrcoef(before.ravel(), after.ravel())[0, 1] > 0.4


def test_bands_respond_to_their_frequencies(wave):
    tone = np.sin(2 * np.pi * 1000 * np.arange(wave.size) / audio.RATE)
    middles = np.geomspace(80, 3800, audio.BANDS + 2)[1:-1]
    heard = audio.frames(tone).mean(axis=0).argmax()
    assert abs(np.log2(middles[heard] / 1000)) < 0.2
    assert audio.FILTERS.sum(axis=1).min() > 0


def test_stretches_are_joined_frames():
    X = np.arange(2 * 39 * 3.0).reshape(2, 39, 3)
    S = audio.stretches(X)
    assert S.shape == (2 * 9, 3 * audio.FRAMES)
    np.testing.assert_array_equal(S[1].reshape(-1, 3), X[1, 0 : 2 * audio.FRAMES : audio.STEP])


@pytest.mark.long
def test_the_script_prints_its_tables_and_draws_them(tmp_path, capsys):
    """In a small run, errors under learned distortions are smaller than with PCA, and not larger under others."""
    rates = audio.main(["--fast", "--out", str(tmp_path / "new"), "--seed", "3"])
    for d in (4, 8):
        for name in ORIENTED:
            best = max(audio.mean(rates[d][plain], audio.SEEN) for plain in PLAIN)
            assert audio.mean(rates[d][name], audio.SEEN) > best + 10
            others = audio.mean(rates[d]["PCA"], audio.UNSEEN)
            assert audio.mean(rates[d][name], audio.UNSEEN) > others - 5
    printed = capsys.readouterr().out
    assert printed.strip() == audio.tables(rates)
    assert (tmp_path / "new" / "oriented-retrieval.png").stat().st_size > 20_000
    page = (ROOT / "docs" / "oriented.md").read_text(encoding="utf-8")
    assert printed.splitlines()[0] in page
