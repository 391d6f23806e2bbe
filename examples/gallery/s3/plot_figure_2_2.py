"""
S3, figure 2.2 and equation 2.2: when all points are equally far
================================================================

Burges (2010) adds a dimension and a point at a time to build a simplex, all of whose points are at distance one:
distances say only that the data fill the space. Vectors of random signs come near to it: by Hoeffding's inequality
few of their squared distances differ from twice the dimension by more than a tenth.
"""

# %%
# A simplex of m points, from the table of its distances; and 300 vectors of signs.
import matplotlib.pyplot as plt
import numpy as np
from beside import Beside, over
from scipy.spatial.distance import pdist, squareform

from eigenspan import ClassicalMDS

EPSILON = 0.2


def simplex(m):
    """Eigenvalues and points of the table in which all distances are one."""
    fitted = ClassicalMDS(m - 1, metric="precomputed").fit(1.0 - np.eye(m))
    return fitted.eigenvalues_, fitted.embedding_


def bound(d):
    """Equation 2.2 with ε = 0.2."""
    return 2 * np.exp(-d * EPSILON**2 / 8)


def squares(seed, d):
    """Squared distances of 300 vectors of signs, relative to their mean 2d."""
    X = np.random.default_rng(seed).choice([-1.0, 1.0], (300, d))
    return pdist(X, "sqeuclidean") / (2 * d)


def draw(seed):
    found = {}
    for d in (500, 5000):
        relative = squares(seed, d)
        found[d, "mean"], found[d, "off"], found[d, "sd"] = (
            relative.mean(),
            np.mean(np.abs(relative - 1) >= EPSILON / 2),
            relative.std(),
        )
    return found


found = over(draw, 20)
sizes = np.arange(3, 41)
flat, far = np.array([(np.ptp(values), np.abs(pdist(Y) - 1).max()) for values, Y in map(simplex, sizes)]).T
beside = Beside(
    "S3, figure 2.2 and equation 2.2",
    "ε = 0.2 and d = 500 and 5,000, as in the paper; 300 vectors, 44,850 pairs.",
    'The text has "exceeds its mean" where the inequality bounds a difference of dε, a tenth of the mean 2d, on either side.',
)
beside.always(
    "a simplex of 3 to 40 points fills all its dimensions", "fills the space", flat < 1e-9,
    f"all m − 1 eigenvalues equal to {flat.max():.0e}", "1e-9: rounding",
)  # fmt: skip
beside.always("and its distances are one", "one", far < 1e-9, f"to {far.max():.0e}", "1e-9: rounding")
beside.same("the bound for d = 500", 0.164, bound(500), 3)
beside.same("the bound for d = 5,000, in 1e-11", 2.8, 1e11 * bound(5000), 1)
for d in (500, 5000):
    error = found[d, "sd"].mean() / np.sqrt(squares(0, d).size)
    beside.often(
        f"d = {d}: mean squared distance over 2d", "1", np.abs(found[d, "mean"] - 1) <= 3 * error, f"{found[d, 'mean'].mean():.5f}",
        f"± {3 * error:.5f}: three standard errors of a mean of 44,850 uncorrelated pairs",
    )  # fmt: skip
    beside.always(
        f"d = {d}: share of pairs that differ by a tenth", f"at most {bound(d):.2g}", found[d, "off"] <= bound(d),
        f"{found[d, 'off'].mean():.4f}, at most {found[d, 'off'].max():.4f}", "none: a bound",
    )  # fmt: skip
beside.ordered(
    "spread of squared distances over their mean, by dimension", "nearer to equidistant", {str(d): found[d, "sd"] for d in (500, 5000)}
)  # fmt: skip

# %%
# Ours: simplices in the plane and in space, and squared distances of signs.
figure = plt.figure(figsize=(10, 3), layout="constrained")
for place, m in enumerate((2, 3, 4), 1):
    Y = np.array([[-0.5], [0.5]]) if m == 2 else simplex(m)[1]
    ax = figure.add_subplot(1, 4, place, projection="3d" if m == 4 else None)
    Y = np.pad(Y, ((0, 0), (0, max(0, 2 - Y.shape[1]))))
    i, j = np.nonzero(np.triu(squareform(pdist(Y)), 1))
    for pair in zip(i, j, strict=True):
        ax.plot(*Y[list(pair)].T, "ko-", linewidth=1)
    ax.set_title(f"{m} points", fontsize=9)
    ax.set_axis_off()
    ax.set_aspect("equal")
ax = figure.add_subplot(1, 4, 4)
for d in (500, 5000):
    ax.hist(squares(0, d), bins=60, density=True, alpha=0.6, label=f"d = {d:,}")
ax.set(xlabel="squared distance / 2d", yticks=[])
ax.legend(frameon=False, fontsize=8)
beside.show()
