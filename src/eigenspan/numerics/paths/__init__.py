"""Shortest paths and spanning trees of sparse graphs."""
