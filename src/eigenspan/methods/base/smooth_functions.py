"""Combinations of the coordinates of another embedding, such as the smooth functions of a manifold."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

import numpy as np

from ..._parameters import Declared
from ..._types import Array
from ...data import Sample
from ...graphs.sample_graph import landmark_rows
from ...problem import Fitted, Form, SqrtEigenvalue, TraceProblem, orientation_of, solve, spectral_attributes
from .contract import SpectralReducer
from .graph_embedding import GraphEmbedding

_Method = TypeVar("_Method", bound=Declared)


def with_parameters_of(estimator: Declared, cls: type[_Method], **more: object) -> _Method:
    """Return an estimator of another class with the parameters that both have, except for those given here."""
    return cls(**{name: getattr(estimator, name) for name in cls._parameters if hasattr(estimator, name)} | more)


def distinct_rows(sample: Sample, embedding: GraphEmbedding | None = None) -> int:
    """Return the number of landmarks of the embedding, or of distinct rows: it bounds the dimension of functions of them."""
    if embedding is not None and embedding.landmarks is not None:
        return len(landmark_rows(sample.x, embedding.landmarks, random_state=embedding.random_state))
    copies = sample.x.copies()
    return sample.n if copies is None else int(copies.first.size)


def number_of_functions(n: int, wanted: int | None, usual: int) -> int:
    """Return the number of functions of n points to combine: the number wanted, or the usual one, limited by n."""
    return int(wanted) if wanted is not None else max(1, min(usual, n - 2))


def on_axes_of(
    omega: Array,
    d: int,
    estimator: SpectralReducer,
    fitted: Fitted,
    centre: Array,
    sample: Sample,
    width: int | None = None,
) -> Fitted:
    """Apply ``u -> (u − centre) T`` to an embedding and its map, T being the d leading axes of ``TTᵀ = Ω``.

    Further axes up to `width` are zero.
    """
    problem = TraceProblem(Form(len(omega), dense=omega, psd=True), None, "max")
    spectrum = solve(problem, d, solver=estimator.solver, random_state=estimator.random_state)
    T = spectrum.vectors * SqrtEigenvalue()(spectrum)
    T = T @ orientation_of(spectrum.values, (np.asarray(fitted.embedding) - centre) @ T) @ np.eye(d, width)
    return _followed(fitted, T, -centre @ T, sample).having(**spectral_attributes(problem, spectrum))


def _followed(fitted: Fitted, T: Array, shift: Array, sample: Sample) -> Fitted:
    """Apply ``u -> uT + shift`` to a fit. The training rows have exactly the places that the map returns for them."""
    map_ = fitted.map.then(T, shift)
    Y = np.asarray(fitted.embedding) @ T + shift
    if map_.known is not None and map_.embedding is not None:
        index = map_.known(sample.x.arriving)
        Y[index >= 0] = map_.embedding[index[index >= 0]]
    return replace(fitted, embedding=Y, map=map_)
