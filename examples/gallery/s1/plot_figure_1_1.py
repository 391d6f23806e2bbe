"""
S1, figure 1.1: a thin slab
===========================

1,600 points in a thin slab of three-dimensional space. Saul et al. (2006) draw the two leading principal axes in it,
and the three eigenvalues of the covariance as shares of their sum: two of them hold nearly all.
"""

# %%
# A slab of sides 2, 1.2 and 0.08, turned in space. Its covariance has the squares of the sides over 12 as eigenvalues.
import matplotlib.pyplot as plt
import numpy as np
from beside import Beside, over
from scipy.stats import ortho_group

from eigenspan import PCA

n, sides = 1600, np.array([2.0, 1.2, 0.08])
exact = sides**2 / 12


def slab(seed):
    """Points of a slab, and the directions of its sides."""
    turn = ortho_group.rvs(3, random_state=seed)
    return np.random.default_rng(seed).uniform(-0.5, 0.5, (n, 3)) * sides @ turn, turn


def draw(seed):
    X, turn = slab(seed)
    pca = PCA(3).fit(X)
    off = np.degrees(np.arccos(np.clip(abs(pca.components_[2] @ turn[2]), 0, 1)))
    return {"share": pca.eigenvalues_[:2].sum() / pca.eigenvalues_.sum(), "off": off}


# %%
# The third axis leans by about :math:`\sqrt{\lambda_3 \lambda_j / n} / (\lambda_j - \lambda_3)` towards axis j.
found = over(draw, 20)
leaning = np.degrees(np.sqrt(np.sum(exact[2] * exact[:2] / (exact[:2] - exact[2]) ** 2) / n))
share = exact[:2].sum() / exact.sum()
beside = Beside(
    "S1, figure 1.1", "One method.", "The paper prints neither the sides of its slab nor the shares: the slab is ours."
)
beside.above(
    "share of two axes", "two dominant eigenvalues", found["share"], round(share - 3 * (1 - share) * 0.06, 5),
    f"the slab's own {share:.5f} less three standard errors of its third eigenvalue", digits=5,
)  # fmt: skip
beside.below(
    "third axis to the slab's normal, degrees", "the axes span the slab", found["off"], round(3 * leaning, 3),
    "three standard errors of a principal axis",
)  # fmt: skip

# %%
# Ours.
X, _ = slab(0)
pca = PCA(3).fit(X)
figure = plt.figure(figsize=(8, 3.5), layout="constrained")
ax = figure.add_subplot(1, 2, 1, projection="3d")
ax.scatter(*X.T, s=1, alpha=0.4, c=X @ pca.components_[0], cmap="viridis")
for axis, value in zip(pca.components_[:2], pca.eigenvalues_, strict=False):
    ax.quiver(*pca.mean_, *(axis * 1.7 * np.sqrt(value / n)), color="black", linewidth=2)
ax.set(aspect="equal", xticks=[], yticks=[], zticks=[])
bars = figure.add_subplot(1, 2, 2)
bars.bar(range(1, 4), pca.eigenvalues_ / pca.eigenvalues_.sum(), color=["C0", "C1", "C2"])
bars.set(xlabel="axis", ylabel="share of the variance", xticks=range(1, 4))
beside.show()
