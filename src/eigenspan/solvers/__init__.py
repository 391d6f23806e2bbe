"""Eigensolvers, and the only calls of LAPACK, ARPACK and SuperLU in the library.

`Auto` holds the decision table; `Dense`, `ShiftInvert`, `Lanczos`, `Randomised` and `Factor` can be asked for by name.
"""

from .select import Auto, Dense, Factor, Lanczos, Randomised, ShiftInvert, Solver, as_solver

__all__ = ["Auto", "Dense", "Factor", "Lanczos", "Randomised", "ShiftInvert", "Solver", "as_solver"]
