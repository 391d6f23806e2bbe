"""Run the figures of the papers: ``python -m examples.gallery``."""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path

os.environ.setdefault("MPLBACKEND", "agg")

from . import can_run, run, scripts


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("paper", nargs="*", help="folders, such as s3; all unless given")
    parser.add_argument("--out", type=Path, help="folder for the pictures")
    given = parser.parse_args(arguments)
    for script in scripts(tuple(given.paper)):
        print(f"\n{script.parent.name}/{script.name}")
        if can_run(script):
            start = time.perf_counter()
            run(script, given.out)
            print(f"as expected, {time.perf_counter() - start:.1f} s")
        else:
            print("left out: EIGENSPAN_DATA does not name the data folder")


if __name__ == "__main__":
    main()
