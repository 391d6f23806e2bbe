"""Numerical algorithms that do not depend on dimension reduction: eigensolvers, factorisations, semidefinite programs, neighbour
search, shortest paths."""
