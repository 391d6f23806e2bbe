"""Scatter between and within classes over the coordinates of a basis."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from .._types import Array
from ..data import PastClasses
from ..data.rows.moments import Sums
from .form import AnyClasses, Form, Kind

if TYPE_CHECKING:
    from .basis import Features


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

    def extent(self, M: Form) -> float:
        """Return `Form.extent`, with the traces of scatters in place of their samples."""
        found, rest = M.split()
        return sum(abs(a) * self.trace(P.kind) for a, P in found) + (0.0 if rest is None else rest.extent())


def _parts(sums: Sums) -> tuple[Array, Array, Array]:
    return sums.labelled.between(), sums.labelled.scatter, sums.everyone.scatter
