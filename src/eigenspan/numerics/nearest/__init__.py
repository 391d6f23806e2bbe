"""Neighbour search: distances between points, lists of nearest points, and the search engines."""
