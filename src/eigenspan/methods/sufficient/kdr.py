"""Sufficient dimension reduction with kernels: the projection given which a response is independent of X.

`GradientKDR` finds it from the gradients of a kernel regression, by an eigenproblem; `KDR` starts there and minimises the share of the
response that the projection leaves unexplained.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from ..._diagnostics import note, stage
from ..._parameters import Count, NotNegative, Positive, Tolerance, Verbose, attribute
from ..._types import Array
from ...data import Classes, Input, Numbers, Points, Sample
from ...data.y import ClassLabels, Responses, Targets
from ...errors import ConvergenceWarning, DimensionError, PrecisionWarning, RidgeWarning, warn
from ...graphs import choose_landmarks
from ...numerics.descent.stiefel import Descent, minimise_on_stiefel, retract
from ...numerics.eigen import dense
from ...problem import Features, Form, Posed, TraceProblem, solve
from ...problem.spectrum import seed_of
from ..base.contract import LandmarkRows, SpectralReducer, bounded, to_inputs
from ..base.table import known_as, method
from .conditional_covariance import Regression, median_distance, response_features

if TYPE_CHECKING:
    from .manifold_kdr import ManifoldKDR

#: Largest number of points without landmarks by default, and default number of landmarks.
MANY, LANDMARKS = 2000, 500
#: Advice if the directions of an intermediate step are not unique.
_KEPT = "They are directions kept for the next step: use another steps=."


def read_response(estimator: KernelSufficient | ManifoldKDR) -> ClassLabels | Targets | Responses:
    """Return the reader of y: as classes, as numbers, or by its type."""
    readers: dict[str, ClassLabels | Targets | Responses] = {
        "delta": ClassLabels(),
        "rbf": Targets(),
        "auto": Responses(),
    }
    return readers[estimator.labels]


def default_eps(n: int) -> float:
    """Return ε for n points, which must decrease more slowly than 1/√n [Fukumizu & Leng, theorem 3]."""
    return float(2e-3 * n ** (-1 / 3))


class KernelSufficient(SpectralReducer):
    """Base of `GradientKDR` and `KDR`: whitened points, features of the response, and the regression between them.

    Parameters
    ----------
    labels
        Kernel of the responses: ``"delta"`` is 1 within a class and 0 between classes, ``"rbf"`` is Gaussian in numbers (of
        one or more columns, each scaled to unit variance). ``"auto"`` treats text as classes and numbers as numbers, so
        class codes need ``"delta"``. Rows whose response is NaN or None count only for the scale of X.
    width
        σ of the Gaussian kernel ``exp(−d²/2σ²)`` of the points, in units of their median distance.
    response_width
        σ of the Gaussian kernel of the responses, in units of their median distance.
    eps
        ε of the ridge nε that is added to the kernel matrix of n points. None means 0.002 n^(−1/3).
    landmarks
        Approximate kernels using this many points, or the given ones: O(nm²) instead of O(n³) for m landmarks. None means
        all points up to 2,000, and 500 landmarks if there are more.
    whiten
        Scale X to unit covariance first: the subspace is then equivariant under any change of units and any linear mixing
        of the features. False uses distances as they are, and the axes are orthonormal.
    ridge
        Added to the covariance before whitening. None means 0. If there are so few rows that whitening would make all of
        them equally distant, it means the mean variance, with a warning.

    Attributes
    ----------
    classes_ : ndarray
        The class labels, if y holds classes.
    components_ : ndarray of shape (n_components, n_features)
        Axes in the input space.
    mean_ : ndarray of shape (n_features,)
        The point of the input space that is mapped to the origin of the embedding.
    """

    labels: Literal["auto", "delta", "rbf"] = "auto"
    width: Positive = 0.5
    response_width: Positive = 1.0
    eps: Positive | None = None
    steps: Count | None = None
    landmarks: LandmarkRows = None
    whiten: bool = True
    ridge: NotNegative | None = None
    verbose: Verbose = 0
    reduce: Count | None = None

    classes_: NDArray[Any] = attribute()
    components_: Array = attribute()
    mean_: Array = attribute()

    inverse_transform = to_inputs

    _input: ClassVar[Input] = Input(sparse=True, linear=True, y=read_response)

    def _regression(self, sample: Sample[Points, Classes | Numbers]) -> tuple[Features, Regression]:
        """Return the coordinates of the points, and the regression of the known responses on them."""
        basis, rows = self._coordinates(sample), np.flatnonzero(sample.y.known)
        R = response_features(sample.y, self.response_width)
        eps = default_eps(rows.size) if self.eps is None else float(self.eps)
        note(eps=eps, response_features=R.shape[1], known_responses=rows.size)
        regression = Regression(basis.Z[rows], R, eps, self._landmark_points(basis.Z, rows.size))
        regression.require_memory()
        return basis, regression

    def _coordinates(self, sample: Sample[Points, Classes | Numbers]) -> Features:
        """Return the features, with unit covariance if `whiten`."""
        basis = Features.linear(sample.x.values, reduce=self.reduce, random_state=self.random_state)
        bounded(None, basis, 1, None)
        if self.n_components > basis.dim:
            raise DimensionError(
                f"n_components={self.n_components} exceeds {basis.dim}, the rank of the centred features. Use n_components <= {basis.dim}."
            )
        return whitened(basis, self.ridge) if self.whiten else basis

    def _landmark_points(self, Z: Array, known: int) -> Array | None:
        """Return the landmarks, with responses or without; None for all points."""
        if self.landmarks is None and known <= MANY:
            return None
        wanted = LANDMARKS if self.landmarks is None else self.landmarks
        chosen = choose_landmarks(Z, wanted, random_state=self.random_state)
        note(landmarks=chosen.size)
        return np.asarray(Z[chosen])

    def _successive(self, regression: Regression) -> tuple[Array, Array]:
        """Return orthonormal directions kept by all steps but the last, and the matrix M of gradients along them."""
        r, d = regression.Z.shape[1], self.n_components
        B, M = np.eye(r), np.eye(r)
        for order in orders(r, d, self.steps):
            if order < B.shape[1]:
                B = B @ solve(largest_gradients(M), order, advice=_KEPT).vectors
            moved = regression.along(B)
            with stage("gradients"):
                M = moved.gradients(self.width * median_distance(moved.Z))
        return B, M


def orders(r: int, d: int, steps: int | None) -> list[int]:
    """Return the orders of the eigenproblems from r directions to d: halved at each step, or `steps` orders from r to d + 1."""
    last = min(r, d + 1)
    count = 1 + int(np.ceil(np.log2(r / last))) if steps is None else steps
    sizes = np.rint(np.geomspace(r, last, count)).astype(int) if count > 1 else np.array([r])
    return [int(size) for size in np.unique(sizes)[::-1]]


def whitened(basis: Features, ridge: float | None) -> Features:
    """Return the features in coordinates of unit covariance, ``(Σ + εI)^{−½}`` with the ridge ε."""
    n = basis.Z.shape[0]
    C = basis.Z.T @ basis.Z / n
    values, Q = dense.eigenpairs(dense.symmetric(C), None, "max")
    epsilon = 0.0 if ridge is None else float(ridge)
    if ridge is None and basis.dim >= n - 1:
        epsilon = float(values.mean())
        warn(
            f"{n} rows span {basis.dim} dimensions, as many as they can: whitened, they would all be equally far from each other, whatever "
            f"they are. A ridge of {epsilon:.3g}, the mean variance, was added to their covariance. Choose it yourself with ridge=, keep "
            "fewer principal axes (reduce=), or pass whiten=False.",
            RidgeWarning,
        )
    if epsilon > 0:
        note(ridge=epsilon)
    kept = values + epsilon > values.size * np.finfo(np.float64).eps * values[0]
    if not kept.all():
        warn(
            f"{int(np.sum(~kept))} of {kept.size} directions vary so much less than the first (variance {values[0]:.3g}) that rounding "
            "hides them, and are left out. Bring the columns to similar scales first (StandardScaler), or add a ridge=.",
            PrecisionWarning,
        )
    return basis.along(Q[:, kept] / np.sqrt(values[kept] + epsilon))


def largest_gradients(M: Array) -> TraceProblem:
    """Return ``max Tr(V'MV) s.t. V'V = I``: the directions along which the predicted response changes most."""
    return TraceProblem(Form(len(M), dense=M, psd=True), None, "max")


@method("sufficient", "max gradients of E[k_y | x]", "projection", "n m² + n m D q", "Fukumizu & Leng 2014", "gkdr")
@known_as("Gradient-based kernel dimension reduction", "gradient-based KDR; gradient kernel dimensionality reduction")
class GradientKDR(KernelSufficient):
    """Gradient-based kernel dimension reduction (gKDR).

    .. math:: \\max_V \\operatorname{Tr}(V^T M V) \\;\\text{ s.t. } V^T V = I, \\quad
              M = \\frac1n \\sum_i \\nabla k(x_i)^T (G_X + n\\varepsilon I)^{-1} G_Y (G_X + n\\varepsilon I)^{-1} \\nabla k(x_i)

    over whitened points x, with centred kernel matrices. The objective is the mean squared gradient along V
    of the response features that a kernel ridge regression predicts: directions in which the prediction does not change are not
    needed. Unlike inverse regression it makes no
    assumption about the distribution of X, and finds symmetric dependence and changes of variance. It is one eigenproblem, so it is
    fast and has no local optima; `KDR` starts here and is more accurate.

    Kernels are less informative in many dimensions. Therefore M is computed repeatedly among fewer directions, those kept by the step
    before (gKDR-i): by default each step halves their number.

    Cost: O(n³ + n² D q) for n points with responses and q features of these (ten to forty for one number), or O(nm² + nmDq) with m
    landmarks; O(nm) memory.

    Parameters
    ----------
    steps
        Number of eigenproblems on the way from all directions to `n_components`, each among fewer directions than the one
        before. None halves their number at each; 1 is plain gKDR.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenspan import GradientKDR
    >>> X = np.random.default_rng(0).standard_normal((400, 6))
    >>> y = np.cos(2 * X[:, 0]) + 0.1 * X[:, 5] ** 2
    >>> gkdr = GradientKDR(1).fit(X, y)
    >>> bool(abs(gkdr.components_[0, 0]) > 0.9 * np.linalg.norm(gkdr.components_))
    True

    References
    ----------
    Fukumizu & Leng (2014), Gradient-based kernel dimension reduction for regression; [S3] §3.9.4.
    """

    def _pose(self, sample: Sample[Points, Classes | Numbers]) -> Posed:
        basis, regression = self._regression(sample)
        B, M = self._successive(regression)
        return Posed(largest_gradients(M), basis.along(B))


@method("sufficient", "min Tr G_y (G_x + nεI)⁻¹", "projection", "n³ or n m² per step", "S3 eq. 3.64")
@known_as(
    "Kernel dimension reduction",
    "kernel dimensionality reduction; conditional independence; conditional covariance operator; "
    "kernel methods for sufficient dimension reduction",
)
class KDR(KernelSufficient):
    """Kernel dimension reduction.

    .. math:: \\min_B \\operatorname{Tr}\\bigl[G_Y (G_X^B + n\\varepsilon I)^{-1}\\bigr] \\quad \\text{s.t. } B^T B = I

    [S3, eq. 3.64], with the centred Gaussian kernel matrices of the responses and of the projected (whitened) points :math:`B^T x`:
    the projection that leaves the least share of the response features unexplained. At the minimum the response is
    independent of X given :math:`B^T X`; no distribution of X and no form of dependence is assumed. It is the most accurate of
    the sufficient reductions for a few thousand points, and the slowest.

    The descent begins at `GradientKDR`, with a kernel four times as wide as the last one as a rule, which has fewer local
    optima, and keeps B orthonormal; each step lowers the objective. The axes within the subspace are turned to where the predicted response
    changes most, which gives `eigenvalues_`.

    Cost: O(n³) a step, or O(nm²) with m landmarks, some twenty steps; O(nm) memory.

    Parameters
    ----------
    stages
        Number of descents, each with a kernel half as wide as the one before; the last uses `width`.
    n_starts
        Number of descents from different starts: the first is the result of `GradientKDR`, the others are random. The
        lowest is kept.
    steps
        `steps` of `GradientKDR`, where the descent begins. None halves the number of directions at each.
    tol
        Stop when the norm of the gradient of the unexplained share is below this.
    max_iter
        Maximum number of steps per stage. A `ConvergenceWarning` says if they were too few.

    Attributes
    ----------
    unexplained_ : float
        Share of the response's features that the projection leaves unexplained, between 0 and 1: the objective divided by
        its value for no projection. The ridge counts, so it is positive even if nothing is left.
    n_iter_ : int
        Number of steps of all stages.
    paths_ : list of ndarray
        `unexplained_` at every step of each stage.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenspan import KDR
    >>> X = np.random.default_rng(0).standard_normal((200, 5))
    >>> y = X[:, 0] / (0.5 + (X[:, 1] + 1.5) ** 2)
    >>> kdr = KDR(2).fit(X, y)
    >>> bool(np.abs(kdr.components_[:, 2:]).max() < 0.2)
    True

    References
    ----------
    Fukumizu, Bach & Jordan (2009), Kernel dimension reduction in regression; [S3] §3.9.4.
    """

    stages: Count = 3
    n_starts: Count = 1
    tol: Tolerance = 1e-5
    max_iter: Count = 100

    unexplained_: float = attribute()
    n_iter_: int = attribute()
    paths_: list[Array] = attribute()

    def _pose(self, sample: Sample[Points, Classes | Numbers]) -> Posed:
        basis, regression = self._regression(sample)
        B, M = self._successive(regression)
        first = B @ solve(largest_gradients(M), self.n_components).vectors
        sigma = self.width * median_distance(regression.Z @ first)
        with stage("descent"):
            runs = [self._descend(regression, start, sigma) for start in self._starts(first)]
        best = min(runs, key=lambda run: run[-1].values[-1])
        _report(best[-1], self.tol, self.max_iter)
        M = regression.along(best[-1].V).gradients(sigma)
        posed = Posed(largest_gradients(M), basis.along(best[-1].V))
        return posed.having(
            unexplained_=float(best[-1].values[-1]), paths_=[run.values for run in best], n_iter_=_steps(best)
        )

    def _starts(self, first: Array) -> list[Array]:
        """Return the given start and random ones."""
        rng = np.random.default_rng(seed_of(self.random_state))
        return [first, *(retract(rng.standard_normal(first.shape)) for _ in range(self.n_starts - 1))]

    def _descend(self, regression: Regression, B: Array, sigma: float) -> list[Descent]:
        """Run all stages; only the last one must converge."""
        runs: list[Descent] = []
        for wider in range(self.stages - 1, -1, -1):
            loss, tol = partial(regression.loss, sigma=sigma * 2.0**wider), self.tol * (1 if wider == 0 else 100)
            runs.append(minimise_on_stiefel(loss, B, tol=tol, max_iter=self.max_iter))
            B = runs[-1].V
        return runs


def _steps(runs: list[Descent]) -> int:
    return max(1, sum(run.values.size - 1 for run in runs))


def _report(last: Descent, tol: float, max_iter: int) -> None:
    note(descent_steps=last.values.size - 1, slope=last.slope)
    if not last.converged:
        warn(
            f"KDR's last descent stopped after max_iter={max_iter} steps with a gradient of {last.slope:.1e} (wanted tol={tol:g}): the "
            "subspace is not a minimum yet. Raise max_iter, or tol if that will do; components that the response does not need leave the "
            "objective flat, and fewer of them settle sooner.",
            ConvergenceWarning,
        )
