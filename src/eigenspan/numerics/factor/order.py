"""Orders of elimination and permutations of sparse symmetric matrices."""

from __future__ import annotations

from typing import NamedTuple, TypeVar

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import reverse_cuthill_mckee

from ..._types import Array, Integers
from ..operators import SymmetricMatrix

Form = TypeVar("Form", bound=SymmetricMatrix)


def near_order(A: sp.csr_array, *, symmetric: bool = True) -> Integers:
    """Return an order in which neighbours are close together in memory: reverse Cuthill–McKee, or the given order if it is good enough.

    If the pattern is not `symmetric`, each end of an edge counts the other as a neighbour.
    """
    n = A.shape[0]
    some = A[:: 1 + n // 1000].tocoo()
    if np.abs(some.row * (1 + n // 1000) - some.col).sum() < some.nnz * n / 50:
        return np.arange(n, dtype=np.int32)
    pattern = sp.csr_matrix((A.data, A.indices, A.indptr), shape=A.shape)
    return np.asarray(reverse_cuthill_mckee(pattern, symmetric_mode=symmetric))


def permuted(A: sp.csr_array, order: Integers) -> sp.csr_array:
    """Return the matrix with permuted rows and columns."""
    if np.array_equal(order, np.arange(A.shape[0])):
        return A
    rows = A[order]
    return sp.csr_array((rows.data, inverse(order)[rows.indices], rows.indptr), shape=A.shape)


def assembled_nearby(A: Form) -> tuple[Form, Integers]:
    """Return a form multiplied out with its samples in a `near_order`, and that order.

    A square factor determines the order, and is multiplied out faster in it.
    """
    if A.sparse is None and A.roots[0][1].shape[0] == A.n:
        near = near_order(A.roots[0][1], symmetric=False)
        return A.permuted(near).assembled(), near
    A = A.assembled()
    near = near_order(A.sparse)
    return A.permuted(near), near


class Elements(NamedTuple):
    """Groups of columns that are eliminated together, and their tree, from an order of elimination."""

    #: Group of each column; columns that were set aside as dense have numbers beyond the last group.
    group: Integers
    #: Parent: the first (later) group that a group updates; -1 for none.
    up: Integers
    #: Number of columns of each group, and of rows below them.
    widths: Integers
    heights: Integers


def approximate_minimum_degree(A: sp.csr_array) -> Elements | None:
    """Return groups of columns in an order with low fill, or None if the pattern is not symmetric."""
    from . import quotient_graph as ordering

    n = A.shape[0]
    graph, lists = ordering.quotient_graph(n), np.empty(A.nnz + n, np.int32)
    indptr, indices, _ = arrays(A)
    if not ordering.neighbour_lists(indptr, indices, graph, lists, max(16, int(10 * np.sqrt(n)))):
        return None
    turn = ordering.eliminate_in_turn(graph, lists)
    graph = graph[:n]
    number = np.full(n + 1, -1, np.int32)  # number of each element; the last entry is for -1 (none)
    number[turn] = np.arange(turn.size, dtype=np.int32)
    element, parent = np.arange(n, dtype=np.int32), np.ascontiguousarray(graph["parent"])
    merged = (number[:n] < 0) & (parent >= 0)
    element[merged] = parent[merged]
    while np.any((further := element[element]) != element):
        element = further
    group = number[element]
    group[group < 0] = turn.size
    made = graph[turn]
    widths, heights = made["weight"].astype(np.int64), made["degree"].astype(np.int64)
    return Elements(group, number[made["parent"]], widths, heights)


def arrays(A: sp.csr_array) -> tuple[Integers, Integers, Array]:
    """Return the arrays of A in the types of the compiled loops: any other types would be compiled again."""
    from ..jit import csr_index_arrays

    return *csr_index_arrays(A), np.asarray(A.data, np.float64)


def inverse(order: Integers) -> Integers:
    """Return the inverse permutation."""
    place = np.empty(order.size, np.int32)
    place[order] = np.arange(order.size, dtype=np.int32)
    return place
