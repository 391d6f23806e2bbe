"""What a projection of the points leaves unexplained of a response: the trace of a conditional covariance operator.

The response is seen through the features R of a kernel, centred, ``RR' = H G_Y H``. A kernel ridge regression of R on the points, with a
Gaussian kernel and an intercept, leaves

::

    min_C ‖R − HKC‖² + nε Tr(C'KC)  =  nε Tr[H G_Y H (HKH + nεI)⁻¹]

which is the objective of kernel dimension reduction [S3, eq. 3.64] where K is that of projected points. On landmarks K is
seen through some of its columns (Nyström), and the same two lines hold with an n×m matrix in the first place and an m×m one in the second.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.linalg as la

from ..._types import Array
from ...data import Classes
from ...numerics.eigen import dense
from ...numerics.factor.pivoted import pivoted_cholesky
from ...numerics.memory import require
from ...numerics.nearest.metric import median_width
from ...numerics.nearest.squares import gaussian_kernel
from ...numerics.threads import one_blas_thread

#: Numbers in a block of gradients.
_BLOCK = 2**22
#: Added to the kernel of the landmarks, whose values are one on the diagonal: its smallest eigenvalues are rounding.
_JITTER = 1e-6
#: Share of the response's kernel that its features may leave out, and their number at most.
_LEFT_OUT, _FEATURES = 1e-7, 200


def response_features(y: Any, width: float) -> Array:
    """Centred features of the known responses, a row each: ``RR'`` is their centred kernel matrix.

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
    """Of at most 1000 evenly chosen points."""
    return 2 * median_width(X)


def gaussian(X: Array, Z: Array, sigma: float) -> Array:
    """``exp(−‖x − z‖²/2σ²)`` of all pairs of rows."""
    return gaussian_kernel(X, Z, 0.5 / sigma**2)


@dataclass(frozen=True, eq=False)
class Regression:
    """Kernel ridge regression of response features on points, of which projections are tried.

    Attributes
    ----------
    Z : ndarray of shape (n, r)
        The points.
    R : ndarray of shape (n, q)
        Centred features of their responses.
    eps : float
        ε of the ridge nε.
    landmarks : ndarray of shape (m, r) or None
        Points that stand for all in the kernel; None for all of Z.
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
        """The same on projected points."""
        return replace(self, Z=self.Z @ B, landmarks=None if self.landmarks is None else self.landmarks @ B)

    def require_memory(self) -> None:
        """Refuse what would not fit, before it is made."""
        n, m = len(self.Z), len(self.some)
        require(
            40.0 * n * m,
            f"The {n}×{m} kernel matrices of the points",
            f"Pass landmarks={max(2, min(500, m // 4))} to work with that many points instead.",
        )

    def fit(self, sigma: float) -> tuple[Array, Array, Array, float]:
        """Kernel matrix of the points with the landmarks, coefficients C, residuals E, and the share of R that is left unexplained."""
        R, K = self.R, gaussian(self.Z, self.some, sigma)
        size = max(float(np.sum(R * R)), np.finfo(float).tiny)
        if self.landmarks is None:
            C = _positive_solve(_plus(_centred_gram(K), self.ridge), R)
            return K, C, self.ridge * C, self.ridge * float(np.sum(R * C)) / size
        # C = W c with WW' the inverse of the landmarks' kernel matrix: c has a plain ridge, and a well-conditioned system
        with one_blas_thread():
            root = la.cholesky(_plus(gaussian(self.landmarks, self.landmarks, sigma), _JITTER), lower=True)
            W = la.solve_triangular(root, np.eye(len(root)), lower=True).T
        means = K.mean(axis=0)
        A = W.T @ (K.T @ K - len(K) * np.outer(means, means)) @ W
        C = W @ _positive_solve(_plus(dense.symmetric(A), self.ridge), W.T @ (K.T @ R))
        E = R - K @ C + means @ C
        return K, C, E, float(np.sum(R * E)) / size

    def loss(self, B: Array, sigma: float) -> tuple[float, Array]:
        """The share of the response's features left unexplained by ``Z B``, and its gradient in B.

        C is the best there is, so only K moves with B: ``∂loss/∂K = −2EC' + nε CC'``, the first where K stands for all points, the
        second where it stands for the landmarks.
        """
        moved = self.along(B)
        K, C, E, share = moved.fit(sigma)
        scale = 1.0 / (sigma**2 * max(float(np.sum(self.R**2)), np.finfo(float).tiny))
        if self.landmarks is None:  # both are one: −2EC' + nε CC' = −nε CC'
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
        """``M = (1/n) Σ_i ∇f(x_i) ∇f(x_i)'`` over the features f of the response as the regression predicts them, r×r.

        Blocks of points and of features; the largest array is the n×m kernel matrix.
        """
        # Fukumizu & Leng print kernel matrices as they are. Centred ones give the regression an intercept: without it the ridge pulls the
        # prediction to zero at the rim of the data, and its gradients point there.
        K, C, _, _ = self.fit(sigma)
        # lengths in units of sigma, whose fourth power may be beyond the range of double precision
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
    """``HKH``."""
    means = K.mean(axis=0)
    return np.asarray(K - means - (means - means.mean())[:, None])


def _plus(M: Array, ridge: float) -> Array:
    """``M + ridge I``, in place."""
    M.flat[:: len(M) + 1] += ridge
    return M


def _positive_solve(F: Array, right: Array) -> Array:
    """``F⁻¹ right``; F is written on. On one thread: with a few thousand rows several gain little, and wait for each other on a busy
    machine (order 1000: 1.2 s on two, 0.02 s on one)."""
    with one_blas_thread():
        return np.asarray(la.cho_solve(la.cho_factor(F, overwrite_a=True, check_finite=False), right))


def _spread_of_pairs(S: Array, X: Array, Z: Array, B: Array) -> Array:
    """``Σ_ij S_ij (x_i − z_j)(x_i − z_j)'B``."""
    U, V = X @ B, Z @ B
    rows, columns = S.sum(axis=1)[:, None], S.sum(axis=0)[:, None]
    return np.asarray(X.T @ (rows * U - S @ V) + Z.T @ (columns * V - S.T @ U))
