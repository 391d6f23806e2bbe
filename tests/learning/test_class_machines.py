"""With several classes, `KernelLearner` trains one machine per class against the rest."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.preprocessing import scale
from sklearn.svm import SVC

from eigenspan import Kernel, KernelLearner


@pytest.mark.parametrize("classes", [2, 3])
def test_the_objective_is_that_of_every_class_against_the_rest(classes: int) -> None:
    X, y = load_iris(return_X_y=True)
    some = y >= 3 - classes
    X, y = scale(X[some])[::2], y[some][::2]
    fitted = KernelLearner(["linear", Kernel("rbf", gamma=0.5)], C=1.0).fit(X, y)
    total = 0.0
    for name in fitted.classes_ if classes > 2 else fitted.classes_[1:]:
        svm = SVC(C=1.0, kernel="precomputed", tol=1e-9).fit(fitted.kernel_, y == name)
        alpha = np.zeros(y.size)
        alpha[svm.support_] = svm.dual_coef_[0]
        total += 2 * np.abs(alpha).sum() - alpha @ fitted.kernel_ @ alpha
    assert fitted.objective_ == pytest.approx(total, rel=1e-5)
