"""Canonical correlation analysis of any number of views of the same points."""

from __future__ import annotations

from itertools import combinations
from typing import Any, ClassVar, Literal, Self, TypeGuard

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..._diagnostics import note
from ..._parameters import ArrayLike, Count, NotNegative, Seed, attribute, parameter
from ..._types import Array, TableLike, TargetLike, VectorLike
from ...data import Input, Points, Sample, Sufficient
from ...data.other_views import OtherViews, ViewTables, read_view
from ...data.rows.joint_moments import JointMoments
from ...data.rows.storage import in_precision_of
from ...errors import ConvergenceWarning, DegenerateWarning, DimensionError, InputError, warn
from ...numerics.eigen import dense
from ...problem.fitted import Fitted
from ...problem.form import Form
from ...problem.map import Map
from ...problem.pose import TraceProblem, solve
from ...problem.spectrum import orientation_of
from ...problem.white_views import Views
from ..base.contract import Components, Reducer
from ..base.streaming import Streaming, add_rows, adding
from ..base.table import known_as, method
from .variates import JOINTLY, ridges_of, white_views

#: Relative growth of the sum of correlations in a round of SUMCOR below which the iteration stops.
_SETTLED = 1e-13


@method(
    "two views", "max Σ P_i, or Σ correlations", "covariance of each view", "n D² + (ΣD)³", "Kettenring 1971", "gcca"
)
@known_as(
    "Generalised canonical correlation analysis",
    "multiview CCA; multi-view canonical correlation analysis; CCA of several sets; CCA of more than two views",
    {"criterion='sumcor'": "SUMCOR; sum of correlations", "criterion='maxvar'": "MAXVAR"},
)
class MultiviewCCA(Reducer):
    """Canonical correlation analysis of any number of views.

    .. math:: \\text{MAXVAR:}\\quad \\max_{w_1, \\dots, w_p} \\sum_{i \\ne j} w_i^T C_{ij} w_j
              \\quad \\text{s.t. } \\sum_i w_i^T (C_{ii} + \\rho_i I) w_i = p

    .. math:: \\text{SUMCOR:}\\quad \\max_{w_1, \\dots, w_p} \\sum_{i < j} w_i^T C_{ij} w_j
              \\quad \\text{s.t. } w_i^T (C_{ii} + \\rho_i I) w_i = 1 \\text{ for every } i

    What several tables over the same points have in common: one set of variates each, as much alike as can be [Kettenring 1971]. Two
    views give `CCA`, by either criterion. MAXVAR shares one unit out among the views, so that a view that agrees with no other has
    short variates; it is an eigenproblem, and its solution the leading eigenvectors of the sum of the projections on the views. (The
    same eigenproblem goes by the name of SUMCOR in places.) SUMCOR gives every view the same say; it has no closed form and is
    climbed to from MAXVAR's solution, view after view, to a maximum that need not be the highest.

    Cost: as `CCA` for the views, and O((Σ D_i)³). `partial_fit` takes the rows in parts.

    Parameters
    ----------
    n_components
        Number of dimensions, at most the dimension of the second largest view (MAXVAR) or of the smallest (SUMCOR). None
        means two, or one if there is only one.
    criterion
        The maximised criterion.
    ridge : float or array of floats
        ρ of all views or of each, relative to the mean variance of its columns that vary.
    reduce
        Number of principal axes of each view to keep first, as in a pipeline after PCA; `ridge` is then relative to the
        mean variance along these axes. None keeps the views as they are.
    max_iter
        Maximum number of rounds of SUMCOR.

    Attributes
    ----------
    correlations_ : ndarray of shape (n_components,)
        Mean correlation of the variates over all pairs of views.
    pair_correlations_ : ndarray of shape (n_components, n_views, n_views)
        Correlation of the variates of each pair of views.
    eigenvalues_ : ndarray of shape (n_components,)
        MAXVAR: 1 plus the maximised value, divided by p; without a ridge an eigenvalue of the sum of the projections on the
        views, between 0 and p. SUMCOR: the maximised value, a sum over pairs.
    weights_ : tuple of ndarray of shape (n_features_i, n_components)
        Variates of view i are ``(X_i − means_[i]) @ weights_[i]``: of unit variance (SUMCOR), or of unit variance on
        average over the views (MAXVAR).
    means_ : tuple of ndarray
        Column means.
    ranks_ : tuple of int
        Dimensions of the views.
    n_samples_ : int
        Number of rows.
    moments_ : JointMoments
        Means and joint scatter matrix of the rows so far, to which `partial_fit` adds.
    n_iter_ : int
        Number of rounds of SUMCOR; 1 for MAXVAR.
    embedding_ : ndarray of shape (n_samples, n_components)
        Variates of the first view. Absent if the rows were read from a file or in parts.
    map_, maps_ : Map, tuple of Map
        The functions behind ``transform``, of the first view and of all.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenspan import MultiviewCCA
    >>> rng = np.random.default_rng(0)
    >>> t = rng.standard_normal((500, 1))
    >>> views = [np.hstack([t, rng.standard_normal((500, 3))]) @ rng.standard_normal((4, 4)) for _ in range(3)]
    >>> gcca = MultiviewCCA(1).fit(views)
    >>> gcca.correlations_.round(2)
    array([1.])
    >>> len(gcca.transform(views)), gcca.transform(views[2], view=2).shape
    (3, (500, 1))

    References
    ----------
    Kettenring (1971), Canonical analysis of several sets of variables; Carroll (1968), Generalization of canonical correlation
    analysis to three or more sets of variables.
    """

    n_components: Components | None = parameter(default=None, kw_only=False)
    criterion: Literal["maxvar", "sumcor"] = "maxvar"
    ridge: NotNegative | ArrayLike = 0.0
    reduce: Count | None = None
    max_iter: Count = 500
    random_state: Seed = 0

    correlations_: Array = attribute()
    pair_correlations_: Array = attribute()
    eigenvalues_: Array = attribute()
    weights_: tuple[Array, ...] = attribute()
    means_: tuple[Array, ...] = attribute()
    ranks_: tuple[int, ...] = attribute()
    n_samples_: int = attribute()
    moments_: JointMoments = attribute()
    n_iter_: int = attribute()
    maps_: tuple[Map, ...] = attribute()

    _input: ClassVar[Input] = Input(y=OtherViews(sparse=True, one_pass=True), sparse=True, linear=True)
    _sums_suffice: ClassVar[Sufficient | None] = {"reduce": None}
    _streaming: ClassVar[Streaming] = JOINTLY

    def fit(self, X: TableLike, y: TargetLike = None, sample_weight: VectorLike | None = None) -> Self:
        """Fit the variates of all views.

        Parameters
        ----------
        X : list of array-like of shape (n_samples, n_features_i)
            The views, two or more, of the same points in the same order; or the first of two.
        y : array-like of shape (n_samples, n_targets) or (n_samples,), optional
            The second view, where X is the first.
        sample_weight : array-like of shape (n_samples,), optional
            How often each row counts: whole numbers give the fit to rows that occur this often, and rows of weight 0 are left out of
            the fit and placed by its map.

        Returns
        -------
        self
        """
        if not _is_list(X):
            return super().fit(X, y, sample_weight)
        if y is not None:
            raise InputError(f"X is a list of {len(X)} views, and y another one: put all of them into the list.")
        if len(X) < 2:
            raise InputError(f"X is a list of {len(X)} view: what views agree on takes two of them.")
        return super().fit(X[0], tuple(X[1:]), sample_weight)

    @adding
    def partial_fit(self, X: TableLike, y: TargetLike = None, *, sample_weight: VectorLike | None = None) -> Self:
        """Add rows to those seen before, by ``fit`` too; the result is that of one ``fit`` to all of them, up to rounding.

        Parameters
        ----------
        X : list of array-like of shape (m, n_features_i)
            The same rows of all views; or of the first of two.
        y : array-like of shape (m, n_targets) or (m,), optional
            The same rows of the second view, if X is the first.
        sample_weight : None
            Refused: the sums over parts of the rows have no weights.

        Returns
        -------
        self
        """
        first, others = (X[0], tuple(X[1:])) if _is_list(X) else (X, y)
        return add_rows(self, first, others, sample_weight=sample_weight)

    def fit_transform(self, X: Any, y: Any = None, sample_weight: VectorLike | None = None) -> Any:
        """Fit and return the variates of X, of all views if it is a list."""
        if _is_list(X):
            return self.fit(X, y, sample_weight).transform(X)
        return super().fit_transform(X, y, sample_weight)

    def transform(self, X: TableLike, view: int = 0) -> Any:
        """Return the variates of new points.

        Parameters
        ----------
        X : array-like of shape (n_points, n_features_i), or a list of such
            One view, or all of them.
        view : int, default=0
            Index of the view, if X is one table.

        Returns
        -------
        ndarray of shape (n_points, n_components), or a tuple of such where X is a list
        """
        check_is_fitted(self)
        if _is_list(X):
            if len(X) != len(self.maps_):
                raise InputError(f"X is a list of {len(X)} views, and {len(self.maps_)} were fitted.")
            return tuple(self._variates(table, i) for i, table in enumerate(X))
        return self._variates(X, view)

    def _variates(self, X: TableLike, view: int) -> Array:
        """Return the variates of one view."""
        if not 0 <= view < len(self.maps_):
            raise InputError(f"view={view} must lie between 0 and {len(self.maps_) - 1}.")
        if view == 0:
            return self._mapped(X)
        table, map_ = read_view(X, sparse=True, name=f"X[{view}]"), self.maps_[view]
        if table.shape[1] != map_.coef.shape[0]:
            raise InputError(
                f"View {view} had {map_.coef.shape[0]} columns when it was fitted, and has {table.shape[1]} now."
            )
        with np.errstate(over="ignore", invalid="ignore"):
            return in_precision_of(table, map_(table))

    def _fit(self, sample: Sample[Points, ViewTables]) -> Fitted:
        views = white_views(self, sample)
        return self._conclude(views, any(ridges_of(self.ridge, len(views.views))))

    def _conclude(self, views: Views, regularised: bool) -> Fitted:
        """Solve in white coordinates and return the fit."""
        d = self._dimensions(views.ranks)
        if views.surplus and not regularised:
            warn(
                f"Two of the views have {views.surplus} dimensions more between them than {views.n} centred rows: they agree "
                "perfectly in some directions whatever the data. Pass ridge= (0.1, say), or keep few principal axes with reduce=.",
                DegenerateWarning,
            )
        values, parts, rounds = self._solve(views, d)
        turn = orientation_of(values, views[0].map(parts[0]).coef)
        parts = [part @ turn for part in parts]
        maps = tuple(view.map(part) for view, part in zip(views.views, parts, strict=True))
        pairs = _pair_correlations(views, parts)
        p = len(parts)
        note(ranks=views.ranks)
        summed = {} if views.joint is None else {"moments_": views.joint, "n_samples_seen_": views.n}
        return Fitted(views[0].embed(parts[0]), maps[0]).having(
            **summed,
            correlations_=(pairs.sum(axis=(1, 2)) - p) / (p * (p - 1)),
            pair_correlations_=pairs,
            eigenvalues_=values,
            weights_=tuple(map_.coef for map_ in maps),
            means_=tuple(map_.offset for map_ in maps),
            maps_=maps,
            ranks_=views.ranks,
            n_samples_=views.n,
            n_iter_=rounds,
        )

    def _dimensions(self, ranks: tuple[int, ...]) -> int:
        """Return the number of dimensions; raise if the views have fewer."""
        most = sorted(ranks)[-2] if self.criterion == "maxvar" else min(ranks)
        if self.n_components is not None and self.n_components > most:
            which = "second largest" if self.criterion == "maxvar" else "smallest"
            raise DimensionError(
                f"n_components={self.n_components} exceeds {most}, the dimensions of the {which} view: the views have "
                f"{', '.join(map(str, ranks))}. Use n_components <= {most}."
            )
        return min(2, most) if self.n_components is None else int(self.n_components)

    def _solve(self, views: Views, d: int) -> tuple[Array, list[Array], int]:
        """Return eigenvalues, combinations of white coordinates for each view, and the number of rounds."""
        p, cuts = len(views.views), np.cumsum(views.ranks)[:-1]
        C = {(i, j): views.cross(i, j) for i, j in combinations(range(p), 2)}
        G = np.block([[_block(views, C, i, j) for j in range(p)] for i in range(p)])
        problem = TraceProblem(Form(len(G), dense=dense.symmetric(G), psd=True), None, "max")
        spectrum = solve(problem, d, random_state=self.random_state)
        parts = np.split(spectrum.vectors * np.sqrt(p), cuts)
        return (spectrum.values, parts, 1) if self.criterion == "maxvar" else self._climb(views, C, parts)

    def _climb(
        self, views: Views, C: dict[tuple[int, int], Array], parts: list[Array]
    ) -> tuple[Array, list[Array], int]:
        """Maximise SUMCOR by updating one view after the other; the sum of correlations never falls."""
        p = len(parts)
        parts = [dense.nearest_rotation(part) for part in parts]

        def agreement() -> Array:
            return np.sum([parts[i].T @ C[i, j] @ parts[j] for i, j in C], axis=0)

        total, gained, rounds = float(np.trace(agreement())), np.inf, 0
        while gained > _SETTLED * abs(total) and rounds < self.max_iter:
            rounds += 1
            for i in range(p):
                rest = np.sum([_block(views, C, i, j) @ parts[j] for j in range(p) if j != i], axis=0)
                parts[i] = dense.nearest_rotation(rest)
            now = float(np.trace(agreement()))
            gained, total = now - total, now
        if gained > _SETTLED * abs(total):
            warn(
                f"SUMCOR still grew by {gained:.1e} in the last of {self.max_iter} rounds: pass a larger max_iter=.",
                ConvergenceWarning,
            )
        values, turn = dense.eigenpairs(dense.symmetric(agreement()), None, "max")
        return values, [part @ turn for part in parts], rounds


def _is_list(X: object) -> TypeGuard[list[Array]]:
    """Return True for a list of tables; False for a table written as a list of rows."""
    return isinstance(X, list | tuple) and any(_is_table(part) for part in X)


def _is_table(part: object) -> bool:
    rows = part if isinstance(part, list | tuple) else ()
    return (
        getattr(part, "ndim", 0) == 2 or hasattr(part, "columns") or any(isinstance(row, list | tuple) for row in rows)
    )


def _block(views: Views, C: dict[tuple[int, int], Array], i: int, j: int) -> Array:
    if i == j:
        return np.eye(views[i].rank)
    return C[i, j] if i < j else C[j, i].T


def _pair_correlations(views: Views, parts: list[Array]) -> Array:
    """Return the correlations of the variates of each dimension between all pairs of views; 0 with a view whose variate vanishes."""
    p, d = len(parts), parts[0].shape[1]
    sizes = [np.sqrt(np.diagonal(view.variances(part))) for view, part in zip(views.views, parts, strict=True)]
    found = np.broadcast_to(np.eye(p), (d, p, p)).copy()
    for i, j in combinations(range(p), 2):
        product = np.einsum("rk,rk->k", parts[i], views.cross(i, j) @ parts[j])
        scale = sizes[i] * sizes[j]
        found[:, i, j] = found[:, j, i] = np.where(scale > 1e-12, product / np.maximum(scale, 1e-12), 0.0)
    return found
