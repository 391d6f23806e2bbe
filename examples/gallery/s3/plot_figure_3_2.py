"""
S3, figure 3.2: a sphere that looks normal
==========================================

The density of one coordinate of a point on the 20-sphere, beside a Gaussian of variance 1/21. Burges (2010): no
projection to a line can uncover that the points lie on a sphere.
"""

# %%
# The largest difference of two distribution functions (Kolmogorov): of the formula and the Gaussian, and of 20,000
# points, projected, and the normal variable of their mean and variance.
import numpy as np
from beside import Beside, over, shown

from projective_figures import draw_normal, projections

n = 20_000
found = over(lambda seed: projections(n, seed), 10)
formula = found["the 20-sphere, formula"][0]
noise = 1.36 / np.sqrt(n)
beside = Beside(
    "S3, figure 3.2",
    "The same number of points and the same measure for all clouds.",
    "The paper prints no numbers. The circle and the two clusters are added for comparison: these can be told from normal.",
)
beside.always(
    "the formula is nearer to normal than that of a circle", "closer with more dimensions", formula < found["the circle, formula"],
    f"sphere {formula:.4f}, circle {found['the circle, formula'][0]:.4f}", "none: two formulas",
)  # fmt: skip
beside.below(
    "20-sphere, first axis of PCA", "close to Gaussian in all directions", found["the 20-sphere, along the first axis of PCA"],
    round(formula + noise, 4), f"the formula's {formula:.4f} and 1.36/√n, which 95 % of samples do not exceed", digits=4,
)  # fmt: skip
beside.ordered(
    "two clusters, first axis of PCA, against the sphere", "not in the paper",
    {name: found[f"{name}, along the first axis of PCA"] for name in ("two clusters", "the 20-sphere")},
)  # fmt: skip

# %%
# Ours.
figure = shown(draw_normal())
beside.show()
