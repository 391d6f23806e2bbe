"""Bayes' rule for Gaussian classes with a common covariance, from class means and the total scatter, in the coordinates of a basis."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._types import Array
from ..numerics.eigen import dense

#: Share of within-class scatter in the total scatter along a direction, below which classes count as points along it.
COLLAPSED = 1e-10


@dataclass(frozen=True, eq=False)
class ClassRule:
    """``score_k(z) = z·weights_k + intercepts_k``, the log posterior of class k up to a term common to all classes.

    Attributes
    ----------
    weights : ndarray of shape (r, c)
    intercepts : ndarray of shape (c,)
    gains : ndarray of shape (c,)
        λ of the discriminant problem, the share of between-class scatter in the total scatter; largest first.
    priors : ndarray of shape (c,)
    """

    weights: Array
    intercepts: Array
    gains: Array
    priors: Array

    @property
    def shares(self) -> Array:
        """Share of every direction in the between-class scatter, relative to the within-class scatter."""
        ratio = self.gains / np.maximum(1.0 - self.gains, COLLAPSED)
        return ratio / max(float(ratio.sum()), np.finfo(float).tiny)

    @property
    def collapsed(self) -> int:
        """Number of directions along which the classes have no extent."""
        return int(np.sum(self.gains > 1.0 - COLLAPSED))


def class_rule(total: Array, means: Array, counts: Array, priors: Array) -> ClassRule:
    """Return Bayes' rule for classes with the covariance ``(total − between)/n``.

    Parameters
    ----------
    total : ndarray of shape (r, r)
        ``between + within``, where the caller may have regularised the second term. May be singular along directions in which the means
        do not differ.
    means : ndarray of shape (c, r)
    counts : ndarray of shape (c,)
        Number of rows of every class, positive; ``between = Σ n_k (m_k − m)(m_k − m)'``.
    priors : ndarray of shape (c,)

    Notes
    -----
    With ``T'·total·T = I`` and the weighted means R = N^½ M T, Woodbury's identity gives
    ``within⁻¹ M'N^½ = T R'(I − RR')⁻¹``. The eigenvalues of the c×c matrix RR' are the gains of the discriminant problem, and the
    within-class scatter, which is singular for n < D, need not be inverted.
    """
    size = np.sqrt(np.maximum(np.diagonal(total), 0.0))
    unit = 1.0 / np.where(size > 1e-150, size, 1.0)  # the rank must not depend on the units of features
    T = unit[:, None] * dense.whitener(dense.symmetric(total * np.outer(unit, unit)))[0]
    n, root = counts.sum(), np.sqrt(counts)
    M = means - counts @ means / n
    R = (M * root[:, None]) @ T
    gains, U = dense.eigenpairs(dense.symmetric(R @ R.T), None, "max")
    gains = np.clip(gains, 0.0, 1.0)
    inverse = n * T @ (R.T @ (U / np.maximum(1.0 - gains, COLLAPSED)) @ U.T) / root  # precision times means
    weights = inverse - (inverse @ priors)[:, None]  # of the means about their mean under the priors
    centre = priors @ means
    with np.errstate(divide="ignore"):  # a class with prior zero scores −∞
        own = np.log(priors)
    intercepts = own - 0.5 * np.sum((means - centre) * weights.T, axis=1) - centre @ weights
    return ClassRule(weights, intercepts, gains, priors)
