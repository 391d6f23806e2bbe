"""Kernel PCA: variance in the feature space of a kernel."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, Literal

import numpy as np
import scipy.linalg as la
from sklearn.utils.validation import check_is_fitted

from ..._compat import available_if
from ..._parameters import Finite, NotNegative, Positive, attribute, parameter
from ..._types import Array, Index, Matrix, TableLike, is_sparse
from ...data import Input, Sample
from ...data.read import check_embedded
from ...data.x import XKind
from ...errors import IndefiniteWarning, KernelError, warn
from ...graphs.landmarks import suggested_landmarks
from ...numerics.eigen import dense
from ...numerics.eigen.centred import column_means
from ...numerics.memory import require
from ...numerics.nearest.metric import median_width
from ...numerics.nearest.squares import gaussian_kernel
from ...numerics.threads import one_thread
from ...problem import (
    Fitted,
    Form,
    Kernel,
    NystromFeatures,
    Posed,
    Samples,
    SqrtEigenvalue,
    TraceProblem,
    gram,
    gram_matrix,
    kernel_rows,
    pose,
    solve,
)
from ...problem.extensions import GramExtension
from ...problem.kernels import DataKernel, KernelRows, warn_of_known_axes, warn_of_lost_digits
from ...problem.scale import positive, roots
from ..base.contract import Components, Kernels, LandmarkRows, SpectralReducer, axes
from ..base.table import known_as, method
from .pca import PCA as PCA


def _kernel_matrix(rows: KernelRows, sample: Sample) -> Array:
    """Return the kernel matrix of the points, after checking that it fits into memory."""
    n, known = sample.n, isinstance(rows.kernel, str) and not sample.x.pairs
    require(
        (9.0 if known else 17.0) * n**2,  # a kernel function returns a matrix of its own
        f"The {n}×{n} kernel matrix",
        f"Use KernelPCA(landmarks={suggested_landmarks(n)}), which works with that many points instead.",
    )
    return gram_matrix(rows, sample.x.values)


def _is_definite(kernel: object, parameters: Mapping[str, float]) -> bool:
    """Return True for kernels that are positive semidefinite on any points; the matrices of others are checked."""
    if isinstance(kernel, DataKernel):
        return True
    if isinstance(kernel, str) and kernel in ("poly", "polynomial"):
        whole = float(parameters["degree"]).is_integer()
        return whole and parameters["coef0"] >= 0 and parameters["gamma"] >= 0
    return isinstance(kernel, str) and kernel in ("rbf", "laplacian", "linear", "cosine", "chi2")


def _has_preimage(estimator: KernelPCA) -> bool:
    """Return True if there is an inverse transform; raise AttributeError otherwise."""
    if estimator.preimage is None:
        raise AttributeError('KernelPCA has no inverse_transform without preimage="ridge" or "fixed-point".')
    return True


def _regressed(K: Array, R: Array) -> Array:
    """Return ``K⁻¹R`` for a positive semidefinite K; for a singular K the solution of least norm, the limit of a vanishing ridge."""
    factor, failed = la.lapack.dpotrf(K)
    known = 0.0 if failed else float(la.lapack.dpocon(factor, np.linalg.norm(K, 1))[0])
    rounding = np.finfo(np.float64).eps
    if known > rounding:
        return np.asarray(la.lapack.dpotrs(factor, R)[0])
    return np.asarray(la.lstsq(K, R, cond=len(K) * rounding)[0])


def _check_definite(form: Form, rounding: float) -> None:
    """Warn if a kernel matrix has negative eigenvalues beyond rounding."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the smallest eigenvalues of a Gram matrix are often multiple
        low = float(solve(TraceProblem(form, None, "min"), 1, random_state=0).values[0])
    high = float(np.trace(form.dense))
    if low < -max(1e-6 * high, rounding):
        warn(
            f"The kernel matrix is not positive semidefinite: its smallest eigenvalue is {low:.3g} (trace {high:.3g}). Its negative part "
            "has no feature space and is left out; use a positive definite kernel if it matters.",
            IndefiniteWarning,
        )


def _by_landmarks(estimator: KernelPCA) -> bool:
    """Return True if the fit needs only sums over blocks of rows."""
    return estimator.landmarks is not None and estimator.preimage is None


def _refuse_two_widths(estimator: KernelPCA) -> None:
    """Raise if kernel parameters are set beside a kernel that has its own."""
    own = (estimator.gamma, estimator.degree, estimator.coef0)
    if not isinstance(estimator.kernel, str) and own != (None, 3, 1):
        raise KernelError(
            f"gamma, degree and coef0 are those of a kernel that is given by name, and kernel={estimator.kernel!r:.80} has its own: give "
            "them there."
        )


@method("variance", "max Gram of a kernel", "embedding", "n²", "S0 eq. 60", "kpca")
@known_as(
    "Kernel principal component analysis",
    "nonlinear PCA; kernel trick",
    {
        "landmarks=200": "Nyström; Nyström kernel PCA; Nyström approximation; Nyström method; Nyström extension of a kernel; "
        "sparse kernel PCA",
        "preimage='fixed-point'": "pre-image; preimage problem; kernel PCA denoising",
        "kernel='poly', gamma=1, coef0=1": "polynomial kernel PCA",
        "center=False": "uncentred kernel PCA; eigenvectors of the kernel matrix",
    },
)
class KernelPCA(SpectralReducer):
    """Kernel principal component analysis.

    .. math:: \\max_V \\operatorname{Tr}(V^T \\bar\\Phi^T \\bar\\Phi V) \\quad \\text{s.t. } V^T V = I,
       \\qquad H K H\\, u_i = \\lambda_i u_i, \\quad Y = U \\Lambda^{1/2}

    PCA in the feature space of a kernel [S0, eq. 60]. Use it when linear axes miss curved structure that a kernel can express.

    Cost: O(n²D) for the kernel matrix and O(n²d) a Lanczos sweep, 8n² bytes; with m landmarks O(nmD + nm²) and O(m²) bytes: it is
    then PCA of the Nyström features K_mm^{−½} k_m(x), whose moments are summed a block of rows at a time.

    Parameters
    ----------
    n_components
        Number of dimensions d of the embedding. None means all with a positive eigenvalue.
    kernel
        Any of scikit-learn's pairwise kernels, ``Kernel(name, ...)``, a kernel of a neighbour graph (`HeatKernel`,
        `CommuteTimeKernel`, `ReconstructionKernel`), a function of two arrays of rows that returns their kernel matrix, a
        function of two rows that returns one value (called n² times), or ``"precomputed"``. If X is a list of objects, such as
        strings or sets, a function of two of them (called n²/2 times; see `jaccard_kernel` and `spectrum_kernel`).
    gamma
        Inverse squared width of the named kernels. None means 1/D; ``"median"`` means the inverse square of half the median
        distance.
    degree
        Degree of the polynomial kernel.
    coef0
        Constant of the polynomial and sigmoid kernels.
    center
        Subtract the mean in the feature space, K → HKH. False takes the eigenvectors of K itself, about the origin of the
        feature space: the first form of [S1, §1.4.1].
    preimage
        How `inverse_transform` finds points of the input space: by kernel ridge regression from the embedding, or by Mika's
        fixed point (rbf only). None: there is no `inverse_transform`.
    alpha
        Ridge of the regression. 0 interpolates the training points; rows that coincide in the embedding are sent to their
        mean. It has no effect without ``preimage="ridge"``.

    Attributes
    ----------
    eigenvectors_ : ndarray of shape (n_samples, n_components)
        Eigenvectors of the kernel matrix, centred unless `center` is False, of length one. Absent with `landmarks`.
    gamma_ : float
        The `gamma` in use, for kernels that have one.
    X_fit_ : array of shape (n_samples, n_features)
        The points with which kernel rows are computed: a copy of X, or the landmarks. Absent with a precomputed kernel.
    landmarks_ : ndarray of int
        The rows chosen, if `landmarks` is given.
    dual_coef_, preimage_mean_, preimage_gamma_ : ndarray, ndarray, float
        Coefficients, centre and width of the regression behind ``inverse_transform``. Present with ``preimage="ridge"``.

    Examples
    --------
    >>> from sklearn.datasets import make_circles
    >>> from eigenspan import KernelPCA
    >>> X, y = make_circles(200, factor=0.3, noise=0.05, random_state=0)
    >>> Y = KernelPCA(2, kernel="rbf", gamma=10).fit_transform(X)
    >>> Y.shape
    (200, 2)

    References
    ----------
    [S0] §8.2; Mika et al. (1998), Kernel PCA and de-noising in feature spaces.
    """

    n_components: Components | None = parameter(default=2, kw_only=False)
    kernel: Kernels = "rbf"
    gamma: Positive | Literal["median"] | None = None
    degree: NotNegative = 3
    coef0: Finite = 1
    landmarks: LandmarkRows = None
    center: bool = True
    preimage: Literal["ridge", "fixed-point"] | None = None
    alpha: NotNegative = 1.0

    eigenvectors_: Array = attribute()
    gamma_: float = attribute()
    X_fit_: Matrix = attribute()
    landmarks_: Index = attribute()
    dual_coef_: Array = attribute()
    preimage_mean_: Array = attribute()
    preimage_gamma_: float = attribute()

    _input: ClassVar[Input] = Input(pairs=("kernel",), sparse=True, idle=_refuse_two_widths, blocks=_by_landmarks)
    _untold: ClassVar[str] = (
        "the spectrum of a kernel falls as fast as the kernel is wide, and has no end where the data have one"
    )

    def _spec(self) -> Any:
        return (
            Kernel(self.kernel, gamma=self.gamma, degree=self.degree, coef0=self.coef0)
            if isinstance(self.kernel, str)
            else self.kernel
        )

    def _pose(self, sample: Sample) -> Posed:
        if self.landmarks is not None:
            return self._pose_landmarks(sample)
        rows = kernel_rows(self._spec(), sample.x.under_kernel, centred=self.center)
        K = _kernel_matrix(rows, sample)
        offset, rounding = column_means(K, self.center), 1e-14 * sample.n * max(float(K.max()), -float(K.min()))
        extension = GramExtension(rows, offset, digits_lost=warn_of_lost_digits(rows, K, self.center))
        trusted = _is_definite(rows.kernel, rows.parameters)
        form = gram(K, centre=self.center, psd=trusted)
        if not trusted:
            _check_definite(form, rounding)
        posed = pose(Samples(sample.n, extension), maximise=form, scale=SqrtEigenvalue())
        if self.n_components is not None:
            return posed
        values = dense.eigenpairs(form.dense, None, "max")[0]
        return replace(posed, axes=max(1, positive(values, float(la.norm(values)))))

    def _pose_landmarks(self, sample: Sample) -> Posed:
        """Pose the problem from the scatter of the Nyström features."""
        basis: Any = NystromFeatures.build(
            self._spec(), sample.x.under_kernel, self.landmarks, center=self.center, random_state=self.random_state
        )
        scatter = Form(basis.lift.shape[1], dense=basis.scatter, psd=True)
        posed = Posed(TraceProblem(scatter, None, "max"), basis, axes=scatter.n if self.n_components is None else None)
        return posed.having(landmarks_=basis.rows.columns)

    def _fit(self, sample: Sample) -> Fitted:
        posed = self._pose(sample)
        fitted, basis = axes(self).fit(posed), posed.basis
        rows, Y, found = fitted.map.rows, fitted.embedding, fitted.attributes
        if Y is not None and self.landmarks is None:
            fitted = fitted.having(eigenvectors_=Y / roots(found["eigenvalues_"]))
            if isinstance(basis, Samples) and not getattr(basis.extension, "digits_lost", True):
                # the kernel matrix is its mean and what is centred, of which the first eigenvalue is the norm
                size = sample.n * float(np.abs(fitted.map.offset).mean()) + float(found["eigenvalues_"][0])
                warn_of_known_axes(size / np.sqrt(sample.n), fitted.map.coef, Y)
        if "gamma" in rows.parameters:
            fitted = fitted.having(gamma_=float(rows.parameters["gamma"]))
        if rows.points is not None:
            fitted = fitted.having(X_fit_=rows.points)
        return fitted if self.preimage is None else fitted.having(**self._preimages(sample.x, np.asarray(Y), rows))

    def _preimages(self, x: XKind, Y: Array, rows: KernelRows) -> dict[str, object]:
        """Return the attributes that ``inverse_transform`` needs."""
        points = x.coordinates("Pre-images need coordinates", "leave preimage= out")
        if self.preimage == "fixed-point":
            if rows.kernel != "rbf" or self.landmarks is not None:
                raise KernelError(
                    'preimage="fixed-point" is for the rbf kernel without landmarks; use preimage="ridge" otherwise.'
                )
            return {"dual_coef_": None}
        n, width = Y.shape[0], median_width(Y)
        require(
            24.0 * n**2,
            f"The {n}×{n} matrix of the regression behind inverse_transform",
            "Leave preimage= out, or fit on fewer points.",
        )
        K = gaussian_kernel(Y, Y, 1.0 / width**2)
        K[np.diag_indices_from(K)] += self.alpha
        points = points.toarray() if is_sparse(points) else points
        mean = points.mean(axis=0)
        dual = _regressed(K, points - mean)
        return {"preimage_gamma_": 1.0 / width**2, "preimage_mean_": mean, "dual_coef_": dual}

    @available_if(_has_preimage)
    def inverse_transform(self, Y: TableLike, *, iterations: int = 300, tol: float = 1e-9) -> Array:
        """Return points of the input space whose images are near Y.

        Parameters
        ----------
        Y : array-like of shape (n_points, n_components)
        iterations, tol
            Limits of the fixed-point iteration.

        Returns
        -------
        ndarray of shape (n_points, n_features)
        """
        check_is_fitted(self)
        Y = check_embedded(Y, self.embedding_.shape[1]).astype(np.float64)
        if self.dual_coef_ is not None:
            return (
                gaussian_kernel(Y, np.asarray(self.embedding_, dtype=np.float64), self.preimage_gamma_)
                @ self.dual_coef_
                + self.preimage_mean_
            )
        rows = self.map_.rows
        points = rows.points.toarray() if hasattr(rows.points, "toarray") else np.asarray(rows.points)
        centre = points.mean(axis=0)
        points = points - centre
        mean = 1.0 / points.shape[0] if self.center else 0.0
        gamma = Y @ self.map_.coef.T + mean  # coefficients of the projection of the image
        Z = points[_nearest(Y, self.embedding_)].copy()
        for _ in range(iterations):
            S = gamma * gaussian_kernel(Z, points, rows.parameters["gamma"])
            total = S.sum(axis=1, keepdims=True)
            new = np.where(np.abs(total) > 1e-12, S @ points / np.where(total == 0, 1.0, total), Z)
            moved = np.abs(new - Z).max(initial=0.0)
            Z = new
            if moved <= tol * max(np.abs(points).max(), np.finfo(float).tiny):
                break
        return Z + centre


def _nearest(Y: Array, embedding: Array) -> Index:
    """Return the index of the nearest training point of each row."""
    from sklearn.metrics import pairwise_distances_argmin

    with one_thread():
        return pairwise_distances_argmin(Y, embedding)
