"""Numerical software that is independent of dimension reduction: eigensolvers, factorisations, programs, neighbours, paths."""
