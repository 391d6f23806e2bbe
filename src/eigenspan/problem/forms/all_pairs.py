"""Costs on pairs of samples: ``Σ c_ij ‖y_i − y_j‖²``, which `laplacian` turns into a form [S2, eq. 2].

Costs of all pairs of a kind ("−1/n on every pair of different classes") are low rank, those of neighbours sparse, and
affinities of all pairs are computed in blocks; none is an n×n array unless n is small. Costs may be negative, and what stands on
their diagonals does not matter.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..._diagnostics import stage
from ...errors import GraphError
from ...graphs import KNN, Heat, LocalScaling, Powered, as_weights
from ...numerics.nearest.metric import median_width
from ..form import Form
from ..pairwise import Pairwise

Array = NDArray[np.float64]
Codes = NDArray[np.intp]

#: Numbers in an n×n array that is not worth avoiding.
_SMALL = 2**22


def every_pair(n: int) -> Form:
    """``11ᵀ``: one on every pair. PSD."""
    return Form(n, low_rank=(np.ones((n, 1)), np.ones(1)), psd=True)


def same_class(codes: Codes) -> Form:
    """``⊕ 11ᵀ``: one on every pair of the same class, none on unlabelled points. PSD, rank c."""
    rows = np.flatnonzero(codes >= 0)
    U = sp.csr_array((np.ones(rows.size), (rows, codes[rows])), shape=(codes.size, int(codes.max()) + 1))
    return Form(codes.size, low_rank=(U, np.ones(U.shape[1])), psd=True)


def other_class(codes: Codes) -> Form:
    """One on every pair of two different classes, none on unlabelled points. Rank c + 1, indefinite."""
    labelled = (codes >= 0).astype(float)[:, None]
    return Form(codes.size, low_rank=(labelled, np.ones(1))) - same_class(codes)


def local_fisher(nearness: Form, codes: Codes) -> tuple[Form, Form]:
    """Costs (c_bet, c_wit) of local Fisher discriminant analysis [S2, §2.1.1; Sugiyama 2007].

    ``a_ij(1/n_k − 1/n)`` within class k and −1/n across, and ``a_ij/n_k`` within: `nearness` holds a_ij, zero across classes.
    With a_ij = 1 on all pairs of a class their Laplacians are −S_B and S_W.
    """
    counts = np.bincount(codes[codes >= 0])
    n = float(counts.sum())
    shares = np.where(codes >= 0, 1.0 / np.sqrt(np.maximum(counts, 1))[codes], 0.0)
    within = nearness.scaled(shares)
    return within - (nearness + other_class(codes)) * (1.0 / n), within


def pair_affinity(
    points: Any, weights: Any = "local", *, codes: Codes | None = None, n_jobs: int | None = None
) -> Form:
    """Heat weights of all pairs, or with `codes` of all pairs within a class: nothing is cut off.

    `weights` is ``Heat``, ``LocalScaling`` or ``Powered`` of one of them (their names too); a local scale is the distance to
    the k-th neighbour in the group, and ‖·‖_F of a power counts all pairs, the diagonal included [S2, eqs. 7, 9]. Cost O(n²D)
    in blocks.
    """
    with stage("all pairs"):
        rule, alpha = as_weights(weights), 1.0
        if isinstance(rule, Powered):
            rule, alpha = as_weights(rule.weights), float(rule.alpha)
        points = points.toarray() if sp.issparse(points) else np.asarray(points, dtype=np.float64)
        n = points.shape[0]
        groups = [np.arange(n)] if codes is None else [np.flatnonzero(codes == c) for c in range(codes.max() + 1)]
        sigma = _scales(points, groups, rule, n_jobs)
        centred = points - points.mean(axis=0)
        W = Pairwise(centred, sigma, np.ones(n), tuple(group for group in groups if group.size))
        factor = 1.0
        if alpha != 1.0:
            before, W = W.square_sum(), W.powered(alpha)
            factor = float(np.sqrt(before / W.square_sum()))
        if n * n <= _SMALL:
            return Form(n, dense=factor * W.to_dense())
        return Form(n, pairs=((factor, W),))


def _scales(points: Array, groups: list[Codes], rule: Any, n_jobs: int | None) -> Array:
    """σ_i of every point."""
    if isinstance(rule, Heat):
        return np.full(points.shape[0], median_width(points) if rule.sigma is None else float(rule.sigma))
    if not isinstance(rule, LocalScaling):
        raise GraphError(
            f"weights={rule!r} cannot weigh all pairs of points: use Heat, LocalScaling or Powered of one of them."
        )
    sigma = np.zeros(points.shape[0])
    for group in groups:
        if group.size > 1:
            k = min(rule.k, group.size - 1)
            near = KNN(k, n_jobs=n_jobs).build(points[group]).distances
            sigma[group] = np.maximum.reduceat(near.data, near.indptr[:-1])
    if not np.any(sigma > 0) and max(group.size for group in groups) > 1:
        raise GraphError("All neighbouring points coincide: there is no distance to scale affinities by.")
    return np.maximum(sigma, sigma[sigma > 0].min(initial=np.inf) if sigma.any() else 1.0)
