"""Scatter forms: variance, class means and what is left around them. All are diagonal plus low rank, never n×n."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ..form import Form, diagonal, identity
from .graph_laplacian import class_graph

Codes = NDArray[np.intp]


def centring(n: int) -> Form:
    """``H = I − 11ᵀ/n``: total variance. PSD, H1 = 0."""
    mean = Form(n, low_rank=(np.ones((n, 1)), np.array([1.0 / n])), psd=True)
    return replace(identity(n) - mean, psd=True, kills_constant=True)


def class_average(codes: Codes) -> Form:
    """``H_class = ⊕ 11ᵀ/n_k``: variance of the class means (about the origin). PSD; does not kill the constant."""
    return class_graph(codes)


def between(codes: Codes) -> Form:
    """``H_class − 11ᵀ/n`` over the labelled points: variance of the class means about the labelled mean. PSD, kills the constant."""
    ones = (codes >= 0).astype(float)
    mean = Form(codes.size, low_rank=(ones[:, None], np.array([1.0 / ones.sum()])), psd=True)
    return replace(class_graph(codes) - mean, psd=True, kills_constant=True)


def within(codes: Codes) -> Form:
    """``I − H_class`` on the labelled points: variance about the class means. PSD, kills the constant."""
    return replace(diagonal((codes >= 0).astype(float)) - class_graph(codes), psd=True, kills_constant=True)


def total(codes: Codes) -> Form:
    """``between + within``: variance of the labelled points about their mean. PSD, kills the constant."""
    ones = (codes >= 0).astype(float)
    mean = Form(codes.size, low_rank=(ones[:, None], np.array([1.0 / ones.sum()])), psd=True)
    return replace(diagonal(ones) - mean, psd=True, kills_constant=True)
