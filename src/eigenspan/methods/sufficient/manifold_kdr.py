"""Kernel dimension reduction along a manifold: combinations of its smooth functions that predict the response."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from ..._diagnostics import note, stage
from ..._parameters import Count, Positive, Tolerance, attribute, parameter
from ...data import Input, Sample
from ...errors import ConvergenceWarning, DimensionError, warn
from ...graphs import Affinity, Weights
from ...numerics.eigen.dense import eigenvalues
from ...numerics.sdp.spectrahedron import Minimum, minimise_on_spectrahedron
from ...problem import Fitted
from ..base.contract import Components
from ..base.graph_embedding import GraphEmbedding
from ..base.smooth_functions import distinct_rows, number_of_functions, on_axes_of, with_parameters_of
from ..base.table import SPARSE, known_as, method
from ..laplacian.eigenmaps import LaplacianEigenmaps
from .conditional_covariance import response_features
from .kdr import default_eps, read_response

Array = NDArray[np.float64]

#: Default number of functions of the manifold.
_FUNCTIONS = 30
#: Share of the trace of Ω that an axis must have to count as one.
_AXIS = 1e-6


@method("sufficient", "min Tr G_y (UΩU' + nεI)⁻¹", "Tr Ω = 1", SPARSE, "Nilsson et al. 2007", "mkdr")
@known_as(
    "Manifold kernel dimension reduction",
    "manifold kernel dimensionality reduction; manifold KDR; regression on manifolds by kernel dimension reduction",
)
class ManifoldKDR(GraphEmbedding):
    """Manifold kernel dimension reduction.

    .. math:: \\min_\\Omega \\operatorname{Tr}\\bigl[G_Y (U \\Omega U^T + n\\varepsilon I)^{-1}\\bigr]
              \\quad \\text{s.t. } \\Omega \\succeq 0,\\; \\operatorname{Tr} \\Omega = 1

    [S3, §3.9.4]: `KDR` where the points lie on a curved sheet. U has the leading coordinates of Laplacian eigenmaps, of unit variance; a
    linear kernel of the sought combinations Φ of them, :math:`\\Omega = \\Phi^T \\Phi`, takes the place of the Gaussian kernel of projected
    points. The embedding is :math:`U \\Phi^T`: nonlinear in X, and along the directions of the manifold that tell most of the
    response. The problem is convex, and `gap_bound_` says how far from its minimum the answer can be.

    Cost: that of `LaplacianEigenmaps` for `n_functions` coordinates, then O(n_functions³) a step, whatever n.

    Parameters
    ----------
    n_components
        Number of axes of Φ, largest first. None means two, or fewer if the response needs fewer. More than it needs are
        refused.
    n_functions
        Number of coordinates of Laplacian eigenmaps that Φ combines. None means 30, or all if there are fewer.
    labels
        Kernel of the responses: ``"delta"`` is 1 within a class and 0 between classes, ``"rbf"`` is Gaussian in numbers (of
        one or more columns, each scaled to unit variance). ``"auto"`` treats text as classes and numbers as numbers, so
        class codes need ``"delta"``. Rows whose response is NaN or None count only for the scale of X.
    response_width
        σ of the Gaussian kernel of the responses, in units of their median distance.
    eps
        ε of the ridge nε that is added to the kernel matrix of n points. None means 0.002 n^(−1/3).
    tol
        Stop when the best Ω could explain no more than this further share of the response's features. The error of the axes
        is about its square root.
    max_iter
        Maximum number of steps. A `ConvergenceWarning` says if they were too few.

    Attributes
    ----------
    affinity_ : Affinity
        Edge weights (``affinity_.W``) and the rule that computed them.
    unexplained_ : float
        Share of the response's features that is left unexplained, between 0 and 1.
    n_iter_ : int
        Number of steps.
    path_ : ndarray
        `unexplained_` at every step.
    gap_bound_ : float
        Upper bound on what the best Ω could still take off `unexplained_`.
    classes_ : ndarray
        The class labels, if y holds classes.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_swiss_roll
    >>> from eigenspan import ManifoldKDR
    >>> X, t = make_swiss_roll(400, random_state=0)
    >>> mkdr = ManifoldKDR(1).fit(X, t)
    >>> bool(abs(np.corrcoef(mkdr.embedding_[:, 0], t)[0, 1]) > 0.95)
    True

    References
    ----------
    Nilsson, Sha & Jordan (2007), Regression on manifolds using kernel dimension reduction; [S3] §3.9.4.
    """

    n_components: Components | None = parameter(default=None, kw_only=False)
    n_functions: Count | None = None
    weights: Weights = "heat"
    extension: Literal["nystrom", "harmonic", "barycentric"] = "nystrom"
    labels: Literal["auto", "delta", "rbf"] = "auto"
    response_width: Positive = 1.0
    eps: Positive | None = None
    tol: Tolerance = 1e-12
    max_iter: Count = 5000

    unexplained_: float = attribute()
    n_iter_: int = attribute()
    path_: Array = attribute()
    gap_bound_: float = attribute()
    classes_: NDArray[Any] = attribute()
    affinity_: Affinity = attribute()

    _input: ClassVar[Input] = replace(GraphEmbedding._input, y=read_response)
    _masses: ClassVar[bool] = False  # the mean and the axes are those of the rows

    def _fit(self, sample: Sample) -> Fitted:
        n = distinct_rows(sample, self)
        count = number_of_functions(n, self.n_functions, _FUNCTIONS)
        scaled = {"n_components": count, "scale": "unit-variance"}
        fitted = with_parameters_of(self, LaplacianEigenmaps, **scaled)._fit(sample)
        U, known = np.asarray(fitted.embedding), sample.y.known
        centre = U[known].mean(axis=0)
        R = response_features(sample.y, self.response_width)
        with stage("combinations"):
            found = self._combine(U[known] - centre, R)
        placed = on_axes_of(found.matrix, self._axes(found.matrix), self, fitted, centre, sample)
        return placed.having(
            unexplained_=float(found.values[-1]),
            path_=found.values,
            n_iter_=max(1, found.values.size - 1),
            gap_bound_=found.gap,
        )

    def _combine(self, U: Array, R: Array) -> Minimum:
        """Return the optimal Ω; the cost of a step does not depend on n."""
        n, M = U.shape
        eps = default_eps(n) if self.eps is None else float(self.eps)
        unexplained = Unexplained(U.T @ U, U.T @ R, float(np.sum(R * R)), n * eps)
        found = minimise_on_spectrahedron(unexplained, np.eye(M) / M, tol=self.tol, max_iter=self.max_iter)
        note(steps=found.values.size - 1, eps=eps, response_features=R.shape[1])
        if not found.converged:
            warn(
                f"ManifoldKDR stopped after {found.values.size - 1} steps (max_iter={self.max_iter}) with up to {found.gap:.1e} of the "
                f"response left to gain (wanted tol={self.tol:g}). Raise max_iter, or tol if that will do.",
                ConvergenceWarning,
            )
        return found

    def _axes(self, omega: Array) -> int:
        """Return the number of axes; raise if Ω has fewer than asked for."""
        found = int(np.sum(eigenvalues(omega) > _AXIS))
        wanted: Any = self.n_components
        if wanted is not None and wanted > found:
            raise DimensionError(
                f"n_components={wanted}, but the response needs only {found} combination(s) of the {len(omega)} functions of the manifold: "
                f"Ω has no further axes. Use n_components <= {found}, or a smaller eps."
            )
        return min(2, found) if wanted is None else int(wanted)


@dataclass(frozen=True, eq=False)
class Unexplained:
    """``nε Tr[RR'(UΩU' + nεI)⁻¹] / Tr RR'`` and its gradient in Ω, from ``S = U'U`` and ``C = U'R`` alone. Convex."""

    S: Array
    C: Array
    size: float
    ridge: float

    def __call__(self, omega: Array) -> tuple[float, Array]:
        A = np.linalg.solve(self.S @ omega + self.ridge * np.eye(len(omega)), self.C)  # U'(UΩU' + nεI)⁻¹R
        return 1.0 - float(np.sum(self.C * (omega @ A))) / self.size, -(self.ridge / self.size) * (A @ A.T)
