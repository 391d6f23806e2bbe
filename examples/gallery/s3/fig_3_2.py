"""
Figure 3.2: a sphere looks normal from every side
=================================================

The paper's figure has two curves that can hardly be told apart: the density of one coordinate of points spread evenly over the 20-sphere,
and a normal density of the same variance, 1/21. No projection to a line shows that the points lie on a sphere.
"""

# %%
# The curves
# ----------
# A point of the 20-sphere has 21 coordinates. Its shadow on any line through the centre has the density
# :math:`C (1 - \xi^2)^9`, and equation 3.1 of the paper says what C is.

import math

import matplotlib.pyplot as plt
import numpy as np

from eigenspan import PCA

n = 19  # the paper speaks of the (n + 1)-sphere
C = 2.0 ** (-(n + 1) / 2) * math.prod(range(1, n + 1, 2)) / math.factorial((n - 1) // 2)
xi = np.linspace(-1, 1, 2001)
sphere = C * (1 - xi**2) ** ((n - 1) / 2)
variance = 1 / (n + 2)
normal = np.exp(-(xi**2) / (2 * variance)) / np.sqrt(2 * np.pi * variance)

# %%
# The points
# ----------
# The paper draws the formula. Here are 100,000 points besides, seen along the axis of largest variance, the one direction that
# dimension reduction would choose: it is as good as any other.

X = np.random.default_rng(0).standard_normal((100_000, n + 2))
X /= np.linalg.norm(X, axis=1, keepdims=True)
shadow = PCA(1).fit_transform(X)[:, 0]

figure, ax = plt.subplots(figsize=(6.4, 4.0), layout="constrained")
ax.hist(shadow, bins=80, density=True, color="#cfd8e3", label="100,000 points, first axis of PCA")
ax.plot(xi, sphere, color="#333333", label="a coordinate on the 20-sphere")
ax.plot(xi, normal, ":", color="#d62728", linewidth=2, label="normal, variance 1/21")
ax.set(xlabel="ξ", ylabel="density")
ax.legend(fontsize=8)

# %%
# The numbers
# -----------
# The variance, 1/21, is the paper's; the other numbers follow from its formula. `expected` has each with the error that is allowed,
# `found` what came out.

step = xi[1] - xi[0]
found = {
    "area under the density": float(np.sum(sphere) * step),
    "variance of the density": float(np.sum(xi**2 * sphere) * step),
    "variance of the points": float(np.var(shadow)),
    "largest gap between the distributions": float(np.max(np.abs(np.cumsum(sphere - normal))) * step),
    "kurtosis of the points, 3 if they were normal": float(np.mean(shadow**4) / np.var(shadow) ** 2),
}
expected = {
    "area under the density": (1.0, 1e-6),
    "variance of the density": (1 / 21, 1e-6),
    "variance of the points": (1 / 21, 2e-3),
    "largest gap between the distributions": (0.0, 0.01),
    "kurtosis of the points, 3 if they were normal": (3 * 21 / 23, 0.06),
}
for name, (value, allowed) in expected.items():
    print(f"{name:46s} expected {value:8.4f}   found {found[name]:8.4f}   allowed ± {allowed:g}")

# %%
# What differs
# ------------
# Nothing that can be seen. The first axis of PCA is not any direction but the one along which these 100,000 points vary most, so that
# their variance lies above 1/21, by 2 % (the bound of random matrices is :math:`(1 + \sqrt{21/100000})^2 = 1.03`). The fourth moment
# tells the two curves apart where the eye does not: 3 · 21/23 = 2.74 on the sphere, 3 for a normal variable.
