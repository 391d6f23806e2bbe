"""The same numbers in every container give the same embedding: graph and kernel methods, with ties and far from the origin."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from cases import Case, estimators, over
from eigenspan.errors import PrecisionWarning

Y = np.repeat([0, 1, 2], 20)
#: Methods that iterate down to a tolerance of their own, and semidefinite programs of a second or more.
_ITERATIVE = {
    "KDR",
    "ManifoldKDR",
    "MVU",
    "RelaxedMVU",
    "LaplacianMVU",
    "LandmarkMVU",
    "ConformalEigenmaps",
    "LAD",
    "OrdinalIsomap",
}
GRAPHS = [
    case
    for case in estimators()
    if case.id not in _ITERATIVE
    and any(name in case.template.get_params(deep=False) for name in ("n_neighbors", "graph", "kernel", "metric"))
]
#: Linear maps of features far from the origin rest on sums of squares, not on distances.
BY_DISTANCE = [case for case in GRAPHS if not case.linear]


def tables() -> dict[str, Any]:
    rng = np.random.default_rng(3)
    grid = np.stack(np.meshgrid(np.arange(10.0), np.arange(6.0)), -1).reshape(-1, 2)[rng.permutation(60)]
    t = rng.permutation(np.linspace(0, 6, 60))
    curve = np.column_stack([np.cos(t), np.sin(t), t / 2, 0.2 * rng.standard_normal((60, 2)).T[0], Y * 0.3])
    return {
        "counts": rng.poisson(0.5 + 0.5 * Y[:, None], (60, 6)).astype(float),
        "grid": np.column_stack([grid, (grid[:, 0] * grid[:, 1]) % 5]),
        "offset of 1e7": curve + 1e7,
    }


TABLES = tables()


def containers(X: Any, folder: Path) -> dict[str, Any]:
    read_only, on_disk = X.copy(), np.memmap(folder / "X", dtype=np.float64, mode="w+", shape=X.shape)
    read_only.flags.writeable = False
    on_disk[:] = X
    found = {
        "fortran": np.asfortranarray(X),
        "csr": sp.csr_array(X),
        "csc": sp.csc_matrix(X),
        "frame": pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])]),
        "memmap": on_disk,
        "read-only": read_only,
    }
    if np.array_equal(X.astype(np.float32), X):
        found["single"] = X.astype(np.float32)
    return found


def embedded(case: Case, X: Any) -> tuple[Any, bool]:
    """The embedding, None where the method does not take this container, and whether a warning says that digits are lost."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            fitted = case.make().fit(X, Y)
        except (TypeError, ValueError) as refusal:
            if "sparse" not in str(refusal).lower() and "dense" not in str(refusal).lower():
                raise
            return None, False
        try:
            found = fitted.embedding_
        except AttributeError:  # rows on disk
            found = fitted.transform(X)
    found = np.asarray(found[0] if isinstance(found, tuple) else found, dtype=np.float64)
    return found, any(issubclass(each.category, PrecisionWarning) for each in caught)


def compare(case: Case, X: Any, others: dict[str, Any]) -> None:
    expected, told = embedded(case, X)
    for name, other in others.items():
        found, warned = embedded(case, other)
        if found is None or told or warned:
            continue
        # Axes of single precision input are stored in single precision.
        atol = (1e-5 if name == "single" else 1e-6) * np.abs(expected).max()
        sign = np.where(np.sum(found * expected, axis=0) < 0, -1.0, 1.0)
        np.testing.assert_allclose(found * sign, expected, rtol=0, atol=atol, err_msg=name)


@over(GRAPHS)
@pytest.mark.parametrize("table", ["counts", "grid"])
@pytest.mark.every(12)
def test_ties_are_broken_alike(case: Case, table: str, tmp_path: Path) -> None:
    compare(case, TABLES[table], containers(TABLES[table], tmp_path))


@over(BY_DISTANCE)
@pytest.mark.every(6, start=1)
def test_distances_keep_their_digits_far_from_the_origin(case: Case, tmp_path: Path) -> None:
    if case.id in ("ONPP-kernel", "LLTSA-kernel"):
        pytest.skip("a polynomial of points this far away has no digits left, which is refused")
    compare(case, TABLES["offset of 1e7"], containers(TABLES["offset of 1e7"], tmp_path))
