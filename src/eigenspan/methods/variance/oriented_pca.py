"""Signal against noise: oriented PCA, ``max Tr(V'CV)  s.t.  V'RV = I``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Literal, NoReturn

import numpy as np
import scipy.sparse as sp

from ..._diagnostics import note, stage
from ..._parameters import ArrayLike, Function, TypeName, attribute
from ..._types import Array, Matrix, TableLike, is_sparse
from ...data import Input, Points, Sample
from ...data.distorted_samples import Copies, DistortedCopies, Distortion, copies_of, distortion_functions
from ...data.rows.block_passes import blocks, refuse_non_finite
from ...data.rows.moments import Moments, OfMoments
from ...data.rows.storage import held
from ...data.rows.triangular import triangular
from ...errors import DimensionError, InputError
from ...problem import Features, Fitted, Form, Posed, Raw, TraceProblem, identity, with_ridge
from ...problem.spectrum import seed_of
from ..base.contract import FeatureReducer, axes, features_of
from ..base.streaming import Streaming, plain_partial_fit
from ..base.table import known_as, method

#: One function that distorts rows, with a random generator as second value if it needs one, or several.
Distortions = Annotated[Any, Function(1), Function(2)] | Annotated[ArrayLike, TypeName("list of callables")] | None


@dataclass(frozen=True, eq=False)
class Signals(OfMoments):
    """Moments of signals and of their noise (copies minus originals): sufficient statistics of oriented PCA."""

    signal: Moments
    noise: Moments

    @staticmethod
    def of(X: Matrix, given: Copies, functions: Sequence[Distortion], rng: np.random.Generator) -> Signals:
        """Return the moments in one pass, or in two if the products lose digits that matter. Cost O((N + 1) n D²) for N copies.

        Functions get all rows at once; if the rows are in a file, one block at a time.
        """
        again = deepcopy(rng)  # for the same copies in a second pass
        found = Signals.read(X, given, functions, rng, None)
        return found if found.is_full else Signals.read(X, given, functions, again, found)

    @staticmethod
    def read(
        X: Matrix,
        given: Copies,
        functions: Sequence[Distortion],
        rng: np.random.Generator,
        before: Signals | None = None,
    ) -> Signals:
        """Return the moments in one pass; with roots, about the means of a pass `before`."""
        (n, D), whole = X.shape, sp.issparse(X) or bool(functions and held(X) is not None)
        signal = noise = Moments.nothing(1, D)
        for part in [slice(0, n)] if whole else blocks(n, D, rows=2**16, numbers=2**22):
            rows = X[part]
            if not sp.issparse(rows):
                refuse_non_finite(rows, part.start)
            signal = signal + (Moments.of(rows) if before is None else before.signal.factored(rows))
            for copy in copies_of(rows, given.take(part), functions, rng, part.start):
                gap = _noise(copy, rows)
                noise = noise + (Moments.of(gap) if before is None else before.noise.factored(gap))
        return Signals(signal, noise)

    @property
    def n(self) -> int:
        return self.signal.n

    @property
    def width(self) -> int:
        """Number of columns, the largest possible number of axes."""
        return int(self.signal.means.shape[1])

    @property
    def is_full(self) -> bool:
        """Whether the products give all directions of signal and noise together, and of the noise alone, which is inverted."""
        if self.n <= self.width or not self.spanned().is_full:
            return False
        return self.is_silent or self.noise.about_origin().is_full

    def __add__(self, other: Signals) -> Signals:
        return Signals(self.signal + other.signal, self.noise + other.noise)

    @property
    def covariance(self) -> Array:
        """The covariance C of the signals [S3, eq. 3.47]."""
        return self.signal.scatter / max(self.n, 1)

    @property
    def correlation(self) -> Array | None:
        """The correlation R of the noise about zero [S3, eq. 3.48]; None without copies."""
        if not self.noise.n:
            return None
        if self.is_silent:
            _refuse_silence(self.noise.n)
        return _about_zero(self.noise)

    @property
    def is_silent(self) -> bool:
        """Whether all copies are equal to their originals, or there are none."""
        return bool(np.trace(_about_zero(self.noise)) <= 1e-30 * np.trace(_about_zero(self.signal)))

    def spanned(self, center: bool = True) -> Moments:
        """Return moments of signals plus noise, scaled to equal total variance; they span the directions of the problem."""
        signal = self.signal if center else self.signal.about_origin()
        if self.is_silent:
            return signal
        S, R = signal.scatter, _about_zero(self.noise)
        share = np.trace(S) / np.trace(R)
        root = None
        if signal.root is not None and self.noise.root is not None:
            root = triangular(np.vstack([signal.root, np.sqrt(share) * _root_about_zero(self.noise)]))
        rows = signal.counts + self.noise.n + 1  # the rank is at most the number of rows minus one
        return replace(signal, counts=rows, scatter=S + R * share, root=root)


def _refuse_silence(rows: int) -> NoReturn:
    raise InputError(
        f"All {rows} distorted rows are equal to their originals: there is no noise, and no direction in which there is less of it "
        "than in others. Check what makes the copies, or leave them out, which is PCA."
    )


def _about_zero(moments: Moments) -> Array:
    return moments.scatter / max(moments.n, 1) + np.outer(moments.mean, moments.mean)


def _root_about_zero(moments: Moments) -> Array:
    assert moments.root is not None
    return np.vstack([moments.root / np.sqrt(max(moments.n, 1)), moments.mean])


def _noise(copy: Matrix, rows: Matrix) -> Matrix:
    """Return a copy minus the original rows in double precision, sparse if both are."""
    if sp.issparse(copy) and sp.issparse(rows):
        return sp.csr_array(copy - rows, dtype=np.float64)
    copy, rows = (A.toarray() if is_sparse(A) else A for A in (copy, rows))
    return np.subtract(copy, rows, dtype=np.float64)


def _refuse_idle(estimator: OrientedPCA) -> None:
    """Raise for parameters that have no effect together."""
    refuse: Any = FeatureReducer._input.idle
    refuse(estimator)
    if estimator.kernel is not None and estimator.extractor == "difference":
        raise InputError(
            'extractor="difference" measures signals from the origin, and the feature space of a kernel is measured from the mean of the '
            'points: use extractor="ratio" beside kernel=.'
        )


def _signals(
    estimator: OrientedPCA, X: Matrix, y: TableLike | None, seen: int = 0, before: Signals | None = None
) -> Signals:
    given = DistortedCopies().read(y, X.shape[0], name=type(estimator).__name__, unlabeled=None).of_shape(X.shape)
    return Signals.read(X, given, distortion_functions(estimator.distortions), estimator._generator(seen), before)


def _has_noise(estimator: OrientedPCA, total: Signals, y: object) -> bool:
    return total.n > 1 and not (total.noise.n and total.is_silent)


@method("variance", "max signal covariance", "noise correlation", "n D² + D³", "S3 eqs. 3.47–3.48", "opca")
@known_as(
    "Oriented principal component analysis",
    "oriented PCA; signal to noise ratio; generalised eigenvectors of signal and noise; distorted samples; "
    "noise covariance",
    {"extractor='difference'": "difference of signal and noise", "kernel='rbf'": "kernel OPCA; kernel oriented PCA"},
)
class OrientedPCA(FeatureReducer):
    """Oriented principal component analysis: directions with much signal and little noise.

    .. math:: \\max_V \\operatorname{Tr}(V^T C V) \\quad \\text{s.t. } V^T R V = I

    with C the covariance of the signals x, the rows of X, and R the mean of :math:`z z^T` over the noise z = distorted copy less
    original [S3, eqs. 3.47–3.48]. R is about zero, not about the mean of z: noise that shifts all copies alike counts too. Use it
    when you know what may happen to your data (noise, another device, compression, clipping) and want features that change
    little under it and still tell the points apart, such as fingerprints of audio or images.

    On every axis the noise has a mean square of one and the signal a variance of ``eigenvalues_``, the signal-to-noise ratio.
    Scaling all of the signal or all of the noise leaves the directions as they are.

    y of ``fit`` holds the distorted copies, row by row: one table of the shape of X, several in a list, or a stack of shape
    (N, n_samples, n_features). They may also be made by `distortions`. y holds no labels: a vector is ignored. Without copies, noise
    is taken to be the same in all directions, R = I, and the axes are those of PCA. With a `kernel` noise is measured in its feature space.

    Cost: O((N + 1) n D² + D³) for N copies, and O(D²) memory beyond the data. X, and copies, may be a `numpy.memmap`, read once and in
    blocks: the fit then holds no ``embedding_``. `partial_fit` takes rows and their copies in parts.

    Parameters
    ----------
    distortions
        Functions ``f(X)`` that return a distorted version of X with the same shape, or ``f(X, rng)`` that need a
        `numpy.random.Generator`, seeded by `random_state`. They get all rows at once, or one block of rows at a time if X
        is a file. A function that returns another shape or non-finite values is refused. None uses only the distorted
        samples that y holds.
    extractor
        ``"difference"`` maximises :math:`\\operatorname{Tr} V^T (R_1 - R_2) V` over orthonormal V instead, where R₁ and R₂
        are the means of :math:`x x^T` and :math:`z z^T`: among all features :math:`V^T \\tilde x` of distorted samples,
        these reconstruct the originals with the least mean square error. It measures from the origin (``mean_`` is zero),
        with `reduce` along the axes kept, and depends on the scales of signal and noise.
    ridge
        ε of R + εI: additional noise of this variance in all directions, for too few distorted samples to estimate R. None
        means 0 for features, or a small value, with a warning, if R is singular and the signal varies in directions without
        noise; for kernels it is always a small value. It has no effect with ``extractor="difference"``.

    Attributes
    ----------
    moments_ : Signals
        Counts, means and scatter matrices of rows and noise, to which `partial_fit` adds.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenspan import PCA, OrientedPCA
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((500, 3)) * [1, 2, 3]
    >>> copies = X + rng.standard_normal((2, 500, 3)) * [0.1, 1, 9]  # two copies of every row; the third feature suffers
    >>> oriented, plain = OrientedPCA(1).fit(X, copies), PCA(1).fit(X)
    >>> int(oriented.components_.argmax()), int(plain.components_.argmax())  # little noise, or large variance
    (0, 2)
    >>> oriented.eigenvalues_.round(-2)  # variance of the signal, in units of the noise
    array([100.])
    >>> def hum(X, rng):
    ...     return X + rng.standard_normal((len(X), 1)) * [0.1, 0.1, 3]
    >>> OrientedPCA(2, distortions=hum, ridge=1e-4).fit(X).transform(X[:4]).shape
    (4, 2)

    References
    ----------
    [S3] §3.8; Diamantaras & Kung (1996), Principal component neural networks; Mika et al. (1999), Invariant feature extraction
    and classification in kernel spaces, for ``kernel=``.
    """

    distortions: Distortions = None
    extractor: Literal["ratio", "difference"] = "ratio"

    moments_: Signals = attribute()

    _input: ClassVar[Input] = replace(FeatureReducer._input, y=DistortedCopies(), idle=_refuse_idle)
    _streaming: ClassVar[Streaming] = Streaming(_signals, enough=_has_noise, takes_weights=False)

    partial_fit = plain_partial_fit

    def _fit(self, sample: Sample[Points, Copies]) -> Fitted:
        if sample.past is not None:
            return self._fit_signals(sample.past, None)
        X, given = sample.x.values, sample.y.of_shape(sample.x.values.shape)
        if not sample.x.one_pass:
            return axes(self).fit(self._pose(sample))
        with stage("moments"):
            sums = Signals.of(X, given, distortion_functions(self.distortions), self._generator())
        return self._fit_signals(sums, held(X))

    def _generator(self, seen: int = 0) -> np.random.Generator:
        return np.random.default_rng([seed_of(self.random_state), seen])

    def _fit_signals(self, sums: Signals, X: Matrix | None) -> Fitted:
        """Fit from the moments; the rows X are optional and only give the embedding."""
        if self.extractor == "difference":
            lift = Features.of_moments(sums.spanned(center=False)).lift if sums.n <= sums.width else None
            basis = Features(Raw(), X, lift, np.zeros(sums.width), scatter=sums.signal.scatter, count=sums.n)
        else:
            self._refuse_axes_without_signal(Features.of_moments(sums.signal, X).dim if sums.noise.n else None)
            basis = Features.of_moments(sums.spanned(), None if sums.noise.n else X, full=sums.is_full)
            basis = replace(basis, raw=X, scatter=sums.signal.scatter, count=sums.n)
        fitted = axes(self).fit(self._weigh(basis, sums, basis.compress, basis.compress_root))
        return fitted.having(moments_=sums, n_samples_seen_=sums.n)

    def _pose(self, sample: Sample[Points, Copies]) -> Posed:
        """Pose the problem over the coordinates of all rows: for kernels, few rows, sparse rows, and with `reduce`."""
        X, functions = sample.x.values, distortion_functions(self.distortions)
        if sample.x.pairs and functions:
            raise InputError(
                "distortions= change points, and X holds kernel values: pass their copies to fit as y, the kernel values of the distorted "
                "points with the points themselves."
            )
        rng = self._generator()
        copies = list(copies_of(X, sample.y, functions, rng))
        if copies and not any(abs(_noise(copy, X)).max() for copy in copies):  # else rounding would count as noise
            _refuse_silence(len(copies) * X.shape[0])
        origin = None if self.extractor == "difference" else np.ones(X.shape[0])
        basis = self._coordinates(sample, copies).centred(origin)
        place = basis.map(np.eye(basis.dim), None)  # type: ignore[arg-type]
        sums = Signals.read(place(X), Copies(tuple(map(place, copies))), (), rng)
        return self._weigh(
            basis, sums, lambda G, psd=True: Form(basis.dim, dense=G, psd=psd), lambda F: Form(basis.dim, dense=F.T @ F)
        )

    def _coordinates(self, sample: Sample[Points, Copies], copies: list[Matrix]) -> Features:
        """Return a basis of the signals and, without a kernel, of their copies: noise along one feature may cancel that of another."""
        X, difference = sample.x.values, self.extractor == "difference"
        if self.kernel is not None or self.reduce is not None or not (copies or difference):
            return features_of(self, sample)
        self._refuse_axes_without_signal(None if difference else Features.linear(X).dim)
        rows = [X, *copies]
        rows += [-part for part in rows] if difference else []  # about the origin: the mean of these
        stack = sp.csr_array(sp.vstack(rows)) if any(map(sp.issparse, rows)) else np.vstack(rows)
        return replace(Features.linear(stack), raw=X, scatter=None, scores=None)

    def _weigh(
        self, basis: Features, sums: Signals, form: Callable[..., Form], rooted: Callable[[Array], Form]
    ) -> Posed:
        """Pose signal against noise; `form` and `rooted` restrict a matrix, or its root, to the coordinates."""
        R = sums.correlation
        note(noise="isotropic" if R is None else f"{sums.noise.n} distorted rows")
        if self.extractor == "difference":
            against = np.eye(sums.signal.means.shape[1]) if R is None else R
            A = form(_about_zero(sums.signal) - against, psd=False)
            return Posed(TraceProblem(A, None, "max"), basis)
        A = form(sums.covariance)
        B = identity(basis.dim) if R is None else form(R)
        if sums.signal.root is not None:
            A = rooted(sums.signal.root / np.sqrt(max(sums.n, 1)))
            B = B if R is None or sums.noise.root is None else rooted(_root_about_zero(sums.noise))
        B = with_ridge(B, self.ridge, 0.0 if R is None else basis.relative_ridge)
        return Posed(TraceProblem(A, B, "max"), basis)

    def _refuse_axes_without_signal(self, rank: int | None) -> None:
        if rank is not None and rank < self.n_components:
            raise DimensionError(
                f"n_components={self.n_components} exceeds {rank}, the dimension of the signals"
                + (
                    f": beyond it axes hold noise alone. Use n_components <= {rank}."
                    if rank
                    else ". All rows coincide."
                )
            )
