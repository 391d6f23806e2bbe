"""New points by a step of the random walk: Nyström and harmonic extension of graph embeddings.

The training embedding solves ``P Y = Y diag(1 − λ)`` with ``P = D⁻¹W``. A new point gets a row p(x) of transition
probabilities to its neighbours, and

* Nyström:  ``y(x) = p(x) Y / (1 − λ)``, the eigenfunction formula [S4, eq. 7];
* harmonic: ``y(x) = p(x) Y``, the weighted mean of its neighbours, which minimises the Laplacian cost of the new point.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..core.map import Map
from ..core.spectrum import Spectrum
from ..errors import ExtensionWarning, warn
from ..graphs.weights import Affinity

Array = NDArray[np.float64]

#: Below this |1 − λ| the eigenfunction formula amplifies noise more than it restores, and the harmonic value is used.
_FLOOR = 0.05


@dataclass(frozen=True, eq=False)
class WalkRows:
    """Transition probabilities from new points to the training points.

    `density` divides the weights of the training points first (q^α of the diffusion map).
    """

    finder: Any
    affinity: Affinity
    density: Array | None = None

    def __call__(self, X: Any) -> sp.csr_array:
        W = self.affinity.relate(self.finder.relate(X), X)
        if self.density is not None:
            W = sp.csr_array((W.data / self.density[W.indices], W.indices, W.indptr), shape=W.shape)
        sums = np.asarray(W.sum(axis=1)).ravel()
        lost = np.flatnonzero(sums < np.finfo(float).tiny)
        if lost.size:  # too far away for any weight to survive: its neighbours count alike
            data = W.data.copy()
            for i in lost:
                data[W.indptr[i] : W.indptr[i + 1]] = 1.0
            W = sp.csr_array((data, W.indices, W.indptr), shape=W.shape)
            sums = np.asarray(W.sum(axis=1)).ravel()
        return sp.csr_array(sp.diags_array(1.0 / sums) @ W)


@dataclass(frozen=True, eq=False)
class Walk:
    """Extension of an embedding over the samples by `WalkRows`."""

    rows: WalkRows
    known: Callable[[Any], Any]
    eigenfunctions: bool = True

    def __call__(self, Y: Array, spectrum: Spectrum) -> Map:
        coef = Y
        if self.eigenfunctions:
            walk = 1.0 - spectrum.values
            weak = np.abs(walk) < _FLOOR
            if weak.any():
                warn(
                    f"{int(weak.sum())} of {walk.size} axes have a random-walk eigenvalue below {_FLOOR} (smallest "
                    f"{np.abs(walk).min():.1e}): the eigenfunction formula would amplify noise there, so new points get the "
                    "weighted mean of their neighbours on these axes. "
                    'Use fewer components, or extension="barycentric".',
                    ExtensionWarning,
                )
            coef = Y / np.where(weak, 1.0, walk)
        return Map(self.rows, coef, known=self.known, embedding=Y)
