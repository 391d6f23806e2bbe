"""Eigensolvers. This package and `numerics.factor` make the library's only calls of LAPACK, ARPACK, SuperLU and pyamg.

`Auto` chooses a solver by its decision table; the others can be requested by name.
"""

from .auto import Auto, Chebyshev, Dense, Factor, Lanczos, Multigrid, Randomised, ShiftInvert, Solver, as_solver

__all__ = [
    "Auto", "Chebyshev", "Dense", "Factor", "Lanczos", "Multigrid", "Randomised", "ShiftInvert", "Solver", "as_solver",
]  # fmt: skip
