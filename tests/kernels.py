"""The tests under the BLAS kernels of other processors, one after the other: ``python tests/kernels.py [--numerical] [KERNEL ...]``.

With ``--arrays`` no tests run: 689 embeddings are computed with each of the kernels, with two threads and with compiled loops, and
compared. An embedding that differs without a warning is an error.

OpenBLAS has kernels for every generation of processors, which add in different orders and with or without fused
multiplications, and takes those that ``OPENBLAS_CORETYPE`` names. Kernels that this processor cannot run are left out, and
it is said so.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
from itertools import combinations
from pathlib import Path
from tempfile import TemporaryDirectory

#: Oldest first; the first run on every x86-64 processor.
KERNELS = ("Prescott", "Nehalem", "Sandybridge", "Haswell", "SkylakeX")
#: What OpenBLAS calls kernels that several generations share: by the oldest of them.
SHARED = {"Katmai": "Prescott"}
TESTS = Path(__file__).parent
#: Where numbers are compared: minutes, not the whole suite. Names of test files, whatever their folder.
NUMERICAL = (
    "arithmetic", "bad_input", "bases", "cholesky", "forms", "lanczos", "landmark_unfolding", "oracles", "sdp_certificate",
    "sdp_dense", "sdp_low_rank", "smoother", "solvers", "streaming", "supervised_unfolding", "theorems", "unfolding_variants",
)  # fmt: skip
PROBE = """
import json, numpy, scipy.linalg, threadpoolctl
A = numpy.eye(300) + 1
scipy.linalg.eigh(A @ A)
print(json.dumps([pool["architecture"] for pool in threadpoolctl.threadpool_info() if pool["internal_api"] == "openblas"]))
"""


def path_of(name: str) -> Path:
    """The one file of this name."""
    (path,) = TESTS.rglob(f"test_{name}.py")
    return path


def why_not(kernel: str) -> str | None:
    """What keeps numpy and scipy from computing with these kernels; None where nothing does."""
    made = subprocess.run([sys.executable, "-c", PROBE], env=_with(kernel), capture_output=True, text=True, check=False)
    if made.returncode < 0:
        return "the processor does not know their instructions"
    if made.returncode:
        return made.stderr.strip().splitlines()[-1]
    used = {SHARED.get(name, name) for name in json.loads(made.stdout.splitlines()[-1])}
    if not used:
        return "numpy and scipy are not built with OpenBLAS"
    return None if used == {kernel} else f"OpenBLAS takes {', '.join(sorted(used))} on this processor"


def run(kernel: str, options: list[str]) -> tuple[bool, str]:
    """Whether the tests pass, and pytest's last line."""
    command = [sys.executable, "-m", "pytest", *options]
    child = subprocess.Popen(command, env=_with(kernel), stdout=subprocess.PIPE, text=True, cwd=TESTS.parent)
    assert child.stdout is not None
    counts = "no tests ran"
    for line in child.stdout:
        print(line, end="", flush=True)
        counts = line.strip("= \n") if re.search(r"\d+ (passed|failed|error)", line) else counts
    return child.wait() == 0, counts


def embeddings(folder: Path, runs: dict[str, tuple[dict[str, str], list[str]]]) -> dict[str, Path]:
    """Compute the embeddings of every run, an environment and options, in a process of its own."""
    made = {}
    for name, (environment, options) in runs.items():
        made[name] = folder / f"{name}.npz"
        command = [sys.executable, str(TESTS / "support" / "kernel_arrays.py"), str(made[name]), *options]
        subprocess.run(command, env={**os.environ, **environment}, check=True)
    return made


def compare_arrays(kernels: list[str], options: list[str]) -> int:
    """Print how many embeddings every two runs differ in; 1 where one does so without a warning."""
    sys.path.insert(0, str(TESTS / "support"))
    from kernel_arrays import differences

    runs = {k: ({"OPENBLAS_CORETYPE": k, "OPENBLAS_NUM_THREADS": "1"}, options) for k in kernels}
    last = runs[kernels[-1]][0]
    runs["two-threads"] = {**last, "OPENBLAS_NUM_THREADS": "2"}, options
    runs["loops"] = last, [*options, "--loops"]
    silent = set()
    with TemporaryDirectory() as folder:
        made = embeddings(Path(folder), runs)
        for one, two in combinations(runs, 2):
            found = differences(made[one], made[two])
            silent |= {difference.name for difference in found if not difference.warned}
            warned = sum(difference.warned for difference in found)
            print(f"{one:12} {two:12} {len(found) - warned:4} differ silently, {warned:4} with a warning", flush=True)
    print(*sorted(silent), sep="\n")
    return 1 if silent else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kernels", nargs="*", metavar="KERNEL", help=f"of {', '.join(KERNELS)}; all of them by default")
    parser.add_argument("--numerical", action="store_true", help="only the tests that compare numbers")
    parser.add_argument("--arrays", action="store_true", help="compare embeddings instead of running tests")
    parser.add_argument("--data", nargs="*", metavar="NAME", help="with --arrays: only these data sets")
    parser.add_argument("--workers", default="2", help="processes that share the tests")
    given = parser.parse_args()
    if given.arrays:
        runnable = [kernel for kernel in given.kernels or KERNELS if why_not(kernel) is None]
        if not runnable:
            print("None of these kernels runs here.")
            return 1
        return compare_arrays(runnable, ["--data", *given.data] if given.data else [])
    paths = [str(path_of(name)) for name in NUMERICAL] if given.numerical else [str(TESTS)]
    summary, passed = [], True
    for kernel in given.kernels or KERNELS:
        reason = why_not(kernel)
        if reason is None:
            print(f"\n{kernel}", flush=True)
            fine, counts = run(kernel, ["-n", given.workers, "--dist", "worksteal", *paths])
        else:
            fine, counts = not given.kernels, f"not run: {reason}"
        passed &= fine
        summary.append(f"{kernel:12} {counts}")
    print("\nBLAS kernels", *summary, sep="\n")
    return 0 if passed else 1


def _with(kernel: str) -> dict[str, str]:
    return {**os.environ, "OPENBLAS_CORETYPE": kernel}


if __name__ == "__main__":
    sys.exit(main())
