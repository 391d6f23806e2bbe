"""
S1, figure 1.2: straight lines and paths on a Swiss roll
========================================================

Two points of a Swiss roll are near each other through space and far apart along the roll. Saul et al. (2006) draw the
shortest path through a graph of twelve neighbours, and the plane into which Isomap lays 1,024 points so that straight
lines are as long as those paths.
"""

# %%
# The roll is a sheet: the length of its spiral and its width are the true coordinates.
import matplotlib.pyplot as plt
import numpy as np
from beside import Beside
from scipy.sparse.csgraph import shortest_path
from scipy.spatial.distance import pdist, squareform

from eigenspan import KNN, Isomap
from eigenspan.quality import procrustes

rng = np.random.default_rng(0)
turn, across = np.sort(1.5 * np.pi * (1 + 2 * rng.uniform(size=1024))), rng.uniform(0, 21, 1024)
X = np.column_stack([turn * np.cos(turn), across, turn * np.sin(turn)])
length = (turn * np.sqrt(1 + turn**2) + np.arcsinh(turn)) / 2
sheet = np.column_stack([length, across])

isomap = Isomap(2, n_neighbors=12).fit(X)
graph = KNN(12).build(X).distances
graph = graph.maximum(graph.T)
paths, before = shortest_path(graph, directed=False, return_predecessors=True)

# %%
# A and B: the pair whose path is longest, measured by the straight line between them.
straight = squareform(pdist(X))
a, b = np.unravel_index(np.argmax(paths / np.where(straight > 0, straight, np.inf)), paths.shape)
way = [int(b)]
while way[-1] != a:
    way.append(int(before[a, way[-1]]))
away = np.triu_indices(len(X), 1)
apart = np.abs(squareform(pdist(isomap.embedding_))[away] / paths[away] - 1)

beside = Beside("S1, figure 1.2", "The points are drawn anew; the paper prints no numbers.")
beside.above("path from A to B over the straight line", "the path is much longer", paths[a, b] / straight[a, b], 5)
beside.below("distances in the plane against paths, median difference", "they match", float(np.median(apart)), 0.03)
beside.below(
    "difference to the true sheet (Procrustes)",
    "the roll is unrolled",
    procrustes(sheet, isomap.embedding_).disparity,
    0.01,
)

# %%
# Ours.
figure = plt.figure(figsize=(9, 4), layout="constrained")
ax = figure.add_subplot(1, 2, 1, projection="3d")
ax.scatter(*X.T, c=turn, s=4, cmap="viridis")
ax.plot(*X[way].T, color="black", linewidth=2)
ax.plot(*X[[a, b]].T, color="black", linewidth=1, linestyle="--")
ax.view_init(8, -80)
flat = figure.add_subplot(1, 2, 2)
flat.scatter(*isomap.embedding_.T, c=turn, s=4, cmap="viridis")
flat.plot(*isomap.embedding_[way].T, color="black", linewidth=2)
flat.plot(*isomap.embedding_[[a, b]].T, color="black", linewidth=1, linestyle="--")
flat.set_aspect("equal")
beside.show()
