"""Matrices of users as forms: what is checked, and what is determined from the numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import make_swiss_roll

import eigenspan as es
from eigenspan import forms
from eigenspan.errors import InputError, LabelError
from eigenspan.forms import degree, diagonal, identity, laplacian, tangent_alignment
from eigenspan.graphs import KNN
from helpers import angle, relative

X = make_swiss_roll(120, random_state=0)[0]


@given(st.integers(0, 10_000), st.sampled_from(["psd", "shifted", "laplacian", "signed", "diagonal"]), st.booleans())
def test_facts_are_those_of_the_eigenvalues(seed: int, kind: str, sparse: bool) -> None:
    rng = np.random.default_rng(seed)
    R = rng.standard_normal((9, 9)) * (rng.random((9, 9)) < 0.5)
    W = np.abs(R + R.T)
    M = {
        "psd": R @ R.T,
        "shifted": R @ R.T - 0.1 * np.eye(9),
        "laplacian": np.diag(W.sum(axis=1)) - W,
        "signed": np.diag((R + R.T).sum(axis=1)) - R - R.T,
        "diagonal": np.diag(rng.standard_normal(9)),
    }[kind]
    form = forms.as_form(sp.csr_array(M) if sparse else M)
    lowest, size = np.linalg.eigvalsh(M)[0], np.abs(M).sum(axis=0).max()
    assert np.array_equal(form.to_dense(), M)
    assert form.psd == (lowest >= -1e-12 * size) or abs(lowest) < 1e-8 * size
    assert form.kills_constant == (kind in ("laplacian", "signed") and size > 0)


@pytest.mark.parametrize("name", ["LLE", "LTSA", "LaplacianEigenmaps"])
@pytest.mark.parametrize("basis", ["samples", "linear"])
def test_a_matrix_is_the_form_that_it_came_from(name: str, basis: str) -> None:
    form = es.make(name, n_neighbors=12).fit(X).problem_.A.assembled()
    fitted = [
        es.TraceReducer(2, minimise=M, basis=basis, n_neighbors=12).fit(X)
        for M in (form, form.to_dense(), form.sparse, lambda points, y: form.sparse)
    ]
    for one in fitted[1:]:
        assert angle(one.embedding_, fitted[0].embedding_) < 1e-4
        assert relative(one.eigenvalues_, fitted[0].eigenvalues_) < 1e-6


def test_matrices_as_denominator_and_unit() -> None:
    rng = np.random.default_rng(1)
    A, B, C = (R @ R.T for R in rng.standard_normal((3, 120, 120)))
    fitted = es.TraceReducer(1, maximise=A, over=B, unit=C).fit(X)
    Z = X - C.sum(axis=0) @ X / C.sum()
    gains = np.linalg.eigvals(np.linalg.solve(Z.T @ B @ Z, Z.T @ A @ Z)).real
    assert fitted.trace_ratio_ == pytest.approx(gains.max(), rel=1e-8)


def test_asymmetry_of_rounding_is_averaged() -> None:
    M = np.eye(4)
    M[0, 1] = 1e-9
    for one in (M, sp.csr_array(M)):
        assert np.array_equal(forms.as_form(one).to_dense(), (M + M.T) / 2)


@pytest.mark.parametrize("labels", [["a", "b"], [0.5, 1.0], [-1, -1], [0, -2], [[0, 1]]], ids=str)
def test_labels_that_are_no_codes(labels: Any) -> None:
    for make in (forms.between, forms.within, forms.total, forms.class_graph, forms.same_class, forms.other_class):
        with pytest.raises(LabelError, match="Classes must be codes"):
            make(labels)


def test_a_form_of_another_size() -> None:
    with pytest.raises(InputError, match="Form over the 120 samples; got one over 3"):
        es.TraceReducer(minimise=forms.identity(3)).fit(X)


@pytest.mark.parametrize("make", [laplacian, degree])
def test_weights_are_checked(make: Any) -> None:
    W = np.array([[0.0, 1.0], [1.0, 0.0]])
    np.testing.assert_array_equal(make(W.tolist()).to_dense(), make(W).to_dense())
    for wrong, message in ((W[0], "square"), (W[:1], "square"), (W * np.nan, "finite"), ("heat", "real numbers")):
        with pytest.raises(InputError, match=message):
            make(wrong)


def test_arguments_of_forms_are_checked() -> None:
    some = X[:20]
    graph = KNN(6).build(some)
    for points, lists in ((some, graph), (some.tolist(), graph.lists()), (some[:10], graph.lists())):
        with pytest.raises(InputError, match="LTSA"):
            tangent_alignment(points, lists, 1)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="finite"):
        diagonal(np.array([1.0, np.nan]))
    with pytest.raises(TypeError):
        np.eye(2) + identity(2)
