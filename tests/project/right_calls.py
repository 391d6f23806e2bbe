"""Calls that a type checker must accept: the corrected calls of wrong_calls/wrong.py. They are never run."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from eigenspan import KNN, LDA, LPP, PCA, Heat, Kernel, LaplacianEigenmaps, LocalScaling
from eigenspan._types import Array
from eigenspan.data import Classes, Distances, Input, Numbers, Points, Sample
from eigenspan.data.y import ClassLabels
from eigenspan.data.y_values import read_classes
from eigenspan.graphs import NeighbourGraph
from eigenspan.methods.base.contract import FeatureReducer, axes, features_of
from eigenspan.numerics.eigen.auto import Auto
from eigenspan.problem import Features, Fitted, Form, Posed, Spectrum, TraceProblem, pose, solve
from eigenspan.problem.forms import laplacian

X = np.zeros((9, 2))


# ---------------------------------------------------------------------- what users write
def attributes_of_an_estimator() -> None:
    print(LPP(2).fit(X).embedding_)
    print(PCA(2).fit(X).explained_variance_ratio_)
    print(LDA(2).fit(X, [0] * 9).predict(X))


def parameters_of_an_estimator() -> None:
    LPP(n_neighbors=5)
    LPP(2, n_neighbors=None)
    LPP(weights="heat")
    LPP(weights=LocalScaling(7))
    LPP(solver="dense")
    LPP(solver=Auto())
    LPP(graph=KNN(5))
    LPP(graph="precomputed")
    LPP(kernel=Kernel("poly", degree=2))
    LPP(kernel="rbf")
    LPP(kernel=lambda a, b: a @ b.T)
    LPP(scale="unit-variance")
    LaplacianEigenmaps(disconnected="connect")
    LaplacianEigenmaps(n_jobs=2)
    Heat(sigma=1.0)


def data_for_an_estimator() -> None:
    LPP(2).fit([[0.0, 1.0], [1.0, 2.0]])
    LPP(2).fit(X)
    print(LPP(2).fit(X).components_)


# ---------------------------------------------------------------------- what methods write
def over_points(sample: Sample[Points]) -> int:
    return sample.n


def with_numbers(sample: Sample[Points, Numbers]) -> Array:
    return sample.y.values


def of_labels(sample: Sample[Points, Classes], numbered: Sample[Points, Numbers]) -> None:
    print(sample.table)
    print(sample.y.codes)
    print(sample.x.values)
    over_points(sample)
    with_numbers(numbered)
    replace(sample, rows=np.arange(3))
    print(sample.take(np.arange(3)).y.names)


def of_distances(sample: Sample[Distances, None], points: Points) -> None:
    print(sample.x.whole)
    over_points(Sample(points, None))
    groups = points.copies()
    print(None if groups is None else groups.first)


def problems(basis: Features, form: Form, spectrum: Spectrum, fitted: Fitted, graph: NeighbourGraph) -> None:
    pose(basis, minimise=form)
    pose(basis, minimise=form, unit="embedding")
    solve(TraceProblem(form, form, "min"), 2)
    print(spectrum.values, fitted.embedding)
    print(laplacian(graph.distances) + form)


def helpers(estimator: LPP, sample: Sample[Points]) -> None:
    features_of(estimator, sample)
    axes(estimator).fit(estimator._pose(sample))
    read_classes([0, 1], 2)
    Input(y=ClassLabels(at_least=2))


class Method(FeatureReducer):
    def _pose(self, sample: Sample[Points, Classes]) -> Posed:
        basis = features_of(self, sample)
        print(sample.y.count)
        return pose(basis, maximise=basis.total(), ridge=self.ridge)
