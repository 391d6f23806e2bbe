"""The trace-ratio problem ``max Tr(V'AV) / Tr(V'BV), V'V = I`` by Newton's method on its scalar root [S0, eqs. 5–6]."""

from __future__ import annotations

import numpy as np
import scipy.linalg as la

from ..._types import Array
from ...errors import ConvergenceError, InputError, PrecisionWarning, UnitError, warn
from . import dense
from .auto import Auto, Dense, Solver, as_solver

#: Relative rounding error of a trace, and the relative error of the ratio above which a warning is issued.
_ROUNDING, _WARN_ABOVE = 4 * np.finfo(float).eps, 1e-6
#: Approximate steps: the order of the matrices for one axis from which they pay, spare vectors, number of steps, iterations of each, and
#: the relative change of the ratio below which exact steps follow.
_SHARE, _GUARD, _STEPS, _ITERATIONS, _NEAR = 10, 5, 30, 4, 1e-9


def trace_ratio(
    A: Array, B: Array, k: int, sense: str, solver: str | Solver = "auto", tol: float = 1e-13, iterations: int = 200
) -> tuple[float, Array, Array]:
    """Return the optimal ratio ρ, the axes V and the eigenvalues of ``A − ρB`` (best first).

    Each step takes the extreme `k` eigenvectors of ``A − ρB`` and sets ρ to their ratio; ρ changes monotonically and converges
    quadratically. Both matrices are scaled to entries of at most one, so that their units do not matter. Cost: a few dense
    eigenproblems of the order of A. For few axes of large matrices, `Auto` takes the first steps by inverse iteration, one Cholesky
    factor each; about two dense problems remain, of which the `k` + 1 best pairs are computed. Raises InputError for any other
    `solver`.
    """
    chosen = as_solver(solver)
    if not isinstance(chosen, Auto | Dense):
        raise InputError(
            f"solver={solver!r} does not apply to a trace ratio, because each step needs all eigenpairs of a dense matrix. "
            'Use solver="auto" or "dense".'
        )
    above, below = (float(np.abs(M).max(initial=0.0)) or 1.0 for M in (A, B))
    A, B = A / above, B / below
    if not np.trace(B) > 0:
        raise UnitError(
            f"The denominator of the trace ratio has trace {np.trace(B) * below:.3g}, but must be positive semidefinite and not zero. "
            "The scatter within classes of one sample each is zero."
        )
    rho, size = np.trace(A) / np.trace(B), np.linalg.norm(A) / np.linalg.norm(B)
    few = isinstance(chosen, Auto) and len(A) > max(chosen.dense_below, _SHARE * k)
    if few:
        rho = _approached(A, B, k, sense, rho)
    for _ in range(iterations):
        values, V = dense.eigenpairs(dense.symmetric(A - rho * B), k + 1 if few else None, sense)
        V = V[:, :k]
        length = float(np.sum(V * (B @ V)))
        if length <= 1e-12 * np.trace(B):
            raise UnitError(
                f"The trace ratio is unbounded: the best {k} axes lie in the null space of its denominator. Use more components, "
                "reduce the features first, or add a ridge to the denominator."
            )
        new = float(np.sum(V * (A @ V))) / length
        rounding = _ROUNDING * (np.linalg.norm(A) + abs(new) * np.linalg.norm(B)) / length
        if abs(new - rho) <= tol * size + rounding:
            _warn_if_inaccurate(rounding / max(abs(new), np.finfo(float).tiny), length / float(np.trace(B)))
            return new * (above / below), V, values * above
        rho = new
    raise ConvergenceError(
        f"The trace ratio did not converge in {iterations} steps (ratio {rho * (above / below):.6g}): B may be singular. "
        "Add a ridge to it."
    )


def _approached(A: Array, B: Array, k: int, sense: str, rho: float) -> float:
    """Return a ratio near the best one from steps whose eigenvectors are approximate: a few inverse iterations continue those of the last.

    Any axes have at most the best ratio, however inaccurate they are, so exact steps can follow.
    """
    sign, n = (1.0 if sense == "max" else -1.0), len(A)
    V, reach = np.linalg.qr(np.random.default_rng(0).standard_normal((n, k + _GUARD)))[0], 1.0
    for _ in range(_STEPS):
        M = sign * (A - rho * B)
        values = dense.eigenvalues(dense.symmetric(V.T @ (M @ V)))
        factor, reach = _factor_above(M, float(values[-1]), float(values[-1] - values[0]), reach)
        for _ in range(_ITERATIONS):
            V = np.linalg.qr(la.cho_solve(factor, V, check_finite=False))[0]
        V = V @ dense.eigenpairs(dense.symmetric(V.T @ (M @ V)), None, "max")[1]
        best = V[:, :k]
        length = float(np.sum(best * (B @ best)))
        new = float(np.sum(best * (A @ best))) / length if length > 1e-12 * np.trace(B) else rho
        if not sign * (new - rho) > _NEAR * abs(new):
            break
        rho = new
    return rho


def _factor_above(M: Array, top: float, width: float, reach: float) -> tuple[tuple[Array, bool], float]:
    """Return the Cholesky factor of ``σI − M`` for σ = `top` + c `width` above the spectrum of M, and c, first sought near `reach`."""
    width = max(width, 1e-12 * float(np.linalg.norm(M)))
    c = max(reach / 4, 0.25)
    while True:
        N = -M
        N[np.diag_indices_from(N)] += top + c * width
        try:
            return la.cho_factor(N, overwrite_a=True, check_finite=False), c
        except la.LinAlgError:
            c *= 4


def _warn_if_inaccurate(bound: float, share: float) -> None:
    if bound > _WARN_ABOVE:
        warn(
            f"The trace ratio has a relative error of up to {min(bound, 1.0):.0e}: the best axes hold only {share:.0e} of its denominator, "
            "whose entries are rounded. Standardise features with different units, keep fewer of them (reduce=), or add a ridge.",
            PrecisionWarning,
        )
