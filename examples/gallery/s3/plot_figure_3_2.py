"""
S3, figure 3.2: a sphere that looks normal
==========================================

The density of one coordinate of a point on the 20-sphere, beside a Gaussian of variance 1/21. Burges (2010): no
projection to a line can uncover that the points lie on a sphere.
"""

# %%
# The largest difference of the two distribution functions, by the formula and for points drawn and projected.
from beside import Beside, shown

from projective_figures import draw_normal, projections

figure = shown(draw_normal())
found = projections(20_000)
beside = Beside("S3, figure 3.2", "The paper prints no numbers. A cube and two clusters are added for comparison.")
beside.below("20-sphere to normal", "close to Gaussian", found["the 20-sphere, formula"], 0.01, digits=4)
beside.below(
    "20,000 points, first axis of PCA",
    "for all directions",
    found["the 20-sphere, along the first axis of PCA"],
    0.02,
    digits=4,
)
beside.above(
    "two clusters, first axis of PCA", "not in the paper", found["two clusters, along the first axis of PCA"], 0.1
)
beside.show()
