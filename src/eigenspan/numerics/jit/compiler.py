"""How loops are compiled here, and where the result is kept.

numba keeps compiled code beside the source where that can be written to, else in the user's cache directory, or in
``NUMBA_CACHE_DIR`` where that is set. A cache is a convenience: where none can be written the loops are compiled in every process, and
where one is damaged it is made anew.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import Any

from llvmlite import ir  # what numba compiles with, and always there with it
from numba import njit, types
from numba.core.caching import FunctionCache, NullCache
from numba.extending import intrinsic

from ..._diagnostics import logger

_first = Lock()

#: Every loop there is in the modules that were imported, but for those that are copied into others.
loops: list[Any] = []

#: Modules with compiled loops: what the loops are for, and the seconds that a first fit may wait for them.
LOOPS = {
    "numerics.small_matrices": ("local models", 4),
    "numerics.ranks": ("ranks of neighbours", 2),
    "numerics.factor.quotient_graph": ("a sparse factorisation", 7),
    "numerics.factor.elimination": ("a sparse factorisation", 7),
    "numerics.factor.fronts": ("a sparse factorisation", 7),
    "numerics.factor.assemble": ("local models", 4),
    "numerics.eigen.sparse_products": ("products with a sparse matrix", 1),
    "numerics.nearest.compiled_loops": ("a search for neighbours", 2),
    "numerics.nearest.pair_counts": ("distances of all pairs", 2),
    "numerics.paths.shortest_paths": ("shortest paths", 1),
    "numerics.paths.first_steps": ("shortest paths", 1),
    "graphs.weights.local_models": ("local models", 4),
}
_PACKAGE = Path(__file__).parents[2]
#: A hash of this file and of all loops. numba looks at the file of a loop, but not at the files of loops that are compiled into it.
_SOURCES = sha256(
    b"".join(
        path.read_bytes() for path in [Path(__file__), *(_PACKAGE / f"{name.replace('.', '/')}.py" for name in LOOPS)]
    )
).hexdigest()


def _announce(loop: Any, kept: str) -> None:
    """Say once in a process that it waits for the compiler: what is loaded from a cache takes no time worth a word."""
    if _first.acquire(blocking=False):  # and is never given back
        purpose, seconds = LOOPS.get(loop.__module__.partition(".")[2], ("what follows", 2))
        logger.warning(
            "Compiling eigenspan's loops for this machine, now those for %s: once, about %d s. %s",
            purpose,
            seconds,
            kept,
        )


class _Kept(FunctionCache):
    """numba's cache on disk, whose failures cost a compilation and nothing else."""

    def __init__(self, loop: Any) -> None:
        super().__init__(loop)
        self._cache_file._source_stamp = (self._cache_file._source_stamp, _SOURCES)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        found = None
        try:
            found = super().load_overload(sig, target_context)
        except (OSError, MemoryError):
            pass  # it may be there another time
        except Exception:  # a file that was cut short or altered fails in any way that unpickling can
            with suppress(Exception):
                self.flush()
        if found is None:
            _announce(self._py_func, f"They are kept in {self.cache_path} and loaded from there the next time.")
        return found

    def save_overload(self, sig: Any, data: Any) -> None:
        with suppress(OSError, MemoryError, pickle.PickleError, EOFError):  # a full disk, a quota
            super().save_overload(sig, data)


class _Forgotten(NullCache):
    """Where nothing can be written."""

    def __init__(self, loop: Any) -> None:
        self._loop = loop

    def load_overload(self, sig: Any, target_context: Any) -> None:
        _announce(
            self._loop,
            "No directory for compiled code can be written to, so every process compiles them again: set NUMBA_CACHE_DIR to one that can.",
        )


def at_hand(loop: Any) -> bool:
    """Compiled already, in this process or, by what its cache says, before."""
    if loop.signatures:
        return True
    try:
        return bool(loop._cache._cache_file._load_index())
    except Exception:  # there is no cache, or it is damaged
        return False


def _compiler(**options: Any) -> Callable[[Any], Any]:
    """A decorator: numba's, with a cache that cannot fail."""

    def compiled(loop: Any) -> Any:
        given = {**options, "no_cfunc_wrapper": True}  # nobody calls them from C
        dispatcher = njit(nogil=True, error_model="numpy", **given)(loop)
        try:
            dispatcher._cache = _Kept(loop)
        except (RuntimeError, OSError):  # numba found no place for it
            dispatcher._cache = _Forgotten(loop)
        if "inline" not in options:
            loops.append(dispatcher)
        return dispatcher

    return compiled


#: Serial code without the interpreter's lock; a division by zero gives inf or nan, as in numpy.
compiled = _compiler()

#: The same, copied into the functions that call it and compiled there only: compiling takes a third less time.
spliced = _compiler(inline="always")

#: Sums may be reordered to fill the vector unit, in an order that is fixed when the code is compiled.
summed = _compiler(fastmath={"reassoc", "contract", "nsz"})


@intrinsic
def fetch(_typing, array, at):  # type: ignore[no-untyped-def]
    """``fetch(array, at)`` in a loop: have an entry on its way to the cache before it is read. Where there is none nothing happens."""

    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        place = builder.gep(context.make_array(signature.args[0])(context, builder, given[0]).data, [given[1]])
        number, pointer = ir.IntType(32), ir.IntType(8).as_pointer()
        of = ir.FunctionType(ir.VoidType(), [pointer, number, number, number])
        call = builder.module.declare_intrinsic("llvm.prefetch", [pointer], of)
        builder.call(call, [builder.bitcast(place, pointer), number(0), number(3), number(1)])  # to read, to keep, data
        return context.get_dummy_value()

    return types.void(array, at), generate
