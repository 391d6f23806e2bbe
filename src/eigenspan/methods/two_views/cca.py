"""Canonical correlation analysis of two tables over the same points."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..._parameters import ArrayLike, Count, NotNegative, Seed, attribute
from ..._types import Array, Matrix, RandomState, TableLike, VectorLike
from ...data import Input, Points, Sample, Sufficient
from ...data.other_views import OtherView
from ...data.read import embedded_points
from ...data.rows.joint_moments import JointMoments
from ...data.rows.storage import in_precision_of
from ...errors import InputError
from ...problem.fitted import Fitted
from ...problem.map import Map
from ...problem.white_views import View, Views
from ..base.contract import Linear
from ..base.streaming import Streaming, plain_partial_fit
from ..base.table import known_as, method
from .significance import pair_p_values, wilks_table
from .variates import JOINTLY, TwoViews, is_vector, pairs_for, ridges_of, white_views

#: Advice in messages.
_RIDGE = "Pass ridge= (0.1, say), keep few principal axes of each view with reduce=, or use more rows."


@method("two views", "max X'Y", "covariance of each view", "n D² + D³", "S3 §3.6")
@known_as(
    "Canonical correlation analysis",
    "canonical correlations; canonical variates of two views; Hotelling's CCA; two views; paired data",
)
class CCA(TwoViews):
    """Canonical correlation analysis.

    .. math:: \\max_{w, v}\\; w^T C_{xy} v \\quad \\text{s.t. } w^T (C_{xx} + \\rho_x I) w = v^T (C_{yy} + \\rho_y I) v = 1

    Pairs of directions, one in each of two tables over the same points, along which the tables agree best; each next pair is
    uncorrelated with those before [S3, §3.6]. Without a ridge the variates do not change under any invertible affine map of either
    table: neither scaling nor whitening them first makes a difference. Use it to find what two sets of measurements have in common, to
    predict one from the other through few directions, or to find in one view what was seen in the other (`retrieve`).

    Solved by the singular values of the cross-covariance of the two whitened tables, each in its own row space, for any number of rows
    and columns. With as many dimensions in the two views together as there are rows, correlations of 1 are found in any data, and a warning
    says so.

    Cost: O(n(D_x² + D_y²)) for up to four million numbers in memory, by singular values of the tables; of more, of sparse tables and of
    memory-mapped files one pass that sums their joint scatter, O((D_x + D_y)²) memory. `partial_fit` takes the rows in parts. A
    table with at least as many columns as rows is known by the n×n products of its rows, and stays sparse if it is.

    Parameters
    ----------
    n_components
        Number of pairs of variates, at most the dimension of the smaller view. None means two, or one if there is only one.
    ridge : float or pair of floats
        ρ of each view, relative to the mean variance of its columns that vary: 0.1 adds a tenth of that to the variance of
        every direction. Standardise columns of different units first.
    reduce
        Number of principal axes of each view to keep first, as in a pipeline after PCA; `ridge` is then relative to the
        mean variance along these axes. None keeps the views as they are.

    Attributes
    ----------
    correlations_ : ndarray of shape (n_components,)
        Correlation of the two variates of each pair over the training points.
    spectrum_ : ndarray
        All canonical correlations, of which the first are kept (with a ridge, ``eigenvalues_`` of all pairs).
    eigenvalues_ : ndarray of shape (n_components,)
        The maximised value: ``correlations_``, or less if a ridge counts in the unit.
    x_weights_, y_weights_ : ndarray of shape (n_features, n_components), (n_targets, n_components)
        Variates are ``(X − x_mean_) @ x_weights_`` and ``(y − y_mean_) @ y_weights_``, of unit variance without a ridge.
    x_rotations_, y_rotations_ : ndarray of shape (n_features, n_components), (n_targets, n_components)
        scikit-learn's names for ``x_weights_`` and ``y_weights_``.
    x_loadings_, y_loadings_ : ndarray of shape (n_features, n_components), (n_targets, n_components)
        Change of the columns of a view per unit of its variates: the least-squares patterns behind `inverse_transform`.
    y_on_x_, x_on_y_ : ndarray of shape (n_components, n_targets), (n_components, n_features)
        Least-squares coefficients of each view on the variates of the other, behind `predict` and `predict_x`.
    x_mean_, y_mean_ : ndarray
        Column means.
    components_, mean_ : ndarray
        ``x_weights_.T`` and ``x_mean_``, under the names that all linear methods have.
    ranks_ : tuple of int
        Dimensions of the two views.
    y_features_in_, y_ndim_ : int
        Number of columns of y; 1 if y was a vector, else 2.
    n_samples_ : int
        Number of rows.
    moments_ : JointMoments
        Means and joint scatter matrix of the rows so far, to which `partial_fit` adds.
    embedding_, y_embedding_ : ndarray of shape (n_samples, n_components)
        Variates of the training points. Absent if the rows were read from a file or in parts.
    map_, y_map_ : Map
        The functions behind ``transform``.
    diagnostics_ : dict
        Seconds per stage, dimensions of the views, columns that are constant.

    Examples
    --------
    >>> from sklearn.datasets import load_linnerud
    >>> from eigenspan import CCA
    >>> X, Y = load_linnerud(return_X_y=True)
    >>> cca = CCA().fit(X, Y)
    >>> cca.correlations_.round(3)
    array([0.796, 0.201])
    >>> x_scores, y_scores = cca.transform(X, Y)
    >>> cca.significance()["p_F"].round(3).tolist()
    [0.064, 0.949, 0.775]

    References
    ----------
    Hotelling (1936), Relations between two sets of variates; Vinod (1976), Canonical ridge and econometrics of joint production.
    """

    ridge: NotNegative | ArrayLike = 0.0
    reduce: Count | None = None
    random_state: Seed = 0

    correlations_: Array = attribute()
    spectrum_: Array = attribute()
    eigenvalues_: Array = attribute()
    x_weights_: Array = attribute()
    y_weights_: Array = attribute()
    x_rotations_: Array = attribute()
    y_rotations_: Array = attribute()
    x_loadings_: Array = attribute()
    y_loadings_: Array = attribute()
    y_on_x_: Array = attribute()
    x_on_y_: Array = attribute()
    x_mean_: Array = attribute()
    y_mean_: Array = attribute()
    components_: Array = attribute()
    mean_: Array = attribute()
    ranks_: tuple[int, int] = attribute()
    y_features_in_: int = attribute()
    y_ndim_: int = attribute()
    n_samples_: int = attribute()
    moments_: JointMoments = attribute()
    y_embedding_: Array = attribute()
    y_map_: Map = attribute()

    _input: ClassVar[Input] = Input(y=OtherView(sparse=True, one_pass=True), sparse=True, linear=True)
    _sums_suffice: ClassVar[Sufficient | None] = {"reduce": None}
    _streaming: ClassVar[Streaming] = JOINTLY

    partial_fit = plain_partial_fit

    def _fit(self, sample: Sample[Points, Points]) -> Fitted:
        past = sample.past
        if past is not None:
            return self._conclude(white_views(self, sample), past.flat)
        return self._conclude(white_views(self, sample), is_vector(sample.given), sample.y.values)

    def _conclude(self, views: Views, flat: bool, Y: Matrix | None = None) -> Fitted:
        """Return the fit; `flat` if y was a vector, and Y for the type of its variates."""
        fitted, U, V, values = self._fit_pairs(views, any(ridges_of(self.ridge, 2)), _RIDGE)
        x, y = views[0], views[1]
        C = views.cross(0, 1)
        fitted = fitted.having(spectrum_=values, ranks_=views.ranks, y_features_in_=y.basis.offset.size)
        if views.joint is not None:
            fitted = fitted.having(moments_=replace(views.joint, flat=flat), n_samples_seen_=views.n)
        two = y.embed(V)
        if fitted.embedding is not None and two is not None and Y is not None:
            fitted = fitted.having(y_embedding_=in_precision_of(Y, two))
        named = {**_described("x", x, U, fitted.map), **_described("y", y, V, fitted.attributes["y_map_"])}
        found = {"components_": fitted.map.coef.T, "mean_": fitted.map.offset}
        found |= {"y_on_x_": _toward(x, U, C, y), "x_on_y_": _toward(y, V, C.T, x), "y_ndim_": 1 if flat else 2}
        return fitted.having(**named, **found)

    # ------------------------------------------------------------------ prediction and reconstruction
    def predict(self, X: TableLike) -> Array:
        """Predict the other view from the first by least squares on its variates.

        With all pairs and no ridge it is the linear regression of y on X; with fewer, that of reduced rank.

        Parameters
        ----------
        X : array-like of shape (n_points, n_features)

        Returns
        -------
        ndarray of shape (n_points, n_targets), or (n_points,) where y was a vector
        """
        Z = self._mapped(X)
        found = in_precision_of(Z, Z @ self.y_on_x_ + self.y_mean_)
        return found[:, 0] if self.y_ndim_ == 1 else found

    def predict_x(self, y: TableLike | VectorLike) -> Array:
        """Predict the first view from the other by least squares on its variates.

        Parameters
        ----------
        y : array-like of shape (n_points, n_targets) or (n_points,)

        Returns
        -------
        ndarray of shape (n_points, n_features)
        """
        Z = self._transform_other(y)
        return in_precision_of(Z, Z @ self.x_on_y_ + self.x_mean_)

    def inverse_transform(self, X: TableLike, y: TableLike | None = None) -> Array | tuple[Array, ...]:
        """Reconstruct rows of a view from their variates by least squares over the training points.

        Parameters
        ----------
        X : array-like of shape (n_points, n_components)
            Variates of the first view.
        y : array-like of shape (n_points, n_components), optional
            Variates of the other.

        Returns
        -------
        ndarray of shape (n_points, n_features), or a pair of them where y is given
        """
        check_is_fitted(self)
        sides = [(X, self.x_loadings_, self.x_mean_)] + ([] if y is None else [(y, self.y_loadings_, self.y_mean_)])
        out = []
        for Z, loadings, mean in sides:
            back = Linear(loadings.T, mean)
            out.append(embedded_points(Z, loadings.shape[1]).images(back, back.width))
        return out[0] if y is None else tuple(out)

    # ------------------------------------------------------------------ significance
    def significance(self) -> Any:
        """Test every pair and those after it, for normal variates: Wilks' lambda, Bartlett's χ² and Rao's F.

        The hypothesis of row k is that pairs k, k + 1, … are uncorrelated. Use `permutation_test` with a ridge, with few rows or
        with heavy tails.

        Returns
        -------
        pandas.DataFrame
            A row for each canonical correlation: ``correlation``, ``wilks_lambda``, ``chi2``, ``chi2_df``, ``p_chi2``, ``F``, ``df_num``,
            ``df_den``, ``p_F``.
        """
        check_is_fitted(self)
        if any(ridges_of(self.ridge, 2)):
            raise InputError("Wilks' lambda has no known distribution with a ridge: use permutation_test(X, y).")
        return wilks_table(self.spectrum_, self.n_samples_, *self.ranks_)

    def permutation_test(
        self, X: TableLike, y: TableLike | VectorLike, n_permutations: int = 999, random_state: RandomState = 0
    ) -> Array:
        """Return p-values of the pairs from random orders of the rows of y.

        For each pair the pairs before it are removed from both views first; the statistic is Wilks' lambda of the remainder, and no
        p-value is smaller than that of the pair before (Winkler et al. 2020). Rows must be exchangeable: no time series.

        Parameters
        ----------
        X, y : array-like
            The two views, of the same points.
        n_permutations : int, default=999
        random_state : int, RandomState or None, default=0

        Returns
        -------
        ndarray of shape (n_components,)
            At least 1/(n_permutations + 1).
        """
        views = white_views(self, self._read_sample(X, y)[0])
        if views.surplus and not any(ridges_of(self.ridge, 2)):
            raise InputError(
                f"The views have {views.ranks[0]} and {views.ranks[1]} dimensions and there are {views.n} rows: every order of the rows "
                f"has correlations of 1, and no test can tell them apart. {_RIDGE}"
            )
        return pair_p_values(views, pairs_for(self.n_components, views.ranks), n_permutations, random_state)


def _described(side: str, view: View, U: Array, map_: Map) -> dict[str, Array]:
    """Return weights, loadings and mean of one view."""
    loadings = view.patterns((view.kept[:, None] * U) @ np.linalg.inv(view.variances(U)))
    weights = {f"{side}_{name}_": map_.coef for name in ("weights", "rotations")}
    return {**weights, f"{side}_loadings_": loadings, f"{side}_mean_": map_.offset}


def _toward(view: View, U: Array, C: Array, other: View) -> Array:
    """Return least-squares coefficients of the columns of the other view on the variates U; C is the covariance in white coordinates."""
    B = np.asarray(np.linalg.solve(view.variances(U), U.T @ C), dtype=np.float64)
    return other.patterns(B.T).T
