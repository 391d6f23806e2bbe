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
from beside import Beside, over, roll

from eigenspan import LLE, PCA, Anchored

COUNTS = (10, 15, 25)


def clamped(X, seed):
    """For each number of clamped points their rows and the places of all points."""
    order, found = np.random.default_rng(seed).permutation(len(X)), {}
    for count in COUNTS:
        places = np.full_like(X, np.nan)
        places[order[:count]] = X[order[:count]]
        found[count] = order[:count], Anchored(LLE(3, n_neighbors=20)).fit(X, places).embedding_
    return found


def bent(Y, like):
    """The share of the variance of Y that no linear function of `like` explains."""
    design = np.column_stack([np.ones(len(Y)), like])
    rest = Y - design @ np.linalg.lstsq(design, Y, rcond=None)[0]
    return float((rest**2).sum() / ((Y - Y.mean(axis=0)) ** 2).sum())


def draw(seed):
    X, sheet, _ = roll(2000, seed)
    found, stays = {}, 0.0
    for count, (rows, Y) in clamped(X, seed).items():
        found[f"ℓ = {count}"] = np.sqrt(((Y - X) ** 2).sum() / ((X - X.mean(axis=0)) ** 2).sum())
        stays = max(stays, np.abs(Y[rows] - X[rows]).max())
    plane = {
        name: 1 - bent(sheet[:, 1:], m.fit_transform(X))
        for name, m in (("LLE", LLE(2, n_neighbors=20)), ("PCA", PCA(2)))
    }
    return found | plane | {"stays": stays}


# %%
# Twenty rolls: how far the points are moved, in units of the roll's own spread.
found = over(draw, 20)
beside = Beside(
    "S1, figure 1.4",
    "20 neighbours for every panel, as in the paper, and the default ridge of the weights (1e-3 of the local trace).",
    "The points and those that are clamped are drawn anew; the paper prints no numbers.",
)
beside.ordered(
    "how far from the roll",
    "the fewer clamped, the farther",
    {f"ℓ = {count}": found[f"ℓ = {count}"] for count in COUNTS},
)
beside.always(
    "clamped points stay", "clamped", found["stays"] < 1e-9, f"moved by at most {found['stays'].max():.1e}", "1e-9: rounding"
)  # fmt: skip
beside.above(
    "LLE: share of the roll's width that its plane explains", "a plane in two dimensions", found["LLE"], 0.5, "more than half, our reading"
)  # fmt: skip

# %%
# Ours.
X, _, turn = roll(2000, 0)
figure = plt.figure(figsize=(12, 3), layout="constrained")
pictures = clamped(X, 0)
panels = [("the roll", [], X), *((f"{count} clamped", *pictures[count]) for count in reversed(COUNTS))]
for i, (title, rows, Y) in enumerate(panels, 1):
    ax = figure.add_subplot(1, 5, i, projection="3d")
    ax.scatter(*Y.T, c=turn, s=1.5, cmap="viridis")
    ax.scatter(*X[rows].T, color="black", s=14)
    ax.set_title(title, fontsize=9)
    ax.view_init(8, -80)
ax = figure.add_subplot(1, 5, 5)
ax.scatter(*LLE(2, n_neighbors=20).fit_transform(X).T, c=turn, s=1.5, cmap="viridis")
ax.set_title("LLE", fontsize=9)
beside.show()
