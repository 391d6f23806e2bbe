"""Forms and factors in an order in which neighbours are close together, and the row counts of an elimination."""

import numpy as np
import pytest
import scipy.sparse as sp

from eigenspan.numerics.eigen.iterative import factorised
from eigenspan.numerics.factor import Analysis, assembled_nearby, elimination, near_order
from eigenspan.numerics.factor.analysis import ordered_fronts
from eigenspan.numerics.factor.order import arrays, inverse
from eigenspan.problem import Form


def symmetric(n: int, density: float, seed: int) -> sp.csr_array:
    R = sp.random_array((n, n), density=density, random_state=np.random.default_rng(seed))
    return sp.csr_array(R + R.T + 10 * sp.eye_array(n))


def counted(A: sp.csr_array) -> np.ndarray:
    """Return the rows below every front, by a walk over the rows of the matrix."""
    A, begin, up, _, order = ordered_fronts(A)
    indptr, indices, _ = arrays(A)
    owner = np.repeat(np.arange(up.size, dtype=np.int32), np.diff(begin))
    heights = np.zeros(up.size, np.int64)
    walk = indptr, indices, order, inverse(order), owner, up
    elimination.add_front_rows(*walk, np.full(up.size, -1), heights, np.empty(0, np.int32))
    return heights


@pytest.mark.parametrize("seed", range(20))
def test_row_counts_below_the_fronts_of_an_elimination(seed: int) -> None:
    A = symmetric(300, [0.002, 0.005, 0.01, 0.03][seed % 4], seed)
    below = ordered_fronts(A)[3]
    assert below is not None
    np.testing.assert_array_equal(below, counted(A))


def test_dense_columns_are_counted_afterwards() -> None:
    A = symmetric(600, 0.002, 0).tolil()
    A[:2], A[:, :2] = 0.01, 0.01
    A = sp.csr_array(A + 10 * sp.eye_array(600))
    assert ordered_fronts(A)[3] is None
    np.testing.assert_array_equal(np.diff(Analysis(A).plan.starts), counted(A))
    b = np.random.default_rng(0).standard_normal((600, 3))
    np.testing.assert_allclose(A @ Analysis(A).factorise(A).solve(b), b, atol=1e-10)


@pytest.mark.parametrize("rows", [400, 250])
@pytest.mark.parametrize("parts", [["roots"], ["roots", "low_rank"], ["sparse", "roots"], ["sparse", "low_rank"]])
def test_a_form_in_near_order_is_the_same_form(parts: list[str], rows: int) -> None:
    rng = np.random.default_rng(0)
    given = {
        "sparse": symmetric(400, 0.005, 1),
        "roots": ((0.5, sp.random_array((rows, 400), density=0.01, random_state=rng, format="csr")),),
        "low_rank": (rng.standard_normal((400, 2)), np.array([1.0, 2.0])),
    }
    form = Form(400, **{name: given[name] for name in parts}, psd=True)
    near, order = assembled_nearby(form)
    assert not near.roots
    assert sorted(order) == list(range(400))
    np.testing.assert_allclose(near.to_dense(), form.to_dense()[np.ix_(order, order)], rtol=1e-12, atol=1e-14)


def test_a_directed_pattern_is_ordered_by_its_edges_either_way() -> None:
    n = 3000
    mixed = np.random.default_rng(0).permutation(n)
    chain = sp.csr_array((np.ones(n - 1), (mixed[:-1], mixed[1:])), shape=(n, n))
    place = inverse(near_order(chain, symmetric=False))
    assert np.abs(np.diff(place[mixed].astype(int))).max() <= 2


@pytest.mark.parametrize("by_fronts", [False, True])
@pytest.mark.parametrize("diagonal", [True, False])
def test_a_shift_is_added_whether_or_not_the_diagonal_is_stored(by_fronts: bool, diagonal: bool) -> None:
    S = symmetric(500, 0.004, 3)
    if not diagonal:
        S = sp.csr_array(sp.triu(S, 1) + sp.tril(S, -1))
    before = S.toarray()
    b = np.random.default_rng(1).standard_normal(500)
    x = factorised(S, 30.0, by_fronts=by_fronts).solve(b)
    np.testing.assert_allclose(before @ x + 30.0 * x, b, atol=1e-10)
    np.testing.assert_array_equal(S.toarray(), before)
