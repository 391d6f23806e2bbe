"""Directions in white coordinates: what methods of projection pursuit share.

All dimensions that the rows span are whitened, also those of small variance: which direction is interesting does not depend on units.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from ..._diagnostics import note, stage
from ..._parameters import Count, Seed, attribute, parameter
from ..._types import Array
from ...data import Input, Sample
from ...errors import DimensionError
from ...numerics.eigen import dense
from ...problem import Features, Fitted, Map
from ...problem.spectrum import sign_of
from ..base.contract import Components, Reducer, inverse_transform


class WhiteProjection(Reducer):
    """Base of the methods that search for directions in white coordinates.

    Parameters
    ----------
    reduce
        Number of principal axes of X to keep before the search: for fewer rows than features, and for sparse X with very many
        columns. Directions of less variance are then lost. None searches all dimensions that the rows span.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Axes in the input space.
    mean_ : ndarray of shape (n_features,)
        The mean of the rows, which is mapped to the origin of the embedding.
    """

    n_components: Components = parameter(default=2, kw_only=False)
    reduce: Count | None = None
    random_state: Seed = 0

    components_: Array = attribute()
    mean_: Array = attribute()

    _input: ClassVar[Input] = Input(sparse=True, linear=True)

    inverse_transform = inverse_transform

    def _white(self, sample: Sample) -> Features:
        """Return the features in white coordinates: ``Z'Z = nI`` over the row space."""
        with stage("whitening"):
            basis = Features.linear(sample.x.values, reduce=self.reduce, random_state=self.random_state)
            n, r = sample.n, basis.dim
            if r == 0:
                raise DimensionError(f"All {n} rows coincide: there are no dimensions to show.")
            white = basis.along(whitener_of(basis.Z))
        if self.n_components > white.dim:
            raise DimensionError(
                f"n_components={self.n_components} exceeds {white.dim}, the rank of the centred features. Use n_components <= {white.dim}."
            )
        note(rank=white.dim)
        return white


def refuse_few_rows(n: int, r: int) -> None:
    """Raise if n rows span r dimensions, as many as they can: the search would find any direction."""
    if r >= max(n - 1, 2):
        raise DimensionError(
            f"{n} rows span {r} dimensions, as many as they can: in white coordinates all of them are equally far apart, and "
            f"every direction can be found whatever the data are. Keep fewer principal axes: reduce={max(1, n // 5)}, say."
        )


def whitener_of(Z: Array) -> Array:
    """Return T for which the columns of ``ZT`` have unit variance and no correlation; the columns of Z have mean zero."""
    largest = np.abs(Z).max(axis=0)
    unit = Z / largest  # squares of large values would overflow
    spread = unit.std(axis=0)
    unit /= spread
    return dense.scaled_whitener(unit.T @ unit / len(unit)) / (largest * spread)[:, None]


def projected(basis: Features, V: Array) -> tuple[Fitted, Array]:
    """Return the fit whose axes are the columns of V in the coordinates of the basis, and their signs by the common rule."""
    coef = basis.lifted(V)
    sign = sign_of(coef)
    map_ = Map(basis.rows, coef * sign, offset=basis.offset)
    found = {"components_": map_.coef.T, "mean_": map_.offset}
    return Fitted(basis.embed(V * sign), map_, found), sign
