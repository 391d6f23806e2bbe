"""Sufficient features of a contingency table: ``p(x, y) ∝ exp(a(x) + b(y) + φ(x)·ψ(y))`` [S3, §3.9.5]."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from scipy.special import logsumexp

from ..._diagnostics import note, stage
from ..._parameters import Count, Seed, Share, Tolerance, attribute, parameter
from ..._types import Array, Index
from ...data import Input, Points, Sample
from ...errors import ConvergenceWarning, DimensionError, InputError, warn
from ...numerics.eigen import dense
from ...problem import Fitted, Map, orientation_of
from ...problem.spectrum import seed_of
from ..base.contract import Components, Reducer
from ..base.table import besides, known_as

#: Largest number of Newton steps of a row, and decrement, relative to the total of the row, at which they stop.
_STEPS, _SETTLED = 60, 1e-14
#: Share of its largest diagonal entry that is added to a Hessian, and the smallest expected share of a cell.
_DAMPING, _TINY = 1e-12, float(np.finfo(np.float64).tiny)


@besides(
    "sufficient", "min divergence of counts", "covariance of columns", "counts", "none", "n D d² per sweep", "S3 §3.9.5"
)
@known_as(
    "Sufficient dimensionality reduction of a table of counts",
    "sufficient dimensionality reduction; contingency table; table of counts; co-occurrence data; information projection; "
    "Kullback–Leibler divergence of counts; SDR of contingency tables",
)
class ContingencySDR(Reducer):
    """Sufficient dimensionality reduction of a table of counts.

    .. math:: \\min_{a, b, \\varphi, \\psi} \\operatorname{KL}\\bigl(\\hat p \\,\\|\\, p\\bigr), \\quad
              p(x, y) = \\exp\\bigl(a(x) + b(y) + \\varphi(x) \\cdot \\psi(y)\\bigr)

    [S3, §3.9.5]: rows of the table are the values of x, columns those of y, entries how often they came together. Among the tables whose
    logarithm has d products of a row's and a column's feature besides its margins, this is the most likely one: it keeps the
    expectation of ψ in every row and of φ in every column, and otherwise has the largest entropy. The features φ of a row contain all
    information of its counts about y. Use it for words by documents, species by sites, codes by regions; where rows hardly differ it
    is correspondence analysis, and unlike that it never expects negative counts.

    Cost: O(IJd²) for each of some tens of sweeps over a table of I rows and J columns, O(IJd) memory.

    Parameters
    ----------
    smoothing
        Share s of independence that is mixed into the table, ``(1 − s) p(x, y) + s p(x) p(y)``. If cells are empty, the
        features of the maximum-likelihood table can be infinite; this keeps them finite. 0 uses the table as it is; if its
        features are infinite, the sweeps stop when a cell vanishes, with a `ConvergenceWarning`.
    tol
        Stop when a sweep lowers the divergence by less than this share of the table's mutual information.
    max_iter
        Maximum number of sweeps. A `ConvergenceWarning` says if they were too few.
    n_starts
        Number of starts. The first is correspondence analysis, the others are random, and the result of least divergence is
        kept. Rows that differ strongly and at random can have several local optima.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_rows, n_components)
        φ, centred and uncorrelated over the rows weighted by their totals, the longest axis first.
    column_features_ : ndarray of shape (n_columns, n_components)
        ψ, of mean zero and unit covariance over the columns weighted by their totals.
    association_ : ndarray of shape (n_components,)
        Length of each axis of φ: approximately the canonical correlations of rows and columns if these are small.
    expected_ : ndarray of shape (n_rows, n_columns)
        Counts expected under the model, with the margins of the (smoothed) table.
    information_ : float
        Mutual information of rows and columns in the (smoothed) table, in nats.
    divergence_ : float
        The part of it that the features miss: the divergence of the table from the model.
    n_iter_ : int
        Number of sweeps.
    path_ : ndarray
        The divergence at the start and after every sweep. It never increases.
    map_ : Map
        The function behind ``transform``, for new rows over the same columns.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenspan import ContingencySDR
    >>> counts = np.array([[20, 5, 1], [10, 10, 5], [2, 12, 20], [1, 3, 30]])
    >>> sdr = ContingencySDR(1).fit(counts)
    >>> bool(sdr.divergence_ < 0.05 * sdr.information_)
    True
    >>> sdr.transform([[5, 6, 7]]).shape
    (1, 1)

    References
    ----------
    Globerson & Tishby (2003), Sufficient dimensionality reduction; Goodman (1985) for the model in statistics; [S3] §3.9.5.
    """

    n_components: Components = parameter(default=2, kw_only=False)
    smoothing: Share = 1e-3
    tol: Tolerance = 1e-8
    max_iter: Count = 500
    n_starts: Count = 1
    random_state: Seed = 0

    column_features_: Array = attribute()
    association_: Array = attribute()
    expected_: Array = attribute()
    information_: float = attribute()
    divergence_: float = attribute()
    n_iter_: int = attribute()
    path_: Array = attribute()

    _input: ClassVar[Input] = Input()

    def _fit(self, sample: Sample[Points, None]) -> Fitted:
        N = sample.x.values
        total, d = _check_table(N, self.n_components), self.n_components
        p, q = N.sum(axis=1) / total, N.sum(axis=0) / total
        P = (1 - self.smoothing) * N / total + self.smoothing * np.outer(p, q)
        information = _divergence(P, np.outer(p, q))
        if information <= 1e-14:
            raise InputError(
                f"Rows and columns of the table are independent (their mutual information is {information:.1e} nats): no row tells more of "
                "the columns than another, and there is nothing to show."
            )
        with stage("sweeps"):
            runs = [self._sweeps(P, start, information) for start in self._starts(P)]
        model, path = min(runs, key=lambda run: run[1][-1])
        self._report(P, model, path, information)
        model, lengths = model.turned(p, q)
        rows = FeatureRows(model.b, model.psi, q, self.smoothing)
        phi = rows(N)
        expected = np.exp(rows.base(N, phi)[:, None] + model.b + phi @ model.psi.T) * total
        found = {
            "column_features_": model.psi,
            "association_": lengths,
            "expected_": expected,
            "path_": path,
            "n_iter_": path.size - 1,
        }
        found |= {"information_": information, "divergence_": _divergence(P, expected / total)}
        return Fitted(phi, Map(rows, np.eye(d)), found)

    def _sweeps(self, P: Array, model: Model, information: float) -> tuple[Model, Array]:
        """Fit rows given columns and columns given rows in turn. Both are convex problems, so the divergence never rises."""
        goal = self.tol * information
        path = [_divergence(P, model.table())]
        while len(path) <= self.max_iter:
            model = (
                model.rows_fitted(P).transposed().rows_fitted(P.T).transposed().turned(P.sum(axis=1), P.sum(axis=0))[0]
            )
            path.append(_divergence(P, model.table()))
            if path[-2] - path[-1] <= goal or model.diverged():
                break
        return model, np.array(path)

    def _starts(self, P: Array) -> list[Model]:
        """Return starting models: correspondence analysis, and random features of the same size."""
        near, rng = Model.near(P, self.n_components), np.random.default_rng(seed_of(self.random_state))
        others = [replace(near, psi=rng.standard_normal(near.psi.shape)) for _ in range(self.n_starts - 1)]
        return [near, *others]

    def _report(self, P: Array, model: Model, path: Array, information: float) -> None:
        note(sweeps=path.size - 1)
        if model.diverged():
            vanished = int(np.sum(model.table() < _TINY))
            warn(
                f"The features of the most likely table are infinite: {vanished} of its cells vanish in the limit "
                f"({int(np.sum(P == 0))} of {P.size} cells of the given table are empty). The features returned are those after "
                f"{path.size - 1} sweeps. Use smoothing > 0 (got {self.smoothing}), or fewer components.",
                ConvergenceWarning,
            )
        elif path[-2] - path[-1] > self.tol * information:
            warn(
                f"ContingencySDR stopped after max_iter={self.max_iter} sweeps, the last of which took {path[-2] - path[-1]:.1e} nats off "
                f"the divergence (wanted {self.tol * information:.1e}). Raise max_iter, tol, or smoothing where many cells are empty.",
                ConvergenceWarning,
            )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags


def _check_table(N: Array, d: int) -> float:
    """Return the total of a table of counts; raise if it is not one or has fewer than d features."""
    _check_counts(N)
    most = min(N.shape) - 1
    if d > most:
        raise DimensionError(
            f"n_components={d}, but a table of {N.shape[0]} rows and n_features = {N.shape[1]} columns has {most} features besides its "
            f"margins: they describe it exactly. Use n_components <= {most}, or a larger table."
        )
    for axis, what in ((0, "column"), (1, "row")):
        empty = np.flatnonzero(N.sum(axis=axis) == 0)
        if empty.size:
            raise InputError(
                f"{empty.size} of the {what}s of the table are empty (first: {empty[0]}): what never occurs has no features. Drop them."
            )
    return float(N.sum())


def _check_counts(N: Array) -> None:
    if N.size and N.min() < 0:
        raise InputError(
            f"Negative values in data passed to ContingencySDR: {int(np.sum(N < 0))} entries, the lowest {N.min():.6g}. A contingency "
            "table holds how often a row and a column came together, counts or frequencies."
        )


def _divergence(P: Array, Q: Array) -> float:
    """Return the Kullback–Leibler divergence, for tables whose totals may differ."""
    some = P > 0
    return max(0.0, float(np.sum(P[some] * np.log(P[some] / np.maximum(Q[some], _TINY))) - P.sum() + Q.sum()))


@dataclass(frozen=True, eq=False)
class Model:
    """``p_ij = exp(a_i + b_j + φ_i·ψ_j)``."""

    a: Array
    b: Array
    phi: Array
    psi: Array

    @classmethod
    def near(cls, P: Array, d: int) -> Model:
        """Return the model of correspondence analysis, the first-order solution for rows that hardly differ."""
        p, q = P.sum(axis=1), P.sum(axis=0)
        U, s, V = dense.principal_axes((P - np.outer(p, q)) / np.sqrt(np.outer(p, q)), rtol=1e-8)
        if s.size < d:
            raise DimensionError(
                f"n_components={d}, but the rows of the table differ along {s.size} direction(s) only: no further features tell them "
                f"apart. Use n_components <= {s.size}."
            )
        phi, psi = U[:, :d] * s[:d] / np.sqrt(p)[:, None], V[:, :d] / np.sqrt(q)[:, None]
        return cls(np.log(p), np.log(q), phi, psi).rows_fitted(P)

    def table(self) -> Array:
        return np.asarray(np.exp(self.a[:, None] + self.b + self.phi @ self.psi.T))

    def diverged(self) -> bool:
        """Return True if a cell has vanished, so that features grow without bound."""
        return bool(self.table().min() < _TINY)

    def transposed(self) -> Model:
        return Model(self.b, self.a, self.psi, self.phi)

    def rows_fitted(self, P: Array) -> Model:
        """Return the model with optimal a and φ, for the given b and ψ."""
        theta = fit_rows(P, self.psi, self.b, np.column_stack([self.a, self.phi]))
        return Model(theta[:, 0], self.b, theta[:, 1:], self.psi)

    def turned(self, p: Array, q: Array) -> tuple[Model, Array]:
        """Return the same table with centred features, those of the columns with unit covariance, and the lengths of the axes."""
        phi0, psi0 = p @ self.phi, q @ self.psi
        phi, psi = self.phi - phi0, self.psi - psi0
        a, b = self.a + self.phi @ psi0, self.b + psi @ phi0
        U, s, V = dense.principal_axes(np.sqrt(p)[:, None] * phi, rtol=0.0)
        W, t, X = dense.principal_axes((np.sqrt(q)[:, None] * psi) @ (V * s), rtol=0.0)
        # √p φ ψ' √q = U diag(s) V' ψ' √q = (U X) diag(t) W'
        phi, psi = (U @ X * t) / np.sqrt(p)[:, None], W / np.sqrt(q)[:, None]
        turn = orientation_of(t, phi)
        return Model(a, b, phi @ turn, psi @ turn), t


def fit_rows(P: Array, psi: Array, b: Array, theta: Array) -> Array:
    """Return intercept and slopes of Poisson regressions of the rows of P on ψ with offsets b, by Newton's method with halved steps.

    The problems of different rows are independent and convex.
    """
    D = np.column_stack([np.ones(len(psi)), psi])
    k = D.shape[1]
    products = (D[:, :, None] * D[:, None, :]).reshape(len(D), -1)
    theta, todo = theta.copy(), np.arange(len(P))
    with np.errstate(over="ignore", invalid="ignore"):
        Q = np.exp(theta @ D.T + b)
        cost = Q.sum(axis=1) - np.sum(P * (theta @ D.T), axis=1)
        for _ in range(_STEPS):
            g = (Q[todo] - P[todo]) @ D
            H = (Q[todo] @ products).reshape(-1, k, k)
            # A row whose expected counts vanish but for a few columns has a singular Hessian.
            H[:, range(k), range(k)] += _DAMPING * H[:, range(k), range(k)].max(axis=1, keepdims=True) + _TINY
            step = -np.linalg.solve(H, g[:, :, None])[:, :, 0]
            slope = np.sum(g * step, axis=1)
            open_ = -slope > _SETTLED * P[todo].sum(axis=1)
            todo, step, slope = todo[open_], step[open_], slope[open_]
            todo = _descend(P, D, b, theta, Q, cost, todo, step, slope)
            if not todo.size:
                break
    return theta


def _descend(
    P: Array, D: Array, b: Array, theta: Array, Q: Array, cost: Array, rows: Index, step: Array, slope: Array
) -> Index:
    """Move the rows along their steps, each halved until its cost falls; return the rows that moved."""
    length, moved, waiting = np.ones(rows.size), np.zeros(rows.size, dtype=bool), np.arange(rows.size)
    for _ in range(40):
        if not waiting.size:
            break
        i = rows[waiting]
        tried = theta[i] + length[waiting, None] * step[waiting]
        eta = tried @ D.T
        there = np.exp(eta + b)
        price = there.sum(axis=1) - np.sum(P[i] * eta, axis=1)
        good = price <= cost[i] + 1e-4 * length[waiting] * slope[waiting]
        theta[i[good]], Q[i[good]], cost[i[good]] = tried[good], there[good], price[good]
        moved[waiting[good]] = True
        waiting = waiting[~good]
        length[waiting] /= 2
    return rows[moved]


@dataclass(frozen=True, eq=False)
class FeatureRows:
    """The function ``counts -> φ``: features of each row, given those of the columns."""

    b: Array
    psi: Array
    q: Array
    smoothing: float

    def __call__(self, N: Array) -> Array:
        return self._fitted(N)[:, 1:]

    def base(self, N: Array, phi: Array) -> Array:
        """Return the intercepts for which each row has its share of the total."""
        return np.asarray(np.log(N.sum(axis=1) / N.sum()) - logsumexp(self.b + phi @ self.psi.T, axis=1))

    def _fitted(self, N: Array) -> Array:
        _check_counts(N)
        totals = N.sum(axis=1, keepdims=True)
        if np.any(totals == 0):
            raise InputError(f"{int(np.sum(totals == 0))} rows of counts are empty, and have no features. Drop them.")
        P = (1 - self.smoothing) * N / totals + self.smoothing * self.q
        start = np.column_stack([np.full(len(P), -logsumexp(self.b)), np.zeros((len(P), self.psi.shape[1]))])
        return fit_rows(P, self.psi, self.b, start)
