"""After ``eigenspan doctor --compile``, no method has to compile anything."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import eigenspan

# In a subprocess, because other tests have already compiled loops in this one.
SCRIPT = """
import importlib, warnings
import numpy as np
import eigenspan
from eigenspan.cli.doctor import compile_all
from eigenspan.numerics.jit import compiler as jit
from eigenspan.numerics.nearest import engines

compile_all()
for name in jit.LOOPS:
    importlib.import_module(f"eigenspan.{name}")
ready = {loop: set(loop.overloads) for loop in jit.loops}

# every choice between numpy and compiled loops selects compiled loops, even for small data
for name in (
    "graphs.weights.reconstruction_weights", "problem.forms.local_alignment", "graphs.neighbours.geodesics", "problem.extensions.gram",
    "quality._ranks", "dimension.correlation", "numerics.nearest.engines", "numerics.nearest.exact",
):
    module = importlib.import_module(f"eigenspan.{name}")
    if hasattr(module, "_SMALL"):
        module._SMALL = (0.0,) * len(module._SMALL) if isinstance(module._SMALL, tuple) else 0.0
importlib.import_module("eigenspan.numerics.factor.fill").LARGE = 0.0
engines._automatic = engines.BlockSearch
importlib.import_module("eigenspan.numerics.eigen.auto").Auto.dense_below = 10

from awkward_subjects import NEW, SUBJECTS, X

warnings.simplefilter("ignore")
for name, subject in SUBJECTS.items():
    if any(part in name for part in ("MVU", "KDR", "Search", "Action")):
        continue  # slow, and without own loops
    for data in (X, X[:, :3].copy()) if name in ("LTSA", "HessianLLE", "ModifiedLLE", "LLTSA") else (X,):
        try:
            subject.place(subject.fit(data), NEW[:, : data.shape[1]])
        except (eigenspan.errors.EigenspanError, AttributeError):
            pass  # no map for new points, or too few features for the method
eigenspan.LaplacianEigenmaps(solver="chebyshev").fit(np.random.default_rng(0).random((600, 6)))
eigenspan.evaluate(X, X[:, :2])
eigenspan.intrinsic_dimension(X, method="correlation")
for loop in jit.loops:
    more = set(loop.overloads) - ready[loop]
    if more:
        print(loop.__module__, loop.__name__, more)
"""


def test_no_method_compiles_after_doctor_compile() -> None:
    support, source = Path(__file__).parents[1] / "support", Path(eigenspan.__file__).parents[1]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(source), str(support)])}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, env=environment, check=False, timeout=3600
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
