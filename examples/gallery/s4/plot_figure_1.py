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
from beside import Beside, over

from eigenspan import MVU, intrinsic_dimension
from eigenspan.errors import DegenerateWarning

warnings.simplefilter("ignore", DegenerateWarning)  # an axis more than the curves need is asked for, and is zero


def curves(seed):
    """2,000 points of each curve, in order, and their places along it."""
    t = np.sort(np.random.default_rng(seed).uniform(size=2000))
    u, v = 1.5 * np.pi * (1 + 2 * t), 2 * np.pi * t
    spiral = np.column_stack([u * np.cos(u), u * np.sin(u)])
    knot = np.column_stack([np.sin(v) + 2 * np.sin(2 * v), np.cos(v) - 2 * np.cos(2 * v), -np.sin(3 * v)])
    return {"spiral": spiral, "trefoil knot": knot}, t


def unfolded(X):
    return MVU(X.shape[1], n_neighbors=6).fit(X[::5])


def needed(fitted):
    """Axes with more than 1 % of the variance."""
    return int(np.sum(fitted.eigenvalues_ > 0.01 * fitted.eigenvalues_.sum()))


def draw(seed):
    found = {}
    for name, X in curves(seed)[0].items():
        estimate = intrinsic_dimension(X, "mle")
        found |= {
            (name, "dimension"): estimate.dimension,
            (name, "error"): estimate.error,
            (name, "axes"): needed(unfolded(X)),
        }
    return found


found = over(draw, 10)
beside = Beside(
    "S4, figure 1",
    "Maximum likelihood with its defaults on 2,000 points; unfolding of every fifth with 6 neighbours. The same for both curves.",
    "The paper says dimension for what are axes: a closed curve takes two of them.",
)
for name, said, fails in (
    ("spiral", 1, ""),
    (
        "trefoil knot",
        2,
        "An erratum of the paper: a curve has dimension one, closed or not. Two is the number of axes that it takes "
        "to lay it out, as a circle.",
    ),
):
    near = np.abs(found[name, "dimension"] - said) <= 3 * found[name, "error"]
    here = f"{found[name, 'dimension'].mean():.3f} ± {found[name, 'dimension'].std(ddof=1):.3f}"
    error = 3 * found[name, "error"].mean()
    beside.often(
        f"{name}: intrinsic dimension", str(said), near, here, f"± {error:.3f}: three stated standard errors", fails
    )
    axes = found[name, "axes"]
    beside.often(
        f"{name}: axes to lay it out",
        str(said),
        axes == said,
        f"{axes.mean():.1f}",
        "axes of more than 1 % of the variance",
    )

# %%
# The curves, and what maximum variance unfolding makes of them.
figure = plt.figure(figsize=(9, 5), layout="constrained")
(drawn, t) = curves(0)
for i, (name, X) in enumerate(drawn.items()):
    fitted = unfolded(X)
    ax = figure.add_subplot(2, 2, 2 * i + 1, projection="3d" if X.shape[1] == 3 else None)
    ax.scatter(*X.T, c=t, s=4, cmap="viridis")
    ax.set_title(f"{name}: dimension {intrinsic_dimension(X, 'mle').dimension:.2f}", fontsize=9)
    flat = figure.add_subplot(2, 2, 2 * i + 2)
    flat.scatter(*fitted.embedding_[:, :2].T, c=t[::5], s=4, cmap="viridis")
    flat.set_title(f"unfolded, axes needed: {needed(fitted)}", fontsize=9)
    flat.axis("equal")
beside.show()
