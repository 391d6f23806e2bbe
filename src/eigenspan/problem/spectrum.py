"""Eigenpairs that travel together: values, vectors, residuals and the gap behind them, in canonical order and sign."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from .._diagnostics import note
from .._types import Array
from ..errors import DegenerateWarning, LocalisationWarning, warn
from ..numerics.eigen import dense
from .orientation import TIED, orientation_of, sign_of, ties_of

#: Sine of the angle that the residuals leave open, above which a subspace is not resolved.
BLUR = 1e-2
#: An axis that lives on fewer points than this (see `participation`) is localised.
HANDFUL = 3.0
#: Points below which an axis on a few of them is nothing unusual.
_MANY = 100
#: Points closer than this share of the extent of an embedding lie in one place.
_SPOT = 1e-6
#: Share of the points from which such a crowd is reported.
_CROWD = 0.02


@dataclass(frozen=True, eq=False)
class Spectrum:
    """The solution of a trace problem.

    Attributes
    ----------
    values : ndarray of shape (d,)
        Eigenvalues, best first in the sense of the problem.
    vectors : ndarray of shape (m, d)
        ``V' B V = I``.
    residuals : ndarray of shape (d,)
        ``‖A v − λ B v‖`` in the B-orthonormal coordinates, relative to ‖A‖.
    gap : float
        Distance from the last wanted eigenvalue to the next one, relative to the larger of the two; inf at the end of the
        spectrum. Below `TIED` the subspace is not determined by the problem.
    beyond : float
        The next eigenvalue, nan at the end of the spectrum.
    solver : str
        What solved it.
    norm : float
        A bound on ‖A‖: what eigenvalues and residuals are small against.
    facts : dict
        What happened on the way (rank kept, ridge added, iterations).
    size : float or None
        Eigenvalues that differ by 1e-14 of this are equal. None is `norm`. It is larger where the objective vanishes on all that the basis
        spans, so that ‖A‖ is rounding itself, and zero where each eigenvalue is known to its own digits.
    """

    values: Array
    vectors: Array
    residuals: Array
    gap: float = np.inf
    beyond: float = np.nan
    solver: str = "dense"
    norm: float = 0.0
    facts: dict = field(default_factory=dict)
    size: float | None = None

    def without_first(self, skip: int) -> Spectrum:
        """The same without its first axes."""
        return replace(self, values=self.values[skip:], vectors=self.vectors[:, skip:], residuals=self.residuals[skip:])

    def ties(self) -> list[slice]:
        """The groups of axes that share an eigenvalue, two or more."""
        return ties_of(self.values, self._level)

    @property
    def _level(self) -> float:
        return self.norm if self.size is None else self.size

    def oriented(self, witness: Callable[[Array], Array] | None = None) -> Spectrum:
        """The same eigenvectors with the signs, and within equal eigenvalues the rotation, that the rule of `orientation` gives them.

        Every axis keeps its eigenvalue. Those that are equal to rounding may differ by a little more than that, and residuals say so.

        Parameters
        ----------
        witness : callable, optional
            ``vectors -> rows``: the axes in coordinates that do not depend on the machine, linear in the vectors. None where those of
            the problem are such.
        """
        seen = self.vectors if witness is None else witness(self.vectors)
        if not self.ties():
            return replace(self, vectors=self.vectors * sign_of(seen))
        return self._turned(orientation_of(self.values, seen, self._level))

    def settled(self, products: Array, witness: Callable[[Array], Array]) -> Spectrum:
        """The same eigenvectors, those of equal eigenvalues turned until `products` is diagonal among them.

        `products` is a Gram matrix of the vectors. A factor of each axis that is a function of its diagonal would otherwise depend on
        the rotation that the solver returned. Signs, and rotations among equal values of the diagonal, are those of `oriented`.
        """
        seen = witness(self.vectors)
        R = np.diag(sign_of(seen))
        for group in self.ties():
            values, turn = dense.eigenpairs(dense.symmetric(products[group, group]), None, "max")
            R[group, group] = turn @ orientation_of(values, seen[:, group] @ turn)
        return self._turned(R)

    def _turned(self, R: Array) -> Spectrum:
        """The vectors times an orthogonal R that mixes those of equal eigenvalues only."""
        apart = (self.values[:, None] - self.values) / (self.norm or 1.0)
        residuals = np.hypot(np.abs(R.T) @ self.residuals, np.linalg.norm(R * apart, axis=0))
        return replace(self, vectors=self.vectors @ R, residuals=residuals)

    def warn_if_degenerate(self, advice: str = "") -> None:
        """Warn when the eigenvalues on both sides of the cut coincide; the advice is general where there is none."""
        if self.gap < TIED:
            d = self.values.size
            warn(
                f"Eigenvalues {d} and {d + 1} coincide ({self.values[-1]:.6g} and {self.beyond:.6g}, relative gap {self.gap:.1e}): "
                f"the {d}-dimensional subspace is not unique, and another machine may return another one. "
                + (advice or f"Ask for {d + 1} components, or change the graph, kernel or regularisation."),
                DegenerateWarning,
            )


def report_resolution(spectrum: Spectrum, advice: str = "") -> None:
    """Say what the solution leaves open, whatever solver found it, and what to do about it.

    A warning where the subspace is not determined, by the problem or by the residual; a note of the axes that share an
    eigenvalue, of which only the span is determined.
    """
    spectrum.warn_if_degenerate(advice)
    values, d = spectrum.values, spectrum.values.size
    residual, distance = spectrum.norm * spectrum.residuals.max(), abs(spectrum.beyond - values[-1])
    if spectrum.gap >= TIED and residual > BLUR * distance:
        warn(
            f"Eigenvalues {d} and {d + 1} ({values[-1]:.6g} and {spectrum.beyond:.6g}) are {distance:.1e} apart, and the residual of "
            f"{spectrum.solver} is {residual:.1e}: it determines the {d}-dimensional subspace to "
            f"{np.degrees(np.arcsin(min(1.0, residual / distance))):.1g}° at best. Ask for another number of components, or use "
            'solver="shift-invert", or "dense" if n allows.',
            DegenerateWarning,
        )
    if ties := spectrum.ties():
        note(tied_axes=[tuple(range(group.start + 1, group.stop + 1)) for group in ties])


def participation(Y: Array, masses: Array | None = None) -> Array:
    """How many points each axis lives on, ``(Σ y²)² / Σ y⁴``: 1 for a single point, n where all weigh alike; masses count as many."""
    squares = (Y / np.maximum(np.max(np.abs(Y), axis=0), np.finfo(float).tiny)) ** 2
    sums = squares if masses is None else squares * masses[:, None]
    return sums.sum(axis=0) ** 2 / np.maximum((sums * squares).sum(axis=0), np.finfo(float).tiny)


def warn_if_localised(Y: Array, masses: Array | None = None) -> Array:
    """The participation of every axis of an embedding of samples, with a warning where one sits on a handful of points."""
    spread, n = participation(Y, masses), len(Y) if masses is None else int(masses.sum())
    few = np.flatnonzero(spread < HANDFUL) if n >= _MANY else np.zeros(0, dtype=int)
    if few.size:
        j = int(few[0])
        heavy = f"row {np.abs(Y[:, j]).argmax()}" + ("" if masses is None else " of the distinct ones, graph_.rows")
        warn(
            f"Axis {j + 1} sits on about {spread[j]:.1f} of the {n} points (heaviest: {heavy}) and says nothing about the "
            "others: such points are hardly tied to the rest. Drop them as outliers, use more neighbours, or ask for more "
            "components and leave this axis out.",
            LocalisationWarning,
        )
    return spread


def warn_if_collapsed(Y: Array) -> None:
    """Warn if many points of an embedding share one place: parts of the graph that are hardly tied to the rest."""
    n = len(Y)  # where Y is the embedding of distinct rows, each counts once
    many, extent = int(np.ceil(_CROWD * n)), np.ptp(Y, axis=0)
    if n < _MANY or not extent.any():
        return
    cells = np.round((Y - Y.min(axis=0)) / np.where(extent > 0, extent, 1.0) / _SPOT)
    for column in cells.T:  # most embeddings have no crowd along some axis, and sorting one axis is quick
        ordered = np.sort(column)
        if np.all(ordered[many - 1 :] > ordered[: n - many + 1]):
            return
    crowd = int(np.unique(cells, axis=0, return_counts=True)[1].max())
    if crowd >= many:
        warn(
            f"{crowd} of the {n} points of the embedding share one place (to {_SPOT:g} of its extent): they are hardly tied to the others "
            "by their neighbours. Use more neighbours, or ask for more components.",
            DegenerateWarning,
        )


def seed_of(random_state: Any) -> Any:
    """A seed for the start vectors; a RandomState is drawn from, None is as good as 0 (the result does not depend on it)."""
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    return 0 if random_state is None else random_state
