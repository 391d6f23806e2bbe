"""Canonical correlation analysis in the feature spaces of two kernels."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np

from ..._parameters import NotNegative, Seed, attribute
from ..._types import Array
from ...data import Input, Points, Sample
from ...data.other_views import OtherView
from ...data.read import is_precomputed
from ...data.rows.storage import in_precision_of
from ...data.x import KernelValues, as_rows
from ...errors import InputError, message_prefix
from ...graphs.landmarks import suggested_landmarks
from ...numerics.memory import require
from ...problem import Map
from ...problem.basis import Features
from ...problem.fitted import Fitted
from ...problem.kernels import warn_of_rounded_axes
from ...problem.white_views import View, Views
from ..base.contract import Kernels, LandmarkRows
from ..base.table import known_as, method
from .variates import TwoViews


def _other_kernel(estimator: KernelCCA) -> Kernels:
    """Return the kernel of y."""
    return estimator.kernel if estimator.kernel_y is None else estimator.kernel_y


def _other_view(estimator: KernelCCA) -> OtherView:
    """Return the reader of y."""
    return OtherView(sparse=True, kernel=is_precomputed(_other_kernel(estimator)))


@method("two views", "max K_x K_y", "K² + κ tr(K) K of each view", "n³, or n m²", "S3 eq. 3.41", "kcca")
@known_as(
    "Kernel canonical correlation analysis",
    "kernel CCA; nonlinear canonical correlation; regularised kernel CCA; cross-language retrieval",
)
class KernelCCA(TwoViews):
    """Kernel canonical correlation analysis.

    .. math:: \\max_{\\alpha, \\beta}\\; \\alpha^T K_x K_y \\beta \\quad \\text{s.t. }
       \\alpha^T (K_x^2 + \\kappa \\operatorname{tr}(K_x) K_x) \\alpha = \\beta^T (K_y^2 + \\kappa \\operatorname{tr}(K_y) K_y) \\beta = 1

    with both kernel matrices centred: canonical correlations in the feature spaces of two kernels [S3, §3.6.3], where the length of a
    direction w = Φ'α is penalised, :math:`\\alpha^T K \\alpha = \\|w\\|^2`, by κ times the total variance. Use it where two views agree
    along curves that linear directions miss.

    A kernel whose matrix has full rank interpolates anything: without κ every correlation is 1, and such a fit is refused. κ neither
    depends on the scale of the kernel nor on the number of points. As all kernel methods here it is the linear method, a regularised
    `CCA`, over kernel-PCA coordinates: centring is part of the map, and landmarks give the incomplete Cholesky (Nyström) form for many
    points.

    Cost: O(n³) time and O(n²) memory; O(nm²) and O(nm) with m landmarks.

    Parameters
    ----------
    n_components
        Number of pairs of variates. None means two, or one if there is only one.
    kernel
        Kernel of both views, or of X if `kernel_y` is given: a name, ``Kernel("rbf", gamma="median")``, a function of two
        arrays of rows or of two rows, or ``"precomputed"`` if X (and y) are kernel matrices.
    kernel_y
        Kernel of y. None means the same as `kernel`.
    kappa
        κ, the penalty on the length of directions as a share of the total variance in feature space. Larger values give
        smoother variates and smaller correlations; choose it by ``score`` on held-out points.
    landmarks
        Approximate both feature spaces using this many training points, or the given ones.
        ``Landmarks(m, choice="cholesky")`` uses the pivots of an incomplete Cholesky factorisation of each kernel. None
        uses all points.

    Attributes
    ----------
    correlations_ : ndarray of shape (n_components,)
        Correlation of the two variates of each pair over the training points.
    eigenvalues_ : ndarray of shape (n_components,)
        The maximised value α'K_xK_yβ: smaller than the correlation, because κ counts in the unit.
    ranks_ : tuple of int
        Dimensions of the two feature spaces over the training points.
    n_samples_ : int
        Number of rows.
    y_features_in_ : int
        Number of columns of y.
    embedding_, y_embedding_ : ndarray of shape (n_samples, n_components)
        Variates of the training points.
    map_, y_map_ : Map
        The functions behind ``transform``, centring included.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenspan import CCA, KernelCCA
    >>> t = np.random.default_rng(0).uniform(0, 6, 300)
    >>> X, Y = np.c_[np.cos(t), np.sin(t)], np.c_[t, t**2]
    >>> bool(KernelCCA(1).fit(X, Y).correlations_[0] > CCA(1).fit(X, Y).correlations_[0])
    True

    References
    ----------
    Akaho (2001), A kernel method for canonical correlation analysis; Bach & Jordan (2002), Kernel independent component analysis;
    Hardoon, Szedmak & Shawe-Taylor (2004), Canonical correlation analysis: an overview with application to learning methods.
    """

    kernel: Kernels = "rbf"
    kernel_y: Kernels | None = None
    kappa: NotNegative = 0.02
    landmarks: LandmarkRows = None
    random_state: Seed = 0

    correlations_: Array = attribute()
    eigenvalues_: Array = attribute()
    ranks_: tuple[int, ...] = attribute()
    n_samples_: int = attribute()
    y_features_in_: int = attribute()
    y_embedding_: Array = attribute()
    y_map_: Map = attribute()

    _input: ClassVar[Input] = Input(pairs=("kernel",), sparse=True, y=_other_view)
    _basis: ClassVar[str] = "kernel"

    def _fit(self, sample: Sample[Points | KernelValues, Points | KernelValues]) -> Fitted:
        n = sample.n
        if self.landmarks is None:
            instead = f"Pass landmarks={suggested_landmarks(n)} to work with that many points instead."
            require(130.0 * n**2, f"Two {n}×{n} kernel matrices and their features", instead)
        # The map keeps the rows of the other view, and the caller may change them: copy.
        other = (
            sample.y
            if isinstance(sample.y, KernelValues)
            else replace(sample.y, values=as_rows(sample.y.values).copy())
        )
        views = Views(
            tuple(self._view(*each) for each in (("X", self.kernel, sample.x), ("y", _other_kernel(self), other))),
            n,
        )
        if views.surplus and not self.kappa:
            raise InputError(
                f"kappa=0, but the kernels have {views.ranks[0]} and {views.ranks[1]} dimensions over {n} points: together more "
                f"than the {n - 1} of centred points, so that correlations of 1 are found in any data. Give kappa > 0 (0.02, say), "
                "fewer landmarks=, or a kernel of lower rank."
            )
        fitted, U, V, _ = self._fit_pairs(views, bool(self.kappa), "", all_pairs=False)
        table = sample.y.values
        for view, axes, prefix in ((views[0], U, ""), (views[1], V, "In y, the other view: ")):
            if not view.basis.digits_lost:
                with message_prefix(prefix):
                    warn_of_rounded_axes(np.asarray(view.basis.raw), view.map(axes).coef, np.asarray(view.embed(axes)))
        two = in_precision_of(table, np.asarray(views[1].embed(V)))
        return fitted.having(y_embedding_=two, ranks_=views.ranks, y_features_in_=table.shape[1])

    def _view(self, name: str, kernel: Kernels, x: Points | KernelValues) -> View:
        """Return a view over its kernel-PCA coordinates, with κ tr(K) as the ridge."""
        basis = Features.kernel(kernel, x.under_kernel, landmarks=self.landmarks, random_state=self.random_state)
        C, live = basis.Z.T @ basis.Z / (x.n - 1), np.ones(basis.dim, dtype=bool)
        view = View.of_covariance(basis, C, live, 1e-12, self.kappa * float(np.trace(C)), x.n, name)
        return replace(view, scores=basis.Z @ view.axes)
