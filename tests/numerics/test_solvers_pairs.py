"""Forms with weights of all pairs: every solver includes them or raises, and Auto chooses one that includes them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.linalg as la
from sklearn.datasets import make_swiss_roll

import eigenspan as es
from eigenspan._diagnostics import collect
from eigenspan.errors import InputError, MemoryLimitError
from eigenspan.graphs import KNN, affinity
from eigenspan.graphs.weights.path_similarity import PathSimilarity
from eigenspan.numerics.eigen import Auto, Chebyshev, Dense, Factor, Lanczos, Multigrid, ShiftInvert
from eigenspan.numerics.eigen import auto as select
from eigenspan.problem import Form, TraceProblem, diagonal, solve
from eigenspan.problem.forms import AllPairs, Paths, Sparse, laplacian, other_class, pair_affinity
from eigenspan.problem.forms import all_pairs as costs
from helpers import angle

N = 510
ROLL, T = make_swiss_roll(N, noise=0.1, random_state=0)
GRAPH = KNN(8).build(ROLL)
CODES = np.arange(N) % 4


@pytest.fixture(autouse=True)
def in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(costs, "_SMALL", 0)


def all_pairs() -> AllPairs:
    return AllPairs(pair_affinity(ROLL, es.Heat(4.0)))


def beside_a_graph() -> Form:
    return Sparse(affinity(GRAPH, "heat", ROLL).W).laplacian() + 0.5 * all_pairs().laplacian()


def with_low_rank() -> Form:
    return all_pairs().laplacian() + Form(N, low_rank=(np.ones((N, 1)), np.array([0.3])), psd=True)


FORMS: dict[str, tuple[Callable[[], Form], str]] = {
    "laplacian": (lambda: all_pairs().laplacian(), "min"),
    "local": (lambda: AllPairs(pair_affinity(ROLL, "local")).laplacian(), "min"),
    "reconstruction": (lambda: all_pairs().reconstruction(), "min"),
    "paths": (lambda: Paths(PathSimilarity("local").tree(GRAPH, ROLL)).laplacian(), "min"),
    "beside a graph": (beside_a_graph, "min"),
    "beside low rank": (with_low_rank, "min"),
    "largest": (lambda: all_pairs().laplacian(), "max"),
    "indefinite": (lambda: laplacian(all_pairs().matrix - 2.0 * other_class(CODES)), "min"),
}
BY_PRODUCTS = [Auto(), Lanczos(), Dense(), Chebyshev()]


@pytest.mark.parametrize("fits", [True, False], ids=["written out", "by products"])
@pytest.mark.parametrize("name", FORMS)
@pytest.mark.every(4)
def test_every_solver_includes_weights_of_all_pairs(name: str, fits: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    make, sense = FORMS[name]
    A = make()
    assert A.pairs
    M = A.to_dense()
    N0 = np.ones((N, 1)) / np.sqrt(N) if A.kills_constant else None
    Q = np.eye(N) if N0 is None else la.null_space(N0.T)
    values, V = la.eigh(Q.T @ M @ Q)
    values, V = (values[:3], Q @ V[:, :3]) if sense == "min" else (values[:-4:-1], Q @ V[:, :-4:-1])
    if not fits:
        monkeypatch.setattr(select, "fits", lambda n_bytes, share: False)
        monkeypatch.setattr(Form, "written_out", None)
    for solver in BY_PRODUCTS:
        if isinstance(solver, Chebyshev) and (sense == "max" or not A.psd):
            continue
        found = solve(TraceProblem(A, None, sense, N0), 3, solver=solver)  # a fallback would warn
        np.testing.assert_allclose(found.values, values, rtol=1e-7, atol=1e-11 * A.norm())
        assert found.residuals.max() < 1e-9
        assert angle(found.vectors, V) < 1e-3


@pytest.mark.parametrize("solver", [ShiftInvert(), Multigrid()])
def test_factorising_solvers_refuse_weights_of_all_pairs(solver: Any) -> None:
    for name in ("laplacian", "beside a graph"):
        with pytest.raises(InputError, match="sparse=False"):
            solve(TraceProblem(FORMS[name][0](), None, "min"), 2, solver=solver)
    with pytest.raises(InputError, match="low-rank"):
        solve(TraceProblem(with_low_rank(), None, "max"), 2, solver=Factor())


def test_auto_chooses_a_suitable_solver_for_all_pairs() -> None:
    def chain(form: Form, sense: str = "min", k: int = 2) -> str:
        return " ".join(type(solver).__name__ for solver in Auto().chain(form, k, sense))

    assert chain(all_pairs().laplacian()) == "Chebyshev Lanczos Dense"
    assert chain(beside_a_graph()) == "Chebyshev Lanczos Dense"
    assert chain(with_low_rank(), "max") == "Lanczos Dense"
    assert chain(laplacian(all_pairs().matrix - 2.0 * other_class(CODES))) == "Lanczos Dense"
    assert chain(all_pairs().laplacian(), k=200) == "Dense"
    low_rank = Form(N, low_rank=(np.ones((N, 1)), np.ones(1)), psd=True)
    assert chain(low_rank + all_pairs().matrix, "max") == "Lanczos Dense"


def test_the_dense_fallback_predicts_its_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EIGENSPAN_MEMORY", "2M")
    with pytest.raises(MemoryLimitError, match=f"order {N}"):
        solve(TraceProblem(all_pairs().laplacian(), None, "min"), 2, solver="dense")
    with collect() as record:
        solve(TraceProblem(all_pairs().laplacian(), None, "min", np.ones((N, 1))), 2)
    assert record["solver"] == "Chebyshev"


def test_eigenmaps_of_all_pairs() -> None:
    """The generalised problem ``L y = λ D y`` of a given form."""
    W = all_pairs()
    degrees = W.degrees()
    fitted = es.TraceReducer(2, minimise=W.laplacian(), unit=diagonal(degrees), basis="samples").fit(ROLL)
    values, V = la.eigh(np.diag(degrees) - W.matrix.to_dense(), np.diag(degrees))
    assert fitted.diagnostics_["solver"] == "Chebyshev"
    np.testing.assert_allclose(fitted.eigenvalues_, values[1:3], rtol=1e-7)
    assert angle(fitted.embedding_, V[:, 1:3]) < 1e-3
