"""The standard form of a trace problem: coordinates in which its unit is I. The rule for a singular B lives here and nowhere else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from .._types import Array
from ..errors import RidgeWarning, UnitError, warn
from ..numerics.eigen import dense
from ..numerics.memory import require
from .form import Form


@dataclass(frozen=True, eq=False)
class Standard:
    """``A' u = λ u`` with ``V = back(u)`` and orthonormal excluded directions."""

    A: Form
    back: Callable[[Array], Array]
    exclude: Array | None
    facts: dict


def ridged(M: Form, epsilon: float) -> Form:
    """``M + εI``, dense."""
    return Form(M.n, dense=M.to_dense() + epsilon * np.eye(M.n), psd=M.psd)


def standardise(A: Form, B: Form | None, N: Array | None, sense: Literal["min", "max"]) -> Standard:
    """``V'BV = I`` turned into ``U'U = I``, and the excluded directions N with it."""
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
    """The rule for a general, possibly singular B.

    With null(B) ⊆ null(A) the problem lives on range(B): restrict to it. A PSD form that is minimised is bounded there too: what
    an axis holds of null(B) is free, and takes the value that costs least. Otherwise the criterion is unbounded in null(B), and
    cutting that off would throw away the best directions: add a ridge and say so.
    """
    require(
        40.0 * B.n**2,
        f"A dense unit form of order {B.n}",
        "Use a diagonal unit form, features with reduce=, or landmarks.",
    )
    Bd, Ad = dense.symmetric(B.to_dense()), dense.symmetric(A.to_dense())
    d = np.sqrt(np.maximum(np.diagonal(Bd), 0.0))  # unit diagonal first: a feature's units must not decide its fate
    s = 1.0 / np.where(d > 1e-150, d, 1.0)
    Bs, As = Bd * np.outer(s, s), Ad * np.outer(s, s)
    T, null, values = dense.whitener(Bs)
    facts: dict[str, Any] = {}
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
    """Orthonormal directions ``T'BN``; those that B sends to zero are no directions there, only their rounding is left."""
    C = T.T @ (B @ N)
    rounding = np.linalg.norm(np.abs(T.T) @ (np.abs(B) @ np.abs(N)), axis=0)
    return dense.orthonormal(C[:, np.linalg.norm(C, axis=0) > 1e-10 * rounding])
