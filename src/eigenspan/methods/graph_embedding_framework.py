"""Graph embedding: an intrinsic graph whose neighbours are kept close, and a penalty graph that is kept apart, in any basis."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal, TypeAlias

import numpy as np

from .._checks import real_numbers
from .._parameters import ArrayLike, Count, TypeName
from ..data import Input
from ..data.y import ClassLabels
from ..errors import InputError
from ..graphs.weights.rules import ClassWeights
from ..problem import Features, Form, Posed, Samples, diagonal, pose
from ..problem.forms import GIVEN_FORM, degree, form_of, laplacian
from .base.table import NEIGHBOURS_AND_FEATURES, besides, known_as
from .discriminant.pair_rules import COSTS, UNLABELLED, NamedCosts, named_in, terms, total_of
from .trace_reducer import Composed, Forms, kernel_of_basis, refuse_idle_basis

#: The weights of a graph: names, a matrix, or a function.
GraphWeights: TypeAlias = Annotated[
    Any, str, *GIVEN_FORM, TypeName("str", "array", "sparse matrix", "Form", "callable")
]


def _labels_of_graphs(estimator: GraphEmbeddingFramework) -> ClassLabels | None:
    named = named_in(estimator.intrinsic, estimator.penalty)
    return ClassLabels() if named & (COSTS.keys() - UNLABELLED) else None


def _refuse_idle_graphs(estimator: GraphEmbeddingFramework) -> None:
    unit = estimator.unit
    if estimator.penalty is not None and unit is not None:
        raise InputError(
            "penalty= and unit= are two constraints: B is the Laplacian of the penalty graph, or given. Give one."
        )
    projection = isinstance(unit, str) and unit == "projection"
    refuse_idle_basis(estimator, projection)
    if estimator.basis == "samples" and projection:
        raise InputError('unit="projection" is about axes of features, and basis="samples" has none: use "embedding".')


@besides(
    "custom",
    "min L of an intrinsic graph",
    "L of a penalty graph, or B",
    "samples, linear or kernel",
    "optional",
    NEIGHBOURS_AND_FEATURES,
    "S4 §2.4",
)
@known_as(
    "Graph embedding",
    "graph embedding framework; intrinsic graph and penalty graph; penalty graph; intrinsic graph; graph embedding and extensions",
    {
        "basis='kernel'": "kernel graph embedding; kernelised graph embedding",
        "basis='samples'": "direct graph embedding",
        "basis='linear'": "linearised graph embedding",
    },
)
class GraphEmbeddingFramework(Composed):
    """Graph embedding: an intrinsic graph to keep, a penalty graph to avoid, in a direct, linear or kernel form.

    .. math:: \\min_Y \\sum_{i \\ne j} W_{ij} \\|y_i - y_j\\|^2 = 2 \\operatorname{Tr}(Y^T L Y)
        \\quad \\text{s.t. } Y^T B Y = I, \\quad B = L^p = D^p - W^p \\text{ or given}

    The general framework of [Yan et al. 2007], which [S4] §2.4 names: W is the intrinsic graph, :math:`W^p` the penalty graph, and Y is
    free (``basis="samples"``), Y = XV, or linear in the features of a kernel. Use it to state a method by two graphs. `PairCosts` is
    the semi-supervised framework, and `TraceReducer` takes forms that are no Laplacians.

    ====================================  ========================  ===============================  ==============
    method                                intrinsic                 penalty, or unit                 basis
    ====================================  ========================  ===============================  ==============
    `LaplacianEigenmaps`                  ``"neighbours"``          ``unit="degree"``                ``"samples"``
    `LPP`                                 ``"neighbours"``          ``unit="degree"``                ``"linear"``
    `OLPP`                                ``"neighbours"``          ``unit="projection"``            ``"linear"``
    `PCA`, with ``sense="max"``           ``"variance"``            ``unit="projection"``            ``"linear"``
    `LDA`                                 ``"within"``              ``penalty="total"``              ``"linear"``
    `MFA`                                 ``"allies"``              ``penalty="rivals"``             ``"linear"``
    `LLE`, `NPP`                          M + M' − M'M              ``unit="embedding"``             both
    `ClassicalMDS`, `Isomap`              −½HΔ²H                    ``unit="embedding"``             ``"samples"``
    ====================================  ========================  ===============================  ==============

    For LLE, M holds the reconstruction weights; for MDS, Δ² the squared distances, and for Isomap those of paths along the graph: the
    directions are those of MDS, their lengths follow `scale`.

    Cost: that of the graphs, then O(nD² + D³) for linear features, O(n³) for a kernel, a sparse eigenproblem for samples.

    Parameters
    ----------
    intrinsic
        W: ``"neighbours"``, the edges of `graph` with `weights`; a name of `PairCosts`, such as ``"within"`` or ``"allies"``, or a
        sum of names with factors, ``"neighbours + 0.5 within"``; a symmetric n×n matrix, dense or sparse; or a function ``(X, y)``
        that returns one. The diagonal has no effect on L.
    penalty
        :math:`W^p`, whose Laplacian is B: as `intrinsic`. None means that `unit` is the constraint.
    unit : {"degree", "embedding", "projection"}, array-like of shape (n_samples,) or None
        B without a penalty graph: the degrees of the intrinsic graph, I, or V'V = I for orthonormal axes; or the diagonal of B.
        None means ``"degree"``, unless `penalty` is given.
    sense
        Whether the cost of the intrinsic graph is minimised, or maximised as for PCA.
    n_neighbors
        ... ``"allies"`` and ``"rivals"`` take it too, where None means 3.
    n_rivals
        Number of nearest points of other classes. None means as many as for ``"allies"``. It has no effect unless ``"rivals"``
        is named.
    affinity
        Which points of a class count as near: see `LFDA`. It has no effect unless ``"local_between"`` or ``"local_within"`` is
        named.
    weights
        ... It has no effect unless ``"neighbours"`` is named.
    unlabeled
        ... It has no effect unless a cost of labels is named.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_wine
    >>> from eigenspan import GraphEmbeddingFramework
    >>> X, y = load_wine(return_X_y=True)
    >>> GraphEmbeddingFramework(2).fit(X).transform(X[:3]).shape  # LPP
    (3, 2)
    >>> GraphEmbeddingFramework(2, intrinsic="allies", penalty="rivals").fit(X, y).embedding_.shape  # MFA
    (178, 2)
    >>> W = np.exp(-np.abs(X[:, [0]] - X[:, 0]))
    >>> GraphEmbeddingFramework(2, intrinsic=W, unit="embedding").fit(X).components_.shape
    (2, 13)

    References
    ----------
    Yan, Xu, Zhang, Zhang, Yang & Lin (2007), Graph embedding and extensions: a general framework for dimensionality reduction; [S4] §2.4.
    """

    intrinsic: GraphWeights = "neighbours"
    penalty: GraphWeights | None = None
    unit: Literal["degree", "embedding", "projection"] | ArrayLike | None = None
    sense: Literal["min", "max"] = "min"
    n_rivals: Count | None = None
    affinity: ClassWeights = "neighbours"

    _input: ClassVar[Input] = Input(pairs=kernel_of_basis, y=_labels_of_graphs, idle=_refuse_idle_graphs)

    def _stated(self, basis: Samples | Features, forms: Forms) -> Posed:
        L = total_of([(a, forms.get(form)) for a, form in self._laplacians("intrinsic", forms)])
        settings = {**self._settings(forms), "unit": self._unit(forms)}
        if self.sense == "max":
            return pose(basis, maximise=L, **settings)
        return pose(basis, minimise=L, **settings)

    def _unit(self, forms: Forms) -> Form | str:
        if self.penalty is not None:
            return total_of([(a, forms.get(form)) for a, form in self._laplacians("penalty", forms)])
        if self.unit is None or (isinstance(self.unit, str) and self.unit == "degree"):
            return total_of([(a, forms.get(form)) for a, form in self._laplacians("intrinsic", forms, degrees=True)])
        if isinstance(self.unit, str):
            return self.unit
        d = real_numbers(self.unit, "unit=", InputError)
        if d.shape != (forms.whole.n,) or not np.all(np.isfinite(d)) or d.min() < 0 or not d.any():
            raise InputError(
                f"unit= must hold the diagonal of B: {forms.whole.n} finite numbers, zero or more, one for every sample and not all zero; "
                f"got shape {d.shape}, {d!r:.60}."
            )
        return forms.get(diagonal(d))

    def _laplacians(self, parameter: str, forms: Forms, *, degrees: bool = False) -> list[tuple[float, Form | str]]:
        """Return the Laplacians of a graph, or its degrees, with factors."""
        given, whole = getattr(self, parameter), forms.whole
        of = degree if degrees else laplacian
        points = forms.points if forms.masses is None else whole.x.values
        if not isinstance(given, str):
            return [(1.0, of(form_of(given, whole.x.values, whole.given, whole.n, f"{parameter}=")))]
        codes = np.full(whole.n, -1) if whole.y is None else whole.y.codes
        named, near = NamedCosts(points, codes, self), "degree" if degrees else "laplacian"
        found = terms(given, ["neighbours", *COSTS], parameter)
        return [(a, near if name == "neighbours" else of(named.get(name))) for a, name in found]
