"""Handling of signals that end a command."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from threading import current_thread, main_thread
from types import FrameType

#: Sent by ``kill``, batch systems and containers, and by a terminal that is closed (not on Windows).
_NAMES = ("SIGTERM", "SIGHUP")


@contextmanager
def ended_like_ctrl_c() -> Iterator[None]:
    """Let SIGTERM and SIGHUP end the block as Ctrl-C does, so that temporary files are removed; exit with 128 + the signal number.

    Signals that are ignored (as SIGHUP under nohup) or that already have a handler are left unchanged.
    """
    if current_thread() is not main_thread():
        yield
        return
    arrived: list[int] = []

    def end(number: int, frame: FrameType | None) -> None:
        arrived.append(number)
        interrupt = signal.getsignal(signal.SIGINT)
        # Call the current SIGINT handler: while threads start or stop, it delays the interrupt until that is safe.
        (interrupt if callable(interrupt) else signal.default_int_handler)(signal.SIGINT, frame)

    numbers = [getattr(signal, name) for name in _NAMES if hasattr(signal, name)]
    taken = [number for number in numbers if signal.getsignal(number) is signal.SIG_DFL]
    for number in taken:
        signal.signal(number, end)
    try:
        yield
    finally:
        for number in taken:
            signal.signal(number, signal.SIG_DFL)
        if arrived:
            raise SystemExit(128 + arrived[0])
