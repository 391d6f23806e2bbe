"""Projection pursuit and its relatives: non-normal directions, ridge functions, kernel independence, principal curves."""

from .kernel_ica import KernelICA
from .principal_curve import PrincipalCurve
from .projection_pursuit import ProjectionPursuit
from .pursuit_regression import ProjectionPursuitRegression

__all__ = ["KernelICA", "PrincipalCurve", "ProjectionPursuit", "ProjectionPursuitRegression"]
