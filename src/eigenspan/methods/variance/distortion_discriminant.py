"""Layers of oriented PCA over growing stretches of a sequence: distortion discriminant analysis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, ClassVar, TypeAlias

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..._diagnostics import stage
from ..._parameters import ArrayLike, Count, NotNegative, attribute
from ..._types import Array, Floats, Index, Matrix, TableLike, VectorLike
from ...data import Input, Points, Sample, read_new
from ...data.distorted_samples import Copies, DistortedCopies, copies_of, distortion_functions
from ...data.rows.storage import in_precision_of, is_tall
from ...errors import DimensionError, InputError
from ...numerics.memory import require
from ...problem import Fitted, Map
from ...problem.spectrum import seed_of
from ..base.contract import SpectralReducer
from ..base.table import known_as, method
from .oriented_pca import Distortions, OrientedPCA

#: Numbers of rows of recordings: one for all, one for each, or None for a single recording.
Lengths: TypeAlias = int | VectorLike | None


@dataclass(frozen=True, eq=False)
class Layer:
    """Joins every row with the rows that follow it in steps, and projects."""

    map: Map
    frames: int
    step: int

    def __call__(self, Y: Floats, last: Index) -> Array:
        """Return the features of all rows; `last` is the last row of the recording of each, repeated beyond its end."""
        width, rows = Y.shape[1], np.arange(Y.shape[0])
        out = np.zeros((rows.size, self.map.width))
        for j in range(self.frames):  # the joined rows are never written out
            part = slice(j * width, (j + 1) * width)
            near = np.minimum(rows + j * self.step, last)
            out += np.subtract(Y[near], self.map.offset[part], dtype=np.float64) @ self.map.coef[part]
        return out


@dataclass(frozen=True, eq=False)
class Layers:
    """The map: one layer after the other, over recordings of `length` rows each, or one of all rows for None."""

    layers: tuple[Layer, ...]
    length: int | None = None

    @property
    def width(self) -> int:
        return self.layers[-1].map.width

    def __call__(self, X: Floats, lengths: Lengths = None) -> Array:
        stops = _stops(X.shape[0], self.length if lengths is None else lengths)
        last = np.repeat(stops - 1, np.diff(stops, prepend=0))
        for layer in self.layers:
            X = layer(X, last)
        return np.asarray(X, dtype=np.float64)


@method("variance", "max signal covariance, in layers", "noise correlation", "layers × (n D² + D³)", "S3 §3.8", "dda")
@known_as(
    "Distortion discriminant analysis",
    "layered oriented PCA; audio fingerprinting; robust features for sequences; convolutional OPCA",
)
class DistortionDiscriminantAnalysis(SpectralReducer):
    """Distortion discriminant analysis: layers of `OrientedPCA` over growing stretches of a sequence.

    .. math:: \\max_V \\operatorname{Tr}(V^T C V) \\quad \\text{s.t. } V^T R V = I \\quad \\text{in every layer}

    [S3, §3.8]. The rows of X are frames in order of time, such as spectra of audio or lines of a video. A layer joins every row with the
    rows that follow it into one signal vector, measures the noise of the distorted copies there, and projects by `OrientedPCA`,
    which leaves signals of mean zero and noise of mean square one; its features are the rows of the next layer. So features that
    last are found over long stretches at a small cost, and noise that only shows over long stretches can be weighed there. Use it
    for fingerprints of recordings that must survive compression, noise and filters.

    Every row of X has a row of features, which tells of the stretch that begins there; take every k-th of them, or the first of each
    recording. Where a stretch runs over the end of its recording, its last row is repeated, and such stretches are no part of the
    fit. With ``frames=1`` rows stand for themselves, and order does not matter.

    y of ``fit`` holds the distorted copies, row by row: one table of the shape of X, several in a list, or a stack of shape
    (N, n_samples, n_features). They may also be made by `distortions`. y holds no labels: a vector is ignored. Layers
    without any noise take it to be the same in all directions.

    Cost: that of `OrientedPCA` for each layer, whose features are `frames` times those of the layer before; the signals and their copies
    are held in memory.

    Parameters
    ----------
    n_components
        Number of features of the last layer.
    hidden_layer_sizes : sequence of int
        Numbers of features of the layers before it, first to last.
    frames : int or sequence of int
        Number of rows that are joined before each layer; one number for all layers, or one per layer.
    step : int or sequence of int
        Distance in rows between these: in a second layer, the first layer's `frames` gives stretches that do not overlap.
    lengths : int, sequence of int or None
        Number of rows of each recording in X; no stretch crosses the end of a recording. An int is the length of every
        recording, in ``transform`` too; a sequence holds the lengths in ``fit``, and ``transform`` has its own `lengths`.
        None means that X is one recording.
    distortions
        Functions ``f(X)`` or ``f(X, rng)`` that return a distorted version of all rows of X. A dict has the distortions of
        each layer by its number, from 0: ``{0: hiss, 1: [hiss, echo]}``. None uses only the distorted samples that y holds.
    alignment : int or sequence of int
        In each layer, treat as noise what changes when the signal is shifted by up to this many rows in time, either way:
        features then do not depend on where exactly a stretch begins.
    ridge
        ε of R + εI in every layer, see `OrientedPCA`. None means 0, or a small value if R is singular.

    Attributes
    ----------
    signal_to_noise_ : list of ndarray
        For each layer: variance of the signal divided by the mean square of the noise, for each feature.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenspan import DistortionDiscriminantAnalysis
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((40, 25, 6)).cumsum(axis=1).reshape(1000, 6)  # forty recordings of 25 frames
    >>> def hiss(X, rng):
    ...     return X + rng.standard_normal(X.shape)
    >>> dda = DistortionDiscriminantAnalysis(4, hidden_layer_sizes=(3,), frames=(1, 5), lengths=25, distortions=hiss, alignment=(0, 1))
    >>> dda.fit_transform(X).shape
    (1000, 4)
    >>> [ratios.shape for ratios in dda.signal_to_noise_]
    [(3,), (4,)]

    References
    ----------
    [S3] §3.8; Burges, Platt & Jana (2003), Distortion discriminant analysis for audio fingerprinting.
    """

    hidden_layer_sizes: ArrayLike = ()
    frames: Count | ArrayLike = 1
    step: Count | ArrayLike = 1
    lengths: Count | ArrayLike | None = None
    distortions: Distortions | dict[Any, Any] = None
    alignment: int | ArrayLike = 0
    ridge: NotNegative | None = None

    signal_to_noise_: list[Array] = attribute()
    map_: Layers = attribute()  # type: ignore[assignment]

    _input: ClassVar[Input] = Input(y=DistortedCopies(), linear=True)

    def transform(self, X: TableLike, lengths: Lengths = None) -> Array:
        """Return the features of the stretch that begins at each row.

        Parameters
        ----------
        X : array-like of shape (n_points, n_features)
            Rows in order of time.
        lengths : int, sequence of int or None, default=None
            Rows of each recording. None means the int that the estimator has, or else one recording.

        Returns
        -------
        ndarray of shape (n_points, n_components)
        """
        check_is_fitted(self)
        X, rows = read_new(self, X)
        with np.errstate(over="ignore", invalid="ignore"):  # new points may be anywhere
            return in_precision_of(X, self.map_(rows, lengths))

    def _fit(self, sample: Sample[Points, Copies]) -> Fitted:
        X = np.asarray(sample.x.values, dtype=np.float64)
        sizes = (*_whole("hidden_layer_sizes", self.hidden_layer_sizes, None), int(self.n_components))
        plan = [_whole(name, getattr(self, name), len(sizes)) for name in ("frames", "step", "alignment")]
        stops = _stops(X.shape[0], self.lengths)
        last = np.repeat(stops - 1, np.diff(stops, prepend=0))
        copies, borne = self._copies(X, sample.y.of_shape(X.shape), len(sizes))
        reach, Y, layers, facts = 0, X, [], []
        for number, (size, frames, step, shift) in enumerate(zip(sizes, *plan, strict=True)):
            reach += (frames - 1) * step
            stretches = _Stretches(_beginnings(stops, reach, shift, number), frames, step)
            name = "n_components" if number + 1 == len(sizes) else f"hidden_layer_sizes[{number}]"
            stretches.check(Y.shape[1], size, name, len(borne[number]) + 2 * shift)
            with stage(f"layer {number}"):
                fitted = self._fit_layer(size, stretches, Y, [copies[k] for k in borne[number]], shift)
                layer = Layer(fitted.map, frames, step)
                Y, copies = layer(Y, last), [layer(copy, last) for copy in copies]
            layers.append(layer)
            facts.append(fitted.attributes)
        found = {name: facts[-1][name] for name in ("eigenvalues_", "residuals_", "gap_", "problem_")}
        length = int(self.lengths) if self.lengths is not None and np.ndim(self.lengths) == 0 else None
        ratios = [each["eigenvalues_"] for each in facts]
        return Fitted(Y, Layers(tuple(layers), length), {**found, "signal_to_noise_": ratios})

    def _copies(self, X: Array, given: Copies, count: int) -> tuple[list[Matrix], list[list[int]]]:
        """Return all copies of X, and the indices of those used in each layer: the given copies are used in every layer."""
        own, everywhere = self.distortions if isinstance(self.distortions, dict) else {}, len(given.tables)
        odd = [key for key in own if key not in range(count)]
        if odd:
            raise InputError(
                f"distortions= has an entry for layer {odd[0]!r}; the {count} layer(s) are numbered 0 to {count - 1}."
            )
        groups = (
            [distortion_functions(own.get(layer)) for layer in range(count)]
            if own
            else [distortion_functions(self.distortions)]
        )
        rng = np.random.default_rng([seed_of(self.random_state), 0])
        copies = list(copies_of(X, given, tuple(chain(*groups)), rng))
        ends = everywhere + np.cumsum([len(group) for group in groups])
        borne = [[*range(everywhere), *range(end - len(group), end)] for group, end in zip(groups, ends, strict=True)]
        return copies, borne if own else borne * count

    def _fit_layer(self, size: int, stretches: _Stretches, Y: Array, copies: Sequence[Matrix], shift: int) -> Fitted:
        # With `alignment`, the signal shifted in time is a distorted copy too.
        shifted = [replace(stretches, rows=stretches.rows + s)(Y) for s in range(-shift, shift + 1) if s]
        opca = OrientedPCA(size, ridge=self.ridge, solver=self.solver, random_state=self.random_state)
        signals = stretches(Y)
        return opca._fit(Sample(Points(signals, is_tall(signals)), Copies((*map(stretches, copies), *shifted))))


@dataclass(frozen=True, eq=False)
class _Stretches:
    """Row indices at which stretches begin; a call joins these rows with those that follow in steps."""

    rows: Index
    frames: int
    step: int

    def __call__(self, Y: Array) -> Array:
        return np.hstack([Y[self.rows + j * self.step] for j in range(self.frames)])

    def check(self, width: int, size: int, name: str, copies: int) -> None:
        """Raise if joined rows of this width have fewer features than asked for, or do not fit in memory."""
        p = self.frames * width
        if size > p:
            raise DimensionError(
                f"{name}={size} exceeds {p}, the numbers that its layer joins: {self.frames} row(s) of {width} features. Use {p} or fewer, "
                "or more frames."
            )
        require(
            8.0 * self.rows.size * p * (copies + 2),
            f"{self.rows.size} stretches of {p} numbers each, and {copies} distorted copies of them,",
            "Use fewer features in the layer before, fewer frames or fewer copies.",
        )


def _beginnings(stops: Index, reach: int, shift: int, number: int) -> Index:
    """Return the rows from which a stretch, shifted either way, stays within its recording."""
    starts = np.concatenate([[0], stops[:-1]])
    short = np.flatnonzero(stops - starts < reach + 2 * shift + 1)
    if short.size:
        moved = f", shifted by up to {shift} either way" if shift else ""
        rows, what = int(stops[short[0]] - starts[short[0]]), f"recording {short[0]} has" if stops.size > 1 else "X has"
        raise InputError(
            f"Layer {number} sees {reach + 1} rows at once{moved}, and {what} {rows} rows: no stretch of that length fits. "
            "Use fewer frames or a smaller step, or leave out short recordings."
        )
    return np.concatenate([np.arange(a + shift, b - reach - shift) for a, b in zip(starts, stops, strict=True)])


def _stops(n: int, lengths: Lengths) -> Index:
    """Return the index after the last row of every recording."""
    if lengths is None:
        return np.array([n])
    whole = np.asarray(_whole("lengths", lengths, None))
    if np.asarray(lengths).ndim == 0:
        if n % whole[0]:
            raise InputError(
                f"X has {n} rows, which are no whole number of recordings of lengths={whole[0]} rows. Where "
                "they differ, give the length of each."
            )
        whole = np.full(n // whole[0], whole[0])
    if not whole.size or whole.sum() != n:
        raise InputError(f"The lengths of {whole.size} recordings sum to {whole.sum()}, but X has {n} rows.")
    return np.cumsum(whole)


def _whole(name: str, value: object, count: int | None) -> tuple[int, ...]:
    """Return whole numbers, one for each of `count` layers; a single number is repeated. Any number of them is valid for None."""
    least = 0 if name == "alignment" else 1
    numbers = np.asarray(value)
    if numbers.size == 0 and count is None:
        return ()
    if numbers.ndim > 1 or numbers.dtype.kind not in "iu" or numbers.min(initial=least) < least:
        raise InputError(f"{name}={value!r:.80} must be whole numbers of {least} or more.")
    if numbers.ndim == 0:
        return (int(numbers),) * (1 if count is None else count)
    if count is not None and numbers.size != count:
        raise InputError(
            f"{name}={value!r:.80} has {numbers.size} numbers for {count} layer(s): those of hidden_layer_sizes= and the last."
        )
    return tuple(int(number) for number in numbers)
