"""Training data: X and y after validation, as values that methods use.

A method declares what it accepts (`Input`), and `read` returns a `Sample`. No other package checks in which form X and y were given.
"""

from .dask_y import LazyClasses, LazyNumbers
from .read import Input, Sufficient, new_points, read, read_new, read_part, rows_needed_by
from .rows.dask_rows import LazyRows
from .sample import Sample
from .x import Affinities, Distances, KernelValues, Points
from .y_values import Actions, Classes, Coordinates, Numbers, PastClasses

__all__ = [
    "Actions",
    "Affinities",
    "Classes",
    "Coordinates",
    "Distances",
    "Input",
    "KernelValues",
    "LazyClasses",
    "LazyNumbers",
    "LazyRows",
    "Numbers",
    "PastClasses",
    "Points",
    "Sample",
    "Sufficient",
    "new_points",
    "read",
    "read_new",
    "read_part",
    "rows_needed_by",
]
