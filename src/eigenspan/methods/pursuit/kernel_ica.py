"""Independent components by a kernel measure of dependence."""

from __future__ import annotations

import numpy as np

from ..._diagnostics import note, stage
from ..._parameters import Count, Positive, Tolerance, Whole, attribute
from ..._types import Array
from ...data import Points, Sample
from ...errors import ConvergenceWarning, PrecisionWarning, warn
from ...numerics.descent.stiefel import Descent, minimise_on_stiefel
from ...numerics.threads import one_blas_thread
from ...problem import Fitted
from ...problem.spectrum import seed_of
from ..base.table import known_as, method
from .hsic_contrast import Dependence
from .projection_indices import negentropy
from .projection_pursuit import Search
from .white_directions import WhiteProjection, projected, refuse_few_rows

#: Norm of a gradient that is rounding.
_TINY = 1e-14
#: Share of a kernel matrix that its factor may miss, and mean variance of its features below which it is constant but for rounding.
_MISSED, _CONSTANT = 1e-3, 1e-5


@method("pursuit", "min HSIC of all pairs", "covariance", "n D² q² per step", "S3 §3.1", "kica")
@known_as(
    "Kernel independent component analysis",
    "ICA by HSIC; kernel ICA; independent sources by kernels; contrast function; unmixing",
)
class KernelICA(WhiteProjection):
    """Independent component analysis by a kernel measure of dependence.

    .. math:: \\min_V \\; \\sum_{i < j} \\frac{\\operatorname{Tr}(K_i H K_j H)}{(n - 1)^2} \\quad \\text{s.t. } V^T V = I,
              \\qquad K_i = \\bigl[e^{-(y_{ai} - y_{bi})^2 / 2 \\sigma^2}\\bigr]_{ab}, \\quad Y = Z V

    [S3, §3.1 and §3.6.3] over white rows z: the rotation whose coordinates are least dependent by HSIC, the Hilbert–Schmidt independence
    criterion. HSIC is zero for independent variables only, whatever their distributions, so sources are separated that are
    skewed, bimodal or heavy-tailed alike, without choosing a contrast for them, and outliers matter little. At most one source may be
    normal. `hsic` tests whether the sources found are independent.

    All dimensions are whitened and separated; of the sources, the `n_components` least normal ones by negentropy are returned, in this
    order. The search starts at the directions of `ProjectionPursuit`, rotates pairs of sources to the angle of least dependence, and
    ends with L-BFGS descent on the orthogonal matrices, with analytic gradients. Kernels are represented by incomplete Cholesky
    factors of some q = 20 columns.

    Cost: O(nD²q²) per step of the descent, and for each of D(D − 1)/2 pairs 16 evaluations of O(nq²) per sweep; O(nDq) memory.

    Parameters
    ----------
    n_components
        Number of sources that are returned, at most the rank of X.
    width
        σ of the Gaussian kernel, in units of the standard deviation of a source. A warning says if it is too small (below 0.05 or so)
        or too large for the factors of the kernels.
    sweeps
        Maximum number of sweeps over the pairs of sources; 0 only descends from the directions of projection pursuit.
    tol
        Stop when the norm of the gradient is below this share of the summed HSIC at the start.
    max_iter
        Maximum number of steps of the descent. A warning says if they were too few.

    Attributes
    ----------
    hsic_ : float
        Sum of HSIC over all pairs of sources.
    path_ : ndarray
        This sum at each step of the descent.
    index_values_ : ndarray of shape (n_components,)
        Negentropy of each source, largest first.
    n_iter_ : int
        Number of steps of the descent.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenspan import KernelICA
    >>> rng = np.random.default_rng(0)
    >>> S = np.column_stack([rng.uniform(-1, 1, 500), rng.laplace(size=500)])
    >>> Y = KernelICA(2).fit_transform(S @ [[2.0, 1.0], [1.0, 3.0]])
    >>> matches = np.abs(np.corrcoef(Y.T, S.T)[:2, 2:])
    >>> bool(np.all(matches.max(axis=0) > 0.98))
    True

    References
    ----------
    Bach & Jordan (2002), Kernel independent component analysis; Gretton, Herbrich, Smola, Bousquet & Schölkopf (2005), Kernel methods for
    measuring independence; Shen, Jegelka & Gretton (2009), Fast kernel-based independent component analysis; [S3] §3.1.
    """

    width: Positive = 0.5
    sweeps: Whole = 5
    tol: Tolerance = 1e-4
    max_iter: Count = 100

    hsic_: float = attribute()
    path_: Array = attribute()
    index_values_: Array = attribute()
    n_iter_: int = attribute()

    def _fit(self, sample: Sample[Points, None]) -> Fitted:
        white, rng = self._white(sample), np.random.default_rng(seed_of(self.random_state))
        refuse_few_rows(sample.n, white.dim)
        dependence = Dependence(white.Z, self.width)
        with stage("start"), one_blas_thread():
            V = Search(negentropy, 3, 1e-4, 50).directions(white.Z, white.dim, rng).V
            V = dependence.rotated(V, self.sweeps)
        with stage("descent"), one_blas_thread():
            first = dependence(V)[0]
            run = minimise_on_stiefel(dependence, V, tol=self.tol * first + _TINY, max_iter=self.max_iter)
        note(descent_steps=run.values.size - 1, slope=run.slope)
        _warn_of_unfinished(run, self.max_iter, self.tol)
        _warn_of_width(dependence, run.V)
        values = np.array([negentropy(y)[0] for y in (white.Z @ run.V).T])
        chosen = np.argsort(-values, kind="stable")[: self.n_components]
        fitted, _ = projected(white, run.V[:, chosen])
        return fitted.having(
            hsic_=float(run.values[-1]),
            path_=run.values,
            index_values_=values[chosen],
            n_iter_=max(1, run.values.size - 1),
        )


def _warn_of_width(dependence: Dependence, V: Array) -> None:
    """Warn if the kernels of the sources are too narrow for their factors, or nearly constant."""
    missed, varied = dependence.shares(V)
    if missed > _MISSED or (varied < _CONSTANT and V.shape[1] > 1):
        what, change = ("narrow", "larger") if missed > _MISSED else ("wide", "smaller")
        found = f"miss {missed:.1%} of them" if missed > _MISSED else f"vary by {varied:.1e}"
        warn(
            f"width={dependence.sigma:g} is too {what}: the factors of the kernels {found}, so that hsic_ is not reliable, and the sources "
            f"may not be separated. Use a {change} width=.",
            PrecisionWarning,
        )


def _warn_of_unfinished(run: Descent, max_iter: int, tol: float) -> None:
    if not run.converged:
        warn(
            f"KernelICA's descent stopped after max_iter={max_iter} steps with a gradient of {run.slope:.1e}, above tol={tol:g} "
            f"of the summed HSIC {run.values[0]:.1e} at the start. Raise max_iter, or tol.",
            ConvergenceWarning,
        )
