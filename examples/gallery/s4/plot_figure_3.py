"""
S4, figure 3: short circuits
============================

A Swiss roll, its graph of few neighbours, which follows the roll, and one of more, whose edges jump from turn to
turn. Ghojogh et al. (2021) take these for a reason why unfolding can fail: along them, the ends of the roll are near
each other. Their cure is to prune the edges of the largest deviation, equation 80: those whose middle is far from the points around.
"""

# %%
# A section of a noisy roll. An edge is a short circuit where its ends are far apart along the spiral.
import warnings

import matplotlib.pyplot as plt
import numpy as np
import scipy.sparse as sp
from beside import Beside, over
from scipy.sparse.csgraph import connected_components, shortest_path
from scipy.stats import spearmanr

from eigenspan import KNN, MVU, RelaxedMVU
from eigenspan.errors import EigenspanWarning

warnings.simplefilter(
    "ignore", EigenspanWarning
)  # pruning cuts off points that lie apart: what becomes of them is the subject of two rows


def section(seed):
    """Points, and their places along the spiral."""
    rng = np.random.default_rng(seed)
    turn = 1.5 * np.pi * (1 + 2 * np.sqrt(rng.uniform(size=600)))
    X = np.column_stack([turn * np.cos(turn), turn * np.sin(turn)]) + rng.normal(0, 0.3, (600, 2))
    return X, (turn * np.sqrt(1 + turn**2) + np.arcsinh(turn)) / 2


def edges(X, k):
    """Pairs of neighbours, each once."""
    i, j = KNN(k).build(X).distances.nonzero()
    return np.unique(np.sort(np.column_stack([i, j]), axis=1), axis=0)


def jumps(pairs, length):
    """Which pairs jump from one turn to another."""
    return np.abs(length[pairs[:, 0]] - length[pairs[:, 1]]) > 12


def path(X, pairs, length):
    """The shortest path from end to end over the length of the spiral between them."""
    W = sp.coo_array((np.linalg.norm(X[pairs[:, 0]] - X[pairs[:, 1]], axis=1), pairs.T), shape=(len(X), len(X)))
    ends = [int(np.argmin(length)), int(np.argmax(length))]
    return float(shortest_path(W, directed=False, indices=ends[0])[ends[1]] / (length[ends[1]] - length[ends[0]]))


def without(pairs, pruned):
    """The pairs that are left."""
    gone = set(map(tuple, np.sort(pruned, axis=1).tolist()))
    return pairs[[tuple(pair) not in gone for pair in pairs.tolist()]]


def pruned(X, disconnected):
    return RelaxedMVU(1, n_neighbors=20, conformal=False, disconnected=disconnected).fit(X)


def cut_off(pairs):
    """How many points are not in the largest component of these edges."""
    W = sp.coo_array((np.ones(len(pairs)), pairs.T), shape=(600, 600))
    return 600 - np.bincount(connected_components(W, directed=False)[1]).max()


def draw(seed):
    X, length = section(seed)
    few, more = edges(X, 8), edges(X, 20)
    fits = {"MVU": MVU(1, n_neighbors=20).fit(X), "largest": pruned(X, "largest"), "connect": pruned(X, "connect")}
    left = {name: jumps(without(more, fits[name].pruned_), length).sum() for name in ("largest", "connect")}
    paths = {f"path {name}": path(X, pairs, length) for name, pairs in (("few", few), ("more", more))}
    ranks = {f"rank {name}": abs(spearmanr(fitted.embedding_[:, 0], length)[0]) for name, fitted in fits.items()}
    counts = {
        "few": jumps(few, length).sum(),
        "more": jumps(more, length).sum(),
        "cut": len(fits["largest"].pruned_),
        "edges": len(more),
    }
    return left | paths | ranks | counts | {"cut off": cut_off(without(more, fits["largest"].pruned_))}


# %%
# Six draws.
found = over(draw, 6)
beside = Beside(
    "S4, figure 3",
    'Both unfoldings have 20 neighbours and one axis. RelaxedMVU prunes by its default rule, ``prune="auto"``, and '
    "does not rescale. Pruning cuts off points "
    'that lie apart: ``disconnected="largest"`` unfolds the others, and its default keeps the edges that hold all points together.',
    "The paper's roll is a drawing; this one is noisy, so that neighbours can jump. It prints no numbers and does not draw its cure.",
)
beside.below("8 neighbours: edges that jump", "none", found["few"], 0, "none", digits=1)
beside.above("20 neighbours: edges that jump", "some", found["more"], 1, "some", digits=1)
beside.ordered(
    "path from end to end over the spiral's length",
    "short circuits",
    {{"few": "8", "more": "20"}[n] + " neighbours": found[f"path {n}"] for n in ("few", "more")},
)
for name, fails in (
    ("largest", ""),
    (
        "connect",
        "Some edges that jump are the only ones that hold a point which lies apart, and are kept with it. They do "
        "less harm: see the last row.",
    ),
):
    gone = found["more"].sum() - found[name].sum()
    here = f"{gone} of {found['more'].sum()} jumps pruned, with {found['cut'].sum()} of {found['edges'].sum()} edges beyond the threshold"
    what = f'equation 80 finds all edges that jump, disconnected="{name}"'
    beside.often(what, "the cure", found[name] == 0, here, "none may be left: one can fold the roll", fails)
beside.below(
    'points of 600 that are cut off with them, disconnected="largest"', "not said", found["cut off"], 0, "the roll "
        "should stay whole", digits=1,
    fails="The deviation is large where points are few, as the paper says: the sparse inner end of the roll is pruned "
        "too, and its points are placed as "
    "new points are.",
)  # fmt: skip
for name in ("largest", "connect"):
    ranks = {f"RelaxedMVU, {name}": found[f"rank {name}"], "MVU": found["rank MVU"]}
    beside.ordered("unfolded: rank correlation with the spiral's length", "the cure", ranks)

# %%
# Ours: points, both graphs, and what pruning leaves of the second.
X, length = section(0)
more = edges(X, 20)
graphs = {"8 neighbours": edges(X, 8), "20 neighbours": more, "20, pruned": without(more, pruned(X, "largest").pruned_)}
figure, axes = plt.subplots(1, 4, figsize=(14, 3.8), layout="constrained")
axes[0].scatter(*X.T, c=length, s=6, cmap="viridis")
axes[0].set_title("points", fontsize=9)
for ax, (name, pairs) in zip(axes[1:], graphs.items(), strict=True):
    jump = jumps(pairs, length)
    for colour, some, width in (("#999999", pairs[~jump], 0.5), ("red", pairs[jump], 1.2)):
        for pair in some:
            ax.plot(*X[pair].T, color=colour, linewidth=width)
    ax.set_title(f"{name}: {int(jump.sum())} short circuits", fontsize=9)
for ax in axes:
    ax.set_aspect("equal")
beside.show()
