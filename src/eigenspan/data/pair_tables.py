"""Square tables over pairs of points: distances in a matrix or a sparse graph, checked and settled."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from .._checks import real_numbers
from ..errors import DimensionError, GraphError
from ..numerics.nearest.metric import check_largest
from ..numerics.nearest.pair_matrices import Asymmetry, PairTolerance, averaged

_SIMILARITIES = (
    "If X holds similarities, methods with edge weights (LaplacianEigenmaps, DiffusionMap, CommuteTimeEmbedding, SpectralClustering) take "
    'them as graph="precomputed", weights="precomputed"; for others convert them to distances first.'
)


def accept_distances(X: Any) -> Any:
    """A square matrix of distances in double precision, rounding errors settled; a sparse one holds the distances that are known.

    Returns X itself where nothing had to be settled. Raises where the diagonal, signs or the two halves differ from those of
    distances by more than rounding (see `pair_matrices`).
    """
    if X.shape[0] != X.shape[1]:
        raise GraphError(f"A precomputed distance matrix must be square; got shape {X.shape}.")
    if sp.issparse(X):
        X = sp.csr_array(X)
        _refuse_diagonal(X.diagonal(), PairTolerance.of(X))
        return symmetric_lengths(X)
    D = np.asarray(X, dtype=np.float64)
    tolerance = PairTolerance.of(D)
    if D.min(initial=0.0) < -tolerance.distance:
        raise GraphError(f"Distances must not be negative; the smallest entry is {D.min():.3g}. {_SIMILARITIES}")
    found = Asymmetry.of(D)
    if not tolerance.same_length(found.skew, found.skew_of_squares):
        raise GraphError(
            f"The distance matrix is not symmetric: |d_ij − d_ji| reaches {found.skew:.3g} where d_ij reaches {found.size:.3g}."
        )
    diagonal = np.diagonal(D)
    _refuse_diagonal(diagonal, tolerance)
    if np.max(D, initial=0.0) <= 0:
        raise DimensionError(
            f"All {len(D)} points coincide: every distance is zero, and there are no dimensions to show."
        )
    check_largest(tolerance.size, "The distances")
    if found.skew == 0 and not diagonal.any() and D.min() >= 0:
        return D
    D = averaged(D, out=D if D.dtype != X.dtype else None)
    np.fill_diagonal(D, 0.0)
    return np.maximum(D, 0.0, out=D)


def _refuse_diagonal(diagonal: Any, tolerance: PairTolerance) -> None:
    largest = float(np.abs(diagonal).max(initial=0.0))
    if largest > tolerance.diagonal:
        raise GraphError(
            f"The diagonal of a distance matrix must be zero; it reaches {largest:.3g}. Up to {tolerance.diagonal:.2g} would count as "
            f"rounding. {_SIMILARITIES}"
        )


def lengths(D: sp.csr_array) -> sp.csr_array:
    """Edges in double precision, if their numbers are lengths; negative ones within rounding become zero."""
    if D.shape[0] != D.shape[1]:
        raise GraphError(f"A precomputed graph must be square; got shape {D.shape}.")
    data = real_numbers(D.data, "The distances of a precomputed graph", GraphError)
    bad, least = int(np.sum(~np.isfinite(data))), float(data.min(initial=0.0))
    if bad or least < -PairTolerance.of(data).distance:
        raise GraphError(
            f"A precomputed graph must hold finite distances that are not negative; {bad} of {data.size} are NaN or infinite, and the "
            f"smallest is {least:.3g}. Leave absent edges out of the matrix."
        )
    check_largest(float(data.max(initial=0.0)), "The numbers on the edges")
    return sp.csr_array((data if least >= 0 else np.maximum(data, 0.0), D.indices, D.indptr), shape=D.shape)


def symmetric_lengths(D: sp.csr_array) -> sp.csr_array:
    """The same where an edge that is given in both directions must have one length."""
    D = lengths(D)
    found = Asymmetry.of(D)
    if not PairTolerance.of(D).same_length(found.skew, found.skew_of_squares):
        raise GraphError(
            f"The precomputed graph gives an edge two lengths: |d_ij − d_ji| reaches {found.skew:.3g} where d_ij reaches "
            f"{found.size:.3g}. Distances must be symmetric."
        )
    return D
