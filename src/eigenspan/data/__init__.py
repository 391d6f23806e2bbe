"""Training data: X and y after validation, as values that methods use.

A method declares what it accepts (`Input`), and `read` returns a `Sample`. No other package checks in which form X and y were given.
"""

from .dask_y import LazyClasses, LazyNumbers
from .read import Input, read, read_new, read_new_lazy, read_part
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
    "read",
    "read_new",
    "read_new_lazy",
    "read_part",
]
