"""Iterative minimisation: orthonormal matrices, and stress by majorisation."""
