"""The estimators on which the registry-driven tests run."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any

import pytest
from sklearn.base import clone
from sklearn.decomposition import FactorAnalysis

import eigenspan as es
from eigenspan.methods.base.contract import FeatureReducer
from eigenspan.methods.pursuit.white_directions import WhiteProjection
from eigenspan.methods.registry import TABLE
from eigenspan.methods.sufficient.kdr import KernelSufficient
from eigenspan.methods.variance.pca import PrincipalAxes
from helpers import quietly


@dataclass(frozen=True, eq=False)
class Data:
    """Points and class labels."""

    X: Any
    y: Any


@dataclass(frozen=True, eq=False)
class Case:
    """An unfitted estimator and its properties that tests use."""

    id: str
    template: Any
    #: The map is ``(x − mean) V``: there are components_ and an inverse.
    linear: bool
    #: Training rows are recognised and get their training embedding.
    lookup: bool
    spectral: bool = True

    def make(self, **params: Any) -> Any:
        return clone(self.template).set_params(**params)

    @property
    def pair(self) -> bool:
        """``fit_transform`` returns the variates of two views, those of X first."""
        return self.id in ("CCA", "KernelCCA")

    def embed(self, estimator: Any, X: Any, y: Any) -> Any:
        """Return ``fit_transform`` for X."""
        found = estimator.fit_transform(X, y)
        return found[0] if self.pair else found

    def fitted(self, data: Data) -> Any:
        """Return a fit that is cached per process. Checks that change the estimator or test the fit must not use it."""
        return _fitted(self, data)


@cache
def _fitted(case: Case, data: Data) -> Any:
    estimator = quietly(lambda: case.make().fit(data.X, data.y))
    estimator.embedding_.flags.writeable = False
    return estimator


def over(cases: Iterable[Case]) -> Any:
    """Return a decorator that runs a test for each of these cases."""
    return pytest.mark.parametrize("case", cases, ids=lambda case: case.id)


def drawn_in(rows: Any) -> Any:
    """Distort points towards their mean, the more the farther away they are; the distortion commutes with shifts and rotations."""
    out = rows - rows.mean(axis=0)
    size = (out**2).sum(axis=1, keepdims=True)
    return rows - 0.3 * out * size / size.mean()


#: Maps that look training rows up; those of Gram matrices and features are exact at training rows without a lookup.
_LOOKUP = {
    "Isomap", "KernelIsomap", "OrdinalIsomap", "LandmarkIsomap", "LaplacianEigenmaps", "DiffusionMap", "CommuteTimeEmbedding",
    "SpectralClustering", "LLE", "ModifiedLLE", "HessianLLE", "LTSA", "GeodesicNullspaceAnalysis", "MVU", "SupervisedMVU", "SMVU1",
    "SMVU2", "ColoredMVU", "ManifoldKDR", "LandmarkMVU", "RelaxedMVU", "LaplacianMVU", "ActionRespectingEmbedding", "ConformalEigenmaps",
}  # fmt: skip


#: Unfoldings of labelled points and sequences, which take a second or more: they have tests of their own instead of those for all methods.
SIDE_UNFOLDINGS = {
    "SupervisedMVU", "SMVU1", "SMVU2", "ColoredMVU", "ActionRespectingEmbedding", "MaximumCovarianceUnfolding",
}  # fmt: skip


def _case(name: str, template: Any, *, lookup: bool = False, spectral: bool = True) -> Case:
    linear = isinstance(template, FeatureReducer | PrincipalAxes | KernelSufficient | WhiteProjection | es.CCA)
    linear = linear and getattr(template, "kernel", None) is None
    return Case(name, template, linear, lookup, spectral)


@cache
def own() -> tuple[Case, ...]:
    """Return the methods of the library as the registry builds them without arguments."""
    methods = [m for m in TABLE if m.own and m.name not in SIDE_UNFOLDINGS]
    return tuple(
        _case(m.name, m.build(), lookup=m.name in _LOOKUP, spectral=m.family not in ("two views", "pursuit"))
        for m in methods
    )


@cache
def estimators() -> tuple[Case, ...]:
    """Return every public estimator, and configurations with another basis, unit form, graph or supervision."""
    variants = [
        _case("TraceReducer", es.TraceReducer()),
        _case("TraceReducer-kernel", es.TraceReducer(basis="kernel")),
        _case(
            "TraceReducer-samples",
            es.TraceReducer(basis="samples", minimise="reconstruction", scale="covariance"),
            lookup=True,
        ),
        _case("TraceReducer-ratio", es.TraceReducer(maximise="between", over="within", unit="total")),
        _case("TraceReducer-class", es.TraceReducer(minimise="class_laplacian", unit="total")),
        _case("GraphEmbeddingFramework", es.GraphEmbeddingFramework()),
        _case("GraphEmbeddingFramework-kernel", es.GraphEmbeddingFramework(basis="kernel")),
        _case("GraphEmbeddingFramework-samples", es.GraphEmbeddingFramework(basis="samples"), lookup=True),
        _case("GraphEmbeddingFramework-class", es.GraphEmbeddingFramework(intrinsic="allies", penalty="rivals")),
        _case("KernelPCA-landmarks", es.KernelPCA(landmarks=25, gamma=0.01)),
        _case("ClassicalMDS-cityblock", es.ClassicalMDS(metric="cityblock")),
        _case("ClassicalMDS-lingoes", es.ClassicalMDS(metric="cityblock", correction="lingoes"), lookup=True),
        _case("Isomap-landmarks", es.Isomap(landmarks=40)),
        _case("Isomap-conformal", es.Isomap(conformal=True), lookup=True),
        _case("KernelIsomap-constant", es.KernelIsomap(psd="constant"), lookup=True),
        _case("LaplacianEigenmaps-harmonic", es.LaplacianEigenmaps(extension="harmonic", weights="local"), lookup=True),
        _case(
            "LaplacianEigenmaps-barycentric",
            es.LaplacianEigenmaps(extension="barycentric", weights="binary"),
            lookup=True,
        ),
        _case("LaplacianEigenmaps-covariance", es.LaplacianEigenmaps(unit="covariance"), lookup=True),
        _case("LaplacianEigenmaps-tree", es.LaplacianEigenmaps(graph=es.MST(n_neighbors=6)), lookup=True),
        _case("EigenmapClassifier", es.EigenmapClassifier(2), lookup=True),
        _case("DiffusionMap-0", es.DiffusionMap(alpha=0, t=2), lookup=True),
        _case("SpectralClustering-ratio", es.SpectralClustering(3, cut="ratio", assign="discretize"), lookup=True),
        _case("LPP-kernel", es.LPP(kernel=es.Kernel("rbf", gamma="median"))),
        _case("OLPP-kernel", es.OLPP(kernel=es.Kernel("rbf", gamma="median"))),
        _case("NPP-kernel-landmarks", es.NPP(kernel=es.Kernel("rbf", gamma="median"), landmarks=30)),
        _case("ONPP-kernel", es.ONPP(kernel=es.Kernel("poly", degree=2, gamma=0.01))),
        _case("LLTSA-kernel", es.LLTSA(kernel=es.Kernel("poly", degree=2, gamma=0.01))),
        _case("LDA-kernel", es.LDA(kernel=es.Kernel("rbf", gamma="median"))),
        _case("LPP-kernel-heat", es.LPP(kernel=es.HeatKernel(1.0))),
        _case("LDA-trace-ratio", es.LDA(criterion="trace-ratio")),
        _case("LDA-shrinkage", es.LDA(shrinkage="auto")),
        _case("LFDA-local", es.LFDA(affinity="local", axes="eigenvalue-norm")),
        _case("LFDA-kernel", es.LFDA(kernel=es.Kernel("rbf", gamma="median"))),
        _case("MFA-eigenvalue", es.MFA(n_neighbors=2, n_rivals=5, axes="eigenvalue")),
        _case("DNE-kernel", es.DNE(kernel=es.Kernel("rbf", gamma="median"), axes="norm")),
        _case("SSLFDA-graph", es.SSLFDA(graph=es.KNN(4), alpha=2)),
        _case("PairCosts-heat", es.PairCosts(labelled="-rivals", unlabelled="heat", unit="allies", graph=es.KNN(4))),
        _case("PairCosts-kernel", es.PairCosts(unit="projection", kernel=es.Kernel("rbf", gamma="median"))),
        _case("SSDNE-kernel", es.SSDNE(kernel=es.Kernel("rbf", gamma="median"), alpha=4)),
        _case("SupervisedPCA-rbf", es.SupervisedPCA(labels="rbf")),
        _case("SDA-path", es.SDA(weights="path")),
        _case("SDA-kernel", es.SDA(kernel=es.Kernel("rbf", gamma="median"))),
        _case("SODA-kernel", es.SODA(kernel=es.Kernel("rbf", gamma="median"), trust=0.5)),
        _case("LPP-class", es.LPP(graph="class")),
        _case("NPP-class", es.NPP(graph="class")),
        _case("ONPP-within", es.ONPP(graph=es.KNN(8, within_class=True))),
        _case("PCA-whiten", es.PCA(2, whiten=True)),
        _case("OrientedPCA-distortion", es.OrientedPCA(distortions=drawn_in)),
        _case("OrientedPCA-kernel", es.OrientedPCA(kernel=es.Kernel("rbf", gamma="median"), distortions=drawn_in)),
        _case(
            "DistortionDiscriminantAnalysis-layers",
            es.DistortionDiscriminantAnalysis(hidden_layer_sizes=(2,), distortions=drawn_in),
        ),
        Case("External", es.External(FactorAnalysis(2)), linear=False, lookup=False, spectral=False),
    ]
    return (*own(), *variants)
