"""Available memory, and refusal of allocations that exceed it.

A dense n×n array is allocated only if the method requires one, and only after a call of `require`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sized
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Protocol

from ..errors import InputError, MemoryLimitError

#: Set to a number of bytes, or a string such as ``"2G"``, to lower the limit (it never raises it).
LIMIT_VARIABLE = "EIGENSPAN_MEMORY"
#: Allocations up to this size are not checked: the libraries take more, and a check takes 1 ms (half of a small fit).
_UNCHECKED_BYTES = 2**26


class _Estimator(Protocol):
    def get_params(self, deep: bool = True) -> dict[str, object]: ...


_UNITS = {"K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}


def parse_bytes(text: str) -> int:
    """Return the number of bytes: ``"1.5G"`` -> 1610612736."""
    text = text.strip().upper().removesuffix("B").removesuffix("I")
    if text and text[-1] in _UNITS:
        return int(float(text[:-1]) * _UNITS[text[-1]])
    return int(float(text))


def human_bytes(number: float) -> str:
    """Return a readable size: 1610612736 -> ``"1.5 GB"``."""
    for unit in ("B", "kB", "MB", "GB"):
        if number < 1024:
            return f"{number:.3g} {unit}"
        number /= 1024
    return f"{number:.3g} TB"


def available_memory() -> int:
    """Return the number of bytes that can be allocated now.

    This is the smallest of: free memory, and what remains of the limits of the control groups, the process, the Dask worker and the
    user (`LIMIT_VARIABLE`).
    """
    limits = [*_free(), *_left_by_control_groups(), *_left_by_process(), *_left_by_worker(), *_set_by_user()]
    return max(0, min(limits, default=2**63))


def _free() -> Iterator[int]:
    try:
        yield _kilobytes("/proc/meminfo")["MemAvailable"]
    except (OSError, KeyError):
        with suppress(ValueError, OSError, AttributeError):  # if this fails too, no limit is applied
            yield os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _kilobytes(file: str) -> dict[str, int]:
    """Return the fields of lines such as ``VmSize:  1234 kB``, in bytes."""
    words = [line.split() for line in Path(file).read_text().splitlines()]
    return {word[0].rstrip(":"): 1024 * int(word[1]) for word in words if len(word) == 3 and word[2] == "kB"}


def _left_by_control_groups(
    mounted: Path = Path("/sys/fs/cgroup"), own: Path = Path("/proc/self/cgroup")
) -> Iterator[int]:
    """Yield the memory left in the control group of this process and in each enclosing group, for versions 1 and 2 of control groups."""
    try:
        lines = [line.split(":", 2) for line in own.read_text().splitlines()]
    except OSError:  # not Linux
        return
    for _, controllers, path in (line for line in lines if len(line) == 3):
        if not controllers:
            roots, limit, usage, idle = (mounted, mounted / "unified"), "memory.max", "memory.current", "inactive_file"
        elif "memory" in controllers.split(","):
            roots, idle = (mounted / "memory", mounted / controllers), "total_inactive_file"
            limit, usage = "memory.limit_in_bytes", "memory.usage_in_bytes"
        else:
            continue
        for root in dict.fromkeys(roots):
            inside = root / path.lstrip("/")
            for group in (inside, *(outer for outer in inside.parents if outer.is_relative_to(root))):
                with suppress(OSError, ValueError):  # not mounted here, or "max"
                    most = int((group / limit).read_text())
                    yield most - int((group / usage).read_text()) + _file_cache(group, idle)


def _file_cache(group: Path, field: str) -> int:
    """Return the size of the file pages that the system releases before it refuses memory."""
    with suppress(OSError, ValueError):
        fields = dict(line.split() for line in (group / "memory.stat").read_text().splitlines())
        return int(fields.get(field, 0))
    return 0


def _left_by_process() -> Iterator[int]:
    """Yield what remains of ``ulimit -v`` (address space) and of ``ulimit -d`` (private memory)."""
    with suppress(ImportError, OSError, KeyError):  # Windows, or no /proc with the current usage
        import resource

        used = _kilobytes("/proc/self/status")
        for name, field in (("RLIMIT_AS", "VmSize"), ("RLIMIT_DATA", "VmData")):
            most = resource.getrlimit(getattr(resource, name))[0]
            if most != resource.RLIM_INFINITY:
                yield most - used[field]


def _left_by_worker() -> Iterator[int]:
    """Yield what remains of the memory limit of the Dask worker that runs this task; beyond it the worker would be terminated."""
    if "distributed" in sys.modules:
        with suppress(ImportError, AttributeError, ValueError, OSError, KeyError):  # no task, no limit, or no /proc
            from distributed import get_worker

            most = get_worker().memory_manager.memory_limit
            if most:
                yield most - _kilobytes("/proc/self/status")["VmRSS"]


def _set_by_user() -> Iterator[int]:
    if LIMIT_VARIABLE in os.environ:
        try:
            yield parse_bytes(os.environ[LIMIT_VARIABLE])
        except (ValueError, OverflowError):
            raise InputError(
                f"The environment variable {LIMIT_VARIABLE}={os.environ[LIMIT_VARIABLE]!r} is not a valid memory size: use a "
                'number of bytes, or a number with K, M, G or T, such as "2G".'
            ) from None


def fits(n_bytes: float, share: float) -> bool:
    """Return True if `n_bytes` is at most this share of the available memory."""
    if n_bytes <= _UNCHECKED_BYTES and LIMIT_VARIABLE not in os.environ:
        return True
    return n_bytes <= share * available_memory()


def require(n_bytes: float, what: str, instead: str) -> None:
    """Raise MemoryLimitError before an allocation that does not fit into memory.

    Parameters
    ----------
    n_bytes : float
        Predicted peak of the allocation.
    what : str
        What is about to be allocated, with its shape.
    instead : str
        What the user can call instead.
    """
    if not fits(n_bytes, 0.9):
        there = human_bytes(available_memory())
        raise MemoryLimitError(
            f"{what} would need {human_bytes(n_bytes)}, but only {there} of memory is available. {instead}"
        )


def is_lazy(X: object) -> bool:
    """Return True if X is a Dask collection, which numpy would silently load into memory. Dask is not imported for this."""
    graph = getattr(type(X), "__dask_graph__", None)
    return graph is not None and graph(X) is not None


def refuse_lazy(X: object, name: str = "X", why: str = "would have to be loaded into memory first") -> None:
    """Raise InputError if X is a Dask collection; `why` completes the sentence "X is not computed yet and ..."."""
    if is_lazy(X):
        kind = f"{type(X).__module__.split('.')[0]} {type(X).__name__}"
        raise InputError(
            f"{name} is a {kind}, which is not computed yet and {why}. If it fits in memory, pass {name}.compute(). Otherwise write it "
            'to a .npy file and pass np.load(file, mmap_mode="r"), or call partial_fit on chunks if the method has it.'
        )


@contextmanager
def memory_errors(estimator: _Estimator, X: object) -> Iterator[None]:
    """Raise the right exception for memory errors and interrupts in a fit of the estimator to X.

    A failed allocation raises `MemoryLimitError`, also if `require` had not predicted it. Ctrl-C raises `KeyboardInterrupt`: compiled
    code that returns an array when Ctrl-C arrives would raise a SystemError instead.
    """
    try:
        yield
    except SystemError as failure:
        cause: BaseException | None = failure
        while isinstance(cause, SystemError):
            cause = cause.__cause__
        if isinstance(cause, KeyboardInterrupt):
            raise KeyboardInterrupt from failure
        raise
    except MemoryLimitError:
        raise
    except MemoryError as failure:
        raise MemoryLimitError(_out_of_memory(estimator, X, str(failure))) from failure


def _out_of_memory(estimator: _Estimator, X: object, failure: str) -> str:
    size = " × ".join(map(str, X.shape)) if hasattr(X, "shape") else f"{len(X) if isinstance(X, Sized) else 1} rows"
    ways = {"landmarks": "landmarks=m fits only m rows", "reduce": "reduce=r keeps r principal axes first"}
    named = "".join(f"; {text}" for name, text in ways.items() if name in estimator.get_params(deep=False))
    return (
        f"Fitting {type(estimator).__name__} to {size} ran out of memory: {failure or 'an allocation failed'}. Use fewer rows or columns, "
        f"float32 instead of float64, or a larger limit{named}. Rows that are left out of the fit can be embedded with transform."
    )
