"""Theorems about oriented PCA."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..methods.discriminant.lda import LDA
from ..methods.variance.distortion_discriminant import DistortionDiscriminantAnalysis
from ..methods.variance.oriented_pca import OrientedPCA
from .measure import angle, centred, class_means, highest, in_span, principal, relative
from .theorem import Measured, UnmetError, subject
from .theorem_data import Data

Array = NDArray[np.float64]

theorem = subject("Variance and distances")

#: Largest numbers of rows and of leading dimensions: the noise has several times as many numbers.
_ROWS, _WIDE = 400, 60


def _noise(data: Data) -> Array:
    """Return noise for three distorted versions of every row, with a random covariance and mean."""
    rng, D = data.rng(), data.X.shape[1]
    noise = rng.standard_normal((3, data.n, D)) @ rng.standard_normal((D, D)) + rng.standard_normal(D)
    return np.asarray(data.scale * noise / np.linalg.norm(noise, axis=2).mean())


def _cut(data: Data, noise: Array) -> tuple[int, str]:
    Z = noise.reshape(-1, data.X.shape[1])
    values, _, gap = highest(data.centred.T @ data.centred / data.n, Z.T @ Z / len(Z))
    return values.size, gap


@theorem(
    "opca-pca",
    "oriented PCA equals PCA",
    condition="noise that is the same in all directions, uncorrelated",
    source="S3 §3.8",
)
def oriented_pca_is_pca(data: Data) -> Measured:
    data = data.take(_ROWS).leading(_WIDE)
    values, V, gap = principal(data.X)
    D = data.X.shape[1]
    around = data.X + data.scale * np.vstack([np.eye(D), -np.eye(D)])[:, None]
    oriented = OrientedPCA(values.size).fit(data.X, around)
    expected = values / data.n * D / data.scale**2
    return Measured(gap, angle(oriented.components_.T, V), relative(oriented.eigenvalues_, expected), data.n)


@theorem(
    "opca-lda",
    "oriented PCA of class means, with the samples as their distorted versions, equals LDA",
    condition="an eigenvalue q of oriented PCA is q/(1 + q) in LDA; within-class scatter of full rank",
    source="S3 §3.8",
)
def oriented_pca_is_lda(data: Data) -> Measured:
    data = data.labelled(1000)
    X = in_span(data.centred, data.X - class_means(data.X, data.y))[:, :300]
    D = X.shape[1]
    if not D:
        raise UnmetError("no variation within the classes")
    M = class_means(X, data.y)
    values, _, gap = highest(centred(M).T @ M, centred(X).T @ X, most=max(1, min(data.n_classes - 1, D - 1)), size=1.0)
    oriented, lda = OrientedPCA(values.size).fit(M, X), LDA(values.size).fit(X, data.y)
    q = oriented.eigenvalues_
    return Measured(
        f"in the {D} dimensions that vary within classes, {gap}",
        angle(oriented.components_.T, lda.components_.T),
        relative(q / (1 + q), lda.eigenvalues_, 1e-3),
        data.n,
    )


@theorem(
    "opca-scale",
    "the axes of oriented PCA do not depend on the scales of signal and noise, and are conjugate in both",
    condition="always; the axes of the difference extractor depend on the scales",
    source="S3 §3.8",
)
def oriented_pca_has_no_scale(data: Data) -> Measured:
    data = data.take(_ROWS).leading(_WIDE)
    noise = _noise(data)
    d, gap = _cut(data, noise)
    plain = OrientedPCA(d).fit(data.X, data.X + noise)
    turned, errors = [], []
    for signal, loud in ((3.0, 1.0), (1.0, 1e-3), (1e-2, 1e2)):
        scaled = OrientedPCA(d).fit(signal * data.X, signal * data.X + loud * noise)
        turned.append(angle(plain.components_.T, scaled.components_.T))
        errors.append(relative(scaled.eigenvalues_, plain.eigenvalues_ * (signal / loud) ** 2))
    V, Z = plain.components_, noise.reshape(-1, data.X.shape[1])
    for M, expected in ((Z.T @ Z / len(Z), np.eye(d)), (centred(data.X).T @ centred(data.X) / data.n, None)):
        found = V @ M @ V.T
        errors.append(relative(found, np.diag(np.diag(found)) if expected is None else expected))
    return Measured(gap, max(turned), max(errors), data.n)


@theorem(
    "opca-layers",
    "two layers of oriented PCA equal one",
    condition="the second layer joins no rows; the first keeps all features, so all of them have signal",
    source="S3 §3.8",
)
def two_layers_are_one(data: Data) -> Measured:
    data = data.take(_ROWS).leading(_WIDE)
    D = data.X.shape[1]
    noise = _noise(data)
    d, gap = _cut(data, noise)
    two = DistortionDiscriminantAnalysis(d, hidden_layer_sizes=(D,)).fit(data.X, data.X + noise)
    one = OrientedPCA(d).fit(data.X, data.X + noise)
    return Measured(
        f"in the {D} dimensions of the data, {gap}",
        angle(two.embedding_, one.embedding_),
        relative(two.signal_to_noise_[1], one.eigenvalues_),
        data.n,
    )
