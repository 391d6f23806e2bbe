"""
S0, table II: the data sets
===========================

Kokiopoulou, Chen and Saad (2011) list the numbers of classes and of samples per class of five data sets. Of four of them, as
they are used for figures 21 and 22, ours are counted here.

.. image:: /images/gallery/s0-table-ii.png
   :alt: what the data gave
"""

# %%
# Roweis' set holds letters too, which are left out.
import matplotlib.pyplot as plt
import numpy as np
from beside import Beside, data

PAPER = {
    "mfeat": (10, 200, 200),
    "binaryalphadigs": (10, 39, 39),
    "umist_28x23": (20, 19, 48),
    "orl_112x92": (40, 10, 10),
}
beside = Beside(
    "S0, table II",
    "The files are those of examples/reproduce_s0.py.",
    "AR (126 classes of 8) cannot be had.",
)
figure, axes = plt.subplots(1, 4, figsize=(11, 2.2), layout="constrained")
for ax, (name, (classes, least, most)) in zip(axes, PAPER.items(), strict=True):
    y = data(name)[1]
    counts = np.bincount(y[y < 10] if name == "binaryalphadigs" else y)
    counts = counts[counts > 0]
    beside.same(f"{name}: classes", classes, len(counts), 0)
    beside.same(f"{name}: fewest samples of a class", least, counts.min(), 0)
    beside.same(f"{name}: most samples of a class", most, counts.max(), 0)
    ax.bar(range(len(counts)), counts)
    ax.set_title(f"{name}: samples per class", fontsize=9)
beside.show()
