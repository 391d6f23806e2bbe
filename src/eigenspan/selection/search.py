"""Search for γ, α, ridge and other parameters with few labels."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import product
from numbers import Integral
from typing import Annotated, Any, Self, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from .._compat import BaseEstimator, HasMethods, Interval, MetaEstimatorMixin, TransformerMixin, fit_context
from .._diagnostics import collect
from .._documented import documented
from .._parameters import Count, Declared, Seed, attribute, parameter
from .._types import Array, Index, TableLike, VectorLike
from ..data.y import read_classes
from ..errors import EigenspanWarning, InputError, LabelError, RidgeWarning, warn
from ..methods.base.contract import FeatureReducer, Reducer, axes, features_of
from ..methods.base.graph_projection import GraphProjection
from ..methods.discriminant.pair_costs import CostProjection, checked_points, mean_on_range, unit_over, warn_of_a_mark
from ..numerics.threads import threads
from .folds import SemiSupervisedKFold, sized

#: Parameters of a candidate.
Candidate: TypeAlias = dict[str, Any]
#: Class codes with those of a fold set to −1, the fold, and the codes of its points.
Hidden: TypeAlias = tuple[Index, Index, Index]
#: Share of the hidden labels that a candidate predicts correctly.
Score: TypeAlias = Callable[[Candidate, Sequence[Hidden]], float]

#: Ridges to try, relative to the mean positive eigenvalue of the unit.
RIDGES = (1e-3, 1e-2, 1e-1, 1.0)


def _marker(candidates: Sequence[BaseEstimator]) -> object:
    """Return the marker of unlabelled points; raise InputError if estimators or pipeline steps that read labels have different ones."""
    parts = [part for whole in candidates for part in (whole, *whole.get_params().values())]
    markers = [part.unlabeled for part in parts if hasattr(part, "unlabeled") and not _ignores_labels(part)]
    if any(marker != markers[0] for marker in markers):
        raise InputError(
            f"The steps have different markers of unlabelled points, unlabeled={markers[0]!r} and others. Set the same marker "
            "for all of them."
        )
    return markers[0] if markers else -1


def _checked_grid(grid: dict[str, Sequence[Any]]) -> dict[str, Sequence[Any]]:
    """Return the grid; raise InputError unless it is a dict with at least one value per parameter."""
    lists = isinstance(grid, dict) and all(
        isinstance(values, list | tuple | np.ndarray | range) and len(values) for values in grid.values()
    )
    if not lists or not grid:
        raise InputError(
            f'param_grid={grid!r:.80} must be a dict with a list of values to try for each parameter, such as {{"gamma": [0.01, 0.1]}}.'
        )
    return grid


def _ignores_labels(estimator: object) -> bool:
    """Return True if the embedding certainly does not depend on y: a method of this library that neither requires nor reads labels."""
    reads = hasattr(estimator, "unlabeled") and not isinstance(estimator, GraphProjection)
    return isinstance(estimator, Reducer) and not reads and not get_tags(estimator).target_tags.required


def _middle(scores: Array, shape: list[int]) -> int:
    """Return the best candidate; of several, the one nearest to the mean of their positions in a grid of this shape."""
    tied = np.flatnonzero(scores >= scores.max() - 1e-12)
    places = np.stack(np.unravel_index(tied, shape), axis=1) / np.maximum(np.array(shape) - 1, 1)
    return int(tied[np.argmin(np.sum((places - places.mean(axis=0)) ** 2, axis=1).round(12))])


def _scores(score: Score, candidates: Sequence[Candidate], hidden: Sequence[Hidden]) -> Array:
    """Return the score of each candidate, −∞ for those that cannot be fitted; raise the first error if none can be fitted.

    Warnings about ridges are suppressed here: the final fit issues them.
    """
    scores, failures = np.full(len(candidates), -np.inf), []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RidgeWarning)
        for i, candidate in enumerate(candidates):
            try:
                scores[i] = score(candidate, hidden)
            except InputError as failure:
                failures.append((candidate, failure))
    if len(failures) == len(candidates):
        raise failures[0][1]
    if failures:
        warn(
            f"{len(failures)} of {len(candidates)} candidates could not be fitted and have score −∞. The first is {failures[0][0]}: "
            f"{failures[0][1]} If this is expected, leave them out of param_grid.",
            EigenspanWarning,
        )
    return scores


@documented
class RegularizedSearch(MetaEstimatorMixin, TransformerMixin, Declared):
    """Search for γ, α and other parameters with few labels: the labels of a fold are hidden, but its points stay in the fit.

    Each candidate is fitted to all points with the labels of one fold hidden, and the hidden labels are predicted by the nearest labelled
    neighbours in the embedding. With few labels many candidates often have the same score. The search then takes the one nearest to the
    mean of their positions in the grid, so list values in order. For methods with γ and α, the parts of the problem that do not depend on
    labels are computed once per α, and each candidate costs one small eigenproblem. A fold is skipped if hiding it would leave a single
    class. A candidate that cannot be fitted, for example with too many axes, has score −∞, with a warning.

    Parameters
    ----------
    estimator : transformer
        A method such as `SSLFDA`, or a pipeline, whose ``fit(X, y)`` accepts unlabelled points.
    param_grid
        Values to try, in order. None means γ = 0 and 0.01 to 100, and α = 1 to 8, if the estimator has these parameters. If its
        unit is the variation within classes, ridges of 0.1 % to 100 % of the mean of its positive eigenvalues are tried too.
    cv : int or SemiSupervisedKFold
        Number of folds, or the folds themselves.
    n_neighbors
        Number of neighbours that vote.
    random_state
        Seed of the assignment to folds. None draws a new assignment at each fit.

    Attributes
    ----------
    best_estimator_ : transformer
        The best candidate, fitted to all points and labels.
    best_params_ : dict
        Parameters of the best candidate.
    best_score_ : float
        Share of the hidden labels that the best candidate predicts correctly.
    results_ : list of (dict, float)
        All candidates with their scores.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_digits
    >>> from eigenspan import SSLFDA, RegularizedSearch
    >>> X, y = load_digits(return_X_y=True)
    >>> X, y = X[:400], y[:400]
    >>> some = np.where(np.arange(400) < 60, y, -1)
    >>> search = RegularizedSearch(SSLFDA(9), {"gamma": [0.1, 10.0], "alpha": [1, 4]}).fit(X, some)
    >>> sorted(search.best_params_), search.transform(X).shape
    (['alpha', 'gamma'], (400, 9))

    References
    ----------
    [S2] §4.1 chooses γ and α by cross-validation.
    """

    estimator: Annotated[Any, HasMethods(["fit", "transform"])] = parameter(kw_only=False)
    param_grid: dict[str, Any] | None = parameter(default=None, kw_only=False)
    cv: Annotated[Any, Interval(Integral, 2, None, closed="left"), HasMethods("folds")] = 5
    n_neighbors: Count = 1
    random_state: Seed = 0

    best_estimator_: Any = attribute()
    best_params_: dict[str, Any] = attribute()
    best_score_: float = attribute()
    results_: list[tuple[dict[str, Any], float]] = attribute()

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: TableLike, y: VectorLike) -> Self:
        """Score all candidates, and fit the best one to all points."""
        n, grid = sized(X).shape[0], self._grid(X, y)
        candidates = [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]
        made = [clone(self.estimator).set_params(**candidate) for candidate in candidates]
        read_y = read_classes(y, n, unlabeled=_marker(made), name="RegularizedSearch")
        codes, classes = read_y.codes, read_y.names
        for estimator in [one for one in made if isinstance(one, CostProjection) and one.gamma][:1]:
            warn_of_a_mark(estimator, classes)
        folds = self._folds(codes)
        hidden = []
        for fold in folds:
            masked = codes.copy()
            masked[fold] = -1
            if np.unique(masked[masked >= 0]).size > 1:
                hidden.append((masked, fold, codes[fold]))
        if not hidden:
            raise LabelError(
                f"Hiding any fold of the {np.sum(codes >= 0)} labels leaves only one class. Label more points, or use other folds."
            )
        score = self._shared(X, y) if self._is_shared(candidates) else self._plain(X, y, classes, grid)
        scores = _scores(score, candidates, hidden)
        best = _middle(scores, [len(values) for values in grid.values()])
        self.results_ = list(zip(candidates, scores.tolist(), strict=True))
        self.best_params_, self.best_score_ = candidates[best], float(scores[best])
        self.best_estimator_ = clone(self.estimator).set_params(**self.best_params_).fit(X, y)
        return self

    def transform(self, X: TableLike) -> Array:
        """Embed new points by the best candidate."""
        check_is_fitted(self)
        return self.best_estimator_.transform(X)

    def fit_transform(self, X: TableLike, y: VectorLike | None = None) -> Array:
        """Search, and return the embedding of the training points by the best candidate."""
        best = self.fit(X, cast(VectorLike, y)).best_estimator_  # fit raises LabelError for None
        return best.embedding_.copy() if hasattr(best, "embedding_") else best.transform(X)

    def get_feature_names_out(self, input_features: Sequence[str] | None = None) -> NDArray[np.object_]:
        """Return the names of the axes of the best candidate."""
        check_is_fitted(self)
        return self.best_estimator_.get_feature_names_out(input_features)

    @property
    def n_features_in_(self) -> int:
        """Number of features of the best candidate; raises AttributeError before ``fit``."""
        return self.best_estimator_.n_features_in_

    def _grid(self, X: TableLike, y: VectorLike) -> dict[str, Sequence[Any]]:
        """Return the values to try for each parameter."""
        if self.param_grid is not None:
            return _checked_grid(self.param_grid)
        known = self.estimator.get_params()
        grid: dict[str, Any] = {"gamma": [0.0, 0.01, 0.1, 1.0, 10.0, 100.0], "alpha": [1, 2, 4, 8]}
        if not set(grid) & set(known):
            raise InputError(
                f"{type(self.estimator).__name__} has neither gamma nor alpha to search for. Pass param_grid, a dict of values to try such "
                'as {"n_components": [2, 5]}; parameters of a pipeline are named "step__gamma".'
            )
        grid = {name: values for name, values in grid.items() if name in known}
        if self._has_parts and self.estimator.ridge is None:
            mean = self._mean_of_unit(X, y)
            grid |= {"ridge": [share * mean for share in RIDGES]} if mean else {}
        return grid

    def _mean_of_unit(self, X: TableLike, y: VectorLike) -> float:
        """Return the mean positive eigenvalue of the unit, from all labels; 0 if the axes are orthonormal or the unit is zero."""
        estimator = clone(self.estimator)
        sample, _ = estimator._read_sample(X, y)
        basis = features_of(estimator, sample).centred(np.ones(sample.n))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", EigenspanWarning)  # the final fit issues the same warnings
            unit = estimator._labelled(checked_points(estimator, basis, sample, estimator.n_neighbors), sample.y)[1]
        B = unit_over(basis, unit, sample.y)
        return 0.0 if B is None else mean_on_range(B)

    def _folds(self, codes: Index) -> list[Index]:
        if hasattr(self.cv, "folds"):
            return self.cv.folds(codes)
        return SemiSupervisedKFold(self.cv, random_state=self.random_state).folds(codes)

    def _votes(self, Y: Array, codes: Index, fold: Index, truth: Index) -> float:
        """Return the number of hidden labels that the nearest labelled points predict correctly."""
        known = np.flatnonzero(codes >= 0)
        D = np.sum(Y[fold] ** 2, axis=1)[:, None] - 2 * Y[fold] @ Y[known].T + np.sum(Y[known] ** 2, axis=1)
        k = min(self.n_neighbors, known.size)
        near = codes[known][np.argsort(D, axis=1, kind="stable")[:, :k]]
        votes = np.array([np.bincount(row, minlength=int(codes.max()) + 1).argmax() for row in near])
        return float(np.sum(votes == truth))

    def _plain(self, X: TableLike, y: VectorLike, classes: NDArray[np.generic], names: Iterable[str]) -> Score:
        """Return the score of candidates that are fitted one by one; candidates that ignore labels are fitted once."""
        template = clone(self.estimator)
        features = None
        if isinstance(template, FeatureReducer) and not {"kernel", "landmarks", "reduce"} & set(names):
            features = features_of(template, template._read_sample(X, y)[0])

        def embed(candidate: Candidate, y: VectorLike | None) -> Array:
            estimator = clone(self.estimator).set_params(**candidate)
            if features is None:
                found = estimator.fit_transform(X, y)
                return np.asarray(found[0] if isinstance(found, tuple) else found)  # for two views, use the first
            with collect(), threads(getattr(estimator, "n_jobs", None)):
                estimator._validate_params()
                sample, _ = estimator._read_sample(X, y)
                return np.asarray(estimator._fit(replace(sample, features=features)).embedding)

        def score(candidate: Candidate, hidden: Sequence[Hidden]) -> float:
            right = 0.0
            same = _ignores_labels(clone(self.estimator).set_params(**candidate))
            Y = embed(candidate, None) if same else None
            for masked, fold, truth in hidden:
                y = np.where(masked >= 0, classes[masked].astype(object), np.array(None))
                right += self._votes(embed(candidate, y) if Y is None else Y, masked, fold, truth)
            return right / sum(fold.size for _, fold, _ in hidden)

        return score

    def _is_shared(self, candidates: Sequence[Candidate]) -> bool:
        """Return True if the candidates differ only in parameters of `CostProjection`, whose parts can be reused."""
        return self._has_parts and all(set(c) <= {"gamma", "alpha", "ridge"} for c in candidates)

    @property
    def _has_parts(self) -> bool:
        return isinstance(self.estimator, CostProjection) and self.estimator._shares_parts

    def _shared(self, X: TableLike, y: VectorLike) -> Score:
        """Return the score of candidates that reuse the features, the neighbours of all points per α, and the labels per fold."""
        estimator = clone(self.estimator)
        sample, _ = estimator._read_sample(X, y)
        basis = features_of(estimator, sample).centred(np.ones(sample.n))
        points = checked_points(estimator, basis, sample, estimator.n_neighbors)
        smooth: dict[float, Any] = {}
        parts: list[Any] = []

        def score(candidate: Candidate, hidden: Sequence[Hidden]) -> float:
            estimator.set_params(**candidate)._validate_params()
            with collect(), threads(estimator.n_jobs):
                if not parts:
                    for masked, _, _ in hidden:
                        y = replace(sample.y, codes=masked)
                        form, unit = estimator._labelled(points, y)
                        parts.append((basis.restrict(form), unit_over(basis, unit, y)))
                if estimator.gamma and estimator.alpha not in smooth:
                    smooth[estimator.alpha] = basis.restrict(estimator._unlabelled(points))
                right = 0.0
                for (masked, fold, truth), (A, B) in zip(hidden, parts, strict=True):
                    posed = estimator._combined(basis, A, smooth.get(estimator.alpha) if estimator.gamma else None, B)
                    V, _ = axes(estimator).of(posed)
                    right += self._votes(basis.embed(V), masked, fold, truth)
            return right / sum(fold.size for _, fold, _ in hidden)

        return score
