"""The semidefinite program that covers every kind of unfolding.

.. math:: \\max_{K \\succeq 0,\\ Kc = 0} \\langle C, K \\rangle - \\nu \\sum_i t_i^p
          \\quad\\text{s.t.}\\quad T v - t \\le b \\ (\\text{or} = b), \\qquad v_e = \\beta_e^T K \\beta_e

The rows β_e of `directions` are differences of unit vectors if K is the Gram matrix of the points themselves, so that v_e is
the squared distance of a pair. The dual has one weight for each row:

.. math:: \\min_w b^T w + \\tfrac{1}{4\\nu}\\lVert w \\rVert^2_{(p=2)} \\quad\\text{s.t.}\\quad
          L(T^T w) \\succeq C \\ \\text{on}\\ c^\\perp, \\qquad w \\ge 0 \\ \\text{on inequalities}, \\quad w \\le \\nu_{(p=1)}

with ``L(g) = Σ g_e β_e β_eᵀ``, a graph's Laplacian.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from ..._types import Array, Index, Matrix, is_sparse
from ...errors import DisconnectedError, InputError


@dataclass(frozen=True)
class Slack:
    """Cost of violating a constraint by t: ``price · t`` (power 1) or ``price · t²`` (power 2)."""

    power: int
    price: float

    def cost(self, excess: Array) -> float:
        size = np.abs(excess)
        # in this order because squares of squared distances may overflow; if this overflows too, no bound is proved
        with np.errstate(over="ignore"):
            return float(np.sum((self.price * size) * size ** (self.power - 1)))


@dataclass(frozen=True, eq=False)
class Program:
    """The program of the module docstring. Build it with `Program.of_pairs`, or from its directions.

    Attributes
    ----------
    directions : sparse array or ndarray of shape (p, N)
    bounds : ndarray of shape (m,)
    cost : ndarray of shape (N,) or (N, N), or sparse array
        C; a vector is its diagonal.
    centre : ndarray of shape (N,)
        c with ``K c = 0``. The directions are orthogonal to the ones vector, so every embedding can be centred this way.
    combine : sparse array of shape (m, p) or None
        T; None is the identity.
    equal : ndarray of bool, shape (m,), or None
        Mask of the rows that are equations; None if there are none.
    slack : Slack or None
    pairs : ndarray of shape (p, 2) or None
        The pairs of points, if the directions are their differences.
    """

    directions: Matrix
    bounds: Array
    cost: Matrix
    centre: Array
    combine: sp.csr_array | None = None
    equal: NDArray[np.bool_] | None = None
    slack: Slack | None = None
    pairs: Index | None = None

    @classmethod
    def of_pairs(
        cls, n: int, pairs: Index, bounds: Array, *, cost: Matrix | None = None, masses: Array | None = None,
        lower: Array | None = None, combine: sp.csr_array | None = None, equal: NDArray[np.bool_] | None = None,
        slack: Slack | None = None,
    ) -> Program:  # fmt: skip
        """Build a program that bounds squared distances of pairs of n points and maximises the sum of squared norms, times `masses`.

        `cost` replaces this objective. `lower` adds the rows ``v_e ≥ lower_e`` (a band).
        """
        pairs = np.asarray(pairs, dtype=np.intp).reshape(-1, 2)
        signs = np.tile([1.0, -1.0], len(pairs))
        short = np.int32 if max(n, signs.size) < 2**31 else np.int64  # the index type of all matrices of the problem
        starts = np.arange(0, signs.size + 1, 2, dtype=short)
        directions = sp.csr_array((signs, pairs.ravel().astype(short), starts), shape=(len(pairs), n))
        masses = np.ones(n) if masses is None else np.asarray(masses, dtype=np.float64)
        bounds = np.asarray(bounds, dtype=np.float64)
        if lower is not None:
            eye = sp.eye_array(len(pairs))
            combine, bounds = sp.csr_array(sp.vstack([eye, -eye])), np.concatenate([bounds, -np.asarray(lower)])
        cost = masses if cost is None else cost
        return cls(directions, bounds, cost, masses, combine, equal, slack, pairs)

    # ------------------------------------------------------------------ sizes and properties
    @property
    def n(self) -> int:
        """Order of K."""
        return int(self.directions.shape[1])

    @property
    def equations(self) -> NDArray[np.bool_]:
        return np.zeros(self.bounds.size, dtype=bool) if self.equal is None else np.asarray(self.equal)

    @cached_property
    def signs(self) -> Array:
        """For each row of T: 1 if no entry is negative, -1 if none is positive, 0 otherwise."""
        if self.combine is None:
            return np.ones(self.bounds.size)
        total, size = (np.asarray(T.sum(axis=1)).ravel() for T in (self.combine, abs(self.combine)))
        return np.where(np.abs(total) >= size * (1 - 1e-12), np.sign(total), 0.0)

    @cached_property
    def is_monotone(self) -> bool:
        """True if all rows are ``T v ≤ b`` with b ≥ 0 or ``T v = 0``: shrinking K keeps it feasible, which gives a lower bound."""
        return self.slack is None and bool(np.all(np.where(self.equations, self.bounds == 0, self.bounds >= 0)))

    @property
    def has_lower_bound(self) -> bool:
        """True if any embedding proves a lower bound: it can be shrunk until it is feasible, or violations have a price."""
        return self.slack is not None or (self.is_monotone and bool(np.all(self.bounds > 0)))

    @cached_property
    def is_graph(self) -> bool:
        """True if the low-rank solver applies: upper (and possibly lower) bounds on distances of pairs, and a variance to maximise."""
        if self.pairs is None or self.equations.any() or np.ndim(self.cost) != 1:
            return False
        T = self.combine
        single = T is None or bool(np.all(np.diff(T.indptr) == 1) and np.all(np.abs(T.data) == 1))
        return single and bool(np.allclose(self.cost, self.centre))

    @cached_property
    def is_band(self) -> bool:
        """True if each direction has one upper and one lower bound, in this order: T is ``[I; −I]``."""
        T, p = self.combine, self.directions.shape[0]
        if T is None or T.shape != (2 * p, p) or T.nnz != 2 * p:
            return False
        single = np.array_equal(T.indptr, np.arange(2 * p + 1)) and np.array_equal(T.indices, np.tile(np.arange(p), 2))
        return single and np.array_equal(T.data, np.repeat([1.0, -1.0], p))

    def check_bounded(self) -> None:
        """Raise DisconnectedError if there is no optimum: pieces that no constraint connects can move apart without limit."""
        if self.pairs is None:
            return
        bounded = np.ones(len(self.pairs), dtype=bool)
        if self.combine is not None:
            fixing = (self.bounds > 0) | ~self.equations
            bounded = np.asarray((self.combine[fixing] > 0).sum(axis=0)).ravel() > 0
        i, j = self.pairs[bounded].T
        count, labels = connected_components(
            sp.csr_array((np.ones(i.size), (i, j)), shape=(self.n, self.n)), directed=False
        )
        if count > 1:
            sizes = np.sort(np.bincount(labels))[::-1]
            listed = ", ".join(map(str, sizes[:5])) + (", …" if count > 5 else "")
            raise DisconnectedError(
                f"The constraints leave {count} pieces (of {listed} points; one point of each: "
                f"{', '.join(str(int(np.argmax(labels == c))) for c in range(min(count, 5)))}{', …' if count > 5 else ''}) that nothing "
                "connects: they can move apart without limit, and the variance has no maximum. Add pairs between the pieces, "
                "or use more neighbours."
            )

    # ------------------------------------------------------------------ maps of the problem
    def squares(self, F: Array) -> Array:
        """Return v for ``K = F Fᵀ``."""
        BF = self.directions @ F
        return np.einsum("er,er->e", BF, BF)

    def rows(self, v: Array) -> Array:
        """Return T v."""
        return v if self.combine is None else self.combine @ v

    def pull(self, w: Array) -> Array:
        """Return g = Tᵀ w."""
        return w if self.combine is None else self.combine.T @ w

    def laplacian(self, g: Array) -> Matrix:
        """Return L(g), sparse if the directions are."""
        B = self.directions
        if is_sparse(B):
            return sp.csr_array(B.T @ sp.diags_array(g) @ B)
        return B.T @ (g[:, None] * B)

    def centred(self, F: Array) -> Array:
        """Return the embedding translated so that ``cᵀ F = 0``."""
        return F - (self.centre @ F) / self.centre.sum()

    def variance(self, F: Array) -> float:
        """Return ⟨C, F Fᵀ⟩ for a centred F."""
        CF = self.cost[:, None] * F if np.ndim(self.cost) == 1 else self.cost @ F
        return float(np.vdot(F, CF))

    def excess(self, F: Array) -> Array:
        """Return the violation of each row, in the units of its bound; negative if an equation falls short."""
        left = self.rows(self.squares(F)) - self.bounds
        return np.where(self.equations, left, np.maximum(left, 0.0))

    def scaled(self, size: float) -> Program:
        """Return the problem in units in which squared distances are `size` times smaller; K and the optimum shrink by the same factor."""
        slack = self.slack
        if slack is not None and slack.power == 2:
            slack = replace(slack, price=slack.price * size)
        return replace(self, bounds=self.bounds / size, slack=slack)


def check_program(program: Program) -> None:
    """Raise an error for bounds that are not finite, that no Gram matrix satisfies, or that leave the problem unbounded."""
    if not np.all(np.isfinite(program.bounds)):
        raise InputError(
            f"{int(np.sum(~np.isfinite(program.bounds)))} of {program.bounds.size} bounds are not finite. Use finite bounds only."
        )
    if program.combine is None and program.slack is None and np.any(program.bounds < 0):
        raise InputError(
            f"{int(np.sum(program.bounds < 0))} of {program.bounds.size} upper bounds on squared distances are negative, but squared "
            "distances cannot be. Use bounds >= 0."
        )
    program.check_bounded()
