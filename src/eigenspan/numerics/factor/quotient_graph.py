"""Approximate minimum degree: an order of elimination with low fill (Amestoy, Davis and Duff 1996).

The graph of the remaining matrix is stored as a quotient graph. An *element* represents eliminated columns: the variables in its
list are neighbours of each other, without stored edges between them. The list of a variable contains its elements, then its
other neighbouring variables. The next variable to eliminate is that with the fewest neighbours, by an upper bound that counts the
variables of each element once per element, except those that are also in the newest element. Variables with the same neighbours are
merged, and are then eliminated together, with a weight.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..jit.compiler import compiled

#: Record of a variable, and of the element that it becomes, with the same number. A record fits in one cache line.
VARIABLE = np.dtype(
    [
        # start and length of its list; number of elements at its beginning; 1 while the list is needed
        ("start", np.int64),
        ("length", np.int32),
        ("held", np.int32),
        ("alive", np.int32),
        # number of columns that it represents, 0 once it is merged; negative while it is in the newest element
        ("weight", np.int32),
        # upper bound on the weight of its neighbours; for an element, the weight of its list
        ("degree", np.int32),
        # its neighbours in a linked list of variables with the same degree or the same checksum; the checksum of its list
        ("after", np.int32),
        ("before", np.int32),
        ("key", np.int32),
        # first variable of this degree, and of this checksum
        ("head", np.int32),
        ("bucket", np.int32),
        # the variable that it was merged into, or the element that absorbed it
        ("parent", np.int32),
        # a time stamp; 0 for absorbed elements
        ("mark", np.int64),
    ],
    align=True,
)


def quotient_graph(n: int) -> NDArray[np.void]:
    """Return variables without lists; one record more than variables, because degrees may be up to n - 1."""
    graph = np.zeros(n + 1, VARIABLE)
    for name, value in {"alive": 1, "weight": 1, "mark": 1, "head": -1, "bucket": -1, "parent": -1}.items():
        graph[name] = value
    return graph


@compiled
def neighbour_lists(indptr, indices, graph, lists, dense):  # type: ignore[no-untyped-def]
    """Write the lists of all variables with at most `dense` neighbours; return False if the pattern is not symmetric.

    Each entry (i, j) adds hashed bits of its position to a sum, and its mirror image (j, i) subtracts the same. The sum of an asymmetric
    pattern is zero only with probability 2⁻⁶⁴.
    """
    n = indptr.size - 1
    for i in range(n):
        if indptr[i + 1] - indptr[i] > dense:
            graph[i].weight = 0
            graph[i].alive = 0
    free, balance = 0, np.uint64(0)
    for i in range(n):
        graph[i].start = free
        for p in range(indptr[i], indptr[i + 1]):
            j = indices[p]
            if j == i:
                continue
            bits = np.uint64(min(i, j)) << np.uint64(32) | np.uint64(max(i, j))
            bits = (bits ^ (bits >> np.uint64(31))) * np.uint64(0x7FB5D329728EA185)
            bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x81DADEF4BC2DD44D)
            balance += bits if j < i else np.uint64(0) - bits
            if graph[i].alive != 0 and graph[j].alive != 0:
                lists[free] = j
                free += 1
        graph[i].length = free - graph[i].start
    return balance == 0


@compiled
def eliminate_in_turn(graph, lists):  # type: ignore[no-untyped-def]
    """Eliminate all variables; return the elements in the order of their creation."""
    left, free = 0, 0
    for i in range(graph.size - 1):
        if graph[i].alive != 0:
            left += 1
            free = graph[i].start + graph[i].length
            _file(graph, i, np.int64(graph[i].length))
    turn, turns, most = np.empty(left, np.int32), 0, left
    least, clock = 0, most + 2
    while left > 0:
        while graph[least].head == -1:
            least += 1
        me = graph[least].head
        _unfile(graph, me)
        held, room = graph[me].held, graph[me].length
        for p in range(graph[me].start, graph[me].start + held):
            room += graph[lists[p]].length
        if held > 0 and free + min(room, most) > lists.size:
            lists, free = _compact_lists(graph, lists)
        left -= graph[me].weight
        begin = free if held > 0 else graph[me].start
        end = _collect(graph, lists, me, begin)
        _weigh_outside(graph, lists, begin, end, clock)
        left -= _count_degrees(graph, lists, me, begin, end, clock)
        clock = _merge_indistinguishable(graph, lists, begin, end, clock + most + 1)
        least, end = _file_variables(graph, lists, me, begin, end, least, left)
        graph[me].mark = clock if end > begin else 0
        clock += 1
        turn[turns] = me
        turns += 1
        if held > 0:
            free = end
    return turn[:turns]


@compiled
def _file(graph, i, degree):  # type: ignore[no-untyped-def]
    """Insert a variable at the front of the list of its degree."""
    graph[i].degree = degree
    other = graph[degree].head
    graph[i].after, graph[i].before, graph[degree].head = other, -1, i
    if other != -1:
        graph[other].before = i


@compiled
def _unfile(graph, i):  # type: ignore[no-untyped-def]
    """Remove a variable from the list of its degree."""
    x, y = graph[i].before, graph[i].after
    if y != -1:
        graph[y].before = x
    if x != -1:
        graph[x].after = y
    else:
        graph[graph[i].degree].head = y


@compiled
def _compact_lists(graph, lists):  # type: ignore[no-untyped-def]
    """Return the lists moved together without gaps, and the start of the free space after them."""
    fresh, to = np.empty(lists.size, np.int32), 0
    for i in range(graph.size - 1):
        if graph[i].alive != 0:
            first = graph[i].start
            graph[i].start = to
            for p in range(first, first + graph[i].length):
                fresh[to] = lists[p]
                to += 1
    return fresh, to


@compiled
def _collect(graph, lists, me, begin):  # type: ignore[no-untyped-def]
    """Turn variable `me` into an element: write its neighbours, and those of the elements it absorbs, from `begin` on; return the end."""
    first, held, end, reach = graph[me].start, graph[me].held, begin, 0
    graph[me].weight = -graph[me].weight
    for q in range(held + 1):
        a, b = first + held, first + graph[me].length
        if q < held:
            e = lists[first + q]
            a, b = graph[e].start, graph[e].start + graph[e].length
            graph[e].parent, graph[e].alive, graph[e].mark = me, 0, 0
        for p in range(a, b):
            i = lists[p]
            if graph[i].weight > 0:
                reach += graph[i].weight
                graph[i].weight = -graph[i].weight
                lists[end] = i
                end += 1
                _unfile(graph, i)
    graph[me].start, graph[me].degree = begin, reach
    return end


@compiled
def _weigh_outside(graph, lists, begin, end, clock):  # type: ignore[no-untyped-def]
    """For each element e of the new element's variables, set ``mark[e] - clock`` to e's weight outside the new element."""
    for p in range(begin, end):
        i = lists[p]
        for q in range(graph[i].start, graph[i].start + graph[i].held):
            e = lists[q]
            if graph[e].mark >= clock:
                graph[e].mark += graph[i].weight
            elif graph[e].mark != 0:
                graph[e].mark = graph[e].degree + clock + graph[i].weight


@compiled
def _count_degrees(graph, lists, me, begin, end, clock):  # type: ignore[no-untyped-def]
    """Compute bounds on the degrees of the variables of element `me`, without `me` itself; return the weight eliminated with it.

    An element with nothing outside is absorbed, and a variable without neighbours outside is eliminated at once.
    """
    gone = 0
    for p in range(begin, end):
        i = lists[p]
        first, last = graph[i].start, graph[i].start + graph[i].length
        middle = first + graph[i].held
        to, degree, total = first, 0, 0
        for q in range(first, middle):
            e = lists[q]
            outside = graph[e].mark - clock
            if outside > 0:
                degree += outside
                total += e
                lists[to] = e
                to += 1
            elif graph[e].mark != 0:
                graph[e].parent, graph[e].alive, graph[e].mark = me, 0, 0
        kept = to
        for q in range(middle, last):
            j = lists[q]
            if graph[j].weight > 0:  # the others are neighbours through `me` from now on
                degree += graph[j].weight
                total += j
                lists[to] = j
                to += 1
        if degree == 0:
            gone -= graph[i].weight
            graph[i].parent, graph[i].alive, graph[i].weight = me, 0, 0
            continue
        graph[i].degree = min(graph[i].degree, degree)
        # insert the new element at the front: at least one entry was removed, so there is space
        lists[to] = lists[kept]
        lists[kept] = lists[first]
        lists[first] = me
        graph[i].held, graph[i].length = kept + 1 - first, to + 1 - first
        key = total % graph.size
        graph[i].key, graph[i].after, graph[key].bucket = key, graph[key].bucket, i
    graph[me].weight -= gone
    graph[me].degree -= gone
    return gone


@compiled
def _merge_indistinguishable(graph, lists, begin, end, clock):  # type: ignore[no-untyped-def]
    """Merge variables with equal lists, found by their checksums; return the next unused time stamp."""
    for p in range(begin, end):
        key = graph[lists[p]].key
        if graph[lists[p]].weight == 0:
            continue
        i = graph[key].bucket
        graph[key].bucket = -1
        while i != -1 and graph[i].after != -1:
            for q in range(graph[i].start + 1, graph[i].start + graph[i].length):
                graph[lists[q]].mark = clock
            last, j = i, graph[i].after
            while j != -1:
                same = graph[j].length == graph[i].length and graph[j].held == graph[i].held
                q, stop = graph[j].start + 1, graph[j].start + graph[j].length
                while same and q < stop:
                    same = graph[lists[q]].mark == clock
                    q += 1
                if same:
                    graph[i].weight += graph[j].weight
                    graph[j].parent, graph[j].alive, graph[j].weight = i, 0, 0
                    graph[last].after = graph[j].after
                else:
                    last = j
                j = graph[j].after
            clock += 1
            i = graph[i].after
    return clock


@compiled
def _file_variables(graph, lists, me, begin, end, least, left):  # type: ignore[no-untyped-def]
    """Insert the new element's variables, except merged ones, into the degree lists; return the minimum degree and the end of the list."""
    to = begin
    for p in range(begin, end):
        i = lists[p]
        if graph[i].weight < 0:
            w = graph[i].weight = -graph[i].weight
            degree = min(graph[i].degree + graph[me].degree - w, left - w)
            _file(graph, np.int64(i), degree)
            least = min(least, degree)
            lists[to] = i
            to += 1
    graph[me].weight, graph[me].held, graph[me].length = -graph[me].weight, 0, to - begin
    return least, to
