"""Conformal eigenmaps: combinations of smooth functions that keep the shape of small triangles."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar, Literal

import numpy as np

from ..._diagnostics import note, stage
from ..._parameters import Count, NotNegative, Tolerance, attribute, parameter
from ..._types import Array, Matrix, Sparse
from ...data import Input, Sample
from ...errors import ConvergenceWarning, DegenerateWarning, DimensionError, warn
from ...graphs import Affinity, NeighbourGraph, Weights
from ...numerics.eigen import dense
from ...numerics.sdp.spectrahedron import Minimum, minimise_quadratic, squares_as_halves, to_half
from ...numerics.threads import threads_for
from ...problem import Fitted
from ...problem.dimension_rules import suggested_dimension
from ..base.contract import ToldComponents
from ..base.graph_embedding import GraphEmbedding, Sampled, fit_reduced, pair_distances
from ..base.smooth_functions import distinct_rows, number_of_functions, on_axes_of, with_parameters_of
from ..base.table import SPARSE, known_as, method
from ..laplacian.eigenmaps import LaplacianEigenmaps
from .lle import LLE

#: Default number of eigenvectors.
_EIGENVECTORS = 10
#: Number of values in a block of triangles.
_NUMBERS = 2**20
#: Share of the variance below which an axis of an interior point is zero in the limit.
_NOTHING = 1e-6
#: Maximum number of steps; about 20 are usual.
_STEPS = 100


@method("reconstruction", "min Σ(|Lz|² − s|x|²)²", "Tr L'L = 1", SPARSE, "Sha & Saul 2005", "ce")
@known_as(
    "Conformal eigenmaps",
    "angle-preserving embedding; conformal embedding; conformal component analysis",
    {"base='laplacian'": "conformal Laplacian eigenmaps"},
)
class ConformalEigenmaps(GraphEmbedding):
    """Conformal eigenmaps: the shape of small triangles kept, whatever their size.

    .. math:: \\min_{P \\succeq 0,\\ s \\ge 0} \\sum_i \\sum_{j, k \\sim i}
              \\bigl((z_j - z_k)^T P (z_j - z_k) - s_i \\lVert x_j - x_k \\rVert^2\\bigr)^2 \\quad \\text{s.t. } \\operatorname{Tr} P = 1

    over the pairs of a point and its neighbours: z are the bottom m eigenvectors of `LLE` or of Laplacian eigenmaps, of unit variance,
    and the embedding is :math:`Lz`, :math:`P = L^T L`. Locally linear embedding and eigenmaps leave open how their eigenvectors are
    combined, and show two of them; the right combination of more is the map under which neighbourhoods differ from what they are in the
    data by a turn and a scale [S1, §1.5]. Use it for a sheet of which you want to see true angles: one that was stretched by a conformal
    map, or cannot be flattened without stretching. The spectrum of P tells how many dimensions the sheet has.

    The scales :math:`s_i` are eliminated in closed form, and a quadratic form of the m(m + 1)/2 numbers in P is left: a semidefinite
    program of order m, whatever n, whose optimum is proved by its dual. Eigenvectors of Laplacian eigenmaps are rough where points are
    few: a patch of 3,000 random points keeps its angles to 20° in the median with them, and to less than 1° with those of `LLE`.

    Cost: that of the base for m eigenvectors, O(nk²m⁴) to sum the form, and some 20 steps of O(m⁶).

    Parameters
    ----------
    n_components
        Number of dimensions d of the embedding. ``"auto"`` determines it from the spectrum of P.
    base
        The method whose eigenvectors are combined.
    n_eigenvectors
        m. None means 10, or all if there are fewer. More of them can follow stronger distortions.
    reg
        Ridge on the local Gram matrices, relative to their trace. It has no effect with ``base="laplacian"``.
    weights
        Edge weights of ``base="laplacian"``, as for `LaplacianEigenmaps`. It has no effect with ``base="lle"``.
    disconnected
        What to do if the graph is not connected, or if its neighbour lists have several closed classes (sets of points
        whose neighbours all lie in the same set): add edges and warn; embed the largest strongly connected component, place
        the other points by the map and warn; or raise an error. Without this, a closed class whose points have no other
        link would collapse to a single point.
    extension
        ... It has no effect with ``base="lle"``, which rebuilds new points from their neighbours.
    tol
        Stop when the objective can improve by no more than this share.

    Attributes
    ----------
    distortion_, distortion_bound_ : float
        The objective, relative to that of equal weights on all eigenvectors (P = I/m), and the lower bound that its dual
        proves for every P.
    gap_bound_ : float
        The difference of the two.
    scales_ : ndarray of shape (n_points,)
        s of every point of the graph: the square of the factor by which its neighbourhood is stretched.
    spectrum_ : ndarray of shape (n_eigenvectors,)
        Eigenvalues of P: the shares of the axes in the variance.
    n_components_, n_iter_ : int
        Number of dimensions of the embedding; number of interior-point steps.
    affinity_ : Affinity
        Edge weights and the rule that computed them. Present with ``base="laplacian"``.
    weights_ : csr_array of shape (n_points, n_points)
        Reconstruction weights; each row sums to one. Present with ``base="lle"``.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenspan import ConformalEigenmaps
    >>> z = np.random.default_rng(0).uniform(-0.8, 0.8, (2, 500)).T @ [1, 1j]
    >>> z = np.exp(z)  # a conformal map of a square, rolled up
    >>> X = np.column_stack([np.cos(z.real), np.sin(z.real), z.imag])
    >>> fitted = ConformalEigenmaps("auto").fit(X)
    >>> fitted.n_components_, fitted.gap_bound_ < 1e-6
    (2, True)

    References
    ----------
    Sha & Saul (2005), Analysis and extension of spectral methods for nonlinear dimensionality reduction; [S1] §1.5.
    """

    n_components: ToldComponents = parameter(default=2, kw_only=False)
    base: Literal["lle", "laplacian"] = "lle"
    n_eigenvectors: Count | None = None
    reg: NotNegative = 1e-3
    weights: Weights = "heat"
    extension: Literal["nystrom", "harmonic", "barycentric"] = "nystrom"
    tol: Tolerance = 1e-6

    distortion_: float = attribute()
    distortion_bound_: float = attribute()
    gap_bound_: float = attribute()
    scales_: Array = attribute()
    spectrum_: Array = attribute()
    n_components_: int = attribute()
    n_iter_: int = attribute()
    affinity_: Affinity = attribute()
    weights_: Sparse = attribute()

    _input: ClassVar[Input] = replace(GraphEmbedding._input, pairs=())
    _masses: ClassVar[bool] = False  # the mean and the axes are those of the rows

    def _fit(self, sample: Sample) -> Fitted:
        sampled = Sampled(self.landmarks, self.graph, self.random_state)
        return fit_reduced(sample, (sampled,), self._fit_combination)  # the base applies the other reductions

    def _fit_combination(self, sample: Sample) -> Fitted:
        """Fit the base method and combine its eigenvectors."""
        sample.x.refuse_one_place()
        m = number_of_functions(distinct_rows(sample), self.n_eigenvectors, _EIGENVECTORS)
        _check_count(self.n_components, self.n_eigenvectors, m)
        fitted = self._eigenvectors(m)._fit(sample)
        Z = np.asarray(fitted.embedding)
        graph, points = fitted.attributes["graph_"], sample.x.values
        own, points = (Z, points) if graph.rows is None else (Z[graph.rows], points[graph.rows])
        with stage("triangles"):
            Q, scales = triangle_form(own, points, graph)
        with stage("conformal map"), threads_for(len(Q)):
            found = best_combination(Q, self.tol)
        spectrum = dense.eigenvalues(found.matrix)[::-1]
        d = suggested_dimension(spectrum) if self.n_components == "auto" else int(self.n_components)
        there = min(d, _rank(spectrum, d))
        return on_axes_of(found.matrix, there, self, fitted, Z.mean(axis=0), sample, d).having(
            distortion_=float(found.values[-1]),
            distortion_bound_=float(found.values[-1]) - found.gap,
            gap_bound_=found.gap,
            scales_=scales @ to_half(found.matrix),
            spectrum_=spectrum,
            n_components_=d,
            n_iter_=max(1, found.values.size - 1),
        )

    def _eigenvectors(self, m: int) -> GraphEmbedding:
        """Return the base method, unfitted, for m eigenvectors."""
        if self.base == "lle":
            return with_parameters_of(self, LLE, n_components=m, landmarks=None)
        return with_parameters_of(self, LaplacianEigenmaps, n_components=m, landmarks=None, scale="unit-variance")


def _check_count(n_components: int | str, n_eigenvectors: int | None, m: int) -> None:
    """Refuse more axes than eigenvectors that are combined."""
    if isinstance(n_components, str) or n_components <= m:
        return
    more = "more distinct points" if n_eigenvectors is None and m < _EIGENVECTORS else "more n_eigenvectors"
    raise DimensionError(
        f"n_components={n_components} exceeds {m}, the number of eigenvectors that are combined: use n_components <= {m}, or {more}."
    )


def best_combination(Q: Array, tol: float) -> Minimum:
    """Return the P that minimises the quadratic form Q."""
    found = minimise_quadratic(Q, tol=tol, max_iter=_STEPS)
    note(steps=found.values.size - 1)
    if not found.converged:
        warn(
            f"The conformal map was found with up to {found.gap:.1e} of a distortion of {found.values[-1]:.1e} left to gain after "
            f"{found.values.size - 1} steps (wanted tol={tol:g} of it). Use fewer n_eigenvectors, or a larger tol.",
            ConvergenceWarning,
        )
    return found


def triangle_form(Z: Array, points: Matrix, graph: NeighbourGraph) -> tuple[Array, Array]:
    """Return Q, with ``½ p'Qp`` the objective of P as a share of that of P = I/m, and rows with ``rows @ p`` the scales s_i.

    p is `to_half` of P. For the squared distances d of a neighbourhood and those of Z, ``u = Φp``, the best scale is ``d'u / d'd``, and
    its residual is ``(I − dd'/d'd) Φp``.
    """
    D, m = graph.lists(), Z.shape[1]
    degrees = np.diff(D.indptr)
    Q, rows = np.zeros((m * (m + 1) // 2,) * 2), np.empty((graph.n, m * (m + 1) // 2))
    # Divide by the longest edge, because fourth powers are summed. The graph's own lengths may be in another metric.
    longest = float(pair_distances(points, np.repeat(np.arange(graph.n), degrees), D.indices).max())
    for k in np.unique(degrees[degrees > 0]):
        first, second = np.triu_indices(k + 1, 1)
        alike = np.flatnonzero(degrees == k)
        step = max(1, _NUMBERS // (first.size * len(Q)))
        for part in np.split(alike, np.arange(step, alike.size, step)):
            around = np.column_stack([part, D.indices[D.indptr[part][:, None] + np.arange(k)]])
            i, j = around[:, first], around[:, second]
            d = (pair_distances(points, i.ravel(), j.ravel()).reshape(i.shape) / longest) ** 2
            size = np.maximum(np.linalg.norm(d, axis=1), np.finfo(float).tiny)
            unit = d / size[:, None]
            Phi = squares_as_halves(Z[i] - Z[j])
            along = np.einsum("np,npq->nq", unit, Phi)
            rows[part] = along / size[:, None] / longest**2
            Phi -= unit[:, :, None] * along[:, None, :]
            Phi = Phi.reshape(-1, len(Q))
            Q += Phi.T @ Phi
    alike_all = to_half(np.eye(m) / m)
    return Q / ((0.5 * float(alike_all @ Q @ alike_all)) or 1.0), rows


def _rank(spectrum: Array, d: int) -> int:
    """Return the number of axes with variance. Warn if it is less than d."""
    rank = int(np.sum(spectrum > _NOTHING))
    if d > rank:
        warn(
            f"The conformal map has {rank} dimension{'s' * (rank > 1)}: the other {d - rank} of the {d} axes asked for are zero. The "
            "points lie near a curve, or too few eigenvectors were combined.",
            DegenerateWarning,
        )
    return rank
