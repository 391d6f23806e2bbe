"""
S2, figure 2: a class in two clusters
=====================================

One class has two clusters, A and B, with the other class between them. Chatpatanasiri and Kijsirikul (2009) draw the
axis of FDA, which wants all points of a class near each other and merges A and B, and that of an algorithm that
wants only near points of a class to stay near.
"""

# %%
# A and B left and right of the other class; all three clusters are long across the line through them. Every point has a label.
import matplotlib.pyplot as plt
import numpy as np
from beside import Beside, over

from eigenspan import DNE, LDA, LFDA, MFA

y = np.repeat([0, 1, 0], 40)


def points(seed):
    """Three clusters in a row; the class of the outer two is a little higher."""
    rng = np.random.default_rng(seed)
    return np.column_stack(
        [
            rng.normal([[-2.0], [0.0], [2.0]], 0.25, (3, 40)).ravel(),
            rng.normal([[0.5], [0.0], [0.5]], 1.0, (3, 40)).ravel(),
        ]
    )


METHODS = {"FDA": LDA(1), "LFDA": LFDA(1), "DNE": DNE(1), "MFA": MFA(1)}


def draw(seed):
    """How often the nearest other point on the axis has the same class, of a second draw; and the gap of A and B in deviations of A."""
    X, new, found = points(seed), points(seed + 1000), {}
    for name, method in METHODS.items():
        line, other = (method.fit(X, y).transform(Z)[:, 0] for Z in (X, new))
        nearest = np.abs(other[:, None] - line).argmin(axis=1)
        found[name] = np.mean(y[nearest] == y)
        found[name, "gap"] = abs(line[:40].mean() - line[80:].mean()) / line[:40].std()
    return found


# %%
# Thirty draws; the classes are told for points that the method has not seen.
found = over(draw, 30)
local = ("LFDA", "DNE", "MFA")
beside = Beside(
    "S2, figure 2",
    "Defaults of every method, one axis; the same points and labels for all.",
    "The paper's figure is a drawing without numbers, and names only FDA; LFDA, DNE and MFA are those of its local "
    "methods that the library has.",
)
beside.below(
    "FDA: gap of A and B in standard deviations",
    "merges A and B",
    found["FDA", "gap"],
    1,
    "closer than their own spread",
)
for name in local:
    beside.above(
        f"{name}: gap of A and B",
        "does not merge them",
        found[name, "gap"],
        3,
        "their spreads do not overlap",
        digits=1,
    )
for name in local:
    beside.ordered(
        f"new points of the right class, {name}", "FDA mixes the classes", {each: found[each] for each in (name, "FDA")}
    )

# %%
# Ours: the axis of each method through the middle.
X = points(0)
figure, ax = plt.subplots(figsize=(6, 4), layout="constrained")
for label, marker, colour in ((0, "o", "C0"), (1, "x", "C1")):
    ax.scatter(*X[y == label].T, s=14, marker=marker, color=colour)
for name, style in (("FDA", "--"), ("LFDA", "-")):
    ax.axline(
        X.mean(axis=0),
        X.mean(axis=0) + METHODS[name].fit(X, y).components_[0],
        color="black",
        linestyle=style,
        label=name,
    )
ax.text(-2, 3, "A")
ax.text(2, 3, "B")
ax.set_aspect("equal")
ax.legend(frameon=False)
beside.show()
