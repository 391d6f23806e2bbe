"""
S1, figure 1.4: LLE with some points clamped
============================================

2,000 points of a Swiss roll, each a mixture of its 20 neighbours. Saul et al. (2006) clamp 25, 15 and 10 of them to
where they are in space and let the mixtures place all others: the fewer are clamped, the flatter the roll becomes.
With none clamped, and with LLE's constraints in their place, it is LLE.
"""

# %%
# `Anchored` places the other points by one sparse linear system, :math:`M_{22} Y_2 = -M_{21} Y_1`.
import matplotlib.pyplot as plt
import numpy as np
from beside import Beside

from eigenspan import LLE, Anchored

rng = np.random.default_rng(0)
turn, across = 1.5 * np.pi * (1 + 2 * rng.uniform(size=2000)), rng.uniform(0, 21, 2000)
X = np.column_stack([turn * np.cos(turn), across, turn * np.sin(turn)])
order = rng.permutation(2000)
clamped = {}
for count in (25, 15, 10):
    places = np.full_like(X, np.nan)
    places[order[:count]] = X[order[:count]]
    clamped[count] = Anchored(LLE(3, n_neighbors=20)).fit(X, places).embedding_
free = LLE(2, n_neighbors=20).fit_transform(X)

# %%
# How far the points are moved, in units of the roll's own spread.
spread = np.sqrt(((X - X.mean(axis=0)) ** 2).sum(axis=1).mean())
moved = {f"ℓ = {count}": float(np.sqrt(((Y - X) ** 2).sum(axis=1).mean()) / spread) for count, Y in clamped.items()}
beside = Beside("S1, figure 1.4", "The points and those that are clamped are drawn anew; the paper prints no numbers.")
beside.ordered("how far from the roll", "the fewer clamped, the farther", dict(reversed(moved.items())))
beside.below(
    "clamped points stay",
    "clamped",
    max(float(np.abs(Y[order[:c]] - X[order[:c]]).max()) for c, Y in clamped.items()),
    1e-9,
)
design = np.column_stack([np.ones(2000), free])
told = 1 - ((across - design @ np.linalg.lstsq(design, across, rcond=None)[0]) ** 2).mean() / across.var()
beside.above("LLE: share of the roll's width that its plane explains", "a plane in two dimensions", told, 0.6)

# %%
# Ours.
figure = plt.figure(figsize=(12, 3), layout="constrained")
panels = [("the roll", X), *((f"{count} clamped", Y) for count, Y in clamped.items())]
for i, (title, Y) in enumerate(panels, 1):
    ax = figure.add_subplot(1, 5, i, projection="3d")
    ax.scatter(*Y.T, c=turn, s=1.5, cmap="viridis")
    if i > 1:
        ax.scatter(*X[order[: int(title.split()[0])]].T, color="black", s=14)
    ax.set_title(title, fontsize=9)
    ax.view_init(8, -80)
ax = figure.add_subplot(1, 5, 5)
ax.scatter(*free.T, c=turn, s=1.5, cmap="viridis")
ax.set_title("LLE", fontsize=9)
beside.show()
