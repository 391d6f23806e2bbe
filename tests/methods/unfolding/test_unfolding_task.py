"""An unfolding as values: pairs that are held, bounds on them, a task, and settings of the solver."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from eigenspan import MVU, ColoredMVU, LandmarkMVU, MaximumCovarianceUnfolding
from eigenspan.errors import InputError
from eigenspan.methods.unfolding.solver_settings import SDP
from eigenspan.methods.unfolding.task import Bounds, Held, Whole, unfold
from eigenspan.methods.unfolding.unfolding_base import Unfolding
from eigenspan.numerics.sdp import Program
from sdp_helpers import cloud

SETTINGS = SDP.of(MVU(1, tol=1e-6))
INEQUALITY = Bounds.of(MVU(1))


def chain(lengths: Any) -> Held:
    n = len(lengths) + 1
    D = sp.diags_array(lengths, offsets=1, shape=(n, n))
    return Held.of(sp.csr_array(D + D.T))


def test_a_chain_is_pulled_straight() -> None:
    """No estimator is needed to unfold: points on strings end to end, as far from their mean as these allow."""
    lengths = np.array([1.0, 2.0, 0.5, 1.5])
    F, found = unfold(INEQUALITY.task(chain(lengths), None), SETTINGS)
    line = np.append(0.0, np.cumsum(lengths))
    line -= line.mean()
    assert np.sum(F**2) == pytest.approx(line @ line, rel=1e-5)
    assert found["certificate_"].status == "certified"
    assert np.linalg.norm(np.diff(F, axis=0), axis=1) == pytest.approx(lengths, rel=1e-4)


def test_points_apart_by_rounding_coincide() -> None:
    """The square of such a length is lost beside the others: no unfolding can keep it, and no proof either."""
    held = chain([1.0, 1e-16, 2.0])
    assert held.groups.labels.tolist() == [0, 1, 1, 2]
    assert held.bounds == pytest.approx([1.0, 4.0])
    assert chain([1.0, 1e-11, 2.0]).n == 4


def test_an_unfolding_with_two_reflected_views_is_certified() -> None:
    """Squares of the coordinates of a polygon: reflected corners differ there by rounding alone."""
    angles = 2 * np.pi * np.arange(40) / 40
    X = np.column_stack([np.cos(angles), np.sin(angles)])
    model = MaximumCovarianceUnfolding().fit(X, np.column_stack([X**2, X[:, 0] + np.arange(40) % 3]))
    assert model.certificate_.status == "certified"
    assert model.certificate_.violation < 1e-6


def test_labels_that_cancel_between_equal_rows_are_refused() -> None:
    """Every class has every row, so that no unfolding depends on the labels."""
    X = np.repeat(np.random.default_rng(3).standard_normal((20, 4)), 3, axis=0)
    with pytest.raises(InputError, match=r"Nothing to maximise.*equal"):
        ColoredMVU(2).fit(X, np.arange(60) % 3)


@pytest.mark.parametrize(
    ("settings", "rows", "slack"),
    [
        ({"constraint": "inequality"}, 3, None),
        ({"constraint": "band", "band": 0.2}, 6, None),
        ({"constraint": "slack", "price": 7.0, "power": 1}, 3, 7.0),
    ],
)
def test_the_form_of_the_bounds(settings: Any, rows: int, slack: float | None) -> None:
    held = chain([1.0, 2.0, 3.0])
    program = Bounds.of(MVU(1, **settings)).program(held)
    assert program.bounds.size == rows
    assert program.bounds[:3] == pytest.approx([1.0, 4.0, 9.0])
    assert program.bounds[3:] == pytest.approx([-0.8, -3.2, -7.2][: rows - 3])
    assert (program.slack.price if program.slack else None) == slack


def test_the_settings_of_the_solver_are_those_of_the_estimator() -> None:
    told: list[Any] = []
    sdp = SDP.of(ColoredMVU(2, tol=0.1, rank=1, max_iter=7, time_limit=5.0, callback=told.append, random_state=3))
    assert (sdp.name, sdp.tol, sdp.rank, sdp.max_iter, sdp.seed) == ("ColoredMVU", 0.1, 2, 7, 3)
    assert SDP.of(MVU(2)).rank == 3
    assert SDP.of(LandmarkMVU(5)).rank == 6
    assert sdp.teller("variance") is sdp.callback
    assert replace(sdp, time_limit=None).time_left(0.0) is None
    assert sdp.time_left(-1e9) == 1e-3


def test_progress_is_told_in_the_words_of_the_task(capsys: pytest.CaptureFixture[str]) -> None:
    told: list[Any] = []
    sdp = SDP.of(MVU(1, verbose=1, callback=told.append))
    unfold(Bounds.of(MVU(1, constraint="slack")).task(chain([1.0, 2.0]), None, "width"), sdp)
    assert "[MVU] step 0: width less the price of slack" in capsys.readouterr().out
    assert told


def test_a_contradiction_is_refused_in_the_words_of_the_task() -> None:
    """A string of length one between points that are to be two apart."""
    held = chain([1.0])
    program = Program.of_pairs(2, held.pairs, np.array([1.0]), lower=np.array([4.0]))
    task = Whole(held=held, program=program, contradiction="the ends are too far apart.")
    with pytest.raises(InputError, match=r"as the dual weights prove.*: the ends are too far apart\."):
        unfold(task, SETTINGS)


class Netted(Unfolding):
    """Maximum variance in a net whose strings are twice as long as they are in space: a new unfolding, in full."""

    def _task(self, graph: Any, sample: Any) -> Any:
        held = Held.of(2.0 * graph.undirected())
        program = Program.of_pairs(held.n, held.pairs, held.bounds, masses=held.groups.masses)
        return Whole(held=held, program=program, attributes={"strings_": len(held.pairs)})


def test_a_new_unfolding_states_its_task_and_nothing_else() -> None:
    X = cloud(40, 3)
    netted, plain = Netted(2).fit(X), MVU(2).fit(X)
    assert netted.certificate_.upper == pytest.approx(4 * plain.certificate_.upper, rel=2e-3)
    assert netted.strings_ == len(plain.certificate_.edges)
    assert netted.transform(X) == pytest.approx(netted.embedding_)
    some = Netted(2, landmarks=25).fit(X)
    assert some.embedding_.shape == (40, 2)
    assert some.strings_ == len(some.certificate_.edges)


@pytest.mark.parametrize(("power", "factor"), [(1, 30.0), (2, 1 / (2 * 0.002 * 4.0))])
def test_the_price_of_slack_is_what_an_average_edge_gains(power: int, factor: float) -> None:
    """By the two leading axes of shortest paths: on a ring both are needed, and both are as long."""
    n = 12
    steps = np.abs(np.arange(n)[:, None] - np.arange(n))
    paths = 2.0 * np.minimum(steps, n - steps)  # edges are 2 long
    J = np.eye(n) - 1 / n
    variance = np.linalg.eigvalsh(-0.5 * J @ paths**2 @ J)[-2:].sum()
    ring = Held.of(sp.csr_array(np.where(paths == 2.0, 2.0, 0.0)))
    program = Bounds.of(MVU(1, constraint="slack", price="auto", power=power)).task(ring, None).program
    assert program.slack is not None
    assert program.slack.price == pytest.approx(factor * variance / (4.0 * n), rel=1e-9)
