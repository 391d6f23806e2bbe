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
TO_THE_LETTER = "D^(−½)WD^(−½), centred"
beside = Beside(
    "S4, table 1",
    "Every method with the neighbours of examples/equivalent_kernels.py, its kernel with the centring under which the statement is true.",
    "D^(−½)WD^(−½) is the kernel of eigenmaps uncentred, with the stationary vector removed; Pᵗ of diffusion maps is "
    "not symmetric, S²ᵗ is the "
    "kernel.",
)
for line in lines:
    angles = np.array([float(line[name]) for name in sets])
    here = f"at most {angles.max():.0e}°"
    beside.always(
        f"{line['method']}: {line['kernel']}", "equal", angles <= 1e-4, here, "1e-4°: rounding of two eigensolvers"
    )
angles = np.array([float(row[TO_THE_LETTER]) for row in literally(sets)])
beside.always(
    "LaplacianEigenmaps: D^(−½) W D^(−½), centred", "equal", angles <= 1e-4, f"{angles.min():.1f}° to {angles.max():.1f}°", "as above",
    fails="An erratum of the paper, which centres every kernel: the constant is not the null vector of this one.",
)  # fmt: skip

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
