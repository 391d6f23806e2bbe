"""How loops are compiled here."""

from __future__ import annotations

from numba import njit

#: Serial code without the interpreter's lock; a division by zero gives inf or nan, as in numpy.
compiled = njit(cache=True, nogil=True, error_model="numpy")

#: The same, copied into the functions that call it and compiled there only: compiling takes a third less time.
spliced = njit(cache=True, nogil=True, error_model="numpy", inline="always")

#: Sums may be reordered to fill the vector unit, in an order that is fixed when the code is compiled.
summed = njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
