"""
S3, section 3.6: reading and arithmetic
=======================================

Hotelling's example of canonical correlations, as Burges (2010) tells it: 140 children, two measures of reading and
two of arithmetic, speed and power. They have one mental factor in common, and only one, with a p-value of about 0.0001.
"""

# %%
# The six correlations are those of Hotelling (1936). Tables with exactly these correlations are made from random
# ones, and children are drawn from a population with these correlations.
import matplotlib.pyplot as plt
import numpy as np
from beside import Beside, over

from eigenspan import CCA

NAMES = ("reading speed", "reading power", "arithmetic speed", "arithmetic power")
R = np.array(
    [
        [1, 0.6328, 0.2412, 0.0586],
        [0.6328, 1, -0.0553, 0.0655],
        [0.2412, -0.0553, 1, 0.4248],
        [0.0586, 0.0655, 0.4248, 1],
    ]
)
ROOT = np.linalg.cholesky(R)


def children(seed, exact):
    """140 rows drawn from a normal population with these correlations, or moved so that they have them."""
    Z = np.random.default_rng(seed).standard_normal((140, 4))
    if exact:
        Z = Z - Z.mean(axis=0)
        Z = np.linalg.solve(np.linalg.cholesky(np.cov(Z.T)), Z.T).T
    return Z @ ROOT.T


def draw(seed):
    found = {}
    for exact in (True, False):
        X = children(seed, exact)
        tests = CCA(2).fit(X[:, :2], X[:, 2:]).significance()
        for pair in (0, 1):
            found[exact, pair, "p"], found[exact, pair, "correlation"] = (
                tests["p_chi2"].iloc[pair],
                tests["correlation"].iloc[pair],
            )
    return found


found = over(draw, 50)
beside = Beside(
    "S3, section 3.6",
    "One method; p-values by Bartlett's χ², at the level 5 %.",
    "The paper does not repeat the six correlations: they are from Hotelling's table, which has 140 children too.",
)
first, second = (found[True, pair, "p"] for pair in (0, 1))
beside.always(
    "p-value of the first pair", "approximately 0.0001", np.abs(first - 1e-4) <= 0.5e-4, f"{first.mean():.6f}", "± "
        "0.00005: rounding of what is printed"
)  # fmt: skip
correlations = ", ".join(f"{found[True, pair, 'correlation'].mean():.4f}" for pair in (0, 1))
beside.always(
    "one factor, and only one", "one and only one", (first < 0.05) & (second > 0.05), f"p = {second.mean():.2f} for "
        f"the second; correlations {correlations}",
    "level 5 %",
)  # fmt: skip
one = (found[False, 0, "p"] < 0.05) & (found[False, 1, "p"] > 0.05)
beside.often(
    "the same of 140 new children of such a population", "not asked", one, f"first correlation "
        f"{found[False, 0, 'correlation'].mean():.3f} ± "
    f"{found[False, 0, 'correlation'].std(ddof=1):.3f}", "level 5 %",
)  # fmt: skip

# %%
# Ours: what each measure has to do with the first pair.
X = children(0, True)
cca = CCA(1).fit(X[:, :2], X[:, 2:])
u, v = cca.transform(X[:, :2], X[:, 2:])
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained")
left.plot(u[:, 0], v[:, 0], ".")
left.set(
    xlabel="first variate of reading",
    ylabel="first variate of arithmetic",
    title="140 rows with Hotelling's correlations",
)
right.barh(NAMES, [np.corrcoef(X[:, k], (u if k < 2 else v)[:, 0])[0, 1] for k in range(4)])
right.set(xlabel="correlation with the variate of its side")
beside.show()
