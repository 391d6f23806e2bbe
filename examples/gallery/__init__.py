"""Figures of the papers, one script each, with the numbers that they must show.

    python -m examples.gallery                 # all of them
    python -m examples.gallery s3 --out folder # those of one paper, with their pictures

A script draws with pyplot and leaves two dictionaries: ``found``, name to number, and ``expected``, name to number and allowed error.
One whose name begins with ``data_`` reads the folder EIGENSPAN_DATA: it is left out, and that is said, where there is none. The site
does not run it either; it shows the picture that the script's docstring names.
"""

from __future__ import annotations

import os
import runpy
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent


def scripts(papers: tuple[str, ...] = ()) -> list[Path]:
    """All of them, or those of some papers, by folder."""
    return [path for path in sorted(HERE.glob("*/*.py")) if not papers or path.parent.name in papers]


def can_run(script: Path) -> bool:
    return not script.name.startswith("data_") or "EIGENSPAN_DATA" in os.environ


def check(found: dict[str, float], expected: dict[str, tuple[float, float]]) -> None:
    """Raise an AssertionError that names every number that is not as expected."""
    assert expected, "a figure without a number shows nothing that can be checked"
    assert found.keys() == expected.keys(), f"found {sorted(found)}, expected {sorted(expected)}"
    off = [
        f"{name}: {found[name]:g}, expected {value:g} ± {allowed:g}"
        for name, (value, allowed) in expected.items()
        if not abs(found[name] - value) <= allowed
    ]
    assert not off, "; ".join(off)


def run(script: Path, out: Path | None = None) -> dict[str, Any]:
    """Run a script, save what it draws, check its numbers and return what it has defined."""
    import matplotlib.pyplot as plt

    plt.close("all")
    namespace = runpy.run_path(str(script))
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        for k in plt.get_fignums():
            more = "" if k == 1 else f"-{k}"
            plt.figure(k).savefig(out / f"{script.parent.name}-{script.stem}{more}.png", dpi=100)
    plt.close("all")
    check(namespace["found"], namespace["expected"])
    return namespace
