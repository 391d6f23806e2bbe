"""Neighbour graphs: what is accepted as one, how it holds together, how new points join it, and the paths through it."""
