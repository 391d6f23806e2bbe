"""``eigenspan doctor``: what this installation has, and its compiled code made ready."""

from __future__ import annotations

import platform
import time
from importlib import metadata
from typing import Any

import click

from .console import how, print_json, say, show, working
from .options import common

#: What the library runs on, and what its extras bring.
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
@click.option("--compile", "make", is_flag=True, help="Compile the loops now, so that no fit has to wait for it.")
@common
def doctor(make: bool) -> None:
    """Show versions, linear algebra, threads, memory and where compiled code is kept."""
    made = {"compiled in seconds": round(compile_all(), 1)} if make else {}
    facts = facts_of() | made
    if how().json:
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
        say("eigenspan doctor --compile makes the compiled code now; it is otherwise made when first needed.")


def facts_of() -> dict[str, Any]:
    """What there is, by name."""
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
    """Where compiled loops are kept, and how many there are."""
    from pathlib import Path

    from ..numerics.nearest.pair_counts import _count_pairs

    place = getattr(_count_pairs._cache, "cache_path", None)
    if not place:
        return "nowhere: no directory can be written to; set NUMBA_CACHE_DIR to one that can"
    return f"{place} ({len(list(Path(place).glob('*.nbi')))} loops)"


def compile_all() -> float:
    """Seconds that it took to have every loop ready, by calls with a few points that use them."""
    from .ready import CALLS

    start = time.perf_counter()
    for purpose, call in CALLS.items():
        with working(f"Compiling {purpose}"):
            call()
    return time.perf_counter() - start
