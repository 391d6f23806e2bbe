"""The solution of a trace problem: eigenvalues, eigenvectors, residuals and gap, in canonical order and sign, and warnings about it.

Eigenvectors have no determined sign, and eigenvectors of equal eigenvalues have no determined rotation: the result of a solver depends on
rounding errors, which differ between processors, BLAS libraries and numbers of threads. The rule here depends on the span of the axes
only, in coordinates that do not depend on the machine (the samples, or the given features).

The *leading row* of the axes is the longest one; rows that are shorter by a factor of less than `EQUAL` count as equally long, and the
first of them leads. The axes are rotated so that the leading row lies along the first axis, on its positive side. The same is repeated
with the components of the rows orthogonal to the first axis. For a single axis this determines the sign: the entry of largest magnitude is
positive (the first one of several that are equal).

The result is a function of the projector onto the span. It is continuous unless a row is shorter than the longest by the factor
``1 − EQUAL`` to within rounding errors. Without a tolerance it would be discontinuous for all data with a symmetry, because several rows
then have equal lengths up to rounding errors. `EQUAL` is far above these errors, also in single precision; its exact value does not matter.
A permutation of the samples permutes the embedding, unless several rows are equally long: then another one may lead, and axes may change
their sign or, if they have equal eigenvalues, their rotation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeAlias

import numpy as np

from .._diagnostics import note
from .._types import Array, RandomState
from ..errors import DegenerateWarning, LocalisationWarning, warn
from ..numerics.eigen import dense

#: What a solver found besides eigenpairs: rank of the unit, ridge added, value of the trace ratio.
Facts: TypeAlias = dict[str, float]

#: Relative distance below which neighbouring eigenvalues are equal.
TIED = 1e-8
#: Relative difference below which two lengths are equal: above rounding errors in single precision and errors of solvers (1e-6).
EQUAL = 1e-4
#: Share of the longest row below which all remaining components are rounding errors.
_NOTHING = 1e-12
#: Largest sine of the angle between the computed and the exact subspace, by its bound, for which the subspace counts as resolved.
BLUR = 1e-2
#: An axis with a participation (see `participation`) below this number of points is localised.
HANDFUL = 3.0
#: Least number of points for warnings about localised axes and crowds.
_MANY = 100
#: Points closer than this share of the extent of an embedding coincide.
_SPOT = 1e-6
#: Least share of coinciding points that is reported.
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
        Distance from the last eigenvalue to the next one, relative to the larger of the two; inf at the end of the spectrum. Below
        `TIED` the problem does not determine the subspace.
    beyond : float
        The next eigenvalue, nan at the end of the spectrum.
    solver : str
        Name of the solver.
    norm : float
        A bound on ‖A‖, the reference for residuals and small eigenvalues.
    facts : dict
        What the solver found besides, such as the rank of the unit or the ridge added to it.
    size : float or None
        Eigenvalues that differ by 1e-14 of this are equal; None means `norm`. It is larger if the objective vanishes on the span of the
        basis, so that ‖A‖ is a rounding error, and zero if every eigenvalue is known to full relative accuracy.
    """

    values: Array
    vectors: Array
    residuals: Array
    gap: float = np.inf
    beyond: float = np.nan
    solver: str = "dense"
    norm: float = 0.0
    facts: Facts = field(default_factory=dict)
    size: float | None = None

    def without_first(self, skip: int) -> Spectrum:
        """Return the spectrum without its first axes."""
        return replace(self, values=self.values[skip:], vectors=self.vectors[:, skip:], residuals=self.residuals[skip:])

    @cached_property
    def ties(self) -> list[slice]:
        """Groups of two or more axes with equal eigenvalues."""
        return ties_of(self.values, self.norm if self.size is None else self.size)

    def oriented(self, witness: Callable[[Array], Array] | None = None) -> Spectrum:
        """Return the eigenvectors with the signs, and within equal eigenvalues the rotation, that `orientation_of` determines.

        Every axis keeps its eigenvalue. Residuals account for small differences among eigenvalues that count as equal.

        Parameters
        ----------
        witness : callable, optional
            ``vectors -> rows``, linear: the axes in coordinates that do not depend on the machine. None means those of the problem.
        """
        seen = self.vectors if witness is None else witness(self.vectors)
        if not self.ties:
            return replace(self, vectors=self.vectors * sign_of(seen))
        return self._turned(orientation_of(self.values, seen, self.norm if self.size is None else self.size))

    def settled(self, products: Array, witness: Callable[[Array], Array]) -> Spectrum:
        """Return the eigenvectors, rotated within equal eigenvalues so that `products` is diagonal among them.

        `products` is a Gram matrix of the vectors. A scale that is a function of its diagonal would otherwise depend on the rotation
        that the solver returned. Signs, and rotations among equal diagonal values, are those of `oriented`.
        """
        seen = witness(self.vectors)
        R = np.diag(sign_of(seen))
        for group in self.ties:
            values, turn = dense.eigenpairs(dense.symmetric(products[group, group]), None, "max")
            R[group, group] = turn @ orientation_of(values, seen[:, group] @ turn)
        return self._turned(R)

    def _turned(self, R: Array) -> Spectrum:
        """Multiply the vectors by an orthogonal R that mixes only those of equal eigenvalues."""
        apart = (self.values[:, None] - self.values) / (self.norm or 1.0)
        residuals = np.hypot(np.abs(R.T) @ self.residuals, np.linalg.norm(R * apart, axis=0))
        return replace(self, vectors=self.vectors @ R, residuals=residuals)


def report_resolution(spectrum: Spectrum, advice: str = "", *, residual: bool = True) -> None:
    """Warn if the subspace is not determined, by the problem or by the residual, and record axes with equal eigenvalues.

    The warning about the problem ends with `advice`. With ``residual=False`` only the problem is checked.
    """
    values, d = spectrum.values, spectrum.values.size
    if spectrum.gap < TIED:
        warn(
            f"Eigenvalues {d} and {d + 1} coincide ({values[-1]:.6g} and {spectrum.beyond:.6g}, relative gap {spectrum.gap:.1e}): "
            f"the {d}-dimensional subspace is not unique, and another machine may return another one. "
            + (advice or f"Ask for {d + 1} components, or change the graph, kernel or regularisation."),
            DegenerateWarning,
        )
    if not residual:
        return
    error, distance = spectrum.norm * spectrum.residuals.max(), abs(spectrum.beyond - values[-1])
    if spectrum.gap >= TIED and error > BLUR * distance:
        warn(
            f"Eigenvalues {d} and {d + 1} ({values[-1]:.6g} and {spectrum.beyond:.6g}) are {distance:.1e} apart, and the residual of "
            f"{spectrum.solver} is {error:.1e}: it determines the {d}-dimensional subspace to "
            f"{np.degrees(np.arcsin(min(1.0, error / distance))):.1g}° at best. Ask for another number of components, or use "
            'solver="shift-invert", or "dense" if n allows.',
            DegenerateWarning,
        )
    if spectrum.ties:
        note(tied_axes=[tuple(range(group.start + 1, group.stop + 1)) for group in spectrum.ties])


def participation(Y: Array, masses: Array | None = None) -> Array:
    """Return the participation of each axis, ``(Σ y²)² / Σ y⁴``: 1 for a single point, n if all are equal; masses are multiplicities."""
    squares = (Y / np.maximum(np.max(np.abs(Y), axis=0), np.finfo(float).tiny)) ** 2
    sums = squares if masses is None else squares * masses[:, None]
    return sums.sum(axis=0) ** 2 / np.maximum((sums * squares).sum(axis=0), np.finfo(float).tiny)


def warn_if_localised(Y: Array, masses: Array | None = None) -> Array:
    """Return the participation of each axis of an embedding of samples; warn about localised axes."""
    points, n = participation(Y, masses), len(Y) if masses is None else int(masses.sum())
    few = np.flatnonzero(points < HANDFUL) if n >= _MANY else np.zeros(0, dtype=int)
    if few.size:
        j = int(few[0])
        heavy = f"row {np.abs(Y[:, j]).argmax()}" + ("" if masses is None else " of the distinct ones, graph_.rows")
        warn(
            f"Axis {j + 1} sits on about {points[j]:.1f} of the {n} points (heaviest: {heavy}) and says nothing about the "
            "others: such points are hardly tied to the rest. Drop them as outliers, use more neighbours, or ask for more "
            "components and leave this axis out.",
            LocalisationWarning,
        )
    return points


def warn_if_collapsed(Y: Array) -> None:
    """Warn if many points of an embedding coincide: their part of the graph has weak edges to the rest."""
    n = len(Y)  # duplicate rows count once
    many, extent = int(np.ceil(_CROWD * n)), np.ptp(Y, axis=0)
    if n < _MANY or not extent.any():
        return
    cells = np.round((Y - Y.min(axis=0)) / np.where(extent > 0, extent, 1.0) / _SPOT)
    for column in cells.T:  # usually decides after one axis, and sorting one axis is fast
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


def seed_of(random_state: RandomState) -> int:
    """Return a seed: 0 for None (results do not depend on it), and a number drawn from a RandomState."""
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    return 0 if random_state is None else random_state


# ---------------------------------------------------------------------- signs and rotations
def sign_of(Y: Array) -> Array:
    """Return ±1 for each column: the sign that makes its entry of largest magnitude (the first of equal ones) positive."""
    if Y.shape[0] == 0:
        return np.ones(Y.shape[1])
    size = np.abs(Y)
    first = (size >= (1 - EQUAL) * size.max(axis=0)).argmax(axis=0)
    return np.where(Y[first, np.arange(Y.shape[1])] < 0, -1.0, 1.0)


def rotation_of(W: Array) -> Array:
    """Return the orthogonal R for which the leading rows of ``W R`` are triangular with a positive diagonal.

    Parameters
    ----------
    W : ndarray of shape (m, g)
        Axes of which only the span is determined: for any orthogonal Q, ``rotation_of(W @ Q)`` is ``Q.T @ rotation_of(W)``.

    Returns
    -------
    ndarray of shape (g, g)
    """
    g = W.shape[1]
    left, R = np.array(W, dtype=np.float64), np.zeros((g, 0))
    longest = 0.0
    for _ in range(g):
        lengths = np.linalg.norm(left, axis=1)
        longest = max(longest, float(lengths.max(initial=0.0)))
        if not lengths.max(initial=0.0) > _NOTHING * longest:  # the rows do not determine the other axes
            beside = np.linalg.qr(R, mode="complete")[0][:, R.shape[1] :]
            return np.column_stack([R, beside])
        r = left[np.argmax(lengths >= (1 - EQUAL) * lengths.max())]
        r = r - R @ (R.T @ r)
        r = r / np.linalg.norm(r)
        left -= np.outer(left @ r, r)
        R = np.column_stack([R, r])
    return R


def relative_gap(last: float, beyond: float, norm: float) -> float:
    """Return the distance of two neighbouring eigenvalues relative to the larger, or zero if it is a rounding error of the matrix."""
    distance = abs(beyond - last)
    if distance <= 1e-14 * norm:
        return 0.0
    return distance / max(abs(last), abs(beyond))


def ties_of(values: Array, norm: float) -> list[slice]:
    """Return the groups of two or more equal eigenvalues of a matrix of this norm."""
    sizes, apart = np.abs(values), np.abs(np.diff(values))  # `relative_gap` of all neighbours
    tied = (apart <= 1e-14 * norm) | (apart < TIED * np.maximum(sizes[1:], sizes[:-1]))
    if not tied.any():
        return []
    groups = np.split(np.arange(values.size), np.flatnonzero(~tied) + 1)
    return [slice(int(group[0]), int(group[-1]) + 1) for group in groups if group.size > 1]


def orientation_of(values: Array, W: Array, norm: float | None = None) -> Array:
    """Return the orthogonal R for which the axes ``W R`` have the signs, and within equal values the rotations, of the rule.

    Parameters
    ----------
    values : ndarray of shape (d,)
        Eigenvalues or singular values of the axes, in their order.
    W : ndarray of shape (m, d)
        The axes in coordinates that do not depend on the machine.
    norm : float, optional
        Norm of the matrix with these values; by default the largest of them.

    Returns
    -------
    ndarray of shape (d, d)
        A diagonal matrix of signs if no values are equal.
    """
    R = np.eye(values.size)
    for group in ties_of(values, float(np.abs(values).max(initial=0.0)) if norm is None else norm):
        R[group, group] = rotation_of(W[:, group])
    return R * sign_of(W @ R)
