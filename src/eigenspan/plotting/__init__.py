"""Pictures of embeddings, drawn without touching pyplot's state: everything takes or returns plain axes and figures.

Each display is made in scikit-learn's manner: ``SomeDisplay.from_estimator(fitted)`` draws at once, ``SomeDisplay(data).plot(ax)`` when
asked to, and what was drawn is in ``ax_``, ``figure_`` and other attributes with a trailing underscore.

::

    EmbeddingDisplay     one embedding: classes, numbers or pictures as points
    PairsDisplay         a few of its axes, each with each
    GalleryDisplay       several embeddings, side by side, with one legend
    GraphDisplay         an embedding over its neighbour graph
    BiplotDisplay        points, and arrows of features, for linear methods
    DistortionDisplay    where an embedding is distorted
    SpectrumDisplay      eigenvalues, the gap at the cut and the dimension that they suggest
    DimensionDisplay     an estimate of dimension and its curve, or several estimates
    RankCurvesDisplay    how many neighbours embeddings keep, at every size of neighbourhood
    StabilityDisplay     how far axes turn under the bootstrap

    scatter, grid, spectrum   the first, the third and the seventh in short
    plot_deviations           how far the edges of `RelaxedMVU` stray
"""

from .biplot import BiplotDisplay
from .deviations import plot_deviations
from .dimensions import DimensionDisplay
from .distortion import DistortionDisplay
from .graph_plot import GraphDisplay
from .pairs import PairsDisplay
from .panels import GalleryDisplay, grid
from .point_cloud import EmbeddingDisplay, scatter
from .rank_curves import RankCurvesDisplay
from .spectrum_plots import SpectrumDisplay, spectrum
from .stability_plot import StabilityDisplay

__all__ = [
    "BiplotDisplay",
    "DimensionDisplay",
    "DistortionDisplay",
    "EmbeddingDisplay",
    "GalleryDisplay",
    "GraphDisplay",
    "PairsDisplay",
    "RankCurvesDisplay",
    "SpectrumDisplay",
    "StabilityDisplay",
    "grid",
    "plot_deviations",
    "scatter",
    "spectrum",
]
