"""Combinations of the smooth functions of a manifold: another embedding's coordinates, and new axes among them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...data import Sample
from ...problem import Fitted, Form, SqrtEigenvalue, TraceProblem, orientation_of, solve, spectral_attributes

Array = NDArray[np.float64]


def with_parameters_of(estimator: Any, cls: Any, **more: Any) -> Any:
    """An estimator of another class, with all parameters that both have but for those given anew."""
    return cls(**{name: getattr(estimator, name) for name in cls._parameters if hasattr(estimator, name)} | more)


def distinct_rows(sample: Sample, landmarks: Any = None) -> int:
    """How many rows differ from all before them, or landmarks there are: functions of them have no more dimensions."""
    if landmarks is not None:
        return len(landmarks)
    copies = sample.x.copies()
    return sample.n if copies is None else int(copies.first.size)


def functions_of(n: int, wanted: int | None, usual: int) -> int:
    """How many functions of n points are combined: as many as are asked for, or the usual number where there are so many."""
    return int(wanted) if wanted is not None else max(1, min(usual, n - 2))


def on_axes_of(
    omega: Array, d: int, estimator: Any, fitted: Fitted, centre: Array, sample: Sample, width: int | None = None
) -> Fitted:
    """The embedding u followed by ``u -> (u − centre) T`` with the d leading axes T of ``TTᵀ = Ω``, for new points as for these.

    Up to `width`, further axes are zero.
    """
    problem = TraceProblem(Form(len(omega), dense=omega, psd=True), None, "max")
    spectrum = solve(problem, d, solver=estimator.solver, random_state=estimator.random_state)
    T = spectrum.vectors * SqrtEigenvalue()(spectrum)
    T = T @ orientation_of(spectrum.values, (np.asarray(fitted.embedding) - centre) @ T) @ np.eye(d, width)
    return _followed(fitted, T, -centre @ T, sample).having(**spectral_attributes(problem, spectrum))


def _followed(fitted: Fitted, T: Array, shift: Array, sample: Sample) -> Fitted:
    """The fit followed by ``u -> uT + shift``, its training rows at exactly the places that the map has for them."""
    map_ = fitted.map.then(T, shift)
    Y = np.asarray(fitted.embedding) @ T + shift
    if map_.known is not None and map_.embedding is not None:
        index = map_.known(sample.x.arriving)
        Y[index >= 0] = map_.embedding[index[index >= 0]]
    return replace(fitted, embedding=Y, map=map_)
