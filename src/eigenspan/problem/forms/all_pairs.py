"""Costs on pairs of samples: ``Σ c_ij ‖y_i − y_j‖²``, which `laplacian` turns into a form [S2, eq. 2].

Costs of all pairs of a kind ("−1/n on every pair of different classes") are low rank, costs of neighbours are sparse, and affinities of
all pairs are computed in blocks; there is no n×n array unless n is small. Costs may be negative, and their diagonals have no effect.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from ..._diagnostics import stage
from ..._types import Index, Matrix
from ...graphs.class_graphs import class_codes
from ...graphs.weights.rules import Bindable, scales_of_pairs
from ..form import Form, to_array
from ..pairwise import Pairwise, RadialPairs

#: Number of entries up to which an n×n array is stored.
_SMALL = 2**22


def every_pair(n: int) -> Form:
    """Return ``11ᵀ``: one on every pair. PSD.

    Examples
    --------
    >>> from eigenspan.forms import every_pair
    >>> every_pair(3).ones()
    array([3., 3., 3.])
    """
    return Form(n, low_rank=(np.ones((n, 1)), np.ones(1)), psd=True)


def same_class(codes: Index) -> Form:
    """Return ``⊕ 11ᵀ``: one on every pair of the same class, zero for unlabelled points. PSD, rank c.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenspan.forms import same_class
    >>> codes = np.array([0, 0, 1, -1])  # the last row has no label
    >>> same_class(codes).ones()
    array([2., 2., 1., 0.])
    """
    codes = class_codes(codes)
    rows = np.flatnonzero(codes >= 0)
    U = sp.csr_array((np.ones(rows.size), (rows, codes[rows])), shape=(codes.size, int(codes.max()) + 1))
    return Form(codes.size, low_rank=(U, np.ones(U.shape[1])), psd=True)


def other_class(codes: Index) -> Form:
    """Return one on every pair of two different classes, zero for unlabelled points. Rank c + 1, indefinite.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenspan.forms import other_class
    >>> codes = np.array([0, 0, 1, -1])  # the last row has no label
    >>> other_class(codes).ones()
    array([1., 1., 2., 0.])
    """
    codes = class_codes(codes)
    labelled = (codes >= 0).astype(float)[:, None]
    return Form(codes.size, low_rank=(labelled, np.ones(1))) - same_class(codes)


def local_fisher(nearness: Form, codes: Index) -> tuple[Form, Form]:
    """Return the costs (c_bet, c_wit) of local Fisher discriminant analysis [S2, §2.1.1; Sugiyama 2007].

    ``a_ij(1/n_k − 1/n)`` within class k and −1/n across, and ``a_ij/n_k`` within: `nearness` holds a_ij, zero across classes.
    With a_ij = 1 on all pairs of a class their Laplacians are −S_B and S_W.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenspan.forms import between, laplacian, local_fisher, same_class
    >>> codes = np.array([0, 0, 1, 1])
    >>> bet, wit = local_fisher(same_class(codes), codes)
    >>> bool(np.allclose(laplacian(bet).to_dense(), -between(codes).to_dense()))
    True
    """
    codes = class_codes(codes)
    counts = np.bincount(codes[codes >= 0])
    n = float(counts.sum())
    shares = np.where(codes >= 0, 1.0 / np.sqrt(np.maximum(counts, 1))[codes], 0.0)
    within = nearness.scaled(shares)
    return within - (nearness + other_class(codes)) * (1.0 / n), within


def pair_affinity(
    points: Matrix, weights: str | Bindable = "local", *, codes: Index | None = None, n_jobs: int | None = None
) -> Form:
    """Return the weights of all pairs or, with `codes`, of all pairs within a class.

    `weights` is a rule that can weigh all pairs: ``Heat``, ``LocalScaling``, ``Powered`` of one of them, or their names. A local scale is
    the distance to the k-th neighbour in the group, and ‖·‖_F of a power counts all pairs, the diagonal included [S2, eqs. 7, 9]. Cost
    O(n²D) in blocks.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenspan import Heat
    >>> from eigenspan.forms import pair_affinity
    >>> pair_affinity(np.array([[0.0], [1.0]]), Heat(1.0)).to_dense().round(3)
    array([[1.   , 0.368],
           [0.368, 1.   ]])
    """
    with stage("all pairs"):
        points = np.asarray(to_array(points), dtype=np.float64)
        n = points.shape[0]
        codes = None if codes is None else class_codes(codes)
        groups = [np.arange(n)] if codes is None else [np.flatnonzero(codes == c) for c in range(codes.max() + 1)]
        scales = scales_of_pairs(weights, points, groups, n_jobs)
        parts = points - points.mean(axis=0), scales.sigma, np.ones(n), tuple(group for group in groups if group.size)
        W = Pairwise(*parts) if scales.radial is None else RadialPairs(*parts, radial=scales.radial)
        factor = 1.0
        if scales.power != 1.0:
            before, W = W.square_sum(), W.powered(scales.power)
            factor = float(np.sqrt(before / W.square_sum()))
        if n * n <= _SMALL:
            return Form(n, dense=factor * W.to_dense())
        return Form(n, pairs=((factor, W),))
