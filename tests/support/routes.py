"""One data set by several routes: an array, sparse rows, a file, a Dask array and parts must lead to the same fit, or to a warning.

`problem` makes data of a given condition and offset; `ROUTED` lists the methods; `outcome` fits one of them by one route and says how far
it is from the reference. To have another method compared, add a `Routed` to the list.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError

import eigenspan as es
from eigenspan.errors import EigenspanError, PrecisionWarning

CONDITIONS = (1.0, 1e2, 1e4, 1e6, 1e8, 1e10, 1e12)
OFFSETS = (0.0, 1e3, 1e6, 1e9)
ROUTES = ("array", "sparse", "memmap", "dask", "parts")
N, D = 240, 5


@dataclass(frozen=True, eq=False)
class Problem:
    """Rows whose directions vary by a factor of `condition`, `offset` times the largest spread away from the origin.

    Attributes
    ----------
    X : ndarray of shape (N, D)
        As the methods get it.
    centred : ndarray
        X about its mean, which is exact.
    white : ndarray
        The same points in coordinates of comparable spread: combinations of the centred columns, in extended precision.
    """

    condition: float
    offset: float
    X: Any
    centred: Any
    white: Any
    codes: Any
    response: Any
    view: Any
    graph: Any


def problem(condition: float, offset: float, seed: int = 0) -> Problem:
    rng = np.random.default_rng(seed)
    codes = np.append([0, 1, 2], rng.integers(0, 3, N - 3))  # all classes in the first part
    plain = rng.standard_normal((N, D)) + 2 * rng.standard_normal((3, D))[codes]
    turn = np.linalg.qr(rng.standard_normal((D, D)))[0]
    scale = np.geomspace(1.0, 1.0 / condition, D)
    X = plain * scale @ turn + offset * np.array([1.0, -0.7, 0.5, 1.3, -0.2])
    exactly = centred(X)
    white = np.asarray((exactly.astype(np.longdouble) @ turn.T.astype(np.longdouble)) / scale, dtype=np.float64)
    response = plain[:, 0] + 0.5 * plain[:, -1] ** 2 + 0.1 * rng.standard_normal(N)
    view = plain[:, [0, -1]] @ rng.standard_normal((2, 3)) + 0.3 * rng.standard_normal((N, 3))
    graph = es.KNN(8).build(white).distances
    return Problem(condition, offset, X, exactly, white, codes, response, view, graph)


def centred(X: Any) -> Any:
    """X about its mean, to the last digits of the differences."""
    for _ in range(2):  # what rounding leaves of the mean is taken off the second time
        X = X - [math.fsum(column) / len(X) for column in X.T]
    return X


@dataclass(frozen=True)
class Routed:
    """A method of which all routes are compared.

    Attributes
    ----------
    name : str
    make : callable
        ``problem -> estimator``.
    target : callable
        ``problem -> y``.
    affine : bool
        The embedding does not depend on the coordinates of the points: the reference is the fit to `Problem.white`. Otherwise it is the
        fit to `Problem.centred`.
    routes : tuple of str
    offsets : tuple of float
        Of data that the method is compared on.
    floor : float
        Size from which on eigenvalues are compared: that of rounding in a criterion that may be zero.
    """

    name: str
    make: Callable[[Problem], Any]
    target: Callable[[Problem], Any]
    affine: bool
    routes: tuple[str, ...] = ROUTES
    offsets: tuple[float, ...] = OFFSETS
    floor: float = 0.0


def _plain(name: str, **parameters: Any) -> Callable[[Problem], Any]:
    return lambda p: es.make(name, **parameters)


def _graph(name: str, **parameters: Any) -> Callable[[Problem], Any]:
    return lambda p: es.make(name, graph=p.graph, **parameters)


def _codes(p: Problem) -> Any:
    return p.codes


def _names(p: Problem) -> Any:
    return np.array(["a", "b", "c"])[p.codes]


def _nothing(p: Problem) -> Any:
    return None


def _response(p: Problem) -> Any:
    return p.response


def _view(p: Problem) -> Any:
    return p.view


def by_route(X: Any, route: str, folder: Path) -> Any:
    """X in the container of a route."""
    if route == "sparse":
        return sp.csr_array(X)
    if route == "memmap":
        path = folder / f"{abs(hash(X.tobytes()))}.npy"
        np.save(path, X)
        return np.load(path, mmap_mode="r")
    if route == "dask":
        import dask.array as da

        return da.from_array(X, chunks=(60, *X.shape[1:]))
    return X


def fitted(method: Routed, p: Problem, route: str, folder: Path) -> Any:
    """The fit by one route; parts are a few rows, fewer than columns, some, and the rest."""
    model, y = method.make(p), method.target(p)
    if route == "parts":
        for part in (slice(0, 3), slice(3, 50), slice(50, N)):
            model.partial_fit(p.X[part], None if y is None else y[part])
        return model
    lazily = route == "dask" and y is not None
    return model.fit(by_route(p.X, route, folder), by_route(y, "dask", folder) if lazily else y)


def reference(method: Routed, p: Problem) -> tuple[Any, Any]:
    """Embedding and eigenvalues of the fit to well-conditioned coordinates of the points, or to the exactly centred ones."""
    model = method.make(p).fit(p.white if method.affine else p.centred, method.target(p))
    return np.asarray(model.transform(p.white if method.affine else p.centred)), model.eigenvalues_


@dataclass(frozen=True)
class Outcome:
    """How far a fit is from the reference: sine of the largest angle between the embeddings, relative error of the eigenvalues; and
    what was said about it."""

    angle: float
    values: float
    warned: bool
    refused: str = ""

    def is_right(self, tolerance: float) -> bool:
        return bool(self.warned or self.refused or max(self.angle, self.values) <= tolerance)


def outcome(method: Routed, p: Problem, route: str, folder: Path, expected: tuple[Any, Any]) -> Outcome:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            model = fitted(method, p, route, folder)
            Y = np.asarray(model.transform(by_route(p.X, route, folder)))
        except (EigenspanError, NotFittedError) as refusal:
            return Outcome(np.inf, np.inf, False, str(refusal))
    warned = any(issubclass(each.category, PrecisionWarning) for each in caught)
    Z, values = expected
    if Y.shape != Z.shape:
        return Outcome(np.inf, np.inf, warned)
    found = np.asarray(model.eigenvalues_)
    errors = np.abs(found - values) / np.maximum(np.abs(values), method.floor)
    return Outcome(sine(Y, Z), float(errors.max()), warned)


def sine(Y: Any, Z: Any) -> float:
    """Of the largest angle between the column spans, each column centred and of unit length first."""
    Q, P = (np.linalg.qr(A / np.linalg.norm(A, axis=0))[0] for A in (Y - Y.mean(axis=0), Z - Z.mean(axis=0)))
    return float(np.sin(la.subspace_angles(Q, P).max()))


_HELD = ("array", "sparse", "memmap")
_WHERE = (*_HELD, "dask")
#: Of methods whose weights come from distances between all pairs of sparse rows.
_NEAR = (0.0, 1e3)

#: Linear methods, with what each reads beside X. Their routes are those that the method takes; to compare another, add a line.
ROUTED: list[Routed] = [
    Routed("PCA", _plain("PCA"), _nothing, False),
    Routed("PCA-4", _plain("PCA", n_components=4, whiten=True), _nothing, False),
    Routed("PCA-all", _plain("PCA", n_components=None), _nothing, False),
    Routed("PPCA", _plain("PPCA"), _nothing, False),
    Routed("OrientedPCA", _plain("OrientedPCA"), _nothing, False, (*_HELD, "parts")),
    Routed("SupervisedPCA", _plain("SupervisedPCA", n_components=2), _codes, False),
    Routed("LDA", _plain("LDA"), _codes, True),
    Routed("LDA-trace-ratio", _plain("LDA", criterion="trace-ratio", n_components=2), _codes, False),
    Routed("MMC", _plain("MMC"), _codes, False),
    Routed("RoweisDA", _plain("RoweisDA", r1=0.5, r2=0.5), _codes, False, _HELD),
    Routed("SIR", _plain("SIR", n_components=2), _response, True, _WHERE),
    Routed("SIR-classes", _plain("SIR", n_components=2), _names, True),
    Routed("SAVE", _plain("SAVE", n_components=2), _response, True, _WHERE),
    Routed("DirectionalRegression", _plain("DirectionalRegression", n_components=2), _response, True, _WHERE),
    Routed("PHD", _plain("PHD", n_components=2), _response, True, _WHERE),
    Routed("ContourRegression", _plain("ContourRegression", n_components=2), _response, True, _HELD),
    Routed("LAD", _plain("LAD", n_components=2), _response, True, _HELD),
    Routed("CCA", _plain("CCA", n_components=2), _view, True),
    Routed("MultiviewCCA", _plain("MultiviewCCA", n_components=2), _view, True),
    Routed("LPP-classes", _plain("LPP", graph="class"), _codes, True, _WHERE),
    Routed("NPP-classes", _plain("NPP", graph="class"), _codes, True, _WHERE),
    Routed("OLPP-classes", _plain("OLPP", graph="class"), _codes, False, _WHERE),
    Routed("ONPP-classes", _plain("ONPP", graph="class"), _codes, False, _WHERE),
    Routed("LPP", _graph("LPP", weights="binary"), _nothing, True, _HELD),
    Routed("OLPP", _graph("OLPP", weights="binary"), _nothing, False, _HELD),
    Routed("SDA", _graph("SDA", weights="binary"), _codes, True, _WHERE),
    Routed("SSMMC", _graph("SSMMC"), _codes, False, _HELD),
    Routed("SSFDA", _graph("SSFDA"), _codes, False, _HELD),
    Routed("SSDR", _plain("SSDR"), _codes, False, _HELD),
    Routed("NPP", _graph("NPP"), _nothing, False, _HELD),
    Routed("ONPP", _graph("ONPP"), _nothing, False, _HELD),
    Routed("LLTSA", _graph("LLTSA"), _nothing, False, _HELD, floor=1e-4),
    Routed("LFDA", _plain("LFDA"), _codes, False, _HELD, _NEAR),
    Routed("DNE", _plain("DNE"), _codes, False, _HELD, _NEAR),
    Routed("MFA", _plain("MFA"), _codes, False, _HELD, _NEAR),
    Routed("LDE", _plain("LDE"), _codes, False, _HELD, _NEAR),
    Routed("SSDNE", _plain("SSDNE"), _codes, False, _HELD, _NEAR),
    Routed("SSMFA", _plain("SSMFA"), _codes, False, _HELD, _NEAR),
    Routed("SSLFDA", _plain("SSLFDA"), _codes, False, _HELD, _NEAR),
    Routed("PairCosts", _plain("PairCosts"), _codes, False, _HELD, _NEAR),
    Routed("SELFDA", _plain("SELFDA"), _codes, False, _HELD),
    Routed("SODA", _graph("SODA"), _codes, False, _HELD),
    Routed("SDACCCP", _plain("SDACCCP"), _codes, False, _HELD),
    Routed("GradientKDR", _plain("GradientKDR"), _response, False, _HELD),
]

#: Linear methods of the registry that are not compared, and why.
LEFT_OUT = {
    "DistortionDiscriminantAnalysis": "layers of OrientedPCA",
    "PDDP": "a tree of clusters, whose splits are PCA",
    "ProjectionPursuit": "a search, which stops where its tolerance says",
    "ProjectionPursuitRegression": "a search, which stops where its tolerance says",
    "KernelICA": "a descent, which stops where its tolerance says",
    "KDR": "a descent, which stops where its tolerance says",
    "AffinityLearner": "a descent, which stops where its tolerance says",
    "GraphEmbeddingFramework": "the fit of TraceReducer, with its parameters under other names",
    "TraceReducer": "forms of the other methods, over rows in memory",
    "FactorAnalysis": "scikit-learn's",
    "FastICA": "scikit-learn's",
    "NCA": "scikit-learn's",
}
