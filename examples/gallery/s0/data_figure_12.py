"""
S0, figure 12: two thousand digits by eight methods
===================================================

The mfeat digits, 649 features each divided by its maximum. Kokiopoulou, Chen and Saad (2011) observe that LDA
separates the digits better than PCA; that LLE and eigenmaps give thin clusters apart from each other, NPP and LPP
broader ones; and that the orthogonal ONPP and OLPP mix the digits.

.. image:: /images/gallery/s0-figure-12.png
   :alt: what the data gave
"""

# %%
# Graphs of twelve neighbours; weights as in the paper's sections 4 and 8.6. LPP and NPP are fitted to the first 100 principal axes,
# without the features that are the same for nearly all digits; the other methods are fitted to all features.
import warnings

import matplotlib.pyplot as plt
from beside import Beside, data, scatter, separation

from eigenspan import LDA, LLE, LPP, NPP, OLPP, ONPP, PCA, LaplacianEigenmaps
from eigenspan.errors import FlatWarning

warnings.simplefilter("ignore", FlatWarning)  # orthonormal axes along which the digits hardly differ: they mix them
X, y = data("mfeat")
k = 12
methods = {
    "PCA": PCA(2), "LDA": LDA(2), "LLE": LLE(2, n_neighbors=k), "NPP": NPP(2, n_neighbors=k, reduce=100),
    "ONPP": ONPP(2, n_neighbors=k), "Eigenmaps": LaplacianEigenmaps(2, n_neighbors=k),
    "LPP": LPP(2, n_neighbors=k, reduce=100), "OLPP": OLPP(2, n_neighbors=k),
}  # fmt: skip
pictures = {name: method.fit_transform(X, y) for name, method in methods.items()}
seen = {name: separation(Y, y) for name, Y in pictures.items()}

# %%
# "Apart" is measured by the nearest neighbour in the picture: how often it is the same digit. Chance is 0.1.
beside = Beside(
    "S0, figure 12",
    "The paper prints no number of neighbours and no scores; the scores are ours, for what it says of the pictures. LPP and NPP, and only "
    "these, are fitted to the first 100 principal axes.",
)
beside.ordered("labels help", "LDA better than PCA", {name: seen[name] for name in ("LDA", "PCA")})
beside.ordered(
    "LLE and what is linear of it",
    "orthogonal axes mix the digits",
    {name: seen[name] for name in ("LLE", "NPP", "ONPP")},
)
beside.ordered(
    "eigenmaps and the same",
    "orthogonal axes mix the digits",
    {name: seen[name] for name in ("Eigenmaps", "LPP", "OLPP")},
)

# %%
# Ours.
figure, axes = plt.subplots(2, 4, figsize=(11, 5.5), layout="constrained")
for ax, (name, Y) in zip(axes.flat, pictures.items(), strict=True):
    scatter(ax, Y, y, f"{name}: {seen[name]:.2f}")
axes[0, 3].legend(frameon=False, fontsize=6, markerscale=2)
beside.show()
