"""No parameter is silent: every accepted value of every parameter changes the result, is refused, or is documented as having no effect.

The walk is in `parameter_effects`, its values and situations in `effect_values`. ``python tests/whole/test_silent_parameters.py`` prints
the table of all triples; names of methods behind it restrict it to these.
"""

from __future__ import annotations

import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

import pytest

from effect_values import THEIRS
from grouping import longer
from parameter_effects import Triple, table, walk, walk_modes, walk_specs
from parameter_outcomes import ROWS, forget

#: Parameters with no effect, or a value without one, in a method's default mode, as their entries or a warning say. A parameter that is
#: documented for other modes only must act in this one.
IDLE: dict[str, set[str]] = {
    "n_jobs": set(ROWS),
    "random_state": {"ActionRespectingEmbedding", "CCA", "ClassicalMDS", "MixturePPCA", "MultiviewCCA", "PCA", "PDDP", "TraceReducer"},
    "max_iter": {"PPCA"},
    "ridge": {"DNE", "MMC", "OLPP", "ONPP", "SSDNE", "SSDR", "SSMMC", "SupervisedPCA"},
    "axes": {"DNE", "MMC", "SODA", "SSDNE", "SSDR", "SSMMC", "SupervisedPCA"},
    "level": {"DirectionalRegression", "PHD", "SAVE"},
    "rank": {
        "ActionRespectingEmbedding", "ColoredMVU", "LandmarkMVU", "LaplacianMVU", "MaximumCovarianceUnfolding", "SMVU1", "SMVU2",
    },
    "method": {"LandmarkMVU"},
    "solver": {"SODA"},
    "n_neighbors": {"FactorAnalysis", "FastICA", "NCA"},
    "n_rivals": {"PairCosts"},
    "unit": {"TraceReducer"},
    "disconnected": {"TraceReducer"},
    "unlabeled": {"TraceReducer"},
}  # fmt: skip


def silent(triples: list[Triple]) -> list[str]:
    return [str(one) for one in triples if one.verdict == "silent"]


def idle(triples: list[Triple]) -> list[str]:
    """Values without an effect that `IDLE` does not list."""
    return [
        str(one) for one in triples if one.verdict == "documented" and one.method not in IDLE.get(one.parameter, set())
    ]


#: A third of a method's parameters, specifications or modes: the others are left to `make test-all`.
thirds = pytest.mark.parametrize("part", [0, *longer(1, 2)])
OWN = [name for name in ROWS if name not in THEIRS]


@pytest.mark.parametrize("name", ROWS)
@thirds
@pytest.mark.every(3)
def test_every_value_acts_or_says_that_it_does_not(name: str, part: int) -> None:
    triples = walk(name, part)
    print(table(triples))
    assert not silent(triples), "\n".join(silent(triples))
    assert not idle(triples), "\n".join(idle(triples))


@pytest.mark.parametrize("name", OWN)
@thirds
@pytest.mark.every(3, start=1)
def test_parameters_of_specifications(name: str, part: int) -> None:
    triples = walk_specs(name, part)
    assert not silent(triples), "\n".join(silent(triples))


@pytest.mark.parametrize("name", [name for name in OWN if name != "TraceReducer"])  # sixty modes: a minute
@thirds
@pytest.mark.every(3, start=2)
def test_every_parameter_in_every_mode(name: str, part: int) -> None:
    triples = walk_modes(name, part)
    assert not silent(triples), "\n".join(silent(triples))


def test_the_walk_sees_a_silent_parameter(monkeypatch: pytest.MonkeyPatch) -> None:
    """A method that drops a parameter on its way is found out."""
    cls = ROWS["LPP"].build
    monkeypatch.setattr(cls, "_fit", lambda self, sample: super(cls, type(self)(2))._fit(sample))
    forget()
    triples = walk("LPP")
    forget()
    lost = " ".join([*silent(triples), *idle(triples)])
    assert all(f"LPP({name}=" in lost for name in ("n_neighbors", "weights", "metric", "ridge"))


if __name__ == "__main__":
    chosen = sys.argv[1:] or list(ROWS)
    everything = [one for name in chosen for one in walk(name)]
    own = [name for name in chosen if name not in THEIRS]
    print(table(everything))
    print("\nSpecifications\n" + table([one for name in own for one in walk_specs(name)]))
    print("\nModes\n" + table([one for name in own for one in walk_modes(name)]))
    print("\n".join(silent(everything)))
