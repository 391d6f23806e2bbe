"""Co-ranking: how much neighbourhoods of every size have in common before and after."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..numerics.memory import require
from ..numerics.threads import threads
from ._blocks import BlockDistances, in_blocks
from ._check import affordable, check_neighbours, chosen_rows, compared, standard_error
from ._ranks import RankTally, area_of_chance, ordered, ranked

Array = NDArray[np.float64]
Index = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class CoRanking:
    """Curves over the size K of neighbourhoods, and what sums them up.

    Attributes
    ----------
    k : ndarray of int of shape (m,)
        Sizes of neighbourhoods, 1, 2, …, at most n − 2.
    q_nx : ndarray of shape (m,)
        Mean share of the K nearest points that are the same in the data and in the embedding.
    r_nx : ndarray of shape (m,)
        The same above chance: 0 for an embedding at random, 1 for a perfect one.
    lcmc : ndarray of shape (m,)
        Local continuity meta criterion, q_nx less the K/(n − 1) that chance gives.
    trustworthiness, continuity : ndarray of shape (m,)
        As the functions of these names, for every K.
    auc : float
        Area under r_nx with weights 1/K: small neighbourhoods count most.
    k_max : int
        Where lcmc is largest: the scale up to which the embedding is local.
    q_local, q_global : float
        Means of q_nx up to k_max, and from there on.
    n_samples, n_rows : int
        Points, and those whose neighbourhoods were looked at.
    q_nx_error, r_nx_error : ndarray of shape (m,)
        Standard errors, 0 where all rows were looked at.
    auc_error : float
    """

    k: Index
    q_nx: Array
    r_nx: Array
    lcmc: Array
    trustworthiness: Array
    continuity: Array
    auc: float
    k_max: int
    q_local: float
    q_global: float
    n_samples: int
    n_rows: int
    q_nx_error: Array
    r_nx_error: Array
    auc_error: float

    @property
    def exact(self) -> bool:
        """Every row was looked at."""
        return self.n_rows == self.n_samples

    def plot(self, ax: Any = None) -> Any:
        """Draw R_NX against K.

        Parameters
        ----------
        ax : matplotlib Axes, optional

        Returns
        -------
        RankCurvesDisplay
        """
        from ..plotting import RankCurvesDisplay

        return RankCurvesDisplay.from_results({"embedding": self}, ax=ax)


def coranking(
    X: Any,
    Y: Any,
    *,
    metric: Any = "euclidean",
    max_k: int | None = None,
    sample: int | None = None,
    random_state: Any = 0,
    n_jobs: int | None = None,
) -> CoRanking:
    """How much the neighbourhoods of every size K have in common in the data and in the embedding.

    .. math:: Q(K) = \\frac1{nK} \\#\\{(i, j) : \\rho_{ij} \\le K,\\ r_{ij} \\le K\\}, \\quad
              R(K) = \\frac{(n - 1) Q(K) - K}{n - 1 - K}, \\quad
              \\mathrm{AUC} = \\frac{\\sum_{K=1}^{n-2} R(K)/K}{\\sum_{K=1}^{n-2} 1/K}

    where ρ_ij and r_ij are the ranks of j by distance from i in the data and in the embedding. Points at equal distances are ranked by
    their row numbers, on both sides. Use it to compare embeddings without choosing a number of neighbours.

    Cost: O(n²(D + d)) time for all K together, blocks of 8 MB in memory. Above 20,000 points the rows looked at are a random sample, as
    many as keep the work that of 20,000 points; each is ranked against all points, so that means over them are unbiased.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        The data.
    Y : array-like of shape (n_samples, n_components)
        Its embedding.
    metric : str or callable, default="euclidean"
        Distance between rows of X: any metric of scikit-learn's ``pairwise_distances``, or ``"precomputed"`` when X holds them.
    max_k : int or None, default=None
        Largest K, which also ends the area; None for n − 2.
    sample : int or None, default=None
        Rows to look at. None: all up to 20,000 points.
    random_state : int, RandomState or None, default=0
        Draws the rows.
    n_jobs : int or None, default=None
        Threads; None means all.

    Returns
    -------
    CoRanking

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from eigenspan import PCA
    >>> from eigenspan.quality import coranking
    >>> X, _ = load_iris(return_X_y=True)
    >>> found = coranking(X, PCA(2).fit_transform(X))
    >>> bool(found.auc > 0.5), bool(found.q_nx[9] > 0.7)  # the area, and the share of ten neighbours kept
    (True, True)

    References
    ----------
    Lee & Verleysen (2009, 2010) for Q and its split; Chen & Buja (2009) for the LCMC; Lee, Peluffo-Ordóñez & Verleysen (2015) for the area.
    """
    X, Y = compared(X, Y)
    n = X.shape[0]
    top = n - 2 if max_k is None else check_neighbours(max_k, n - 2, f"two less than the {n} points", "max_k")
    rows = chosen_rows(n, affordable(n, sample), random_state)
    with threads(n_jobs):
        tally = tallied(BlockDistances.of(X, metric), BlockDistances.of(Y, name="Y"), rows, k=1, top=top, curve=True)
    return summed_up(tally)


def tallied(X: BlockDistances, Y: BlockDistances, rows: Index, k: int, top: int, curve: bool = False) -> RankTally:
    """One pass over the rows."""
    tally = RankTally(X.n, rows.size, k, top, curve and rows.size < X.n)

    def work(where: slice) -> None:
        some = rows[where]
        tally.add(where, ranked(X(some), some), ordered(Y(some), some))

    in_blocks(work, rows.size, X.n)
    return tally


def summed_up(tally: RankTally) -> CoRanking:
    """The curves of what was counted."""
    n, m, top = tally.n, tally.m, tally.top
    K = np.arange(1, top + 1)
    shared = tally.together[K] / m
    Q, above = shared / K, (n - 1) / (n - 1 - K)
    lcmc = Q - K / (n - 1)
    losses = [lost[K] / (m * worst(n, K)) for lost in tally.excess]
    peak = int(np.argmax(lcmc))
    error = np.zeros(top)
    if tally.squares.size:
        spread = np.maximum(tally.squares[K] / m - shared**2, 0.0) * m / (m - 1)
        error = np.sqrt(spread * (1 - m / n) / m) / K
    area = tally.rows[:, 3]
    return CoRanking(
        k=K,
        q_nx=Q,
        r_nx=((n - 1) * Q - K) / (n - 1 - K),
        lcmc=lcmc,
        trustworthiness=1.0 - losses[0],
        continuity=1.0 - losses[1],
        auc=float(area.mean()) - area_of_chance(n, top),
        k_max=int(K[peak]),
        q_local=float(Q[: peak + 1].mean()),
        q_global=float(Q[peak:].mean()),
        n_samples=n,
        n_rows=m,
        q_nx_error=error,
        r_nx_error=error * above,
        auc_error=float(standard_error(area, n)),
    )


def worst(n: int, k: Any) -> Any:
    """The largest sum of excess ranks that the k nearest of one point can have, or 1 where they can have none."""
    return np.maximum(np.where(2 * k < n, k * (2 * n - 3 * k - 1) / 2, (n - k) * (n - k - 1) / 2), 1.0)


def coranking_matrix(X: Any, Y: Any, *, metric: Any = "euclidean", n_jobs: int | None = None) -> NDArray[np.int64]:
    """The co-ranking matrix: how many pairs have rank k in the data and rank l in the embedding.

    A perfect embedding has all pairs on the diagonal. Entries below it (k > l) are intrusions, strangers that came near; entries
    above it extrusions, neighbours that went away. `coranking` has its sums without the matrix.

    Cost: O(n²(D + d)) time, 8n² bytes.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
    Y : array-like of shape (n_samples, n_components)
    metric : str or callable, default="euclidean"
        Distance between rows of X, or ``"precomputed"``.
    n_jobs : int or None, default=None

    Returns
    -------
    ndarray of int64 of shape (n_samples − 1, n_samples − 1)
        Row k − 1 and column l − 1 for the ranks k in the data and l in the embedding. Rows and columns add up to n.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenspan.quality import coranking_matrix
    >>> X = np.array([[0.0], [1.0], [3.0], [7.0]])
    >>> coranking_matrix(X, -X)
    array([[4, 0, 0],
           [0, 4, 0],
           [0, 0, 4]])
    """
    X, Y = compared(X, Y)
    n = X.shape[0]
    require(16.0 * n * n, f"The co-ranking matrix of {n} points", "coranking() has its curves without it.")
    first, second = BlockDistances.of(X, metric), BlockDistances.of(Y, name="Y")
    Q = np.zeros((n, n), np.int64)
    everyone = np.arange(n)

    def ranks(where: slice) -> tuple[Any, Any]:
        some = everyone[where]
        return ranked(first(some), some), ranked(second(some), some)

    with threads(n_jobs):
        for x, r in in_blocks(ranks, n, n):
            np.add.at(Q, (x.ravel(), r.ravel()), 1)
    return Q[1:, 1:]
