"""The three families of methods are one trace problem in three bases, ``Y = Z V``.

=================  =====================================  ==============================
`Samples`          Z = I                                  implicit (LE, LLE, Isomap)
`Features.linear`  Z = X, centred                         projective (PCA, LPP, LDA)
`Features.kernel`  Z = kernel-PCA scores ("KPCA trick")   kernel (kernel LPP, kernel FDA)
=================  =====================================  ==============================

`DirectSum` (in `direct_sum`) stacks several views for two-view methods. A basis restricts forms (``Z'MZ``), embeds solutions (``ZV``) and
returns the map of new points. `Scatters` are the scatter matrices of classes over its coordinates.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike

from .._diagnostics import note, stage
from .._types import Array, Index, Matrix, RandomState
from ..data import PastClasses
from ..data.rows.block_passes import CentredRows, weighted_sum
from ..data.rows.dask_rows import LazyRows
from ..data.rows.moments import Moments, Sums
from ..data.rows.storage import Elsewhere, held, is_tall, not_in_memory, on_disk
from ..data.x import KernelValues
from ..errors import ConvergenceError, DegenerateWarning, InputError, KernelError, warn
from ..graphs.landmarks import choose_landmarks, suggested_landmarks
from ..numerics.eigen import dense
from ..numerics.eigen.centred import Centred, Partners, column_means, leading_axes
from ..numerics.memory import human_bytes, require
from .distributed_quadratic import lazy_quadratic
from .form import AnyClasses, Form, Kind
from .kernels import feature_axes, gram_matrix, kernel_rows, schur_share, warn_of_hidden_directions, warn_of_lost_digits
from .map import Map, Raw
from .row_space import factor_axes, row_space, row_space_memory, scatter_axes
from .spectrum import TIED, Spectrum, relative_gap, seed_of

Extension = Callable[[Array, Spectrum], Map]


@dataclass(frozen=True, eq=False)
class Samples:
    """The unknown is the embedding itself; `extension` says how new points are reached.

    `masses` count the equal samples that each of them stands for; None where each stands for itself.
    """

    n: int
    extension: Extension | None = None
    masses: Array | None = None

    def centred(self, weights: Array | None) -> Samples:
        return self

    def about(self, M: Form) -> Samples:
        return self

    def restrict(self, M: Form) -> Form:
        return M.over_samples()

    def constant(self) -> Array | None:
        return np.ones((self.n, 1))

    def embed(self, V: Array) -> Array:
        return V

    def covariance(self, V: Array) -> Array:
        """Return the covariance of the samples along these axes."""
        share = np.full(self.n, 1 / self.n) if self.masses is None else self.masses / self.masses.sum()
        centred = V - share @ V
        return np.asarray(centred.T @ (share[:, None] * centred))

    def map(self, V: Array, spectrum: Spectrum) -> Map:
        if self.extension is None:
            raise InputError("This basis has no extension to new points: give Samples(n, extension).")
        return self.extension(V, spectrum)


@dataclass(frozen=True, eq=False)
class Features:
    """``Z = (raw − offset) @ lift`` with `lift` orthonormal in the feature space.

    Build it with `Features.linear` or `Features.kernel`.

    Attributes
    ----------
    rows : callable
        Raw feature rows of new points.
    raw : ndarray or csr_array of shape (n, m), or None
        The samples' rows, which may be float32 or lie in a file: they are then read in blocks, never copied. None where they
        are not at hand, for a basis that only restricts what was summed over them before.
    lift : ndarray or Partners of shape (m, r), or None
        None stands for the identity (the features already have full rank).
    offset : ndarray of shape (m,)
    relative_ridge : float
        Default of `pose`'s ridge, relative to the mean eigenvalue. A full-rank kernel basis can interpolate any
        embedding of the training set, so it has one; linear features need none.
    scatter : ndarray of shape (m, m) or None
        That of the raw rows about their mean, where it was summed anyway.
    scores : ndarray of shape (n, r) or None
        ``Z``, where it is known without another pass over the rows.
    count : int
        Rows behind the scatter.
    sizes : ndarray of shape (r,) or None
        Singular values of the centred rows along the coordinates, where these are the principal axes and known to all digits.
    digits_lost : bool
        A warning has said that rounding shows in all features of a kernel.
    sums : Sums or None
        The sums by class that the basis was made of; scatters of these classes are restricted from them.
    classes : Classes, LazyClasses, PastClasses or None
    source : array, LazyRows, PastRows or None
        The rows behind the sums, wherever they are stored.
    center : bool
        Whether forms may move the origin. False keeps it at zero, for rows that are taken as they are.
    """

    rows: Callable[[Any], Any]
    raw: Any
    lift: Array | Partners | None
    offset: Array
    relative_ridge: float = 0.0
    scatter: Array | None = None
    scores: Array | None = None
    count: int = 0
    sizes: Array | None = None
    digits_lost: bool = False
    sums: Sums | None = None
    classes: Any = None
    source: Any = None
    center: bool = True

    @cached_property
    def Z(self) -> Array:
        """Centred coordinates of the samples, (n, r); what graphs in a kernel's feature space are built on."""
        if self.scores is not None:
            return self.scores
        if sp.issparse(self.raw) and self.lift is not None:
            return Centred.of(self.raw, self.offset).forward(np.asarray(self.lift))
        raw = self.raw.toarray() if sp.issparse(self.raw) else np.asarray(self.raw, dtype=np.float64)
        Z = raw - self.offset
        return Z if self.lift is None else Z @ np.asarray(self.lift)

    @cached_property
    def scatters(self) -> Scatters:
        """Class means and scatters over the coordinates."""
        assert self.sums is not None
        return Scatters.of_sums(self, self.sums)

    @property
    def dim(self) -> int:
        return self.offset.size if self.lift is None else self.lift.shape[1]

    @cached_property
    def _is_plain(self) -> bool:
        """Whether the rows are in memory, dense and in double precision; a centred copy is fastest then."""
        return (
            self.raw is not None
            and not sp.issparse(self.raw)
            and self.raw.dtype == np.float64
            and not on_disk(self.raw)
        )

    @property
    def is_held(self) -> bool:
        """Whether the coordinates are in memory, or cheap to compute there."""
        return self.scores is not None or self._is_plain

    def lifted(self, V: Array) -> Array:
        """Return combinations of the coordinates as combinations of the features."""
        return V if self.lift is None else self.lift @ V

    def along(self, T: Array) -> Features:
        """Return the features in the coordinates ``Z T``."""
        return replace(self, lift=self.lifted(T), scores=self.Z @ T)

    def centred(self, weights: Array | None) -> Features:
        """Move the origin to the weighted mean (uniform for weights that sum to nothing; zero offset for None), unless it is fixed."""
        if not self.center:
            return self
        n = self._at_hand.shape[0]
        if weights is None:
            return replace(self, offset=np.zeros(self.raw.shape[1]), scores=None)
        total = float(weights.sum())
        if abs(total) <= 1e-12 * max(float(np.abs(weights).sum()), np.finfo(float).tiny):
            weights, total = np.ones(n), float(n)
        scores = None if self.scores is None else self.scores - weights @ self.scores / total
        return replace(self, offset=weighted_sum(weights, self._at_hand) / total, scores=scores)

    def about(self, M: Form) -> Features:
        """Move the origin to the mean with weights M 1, or to the mean of all rows if these are zero, unless it is fixed."""
        if not self.center:
            return self
        if self.sums is None:
            return self.centred(M.over_samples().masses())
        scatters, rest = M.split()
        if rest is not None and not rest.kills_constant:
            return replace(self.centred(M.over_samples().masses()), sums=None)
        labelled = any(P.kind == "labelled" for _, P in scatters)
        return replace(self, offset=self.sums.labelled.mean) if labelled else self

    @property
    def _at_hand(self) -> Matrix:
        """The rows in memory or in a file; raises for other storage."""
        X = self.source if self.raw is None else self.raw
        if X is None or isinstance(X, Elsewhere):
            raise not_in_memory("A form over the rows")
        return X

    def restrict(self, M: Form) -> Form:
        """Return ``Z'MZ`` as a dense form over the coordinates, with class scatters from the sums of the basis, if it has them."""
        if self.sums is None:
            return self._over_rows(M.over_samples())
        scatters, rest = M.split()
        found = [a * self.scatters.value(P.kind) for a, P in scatters if P.classes in (self.classes, None)]
        others = tuple((a, P) for a, P in scatters if P.classes not in (self.classes, None))
        if others:
            more = Form(M.n, pairs=others, psd=M.psd).over_samples()
            rest = more if rest is None else rest + more
        if rest is not None:
            found.append(self._over_rows(rest))
        return sum(found[1:], found[0])

    def _over_rows(self, M: Form) -> Form:
        """Return ``Z'MZ`` from the rows, for a form without scatters."""
        if isinstance(self.source, LazyRows) and M.sparse is not None:
            along = None if self.sizes is None else np.asarray(self.lift)
            G = lazy_quadratic(M.sparse, self.source, self.offset, along)
            return self.compress(G, psd=M.psd) if along is None else Form(self.dim, dense=G, psd=M.psd)
        X = self._at_hand
        n, D = X.shape
        if self.is_held or (self.raw is not None and self.lift is not None and n * self.dim <= D**2):
            return Form(self.dim, dense=M.quadratic(self.Z), psd=M.psd)
        if not sp.issparse(X) or self.sizes is not None:
            # along axes whose variances differ much, products of the features would lose the digits of the small ones
            axes = None if self.sizes is None else np.asarray(self.lift)
            G = M.quadratic(CentredRows(X, self.offset, axes))
            return self.compress(G, psd=M.psd) if axes is None else Form(self.dim, dense=G, psd=M.psd)
        C, m1 = Centred.of(X, self.offset), M.ones()  # implicit centring: (X − 1c')'M(X − 1c')
        x1, c = C.X.T @ m1, C.mean
        G = M.quadratic(C.X) - np.outer(x1, c) - np.outer(c, x1) + m1.sum() * np.outer(c, c)
        return self.compress(dense.symmetric(G), psd=M.psd)

    def compress(self, G: Array, *, psd: bool = True) -> Form:
        """Return a symmetric D×D matrix over the centred raw features as a form over the coordinates."""
        G = G if self.lift is None else dense.symmetric(self.lift.T @ G @ np.asarray(self.lift))
        return Form(self.dim, dense=G, psd=psd)

    def compress_root(self, F: Array, *, psd: bool = True) -> Form:
        """Return ``F'F`` over the centred raw features as a form over the coordinates, with all digits of F in small directions."""
        F = F if self.lift is None else F @ np.asarray(self.lift)
        return Form(self.dim, dense=F.T @ F, psd=psd)

    def total(self) -> Form:
        """Return the scatter of the rows about their mean over the coordinates, if it was summed."""
        if self.sizes is None:
            return self.compress(np.asarray(self.scatter))
        return Form(self.dim, dense=np.diag(self.sizes**2), psd=True)

    def constant(self) -> None:
        return None

    def embed(self, V: Array, precision: DTypeLike = np.float64) -> Array:
        """Return the samples along these axes; rows that are read in blocks in the given precision."""
        if self.scores is not None:
            return self.scores @ V
        if sp.issparse(self.raw):
            return Centred.of(self.raw, self.offset).forward(self.lifted(V))
        if self.lift is None or not self._is_plain:
            return CentredRows(self.raw, self.offset).project(self.lifted(V), precision)
        return self.Z @ V

    def map(self, V: Array, spectrum: Spectrum) -> Map:
        return Map(self.rows, self.lifted(V), offset=self.offset)

    def size(self) -> float:
        """Return the mean squared length of the rows; 0 if it would take another pass over rows that are not in memory."""
        if self.scatter is not None:
            return float(np.trace(self.scatter)) / max(self.count, 1)
        return float(np.einsum("ij,ij->", self.Z, self.Z)) / max(len(self.Z), 1) if self.is_held else 0.0

    def first(self, r: int) -> Features:
        """Return the basis of the first r principal axes, with a warning if the next one has the same variance."""
        if self.dim <= r or self.scores is None:
            return self
        squares = np.einsum("ij,ij->j", self.scores, self.scores)
        if relative_gap(squares[r - 1], squares[r], squares[0]) < TIED:
            warn(
                f"reduce={r} keeps the first {r} principal axes, but axes {r} and {r + 1} have the same variance (sums of squares "
                f"{squares[r - 1]:.6g} and {squares[r]:.6g}): which directions are kept is not determined, and another machine may keep "
                f"others. Use another number than reduce={r}.",
                DegenerateWarning,
            )
        return replace(self, lift=np.asarray(self.lift)[:, :r], scores=self.scores[:, :r])

    def covariance(self, V: Array) -> Array:
        """Return the covariance of the samples along these axes."""
        if self.raw is not None:
            Y = self.embed(V)
            Y = Y - Y.mean(axis=0)
            return np.asarray(Y.T @ Y / len(Y))
        axes, scatter = self.lifted(V), np.asarray(self.scatter)
        return np.asarray(axes.T @ (scatter @ axes) / self.count)

    def shares_of_variance(self, V: Array) -> Array:
        """Return the share of the total variance along each of the unit vectors V."""
        if not V.shape[1]:
            return np.zeros(0)
        if self.scatter is not None:
            axes = self.lifted(V)
            return np.einsum("ij,ij->j", axes, self.scatter @ axes) / max(np.trace(self.scatter), np.finfo(float).tiny)
        along = np.var(self.embed(V), axis=0)
        kept = Centred.of(self.raw, column_means(self.raw)) if sp.issparse(self.raw) else None
        everywhere = np.sum((np.std(self.Z, axis=0) if kept is None else kept.spread()) ** 2)
        return along / max(float(everywhere), np.finfo(float).tiny)

    # ------------------------------------------------------------------ constructors
    @staticmethod
    def linear(
        X: Any, *, reduce: int | None = None, center: bool = True, rtol: float = 1e-10, random_state: RandomState = 0
    ) -> Features:
        """Return the points themselves, restricted to their row space if they do not span all D dimensions.

        `reduce` keeps only that many principal axes first: the named way to a sparse X with too many rows and columns, and to "PCA
        first" for undersampled data [S0, §9.3]. Cost O(nD min(n, D)); with fewer rows than columns the n×n products of the rows suffice,
        the axes are combinations of the rows, and sparse X stays sparse. Without `center` the origin stands for the mean, in all forms.
        """
        basis = Features._linear(X, reduce, center, rtol, random_state)
        return basis if center else replace(basis, center=False)

    @staticmethod
    def _linear(X: Any, reduce: int | None, center: bool, rtol: float, random_state: RandomState) -> Features:
        n, D = X.shape
        if reduce is not None:
            most = n - 1 if center else n
            C = Centred.of(X, column_means(X, center))
            basis = Features.principal(
                X, C, min(reduce + 1, most, D), spare=int(reduce < min(most, D)), random_state=random_state
            )
            basis = basis.first(reduce)
            note(reduced_to=basis.dim)
            return basis
        in_blocks = is_tall(X) and (X.dtype == np.float32 or on_disk(X))
        needed = row_space_memory(n, D) if n <= D else 48.0 * D**2 + (0 if sp.issparse(X) or in_blocks else 8.0 * n * D)
        require(needed, f"The products of {n}×{D} data", "Pass reduce=r to keep r principal axes first.")
        note(feature_memory=human_bytes(needed))
        if is_tall(X) or n > D:
            return Features.of_moments(Moments.read(X, center), X, rtol=rtol)
        with stage("row space"):
            mean = column_means(X, center)
            lift, scores = row_space(Centred.of(X, mean), np.abs(mean), rtol, center=center)
        if lift is not None:
            note(rank=lift.shape[1])
        return Features(Raw(), X, lift, mean, scores=scores)

    @staticmethod
    def principal(X: Matrix, C: Centred, r: int, *, spare: int = 0, random_state: RandomState = 0) -> Features:
        """Return the leading r principal axes of X, fewer if its rank is smaller; C is X about its origin; `spare` axes are approximate.

        Cost: see `leading_axes`.
        """
        n, D = X.shape
        small = 0 if sp.issparse(X) and 3 * r <= min(n, D) else min(n, D)
        needed = 32.0 * r * (n + D) + 24.0 * small**2
        require(needed, f"{r} axes of {D} features", "Keep fewer.")
        with stage("principal axes"):
            found = leading_axes(C, r, np.random.default_rng(seed_of(random_state)), spare=spare)
            residuals = found.residuals[: r - spare]
            if residuals.max(initial=0.0) > 1e-9:
                raise ConvergenceError(
                    f"The {r} principal axes reached a relative residual of {residuals.max():.1e} only (wanted 1e-9). Ask for fewer, or "
                    "divide the columns of X by their standard deviations first."
                )
        note(feature_memory=human_bytes(needed), axes_residual=float(residuals.max(initial=0.0)))
        return Features(Raw(), X, found.vectors, C.origin, scores=found.scores)

    @staticmethod
    def of_moments(
        moments: Moments, X: Any = None, *, rtol: float = 1e-10, full: bool | None = None, wanted: int | None = None
    ) -> Features:
        """Return the basis from the moments of the rows X, which are optional. Cost O(D³).

        If products may lose digits of some direction, the rank is determined from the root of the moments, or of the rows; without
        both, from products, with a warning. `full` is True if no digits are lost, None if that is not known; `wanted` limits the
        number of axes of largest variance.
        """
        live, whole, sizes = moments.live(), moments.pooled(), None
        lift: Any
        if moments.is_full if full is None else full:
            lift = None if live.all() else np.eye(live.size)[:, live]
        else:
            if whole.root is None and X is not None:
                whole = whole.factored(X)
            if whole.root is None:
                lift = scatter_axes(whole)
            else:
                lift, sizes = factor_axes(whole.root, whole.n, np.abs(whole.mean), rtol, whole.lost, wanted)
        if lift is not None:
            note(rank=lift.shape[1])
        return Features(Raw(), X, lift, moments.mean, scatter=whole.scatter, count=moments.n, sizes=sizes)

    @staticmethod
    def of_sums(sums: Sums, X: Matrix | Elsewhere, classes: AnyClasses | None) -> Features:
        """Return the basis from sums by class over the rows X in any storage; class scatters then need no other pass."""
        full = True if sums.is_full else None if sums.everyone.root is None else False
        basis = Features.of_moments(sums.everyone, held(X), full=full)
        return replace(basis, sums=sums, classes=classes, source=X)

    @staticmethod
    def kernel(
        kernel: Any,
        X: Any,
        *,
        landmarks: Any = None,
        random_state: Any = 0,
        relative_ridge: float = 1e-3,
        center: bool = True,
        rtol: float = 1e-10,
    ) -> Features:
        """Return kernel-PCA scores of full rank, or Nyström features on landmarks. Cost O(n³), or O(nm²) with m landmarks.

        Without `center` the scores are those of the kernel matrix itself, about the origin of the feature space.
        """
        rows, given = kernel_rows(kernel, X, centred=center and landmarks is None), isinstance(X, KernelValues)
        X = X.values if given else X
        if landmarks is None:
            K, lift, lost = _full_rank(rows, X, rtol, center)
        else:
            chosen = choose_landmarks(
                X, landmarks, random_state=random_state, precomputed=given, kernel=partial(rows.block, X)
            )
            rows = rows.among(chosen)
            K, lift, lost = _on_landmarks(rows, X, chosen, rtol, center)
        if lift.shape[1] == 0:
            raise KernelError(
                f"The kernel sees no difference between the {X.shape[0]} points: its values k(x_i, x_j) lie between {K.min():.6g} and "
                f"{K.max():.6g}, and nothing positive is left of them after centring."
            )
        offset = column_means(K, center)
        return Features(rows, K, lift, offset, relative_ridge=relative_ridge, digits_lost=lost, center=center)


# ---------------------------------------------------------------------- scatters of classes
@dataclass(frozen=True, eq=False)
class Scatters:
    """Class means and scatter matrices over the coordinates of a basis, for discriminant analysis.

    Attributes
    ----------
    basis : Features
        Its origin is the mean of all rows.
    counts, means : ndarray of shape (c,), (c, r)
        Number and mean of the labelled rows of every class.
    between, within, everyone : Form
        Scatter of the class means, of the labelled rows about them, and of all rows about their mean.
    sums : Sums or None
        The sums over the features, if the scatters were computed from these; rows can be added to them.
    """

    basis: Features
    counts: Array
    means: Array
    between: Form
    within: Form
    everyone: Form
    sums: Sums | None = None

    @staticmethod
    def of(basis: Features, classes: AnyClasses) -> Scatters:
        """Return the scatters of classes, from the sums of the basis or the coordinates of the rows; sparse rows stay sparse."""
        if basis.sums is not None:
            return basis.scatters
        assert not isinstance(classes, PastClasses), "classes without rows have sums"
        codes, count = classes.codes, classes.count
        if sp.issparse(basis.raw) and basis.scores is None:
            sums = Sums.of(basis.raw, codes, count)
            sums = sums if basis.lift is None else sums.factored(basis.raw, codes)
            return replace(Scatters.of_sums(basis, sums), sums=None)
        basis = basis.centred(np.ones(basis.raw.shape[0]))
        own = Sums.of(basis.Z, codes, count)
        between, within, everyone = (Form(basis.dim, dense=S, psd=True) for S in _parts(own))
        return Scatters(basis, own.labelled.counts, own.labelled.means, between, within, everyone)

    @staticmethod
    def of_sums(basis: Features, sums: Sums) -> Scatters:
        """Return the scatters from sums over the features, restricted to the coordinates."""
        means = sums.labelled.about(basis.offset)
        means = means if basis.lift is None else means @ np.asarray(basis.lift)
        if basis.lift is None or sums.everyone.root is None or sums.labelled.root is None:
            between, within, everyone = (basis.compress(S) for S in _parts(sums))
        else:
            roots = (sums.labelled.gaps(), sums.labelled.root, sums.everyone.root)
            between, within, everyone = (basis.compress_root(F) for F in roots)
            everyone = everyone if basis.sizes is None else basis.total()
        return Scatters(basis, sums.labelled.counts, means, between, within, everyone, sums)

    def value(self, kind: Kind) -> Form:
        """Return the scatter of this kind. "labelled" is about the mean of the labelled rows, which is then the origin."""
        if kind == "sums":
            S = (self.means - self.counts @ self.means / self.counts.sum()) * self.counts[:, None]
            return Form(S.shape[1], dense=S.T @ S, psd=True)
        if kind in ("total", "labelled"):
            return self.between + self.within
        return {"between": self.between, "within": self.within, "everyone": self.everyone}[kind]

    def trace(self, kind: Kind) -> float:
        """Return the trace of the form of this scatter over the samples."""
        assert self.sums is not None
        m, c, own = float(self.counts.sum()), self.counts.size, float(self.counts @ self.counts)
        traces = {"between": c - 1.0, "within": m - c, "total": m - 1.0, "labelled": m, "everyone": self.sums.n - 1.0}
        return m - own / m if kind == "sums" else traces[kind]

    def extent(self, M: Form) -> float:
        """Return `Form.extent`, with the traces of scatters in place of their samples."""
        found, rest = M.split()
        return sum(abs(a) * self.trace(P.kind) for a, P in found) + (0.0 if rest is None else rest.extent())


def _parts(sums: Sums) -> tuple[Array, Array, Array]:
    return sums.labelled.between(), sums.labelled.scatter, sums.everyone.scatter


# ---------------------------------------------------------------------- features of a kernel
def _full_rank(rows: Any, X: Any, rtol: float, center: bool) -> tuple[Array, Array, bool]:
    """Return the kernel matrix of all points, coefficients of orthonormal axes, and whether a warning says that digits are lost."""
    n = X.shape[0]
    require(
        32.0 * n**2,
        f"The {n}×{n} kernel matrix",
        f"Pass landmarks={suggested_landmarks(n)} beside kernel= to work with that many points instead.",
    )
    K = gram_matrix(rows, X)
    if not center:
        return K, feature_axes(rows, K, float(np.abs(K).max()), rtol), False
    lost = warn_of_lost_digits(rows, K)
    centred = K - K.mean(axis=0) - (K.mean(axis=1) - K.mean())[:, None]
    lift = feature_axes(rows, centred, float(np.abs(K).max()), rtol)
    if not lost and getattr(rows, "kernel", None) == "cosine":
        warn_of_hidden_directions(centred, lift.shape[1], X.shape[1], rtol)
    # zero sums, as centring has it: rounding lets small axes lean on 1, where K itself is large
    return K, lift - lift.mean(axis=0), lost


def _on_landmarks(rows: Any, X: Any, chosen: Index, rtol: float, center: bool) -> tuple[Array, Array, bool]:
    """Return the same for the kernel between all points and the landmarks."""
    n, m = X.shape[0], chosen.size
    require(24.0 * n * m, f"The {n}×{m} kernel features", f"Pass fewer: landmarks={max(2, m // 2)}.")
    K, among = rows(X), gram_matrix(rows, X[chosen])
    lost = warn_of_lost_digits(rows, among, center)
    axes = feature_axes(rows, among, float(np.abs(among).max()), rtol)
    Z = K @ axes
    note(nystrom_error=schur_share(rows, X, float(np.sum(Z**2))))
    mean = column_means(Z, center)
    inner = row_space(Centred.of(Z, mean), np.abs(mean), rtol, center=center)[0]
    return K, axes if inner is None else axes @ inner, lost
