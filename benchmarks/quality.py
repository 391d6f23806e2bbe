"""How good a result is: measures of one contender's runs, and the grades that tasks are given."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp
from scipy.sparse.linalg import eigsh

Arrays = dict[str, Any]
Runs = dict[str, list[Arrays]]  # the repeats of every contender that finished
Grades = dict[str, dict[str, float]]
Measure = Callable[[Arrays, list[Arrays], Runs], float | None]
Grade = Callable[[Arrays, Runs], Grades]


def each(measures: dict[str, Measure]) -> Grade:
    """Grade every contender by the same measures; None leaves a measure out."""

    def grade(data: Arrays, everyone: Runs) -> Grades:
        found = {
            name: {label: measure(data, runs, everyone) for label, measure in measures.items()}
            for name, runs in everyone.items()
        }
        return {name: {label: v for label, v in row.items() if v is not None} for name, row in found.items()}

    return grade


# ---------------------------------------------------------------------- geometry
def procrustes(A: Any, B: Any) -> float:
    """``min ‖A − sBR − 1c'‖ / ‖A − mean‖`` over rotations R, scales s and shifts c."""
    A, B = centred(A), centred(B)
    U, s, Vt = la.svd(B.T @ A, full_matrices=False)
    fitted = B @ (U @ Vt) * (s.sum() / max(np.sum(B**2), np.finfo(float).tiny))
    return float(np.linalg.norm(A - fitted) / np.linalg.norm(A))


def affine_r2(A: Any, B: Any) -> float:
    """Share of the variance of A that an affine function of B explains."""
    A, Q = centred(A), la.orth(centred(B))
    return float(np.sum((Q.T @ A) ** 2) / np.sum(A**2))


def degrees(A: Any, B: Any) -> float:
    """The largest principal angle between the columns' spans."""
    return float(np.degrees(la.subspace_angles(A, B).max()))


def centred(Y: Any) -> Any:
    return np.asarray(Y, dtype=np.float64) - Y.mean(axis=0, dtype=np.float64)


# ---------------------------------------------------------------------- measures
def to_canonical_axes(data: Arrays, runs: list[Arrays], everyone: Runs) -> float:
    """Degrees from the canonical axes of X, by LAPACK."""
    (Q, R), (P, _) = (la.qr(centred(data[name]), mode="economic") for name in "XY")
    V = runs[0]["V"]
    return degrees(la.solve_triangular(R, la.svd(Q.T @ P)[0][:, : V.shape[1]]), V)


def to_truth(data: Arrays, runs: list[Arrays], everyone: Runs) -> float:
    return procrustes(data["truth"], runs[0]["Y"])


def explains_truth(data: Arrays, runs: list[Arrays], everyone: Runs) -> float:
    return affine_r2(data["truth"], runs[0]["Y"])


def to_peer(peer: str) -> Measure:
    """Procrustes residual to another contender's embedding."""
    return lambda data, runs, everyone: (
        procrustes(everyone[peer][0]["Y"], runs[0]["Y"]) if peer in everyone and runs is not everyone[peer] else None
    )


def between_seeds(data: Arrays, runs: list[Arrays], everyone: Runs) -> float | None:
    """Degrees between the spans of two runs that differ in their seed."""
    return degrees(centred(runs[0]["Y"]), centred(runs[1]["Y"])) if len(runs) > 1 else None


def five_nearest(data: Arrays, runs: list[Arrays], everyone: Runs) -> float:
    """Leave-one-out accuracy of a vote of five neighbours among 10,000 rows of the embedding."""
    from sklearn.neighbors import NearestNeighbors

    rows = np.random.default_rng(0).permutation(len(data["y"]))[:10_000]
    y = data["y"][rows].astype(int)
    votes = y[NearestNeighbors(n_neighbors=5).fit(runs[0]["Y"][rows]).kneighbors(return_distance=False)]
    counts = np.stack([(votes == c).sum(axis=1) for c in range(y.max() + 1)], axis=1)
    return float(np.mean(counts.argmax(axis=1) == y))


def unfolding_gap(data: Arrays, runs: list[Arrays], everyone: Runs) -> float:
    """Relative gap of an unfolding: the variance left when no pair is too long, against what the duals prove.

    ``(UB − LB) / UB`` with ``LB = ‖HF‖² / max(v/d)`` and ``UB = wᵀd / λ₂(L(w))``; 1 where the duals prove nothing.
    """
    F, w, d = centred(runs[0]["F"]), runs[0]["w"], data["squares"]
    i, j = data["pairs"].T
    lower = np.sum(F**2) / np.max(np.sum((F[i] - F[j]) ** 2, axis=1) / d)
    n = len(F)
    W = sp.csr_array((np.tile(w, 2), (np.concatenate([i, j]), np.concatenate([j, i]))), shape=(n, n))
    L = sp.csc_array(sp.diags_array(np.asarray(W.sum(axis=1)).ravel()) - W)
    if n <= 500:
        second = la.eigvalsh(L.toarray())[1]
    else:
        second = np.sort(
            eigsh(L, 2, sigma=-0.05 * L.diagonal().mean() * 1e-3, return_eigenvectors=False, v0=np.arange(n) - n / 2.0)
        )[1]
    return float(1.0 - lower * second / (w @ d)) if second > 0 else 1.0


def recall(data: Arrays, runs: list[Arrays], everyone: Runs) -> float:
    """Share of the true neighbours of 1,000 rows that were found."""
    from sklearn.neighbors import NearestNeighbors

    X, found = data["X"], runs[0]["neighbours"]
    rows = np.random.default_rng(0).permutation(len(X))[:1000]
    search = NearestNeighbors(n_neighbors=found.shape[1] + 1, algorithm="brute").fit(X)
    exact = search.kneighbors(X[rows], return_distance=False)
    hits = [len(set(found[i]) & set(near[near != i][: found.shape[1]])) for i, near in zip(rows, exact, strict=True)]
    return float(np.mean(hits) / found.shape[1])


def kernel_variance(gamma: float) -> Measure:
    """Kernel variance along the embedding, of the most that as many axes can have, over the first 3,000 rows."""

    def measure(data: Arrays, runs: list[Arrays], everyone: Runs) -> float:
        from sklearn.metrics.pairwise import rbf_kernel

        Y = runs[0]["Y"][:3000]
        K = rbf_kernel(data["X"][:3000], gamma=gamma)
        K = K - K.mean(axis=0) - K.mean(axis=1, keepdims=True) + K.mean()
        Q = la.orth(centred(Y))
        best = eigsh(K, Y.shape[1], which="LA", return_eigenvectors=False, v0=np.ones(len(K)))
        return float(np.trace(Q.T @ K @ Q) / best.sum())

    return measure


# ---------------------------------------------------------------------- grades with a reference of their own
def principal_axes(data: Arrays, everyone: Runs) -> Grades:
    """Against the covariance in double precision: degrees to its leading eigenvectors, and the variance of the best kept."""
    X = data["X"]
    if X.shape[0] < X.shape[1]:
        X = X.toarray() if sp.issparse(X) else X
        return _to_right_vectors(X - X.mean(axis=0), everyone)
    mean = X.mean(axis=0, dtype=np.float64)
    C = sum((R := X[i : i + 20_000] - mean).T @ R for i in range(0, len(X), 20_000))
    values, V = (part[..., ::-1] for part in la.eigh(C))
    kept = {name: la.orth(A) for name, A in _axes(everyone).items()}
    share = {name: float(np.trace(Q.T @ C @ Q) / values[: Q.shape[1]].sum()) for name, Q in kept.items()}
    return {
        name: {"variance of best": share[name], "degrees to exact": degrees(V[:, : Q.shape[1]], Q)}
        for name, Q in kept.items()
    }


def right_vectors(data: Arrays, everyone: Runs) -> Grades:
    """The same about the origin, for sparse rows with more columns."""
    return _to_right_vectors(data["X"], everyone)


def _to_right_vectors(X: Any, everyone: Runs) -> Grades:
    """From the products of the rows, of which there are fewer than columns."""
    G = X @ X.T
    values, U = (part[..., ::-1] for part in la.eigh(G.toarray() if sp.issparse(G) else G))
    kept = {name: la.orth(A) for name, A in _axes(everyone).items()}
    return {
        name: {
            "variance of best": float(np.sum((X @ Q) ** 2) / values[: Q.shape[1]].sum()),
            "degrees to exact": degrees(X.T @ U[:, : Q.shape[1]], Q),
        }
        for name, Q in kept.items()
    }


def discriminant_axes(data: Arrays, everyone: Runs) -> Grades:
    """Degrees between the directions found and the eigenvectors of (S_B, S_W) in double precision."""
    X, y = centred(data["X"]), data["y"]
    sums = np.stack([X[y == c].sum(axis=0) for c in range(y.max() + 1)])
    S_B = sums.T @ (sums / np.bincount(y)[:, None])
    V = la.eigh(S_B, X.T @ X - S_B)[1][:, ::-1]
    return {name: {"degrees to exact": degrees(V[:, : A.shape[1]], A)} for name, A in _axes(everyone).items()}


def _axes(everyone: Runs) -> dict[str, Any]:
    return {name: np.asarray(runs[0]["V"], np.float64) for name, runs in everyone.items() if "V" in runs[0]}


def walk_vectors(data: Arrays, everyone: Runs) -> Grades:
    """Cosine of the largest angle to the exact eigenvectors of the 0/1 graph, to 200,000 points."""
    L, root = normalised_laplacian(data["W"])
    if len(root) > 200_000:
        return {}
    d = next(iter(everyone.values()))[0]["Y"].shape[1]
    U = eigsh(L, d + 1, sigma=-1e-9, which="LM", v0=np.ones(len(root)))[1]
    U = U - np.outer(root, root @ U) / (root @ root)
    U = la.svd(U, full_matrices=False)[0][:, :d]
    angles = {name: degrees(U, _without(root, runs[0]["Y"])) for name, runs in everyone.items()}
    return {name: {"cosine to exact": float(np.cos(np.radians(a)))} for name, a in angles.items()}


def normalised_laplacian(W: Any) -> tuple[Any, Any]:
    """``I − D^{-1/2} W D^{-1/2}`` without self-loops, and D^{1/2} as a vector."""
    W = sp.csr_array(W, copy=True)
    W.setdiag(0.0)
    root = np.sqrt(np.asarray(W.sum(axis=1)).ravel())
    S = sp.diags_array(1.0 / root)
    return sp.csc_array(sp.eye_array(len(root)) - S @ W @ S), root


def _without(root: Any, Y: Any) -> Any:
    """``D^{1/2} Y`` without its part along the trivial vector."""
    U = root[:, None] * Y
    return U - np.outer(root, root @ U) / (root @ root)


def walk_residual(W: Any, Y: Any) -> float:
    """``max ‖Lu − λu‖ / λ‖u‖`` over the columns ``u = D^{1/2}y`` on the contender's own graph, λ its Rayleigh quotient."""
    L, root = normalised_laplacian(W)
    U = _without(root, np.asarray(Y, dtype=np.float64))
    U /= np.linalg.norm(U, axis=0)
    LU = L @ U
    values = np.sum(U * LU, axis=0)
    return float(np.max(np.linalg.norm(LU - U * values, axis=0) / values))
