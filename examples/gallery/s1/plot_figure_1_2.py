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
from beside import Beside, over, roll
from scipy.sparse.csgraph import shortest_path
from scipy.spatial.distance import pdist, squareform

from eigenspan import KNN, PCA, Isomap
from eigenspan.quality import procrustes


def paths(X):
    """Lengths of the shortest paths through the graph of twelve neighbours, and the steps before the last."""
    graph = KNN(12).build(X).distances
    return shortest_path(graph.maximum(graph.T), directed=False, return_predecessors=True)


def draw(seed):
    X, sheet, _ = roll(1024, seed)
    lengths, away = paths(X)[0], np.triu_indices(len(X), 1)
    found = {"ratio": np.max(lengths[away] / pdist(X))}
    for method in (Isomap(2, n_neighbors=12), PCA(2)):
        Y, name = method.fit_transform(X), type(method).__name__
        found[f"{name} to paths"] = np.median(np.abs(pdist(Y) / lengths[away] - 1))
        found[f"{name} to sheet"] = procrustes(sheet, Y).disparity
    X, sheet, _ = roll(1024, seed, even=False)
    return found | {"uneven": procrustes(sheet, Isomap(2, n_neighbors=12).fit_transform(X)).disparity}


# %%
# Ten rolls, with PCA of the same points for comparison.
found = over(draw, 10)
beside = Beside(
    "S1, figure 1.2",
    "12 neighbours, 1,024 points, as in the paper.",
    "The points are drawn anew, uniform over the sheet unless a row says otherwise; the paper prints no numbers, and "
    "PCA is ours, to have something "
    "to compare with.",
)
beside.above("longest path over its straight line", "much longer", found["ratio"], 2, "our reading of 'much'", digits=1)
for against, said in (("paths", "distances in the plane match the paths"), ("sheet", "the roll is unrolled")):
    values = {name: found[f"{name} to {against}"] for name in ("PCA", "Isomap")}
    how = "median relative difference of distances" if against == "paths" else "Procrustes disparity"
    beside.ordered(f"difference to the {against}: {how}", said, values, digits=4)
beside.below(
    "disparity to the sheet, Isomap",
    "the roll is unrolled",
    found["Isomap to sheet"],
    0.01,
    "1 % of the sheet's variance, our reading",
    digits=4,
)
beside.below(
    "the same for points uniform in the angle", "the roll is unrolled", found["uneven"], 0.01, "as above", digits=4,
    fails="Points uniform in the angle are sparse on the outer turn: in the other draws one to fifteen of the edges "
        "of twelve neighbours join two "
    "turns, and one is enough. The paper does not say how it sampled; with eight neighbours nine of ten draws unroll.",
)  # fmt: skip

# %%
# A and B: the pair whose path is longest, measured by the straight line between them.
X, _, turn = roll(1024, 0)
isomap = Isomap(2, n_neighbors=12).fit(X)
lengths, before = paths(X)
straight = squareform(pdist(X))
a, b = np.unravel_index(np.argmax(lengths / np.where(straight > 0, straight, np.inf)), lengths.shape)
way = [int(b)]
while way[-1] != a:
    way.append(int(before[a, way[-1]]))

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
