"""Inverse regression by slices of the response: means (SIR), covariances (SAVE), both (directional regression); and by curvature (pHd)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_consistent_length

from ..._compat import available_if, fit_context
from ..._diagnostics import stage
from ..._parameters import attribute
from ..._types import TableLike, VectorLike
from ...data import Input, Sample
from ...data.labels import all_missing
from ...data.rows.dask_rows import LazyRows
from ...data.rows.storage import is_tall
from ...data.y import names_classes, read_numbers
from ...data.y_values import Numbers
from ...errors import DimensionError, InputError, LabelError
from ...graphs.class_graphs import slices
from ...numerics.eigen import dense
from ...problem import Fitted, Posed, Scatters, with_ridge
from ..base.streaming import LabelledStreaming, add_labelled, from_sums, kept_sums, read_block, reads_once
from ..base.table import method
from .distributed_slices import sliced
from .inverse_regression import ComparedSlices, SlicedRegression, Spherical, relative_ridge
from .response_slices import Response, SliceMoments, Slices, check_slices, responses_of, table_of

Array = NDArray[np.float64]

_TWO_KINDS = "The response was one of {} before and is one of {} now: give all parts the same way."


@method("sufficient", "max Cov E[x | slice]", "covariance", "n D min(n, D)", "S3 §3.9.1", "sliced-inverse-regression")
class SIR(LabelledStreaming, SlicedRegression):
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

    slice_edges_: Array = attribute()

    _input: ClassVar[Input] = replace(SlicedRegression._input, one_pass=reads_once)
    unlabeled = None  # a class fact, not a parameter: NaN and None are marks enough
    _needs_rows = SlicedRegression._needs_rows

    def _most(self, slices: list[int], dim: int) -> tuple[int, str | None]:
        most = sum(slices) - len(slices)
        return (most, f"the response has {sum(slices)} slices") if most < dim else (dim, None)

    def _matrix(self, W: Array, response: Response) -> Array:
        return means_matrix(W, response)

    def _chi2(self, M: Array, response: Slices, moments: Callable[[], SliceMoments]) -> tuple[Any, Any]:
        return _means_chi2(M, response.counts.sum(), response.count)

    def _fit(self, sample: Sample) -> Fitted:
        if isinstance(sample.x.values, LazyRows):
            return self._fit_lazily(sample)
        responses = self._responses(sample)
        for response in responses:
            check_slices(response, "SIR", covariances=False)
        by_rows = self._needs_rows() is not None or len(responses) > 1
        if by_rows or not is_tall(sample.x.values) or sample.n <= sample.x.values.shape[1] + 1:
            return super(LabelledStreaming, self)._fit(sample)
        codes, (response,) = np.full(sample.n, -1), responses
        codes[sample.y.known] = response.codes
        with stage("moments"):
            fitted = self._fit_scatters(Scatters.of_rows(sample.x.values, codes, response.count))
        return fitted if response.edges is None else fitted.having(slice_edges_=response.edges)

    def _sums_in(self, sample: Sample) -> dict[str, Any]:
        responses = self._responses(sample)
        if len(responses) > 1:  # partial_fit takes one
            return {}
        codes, (response,) = np.full(sample.n, -1), responses
        codes[sample.y.known] = response.codes
        sums = kept_sums(sample.x.values, codes, response.count)
        edges = {} if response.edges is None else {"slice_edges_": response.edges}
        return {"moments_": sums, "n_samples_seen_": sums.n, **edges}

    def _fit_lazily(self, sample: Sample) -> Fitted:
        y = sliced(sample.y, self.n_slices, "SIR")
        with stage("moments"):
            scatters = Scatters.of_classes(sample.x.values, y)
        counts = scatters.counts.astype(np.intp)
        check_slices(SliceMoments(counts, scatters.means, np.empty(0), y.edges), "SIR", covariances=False)
        fitted = self._fit_scatters(scatters)
        return fitted if y.edges is None else fitted.having(slice_edges_=y.edges)

    def _pose_scatters(self, scatters: Scatters) -> Posed:
        sums: Any = scatters.sums
        n, h = sums.n, scatters.counts.size
        if self.n_components == "test" and self.ridge is None and scatters.basis.dim >= n - 1:
            raise DimensionError(
                f"{n} rows span {scatters.basis.dim} dimensions: the test of directions needs more rows."
            )
        seen, M = self._spherical_means(scatters)
        if self.n_components == "test" and not seen.plain:
            raise InputError(
                f"The chi-square test of directions needs a response in every row ({sums.rest.n} have none) and no ridge. Use "
                "n_permutations=199."
            )
        tests = table_of(*_means_chi2(M, n, h)) if seen.plain else None
        return self._posed(seen, M, self._wanted(seen, [h], tests), tests)

    def _spherical_means(self, scatters: Scatters) -> tuple[Spherical, Array]:
        """Return the spherical coordinates and the scatter of the slice means in them, from sums over the rows."""
        sums: Any = scatters.sums
        relative = relative_ridge(self, sums.n, scatters.basis)
        unit = with_ridge(scatters.everyone * (1.0 / sums.n), self.ridge, relative)
        T = dense.scaled_whitener(unit.to_dense())
        M = dense.symmetric(T.T @ scatters.between.to_dense() @ T) / sums.labelled.n
        plain = not (sums.rest.n or self.ridge or relative)
        return Spherical(scatters.basis, unit, unit.to_dense() @ T, plain=plain), M

    @available_if(from_sums)
    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X: TableLike, y: Any = None, classes: VectorLike | None = None) -> Self:
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
            return super().partial_fit(X, y, classes)
        if np.size(vars(self).get("classes_", ())):
            raise LabelError(_TWO_KINDS.format("classes", "numbers"))
        values = np.full((n, 1), np.nan) if unknown else read_numbers(y, n, "SIR", differ=edges is None)
        X, seen = read_block(self, X)
        check_consistent_length(X, y)
        if values.shape[1] > 1:
            raise LabelError(f"y has {values.shape[1]} columns: partial_fit takes one response. Use fit for several.")
        begun = edges is not None
        edges = edges if begun else self._edges_of(values)
        codes = np.where(np.isnan(values[:, 0]), -1, slices(values[:, 0], edges))
        places = np.arange(edges.size + 1 if begun else 0)  # parts without any response have no slices
        return add_labelled(self, X, codes, edges.size + 1, places, {**seen, "slice_edges_": edges})

    def _edges_of(self, values: Array) -> Array:
        """Where slices begin, from the first part that has responses."""
        edges: Any = responses_of(Numbers(values), self.n_slices, "SIR")[0].edges
        if isinstance(self.n_components, int) and self.n_components > edges.size:
            raise DimensionError(
                f"n_components={self.n_components}, but the first rows have {edges.size + 1} slices, whose means span {edges.size} "
                "dimensions: ask for fewer, or give more rows at first."
            )
        return edges


def means_matrix(W: Array, response: Response) -> Array:
    """M of sliced inverse regression."""
    sums = np.zeros((response.count, W.shape[1]))
    np.add.at(sums, response.codes, W)
    means = sums / response.counts[:, None]
    return (means.T * response.shares) @ means


def _means_chi2(M: Array, m: int, h: int) -> tuple[Any, Any]:
    """Of m rows in h slices: Li's test of normal X."""
    d = np.arange(min(len(M), h - 1))
    return m * np.cumsum(dense.eigenvalues(M))[::-1][d], (len(M) - d) * (h - 1 - d)


@method("sufficient", "max E (I − Cov[z | slice])²", "covariance", "n D min(n, D) + slices D³", "S3 §3.9.2")
class SAVE(ComparedSlices):
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

    def _of_slices(self, slices: SliceMoments) -> Array:
        G = np.eye(slices.means.shape[1]) - slices.covariances
        return np.tensordot(slices.shares, G @ G, 1)

    def _chi2(self, M: Array, response: Slices, moments: Callable[[], SliceMoments]) -> tuple[Any, Any]:
        p, U = len(M), dense.eigenpairs(M, None, "max")[1]
        G = U.T @ (np.eye(p) - moments().covariances) @ U
        squares = np.tensordot(response.shares, G**2, 1)
        left = np.array([squares[d:, d:].sum() for d in range(p)])
        sizes = p - np.arange(p)
        return response.counts.sum() / 2 * left, (response.count - 1) * sizes * (sizes + 1) // 2


@method(
    "sufficient",
    "max E (2I − Cov[z − z′ | slices])²",
    "covariance",
    "n D min(n, D) + slices D³",
    "Li & Wang 2007",
    "dr",
)
class DirectionalRegression(ComparedSlices):
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

    def _of_slices(self, slices: SliceMoments) -> Array:
        return directional_matrix(slices)


def directional_matrix(slices: SliceMoments) -> Array:
    """M of directional regression."""
    means, shares = slices.means, slices.shares
    A = slices.covariances + means[:, :, None] * means[:, None, :]
    B = (means.T * shares) @ means
    return 2 * (np.tensordot(shares, A @ A, 1) + B @ B + np.trace(B) * B - np.eye(len(B)))
