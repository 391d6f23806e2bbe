"""Dimension from the eigenvalues of the covariance, of geodesic distances, and of maximum variance unfolding."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .._diagnostics import stage
from ..errors import DimensionError, InputError
from ..methods.distances.isomap import Isomap, LandmarkIsomap
from ..methods.unfolding import MVU
from ..methods.variance.pca import PCA
from ..problem import dimension_rules as rules
from ._data import Data
from .result import Curve, Dimension

Array = NDArray[np.float64]

#: Above this many points, geodesic distances are computed to landmarks only.
_ALL_PAIRS = 2000


def _rounding(X: Any) -> float:
    """Return the variance due to rounding the entries of X; the entries may be exact in single precision."""
    entries = X.data if sp.issparse(X) else X
    with np.errstate(over="ignore"):
        single = bool(np.all(entries.astype(np.float32) == entries))
    eps = np.finfo(np.float32 if single else np.float64).eps
    return (float(eps) * float(np.abs(entries).max(initial=0.0))) ** 2


@dataclass(frozen=True, eq=False)
class Variances:
    """Variances of n points along the principal axes, largest first, and the standard deviations `spread` of the columns."""

    values: Array
    spread: Array
    n: int

    @classmethod
    def of(cls, data: Data, method: str) -> Variances:
        X = data.coordinates(method)
        with stage("eigenproblem"):
            values = PCA(None).fit(X).explained_variance_
        values = values[values > _rounding(X)]  # smaller variances are artefacts of the precision of X
        spread = np.sqrt(X.multiply(X).mean(axis=0) - X.mean(axis=0) ** 2) if sp.issparse(X) else X.std(axis=0)
        return cls(values, np.asarray(spread).ravel() * np.sqrt(data.n / (data.n - 1)), data.n)

    @property
    def all(self) -> Array:
        """Variances of all axes, including zeros."""
        most = min(self.spread.size, self.n - 1)
        return np.pad(self.values, (0, max(0, most - self.values.size)))[:most]

    def result(
        self, data: Data, method: str, d: int, levels: Array | None = None, label: str = "", **facts: Any
    ) -> Dimension:
        values = self.all
        axis = np.arange(1, values.size + 1, dtype=np.float64)
        curve = Curve(axis, values, axis <= d, "axis", "variance", reference=levels, reference_label=label)
        return Dimension(float(d), np.nan, method, data.n, curve, None, {**facts, **data.facts})


def largest_gap(data: Data) -> Dimension:
    """Return the number of axes before the largest ratio of one variance to the next."""
    found = Variances.of(data, "eigengap")
    return found.result(data, "eigengap", rules.eigengap(found.all))


def scree(data: Data) -> Dimension:
    """Return the number of axes before the bend of the scree plot."""
    found = Variances.of(data, "scree")
    return found.result(data, "scree", rules.elbow(found.all))


def broken_stick(data: Data) -> Dimension:
    """Count the variances above those of a randomly broken stick."""
    found = Variances.of(data, "broken-stick")
    levels = rules.broken_stick(found.all.size) * found.all.sum()
    return found.result(data, "broken-stick", rules.above(found.all, levels), levels, "randomly broken stick")


def parallel(data: Data, rng: np.random.Generator) -> Dimension:
    """Count the variances above those of independent random columns."""
    found = Variances.of(data, "parallel")
    levels = rules.parallel_levels(found.spread, data.n, rng)[: found.all.size]
    return found.result(data, "parallel", rules.above(found.all, levels), levels, "95 % of independent columns")


def information(data: Data) -> Dimension:
    """Return the dimension with the best Bayesian information criterion of probabilistic PCA; all axes if none stands out."""
    found = Variances.of(data, "bic")
    n, D, values = data.n, found.spread.size, found.values * (data.n - 1)
    return found.result(data, "bic", rules.span_dimension(values, n, D, float(values.sum())))


def evidence(data: Data) -> Dimension:
    """Return the dimension with the largest evidence of probabilistic PCA, in Minka's approximation."""
    found = Variances.of(data, "minka")
    D = found.spread.size
    if data.n < D:
        raise DimensionError(
            f'method="minka" needs at least as many points as features; X has {data.n} distinct points and {D} features. Use "bic".'
        )
    return found.result(data, "minka", rules.minka_dimension(np.pad(found.values, (0, D - found.values.size)), data.n))


def geodesics(data: Data, n_neighbors: Any, seed: Any) -> Dimension:
    """Count the eigenvalues of Isomap above the size of its negative ones, up to the largest drop."""
    kind = Isomap if data.n <= _ALL_PAIRS else LandmarkIsomap
    return _of_embedding(data, kind, "isomap", n_neighbors, seed, "eigenvalue of geodesics")


def unfolding(data: Data, n_neighbors: Any, seed: Any) -> Dimension:
    """Count the eigenvalues of maximum variance unfolding up to the largest drop."""
    return _of_embedding(data, MVU, "mvu", n_neighbors, seed, "variance of the unfolding")


def _of_embedding(data: Data, kind: Any, method: str, n_neighbors: Any, seed: Any, label: str) -> Dimension:
    if isinstance(n_neighbors, tuple | list):
        raise InputError(f"method={method!r} builds one graph: give n_neighbors as one number, not {n_neighbors!r}.")
    metric = "precomputed" if data.pairs else getattr(data.metric, "function", data.metric)
    fitted = kind("auto", n_neighbors=n_neighbors, metric=metric, random_state=seed, n_jobs=data.n_jobs).fit(data.X)
    values = fitted.spectrum_
    axis = np.arange(1, values.size + 1, dtype=np.float64)
    curve = Curve(axis, values, axis <= fitted.n_components_, "axis", label)
    facts = {"estimator": fitted, **data.facts}
    return Dimension(float(fitted.n_components_), np.nan, method, data.n, curve, None, facts)
