"""Scatter between and within classes: a part of forms over the samples, and its value over the coordinates of a basis."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal, Self, TypeAlias, cast

import numpy as np
import scipy.sparse as sp

from .._types import Array, Index
from ..data import Classes, LazyClasses, PastClasses
from ..data.rows.moments import Sums
from .form import Form

if TYPE_CHECKING:
    from .basis import Features

#: Kinds of scatter: class means about the mean of the labelled rows, labelled rows about their class means, about their mean, and about
#: the origin, class sums about the mean, and all rows about their mean.
Kind = Literal["between", "within", "total", "labelled", "sums", "everyone"]


#: Classes of rows in any storage.
AnyClasses: TypeAlias = Classes | LazyClasses | PastClasses
#: Classes of rows, or the class codes of all rows in memory.
ClassesOrCodes: TypeAlias = AnyClasses | Index


@dataclass(frozen=True, eq=False)
class Scatters:
    """Class means and scatter matrices over the coordinates of a basis, for discriminant analysis.

    Attributes
    ----------
    basis : Features
        Its origin is the mean of all rows.
    counts, means : ndarray of shape (c,), (c, r)
        Number and mean of the labelled rows of every class.
    between, within, everyone : Form
        Scatter of the class means, of the labelled rows about them, and of all rows about their mean.
    sums : Sums or None
        The sums over the features, if the scatters were computed from these; rows can be added to them.
    """

    basis: Features
    counts: Array
    means: Array
    between: Form
    within: Form
    everyone: Form
    sums: Sums | None = None

    @staticmethod
    def of(basis: Features, classes: AnyClasses) -> Scatters:
        """Return the scatters of classes, from the sums of the basis or the coordinates of the rows; sparse rows stay sparse."""
        if basis.sums is not None:
            return basis.scatters
        assert not isinstance(classes, PastClasses), "classes without rows have sums"
        codes, count = classes.codes, classes.count
        if sp.issparse(basis.raw) and basis.scores is None:
            sums = Sums.of(basis.raw, codes, count)
            sums = sums if basis.lift is None else sums.factored(basis.raw, codes)
            return replace(Scatters.of_sums(basis, sums), sums=None)
        basis = basis.centred(np.ones(basis.raw.shape[0]))
        own = Sums.of(basis.Z, codes, count)
        between, within, everyone = (Form(basis.dim, dense=S, psd=True) for S in _parts(own))
        return Scatters(basis, own.labelled.counts, own.labelled.means, between, within, everyone)

    @staticmethod
    def of_sums(basis: Features, sums: Sums) -> Scatters:
        """Return the scatters from sums over the features, restricted to the coordinates."""
        means = sums.labelled.about(basis.offset)
        means = means if basis.lift is None else means @ np.asarray(basis.lift)
        if basis.lift is None or sums.everyone.root is None or sums.labelled.root is None:
            between, within, everyone = (basis.compress(S) for S in _parts(sums))
        else:
            roots = (sums.labelled.gaps(), sums.labelled.root, sums.everyone.root)
            between, within, everyone = (basis.compress_root(F) for F in roots)
            everyone = everyone if basis.sizes is None else basis.total()
        return Scatters(basis, sums.labelled.counts, means, between, within, everyone, sums)

    def value(self, kind: Kind) -> Form:
        """Return the scatter of this kind. "labelled" is about the mean of the labelled rows, which is then the origin."""
        if kind == "sums":
            S = (self.means - self.counts @ self.means / self.counts.sum()) * self.counts[:, None]
            return Form(S.shape[1], dense=S.T @ S, psd=True)
        if kind in ("total", "labelled"):
            return self.between + self.within
        return {"between": self.between, "within": self.within, "everyone": self.everyone}[kind]

    def trace(self, kind: Kind) -> float:
        """Return the trace of the form of this scatter over the samples."""
        assert self.sums is not None
        m, c, own = float(self.counts.sum()), self.counts.size, float(self.counts @ self.counts)
        traces = {"between": c - 1.0, "within": m - c, "total": m - 1.0, "labelled": m, "everyone": self.sums.n - 1.0}
        return m - own / m if kind == "sums" else traces[kind]


def _parts(sums: Sums) -> tuple[Array, Array, Array]:
    return sums.labelled.between(), sums.labelled.scatter, sums.everyone.scatter


# ---------------------------------------------------------------------- as a part of a form
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
    if isinstance(classes, np.ndarray):
        return over_codes(classes)
    return Form(classes.n, pairs=((1.0, Scatter(kind, classes, over_codes)),), psd=True, kills_constant=kills_constant)


def split(M: Form) -> tuple[list[tuple[float, Scatter]], Form | None]:
    """Return the scatters in a form with their factors, and the rest of the form, None if it is empty."""
    found = [(a, P) for a, P in M.pairs if isinstance(P, Scatter)]
    rest = replace(M, pairs=tuple((a, P) for a, P in M.pairs if not isinstance(P, Scatter)))
    empty = rest.sparse is None and rest.dense is None and rest.low_rank is None and not (rest.roots or rest.pairs)
    return found, None if empty and found else rest


def written_out(M: Form) -> Form:
    """Return the form with its scatters written as forms over the samples."""
    scatters, rest = split(M)
    if not scatters:
        return M
    forms = [P.form * a for a, P in scatters] + ([] if rest is None else [rest])
    return replace(sum(forms[1:], forms[0]), psd=M.psd, kills_constant=M.kills_constant)


def extent(M: Form, scatters: Scatters | None) -> float:
    """Return the sum of the absolute diagonal of a form over the samples; traces replace it for scatters without their samples."""
    found, rest = split(M)
    if scatters is None or not found:
        return float(np.abs(written_out(M).diagonal()).sum())
    return sum(abs(a) * scatters.trace(P.kind) for a, P in found) + (0.0 if rest is None else extent(rest, None))
