"""Relations between two calls of an estimator: each changes a case in a way whose effect is known.

A relation returns its violation as a share of the extent of the embedding (0: it holds; inf: no comparison is possible), and a description.
`promises` declares the cases for which it is promised.
"""

from __future__ import annotations

import pickle
import tempfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.base import clone

import eigenspan as es
from eigenspan.errors import ModelError

from .case import Case
from .compare import difference, entrywise, same_bits
from .data import CONTAINERS
from .trial import Fit, Trial

Found = tuple[float, str]
HOLDS: Found = (0.0, "")


@dataclass(frozen=True)
class Relation:
    """`exact`: results must be bitwise equal. `refits`: needs one more fit."""

    name: str
    check: Callable[[Trial], Found]
    exact: bool = False
    refits: bool = True


RELATIONS: dict[str, Relation] = {}


def relation(name: str, *, exact: bool = False, refits: bool = True) -> Any:
    def enter(check: Callable[[Trial], Found]) -> Callable[[Trial], Found]:
        RELATIONS[name] = Relation(name, check, exact, refits)
        return check

    return enter


def rng_of(t: Trial, name: str) -> Any:
    return np.random.default_rng([t.case.seed, zlib.crc32(name.encode())])


def taken(y: Any, rows: Any) -> Any:
    """Return labels, or each of several label arrays, of some rows."""
    if y is None:
        return None
    return tuple(part[rows] for part in y) if isinstance(y, tuple) else y[rows]


def _compared(t: Trial, other: Fit, rows: Any = None, *, up_to_scale: bool = False) -> Found:
    """Compare the embedding of another fit with that of the case; row i of the former is row `rows[i]` of the latter."""
    base = t.plain()
    if other.refusal and base.refusal:
        return HOLDS  # after rounding to single precision a fit may succeed
    if other.refusal or base.refusal:
        return np.inf, f"only one of the two fits is refused: {other.refusal or base.refusal}"
    Y = base.embedding if rows is None else base.embedding[rows]
    off = difference(Y, other.embedding, up_to_scale=up_to_scale)
    return off, f"embeddings differ by {off:.1e} of their extent"


def _apart(t: Trial, one: Any, other: Any) -> float:
    """Return the largest difference of two positions of new points, as a share of the extent of the embedding or of the positions."""
    extent = np.abs(t.base.embedding).max(initial=0.0)
    size = max(extent, np.abs(one).max(initial=0.0), np.finfo(float).tiny)
    return float(np.abs(np.asarray(one, dtype=np.float64) / size - np.asarray(other, dtype=np.float64) / size).max())


def _bits(one: Any, other: Any, what: str) -> Found:
    if isinstance(one, str) or isinstance(other, str):
        said = one if isinstance(one, str) else other
        return HOLDS if isinstance(one, str) and isinstance(other, str) else (np.inf, f"{what}: refused, {said}")
    return HOLDS if same_bits(one, other) else (np.inf, f"{what}: other bits, off by {entrywise(one, other):.1e}")


# ---------------------------------------------------------------------- one fit
@relation("finite", exact=True, refits=False)
def finite(t: Trial) -> Found:
    """Embedding and transform have the right shape and are finite."""
    Y, n = t.base.embedding, len(t.X)
    width = t.case.get("n_components")
    if Y.ndim != 2 or Y.shape[0] != n or (width.isdigit() and Y.shape[1] != int(width)):
        return np.inf, f"embedding_ has shape {Y.shape} for {n} rows"
    if not np.all(np.isfinite(Y)):
        return np.inf, f"embedding_ has {np.sum(~np.isfinite(Y))} entries that are not finite"
    if t.case.given == "X" and t.case.geometry != "missing":
        new = 0.6 * t.X[:-1] + 0.4 * t.X[1:]
        Z = t.places(t.base, CONTAINERS[t.case.container](new))
        if isinstance(Z, str):
            return np.inf, f"points between those of the fit are refused: {Z}"
        if Z.shape != (n - 1, Y.shape[1]) or not np.all(np.isfinite(Z)):
            return np.inf, f"new points: shape {Z.shape}, {np.sum(~np.isfinite(Z))} entries that are not finite"
    return HOLDS


@relation("input unchanged", exact=True, refits=False)
def input_unchanged(t: Trial) -> Found:
    """Fit and transform change neither X nor y."""
    X, given, y = t.case.make_points(), t.case.make_given(t.X), t.case.make_labels(t.X)
    A = CONTAINERS[t.case.container](given)
    fit = t.fit(t.X, y, given=A)
    if not fit.refusal:
        t.places(fit, A)
    if t.case.container != "dask" and not same_bits(_plain(A), _plain(CONTAINERS[t.case.container](given))):
        return np.inf, "X was written on"
    if not np.array_equal(X, t.X, equal_nan=True) or not _same_labels(y, t.case.make_labels(t.X)):
        return np.inf, "the points or the labels were written on"
    return HOLDS


@relation("transform of training rows", refits=False)
def transform_of_training(t: Trial) -> Found:
    """transform(X) equals embedding_."""
    Z = t.places(t.base, _contained(t))
    if isinstance(Z, str):
        return np.inf, f"the training rows are refused: {Z}"
    off = entrywise(t.base.embedding, Z)
    return off, f"transform(X) and embedding_ differ by {off:.1e} of the extent"


@relation("subset transform", refits=False)
def subset_transform(t: Trial) -> Found:
    """Rows are mapped independently: a subset has the same positions as among all rows."""
    rows = np.sort(rng_of(t, "subset").choice(len(t.X), max(1, len(t.X) // 3), replace=False))
    shift = 0.01 * (np.roll(t.X, 1, axis=0) - t.X) if t.case.given == "X" else None
    A = t.given if shift is None else t.X + shift
    held = CONTAINERS[t.case.container]
    full = held(A)
    some = type(full)(sp.csr_array(full)[rows]) if sp.issparse(full) else held(A[rows])  # keep stored zeros
    whole, part = t.places(t.base, full), t.places(t.base, some)
    if isinstance(whole, str) or isinstance(part, str):
        return HOLDS if type(whole) is type(part) else (np.inf, "some of the rows are refused, and all are not")
    off = _apart(t, whole[rows], part)
    return off, f"rows alone get places {off:.1e} of the extent away"


@relation("new points in an array", refits=False)
def new_points_in_an_array(t: Trial) -> Found:
    """New points may have another container than the points of the fit."""
    A = 0.5 * (t.X + np.roll(t.X, 1, axis=0)) if t.case.given == "X" else t.given
    if t.case.container == "float32":
        A = A.astype(np.float32)
    held, plain = t.places(t.base, CONTAINERS[t.case.container](A)), t.places(t.base, A.astype(np.float64))
    if isinstance(held, str) or isinstance(plain, str):
        return (
            HOLDS
            if type(held) is type(plain)
            else (np.inf, f"refused in one of two containers: {held if isinstance(held, str) else plain}")
        )
    off = entrywise(plain, held)
    return (
        0.0 if off <= 1e-5 and t.case.container == "float32" else off
    ), f"places in two containers are {off:.1e} of the extent apart"


@relation("pickle", exact=True, refits=False)
def pickled(t: Trial) -> Found:
    """A pickled copy gives bitwise equal results."""
    copy, refusal = t.quietly(lambda: pickle.loads(pickle.dumps(t.base.estimator)))
    if refusal:
        return np.inf, f"cannot be pickled: {refusal}"
    A = _contained(t)
    return _bits(t.places(t.base, A), t.places(Fit(copy), A), "a pickled copy")


@relation("save and load", exact=True, refits=False)
def saved(t: Trial) -> Found:
    """A loaded model gives bitwise equal results; models that cannot be saved are refused."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.eigenspan"
        copy, refusal = t.quietly(lambda: (es.save(t.base.estimator, path), es.load(path))[1])
    if refusal:
        return HOLDS if refusal.startswith(ModelError.__name__) else (np.inf, refusal)
    A = _contained(t)
    return _bits(t.places(t.base, A), t.places(Fit(copy), A), "a loaded model")


@relation("parameters", exact=True, refits=False)
def parameters(t: Trial) -> Found:
    """fit does not change parameters, and a clone has the same parameters."""
    made = t.case.make_estimator(t.X)
    for name, value in made.get_params(deep=False).items():
        now = t.base.estimator.get_params(deep=False)[name]
        if not (now is value or repr(now) == repr(value)):
            return np.inf, f"{name} was {value!r:.60} and is {now!r:.60} after fit"
    copy = clone(t.base.estimator)
    if repr(copy.get_params()) != repr(t.base.estimator.get_params()):
        return np.inf, "a clone has other parameters"
    return HOLDS


# ---------------------------------------------------------------------- fits of the same
@relation("fit twice", exact=True)
def twice(t: Trial) -> Found:
    """A repeated fit gives bitwise equal results."""
    other = t.fit(t.X, t.y, container=t.case.container)
    return _bits(t.base.embedding, other.refusal or other.embedding, "a second fit")


@relation("refit", exact=True)
def refitted(t: Trial) -> Found:
    """An estimator that was fitted to other data before gives bitwise equal results."""
    made = t.case.make_estimator(t.X)
    half = np.arange(0, len(t.X), 2)
    given = t.case.make_given(t.X)
    part = given[half] if t.case.given == "X" else given[np.ix_(half, half)]
    t.quietly(lambda: made.fit(part, taken(t.y, half)))
    other = t.fit(t.X, t.y, container=t.case.container, estimator=made)
    return _bits(t.base.embedding, other.refusal or other.embedding, "a refit")


@relation("fit_transform", exact=True)
def fit_transform(t: Trial) -> Found:
    """fit_transform returns embedding_ of fit; for two views, their variates."""
    made, A = t.case.make_estimator(t.X), _contained(t)
    found, refusal = t.quietly(lambda: made.fit_transform(A, t.y))
    if refusal:
        return np.inf, f"refused, and fit is not: {refusal}"
    found = found[0] if isinstance(found, tuple) else found
    found = found.compute() if hasattr(found, "compute") else found
    return _bits(t.base.embedding, np.asarray(found), "fit_transform")


@relation("n_jobs")
def jobs(t: Trial) -> Found:
    """The number of threads has no effect."""
    other = t.fit(t.X, t.y, estimator=t.case.make_estimator(t.X).set_params(n_jobs=2))
    return _compared(t, other)


@relation("labels renamed")
def renamed(t: Trial) -> Found:
    """The names of the classes have no effect."""
    names = {0: 17, 1: 3, 2: 8, -1: -1}
    y = np.array([names.get(label, label) for label in t.y], dtype=t.y.dtype)
    return _compared(t, t.fit(t.X, y))


@relation("containers")
def containers(t: Trial) -> Found:
    """The container of X has no effect on embedding and map."""
    given = t.case.make_given(t.X)
    if t.case.container == "float32":
        given = given.astype(np.float32).astype(np.float64)
    plain, held = t.fit(t.X, t.y, given=given), t.base
    if plain.refusal:
        return np.inf, f"an array is refused and {t.case.container} is not: {plain.refusal}"
    off = difference(plain.embedding, held.embedding)
    if t.case.container == "float32" and off <= 1e-5:
        return HOLDS
    return off, f"embeddings of an array and of {t.case.container} differ by {off:.1e} of their extent"


# ---------------------------------------------------------------------- fits of changed points
@relation("last digits")
def last_digits(t: Trial) -> Found:
    """A change of the last digits of X has no visible effect, or there is a warning."""
    if t.plain().refusal:
        return HOLDS  # after rounding to single precision a fit may succeed
    off = t.sensitivity(by_column=True)
    return (
        0.0 if off <= 1e-3 else off
    ), f"a change of two units in the last place of X moves the embedding by {off:.1e}"


@relation("row order")
def row_order(t: Trial) -> Found:
    """The order of the rows has no effect."""
    order = rng_of(t, "rows").permutation(len(t.X))
    return _compared(t, t.fit(t.X[order], taken(t.y, order)), order)


@relation("column order")
def column_order(t: Trial) -> Found:
    """The order of the columns has no effect."""
    return _compared(t, t.fit(t.X[:, rng_of(t, "columns").permutation(t.X.shape[1])], t.y))


@relation("scale by two")
def scale_by_two(t: Trial) -> Found:
    """Scaling points by a power of two, which is exact, keeps the shape of the embedding."""
    factor = 2.0 ** int(rng_of(t, "power").integers(-30, 30))
    return _compared(t, t.fit(t.X * factor, t.y), up_to_scale=True)


@relation("scale")
def scale(t: Trial) -> Found:
    """Scaling points by another number keeps the shape of the embedding."""
    factor = 10.0 ** rng_of(t, "factor").uniform(-4, 4)
    return _compared(t, t.fit(t.X * factor, t.y), up_to_scale=True)


@relation("rotation")
def rotation(t: Trial) -> Found:
    """Rotating points about the origin has no effect."""
    D = t.X.shape[1]
    Q = np.linalg.qr(rng_of(t, "rotation").standard_normal((D, D)))[0]
    return _compared(t, t.fit(t.X @ Q, t.y))


@relation("translation")
def translation(t: Trial) -> Found:
    """Shifting all points by a few times their extent has no effect."""
    shift = 3 * np.ptp(t.X, axis=0).max() * rng_of(t, "shift").standard_normal(t.X.shape[1])
    return _compared(t, t.fit(t.X + shift, t.y))


@relation("rows doubled")
def doubled(t: Trial) -> Found:
    """Duplicating all points changes only the scale."""
    rows = rng_of(t, "double").permutation(np.repeat(np.arange(len(t.X)), 2))
    return _compared(t, t.fit(t.X[rows], taken(t.y, rows)), rows, up_to_scale=True)


@relation("parts")
def parts(t: Trial) -> Found:
    """partial_fit of the rows in chunks equals fit of all rows."""
    made = t.case.make_estimator(t.X)
    if not hasattr(made, "partial_fit"):
        return HOLDS
    pieces = np.array_split(np.arange(len(t.X)), min(3, len(t.X)))

    def run() -> Any:
        for rows in pieces:
            made.partial_fit(t.X[rows], taken(t.y, rows))
        waits = isinstance(made, es.CCA | es.MultiviewCCA) and not hasattr(made, "map_")
        return None if waits else made.transform(t.X)

    found, refusal = t.quietly(run)
    if found is None and not refusal:
        return HOLDS  # partial_fit waits for more rows than columns; with fewer, fit warns of meaningless correlations
    if refusal:
        return np.inf, f"refused, and fit is not: {refusal}"
    off = difference(t.plain().embedding, found)
    return off, f"partial_fit and fit differ by {off:.1e} of the extent"


@relation("inverse")
def inverse(t: Trial) -> Found:
    """transform is a left inverse of inverse_transform for linear maps."""
    Y = np.asarray(t.plain().embedding)
    if not hasattr(t.plain().estimator, "inverse_transform"):
        return HOLDS
    back, refusal = t.quietly(lambda: t.plain().estimator.inverse_transform(Y))
    if refusal:
        return np.inf, refusal
    Z = t.places(t.plain(), back)
    if isinstance(Z, str):
        return np.inf, f"transform refuses what inverse_transform returns: {Z}"
    off = entrywise(Y, Z)
    return off, f"transform(inverse_transform(Y)) differs from Y by {off:.1e} of the extent"


# ---------------------------------------------------------------------- containers of a trial
def _contained(t: Trial) -> Any:
    return CONTAINERS[t.case.container](t.case.make_given(t.X))


def _plain(A: Any) -> Any:
    if sp.issparse(A):
        return A.toarray()
    return A.to_numpy() if isinstance(A, pd.DataFrame) or hasattr(A, "to_numpy") else np.asarray(A)


def _same_labels(y: Any, z: Any) -> bool:
    if y is None:
        return z is None
    if isinstance(y, tuple):
        return all(_same_labels(a, b) for a, b in zip(y, z, strict=True))
    return bool(pd.Series(np.ravel(y)).equals(pd.Series(np.ravel(z))))


__all__ = ["HOLDS", "RELATIONS", "Case", "Found", "Relation"]
