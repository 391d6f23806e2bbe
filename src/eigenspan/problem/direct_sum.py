"""Several views in one trace problem: the direct sum of their bases, and the form that pairs their rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp

from .._types import Array
from .basis import Features
from .form import Form
from .map import Map
from .spectrum import Spectrum


@dataclass(frozen=True, eq=False)
class DirectSum:
    """Direct sum of feature bases: ``Z = diag(Z_1, …, Z_p)`` over the stacked samples of all views.

    Forms are over the n_1 + … + n_p stacked rows; a cross form between views pairs row i of one with row i of another.
    """

    views: Sequence[Features]

    @property
    def splits(self) -> list[int]:
        return list(np.cumsum([view.dim for view in self.views])[:-1])

    def centred(self, weights: Array | None) -> DirectSum:
        sizes = np.cumsum([view.raw.shape[0] for view in self.views])[:-1]
        parts = [None] * len(self.views) if weights is None else np.split(weights, sizes)
        return DirectSum([view.centred(part) for view, part in zip(self.views, parts, strict=True)])

    def about(self, M: Form) -> DirectSum:
        return self.centred(M.masses())

    def restrict(self, M: Form) -> Form:
        Z = sp.csr_array(la.block_diag(*[view.Z for view in self.views]))
        return Form(Z.shape[1], dense=M.quadratic(Z), psd=M.psd)

    def size(self) -> float:
        return max(view.size() for view in self.views)

    def constant(self) -> None:
        return None

    def embed(self, V: Array) -> Array:
        """Return the stacked embeddings of all views, in their order."""
        return np.vstack([view.Z @ part for view, part in zip(self.views, np.split(V, self.splits), strict=True)])

    def map(self, V: Array, spectrum: Spectrum) -> list[Map]:
        return [view.map(part, spectrum) for view, part in zip(self.views, np.split(V, self.splits), strict=True)]


def cross_form(n: int) -> Form:
    """Return the indefinite form ``2 Σ y_i · z_i`` of two stacked views of n rows each; CCA maximises it under a unit embedding."""
    eye = sp.eye_array(n, format="csr")
    return Form(2 * n, sparse=sp.csr_array(sp.block_array([[None, eye], [eye, None]])))
