"""How the maps of unfoldings place new points, with every number of their formulas."""

from __future__ import annotations

from typing import Any, Literal

from ..._checks import Spec
from ..._parameters import Count, Positive, parameter
from ...graphs.neighbours.graph import NeighbourGraph
from .smoother import Eigenfunctions, KernelMap, eigenfunctions, kernel_map


class SmoothedEigenfunctions(Spec):
    """New points by smoothed eigenfunctions of the Gram matrix that was learned [S4, eqs. 63–67]: ``extension=`` of the unfoldings.

    Parameters
    ----------
    eta : float, default=1e-3
        η, the ridge of the regression, next to r(x, x) = 1.
    kernel : {"wendland", "gaussian"}, default="wendland"
        r(·, ·), the smoothing kernel: Wendland's C² function, zero beyond its width, or the Gaussian, with several times as many entries.
    width : float or None, default=None
        Radius of the first, standard deviation of the second. None: 100 points within the radius of a typical point, or a third of that.
    rescale : bool, default=True
        Reproduce constants, so that points beside and between the training points do not fade to the origin; False is the formula as
        printed.

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

    def extend(self, graph: NeighbourGraph, points: Any, factor: Any) -> Eigenfunctions:
        self.check()
        return eigenfunctions(graph, points, factor, **self.get_params(deep=False))


class NormalizedKernels(Spec):
    """New points by normalised Gaussian kernels fitted to the embedding [S4, eqs. 68–77]: ``extension=`` of the unfoldings.

    Parameters
    ----------
    gamma : float, default=0.5
        γ: the width of a training point's kernel, as a multiple of the distance to its `order`-th nearest other point.
    order : int, default=10
        1 is the printed formula. The nearest distance is a chancy measure of density.
    neighbours : int, default=30
        Training points that take part in placing a new one, more than `order`.
    ridge : float, default=1e-4
        Of the fit to the training points, in place of a pseudo-inverse.

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

    def extend(self, graph: NeighbourGraph, points: Any, factor: Any) -> KernelMap:
        self.check()
        return kernel_map(graph, points, **self.get_params(deep=False))
