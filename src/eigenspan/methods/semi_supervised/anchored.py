"""Graph embeddings in which the coordinates of some points are known, and the form of the method places the rest."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Literal, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from ..._diagnostics import note, stage
from ..._parameters import Positive, attribute, parameter
from ..._types import Array, Index, Mask, TableLike, TargetLike, VectorLike
from ...data import Coordinates, Input, Sample
from ...data.x import XKind
from ...data.y import KnownPlaces
from ...errors import DegenerateWarning, DisconnectedError, DuplicateWarning, GraphError, InputError, warn
from ...graphs import NeighbourGraph, components
from ...numerics.eigen import dense
from ...numerics.eigen.linear_systems import solve_positive
from ...numerics.threads import threads
from ...problem import Fitted, Form, Map, Posed, Samples, TraceProblem, diagonal, pose, solve, spectral_attributes
from ...problem.spectrum import warn_if_collapsed, warn_if_localised
from ..base.contract import Reducer, axes
from ..base.graph_embedding import Connected, Distinct, GraphEmbedding, Neighbours, barycentric, fit_posed, fit_reduced
from ..base.table import SPARSE, besides, known_as
from ..distances.isomap import Isomap, LandmarkIsomap
from ..unfolding import Unfolding


def _places_of(estimator: Anchored) -> KnownPlaces:
    d = getattr(estimator.embedding, "n_components", 2)
    if isinstance(d, str):
        raise InputError(f"n_components={d!r} is not the number of known coordinates: give that number.")
    return KnownPlaces(d)


@besides(
    "semi-supervised",
    "min the form of a graph embedding",
    "known coordinates",
    "samples",
    "coordinates",
    SPARSE,
    "S0 §6.2",
)
@known_as(
    "Graph embedding with known positions",
    "",
    {
        "LLE()": "semi-supervised LLE; semi-supervised nonlinear dimensionality reduction; semi-supervised locally linear embedding; "
        "LLE with prior information; constrained LLE",
        "LaplacianEigenmaps()": "semi-supervised Laplacian eigenmaps; known coordinates; anchor points; prior coordinates",
        "LTSA()": "semi-supervised LTSA",
        "LLE(), form='noisy'": "inexact prior information",
    },
)
class Anchored(Reducer):
    """A graph embedding that keeps to the known coordinates of some points.

    .. math:: \\min_Y \\operatorname{Tr}(Y^T M Y) \\quad \\text{with } Y_1 \\text{ known,}

    M the form that the wrapped method minimises. With the known points first, ``form`` says what is solved:

    * ``"exact"``: :math:`Y_1` is as given, and :math:`M_{22} Y_2 = -M_{21} Y_1` (Yang et al.).
    * ``"noisy"``: :math:`\\min_Y \\operatorname{Tr}(Y^T M Y) + \\beta\\mu \\lVert Y_1 - G \\rVert_F^2` for given coordinates G, with μ the
      mean diagonal entry of M: :math:`(M + \\beta\\mu E) Y = \\beta\\mu E G`, E the identity on the known points. β → ∞ is ``"exact"``.
    * ``"spectral"``: :math:`\\min_Y \\operatorname{Tr}(Y^T (M + \\beta\\mu P) Y)` under the wrapped method's unit, the constant excluded
      (Zhang, Zha & Zhang). P acts on the known points as the projector onto the complement of [1, G]: what it costs is the part of
      :math:`Y_1` that is no affine function of G. The affine map that takes :math:`Y_1` closest to G is then applied to all points:
      the known ones shape the axes and fix the frame, but none is met exactly.

    Isomap has no form over neighbours. There M = I − QQᵀ, with Q an orthonormal basis of the constant and Isomap's axes: LTSA's
    projector for one neighbourhood that holds all points, in geodesic coordinates. (λ_max I − K has only the first axis at no cost, and
    shrinks the others.) Unknown points are then an affine image of their Isomap, and new ones that of Isomap's own map.

    In ``"exact"`` and ``"noisy"`` the embedding lies in the affine hull of the known coordinates: know at least d + 1 points, in
    general position. They hold the components of a neighbour graph in place, so it is not bridged, and every component needs
    known points. The spectral form and Isomap follow the wrapped method's ``disconnected``.

    Use it where a few coordinates were measured: positions of sensors, poses, ages. LTSA, Hessian LLE and modified LLE, whose forms
    vanish for affine coordinates of a flat sheet, do best; Laplacian forms pull all points towards the mean of the known ones.

    Cost: that of the wrapped method, in ``"exact"`` and ``"noisy"`` with one sparse factorisation instead of its eigenproblem. Isomap
    has its n×n geodesics and its eigenproblem in every form.

    Parameters
    ----------
    embedding : graph embedding
        Unfitted: `LTSA`, `HessianLLE`, `ModifiedLLE`, `LLE`, `LaplacianEigenmaps`, `DiffusionMap`, `CommuteTimeEmbedding`
        or `Isomap`, without landmarks. Its ``n_components`` is the number of coordinates of a point. Its scale and
        ``extension`` are not used.
    form
        Whether the known coordinates are kept, are trusted as far as `beta` says, or are known up to an affine map.
    beta
        Weight of the known coordinates in ``"noisy"`` and ``"spectral"``, relative to the mean diagonal entry of M (in
        ``"noisy"``, of each component): at 1 a known point is tied to its coordinates as tightly as an average point to its
        neighbours.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        Coordinates of the training points, in the frame of the known ones.
    known_ : ndarray of bool, shape (n_samples,)
        Which points had coordinates.
    graph_ : NeighbourGraph
        The neighbour graph, which other estimators accept as ``graph=``. If rows of X repeat, it is the graph of the
        distinct rows: ``graph_.rows`` holds their row numbers, and is None if all rows are nodes.
    eigenvalues_, residuals_, gap_, problem_ : ndarray, ndarray, float, TraceProblem
        As in the wrapped method. Present with ``form="spectral"``.
    map_ : Map
        The function behind ``transform``: new points are rebuilt from their neighbours (barycentric), or placed by Isomap's
        map.
    diagnostics_ : dict
        Seconds per stage, known points, graph components, residual and other facts of the fit.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_s_curve
    >>> from eigenspan import LTSA, Anchored
    >>> X, t = make_s_curve(600, random_state=0)
    >>> Y = np.full((600, 2), np.nan)
    >>> Y[::60] = np.column_stack([t, X[:, 1]])[::60]
    >>> anchored = Anchored(LTSA(2, n_neighbors=12)).fit(X, Y)
    >>> bool(np.abs(anchored.embedding_[:, 0] - t).max() < 0.1)
    True

    References
    ----------
    Yang, Fu, Zha & Barlow (2006), Semi-supervised nonlinear dimensionality reduction; Zhang, Zha & Zhang (2008), Spectral methods
    for semi-supervised manifold learning; [S0] §6.2.
    """

    embedding: GraphEmbedding = parameter(kw_only=False)
    form: Literal["exact", "noisy", "spectral"] = "exact"
    beta: Positive = 1.0

    known_: Mask = attribute()
    graph_: NeighbourGraph = attribute()
    eigenvalues_: Array = attribute()
    residuals_: Array = attribute()
    gap_: float = attribute()
    problem_: TraceProblem = attribute()

    _input: ClassVar[Input] = Input(pairs=("graph", "metric"), inside="embedding", y=_places_of)

    def fit(self, X: TableLike, y: TargetLike = None, sample_weight: VectorLike | None = None) -> Self:
        """Place all points among the known ones.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples, n_components)
            The known coordinates, and rows of NaN for the other points; one dimension will do for one component. All points may be
            known: ``"exact"`` then returns them, and only the map is new.
        sample_weight : array-like of shape (n_samples,), optional
            How often each row counts: whole numbers give the fit to rows that occur this often, and rows of weight 0 are left out of
            the fit and placed by its map.

        Returns
        -------
        self
        """
        return super().fit(X, y, sample_weight)

    def _fit(self, sample: Sample) -> Fitted:
        embedding = self._wrapped()
        note(known=int(sample.y.known.sum()))
        graph = next(each for each in embedding._reductions() if isinstance(each, Neighbours))
        distinct = Distinct(embedding.graph, embedding.n_neighbors, movable=False)
        with threads(embedding.n_jobs):
            if self.form == "spectral" or isinstance(embedding, Isomap):
                fitted = fit_reduced(sample, (distinct,), partial(self._fit_connected, embedding, graph))
            else:
                fitted = fit_reduced(sample, (distinct, graph), partial(self._fit_components, embedding))
        if self.form == "exact":
            _warn_of_two_places(sample.y, np.asarray(fitted.embedding))
        return fitted.having(known_=sample.y.known)

    def _wrapped(self) -> GraphEmbedding:
        """Return the wrapped method, unfitted, after checking its parameters."""
        embedding = clone(self.embedding)
        embedding._validate_params()
        if isinstance(embedding, Unfolding):
            raise InputError(
                f"Anchored needs a form over neighbours, and {type(embedding).__name__} learns a Gram matrix instead: "
                "wrap LTSA, LLE or Isomap."
            )
        if embedding.landmarks is not None or isinstance(embedding, LandmarkIsomap):
            raise InputError(
                f"Anchored needs the form of all points, but {embedding!r:.80} has landmarks only. Leave landmarks out"
                + (": wrap Isomap." if isinstance(embedding, LandmarkIsomap) else ".")
            )
        return embedding

    # ------------------------------------------------------------------ exact and noisy, a component at a time
    def _fit_components(self, embedding: GraphEmbedding, sample: Sample) -> Fitted:
        """Solve the linear system of each component of the graph."""
        graph, G = sample.graph, sample.y.values
        extend = _rebuilding(embedding, graph, sample.x)
        count, labels = components(graph)
        note(components=count)
        if count > 1 and embedding.disconnected == "raise":
            raise DisconnectedError(
                f'The neighbour graph has {count} components, which disconnected="raise" refuses. Known points can hold each of them in '
                'place: use disconnected="connect" to allow that, or more neighbours.'
            )
        _check_anchors(G, labels, count)
        Y = G.copy()
        for piece in range(count):
            rows = np.flatnonzero(labels == piece)
            if self.form == "exact" and sample.y.known[rows].all():
                continue
            part = graph if count == 1 else graph.subset(rows)
            some = sample.take(rows)
            Y[rows] = self._solve_system(embedding._pose_graph(part, some).problem.A, some)
        warn_if_collapsed(Y)
        return Fitted(Y, extend(Y))

    def _solve_system(self, M: Form, sample: Sample) -> Array:
        G, known = sample.y.values, sample.y.known
        centre = G[known].mean(axis=0)  # centred, to keep digits: M kills the constant
        Y = np.where(known[:, None], G - centre, 0.0)
        with stage("linear system"):
            if self.form == "noisy":
                tie = diagonal(self.beta * _mean_diagonal(M, sample.x) * sample.y.weights)
                return _solved(M + tie, tie @ Y, M.norm()) + centre
            if not known.all():
                free = np.flatnonzero(~known)
                Y[free] = _solved(_restricted(M, free), -(M @ Y)[free], M.norm())
        Y += centre
        Y[known] = G[known]
        return Y

    # ------------------------------------------------------------------ the spectral form, and Isomap in every form
    def _fit_connected(self, embedding: GraphEmbedding, graph: Neighbours, sample: Sample) -> Fitted:
        """Solve one problem over the connected graph."""
        _check_enough(sample.y.values[sample.y.known], self.form)
        reductions = (graph, Connected(embedding.disconnected))
        return fit_posed(sample, reductions, embedding._pose_graph, partial(self._solve_whole, embedding, sample.y))

    def _solve_whole(self, embedding: GraphEmbedding, given: Coordinates, posed: Posed, sample: Sample) -> Fitted:
        inside, everywhere = int(sample.y.known.sum()), int(given.known.sum())
        if inside < everywhere:
            raise InputError(
                f"{everywhere - inside} of {everywhere} known points lie outside the largest component, and "
                'disconnected="largest" embeds only this one. Use "connect", more neighbours, or leave their coordinates out.'
            )
        G: Array = sample.y.values
        found: dict[str, Any] = {}
        problem: Any = posed.problem
        if problem.sense == "max":
            M, extend = _of_axes(embedding, posed, sample.x.masses)
        else:
            M, extend = problem.A, _rebuilding(embedding, sample.graph, sample.x)
        if self.form == "spectral":
            Y, found = self._solve_spectral(embedding, problem.B, M, sample)
        else:
            _check_anchors(G, np.zeros(sample.n, dtype=np.intp), 1)
            Y = self._solve_system(M, sample)
        return Fitted(Y, extend(Y), found)

    def _solve_spectral(
        self, embedding: GraphEmbedding, unit: Form | None, M: Form, sample: Sample
    ) -> tuple[Array, dict[str, Any]]:
        G, known = sample.y.values, sample.y.known
        form = M + self.beta * _mean_diagonal(M, sample.x) * _not_affine(sample.y)
        form = replace(form, psd=True, kills_constant=True)
        problem = pose(Samples(M.n), minimise=form, unit="embedding" if unit is None else unit).problem
        spectrum = solve(problem, G.shape[1], solver=embedding.solver, random_state=embedding.random_state)
        Z = spectrum.vectors
        note(participation=warn_if_localised(Z))
        rank = _rank(Z[known])
        if rank < Z.shape[1]:
            raise InputError(
                f"On the {known.sum()} known points the {Z.shape[1]} axes found span only {rank} dimensions: the affine map to their "
                "coordinates is not determined. Give the coordinates of more points, spread over the data, or a smaller beta."
            )
        Y = _with_constant(Z) @ _affine(Z[known], G[known], sample.y.weights[known])
        return Y, spectral_attributes(problem, spectrum)


def _check_enough(G: Array, form: str) -> None:
    """Refuse known points that do not determine the affine map of the spectral form, and of Isomap in every form."""
    m, d = G.shape
    if m < d + 1:
        raise InputError(
            f"{m} distinct point{'s have' if m != 1 else ' has'} known coordinates, but an affine map of the embedding is fitted to them, "
            f"and in {d} dimensions it takes {d + 1} points to determine one: give coordinates of at least {d + 1}, in general position."
        )
    rank = _rank(G)
    if form == "spectral" and rank < d:
        raise InputError(
            f"The {m} known points span only {rank} of {d} dimensions: no axes can be told from them. Give points in general position, "
            f"or use n_components={max(rank, 1)} and as many coordinates."
        )


def _check_anchors(G: Array, labels: Index, count: int) -> None:
    """Refuse components without known points. Warn of those whose known points span too few dimensions."""
    known = ~np.isnan(G[:, 0])
    held = np.bincount(labels[known], minlength=count)
    if np.any(held == 0):
        lost = np.isin(labels, np.flatnonzero(held == 0))
        raise GraphError(
            f"{np.sum(held == 0)} of the {count} components of the neighbour graph, with {lost.sum()} of {known.size} points (first: "
            f"{np.flatnonzero(lost)[0]}), hold no known point, so their place is not determined. Give the coordinates of a few points "
            "in each, or use more neighbours or a larger radius; the graph_ of a fitted embedding, which is bridged, joins them too."
        )
    d = G.shape[1]
    pieces = np.unique(labels[~known])
    ranks = np.array([_rank(G[known & (labels == piece)]) for piece in pieces])
    if np.any(ranks < d):
        where = "" if count == 1 else f" of {np.sum(ranks < d)} of {count} components of the neighbour graph"
        warn(
            f"The known points{where} span only {ranks.min()} of {d} dimensions, and the others can only be placed among them. Give "
            f"the coordinates of at least {d + 1} points in general position"
            + ("." if count == 1 else ", in each component."),
            DegenerateWarning,
        )


def _rank(Y: Array) -> int:
    """Return the number of dimensions that points span about their mean."""
    return dense.principal_axes(Y - Y.mean(axis=0), rtol=1e-9)[1].size


def _mean_diagonal(M: Form, x: XKind) -> float:
    """Return the mean diagonal entry of M per row of X, equal rows counted."""
    return float(M.diagonal().sum()) / x.count


def _warn_of_two_places(given: Coordinates, Y: Array) -> None:
    """Warn of equal rows with different known coordinates."""
    moved = np.abs(Y - given.values)[given.known].max(axis=1, initial=0.0)
    if moved.any():
        warn(
            f"{np.count_nonzero(moved)} known points equal others in X but have different coordinates, up to {moved.max():.3g} from the "
            'mean, where all of them were placed. Correct the coordinates, or use form="noisy" if they are measured.',
            DuplicateWarning,
        )


def _restricted(M: Form, rows: Index) -> Form:
    """Return some rows and columns of a sparse and low-rank form."""
    M = M.assembled()
    S: Any = M.sparse
    low = None if M.low_rank is None else (M.low_rank[0][rows], M.low_rank[1])
    return Form(rows.size, sparse=sp.csr_array(S[rows][:, rows]), low_rank=low, psd=M.psd)


def _solved(M: Form, right: Array, size: float) -> Array:
    """Solve ``M Y = right``, or raise `InputError` if the known points do not determine Y."""
    try:
        return solve_positive(M, right, size)
    except np.linalg.LinAlgError as found:
        raise InputError(
            f"The known points do not determine the other coordinates: the linear system of {M.n} points is singular ({found}). Give the "
            'coordinates of more points, in general position and in every part of the data, or a larger beta in form="noisy".'
        ) from found


def _rebuilding(embedding: GraphEmbedding, graph: NeighbourGraph, x: XKind) -> Callable[[Array], Map]:
    """Return the map that rebuilds new points from their neighbours."""
    extension = barycentric(graph, x, getattr(embedding, "reg", 1e-3))
    return lambda Y: Map(extension.rows, Y, known=extension.known, embedding=Y)


def _of_axes(embedding: GraphEmbedding, posed: Posed, masses: Array | None) -> tuple[Form, Callable[[Array], Map]]:
    """Return ``I − QQ'`` for the largest axes of a Gram matrix, points weighted by their masses, and the affine image of their map."""
    V, spectrum = axes(embedding).of(posed)
    own: Any = posed.basis.map(V, spectrum)
    n, root = V.shape[0], np.ones(V.shape[0]) if masses is None else np.sqrt(masses)
    Q = root[:, None] * np.column_stack([np.ones(n), V])
    Q /= np.linalg.norm(Q, axis=0)
    M = diagonal(root**2) + Form(n, low_rank=(root[:, None] * Q, -np.ones(Q.shape[1])))

    def extend(Y: Array) -> Map:
        shift, *turn = _affine(V, Y, root**2)
        return replace(own.then(np.array(turn), shift), embedding=Y)

    return replace(M, psd=True, kills_constant=True), extend


def _not_affine(given: Coordinates) -> Form:
    """Return the projector onto the complement of [1, G] on the known points, each weighted by how often it occurs."""
    known, root = given.known, np.sqrt(given.weights[given.known])[:, None]
    G = given.values[known]
    U = dense.principal_axes(root * (G - np.average(G, axis=0, weights=root[:, 0] ** 2)))[0]
    T = np.zeros((known.size, U.shape[1] + 1))
    T[known] = root * np.column_stack([root / np.linalg.norm(root), U])
    return diagonal(given.weights) + Form(known.size, low_rank=(T, -np.ones(T.shape[1])))


def _with_constant(Z: Array) -> Array:
    return np.column_stack([np.ones(Z.shape[0]), Z])


def _affine(Z: Array, Y: Array, weights: Array) -> Array:
    """Return the coefficients (1 + d, d) of the affine function of Z closest to Y, its value at zero first."""
    (z, y), root = (np.average(A, axis=0, weights=weights) for A in (Z, Y)), np.sqrt(weights)[:, None]
    turn = np.linalg.lstsq(root * (Z - z), root * (Y - y), rcond=None)[0]
    return np.vstack([y - z @ turn, turn])
