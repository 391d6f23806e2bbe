"""Laplacian forms ``½ Σ w_ij (y_i − y_j)²`` and degree forms."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from ..._types import Array, Index, Matrix
from ...errors import InputError
from ...graphs.class_graphs import class_indicator
from ..form import Form, diagonal


def degrees(W: Matrix) -> Array:
    """Return ``W 1`` for sparse weights or weights in a form."""
    return W.ones() if isinstance(W, Form) else np.asarray(W.sum(axis=1)).ravel()


def counted(W: sp.csr_array, masses: Array | None) -> sp.csr_array:
    """Return ``m_i w_ij m_j``: the weight between all duplicates of one sample and all duplicates of another.

    Duplicates of one sample are not joined to each other: such edges would change degrees only.
    """
    return W if masses is None else sp.csr_array(sp.diags_array(masses) @ W @ sp.diags_array(masses))


def laplacian(W: Matrix) -> Form:
    """Return ``L = diag(W1) − W``, n×n. Symmetric, L1 = 0; PSD if no weight is negative."""
    if isinstance(W, Form):
        L = diagonal(degrees(W)) - W
        positive = _nowhere_negative(W)
    else:
        W = sp.csr_array(W)
        probe = np.random.default_rng(0).standard_normal(W.shape[0])
        if W.nnz and not np.allclose(W @ probe, W.T @ probe, rtol=1e-6, atol=1e-9 * abs(W).max()):
            raise InputError(
                "A Laplacian needs symmetric weights, but W differs from its transpose: pass W.maximum(W.T) or (W + W.T) / 2."
            )
        L = Form(W.shape[0], sparse=sp.csr_array(sp.diags_array(degrees(W)) - W))
        positive = not W.nnz or W.data.min() >= 0
    return replace(L, psd=bool(positive), kills_constant=True)


def _nowhere_negative(W: Form) -> bool:
    """Return True if no part of W has a negative entry (sufficient for W, and true for class graphs)."""
    parts = [W.sparse, W.dense, *(F for _, F in W.roots)]
    scales = [a for a, _ in W.roots + W.pairs]
    if W.low_rank is not None:
        parts.append(W.low_rank[0])
        scales.extend(W.low_rank[1])
    return all(a >= 0 for a in scales) and all(P is None or P.size == 0 or P.min() >= 0 for P in parts)


def degree(W: Matrix) -> Form:
    """Return ``diag(W1)``, n×n. PSD if no degree is negative; does not kill the constant."""
    return diagonal(degrees(W))


def class_graph(codes: Index) -> Form:
    """Return the affinity ``H_class = ⊕ 11ᵀ/n_k`` [S0, eq. 37] as a form of rank c: weights 1/n_k within class k, zero across.

    PSD, a projector; unlabelled points have no weight.
    """
    G = class_indicator(codes)
    return Form(codes.size, low_rank=(G, np.ones(G.shape[1])), psd=True)
