"""Reconstruction forms: ``‖Y − W Y‖²``, the error of reconstructing every point from its neighbours."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from ..._types import Array, Matrix
from ..form import Form


def reconstruction(W: Matrix, masses: Array | None = None) -> Form:
    """Return ``M = (I − W)ᵀ diag(masses) (I − W)``, n×n, for sparse weights, stored as a factor. PSD; M1 = 0 if rows of W sum to one.

    ``masses=None`` means one for every sample.

    Examples
    --------
    >>> from sklearn.datasets import make_swiss_roll
    >>> from eigenspan import KNN
    >>> from eigenspan.forms import reconstruction
    >>> from eigenspan.graphs import reconstruction_weights
    >>> X, _ = make_swiss_roll(100, random_state=0)
    >>> reconstruction(reconstruction_weights(X, KNN(8).build(X).lists())).kills_constant
    True
    """
    W = sp.csr_array(W)
    sums = np.asarray(W.sum(axis=1)).ravel()
    F = sp.csr_array(sp.diags_array((sums != 0).astype(float)) - W)  # a point without weights has no error
    if masses is not None:
        F = sp.csr_array(sp.diags_array(np.sqrt(masses)) @ F)
    constant = bool(np.allclose(sums[sums != 0], 1.0))
    return Form(W.shape[0], roots=((1.0, F),), psd=True, kills_constant=constant, needs="one closed class")


def row_stochastic(W: sp.csr_array) -> sp.csr_array:
    """Return weights divided by their row sums, so that a product with them is an average; empty rows stay empty."""
    sums = np.asarray(W.sum(axis=1)).ravel()
    return sp.csr_array(sp.diags_array(1.0 / np.where(sums > 0, sums, 1.0)) @ W)
