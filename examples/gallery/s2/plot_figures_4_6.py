"""
S2, figures 4 to 6: what one axis shows
=======================================

Three toys of two classes in the plane, few labels, one axis to find. Chatpatanasiri and Kijsirikul (2009) draw the
axes of several methods and say which of them keep the classes apart; SS-LFDA does in all three.
"""

# %%
# How many of the unlabelled points their nearest labelled one on the axis tells rightly.
from beside import Beside, shown

from toy_figures_s2 import figure_4, figure_5, figure_6, fitted, methods, picture

toys = [figure_4(), figure_5(), figure_6()]
results = {toy.name: {name: fitted(toy, method) for name, method in methods().items()} for toy in toys}
figure = shown(picture(toys, results))

SAID = {
    "Figure 4": (("FDA", "LPP", "SS-FDA"), ("LFDA", "SS-LFDA")),
    "Figure 5": (("FDA", "PCA", "LFDA", "SELF"), ("LPP", "SS-LFDA")),
    "Figure 6": (("LFDA", "LPP"), ("SS-LFDA",)),
}
beside = Beside(
    "S2, figures 4 to 6", "The paper does not publish its points: these are drawn to show what it says of each figure."
)
for name, (fail, find) in SAID.items():
    for method in find:
        beside.above(
            f"{name}, {method}: per cent told rightly", "finds the axis", results[name][method][0], 95, digits=0
        )
    for method in fail:
        beside.below(f"{name}, {method}: per cent told rightly", "fails", results[name][method][0], 75, digits=0)
beside.show()
