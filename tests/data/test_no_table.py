"""What is no table of numbers, sent to every estimator as X."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import eigenspan as es
from awkward_subjects import SUBJECTS, X, quietly
from eigenspan.errors import EigenspanError, InputError


class Something:
    """No table, no number."""


NO_TABLES = {
    "text": lambda: "text",
    "csv": lambda: "x.csv",
    "parquet": lambda: Path("x.parquet"),
    "bytes": lambda: b"abc",
    "dict": lambda: {"a": [1.0, 2.0]},
    "keys": lambda: {1: 2}.keys(),
    "set": lambda: {1.0, 2.0},
    "generator": lambda: (row for row in X),
    "zip": lambda: zip([1.0], [2.0], strict=True),
    "scalar": lambda: 3.0,
    "True": lambda: True,
    "numpy scalar": lambda: np.float64(2.0),
    "array of no dimension": lambda: np.array(3.0),
    "text of no dimension": lambda: np.array("a"),
    "class": lambda: dict,
    "function": lambda: len,
    "object": Something,
    "estimator": es.PCA,
    "None": lambda: None,
}
WORDS = {
    "csv": "read the file first",
    "parquet": "eigenspan embed FILE",
    "dict": "pandas.DataFrame",
    "set": "no defined order",
    "generator": "list(X)",
    "scalar": "Expected 2D array, got scalar array instead",
    "object": "X is a Something",
    "class": "the class dict",
}


@pytest.mark.parametrize("name", SUBJECTS)
@pytest.mark.every(2)
def test_every_estimator_refuses_it(name):
    subject = SUBJECTS[name]
    fitted = subject.fit()
    for kind, make in NO_TABLES.items():
        with pytest.raises(EigenspanError) as refusal:
            quietly(lambda make=make: subject.make().fit(make(), subject.y()))
        assert WORDS.get(kind, "X") in str(refusal.value), kind
        with pytest.raises(EigenspanError):
            subject.place(fitted, make())


def test_known_coordinates_and_other_views_are_tables_too():
    for make in (*(NO_TABLES[kind] for kind in ("csv", "dict", "set", "generator", "class", "object")),):
        with pytest.raises(InputError, match="y"):
            es.Anchored(es.LTSA(2)).fit(X, make())
        with pytest.raises(InputError, match="y"):
            es.CCA(1).fit(X, make())


@pytest.mark.parametrize("names", [list("aabcde"), [0, 0, 1, 2, 3, 4], ["a", 1, "a", 1, 2, 3]])
@pytest.mark.parametrize("name", ["PCA", "LLE", "LDA", "PPCA", "MVU"])
def test_two_columns_of_one_name_are_refused(name, names):
    table, y = pd.DataFrame(X, columns=names), np.arange(len(X)) % 3
    with pytest.raises(InputError, match=r"occur more than once.*Rename them, or pass X.to_numpy\(\)"):
        es.make(name).fit(table, y)
    unique = pd.DataFrame(X, columns=list("abcdef"))
    fitted = quietly(lambda: es.make(name).fit(unique, y))
    with pytest.raises(InputError, match="occur more than once"):
        fitted.transform(table)


@pytest.mark.parametrize("name", ["PCA", "LLE", "KernelPCA"])
def test_sparse_rows_in_single_precision_warn_of_nothing(name):
    """The largest size that is allowed overflowed in single precision."""
    Z = sp.csr_array(np.where(np.abs(X) < 1.5, 0.0, X).astype(np.float32))
    found, expected = es.make(name).fit(Z).embedding_, es.make(name).fit(Z.toarray().astype(np.float64)).embedding_
    np.testing.assert_allclose(np.abs(found), np.abs(expected), atol=1e-3 * np.abs(expected).max())
