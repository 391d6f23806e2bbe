"""From a posed problem to what a fit returns."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from .._diagnostics import note
from .._types import Array, Index, RandomState
from ..data.rows.storage import warn_of_rounded_columns
from ..errors import FlatWarning, warn
from ..numerics.eigen import Solver
from .basis import Features, Samples
from .direct_sum import DirectSum
from .kernels import warn_of_rounded_axes
from .map import Map, Raw
from .pose import Basis, Posed, TraceProblem, TraceRatio, as_solved, solve
from .scale import UnitVariance
from .spectrum import HANDFUL, Spectrum, sign_of, warn_if_collapsed, warn_if_localised

#: Share of the variance of the points up to which an axis is flat.
FLAT = 1e-8


@dataclass(frozen=True, eq=False)
class Fitted:
    """Result of a fit. Attributes are set on the estimator only after the fit has succeeded.

    Attributes
    ----------
    embedding : ndarray of shape (n, d) or None
        None if the rows are not in memory.
    map : Map, or any picklable function of new rows; one for each view of a direct sum
    attributes : dict
        Other attributes of the estimator, by name.
    """

    embedding: Array | None
    map: Any
    attributes: dict[str, Any] = field(default_factory=dict)

    def having(self, **attributes: object) -> Fitted:
        """Return a copy with more attributes."""
        return replace(self, attributes={**self.attributes, **attributes})


@dataclass(frozen=True, eq=False)
class Axes:
    """Settings for the axes of a posed problem: their number, the solver, its start, and whether each gets unit variance."""

    n_components: int
    solver: str | Solver = "auto"
    random_state: RandomState = 0
    unit_variance: bool = False

    def of(self, posed: Posed) -> tuple[Array, Spectrum]:
        """Return the scaled coefficients of the axes, and their spectrum."""
        wanted = self.n_components if posed.axes is None else posed.axes
        spectrum = solve(
            posed.problem,
            wanted + posed.skip,
            solver=self.solver,
            random_state=self.random_state,
            advice=_advice(posed, wanted + posed.skip),
            size=posed.size,
        )
        if posed.skip:
            spectrum = spectrum.without_first(posed.skip)
        scale = UnitVariance(posed.basis) if self.unit_variance else posed.scale
        if spectrum.ties:
            witness = posed.witness or partial(_in_common_coordinates, posed.basis, spectrum)
            products = scale.products(spectrum.vectors) if hasattr(scale, "products") else None
            spectrum = spectrum.oriented(witness) if products is None else spectrum.settled(products, witness)
        warn_of_flat_axes(posed, spectrum)
        return spectrum.vectors * scale(spectrum), spectrum

    def fit(self, posed: Posed) -> Fitted:
        """Return the embedding, its map and all attributes, after the last step of the method."""
        fitted = self._fit(posed)
        return fitted if posed.after is None else posed.after(fitted)

    def _fit(self, posed: Posed) -> Fitted:
        """Return the embedding, its map and the attributes of the spectrum.

        Signs are determined by `sign_of` in coordinates that do not depend on the machine.
        """
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
            # the rows are not in memory: the embedding of the landmarks determines the signs
            map_ = basis.map(V, spectrum)
            return Fitted(None, map_.then(np.diag(sign_of(map_(basis.rows.points)))), found)
        Y = basis.embed(V)
        if isinstance(basis, Samples) and getattr(posed.problem, "sense", "max") == "min":
            points = warn_if_localised(Y, basis.masses)
            note(participation=points)
            if points.min() >= HANDFUL:  # otherwise almost all points coincide along an axis, which the warning says
                warn_if_collapsed(Y)
        if isinstance(basis, Features) and not basis.digits_lost and not _flat_axes(posed, spectrum)[0].size:
            warn_of_rounded_axes(basis.raw, basis.lifted(V), Y)
        sign = np.ones(Y.shape[1]) if turned else sign_of(Y)
        return Fitted(Y * sign, basis.map(V * sign, spectrum), found)


def _in_common_coordinates(basis: Basis, spectrum: Spectrum, V: Array) -> Array:
    """Return the axes V over the features of the user or over the samples: the basis itself may depend on the machine."""
    if isinstance(basis, Samples):
        return V
    if isinstance(basis, Features) and isinstance(basis.rows, Raw):
        return basis.map(V, spectrum).coef
    if isinstance(basis, DirectSum) or basis.raw is not None:
        return np.asarray(basis.embed(V))
    rows: Any = basis.rows
    return np.asarray(basis.map(V, spectrum)(rows.points))


def _advice(posed: Posed, d: int) -> str:
    """Return the advice for axes that are not unique because there are fewer rows than features; empty in other cases."""
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


def _flat_axes(posed: Posed, spectrum: Spectrum) -> tuple[Index, Array]:
    """Return the axes along which the points hardly vary, and their shares of the variance.

    A unit form that measures the embedding excludes such axes: they are in its null space. Under V'V = I all directions have the same unit,
    and a form that vanishes along directions without variance selects them: their coordinates are rounding errors of the features. Axes
    with a vanishing form and positive variance separate clusters, and are valid.
    """
    problem, basis = posed.problem, posed.basis
    if not isinstance(problem, TraceProblem) or not isinstance(basis, Features) or problem.B is not None:
        return np.empty(0, dtype=np.intp), np.empty(0)
    if problem.sense == "max" and problem.A.psd:  # PCA and relatives maximise variance
        return np.empty(0, dtype=np.intp), np.empty(0)
    none = np.flatnonzero(np.abs(spectrum.values) <= np.sqrt(FLAT) * spectrum.norm)  # flat axes have smaller values
    shares = basis.shares_of_variance(spectrum.vectors[:, none])
    return none[shares <= FLAT], shares[shares <= FLAT]


def warn_of_flat_axes(posed: Posed, spectrum: Spectrum) -> None:
    """Warn about axes along which the points hardly vary."""
    flat, shares = _flat_axes(posed, spectrum)
    if flat.size:
        which = ", ".join(str(j + 1) for j in flat)
        warn(
            f"The points have only {shares.max():.1g} of their variance along axis {which}: orthonormal axes with objective zero "
            "exist where the points do not differ, and their coordinates are rounding errors of the features. Use a method whose unit "
            "measures the embedding (LPP for OLPP, NPP for ONPP), standardise features of unlike units, keep fewer of them (reduce=, or "
            "landmarks= beside kernel=), take a kernel that varies faster (a larger gamma), or ask for fewer components.",
            FlatWarning,
        )


def spectral_attributes(problem: TraceProblem | TraceRatio | None, spectrum: Spectrum) -> dict[str, object]:
    """Return the attributes of a spectral method, with the value of a trace ratio."""
    values, residuals = spectrum.values, spectrum.residuals
    found = {"eigenvalues_": values, "residuals_": residuals, "gap_": spectrum.gap, "problem_": problem}
    ratio = spectrum.facts.get("trace_ratio")
    return found if ratio is None else {**found, "trace_ratio_": float(ratio)}
