"""Iterative minimisation over orthonormal matrices, and of stress by majorisation."""
