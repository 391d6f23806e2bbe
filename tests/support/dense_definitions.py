"""Graphs, weights, forms, bases and eigenproblems as dense matrices, for independent definitions of methods on few points.

Nothing here is taken from the library's assembly: neighbours are found by sorting all distances, weights by their formulas, forms are
n×n arrays and LAPACK solves them. `dense_methods` puts them together.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components
from sklearn.metrics import pairwise_distances
from sklearn.metrics.pairwise import pairwise_kernels

import eigenspan as es
from helpers import Array


@dataclass
class Expected:
    """All eigenvalues, best first, and the embedding of some rows, with axes up to sign."""

    values: Array
    Y: Array
    rows: Any = field(default_factory=lambda: slice(None))
    #: The embedding is determined up to a shift: neither the cost nor the unit form depends on it.
    anywhere: bool = False


class Undefined(Exception):  # noqa: N818
    """There is no independent definition for these parameters."""


# ---------------------------------------------------------------------- graphs
@dataclass
class Graph:
    """Lengths of directed edges, infinite where there is none; all distances in the same metric; k where every point has k neighbours."""

    E: Array
    full: Array
    k: int | None = None
    mutual: bool = False
    bridges: Any = None

    @property
    def lengths(self) -> Array:
        both = np.maximum if self.mutual else np.minimum
        return np.minimum(both(self.E, self.E.T), np.inf if self.bridges is None else self.bridges)

    @property
    def lists(self) -> Array:
        """Distances from each point to the neighbours that it is modelled with, infinite elsewhere."""
        own = np.maximum(self.E, self.E.T) if self.mutual else self.E
        return own if self.bridges is None else np.minimum(own, self.bridges)

    def pieces(self) -> tuple[int, Any]:
        return connected_components(sp.csr_array(np.isfinite(self.lengths)), directed=False)

    def bridged(self) -> Graph:
        """Return the graph with components connected by the shortest edges between them."""
        B = np.full_like(self.E, np.inf)
        graph = Graph(self.E, self.full, self.k, self.mutual, B)
        while (found := graph.pieces())[0] > 1:
            across = np.where(found[1][:, None] != found[1], self.full, np.inf)
            i, j = np.unravel_index(across.argmin(), across.shape)
            B[i, j] = B[j, i] = across[i, j]
        return graph

    def closed_classes(self) -> list[Any]:
        """Return the closed classes, from reachability by powers of the adjacency matrix."""
        reach = np.isfinite(self.lists) | np.eye(len(self.E), dtype=bool)
        for _ in range(int(np.ceil(np.log2(len(reach)))) + 1):
            reach = (reach.astype(float) @ reach) > 0
        both = reach & reach.T
        closed = [i for i in range(len(reach)) if np.array_equal(reach[i], both[i]) and both[i].argmax() == i]
        return [np.flatnonzero(both[i]) for i in closed]

    def with_one_closed_class(self) -> Graph:
        """Add edges from points of closed classes to outside points that have them as neighbours, at most as many as they had before."""
        B = np.full_like(self.E, np.inf) if self.bridges is None else self.bridges.copy()
        graph, own = Graph(self.E, self.full, self.k, self.mutual, B), np.isfinite(self.lists).sum(axis=1)
        assert graph.pieces()[0] == 1
        while len(classes := graph.closed_classes()) > 1:
            lists = graph.lists
            for members in classes:
                for i in members:
                    followers = np.setdiff1d(np.flatnonzero(np.isfinite(lists[:, i])), members)
                    nearest_first = followers[np.argsort(lists[followers, i], kind="stable")]
                    B[i, nearest_first[: own[i]]] = lists[nearest_first[: own[i]], i]
        return graph

    def among(self, rows: Any) -> Graph:
        cut = np.ix_(rows, rows)
        return Graph(self.E[cut], self.full[cut], self.k, self.mutual)


def nearest(D: Array, k: int) -> Array:
    """Return the distances to the k nearest other points in each row, infinite elsewhere."""
    D = D + np.diag(np.full(len(D), np.inf))
    E = np.full_like(D, np.inf)
    at = np.argsort(D, axis=1, kind="stable")[:, :k]
    np.put_along_axis(E, at, np.take_along_axis(D, at, axis=1), axis=1)
    return E


def graph_of(p: dict[str, Any], P: Any, codes: Any, given: Any, default: int = 10) -> Graph:
    g, metric, more = p["graph"], p.get("metric"), p.get("metric_params") or {}
    if g is None and metric == "precomputed":
        g = "precomputed"
    if isinstance(g, str) and g == "precomputed":
        if isinstance(p.get("weights"), str) and p["weights"] == "precomputed":
            W = given.toarray() if sp.issparse(given) else given
            return Graph(np.where((W > 0) & ~np.eye(len(W), dtype=bool), W, np.inf), W)
        k = p.get("n_neighbors") or default
        return Graph(nearest(given, k), given, k)
    if isinstance(g, es.KNN):
        metric, more = g.metric, g.metric_params or {}
    full = pairwise_distances(P, metric=metric or "euclidean", **more)
    if g is None:
        k = p.get("n_neighbors") or default
        return Graph(nearest(full, k), full, k)
    if isinstance(g, es.KNN):
        if g.within_class:
            full_in = np.where((codes[:, None] == codes) & (codes >= 0), full, np.inf)
            return Graph(nearest(full_in, g.n_neighbors), full, g.n_neighbors)
        return Graph(nearest(full, g.n_neighbors), full, g.n_neighbors, g.symmetry == "mutual")
    if isinstance(g, es.Radius):
        return Graph(np.where((full <= g.radius) & ~np.eye(len(full), dtype=bool), full, np.inf), full)
    if isinstance(g, tuple):
        E = np.full_like(full, np.inf)
        np.put_along_axis(E, *g, axis=1)
        return Graph(E, full, g[0].shape[1])
    if hasattr(g, "fit"):
        return Graph(nearest(full, g.n_neighbors), full)
    S = g if sp.issparse(g) else g.distances
    E = np.where(S.toarray() > 0, S.toarray(), np.inf)
    return Graph(E, full, int(np.isfinite(E).sum(axis=1).max()) if sp.issparse(g) else g.finder.n_neighbors)


# ---------------------------------------------------------------------- weights
def _named(rule: Any) -> Any:
    names = {"binary": es.Binary, "heat": es.Heat, "local": es.LocalScaling, "cosine": es.Cosine}
    return names[rule]() if isinstance(rule, str) and rule in names else rule


def kth(E: Array, k: int) -> Array:
    """Return the length of each row's k-th edge, or of its last if it has fewer."""
    ordered = np.sort(E, axis=1)
    return ordered[np.arange(len(E)), np.minimum(k, np.isfinite(E).sum(axis=1)) - 1]


def heat_width(G: Graph) -> float:
    """Return half the median distance of the points or, if edge lengths are not these distances, the median edge."""
    given = np.isfinite(G.E)
    if np.all(np.abs(G.E[given] - G.full[given]) <= 1e-3 * G.full.max()):
        return float(np.median(G.full[np.triu_indices(len(G.full), 1)]) / 2)
    return float(np.median(G.E[given]))


def weigh(rule: Any, G: Graph, P: Any) -> Array:
    rule, U = _named(rule), G.lengths
    on = np.isfinite(U)
    if isinstance(rule, str) and rule == "precomputed":
        return np.where(on, U, 0.0)
    if isinstance(rule, es.Powered):
        W = weigh(rule.weights, G, P)
        return W**rule.alpha * la.norm(W) / la.norm(W**rule.alpha)
    if isinstance(rule, es.Binary):
        return on.astype(float)
    if isinstance(rule, es.Heat):
        sigma = rule.sigma or heat_width(G)
        return np.where(on, np.exp(-((np.where(on, U, 0.0) / sigma) ** 2)), 0.0)
    if isinstance(rule, es.LocalScaling):
        E = G.E if G.bridges is None else np.minimum(G.E, G.bridges)
        s = kth(E, min(rule.k, G.k or rule.k))
        return np.where(on, np.exp(-(np.where(on, U, 0.0) ** 2) / np.outer(s, s)), 0.0)
    if isinstance(rule, es.Cosine):
        P = P.toarray() if sp.issparse(P) else P
        unit = P / la.norm(P, axis=1, keepdims=True)
        return np.where(on, np.maximum(unit @ unit.T, 0.0), 0.0)
    raise Undefined


def all_pairs(rule: Any, P: Any, codes: Any = None) -> Array:
    """Return the weights of all pairs, or of all pairs within a class; the diagonal is one."""
    rule, alpha = _named(rule), 1.0
    if isinstance(rule, es.Powered):
        rule, alpha = _named(rule.weights), rule.alpha
    D = pairwise_distances(P)
    same = np.ones(D.shape, bool) if codes is None else (codes[:, None] == codes) & (codes >= 0)[:, None]
    if isinstance(rule, es.Heat):
        s = np.full(len(D), rule.sigma or np.median(D[np.triu_indices(len(D), 1)]) / 2)
    elif isinstance(rule, es.LocalScaling):
        inside = np.where(same & ~np.eye(len(D), dtype=bool), D, np.inf)
        s = np.where(same.any(axis=1), kth(inside, rule.k), 1.0)
    else:
        raise Undefined
    W = np.where(same, np.exp(-(D**2) / np.outer(s, s)), 0.0)
    return W**alpha * (la.norm(W) / la.norm(W**alpha))


# ---------------------------------------------------------------------- forms
def laplacian(W: Array) -> Array:
    return np.diag(W.sum(axis=1)) - W


def mean_of_classes(codes: Any) -> Array:
    """Return ``⊕ 11ᵀ/n_k``, with zeros for unlabelled points."""
    G = (codes[:, None] == np.unique(codes[codes >= 0])).astype(float)
    return G / G.sum(axis=0) @ G.T


def scatters(codes: Any) -> tuple[Array, Array]:
    """Return the between-class and within-class matrices."""
    on = (codes >= 0).astype(float)
    H = mean_of_classes(codes)
    return H - np.outer(on, on) / on.sum(), np.diag(on) - H


def averages(W: Array) -> Array:
    d = W.sum(axis=1)
    return W / np.where(d > 0, d, 1.0)[:, None]


def square(P: Array) -> Array:
    """Return ``(I − P)ᵀ(I − P)``, with I restricted to the nonzero rows of P."""
    R = np.diag((P.sum(axis=1) != 0).astype(float)) - P
    return R.T @ R


def barycentres(P: Array, E: Array, reg: float) -> Array:
    if reg == 0:
        raise Undefined
    W = np.zeros_like(E)
    for i, row in enumerate(E):
        at = np.flatnonzero(np.isfinite(row))
        if at.size:
            Z = P[at] - P[i]
            G = Z @ Z.T
            w = la.solve(G + reg * np.trace(G) * np.eye(at.size), np.ones(at.size))
            W[i, at] = w / w.sum()
    return W


def aligned(P: Array, E: Array, d: int, kind: str, reg: float = 1e-3) -> Array:
    """Return Σ S N Nᵀ Sᵀ of LTSA, Hessian LLE or modified LLE."""
    n = len(P)
    M = np.zeros((n, n))
    near = [np.flatnonzero(np.isfinite(row)) for row in E]
    if kind == "modified":
        return _modified(P, near, d, reg)
    for i, others in enumerate(near):
        if not others.size:
            continue
        at = np.append(others, i)
        m = at.size
        U = la.svd(P[at] - P[at].mean(axis=0), full_matrices=False)[0][:, :d]
        flat = np.column_stack([np.full(m, m**-0.5), U])
        if kind == "tangent":
            M[np.ix_(at, at)] += np.eye(m) - flat @ flat.T
        else:
            products = np.column_stack([U[:, a] * U[:, b] for a in range(d) for b in range(a, d)])
            N = la.qr(products - flat @ (flat.T @ products), mode="economic")[0]
            M[np.ix_(at, at)] += N @ N.T
    return M


def _modified(P: Array, near: list[Any], d: int, reg: float) -> Array:
    k = near[0].size
    if reg == 0 or any(at.size != k for at in near):
        raise Undefined
    local = [la.eigh((P[j] - P[i]) @ (P[j] - P[i]).T) for i, j in enumerate(near)]
    ratios = [[np.maximum(v, 0)[:s].sum() / v[s:].sum() for s in range(1, k)] for v, _ in local]
    eta = np.median([r[k - d - 1] for r in ratios])
    M = np.zeros((len(P), len(P)))
    for i, ((v, V), r) in enumerate(zip(local, ratios, strict=True)):
        s = max(1, int(np.sum(np.array(r[: k - d]) < eta)))
        w = la.solve((V * v) @ V.T + reg * v.sum() * np.eye(k), np.ones(k))
        w /= w.sum()
        v1 = V[:, :s].sum(axis=0)
        alpha = la.norm(v1) / np.sqrt(s)
        h = alpha - v1
        h = h / la.norm(h) if la.norm(h) > 1e-12 else 0 * h
        N = np.vstack([-np.ones(s), (1 - alpha) * w[:, None] + V[:, :s] @ (np.eye(s) - 2 * np.outer(h, h))])
        at = np.append(i, near[i])
        M[np.ix_(at, at)] += N @ N.T
    return M


def centred(M: Array) -> Array:
    H = np.eye(len(M)) - 1 / len(M)
    return H @ M @ H


# ---------------------------------------------------------------------- bases
def kernel_matrix(p: dict[str, Any], X: Any, given: Any) -> Array:
    spec = p["kernel"]
    if isinstance(spec, str) and spec == "precomputed":
        return np.asarray(given, dtype=np.float64)
    if isinstance(spec, str):
        spec = es.Kernel(spec, **{name: p[name] for name in ("gamma", "degree", "coef0") if "degree" in p})
    if not isinstance(spec, es.Kernel):
        K = spec(X, X)
        return K if np.shape(K) == (len(X), len(X)) else np.array([[spec(a, b) for b in X] for a in X])
    gamma = 1.0 / X.shape[1] if spec.gamma is None else spec.gamma
    if gamma == "median":
        gamma = (np.median(pairwise_distances(X)[np.triu_indices(len(X), 1)]) / 2) ** -2
    settings = {"gamma": gamma, "degree": spec.degree, "coef0": spec.coef0}
    return pairwise_kernels(X, metric=spec.name, filter_params=True, **settings)


def _axes(K: Array) -> Array:
    values, U = la.eigh(K)
    keep = values > max(1e-10 * values[-1], 1e-14 * len(K) * np.abs(K).max())
    return (U[:, keep] / np.sqrt(values[keep]))[:, ::-1]


def _turns_alike(p: dict[str, Any]) -> bool:
    """Return True if the distance is invariant under rotations of the feature space."""
    g = p.get("graph")
    metric, more = (g.metric, g.metric_params) if isinstance(g, es.KNN) else (p.get("metric"), p.get("metric_params"))
    return (metric in (None, "euclidean", "cosine", "minkowski") and not more) if not callable(metric) else False


def features(p: dict[str, Any], X: Any, given: Any) -> tuple[Array, float]:
    """Return coordinates of the samples, and the matrix of the ridge."""
    if p["kernel"] is None:
        F = X - X.mean(axis=0)
        if p.get("reduce") is not None:
            U, s, _ = la.svd(F, full_matrices=False)
            F = U[:, : p["reduce"]] * s[: p["reduce"]]
        return F, 0.0
    if not _turns_alike(p):
        raise Undefined
    K = kernel_matrix(p, X, given)
    if p["landmarks"] is None:
        C = centred(K)
        return C @ _axes(C), 1e-3
    if not isinstance(p["landmarks"], (list, np.ndarray)):
        raise Undefined
    m = np.asarray(p["landmarks"])
    Z = K[:, m] @ _axes(K[np.ix_(m, m)])
    U, s, _ = la.svd(Z - Z.mean(axis=0), full_matrices=False)
    keep = s > 1e-10 * s[0]
    return U[:, keep] * s[keep], 1e-3


def in_features(
    F: Array, A: Array, B: Any, sense: str, ridge: Any, relative: float, psd: bool = True
) -> tuple[Array, Array, Array]:
    """Solve ``min or max Tr(V'F'AFV)`` and return values, axes and embedding; B is None for orthonormal axes."""
    w = np.ones(len(F)) if B is None else B.sum(axis=1)
    if B is not None and abs(w.sum()) <= 1e-9 * np.abs(B).sum():
        w = np.ones(len(F))
    F = F - w @ F / w.sum()
    A, unit = F.T @ A @ F, np.eye(F.shape[1]) if B is None else F.T @ B @ F
    if B is not None:
        first = sense == "min" and psd
        M = A if first else unit
        M += np.eye(len(M)) * (relative * np.trace(M) / len(M) if ridge is None else ridge)
    values, V = generalised(A, unit, sense, psd)
    return values, V, F @ V


def generalised(A: Array, B: Array, sense: str, psd: bool = True) -> tuple[Array, Array]:
    low, high = la.eigvalsh(B)[[0, -1]]
    if low > 1e-9 * high:
        values, V = la.eigh(A, B)
        return (values, V) if sense == "min" else (values[::-1], V[:, ::-1])
    size = la.eigvalsh(A)
    if (
        sense == "min" and psd and size[0] > 1e-9 * size[-1]
    ):  # maximise B relative to the cost, instead of minimising the cost relative to B
        gains, V = la.eigh(B, A)
        good = gains > 1e-9 * gains[-1]
        return 1 / gains[good][::-1], (V[:, good] / np.sqrt(gains[good]))[:, ::-1]
    raise Undefined


def trace_ratio(A: Array, B: Array, d: int) -> tuple[Array, Array]:
    rho = 0.0
    for _ in range(200):
        values, V = la.eigh(A - rho * B)
        top = V[:, ::-1][:, :d]
        new = np.trace(top.T @ A @ top) / np.trace(top.T @ B @ top)
        if abs(new - rho) <= 1e-14 * abs(new):
            break
        rho = new
    return values[::-1], V[:, ::-1]


def weighted(kind: str, values: Array, V: Array, Y: Array, signed: bool = False) -> Array:
    factors = np.ones(values.size)
    if kind.startswith("eigenvalue"):
        factors = np.sqrt(np.maximum(-values if signed else values, 0.0))
    return Y * (factors / la.norm(V, axis=0) if kind.endswith("norm") else factors)


def codes_of(y: Any, unlabeled: Any) -> Any:
    found = np.unique(y[y != unlabeled] if unlabeled is not None else y)
    return np.where(np.isin(y, found), np.searchsorted(found, y), -1)
