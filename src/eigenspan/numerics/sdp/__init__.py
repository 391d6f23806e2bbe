"""Semidefinite programs over Gram matrices: one problem class, two interior-point solvers, and independently checkable certificates."""

from .certificate import Certificate, Solution
from .choose import METHODS, solve_program, with_incumbent
from .program import Program, Slack

__all__ = ["METHODS", "Certificate", "Program", "Slack", "Solution", "solve_program", "with_incumbent"]
