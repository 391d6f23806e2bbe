"""Compare a fit with the dense definition of its method, or with LAPACK on the problem that it reports."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg as la

from dense_methods import definition
from eigenspan.problem import TraceRatio


def wrong_with(estimator: Any, X: Any, y: Any = None) -> str:
    """Return the error in the eigenvalues and axes of a fit to the points X; "" if there is none or no definition."""
    expected = definition(estimator, X, y, X)
    return against(estimator, expected) if expected is not None else against_problem(estimator)


def against(estimator: Any, expected: Any) -> str:
    values, found = np.asarray(expected.values), np.asarray(estimator.eigenvalues_)
    d = found.size
    size = np.abs(values).max()
    off = np.abs(found - values[:d]).max() / size
    if not off < 1e-6:
        return f"eigenvalues differ from the definition: {found} for {values[:d]}"
    edge = abs(values[d] - values[d - 1]) / size if values.size > d else 1.0
    tol = max(1e-5, 1e-10 / max(edge, 1e-300))
    if tol > 1e-3:
        return ""  # the last axes are not unique
    Y, Z = np.asarray(estimator.embedding_)[expected.rows], expected.Y
    if expected.anywhere:
        Y, Z = Y - Y.mean(axis=0), Z - Z.mean(axis=0)
    moving = (np.abs(Z).max(axis=0) > 0) & (np.abs(Y).max(axis=0) > 0)
    if not np.array_equal(np.abs(Z).max(axis=0) > 0, np.abs(Y).max(axis=0) > 0):
        return "axes are zero where the definition's are not, or the other way about"
    Q, P = (np.linalg.qr(M[:, moving] / np.abs(M[:, moving]).max(axis=0))[0] for M in (Y, Z))
    angle = np.sin(la.subspace_angles(Q, P).max()) if moving.any() else 0.0
    if not angle < tol:
        return f"the subspace differs from the definition: sine {angle:.1e}"
    inner = np.abs(np.diff(values[:d])).min() / size if d > 1 else 1.0
    if inner < 1e-6:
        return ""  # single axes are not unique
    sign = np.sign(np.sum(Y * Z, axis=0))
    off = np.abs(Y * sign - Z).max() / np.abs(Z).max()
    return "" if off < max(1e-4, 1e-10 / inner) else f"the embedding differs from the definition: {off:.1e}"


def against_problem(estimator: Any) -> str:
    """Solve the reported problem of an estimator by LAPACK and compare."""
    problem = getattr(estimator, "problem_", None)
    if problem is None or not hasattr(problem, "exclude"):
        return ""
    A, unit = problem.A.to_dense(), problem.B
    size = la.norm(A, 2)
    if isinstance(problem, TraceRatio):  # the extreme eigenvalues of A − ρB sum to zero
        A, unit = A - estimator.diagnostics_["trace_ratio"] * problem.B.to_dense(), problem.C
    B = np.eye(len(A)) if unit is None else unit.to_dense()
    if problem.exclude is not None:
        T = la.null_space(problem.exclude.T @ B)
        A, B = T.T @ A @ T, T.T @ B @ T
    low, high = la.eigvalsh(B)[[0, -1]]
    if low < 1e-9 * high:
        return ""
    values = la.eigvalsh(A, B)
    found = np.asarray(estimator.eigenvalues_)
    found = found[len(found) - min(len(found), len(values)) :]
    values = values if problem.sense == "min" else values[::-1]
    skip = estimator.get_params().get("skip_smallest", 0)
    if type(estimator).__name__ == "SpectralClustering":
        found = found[problem.exclude.shape[1] :]
    size = max(np.abs(values).max(), size / high * isinstance(problem, TraceRatio))
    off = np.abs(found - values[skip : skip + found.size]).max(initial=0.0) / size
    return "" if off < 1e-7 else f"eigenvalues differ from those of problem_: {found} for {values[: found.size]}"
