"""
S1, figure 1.1: a thin slab
===========================

1,600 points in a thin slab of three-dimensional space. Saul et al. (2006) draw the two leading principal axes in it,
and the three eigenvalues of the covariance as shares of their sum: two of them hold nearly all.
"""

# %%
# A slab of sides 2, 1.2 and 0.08, turned in space.
import matplotlib.pyplot as plt
import numpy as np
from beside import Beside
from scipy.stats import ortho_group

from eigenspan import PCA

rng = np.random.default_rng(0)
turn = ortho_group.rvs(3, random_state=0)
X = rng.uniform(-0.5, 0.5, (1600, 3)) * [2.0, 1.2, 0.08] @ turn
pca = PCA(3).fit(X)
shares = pca.eigenvalues_ / pca.eigenvalues_.sum()

beside = Beside("S1, figure 1.1", "The paper does not print the sides of its slab nor the shares.")
beside.above("share of two axes", "two dominant eigenvalues", shares[:2].sum(), 0.99)
off = np.degrees(np.arccos(np.clip(abs(pca.components_[2] @ turn[2]), 0, 1)))
beside.below("third axis to the slab's normal, degrees", "the axes span the slab", off, 0.5)

# %%
# Ours.
figure = plt.figure(figsize=(8, 3.5), layout="constrained")
ax = figure.add_subplot(1, 2, 1, projection="3d")
ax.scatter(*X.T, s=1, alpha=0.4, c=X @ pca.components_[0], cmap="viridis")
for axis, value in zip(pca.components_[:2], pca.eigenvalues_, strict=False):
    ax.quiver(*pca.mean_, *(axis * 1.7 * np.sqrt(value / len(X))), color="black", linewidth=2)
ax.set(aspect="equal", xticks=[], yticks=[], zticks=[])
bars = figure.add_subplot(1, 2, 2)
bars.bar(range(1, 4), shares, color=["C0", "C1", "C2"])
bars.set(xlabel="axis", ylabel="share of the variance", xticks=range(1, 4))
beside.show()
