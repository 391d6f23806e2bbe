"""Parameters from declarations: what scikit-learn, ``help`` and type checkers read, and what is refused."""

import inspect
import pickle
from collections.abc import Callable
from numbers import Integral
from typing import Annotated, Any, Literal

import pytest
from sklearn.base import clone

import eigenspan as es
from awkward_subjects import SUBJECTS
from eigenspan._compat import Interval
from eigenspan._parameters import ArrayLike, Count, Declared, Positive, choices, parameter
from eigenspan.errors import EigenspanError, ParameterError


class Base(Declared):
    n: Count = parameter(default=2, kw_only=False)
    how: Literal["so", "or so"] = "so"
    seed: Any = 0
    fitted_: Any = None  # no parameter: it ends in an underscore


class More(Base):
    width: Positive | None = None
    how: Literal["so", "or so"] = "or so"


class Needing(More):
    what: str = parameter(kw_only=False)
    n: Count = parameter(default=5, kw_only=False)


def test_a_subclass_says_what_it_adds_and_what_it_changes() -> None:
    assert str(inspect.signature(Base)) == "(n=2, *, how='so', seed=0)"
    assert str(inspect.signature(More)) == "(n=2, *, width=None, how='or so', seed=0)"
    assert More(3).get_params() == {"n": 3, "width": None, "how": "or so", "seed": 0}
    assert Base().how == "so"
    needing = Needing("it", width=2.0)
    assert (needing.what, needing.n, needing.width, needing.how) == ("it", 5, 2.0, "or so")
    assert clone(needing).get_params() == needing.get_params()
    assert pickle.loads(pickle.dumps(needing)).get_params() == needing.get_params()
    assert not hasattr(Base, "how"), "a default is no attribute of the class"


def test_values_are_stored_as_they_come() -> None:
    given = {"n": "many", "how": object(), "seed": [1]}
    made = Base(**given)
    assert all(getattr(made, name) is value for name, value in given.items())


@pytest.mark.parametrize(
    "call, words",
    [
        (
            lambda: es.LPP(neighbours=3),
            "LPP has no parameter 'neighbours'. Did you mean 'n_neighbors'? It has n_components, weights, ",
        ),
        (lambda: es.SpectralClustering(affinity="rbf"), "other edge weights are set by weights="),
        (lambda: es.LPP(2, 5), "LPP: too many positional arguments; its parameters are (n_components=2, *, "),
        (lambda: es.LPP(2, n_components=3), "multiple values for argument 'n_components'"),
        (lambda: es.Anchored(), "missing a required argument: 'embedding'"),
        (lambda: es.KNN(10, neighbours=3), "KNN has no parameter 'neighbours'"),
        (lambda: es.RegularizedSearch(es.SSLFDA(), folds=3), "RegularizedSearch has no parameter 'folds'"),
    ],
)
def test_a_parameter_that_does_not_exist_is_named(call: Callable[[], Any], words: str) -> None:
    with pytest.raises(ParameterError) as refused:
        call()
    assert words in str(refused.value)
    assert isinstance(refused.value, TypeError)
    assert isinstance(refused.value, EigenspanError)


def test_types_are_what_is_checked() -> None:
    def fits(hint: Any, value: Any) -> bool:
        from eigenspan._compat import make_constraint

        return any(make_constraint(choice).is_satisfied_by(value) for choice in choices(hint))

    accepted: list[tuple[Any, list[Any], list[Any]]] = [
        (Count | None, [1, None], [0, 1.0, True, "1"]),
        (Literal["a", "b"] | None, ["a", None], ["c", 1]),
        (Literal[1, 2], [1, 2], [3, "1"]),
        (bool, [True, False], ["yes", 2]),
        (int | None, [-3, None], [True, 1.5]),
        (Callable[..., Any], [len], ["len"]),
        (dict[str, Any], [{}], [[]]),
        (ArrayLike, [[1, 2]], [3]),
        (Annotated[Any, str, Interval(Integral, 2, None, closed="left")], ["a", 2], [1, None]),
    ]
    for hint, good, bad in accepted:
        assert [fits(hint, value) for value in good] == [True] * len(good), hint
        assert [fits(hint, value) for value in bad] == [False] * len(bad), hint


@pytest.mark.parametrize("name", ["LPP", "LTSA", "LandmarkMVU", "SpectralClustering"])
def test_a_truth_value_is_no_number(name: str) -> None:
    import numpy as np

    X = np.random.default_rng(0).standard_normal((40, 4))
    first = "n_clusters" if name == "SpectralClustering" else "n_components"
    with pytest.raises(ValueError, match=first):
        es.make(name, **{first: True}).fit(X)


CONTAINERS = {
    "empty list": [],
    "list": ["a"],
    "dict": {"a": 1},
    "empty dict": {},
    "set": set(),
    "tuple": (1,),
    "class": dict,
    "object": object(),
}


@pytest.mark.parametrize("name", SUBJECTS)
@pytest.mark.every(3)
def test_no_parameter_takes_a_container_of_the_wrong_kind_for_a_specification(name: str) -> None:
    """``MVU(extension=[])`` passed for an extension: lists have a method of that name."""
    subject = SUBJECTS[name]
    for parameter_ in sorted(
        subject.parameters & {"extension", "solver", "kernel", "weights", "graph", "landmarks", "labels"}
    ):
        for kind, value in CONTAINERS.items():
            rows_or_lists = {"landmarks": ("list", "tuple"), "graph": ("tuple",)}
            if kind in rows_or_lists.get(parameter_, ()):
                continue  # rows by number, and (indices, distances)
            with pytest.raises((EigenspanError, ValueError), match=f"(?i){parameter_}"):
                subject.fit(**{parameter_: value})
