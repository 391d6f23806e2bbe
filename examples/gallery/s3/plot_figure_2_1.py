"""
S3, figure 2.1: a microscope
============================

Burges (2010) draws curves of some width under a microscope: from afar they are points, of dimension zero; nearer
they are lines; and so near that their width fills the view they have two dimensions.
"""

# %%
# Ten circles of radius 1 and width 0.1, far apart. The dimension at a scale is the slope of :math:`\log C(\varepsilon)` between two radii,
# :math:`C` by equation 2.1 over all pairs.
import matplotlib.pyplot as plt
import numpy as np
from beside import Beside, over
from scipy.spatial import cKDTree

from eigenspan import intrinsic_dimension

VIEWS = {"afar": (5, 50, 0), "between": (0.25, 0.5, 1), "near": (0.005, 0.02, 2)}


def points(seed):
    rng = np.random.default_rng(seed)
    turn, radius = rng.uniform(0, 2 * np.pi, 6000), 1 + rng.uniform(-0.05, 0.05, 6000)
    centre = 1000 * np.stack(np.meshgrid(np.arange(5), np.arange(2)), axis=-1).reshape(10, 2)
    return np.repeat(centre, 600, axis=0) + np.column_stack([radius * np.cos(turn), radius * np.sin(turn)])


def integral(X, scales):
    """C(ε): the share of pairs nearer than ε."""
    tree, n = cKDTree(X), len(X)
    return (tree.count_neighbors(tree, scales) - n) / (n * (n - 1))


def draw(seed):
    X = points(seed)
    slopes = {
        name: np.diff(np.log(integral(X, ends)))[0] / np.log(ends[1] / ends[0]) for name, (*ends, _) in VIEWS.items()
    }
    fitted = {
        f"{name}, fitted": intrinsic_dimension(X, fit_range=VIEWS[name][:2]).dimension for name in ("between", "near")
    }
    return slopes | fitted


# %%
# Ten draws. Afar no pair is added from 5 to 50, and a fit has nothing to fit: only the two other views are estimated.
found = over(draw, 10)
beside = Beside(
    "S3, figure 2.1",
    "Equation 2.1 at the two ends of a view, and `intrinsic_dimension` fitted between the same ends.",
    "The figure is a drawing; curves, widths and views are ours.",
)
for name, (low, high, dimension) in VIEWS.items():
    for which in (name, f"{name}, fitted"):
        if which in found:
            good, said = np.round(found[which]) == dimension, f"{dimension}"
            here = f"{found[which].mean():.3f} ± {found[which].std(ddof=1):.3f}"
            beside.often(
                f"{which}: slope from ε = {low:g} to {high:g}", said, good, here, "rounds to this whole number"
            )

# %%
# Ours: one circle from three distances, and the integral.
X = points(0)
figure, axes = plt.subplots(1, 4, figsize=(12, 3), layout="constrained")
for ax, (name, half) in zip(axes, (("afar", 700), ("between", 1.3), ("near", 0.25)), strict=False):
    ax.plot(*X.T, ".", markersize=2)
    middle = X[0] if half < 1 else np.zeros(2)
    ax.set(
        xlim=middle[0] + np.array([-half, half]),
        ylim=middle[1] + np.array([-half, half]),
        xticks=[],
        yticks=[],
        title=name,
    )
    ax.set_aspect("equal")
scales = np.geomspace(0.003, 5000, 80)
axes[3].loglog(scales, integral(X, scales))
for low, high, _ in VIEWS.values():
    axes[3].axvspan(low, high, alpha=0.2)
axes[3].set(xlabel="ε", ylabel="C(ε)")
beside.show()
