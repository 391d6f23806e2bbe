"""How many dimensions: figures 2.3 to 2.5 of Burges (2010), and estimates for data of known dimension.

    python examples/dimension_figures.py --out docs/images

prints these and draws two figures (``--fast`` for fewer points):

- **Figures 2.3 and 2.4**: the sphere and the snowy sphere, 20,000 points. Points of uniform latitude crowd at the poles ("snowy"); keeping
  each with the cosine of its latitude as probability makes them uniform. The paper's algorithm draws its angles by `randn`, which would
  be neither: uniform random numbers are meant. It keeps about 12,700 of its 20,000 points where the sphere is not snowy; here
  there are 20,000 in either case. A line is fitted to all pairs, and to the 10,000 and the 1,000 closest ones. ``dimension-spheres.png``.
- **Figure 2.5**: the slope at every scale, for Gaussians in 2 to 100 dimensions, 50,000 points. ``dimension-gaussians.png``.
- **Data of known dimension**: our estimates beside those of scikit-dimension, where that is installed.
- **n_components="auto"**: how often it finds the number of axes, by noise, number of points and features.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from eigenspan import intrinsic_dimension

GAUSSIANS = (2, 5, 10, 50, 100)
#: Fits of figure 2.4: their names, the range, and what the paper prints for the snowy sphere.
FITS: dict[str, tuple[Any, float]] = {
    "all pairs": ("all", 1.76),
    "10,000 closest": (10_000, 1.89),
    "1,000 closest": (1_000, 1.92),
}


def sphere(n: int, rng: np.random.Generator, snowy: bool = False) -> Any:
    """Points of uniform longitude and latitude ("snowy"), or as many of them as make the sphere evenly covered."""
    found = np.empty((0, 2))
    while len(found) < n:
        angles = np.column_stack([rng.uniform(-np.pi / 2, np.pi / 2, n), rng.uniform(0, 2 * np.pi, n)])
        found = np.vstack([found, angles[snowy | (rng.uniform(size=n) <= np.cos(angles[:, 0]))]])
    t, p = found[:n].T
    return np.column_stack([np.cos(t) * np.cos(p), np.cos(t) * np.sin(p), np.sin(t)])


def spheres(n: int, draws: int) -> dict[str, Any]:
    """Slopes of both spheres for every draw: ``{"even" or "snowy": {fit: slopes}}``."""
    found: dict[str, Any] = {kind: {name: [] for name in FITS} for kind in ("even", "snowy")}
    for seed in range(draws):
        for kind, slopes in found.items():
            X = sphere(n, np.random.default_rng(seed), kind == "snowy")
            for name, (fit_range, _) in FITS.items():
                slopes[name].append(intrinsic_dimension(X, fit_range=fit_range).dimension)
    return {kind: {name: np.array(values) for name, values in slopes.items()} for kind, slopes in found.items()}


def gaussians(n: int) -> dict[int, Any]:
    """The correlation integral of normal points, by dimension, and the seconds it took."""
    found = {}
    for d in GAUSSIANS:
        X = np.random.default_rng(d).standard_normal((n, d))
        began = time.perf_counter()
        result = intrinsic_dimension(X)
        found[d] = (result, time.perf_counter() - began)
    return found


# ---------------------------------------------------------------------- data of known dimension
def _helix(n: int, rng: Any) -> Any:
    t = rng.uniform(0, 6 * np.pi, n)
    return np.column_stack([np.cos(t), np.sin(t), t / 6])


def _torus(n: int, rng: Any) -> Any:
    u, v = rng.uniform(0, 2 * np.pi, (2, n))
    return np.column_stack([(2 + np.cos(v)) * np.cos(u), (2 + np.cos(v)) * np.sin(u), np.sin(v)])


def _moebius(n: int, rng: Any) -> Any:
    t, s = rng.uniform(0, 2 * np.pi, n), rng.uniform(-1, 1, n)
    r = 2 + s * np.cos(t / 2)
    return np.column_stack([r * np.cos(t), r * np.sin(t), s * np.sin(t / 2)])


def _roll(n: int, rng: Any) -> Any:
    from sklearn.datasets import make_swiss_roll

    return make_swiss_roll(n, random_state=int(rng.integers(2**31)))[0]


def _curved(n: int, rng: Any) -> Any:
    """A sheet of four dimensions, bent into eight."""
    U = rng.uniform(size=(n, 4))
    return np.hstack([U[:, [1, 2, 3, 0]] ** 2 * np.cos(2 * np.pi * U), U[:, [1, 2, 3, 0]] ** 2 * np.sin(2 * np.pi * U)])


def _ball(n: int, d: int, rng: Any) -> Any:
    Z = rng.standard_normal((n, d))
    return Z / np.linalg.norm(Z, axis=1, keepdims=True)


def _subspace(n: int, d: int, D: int, noise: float, rng: Any) -> Any:
    return rng.standard_normal((n, d)) @ rng.standard_normal((d, D)) + noise * rng.standard_normal((n, D))


def _ones(n: int, rng: Any) -> Any:
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    return X[y == 1]


#: Name, dimension where it is known, and how to draw n points.
DATA: dict[str, tuple[float | None, Callable[[int, Any], Any]]] = {
    "helix in 3-d": (1, _helix),
    "sphere in 3-d": (2, lambda n, rng: _ball(n, 3, rng)),
    "Swiss roll": (2, _roll),
    "torus in 3-d": (2, _torus),
    "Möbius band": (2, _moebius),
    "curved sheet in 8-d": (4, _curved),
    "subspace of 20-d": (5, lambda n, rng: _subspace(n, 5, 20, 0.0, rng)),
    "the same, 1 % noise": (5, lambda n, rng: _subspace(n, 5, 20, 0.01 * np.sqrt(5), rng)),
    "the same, 10 % noise": (5, lambda n, rng: _subspace(n, 5, 20, 0.1 * np.sqrt(5), rng)),
    "9-sphere in 10-d": (9, lambda n, rng: _ball(n, 10, rng)),
    "cube in 10-d": (10, lambda n, rng: rng.uniform(size=(n, 10))),
    "normal in 20-d": (20, lambda n, rng: rng.standard_normal((n, 20))),
    "8×8 digits, ones": (None, _ones),
}
OURS = ("correlation", "mle", "twonn", "local-pca", "bic", "parallel")
THEIRS = ("CorrInt", "MLE", "TwoNN")


def known(n: int) -> list[dict[str, Any]]:
    """A row for every set of points: our estimates with errors, and scikit-dimension's (None where it is not installed)."""
    rows = []
    for name, (truth, draw) in DATA.items():
        X = draw(n, np.random.default_rng(0))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # digits are whole numbers, which is told of
            ours = intrinsic_dimension(X, OURS)
            rows.append({"data": name, "truth": truth, "ours": ours, "theirs": _theirs(X)})
    return rows


def _theirs(X: Any) -> dict[str, float] | None:
    try:
        from skdim import id as peer
    except ImportError:
        return None
    return {name: float(getattr(peer, name)().fit(X).dimension_) for name in THEIRS}


def print_known(rows: list[dict[str, Any]], n: int) -> None:
    missing = rows[0]["theirs"] is None
    names = [*OURS, *(() if missing else THEIRS)]
    print(f"\n{f'{n:,} points':22s}{'truth':>6s}" + "".join(f"{name:>14s}" for name in names))
    for row in rows:
        truth = "?" if row["truth"] is None else f"{row['truth']:g}"
        cells = [
            f"{r.dimension:.2f}" + ("" if np.isnan(r.error) else f" ± {r.error:.2f}")
            if r.method in OURS[:4]
            else f"{r.dimension:.0f}"
            for r in row["ours"]
        ]
        cells += [f"{value:.2f}" for value in (row["theirs"] or {}).values()]
        print(f"{row['data']:22s}{truth:>6s}" + "".join(f"{cell:>14s}" for cell in cells))
    print("scikit-dimension: " + ("not installed" if missing else ", ".join(THEIRS)))


# ---------------------------------------------------------------------- numbers of axes
def _axes(n: int, D: int, variances: Any, noise: float, rng: Any, unequal: bool = False) -> Any:
    """Normal points with these variances along some directions, and noise along all."""
    V = np.linalg.qr(rng.standard_normal((D, len(variances))))[0]
    size = noise * (np.exp(rng.uniform(-1, 1, D)) if unequal else 1.0)
    return (rng.standard_normal((n, len(variances))) * np.sqrt(variances)) @ V.T + rng.standard_normal((n, D)) * size


def _sheet(n: int, noise: float, rng: Any, k: int) -> Any:
    from sklearn.datasets import make_s_curve, make_swiss_roll

    made = make_swiss_roll if k else make_s_curve
    return made(n, noise=noise, random_state=int(rng.integers(2**31)))[0]


def told(draws: int, fast: bool = False) -> list[tuple[str, int, list[int]]]:
    """What "auto" found: a row for each kind of data with the true number and those found."""
    from eigenspan import MVU, PCA, ClassicalMDS, Isomap

    alike, falling = (1.0,) * 5, (9.0, 4.0, 2.0, 1.0, 0.5)
    cases: list[tuple[str, Any, int, Any]] = []
    for n, D in ((200, 20), (1000, 50), (100, 200)):
        for name, variances in (("alike", alike), ("falling", falling)):
            for noise in (0.1, 0.3):
                title = f"PCA, {n} × {D}, five axes {name}, noise {noise:g}"
                cases.append((title, lambda: PCA("auto"), 5, partial(_axes, n, D, variances, noise)))
    cases.append(
        (
            "PCA, 1000 × 50, noise 0.1, unlike by feature",
            lambda: PCA("auto"),
            5,
            partial(_axes, 1000, 50, alike, 0.1, unequal=True),
        )
    )
    cases.append(
        (
            "ClassicalMDS, cityblock, 300 × 20, noise 0.1",
            lambda: ClassicalMDS("auto", metric="cityblock"),
            5,
            partial(_axes, 300, 20, alike, 0.1),
        )
    )
    for n in (300, 600, 1200):
        cases.append((f"Isomap, Swiss roll, {n}", lambda: Isomap("auto"), 2, partial(_sheet, n, 0.0, k=1)))
    cases.append(("Isomap, Swiss roll, 1200, noise 0.3", lambda: Isomap("auto"), 2, partial(_sheet, 1200, 0.3, k=1)))
    cases.append(("Isomap, S curve, 300", lambda: Isomap("auto"), 2, partial(_sheet, 300, 0.0, k=0)))
    for n in (300, 600):
        cases.append(
            (f"MVU, Swiss roll, {n}, k = 6", lambda: MVU("auto", n_neighbors=6), 2, partial(_sheet, n, 0.0, k=1))
        )
    rows = []
    for title, make, truth, draw in cases[:: 4 if fast else 1]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of negative eigenvalues
            found = [make().fit(draw(rng=np.random.default_rng(seed))).n_components_ for seed in range(draws)]
        rows.append((title, truth, found))
    return rows


# ---------------------------------------------------------------------- pictures
def draw_spheres(n: int) -> Any:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.5, 4.2), layout="constrained")
    for k, kind in enumerate(("even", "snowy")):
        X = sphere(n, np.random.default_rng(0), kind == "snowy")
        globe = figure.add_subplot(1, 4, 2 * k + 1, projection="3d")
        globe.scatter(*X[:3000].T, s=0.5, color="#4c78a8")
        globe.set_axis_off()
        globe.set_box_aspect((1, 1, 1))
        globe.set_title(f"{kind} sphere", fontsize=10)
        result = intrinsic_dimension(X, fit_range="all")
        x, y = np.log(result.facts["scales"]), np.log(result.facts["integral"])
        ax = figure.add_subplot(1, 4, 2 * k + 2)
        ax.plot(x, y, ".", markersize=2, color="#4c78a8")
        weights = np.diff(result.facts["integral"], prepend=0.0)
        middle = weights @ x / weights.sum(), weights @ y / weights.sum()
        ax.plot(x, middle[1] + result.dimension * (x - middle[0]), color="#e45756", lw=1)
        ax.set_xlabel("log ε")
        ax.set_ylabel("log C(ε)")
        ax.set_title(f"all pairs: slope {result.dimension:.3f}", fontsize=10)
    return figure


def draw_gaussians(found: dict[int, Any], n: int) -> Any:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 4.2), layout="constrained")
    ax = figure.add_subplot()
    for d, (result, _) in found.items():
        (line,) = ax.plot(result.curve.x, result.curve.y, label=f"{d} dimensions", lw=1.2)
        ax.axhline(d, color=line.get_color(), lw=0.5, ls=":")
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xlabel("distance ε")
    ax.set_ylabel("slope of log C(ε)")
    ax.set_ylim(0.5, 130)
    ax.set_title(f"Normal points, {n:,} in each dimension; dotted: the truth", fontsize=10)
    ax.legend(fontsize=8)
    return figure


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, help="folder for the figures")
    parser.add_argument("--fast", action="store_true", help="fewer points")
    given = parser.parse_args(arguments)
    n, draws, many, rows = (3_000, 2, 3_000, 300) if given.fast else (20_000, 12, 50_000, 2_000)
    slopes = spheres(n, draws)
    print(f"{f'{n:,} points, {draws} draws':28s}" + "".join(f"{name:>20s}" for name in FITS))
    for kind, fits in slopes.items():
        cells = [f"{values.mean():.3f} ± {values.std(ddof=1):.3f}" for values in fits.values()]
        print(f"{kind + ' sphere':28s}" + "".join(f"{cell:>20s}" for cell in cells))
    print(f"{'S3, snowy sphere':28s}" + "".join(f"{printed:>20.2f}" for _, printed in FITS.values()))
    normal = gaussians(many)
    print(f"\nNormal points, {many:,} of them: slope where a point has 0.1 to 10 neighbours")
    for d, (result, seconds) in normal.items():
        print(f"  {d:3d} dimensions: {result.dimension:6.2f} ± {result.error:.2f}   ({seconds:.1f} s)")
    print_known(known(rows), rows)
    print(f"\n{'n_components=auto':52s} truth  found")
    for title, truth, found in told(2 if given.fast else 5, given.fast):
        print(f"{title:52s}{truth:6d}  {' '.join(map(str, sorted(found)))}")
    if given.out is not None:
        given.out.mkdir(parents=True, exist_ok=True)
        draw_spheres(n).savefig(given.out / "dimension-spheres.png", dpi=110)
        draw_gaussians(normal, many).savefig(given.out / "dimension-gaussians.png", dpi=110)


if __name__ == "__main__":
    main()
