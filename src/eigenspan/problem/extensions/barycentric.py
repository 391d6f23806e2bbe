"""Out-of-sample extension by the affine weights that reconstruct x from its neighbours, applied to their embedding."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from ..._types import Array, Index, Matrix
from ...graphs.weights.reconstruction_weights import reconstruction_weights
from ...numerics.nearest.finders import Finder
from ..map import Map
from ..spectrum import Spectrum


@dataclass(frozen=True, eq=False)
class BarycentricRows:
    """Reconstruction weights of new points over the training points."""

    finder: Finder
    points: Matrix
    reg: float

    def __call__(self, X: Matrix) -> sp.csr_array:
        X = X if sp.issparse(X) else np.asarray(X, dtype=np.float64)
        return reconstruction_weights(self.points, self.finder.relate(X), targets=X, reg=self.reg)


@dataclass(frozen=True, eq=False)
class Barycentric:
    """Extension of any embedding over the samples, ``y(x) = Σ w_j(x) y_j``."""

    rows: BarycentricRows
    known: Callable[[Matrix], Index]

    def __call__(self, Y: Array, spectrum: Spectrum) -> Map:
        return Map(self.rows, Y, known=self.known, embedding=Y)
