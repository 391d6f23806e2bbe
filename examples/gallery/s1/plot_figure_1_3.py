"""
S1, figure 1.3, and S4, figure 2: a roll unfolds
================================================

Points of a Swiss roll, snapshots on the way, and the sheet of maximal variance that keeps the distances of
neighbours. Saul et al. (2006) and Ghojogh et al. (2021) draw the same frames to explain maximum variance unfolding.
"""

# %%
# The frames are feasible: a mixture of the Gram matrices of the roll and of the sheet keeps neighbours as near as they were.
import numpy as np
from beside import Beside, shown

from unfolding_figures import excess, mixture, picture_roll, unfold_roll

roll = unfold_roll(800)
figure = shown(picture_roll(roll))
steps = np.linspace(0, 1, 5)
variance = [float(((F - F.mean(axis=0)) ** 2).sum()) for F in (mixture(roll, s) for s in steps)]

beside = Beside(
    "S1, figure 1.3, and S4, figure 2",
    "The paper's frames are iterates of a solver; these are mixtures of its first and last Gram matrix, which "
    "are feasible too. 800 points.",
)
beside.above("variance grows from frame to frame: least step", "it is maximised", float(np.diff(variance).min()), 0.0)
beside.below(
    "edges longer than they were, at most by",
    "distances of neighbours are kept",
    max(excess(roll, mixture(roll, s)) for s in steps),
    1e-3,
    6,
)
beside.show()
