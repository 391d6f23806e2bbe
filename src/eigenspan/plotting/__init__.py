"""Pictures of embeddings, drawn without touching pyplot's state: every function takes or returns plain axes and figures.

::

    scatter    one embedding
    grid       several, side by side, with one legend
    spectrum   the eigenvalues of a fitted estimator
"""

from .panels import grid
from .points import scatter
from .spectra import spectrum

__all__ = ["grid", "scatter", "spectrum"]
