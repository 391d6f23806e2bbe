"""
S4, table 1: every method is kernel PCA
=======================================

Ghojogh et al. (2021) list for each spectral method the kernel whose kernel PCA it is. Here are the angles between the
method and kernel PCA of that kernel, on three tables.
"""

# %%
# `equivalent_kernel` gives the kernel of a fitted method, with the centring under which the statement is true.
import matplotlib.pyplot as plt
import numpy as np
from beside import Beside

from equivalent_kernels import across, data, literally, table

sets = data(fast=True)
lines = across(table(sets))
beside = Beside(
    "S4, table 1",
    "D^(−½)WD^(−½) is the kernel of eigenmaps uncentred, with the stationary vector removed; Pᵗ of diffusion "
    "maps is not symmetric, S²ᵗ is the "
    "kernel. Read to the letter, both are off.",
)
for line in lines:
    worst = max(float(line[name]) for name in sets)
    beside.below(f"{line['method']}: {line['kernel']}", "equal", worst, 1e-4, digits=8)
worst = max(row["D^(−½)WD^(−½), centred"] for row in literally(sets))
beside.above("eigenmaps, to the letter: degrees", "equal (it is not)", float(worst), 1.0, digits=1)

# %%
# Degrees between the method and kernel PCA of its kernel; rounding ends near the dotted line.
figure, ax = plt.subplots(figsize=(9, 5), layout="constrained")
names = [f"{line['method']}: {line['kernel']}" for line in lines]
for name in sets:
    ax.semilogx([max(float(line[name]), 1e-16) for line in lines], np.arange(len(lines)), "o", label=name, markersize=4)
ax.axvline(1e-4, color="black", linestyle=":", linewidth=1)
ax.set_yticks(range(len(lines)), names, fontsize=7)
ax.set_xlabel("degrees")
ax.legend(frameon=False)
beside.show()
