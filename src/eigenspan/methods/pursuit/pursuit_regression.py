"""Projection pursuit regression: a response as a sum of smooth functions of projections."""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Real
from typing import Annotated, Any, ClassVar

import numpy as np
import scipy.linalg as la
from sklearn.utils.validation import check_is_fitted

from ..._compat import Interval, RegressorMixin
from ..._diagnostics import note, stage
from ..._parameters import Count, Tolerance, attribute
from ..._types import Array, TableLike
from ...data import Input, Numbers, Points, Sample
from ...data.y import Targets
from ...errors import ConvergenceWarning, warn
from ...numerics.eigen import dense
from ...numerics.penalised_spline import Spline, fit_spline
from ...numerics.threads import one_blas_thread
from ...problem import Fitted
from ...problem.spectrum import seed_of
from ..base.table import besides, known_as
from .white_directions import WhiteProjection, projected

#: Degrees of freedom of a function: 2 is a straight line.
Freedom = Annotated[float, Interval(Real, 2, None, closed="left")]
#: Random directions that are tried for every start, and eigenvectors of the mean Hessian.
_TRIED, _CURVED = 5, 5
#: Steps to improve one direction, and halvings of a step.
_STEPS, _HALVINGS = 20, 8
#: Added to the normal equations of a step, relative to their mean diagonal entry.
_DAMPING = 1e-6


@dataclass(frozen=True, eq=False)
class Ridge:
    """One term: a direction v in white coordinates and smooth functions of ``z'v``, one for each response.

    `values` (n, q) are those of the functions at the rows, and `loss` is the mean squared residual that they leave.
    """

    v: Array
    function: Spline
    values: Array
    loss: float

    @staticmethod
    def of(Z: Array, R: Array, v: Array, df: float) -> Ridge:
        """Return the term along v with the smooth functions fitted to R (n, q)."""
        t = Z @ v
        function = fit_spline(t, R, df)
        values = function(t)
        return Ridge(v, function, values, float(np.mean((R - values) ** 2)))

    def improved(self, Z: Array, R: Array, df: float, tol: float) -> Ridge:
        """Return the term after damped Gauss–Newton steps of its direction, each of which lowers the squared residual."""
        term = self
        for _ in range(_STEPS):
            better = term._step(Z, R, df)
            if better is None:
                return term
            settled, term = term.loss - better.loss <= tol * term.loss, better
            if settled:
                return term
        return term

    def _step(self, Z: Array, R: Array, df: float) -> Ridge | None:
        """Return a term of lower loss near this one; None if there is none."""
        slopes = self.function(Z @ self.v, 1)
        G = (Z.T * np.sum(slopes**2, axis=1)) @ Z
        G.flat[:: len(G) + 1] += _DAMPING * np.trace(G) / len(G) + np.finfo(float).tiny
        change = la.solve(G, Z.T @ np.sum(slopes * (R - self.values), axis=1), assume_a="pos")
        change -= self.v * (self.v @ change)
        for halving in range(_HALVINGS):
            v = self.v + change * 0.5**halving
            moved = Ridge.of(Z, R, v / np.linalg.norm(v), df)
            if moved.loss < self.loss:
                return moved
        return None


@besides(
    "pursuit", "min squares of a sum of ridge functions", "—", "linear", "numbers", "n D² per step", "S3 §3", "ppr"
)
@known_as(
    "Projection pursuit regression",
    "ridge functions; sum of ridge functions; single-index model; multiple-index model; back-fitting; SMART; additive index model",
)
class ProjectionPursuitRegression(RegressorMixin, WhiteProjection):
    """Projection pursuit regression: a sum of smooth functions of projections.

    .. math:: y = a + \\sum_{k=1}^{d} f_k(v_k^T x) + e

    The directions :math:`v_k` and the ridge functions :math:`f_k` minimise the squared residuals [S3, §3]. Use it where a number depends
    on a few linear combinations of many features, in a way that is not known. ``transform`` gives the projections, ``predict`` the
    response, and ``ridge_functions_`` the functions, which show what the dependence looks like. The directions of two terms may
    be correlated: the terms share what they explain. Several responses share the directions; each has functions of its own.

    Terms are added one at a time. A direction is improved by Gauss–Newton steps from the best of several starts (the
    linear regression, the directions of largest curvature, and random ones), with a spline of `df` degrees of freedom as ridge function.
    After each addition, all terms are fitted again in turn to what the others leave (back-fitting). Every step lowers the mean squared
    residual.

    Cost: O(nD² + D³) per Gauss–Newton step, some ten steps for each of `n_restarts` starts and of the terms of each back-fitting round;
    O(nD) memory.

    Parameters
    ----------
    n_components
        Number d of terms.
    df
        Degrees of freedom of each ridge function: 2 is a straight line, and larger values follow more detail.
    n_restarts
        Number of starts of each direction.
    tol
        Stop a search, or back-fitting, when the mean squared residual falls by less than this share.
    max_iter
        Maximum number of rounds of back-fitting after each addition. A warning says if they were too few.

    Attributes
    ----------
    ridge_functions_ : list of Spline
        The functions of the terms: called with an array of projections of shape (m,), each returns values of shape (m, n_targets).
    intercept_ : ndarray of shape (n_targets,)
        a, the mean of the response. The functions have mean zero over the rows.
    y_ndim_ : int
        Number of dimensions of y, which are those of a prediction.
    importances_ : ndarray of shape (n_components,)
        Root mean square of each term over the rows, with every response in units of its standard deviation; largest first.
    path_ : ndarray
        Mean squared residual as a share of the variance of y (mean over the responses): at first, and after every addition and round.
    n_iter_ : int
        Number of rounds of back-fitting.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenspan import ProjectionPursuitRegression
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((400, 5))
    >>> y = np.sin(2 * (X[:, 0] + X[:, 1])) + 0.1 * rng.standard_normal(400)
    >>> model = ProjectionPursuitRegression(1, df=12).fit(X, y)
    >>> bool(model.score(X, y) > 0.95)
    True
    >>> np.abs(model.components_[0] / model.components_[0, 0]).round(1)
    array([1., 1., 0., 0., 0.])

    References
    ----------
    Friedman & Stuetzle (1981), Projection pursuit regression; Friedman (1984), SMART user's guide; [S3] §3.
    """

    df: Freedom = 5.0
    n_restarts: Count = 4
    tol: Tolerance = 1e-4
    max_iter: Count = 50

    ridge_functions_: list[Spline] = attribute()
    intercept_: Array = attribute()
    y_ndim_: int = attribute()
    importances_: Array = attribute()
    path_: Array = attribute()
    n_iter_: int = attribute()

    _input: ClassVar[Input] = replace(WhiteProjection._input, y=Targets())

    def _fit(self, sample: Sample[Points, Numbers]) -> Fitted:
        white, known = self._white(sample), sample.y.known
        y = sample.y.values[known]
        rng = np.random.default_rng(seed_of(self.random_state))
        size = np.abs(y).max(axis=0)
        y = y / np.where(size > 0, size, 1.0)  # squares of very large or small values would leave the range of numbers
        Z, level, unit = white.Z[known], y.mean(axis=0), _deviations(y)
        with stage("regression"), one_blas_thread():
            terms, path, rounds = self._terms(Z, (y - level) / unit, rng)
        level, unit = level * size, unit * size
        terms.sort(key=lambda term: -_size(term.values))
        fitted, sign = projected(white, np.column_stack([term.v for term in terms]))
        functions = [_in_units(term, s, unit) for term, s in zip(terms, sign, strict=True)]
        return fitted.having(
            ridge_functions_=functions,
            intercept_=level,
            y_ndim_=np.asarray(sample.given).ndim,
            importances_=np.array([_size(term.values) for term in terms]),
            path_=np.array(path),
            n_iter_=max(1, rounds),
        )

    def _terms(self, Z: Array, y: Array, rng: np.random.Generator) -> tuple[list[Ridge], list[float], int]:
        """Return the terms, the mean squared residuals on the way, and the number of rounds of back-fitting."""
        terms, path, rounds, left = list[Ridge](), [1.0], 0, y
        for _ in range(self.n_components):
            starts = _first_terms(Z, left, _TRIED * self.n_restarts, self.df, rng)[: self.n_restarts]
            best = min((term.improved(Z, left, self.df, self.tol) for term in starts), key=lambda term: term.loss)
            terms, left = [*terms, best], left - best.values
            path.append(best.loss)
            count, left = self._backfit(Z, terms, left, path)
            rounds += count
        return terms, path, rounds

    def _backfit(self, Z: Array, terms: list[Ridge], left: Array, path: list[float]) -> tuple[int, Array]:
        """Fit the terms in turn to what the others leave, until the residual settles; return the number of rounds and the residual."""
        for count in range(self.max_iter if len(terms) > 1 else 0):
            for k, term in enumerate(terms):
                partial = left + term.values
                again = Ridge.of(Z, partial, term.v, self.df).improved(Z, partial, self.df, self.tol)
                if again.loss < float(np.mean(left**2)):
                    terms[k], left = again, partial - again.values
            path.append(float(np.mean(left**2)))
            if path[-2] - path[-1] <= self.tol * path[-2]:
                note(backfitting_rounds=count + 1)
                return count + 1, left
        if len(terms) > 1:
            warn(
                f"Back-fitting of {len(terms)} terms stopped after max_iter={self.max_iter} rounds while the residual still fell by "
                f"{1 - path[-1] / path[-2]:.1e} a round (wanted tol={self.tol:g}). Raise max_iter, or tol.",
                ConvergenceWarning,
            )
        return self.max_iter * (len(terms) > 1), left

    def predict(self, X: TableLike) -> Array:
        """Predict the response: ``intercept_`` plus the ridge functions of the projections.

        Parameters
        ----------
        X : array-like of shape (n_points, n_features)

        Returns
        -------
        ndarray of shape (n_points,) or (n_points, n_targets)
        """
        check_is_fitted(self)
        Y = np.asarray(self._mapped(X), dtype=np.float64)
        terms = [f(y) for f, y in zip(self.ridge_functions_, Y.T, strict=True)]
        found = self.intercept_ + np.sum(terms, axis=0)
        return np.asarray(found[:, 0] if self.y_ndim_ == 1 else found)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


def _first_terms(Z: Array, left: Array, n_random: int, df: float, rng: np.random.Generator) -> list[Ridge]:
    """Return terms along the linear regressions, the largest curvatures, and random directions; the best first."""
    hessians = [(Z.T * column) @ Z for column in left.T]
    squares = sum((H @ H for H in hessians[1:]), hessians[0] @ hessians[0])
    curved = dense.eigenpairs(dense.symmetric(squares), None, "max")[1][:, :_CURVED]
    linear = dense.singular_vectors(Z.T @ left)[0][:, :_CURVED]
    tried = np.column_stack([linear, curved, Z.T @ rng.standard_normal((len(Z), n_random))])
    lengths = np.linalg.norm(tried, axis=0)
    found = [Ridge.of(Z, left, v / length, df) for v, length in zip(tried.T, lengths, strict=True) if length]
    return sorted(found, key=lambda term: term.loss)


def _size(values: Array) -> float:
    return float(np.sqrt(np.mean(values**2)))


def _deviations(y: Array) -> Array:
    """Return the standard deviation of each response; 1 for a constant one."""
    spread = y.std(axis=0)
    return np.where(spread > 0, spread, 1.0)


def _in_units(term: Ridge, sign: float, unit: Array) -> Spline:
    """Return the functions of a term in the units of y, along the direction times its sign."""
    function = replace(term.function, coef=term.function.coef * unit)  # a spline fit keeps the mean, which is zero
    return function if sign > 0 else function.mirrored()
