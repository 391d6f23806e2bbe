"""Python without docstrings and assertions (``-OO``)."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

SCRIPT = """
import numpy as np, eigenspan as es
X = np.random.default_rng(0).standard_normal((60, 4))
exact = np.linalg.svd(X - X.mean(0))[2][:2]
found = es.PCA(2).fit(X).components_
np.testing.assert_allclose(np.linalg.svd(found @ exact.T)[1], 1.0, atol=1e-10)
es.LLE(2).fit(X).transform(X[:3]); es.LDA(1).fit(X, X[:, 0] > 0)
assert False, "assertions are dropped"
"""


def run(*arguments):
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "PYTHONIOENCODING": "utf-8"}
    command = [sys.executable, "-OO", *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, encoding="utf-8", check=False)


def test_fits_without_docstrings():
    done = run("-c", SCRIPT)
    assert done.returncode == 0, done.stderr


@pytest.mark.long
def test_commands_without_docstrings():
    listed, explained = run("-m", "eigenspan", "methods"), run("-m", "eigenspan", "info", "pca")
    assert listed.returncode == explained.returncode == 0, listed.stderr + explained.stderr
    assert "LaplacianEigenmaps" in listed.stdout
    assert "removes docstrings when run with -OO" in explained.stdout
