"""Kernel methods by several routes: every container of the points, and the kernel matrix itself, must lead to the same fit.

The reference of a case is a fit whose kernel values are computed in decimal arithmetic of 100 digits, with the mean of the feature space
taken off before they are rounded: `Exact`. `kernel_cases` makes the cases from the registry, so that a new method with ``kernel=`` is
compared without further work.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal, localcontext
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import scipy.linalg as la

import eigenspan as es
from eigenspan.errors import DegenerateWarning, EigenspanError, PrecisionWarning
from eigenspan.methods.registry import TABLE
from routes import OFFSETS, Problem, by_route, centred, sine

#: Rows of each problem: the exact kernel values take n² products of 100 digits.
ROWS = 90
LANDMARKS = np.arange(0, ROWS, 5)
DIGITS = 100

KERNELS: dict[str, Any] = {
    "linear": "linear",
    "rbf": es.Kernel("rbf", gamma=0.25),
    "poly": es.Kernel("poly", degree=2, gamma=0.25, coef0=1.0),
    "cosine": "cosine",
}
#: Routes by the points, and by the kernel matrix in double and in single precision.
POINTS = ("array", "fortran", "sparse", "memmap", "frame", "float32")
MATRICES = ("precomputed", "precomputed-float32")

#: Methods that read the points too, where X holds points.
READ_POINTS = {"SupervisedNonlinearLocalEmbedding"}
#: Size from which on eigenvalues are compared relative to themselves, as a share of the largest: smaller ones are known to 1e-12 of it.
FLOOR = 1e-6

#: Tolerances of a method that descends to where its criterion stops improving, and of one that looks for the smallest eigenvalues: they
#: differ by 7e-10 where the form has norm 27, so that its rounding turns the axes by some 1e-6.
LESS_DETERMINED = {"LAD": 1e-3, "ONPP": 1e-5}
#: Routes that may have a reference of their own.
OWN_REFERENCE = MATRICES
#: Cases whose eigenvalues or likelihoods coincide, or whose graph falls into classes, on well-scaled points too: a warning says so.
TIED = {"ONPP-rbf", "ContourRegression-rbf", "LAD-rbf"}

#: Methods of kernels in the registry that are not compared, and why.
KERNELS_LEFT_OUT = {
    "GraphEmbeddingFramework": "the fit of TraceReducer, with its parameters under other names",
    "KernelLearner": "learns a kernel and has no embedding",
}


# ---------------------------------------------------------------------- exact values
def _decimals(X: Any) -> Any:
    return np.array([[Decimal(float(x)) for x in row] for row in X], dtype=object)


def exact_values(kernel: str, X: Any, Z: Any) -> Any:
    """Kernel values of all pairs of rows, as decimal numbers."""
    A, B = _decimals(X), _decimals(Z)
    if kernel == "rbf":
        squares = sum((A[:, [f]] - B[:, f]) ** 2 for f in range(A.shape[1]))
        return np.frompyfunc(lambda s: (s * Decimal("-0.25")).exp(), 1, 1)(squares)
    products = A @ B.T
    if kernel == "poly":
        return (products * Decimal("0.25") + 1) ** 2
    if kernel == "cosine":
        a, b = (np.frompyfunc(lambda row: row.sqrt(), 1, 1)((C * C).sum(axis=1)) for C in (A, B))
        return products / a[:, None] / b
    return products


@dataclass(frozen=True, eq=False)
class Exact:
    """Exact kernel values of the points of a problem, as a function of two arrays of its rows.

    Attributes
    ----------
    rows : dict
        Number of each row, by its bytes.
    values : ndarray
        Correctly rounded kernel values.
    centred : ndarray
        The same about the mean of the feature space.
    """

    rows: dict[bytes, int]
    values: Any
    centred: Any

    @classmethod
    def of(cls, kernel: str, X: Any) -> Exact:
        with localcontext(prec=40 if kernel == "rbf" else DIGITS):
            K = exact_values(kernel, X, X)
            means = K.sum(axis=0) / len(K)
            centred = K - means - means[:, None] + means.sum() / len(K)
        rows = {row.tobytes(): i for i, row in enumerate(np.ascontiguousarray(X))}
        return cls(rows, K.astype(np.float64), centred.astype(np.float64))

    def places(self, X: Any) -> list[int]:
        """Numbers of the rows of X."""
        return [self.rows[row.tobytes()] for row in np.ascontiguousarray(X)]


# ---------------------------------------------------------------------- cases
@dataclass(frozen=True, eq=False)
class KernelRouted:
    """A method with a kernel, over all points or over landmarks, of which all routes are compared.

    Attributes
    ----------
    method : str
        Name in the registry, or `TraceReducer`.
    kernel : str
        Key of `KERNELS`; empty for a method whose kernel is made of geodesics.
    landmarks : bool
    target : str
        What y holds, as the registry says.
    routes : tuple of str
    """

    method: str
    kernel: str
    landmarks: bool
    target: str
    routes: tuple[str, ...]
    offsets: tuple[float, ...] = OFFSETS

    @property
    def name(self) -> str:
        return "-".join(part for part in (self.method, self.kernel, "landmarks" * self.landmarks) if part)

    def tolerance(self, usual: float) -> float:
        return LESS_DETERMINED.get(self.method, usual)

    def make(self, kernel: Any) -> Any:
        settings: dict[str, Any] = {"n_components": 2}
        if self.kernel:
            settings["kernel"] = kernel
        if self.landmarks:
            settings["landmarks"] = LANDMARKS
        if self.method == "KernelCCA":
            settings["kernel_y"] = "rbf"
        if self.method == "TraceReducer":
            return es.TraceReducer(basis="kernel", unit="degree", **settings)
        return es.make(self.method, **settings)

    def y(self, p: Problem) -> Any:
        if "labels" in self.target:
            return p.codes
        return {"response": p.response, "other view": p.view}.get(self.target)


def kernel_cases() -> Iterator[KernelRouted]:
    """Every class of the registry that takes ``kernel=``, with every kernel, over all points and over landmarks."""
    for row in TABLE:
        if "kernel" in inspect.signature(type(row.build())).parameters:
            yield from _with_kernels(row.name, row.supervision, type(row.build()))
    yield from _with_kernels("TraceReducer", "none", es.TraceReducer)
    yield KernelRouted("KernelIsomap", "", False, "none", POINTS)


def _with_kernels(name: str, target: str, made: type) -> Iterator[KernelRouted]:
    sparse = made is not es.TraceReducer
    for kernel in KERNELS:
        points = tuple(route for route in POINTS if sparse or route != "sparse")
        yield KernelRouted(name, kernel, False, target, (*points, *MATRICES))
        yield KernelRouted(name, kernel, True, target, (*points, *MATRICES, *(("dask",) if takes_dask(name) else ())))


@cache
def takes_dask(name: str) -> bool:
    """Whether a method fits Dask arrays by landmarks: those declare it, with the conditions under which they do."""
    probe = es.TraceReducer(basis="kernel") if name == "TraceReducer" else es.make(name)
    probe.set_params(landmarks=3, **({} if name in ("KernelPCA", "KernelCCA") else {"kernel": "rbf"}))
    return bool(probe._accepted().blocks)


#: Methods with a kernel.
KERNEL_ROUTED: list[KernelRouted] = list(kernel_cases())


# ---------------------------------------------------------------------- fits
@cache
def few_rows(p: Problem, rounded: bool = False) -> Problem:
    """The first rows of a problem; `rounded` to single precision."""
    X, rest = p.X[:ROWS], {name: getattr(p, name)[:ROWS] for name in ("centred", "white", "codes", "response", "view")}
    X = X.astype(np.float32).astype(np.float64) if rounded else X
    return Problem(p.condition, p.offset, X=X, graph=None, **rest)


@cache
def exact(kernel: str, p: Problem) -> Exact:
    return Exact.of(kernel, p.X)


@dataclass(frozen=True)
class KernelOutcome:
    """How far a fit is from the reference, and how far `transform` of the training points is from the embedding.

    Attributes
    ----------
    angle, values : float
        Sine of the largest angle between the embeddings, and relative error of the eigenvalues.
    back : float
        Largest difference of ``transform(train)`` and ``embedding_``, relative to the largest entry.
    warned : tuple of str
        Warnings that excuse a difference.
    refused : str
    """

    angle: float
    values: float
    back: float
    warned: tuple[str, ...] = ()
    refused: str = ""

    def is_right(self, tolerance: float) -> bool:
        """Eigenvalues are ratios of forms that may cancel, and are compared to ten times the tolerance."""
        return bool(self.warned or self.refused or max(self.angle, self.values / 10, self.back) <= tolerance)


def kernel_reference(method: KernelRouted, p: Problem, route: str) -> tuple[Any, Any, float] | None:
    """Embedding, eigenvalues and the largest of all of the fit to exact kernel values, None if they are refused.

    The reference of a matrix in single precision is the fit to the same numbers in double precision.
    """
    try:
        return _exact_fit(method, p, route)
    except EigenspanError:
        return None


def _exact_fit(method: KernelRouted, p: Problem, route: str) -> tuple[Any, Any, float]:
    if not method.kernel:
        # differences of numbers in single precision are exact, and equal distances remain equal
        model = method.make(None).fit(p.X - p.X[0] if route == "float32" else centred(p.X))
        return np.asarray(model.embedding_), model.eigenvalues_, float(model.eigenvalues_[0])
    found = exact(method.kernel, p)
    exactly = found.values if method.landmarks else found.centred
    if route == "precomputed-float32":
        exactly = found.values.astype(np.float32).astype(np.float64)
    if route == "precomputed-float32" or (route == "precomputed" and method.method in READ_POINTS):
        model = method.make("precomputed").fit(exactly, method.y(p))
    else:
        model = method.make(lambda X, Z: exactly[np.ix_(found.places(X), found.places(Z))]).fit(p.X, method.y(p))
    return np.asarray(model.embedding_), model.eigenvalues_, _largest(model, found.centred)


def _largest(model: Any, K: Any) -> float:
    """Size of the largest eigenvalue that the problem could have: an objective may cancel, or vanish on the features."""
    problem = getattr(model, "problem_", None)
    if problem is None or not hasattr(problem, "sense"):
        return float(np.abs(model.eigenvalues_).max())
    B = getattr(problem, "C", None) if hasattr(problem, "C") else problem.B
    values = la.eigvalsh(problem.A.to_dense(), None if B is None else B.to_dense())
    return max(float(np.abs(values).max()), np.linalg.norm(K, 2) if B is None else 1.0)


def _residual(Y: Any, Z: Any) -> float:
    """Largest distance of the columns of Y, each centred and of unit length, from the span of those of Z."""
    Y, Z = (A - A.mean(axis=0) for A in (Y, Z))
    Q, Y = la.orth(Z / np.linalg.norm(Z, axis=0)), Y / np.linalg.norm(Y, axis=0)
    return float(np.linalg.norm(Y - Q @ (Q.T @ Y), axis=0).max())


def kernel_outcome(
    method: KernelRouted, p: Problem, route: str, folder: Path, expected: tuple[Any, Any, float] | None
) -> KernelOutcome:
    X, kernel = container(method, p, route, folder)
    y = method.y(p)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            model = method.make(kernel).fit(X, by_route(y, "dask", folder) if route == "dask" and y is not None else y)
            back = np.asarray(model.transform(X), dtype=np.float64)
        except EigenspanError as refusal:
            return KernelOutcome(np.inf, np.inf, np.inf, (), str(refusal))
    said = [each for each in caught if issubclass(each.category, (PrecisionWarning, DegenerateWarning))]
    warned = tuple(f"{each.category.__name__}: {each.message}" for each in said)
    Y = back if route == "dask" else np.asarray(model.embedding_, dtype=np.float64)
    Z, values, largest = expected or (np.empty((0, 0)), np.empty(0), 0.0)
    if Y.shape != Z.shape:
        return KernelOutcome(np.inf, np.inf, np.inf, warned)
    found = np.asarray(model.eigenvalues_)
    errors = np.abs(found - values) / np.maximum(np.abs(values), FLOOR * largest)
    apart = np.abs(back - Y).max() / max(np.abs(Y).max(), np.finfo(float).tiny)
    # single precision in nearly parallel axes makes a large angle of their span
    angle = _residual(Y, Z) if route.endswith("float32") else sine(Y, Z)
    return KernelOutcome(angle, float(errors.max()), float(apart), warned)


def container(method: KernelRouted, p: Problem, route: str, folder: Path) -> tuple[Any, Any]:
    """X as a route has it, and the kernel."""
    kernel = KERNELS.get(method.kernel)
    if route in MATRICES:
        K = exact(method.kernel, p).values
        return (K if route == "precomputed" else K.astype(np.float32)), "precomputed"
    if route == "fortran":
        return np.asfortranarray(p.X), kernel
    if route == "frame":
        import pandas as pd

        return pd.DataFrame(p.X, columns=[f"x{f}" for f in range(p.X.shape[1])]), kernel
    if route == "float32":
        return p.X.astype(np.float32), kernel
    return by_route(p.X, route, folder), kernel
