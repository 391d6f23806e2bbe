"""Principal direction divisive partitioning: clusters by hyperplanes, each across the longest axis of what it splits."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from ..._compat import ClusterMixin
from ..._diagnostics import note, stage
from ..._parameters import Count, Seed, Share, Verbose, attribute, parameter
from ..._types import Array, Index, Matrix, TableLike
from ...data import Input, Points, Sample, read_new
from ...data.rows.block_passes import refuse_non_finite
from ...errors import DegenerateWarning, InputError, warn
from ...numerics.eigen.centred import Centred, column_means, leading_axes
from ...problem import Fitted, Map
from ...problem.map import Raw
from ...problem.spectrum import seed_of, sign_of
from ..base.contract import Reducer
from ..base.table import besides, known_as

#: Distance from a plane, relative to the largest in the cluster, up to which rows count as on the plane and go left.
_ON_THE_PLANE = 1e-10


@besides("variance", "max scatter of a cluster, split", "projection", "linear", "none", "n D per level", "S0 §8.6")
@known_as(
    "Principal direction divisive partitioning",
    "divisive clustering; hierarchical clustering by PCA; bisecting by the principal direction; "
    "spectral bisection of data",
)
class PDDP(ClusterMixin, Reducer):
    """Principal direction divisive partitioning.

    .. math:: \\max_{v} \\; v^T X_c^T H X_c v \\quad \\text{s.t. } v^T v = 1, \\qquad
              x \\in \\text{left} \\iff v^T (x - \\mu_c) \\le 0

    for the cluster c of largest scatter :math:`\\operatorname{Tr}(X_c^T H X_c)`, again and again: it is cut in two by the plane through its
    centroid that is normal to its leading principal direction [S0, §8.6]. A tree of planes results, which gives new points their cluster
    exactly. Use it for a fast first partition of many rows, also sparse ones (texts); it needs no starting point and no distances. It
    cannot find clusters that no plane separates: use `SpectralClustering`.

    ``transform`` gives the distances from the planes, with signs, one column a split: the first is the first principal component.

    Cost: the leading axis of every cluster that is split, about O(nD) a level of the tree; sparse rows stay sparse.

    Parameters
    ----------
    n_clusters
        Maximum number of clusters. "auto" stops as soon as the centroids have more scatter about their mean than any
        cluster has about its own centroid.
    tol
        Clusters with at most this share of the total scatter are not split, so there may be fewer than `n_clusters`.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Clusters, numbered from left to right in the tree.
    tree_ : ndarray of shape (n_splits, 2)
        Left and right child of every split: another split, or −1 − c for the cluster c. Splits are in the order in which
        they were made, the root first.
    directions_ : ndarray of shape (n_splits, n_features)
        Normals of the planes, of length one.
    centres_ : ndarray of shape (n_splits, n_features)
        A point on each plane: the centroid of the points that it splits.
    widths_ : ndarray of shape (n_splits,)
        Tolerance for rounding: points at most this far beyond a plane count as on it, and go left.
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        Centroids of the clusters.
    scatters_ : ndarray of shape (n_clusters,)
        Sums of squared distances from the centroids.
    embedding_ : ndarray of shape (n_samples, n_splits)
        Distances of the training points from the planes.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from eigenspan import PDDP
    >>> X, y = make_blobs(300, centers=[[0, 0], [9, 0], [0, 5]], random_state=0)
    >>> pddp = PDDP(3).fit(X)
    >>> pddp.tree_.tolist()
    [[1, -3], [-1, -2]]
    >>> bool((pddp.predict(X) == pddp.labels_).all())
    True

    References
    ----------
    Boley (1998), Principal direction divisive partitioning.
    """

    n_clusters: Count | Literal["auto"] = parameter(default=8, kw_only=False)
    tol: Share = 0.0
    random_state: Seed = 0
    verbose: Verbose = 0

    labels_: Index = attribute()
    tree_: Index = attribute()
    directions_: Array = attribute()
    centres_: Array = attribute()
    widths_: Array = attribute()
    cluster_centers_: Array = attribute()
    scatters_: Array = attribute()

    _input: ClassVar[Input] = Input(sparse=True, linear=True)

    def _fit(self, sample: Sample[Points, None]) -> Fitted:
        X, n = sample.x.values, sample.n
        if self.n_clusters != "auto" and self.n_clusters > n:
            raise InputError(f"n_clusters={self.n_clusters} exceeds n_samples={n}: a cluster needs a row at least.")
        sample.x.refuse_one_place()
        with stage("splits"):
            tree = self._grown(_Tree(X, np.random.default_rng(seed_of(self.random_state))))
        note(clusters=len(tree.leaves))
        children, leaves = tree.numbered()
        labels = np.empty(n, dtype=np.intp)
        for label, leaf in enumerate(leaves):
            labels[leaf.rows] = label
        V, centres = (np.reshape(rows, (-1, X.shape[1])) for rows in (tree.normals, tree.centres))
        origin = column_means(X)
        map_ = Map(Raw(), V.T, offset=origin, shift=-np.einsum("ij,ij->i", centres - origin, V))
        return Fitted(
            map_(X),
            map_,
            {
                "labels_": labels,
                "tree_": children,
                "directions_": V,
                "centres_": centres,
                "cluster_centers_": np.array([leaf.mean for leaf in leaves]),
                "scatters_": np.array([leaf.scatter for leaf in leaves]),
                "widths_": np.array(tree.widths),
            },
        )

    def _grown(self, tree: _Tree) -> _Tree:
        """Split clusters until there are enough, or none is large enough."""
        least = max(self.tol, np.finfo(float).eps) * tree.leaves[0].scatter
        wanted: Any = self.n_clusters
        while wanted == "auto" or len(tree.leaves) < wanted:
            largest = max(tree.leaves, key=lambda leaf: leaf.scatter)
            if largest.scatter <= least or (wanted == "auto" and tree.between() > largest.scatter):
                break
            tree.split(largest)
        if wanted != "auto" and len(tree.leaves) < wanted and self.tol == 0:
            warn(
                f"The rows have only {len(tree.leaves)} distinct places: no more clusters can be told apart, and n_clusters={wanted}. Use "
                "fewer clusters.",
                DegenerateWarning,
            )
        return tree

    def predict(self, X: TableLike) -> Index:
        """Return the cluster of each new point, found by descending the tree.

        Parameters
        ----------
        X : array-like of shape (n_points, n_features)

        Returns
        -------
        ndarray of shape (n_points,)
        """
        check_is_fitted(self)
        table, rows = read_new(self, X)
        if not sp.issparse(table):
            refuse_non_finite(table)
        right = self.map_(rows) > self.widths_
        at = np.full(len(right), 0 if len(self.tree_) else -1, dtype=np.intp)
        while np.any(inner := at >= 0):
            some = np.flatnonzero(inner)
            at[some] = self.tree_[at[some], right[some, at[some]].astype(np.intp)]
        return -1 - at

    def fit_predict(self, X: TableLike, y: object = None) -> Index:
        """Fit and return the cluster of every training point."""
        return self.fit(X).labels_


@dataclass(eq=False)
class _Leaf:
    """Rows of a cluster that is not split, and its place: the split above it, and the side of that split, left (0) or right (1)."""

    rows: Index
    C: Centred
    above: int
    side: int

    mean: Array = field(init=False)
    scatter: float = field(init=False)

    def __post_init__(self) -> None:
        self.mean = self.C.origin
        self.scatter = float(self.rows.size * np.sum(self.C.spread() ** 2))


class _Tree:
    """Splits found so far, and the clusters that are not split."""

    def __init__(self, X: Matrix, rng: np.random.Generator) -> None:
        self.X, self.rng = X, rng
        self.normals: list[Array] = []
        self.centres: list[Array] = []
        self.widths: list[float] = []
        self.children: list[list[Any]] = []
        self.leaves = [self._leaf(np.arange(X.shape[0]), -1, 0)]

    def _leaf(self, rows: Index, above: int, side: int) -> _Leaf:
        part = self.X[rows]
        return _Leaf(rows, Centred.of(part, column_means(part)), above, side)

    def between(self) -> float:
        """Return the scatter of the centroids about their mean."""
        M = np.array([leaf.mean for leaf in self.leaves])
        return float(np.sum((M - M.mean(axis=0)) ** 2))

    def split(self, leaf: _Leaf) -> None:
        """Split a leaf by the plane through its centroid normal to its longest axis."""
        axes = leading_axes(leaf.C, 1, self.rng)
        v = axes.vectors[:, 0] * sign_of(axes.vectors)[0]
        scores = leaf.C.forward(v)
        width = _ON_THE_PLANE * float(np.abs(scores).max())
        here, right = len(self.normals), scores > width
        if right.all() or not right.any():  # equal rows: the scatter is rounding
            leaf.scatter = 0.0
            return
        self.normals.append(v)
        self.centres.append(leaf.mean)
        self.widths.append(width)
        halves = [self._leaf(leaf.rows[~right], here, 0), self._leaf(leaf.rows[right], here, 1)]
        self.children.append(halves)
        if leaf.above >= 0:
            self.children[leaf.above][leaf.side] = here
        self.leaves = [other for other in self.leaves if other is not leaf] + halves

    def numbered(self) -> tuple[Index, list[_Leaf]]:
        """Return the children of every split, with −1 − c for leaf c, and the leaves from left to right."""
        if not self.children:
            return np.empty((0, 2), dtype=np.intp), self.leaves
        leaves: list[_Leaf] = []
        children = np.zeros((len(self.children), 2), dtype=np.intp)
        below: list[Any] = [(0, side) for side in (1, 0)]
        while below:
            split, side = below.pop()
            child = self.children[split][side]
            if isinstance(child, _Leaf):
                children[split, side] = -1 - len(leaves)
                leaves.append(child)
            else:
                children[split, side] = child
                below += [(child, 1), (child, 0)]
        return children, leaves
