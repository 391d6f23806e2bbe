"""The standard form of a trace problem: coordinates in which its unit is I. Singular units are handled here only."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from .._types import Array
from ..errors import RidgeWarning, UnitError, warn
from ..numerics.eigen import dense
from ..numerics.memory import require
from .form import Form
from .spectrum import Facts


@dataclass(frozen=True, eq=False)
class Standard:
    """The problem ``A u = λ u`` with solution ``V = back(u)`` and orthonormal excluded directions.

    `facts` holds what the transformation found: the rank of the unit, and the ridge added to it.
    """

    A: Form
    back: Callable[[Array], Array]
    exclude: Array | None
    facts: Facts


def ridged(M: Form, epsilon: float) -> Form:
    """Return ``M + εI`` as a dense form."""
    return Form(M.n, dense=M.to_dense() + epsilon * np.eye(M.n), psd=M.psd)


def standardise(A: Form, B: Form | None, N: Array | None, sense: Literal["min", "max"]) -> Standard:
    """Transform the constraint ``V'BV = I`` into ``U'U = I``, together with the excluded directions N."""
    if B is None or B.n == 0:
        return Standard(A, lambda u: u, None if N is None else dense.orthonormal(N), {})
    if B.is_diagonal():
        d = B.diagonal()
        if d.min() < -1e-8 * d.max():
            raise UnitError(_not_psd(d.min(), d.max()))
        if d.min() > 1e-14 * d.max():
            s = 1.0 / np.sqrt(d)
            exclude = None if N is None else dense.orthonormal(np.sqrt(d)[:, None] * N)
            return Standard(A.scaled(s), lambda u: s[:, None] * u, exclude, {})
    return _whiten(A, B, N, sense)


def _not_psd(low: float, high: float) -> str:
    return (
        f"The unit form B is not positive semidefinite: its eigenvalues run from {low:.6g} to {high:.6g}, so V'BV = I has no "
        "bounded solution. Constrain with a positive semidefinite form, or add a ridge larger than the negative part."
    )


def _whiten(A: Form, B: Form, N: Array | None, sense: Literal["min", "max"]) -> Standard:
    """Transform the constraint for a general, possibly singular B.

    If null(B) ⊆ null(A), the problem is restricted to range(B). If a PSD form is minimised, the component of an axis in null(B) is free and
    takes the value of least cost. Otherwise the criterion is unbounded on null(B), and restricting it would discard the best directions:
    a ridge is added, with a warning.
    """
    require(
        40.0 * B.n**2,
        f"A dense unit form of order {B.n}",
        "Use a diagonal unit form, features with reduce=, or landmarks.",
    )
    Bd, Ad = dense.symmetric(B.to_dense()), dense.symmetric(A.to_dense())
    d = np.sqrt(
        np.maximum(np.diagonal(Bd), 0.0)
    )  # unit diagonal first, so that the rank does not depend on units of features
    s = 1.0 / np.where(d > 1e-150, d, 1.0)
    Bs, As = Bd * np.outer(s, s), Ad * np.outer(s, s)
    T, null, values = dense.whitener(Bs)
    facts: Facts = {}
    if values[0] < -1e-8 * max(values[-1], np.finfo(float).tiny):
        low, high = dense.eigenpairs(Bd, None)[0][[0, -1]]
        raise UnitError(_not_psd(low, high))
    if null.shape[1]:
        leak = np.linalg.norm(As @ null) / max(np.linalg.norm(As), np.finfo(float).tiny)
        if sense == "min" and A.psd and T.shape[1]:
            T = T - null @ (dense.pseudo_inverse(null.T @ As @ null, As) @ (null.T @ As @ T))
            facts["rank_of_unit"] = T.shape[1]
        elif leak <= 1e-7:
            facts["rank_of_unit"] = T.shape[1]
        else:
            epsilon = 1e-6 * float(np.mean(np.diagonal(Bd)))
            warn(
                f"The unit form B has rank {T.shape[1]} of {B.n}, and the objective does not vanish on its null space: a ridge of "
                f"{epsilon:.3g} was added to B. Choose it yourself with ridge=, or reduce the features first.",
                RidgeWarning,
            )
            if not epsilon > 0:
                raise UnitError(f"The unit form B of order {B.n} is zero: no embedding has unit length in it.")
            standard = _whiten(A, ridged(B, epsilon), N, sense)
            return replace(standard, facts={**standard.facts, "ridge": standard.facts.get("ridge", 0.0) + epsilon})
    T = s[:, None] * T
    exclude = None if N is None else _in_unit_coordinates(T, Bd, N)
    return Standard(Form(T.shape[1], dense=dense.symmetric(T.T @ Ad @ T), psd=A.psd), lambda u: T @ u, exclude, facts)


def _in_unit_coordinates(T: Array, B: Array, N: Array) -> Array:
    """Return orthonormal directions that span ``T'BN``, without those for which BN is a rounding error."""
    C = T.T @ (B @ N)
    rounding = np.linalg.norm(np.abs(T.T) @ (np.abs(B) @ np.abs(N)), axis=0)
    return dense.orthonormal(C[:, np.linalg.norm(C, axis=0) > 1e-10 * rounding])
