"""Diagnostics of a fit: stage times, choices and counts.

`collect` opens a record for one fit; `stage` times a block and `note` adds a fact to the innermost open record, so the record need not
be passed through all functions. Outside a fit both are no-ops. Every finished stage is logged to the logger ``"eigenspan"`` at
level INFO (``logging.basicConfig(level="INFO")`` shows it) and reported to the callbacks of the estimator
(``estimator.set_callbacks(sklearn.callback.ProgressBar())``).
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from typing import Any

logger = logging.getLogger("eigenspan")
_open: ContextVar[dict[str, Any] | None] = ContextVar("eigenspan_diagnostics", default=None)
_reported: ContextVar[Any] = ContextVar("eigenspan_reported", default=nullcontext)


@contextmanager
def collect(reported: Any = nullcontext) -> Iterator[dict[str, Any]]:
    """Open a record ``{"seconds": {...}, ...}`` for the duration of the block; every stage runs inside the context ``reported(name)``."""
    record: dict[str, Any] = {"seconds": {}}
    tokens = _open.set(record), _reported.set(reported)
    start = time.perf_counter()
    try:
        yield record
    finally:
        record["seconds"]["total"] = time.perf_counter() - start
        _open.reset(tokens[0])
        _reported.reset(tokens[1])


def printing_stages(name: str, reported: Any) -> Any:
    """Wrap `reported` so that every stage is also printed when it begins, with the seconds since the fit of `name` began."""
    start = time.perf_counter()

    def open_stage(stage: str) -> Any:
        print(f"[{name}] {time.perf_counter() - start:7.1f} s  {stage}", flush=True)
        return reported(stage)

    return open_stage


@contextmanager
def stage(name: str) -> Iterator[None]:
    """Time the block as the stage `name`; the times of repeated stages are added."""
    record, start = _open.get(), time.perf_counter()
    try:
        with _reported.get()(name):
            yield
    finally:
        spent = time.perf_counter() - start
        if record is not None:
            record["seconds"][name] = record["seconds"].get(name, 0.0) + spent
            logger.info("%s: %.3f s", name, spent)


def note(**facts: Any) -> None:
    """Add facts to the innermost open record, if any."""
    record = _open.get()
    if record is not None:
        record.update(facts)
