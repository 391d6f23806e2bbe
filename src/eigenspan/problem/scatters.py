"""Scatter between and within classes over the coordinates of a basis, however the rows were read: at once, from a file or in parts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..data.rows.moments import Sums
from ..data.rows.storage import on_disk
from .basis import Features
from .form import Form

Array = NDArray[np.float64]
Codes = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Scatters:
    """What a discriminant needs of the data.

    Attributes
    ----------
    basis : Features
        Its origin is the mean of all rows.
    counts, means : ndarray of shape (c,), (c, r)
        Labelled rows of every class, and their mean over the coordinates.
    between, within, everyone : Form
        Scatter of the class means, of the labelled rows about them, and of all rows about their mean, over the coordinates.
    sums : Sums or None
        Over the features themselves, where these are all that was needed: rows can be added to them.
    smooth : Form or None
        ``Z'LZ`` of a graph of all rows, where there is one.
    """

    basis: Features
    counts: Array
    means: Array
    between: Form
    within: Form
    everyone: Form
    sums: Sums | None = None
    smooth: Form | None = None

    @staticmethod
    def of_sums(sums: Sums, X: Any = None) -> Scatters:
        """From sums over the rows, which need not be at hand."""
        full = True if sums.is_full else None if sums.everyone.root is None else False
        return _over(Features.of_moments(sums.everyone, X, full=full), sums, sums)

    @staticmethod
    def of_rows(X: Any, codes: Codes, classes: int) -> Scatters:
        """In one pass over many rows of few features, which stay where they are."""
        return Scatters.of_sums(Sums.read(X, codes, classes), None if on_disk(X) else X)

    @staticmethod
    def of_classes(X: Any, y: Any) -> Scatters:
        """The same of classes y that were read with the rows, wherever both lie."""
        return Scatters.of_sums(Sums.by_class(X, y), None if on_disk(X) else X)

    @staticmethod
    def of_features(features: Any, X: Any, y: Any, relative_ridge: float = 1e-3) -> Scatters:
        """Of the features of rows that lie elsewhere, worked out there; the basis has the ridge of kernels."""
        found = Scatters.of_classes(X.mapped(features, features.axes.shape[1]), y)
        return replace(found, basis=replace(found.basis, rows=features, relative_ridge=relative_ridge))

    @staticmethod
    def of_basis(basis: Features, codes: Codes, classes: int) -> Scatters:
        """Of samples whose coordinates are at hand; sparse ones stay sparse."""
        if sp.issparse(basis.raw) and basis.scores is None:
            sums = Sums.of(basis.raw, codes, classes)
            return _over(basis, sums if basis.lift is None else sums.factored(basis.raw, codes), None)
        basis = basis.centred(np.ones(basis.raw.shape[0]))
        own = Sums.of(basis.Z, codes, classes)
        between, within, everyone = (Form(basis.dim, dense=S, psd=True) for S in _parts(own))
        return Scatters(basis, own.labelled.counts, own.labelled.means, between, within, everyone)


def _over(basis: Features, sums: Sums, kept: Sums | None) -> Scatters:
    """Sums over the features, turned to the coordinates."""
    means = sums.labelled.about(basis.offset)
    means = means if basis.lift is None else means @ np.asarray(basis.lift)
    if basis.lift is None or sums.everyone.root is None:
        between, within, everyone = (basis.compress(S) for S in _parts(sums))
    else:
        roots: Any = (sums.labelled.gaps(), sums.labelled.root, sums.everyone.root)
        between, within, everyone = (basis.compress_root(F) for F in roots)
        everyone = everyone if basis.sizes is None else basis.total()
    return Scatters(basis, sums.labelled.counts, means, between, within, everyone, kept)


def _parts(sums: Sums) -> tuple[Array, Array, Array]:
    return sums.labelled.between(), sums.labelled.scatter, sums.everyone.scatter
