"""Inverse regression by slices of the response: means (SIR), covariances (SAVE), both (directional regression); and by curvature (pHd)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_consistent_length

from ..._parameters import Count, attribute
from ..._types import Array, Index, TableLike, VectorLike
from ...data import LazyClasses, Sample, Sufficient
from ...data.y import names_classes, read_numbers
from ...data.y_values import Numbers, all_missing
from ...errors import DimensionError, LabelError
from ...graphs.class_graphs import slices
from ...numerics.eigen import dense
from ...problem import Fitted
from ..base.contract import bounded, features_of
from ..base.streaming import Streaming, add_labelled_rows, adding, go_on, read_block, weights_of_part
from ..base.table import known_as, method
from .inverse_regression import BY_SLICES, Inverse, InverseRegression, Spherical, compared, in_sphere
from .response_slices import LazySlices, Response, SlicedRows, SliceMoments, Slices, check_slices, responses_of, sliced

_TWO_KINDS = "The response was one of {} before and is one of {} now: give all parts the same way."


def slice_means(W: Array, response: Response) -> SliceMoments:
    """Return the means of the rows W in each slice."""
    sums = np.zeros((response.count, W.shape[1]))
    np.add.at(sums, response.codes, W)
    return SliceMoments(response.counts, sums / response.counts[:, None], np.empty(0))


def means_matrix(slices: SliceMoments) -> Array:
    """Return the matrix M of sliced inverse regression."""
    return (slices.means.T * slices.shares) @ slices.means


def _means_chi2(M: Array, response: Slices, moments: Callable[[], SliceMoments]) -> tuple[Array, Index]:
    """Return the statistics and degrees of freedom of Li's test for normal X."""
    m, h = response.counts.sum(), response.count
    d = np.arange(min(len(M), h - 1))
    return m * np.cumsum(dense.eigenvalues(M))[::-1][d], (len(M) - d) * (h - 1 - d)


def _of_means(estimator: SIR, W: Array, response: Response) -> Array:
    check_slices(response, "SIR", covariances=False)
    return means_matrix(slice_means(W, response))


def _moments_from_sums(estimator: SIR, sample: Sample) -> tuple[Spherical, SliceMoments, Array]:
    """Return spherical coordinates, slice means and M from the moments of the slices."""
    basis, sums = features_of(estimator, sample), sample.sums
    bounded(None, basis, 1, None)
    if estimator.n_components == "test" and estimator.ridge is None and basis.dim >= sums.n - 1:
        raise DimensionError(f"{sums.n} rows span {basis.dim} dimensions: the test of directions needs more rows.")
    seen, T = in_sphere(estimator, basis, basis.scatters.everyone, sums.n, not sums.rest.n)
    counts, means = sums.labelled.counts.astype(np.intp), basis.scatters.means
    means = (means - counts @ means / counts.sum()) @ T
    slices = SliceMoments(counts, means, np.empty(0), getattr(sample.y, "edges", None))
    if sample.past is None:
        check_slices(slices, "SIR", covariances=False)
    return seen, slices, means_matrix(slices)


def _with_slices(estimator: SIR, sample: Sample) -> Sample | None:
    """Return the sample with the slices of its response as classes; None if there are several responses."""
    y = estimator._sliced(sample)
    return None if y is None else replace(sample, y=y)


@method("sufficient", "max Cov E[x | slice]", "covariance", "n D min(n, D)", "S3 §3.9.1", "sliced-inverse-regression")
@known_as(
    "Sliced inverse regression",
    "sufficient dimension reduction; sufficient dimensionality reduction; central subspace; inverse regression; "
    "effective dimension reduction; SDR",
    {"kernel='rbf'": "kernel SIR; kernel sliced inverse regression"},
)
class SIR(InverseRegression):
    """Sliced inverse regression.

    .. math:: \\max_V \\operatorname{Tr}\\Bigl(V^T \\sum_h p_h (m_h - \\bar x)(m_h - \\bar x)^T V\\Bigr)
              \\quad \\text{s.t. } V^T \\Sigma V = I

    with :math:`m_h` the mean of the rows whose response falls in slice h, a share :math:`p_h` of all [S3, §3.9.1]. Where X is
    elliptically distributed these axes lie in the central subspace: given them, the response has nothing more to say about X. Use
    it to look at a regression before modelling it. It cannot see what leaves all means where they are, such as ``y = x²``:
    `SAVE`, `DirectionalRegression` and `LAD` can. With classes for a response its axes are those of `LDA`.

    Cost: O(nD min(n, D) + D³) time. For D < n and one response, without `kernel`, `reduce` and `n_permutations`, it is one pass over
    X and O(D²) memory beyond the data: X may be a `numpy.memmap`, of which the fit holds no ``embedding_``, and `partial_fit`
    takes the rows in parts.

    Attributes
    ----------
    slice_edges_ : ndarray
        For one numeric response: its values at which slices begin, without the first slice.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenspan import SIR
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((1000, 5))
    >>> y = np.exp(X[:, 0] + X[:, 1]) + 0.1 * rng.standard_normal(1000)
    >>> sir = SIR("test").fit(X, y)
    >>> abs(sir.components_).round(1)
    array([[0.7, 0.7, 0. , 0. , 0. ]])

    References
    ----------
    [S3] §3.9.1; Li (1991), Sliced inverse regression for dimension reduction.
    """

    n_slices: Count | None = None

    slice_edges_: Array = attribute()

    _sums_suffice: ClassVar[Sufficient | None] = BY_SLICES
    _inverse: ClassVar[Inverse] = Inverse(_of_means, from_sums=_moments_from_sums, chi2=_means_chi2)
    _streaming: ClassVar[Streaming] = Streaming(prepared=_with_slices, takes_weights=False)
    unlabeled = None  # not a parameter: NaN and None mark unknown responses

    def _most(self, slices: list[int], dim: int) -> tuple[int, str | None]:
        most = sum(slices) - len(slices)
        return (most, f"the response has {sum(slices)} slices") if most < dim else (dim, None)

    def _fit(self, sample: Sample) -> Fitted:
        if sample.past is not None:
            return super()._fit(sample)
        y, by_sums = self._sliced(sample), sample.x.one_pass and sample.n > sample.x.values.shape[1] + 1
        if y is None or not by_sums:
            fitted = super()._fit(sample)
        else:
            sample = replace(sample, y=y)
            fitted = super()._fit(sample).having(moments_=sample.sums, n_samples_seen_=sample.sums.n)
        edges = getattr(y, "edges", None)
        return fitted if edges is None else fitted.having(slice_edges_=edges)

    def _sliced(self, sample: Sample) -> SlicedRows | LazySlices | LazyClasses | None:
        """Return the response as slices; None if there are several responses."""
        if sample.x.lazy:
            return sliced(sample.y, self.n_slices, "SIR")
        (response, *others), codes = self._responses(sample), np.full(sample.n, -1)
        codes[sample.y.known] = response.codes
        return None if others else SlicedRows(codes, np.arange(response.count), codes, response.edges)

    @adding
    def partial_fit(
        self,
        X: TableLike,
        y: Any = None,
        classes: VectorLike | None = None,
        *,
        sample_weight: VectorLike | None = None,
    ) -> Self:
        """Add rows to those seen before, by ``fit`` too; slices of a numeric response are those of the first rows.

        For classes the result is that of one ``fit`` to all rows, up to rounding.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (m, n_features)
            Dense or sparse; m may be one, except in the first call with a numeric response, which decides where slices begin.
        y : array-like of shape (m,)
            Responses of these rows, NaN or None where there is none.
        classes : array-like, optional
            Classes to expect, where the response is one of classes: nothing is solved until each has a row.
        sample_weight : None
            Refused: the sums over parts of the rows have no weights.

        Returns
        -------
        self
        """
        edges: Any = vars(self).get("slice_edges_")
        n = len(y) if hasattr(y, "__len__") else 0
        unknown = y is not None and all_missing(y, n, None)
        if names_classes(y) or (unknown and edges is None):
            if edges is not None:
                raise LabelError(_TWO_KINDS.format("numbers", "classes"))
            return add_labelled_rows(self, X, y, classes, sample_weight=sample_weight)
        if np.size(vars(self).get("classes_", ())):
            raise LabelError(_TWO_KINDS.format("classes", "numbers"))
        values = np.full((n, 1), np.nan) if unknown else read_numbers(y, n, "SIR", differ=edges is None)
        X, seen = read_block(self, X)
        weights_of_part(self, sample_weight, X)
        check_consistent_length(X, y)
        if values.shape[1] > 1:
            raise LabelError(f"y has {values.shape[1]} columns: partial_fit takes one response. Use fit for several.")
        begun = edges is not None
        edges = edges if begun else self._edges_of(values)
        codes = np.where(np.isnan(values[:, 0]), -1, slices(values[:, 0], edges))
        before, names = vars(self).get("moments_"), np.arange(edges.size + 1)
        if before is not None and not begun:  # parts without any response have no slices
            before = before.regrouped(names[:0], names.size)
        return go_on(self, before, X, SlicedRows(codes, names, codes, edges), {**seen, "slice_edges_": edges})

    def _edges_of(self, values: Array) -> Array:
        """Return the edges of slices, from the first part that has responses."""
        edges: Any = responses_of(Numbers(values), self.n_slices, "SIR")[0].edges
        if isinstance(self.n_components, int) and self.n_components > edges.size:
            raise DimensionError(
                f"n_components={self.n_components}, but the first rows have {edges.size + 1} slices, whose means span {edges.size} "
                "dimensions: ask for fewer, or give more rows at first."
            )
        return edges


def _spread_matrix(slices: SliceMoments) -> Array:
    """Return the matrix M of sliced average variance estimation."""
    G = np.eye(slices.means.shape[1]) - slices.covariances
    return np.tensordot(slices.shares, G @ G, 1)


def _spread_chi2(M: Array, response: Slices, moments: Callable[[], SliceMoments]) -> tuple[Array, Index]:
    p, U = len(M), dense.eigenpairs(M, None, "max")[1]
    G = U.T @ (np.eye(p) - moments().covariances) @ U
    squares = np.tensordot(response.shares, G**2, 1)
    left = np.array([squares[d:, d:].sum() for d in range(p)])
    sizes = p - np.arange(p)
    return response.counts.sum() / 2 * left, (response.count - 1) * sizes * (sizes + 1) // 2


@method("sufficient", "max E (I − Cov[z | slice])²", "covariance", "n D min(n, D) + slices D³", "S3 §3.9.2")
@known_as("Sliced average variance estimation", "sliced average variance estimator", {"kernel='rbf'": "kernel SAVE"})
class SAVE(InverseRegression):
    """Sliced average variance estimation.

    .. math:: \\max_V \\operatorname{Tr}\\Bigl(V^T \\Sigma^{1/2} \\sum_h p_h (I - C_h)^2\\, \\Sigma^{1/2} V\\Bigr)
              \\quad \\text{s.t. } V^T \\Sigma V = I

    with :math:`C_h` the covariance of the spherical rows :math:`\\Sigma^{-1/2}(x - \\bar x)` in slice h (of :math:`n_h` rows, divisor
    :math:`n_h - 1`), a share :math:`p_h` of all [S3, §3.9.2]. It sees where the response changes the spread of X and not only its mean,
    and so finds symmetric dependence, ``y = x²``, which `SIR` misses; for plain trends it needs more rows than SIR. X should be normal.

    Cost: O(nD min(n, D)) time for the covariances and O(hD³) for h slices, O(nD) memory.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenspan import SAVE
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((1000, 5))
    >>> y = X[:, 0] ** 2 + 0.1 * rng.standard_normal(1000)
    >>> bool(abs(SAVE(1).fit(X, y).components_[0, 1:]).max() < 0.1)
    True

    References
    ----------
    [S3] §3.9.2; Cook & Weisberg (1991), discussion of Li's paper; Shao, Cook & Weisberg (2007), Marginal tests with sliced average
    variance estimation.
    """

    n_slices: Count | None = None

    _sums_suffice: ClassVar[Sufficient | None] = BY_SLICES
    _inverse: ClassVar[Inverse] = compared(_spread_matrix, _spread_chi2)


def directional_matrix(slices: SliceMoments) -> Array:
    """Return the matrix M of directional regression."""
    means, shares = slices.means, slices.shares
    A = slices.covariances + means[:, :, None] * means[:, None, :]
    B = (means.T * shares) @ means
    return 2 * (np.tensordot(shares, A @ A, 1) + B @ B + np.trace(B) * B - np.eye(len(B)))


@method(
    "sufficient",
    "max E (2I − Cov[z − z′ | slices])²",
    "covariance",
    "n D min(n, D) + slices D³",
    "Li & Wang 2007",
    "dr",
)
@known_as("Directional regression", "empirical directions; inverse second moments")
class DirectionalRegression(InverseRegression):
    """Directional regression.

    .. math:: \\max_V \\operatorname{Tr}(V^T \\Sigma^{1/2} M \\Sigma^{1/2} V) \\quad \\text{s.t. } V^T \\Sigma V = I,
              \\qquad M = \\mathbb{E}\\bigl(2I - \\mathbb{E}[(z - z')(z - z')^T \\mid y, y']\\bigr)^2

    over independent pairs of spherical rows :math:`z = \\Sigma^{-1/2}(x - \\bar x)` and responses. With means :math:`m_h` and second
    moments :math:`A_h` of z in slice h, a share :math:`p_h` of all, :math:`M = 2\\sum p_h A_h^2 + 2(\\sum p_h m_h m_h^T)^2
    + 2\\sum p_h m_h^T m_h \\sum p_h m_h m_h^T - 2I`. It sees trends as `SIR` does and changes of spread as `SAVE` does: the one to
    begin with where nothing is known of the response. X should be normal.

    Cost: as `SAVE`.

    Parameters
    ----------
    n_permutations
        Number of permutations of the rows for the tests. 0 means no test, or 199 permutations with ``n_components="test"``.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenspan import DirectionalRegression
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((2000, 5))
    >>> y = X[:, 0] ** 2 + X[:, 1] + 0.1 * rng.standard_normal(2000)
    >>> V = DirectionalRegression(2).fit(X, y).components_
    >>> bool(abs(V[:, 2:]).max() < 0.1)
    True

    References
    ----------
    Li & Wang (2007), On directional regression for dimension reduction.
    """

    n_slices: Count | None = None

    _sums_suffice: ClassVar[Sufficient | None] = BY_SLICES
    _inverse: ClassVar[Inverse] = compared(directional_matrix)
