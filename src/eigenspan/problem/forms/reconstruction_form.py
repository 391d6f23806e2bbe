"""Reconstruction forms: ``‖Y − W Y‖²``, the cost of rebuilding every point from its neighbours."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from ..._types import Array, Matrix
from ..form import Form


def reconstruction(W: Matrix, masses: Array | None = None) -> Form:
    """``M = (I − W)ᵀ diag(masses) (I − W)`` of sparse weights, n×n, kept as its factor. PSD; M1 = 0 where the rows of W sum to one.

    Without masses every sample counts once.
    """
    W = sp.csr_array(W)
    sums = np.asarray(W.sum(axis=1)).ravel()
    F = sp.csr_array(sp.diags_array((sums != 0).astype(float)) - W)  # a point nothing reconstructs costs nothing
    if masses is not None:
        F = sp.csr_array(sp.diags_array(np.sqrt(masses)) @ F)
    constant = bool(np.allclose(sums[sums != 0], 1.0))
    return Form(W.shape[0], roots=((1.0, F),), psd=True, kills_constant=constant, needs="one closed class")


def row_stochastic(W: sp.csr_array) -> sp.csr_array:
    """Weights divided by their row sums, so that they reconstruct by averaging; empty rows stay empty."""
    sums = np.asarray(W.sum(axis=1)).ravel()
    return sp.csr_array(sp.diags_array(1.0 / np.where(sums > 0, sums, 1.0)) @ W)
