"""Random walks on the graph: diffusion maps and commute times, other scales of the Laplacian form."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np
import scipy.sparse as sp

from ..._parameters import NotNegative, Share, attribute
from ..._types import Array
from ...data import Sample
from ...graphs import Affinity, NeighbourGraph, Weights
from ...problem import Diffusion, Fitted, InverseSqrt, Posed, pose
from ...problem.forms import counted, degree, degrees, laplacian, without_density
from ..base.graph_embedding import GraphEmbedding
from ..base.table import SPARSE, known_as, method
from .eigenmaps import connected_affinity, walk_basis


@method("laplacian", "min L of W_α", "degree", SPARSE, "S4 §2.2", "diffusionmaps")
@known_as(
    "Diffusion map",
    "diffusion distance; diffusion coordinates; random walk on a graph; Markov chain embedding; Fokker–Planck",
    {
        "alpha=1": "density-independent Laplacian; Laplace–Beltrami operator",
        "alpha=0": "eigenvectors of the random walk; normalised random walk",
    },
)
class DiffusionMap(GraphEmbedding):
    """Diffusion map.

    .. math:: P \\psi_i = \\mu_i \\psi_i, \\quad P = D_\\alpha^{-1} W_\\alpha, \\quad
       W_\\alpha = Q^{-\\alpha} W Q^{-\\alpha}, \\qquad Y = [\\mu_i^t \\psi_i]

    with Q the degrees of W [S4, eq. 15]. Euclidean distances in Y are diffusion distances after t steps of the walk. α = 1
    removes the sampling density, α = 0 is the plain random walk. Solved as the Laplacian problem of W_α: λ = 1 − μ.

    The diagonal of W is the probability of staying, so it changes the result. Weights made of distances have w_ii = 1, the weight of
    distance zero. With ``weights="precomputed"`` W is taken as given, its diagonal included: a zero diagonal means that the walk always
    moves, and multiplying W by a number changes nothing. Pass ``W + scipy.sparse.eye_array(n)`` for self-loops of weight one.

    Cost: as Laplacian eigenmaps.

    Parameters
    ----------
    weights
        ... With ``graph="precomputed"``, X is the affinity matrix, its diagonal included.
    t
        Diffusion time.
    alpha
        Exponent of the density normalisation: 0 keeps the density of the points, 1 removes it.

    Attributes
    ----------
    affinity_ : Affinity
        Edge weights before the density normalisation, without the diagonal, and the rule that computed them.
    walk_eigenvalues_ : ndarray of shape (n_components,)
        μ = 1 − λ.

    Examples
    --------
    >>> from sklearn.datasets import make_s_curve
    >>> from eigenspan import DiffusionMap
    >>> X, _ = make_s_curve(300, random_state=0)
    >>> dm = DiffusionMap(2, t=2).fit(X)
    >>> bool((dm.walk_eigenvalues_ < 1).all())
    True

    References
    ----------
    Coifman & Lafon (2006).
    """

    weights: Weights = "heat"
    extension: Literal["nystrom", "harmonic", "barycentric"] = "nystrom"
    t: NotNegative = 1
    alpha: Share = 1

    affinity_: Affinity = attribute()
    walk_eigenvalues_: Array = attribute()

    def _pose_graph(self, graph: NeighbourGraph, sample: Sample) -> Posed:
        x = sample.x
        weighed = connected_affinity(graph, self.weights, x.points)
        # A step may stay where it is, or go to an equal row.
        W = counted(sp.csr_array(weighed.W + _self_loops(graph, weighed)), x.masses)
        W, density = without_density(W, x.masses, self.alpha)
        scale = Diffusion(self.t, float(degrees(W).sum()))
        basis = walk_basis(graph, weighed, x, self.extension, density)
        posed = pose(basis, minimise=laplacian(W), unit=degree(W), scale=scale)
        return replace(posed, after=_with_walk_eigenvalues).having(affinity_=weighed)


def _with_walk_eigenvalues(fitted: Fitted) -> Fitted:
    return fitted.having(walk_eigenvalues_=1.0 - fitted.attributes["eigenvalues_"])


def _self_loops(graph: NeighbourGraph, weighed: Affinity) -> sp.csr_array:
    """Return the diagonal of the weights: 1 = exp(0) if they are made of distances, as given if they are given."""
    if not weighed.given:
        return sp.csr_array(sp.eye_array(graph.n))
    loops = np.zeros(graph.n) if graph.loops is None else graph.loops
    return weighed.rule.weigh(sp.csr_array(sp.diags_array(loops)), None)


@method("laplacian", "max L†", "embedding", SPARSE, "S1 §1.4.2", "commutetime")
@known_as(
    "Commute-time embedding",
    "commute time; commute distance; resistance distance; average commute time; expected commute times; "
    "pseudo-inverse of the Laplacian; random walk commute times",
)
class CommuteTimeEmbedding(GraphEmbedding):
    """Commute-time embedding.

    .. math:: \\max_Y \\operatorname{Tr}(Y^T L^\\dagger Y) \\quad \\text{s.t. } Y^T Y = I, \\qquad
       Y = \\sqrt{\\operatorname{vol}}\\, U \\Lambda^{-1/2}

    Squared distances approximate the expected steps of a random walk from i to j and back (exactly with n − 1 components) [S1, §1.4.2].
    Robust against single short-cut edges, because it averages over all paths.

    Cost: as Laplacian eigenmaps.

    Parameters
    ----------
    weights
        ... With ``graph="precomputed"``, X is the affinity matrix, whose diagonal has no effect.
    extension
        How new points are placed: at the weighted mean of their neighbours, or by local reconstruction. Training points
        keep their own embedding.

    Attributes
    ----------
    affinity_ : Affinity
        Edge weights.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from eigenspan import CommuteTimeEmbedding
    >>> X, _ = load_iris(return_X_y=True)
    >>> CommuteTimeEmbedding(2, n_neighbors=60).fit_transform(X).shape
    (150, 2)

    References
    ----------
    Fouss et al. (2007); Qiu & Hancock (2007).
    """

    weights: Weights = "heat"
    extension: Literal["harmonic", "barycentric"] = "harmonic"

    affinity_: Affinity = attribute()

    def _pose_graph(self, graph: NeighbourGraph, sample: Sample) -> Posed:
        x = sample.x
        weighed = connected_affinity(graph, self.weights, x.points)
        W = counted(weighed.W, x.masses)
        scale = InverseSqrt(float(degrees(W).sum()))
        basis = walk_basis(graph, weighed, x, self.extension)
        return pose(basis, minimise=laplacian(W), scale=scale).having(affinity_=weighed)
