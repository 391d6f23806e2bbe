"""Inverse regression: directions of X that a response depends on, found from the distribution of X given the response.

All methods are ``max Tr(V'Σ^½MΣ^½V)  s.t.  V'ΣV = I`` with a matrix M over the spherical rows ``Σ^{−½}(x − mean)``, and differ in M only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from ..._diagnostics import note, stage
from ..._parameters import Tolerance, Whole, attribute, parameter
from ..._types import Array, Index
from ...data import Classes, Input, LazyRows, Numbers, Points, Sample, Sufficient
from ...data.rows.moments import Moments
from ...data.y import Responses
from ...errors import InputError, PrecisionWarning, RidgeWarning, warn
from ...numerics.eigen import dense
from ...numerics.memory import require
from ...problem import Features, Form, Map, Posed, Raw, TraceProblem, with_ridge
from ...problem.forms import centring
from ...problem.spectrum import seed_of
from ..base.contract import Components, FeatureReducer, bounded, features_of
from .response_slices import (
    Response,
    SlicedRows,
    SliceMoments,
    Slices,
    SliceSums,
    check_slices,
    direction_p_values,
    directions_by,
    responses_of,
    slice_moments,
    sliced,
    table_of,
)

if TYPE_CHECKING:
    from pandas import DataFrame

    from .sir import SAVE, DirectionalRegression

#: Ridge, relative to the mean variance, of data with no more rows than dimensions.
_RIDGE = 0.01
#: Number of permutations if a test is needed and there is no chi-square test.
_PERMUTATIONS = 199


@dataclass(frozen=True, eq=False)
class Spherical:
    """The rows that have a response, in coordinates with covariance I.

    Attributes
    ----------
    basis : Features
    unit : Form
        Σ, the covariance of all rows over the coordinates of the basis, with the ridge.
    back : ndarray of shape (r, r')
        A matrix M over the spherical coordinates is ``back M back'`` over those of the basis.
    rows : ndarray of shape (m, r') or None
        None if only statistics of the rows are known.
    plain : bool
        No ridge, kernel or missing response: the theory of the tests holds.
    """

    basis: Features
    unit: Form
    back: Array
    rows: Any = None
    plain: bool = True


def relative_ridge(estimator: FeatureReducer, n: int, basis: Features) -> float:
    """Return the ridge of the covariance of n rows, relative to their mean variance; warn if it is added because n is small."""
    if estimator.ridge is not None or estimator.kernel is not None or basis.dim < n - 1:
        return basis.relative_ridge
    warn(
        f"{n} rows span {basis.dim} dimensions, in which some direction fits any response: {100 * _RIDGE:g} % of the mean variance "
        "were added to every direction. Choose it yourself with ridge=, or keep fewer dimensions with reduce=.",
        RidgeWarning,
    )
    return _RIDGE


def in_sphere(
    estimator: InverseRegression, basis: Features, scatter: Form, n: int, all_known: bool
) -> tuple[Spherical, Array]:
    """Return the coordinates in which the scatter of n rows is n·I, and the matrix that maps those of the basis to them."""
    relative = relative_ridge(estimator, n, basis)
    unit = with_ridge(scatter * (1.0 / n), estimator.ridge, relative)
    T = dense.scaled_whitener(unit.to_dense())
    plain = all_known and estimator.kernel is None and not estimator.ridge and not relative
    return Spherical(basis, unit, unit.to_dense() @ T, plain=plain), T


def spherical_rows(estimator: InverseRegression, sample: Sample) -> Spherical:
    """Return rows in memory, whitened by the covariance of all of them. Cost O(nD min(n, D))."""
    n, known = sample.n, sample.y.known
    # The basis of one pass is built from sums by slices, which have no root; build it from the rows.
    basis = Features.linear(sample.x.values) if sample.x.one_pass else features_of(estimator, sample)
    basis = basis.centred(np.ones(n))
    bounded(None, basis, 1, None)
    require(
        16.0 * n * basis.dim, f"Two {n}×{basis.dim} matrices of coordinates", "Pass reduce=r to keep r principal axes."
    )
    seen, T = in_sphere(estimator, basis, basis.restrict(centring(n)), n, bool(known.all()))
    W = basis.Z[known] @ T
    return replace(seen, rows=W - W.mean(axis=0))


def spherical_sums(estimator: InverseRegression, everyone: Moments, all_known: bool) -> tuple[Spherical, Array]:
    """Return spherical coordinates from the moments of all rows, and the matrix that maps centred features to them."""
    basis = Features.of_moments(everyone)
    bounded(None, basis, 1, None)
    seen, T = in_sphere(estimator, basis, basis.total(), everyone.n, all_known)
    return seen, basis.lifted(T)


def in_coordinates(rows: LazyRows, T: Array, origin: Array) -> LazyRows:
    """Return combinations T of the features of Dask rows about an origin, in the same blocks."""
    return rows.map(Map(Raw(), T, offset=origin), T.shape[1])


def spherical_slices(estimator: SAVE | DirectionalRegression, sample: Sample) -> tuple[Spherical, SliceMoments]:
    """Return spherical coordinates and slice moments of Dask rows, in one pass once the slices are known."""
    y = sliced(sample.y, estimator.n_slices, type(estimator).__name__)
    rows = sample.x.values
    sums = y.reduce(rows, SliceSums.of)
    everyone = sums.everyone if sums.everyone.is_full else sums.everyone.factored(rows)
    seen, T = spherical_sums(estimator, everyone, sums.rest.n == 0)
    if everyone.root is not None:  # Products of the coordinates keep digits that products of the features lose.
        sums, T = y.reduce(in_coordinates(rows, T, everyone.mean), SliceSums.of), np.eye(T.shape[1])
    counts = np.array([part.n for part in sums.slices])
    means = np.array([part.mean for part in sums.slices])
    inside = [T.T @ part.scatter @ T / max(part.n - 1, 1) for part in sums.slices]
    return seen, SliceMoments(
        counts, (means - counts @ means / counts.sum()) @ T, np.array(inside), getattr(y, "edges", None)
    )


#: Parameters for which sums over the rows of each slice suffice: no kernels, principal axes or permutations.
BY_SLICES: Sufficient = {"kernel": None, "reduce": None, "n_permutations": 0}


@dataclass(frozen=True)
class Inverse:
    """The matrix M of a method.

    Attributes
    ----------
    of_rows : callable
        ``(estimator, W, response)``: M over the spherical rows W.
    from_sums : callable or None
        ``(estimator, sample)``: spherical coordinates, moments by slice over them, and M, from statistics of the rows; None if M
        needs the rows themselves.
    chi2 : callable or None
        ``(M, response, moments)``: statistics of the hypotheses of d = 0, 1, … directions and their degrees of freedom; None if
        these are unknown. ``moments()`` returns the moments.
    """

    of_rows: Callable[[Any, Array, Response], Array]
    from_sums: Callable[[Any, Sample], tuple[Spherical, SliceMoments, Array]] | None = None
    chi2: Callable[[Array, Slices, Callable[[], SliceMoments]], tuple[Array, Index]] | None = None


class InverseRegression(FeatureReducer):
    """Base of methods that declare M as `_inverse`, with the distribution of its eigenvalues under the hypotheses.

    Parameters
    ----------
    n_components
        Number of directions. ``"test"`` uses the smallest number that the tests in ``order_tests_`` do not reject. None
        means two, or all if there are fewer.
    level
        Level of the tests behind ``n_components="test"``.
    n_permutations
        Number of permutations of the rows for the tests. 0 means chi-square tests, which are valid for normal X. They are
        not valid with a kernel, a ridge, or several or missing responses: there ``n_components="test"`` uses 199
        permutations.
    ridge
        ε added to the covariance, Σ + εI. None means 0 for features and a small value for kernels; if there are no more
        rows than dimensions that they span, it means 1 % of the mean variance, with a warning.

    Attributes
    ----------
    classes_ : ndarray
        The classes, if the response is text, a category or a boolean.
    order_tests_ : DataFrame
        Statistic, degrees of freedom and p-value for the hypothesis that d directions suffice, d = 0, 1, …. Present if
        there is a test.
    """

    n_components: Components | Literal["test"] | None = parameter(default=None, kw_only=False)
    _untold: ClassVar[str] = 'how many directions the response needs is tested with n_components="test"'
    level: Tolerance = 0.05
    n_permutations: Whole = 0

    classes_: NDArray[Any] = attribute()

    _input: ClassVar[Input] = replace(FeatureReducer._input, y=Responses())
    _inverse: ClassVar[Inverse]

    @property
    def order_tests_(self) -> Any:
        """Data frame with the tests of d = 0, 1, … directions.

        The estimator stores the numbers only, because data frames cannot be saved without pickle.
        """
        if "_order_tests_" not in vars(self):
            raise AttributeError(f"This {type(self).__name__} has no order_tests_: it is not fitted, or tests nothing.")
        return table_of(*vars(self)["_order_tests_"].T)

    def _most(self, slices: list[int], dim: int) -> tuple[int, str | None]:
        """Return the largest number of directions of M for these numbers of slices, and the reason for messages."""
        return dim, None

    def _responses(self, sample: Sample) -> list[Response]:
        """Return the responses, sliced."""
        return responses_of(sample.y, getattr(self, "n_slices", None), type(self).__name__)

    def _pose(self, sample: Sample[Points, Classes | Numbers]) -> Posed:
        responses: Sequence[Slices]
        if sample.x.lazy or isinstance(sample.y, SlicedRows):
            assert self._inverse.from_sums is not None
            seen, slices, M = self._inverse.from_sums(self, sample)
            responses = [slices]
        else:
            responses, seen = self._responses(sample), spherical_rows(self, sample)
            with stage("inverse moments"):
                M = self._pooled(seen.rows, responses)
        tests = self._tests(seen, responses, M)
        return self._posed(seen, M, self._wanted(seen, [response.count for response in responses], tests), tests)

    def _wanted(self, seen: Spherical, slices: list[int], tests: DataFrame | None) -> int:
        """Return the number of axes: as given, as many as there are, or by the tests."""
        most, why = self._most(slices, seen.basis.dim)
        if self.n_components == "test":
            assert tests is not None
            return max(1, min(most, directions_by(tests, self.level)))
        return bounded(self.n_components, seen.basis, most, why, 2) or self.n_components  # type: ignore[return-value]

    def _posed(self, seen: Spherical, M: Array, d: int, tests: DataFrame | None) -> Posed:
        """Pose the problem over the features."""
        if self.kernel is not None and len(seen.rows):
            _warn_of_ridge_axes(seen.rows, M, d)
        A = Form(seen.basis.dim, dense=dense.symmetric(seen.back @ M @ seen.back.T))
        posed = Posed(TraceProblem(A, seen.unit, "max"), seen.basis, axes=d)
        return posed if tests is None else posed.having(_order_tests_=np.asarray(tests, dtype=np.float64))

    def _pooled(self, W: Array, responses: Sequence[Any]) -> Array:
        """Return the mean of M over the responses."""
        return np.mean([self._inverse.of_rows(self, W, response) for response in responses], axis=0)

    def _tests(self, seen: Spherical, responses: Sequence[Any], M: Array) -> DataFrame | None:
        """Return chi-square tests if they are valid and no permutations are asked for, else tests by permutations, if any."""
        moments = partial(slice_moments, seen.rows, responses[0]) if seen.rows is not None else lambda: responses[0]
        chi2 = self._inverse.chi2 if seen.plain and len(responses) == 1 else None
        if chi2 is not None and not self.n_permutations:
            return table_of(*chi2(M, responses[0], moments))
        times = self.n_permutations or (_PERMUTATIONS if self.n_components == "test" else 0)
        if not times:
            return None
        if seen.rows is None:
            raise InputError(
                f"{type(self).__name__} has no chi-square test of directions here, which needs a response in every row and no ridge, and "
                "tests by permutations need all rows at once: pass an array with n_permutations=199, or give the number of directions."
            )
        rng = np.random.default_rng(seed_of(self.random_state))
        with stage("permutations"):
            found = direction_p_values(lambda W: self._pooled(W, responses), seen.rows, times, rng, self.level)
        note(permutations=times)
        return table_of(np.cumsum(dense.eigenvalues(M))[::-1][: found.size], np.nan, found)


def _warn_of_ridge_axes(W: Array, M: Array, d: int) -> None:
    """Warn if an axis of M lies where the spherical rows W have hardly any variance, so that its unit is all ridge."""
    axes = dense.eigenpairs(dense.symmetric(M), d, "max")[1]
    share = float(np.min(np.linalg.norm(W @ axes, axis=0)) / np.linalg.norm(W, 2)) ** 2
    if share < _RIDGE:
        warn(
            f"The points vary along one of the axes by {share:.1g} of what they vary along others, and the ridge makes up the rest of the "
            "unit: all such directions look alike, and rounding decides. Ask for fewer components, or use a larger gamma.",
            PrecisionWarning,
        )


def compared(
    of_moments: Callable[[SliceMoments], Array],
    chi2: Callable[[Array, Slices, Callable[[], SliceMoments]], tuple[Array, Index]] | None = None,
) -> Inverse:
    """Return the matrix of a method that needs only means and covariances of the slices, and so only sums over the rows of each."""

    def of_rows(estimator: InverseRegression, W: Array, response: Response) -> Array:
        check_slices(response, type(estimator).__name__, covariances=True)
        return of_moments(slice_moments(W, response))

    def from_sums(estimator: Any, sample: Sample) -> tuple[Spherical, SliceMoments, Array]:
        with stage("moments"):
            seen, slices = spherical_slices(estimator, sample)
        check_slices(slices, type(estimator).__name__, covariances=True)
        return seen, slices, of_moments(slices)

    return Inverse(of_rows, from_sums=from_sums, chi2=chi2)
