"""Estimators of two views under the name by which scikit-learn's checks know them.

For a class called ``CCA`` these checks expect the pair of variates from ``transform(X, y)`` and ``fit_transform(X, y)``, and for any
other class one array.
"""

from __future__ import annotations

import eigenspan as es


class CCA(es.KernelCCA):
    """The kernel method under that name."""
