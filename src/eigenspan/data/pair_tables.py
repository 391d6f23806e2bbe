"""Validation of precomputed distances: a matrix, or a sparse graph."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from .._checks import real_numbers
from .._types import Array, Matrix
from ..errors import DimensionError, GraphError
from ..numerics.nearest.metric import check_largest
from ..numerics.nearest.pair_matrices import Asymmetry, PairTolerance, averaged

_SIMILARITIES = (
    "If X holds similarities, methods with edge weights (LaplacianEigenmaps, DiffusionMap, CommuteTimeEmbedding, SpectralClustering) take "
    'them as graph="precomputed", weights="precomputed"; for others convert them to distances first.'
)


def accept_distances(X: Matrix) -> Matrix:
    """Return a square matrix of distances in double precision without rounding errors. A sparse one holds the known distances.

    Returns X itself if nothing had to be corrected. Raises if the diagonal is not zero, distances are negative, or X is not symmetric,
    by more than rounding (see `pair_matrices`).
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


def accept_columns(X: Array) -> Array:
    """Return distances of n points from q landmarks in double precision. Raise if some are negative by more than rounding."""
    least = float(X.min(initial=0.0))
    if least < -PairTolerance.of(X).distance:
        raise GraphError(f"Distances must not be negative; the smallest entry is {least:.3g}.")
    check_largest(float(X.max(initial=0.0)), "The distances")
    return X if least >= 0 else np.maximum(X, 0.0)


def _refuse_diagonal(diagonal: Array, tolerance: PairTolerance) -> None:
    """Raise if the diagonal is not zero up to rounding."""
    largest = float(np.abs(diagonal).max(initial=0.0))
    if largest > tolerance.diagonal:
        raise GraphError(
            f"The diagonal of a distance matrix must be zero; it reaches {largest:.3g}. Up to {tolerance.diagonal:.2g} would count as "
            f"rounding. {_SIMILARITIES}"
        )


def lengths(D: sp.csr_array) -> sp.csr_array:
    """Return edges with lengths in double precision, zero for negative ones within rounding. Raise if they cannot be lengths."""
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
    """Return `lengths`; raise if an edge has different lengths in its two directions."""
    D = lengths(D)
    found = Asymmetry.of(D)
    if not PairTolerance.of(D).same_length(found.skew, found.skew_of_squares):
        raise GraphError(
            f"The precomputed graph gives an edge two lengths: |d_ij − d_ji| reaches {found.skew:.3g} where d_ij reaches "
            f"{found.size:.3g}. Distances must be symmetric."
        )
    return D
