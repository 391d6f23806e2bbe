"""
S3, figures 2.3 to 2.5: the dimension as a slope
================================================

The number of pairs nearer than :math:`\\varepsilon` grows like :math:`\\varepsilon^d`. Burges (2010) fits a line to
20,000 points on a sphere (slope 1.9924), to a "snowy" one that crowds at the poles (1.76), and draws the slope at
every scale for Gaussians in 2 to 100 dimensions: the more dimensions, the more it falls short.
"""

# %%
# 10,000 points of each sphere and 5,000 of each Gaussian here; ``examples/dimension_figures.py`` takes the paper's 20,000 and 50,000.
import numpy as np
from beside import Beside, shown

from dimension_figures import draw_gaussians, draw_spheres, gaussians, sphere
from eigenspan import intrinsic_dimension

n, many = 10_000, 5_000
figure = shown(draw_spheres(n))
slopes = {
    kind: intrinsic_dimension(sphere(n, np.random.default_rng(0), kind == "snowy"), fit_range="all").dimension
    for kind in ("even", "snowy")
}
normal = gaussians(many)
found = {d: result.dimension for d, (result, _) in normal.items()}

beside = Beside(
    "S3, figures 2.3 to 2.5",
    "Fewer points than the paper's. Its algorithm prints randn where uniform numbers are meant, and keeps about"
    " 12,700 of its 20,000 points "
    "where the sphere is even.",
)
beside.number("even sphere, all pairs", 1.9924, slopes["even"], 0.02)
beside.number("snowy sphere, all pairs", 1.76, slopes["snowy"], 0.03)
for d in (2, 5, 10):
    beside.above(f"Gaussian, {d} dimensions", "near the truth", found[d], 0.85 * d, digits=2)
beside.ordered(
    "shortfall of the slope, relative", "grows with the dimension", {f"{d}": 1 - found[d] / d for d in (100, 50, 10, 5)}
)

# %%
# The slope at every scale.
figure = shown(draw_gaussians(normal, many))
beside.show()
