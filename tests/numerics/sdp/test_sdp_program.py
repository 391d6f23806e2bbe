"""The maps and properties of a program, against dense algebra."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from eigenspan.errors import DisconnectedError, InputError
from eigenspan.numerics.sdp.certificate import net_value
from eigenspan.numerics.sdp.program import Program, Slack, check_program
from sdp_helpers import PROGRAMS, landmark_program

every = pytest.mark.parametrize("name", PROGRAMS)
CHAIN = np.array([[0, 1], [1, 2], [2, 3]])


def test_squares_are_squared_distances() -> None:
    program = PROGRAMS["inequality"]()
    F = np.random.default_rng(0).standard_normal((program.n, 3))
    i, j = program.pairs.T  # type: ignore[union-attr]
    np.testing.assert_allclose(program.squares(F), np.sum((F[i] - F[j]) ** 2, axis=1))
    np.testing.assert_allclose(program.squares(program.centred(F)), program.squares(F))


@every
def test_laplacian_is_the_adjoint(name: str) -> None:
    """⟨L(Tᵀw), FFᵀ⟩ = wᵀ T v."""
    program, rng = PROGRAMS[name](), np.random.default_rng(1)
    F, w = rng.standard_normal((program.n, 2)), rng.standard_normal(program.bounds.size)
    L = program.laplacian(program.pull(w))
    assert sp.issparse(L) == sp.issparse(program.directions)
    assert np.vdot(F, L @ F) == pytest.approx(w @ program.rows(program.squares(F)))


@every
def test_variance_and_centre(name: str) -> None:
    program = PROGRAMS[name]()
    F = program.centred(np.random.default_rng(2).standard_normal((program.n, 2)))
    np.testing.assert_allclose(program.centre @ F, 0, atol=1e-12 * np.abs(program.centre).sum())
    C = np.diag(program.cost) if np.ndim(program.cost) == 1 else program.cost
    assert program.variance(F) == pytest.approx(np.trace(C @ F @ F.T))
    assert replace(program, cost=sp.csr_array(C)).variance(F) == pytest.approx(program.variance(F))


@every
def test_other_units(name: str) -> None:
    program, size = PROGRAMS[name](), 7.0
    F = program.centred(np.random.default_rng(3).standard_normal((program.n, 2)))
    assert net_value(program.scaled(size), F / np.sqrt(size)) == pytest.approx(net_value(program, F) / size)
    np.testing.assert_allclose(program.scaled(size).excess(F / np.sqrt(size)), program.excess(F) / size, atol=1e-12)


def test_excess_and_price() -> None:
    program = Program.of_pairs(4, CHAIN, np.array([1.0, 4.0, 9.0]), equal=np.array([False, False, True]))
    F = np.array([[0.0], [2.0], [3.0], [5.0]])  # squared distances 4, 1, 4
    np.testing.assert_allclose(program.excess(F), [3.0, 0.0, -5.0])
    assert Slack(1, 2.0).cost(program.excess(F)) == 16.0
    assert Slack(2, 2.0).cost(program.excess(F)) == 68.0


def test_band_has_two_rows_for_each_pair() -> None:
    program = Program.of_pairs(4, CHAIN, np.ones(3), lower=np.full(3, 0.5))
    np.testing.assert_allclose(program.bounds, [1, 1, 1, -0.5, -0.5, -0.5])
    np.testing.assert_allclose(program.rows(np.array([1.0, 2.0, 3.0])), [1, 2, 3, -1, -2, -3])
    np.testing.assert_allclose(program.signs, [1, 1, 1, -1, -1, -1])


def test_properties() -> None:
    facts = {name: PROGRAMS[name]() for name in PROGRAMS}
    assert {name for name, p in facts.items() if p.is_graph} == {
        "inequality", "band", "linear slack", "quadratic slack", "masses",
    }  # fmt: skip
    assert {name for name, p in facts.items() if p.is_monotone} == {
        "inequality", "masses", "differences", "sums", "indefinite cost", "low-rank cost", "dense directions",
    }  # fmt: skip
    unproved = {name for name, p in facts.items() if not p.has_lower_bound}
    assert unproved == {"band", "equations", "differences"}
    assert np.all(facts["differences"].signs[-8:] == 0)


def test_unbounded_programs_are_refused() -> None:
    with pytest.raises(DisconnectedError, match=r"2 pieces \(of 2, 1 points; one point of each: 0, 2\)"):
        check_program(Program.of_pairs(3, np.array([[0, 1]]), np.ones(1)))
    below = sp.csr_array(np.diag([1.0, 1.0, -1.0]))  # the last pair is bounded from below only
    with pytest.raises(DisconnectedError, match="2 pieces"):
        check_program(Program.of_pairs(4, CHAIN, np.array([1.0, 1.0, -1.0]), combine=below))
    check_program(Program.of_pairs(4, CHAIN, np.ones(3)))
    check_program(landmark_program())


def test_unusable_bounds_are_refused() -> None:
    with pytest.raises(InputError, match="1 of 3 bounds are not finite"):
        check_program(Program.of_pairs(4, CHAIN, np.array([1.0, np.nan, 1.0])))
    with pytest.raises(InputError, match="2 of 3 upper bounds on squared distances are negative"):
        check_program(Program.of_pairs(4, CHAIN, np.array([1.0, -1.0, -2.0])))


def test_indices_are_32_bit_if_they_fit() -> None:
    """Graph routines of older scipy accept 32-bit indices only, and factorisations would copy others at every step."""
    pairs = np.array([[0, 1], [2, 1], [2, 3]], dtype=np.int64)
    program = Program.of_pairs(4, pairs, np.ones(3))
    assert program.directions.indices.dtype == program.laplacian(np.ones(3)).indices.dtype == np.int32
    assert np.array_equal(program.directions.toarray(), [[1, -1, 0, 0], [0, -1, 1, 0], [0, 0, 1, -1]])
