"""Fingerprints of audio that bear distortion: oriented PCA and distortion discriminant analysis beside PCA.

    python examples/oriented_audio.py --out docs/images

prints the tables of docs/oriented.md and draws ``oriented-retrieval.png``; about a minute. Nothing is downloaded: clips are little
tunes of two voices and a drum, drawn from a seed. ``--fast`` is a smaller run, for a look.

Protocol
--------
- A clip is 2.6 seconds of sound at 8 kHz, brought to the same loudness; its frames are the logarithms of the energy in 32 bands, 128 ms
  long and 64 ms apart. A fingerprint is made of 16 frames, two apart: 512 numbers, of which d are left.
- All methods learn from the same training clips. Oriented PCA and DDA also have copies of them, two draws of each of the four
  distortions of `SEEN`, and the second layer of DDA bears shifts by one frame as well. PCA has no use for pairs of originals and copies;
  to have seen as much, it is also fitted to all of them together.
- Other clips are the database. Each of them is distorted, by the kinds of `SEEN` (in new draws) and by those of `UNSEEN`, that nobody has
  learned from, and its fingerprint looked up among those of all originals, by Euclidean distance. The rate is the share of those
  whose nearest original is the right one; chance alone finds 1 of 400. Its standard error is 2.5 points or less.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.signal as sg

from eigenspan import PCA, DistortionDiscriminantAnalysis, OrientedPCA

RATE, SAMPLES = 8000, 20800
WINDOW, HOP, BANDS = 1024, 512, 32
#: Energy that counts as silence, some 50 decibels below the loudest: without it logarithms of next to nothing drown the rest.
FLOOR = 10.0
#: Frames of a fingerprint, and how far apart they are.
FRAMES, STEP = 16, 2
SCALE = 110 * 2 ** (np.array([0, 2, 3, 5, 7, 8, 10, 12, 14, 15, 17, 19, 20, 22, 24]) / 12)


# ---------------------------------------------------------------------- sound
def note(pitch: float, seconds: float, timbre: Any) -> Any:
    """Harmonics that fade, the higher ones sooner."""
    t = np.arange(int(seconds * RATE)) / RATE
    k = np.arange(1, timbre.size + 1)[:, None]
    waves = np.sin(2 * np.pi * k * pitch * t) * np.exp(-t * (2 + 1.5 * k)) * (k * pitch < 0.45 * RATE)
    return timbre @ waves * np.minimum(1, t / 0.01)


def clip(rng: np.random.Generator) -> Any:
    """Two voices that walk up and down a scale, and a drum."""
    wave, beat = np.zeros(SAMPLES), rng.choice([0.16, 0.2, 0.25, 0.32])
    for octave, loud in ((1, 1.0), (2, 0.6)):
        timbre = rng.dirichlet(np.full(6, 0.7)) * loud
        place, t = int(rng.integers(SCALE.size)), 0.0
        while t < SAMPLES / RATE:
            seconds = beat * rng.choice([1, 2, 3])
            if rng.random() < 0.85:
                add(wave, t, note(SCALE[place] * octave, seconds + 0.3, timbre))
            place = int(np.clip(place + rng.integers(-3, 4), 0, SCALE.size - 1))
            t += seconds
    for t in np.arange(0, SAMPLES / RATE, 2 * beat):
        if rng.random() < 0.6:
            add(wave, t, 0.3 * rng.standard_normal(800) * np.exp(-np.arange(800) / 150))
    return levelled(wave)


def add(wave: Any, t: float, sound: Any) -> None:
    start = int(t * RATE)
    part = sound[: wave.size - start]
    wave[start : start + part.size] += part


def levelled(wave: Any) -> Any:
    return wave / np.sqrt(np.mean(wave**2))


# ---------------------------------------------------------------------- what may happen to it
def hiss(wave: Any, rng: Any) -> Any:
    """White noise, 5 to 15 decibels below the music."""
    return wave + rng.standard_normal(wave.size) * 10 ** (-rng.uniform(5, 15) / 20)


def clipping(wave: Any, rng: Any) -> Any:
    """Peaks cut off at 0.3 to 0.8 of the effective value."""
    limit = rng.uniform(0.3, 0.8)
    return np.clip(wave, -limit, limit)


def telephone(wave: Any, rng: Any) -> Any:
    """Sampled at 4 to 6 kHz and back, and nothing below 300 Hz."""
    low = int(rng.integers(4, 7))
    narrow = sg.resample_poly(sg.resample_poly(wave, low, 8), 8, low)[: wave.size]
    return sg.sosfilt(sg.butter(2, 300, "high", fs=RATE, output="sos"), narrow)


def equaliser(wave: Any, rng: Any) -> Any:
    """Five bands raised or lowered by up to 12 decibels."""
    frequencies = np.array([0, 150, 400, 1000, 2200, RATE / 2])
    gains = 10 ** (rng.uniform(-12, 12, frequencies.size) / 20)
    return sg.fftconvolve(wave, sg.firwin2(255, frequencies, gains, fs=RATE), mode="same")


def room(wave: Any, rng: Any) -> Any:
    """Echoes that die away in a tenth to a third of a second."""
    t = np.arange(int(0.4 * RATE)) / RATE
    echo = rng.standard_normal(t.size) * np.exp(-t / rng.uniform(0.03, 0.1))
    echo[0] = 0
    return wave + 0.8 * sg.fftconvolve(wave, echo / np.linalg.norm(echo))[: wave.size]


def speed(wave: Any, rng: Any) -> Any:
    """Half a per cent to one and a half faster or slower, pitch and all."""
    ratio = 1 + rng.choice([-1, 1]) * rng.uniform(0.005, 0.015)
    return np.interp(np.arange(wave.size) * ratio, np.arange(wave.size), wave)


def few_bits(wave: Any, rng: Any) -> Any:
    """Rounded to 3 to 5 bits."""
    step = np.abs(wave).max() / 2 ** (rng.integers(3, 6) - 1)
    return np.round(wave / step) * step


def babble(wave: Any, rng: Any) -> Any:
    """Another tune below it, 5 to 10 decibels quieter."""
    return wave + clip(rng) * 10 ** (-rng.uniform(5, 10) / 20)


def late(wave: Any, rng: Any) -> Any:
    """Begins up to half a frame later."""
    shift = int(rng.integers(HOP // 4, HOP // 2))
    return np.concatenate([wave[shift:], np.zeros(shift)])


SEEN: dict[str, Callable[..., Any]] = {
    "hiss": hiss,
    "clipping": clipping,
    "telephone": telephone,
    "equaliser": equaliser,
}
UNSEEN: dict[str, Callable[..., Any]] = {
    "room": room, "speed": speed, "few bits": few_bits, "babble": babble, "late start": late,
}  # fmt: skip


# ---------------------------------------------------------------------- frames and fingerprints
def _filters() -> Any:
    """Overlapping triangles, evenly spaced in pitch from 80 to 3,800 Hz."""
    edges = np.geomspace(80, 3800, BANDS + 2)
    f = np.fft.rfftfreq(WINDOW, 1 / RATE)
    rise = (f - edges[:-2, None]) / np.diff(edges)[:-1, None]
    fall = (edges[2:, None] - f) / np.diff(edges)[1:, None]
    return np.maximum(np.minimum(rise, fall), 0) + (np.abs(f - edges[1:-1, None]) < RATE / WINDOW / 2)


FILTERS = _filters()


def frames(wave: Any, floor: float = FLOOR) -> Any:
    """Log energies, (time, band)."""
    parts = np.lib.stride_tricks.sliding_window_view(levelled(wave), WINDOW)[::HOP]
    return np.log(np.abs(np.fft.rfft(parts * np.hanning(WINDOW))) ** 2 @ FILTERS.T + floor)


def stretches(X: Any) -> Any:
    """Of clips, (clips, time, features), every whole stretch of frames joined into one row."""
    whole = X.shape[1] - (FRAMES - 1) * STEP
    return np.concatenate([X[:, t : t + FRAMES * STEP : STEP].reshape(len(X), -1) for t in range(whole)])


def spectra(waves: Any, floor: float, distortion: Any = None, rng: Any = None) -> Any:
    """Frames of clips, distorted if so asked."""
    return np.array([frames(wave if distortion is None else distortion(wave, rng), floor) for wave in waves])


def learned(X: Any, copies: Any, d: int) -> dict[str, Callable[[Any], Any]]:
    """From clips and their copies, what each method makes of the first stretch of a clip."""
    T, p = X.shape[1:]
    S, noisy = stretches(X), np.array([stretches(copy) for copy in copies])
    both = np.vstack([S, *noisy])
    pca, whitened, mixed = PCA(d).fit(S), PCA(d, whiten=True).fit(S), PCA(d, whiten=True).fit(both)
    oriented = OrientedPCA(d, ridge=1e-3).fit(S, noisy)
    dda = DistortionDiscriminantAnalysis(
        d, hidden_layer_sizes=(12,), frames=(1, FRAMES), step=(1, STEP), lengths=T, alignment=(0, 1), ridge=1e-3
    ).fit(X.reshape(-1, p), copies.reshape(len(copies), -1, p))

    def joined(reducer: Any) -> Callable[[Any], Any]:
        return lambda Z: reducer.transform(stretches(Z)[: len(Z)])

    return {
        "PCA": joined(pca),
        "PCA, whitened": joined(whitened),
        "PCA, whitened, copies too": joined(mixed),
        "OPCA": joined(oriented),
        "DDA": lambda Z: dda.transform(Z.reshape(-1, p), lengths=Z.shape[1])[:: Z.shape[1]],
    }


def rate(known: Any, asked: Any) -> float:
    """Share of the rows whose nearest known row is their own, in per cent."""
    squares = np.sum(known**2, axis=1) - 2 * asked @ known.T
    return 100 * float(np.mean(squares.argmin(axis=1) == np.arange(len(asked))))


# ---------------------------------------------------------------------- report
Rates = dict[int, dict[str, dict[str, float]]]
COLOURS = {
    "PCA": "#999999", "PCA, whitened": "#e69f00", "PCA, whitened, copies too": "#d55e00", "OPCA": "#56b4e9", "DDA": "#0072b2",
}  # fmt: skip


def measured(train: int, test: int, draws: int, sizes: tuple[int, ...], seed: int = 0, floor: float = FLOOR) -> Rates:
    """Rates by number of features, method and distortion."""
    rng = np.random.default_rng(seed)
    clips, others = [clip(rng) for _ in range(train)], [clip(rng) for _ in range(test)]
    X, known = spectra(clips, floor), spectra(others, floor)
    copies = np.array([spectra(clips, floor, distortion, rng) for distortion in SEEN.values() for _ in range(draws)])
    asked = {name: spectra(others, floor, distortion, rng) for name, distortion in {**SEEN, **UNSEEN}.items()}
    makers = learned(X, copies, max(sizes))
    prints = {name: (make(known), {kind: make(Z) for kind, Z in asked.items()}) for name, make in makers.items()}
    # the axes are in order: those of a fit with fewer are the first of them
    found: Rates = {
        d: {
            name: {kind: rate(own[:, :d], Y[:, :d]) for kind, Y in altered.items()}
            for name, (own, altered) in prints.items()
        }
        for d in sizes
    }
    return {**found, known.shape[2] * FRAMES: {"no reduction": rate_of_all(known, asked)}}


def rate_of_all(known: Any, asked: dict[str, Any]) -> dict[str, float]:
    """Of the joined frames as they are."""
    return {kind: rate(stretches(known)[: len(known)], stretches(Z)[: len(Z)]) for kind, Z in asked.items()}


def mean(rates: dict[str, float], kinds: Any) -> float:
    return float(np.mean([rates[kind] for kind in kinds]))


def tables(rates: Rates) -> str:
    """Every distortion for eight features, and means for each number of features, in Markdown."""
    kinds = [*SEEN, *UNSEEN]
    lines = ["| 8 features | " + " | ".join(kinds) + " |", "|---|" + "---:|" * len(kinds)]
    for name, row in [*rates[8].items(), *rates[max(rates)].items()]:
        lines.append(f"| {name} | " + " | ".join(f"{row[kind]:.0f}" for kind in kinds) + " |")
    sizes = [d for d in rates if d != max(rates)]
    lines += [
        "",
        "| seen / not seen | " + " | ".join(f"{d} features" for d in sizes) + " |",
        "|---|" + "---:|" * len(sizes),
    ]
    for name in rates[8]:
        cells = [f"{mean(rates[d][name], SEEN):.0f} / {mean(rates[d][name], UNSEEN):.0f}" for d in sizes]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def picture(rates: Rates) -> Any:
    """Rates of every distortion for eight features, and their mean over the number of features."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 4.2), layout="constrained")
    bars, lines = figure.subplots(1, 2, width_ratios=[2.4, 1])
    kinds, sizes = [*SEEN, *UNSEEN], [d for d in rates if d != max(rates)]
    for place, (name, colour) in enumerate(COLOURS.items()):
        at = np.arange(len(kinds)) + (np.arange(len(kinds)) >= len(SEEN)) * 0.6
        heights = [rates[8][name][kind] for kind in kinds]
        bars.bar(at + 0.17 * (place - 2), heights, 0.16, color=colour, label=name)
        lines.plot(sizes, [mean(rates[d][name], kinds) for d in sizes], "o-", color=colour, label=name)
    bars.set_xticks(at, kinds, fontsize=9)
    title = "8 features; left distortions learned from, right others"
    bars.set(ylabel="right clip found, %", ylim=(0, 104), title=title)
    bars.axvline(len(SEEN) - 0.2, color="#bbbbbb", linewidth=0.8)
    lines.set(xscale="log", xlabel="features", ylim=(0, 104), title="mean of all nine")
    lines.legend(frameon=False, fontsize=8, loc="lower right")
    lines.set_xticks(sizes, [str(d) for d in sizes], minor=False)
    lines.minorticks_off()
    return figure


def main(arguments: list[str] | None = None) -> Rates:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path(), help="folder of the picture")
    parser.add_argument("--fast", action="store_true", help="fewer clips, one draw of each distortion, two sizes")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--floor", type=float, default=FLOOR, help="energy that counts as silence")
    options = parser.parse_args(arguments)
    size = (40, 80, 1, (4, 8)) if options.fast else (150, 400, 2, (4, 8, 16, 32))
    rates = measured(*size, seed=options.seed, floor=options.floor)
    print(tables(rates))
    options.out.mkdir(parents=True, exist_ok=True)
    picture(rates).savefig(options.out / "oriented-retrieval.png", dpi=90)
    return rates


if __name__ == "__main__":
    main()
