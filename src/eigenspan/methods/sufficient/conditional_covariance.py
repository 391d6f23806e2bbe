"""Share of a response that a projection of the points leaves unexplained: the trace of a conditional covariance operator.

The response is represented by centred features R of a kernel, ``RR' = H G_Y H``. A kernel ridge regression of R on the points, with a
Gaussian kernel and an intercept, leaves

::

    min_C ‖R − HKC‖² + nε Tr(C'KC)  =  nε Tr[H G_Y H (HKH + nεI)⁻¹]

which is the objective of kernel dimension reduction [S3, eq. 3.64] where K is the kernel matrix of the projected points.
With landmarks K is approximated from some of its columns (Nyström): the first K becomes an n×m matrix and the second an m×m matrix.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.linalg as la

from ..._types import Array
from ...data import Classes, Numbers
from ...numerics.eigen import dense
from ...numerics.factor.pivoted import pivoted_cholesky
from ...numerics.memory import require
from ...numerics.nearest.metric import median_width
from ...numerics.nearest.squares import gaussian_kernel
from ...numerics.threads import one_blas_thread

#: Largest number of entries in a block of gradients.
_BLOCK = 2**22
#: Added to the diagonal of the kernel matrix of the landmarks, which is one: its smallest eigenvalues are rounding.
_JITTER = 1e-6
#: Largest share of the kernel of the responses that features may miss, and largest number of features.
_LEFT_OUT, _FEATURES = 1e-7, 200


def response_features(y: Classes | Numbers, width: float) -> Array:
    """Return centred features of the known responses, one row each: ``RR'`` is their centred kernel matrix.

    Classes are compared by the delta kernel. Numbers are brought to unit variance, column by column, and compared by a Gaussian kernel
    whose σ is `width` times their median distance.
    """
    known = y.known
    if isinstance(y, Classes):
        R = np.eye(y.count)[y.codes[known]]
    else:
        T = y.values[known] - y.values[known].mean(axis=0)
        spread = T.std(axis=0)
        T /= np.where(spread > 0, spread, 1.0)
        sigma = width * median_distance(T)
        R = pivoted_cholesky(
            lambda j: gaussian(T, T[j : j + 1], sigma)[:, 0], np.ones(len(T)), rtol=_LEFT_OUT, most=_FEATURES
        )[0]
    return np.asarray(R - R.mean(axis=0))


def median_distance(X: Array) -> float:
    """Return the median distance of at most 1000 evenly chosen points."""
    return 2 * median_width(X)


def gaussian(X: Array, Z: Array, sigma: float) -> Array:
    """Return ``exp(−‖x − z‖²/2σ²)`` of all pairs of rows."""
    return gaussian_kernel(X, Z, 0.5 / sigma**2)


@dataclass(frozen=True, eq=False)
class Regression:
    """Kernel ridge regression of response features on points or their projections.

    Attributes
    ----------
    Z : ndarray of shape (n, r)
        The points.
    R : ndarray of shape (n, q)
        Centred features of their responses.
    eps : float
        ε of the ridge nε.
    landmarks : ndarray of shape (m, r) or None
        Points of the Nyström approximation; None for all of Z.
    """

    Z: Array
    R: Array
    eps: float
    landmarks: Array | None = None

    @property
    def ridge(self) -> float:
        return len(self.Z) * self.eps

    @property
    def some(self) -> Array:
        return self.Z if self.landmarks is None else self.landmarks

    def along(self, B: Array) -> Regression:
        """Return the regression on projected points."""
        return replace(self, Z=self.Z @ B, landmarks=None if self.landmarks is None else self.landmarks @ B)

    def require_memory(self) -> None:
        """Raise if the kernel matrices would not fit in memory."""
        n, m = len(self.Z), len(self.some)
        require(
            40.0 * n * m,
            f"The {n}×{m} kernel matrices of the points",
            f"Pass landmarks={max(2, min(500, m // 4))} to work with that many points instead.",
        )

    def fit(self, sigma: float) -> tuple[Array, Array, Array, float]:
        """Return the kernel matrix of the points with the landmarks, coefficients C, residuals E, and the unexplained share of R."""
        R, K = self.R, gaussian(self.Z, self.some, sigma)
        size = max(float(np.sum(R * R)), np.finfo(float).tiny)
        if self.landmarks is None:
            C = _positive_solve(_plus(_centred_gram(K), self.ridge), R)
            return K, C, self.ridge * C, self.ridge * float(np.sum(R * C)) / size
        # C = W c with WW' the inverse of the kernel matrix of the landmarks: the system for c is well conditioned.
        with one_blas_thread():
            root = la.cholesky(_plus(gaussian(self.landmarks, self.landmarks, sigma), _JITTER), lower=True)
            W = la.solve_triangular(root, np.eye(len(root)), lower=True).T
        means = K.mean(axis=0)
        A = W.T @ (K.T @ K - len(K) * np.outer(means, means)) @ W
        C = W @ _positive_solve(_plus(dense.symmetric(A), self.ridge), W.T @ (K.T @ R))
        E = R - K @ C + means @ C
        return K, C, E, float(np.sum(R * E)) / size

    def loss(self, B: Array, sigma: float) -> tuple[float, Array]:
        """Return the share of the response features that ``Z B`` leaves unexplained, and its gradient in B.

        C is optimal, so the gradient only passes through K: ``∂loss/∂K = −2EC' + nε CC'``, the first term for the kernel with all
        points, the second for the kernel among landmarks.
        """
        moved = self.along(B)
        K, C, E, share = moved.fit(sigma)
        scale = 1.0 / (sigma**2 * max(float(np.sum(self.R**2)), np.finfo(float).tiny))
        if self.landmarks is None:  # one kernel matrix: −2EC' + nε CC' = −nε CC'
            S = E @ C.T
            S *= K
            return share, scale * _spread_of_pairs(S, self.Z, self.Z, B)
        within = C @ C.T
        within *= gaussian(moved.some, moved.some, sigma)
        S = E @ C.T
        S *= K
        G = 2 * _spread_of_pairs(S, self.Z, self.some, B)
        return share, scale * (G - self.ridge * _spread_of_pairs(within, self.some, self.some, B))

    def gradients(self, sigma: float) -> Array:
        """Return ``M = (1/n) Σ_i ∇f(x_i) ∇f(x_i)'`` over the features f of the response as the regression predicts them, r×r.

        Blocks of points and of features; the largest array is the n×m kernel matrix.
        """
        # Fukumizu & Leng do not centre kernel matrices. Centring gives the regression an intercept: without it the ridge pulls the
        # prediction to zero at the boundary of the data, which changes its gradients there.
        K, C, _, _ = self.fit(sigma)
        # Lengths in units of sigma, because sigma**4 may overflow.
        L, Z, (n, r) = self.some / sigma, self.Z / sigma, self.Z.shape
        M = np.zeros((r, r))
        features = max(1, _BLOCK // max(len(L) * r, 1))
        for a in range(0, C.shape[1], features):
            c = C[:, a : a + features]
            pulled = (c[:, :, None] * L[:, None, :]).reshape(len(L), -1)
            rows = max(1, _BLOCK // pulled.shape[1])
            for i in range(0, n, rows):
                part = K[i : i + rows]
                g: Any = (part @ pulled).reshape(len(part), c.shape[1], r)
                g -= (part @ c)[:, :, None] * Z[i : i + rows, None, :]
                g = g.reshape(-1, r)
                M += g.T @ g
        return dense.symmetric(M / (n * sigma**2))


def _centred_gram(K: Array) -> Array:
    """Return ``HKH``."""
    means = K.mean(axis=0)
    return np.asarray(K - means - (means - means.mean())[:, None])


def _plus(M: Array, ridge: float) -> Array:
    """Add the ridge to the diagonal of M in place and return M."""
    M.flat[:: len(M) + 1] += ridge
    return M


def _positive_solve(F: Array, right: Array) -> Array:
    """Return ``F⁻¹ right``, overwriting F.

    One BLAS thread: up to a few thousand rows more threads gain little, and wait for each other on a busy machine (order 1000: 1.2 s on
    two threads, 0.02 s on one).
    """
    with one_blas_thread():
        return np.asarray(la.cho_solve(la.cho_factor(F, overwrite_a=True, check_finite=False), right))


def _spread_of_pairs(S: Array, X: Array, Z: Array, B: Array) -> Array:
    """Return ``Σ_ij S_ij (x_i − z_j)(x_i − z_j)'B``."""
    U, V = X @ B, Z @ B
    rows, columns = S.sum(axis=1)[:, None], S.sum(axis=0)[:, None]
    return np.asarray(X.T @ (rows * U - S @ V) + Z.T @ (columns * V - S.T @ U))
