"""Ctrl-C at any moment ends a fit with KeyboardInterrupt, leaves no thread running, and keeps estimator and process usable.

Every method runs in a process of its own, so that a crash is an exit code. ``EIGENSPAN_INTERRUPTS=40`` (``make test-runtime``) tries 40
moments of each of twelve methods; otherwise a few moments of those that once crashed are tried.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

#: Number of points of a Swiss roll, or of noise in 40 dimensions ("wide"), for a fit of at most a second.
METHODS = {
    "LLE": 12_000,
    "LaplacianEigenmaps": 12_000,
    "LandmarkIsomap": 12_000,
    "LFDA": 40_000,
    "LTSA": 12_000,
    "HessianLLE": 12_000,
    "Isomap": 1500,
    "SpectralClustering": 4000,
    "LPP": 40_000,
    "PCA": 1_000_000,
    "MVU": 300,
    "wide LLE": 4000,
}
ONCE_CRASHED = ["LLE", "LaplacianEigenmaps", "LandmarkIsomap", "LFDA"]
MOMENTS = int(os.environ.get("EIGENSPAN_INTERRUPTS", "0"))

SCRIPT = """
import json, os, signal, sys, threading, time, warnings
import numpy as np
import eigenspan as es

warnings.simplefilter("ignore")
signal.signal(signal.SIGINT, signal.default_int_handler)
name, n, moments = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
rng = np.random.default_rng(0)
t = rng.uniform(4, 10, n)
X = rng.standard_normal((n, 40)) if name.startswith("wide") else np.c_[t * np.cos(t), t * np.sin(t), rng.uniform(0, 8, n)]
y = np.digitize(t, [6, 8])
make = lambda: es.make(name.split()[-1], **({} if name == "PCA" else {"n_jobs": 2}))
small = slice(0, 120)
expected = make().fit(X[small], y[small]).transform(X[:5])
for _ in range(2):  # the first fit may include compilation
    start = time.perf_counter()
    make().fit(X, y)
    seconds = time.perf_counter() - start
threads = threading.active_count()
for i in range(moments):
    wait, how = (i + 0.5) / moments * seconds, "completed"
    while how == "completed":  # interrupt earlier if this fit was faster than the timed one
        estimator, late = make(), None
        timer = threading.Timer(wait, os.kill, (os.getpid(), signal.SIGINT))
        begin = time.perf_counter()
        try:
            timer.start()
            estimator.fit(X, y)
            timer.cancel()
            timer.join()
        except KeyboardInterrupt:
            how, late = "interrupted", time.perf_counter() - begin - wait
        except BaseException as error:
            how = f"{type(error).__name__}: {error}"
        timer.join()
        wait /= 2
    left = threading.active_count() - threads
    again = np.allclose(estimator.fit(X[small], y[small]).transform(X[:5]), expected)
    print(json.dumps({"how": how, "late": late, "left": left, "again": bool(again)}), flush=True)
"""


def interrupted(name: str, moments: int) -> list[dict[str, object]]:
    command = [sys.executable, "-c", SCRIPT, name, str(METHODS[name]), str(moments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=1200 + 300 * moments, check=False)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0, f"{name}: exit code {done.returncode} at moment {len(rows) + 1}\n{done.stderr[-2000:]}"
    assert len(rows) == moments
    return rows


@pytest.mark.skipif(not hasattr(os, "fork"), reason="signals to a process are POSIX")
@pytest.mark.parametrize("name", METHODS if MOMENTS else ONCE_CRASHED)
@pytest.mark.every(1 if MOMENTS else 4)
def test_interrupt_ends_only_the_fit(name: str) -> None:
    rows = interrupted(name, MOMENTS or 2)
    assert {row["how"] for row in rows} == {"interrupted"}
    assert [row for row in rows if row["left"] != 0 or not row["again"]] == []
    if MOMENTS:
        late = max(float(str(row["late"])) for row in rows)
        print(f"{name}: {MOMENTS} interrupts, at most {late:.2f} s late")
