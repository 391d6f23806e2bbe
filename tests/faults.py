"""Fault injection: fail every call by which a command changes the disk, one after the other.

``python tests/faults.py`` goes through all commands and formats (`tests/support/fault_cases.py`) and all calls; ``--most 3`` takes three
calls of each kind, and words choose the cases whose names contain them. After each fault the outputs must be the old ones or the complete
new ones, and nothing may be left beside them but, after a kill, hidden drafts.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "support"))

from fault_cases import CASES, Trial, prepare


def main() -> int:
    """Print a line for each case, and what went wrong."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("words", nargs="*", help="parts of the names of cases  [default: all]")
    parser.add_argument("--most", type=int, help="calls of each kind of fault, evenly spaced  [default: all]")
    given = parser.parse_args()
    chosen = [case for case in CASES if not given.words or any(word in case.name for word in given.words)]
    begin, total, problems = time.perf_counter(), 0, 0
    home = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        prepare(inputs := Path(folder, "inputs"))
        for number, case in enumerate(chosen):
            os.chdir(shutil.copytree(inputs, Path(folder, str(number))))
            trial = Trial(case, Path.cwd())
            points = list(trial.points(given.most))
            found = [problem for point in points for problem in trial.fail(*point)]
            total, problems = total + len(points), problems + len(found)
            print(f"{case.name}: {len(points)} faults, {len(found)} problems", *found, sep="\n  ", flush=True)
        os.chdir(home)
    print(f"{total} faults in {len(chosen)} cases, {problems} problems, {time.perf_counter() - begin:.0f} s")
    return int(problems > 0)


if __name__ == "__main__":
    sys.exit(main())
