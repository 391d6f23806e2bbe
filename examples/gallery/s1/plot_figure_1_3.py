"""
S1, figure 1.3, and S4, figure 2: a roll unfolds
================================================

Points of a Swiss roll, snapshots on the way, and the sheet of maximal variance that keeps the distances of
neighbours. Saul et al. (2006) and Ghojogh et al. (2021) draw the same frames to explain maximum variance unfolding.
"""

# %%
# The frames are mixtures of the Gram matrices of the roll and of the sheet. Any mixture of feasible matrices is
# feasible and its variance grows from one to the other, so that the frames themselves prove nothing. What the figure
# claims is their end: a flat sheet, the true one, of the largest variance, on which neighbours are as far apart as on the roll.
import numpy as np
from beside import Beside, over, roll, shown
from scipy.spatial import procrustes

from eigenspan import MVU, PCA
from unfolding_figures import Roll, axes_for, excess, picture_roll, unfold_roll


def draw(seed):
    X, sheet, _ = roll(800, seed)
    unfolded = Roll(X, sheet, MVU(2, n_neighbors=10, common_neighbors=True, tol=1e-3, random_state=0).fit(X))
    Y, certificate = unfolded.mvu.embedding_, unfolded.mvu.certificate_
    i, j = certificate.edges.T
    lengths = np.linalg.norm(Y[i] - Y[j], axis=1) / np.sqrt(certificate.squared_distances)
    return {
        "axes": axes_for(unfolded.mvu.spectrum_ / unfolded.mvu.spectrum_.sum()),
        "gap": certificate.gap,
        "longer": excess(unfolded, unfolded.mvu.embedding_full_),
        "kept": np.median(np.abs(lengths - 1)),
        "MVU": unfolded.residual,
        "PCA": procrustes(sheet, PCA(2).fit_transform(X))[2],
    }


# %%
# Eight rolls.
found = over(draw, 8)
beside = Beside(
    "S1, figure 1.3, and S4, figure 2",
    "10 neighbours and pairs that share one (the paper's distances and angles), 800 points uniform over the sheet. "
    "The picture has points uniform in "
    "the angle and neighbours only.",
    "The paper's frames are iterates of a solver. Its program fixes the distances, ours bounds them: the last row "
    "tells by how much they shrink.",
)
beside.below("axes for 99 % of the variance", "flat", found["axes"], 2, "a sheet has two dimensions", digits=1)
beside.ordered("difference to the true sheet (Procrustes)", "unfolded", {n: found[n] for n in ("PCA", "MVU")}, digits=5)
beside.below("the same for MVU", "unfolded", found["MVU"], 0.01, "1 % of the sheet's variance, our reading", digits=5)
beside.always(
    "distance of the variance to its largest value", "maximised", found["gap"] <= 1e-3,
    f"at most {found['gap'].max():.1e} of it", "1e-3: the solver's tol; the bound is a dual certificate",
)  # fmt: skip
beside.always(
    "squared distances exceed their bounds", "kept", found["longer"] <= 1e-3,
    f"at most by {max(found['longer'].max(), 0):.1e} of them", "1e-3: the solver's tol",
)  # fmt: skip
beside.below("change of a distance, median", "kept", found["kept"], 0.02, "2 %, our reading", digits=4)

# %%
# Ours.
figure = shown(picture_roll(unfold_roll(800)))
beside.show()
