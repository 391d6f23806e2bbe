"""Calls that a type checker must reject, one on each marked line. They are never run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from eigenspan import KNN, LDA, LFDA, LPP, MVU, PCA, Heat, LaplacianEigenmaps
from eigenspan._types import Array, Index
from eigenspan.data import Classes, Distances, Input, Numbers, Points, Sample
from eigenspan.data.y import ClassLabels
from eigenspan.data.y_values import read_classes
from eigenspan.graphs import NeighbourGraph
from eigenspan.methods.base.contract import FeatureReducer, SpectralReducer, axes, features_of
from eigenspan.problem import Features, Fitted, Form, Posed, Spectrum, TraceProblem, pose, solve
from eigenspan.problem.forms import laplacian

X = np.zeros((9, 2))


# ---------------------------------------------------------------------- what users write
def attributes_of_an_estimator() -> None:
    print(LPP(2).fit(X).embeding_)  # wrong
    print(PCA(2).fit(X).explained_variance_ratios_)  # wrong
    print(LDA(2).fit(X, [0] * 9).predcit(X))  # wrong


def parameters_of_an_estimator() -> None:
    LPP(n_neighbours=5)  # wrong
    LPP(n_neighbors="5")  # wrong
    LPP(weights=5)  # wrong
    LPP(solver="fast")  # wrong
    LPP(kernel=5)  # wrong
    LPP(scale="unit")  # wrong
    LaplacianEigenmaps(disconnected="bridge")  # wrong
    LaplacianEigenmaps(n_jobs="all")  # wrong
    Heat(sigma="wide")  # wrong
    KNN(n_neighbors="ten")  # wrong
    MVU(2, method="fast")  # wrong
    LFDA(2, affinity=None)  # wrong


def data_for_an_estimator() -> None:
    LPP(2).fit(None)  # wrong
    LPP(2).fit()  # wrong
    PCA(2).fit(X).transform()  # wrong


# ---------------------------------------------------------------------- what methods write
def over_points(sample: Sample[Points]) -> int:
    return sample.n


def with_numbers(sample: Sample[Points, Numbers]) -> Array:
    return sample.y.values


def of_labels(sample: Sample[Points, Classes]) -> None:
    print(sample.labels)  # wrong
    print(sample.y.values)  # wrong
    print(sample.x.whole)  # wrong
    with_numbers(sample)  # wrong
    replace(sample, rows="all")  # wrong
    sample.take("all")  # wrong


def of_distances(sample: Sample[Distances, None], graph: NeighbourGraph) -> None:
    over_points(sample)  # wrong
    sample.y.take(np.arange(3))  # wrong
    Sample(graph, None)  # wrong
    print(sample.x.copies().first)  # wrong


def problems(basis: Features, form: Form, spectrum: Spectrum, fitted: Fitted) -> None:
    pose(form, minimise=form)  # wrong
    pose(basis, minimise=spectrum)  # wrong
    pose(basis, minimise=form, unit="embeding")  # wrong
    pose(basis, minimize=form)  # wrong
    TraceProblem(form, "min", form)  # wrong
    solve(form, 2)  # wrong
    print(spectrum.value)  # wrong
    print(fitted.embeding)  # wrong
    laplacian(form) + 1.0  # wrong


def helpers(estimator: LPP, pca: PCA, sample: Sample[Points]) -> None:
    features_of(sample, estimator)  # wrong
    features_of(pca, sample)  # wrong
    axes(estimator).fit(estimator._fit(sample))  # wrong
    read_classes([0, 1])  # wrong
    ClassLabels(at_last=2)  # wrong
    Input(y=Classes)  # wrong


class PosesNothing(SpectralReducer):
    def _pose(self, sample: Sample) -> None:  # wrong
        return None


class PosesFitted(FeatureReducer):
    def _pose(self, sample: Sample) -> Posed:
        basis = features_of(self, sample)
        problem = pose(basis, maximise=basis.total())
        return axes(self).fit(problem)  # wrong


class MisspeltParameter(FeatureReducer):
    def _pose(self, sample: Sample) -> Posed:
        basis = features_of(self, sample)
        return pose(basis, maximise=basis.total(), ridge=self.rigde)  # wrong


def rows_of(groups: Callable[[Array], Index]) -> Array:
    return groups(X)  # wrong
