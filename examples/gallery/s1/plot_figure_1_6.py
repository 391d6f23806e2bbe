"""
S1, figure 1.6: closed curves
=============================

A trefoil knot and pictures of a teapot on a turntable are closed curves, which lie in no straight line. Saul et al.
(2006) show that maximum variance unfolding lays both out as a circle and needs two axes for it, and that Isomap needs
more.
"""

# %%
# The teapots, a hundred views of 38 × 50 pixels, are drawn where EIGENSPAN_DATA names a folder that holds them.
from beside import Beside, shown

from unfolding_figures import axes_for, picture_curves, teapots, trefoil, turns, unfold_curve

curves = {"trefoil knot": unfold_curve(trefoil(400), 4)}
views = teapots()
if views is not None:
    curves["teapots"] = unfold_curve(views, 4)
figure = shown(picture_curves(list(curves.values()), list(curves)))

beside = Beside(
    "S1, figure 1.6", "400 points of the knot where the paper has 1,617, and 100 views of the teapot where it has 400."
)
for name, curve in curves.items():
    unfolded, isomap = (axes_for(shares) for shares in curve.shares())
    beside.number(f"{name}, unfolded: axes for 99 % of the variance", 2, unfolded, 0, digits=0)
    beside.above(f"{name}, Isomap: the same", "more than two", isomap, 3, digits=0)
    beside.number(f"{name}, unfolded: turns about the middle", 1, abs(turns(curve.mvu.embedding_)[0]), 1e-9, digits=0)
beside.show()
