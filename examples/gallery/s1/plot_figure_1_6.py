"""
S1, figure 1.6: closed curves
=============================

A trefoil knot and pictures of a teapot on a turntable are closed curves, which lie in no straight line. Saul et al.
(2006) show that maximum variance unfolding lays both out as a circle and needs two axes for it, and that Isomap needs
more.
"""

# %%
# The teapots, a hundred views of 38 × 50 pixels, are drawn where EIGENSPAN_DATA names a folder that holds them. Three neighbours of a
# view are all adjacent views. With four there is one edge between nearly opposite views, which pulls the ring flat.
from beside import Beside, shown

from unfolding_figures import axes_for, picture_curves, roundness, shortcuts, teapots, trefoil, turns, unfold_curve

curves = {"trefoil knot": unfold_curve(trefoil(400), 4)}
views = teapots()
if views is not None:
    curves["teapots"] = unfold_curve(views, 3)
figure = shown(picture_curves(list(curves.values()), list(curves)))

# %%
# On a circle both axes have half of the variance and all points the same distance from the middle; a flat ring has neither.
beside = Beside(
    "S1, figure 1.6",
    "400 points of the knot where the paper has 1,617, and 100 views of the teapot where it has 400. The paper prints no number of "
    "neighbours: here 4 for the knot and 3 for the teapots, for which 4 would join two nearly opposite views.",
)
for name, curve in curves.items():
    shares = curve.shares()
    unfolded, isomap = (axes_for(each) for each in shares)
    around, in_order = turns(curve.mvu.embedding_)
    beside.number(f"{name}, unfolded: axes for 99 % of the variance", 2, unfolded, 0, digits=0)
    beside.above(f"{name}, unfolded: share of the second axis", "a circle has 0.5", shares[0][1], 0.45)
    beside.above(f"{name}, unfolded: smallest over largest radius", "a circle has 1", roundness(curve), 0.8)
    beside.number(f"{name}, unfolded: turns about the middle", 1, abs(around) if in_order else 0, 1e-9, digits=0)
    beside.below(f"{name}: edges between points that are not adjacent", "not said", len(shortcuts(curve)), 0, digits=0)
    beside.above(f"{name}, Isomap: axes for 99 % of the variance", "more than two", isomap, 3, digits=0)
beside.show()
