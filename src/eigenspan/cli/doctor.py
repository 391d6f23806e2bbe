"""``eigenspan doctor``: show the installation, and compile the loops in advance."""

from __future__ import annotations

import platform
import time
from importlib import metadata
from typing import Any

import click

from .console import note, output_options, print_json, show, working
from .options import common

#: Required packages, and optional packages by extra.
_NEEDED = ("numpy", "scipy", "scikit-learn", "numba", "pandas", "threadpoolctl", "click", "rich")
_EXTRAS = {
    "matplotlib": "plot",
    "faiss-cpu": "ann",
    "pyamg": "amg",
    "pyarrow": "files",
    "openpyxl": "files",
    "anndata": "anndata",
    "onnx": "onnx",
}


@click.command()
@click.option("--compile", "make", is_flag=True, help="Compile all loops now, so that no fit waits for the compiler.")
@common
def doctor(make: bool) -> None:
    """Show versions, linear algebra libraries, threads, memory and the cache of compiled code."""
    made = {"compiled in seconds": round(compile_all(), 1)} if make else {}
    facts = facts_of() | made
    if output_options().json:
        print_json(facts)
        return
    for what, value in facts.items():
        if isinstance(value, dict):
            show((what, "bold"))
            for name, text in value.items():
                show(f"  {name:<14} {text}")
        else:
            show(f"{what:<16} {value}")
    if not make:
        note("Loops are compiled when first used; eigenspan doctor --compile compiles them all now.")


def facts_of() -> dict[str, Any]:
    """Return the facts to print, by name."""
    import numpy as np  # noqa: F401 -- its linear algebra is what is looked at
    import scipy.linalg  # noqa: F401
    from threadpoolctl import threadpool_info

    from .. import __version__
    from ..numerics.memory import available_memory, human_bytes
    from ..numerics.threads import workers

    libraries = {}
    for pool in threadpool_info():
        libraries[pool["prefix"]] = (
            f"{pool['internal_api']} {pool.get('version') or ''}, {pool['num_threads']} threads"
            + (f", kernels {pool['architecture']}" if pool.get("architecture") else "")
        )
    return {
        "eigenspan": __version__,
        "python": platform.python_version(),
        "system": platform.platform(),
        "threads": workers(),
        "memory to use": human_bytes(available_memory()),
        "compiled code": _cache(),
        "needed": {name: _version(name) or "not installed" for name in _NEEDED},
        "extras": {
            name: _version(name) or f'not installed: pip install "eigenspan[{extra}]"'
            for name, extra in _EXTRAS.items()
        },
        "linear algebra": libraries,
    }


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _cache() -> str:
    """Describe the cache directory of compiled loops and the number of files in it."""
    from pathlib import Path

    from ..numerics.jit.compiler import cache_folder
    from ..numerics.nearest.pair_counts import _count_pairs

    place = cache_folder(_count_pairs)
    if not place:
        return "none: no cache directory is writable; set NUMBA_CACHE_DIR to a writable one"
    return f"{place} ({len(list(Path(place).glob('*.nbi')))} loops)"


def compile_all() -> float:
    """Compile every loop by calls with a few points; return the seconds taken."""
    from .ready import CALLS

    start = time.perf_counter()
    for purpose, call in CALLS.items():
        with working(f"Compiling {purpose}"):
            call()
    return time.perf_counter() - start
