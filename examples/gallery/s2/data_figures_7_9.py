"""
S2, figures 7 to 9: links between near points
=============================================

The unlabelled cost matrix :math:`C^u` of Ionosphere holds locally scaled affinities of all pairs. Figures 7 and 8 of
Chatpatanasiri and Kijsirikul (2009) draw a link where :math:`c^u_{ij} \\geq 0.36`; nearly all join points of one
class. Figure 9 draws the share of links within a class against the threshold, without and with the Hadamard power
:math:`\\alpha = 8`.

.. image:: /images/gallery/s2-figures-7-9.png
   :alt: what the data gave
"""

# %%
# The affinity of equation 7 over all pairs, with the third neighbour as local scale, and its power by equation 9.
import matplotlib.pyplot as plt
import numpy as np
from beside import Beside, data, scatter

from eigenspan import PCA, LocalScaling, Powered
from eigenspan.problem.forms import pair_affinity

X, y = data("ionosphere")
rows, columns = np.triu_indices(len(X), 1)
same = y[rows] == y[columns]
plain, powered = (
    pair_affinity(X, weights).to_dense()[rows, columns] for weights in (LocalScaling(3), Powered(LocalScaling(3), 8))
)


def good_share(c, threshold):
    """The share of links that join points of one class."""
    return float(same[c > threshold].mean())


# %%
# The paper counts a link from either end. Its data are ours, so that nothing is drawn.
beside = Beside(
    "S2, figures 7 to 9",
    "The third neighbour is the local scale, without and with the power.",
    "Nothing in the numbers; the paper's picture of the links lays the points out in a way that it does not tell.",
)
linked = plain >= 0.36
beside.same("ends of links", 408, 2 * linked.sum(), 0)
beside.same("of them within a class", 394, 2 * (linked & same).sum(), 0)
beside.same("share of pairs above 0.01 within a class", 0.75, good_share(plain, 0.01), 2)
small = (powered > 0.001) & (powered <= 0.01)
beside.often(
    "pairs with the power and values from 0.001 to 0.01 are of one class",
    "even pairs with small values usually are",
    same[small],
    f"{same[small].mean():.3f} of {small.sum()} pairs",
    "more than half; the draws are the pairs, which share points",
)
at = np.geomspace(0.001, 0.3, 50)
gains = np.array([good_share(powered, t) - good_share(plain, t) for t in at])
beside.always(
    "the power raises the share of links within a class",
    "at every threshold",
    gains > 0,
    f"by {gains.min():.3f} to {gains.max():.3f}",
    "none; fifty thresholds from 0.001 to 0.3",
)

# %%
# Figure 7 on two principal axes, and figure 9 at every value of the matrix down to ten links.
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
Y = PCA(2).fit_transform(X)
for i, j, one in zip(rows[linked], columns[linked], same[linked], strict=True):
    left.plot(*Y[[i, j]].T, color="#999999" if one else "red", linewidth=0.7, zorder=0)
scatter(left, Y, y, "links where c ≥ 0.36; in red those between classes")
for c, name in ((plain, "α = 1"), (powered, "α = 8")):
    order = np.argsort(-c)[9:]
    shares = np.cumsum(same[np.argsort(-c)])[9:] / np.arange(10, c.size + 1)
    right.plot(c[order], shares, label=name)
right.set(xscale="log", xlim=(1e-5, 1), xlabel="threshold", ylabel="share of links within a class", title="figure 9")
right.legend(frameon=False)
beside.show()
