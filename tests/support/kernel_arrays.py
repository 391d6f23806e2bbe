"""Embeddings of 13 data sets by 53 methods, for comparison between BLAS kernels and numbers of threads.

Run as a program it computes them in this process: ``python tests/support/kernel_arrays.py OUT.npz [--data NAME ...]``. The caller chooses
kernels and threads in the environment (``OPENBLAS_CORETYPE``, ``OPENBLAS_NUM_THREADS``), which OpenBLAS reads when it is loaded.
``tests/kernels.py --arrays`` does so.
"""

from __future__ import annotations

import argparse
import importlib
import json
import warnings
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits, load_iris, load_wine, make_swiss_roll

import eigenspan as es
from eigenspan.errors import DegenerateWarning
from eigenspan.methods.registry import TABLE

Array = NDArray[np.float64]

#: Methods as the table builds them, and variants with other parameters that use other code.
NAMES = (
    "PCA", "PPCA", "KernelPCA", "OrientedPCA", "DistortionDiscriminantAnalysis", "MixturePPCA",
    "LandmarkMDS", "ClassicalMDS", "Isomap", "LandmarkIsomap", "KernelIsomap", "OrdinalIsomap",
    "SpectralClustering", "LaplacianEigenmaps", "LPP", "OLPP", "DiffusionMap", "CommuteTimeEmbedding",
    "LLE", "NPP", "ONPP", "ConformalEigenmaps", "LTSA", "HessianLLE", "GeodesicNullspaceAnalysis", "ModifiedLLE", "LLTSA",
    "LFDA", "SupervisedPCA", "RoweisDA", "LDA", "DNE", "MFA", "LDE", "SupervisedNonlinearLocalEmbedding", "MMC",
    "SDA", "SODA", "SSLFDA", "SELFDA", "KernelCCA", "MultiviewCCA", "CCA", "SIR", "SAVE", "DirectionalRegression", "PHD",
    "ManifoldKDR", "MaximumCovarianceUnfolding", "ColoredMVU",
)  # fmt: skip
VARIANTS = {
    "LPP-reduce": es.LPP(reduce=3),
    "KernelPCA-landmarks": es.KernelPCA(landmarks=12),
    "LDA-trace-ratio": es.LDA(criterion="trace-ratio"),
}
#: Modules that choose between numpy and compiled loops by the size of the data.
LOOPS = (
    "problem.forms.local_alignment", "graphs.weights.reconstruction_weights", "graphs.neighbours.geodesics", "problem.extensions.gram",
    "numerics.nearest.exact",
)  # fmt: skip
#: Largest relative difference between equal embeddings.
SAME = 1e-6
#: Kinds of y other than class labels.
SUPERVISION = {row.name: row.supervision for row in TABLE}


@dataclass(frozen=True, eq=False)
class Table:
    """A data set: rows, class labels, numbers to regress on, and a second view."""

    X: Array
    y: NDArray[np.intp]

    def target(self, method: str) -> Any:
        """Return y for `method`."""
        kind = SUPERVISION[method.partition("-")[0]]
        if kind == "other view":
            return np.column_stack([self.X[:, :3] ** 2, self.X[:, 0] + self.y])
        return self.X[:, 0] ** 2 + self.X[:, -1] if kind == "response" else self.y


def _lattice(*sides: int) -> Array:
    return np.array(list(product(*(range(side) for side in sides))), dtype=np.float64)


def _sphere() -> Array:
    half = np.random.default_rng(0).standard_normal((30, 3))
    half /= np.linalg.norm(half, axis=1, keepdims=True)
    return np.vstack([half, -half])


def _clusters() -> Array:
    blob = np.random.default_rng(1).normal([4.0, 0, 0], 1.0, (30, 3))
    return np.vstack([blob, -blob])


def _one_hot() -> Array:
    rng = np.random.default_rng(2)
    return np.hstack([np.eye(4)[rng.integers(4, size=60)], np.eye(3)[rng.integers(3, size=60)]])


def _polygon() -> Array:
    angles = 2 * np.pi * np.arange(40) / 40
    return np.column_stack([np.cos(angles), np.sin(angles)])


def tables() -> dict[str, Table]:
    """Return the data sets, those with symmetries first."""
    rows = {
        "grid": _lattice(9, 9),
        "cube": 2 * _lattice(2, 2, 2, 2, 2) - 1,
        "polygon": _polygon(),
        "identity": np.eye(24),
        "lattice": _lattice(4, 4, 4),
        "clusters": _clusters(),
        "one-hot": _one_hot(),
        "repeated": np.repeat(np.random.default_rng(3).standard_normal((20, 4)), 3, axis=0),
        "sphere": _sphere(),
        "roll": make_swiss_roll(150, random_state=0)[0],
    }
    made = {name: Table(X, np.arange(len(X)) % 3) for name, X in rows.items()}
    for name, load, n in (("iris", load_iris, 150), ("wine", load_wine, 178), ("digits", load_digits, 300)):
        X, y = load(return_X_y=True)
        made[name] = Table(X[:n].astype(np.float64), y[:n])
    return made


def estimator(name: str) -> Any:
    """Return the method as the table builds it, or the variant of this name."""
    if name in VARIANTS:
        return VARIANTS[name]
    return next(row for row in TABLE if row.name == name).build()


def embed(method: str, table: Table) -> tuple[Array | None, dict[str, Any]]:
    """Return the embedding (None if the method refuses the data), and the error or the warning that axes are not determined."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = estimator(method).fit_transform(table.X, table.target(method))
        except Exception as failure:
            return None, {"error": f"{type(failure).__name__}: {failure}"}
    said = [str(entry.message) for entry in caught if issubclass(entry.category, DegenerateWarning)]
    return np.hstack(found) if isinstance(found, tuple) else found, {"degenerate": said}


def compute(out: Path, data: list[str], methods: list[str]) -> None:
    """Write all embeddings to `out`, and their messages to a JSON file with the same name."""
    arrays, said = {}, {}
    for name, table in tables().items():
        for method in methods if name in data else []:
            Y, words = embed(method, table)
            said[f"{name}/{method}"] = words
            if Y is not None:
                arrays[f"{name}/{method}"] = Y
    np.savez(out, **arrays)  # type: ignore[arg-type]
    out.with_suffix(".json").write_text(json.dumps(said))


def use_loops() -> None:
    """Use compiled loops instead of numpy for data of any size."""
    for name in LOOPS:
        module = importlib.import_module(f"eigenspan.{name}")
        module._SMALL = 0.0  # type: ignore[attr-defined]
    importlib.import_module("eigenspan.numerics.nearest.exact")._MEDIUM = 0.0  # type: ignore[attr-defined]


@dataclass(frozen=True)
class Difference:
    """An embedding that differs between two runs: the size of the difference, and whether both warned of undetermined axes."""

    name: str
    size: float
    warned: bool


def differences(one: Path, two: Path) -> list[Difference]:
    """Compare the output of `compute` in two runs.

    The size is the largest difference of two entries relative to the largest entry. It is infinite where shapes or errors differ.
    """
    words = [json.loads(path.with_suffix(".json").read_text()) for path in (one, two)]
    assert words[0].keys() == words[1].keys()
    found = []
    with np.load(one) as first, np.load(two) as second:
        for name in words[0]:
            said = [part[name] for part in words]
            if all("error" in part for part in said):
                kinds = [part["error"].partition(":")[0] for part in said]
                size = 0.0 if kinds[0] == kinds[1] else np.inf
            elif any("error" in part for part in said):
                size = np.inf
            else:
                size = _relative(first[name], second[name])
            if size > SAME:
                found.append(Difference(name, size, all(part.get("degenerate") for part in said)))
    return found


def _relative(A: Array, B: Array) -> float:
    if A.shape != B.shape:
        return np.inf
    return float(np.abs(A - B).max(initial=0.0) / max(np.abs(A).max(initial=0.0), np.finfo(float).tiny))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--data", nargs="*", default=list(tables()), metavar="NAME")
    parser.add_argument("--methods", nargs="*", default=[*NAMES, *VARIANTS], metavar="NAME")
    parser.add_argument("--loops", action="store_true", help="compiled loops instead of numpy, however small the data")
    given = parser.parse_args()
    if given.loops:
        use_loops()
    compute(given.out, given.data, given.methods)


if __name__ == "__main__":
    main()
