"""The framework of pair costs itself: any ``C_ℓ``, any ``C_u``, any B [S2, §2]."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, ClassVar, TypeAlias

import numpy as np

from ..._compat import HasMethods
from ..._parameters import Count, Marker, NotNegative, TypeName
from ..._types import Matrix
from ...data import Input, Sample
from ...data.y import ClassLabels
from ...errors import InputError, UnitError
from ...graphs.weights.rules import RULES, ClassWeights
from ...numerics.eigen import dense
from ...problem import Features, Form, Posed
from ...problem.forms import GIVEN_FORM, as_form, centring, degree, form_of, laplacian
from ...problem.pose import not_psd
from ..base.contract import FeatureReducer, features_of, points_of, refuse_idle
from ..base.graph_embedding import check_given
from ..base.table import NEIGHBOURS_AND_FEATURES, known_as, method
from ..discriminant.pair_costs import CostProjection, checked_points, refuse_class_graph, unit_over
from ..discriminant.pair_rules import COSTS, SEARCHED, UNLABELLED, NamedCosts, named_in, terms, total_of

#: Costs on pairs: names, a matrix or a function; for points without labels a weight rule too.
Costs: TypeAlias = Annotated[Any, str, *GIVEN_FORM, TypeName("str", "array", "sparse matrix", "Form", "callable")]
PointCosts: TypeAlias = Annotated[
    Any, str, HasMethods("bind"), *GIVEN_FORM, TypeName("str", "weight specification", "array", "sparse matrix", "Form", "callable")
]  # fmt: skip

#: Share of the largest eigenvalue of B up to which a negative one is rounding.
_NEGATIVE = 1e-8


def _parts(estimator: PairCosts) -> set[str]:
    return named_in(estimator.labelled, estimator.unlabelled, estimator.unit)


def _labels_of_costs(estimator: PairCosts) -> ClassLabels | None:
    """Return the reader of labels if a cost of pairs with labels is named; functions get y as it is."""
    return ClassLabels() if _parts(estimator) & (COSTS.keys() - UNLABELLED) else None


def _refuse_nothing(estimator: PairCosts) -> None:
    refuse_idle(estimator)
    if estimator.labelled is None and (estimator.unlabelled is None or not estimator.gamma):
        raise InputError(
            "PairCosts has no cost to minimise: labelled=None and "
            + ("unlabelled=None." if estimator.unlabelled is None else "gamma=0.")
            + " Give labelled=, or unlabelled= with gamma > 0."
        )


@method(
    "semi-supervised",
    "min L of any C_l + γ C_u",
    "any",
    "n² D, or " + NEIGHBOURS_AND_FEATURES,
    "S2 eq. 2",
)
@known_as(
    "Semi-supervised framework of pair costs",
    "semi-supervised dimension reduction framework; pair costs; pairwise costs; cost matrix; unlabelled cost matrix; labelled cost matrix",
    {
        "labelled=None, unlabelled='heat', unit='degree'": "costs of unlabelled points alone",
        "labelled='allies - rivals', unit='projection'": "allies less rivals",
    },
)
class PairCosts(CostProjection):
    """The semi-supervised framework: any costs on labelled pairs, any costs on all pairs, any unit.

    .. math:: \\min_V \\sum_{ij} (c^\\ell_{ij} + \\gamma c^u_{ij}) \\|V^T x_i - V^T x_j\\|^2 \\quad \\text{s.t. } V^T B V = I

    [S2, eqs. 1–3]: a positive cost draws two points together, a negative one pushes them apart. Use it to state a method that has no
    name: costs are given by name, as a matrix or as a function. The named methods are such choices:

    ===========  ===========================  ============  ==================
    method       labelled                     unlabelled    unit
    ===========  ===========================  ============  ==================
    `SSLFDA`     ``"local_between"``          ``"local"``   ``"local_within"``
    `SSMFA`      ``"-rivals"``                ``"local"``   ``"allies"``
    `SSDNE`      ``"allies - rivals"``        ``"local"``   ``"projection"``
    `SSMMC`      ``"within + between"``       ``"local"``   ``"projection"``
    `SSFDA`      ``"between"``                ``"local"``   ``"within"``
    `LPP`        None                         ``"heat"``    ``"degree"``
    ===========  ===========================  ============  ==================

    Names of costs, with k = `n_neighbors`, :math:`n_k` labelled points in class k and n in all; pairs without two labels cost
    nothing, except in ``"variance"``:

    =====================  ===================  ====================================================================
    name                   in [S2]              cost of a pair
    =====================  ===================  ====================================================================
    ``"allies"``           :math:`C^I`          1 if one is among the k nearest points of the other's class
    ``"rivals"``           :math:`C^E`          1 if one is among the `n_rivals` nearest points of other classes
    ``"local_between"``    :math:`C^{bet}`      :math:`c^I (1/n_k - 1/n)` in class k, −1/n across
    ``"local_within"``     :math:`C^{wit}`      :math:`c^I / n_k` in class k
    ``"between"``          :math:`c^b`          :math:`1/n_k - 1/n` in class k, −1/n across: :math:`-S_B`
    ``"within"``           :math:`c^w`          :math:`1/n_k` in class k: :math:`S_W`
    ``"total"``                                 1/n: :math:`S_T`
    ``"same_class"``                            1 in a class
    ``"other_class"``                           1 across classes
    ``"variance"``         eq. 11, times −2     1/n on all pairs of points, labelled or not
    =====================  ===================  ====================================================================

    Signs and factors make sums of names: ``"0.5 within + between"``.

    Cost: that of the costs (neighbours for the first four names, O(n²D) in blocks for affinities of all pairs), then
    O(nkD + nD² + D³) time. A dense matrix is O(n²D).

    Parameters
    ----------
    labelled
        :math:`C^\\ell`: names; a symmetric n×n matrix of costs, dense or sparse; or a function ``(X, y)`` that returns one, where
        y is what ``fit`` was given. None means no cost.
    unlabelled
        :math:`C^u`, the costs of all points: names of affinities as in `weights` of `SSLFDA`, such as ``"local"`` (eq. 7),
        ``"heat"`` (eq. 6) or ``"precomputed"`` (the numbers on the edges of a given `graph`), a weight specification such as
        ``Heat(2.0)``, or anything that `labelled` takes. ``"-0.5 variance"`` is the cost of eq. 11. None means no cost. It has
        no effect with ``gamma=0``.
    unit
        B: ``"projection"`` is V'V = I; ``"embedding"`` is unit variance of the embedding; ``"degree"`` are the degrees of
        :math:`C^u`; names are those of costs, whose Laplacian is B. A symmetric n×n matrix, or a function that returns one, is
        B over the samples (X'BX); a D×D matrix, if D is not n, is B itself. B must be positive semidefinite.
    gamma
        ... It has no effect with ``unlabelled=None``.
    alpha
        ... A matrix takes it if no entry is negative; names of other costs do not.
    n_neighbors
        ... It has no effect if no cost is named that needs neighbours.
    n_rivals
        Number of nearest points of other classes. None means as many as `n_neighbors`. It has no effect unless ``"rivals"``
        is named.
    affinity
        Which labelled points of a class count as near: see `LFDA`. It has no effect unless ``"local_between"`` or
        ``"local_within"`` is named.
    graph
        ... It has no effect unless `unlabelled` is an affinity.
    unlabeled
        ... It has no effect unless a cost of labels is named.
    axes
        ... With ``unit="projection"`` the axes are solved with length one, so the choice between the first two, and between
        the last two, has no effect.
    ridge
        ... It has no effect with ``unit="projection"``.

    Attributes
    ----------
    classes_ : ndarray
        The class labels, if a cost of labels is named.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_wine
    >>> from eigenspan import PairCosts
    >>> X, y = load_wine(return_X_y=True)
    >>> some = np.where(np.arange(len(y)) % 3 == 0, y, -1)
    >>> PairCosts(2).fit(X, some).transform(X[:3]).shape  # SSLFDA
    (3, 2)
    >>> PairCosts(2, labelled="allies - 2 rivals", unlabelled="heat", unit="projection").fit(X, some).embedding_.shape
    (178, 2)
    >>> costs = np.where((y == y[:, None]), 1.0, -1.0)
    >>> PairCosts(2, labelled=costs, unlabelled=None, unit="embedding").fit(X).embedding_.shape
    (178, 2)

    References
    ----------
    Chatpatanasiri & Kijsirikul (2009), A unified semi-supervised dimensionality reduction framework for manifold learning, §2.
    """

    labelled: Costs | None = "local_between"
    unlabelled: PointCosts | None = "local"
    unit: Costs = "local_within"
    gamma: NotNegative = 0.1
    n_rivals: Count | None = None
    affinity: ClassWeights = "neighbours"
    unlabeled: Marker = -1

    _input: ClassVar[Input] = replace(FeatureReducer._input, y=_labels_of_costs, idle=_refuse_nothing)
    _shares_parts: ClassVar[bool] = False

    def _pose(self, sample: Sample) -> Posed:
        refuse_class_graph(self)
        features = features_of(self, sample).about(centring(sample.n))
        points = self._points(features, sample)
        codes = np.full(sample.n, -1) if sample.y is None else sample.y.codes
        named = NamedCosts(points, codes, self)
        labelled = self._costs("labelled", named, sample)
        unit = self._unit_over_samples(named, sample)
        near = self._costs_of_all(named, sample)
        if _is_name(self.unit, "degree"):
            unit = self._degrees(near)
        basis = features.about(unit) if isinstance(unit, Form) and not unit.kills_constant else features
        smooth = None if near is None or not self.gamma else basis.restrict(laplacian(near))
        return self._combined(basis, basis.restrict(laplacian(labelled)), smooth, self._restricted(basis, unit, sample))

    def _points(self, features: Features, sample: Sample) -> Matrix:
        searched = SEARCHED & _parts(self) or not features.dim
        points = (
            checked_points(self, features, sample, self.n_neighbors) if searched else points_of(self, features, sample)
        )
        check_given(self.graph, points)
        return points

    def _costs(self, parameter: str, named: NamedCosts, sample: Sample) -> Form:
        """Return the matrix of costs that a parameter gives; zero for None."""
        given = getattr(self, parameter)
        if given is None:
            return Form(sample.n)
        if not isinstance(given, str):
            return form_of(given, sample.x.values, sample.given, sample.n, f"{parameter}=")
        return total_of([(a, named.get(name)) for a, name in terms(given, COSTS, parameter)])

    def _costs_of_all(self, named: NamedCosts, sample: Sample) -> Form | None:
        """Return ``C_u``, with the Hadamard power of its affinities; None if it is not used."""
        given: Any = self.unlabelled
        if given is None or not (self.gamma or _is_name(self.unit, "degree")):
            return None
        if isinstance(given, str):
            affinities = [name for name in RULES if RULES[name]._dependency != "paths"]
            parts = terms(given, [*affinities, *COSTS], "unlabelled")
            found = [
                (a, named.get(name) if name in COSTS else self._neighbour_costs(name, named.points))
                for a, name in parts
            ]
            return total_of(found)
        if hasattr(given, "bind"):
            return self._neighbour_costs(given, named.points)
        return _powered(self._costs("unlabelled", named, sample), self.alpha)

    def _degrees(self, near: Form | None) -> Form:
        if near is None:
            raise InputError('unit="degree" is that of unlabelled=, which is None: give unlabelled=.')
        return degree(near)

    def _unit_over_samples(self, named: NamedCosts, sample: Sample) -> Form | Matrix | None:
        """Return B as a form over the samples, and a D×D matrix as it is; None for orthonormal axes and for degrees."""
        unit: Any = self.unit
        if _is_name(unit, "projection") or _is_name(unit, "degree"):
            return None
        if _is_name(unit, "embedding"):
            return centring(sample.n)
        if isinstance(unit, str):
            return laplacian(self._costs("unit", named, sample))
        D = sample.x.values.shape[1]
        if np.shape(unit) == (D, D) and sample.n != D and self.kernel is None:
            return as_form(unit, D, "unit=").to_dense()
        return self._costs("unit", named, sample)

    def _restricted(self, basis: Features, unit: Any, sample: Sample) -> Form | None:
        """Return B over the coordinates."""
        if unit is None:
            return None
        if not isinstance(unit, Form):
            return _checked_unit(basis.compress(unit, psd=False), self.ridge)
        if not unit.psd:
            _checked_unit(basis.restrict(unit), self.ridge)
        B = basis.restrict(unit) if sample.y is None else unit_over(basis, unit, sample.y)
        assert B is not None
        if not (B.diagonal().any() or isinstance(self.unit, str) or self.ridge):
            raise InputError(
                "unit= is zero over the features: no length of the axes satisfies V'BV = I. Give another unit."
            )
        return B


def _checked_unit(B: Form, ridge: float | None) -> Form:
    """Return a unit; raise UnitError if, with the ridge, it is not positive semidefinite."""
    values = dense.eigenvalues(B.to_dense()) + (ridge or 0.0)
    if values[0] < -_NEGATIVE * np.abs(values).max():
        raise UnitError(not_psd(values[0], values[-1]))
    return B


def _is_name(value: object, name: str) -> bool:
    return isinstance(value, str) and value == name


def _powered(costs: Form, alpha: float | None) -> Form:
    """Return the Hadamard power of a given matrix of costs, with its norm [S2, eq. 9]; None means the costs as they are."""
    if alpha in (None, 1):
        return costs
    C: Any = costs.dense if costs.sparse is None else costs.sparse
    if C is None or costs.pairs or costs.roots or costs.low_rank is not None or C.min() < 0:
        raise InputError(
            f"alpha={alpha:g} is a power of every cost, so unlabelled= must be a matrix without negative entries: leave alpha= out, or "
            "give another matrix."
        )
    powers = C.power(alpha) if costs.sparse is not None else C**alpha
    norm, after = (float(np.sqrt((M * M).sum())) for M in (C, powers))
    return replace(
        costs * 0.0, **{"dense" if costs.sparse is None else "sparse": powers * (norm / after if after else 1.0)}
    )
