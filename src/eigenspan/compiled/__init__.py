"""Hot loops compiled by numba: imported on first use only, cached on disk, the same on one thread or two.

Each function has a plain numpy twin in the tests. The first call on a machine compiles for a second or two.
"""
