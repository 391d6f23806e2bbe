"""Gaussian classes of one covariance: Bayes' rule in the coordinates of a basis, from class means and the unit of a discriminant."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._types import Array
from ..numerics.eigen import dense

#: Share of a direction's total scatter that is left within the classes, below which they count as points there.
COLLAPSED = 1e-10


@dataclass(frozen=True, eq=False)
class ClassRule:
    """``score_k(z) = z·weights_k + intercepts_k``, the log posterior of class k up to what all classes share.

    Attributes
    ----------
    weights : ndarray of shape (r, c)
    intercepts : ndarray of shape (c,)
    gains : ndarray of shape (c,)
        λ of the discriminant problem, the share of the total scatter that lies between the classes; largest first.
    priors : ndarray of shape (c,)
    """

    weights: Array
    intercepts: Array
    gains: Array
    priors: Array

    @property
    def shares(self) -> Array:
        """Of every direction in the scatter between the classes, measured in that within them."""
        ratio = self.gains / np.maximum(1.0 - self.gains, COLLAPSED)
        return ratio / max(float(ratio.sum()), np.finfo(float).tiny)

    @property
    def collapsed(self) -> int:
        """Directions along which the classes have no extent."""
        return int(np.sum(self.gains > 1.0 - COLLAPSED))


def class_rule(total: Array, means: Array, counts: Array, priors: Array) -> ClassRule:
    """Bayes' rule for classes with the covariance ``(total − between)/n``.

    Parameters
    ----------
    total : ndarray of shape (r, r)
        ``between + within``, the within-class part regularised as the caller sees fit. May be singular where the means do not vary.
    means : ndarray of shape (c, r)
    counts : ndarray of shape (c,)
        Rows of every class, none of them zero; ``between = Σ n_k (m_k − m)(m_k − m)'``.
    priors : ndarray of shape (c,)

    Notes
    -----
    With ``T'·total·T = I`` and the weighted means R = N^½ M T, Woodbury's identity has
    ``within⁻¹ M'N^½ = T R'(I − RR')⁻¹``: the c×c matrix RR' holds the gains of the discriminant problem as eigenvalues, and no inverse
    of the within-class scatter, which n < D makes singular, is needed.
    """
    size = np.sqrt(np.maximum(np.diagonal(total), 0.0))
    unit = 1.0 / np.where(size > 1e-150, size, 1.0)  # the unit of a feature must not decide its fate
    T = unit[:, None] * dense.whitener(dense.symmetric(total * np.outer(unit, unit)))[0]
    n, root = counts.sum(), np.sqrt(counts)
    M = means - counts @ means / n
    R = (M * root[:, None]) @ T
    gains, U = dense.eigenpairs(dense.symmetric(R @ R.T), None, "max")
    gains = np.clip(gains, 0.0, 1.0)
    inverse = n * T @ (R.T @ (U / np.maximum(1.0 - gains, COLLAPSED)) @ U.T) / root  # precision times means
    weights = inverse - (inverse @ priors)[:, None]  # of the means about their mean under the priors
    centre = priors @ means
    with np.errstate(divide="ignore"):  # a class that is ruled out scores −∞
        own = np.log(priors)
    intercepts = own - 0.5 * np.sum((means - centre) * weights.T, axis=1) - centre @ weights
    return ClassRule(weights, intercepts, gains, priors)
