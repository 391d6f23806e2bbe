"""Helpers for all tests: comparison of embeddings by subspaces and distances, data sets, warnings and messages."""

from __future__ import annotations

import os
import re
import tracemalloc
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.linalg as la
from numpy.typing import NDArray
from scipy.spatial import procrustes
from sklearn.utils import estimator_checks

import eigenspan
from eigenspan.errors import EigenspanWarning

Array = NDArray[np.float64]
#: Where the documentation, the examples and pyproject.toml are.
ROOT = Path(__file__).resolve().parent.parent.parent


def raised_in(filename: str, package: Any = eigenspan, *parts: str) -> bool:
    """True if a frame's file lies in the package's own directory, or in its file or folder `parts`.

    A name such as "/eigenspan/" in the path does not suffice: the checkout, and with it its virtual environment, may be called that.
    """
    return Path(filename).resolve().is_relative_to(Path(package.__file__).resolve().parent.joinpath(*parts))


def angle(U: Any, V: Any) -> float:
    """Largest principal angle between the column spans of `U` and `V`, in degrees."""
    Q, P = (np.linalg.qr(np.asarray(M, dtype=np.float64))[0] for M in (U, V))
    return float(np.degrees(la.subspace_angles(Q, P).max()))


def same_subspace(U: Any, V: Any, degrees: float = 1e-4) -> bool:
    """Return True if the column spans agree up to `degrees`."""
    return np.shape(U) == np.shape(V) and angle(U, V) <= degrees


def assert_allclose_up_to_sign(actual: Any, desired: Any, rtol: float = 1e-7, atol: float = 1e-9) -> None:
    """Check that columns are equal up to sign."""
    actual, desired = np.asarray(actual, dtype=np.float64), np.asarray(desired, dtype=np.float64)
    assert actual.shape == desired.shape
    sign = np.where(np.sum(actual * desired, axis=0) < 0, -1.0, 1.0)
    np.testing.assert_allclose(actual * sign, desired, rtol=rtol, atol=atol)


def pairwise(Y: Any) -> Array:
    """Return all Euclidean distances among the rows, which do not depend on rotations, reflections and shifts."""
    Y = np.asarray(Y, dtype=np.float64)
    return np.linalg.norm(Y[:, None] - Y[None], axis=2)


def disparity(Y: Any, Z: Any) -> float:
    """Return the residual of Procrustes alignment (shift, rotation, scale) as a share of the variance."""
    return float(procrustes(np.asarray(Y, dtype=np.float64), np.asarray(Z, dtype=np.float64))[2])


def assert_healthy(Y: Any, n: int) -> None:
    """Check that there are n rows and that all numbers are finite."""
    Y = np.asarray(Y)
    assert Y.shape[0] == n
    assert np.all(np.isfinite(Y))


def relative(a: Any, b: Any) -> float:
    """Return the largest difference relative to the size of b."""
    a, b = np.asarray(a), np.asarray(b)
    return float(np.abs(a - b).max() / max(np.abs(b).max(), np.finfo(float).tiny))


def inner_products(Y: Any, Z: Any = None) -> Array:
    """Return the inner products of the rows, which do not depend on rotations and signs."""
    return np.asarray(Y) @ (np.asarray(Y) if Z is None else np.asarray(Z)).T


def centred(X: Any, weights: Any = None) -> Array:
    """Return X minus its (weighted) mean."""
    return X - np.average(X, axis=0, weights=weights)


def cloud(n: int, D: int = 3, seed: int = 0) -> Array:
    """Return points from a standard normal distribution."""
    return np.random.default_rng(seed).standard_normal((n, D))


def external_data(name: str) -> Any:
    """Return a data set from the folder EIGENSPAN_DATA; skip the test if it is not available."""
    folder = os.environ.get("EIGENSPAN_DATA")
    if not folder:
        pytest.skip("EIGENSPAN_DATA is unset: no folder of real data")
    path = Path(folder) / f"{name}.npz"
    if not path.exists():
        pytest.skip(f"{path} does not exist")
    return np.load(path)


def _distinct(X: Array, y: Any) -> tuple[Array, Any]:
    first = np.sort(np.unique(X, axis=0, return_index=True)[1])
    return X[first], y[first]


def labelled(case: str, n: int = 200) -> tuple[Array, Any]:
    """Return distinct points and class codes: ``"random-<seed>"``, a scikit-learn data set, or one of EIGENSPAN_DATA."""
    from sklearn import datasets

    if case.startswith("random-"):
        rng = np.random.default_rng(int(case.split("-")[1]))
        y = np.arange(120) % 4
        mix = np.linalg.qr(rng.standard_normal((8, 8)))[0] * np.linspace(0.5, 2, 8)
        return (rng.standard_normal((120, 8)) + 2 * rng.standard_normal((4, 8))[y]) @ mix + 3, y
    if case in ("iris", "wine", "digits"):
        X, y = getattr(datasets, f"load_{case}")(return_X_y=True)
    else:
        file = external_data(case)
        X, y = file["X"], np.unique(file["y"], return_inverse=True)[1]
    X = np.asarray(X, dtype=np.float64) / (1000 if case == "usps" else 1)
    rows = np.unique(np.linspace(0, X.shape[0] - 1, min(n, X.shape[0])).astype(int))
    X, y = _distinct(X[rows], y[rows])
    spread = np.where(X.std(axis=0) > 0, X.std(axis=0), 0.0)
    if case in ("wine", "mfeat"):  # columns in different units
        X, spread = X / np.where(spread > 0, spread, 1.0), np.sign(spread)
    # rounded measurements have ties among neighbours, whose order is arbitrary: noise moves points to general position
    return X + 1e-4 * spread * np.random.default_rng(0).standard_normal(X.shape), y


def connected_neighbours(X: Array, start: int = 10) -> int:
    """Return the smallest k = start, start + 5, … for which the k-nearest-neighbour graph is connected."""
    from eigenspan.graphs import KNN, components

    for k in range(start, X.shape[0], 5):
        if components(KNN(k).build(X))[0] == 1:
            return k
    return X.shape[0] - 1


def encode_labels(y: Any, X: Any, **rule: Any) -> tuple[Any, Any]:
    """Return class codes of labels for the rows of X, and the names of the classes."""
    from eigenspan.data.y import read_classes

    read = read_classes(y, X.shape[0], **rule)
    return read.codes, read.names


def quietly(run: Callable[[], Any], *categories: type[Warning]) -> Any:
    """Run without this library's warnings, or without those of these categories; all others remain errors."""
    with warnings.catch_warnings():
        for category in categories or (EigenspanWarning,):
            warnings.simplefilter("ignore", category)
        return run()


def says(*words: str) -> str:
    """Return a pattern for words that must occur in this order."""
    return "(?s)" + ".*".join(re.escape(word) for word in words)


@contextmanager
def reports(category: type[Warning], *words: str) -> Iterator[None]:
    """Check that the block gives this warning of the library; warnings of other libraries remain errors."""
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always", EigenspanWarning)
        yield
    assert any(issubclass(w.category, category) and re.search(says(*words), str(w.message)) for w in given), [
        str(w.message) for w in given
    ]


#: Checks of `sample_weight` on 16 rows at 4 places, and on 15 random rows of 30 features in another order.
_PLACES = ("check_sample_weights_shape", "check_sample_weights_not_overwritten")
_ORDER = ("check_sample_weight_equivalence_on_dense_data", "check_sample_weight_equivalence_on_sparse_data")
#: Methods that refuse these places, and methods that random rows do not determine, or for which the order of the rows matters.
_EXCUSED = {
    **dict.fromkeys(
        (
            "Anchored",
            "GeodesicNullspaceAnalysis",
            "LFDA",
            "MFA",
            "LDE",
            "SSDNE",
            "SSMFA",
            "SSLFDA",
            "SSMMC",
            "SSFDA",
            "PairCosts",
        ),
        _PLACES,
    ),
    **dict.fromkeys(("SAVE", "ContourRegression", "KernelICA", "TraceReducer"), _ORDER),
    **dict.fromkeys(("SpectralClustering", "HessianLLE", "PHD"), _PLACES + _ORDER),
}


def assert_scikit_learn_agrees(estimator: Any) -> None:
    """Check that no check of scikit-learn for an estimator fails, and that most of them apply."""
    excused = dict.fromkeys(_EXCUSED.get(type(estimator).__name__, ()), "the data are degenerate for this method")
    results = estimator_checks.check_estimator(estimator, on_skip=None, on_fail=None, expected_failed_checks=excused)
    assert not {r["check_name"]: r["exception"] for r in results if r["status"] not in ("passed", "skipped", "xfail")}
    assert sum(r["status"] == "passed" for r in results) >= 40


def peak_beside_prediction(module: Any, run: Callable[[], Any], monkeypatch: pytest.MonkeyPatch) -> tuple[float, float]:
    """Return the bytes that a module predicts by `require`, and the peak of those allocated afterwards."""
    told: list[tuple[float, int]] = []

    def require(n_bytes: float, what: str, instead: str) -> None:
        tracemalloc.reset_peak()
        told.append((n_bytes, tracemalloc.get_traced_memory()[0]))

    monkeypatch.setattr(module, "require", require)
    tracemalloc.start()
    try:
        run()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    ((predicted, before),) = told
    return predicted, peak - before
