"""Pictures of embeddings, drawn without touching pyplot's state: every function takes or returns plain axes and figures.

::

    scatter    one embedding
    grid       several, side by side, with one legend
    spectrum   the eigenvalues of a fitted estimator
    plot_deviations  how far the edges of `RelaxedMVU` stray
"""

from .deviations import plot_deviations
from .dimensions import DimensionDisplay
from .panels import grid
from .points import scatter
from .spectra import spectrum

__all__ = ["DimensionDisplay", "grid", "plot_deviations", "scatter", "spectrum"]
