"""What a fit begins with: X and y, read and checked once, as the values that methods work on.

A method declares what it takes (`Input`), `read` makes a `Sample` of it, and nothing below asks again how X and y were given.
"""

from .dask_y import LazyClasses, LazyNumbers
from .read import Input, is_pairwise, read, read_new, read_new_lazy, read_part
from .sample import Sample
from .x import Affinities, Distances, KernelValues, Points
from .y_values import Actions, Classes, Coordinates, Numbers

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
    "Numbers",
    "Points",
    "Sample",
    "is_pairwise",
    "read",
    "read_new",
    "read_new_lazy",
    "read_part",
]
