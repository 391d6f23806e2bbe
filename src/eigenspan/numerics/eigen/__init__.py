"""Eigensolvers, and the only calls of LAPACK, ARPACK, SuperLU and pyamg in the library.

`Auto` holds the decision table; the others can be asked for by name.
"""

from .auto import (
    Auto,
    Chebyshev,
    Dense,
    Factor,
    Lanczos,
    Multigrid,
    Randomised,
    ShiftInvert,
    Solver,
    as_solver,
)

__all__ = [
    "Auto",
    "Chebyshev",
    "Dense",
    "Factor",
    "Lanczos",
    "Multigrid",
    "Randomised",
    "ShiftInvert",
    "Solver",
    "as_solver",
]
