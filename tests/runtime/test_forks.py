"""Processes forked after a parent has used threads: the library must not cause deadlocks in them.

OpenMP's threads belong to the thread that started them and are missing in a forked child, which then waits for them. So our own uses of
OpenMP keep to one thread, or run on threads that end with the call.
"""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec

import pytest

SCRIPT = """
import os, signal, sys, time, warnings
import numpy as np
import eigenspan as es
from eigenspan import quality
from eigenspan.numerics.nearest import engines as search

warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
X, y = rng.standard_normal((3000, 3)), np.arange(3000) % 3
W = rng.standard_normal((3000, 20))
USES = {
    "clustering": lambda: es.SpectralClustering(3).fit(X).predict(X[:50]),
    "knn_accuracy": lambda: quality.knn_accuracy(W, y, W[:2000], y[:2000]),
    "trustworthiness": lambda: quality.trustworthiness(W[:2000], X[:2000], metric="cityblock"),
    "coranking": lambda: quality.coranking(W[:2500], X[:2500]),
    "library": lambda: search.choose(W, "cosine", "auto", 2).near(None, 4),
    "radius": lambda: es.Radius(1.0, metric="cityblock", n_jobs=2).build(X),
    "pre-image": lambda: es.KernelPCA(2, gamma=0.1, preimage="fixed-point").fit(X[:400]).inverse_transform(np.zeros((300, 2))),
    "hnsw": lambda: search.HnswSearch(W, 2).near(None, 4),
    "tree": lambda: search.TreeSearch(X, 2).near(None, 4),
}
if "faiss" not in sys.argv:
    del USES["hnsw"]
hang = []
for name, use in USES.items():
    use()
    child = os.fork()
    if child == 0:
        use()
        os._exit(0)
    start = time.monotonic()
    while not (ended := os.waitpid(child, os.WNOHANG))[0] and time.monotonic() - start < 600:
        time.sleep(0.02)
    if not ended[0]:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        hang.append(name)
sys.exit(f"children hang: {', '.join(hang)}" if hang else 0)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_forked_child_can_use_threads() -> None:
    environment = {**os.environ, "OMP_NUM_THREADS": "2"}
    options = ["faiss"] if find_spec("faiss") is not None else []
    command = [sys.executable, "-W", "ignore", "-c", SCRIPT, *options]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=6000, check=False)
    assert done.returncode == 0, done.stderr[-1000:]
