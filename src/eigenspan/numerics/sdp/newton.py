"""Newton matrix of a low-rank unfolding: r×r blocks on the edges of a graph, with a sparse factorisation."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp

from ..._types import Array
from ..factor import Analysis, SuperLUAnalysis, analyse, minimum_degree
from ..factor.fill import predict_fill
from ..memory import require
from .program import Program


class NewtonMatrix:
    """``H = Σ_e A_e ⊗ [2 g_e I + 4 ω_e δ_e δ_eᵀ] − 2 M ⊗ I + shift``, A_e the Laplacian of edge e and δ_e its difference.

    The nodes are ordered once for low fill; the blocks of each matrix are written directly in that order.
    """

    def __init__(self, program: Program, r: int) -> None:
        assert program.pairs is not None
        n, pairs = program.n, program.pairs
        pattern = sp.csr_array(program.laplacian(np.ones(len(pairs))) + sp.eye_array(n))
        require(
            r * r * predict_fill(pattern).bytes,
            f"The Newton matrix of an unfolding of {n} points in {r} columns",
            "Use LandmarkMVU, or landmarks= to unfold some of the points and place the others.",
        )
        self.order = minimum_degree(pattern)
        place = np.argsort(self.order)
        i, j = place[pairs[:, 0]], place[pairs[:, 1]]
        short = pattern.indices.dtype
        rows, columns = (np.concatenate([np.arange(n), *ends]).astype(short) for ends in ((i, j), (j, i)))
        numbered = sp.csr_array((np.arange(1.0, rows.size + 1.0), (rows, columns)), shape=(n, n))
        numbered.sort_indices()
        self.taken = numbered.data.astype(np.intp) - 1
        self.indices, self.indptr = numbered.indices, numbered.indptr
        self.ends = abs(program.directions).T.tocsr()
        self.masses = program.cost
        self.analyses: dict[int, Analysis | SuperLUAnalysis] = {}  # by number of columns

    def solver(self, delta: Array, g: Array, omega: Array, shift: float) -> Callable[[Array], Array] | None:
        """Return a function ``b -> H⁻¹ b`` on (n, r), or None if H is not positive definite."""
        (m, r), n = delta.shape, self.masses.size
        blocks = (4.0 * omega)[:, None, None] * delta[:, :, None] * delta[:, None, :]
        diagonal = np.arange(r)
        blocks[:, diagonal, diagonal] += 2.0 * g[:, None]
        own = (self.ends @ blocks.reshape(m, r * r)).reshape(n, r, r)
        own[:, diagonal, diagonal] += shift - 2.0 * self.masses[:, None]
        data = np.concatenate([own[self.order], -blocks, -blocks])[self.taken]
        H = sp.bsr_array((data, self.indices, self.indptr), shape=(n * r, n * r)).tocsr()
        if r not in self.analyses:
            self.analyses[r] = analyse(H, ordered=True)
        try:
            factor = self.analyses[r].factorise(H)
        except RuntimeError:  # a zero pivot
            if not np.all(np.isfinite(data)):
                raise
            return None
        if factor.negative:
            return None
        order = self.order

        def solve(b: Array) -> Array:
            x = np.empty_like(b)
            x[order] = factor.solve(np.ascontiguousarray(b[order]).ravel()).reshape(n, r)
            return x

        return solve
