"""Rows of numbers in memory, in a file or on a cluster, and sums over them."""
