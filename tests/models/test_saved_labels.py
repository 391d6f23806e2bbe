"""Saving and loading of models fitted to labels of every pandas, polars and numpy type."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import eigenspan as es
from awkward_subjects import SUBJECTS, X, quietly

LABELLED = [
    name
    for name, subject in SUBJECTS.items()
    if subject.y() is not None and np.ndim(subject.y()) == 1 and subject.labels in ("labels", "some labels", "actions")
    if name not in ("LabelledOnly", "KernelLearner") and not name.startswith("RegularizedSearch")
]


def types_of(codes):
    """Return the classes 0, 1 and 2, and −1 for unlabelled rows, in many types."""
    words, missing = np.array(["x", "y", "z"])[codes % 3].astype(object), codes < 0
    words = pd.Series(words).mask(missing)
    yield "Int64", pd.Series(codes).astype("Int64").mask(missing)
    yield "array of Int64", pd.array(codes, dtype="Int64")
    yield "category", words.astype("category")
    yield "category of numbers", pd.Series(codes).astype("category")
    yield "string", words.astype("string")
    yield "object", words.to_numpy()


@pytest.mark.parametrize("name", LABELLED)
@pytest.mark.every(4)
def test_round_trip(name, tmp_path):
    subject = SUBJECTS[name]
    for kind, y in types_of(np.asarray(subject.y()).astype(int)):
        fitted = quietly(lambda y=y: subject.make().fit(X, y))
        es.save(fitted, tmp_path / "model.eig")
        loaded = es.load(tmp_path / "model.eig")
        np.testing.assert_array_equal(subject.place(loaded, X), subject.place(fitted, X), err_msg=kind)
        if hasattr(fitted, "classes_"):
            assert list(loaded.classes_) == list(fitted.classes_), kind
