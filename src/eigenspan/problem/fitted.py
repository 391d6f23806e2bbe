"""From a posed problem to what a fit returns."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from .._diagnostics import note
from .._types import Array
from ..data.rows.storage import warn_of_rounded_columns
from ..errors import FlatWarning, warn
from .basis import Features, Samples
from .direct_sum import DirectSum
from .map import Map, Raw
from .orientation import sign_of
from .pose import Posed, TraceProblem, as_solved, solve
from .scale import UnitVariance
from .spectrum import HANDFUL, Spectrum, warn_if_collapsed, warn_if_localised

#: Share of the variance of the points that is next to none.
FLAT = 1e-8


@dataclass(frozen=True, eq=False)
class Fitted:
    """What a fit has found. The estimator is told of it only when all is done.

    Attributes
    ----------
    embedding : ndarray of shape (n, d) or None
        None where the rows are not kept in memory.
    map : Map, or any picklable function of new rows
    attributes : dict
        What the estimator will have besides, by name.
    """

    embedding: Array | None
    map: Any
    attributes: dict[str, Any] = field(default_factory=dict)

    def having(self, **attributes: Any) -> Fitted:
        """The same, with more attributes."""
        return replace(self, attributes={**self.attributes, **attributes})


@dataclass(frozen=True, eq=False)
class Axes:
    """How the axes of a posed problem are found: how many, by which solver, from which start, at which scale of their own."""

    n_components: int
    solver: Any = "auto"
    random_state: Any = 0
    unit_variance: bool = False

    def of(self, posed: Posed) -> tuple[Array, Spectrum]:
        """Coefficients of the axes, scaled, and their spectrum."""
        wanted = self.n_components if posed.axes is None else posed.axes
        spectrum = solve(
            posed.problem,
            wanted + posed.skip,
            solver=self.solver,
            random_state=self.random_state,
            advice=_advice(posed, wanted + posed.skip),
            size=posed.size,
        )
        spectrum = spectrum.without_first(posed.skip)
        scale = UnitVariance(posed.basis) if self.unit_variance else posed.scale
        if spectrum.ties():
            witness = posed.witness or partial(_in_common_coordinates, posed.basis, spectrum)
            products = scale.products(spectrum.vectors) if hasattr(scale, "products") else None
            spectrum = spectrum.oriented(witness) if products is None else spectrum.settled(products, witness)
        warn_of_flat_axes(posed, spectrum)
        return spectrum.vectors * scale(spectrum), spectrum

    def fit(self, posed: Posed) -> Fitted:
        """The embedding, its map, and the spectrum behind them. Signs are those that the data, or the axes, make the natural ones."""
        V, spectrum = self.of(posed)
        basis: Any = posed.basis
        turned = posed.turn is not None
        V = V @ posed.turn(V) if posed.turn is not None else V
        found = {**posed.attributes, **spectral_attributes(as_solved(posed.problem, spectrum), spectrum)}
        if isinstance(basis, Features) and isinstance(basis.rows, Raw):
            V = V if turned else V * sign_of(basis.map(V, spectrum).coef)
            map_: Map = basis.map(V, spectrum)
            found |= {"components_": map_.coef.T, "mean_": map_.offset}
            if basis.raw is None:
                return Fitted(None, map_, found)
            Y = basis.embed(V, basis.raw.dtype)
            warn_of_rounded_columns(Y, "embedding_", "Pass X in double precision.")
            return Fitted(Y, map_, found)
        if not isinstance(basis, Samples) and basis.raw is None:
            # the rows lie elsewhere: the landmarks say which way axes point
            map_ = basis.map(V, spectrum)
            return Fitted(None, map_.then(np.diag(sign_of(map_(basis.rows.points)))), found)
        Y = basis.embed(V)
        if isinstance(basis, Samples) and getattr(posed.problem, "sense", "max") == "min":
            spread = warn_if_localised(Y, basis.masses)
            note(participation=spread)
            if spread.min() >= HANDFUL:  # else all points but a few lie in one place, as the warning says
                warn_if_collapsed(Y)
        sign = np.ones(Y.shape[1]) if turned else sign_of(Y)
        return Fitted(Y * sign, basis.map(V * sign, spectrum), found)


def _in_common_coordinates(basis: Any, spectrum: Spectrum, V: Array) -> Array:
    """The axes V over the features as they were given, or over the samples: the basis of the problem may be a choice of this machine."""
    if isinstance(basis, Samples):
        return V
    if isinstance(basis, Features) and isinstance(basis.rows, Raw):
        return basis.map(V, spectrum).coef
    if isinstance(basis, DirectSum) or basis.raw is not None:
        return np.asarray(basis.embed(V))
    return np.asarray(basis.map(V, spectrum)(basis.rows.points))


def _advice(posed: Posed, d: int) -> str:
    """What to do where axes are not unique because the rows are fewer than their features; empty for other reasons."""
    problem, basis = posed.problem, posed.basis
    if not isinstance(basis, Features) or not isinstance(basis.rows, Raw) or basis.raw is None:
        return ""
    variance = isinstance(problem, TraceProblem) and problem.B is None and problem.sense == "max"
    n, D = basis.raw.shape
    if n > D or variance:
        return ""
    few = max(d + 1, basis.dim // 10)
    return (
        f"{n} rows of {D} features span {basis.dim} dimensions, enough for directions that fit any graph or labels: keep fewer principal "
        f"axes first (reduce={few}, say), or regularise (ridge=, or shrinkage= where the method has it)."
    )


def warn_of_flat_axes(posed: Posed, spectrum: Spectrum) -> None:
    """Say which axes the points hardly vary along.

    Where a unit form measures the embedding, such axes are no answers: they are in its null space. Under V'V = I every direction
    counts alike, and an objective that may be zero is so where the points do not differ: axes that lie there show the
    precision of the features, and nothing else. Axes with an objective of zero and variance are clusters, and in order.
    """
    problem, basis = posed.problem, posed.basis
    if not isinstance(problem, TraceProblem) or not isinstance(basis, Features) or problem.B is not None:
        return
    if problem.sense == "max" and problem.A.psd:  # variance itself, as in PCA: the axes come in its order
        return
    none = np.flatnonzero(
        np.abs(spectrum.values) <= np.sqrt(FLAT) * spectrum.norm
    )  # the others cost more than flat axes can
    shares = basis.shares_of_variance(spectrum.vectors[:, none])
    if np.any(flat := shares <= FLAT):
        which = ", ".join(str(j + 1) for j in none[flat])
        warn(
            f"The points have only {shares[flat].max():.1g} of their variance along axis {which}: orthonormal axes that cost nothing are "
            "found where the points do not differ, and what shows there is the precision of the features. Use a method whose unit "
            "measures the embedding (LPP for OLPP, NPP for ONPP), standardise features of unlike units, keep fewer of them (reduce=, or "
            "landmarks= beside kernel=), take a kernel that varies faster (a larger gamma), or ask for fewer components.",
            FlatWarning,
        )


def spectral_attributes(problem: Any, spectrum: Spectrum) -> dict[str, Any]:
    """Attributes of every spectral method, and of a trace ratio its value."""
    found = {
        "eigenvalues_": spectrum.values,
        "residuals_": spectrum.residuals,
        "gap_": spectrum.gap,
        "problem_": problem,
    }
    ratio = spectrum.facts.get("trace_ratio")
    return found if ratio is None else {**found, "trace_ratio_": float(ratio)}
