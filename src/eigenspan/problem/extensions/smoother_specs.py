"""Specifications of the out-of-sample extensions of unfoldings, for ``extension=``."""

from __future__ import annotations

from typing import Literal

from ..._checks import Spec
from ..._documented import documented
from ..._parameters import Count, Positive, parameter
from ..._types import Array, Matrix
from ...graphs.neighbours.graph import NeighbourGraph
from .smoother import Eigenfunctions, KernelMap, eigenfunctions, kernel_map


@documented
class SmoothedEigenfunctions(Spec):
    """New points by smoothed eigenfunctions of the learned Gram matrix [S4, eqs. 63–67]: ``extension=`` of the unfoldings.

    Parameters
    ----------
    eta
        η, the ridge of the regression, relative to r(x, x) = 1.
    kernel
        The smoothing kernel r(·, ·): Wendland's C² function, which is zero beyond its width, or the Gaussian, which has several
        times as many entries.
    width
        Radius of Wendland's function, or standard deviation of the Gaussian. None means the radius within which a typical point
        has 100 others, or a third of that radius.
    rescale
        Reproduce constants, so that points beside and between the training points do not shrink towards the origin. False is
        the formula as printed.

    Examples
    --------
    >>> from eigenspan import MVU, SmoothedEigenfunctions
    >>> MVU(extension=SmoothedEigenfunctions(eta=0.01)).extension.eta
    0.01

    References
    ----------
    Chin & Suter (2008), Out-of-sample extrapolation of learned manifolds.
    """

    eta: Positive = parameter(default=1e-3, kw_only=False)
    kernel: Literal["wendland", "gaussian"] = "wendland"
    width: Positive | None = None
    rescale: bool = True

    def extend(self, graph: NeighbourGraph, points: Matrix, factor: Array) -> Eigenfunctions:
        self.check()
        return eigenfunctions(graph, points, factor, **self.get_params(deep=False))


@documented
class NormalizedKernels(Spec):
    """New points by normalised Gaussian kernels fitted to the embedding [S4, eqs. 68–77]: ``extension=`` of the unfoldings.

    Parameters
    ----------
    gamma
        γ: the kernel width of a training point, as a multiple of the distance to its `order`-th nearest other point.
    order
        Number of the neighbour whose distance sets the width. 1 is the printed formula, but the nearest distance is a noisy
        measure of density.
    neighbours
        Number of training points with a weight for a new point; greater than `order`.
    ridge
        Ridge of the fit to the training points, used instead of a pseudo-inverse.

    Examples
    --------
    >>> from eigenspan import MVU, NormalizedKernels
    >>> MVU(extension=NormalizedKernels(gamma=0.3)).extension.gamma
    0.3

    References
    ----------
    Gisbrecht, Schulz & Hammer (2015), Parametric nonlinear dimensionality reduction using kernel t-SNE.
    """

    gamma: Positive = parameter(default=0.5, kw_only=False)
    order: Count = 10
    neighbours: Count = 30
    ridge: Positive = 1e-4

    def extend(self, graph: NeighbourGraph, points: Matrix, factor: Array) -> KernelMap:
        self.check()
        return kernel_map(graph, points, **self.get_params(deep=False))
