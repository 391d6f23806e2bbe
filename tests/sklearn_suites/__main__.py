"""Run scikit-learn's own tests against this library and compare with the table of what is expected.

``python tests/sklearn_suites`` fails when a test that is listed as passing does not pass. A test function passes if all its cases do.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import sklearn

HERE = Path(__file__).resolve().parent
SUITES = [
    "sklearn.decomposition.tests.test_pca",
    "sklearn.decomposition.tests.test_incremental_pca",
    "sklearn.decomposition.tests.test_kernel_pca",
    "sklearn.decomposition.tests.test_truncated_svd",
    "sklearn.cross_decomposition.tests.test_pls",
    "sklearn.tests.test_discriminant_analysis",
    "sklearn.manifold.tests.test_isomap",
    "sklearn.manifold.tests.test_locally_linear",
    "sklearn.manifold.tests.test_spectral_embedding",
    "sklearn.manifold.tests.test_classical_mds",
    "sklearn.cluster.tests.test_spectral",
]


def run(arguments: list[str]) -> dict[str, str]:
    """Outcome of every test function: passed if every one of its cases did, with no regard to those that are skipped."""
    with tempfile.TemporaryDirectory() as folder:
        found = Path(folder) / "outcomes.json"
        path = os.pathsep.join([str(HERE), *filter(None, [os.environ.get("PYTHONPATH")])])
        command = [sys.executable, "-m", "pytest", "-q", "-p", "plugin", "-p", "no:cacheprovider", "-c", os.devnull]
        command += [f"--rootdir={Path(sklearn.__file__).parent}", "--pyargs"]
        subprocess.run(
            [*command, "--tb=line", *arguments],
            # small matrices: threads would only wait for each other
            env={**os.environ, "PYTHONPATH": path, "SUITES_OUTCOMES": str(found), "OPENBLAS_NUM_THREADS": "1"},
            cwd=folder,
            stdout=None if "-v" in arguments else subprocess.DEVNULL,
        )
        cases = json.loads(found.read_text())
    return {
        name: "failed" if "failed" in results else "passed" if "passed" in results else "skipped"
        for name, results in cases.items()
    }


def compare(outcomes: dict[str, str], table: dict[str, Any]) -> int:
    """Print the count and what differs from the table; the number of listed passes that do not pass."""
    applicable = {name: result for name, result in outcomes.items() if table.get(name, {}).get("kind") != "internal"}
    counts = Counter(
        "pass" if result == "passed" else table.get(name, {}).get("kind", "unlisted")
        for name, result in applicable.items()
        if result != "skipped"
    )
    print(
        f"{counts['pass']} of {sum(counts.values())} applicable tests of scikit-learn {sklearn.__version__} pass unchanged"
    )
    for kind in sorted(set(counts) - {"pass"}):
        print(f"  {counts[kind]} {kind}")
    broken = [name for name, row in table.items() if row["kind"] == "pass" and outcomes.get(name) == "failed"]
    for name in broken:
        print(f"  NO LONGER PASSES {name}")
    for name, result in sorted(applicable.items()):
        if result == "passed" and table.get(name, {"kind": "unlisted"})["kind"] != "pass":
            print(f"  passes now, move it in the table: {name}")
        if result == "failed" and name not in table:
            print(f"  not in the table: {name}")
    return len(broken)


def main() -> int:
    table = json.loads((HERE / "expected.json").read_text(encoding="utf-8"))
    return 1 if compare(run(sys.argv[1:] or SUITES), table["tests"]) else 0


if __name__ == "__main__":
    sys.exit(main())
