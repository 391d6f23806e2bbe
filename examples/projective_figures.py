"""Three examples of Burges (2010), chapter 3: projections that look normal, digits without noise, a direction for every class.

    EIGENSPAN_DATA=folder python examples/projective_figures.py --out docs/images

prints these and draws them (``--fast`` for less of it; without the data folder the digits are left out):

- **Projections are nearly normal** (§3.1, fig. 3.2). ``projections-normal.png``. A coordinate of points spread evenly over the
  20-sphere has the density C (1 − ξ²)⁹, which is hard to tell from that of a normal variable of variance 1/21: no single projection
  shows that the points lie on a sphere. Printed: the largest difference of the two distribution functions, for the formula and for
  100,000 points projected by PCA, and the same of cubes and of two clusters.
- **Denoising by kernel PCA** (§3.5, after Mika et al.). ``denoising-digits.png``. Digits of USPS with normal noise of standard deviation
  0.5, taken to the leading axes of clean training digits and back: by PCA, and by kernel PCA with pre-images. Printed: the mean
  squared error to the clean digits by the number of axes.
- **One against the rest** (§3.7). ``one-against-rest.png``. `LDA(criterion="one-against-rest")` on the wines: an axis for every class.
"""

from __future__ import annotations

import argparse
import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from scipy import special
from sklearn.datasets import load_wine

from eigenspan import LDA, PCA, KernelPCA
from eigenspan.errors import EigenspanWarning


# ---------------------------------------------------------------------- nearly normal
def sphere_distribution(t: Any, n: int) -> Any:
    """Of one coordinate of a point drawn evenly from the unit n-sphere, which lies in n + 1 dimensions."""
    return special.betainc(n / 2, n / 2, (np.clip(t, -1, 1) + 1) / 2)


def sphere_density(t: Any, n: int) -> Any:
    return (1 - t**2) ** (n / 2 - 1) / special.beta(n / 2, 0.5)


def normal_distribution(t: Any, deviation: float) -> Any:
    return special.ndtr(t / deviation)


def distance_to_normal(x: Any) -> float:
    """Largest difference between the distribution of a sample and that of a normal variable of its mean and variance (Kolmogorov)."""
    x = np.sort((x - x.mean()) / x.std())
    steps = np.arange(x.size + 1) / x.size
    at = special.ndtr(x)
    return float(max(np.max(steps[1:] - at), np.max(at - steps[:-1])))


def projections(n: int, seed: int = 0) -> dict[str, float]:
    """Distances to normality of projections of several clouds in 21 dimensions."""
    rng = np.random.default_rng(seed)
    t = np.linspace(-1, 1, 20_001)
    sphere = rng.standard_normal((n, 21))
    sphere /= np.linalg.norm(sphere, axis=1, keepdims=True)
    random = np.linalg.qr(rng.standard_normal((21, 21)))[0]
    clusters = rng.standard_normal((n, 21)) + 6 * np.eye(21)[0] * rng.integers(2, size=n)[:, None]
    return {
        "the 20-sphere, formula": float(np.max(np.abs(sphere_distribution(t, 20) - normal_distribution(t, 21**-0.5)))),
        "the 20-sphere, along the first axis of PCA": distance_to_normal(PCA(1).fit_transform(sphere)[:, 0]),
        "the circle, formula": float(np.max(np.abs(sphere_distribution(t, 1) - normal_distribution(t, 0.5**0.5)))),
        "a cube, along a side": distance_to_normal(rng.uniform(-1, 1, n)),
        "a cube, along a random direction": distance_to_normal(rng.uniform(-1, 1, (n, 21)) @ random[:, 0]),
        "two clusters, along a random direction": distance_to_normal(clusters @ random[:, 0]),
        "two clusters, along the first axis of PCA": distance_to_normal(PCA(1).fit_transform(clusters)[:, 0]),
    }


def draw_normal() -> Any:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5.2, 3.6), layout="constrained")
    ax, t = figure.add_subplot(), np.linspace(-1, 1, 801)
    ax.plot(t, sphere_density(t, 20), color="#333333", label="a coordinate on the 20-sphere")
    ax.plot(t, np.exp(-21 * t**2 / 2) * np.sqrt(21 / (2 * np.pi)), ":", color="#d62728", label="normal, variance 1/21")
    ax.set_xlabel("ξ")
    ax.set_ylabel("density")
    ax.legend(fontsize=8)
    return figure


# ---------------------------------------------------------------------- digits without noise
def noisy_digits(train: int, test: int) -> tuple[Any, Any, Any]:
    """Clean digits to learn from, others, and these with noise."""
    archive = np.load(Path(os.environ["EIGENSPAN_DATA"]) / "usps.npz")
    X, rng = archive["X"] / 1000.0 - 1.0, np.random.default_rng(0)  # from −1, white, to 1
    known = rng.choice(np.flatnonzero(~archive["is_test"].astype(bool)), train, replace=False)
    new = rng.choice(np.flatnonzero(archive["is_test"].astype(bool)), test, replace=False)
    return X[known], X[new], X[new] + 0.5 * rng.standard_normal((test, X.shape[1]))


def denoise(train: int, test: int, axes: tuple[int, ...]) -> tuple[dict[str, list[float]], dict[str, Any]]:
    """Mean squared error to the clean digits by the number of axes, and pictures of the best of each method."""
    known, clean, noisy = noisy_digits(train, test)
    errors: dict[str, list[float]] = {"PCA": [], "kernel PCA, fixed point": [], "kernel PCA, regression": []}
    best: dict[str, Any] = {}
    for d in axes:
        makers = {
            "PCA": PCA(d),
            "kernel PCA, fixed point": KernelPCA(d, gamma=1 / 128, preimage="fixed-point"),
            "kernel PCA, regression": KernelPCA(d, gamma=1 / 128, preimage="ridge", alpha=1e-2),
        }
        for name, estimator in makers.items():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", EigenspanWarning)
                fitted = estimator.fit(known)
            back = fitted.inverse_transform(fitted.transform(noisy))
            errors[name].append(float(np.mean((back - clean) ** 2)))
            if errors[name][-1] == min(errors[name]):
                best[name] = back
    return errors, {"clean": clean, "noisy": noisy, **best}


def draw_digits(pictures: dict[str, Any]) -> Any:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.0, 0.85 * len(pictures)), layout="constrained")
    for row, (name, X) in enumerate(pictures.items()):
        for column in range(10):
            ax = figure.add_subplot(len(pictures), 10, 10 * row + column + 1)
            ax.imshow(X[column].reshape(16, 16), cmap="gray_r", vmin=-1, vmax=1)
            ax.set_xticks([])
            ax.set_yticks([])
            if column == 0:
                ax.set_ylabel(name.replace(", ", ",\n"), fontsize=7)
    return figure


# ---------------------------------------------------------------------- one against the rest
def against_the_rest() -> tuple[Any, Any, Any]:
    """Embedding, classes, and for every axis the share of rows on the right side of the best threshold."""
    X, y = load_wine(return_X_y=True)
    Y = LDA(criterion="one-against-rest").fit(X, y).embedding_
    right = [max(np.mean((Y[:, k] > t) == (y == k)) for t in Y[:, k]) for k in range(3)]
    return Y, y, right


def draw_rest(Y: Any, y: Any) -> Any:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.0, 2.8), layout="constrained")
    for k in range(3):
        ax = figure.add_subplot(1, 3, k + 1)
        for other in range(3):
            ax.hist(Y[y == other, k], bins=20, alpha=0.6, label=f"class {other}")
        ax.set_title(f"class {k} against the rest", fontsize=9)
        ax.legend(fontsize=7)
    return figure


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, help="folder for the figures")
    parser.add_argument("--fast", action="store_true", help="less of it")
    given = parser.parse_args(arguments)
    figures = {"projections-normal.png": draw_normal()}
    for name, distance in projections(5_000 if given.fast else 100_000).items():
        print(f"{name:44s}{distance:8.4f}")
    if "EIGENSPAN_DATA" in os.environ:
        axes = (4, 32) if given.fast else (4, 16, 64, 256)
        errors, pictures = denoise(*((300, 20) if given.fast else (1000, 100)), axes)
        print(f"\n{'mean squared error, axes':28s}" + "".join(f"{d:8d}" for d in axes))
        for name, found in errors.items():
            print(f"{name:28s}" + "".join(f"{error:8.4f}" for error in found))
        print(f"{'noisy':28s}{np.mean((pictures['noisy'] - pictures['clean']) ** 2):8.4f}")
        figures["denoising-digits.png"] = draw_digits(pictures)
    else:
        print("\nNo digits: EIGENSPAN_DATA does not name the data folder.")
    Y, y, right = against_the_rest()
    print(
        "\nwines on the right side of a threshold: "
        + ", ".join(f"class {k} {share:.3f}" for k, share in enumerate(right))
    )
    figures["one-against-rest.png"] = draw_rest(Y, y)
    if given.out is not None:
        given.out.mkdir(parents=True, exist_ok=True)
        for name, figure in figures.items():
            figure.savefig(given.out / name, dpi=110)


if __name__ == "__main__":
    main()
