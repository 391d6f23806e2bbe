"""The trace-ratio problem ``max Tr(V'AV) / Tr(V'BV), V'V = I`` by Newton's method on its scalar root [S0, eqs. 5–6]."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..errors import ConvergenceError, InputError, UnitError
from . import dense
from .select import Auto, Dense, Solver, as_solver

Array = NDArray[np.float64]


def trace_ratio(
    A: Array, B: Array, k: int, sense: str, solver: str | Solver = "auto", tol: float = 1e-13, iterations: int = 200
) -> tuple[float, Array, Array]:
    """The optimal ratio ρ, the axes V and the eigenvalues of ``A − ρB`` (best first).

    Each step takes the extreme `k` eigenvectors of ``A − ρB`` and sets ρ to their ratio; ρ moves monotonically and
    converges quadratically. Both matrices are brought to entries of at most one, so that their units do not matter. Cost: a handful
    of dense eigenproblems of the order of A; InputError for any other `solver`.
    """
    if not isinstance(as_solver(solver), Auto | Dense):
        raise InputError(
            f'solver={solver!r} does not apply to a trace ratio, whose steps need all eigenpairs of a dense matrix. Use solver="auto" or '
            '"dense".'
        )
    above, below = (float(np.abs(M).max(initial=0.0)) or 1.0 for M in (A, B))
    A, B = A / above, B / below
    if not np.trace(B) > 0:
        raise UnitError(
            f"The denominator of the trace ratio has trace {np.trace(B) * below:.3g}: it must be positive semidefinite and not zero, as "
            "the scatter within classes of one sample each is."
        )
    rho, size = np.trace(A) / np.trace(B), np.linalg.norm(A) / np.linalg.norm(B)
    for _ in range(iterations):
        values, V = dense.eigenpairs(dense.symmetric(A - rho * B), None, sense)
        V = V[:, :k]
        length = float(np.sum(V * (B @ V)))
        if length <= 1e-12 * np.trace(B):
            raise UnitError(
                f"The trace ratio is unbounded: the best {k} axes lie in the null space of its denominator. Use more components, "
                "reduce the features first, or add a ridge to the denominator."
            )
        new = float(np.sum(V * (A @ V))) / length
        if abs(new - rho) <= tol * size:
            return new * (above / below), V, values * above
        rho = new
    raise ConvergenceError(
        f"The trace ratio still moved after {iterations} steps (ratio {rho * (above / below):.6g}): B may be singular."
    )
