"""The kernel behind each method, and how exactly kernel PCA of it is the method.

    python examples/equivalent_kernels.py

prints, for iris, digits and a Swiss roll,

- the angle in degrees between the embedding of every method and kernel PCA of its kernel, and what equation 7 of Ghojogh et al. (2021)
  places a new point apart from the method's own ``transform``, relative to the extent of the embedding;
- what the table of that paper gives where it is read literally: centred where the kernel must be deflated, L† where D is the unit;
- what kernel Isomap adds to or takes from the geodesics.

``--fast`` takes fewer points.
"""

from __future__ import annotations

import argparse
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.datasets import load_digits, load_iris, make_swiss_roll

import eigenspan as es
from eigenspan import equivalent_kernel
from eigenspan.theory.equivalent import largest_angle

#: Method and form of its kernel.
METHODS: list[tuple[Any, str]] = [
    (es.PCA(2), "auto"),
    (es.ClassicalMDS(2), "auto"),
    (es.KernelPCA(2, gamma="median"), "auto"),
    (es.Isomap(2), "auto"),
    (es.KernelIsomap(2, psd="constant"), "auto"),
    (es.LaplacianEigenmaps(2), "auto"),
    (es.LaplacianEigenmaps(2), "pseudo-inverse"),
    (es.SpectralClustering(3), "auto"),
    (es.CommuteTimeEmbedding(2), "auto"),
    (es.DiffusionMap(2, t=2), "auto"),
    (es.LLE(2), "auto"),
    (es.LLE(2), "pseudo-inverse"),
    (es.ModifiedLLE(2), "auto"),
    (es.HessianLLE(2), "auto"),
    (es.LTSA(2), "auto"),
    (es.LandmarkMDS(2, landmarks=50), "auto"),
    (es.LandmarkIsomap(2, landmarks=50), "auto"),
    (es.KernelPCA(2, gamma="median", landmarks=50), "auto"),
    (es.LPP(2), "auto"),
]


def data(fast: bool) -> dict[str, Any]:
    """Rows without copies, in general position, on graphs of one piece."""
    rng = np.random.default_rng(0)
    iris = np.unique(load_iris().data, axis=0)
    digits = load_digits().data[: 150 if fast else 600]
    roll = make_swiss_roll(150 if fast else 600, noise=0.1, random_state=0)[0]
    tables = {"iris": iris, "digits": digits, "Swiss roll": roll}
    return {name: X + 1e-4 * X.std() * rng.standard_normal(X.shape) for name, X in tables.items()}


def neighbours(X: Any) -> int:
    """As many as make the graph of nearest neighbours one piece."""
    from eigenspan.graphs import KNN, components

    k = 10
    while components(KNN(k).build(X))[0] > 1:
        k += 5
    return k


def fitted(estimator: Any, X: Any, k: int) -> Any:
    settings = {"n_neighbors": k} if "n_neighbors" in estimator.get_params() else {}
    return estimator.set_params(**settings).fit(X)


def table(sets: dict[str, Any]) -> list[dict[str, Any]]:
    """One row for each method and set: angle, and how far new points are apart."""
    rows = []
    for name, X in sets.items():
        k, rng = neighbours(X), np.random.default_rng(1)
        spacing = es.KNN(1).build(X).distances.data
        new = X[::7] + 0.3 * np.median(spacing) * rng.standard_normal(X[::7].shape) / np.sqrt(X.shape[1])
        away = es.KNN(1).build(X).finder.relate(new)
        new = new[away.data > 0.11 * spacing[away.indices]]  # nearer to a point, a walk's map begins to be that point's
        for estimator, form in METHODS:
            kernel = equivalent_kernel(fitted(estimator, X, k), X, form=form)
            rows.append(
                {
                    "set": name,
                    "method": type(estimator).__name__
                    + (", landmarks" if getattr(estimator, "landmarks", None) else ""),
                    "kernel": kernel.name,
                    "angle": kernel.discrepancy(),
                    "new points": kernel.extension_discrepancy(new),
                }
            )
    return rows


def literally(sets: dict[str, Any]) -> list[dict[str, Any]]:
    """Angles of the two readings of the paper's table that do not hold."""
    rows = []
    for name, X in sets.items():
        k = neighbours(X)
        le = fitted(es.LaplacianEigenmaps(2), X, k)
        kernel = equivalent_kernel(le)
        centred = replace(kernel, removed=np.full((len(X), 1), len(X) ** -0.5))
        commute = fitted(es.CommuteTimeEmbedding(2), X, k)
        rows.append(
            {
                "set": name,
                "neighbours": k,
                "D^(−½)WD^(−½), centred": centred.discrepancy(),
                "L†": largest_angle(commute.embedding_, le.embedding_),
            }
        )
    return rows


def geodesics(sets: dict[str, Any]) -> list[dict[str, Any]]:
    """What makes geodesics a kernel."""
    rows = []
    for name, X in sets.items():
        k = neighbours(X)
        isomap = fitted(es.Isomap(2), X, k)
        G = isomap.problem_.A.dense
        constant = fitted(es.KernelIsomap(2, psd="constant"), X, k)
        rows.append(
            {
                "set": name,
                "distance to the nearest kernel": es.nearest_psd(G, return_distance=True)[1] / np.linalg.norm(G),
                "constant / largest geodesic": constant.constant_ / isomap.dist_matrix_.max(),
                "angle of the constant's axes to Isomap's": largest_angle(constant.embedding_, isomap.embedding_),
            }
        )
    return rows


def across(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A line for each kernel, the angle on each set, and the largest difference at new points."""
    lines: dict[Any, dict[str, Any]] = {}
    for row in rows:
        line = lines.setdefault(
            (row["method"], row["kernel"]), {"method": row["method"], "kernel": row["kernel"], "new points": 0.0}
        )
        line[row["set"]] = row["angle"]
        line["new points"] = max(line.pop("new points"), row["new points"])
    return list(lines.values())


def markdown(rows: list[dict[str, Any]]) -> str:
    def spelled(value: Any) -> str:
        return str(value) if not isinstance(value, float) else f"{value:.0e}" if value < 0.01 else f"{value:.2f}"

    lines = [list(rows[0]), ["---"] * len(rows[0]), *([spelled(value) for value in row.values()] for row in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--fast", action="store_true", help="fewer points")
    sets = data(parser.parse_args().fast)
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", es.errors.EigenspanWarning
        )  # axes on outliers, negative parts: that is what the tables tell
        for rows in (across(table(sets)), literally(sets), geodesics(sets)):
            print(markdown(rows), end="\n\n")


if __name__ == "__main__":
    main()
