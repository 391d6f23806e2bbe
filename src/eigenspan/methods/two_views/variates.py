"""Base classes of methods of several views: pairs of variates, their maps, retrieval and scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from numbers import Integral
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..._diagnostics import note
from ..._parameters import parameter
from ..._types import Array, Index, Matrix, TableLike, TargetLike, VectorLike
from ...data import Sample
from ...data.other_views import view_names
from ...data.read import points_of_view
from ...data.rows.block_passes import blocks
from ...data.rows.joint_moments import JointMoments
from ...errors import DegenerateWarning, DimensionError, InputError, warn
from ...numerics.eigen import dense
from ...problem.fitted import Fitted
from ...problem.map import Map, Raw
from ...problem.spectrum import Spectrum, orientation_of, relative_gap, report_resolution
from ...problem.white_views import View, Views
from ..base.contract import Components, Reducer
from ..base.streaming import Streaming, TooFewRowsError

if TYPE_CHECKING:
    from .cca import CCA
    from .multiview_cca import MultiviewCCA

#: Canonical correlation up to which it is rounding.
_NONE = 1e-13


def _joint_moments(
    estimator: CCA | MultiviewCCA, X: Matrix, y: object, seen: int = 0, before: JointMoments | None = None
) -> JointMoments:
    reader: Any = estimator._accepted().y
    others = reader.read(y, X.shape[0], name=type(estimator).__name__, unlabeled=None)
    tables = (X, *(view.values for view in (others if isinstance(others, tuple) else (others,))))
    if before is not None:
        return before.factored(tables)
    return replace(JointMoments.of(tables, view_names(len(tables))), flat=is_vector(y))


def _joint_digits(estimator: CCA | MultiviewCCA, total: JointMoments) -> bool:
    return total.suffices(ridges_of(estimator.ridge, len(total.widths)))


#: The joint scatter of the columns of all views, for ``partial_fit``.
JOINTLY = Streaming(_joint_moments, keeps_digits=_joint_digits, takes_weights=False)


def white_views(estimator: CCA | MultiviewCCA, sample: Sample) -> Views:
    """Return the views in white coordinates, from the rows or from their joint scatter."""
    sums = sample.past
    if sums is None:
        points = (sample.x, *(sample.y if isinstance(sample.y, tuple) else (sample.y,)))
        names, ridges = view_names(len(points)), ridges_of(estimator.ridge, len(points))
        return Views.of(points, names, ridges, reduce=estimator.reduce, random_state=estimator.random_state)
    ridges = ridges_of(estimator.ridge, len(sums.widths))
    if all(sums.alone(i).live().any() for i in range(len(ridges))):
        views = Views.of_moments(sums, view_names(len(ridges)), ridges)
        wanted = min(estimator.n_components or 1, *sums.widths)
        if min(views.ranks) >= wanted and (any(ridges) or not views.surplus):
            return views.clear_enough()
    raise TooFewRowsError(sums.n)


def is_vector(y: object) -> bool:
    """Return True if y is a single vector, not a table or several tables."""
    return not isinstance(y, tuple) and int(y.ndim if hasattr(y, "ndim") else np.asarray(y).ndim) == 1


class TwoViews(Reducer):
    """Base of methods of two views: pairs of variates, of which ``transform`` returns those of X, or both."""

    n_components: Components | None = parameter(default=None, kw_only=False)
    _untold: ClassVar[str] = (
        "which pairs are there is a question for a test: see significance and permutation_test of CCA"
    )

    y_map_: Map
    y_features_in_: int
    y_embedding_: Array

    def fit(self, X: TableLike, y: TargetLike = None, sample_weight: VectorLike | None = None) -> Self:
        """Fit the pairs of variates.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            One view of the points.
        y : array-like of shape (n_samples, n_targets) or (n_samples,)
            The other view of the same points, in the same order.
        sample_weight : array-like of shape (n_samples,), optional
            How often each row counts: whole numbers give the fit to rows that occur this often, and rows of weight 0 are left out of
            the fit and placed by its map.

        Returns
        -------
        self
        """
        return super().fit(X, y, sample_weight)

    def fit_transform(self, X: TableLike, y: TargetLike = None, sample_weight: VectorLike | None = None) -> Any:
        """Fit and return the variates of both views, as ``transform(X, y)`` does.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            One view of the points.
        y : array-like of shape (n_samples, n_targets) or (n_samples,)
            The other view of the same points, in the same order.
        sample_weight : array-like of shape (n_samples,), optional
            How often each row counts: whole numbers give the fit to rows that occur this often, and rows of weight 0 are left out of
            the fit and placed by its map.

        Returns
        -------
        pair of ndarray of shape (n_samples, n_components)
        """
        first = super().fit_transform(X, y, sample_weight)
        held = hasattr(self, "y_embedding_") and not np.isnan(self.y_embedding_).any()  # NaN: rows of weight zero
        return first, self.y_embedding_ if held else self._transform_other(y)

    def transform(self, X: TableLike, y: TableLike | VectorLike | None = None) -> Any:
        """Return the variates of new points.

        Parameters
        ----------
        X : array-like of shape (n_points, n_features)
        y : array-like of shape (n_points, n_targets) or (n_points,), optional
            The other view.

        Returns
        -------
        ndarray of shape (n_points, n_components), or a pair of them where y is given
        """
        first = self._mapped(X)
        return first if y is None else (first, self._transform_other(y))

    def _transform_other(self, y: TargetLike) -> Array:
        """Return the variates of the other view."""
        check_is_fitted(self)
        points = points_of_view(y, sparse=self._accepted().sparse)
        if points.width != self.y_features_in_:
            raise InputError(
                f"The other view had {self.y_features_in_} columns when {type(self).__name__} was fitted, and has {points.width} now."
            )
        found: Array = points.images(self.y_map_, int(self.y_map_.width))
        return found

    def retrieve(self, X: TableLike, among: TableLike, k: int = 1, *, reverse: bool = False) -> tuple[Index, Array]:
        """Return, for each point of one view, the nearest points of the other by the cosine between variates.

        Parameters
        ----------
        X : array-like of shape (n_points, n_features)
            The points to look up, in the first view.
        among : array-like of shape (n_candidates, n_targets)
            The candidates, in the other view.
        k : int, default=1
            Candidates to return for every point.
        reverse : bool, default=False
            Whether the points are in the other view, and the candidates in the first.

        Returns
        -------
        indices, cosines : ndarray of shape (n_points, k)
            Rows of `among`, best first, and the cosines.
        """
        first, second = (self._transform_other, self._mapped) if reverse else (self._mapped, self._transform_other)
        sought, candidates = _unit_rows(first(X)), _unit_rows(second(among))
        if not isinstance(k, Integral) or not 1 <= k <= len(candidates):
            raise InputError(f"k={k} must be a whole number between 1 and {len(candidates)}, the number of candidates.")
        indices, cosines = np.empty((len(sought), k), dtype=np.intp), np.empty((len(sought), k))
        for part in blocks(len(sought), len(candidates)):
            similar = sought[part] @ candidates.T
            best = np.argsort(-similar, axis=1, kind="stable")[:, :k]
            indices[part], cosines[part] = best, np.take_along_axis(similar, best, axis=1)
        return indices, cosines

    def score(self, X: TableLike, y: TableLike | VectorLike) -> float:
        """Return the mean correlation of the pairs of variates over these points: maximise it on new points to choose a ridge.

        Parameters
        ----------
        X : array-like of shape (n_points, n_features)
        y : array-like of shape (n_points, n_targets) or (n_points,)

        Returns
        -------
        float
        """
        one, two = (np.asarray(part, dtype=np.float64) for part in (self._mapped(X), self._transform_other(y)))
        if len(one) != len(two):
            raise InputError(f"The two views have {len(one)} and {len(two)} rows: give both of the same points.")
        one, two = one - one.mean(axis=0), two - two.mean(axis=0)
        sizes = np.linalg.norm(one, axis=0) * np.linalg.norm(two, axis=0)
        return float(np.mean(np.sum(one * two, axis=0) / np.maximum(sizes, np.finfo(float).tiny)))

    # ------------------------------------------------------------------ solution in white coordinates
    def _fit_pairs(
        self, views: Views, regularised: bool, advice: str, all_pairs: bool = True
    ) -> tuple[Fitted, Array, Array, Array]:
        """Return the fit, combinations of white coordinates for both views, and the canonical correlations.

        Without `all_pairs` the correlations are those kept and the next one.
        """
        d, C = pairs_for(self.n_components, views.ranks), views.cross(0, 1)
        few = min(d + 1, *C.shape)
        U, s, V = dense.singular_vectors(C) if all_pairs else dense.leading_singular_vectors(C, few)
        values = np.minimum(s, 1.0)
        if views.surplus and not regularised:
            warn(
                f"The views have {views.ranks[0]} and {views.ranks[1]} dimensions, and {views.n} centred rows only {views.n - 1}: at least "
                f"{views.surplus} canonical correlations are 1 whatever the data, and say nothing about them. {advice}",
                DegenerateWarning,
            )
        else:
            beyond = float(values[d]) if values.size > d else np.nan
            gap = relative_gap(values[d - 1], beyond, 1.0) if values.size > d else np.inf
            report_resolution(Spectrum(values[:d], U[:, :d], np.zeros(d), gap, beyond, "svd", 1.0))
        note(ranks=views.ranks, solver="svd")
        x, y = views[0], views[1]
        U, V = U[:, :d], V[:, :d]
        Y = x.embed(U)
        turn = orientation_of(values[:d], _shown(x, U, Y), 1.0)
        U, V = U @ turn, V @ turn
        none = values[:d] <= _NONE  # Uncorrelated variates: those of y are oriented separately.
        V[:, none] = V[:, none] @ orientation_of(values[:d][none], _shown(y, V[:, none], y.embed(V[:, none])), 1.0)
        sizes = np.sqrt(np.diagonal(x.variances(U)) * np.diagonal(y.variances(V)))
        found = {
            "correlations_": np.minimum(values[:d] / sizes, 1.0),
            "eigenvalues_": values[:d],
            "y_map_": y.map(V),
            "n_samples_": views.n,
        }
        return Fitted(None if Y is None else Y @ turn, x.map(U), found), U, V, values


def _shown(view: View, U: Array, Y: Array | None) -> Array:
    """Return the combinations U of white coordinates over the columns of a linear view, or else the variates Y themselves."""
    return np.asarray(view.map(U).coef if Y is None or isinstance(view.basis.rows, Raw) else Y)


def pairs_for(wanted: int | None, ranks: Sequence[int]) -> int:
    """Return the number of pairs of variates; None stands for two, or one if there is only one."""
    most = min(ranks)
    if wanted is not None and wanted > most:
        raise DimensionError(
            f"n_components={wanted} exceeds {most}: the views have {' and '.join(map(str, ranks))} dimensions, and there are no more "
            f"pairs than the smaller has. Use n_components <= {most}."
        )
    return min(2, most) if wanted is None else int(wanted)


def _unit_rows(Y: Array) -> Array:
    """Return the rows divided by their lengths."""
    Y = np.asarray(Y, dtype=np.float64)
    return Y / np.maximum(np.linalg.norm(Y, axis=1, keepdims=True), np.finfo(float).tiny)


def ridges_of(ridge: object, views: int) -> list[float]:
    """Return the ridge of each view; `ridge` is one number for all views or one for each."""
    try:
        given = np.atleast_1d(np.asarray(ridge, dtype=np.float64))
    except (TypeError, ValueError):
        given = np.full(1, np.nan)
    if given.ndim != 1 or given.size not in (1, views) or not np.all(np.isfinite(given)) or np.any(given < 0):
        raise InputError(
            f"ridge={ridge!r:.80} must be a number that is not negative, or {views} of them, one for each view."
        )
    return [float(value) for value in np.broadcast_to(given, (views,))]
