"""Neighbour graphs of rows that stay on the workers of a cluster."""
