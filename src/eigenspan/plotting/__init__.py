"""Displays of embeddings. They use no pyplot state: every function takes and returns axes and figures.

The displays follow scikit-learn: ``SomeDisplay.from_estimator(fitted)`` draws at once; ``SomeDisplay(data).plot(ax)`` draws later. The
results are in ``ax_``, ``figure_`` and other attributes with a trailing underscore.

::

    EmbeddingDisplay     one embedding: points with classes, numbers or images
    PairsDisplay         all pairs of a few axes
    GalleryDisplay       several embeddings, side by side, with one legend
    GraphDisplay         an embedding over its neighbour graph
    BiplotDisplay        points, and arrows of features, for linear methods
    DistortionDisplay    where an embedding is distorted
    SpectrumDisplay      eigenvalues, the gap after the last one kept, and the suggested dimension
    DimensionDisplay     an estimate of the intrinsic dimension with its curve, or several estimates
    RankCurvesDisplay    the share of neighbours that embeddings preserve, for every neighbourhood size
    StabilityDisplay     angles between the axes of bootstrap resamples

    scatter, grid, spectrum   short functions for EmbeddingDisplay, GalleryDisplay and SpectrumDisplay
    plot_deviations           deviations of the edges of `RelaxedMVU`
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
