"""Quadratic forms on the samples, ``y -> y'My``, kept in the cheapest structure that represents them exactly.

A `Form` is a sum of up to five parts::

    M  =  sparse  +  U diag(c) U'  +  Σ a FᵀF  +  Σ a P        +  dense
          graphs     class means      LLE         all pairs,      Gram matrices
                     centring         factors     blockwise       that the method forces

Addition and scalar multiplication act on the parts, so ``laplacian(W) + 0.1 * class_scatter(y)`` is literal and never
forms an n×n array. Solvers and bases need only ``M @ Z``, ``M.quadratic(Z)``, the diagonal and the parts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, Self, TypeAlias, cast, get_args

import numpy as np
import scipy.sparse as sp

from .._checks import real_numbers
from .._types import Array, Index, Integers, Matrix, is_sparse
from ..data import Classes, LazyClasses, PastClasses
from ..data.rows.block_passes import CentredRows, blocks
from ..errors import InputError
from ..graphs.class_graphs import class_codes
from ..graphs.neighbours.connect import Needs
from ..numerics.eigen.dense import is_singular, symmetric_product
from ..numerics.factor import permuted
from .pairwise import PairsPart

#: Kinds of scatter: class means about the mean of the labelled rows, labelled rows about their class means, about their mean, and about
#: the origin, class sums about the mean, and all rows about their mean.
Kind = Literal["between", "within", "total", "labelled", "sums", "everyone"]
#: Classes of rows in any storage.
AnyClasses: TypeAlias = Classes | LazyClasses | PastClasses
#: Classes of rows, or the class codes of all rows in memory.
ClassesOrCodes: TypeAlias = AnyClasses | Index
#: Number of entries in the rows of Z gathered at a time.
_GATHERED = 2**22


def to_array(M: Matrix) -> Array:
    """Return a dense or sparse matrix as a dense array."""
    if isinstance(M, np.ndarray):
        return M
    return M.toarray() if sp.issparse(M) else np.asarray(M)


def _hstack(U: Matrix, V: Matrix) -> Matrix:
    return (
        sp.hstack([U, V], format="csr") if sp.issparse(U) and sp.issparse(V) else np.hstack([to_array(U), to_array(V)])
    )


@dataclass(frozen=True, eq=False)
class Form:
    """A symmetric matrix M over the n samples.

    Parameters
    ----------
    n : int
        Order of M.
    sparse : csr_array of shape (n, n), optional
    low_rank : (U, c), optional
        The part ``U diag(c) U'``; U is (n, r), dense or sparse.
    roots : tuple of (a, F), optional
        The part ``Σ a FᵀF`` with sparse F of n columns.
    pairs : tuple of (a, P), optional
        The part ``Σ a P`` with matrices P of all pairs that are not stored: `Pairwise`, or objects with the same methods.
    dense : ndarray of shape (n, n), optional
    psd : bool
        True if M is known to be positive semidefinite.
    kills_constant : bool
        ``M 1 = 0``.
    needs : {"connected", "one closed class"}
        Property that a neighbour graph must have so that the constant is the only null vector of a form over it. Fits of graph
        embeddings check it and repair the graph.
    """

    n: int
    sparse: sp.csr_array | None = None
    low_rank: tuple[Any, Array] | None = None
    roots: tuple[tuple[float, sp.csr_array], ...] = ()
    pairs: tuple[tuple[float, PairsPart], ...] = ()
    dense: Any = None
    psd: bool = False
    kills_constant: bool = False
    needs: Needs = "connected"

    # ------------------------------------------------------------------ algebra
    def __add__(self, other: Form) -> Form:
        if not isinstance(other, Form):
            return NotImplemented
        if self.n != other.n:
            raise InputError(
                f"Forms over {self.n} and {other.n} samples cannot be added: build both from the same rows."
            )
        low = self.low_rank or other.low_rank
        if self.low_rank and other.low_rank:
            low = (_hstack(self.low_rank[0], other.low_rank[0]), np.concatenate([self.low_rank[1], other.low_rank[1]]))
        return Form(
            self.n,
            sparse=_sum(self.sparse, other.sparse),
            low_rank=low,
            roots=self.roots + other.roots,
            pairs=self.pairs + other.pairs,
            dense=_sum(self.dense, other.dense),
            psd=self.psd and other.psd,
            kills_constant=self.kills_constant and other.kills_constant,
            needs=strongest(self.needs, other.needs),
        )

    def __mul__(self, factor: float) -> Form:
        a = float(factor)
        return replace(
            self,
            sparse=None if self.sparse is None else self.sparse * a,
            low_rank=None if self.low_rank is None else (self.low_rank[0], a * self.low_rank[1]),
            roots=tuple((a * b, F) for b, F in self.roots),
            pairs=tuple((a * b, P) for b, P in self.pairs),
            dense=None if self.dense is None else a * self.dense,
            psd=self.psd and a >= 0,
        )

    __rmul__ = __mul__
    __array_ufunc__ = None  # so that an array + a form is refused, and not an array of forms

    def __neg__(self) -> Form:
        return self * -1.0

    def __sub__(self, other: Form) -> Form:
        return self + (-other)

    # ------------------------------------------------------------------ products
    def __matmul__(self, Z: Array) -> Array:
        """Return ``M @ Z`` for dense Z of shape (n,) or (n, r)."""
        out = np.zeros(Z.shape)
        if self.sparse is not None:
            out += self.sparse @ Z
        if self.low_rank is not None:
            U, c = self.low_rank
            out += U @ ((U.T @ Z).T * c).T
        for a, F in self.roots:
            out += a * (F.T @ (F @ Z))
        for a, P in self.pairs:
            out += a * (P @ Z)
        if self.dense is not None:
            out += symmetric_product(self.dense, Z)
        return out

    def quadratic(self, Z: Matrix) -> Array:
        """Return ``Z'MZ``, symmetric, for dense or sparse Z, or `CentredRows`, which are read a block at a time.

        Parts with a factor are computed as squares, so that they are PSD.
        """
        if isinstance(Z, CentredRows):
            return _blockwise_quadratic(self, Z)
        r = Z.shape[1]
        out = np.zeros((r, r))
        if self.sparse is not None and is_sparse(Z):
            out += to_array(Z.T @ (self.sparse @ Z))
        elif self.sparse is not None:
            for j in range(0, r, 256):  # a block of columns at a time: S @ Z of a wide Z would double its memory
                out[:, j : j + 256] += Z.T @ (self.sparse @ Z[:, j : j + 256])
        if self.low_rank is not None:
            U, c = self.low_rank
            P = to_array(U.T @ Z)
            out += (P.T * c) @ P
        for a, F in self.roots:
            FZ = F @ Z
            out += a * to_array(FZ.T @ FZ)
        for a, pairs in self.pairs:
            out += a * pairs.quadratic(to_array(Z))
        if self.dense is not None:
            out += to_array(Z.T @ (self.dense @ to_array(Z)))
        return (out + out.T) / 2

    def ones(self) -> Array:
        """Return ``M 1``."""
        return self @ np.ones(self.n)

    def masses(self) -> Array:
        """Return ``M 1``, with zero for sums that are rounding errors of the entries of M."""
        if self.kills_constant:
            return np.zeros(self.n)
        masses = self.ones()
        return np.where(np.abs(masses) <= 1e-12 * np.abs(self.diagonal()).max(initial=0.0), 0.0, masses)

    def diagonal(self) -> Array:
        out = np.zeros(self.n)
        if self.sparse is not None:
            out += self.sparse.diagonal()
        if self.low_rank is not None:
            U, c = self.low_rank
            out += np.asarray((U.multiply(U) if sp.issparse(U) else U * U) @ c).ravel()
        for a, F in self.roots:
            out += a * np.asarray(F.multiply(F).sum(axis=0)).ravel()
        for a, P in self.pairs:
            out += a * P.diagonal()
        if self.dense is not None:
            out += np.diagonal(self.dense)
        return out

    # ------------------------------------------------------------------ representations
    def assembled(self) -> Form:
        """Return the form with its factors multiplied out into the sparse part, for solvers that factorise it."""
        S = self.sparse
        for a, F in self.roots:
            square = sp.csr_array(F.T @ F)
            square.data *= a
            S = _sum(S, square)
        return replace(self, sparse=S, roots=())

    def extent(self) -> float:
        """Return the sum of the absolute diagonal of the form over the samples."""
        return float(np.abs(self.over_samples().diagonal()).sum())

    def permuted(self, order: Integers) -> Form:
        """Return the form over the samples in another order, for forms of sparse and low-rank parts."""
        return replace(
            self,
            sparse=None if self.sparse is None else permuted(self.sparse, order),
            low_rank=None if self.low_rank is None else (self.low_rank[0][order], self.low_rank[1]),
            # the rows of a square factor are permuted too, which does not change FᵀF
            roots=tuple((a, permuted(F, order) if F.shape[0] == self.n else F[:, order]) for a, F in self.roots),
        )

    def split(self) -> tuple[list[tuple[float, Scatter]], Form | None]:
        """Return the scatters of classes in the form with their factors, and the rest of the form, None if it is empty."""
        found = [(a, P) for a, P in self.pairs if isinstance(P, Scatter)]
        rest = replace(self, pairs=tuple((a, P) for a, P in self.pairs if not isinstance(P, Scatter)))
        empty = rest.sparse is None and rest.dense is None and rest.low_rank is None and not (rest.roots or rest.pairs)
        return found, None if empty and found else rest

    def over_samples(self) -> Form:
        """Return the form with its scatters of classes as forms over the samples, which must be in memory."""
        if not any(isinstance(P, Scatter) for _, P in self.pairs):
            return self
        scatters, rest = self.split()
        forms = [P.form * a for a, P in scatters] + ([] if rest is None else [rest])
        return replace(sum(forms[1:], forms[0]), psd=self.psd, kills_constant=self.kills_constant)

    def written_out(self) -> Form:
        """Return the form as one n×n array."""
        return Form(self.n, dense=self.to_dense(), psd=self.psd, kills_constant=self.kills_constant, needs=self.needs)

    def scaled(self, s: Array) -> Form:
        """Return the congruence ``diag(s) M diag(s)``."""
        S = sp.diags_array(s)
        return replace(
            self,
            sparse=None if self.sparse is None else _scaled(self.sparse, s, s),
            low_rank=None if self.low_rank is None else (S @ self.low_rank[0], self.low_rank[1]),
            roots=tuple((a, _scaled(F, np.ones(F.shape[0]), s)) for a, F in self.roots),
            pairs=tuple((a, P.scaled(s)) for a, P in self.pairs),
            dense=None if self.dense is None else s[:, None] * self.dense * s,
            kills_constant=False,
        )

    def over_groups(self, S: sp.csr_array) -> Form:
        """Return ``SᵀMS`` for groups of samples that share one value; S is their indicator matrix (n, g)."""
        dense = None if self.dense is None else S.T @ self.dense @ S
        if self.pairs:
            dense = _sum(dense, Form(self.n, pairs=self.pairs).quadratic(S))
        return Form(
            S.shape[1],
            sparse=None if self.sparse is None else sp.csr_array(S.T @ self.sparse @ S),
            low_rank=None if self.low_rank is None else (S.T @ self.low_rank[0], self.low_rank[1]),
            roots=tuple((a, sp.csr_array(F @ S)) for a, F in self.roots),
            dense=dense,
            psd=self.psd,
            kills_constant=self.kills_constant,
            needs=self.needs,
        )

    def to_dense(self) -> Array:
        """Return M as an n×n array: for small problems and for tests."""
        if self.dense is not None and self.sparse is None and self.low_rank is None and not (self.roots or self.pairs):
            return self.dense
        out = np.zeros((self.n, self.n)) if self.dense is None else self.dense.copy()
        if self.sparse is not None:
            out += self.sparse.toarray()
        for a, F in self.roots:
            out += a * (F.T @ F).toarray()
        for a, P in self.pairs:
            out += a * P.to_dense()
        if self.low_rank is not None:
            U, c = to_array(self.low_rank[0]), self.low_rank[1]
            out += (U * c) @ U.T
        return out

    def norm(self) -> float:
        """Return an upper bound on the spectral norm, within a small factor for graph matrices."""
        return self._norm

    @cached_property
    def _norm(self) -> float:
        bound = 0.0
        if self.sparse is not None and self.sparse.nnz:
            bound += float(abs(self.sparse).sum(axis=0).max())
        if self.low_rank is not None:
            U, c = self.low_rank
            G = to_array(U.T @ U) if U.shape[1] <= self.n else to_array(U @ U.T)
            bound += float(np.abs(c).max(initial=0.0) * np.abs(G).sum(axis=0).max(initial=0.0))
        for a, F in self.roots:
            rows, columns = abs(F).sum(axis=1).max(), abs(F).sum(axis=0).max()
            bound += abs(a) * float(rows * columns)
        for a, P in self.pairs:
            bound += abs(a) * P.bound()
        if self.dense is not None:
            rows = max(1, 2**20 // max(self.n, 1))  # a block at a time, because |M| would be a second n×n array
            blocks = (self.dense[i : i + rows] for i in range(0, self.n, rows))
            bound += max((float(np.abs(block).sum(axis=1).max()) for block in blocks), default=0.0)
        return bound

    @cached_property
    def is_singular(self) -> bool:
        """True if M, scaled to unit diagonal, is not positive definite beyond rounding. Dense, O(n³): for forms over features."""
        M = self.to_dense()
        d = np.sqrt(np.maximum(np.diagonal(M), 0.0))
        return not d.all() or is_singular(M / np.outer(d, d))

    def is_diagonal(self) -> bool:
        """Return True if M is diagonal: such a unit form is divided out instead of factorised."""
        if self.low_rank is not None or self.dense is not None or self.roots or self.pairs or self.sparse is None:
            return False
        rows = np.repeat(np.arange(self.n), np.diff(self.sparse.indptr))
        return bool(np.all((rows == self.sparse.indices) | (self.sparse.data == 0)))


def _scaled(M: sp.csr_array, left: Array, right: Array) -> sp.csr_array:
    """Return ``diag(left) M diag(right)`` without a sparse product."""
    data = M.data * right[M.indices]
    data *= np.repeat(left, np.diff(M.indptr))
    # sorting one matrix in place must not change the indices of the other
    indices = M.indices if M.has_sorted_indices else M.indices.copy()
    return sp.csr_array((data, indices, M.indptr), shape=M.shape)


def strongest(*needs: Needs) -> Needs:
    """Return the strongest of several properties of a graph, each of which implies the weaker ones."""
    return max(needs, key=get_args(Needs).index)


def _sum(a: Matrix | None, b: Matrix | None) -> Matrix | None:
    return b if a is None else a if b is None else a + b


def _gathered(S: sp.csr_array, Z: CentredRows) -> Iterator[tuple[slice, Array]]:
    """Yield ``S @ Z`` a few rows at a time, with only the needed rows of Z in memory."""
    n, D = S.shape[0], Z.shape[1]
    step = max(1, _GATHERED * n // max(1, S.nnz * D))
    for i in range(0, n, step):
        part = S[i : i + step]
        touched, places = np.unique(part.indices, return_inverse=True)
        local = sp.csr_array((part.data, places, part.indptr), shape=(part.shape[0], touched.size))
        yield slice(i, i + step), local @ Z[touched]


def _blockwise_quadratic(M: Form, Z: CentredRows) -> Array:
    """Return ``Z'MZ`` without a copy of Z: graph parts gather neighbours, the other parts need one pass over the rows."""
    D = Z.shape[1]
    out = np.zeros((D, D))
    if M.sparse is not None:
        for part, SZ in _gathered(M.sparse, Z):
            out += Z[part].T @ SZ
    for a, F in M.roots:
        for _, FZ in _gathered(F, Z):
            out += a * (FZ.T @ FZ)
    for a, pairs in M.pairs:
        out += a * pairs.quadratic(Z)
    if M.low_rank is not None:
        U, c = M.low_rank
        P = np.zeros((U.shape[1], D))
        for part in blocks(*Z.shape):
            P += U[part].T @ Z[part]
        out += (P.T * c) @ P
    if M.dense is not None:
        whole = Z[:]
        out += whole.T @ (M.dense @ whole)
    return (out + out.T) / 2


def identity(n: int) -> Form:
    """Return the form of I: ``Σ y²``. PSD; does not kill the constant.

    Examples
    --------
    >>> from eigenspan.forms import identity
    >>> float(identity(3).to_dense().trace())
    3.0
    """
    return Form(n, sparse=sp.eye_array(n, format="csr"), psd=True)


def diagonal(d: Array) -> Form:
    """Return the form of ``diag(d)``: ``Σ d y²``. PSD if d ≥ 0.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenspan.forms import diagonal
    >>> diagonal(np.array([1.0, 2.0])).psd
    True
    """
    d = real_numbers(d, "A diagonal", InputError)
    if d.ndim != 1 or not np.isfinite(d).all():
        raise InputError(f"A diagonal must be a vector of finite numbers; got {d!r:.60}.")
    return Form(d.size, sparse=sp.diags_array(d, format="csr"), psd=bool(np.all(d >= 0)))


def gram(K: Matrix, *, centre: bool = True, psd: bool = True, masses: Array | None = None) -> Form:
    """Return the form of a dense Gram matrix, centred as ``HKH`` if `centre`. K is overwritten.

    Masses are multiplicities of samples: means are weighted by them, and the form is ``m_i (HKH)_ij m_j``.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenspan.forms import gram
    >>> X = np.array([[0.0], [1.0], [2.0]])
    >>> gram(X @ X.T).to_dense()
    array([[ 1.,  0., -1.],
           [ 0.,  0.,  0.],
           [-1.,  0.,  1.]])
    """
    if centre:
        means = K.mean(axis=0) if masses is None else masses @ K / masses.sum()
        middle = np.average(means, weights=masses)
        rows = max(1, 2**18 // max(K.shape[0], 1))  # both corrections are made while a block of rows is in the cache
        for i in range(0, K.shape[0], rows):
            block = K[i : i + rows]
            block -= means
            block -= (means[i : i + rows] - middle)[:, None]
    if masses is not None:
        K *= masses
        K *= masses[:, None]
    return Form(K.shape[0], dense=K, psd=psd, kills_constant=centre)


def factor_gram(R: Matrix, *, centre: bool = True) -> Form:
    """Return the form of ``RRᵀ`` from its n×r factor, centred by subtracting the column means; no n×n array is needed.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenspan.forms import factor_gram
    >>> factor_gram(np.array([[0.0], [1.0], [2.0]])).diagonal()
    array([1., 0., 1.])
    """
    R = R - R.mean(axis=0) if centre else R
    return Form(R.shape[0], low_rank=(R, np.ones(R.shape[1])), psd=True, kills_constant=centre)


# ---------------------------------------------------------------------- scatters of classes
@dataclass(frozen=True, eq=False)
class Scatter:
    """A scatter of classes as a part of a form.

    A basis with sums over the rows restricts the scatter from these sums, in any storage. Every other basis multiplies with `form`, the
    form over the samples, which needs the class of every row in memory.

    Attributes
    ----------
    kind : str
    classes : Classes, LazyClasses, PastClasses or None
        None for the scatter of all rows.
    over_codes : callable
        ``codes -> Form`` over the samples.
    """

    kind: Kind
    classes: AnyClasses | None
    over_codes: Callable[[Index], Form]

    @cached_property
    def form(self) -> Form:
        codes = np.empty(0, dtype=np.intp) if self.classes is None else cast(Classes, self.classes).codes
        return self.over_codes(codes)

    def __matmul__(self, Z: Array) -> Array:
        return self.form @ Z

    def quadratic(self, Z: Array) -> Array:
        return self.form.quadratic(Z)

    def diagonal(self) -> Array:
        return self.form.diagonal()

    def bound(self) -> float:
        return self.form.norm()

    def scaled(self, s: Array) -> Self:
        return replace(self, over_codes=lambda codes: self.form.scaled(s))

    def to_dense(self) -> Array:
        return self.form.to_dense()


def scatter_form(
    kind: Kind, classes: ClassesOrCodes, over_codes: Callable[[Index], Form], kills_constant: bool = False
) -> Form:
    """Return a form of one scatter. For class codes it is a form over the samples."""
    if not isinstance(classes, Classes | LazyClasses | PastClasses):
        return over_codes(class_codes(classes))
    return Form(classes.n, pairs=((1.0, Scatter(kind, classes, over_codes)),), psd=True, kills_constant=kills_constant)
