"""
S4, figure 3: short circuits
============================

A Swiss roll, its graph of few neighbours, which follows the roll, and one of more, whose edges jump from turn to
turn. Ghojogh et al. (2021) take these for a reason why unfolding can fail: along them, the ends of the roll are near
each other.
"""

# %%
# A section of a noisy roll. An edge is a short circuit where its ends are far apart along the spiral.
import matplotlib.pyplot as plt
import numpy as np
import scipy.sparse as sp
from beside import Beside
from scipy.sparse.csgraph import shortest_path

from eigenspan import KNN

rng = np.random.default_rng(0)
turn = 1.5 * np.pi * (1 + 2 * np.sqrt(rng.uniform(size=600)))
X = np.column_stack([turn * np.cos(turn), turn * np.sin(turn)]) + rng.normal(0, 0.3, (600, 2))
length = (turn * np.sqrt(1 + turn**2) + np.arcsinh(turn)) / 2


def edges(k):
    """Pairs of neighbours, and which of them jump from one turn to another."""
    i, j = KNN(k).build(X).distances.nonzero()
    i, j = np.minimum(i, j), np.maximum(i, j)
    pairs = np.unique(np.column_stack([i, j]), axis=0)
    return pairs, np.abs(length[pairs[:, 0]] - length[pairs[:, 1]]) > 12


def longest(pairs):
    """The longest of the shortest paths, over the length of the spiral between its ends."""
    W = sp.coo_array((np.linalg.norm(X[pairs[:, 0]] - X[pairs[:, 1]], axis=1), pairs.T), shape=(len(X), len(X)))
    ends = [int(np.argmin(length)), int(np.argmax(length))]
    return float(shortest_path(W, directed=False, indices=ends[0])[ends[1]] / (length[ends[1]] - length[ends[0]]))


few, more = edges(8), edges(20)
beside = Beside(
    "S4, figure 3",
    "The paper's roll is a drawing; this one is noisy, so that neighbours can jump. It prints no numbers.",
)
beside.below("eight neighbours: edges that jump", "none", float(few[1].sum()), 0, digits=0)
beside.above("twenty neighbours: edges that jump", "some", float(more[1].sum()), 5, digits=0)
beside.above("eight neighbours: path from end to end over the spiral's length", "the right graph", longest(few[0]), 0.9)
beside.below("twenty neighbours: the same", "an incorrect one", longest(more[0]), 0.6)

# %%
# Ours.
figure, axes = plt.subplots(1, 3, figsize=(11, 3.8), layout="constrained")
axes[0].scatter(*X.T, c=turn, s=6, cmap="viridis")
axes[0].set_title("points", fontsize=9)
for ax, (pairs, jump), k in zip(axes[1:], (few, more), (8, 20), strict=True):
    for colour, some, width in (("#999999", pairs[~jump], 0.5), ("red", pairs[jump], 1.2)):
        for pair in some:
            ax.plot(*X[pair].T, color=colour, linewidth=width)
    ax.set_title(f"{k} neighbours: {int(jump.sum())} short circuits", fontsize=9)
for ax in axes:
    ax.set_aspect("equal")
beside.show()
