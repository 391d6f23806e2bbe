"""Which landmarks `LandmarkMVU` takes, and what it says of those that it cannot."""

from __future__ import annotations

import numpy as np
import pytest

from eigenspan import MVU, LandmarkMVU, Landmarks
from eigenspan.errors import InputError
from eigenspan.graphs.landmarks import check_landmarks
from helpers import pairwise

X = np.random.default_rng(0).uniform(size=(60, 3))


@pytest.mark.parametrize("choice", ["random", "maxmin", "cholesky", "kmeans++", "leverage"])
def test_every_choice_is_taken(choice):
    fitted = LandmarkMVU(2, landmarks=Landmarks(15, choice=choice)).fit(X)
    assert 10 < fitted.landmarks_.size <= 15
    assert fitted.certificate_.gap <= 1e-3


@pytest.mark.parametrize("landmarks", [None, 15, Landmarks(15, choice="maxmin"), Landmarks(15, choice="kmeans++")])
def test_distances_are_refused_with_the_way_out(landmarks):
    with pytest.raises(
        InputError, match=r"coordinates of their neighbours.*X holds distances instead .*: use MVU\(landmarks="
    ):
        LandmarkMVU(2, landmarks=landmarks, graph="precomputed").fit(pairwise(X))
    assert MVU(2, landmarks=30, graph="precomputed").fit(pairwise(X)).embedding_.shape == (60, 2)


@pytest.mark.parametrize(
    ("landmarks", "message"),
    [
        (61, "landmarks=61 must lie between 1 and n_samples=60"),
        (Landmarks(61), "landmarks=61 must lie between 1 and n_samples=60"),
        (Landmarks(0), r"Landmarks\(n=0\) .* a whole number of at least 1"),
        (Landmarks(2.5), r"Landmarks\(n=2.5\) .* a whole number of at least 1"),
        (Landmarks(5, choice="nearest"), r"Landmarks\(choice='nearest'\) .* \"kmeans\+\+\" or"),
        ([1, 1], "distinct row indices in 0..59"),
        ([0, 60], "distinct row indices in 0..59"),
        ([0.5, 1.5], "distinct row indices in 0..59"),
        ([], "distinct row indices in 0..59"),
        ([[0, 1]], "distinct row indices in 0..59"),
    ],
)
def test_what_cannot_be_chosen_is_named(landmarks, message):
    with pytest.raises(InputError, match=message):
        check_landmarks(landmarks, 60)
    with pytest.raises(InputError, match=message):
        LandmarkMVU(2, landmarks=landmarks).fit(X)


def test_copies_are_no_more_landmarks_than_their_point():
    Z = np.vstack([X[:30], X[:30] + 1e-7])
    for landmarks in (60, 40, Landmarks(40, choice="random")):
        fitted = LandmarkMVU(2, landmarks=landmarks).fit(Z)
        assert fitted.landmarks_.size == 30
        assert fitted.certificate_.gap <= 1e-3
