"""
S3, figure 3.8: SIR and SAVE
============================

Five responses to spherical Gaussian points in ten dimensions; the eigenvalues and leading directions of sliced
inverse regression and of sliced average variance estimation. Burges (2010) reads off how many directions each finds.
"""

# %%
# 30,000 points; the paper has 100,000, as has ``examples/sufficient_figures.py``.
from beside import Beside, shown

from sufficient_figures import RESPONSES, draw_slices, slices

rows = slices(30_000)
figure = shown(draw_slices(rows))
by = {(row["y"], row["method"]): row for row in rows}
first, squares, product, logarithm, sine = RESPONSES

beside = Beside(
    "S3, figure 3.8",
    "A sum of three features is one direction, not three, so SAVE's three in the first row are no success. The "
    "fourth response is "
    "log(1 + exp(5x₂)), which fits the text, and not log(1 + 5exp(x₂)).",
)
beside.below("the sum, SIR: degrees to the truth", "one direction, found", by[first, "SIR"]["angle"], 2)
beside.below("squares, SAVE: degrees", "succeeds", by[squares, "SAVE"]["angle"], 3)
beside.above("squares, SIR: degrees", "fails", by[squares, "SIR"]["angle"], 30, digits=1)
beside.below("a product, SAVE: degrees", "SAVE saves the day", by[product, "SAVE"]["angle"], 10)
beside.below("the logarithm, SIR: degrees", "two directions", by[logarithm, "SIR"]["angle"], 5)
beside.above("the sine, SIR: degrees", "not the full subspace", by[sine, "SIR"]["angle"], 20, digits=1)
beside.above("the sine, SAVE: degrees", "not the full subspace", by[sine, "SAVE"]["angle"], 20, digits=1)
beside.show()
