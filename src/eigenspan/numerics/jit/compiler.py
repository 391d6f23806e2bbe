"""Decorators that compile loops with numba, and the cache of compiled code.

numba stores compiled code beside the source if that directory is writable, else in the user's cache directory, or in
``NUMBA_CACHE_DIR`` if that is set. The cache is optional: if none can be written, each process compiles the loops, and a damaged
cache is rebuilt.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from threading import Lock
from types import FunctionType
from typing import Any, TypeVar, cast

from llvmlite import ir  # a dependency of numba, so always installed with it
from numba import njit, types
from numba.core.caching import FunctionCache, NullCache
from numba.core.dispatcher import Dispatcher
from numba.extending import intrinsic

from ..._diagnostics import logger

_first = Lock()

Loop = TypeVar("Loop", bound=Callable[..., object])

#: All compiled loops of the imported modules, except inlined ones.
loops: list[Dispatcher] = []

#: Modules with compiled loops: purpose of the loops, and how many seconds a first fit may wait for the compiler.
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
#: Hash of this file and of all loops. numba checks the file of a loop, but not the files of loops inlined into it.
_SOURCES = sha256(
    b"".join(
        path.read_bytes() for path in [Path(__file__), *(_PACKAGE / f"{name.replace('.', '/')}.py" for name in LOOPS)]
    )
).hexdigest()


def _log_compilation(loop: FunctionType, kept: str) -> None:
    """Log once per process that it waits for the compiler. Loading from the cache takes too little time to log."""
    if _first.acquire(blocking=False):  # never released, so that only the first caller logs
        purpose, seconds = LOOPS.get(loop.__module__.partition(".")[2], ("what follows", 2))
        logger.warning(
            "Compiling eigenspan's loops for this machine, at present those for %s (once, about %d s). %s",
            purpose,
            seconds,
            kept,
        )


class _DiskCache(FunctionCache):
    """numba's disk cache; a failure of the cache only causes a compilation."""

    def __init__(self, loop: FunctionType) -> None:
        super().__init__(loop)
        self._cache_file._source_stamp = (self._cache_file._source_stamp, _SOURCES)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        found = None
        try:
            found = super().load_overload(sig, target_context)
        except (OSError, MemoryError):
            pass  # the cache may be readable the next time
        except Exception:  # unpickling a truncated or altered file can raise any exception
            with suppress(Exception):
                self.flush()
        if found is None:
            _log_compilation(
                self._py_func, f"They are cached in {self.cache_path} and loaded from there the next time."
            )
        return found

    def save_overload(self, sig: Any, data: Any) -> None:
        with suppress(OSError, MemoryError, pickle.PickleError, EOFError):  # the disk is full or a quota is exceeded
            super().save_overload(sig, data)


class _NoCache(NullCache):
    """Cache that stores nothing, used if no directory is writable."""

    def __init__(self, loop: FunctionType) -> None:
        self._loop = loop

    def load_overload(self, sig: Any, target_context: Any) -> None:
        _log_compilation(
            self._loop,
            "No cache directory is writable, so each process compiles the loops again: set NUMBA_CACHE_DIR to a writable directory.",
        )


def is_compiled(loop: Callable[..., object]) -> bool:
    """Return True if the loop is compiled already, in this process or according to its cache on disk."""
    dispatcher: Any = loop  # `compiled` returns numba's dispatcher, typed as the function
    if dispatcher.signatures:
        return True
    try:
        return bool(dispatcher._cache._cache_file._load_index())
    except Exception:  # there is no cache, or it is damaged
        return False


def cache_folder(loop: Callable[..., object]) -> str | None:
    """Return the folder of the compiled code of a loop, or None if no directory is writable."""
    dispatcher: Any = loop
    return getattr(dispatcher._cache, "cache_path", None)


def _compiler(**options: Any) -> Callable[[Loop], Loop]:
    """Return a decorator that compiles with numba and a cache whose failures are ignored."""

    def compiled(loop: Loop) -> Loop:
        given = {**options, "no_cfunc_wrapper": True}  # the loops are never called from C
        dispatcher: Any = njit(nogil=True, error_model="numpy", **given)(loop)
        try:
            dispatcher._cache = _DiskCache(dispatcher.py_func)
        except (RuntimeError, OSError):  # numba found no writable directory
            dispatcher._cache = _NoCache(dispatcher.py_func)
        if "inline" not in options:
            loops.append(dispatcher)
        return cast(Loop, dispatcher)  # callable as the function, whose type says more

    return compiled


#: Compile serial code that releases the GIL; division by zero gives inf or nan, as in numpy.
compiled = _compiler()

#: Inline the function into its callers and compile it only there: compiling takes a third less time.
inlined = _compiler(inline="always")

#: Compile with reordered sums (vector instructions); the order is fixed at compile time.
summed = _compiler(fastmath={"reassoc", "contract", "nsz"})


@intrinsic
def prefetch(_typing, array, at):  # type: ignore[no-untyped-def]
    """In a loop, ``prefetch(array, at)`` loads an entry into the processor cache. It is a no-op on processors without prefetch."""

    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        place = builder.gep(context.make_array(signature.args[0])(context, builder, given[0]).data, [given[1]])
        number, pointer = ir.IntType(32), ir.IntType(8).as_pointer()
        of = ir.FunctionType(ir.VoidType(), [pointer, number, number, number])
        call = builder.module.declare_intrinsic("llvm.prefetch", [pointer], of)
        # for reading, keep in cache, data cache
        builder.call(call, [builder.bitcast(place, pointer), number(0), number(3), number(1)])
        return context.get_dummy_value()

    return types.void(array, at), generate
