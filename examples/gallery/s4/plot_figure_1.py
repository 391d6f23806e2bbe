"""
S4, figure 1: how many dimensions an ant feels
==============================================

Ghojogh et al. (2021) explain the intrinsic dimension by an ant on a spiral, the section of a Swiss roll, and on a
trefoil knot: it can only go forward or back. They give the knot two dimensions, because the ant comes back to where
it began.
"""

# %%
# What estimators say of both, and how many axes it takes to lay them out without folds.
import warnings

import matplotlib.pyplot as plt
import numpy as np
from beside import Beside

from eigenspan import MVU, intrinsic_dimension
from eigenspan.errors import DegenerateWarning

t = np.sort(np.random.default_rng(0).uniform(size=2000))
u = 1.5 * np.pi * (1 + 2 * t)
spiral = np.column_stack([u * np.cos(u), u * np.sin(u)])
v = 2 * np.pi * t
knot = np.column_stack([np.sin(v) + 2 * np.sin(2 * v), np.cos(v) - 2 * np.cos(2 * v), -np.sin(3 * v)])
curves = {"spiral": spiral, "trefoil knot": knot}
dimension = {name: intrinsic_dimension(X, "mle").dimension for name, X in curves.items()}
warnings.simplefilter("ignore", DegenerateWarning)  # an axis more than the curves need is asked for, and is zero
unfolded = {name: MVU(X.shape[1], n_neighbors=6).fit(X[::5]) for name, X in curves.items()}
needed = {name: int(np.sum(m.eigenvalues_ > 0.01 * m.eigenvalues_.sum())) for name, m in unfolded.items()}

beside = Beside(
    "S4, figure 1",
    "The knot is a closed curve: its intrinsic dimension is one. Two is the number of axes that it takes to lay"
    " it out, as a circle.",
)
beside.number("spiral: dimension", 1, dimension["spiral"], 0.1)
beside.number("spiral: axes to lay it out", 1, needed["spiral"], 0, digits=0)
beside.number("knot: axes to lay it out", 2, needed["trefoil knot"], 0, digits=0)
beside.below("knot: dimension", "two (it is one)", dimension["trefoil knot"], 1.1)

# %%
# The curves, and what maximum variance unfolding makes of them.
figure = plt.figure(figsize=(9, 5), layout="constrained")
for i, (name, X) in enumerate(curves.items()):
    ax = figure.add_subplot(2, 2, 2 * i + 1, projection="3d" if X.shape[1] == 3 else None)
    ax.scatter(*X.T, c=t, s=4, cmap="viridis")
    ax.set_title(f"{name}: dimension {dimension[name]:.2f}", fontsize=9)
    flat = figure.add_subplot(2, 2, 2 * i + 2)
    flat.scatter(*unfolded[name].embedding_[:, :2].T, c=t[::5], s=4, cmap="viridis")
    flat.set_title(f"unfolded, axes needed: {needed[name]}", fontsize=9)
    flat.axis("equal")
beside.show()
