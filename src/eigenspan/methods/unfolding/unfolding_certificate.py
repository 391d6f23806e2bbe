"""Certificates of unfoldings, in the units of the data."""

from __future__ import annotations

from dataclasses import dataclass

from ..._types import Array, Index


@dataclass(frozen=True, eq=False)
class UnfoldingCertificate:
    """Certificate of an unfolding: bounds on the optimum and the dual weights that prove them, in the units of the data.

    For `MVU`, `SupervisedMVU` with ``constraint="inequality"`` and for `RelaxedMVU` you can recompute both bounds: with V the squared
    distances on `edges` in ``embedding_full_`` (centred, R), ``lower = ‖R‖² / max(V / squared_distances)`` over the edges of positive
    length and ``upper = weights · squared_distances / λ₂(L(weights))``. The bounds of the other methods have more terms, which
    ``solution_.verify()`` recomputes.

    Attributes
    ----------
    lower, upper : float
        The largest possible value of the objective lies between the bounds: ⟨C, K⟩, less the price of slack where `constraint` is "slack".
        ⟨C, K⟩ is the variance Σ‖y_i‖² except for `SMVU1`, `SMVU2` and `ColoredMVU`. If `constraint` is "band" or
        "equality", `lower` is the value attained, less what its violations are worth by the dual weights, and never above `upper`.
    gap : float
        ``(upper − lower) / |upper|``; for `LaplacianMVU` ``(upper − lower) / variance``, since most of its objective can be the price of
        what no smooth function can follow.
    violation : float
        Largest excess over a squared distance, relative to it.
    edges : ndarray of shape (m, 2)
        The pairs that are constrained, as rows of ``embedding_full_``: with ``landmarks=`` or ``disconnected="largest"``
        ``graph_.rows`` holds their rows in X. Edges of length zero connect equal rows.
    squared_distances : ndarray of shape (m,)
    weights : ndarray of shape (m,)
        Dual weights (tensions) of the upper bounds, or of equations (`constraint="equality"`, `SMVU1`, `LaplacianMVU`), which may be
        negative, and are zero for equations that follow from others; an
        edge shorter than its bound has weight zero.
    weights_below : ndarray of shape (m,) or None
        Dual weights of the lower bounds of a band.
    status : {"certified", "iterations", "time", "interrupted", "stalled"}
        Why the solver stopped.
    constraint : {"inequality", "slack", "band", "equality"}
    equal_edges : ndarray of shape (q, 2, 2) or None
        In `ActionRespectingEmbedding`, two pairs of rows each, whose distances are equal.
    weights_equal : ndarray of shape (q,) or None
        Their weights w, which may be negative: with the Laplacian of the first pairs at w and that of the second at −w added to L(weights),
        ``weights · squared_distances / λ₂`` is the upper bound.
    """

    lower: float
    upper: float
    gap: float
    violation: float
    edges: Index
    squared_distances: Array
    weights: Array
    weights_below: Array | None
    status: str
    constraint: str
    equal_edges: Index | None = None
    weights_equal: Array | None = None
