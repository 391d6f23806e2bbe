"""Independent definitions of the spectral methods with dense matrices, for few points.

`definition(estimator, X, y, given)` returns the expected result of a fitted estimator. X are the points, y the labels, `given` the argument
of fit (X, distances, affinities or kernel values). It reads from the estimator only choices that are not part of a definition: its
parameters, the rows chosen as landmarks, and the labels found for unlabelled points.

It returns None if there is no independent definition: for unfoldings, path-based weights, landmarks of a kernel that are not rows,
reconstruction without a ridge, and singular unit forms.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp
from scipy.sparse.csgraph import shortest_path
from sklearn.covariance import ledoit_wolf_shrinkage
from sklearn.metrics import pairwise_distances

import eigenspan as es
from dense_definitions import (
    Expected,
    Graph,
    Undefined,
    aligned,
    all_pairs,
    averages,
    barycentres,
    centred,
    codes_of,
    features,
    generalised,
    graph_of,
    in_features,
    kernel_matrix,
    laplacian,
    mean_of_classes,
    nearest,
    scatters,
    square,
    trace_ratio,
    weigh,
    weighted,
)
from helpers import Array

Definition = Callable[..., Expected]
METHODS: dict[str, Definition] = {}


def defines(*names: str) -> Callable[[Definition], Definition]:
    def keep(function: Definition) -> Definition:
        METHODS.update(dict.fromkeys(names, function))
        return function

    return keep


def definition(estimator: Any, X: Any, y: Any, given: Any) -> Expected | None:
    name, p = type(estimator).__name__, estimator.get_params(deep=False)
    if name not in METHODS:
        return None
    if p.get("n_components") == "auto":
        p["n_components"] = estimator.n_components_
    equal = p.get("scale") == "unit-variance"
    if equal:  # independent of the weights of axes
        p["axes"] = "unit"
    try:
        found = METHODS[name](estimator, p, X, y, given)
    except Undefined:
        return None
    if equal:
        found.Y = found.Y / found.Y.std(axis=0)
    return found


# ---------------------------------------------------------------------- variance and distances
def from_gram(G: Array, d: int) -> Expected:
    values, U = la.eigh(G)
    values, U = values[::-1], U[:, ::-1]
    return Expected(values, U[:, :d] * np.sqrt(np.maximum(values[:d], 0.0)))


@defines("PCA")
def _(est: Any, p: Any, X: Any, y: Any, given: Any) -> Expected:
    F, _ = features({**p, "kernel": None}, X, given)
    found = from_gram(F @ F.T, est.embedding_.shape[1])
    found.values = found.values[: F.shape[1]]
    if p["whiten"]:
        found.Y = found.Y / found.Y.std(axis=0, ddof=1)
    return found


@defines("OrientedPCA")
def _(est: Any, p: Any, X: Any, y: Any, given: Any) -> Expected:
    if p["kernel"] is not None or p["reduce"] is not None or isinstance(p["distortions"], list):
        raise Undefined  # a list of functions draws random noise, which is not reproduced here
    R = np.eye(X.shape[1])
    if p["distortions"] is not None:
        Z = p["distortions"](X) - X
        R = Z.T @ Z / len(Z)
    if p["extractor"] == "difference":
        F, A, B = X, X.T @ X / len(X) - R, np.eye(len(R))
    else:
        F = X - X.mean(axis=0)
        A, B = F.T @ F / len(F), R + (p["ridge"] or 0.0) * np.eye(len(R))
    values, V = generalised(A, B, "max")
    return Expected(values, F @ V[:, : p["n_components"]])


@defines("KernelPCA")
def _(est: Any, p: Any, X: Any, y: Any, given: Any) -> Expected:
    K, d = kernel_matrix(p, X, given), est.embedding_.shape[1]
    if p["landmarks"] is None:
        return from_gram(centred(K), d)
    m = est.landmarks_
    values, U = la.eigh(K[np.ix_(m, m)])
    keep = values > 1e-10 * values[-1]
    F = K[:, m] @ (U[:, keep] / np.sqrt(values[keep]))
    return from_gram(centred(F @ F.T), d)


def corrected(D: Array, kind: str | None) -> Array:
    """Return −½HΔ²H of distances that were made Euclidean."""
    off = ~np.eye(len(D), dtype=bool)
    G = centred(-0.5 * D**2)
    if kind == "lingoes":
        return centred(-0.5 * (D**2 + off * 2 * max(0.0, -la.eigvalsh(G)[0])))
    if kind == "cailliez":
        zero, one = np.zeros_like(D), np.eye(len(D))
        c = la.eigvals(np.block([[zero, 2 * G], [-one, -4 * centred(-0.5 * D)]]))
        return centred(-0.5 * (D + off * max(0.0, c[np.abs(c.imag) < 1e-9 * np.abs(c)].real.max())) ** 2)
    return G


def measured(metric: Any, X: Any, given: Any) -> Array:
    return given if isinstance(metric, str) and metric == "precomputed" else pairwise_distances(X, metric=metric)


@defines("ClassicalMDS")
def _(est: Any, p: Any, X: Any, y: Any, given: Any) -> Expected:
    return from_gram(corrected(measured(p["metric"], X, given), p["correction"]), p["n_components"])


def triangulated(D: Array, m: Any, d: int) -> Expected:
    """Return the positions of all points from their distances D (n, q) to the landmarks, in principal axes."""
    H = -0.5 * D[m] ** 2
    values, U = la.eigh(centred(H))
    values, U = values[::-1], U[:, ::-1]
    error = max(0.0, -values[-1])
    noise = max(error * max(1 / 3, 2 * error / values[d - 1]), 1e-10 * values[0])
    near = np.abs(values / noise - 1).min() < 1e-3 if noise > 0 else False
    if near:  # an axis at the noise level
        raise Undefined
    keep = max(d, int(np.sum(values > noise)))
    F = (-0.5 * D**2 - H.mean(axis=0)) @ (U[:, :keep] / np.sqrt(values[:keep]))
    F = F - F.mean(axis=0)
    return from_gram(F @ F.T, d)


@defines("LandmarkMDS")
def _(est: Any, p: Any, X: Any, y: Any, given: Any) -> Expected:
    m = est.landmarks_
    return triangulated(measured(p["metric"], X, given)[:, m], m, p["n_components"])


# ---------------------------------------------------------------------- implicit embeddings of a graph
def connected(
    p: Any, X: Any, given: Any, rows: Any = None, one_class: bool = False, **settings: Any
) -> tuple[Graph, Any, Any]:
    """Return the graph, connected (with one closed class) as given by `disconnected`, its points, and its rows."""
    rows = np.arange(len(given if not sp.issparse(given) else given.toarray())) if rows is None else rows
    if rows.size < X.shape[0]:
        square_given = given.shape[0] == given.shape[1]
        given = given[rows][:, rows] if square_given else given[rows]
        X = X[rows]
    graph = graph_of(p, X, None, given, **settings)
    count, labels = graph.pieces()
    if count > 1 and p["disconnected"] == "largest":
        kept = np.flatnonzero(labels == np.bincount(labels).argmax())
        graph, X, rows = graph.among(kept), X[kept], rows[kept]
    elif count > 1:
        graph = graph.bridged()
    if one_class and len(graph.closed_classes()) > 1:
        if p["disconnected"] == "largest":
            raise Undefined
        graph = graph.with_one_closed_class()
    return graph, X, rows


def landmark_rows(est: Any, p: Any) -> Any:
    return None if p["landmarks"] is None else np.asarray(est.landmarks_)


def smallest(L: Array, B: Any, d: int, rows: Any) -> tuple[Array, Array, Expected]:
    """Return eigenpairs without the constant."""
    one = np.ones((len(L), 1))
    T = la.null_space((one if B is None else B @ one).T)  # another vector may have the same cost as the constant
    values, V = la.eigh(T.T @ L @ T, None if B is None else T.T @ B @ T)
    return values, T @ V, Expected(values, T @ V[:, :d], rows)


@defines("Isomap", "LandmarkIsomap", "KernelIsomap")
def _(est: Any, p: Any, X: Any, y: Any, given: Any) -> Expected:
    graph, _, rows = connected(p, X, given, landmark_rows(est, p) if "psd" in p else None)
    U = graph.lengths
    if p["conformal"]:
        if graph.bridges is not None:
            raise Undefined
        M = np.array(
            [row[np.isfinite(row)].mean() for row in graph.E]
        )  # per list of neighbours, whatever the symmetrisation
        U = U / np.sqrt(np.outer(M, M))
    D = shortest_path(np.where(np.isfinite(U), U, 0.0), directed=False)
    if "psd" in p:
        found = from_gram(corrected(D, "cailliez" if p["psd"] == "constant" else None), p["n_components"])
    elif p["landmarks"] is None and type(est).__name__ == "Isomap":
        found = from_gram(centred(-0.5 * D**2), p["n_components"])
    else:
        m = np.flatnonzero(np.isin(rows, est.landmarks_))
        order = np.searchsorted(rows[m], est.landmarks_)
        found = triangulated(D[:, m[order]], m[order], p["n_components"])
    found.rows = rows
    return found


@defines("LaplacianEigenmaps")
def _(est: Any, p: Any, X: Any, y: Any, given: Any) -> Expected:
    graph, P, rows = connected(p, X, given, landmark_rows(est, p))
    W = weigh(p["weights"], graph, P)
    if p["unit"] == "degree":
        return smallest(laplacian(W), np.diag(W.sum(axis=1)), p["n_components"], rows)[2]
    found = smallest(laplacian(W), None, p["n_components"], rows)[2]
    found.Y = found.Y * np.sqrt(len(W))
    return found


@defines("DiffusionMap")
def _(est: Any, p: Any, X: Any, y: Any, given: Any) -> Expected:
    graph, P, rows = connected(p, X, given, landmark_rows(est, p))
    W = weigh(p["weights"], graph, P)
    if not (
        isinstance(p["weights"], str) and p["weights"] == "precomputed"
    ):  # given ones have no diagonal in these cases
        W = W + np.eye(len(W))
    q = W.sum(axis=1) ** p["alpha"]
    W = W / np.outer(q, q)
    values, _, found = smallest(laplacian(W), np.diag(W.sum(axis=1)), p["n_components"], rows)
    walk = 1 - values[: p["n_components"]]
    sign = np.where((walk < 0) & (p["t"] % 2 == 1), -1.0, 1.0)
    found.Y = found.Y * np.sqrt(W.sum()) * sign * np.abs(walk) ** p["t"]
    return found


@defines("CommuteTimeEmbedding")
def _(est: Any, p: Any, X: Any, y: Any, given: Any) -> Expected:
    graph, P, rows = connected(p, X, given, landmark_rows(est, p))
    W = weigh(p["weights"], graph, P)
    values, _, found = smallest(laplacian(W), None, p["n_components"], rows)
    found.Y = found.Y * np.sqrt(W.sum() / values[: p["n_components"]])
    return found


@defines("SpectralClustering")
def _(est: Any, p: Any, X: Any, y: Any, given: Any) -> Expected:
    graph = graph_of(p, X, None, given)
    W = weigh(p["weights"], graph, X)
    d = W.sum(axis=1)
    d = np.where(d > 0, d, np.min(d[d > 0]))
    values, V = la.eigh(laplacian(W), np.diag(d) if p["cut"] == "normalized" else None)
    return Expected(values, V[:, : est.embedding_.shape[1]])


@defines("LLE", "ModifiedLLE", "HessianLLE", "LTSA")
def _(est: Any, p: Any, X: Any, y: Any, given: Any) -> Expected:
    name, d = type(est).__name__, p["n_components"]
    graph, P, rows = connected(p, X, given, landmark_rows(est, p), one_class=name in ("LLE", "ModifiedLLE"))
    E = graph.lists
    if name == "LLE":
        M = square(barycentres(P, E, p["reg"]))
    else:
        kind = {"ModifiedLLE": "modified", "HessianLLE": "hessian", "LTSA": "tangent"}[name]
        M = aligned(P, E, d, kind, p.get("reg", 1e-3))
    found = smallest(M, None, d, rows)[2]
    found.Y = found.Y * np.sqrt(len(M))
    return found


# ---------------------------------------------------------------------- projections over a graph
def pair_weights(p: Any, P: Any, codes: Any, weights: Any) -> tuple[Array, Array]:
    """Return W for degrees and Laplacians, and W for means over neighbours, which has no diagonal except for class means."""
    g = p["graph"]
    if isinstance(g, str) and g == "all":
        W = all_pairs(weights or "heat", P)
        return W, W - np.diag(np.diag(W))
    if isinstance(g, str) and g == "class":
        if weights is None:
            return mean_of_classes(codes), mean_of_classes(codes)
        D = pairwise_distances(P)
        same = (codes[:, None] == codes) & (codes >= 0) & ~np.eye(len(codes), dtype=bool)
        W = weigh(weights, Graph(np.where(same, D, np.inf), D), P)
        return W, W
    W = weigh(weights or "heat", graph_of(p, P, codes, None), P)
    return W, W


def projected(p: Any, X: Any, given: Any) -> tuple[Array, float, Any]:
    """Return the features, their ridge, and the points of graphs."""
    F, relative = features(p, X, given)
    return F, relative, X if p["kernel"] is None and p.get("reduce") is None else F


def codes_for_graph(p: Any, y: Any) -> Any:
    return codes_of(y, p["unlabeled"])


@defines("LPP", "OLPP")
def _(est: Any, p: Any, X: Any, y: Any, given: Any) -> Expected:
    F, relative, P = projected(p, X, given)
    W = pair_weights(p, P, codes_for_graph(p, y), p["weights"])[0]
    B = np.diag(W.sum(axis=1)) if type(est).__name__ == "LPP" else None
    values, _, Y = in_features(F, laplacian(W), B, "min", p["ridge"], relative)
    return Expected(values, Y[:, : p["n_components"]])


def _lists(p: Any, P: Any, codes: Any, by_class: bool) -> Array:
    """Return distances to the points from which each point is reconstructed: the others of its class, or its neighbours."""
    if by_class:
        same = (codes[:, None] == codes) & (codes >= 0) & ~np.eye(len(codes), dtype=bool)
        return np.where(same, pairwise_distances(P), np.inf)
    graph = graph_of(p, P, codes, None)
    if p["disconnected"] == "connect":
        graph = graph.bridged() if graph.pieces()[0] > 1 else graph
        graph = graph.with_one_closed_class()
    return graph.lists


@defines("NPP", "ONPP", "LLTSA")
def _(est: Any, p: Any, X: Any, y: Any, given: Any) -> Expected:
    F, relative, P = projected(p, X, given)
    codes, name = codes_for_graph(p, y), type(est).__name__
    by_class = isinstance(p["graph"], str) and p["graph"] == "class"
    if name == "LLTSA":
        M = aligned(P, graph_of(p, P, codes, None).lists, p["n_components"], "tangent")
    elif p["weights"] is None and by_class:
        M = laplacian(mean_of_classes(codes))
    elif p["weights"] is None or (isinstance(p["weights"], str) and p["weights"] == "barycentric"):
        M = square(barycentres(P, _lists(p, P, codes, by_class), p["reg"]))
    elif p["disconnected"] == "keep":
        M = square(averages(pair_weights(p, P, codes, p["weights"])[1]))
    else:
        raise Undefined
    B = None if name == "ONPP" else np.eye(len(F))
    values, _, Y = in_features(F, M, B, "min", p["ridge"], relative)
    skip = p.get("skip_smallest", 0)
    return Expected(values[skip:], Y[:, skip : skip + p["n_components"]])


# ---------------------------------------------------------------------- discriminants
def best(est: Any, values: Array, V: Array, Y: Array, axes: str, signed: bool = False) -> Expected:
    d = est.embedding_.shape[1]
    return Expected(values, weighted(axes, values[:d], V[:, :d], Y[:, :d], signed))


def ratio(est: Any, F: Array, A: Array, B: Array, axes: str) -> Expected:
    d = est.embedding_.shape[1]
    values, V = trace_ratio(A, B, d)
    V = V[:, :d]
    gains = np.diag(V.T @ A @ V) / np.diag(V.T @ B @ V)
    return Expected(values, weighted(axes, gains, V, F @ V))


@defines("LDA")
def _(est: Any, p: Any, X: Any, y: Any, given: Any) -> Expected:
    F, relative = features(p, X, given)
    codes = codes_of(y, p["unlabeled"])
    S_B, S_W = scatters(codes)
    s = p["shrinkage"]
    if p["criterion"] == "one-against-rest":
        raise Undefined  # dependent axes, which other tests compare
    if isinstance(s, str):
        s = ledoit_wolf_shrinkage((S_W @ F)[codes >= 0], assume_centered=True)
    s = s or 0.0
    level = np.trace(F.T @ S_W @ F) / F.shape[1]
    if p["criterion"] == "trace-ratio" or s:
        ridge: Any = s * level + (p["ridge"] or 0.0)
    else:
        ridge = p["ridge"]
    if p["criterion"] == "trace-ratio":
        F = F - F.mean(axis=0)
        B = F.T @ (S_B + (1 - s) * S_W) @ F
        if p["ridge"] is None and not s:
            ridge = relative * np.trace(B) / len(B)
        return ratio(est, F, F.T @ S_B @ F, B + ridge * np.eye(len(B)), p["axes"])
    return best(est, *in_features(F, S_B, S_B + (1 - s) * S_W, "max", ridge, relative), p["axes"])


def neighbours(P: Any, codes: Any, k: int, same: bool) -> Graph:
    """Return the edges of labelled points to their k nearest points of the same class, or of other classes."""
    D = pairwise_distances(P)
    known = (codes >= 0)[:, None] & (codes >= 0)
    return Graph(nearest(np.where(known & ((codes[:, None] == codes) == same), D, np.inf), k), D)


def locally(p: Any, P: Any, codes: Any) -> tuple[Array, Array]:
    """Return the costs of LFDA."""
    rule = p["affinity"]
    if isinstance(rule, str) and rule == "neighbours":
        near = np.isfinite(neighbours(P, codes, p["n_neighbors"] or 3, True).lengths).astype(float)
    else:
        local = isinstance(rule, str) and rule == "local"
        near = all_pairs(es.LocalScaling(p["n_neighbors"] or 7) if local else rule, P, codes)
    known = codes >= 0
    counts = np.bincount(codes[known])[np.where(known, codes, 0)] + 0.0
    other = known[:, None] & known & (codes[:, None] != codes)
    return near / counts - near / known.sum() - other / known.sum(), near / counts


def labelled_costs(name: str, p: Any, P: Any, codes: Any) -> tuple[Array, Any]:
    S_B, S_W = scatters(codes)
    if name == "LFDA":
        between, within = locally(p, P, codes)
        return laplacian(between), laplacian(within)
    if name == "MMC":
        return p["weight"] * S_W - S_B, None
    if name == "FDA":
        return -S_B, S_W
    k = p["n_neighbors"] or 3
    graphs = neighbours(P, codes, k, True), neighbours(P, codes, p["n_rivals"] or k, False)
    weights = p["weights"] if name == "LDE" else "binary"
    allies, rivals = (laplacian(weigh(weights, g, P)) for g in graphs)
    return (allies - rivals, None) if name == "DNE" else (-rivals, allies)


@defines("LFDA", "SSLFDA", "MFA", "SSMFA", "DNE", "SSDNE", "LDE", "MMC", "SSMMC", "SSFDA", "PairCosts")
def _(est: Any, p: Any, X: Any, y: Any, given: Any) -> Expected:
    F, relative, P = projected(p, X, given)
    F = F - F.mean(axis=0)
    name = type(est).__name__.removeprefix("SS")
    if name == "PairCosts":
        if (p["labelled"], p["unlabelled"], p["unit"]) != ("local_between", "local", "local_within"):
            raise Undefined  # tests/methods/test_cost_framework.py
        name = "LFDA"
    A, B = labelled_costs(name, p, P, codes_of(y, p["unlabeled"]))
    A = F.T @ A @ F
    if p["gamma"]:
        rule: Any = "local" if name == "LDE" else p.get("weights", "local")
        alpha = p["alpha"] or (4.0 if rule == "local" else 1.0)
        rule = es.Powered(es.LocalScaling(p["n_neighbors"] or 3) if rule == "local" else rule, alpha)
        everyone = isinstance(p["graph"], str)
        free = {"graph": p["graph"]}
        U = laplacian(all_pairs(rule, P) if everyone else weigh(rule, graph_of(free, P, None, None), P))
        U, values = F.T @ U @ F, la.eigvalsh(A)
        gain = np.maximum(-values, 0).sum()
        gain = gain if gain > 1e-12 * np.abs(values).sum() else np.abs(values).sum()
        A = A + p["gamma"] * (1.0 if p["gamma_scale"] == "raw" else gain / np.trace(U)) * U
    if B is None:
        values, V = la.eigh(A)
        return best(est, values, V, F @ V, p["axes"], signed=True)
    B = F.T @ B @ F
    ridge = p["ridge"]
    scaled = B / np.sqrt(np.outer(np.diag(B), np.diag(B)))
    if ridge is None and la.eigvalsh(scaled)[0] < 1e-7:
        values = la.eigvalsh(B)
        ridge = (p["gamma"] or None) if p["gamma_scale"] == "raw" else 0.01 * values[values > 1e-10 * values[-1]].mean()
    B = B + np.eye(len(B)) * (relative * np.trace(B) / len(B) if ridge is None else ridge)
    values, V = generalised(A, B, "min", psd=False)
    return best(est, values, V, F @ V, p["axes"], signed=True)


@defines("SELFDA")
def _(est: Any, p: Any, X: Any, y: Any, given: Any) -> Expected:
    F, relative, P = projected(p, X, given)
    between, within = locally(p, P, codes_of(y, p["unlabeled"]))
    b, n = p["beta"], len(F)
    A = b * (np.eye(n) - 1 / n) - (1 - b) * laplacian(between)
    ridge = b + (p["ridge"] or 0.0) if b else p["ridge"]
    return best(est, *in_features(F, A, (1 - b) * laplacian(within), "max", ridge, relative), p["axes"])


@defines("SSDR")
def _(est: Any, p: Any, X: Any, y: Any, given: Any) -> Expected:
    F, _ = features(p, X, given)
    codes, n = codes_of(y, p["unlabeled"]), len(F)
    known = (codes >= 0)[:, None] & (codes >= 0)
    same = (known & (codes[:, None] == codes) & ~np.eye(n, dtype=bool)).astype(float)
    other = (known & (codes[:, None] != codes)).astype(float)
    for pairs, C in ((p["must_link"], same), (p["cannot_link"], other)):
        for i, j in [] if pairs is None else np.asarray(pairs):
            C[i, j] = C[j, i] = 1.0
    a, b = (p["alpha"] / other.sum(), p["beta"] / same.sum()) if p["normalise"] else (p["alpha"], p["beta"])
    C = np.full((n, n), n**-2.0) + a * other - b * same
    return best(est, *in_features(F, laplacian(C), None, "max", None, 0.0), p["axes"])


@defines("SDA")
def _(est: Any, p: Any, X: Any, y: Any, given: Any) -> Expected:
    F, relative, P = projected(p, X, given)
    codes = codes_of(y, p["unlabeled"])
    S_B, S_W = scatters(codes)
    B = S_B + S_W
    if p["mu"]:
        if isinstance(p["weights"], str) and p["weights"] == "path":
            raise Undefined
        B = B + p["mu"] * laplacian(pair_weights(p, P, codes, p["weights"])[0])
    return best(est, *in_features(F, S_B, B, "max", p["ridge"], relative), p["axes"])


@defines("SDACCCP")
def _(est: Any, p: Any, X: Any, y: Any, given: Any) -> Expected:
    F, relative = features(p, X, given)
    known = codes_of(y, p["unlabeled"]) >= 0
    sure = known | (est.confidence_ > p["threshold"]) | (p["threshold"] == 0)
    S_B, S_W = scatters(np.where(sure, codes_of(est.transduction_, None), -1))
    return best(est, *in_features(F, S_B, S_B + S_W, "max", p["ridge"], relative), p["axes"])


@defines("SODA")
def _(est: Any, p: Any, X: Any, y: Any, given: Any) -> Expected:
    F, _, P = projected(p, X, given)
    codes = codes_of(y, p["unlabeled"])
    W = pair_weights(p, P, codes, p["weights"])[0]
    W = W - np.diag(np.diag(W))
    d, c = W.sum(axis=1), codes.max() + 1
    own = np.where(d > 0, np.where(codes >= 0, p["trust"], p["novelty"]), 1.0)
    shares = la.solve(
        np.eye(len(W)) - (1 - own)[:, None] * averages(W), own[:, None] * (codes[:, None] == np.arange(c))
    )
    weight = shares.sum(axis=1)
    mean = np.outer(weight, weight) / weight.sum()
    S_B, S_T = shares / shares.sum(axis=0) @ shares.T - mean, np.diag(weight) - mean
    F = F - F.mean(axis=0)
    A, B = F.T @ S_B @ F, F.T @ S_T @ F
    B = B + np.eye(len(B)) * (np.trace(B) / len(B) if p["ridge"] is None else p["ridge"])
    return ratio(est, F, A, B, p["axes"])


def label_kernel(p: Any, y: Any) -> Array:
    if p["labels"] == "delta":
        codes = codes_of(y, p["unlabeled"])
        known = (codes >= 0).astype(float)
        K = ((codes[:, None] == codes) & (codes >= 0)).astype(float)
    else:
        T, known = np.asarray(y, dtype=float)[:, None], np.ones(len(y))
        D = pairwise_distances(T)
        width = p["width"] or np.median(D[np.triu_indices(len(T), 1)]) / 2
        K = T @ T.T if p["labels"] == "linear" else np.exp(-((D / width) ** 2))
    H = np.diag(known) - np.outer(known, known) / known.sum()
    return H @ K @ H


@defines("SupervisedPCA")
def _(est: Any, p: Any, X: Any, y: Any, given: Any) -> Expected:
    F, _ = features(p, X, given)
    return best(est, *in_features(F, label_kernel(p, y), None, "max", None, 0.0), p["axes"])


@defines("RoweisDA")
def _(est: Any, p: Any, X: Any, y: Any, given: Any) -> Expected:
    F, relative = features(p, X, given)
    K, n = label_kernel(p, y), len(F)
    A = (1 - p["r1"]) * (np.eye(n) - 1 / n) + p["r1"] * K / la.eigvalsh(K)[-1]
    B = None if p["r2"] == 0 else p["r2"] * scatters(codes_of(y, p["unlabeled"] if p["labels"] == "delta" else None))[1]
    ridge = None if p["r2"] == 1 and p["ridge"] is None else 1 - p["r2"] + (p["ridge"] or 0.0)
    return best(est, *in_features(F, A, B, "max", ridge, relative), p["axes"])


# ---------------------------------------------------------------------- by hand
def named_form(form: Any, p: Any, P: Any, y: Any, graph: Callable[[], Graph]) -> tuple[Array, bool]:
    """Return a form by its name, and whether constants are in its null space."""
    n, codes = len(P), codes_of(y, p["unlabeled"])
    S_B, S_W = scatters(codes)
    E = None if form not in ("reconstruction", "tangent", "hessian", "modified") else graph()
    if E is not None:
        M = (
            square(barycentres(P, E.lists, 1e-3))
            if form == "reconstruction"
            else aligned(P, E.lists, p["n_components"], form)
        )
        return M, True
    if form in ("laplacian", "degree"):
        W = weigh(p["weights"], graph(), P)
        return (laplacian(W), True) if form == "laplacian" else (np.diag(W.sum(axis=1)), False)
    if not isinstance(form, str):
        return form(P, y).to_dense(), False
    H = mean_of_classes(codes)
    return {
        "variance": (np.eye(n) - 1 / n, True),
        "identity": (np.eye(n), False),
        "between": (S_B, True),
        "within": (S_W, True),
        "total": (S_B + S_W, True),
        "class_average": (H, False),
        "class_laplacian": (laplacian(H), True),
    }[form]


@defines("TraceReducer")
def _(est: Any, p: Any, X: Any, y: Any, given: Any) -> Expected:
    d, samples = p["n_components"], p["basis"] == "samples"
    if p["over"] is not None:
        raise Undefined  # tests/numerics/test_trace_ratio_metric.py
    F, relative, P = X, 0.0, X
    if not samples:
        kernel = p["kernel"] if p["basis"] == "kernel" else None
        F, relative, P = projected({**p, "kernel": kernel}, X, given)

    def graph() -> Graph:
        found = graph_of(p, P, None, None)
        if not samples:
            return found
        found = found.bridged() if found.pieces()[0] > 1 else found
        one_class = {"reconstruction", "modified"} & {
            form for form in (p["minimise"], p["maximise"], p["unit"]) if isinstance(form, str)
        }
        return found.with_one_closed_class() if one_class else found

    sense = "min" if p["maximise"] is None else "max"
    objective = p["maximise"] if sense == "max" else p["minimise"] or "laplacian"
    A, constant = named_form(objective, p, P, y, graph)
    B = None
    if not (isinstance(p["unit"], str) and p["unit"] == "projection"):
        own = isinstance(p["unit"], str) and p["unit"] == "embedding"
        B = np.eye(len(A)) if own else named_form(p["unit"], p, P, y, graph)[0]
    if samples:
        B = np.eye(len(A)) if B is None else B
        one = np.ones((len(A), 1))
        out = B @ one if la.norm(B @ one) > 1e-9 * la.norm(B) else one
        T = la.null_space(out.T) if constant else np.eye(len(A))
        values, V = generalised(T.T @ A @ T, T.T @ B @ T, sense, psd=False)
        Y = T @ V
    else:
        values, _, Y = in_features(F, A, B, sense, p["ridge"], relative)
    anywhere = samples and constant and B is not None and la.norm(B.sum(axis=1)) <= 1e-9 * la.norm(B)
    Y = Y[:, :d] * {"covariance": np.sqrt(len(A)), "sqrt": np.sqrt(np.maximum(values[:d], 0.0))}.get(p["scale"], 1.0)
    return Expected(values, Y, anywhere=bool(anywhere))
