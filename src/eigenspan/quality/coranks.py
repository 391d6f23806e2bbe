"""Co-ranking: agreement of the neighbourhoods of every size in the data and in the embedding."""

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
    """Quality curves over the neighbourhood size K, and their summaries.

    Attributes
    ----------
    k : ndarray of int of shape (m,)
        Neighbourhood sizes 1, 2, …, at most n − 2.
    q_nx : ndarray of shape (m,)
        Mean share of the K nearest points that are the same in the data and in the embedding.
    r_nx : ndarray of shape (m,)
        q_nx rescaled so that a random embedding has 0 and a perfect one has 1.
    lcmc : ndarray of shape (m,)
        Local continuity meta criterion: q_nx minus its value K/(n − 1) for a random embedding.
    trustworthiness, continuity : ndarray of shape (m,)
        Values of the functions of these names for every K.
    auc : float
        Area under r_nx with weights 1/K, which emphasise small neighbourhoods.
    k_max : int
        K at which lcmc is largest. It separates local from global neighbourhoods.
    q_local, q_global : float
        Means of q_nx for K ≤ k_max and for K ≥ k_max.
    n_samples, n_rows : int
        Number of points, and number of rows whose neighbourhoods were used.
    q_nx_error, r_nx_error : ndarray of shape (m,)
        Standard errors; 0 if all rows were used.
    auc_error : float
        Standard error of `auc`.
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
        """True if all rows were used."""
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
    """Compare the neighbourhoods of every size K in the data and in the embedding.

    .. math:: Q(K) = \\frac1{nK} \\#\\{(i, j) : \\rho_{ij} \\le K,\\ r_{ij} \\le K\\}, \\quad
              R(K) = \\frac{(n - 1) Q(K) - K}{n - 1 - K}, \\quad
              \\mathrm{AUC} = \\frac{\\sum_{K=1}^{n-2} R(K)/K}{\\sum_{K=1}^{n-2} 1/K}

    where ρ_ij and r_ij are the ranks of j by distance from i in the data and in the embedding. Points at equal distances are ranked by
    their row numbers in both. Use it to compare embeddings without choosing a number of neighbours.

    Cost: O(n²(D + d)) time for all K together, blocks of 8 MB in memory. Above 20,000 points a random sample of the rows is used; its size
    keeps the work equal to that for 20,000 points. Each of these rows is ranked against all points, so means over them are unbiased.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        The data.
    Y : array-like of shape (n_samples, n_components)
        Its embedding.
    metric : str or callable, default="euclidean"
        Distance between rows of X: any metric of scikit-learn's ``pairwise_distances``, or ``"precomputed"`` when X holds them.
    max_k : int or None, default=None
        Largest K, also for the area. None means n − 2.
    sample : int or None, default=None
        Number of rows to use. None means all rows up to 20,000 points.
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
        tally = count_ranks(
            BlockDistances.of(X, metric), BlockDistances.of(Y, name="Y"), rows, k=1, top=top, curve=True
        )
    return curves_of(tally)


def count_ranks(X: BlockDistances, Y: BlockDistances, rows: Index, k: int, top: int, curve: bool = False) -> RankTally:
    """Count the pairs of these rows with all points by rank, in one pass."""
    tally = RankTally(X.n, rows.size, k, top, curve and rows.size < X.n)

    def work(where: slice) -> None:
        some = rows[where]
        tally.add(where, ranked(X(some), some), ordered(Y(some), some))

    in_blocks(work, rows.size, X.n)
    return tally


def curves_of(tally: RankTally) -> CoRanking:
    """Return the curves from the counts."""
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
    """Return the largest possible sum of excess ranks of the k nearest neighbours of a point, at least 1."""
    return np.maximum(np.where(2 * k < n, k * (2 * n - 3 * k - 1) / 2, (n - k) * (n - k - 1) / 2), 1.0)


def coranking_matrix(X: Any, Y: Any, *, metric: Any = "euclidean", n_jobs: int | None = None) -> NDArray[np.int64]:
    """Return the co-ranking matrix: the number of pairs with rank k in the data and rank l in the embedding.

    A perfect embedding has all pairs on the diagonal. Entries below the diagonal (k > l) are intrusions: points that are nearer in the
    embedding. Entries above it are extrusions: points that are farther away in the embedding. `coranking` computes the curves without the
    matrix.

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
    require(16.0 * n * n, f"The co-ranking matrix of {n} points", "coranking() computes the curves without the matrix.")
    first, second = BlockDistances.of(X, metric), BlockDistances.of(Y, name="Y")
    Q = np.zeros((n, n), np.int64)
    all_rows = np.arange(n)

    def ranks(where: slice) -> tuple[Any, Any]:
        some = all_rows[where]
        return ranked(first(some), some), ranked(second(some), some)

    with threads(n_jobs):
        for x, r in in_blocks(ranks, n, n):
            np.add.at(Q, (x.ravel(), r.ravel()), 1)
    return Q[1:, 1:]
